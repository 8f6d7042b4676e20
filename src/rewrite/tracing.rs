//! The memory trace as data for people and programs.
//!
//! In: a function's control flow and [`KernelTrace`]. Out: a [`TraceReport`] that serialises to the
//! JSON of `ptxasw trace` and prints as text. `pattern`: the joint accesses of a warp's lanes, in words.

mod pattern;

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::fmt::{self, Write};
use typed_index_collections::{TiVec, ti_vec};

use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, InstId, PostDominators};
use crate::emulate::{Access, Effect, KernelTrace, Printer};
use crate::expr::{Facts, TermId};
use crate::kernels::demangled;
use crate::lanes::Strides;
use crate::ptx::Function;
use crate::report::{Origin, Origins};
use crate::reuse::lane_stride;
use crate::source::SourceFile;
use crate::traffic::{AccessTraffic, Request, Traffic};

/// Version of the JSON format; raised when a field changes its meaning.
pub const FORMAT_VERSION: u32 = 1;

/// The traces of one file.
#[derive(Debug, Serialize)]
pub struct TraceFile {
    /// [`FORMAT_VERSION`].
    pub version: u32,
    /// The input as the user named it.
    pub file: String,
    /// One entry per function with a body.
    pub kernels: Vec<TraceReport>,
}

/// The trace of one function.
#[derive(Debug, Serialize)]
pub struct TraceReport {
    /// The function's name.
    pub name: String,
    /// Why there is no trace, if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The definitions of the names that stand for grid indices in addresses.
    pub names: Vec<String>,
    /// The definitions of `#1`, `#2`, ...: parts of addresses and conditions that are too large to be written where they
    /// stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<String>,
    /// Loads, stores, atomics, barriers and calls in program order.
    pub accesses: Vec<TraceAccess>,
    /// Places where the trace is not exact.
    pub approximations: Vec<Approximation>,
}

/// One access.
#[derive(Debug, Serialize)]
pub struct TraceAccess {
    /// 1-based line of the input.
    pub line: u32,
    /// The place in the sources that the access was compiled from, if a `.loc` names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// `load`, `store`, `atomic`, `barrier`, `call` or `opaque`.
    pub kind: &'static str,
    /// The opcode with its qualifiers, as written.
    pub opcode: String,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The address in infix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Bytes from one lane's address to the next one's, if that is a constant: 0 is a broadcast, the
    /// size of the access is coalesced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lane_stride: Option<i64>,
    /// The accesses of a warp's lanes together, in words: the stride, and its cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The cost of a warp's request; none for barriers, calls, and accesses of other state spaces.
    #[serde(flatten)]
    pub request: Option<Request>,
    /// The predicate under which the access runs, if it is guarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guard: Option<String>,
    /// The conditions that hold on the path, a conjunction.
    pub path: Vec<String>,
    /// The loops around the access, outermost first.
    pub loops: Vec<u32>,
}

/// A place where the trace is not exact.
#[derive(Debug, Serialize)]
pub struct Approximation {
    /// 1-based line of the input.
    pub line: u32,
    /// Approximations, and why.
    pub what: String,
}

impl TraceReport {
    /// The report of a function that has no trace, with the reason.
    pub fn skipped(function: &Function<'_>, reason: String) -> TraceReport {
        TraceReport {
            name: function.name.text.to_owned(),
            skipped: Some(reason),
            names: Vec::new(),
            terms: Vec::new(),
            accesses: Vec::new(),
            approximations: Vec::new(),
        }
    }
}

/// The most conditions of a path that are shown, those nearest to the access.
const MAX_PATH: usize = 64;

/// The options of a description.
#[derive(Debug, Default)]
pub struct View<'a> {
    /// Where instructions were compiled from.
    pub origins: Option<&'a Origins<'a, 'a>>,
    /// Whether large terms are given in full, with names for their parts, or cut.
    pub whole: bool,
    /// The costs of the accesses of the function.
    pub traffic: Option<&'a Traffic>,
}

/// Describes a function's trace.
pub fn describe(
    view: &View<'_>,
    source: &SourceFile,
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
) -> TraceReport {
    let strides: Vec<Option<i64>> =
        (0..trace.accesses.len()).map(|index| lane_stride(&flow.loops, trace, index)).collect();
    let printer = Printer::new(&trace.arena, &trace.symbols, &flow.registers);
    let printer = if view.whole { printer.whole() } else { printer };
    let mut affine = Strides::new(&flow.loops, trace);
    let costs = view.traffic.map_or(&[][..], |traffic| &traffic.accesses);
    let costs: FxHashMap<usize, &AccessTraffic> =
        costs.iter().map(|one| (one.index, one)).collect();
    let behind = PostDominators::of(flow);
    let line = |inst: InstId| match flow.insts.get(inst) {
        Some(inst) => source.line(inst.ast.span.start),
        None => source.line(function.span.end),
    };
    let mut accesses: Vec<(InstId, TraceAccess)> = trace
        .accesses
        .iter()
        .zip(strides)
        .enumerate()
        .map(|(index, (access, lane_stride))| {
            let described = TraceAccess {
                line: line(access.inst),
                source: view.origins.and_then(|all| all.at(flow.insts[access.inst].ast.span)),
                pattern: pattern::pattern(access, lane_stride, affine.of(index), &printer),
                kind: kind(access),
                opcode: flow.insts[access.inst].ast.opcode.text.to_owned(),
                bytes: access.bytes(),
                address: access.address.map(|term| printer.print(term)),
                lane_stride,
                request: costs.get(&index).map(|one| Request::of(function, flow, trace, one)),
                guard: access.guard.map(|term| printer.print(term)),
                path: path((flow, &behind), trace, &printer, access.block),
                loops: loops(flow, access.block),
            };
            (access.inst, described)
        })
        .collect();
    accesses.sort_by_key(|(inst, _)| *inst);
    TraceReport {
        name: function.name.text.to_owned(),
        skipped: None,
        names: printer.legend(),
        terms: printer.definitions(),
        accesses: accesses.into_iter().map(|(_, access)| access).collect(),
        approximations: trace
            .approximations
            .iter()
            .map(|(inst, what)| Approximation { line: line(*inst), what: what.clone() })
            .collect(),
    }
}

