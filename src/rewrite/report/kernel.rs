//! The decisions for one function.

use serde::{Deserialize, Serialize};

use super::sentence::{sentence, with_arrays, with_collectives, with_stores};
use super::{
    ArrayReport, CollectiveReport, Cost, Decision, Kept, LoadReport, MeasureReport, ProofReport,
    ResourcesReport, StepReport, Stores, Why,
};
use crate::strategies::StrategyName;

/// The rule of a load in a function that is left as it is as a whole.
pub const FUNCTION_LEFT: &str = "function-left-as-it-is";

/// The decisions for one kernel or device function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// Loads from global memory (generic ones included), each element of a vector load counted
    /// as part of its one load.
    pub global_loads: usize,
    /// Loads whose value comes by a shuffle (under the paper's strategy also by a `mov`).
    pub shuffles: usize,
    /// Mean |delta| over the covered loads; `None` if there are none.
    pub average_delta: Option<f64>,
    /// Which strategies a profile has decided for, in the place of those that were asked for; `original`
    /// for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// The measurement that decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the kernel was left as it is as a whole, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Whether the rewritten kernel was proved equivalent to the original.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proved: bool,
    /// Every global load in source order.
    pub loads: Vec<LoadReport>,
    /// Stores in source order: those of whole structs if strategy `aos` was allowed, those of consecutive bytes if `wide`
    /// was; `register` is the address as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<LoadReport>,
    /// Every array in shared memory that the kernel declares, and those at module level that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayReport>,
    /// The joint computations of lanes by shuffles, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveReport>,
    /// The kernel's resources by ptxas, where it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesReport>,
    /// The cost of the kernel's machine code, where both texts were assembled and the strategies weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<MeasureReport>,
    /// The code that a build uses, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Kept>,
    /// ... why, if it is the original's, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// ... the answer of the judge, if it was asked, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<ProofReport>,
    /// ... and the steps of the decision.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<StepReport>,
}

impl KernelReport {
    /// This report, with the rewrite not used.
    #[must_use]
    pub fn unused(&self, reason: &str) -> KernelReport {
        let mut kernel = self.clone();
        if !kernel.is_rewritten() {
            return kernel;
        }
        kernel.proved = false;
        kernel.shuffles = 0;
        kernel.average_delta = None;
        kernel.skipped = Some(reason.to_owned());
        let accesses = kernel.loads.iter_mut().chain(&mut kernel.stores);
        for load in accesses.filter(|load| load.decision != Decision::Keep) {
            load.decision = Decision::Keep;
            load.rule = Some(FUNCTION_LEFT.to_owned());
            load.reason = Some(reason.to_owned());
            load.source_line = None;
            load.delta = None;
            load.guards = None;
            load.iterations = None;
            load.cost = None;
            load.architecture = None;
        }
        for array in kernel.arrays.iter_mut().filter(|array| array.layout.is_some()) {
            array.layout = None;
            array.rule = Some(FUNCTION_LEFT.to_owned());
            array.reason = Some(reason.to_owned());
            array.cost = None;
            let moved = array.wavefronts.iter_mut();
            moved.for_each(|wavefronts| wavefronts.after = wavefronts.before);
            let moved = array.accesses.iter_mut().map(|access| &mut access.wavefronts);
            moved.for_each(|wavefronts| wavefronts.after = wavefronts.before);
        }
        let collectives = kernel.collectives.iter_mut();
        for collective in collectives.filter(|one| one.decision != Decision::Keep) {
            collective.decision = Decision::Keep;
            collective.rule = Some(FUNCTION_LEFT.to_owned());
            collective.reason = Some(reason.to_owned());
            collective.guards = None;
            collective.cost = None;
        }
        kernel
    }

    /// Loads that are not performed as they stand.
    pub fn replaced(&self) -> usize {
        self.loads.iter().filter(|load| load.decision != Decision::Keep).count()
    }

    /// Arrays in shared memory that are laid out anew.
    pub fn laid_out(&self) -> usize {
        self.arrays.iter().filter(|array| array.layout.is_some()).count()
    }

    /// Whether each of its loads still gets its bytes from memory, by itself or in a vector.
    pub fn keeps_loads(&self) -> bool {
        let keeps = |decision: Decision| match decision {
            Decision::Keep => true,
            Decision::By(name) => name.facts().keeps_loads,
        };
        self.loads.iter().all(|load| keeps(load.decision))
            && self.replaced_collectives() == 0
            && self.stores.iter().all(|store| keeps(store.decision))
    }

