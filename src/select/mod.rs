//! Chooses among legal replacements.
//!
//! In: the control flow and trace of one function, and through [`crate::reuse`] every legal
//! replacement. Out: a [`Finding`] for every global load: covered by which source, or kept and why.

mod asked;
mod bank;
mod carried;
mod paper;
mod rows;
mod strategies;
mod structs;
mod weighed;
mod whole;

use std::collections::BTreeSet;

use crate::cfg::Flow;
use crate::cost::Costs;
use crate::emulate::{Effect, KernelTrace, effect};
use crate::ptx::{Function, StateSpace};
use crate::reuse::shared::{self, Surroundings};
use crate::reuse::{
    Adjacent, Carried, Opportunities, Opportunity, Refusal, Row, StructLoads, StructStores,
};
use crate::source::SourceFile;

pub use bank::ArrayFinding;
pub use strategies::{Strategies, StrategyName, UnknownStrategy};

/// How sources are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Selection {
    /// The paper's rule.
    #[default]
    Paper,
}

/// The most loads of one function that are replaced. The assembler's time for a function rises faster
/// than the function's size if many registers are alive at once, and each replaced load adds
/// registers, predicates and branches.
pub const MAX_REPLACED: usize = 256;

/// What the user may choose about the selection.
#[derive(Clone, Debug)]
pub struct Options {
    /// How the paper's strategy chooses sources.
    pub selection: Selection,
    /// Which strategies may be used.
    pub strategies: Strategies,
    /// The costs by which it is decided what pays.
    pub costs: Costs,
    /// Largest |delta|, 0 to 31.
    pub max_delta: u32,
    /// At most so many loads of one function are replaced ([`MAX_REPLACED`]).
    pub most: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            selection: Selection::Paper,
            strategies: Strategies::AUTO,
            costs: Costs::of(crate::cost::DEFAULT_ARCHITECTURE),
            max_delta: 31,
            most: MAX_REPLACED,
        }
    }
}

/// The decision about a load.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Replaced: the strategy, and the opportunity with the source load.
    Covered(StrategyName, Opportunity),
    /// The value of another load some iterations before: the index of the link in [`Choice::carried`].
    Carried(usize),
    /// Performed by a vector load: the index of its group in [`Choice::vectors`].
    Wide(usize),
    /// A tap of a row: the index of the row in [`Choice::rows`].
    Window(usize),
    /// A part of a struct: the index of the struct in [`Choice::structs`].
    Aos(usize),
    /// Kept.
    Kept(Refusal),
}

/// The decision about one global load.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Index of the instruction.
    pub inst: u32,
    /// Bytes loaded by each lane.
    pub bytes: u32,
    /// The decision.
    pub verdict: Verdict,
    /// What was weighed for it, if it was.
    pub price: Option<Price>,
}

/// The decision about the stores of a struct.
#[derive(Clone, Debug)]
pub struct StoreFinding {
    /// The stores.
    pub whole: StructStores,
    /// What was weighed for each of them, if they are chosen and it was.
    pub price: Option<Price>,
    /// Why they stay, if they do.
    pub refusal: Option<Refusal>,
}

/// Both costs of a replacement that is chosen, in hundredths of a cycle per warp: for one load, except that
/// a vector load is weighed against all that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// The cost of the replacement.
    pub instead: u32,
    /// The cost of the load or loads.
    pub kept: u32,
}

/// The decisions about one function.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Every global load in program order.
    pub findings: Vec<Finding>,
    /// The vector loads that stand for others.
    pub vectors: Vec<Adjacent>,
    /// The rows for which two loads stand.
    pub rows: Vec<Row>,
    /// The structs that are loaded word by word of all lanes.
    pub structs: Vec<StructLoads>,
    /// The structs that are stored, where strategy `aos` is allowed.
    pub stores: Vec<StoreFinding>,
    /// The values that go round loops in registers.
    pub carried: Vec<Carried>,
    /// The arrays in shared memory.
    pub arrays: Vec<ArrayFinding>,
}

impl Choice {
    /// The indices that `index` finds in the verdicts, each once and in order.
    pub fn chosen(&self, index: impl Fn(&Verdict) -> Option<usize>) -> BTreeSet<usize> {
        self.findings.iter().filter_map(|finding| index(&finding.verdict)).collect()
    }

