//! What the lanes of a warp do together: they exchange values, or wait for each other.

use super::operation::operand;
use super::threads::{At, Block, Lane, waits_for_warp};
use crate::cfg::{Arg, InstId};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Opcode, Qualifier};

impl Block<'_, '_, '_, '_> {
    /// Lets all warps go on whose lanes wait for each other; false if there are none.
    pub(super) fn meet_in_warps(&mut self) -> Option<bool> {
        let flow = self.place.flow;
        let mut any = false;
        for warp in 0..self.at.len().div_ceil(WARP_SIZE as usize) {
            let first = warp * WARP_SIZE as usize;
            let lanes = first..(first + WARP_SIZE as usize).min(self.at.len());
            let waits = |at: &At| match at {
                At::Waiting(block, inst) if waits_for_warp(&flow.insts[*inst]) => {
                    Some((*block, *inst))
                }
                _ => None,
            };
            let Some((block, at)) = self.at[lanes.clone()].iter().find_map(waits) else { continue };
            let together = lanes.clone().all(|lane| {
                self.at[lane] == At::Waiting(block, at) && self.passed[lane] == self.passed[first]
            });
            if !together || lanes.len() < WARP_SIZE as usize {
                return None;
            }
            match flow.insts[at].ast.form.opcode {
                Opcode::Shfl => self.exchange(first as u32, at)?,
                Opcode::Redux => self.reduce(first as u32, at)?,
                _ => {
                    self.is_whole(first as u32, flow.insts[at].args.first()?)?;
                    self.memory.warp_barrier(warp as u32);
                }
            }
            lanes.for_each(|lane| self.at[lane] = At::Running(block, at.next()));
            self.last_shuffling = self.last_shuffling.max(Some(first as u32 + WARP_SIZE - 1));
            any = true;
        }
        Some(any)
    }

    /// `shfl.sync.mode.b32 d[|p], a, b, c, -1` in one warp (PTX ISA, "shfl.sync").
    fn exchange(&mut self, first: u32, at: InstId) -> Option<()> {
        let inst = &self.place.flow.insts[at];
        let [to, value, offset, clamp, mask] = &inst.args[..] else { return None };
        self.is_whole(first, mask)?;
        let (to, predicate) = match to {
            Arg::Register(register) => (*register, None),
            Arg::Pair(pair) => match &pair[..] {
                [Arg::Register(to), Arg::Register(predicate)] => (*to, Some(*predicate)),
                _ => return None,
            },
            _ => return None,
        };
        let mut found = Vec::new();
        for lane in 0..WARP_SIZE {
            let mut own = Lane { block: self, thread: first + lane };
            let offset = operand(&mut own, offset, 32)?;
            let clamp = operand(&mut own, clamp, 32)?;
            let offset = self.values.constant(offset)? as i64 & 31;
            let clamp = self.values.constant(clamp)? as i64;
            let (segment, clamp, lane) = (clamp >> 8 & 31, clamp & 31, i64::from(lane));
            let most = lane & segment | clamp & !segment;
            let (from, within) = match inst.ast.form.qualifiers().nth(1)? {
                Qualifier::Up => (lane - offset, lane - offset >= most),
                Qualifier::Down => (lane + offset, lane + offset <= most),
                Qualifier::Bfly => (lane ^ offset, lane ^ offset <= most),
                Qualifier::Idx => {
                    let from = lane & segment | offset & !segment;
                    (from, from <= most)
                }
                _ => return None,
            };
            let from = if within { from } else { lane };
            let mut other = Lane { block: self, thread: first + u32::try_from(from).ok()? };
            let term = operand(&mut other, value, 32)?;
            found.push((term, within));
        }
        for (thread, (term, within)) in (first..).zip(found) {
            let within = self.values.arena.boolean(within);
            let registers = &mut self.registers[thread as usize];
            registers.insert(to, term);
            predicate.map(|predicate| registers.insert(predicate, within));
        }
        Some(())
    }

    /// `redux.sync.op.type d, a, -1` in one warp (PTX ISA, "redux.sync").
    fn reduce(&mut self, first: u32, at: InstId) -> Option<()> {
        let inst = &self.place.flow.insts[at];
        let [Arg::Register(to), value, mask] = &inst.args[..] else { return None };
        self.is_whole(first, mask)?;
        let (op, ty) = (inst.ast.form.qualifiers().nth(1)?, inst.ast.form.first_type()?);
        (!ty.is_float() && inst.ast.form.qualifiers().count() == 2).then_some(())?;
        let mut terms = Vec::new();
        for thread in first..first + WARP_SIZE {
            terms.push(operand(&mut Lane { block: self, thread }, value, 32)?);
        }
        // (The order of most trees: a long sum is one term only if it is grouped alike.)
        while let Some(half) = Some(terms.len() / 2).filter(|half| *half > 0) {
            for at in 0..half {
                terms[at] = self.values.joined(op, ty, [terms[at], terms[at + half]])?;
            }
            terms.truncate(half);
        }
        for thread in first..first + WARP_SIZE {
            self.registers[thread as usize].insert(*to, terms[0]);
        }
        Some(())
    }

    /// Whether a mask names all lanes.
    fn is_whole(&mut self, first: u32, mask: &Arg<'_>) -> Option<()> {
        let mask = operand(&mut Lane { block: self, thread: first }, mask, 32)?;
        (self.values.constant(mask)? == u64::from(u32::MAX)).then_some(())
    }
}
