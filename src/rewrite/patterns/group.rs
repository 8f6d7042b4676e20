//! Accesses that are replaced together: the accesses of a pattern, their costs, and their words in the report.

use std::any::Any;
use std::fmt::Debug;

use super::footprint::{Accesses, Footprint};
use crate::cfg::{Flow, InstId};
use crate::ptx::{self, Operand};
use crate::report::{CollectiveStep, Cost, KernelReport, LoadReport, Origin, Origins};
use crate::reuse::{Limit, Multiple, NoWrap, Refusal, Unprofitable};
use crate::source::SourceFile;
use crate::strategies::StrategyName;

/// Both costs of a replacement that is chosen, in hundredths of a cycle per warp: for one access, except for
/// strategies of [whole cost](crate::strategies::Facts::whole_cost).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The cost of the replacement.
    pub cost_after: u32,
    /// The cost of the access or accesses.
    pub cost_before: u32,
}

impl Price {
    /// The same in cycles.
    pub fn cost(self) -> Cost {
        let cycles = |hundredths: u32| f64::from(hundredths) / 100.0;
        Cost { strategy: cycles(self.cost_after), load: cycles(self.cost_before) }
    }

    /// The hundredths of a cycle that it is predicted to save.
    pub fn saved(self) -> i64 {
        i64::from(self.cost_before) - i64::from(self.cost_after)
    }

    /// Says of a legal replacement at this price that it does not pay on an architecture.
    pub fn unprofitable(self, name: StrategyName, architecture: u32) -> Unprofitable {
        Unprofitable {
            possible: name.word(),
            architecture,
            cost_after: self.cost_after,
            cost_before: self.cost_before,
            loads: 1,
            limit: Limit::Cost,
            assumed: None,
        }
    }
}

/// Accesses that are replaced together or not at all.
#[derive(Debug)]
pub struct Group {
    /// The strategy that allows it.
    pub strategy: StrategyName,
    /// The accesses and the code that it changes.
    pub footprint: Footprint,
    /// Loads, by instruction, whose values are passed on to later iterations of a loop. None of them takes a value that
    /// another lane has got in this way: the loop-carried value would have no base case for the induction.
    pub loop_carried: Vec<InstId>,
    /// The instruction that follows the test which the group shares with others, if no price contains that test.
    pub shared_test: Option<InstId>,
    /// The number of the group in whose version of the code its own stands, if it does. Without that one it is not done.
    pub within: Option<usize>,
    /// The costs, if they were weighed.
    pub price: Option<Price>,
    /// Why it is not chosen. Such groups are kept where the report lists them.
    pub refusal: Option<Refusal>,
    /// Its properties.
    pub shape: Box<dyn Shape>,
}

impl Group {
    /// The rule by which the group stays unchanged, and the reason.
    pub(super) fn kept_by(&self) -> Option<(String, String)> {
        self.refusal.as_ref().map(|one| (one.rule().to_owned(), one.to_string()))
    }

    /// Its costs, also where they are the reason to leave it as it is.
    pub(super) fn weighed(&self) -> Option<Price> {
        match &self.refusal {
            Some(Refusal::DoesNotPay(unprofitable)) => Some(Price {
                cost_after: unprofitable.cost_after,
                cost_before: unprofitable.cost_before,
            }),
            _ => self.price,
        }
    }

    /// A group that is chosen, with no price.
    pub fn new(strategy: StrategyName, footprint: Footprint, shape: impl Shape) -> Group {
        Group {
            strategy,
            footprint,
            loop_carried: Vec::new(),
            shared_test: None,
            within: None,
            price: None,
            refusal: None,
            shape: Box::new(shape),
        }
    }

    /// A group of loads that is chosen and gets no code but in the place of the loads.
    pub fn of_loads(strategy: StrategyName, members: Vec<InstId>, shape: impl Shape) -> Group {
        Group::new(strategy, Footprint::of(Accesses::Loads, members), shape)
    }

    /// The same group, which stays as it is.
    pub fn refused(self, refusal: Refusal) -> Group {
        Group { price: None, refusal: Some(refusal), ..self }
    }

    /// The instructions of its accesses, in program order.
    pub fn members(&self) -> &[InstId] {
        &self.footprint.members
    }

    /// Whether its members are loads or stores in global memory.
    pub fn is_of_memory(&self) -> bool {
        matches!(self.footprint.accesses, Accesses::Loads | Accesses::Stores)
    }

    /// Whether it is chosen.
    pub fn is_chosen(&self) -> bool {
        self.refusal.is_none()
    }

    /// Whether it is chosen and its members are loads.
    pub fn serves_loads(&self) -> bool {
        self.is_chosen() && self.footprint.accesses == Accesses::Loads
    }

    /// Its shape, if that is of some type.
    pub fn shape<S: Shape>(&self) -> Option<&S> {
        let shape: &dyn Any = &*self.shape;
        shape.downcast_ref()
    }

    /// The hundredths of a cycle per warp that it is predicted to save.
    pub fn saved(&self) -> i64 {
        let times = if self.strategy.facts().whole_cost { 1 } else { self.members().len() as i64 };
        let price = self.price.filter(|_| self.is_chosen());
        price.map_or(0, |price| times * price.saved())
    }

    /// Why its members stay as they are if others that it excludes save more.
    pub fn displaced(&self, architecture: u32) -> Refusal {
        let limit = Limit::Displaced;
        self.price.map_or(Refusal::NotSelected, |price| {
            let unprofitable = price.unprofitable(self.strategy, architecture);
            Refusal::DoesNotPay(Unprofitable { limit, ..unprofitable })
        })
    }

