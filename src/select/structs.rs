//! Whether loads of structs pay as loads of consecutive words that the lanes give to each other.

use rustc_hash::FxHashSet;

use super::StrategyName;
use super::weighed::Weigher;
use crate::cfg::BlockId;
use crate::cost::{Costs, Request};
use crate::emulate::KernelTrace;
use crate::reuse::transposition::Entry;
use crate::reuse::{Carried, Load, StructLoads};

/// Instructions of the test of the warp and of the branch on it, and of the lane's address and number in the struct.
const TEST: u32 = 6;

/// Instructions of the number of the lane that a word comes from.
const SOURCE: u32 = 3;

impl Weigher<'_, '_, '_, '_> {
    /// The structs that are chosen: none in blocks that get code for values that go round loops.
    pub(super) fn structs(
        &mut self,
        trace: &mut KernelTrace,
        loads: &[usize],
        carried: &[Carried],
    ) -> Vec<StructLoads> {
        if !self.options.strategies.allow(StrategyName::Aos) {
            return Vec::new();
        }
        let with_carried = self.blocks_of(carried);
        let mut legal: Vec<Load> =
            loads.iter().filter_map(|&at| self.opportunities.load(trace, at).ok()).collect();
        legal.retain(|load| !with_carried.contains(&trace.accesses[load.access].block));
        let mut taken = Vec::new();
        for whole in self.opportunities.structs(trace, &legal) {
            if self.replaced + whole.fields.len() > self.options.most {
                continue;
            }
            let members: Vec<u32> = whole.fields.iter().map(|field| field.load.inst).collect();
            let weighed = match self.options.strategies.are_weighed() {
                false => Ok(()),
                true => {
                    let requests: Vec<Request> =
                        whole.fields.iter().map(|field| self.request(trace, &field.load)).collect();
                    let wide = self.options.strategies.allow(StrategyName::Wide);
                    let (instead, kept) = costs(&self.options.costs, &whole, &requests, wide);
                    let fields = members.len() as f64;
                    self.pays(StrategyName::Aos, &members, instead / fields, kept / fields)
                }
            };
            let decided = weighed.map(|()| taken.len());
            self.in_struct.extend(members.iter().map(|&inst| (inst, decided)));
            if decided.is_ok() {
                self.replaced += members.len();
                self.in_parts.insert(whole.block);
                self.with_structs.insert(whole.block);
                taken.push(whole);
            }
        }
        taken
    }

    /// The blocks that get code for values that go round loops.
    pub(super) fn blocks_of(&self, carried: &[Carried]) -> FxHashSet<BlockId> {
        let places = carried.iter().flat_map(|link| {
            let around = [link.load.inst, link.source, link.entry, link.entry + 1];
            around.into_iter().chain(link.latches.iter().copied())
        });
        places.filter_map(|inst| self.opportunities.block_of(inst)).collect()
    }
}

/// The cycles of a struct by loads of consecutive words, and those of its own loads, which ask for `requests`; or of
/// vector loads, where these are allowed, may be possible and are cheaper.
fn costs(costs: &Costs, whole: &StructLoads, requests: &[Request], wide: bool) -> (f64, f64) {
    let kept: f64 =
        requests.iter().map(|request| costs.load(request) + costs.instructions(1)).sum();
    let size = whole.word_bits / 8;
    // The widest vector that an aligned array of these structs leaves aligned.
    let vectors = [16, 8]
        .into_iter()
        .filter(|bytes| (whole.words * size).is_multiple_of(*bytes) && *bytes > size);
    let vector = vectors.take(1).filter(|_| wide).map(|bytes| {
        let request = Request { bytes, ..requests[0] };
        f64::from(whole.words * size / bytes) * (costs.load(&request) + costs.instructions(1))
    });
    let kept = vector.fold(kept, f64::min);
    let request = Request { stride: Some(size.into()), bytes: size, ..requests[0] };
    let parts = size / 4;
    let selects = Entry::of(whole.words).map_or(0, Entry::selects);
    let checks = TEST + 2 * whole.no_wrap.len() as u32;
    let instead = f64::from(whole.words) * (costs.load(&request) + costs.shuffle(32 * parts))
        + costs.instructions(whole.words * (1 + SOURCE) + parts * selects + checks);
    match costs.allow_shuffles(&requests[0]) {
        true => (instead, kept),
        false => (instead.max(kept), kept),
    }
}
