//! What is to be replaced in one function, before any code is chosen.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::edit::Edit;
use super::measure::{NoCorner, NoLoad};
use super::names::Names;
use super::paper::Paper;
use crate::cfg::{BlockId, Flow, RegisterId};
use crate::emulate::KernelTrace;
use crate::shuffle::{Covered, Finding, Verdict};

/// Which version of the code is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Mode {
    /// Shuffles with the original load for corner cases.
    #[default]
    Full,
    /// No change.
    Original,
    /// Covered loads are removed. For measuring only: computes wrong results.
    NoLoad,
    /// Shuffles without the load for corner cases. For measuring only: computes wrong results.
    NoCorner,
}

impl Mode {
    /// Whether the result computes something else than the input.
    pub fn is_wrong(self) -> bool {
        matches!(self, Mode::NoLoad | Mode::NoCorner)
    }
}

/// Which code stands for a decision in [`Mode::Full`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum StrategyName {
    /// The paper's: a shuffle and a guarded load for each covered load.
    #[default]
    Paper,
}

/// A covered load and where it stands.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// Index of the instruction.
    pub inst: u32,
    /// Its bytes in the text.
    pub span: Range<usize>,
    /// The basic block it stands in.
    pub block: BlockId,
    /// The register it writes, as written.
    pub destination: String,
    /// The register that is sent: the source load's own, or a copy of it.
    pub sent: String,
    /// What covers it.
    pub covered: Covered,
}

/// Everything that is to change in one function.
#[derive(Clone, Debug)]
pub struct KernelPlan {
    /// The byte behind the body's opening brace.
    pub body: usize,
    /// Covered loads in program order.
    pub replacements: Vec<Replacement>,
    /// Copies of source registers that are written again later: the byte behind the source load,
    /// the copy, the register.
    pub copies: Vec<(usize, String, String)>,
    /// 32-bit registers that the copies take, numbered from 0.
    pub words: u32,
    /// Names of the registers that no-wrap checks read.
    pub registers: FxHashMap<RegisterId, String>,
}

/// Chooses the code for a plan.
pub trait Strategy {
    /// The edits for one function.
    fn edits(&self, plan: &KernelPlan, names: &Names) -> Vec<Edit>;
}

/// The strategy for a mode; `None` where nothing is to change.
pub fn strategy(mode: Mode, name: StrategyName) -> Option<Box<dyn Strategy>> {
    match (mode, name) {
        (Mode::Original, _) => None,
        (Mode::NoLoad, _) => Some(Box::new(NoLoad)),
        (Mode::NoCorner, _) => Some(Box::new(NoCorner)),
        (Mode::Full, StrategyName::Paper) => Some(Box::new(Paper)),
    }
}

/// Collects what the findings of one function ask for; `body` is the byte behind its opening brace.
pub fn plan(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    findings: &[Finding],
    body: usize,
    names: &Names,
) -> KernelPlan {
    let mut plan = KernelPlan {
        body,
        replacements: Vec::new(),
        copies: Vec::new(),
        words: 0,
        registers: FxHashMap::default(),
    };
    let blocks: FxHashMap<u32, BlockId> =
        trace.accesses.iter().map(|access| (access.inst, access.block)).collect();
    let mut copied: FxHashMap<u32, String> = FxHashMap::default();
    let name = |register: RegisterId| flow.registers[register.0 as usize].name.to_owned();
    for finding in findings {
        let Verdict::Covered(covered) = &finding.verdict else { continue };
        let inst = &flow.insts[finding.inst as usize];
        let (Some(&block), Some(destination)) =
            (blocks.get(&finding.inst), crate::emulate::definitions(inst).first().copied())
        else {
            continue;
        };
        let sent = if trace.definitions[covered.source_register.0 as usize] == 1 {
            name(covered.source_register)
        } else {
            // The register may hold something else by then.
            let source = &flow.insts[covered.source as usize];
            copied
                .entry(covered.source)
                .or_insert_with(|| {
                    let copy = names.word(plan.words);
                    plan.words += 1;
                    let behind = source.ast.span.end as usize;
                    plan.copies.push((behind, copy.clone(), name(covered.source_register)));
                    copy
                })
                .clone()
        };
        for check in &covered.guards.no_wrap {
            plan.registers.insert(check.register, name(check.register));
        }
        plan.replacements.push(Replacement {
            inst: finding.inst,
            span: inst.ast.span.range(),
            block,
            destination: name(destination),
            sent,
            covered: covered.clone(),
        });
    }
    plan
}
