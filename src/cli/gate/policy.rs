//! Which rewritten kernels a build keeps, as numbers.
//!
//! In: the facts about both versions of a kernel ([`Known`]). Out: why the original is used, if it is. Nothing here
//! runs or measures anything.

use crate::pipeline::{Compared, Expected};
use crate::report::{Decision, KernelReport, LoadReport, MeasureReport, Resources, Why};
use crate::strategies::StrategyName;

/// The numbers that decide. Cycles are of the rewritten kernel by those of the original, for equally many resident warps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policy {
    /// A kernel is assembled for a comparison if it is expected to have at most this many times the work of the original,
    /// where less work is all that it can gain, ...
    pub most_work_of_joined: f64,
    /// ... or this, where it may also wait less.
    pub most_work: f64,
    /// Joining accesses cannot multiply the work by more than this.
    pub most_believed: f64,
    /// A kernel gains if its cycles are at most this in the mean over the numbers of resident warps, ...
    pub most_in_mean: f64,
    /// ... or at most this with some number of them, where its code does not grow ...
    pub most_at_one: f64,
    /// ... to more than this many times the instructions.
    pub most_growth: f64,
    /// Its cycles with every number of resident warps are at most this, ...
    pub most_anywhere: f64,
    /// ... or this if arrays have new layouts, about which the model knows less, ...
    pub most_anywhere_laid_out: f64,
    /// ... or this if vector loads need a test of alignment.
    pub most_anywhere_tested: f64,
    /// By how much the bytes may differ that two versions load which perform the same loads: means over warps.
    pub same_bytes: f64,
    /// Whether launches fill the machine: the numbers are then those with all warps resident that fit.
    pub is_full: bool,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            most_work_of_joined: 0.98,
            most_work: 1.1,
            most_believed: 2.0,
            most_in_mean: 0.99,
            most_at_one: 0.97,
            most_growth: 1.5,
            most_anywhere: 1.02,
            most_anywhere_laid_out: 1.005,
            most_anywhere_tested: 1.0,
            same_bytes: 0.01,
            is_full: false,
        }
    }
}

/// Bytes of the longest vector (PTX ISA, "ld").
const LONGEST_VECTOR: u32 = 32;

/// The facts about a rewritten kernel and its original.
pub(super) struct Known<'k> {
    /// The decisions of the rewriter.
    pub kernel: &'k KernelReport,
    /// The cycles of both.
    pub compared: Option<&'k Compared>,
    /// Why there are none, for people.
    pub unmeasured: &'k str,
    /// The resources of both.
    pub resources: [Option<Resources>; 2],
}

impl Policy {
    /// Why a kernel is not even assembled for a comparison, from its expected work.
    pub(super) fn not_tried(
        &self,
        kernel: &KernelReport,
        Expected { work, loaded, waits_in_vain, is_too_long }: Expected,
    ) -> Option<(Why, String)> {
        let other_bytes = kernel.keeps_loads() && (loaded - 1.0).abs() > self.same_bytes;
        if other_bytes || kernel.only_joins() && work > self.most_believed {
            // Two paths were followed.
            return None;
        }
        if is_too_long {
            let what = "not tried: a path through it is too long to be measured";
            return Some((Why::NotTried, what.to_owned()));
        }
        if waits_in_vain {
            let what = "not tried: it is expected to wait less and to have as much work, and with many warps resident none waits";
            return Some((Why::NotTried, what.to_owned()));
        }
        let most = if kernel.only_joins() { self.most_work_of_joined } else { self.most_work };
        (work > most).then(|| {
            let what = format!(
                "not tried: it is expected to have {work:.2} times the work, and {most} is the most"
            );
            (Why::NotTried, what)
        })
    }

    /// Why the original is used, and for people the number that decides.
    pub(super) fn refusal(&self, known: &Known<'_>) -> Option<(Why, String)> {
        let Some(compared) = known.compared else {
            return Some((
                Why::NoMeasure,
                format!("its cycles are not known: {}", known.unmeasured),
            ));
        };
        let measure = &compared.report;
        let numbers =
            self.numbers(measure).filter(|_| !self.is_followed_apart(known.kernel, compared));
        let Some(Numbers { mean, best, worst }) = numbers else {
            let what = "its two versions cannot be followed on the same way";
            return Some((Why::NoMeasure, what.to_owned()));
        };
        let lays_out = known.kernel.laid_out() > 0;
        let most_anywhere = match () {
            () if lays_out => self.most_anywhere_laid_out,
            () if known.kernel.tests_alignment() => self.most_anywhere_tested,
            () => self.most_anywhere,
        };
        let is_over = |most| measure.with_most().is_none_or(|full| full > most);
        let refused = |what: &str| Some((Why::Measure, format!("{measure}, {what}")));
        if worst > most_anywhere {
            let full =
                measure.with_most().filter(|full| !self.is_full && *full <= self.most_at_one);
            let hint = full.map_or_else(String::new, |full| {
                format!("; {full:.2} times the cycles with all warps resident: PTXASW_LAUNCH=full keeps it")
            });
            return refused(&format!("{worst:.2} times the cycles at worst{hint}"));
        }
        if !lays_out && compared.most_when_full.is_some_and(is_over) {
            return refused("it waits less and has as much to do with all warps resident");
        }
        let growth = growth(known.resources);
        let gains_at_one = best <= self.most_at_one && growth <= self.most_growth;
        if mean > self.most_in_mean && !gains_at_one {
            let grows =
                if growth > 1.0 { format!(", {growth:.2} times the code") } else { String::new() };
            return refused(&format!("{mean:.3} times the cycles in the mean{grows}"));
        }
        None
    }