fn kind(access: &Access) -> &'static str {
    match access.effect {
        Effect::Load => "load",
        Effect::Store => "store",
        Effect::Atomic => "atomic",
        Effect::Barrier => "barrier",
        Effect::Call => "call",
        _ => "opaque",
    }
}

/// The assumptions that hold in a block, outermost first, behind a `…` where there are more.
fn path(
    (flow, behind): (&Flow<'_, '_>, &PostDominators),
    trace: &KernelTrace,
    printer: &Printer<'_>,
    block: BlockId,
) -> Vec<String> {
    let assumed = flow.dominators.chain(block).filter_map(|at| {
        trace.arena.charge(1);
        trace.assumptions[at]
    });
    let mut nearest: Vec<TermId> = assumed.take(MAX_PATH + 1).collect();
    let mut shown = Vec::new();
    let is_cut = nearest.len() > MAX_PATH;
    nearest.truncate(MAX_PATH);
    if is_cut || flow.dominators.chain(block).any(|at| has_unstated(flow, behind, at)) {
        shown.push("…".to_owned());
    }
    let mut known = Facts::default();
    nearest.iter().rev().for_each(|&predicate| known.add(&trace.arena, predicate));
    let literals = known.literals(&trace.arena).take(MAX_PATH);
    shown.extend(literals.map(|(term, holds)| printer.literal(term, holds)));
    shown
}

/// Whether a block is entered under conditions that no term states: by a branch with an index, or by several entries of a
/// cycle.
fn has_unstated(flow: &Flow<'_, '_>, behind: &PostDominators, block: BlockId) -> bool {
    let by_index = |edge: &Edge| edge.condition == EdgeCondition::Index;
    (flow.loops.is_irreducible_entry(block) || flow.block(block).predecessors.iter().any(by_index))
        && !behind.follows_dominator(flow, block)
}

fn loops(flow: &Flow<'_, '_>, block: BlockId) -> Vec<u32> {
    let mut around: Vec<u32> =
        flow.loops.around(flow.loops.innermost(block)).map(|id| id.0).collect();
    around.reverse();
    around
}

impl fmt::Display for TraceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:", demangled(&self.name))?;
        if let Some(reason) = &self.skipped {
            return writeln!(f, "  no trace: {reason}");
        }
        for name in &self.names {
            writeln!(f, "  {name}")?;
        }
        let mut path: &[String] = &[];
        for access in &self.accesses {
            if access.path != path {
                path = &access.path;
                let shown = if path.is_empty() { "always".to_owned() } else { path.join(" and ") };
                writeln!(f, "  where {shown}:")?;
            }
            let mut line = format!("    {:>5}  ", access.line);
            if let Some(origin) = &access.source {
                let _ = write!(line, "{}  ", origin.short());
            }
            for id in &access.loops {
                let _ = write!(line, "loop{id} ");
            }
            let _ = write!(line, "{:<24}", access.opcode);
            if let Some(address) = &access.address {
                let _ = write!(line, " [{address}]");
            }
            if let Some(guard) = &access.guard {
                let _ = write!(line, "  if {guard}");
            }
            if let Some(pattern) = &access.pattern {
                let _ = write!(line, "  ({pattern})");
            }
            if let Some(request) = &access.request {
                let _ = write!(line, "  {}", request.sentence());
            }
            writeln!(f, "{line}")?;
        }
        for term in &self.terms {
            writeln!(f, "  {term}")?;
        }
        for approximation in &self.approximations {
            writeln!(f, "  note: line {}: {}", approximation.line, approximation.what)?;
        }
        Ok(())
    }
}

/// The accesses of each block, a line each, to be drawn into a graph.
pub fn lines_by_block(
    report: &TraceReport,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
) -> TiVec<BlockId, Vec<String>> {
    let mut lines = ti_vec![Vec::new(); flow.blocks.len()];
    let mut order: Vec<&Access> = trace.accesses.iter().collect();
    order.sort_by_key(|access| access.inst);
    for (access, described) in order.into_iter().zip(&report.accesses) {
        let address = described.address.as_deref().unwrap_or("");
        lines[access.block].push(format!("{} [{address}]", described.opcode));
    }
    lines
}
