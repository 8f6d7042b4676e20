//! Chooses how arrays in shared memory are laid out: as they are, swizzled or padded.
//!
//! In: the arrays of a function with the addresses of their accesses. Out: for each the layout with the fewest
//! wavefronts or, where costs are asked, the one with the fewest cycles, if these are fewer than with the array as
//! it is.

use smallvec::SmallVec;

use crate::cfg::Flow;
use crate::cost::banks::{LANES, least, wavefronts};
use crate::cost::guessed_executions;
use crate::emulate::KernelTrace;
use crate::patterns::options::Options;
use crate::reuse::shared::{self, ArrayAccess, Made, Placement, SharedArray};
use crate::reuse::{InBuild, Limit, Refusal, Unprofitable};
use crate::strategies::StrategyName;

/// Sums of the same numbers in another order differ by less.
const ROUNDING: f64 = 1e-6;

/// Means of wavefronts of drawn addresses rarely differ by more than this factor.
const NOISE: f64 = 1.25;

/// The decision about an array in shared memory.
#[derive(Clone, Debug)]
pub(super) struct ArrayFinding {
    /// The array.
    pub array: SharedArray,
    /// Where its bytes go.
    pub placement: Placement,
    /// The new address of each access.
    pub made: Vec<Made>,
    /// The wavefronts of each access, as the array is and as it is to be: means of the warps looked at.
    pub wavefronts: Vec<(f64, f64)>,
    /// The cycles of the wavefronts and instructions of the new layout, and of the wavefronts as the array is, if
    /// they were weighed.
    pub cost: Option<(f64, f64)>,
    /// Why the array stays as it is, if it does and the strategy is allowed.
    pub refusal: Option<Refusal>,
}

/// The other groups of the function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beside {
    /// Some group is chosen.
    pub any: bool,
    /// A chosen group adds code to blocks.
    pub code_twice: bool,
}

/// Decides about every array of a function.
pub(super) fn decide(
    (flow, trace): (&Flow<'_, '_>, &KernelTrace),
    arrays: Vec<SharedArray>,
    beside: Beside,
    options: &Options,
) -> Vec<ArrayFinding> {
    let mut grown = 0;
    let of = |mut array: SharedArray| {
        array.room = array.room.saturating_sub(grown);
        array.unrestricted_room = array.unrestricted_room.saturating_sub(grown);
        let found = one((flow, trace), array, beside, options);
        let more = found.placement.align(&found.array) - found.array.align;
        grown += found.placement.bytes(&found.array) - found.array.bytes + more;
        found
    };
    arrays.into_iter().map(of).collect()
}

fn one(
    (flow, trace): (&Flow<'_, '_>, &KernelTrace),
    array: SharedArray,
    beside: Beside,
    options: &Options,
) -> ArrayFinding {
    let before: Vec<f64> =
        array.accesses.iter().map(|access| mean(access, Placement::Same)).collect();
    let best: f64 = total(&array, fewest);
    let kept = |array: SharedArray, refusal: Option<Refusal>, cost| ArrayFinding {
        made: vec![Made::Kept; array.accesses.len()],
        wavefronts: before.iter().map(|&mean| (mean, mean)).collect(),
        placement: Placement::Same,
        array,
        cost,
        refusal,
    };
    let now = total(&array, |access| mean(access, Placement::Same));
    let allowed = options.strategies.allow(StrategyName::Bank);
    let weighed = options.strategies.are_weighed();
    // A rewrite that is slower by the machine code is undone as a whole: so nothing else is done to the kernel.
    let by_check = !allowed && weighed && options.is_checked;
    let refusal = match array.refusal.clone() {
        Some(refusal) => Some(refusal),
        None if now <= best => Some(Refusal::NoConflict),
        None if beside.code_twice || by_check && beside.any => Some(Refusal::ArrayBesideOthers),
        None => None,
    };
    if refusal.is_some() || !(allowed || weighed) {
        return kept(array, refusal.filter(|_| allowed || weighed), None);
    }
    let shapes = by_check.then(|| shared::in_usual_shapes(trace, &array.accesses));
    let search = Search { flow, before: &before, now, shapes: shapes.unwrap_or_default(), options };
    let Some((_, cycles, placement, made)) = search.best(&array) else {
        let larger = SharedArray { room: array.unrestricted_room, ..array.clone() };
        let possible = if larger.room > array.room { search.best(&larger) } else { None };
        let refusal = possible.map_or(Refusal::NoConflict, |(_, _, placement, _)| {
            Refusal::ArrayMayNotGrow(array.restriction.clone(), placement.to_string())
        });
        return kept(array, Some(refusal), None);
    };
    if weighed {
        let hundredths = |cycles: f64| (100.0 * cycles).round().min(f64::from(u32::MAX)) as u32;
        let unprofitable = Unprofitable {
            possible: StrategyName::Bank.word(),
            architecture: options.costs.architecture,
            cost_after: hundredths(cycles),
            cost_before: hundredths(now),
            loads: 1,
            limit: Limit::Cost,
            assumed: None,
        };
        if cycles >= now {
            return kept(array, Some(Refusal::DoesNotPay(unprofitable)), Some((cycles, now)));
        }
        // The wavefronts do not account for the assembler's schedule of the loads around: of four kernels that were
        // simulated one took 1.3 to 1.9 times as long (`openacc-bench/results/bank.md`).
        if !(allowed || by_check) {
            let in_usual =
                Search { shapes: shared::in_usual_shapes(trace, &array.accesses), ..search };
            let in_build = match (in_usual.best(&array), beside.any) {
                (None, _) => InBuild::Left,
                (Some(_), false) => InBuild::Tried,
                (Some(_), true) => InBuild::TriedAgainstOthers,
            };
            let refusal = Refusal::ByNameOnly(unprofitable, in_build);
            return kept(array, Some(refusal), Some((cycles, now)));
        }
    }
    let wavefronts = before.iter().zip(&array.accesses);
    let wavefronts = wavefronts.map(|(&old, access)| (old, mean(access, placement))).collect();
    ArrayFinding { array, placement, made, wavefronts, cost: Some((cycles, now)), refusal: None }
}