    /// Whether accesses are joined to vectors or arrays laid out anew, and nothing else: then less work is all that is
    /// gained.
    pub fn only_joins(&self) -> bool {
        let joins = |decision: Decision| {
            matches!(decision, Decision::Keep | Decision::By(StrategyName::Wide))
        };
        self.loads.iter().chain(&self.stores).all(|access| joins(access.decision))
            && self.replaced_collectives() == 0
    }

    /// Whether some of its loads are performed together where a pointer is aligned, which is tested.
    pub fn tests_alignment(&self) -> bool {
        self.loads.iter().any(|load| {
            load.decision == Decision::By(StrategyName::Wide)
                && load.guards.as_ref().is_some_and(|guards| !guards.is_empty())
        })
    }

    /// Collectives that other instructions compute.
    pub fn replaced_collectives(&self) -> usize {
        self.collectives.iter().filter(|one| one.decision != Decision::Keep).count()
    }

    /// Stores that are not performed as they stand.
    pub fn replaced_stores(&self) -> Stores {
        let count = |name: StrategyName| {
            self.stores.iter().filter(|store| store.decision == Decision::By(name)).count()
        };
        Stores {
            elsewhere: count(StrategyName::Aos),
            joined: count(StrategyName::Wide),
            overwritten: count(StrategyName::Promote),
        }
    }

    /// Loads and stores that are not performed as they stand, and arrays that are laid out anew.
    pub fn changes(&self) -> usize {
        let Stores { elsewhere, joined, overwritten } = self.replaced_stores();
        let others = self.laid_out() + self.replaced_collectives();
        self.replaced() + elsewhere + joined + overwritten + others
    }

    /// Whether a rewrite of the kernel was taken back.
    pub fn is_taken_back(&self) -> bool {
        self.skipped.as_ref().is_some_and(|reason| reason.starts_with("taken back"))
    }

    /// Whether the kernel's text was changed.
    pub fn is_rewritten(&self) -> bool {
        self.changes() > 0
    }

    /// The decisions about the kernel's loads and stores with their reasons, in one sentence.
    pub fn sentence(&self) -> String {
        let loads = sentence(self.loads.iter(), self.global_loads, self.cost());
        let sentence = with_arrays(with_stores(loads, self.replaced_stores()), self.arrays.iter());
        with_collectives(sentence, self.collectives.iter())
    }

    /// The changes of the rewrite in the machine code, in one sentence; `None` if the kernel is not rewritten or
    /// nothing is known.
    pub fn machine_code(&self) -> Option<String> {
        if !self.is_rewritten() {
            return None;
        }
        let mut parts = Vec::new();
        if let Some(ResourcesReport { original: Some(old), rewritten: Some(new) }) = &self.resources
        {
            let counts = [
                ("instructions", old.instructions, new.instructions),
                ("registers", old.registers, new.registers),
                ("resident warps", old.warps.unwrap_or(0), new.warps.unwrap_or(0)),
                ("bytes of stack", old.stack, new.stack),
            ];
            for (what, old, new) in counts.into_iter().filter(|(_, old, new)| old.max(new) > &0) {
                parts.push(match old == new {
                    true => format!("{new} {what} as before"),
                    false => format!("{new} {what} instead of {old}"),
                });
            }
        }
        parts.extend(
            self.measure.as_ref().filter(|one| one.ratio().is_some()).map(ToString::to_string),
        );
        (!parts.is_empty()).then(|| format!("machine code: {}", parts.join(", ")))
    }

    /// The outcome of a build's decision, in one sentence; empty outside of builds.
    pub fn outcome(&self) -> String {
        match (self.decision, self.why) {
            (None, _) => String::new(),
            (Some(Kept::Rewritten), _) => "the rewritten code is used".to_owned(),
            (Some(Kept::KeptOriginal), None) => "the original is used".to_owned(),
            (Some(Kept::KeptOriginal), Some(why)) => format!("the original is used, since {why}"),
        }
    }

    /// Loads for which a legal replacement was left alone, since it does not pay.
    pub fn unprofitable(&self) -> usize {
        self.loads.iter().filter(|load| load.possible.is_some()).count()
    }

    /// The cycles of all that was chosen because it pays, and of the loads in whose place it stands; `None`
    /// if nothing was weighed.
    pub fn cost(&self) -> Option<Cost> {
        let chosen = self.loads.iter().filter(|load| load.decision != Decision::Keep);
        // The cost of a vector load stands at each load that it serves.
        let each =
            chosen.filter(|load| !load.decision.is_whole_cost() || load.source_line.is_none());
        Cost::sum(each.filter_map(|load| load.cost))
    }
}