    fn numbers(&self, measure: &MeasureReport) -> Option<Numbers> {
        if self.is_full {
            let full = measure.with_most()?;
            return Some(Numbers { mean: full, best: full, worst: full });
        }
        Some(Numbers { mean: measure.ratio()?, best: measure.best()?, worst: measure.worst()? })
    }

    /// Whether the two paths that were compared are not the same: the bytes loaded differ, or fewer cycles are gained than
    /// vectors can.
    fn is_followed_apart(&self, kernel: &KernelReport, compared: &Compared) -> bool {
        let too_few =
            least_share(kernel).is_some_and(|least| compared.report.ratio() < Some(least));
        too_few || (compared.loaded - 1.0).abs() > self.same_bytes && kernel.keeps_loads()
    }
}

struct Numbers {
    mean: f64,
    best: f64,
    worst: f64,
}

/// The instructions of the rewritten kernel by those of the original.
fn growth([original, rewritten]: [Option<Resources>; 2]) -> f64 {
    let count = |of: Option<Resources>| of.map(|of| f64::from(of.instructions));
    match (count(original), count(rewritten)) {
        (Some(old), Some(new)) if old > 0.0 => new / old,
        _ => 1.0,
    }
}

/// The share of its cycles that a kernel takes at least in which loads are joined to vectors and nothing else is done: a
/// vector takes as long as the shortest of its loads.
fn least_share(kernel: &KernelReport) -> Option<f64> {
    let joined = kernel.loads.iter().filter(|load| load.decision != Decision::Keep);
    let is_vector = |load: &LoadReport| load.decision == Decision::By(StrategyName::Wide);
    let is_alone = kernel.stores.iter().all(|store| store.decision == Decision::Keep)
        && joined.clone().all(is_vector)
        && kernel.laid_out() + kernel.replaced_collectives() == 0;
    let narrowest = joined.map(|load| load.bytes).min().filter(|_| is_alone)?;
    Some(f64::from(narrowest) / f64::from(LONGEST_VECTOR))
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        the_floor_is_a_mean_or_one_occupancy_without_growth,
        no_occupancy_may_lose_unless_launches_are_full,
        less_work_is_expected_of_joined_accesses
    );

    /// The outcome for cycles with 8, 16, 32 and 64 warps in hundredths of those before, and this many instructions for 100.
    fn outcome(policy: &Policy, cycles: [f64; 4], instructions: u32) -> Option<(Why, String)> {
        let of = |cycles: [f64; 4]| [8, 16, 32, 64].into_iter().zip(cycles).collect();
        let report = MeasureReport { original: of([100.0; 4]), rewritten: of(cycles) };
        let compared = Compared { report, most_when_full: None, loaded: 1.0 };
        let kernel = KernelReport::default();
        let of = |instructions| Some(Resources { instructions, ..Resources::default() });
        let resources = [of(100), of(instructions)];
        let known = Known { kernel: &kernel, compared: Some(&compared), unmeasured: "", resources };
        policy.refusal(&known)
    }

    fn the_floor_is_a_mean_or_one_occupancy_without_growth() {
        let policy = Policy::default();
        let outcome =
            |cycles, instructions| outcome(&policy, cycles, instructions).map(|one| one.0);
        assert_eq!(outcome([98.9; 4], 300), None);
        assert_eq!(outcome([99.5; 4], 100), Some(Why::Measure));
        assert_eq!(outcome([96.9, 100.0, 101.0, 101.0], 150), None);
        assert_eq!(outcome([96.9, 100.0, 101.0, 101.0], 151), Some(Why::Measure));
        let kernel = KernelReport::default();
        let known = Known { kernel: &kernel, compared: None, unmeasured: "", resources: [None; 2] };
        assert_eq!(policy.refusal(&known).map(|one| one.0), Some(Why::NoMeasure));
    }

    fn no_occupancy_may_lose_unless_launches_are_full() {
        let cycles = [103.0, 90.0, 80.0, 80.0];
        let (why, what) = outcome(&Policy::default(), cycles, 100).expect("8 warps lose");
        assert_eq!(why, Why::Measure);
        assert!(
            what.contains("1.03 times the cycles at worst") && what.contains("PTXASW_LAUNCH=full")
        );
        let full = Policy { is_full: true, ..Policy::default() };
        assert_eq!(outcome(&full, cycles, 100), None);
        assert!(outcome(&full, [50.0, 50.0, 50.0, 100.0], 100).is_some());
    }

    fn less_work_is_expected_of_joined_accesses() {
        let policy = Policy::default();
        let joins = KernelReport::default();
        let expected =
            |work| Expected { work, loaded: 1.0, waits_in_vain: false, is_too_long: false };
        let tries = |expected| policy.not_tried(&joins, expected).is_none();
        assert!(tries(expected(0.98)) && !tries(expected(0.99)));
        // Two paths were followed.
        assert!(tries(expected(9.0)) && tries(Expected { loaded: 0.5, ..expected(0.99) }));
        assert!(!tries(Expected { waits_in_vain: true, ..expected(0.5) }));
        assert!(!tries(Expected { is_too_long: true, ..expected(0.5) }));
    }
}