    /// The cycles per warp that it is predicted to save, with guessed executions of each instruction.
    pub fn saved_in_loops(&self, executions: impl Fn(InstId) -> f64) -> f64 {
        let whole = || {
            let each: f64 = self.members().iter().map(|&inst| executions(inst)).sum();
            self.saved() as f64 / 100.0 * each / self.members().len().max(1) as f64
        };
        self.shape.saved_in_loops().filter(|_| self.is_chosen()).unwrap_or_else(whole)
    }
}

/// The shapes of one type among some groups.
pub(super) fn shapes<'g, S: Shape>(groups: &[&'g Group]) -> Vec<&'g S> {
    groups.iter().filter_map(|group| group.shape()).collect()
}

/// The properties of a group: its members, their distances, the tests at run time.
pub trait Shape: Any + Debug + Send + Sync {
    /// Whether the group changes nothing but statements of one block, under a test, if any, whose outcome is the same in all
    /// iterations of the innermost loop around it. Then the loop can get two versions as a whole.
    fn is_invariant(&self) -> bool {
        false
    }

    /// Says in the report of a load that is a member where its value comes from, and under which guards.
    fn account(&self, _inst: InstId, _places: &Places<'_, '_>, _report: &mut LoadReport) {}

    /// The cycles per warp that it is predicted to save, with guessed iterations of loops, if they are known so.
    fn saved_in_loops(&self) -> Option<f64> {
        None
    }

    /// Adds the entries of a function's report beside global loads, for a group that may be refused.
    fn list(&self, _group: &Group, _places: &Places<'_, '_>, _report: &mut KernelReport) {}
}

/// The text of a function, and where its instructions come from.
#[derive(Clone, Copy, Debug)]
pub struct Places<'a, 's> {
    /// The text.
    pub source: &'a SourceFile,
    /// Where instructions were compiled from.
    pub origins: &'a Origins<'a, 'a>,
    /// The control flow.
    pub flow: &'a Flow<'a, 's>,
}

impl Places<'_, '_> {
    /// The 1-based line of an instruction.
    pub fn line(&self, inst: InstId) -> u32 {
        self.source.line(self.flow.insts[inst].ast.span.start)
    }

    /// A step of a collective: its instruction, and the lane that each lane has a value from.
    pub fn step(&self, inst: InstId, sources: &[u8]) -> CollectiveStep {
        CollectiveStep { line: self.line(inst), sources: sources.to_vec() }
    }

    /// The line of the instruction from which `inst` gets its value, unless it is that itself.
    pub fn line_of_other(&self, other: InstId, inst: InstId) -> Option<u32> {
        (other != inst).then(|| self.line(other))
    }

    /// The place in the sources that an instruction was compiled from, if a `.loc` names one.
    pub fn origin(&self, inst: InstId) -> Option<Origin> {
        self.origins.at(self.flow.insts[inst].ast.span)
    }

    /// The report of an access without a decision.
    pub fn report_of(&self, inst: InstId) -> LoadReport {
        let ast = self.flow.insts[inst].ast;
        let mut report = LoadReport::new(self.line(inst), operand_text(self.source, ast));
        report.source = self.origin(inst);
        report
    }

    /// Says that an access is kept, and why.
    pub fn keep(&self, report: &mut LoadReport, refusal: &Refusal) {
        if let Refusal::DoesNotPay(unprofitable) | Refusal::ByNameOnly(unprofitable, _) = refusal {
            report.architecture = Some(unprofitable.architecture);
            report.possible = Some(vec![unprofitable.possible.to_owned()]);
            report.cost = Some(
                Price {
                    cost_after: unprofitable.cost_after,
                    cost_before: unprofitable.cost_before,
                }
                .cost(),
            );
            report.loads = Some(unprofitable.loads).filter(|loads| *loads > 1);
        }
        report.rule = Some(refusal.rule().to_owned());
        report.reason = Some(refusal.to_string());
    }

    /// The guards that concern the warp and its indices.
    pub fn warp_guards(
        &self,
        linear_lanes: bool,
        whole_warp: bool,
        no_wrap: &[NoWrap],
    ) -> Vec<String> {
        let linear_lanes = linear_lanes.then(|| "linear-lanes".to_owned());
        let whole_warp = whole_warp.then(|| "whole-warp".to_owned());
        let register = |check: &NoWrap| self.flow.registers[check.register].to_string();
        let no_wrap = no_wrap.iter().map(|check| format!("no-wrap {}", register(check)));
        linear_lanes.into_iter().chain(whole_warp).chain(no_wrap).collect()
    }
}

/// The guard that a parameter leaves a vector load aligned.
pub(super) fn alignment(multiple: &Multiple) -> String {
    let Multiple { parameter, offset, of, .. } = multiple;
    let at = if *offset == 0 { String::new() } else { format!("+{offset}") };
    format!("multiple of {of}: {parameter}{at}")
}

/// The destination operand as written.
pub fn operand_text(source: &SourceFile, instruction: &ptx::Instruction<'_>) -> String {
    match instruction.operands.first() {
        Some(Operand::Name(name)) => name.text.to_owned(),
        Some(Operand::Vector(_, span)) => source.slice(*span).to_owned(),
        Some(Operand::Sink(span)) => source.slice(*span).to_owned(),
        Some(Operand::Address(address)) => source.slice(address.span).to_owned(),
        _ => String::new(),
    }
}
