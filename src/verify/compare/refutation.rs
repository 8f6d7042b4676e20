//! Witnesses: from a claim that was not shown to a counterexample, if one is found and, executed,
//! shows the difference.

use super::comparison::Comparison;
use crate::cfg::InstId;
use crate::oracle::Warp;
use crate::program::Both;
use crate::proof::{Claim, Difference, Proof};
use crate::ptx::Module;
use crate::record::Place;
use crate::witness::counterexample::{Found, Refuted};
use crate::witness::execute::Ran;
use crate::witness::{counterexample, execute, missing, why};

impl Comparison<'_, '_> {
    /// A state in which a claim fails.
    pub(super) fn counterexample(
        &mut self,
        place: &Place,
        difference: &Difference,
        whole: Claim,
    ) -> Option<Found> {
        if !self.pairs_up {
            return None;
        }
        let refuted = Refuted { whole, difference, place };
        let Warp { prover, lanes, .. } = &mut self.warp;
        let solver = &mut prover.claims.solver;
        let executions = Both { original: self.before, rewritten: self.after };
        counterexample::find(self.terms, lanes, solver, &refuted, executions)
    }

    /// Notes the outcome of a claim, if it is not that the claim holds.
    pub(super) fn check(
        &mut self,
        (proof, claim): (Proof, Claim),
        inst: InstId,
        original: Option<InstId>,
        place: &Place,
        what: impl FnOnce() -> String,
    ) {
        match proof {
            Proof::Equal => {}
            Proof::Unknown => {
                let missing = missing(self.terms, claim);
                let missing = missing.map_or(String::new(), |missing| format!(": {missing}"));
                let reason = format!("{} was not shown to be equal{missing}", what());
                self.unknown(inst, original, reason);
            }
            Proof::Differ(difference) => {
                let found = self.counterexample(place, &difference, claim);
                let reason = match &found {
                    Some(_) => format!("{} differs", what()),
                    None => {
                        let missing = missing(self.terms, claim).map(str::to_owned);
                        let why = missing.unwrap_or_else(|| why(self.terms, &difference));
                        format!("{} may differ: {why}", what())
                    }
                };
                self.problem(reason, Both { original, rewritten: Some(inst) }, found);
            }
        }
    }

    /// Executes the counterexamples. If the launch that one describes leaves the same memory behind in
    /// both programs, it is dropped.
    pub(super) fn run(&mut self, modules: Both<&Module<'_>>) {
        if self.seen.is_empty() {
            return;
        }
        let pointers = execute::pointers(self.terms, &[self.before, self.after]);
        for (index, seen) in std::mem::take(&mut self.seen) {
            let Some(found) = &self.problems[index].counterexample else { continue };
            let block = self.original.block.map(|block| block.map(|extent| extent as u32));
            let kernel = (self.original.function, block);
            match execute::run(modules, kernel, &pointers, found, &seen) {
                Ran::Different => return,
                Ran::Equal => {
                    self.problems[index].counterexample = None;
                    self.problems[index].reason += ", but a run of both leaves the same memory";
                }
                Ran::NotRun if self.doubtful => {
                    self.problems[index].counterexample = None;
                    self.problems[index].reason += ", unless arrays are laid out in another way";
                }
                Ran::NotRun if self.exchanging => {
                    self.problems[index].counterexample = None;
                    self.problems[index].reason += ", unless another lane stores there \
                        (that is proved where the whole warp waits, `bar.warp.sync`, in front of the stores and behind them)";
                }
                Ran::NotRun => {}
            }
        }
    }
}
