//! The code of an exchange by shuffles: each load becomes one, or two of the halves of 64 bits; or a move where each lane
//! loads its own word.
//!
//! A stored register that holds something else at the load is copied in front of the store. Stores to an array that
//! nobody reads any more are left out.

use super::find::Loaded;
use super::table::Source;
use crate::cfg::InstId;
use crate::emulate::definitions;
use crate::isa::limits::WARP_SIZE;
use crate::ptx::write::{Code, op, vector};
use crate::rewrite::{Draft, Planner, Prepared};

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for the loads of an array, and leaves out its stores if `drops` says so.
    pub(super) fn exchange(
        &mut self,
        loads: &[Loaded],
        stores: &[InstId],
        drops: bool,
        prepared: &mut Prepared,
    ) {
        let mut copies: Vec<(InstId, String)> = Vec::new();
        for load in loads {
            let sent = match copies.iter().find(|(store, _)| *store == load.store) {
                Some((_, copy)) => copy.clone(),
                None if self.stays(load) => self.name(load.from),
                None => {
                    let copy = String::from(self.plan.fresh.bits(8 * load.bytes));
                    copies.push((load.store, copy.clone()));
                    copy
                }
            };
            let mut code = Code::in_front();
            self.received(load, &sent, &mut code);
            let code = code.text.trim_end().to_owned();
            prepared.drafts.push(Draft { range: self.span(load.inst), code });
        }
        for &store in stores {
            let mut code = Code::in_front();
            if let Some((_, copy)) = copies.iter().find(|(of, _)| *of == store)
                && let Some(load) = loads.iter().find(|load| load.store == store)
            {
                let from = self.name(load.from);
                match load.bytes {
                    8 => code.put(op!(Mov.B64), &[copy, &from]),
                    _ => code.put(op!(Mov.B32), &[copy, &from]),
                }
            }
            let span = self.span(store);
            if drops {
                let code = code.text.trim_end().to_owned();
                prepared.drafts.push(Draft { range: span, code });
            } else if !code.text.is_empty() {
                prepared.drafts.push(Draft::insert(span.start, code.text));
            }
        }
    }

    /// Whether the stored register holds its value at the load, too, and has the same name there.
    fn stays(&self, load: &Loaded) -> bool {
        let is_written = |at: InstId| definitions(&self.flow.insts[at]).contains(&load.from);
        let is_overwritten = load.store.to(load.inst).any(is_written);
        (!is_overwritten || planted!(Bug::ExchangeStale)) && self.flow.visible(load.from, load.inst)
    }

    /// The shuffles that deliver a load's value.
    fn received(&mut self, load: &Loaded, sent: &str, code: &mut Code) {
        let to = self.name(load.to);
        let near = u32::from(planted!(Bug::ExchangeLane));
        let (form, lane) = match load.source {
            Source::Own if load.bytes == 8 => return code.put(op!(Mov.B64), &[&to, &sent]),
            Source::Own => return code.put(op!(Mov.B32), &[&to, &sent]),
            Source::Xor(mask) => (op!(Shfl.Sync.Bfly.B32), (mask ^ near).to_string()),
            Source::Lane(lane) => (op!(Shfl.Sync.Idx.B32), (lane ^ near).to_string()),
            Source::Affine { factor, offset } => {
                let lane = code.set(self.plan.fresh.word(), op!(Mov.U32), &[&"%laneid"]);
                let offset = (offset + near) % WARP_SIZE;
                match factor {
                    1 => code.put(op!(Add.U32), &[&lane, &lane, &offset]),
                    _ => code.put(op!(Mad.Lo.U32), &[&lane, &lane, &factor, &offset]),
                }
                (op!(Shfl.Sync.Idx.B32), lane.into())
            }
        };
        if load.bytes == 4 {
            return code.put(form, &[&to, &sent, &lane, &31, &-1]);
        }
        let [low, high] = [(); 2].map(|()| self.plan.fresh.word());
        code.put(op!(Mov.B64), &[&vector(&[&low, &high]), &sent]);
        for half in [&low, &high] {
            code.put(form, &[half, half, &lane, &31, &-1]);
        }
        code.put(op!(Mov.B64), &[&to, &vector(&[&low, &high])]);
    }
}