    /// The decisions about loads alone.
    pub fn without_arrays(&self) -> Choice {
        Choice { arrays: Vec::new(), ..self.clone() }
    }

    /// Keeps those replaced loads for which `keep` returns true; it is called once for each, in program
    /// order. A group of a vector load, a row or a struct is only kept if all
    /// of its loads are. Stores of structs come behind the loads, each struct as one.
    pub fn retain(&mut self, mut keep: impl FnMut() -> bool) {
        let mut dropped = vec![false; self.vectors.len()];
        let mut dropped_rows = vec![false; self.rows.len()];
        let mut dropped_structs = vec![false; self.structs.len()];
        for finding in &mut self.findings {
            match finding.verdict {
                Verdict::Kept(_) => {}
                Verdict::Wide(group) => dropped[group] |= !keep(),
                Verdict::Window(row) => dropped_rows[row] |= !keep(),
                Verdict::Aos(whole) => dropped_structs[whole] |= !keep(),
                Verdict::Covered(..) | Verdict::Carried(_) => {
                    if !keep() {
                        finding.verdict = Verdict::Kept(Refusal::NotSelected);
                    }
                }
            }
        }
        for finding in &mut self.findings {
            let goes = match finding.verdict {
                Verdict::Wide(group) => dropped[group],
                Verdict::Window(row) => dropped_rows[row],
                Verdict::Aos(whole) => dropped_structs[whole],
                _ => false,
            };
            if goes {
                finding.verdict = Verdict::Kept(Refusal::NotSelected);
            }
        }
        for found in self.stores.iter_mut().filter(|found| found.refusal.is_none()) {
            if !keep() {
                found.refusal = Some(Refusal::NotSelected);
                found.price = None;
            }
        }
    }
}

/// Decides about every global load of a function, in program order.
pub fn decide(
    (source, around): (&SourceFile, &Surroundings<'_, '_>),
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    legal: &crate::reuse::Options,
    options: &Options,
) -> Choice {
    let mut loads: Vec<usize> =
        (0..trace.accesses.len()).filter(|&i| trace.accesses[i].is_global_load()).collect();
    loads.sort_by_key(|&index| trace.accesses[index].inst);
    let mut opportunities = Opportunities::new(source, function, flow, trace, legal);
    let (verdicts, groups) = match options.selection {
        Selection::Paper if options.strategies == Strategies::PAPER => {
            (paper::verdicts(&mut opportunities, trace, &loads, options), Default::default())
        }
        Selection::Paper => whole::verdicts(&mut opportunities, trace, &loads, options),
    };
    let mut findings: Vec<Finding> = loads
        .into_iter()
        .zip(verdicts)
        .map(|(index, verdict)| {
            let access = &trace.accesses[index];
            let price = groups.prices.get(&access.inst).copied();
            Finding { inst: access.inst, bytes: access.bytes(), verdict, price }
        })
        .collect();
    add_unreachable(flow, &mut findings);
    let whole::Groups { vectors, carried, rows, structs, stores, .. } = groups;
    let arrays = Vec::new();
    let mut choice = Choice { findings, vectors, rows, structs, stores, carried, arrays };
    let arrays = shared::arrays((source, around), function, flow, trace, legal.planted);
    choice.arrays = bank::decide(flow, arrays, &choice, options, legal.planted);
    choice
}

/// Adds a finding for each load in code that no way leads to, which has no trace.
fn add_unreachable(flow: &Flow<'_, '_>, findings: &mut Vec<Finding>) {
    let seen: BTreeSet<u32> = findings.iter().map(|finding| finding.inst).collect();
    for (at, inst) in flow.insts.iter().enumerate() {
        let space = inst.ast.form.space();
        let global = matches!(space, StateSpace::Global | StateSpace::Generic);
        if effect(inst) == Effect::Load && global && !seen.contains(&(at as u32)) {
            let bytes = inst.ast.form.last_type().map_or(0, |ty| ty.bits() / 8);
            let verdict = Verdict::Kept(Refusal::Unreachable);
            findings.push(Finding { inst: at as u32, bytes, verdict, price: None });
        }
    }
    findings.sort_by_key(|finding| finding.inst);
}
