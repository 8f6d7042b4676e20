//! Whether loads and stores of structs pay as those of consecutive words that the lanes give to each other.

use rustc_hash::FxHashSet;

use super::weighed::{Weighed, Weigher};
use super::{Price, StoreFinding, StrategyName};
use crate::cfg::BlockId;
use crate::cost::{Costs, Request};
use crate::emulate::KernelTrace;
use crate::reuse::transposition::Entry;
use crate::reuse::{Carried, Limit, Load, Refusal, StructLoads, StructStores, Unpaid};

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
                    let weighed = costs(&self.options.costs, &whole, &requests, wide);
                    self.pays(StrategyName::Aos, &members, weighed.each(members.len()))
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

    /// The decisions about the structs that are stored: none in blocks that get code for values that go round
    /// loops.
    pub(super) fn struct_stores(
        &mut self,
        trace: &mut KernelTrace,
        carried: &[Carried],
    ) -> Vec<StoreFinding> {
        if !self.options.strategies.allow(StrategyName::Aos) {
            return Vec::new();
        }
        let with_carried = self.blocks_of(carried);
        let mut stores = self.opportunities.struct_stores(trace);
        stores.retain(|whole| !with_carried.contains(&whole.block));
        let mut found = Vec::new();
        for whole in stores {
            let (price, refusal) = match &whole.refusal {
                Some(refusal) => (None, Some(refusal.clone())),
                None if self.replaced + whole.fields.len() > self.options.most => {
                    (None, Some(Refusal::Crowded(self.options.most)))
                }
                None => match self.weigh_stores(trace, &whole) {
                    Ok(price) => (price, None),
                    Err(refusal) => (None, Some(refusal)),
                },
            };
            if refusal.is_none() {
                self.replaced += whole.fields.len();
                self.in_parts.insert(whole.block);
                self.with_structs.insert(whole.block);
            }
            found.push(StoreFinding { whole, price, refusal });
        }
        found
    }

    /// What the stores of a struct cost, if that is asked. By itself no such struct is chosen: what the
    /// second-level cache makes of parts of sectors is in no model.
    fn weigh_stores(
        &mut self,
        trace: &mut KernelTrace,
        whole: &StructStores,
    ) -> Result<Option<Price>, Refusal> {
        if !self.options.strategies.are_weighed() {
            return Ok(None);
        }
        let (instead, kept) = self.costs_of_stores(trace, whole);
        let fields = whole.fields.len() as f64;
        let hundredths = |cycles: f64| (100.0 * cycles / fields).round() as u32;
        let unpaid = Unpaid {
            possible: StrategyName::Aos.word(),
            architecture: self.options.costs.architecture,
            cost: hundredths(instead),
            kept: hundredths(kept),
            loads: 1,
            limit: Limit::Cost,
            assumed: None,
        };
        Err(match instead < kept {
            true => Refusal::ByNameOnly(unpaid),
            false => Refusal::DoesNotPay(unpaid),
        })
    }

    /// The cycles of a struct by stores of consecutive words, and those of its own stores; stores go past the
    /// first-level cache.
    fn costs_of_stores(&mut self, trace: &mut KernelTrace, whole: &StructStores) -> (f64, f64) {
        let costs = &self.options.costs;
        let stride = self.opportunities.lane_stride(trace, &whole.request);
        let size = whole.word_bits / 8;
        let kept: f64 = whole
            .fields
            .iter()
            .map(|field| {
                let bytes = field.values.len() as u32 * size;
                let request = Request { stride, bytes, lanes: 32, past_l1: true };
                costs.load(&request) + costs.instructions(1)
            })
            .sum();
        let request = Request { stride: Some(size.into()), bytes: size, lanes: 32, past_l1: true };
        // Where the stores stood, they are still issued, for no lane.
        let left = whole.fields.len() as u32;
        (transposed(costs, &request, whole.words, whole.no_wrap.len(), left), kept)
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
fn costs(costs: &Costs, whole: &StructLoads, requests: &[Request], wide: bool) -> Weighed {
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
    let instead = transposed(costs, &request, whole.words, whole.no_wrap.len(), 0);
    let shared = !costs.allow_shuffles(&requests[0]);
    Weighed::new(instead, kept).limited(shared.then_some(Limit::SharedPipe))
}

/// The cycles of so many accesses to consecutive words, with the transposition and the test of the warp; `more`
/// instructions are issued besides.
fn transposed(costs: &Costs, request: &Request, words: u32, no_wrap: usize, more: u32) -> f64 {
    let parts = request.bytes / 4;
    let selects = Entry::of(words).map_or(0, Entry::selects);
    let checks = TEST + 2 * no_wrap as u32 + more;
    f64::from(words) * (costs.load(request) + costs.shuffle(32 * parts))
        + costs.instructions(words * (1 + SOURCE) + parts * selects + checks)
}