/// The fewest wavefronts that an access can take, in the mean of the warps looked at.
fn fewest(access: &ArrayAccess) -> f64 {
    let each = access.offsets.iter().map(|offsets| {
        let cells: Vec<usize> =
            offsets.iter().map(|at| (at / u64::from(access.bytes)) as usize).collect();
        f64::from(least(
            &cells[..access.lanes.count_ones() as usize],
            access.lanes,
            access.bytes.into(),
        ))
    });
    each.sum::<f64>() / access.offsets.len().max(1) as f64
}

/// The search for the layout of one array.
struct Search<'a, 'm, 's> {
    flow: &'a Flow<'m, 's>,
    /// The wavefronts of each access as the array is.
    before: &'a [f64],
    /// Their sum, with loops.
    now: f64,
    /// The addresses in blocks of usual shapes. In none of them may a layout be worse.
    shapes: Vec<Vec<Vec<Vec<u64>>>>,
    options: &'a Options,
}

impl Search<'_, '_, '_> {
    /// The best layout that is better than none, with its wavefronts, its cycles and the new addresses.
    fn best(&self, array: &SharedArray) -> Option<(f64, f64, Placement, Vec<Made>)> {
        let Search { flow, before, now, ref shapes, options } = *self;
        let weighed = options.strategies.are_weighed();
        let instruction = 1.0 / options.costs.instructions_in_cycle;
        // Accesses with many wavefronts come first: they decide soonest.
        let mut order: Vec<usize> = (0..array.accesses.len()).collect();
        order.sort_by(|&a, &b| before[b].total_cmp(&before[a]));
        // The wavefronts that the accesses from each on take at least, in that order.
        let mut rest = vec![0.0; order.len() + 1];
        for (at, &index) in order.iter().enumerate().rev() {
            let access = &array.accesses[index];
            rest[at] = rest[at + 1] + fewest(access) * guessed_executions(access.depth);
        }
        let in_shape = |shape: &Vec<Vec<Vec<u64>>>, placement: Placement| {
            let each = array.accesses.iter().zip(shape);
            each.map(|(one, warps)| mean_of(one, warps, placement) * guessed_executions(one.depth))
                .sum::<f64>()
        };
        let same: Vec<f64> = shapes.iter().map(|one| in_shape(one, Placement::Same)).collect();
        let mut chosen: Option<(f64, f64, Placement, Vec<Made>)> = None;
        for placement in shared::placements(array) {
            // More than the best so far takes is not counted to the end.
            let most = chosen.as_ref().map_or(
                now,
                |&(waves, cycles, ..)| {
                    if weighed { cycles } else { waves }
                },
            );
            let mut waves = 0.0;
            let is_better = order.iter().zip(&rest[1..]).all(|(&index, rest)| {
                let access = &array.accesses[index];
                waves += mean(access, placement) * guessed_executions(access.depth);
                waves + rest < now + ROUNDING && waves + rest <= most + ROUNDING
            });
            if !is_better || waves >= now || waves > most {
                continue;
            }
            let mut each = shapes.iter().zip(&same);
            if !each.all(|(shape, same)| in_shape(shape, placement) <= same + ROUNDING) {
                continue;
            }
            if !array.accesses.iter().all(|access| is_no_worse_spread(access, placement)) {
                continue;
            }
            let made = shared::made(flow, array, placement);
            let cycles =
                waves + instruction * shared::added(array, placement, &made, guessed_executions);
            let key =
                |waves: f64, cycles: f64| if weighed { (cycles, waves) } else { (waves, cycles) };
            let better = chosen.as_ref().is_none_or(|&(w, c, ..)| key(waves, cycles) < key(w, c));
            if better {
                chosen = Some((waves, cycles, placement, made));
            }
        }
        chosen
    }
}

/// Whether an access takes about as many wavefronts as before, or fewer, if each lane reads another value from memory for
/// its address.
fn is_no_worse_spread(access: &ArrayAccess, placement: Placement) -> bool {
    let [before, after] =
        [Placement::Same, placement].map(|placement| mean_of(access, &access.spread, placement));
    after <= NOISE * before + ROUNDING
}

/// A number for each access, added up as often as each is executed.
fn total(array: &SharedArray, of: impl Fn(&ArrayAccess) -> f64) -> f64 {
    array.accesses.iter().map(|access| of(access) * guessed_executions(access.depth)).sum()
}

/// The wavefronts of an access in the mean of the warps looked at.
fn mean(access: &ArrayAccess, placement: Placement) -> f64 {
    mean_of(access, &access.offsets, placement)
}

/// The same of other warps.
fn mean_of(access: &ArrayAccess, warps: &[Vec<u64>], placement: Placement) -> f64 {
    let count = access.lanes.count_ones() as usize;
    let each = warps.iter().map(|offsets| {
        let places = offsets[..count].iter().map(|&at| placement.apply(at));
        let places: SmallVec<[u64; LANES]> = places.collect();
        f64::from(wavefronts(&places, access.lanes, access.bytes.into()))
    });
    each.sum::<f64>() / warps.len().max(1) as f64
}
