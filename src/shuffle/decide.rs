//! The paper's selection rule: loads in program order; a load with a valid earlier partner is
//! covered; a covered load is never a source; it takes the uncovered partner at the smallest
//! distance (CC '23, section 5).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::availability::Availability;
use super::distance::{Outline, outline};
use super::eligible::{Element, Load, MAX_ADDRESS, eligible};
use super::prove::Prover;
use super::refusal::Refusal;
use super::sampling::{Fingerprint, distances};
use super::shift::Shifter;
use crate::cfg::{Flow, LoopForest, RegisterId};
use crate::emulate::{Effect, KernelTrace};
use crate::planted::{Bug, Planted};
use crate::ptx::{Function, StateSpace};
use crate::solver::Solver;
use crate::source::SourceFile;

use super::prove::NoWrap;

/// How sources are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Selection {
    /// The paper's rule.
    #[default]
    Paper,
}

/// At most so many loads of one function are replaced. What the assembler takes for a function rises
/// faster than its size where much is alive at once: each replaced load puts registers, predicates and
/// branches into it.
pub const MAX_REPLACED: usize = 256;

/// What the user may choose about decisions.
#[derive(Clone, Debug)]
pub struct Options {
    /// Largest |delta|, 0 to 31.
    pub max_delta: u32,
    /// How sources are chosen.
    pub selection: Selection,
    /// Take it for granted that 32-bit indices do not wrap around, as the original did.
    pub assume_no_wrap: bool,
    /// Only replace loads of read-only memory, and loads in kernels that write no global memory.
    pub strict: bool,
    /// Resource limit of one solver query, in z3's units.
    pub solver_limit: u32,
    /// What all solver queries about one function may take together, in z3's units.
    pub solver_budget: u64,
    /// At most so many loads of one function are replaced ([`MAX_REPLACED`]).
    pub most: usize,
    /// A folder for the solver's queries.
    pub dump_queries: Option<std::path::PathBuf>,
    /// A mistake that a test wants to see noticed.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_delta: 31,
            selection: Selection::Paper,
            assume_no_wrap: false,
            strict: false,
            solver_limit: 200_000,
            solver_budget: crate::solver::FUNCTION_BUDGET,
            most: MAX_REPLACED,
            dump_queries: None,
            planted: Planted::default(),
        }
    }
}

/// What holds at run time before a shuffled value is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The warp's lanes must be consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// All 32 lanes must have met.
    pub whole_warp: bool,
    /// These indices must not wrap around.
    pub no_wrap: Vec<NoWrap>,
    /// The source load ran under this guard predicate (negated or not), which must have let it run
    /// in the lane that sends.
    pub source_active: Option<(RegisterId, bool)>,
    /// The load's generic address must be global.
    pub global_address: bool,
}

/// A load that another one covers.
#[derive(Clone, Debug)]
pub struct Covered {
    /// Index of the source load's instruction.
    pub source: u32,
    /// For each element of the load the element of the source load that stands for it.
    pub pieces: Vec<(Element, Element)>,
    /// `A(tid.x + delta) = B(tid.x)`.
    pub delta: i32,
    /// What is checked at run time.
    pub guards: Guards,
}

/// What was decided about a load.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Replaced.
    Covered(Covered),
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
    /// What was decided.
    pub verdict: Verdict,
}

/// Decides about every global load of a function, in program order.
pub fn decide(
    source: &SourceFile,
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    options: &Options,
) -> Vec<Finding> {
    let mut decider = Decider {
        availability: Availability::new(source, flow, trace, options.planted),
        prover: Prover::new(
            flow,
            Shifter::new(options.planted),
            Solver::new(options.solver_limit, options.dump_queries.clone())
                .with_budget(options.solver_budget),
            options.assume_no_wrap,
        ),
        options,
        linear: match options.planted.has(Bug::BlockShape) {
            true => Some(true),
            false => linear_lanes(function),
        },
        writes_global: writes_global(trace),
        sources: Vec::new(),
        replaced: 0,
        groups: FxHashMap::default(),
    };
    let mut loads: Vec<usize> =
        (0..trace.accesses.len()).filter(|&i| trace.accesses[i].is_global_load()).collect();
    loads.sort_by_key(|&index| trace.accesses[index].inst);
    let mut findings: Vec<Finding> = loads
        .into_iter()
        .map(|index| {
            let (inst, bytes) = (trace.accesses[index].inst, trace.accesses[index].bytes());
            Finding { inst, bytes, verdict: decider.load(trace, index) }
        })
        .collect();
    add_unreachable(flow, &mut findings);
    findings
}

/// Loads in code that no way leads to have no trace.
fn add_unreachable(flow: &Flow<'_, '_>, findings: &mut Vec<Finding>) {
    let seen: std::collections::BTreeSet<u32> = findings.iter().map(|f| f.inst).collect();
    for (at, inst) in flow.insts.iter().enumerate() {
        let space = inst.ast.form.space();
        let global = matches!(space, StateSpace::Global | StateSpace::Generic);
        if crate::emulate::effect(inst) == Effect::Load && global && !seen.contains(&(at as u32)) {
            let bytes = inst.ast.form.types().last().map_or(0, |ty| ty.bits() / 8);
            let verdict = Verdict::Kept(Refusal::Unreachable);
            findings.push(Finding { inst: at as u32, bytes, verdict });
        }
    }
    findings.sort_by_key(|finding| finding.inst);
}

/// An uncovered load that may be a source.
struct Source {
    load: Load,
    outline: Outline,
    /// Bytes from lane to lane, if the outline shows it.
    stride: Option<i64>,
    fingerprint: Option<Fingerprint>,
}

struct Decider<'a, 'm, 's> {
    availability: Availability<'a, 'm, 's>,
    prover: Prover<'a, 'm, 's>,
    options: &'a Options,
    /// Whether lanes are consecutive in `tid.x`, where `.reqntid` tells.
    linear: Option<bool>,
    writes_global: bool,
    sources: Vec<Source>,
    /// Loads accepted so far.
    replaced: usize,
    /// Sources by outline.
    groups: FxHashMap<crate::expr::TermId, Group>,
}

/// Sources of one outline.
#[derive(Default)]
struct Group {
    /// By the constant of their outlines.
    by_constant: BTreeMap<i64, Vec<usize>>,
    /// How far from a load's constant that of a partner can be.
    reach: i64,
}

/// Bytes of the longest load: no element is further from its address.
const MAX_BYTES: i64 = 64;

impl Decider<'_, '_, '_> {
    fn load(&mut self, trace: &mut KernelTrace, index: usize) -> Verdict {
        let block = trace.accesses[index].block;
        let always = |guard| self.prover.always(trace, block, guard);
        let mut load = match eligible(self.prover.flow, trace, index, always) {
            Ok(load) => load,
            Err(refusal) => return Verdict::Kept(refusal),
        };
        if trace.arena.is_nearly_spent() {
            return Verdict::Kept(Refusal::Budget);
        }
        if self.replaced >= self.options.most {
            return Verdict::Kept(Refusal::Crowded(self.options.most));
        }
        if self.options.planted.has(Bug::SourceGuard) {
            load.guard = None;
        }
        if self.options.strict && self.writes_global && !trace.accesses[index].read_only {
            return Verdict::Kept(Refusal::Strict);
        }
        let outline = outline(&mut trace.arena, load.address);
        match self.partner(trace, &load, outline) {
            Ok(covered) => {
                self.replaced += 1;
                Verdict::Covered(covered)
            }
            Err(refusal) => {
                self.add_source(trace, load, outline);
                Verdict::Kept(refusal)
            }
        }
    }

    fn add_source(&mut self, trace: &mut KernelTrace, load: Load, at: Outline) {
        let place = self.place(trace, &load);
        let loops = &self.prover.flow.loops;
        let next = self.prover.shifter.shift(trace, loops, load.address, 1, place);
        let next = outline(&mut trace.arena, next);
        let stride = (next.key == at.key).then(|| next.constant.wrapping_sub(at.constant));
        let group = self.groups.entry(at.key).or_default();
        group.by_constant.entry(at.constant).or_default().push(self.sources.len());
        let reach = stride.unwrap_or(0).saturating_abs().saturating_mul(31);
        group.reach = group.reach.max(reach.saturating_add(2 * MAX_BYTES));
        self.sources.push(Source { load, outline: at, stride, fingerprint: None });
    }

    fn place(&self, trace: &KernelTrace, load: &Load) -> Option<crate::cfg::LoopId> {
        self.prover.flow.loops.innermost(trace.accesses[load.access].block)
    }

    /// The nearest valid partner, or the reason why the nearest candidate is none.
    fn partner(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        at: Outline,
    ) -> Result<Covered, Refusal> {
        let mut candidates = self.by_outline(trace, at, load);
        if candidates.is_empty() {
            candidates = self.by_sampling(trace, load);
        }
        candidates.sort_by_key(|candidate| (candidate.delta.unsigned_abs(), candidate.index));
        let mut refusal = None;
        for candidate in candidates {
            if trace.arena.is_nearly_spent() {
                return Err(Refusal::Budget);
            }
            match self.accept(trace, candidate, load) {
                Ok(covered) => return Ok(covered),
                Err(reason) => refusal = refusal.or(Some(reason)),
            }
        }
        Err(refusal.unwrap_or(Refusal::NoPartner))
    }

    /// Sources of the same outline at a whole number of lanes, element by element.
    fn by_outline(&self, trace: &KernelTrace, at: Outline, load: &Load) -> Vec<Candidate> {
        let Some(group) = self.groups.get(&at.key) else { return Vec::new() };
        let mut found = Vec::new();
        let (low, high) =
            (at.constant.saturating_sub(group.reach), at.constant.saturating_add(group.reach));
        for &index in group.by_constant.range(low..=high).flat_map(|(_, sources)| sources) {
            trace.arena.charge(2);
            let source = &self.sources[index];
            for displacement in displacements(&source.load, load) {
                let bytes =
                    at.constant.wrapping_sub(source.outline.constant).wrapping_sub(displacement);
                let delta = match source.stride {
                    _ if bytes == 0 => 0,
                    Some(stride) if bytes.checked_rem(stride) == Some(0) => bytes / stride,
                    _ => continue,
                };
                if (-31..=31).contains(&delta) {
                    found.push(Candidate { index, delta: delta as i32, displacement });
                }
            }
        }
        found
    }

    /// Sources whose addresses agree at some distance when evaluated. Only tried while it is cheap.
    fn by_sampling(&mut self, trace: &mut KernelTrace, load: &Load) -> Vec<Candidate> {
        const MAX_SOURCES: usize = 64;
        if self.sources.len() > MAX_SOURCES || trace.arena.is_nearly_spent() {
            return Vec::new();
        }
        let place = self.place(trace, load);
        let (loops, shifter) = (&self.prover.flow.loops, &self.prover.shifter);
        let mut own = Fingerprint::new(load.address, place);
        let mut found = Vec::new();
        for (index, source) in self.sources.iter_mut().enumerate() {
            let other = source
                .fingerprint
                .get_or_insert_with(|| Fingerprint::new(source.load.address, place));
            for displacement in displacements(&source.load, load) {
                let agree = distances(trace, loops, shifter, (other, &mut own), displacement);
                found.extend(agree.first().map(|&delta| Candidate { index, delta, displacement }));
            }
        }
        found
    }

    fn accept(
        &mut self,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
    ) -> Result<Covered, Refusal> {
        let Candidate { index, delta, displacement } = candidate;
        let source = self.sources[index].load.clone();
        if delta.unsigned_abs() > self.options.max_delta {
            return Err(Refusal::TooFar(delta));
        }
        if delta != 0 && self.linear == Some(false) {
            return Err(Refusal::BlockShape);
        }
        self.availability.check(trace, &mut self.prover, &source, load)?;
        let pieces = pieces(&source, load, displacement, self.options.planted)
            .ok_or_else(|| Refusal::Elements(self.availability.line(source.inst)))?;
        let source_active = source.guard.filter(|_| delta != 0 || source.guard != load.guard);
        if let Some((register, _)) = source_active
            && !self.prover.flow.visible(register, load.inst)
        {
            return Err(Refusal::Guarded);
        }
        let proof = self.prover.prove(trace, &source, load, delta, displacement)?;
        let mut no_wrap = proof.checks.to_vec();
        if self.options.planted.has(Bug::WrapAround) {
            no_wrap.clear();
        }
        no_wrap.sort_unstable();
        no_wrap.dedup();
        let moves = delta != 0;
        let guards = Guards {
            linear_lanes: moves && self.linear.is_none(),
            whole_warp: moves,
            no_wrap,
            source_active,
            // If only one of the two is generic, the other one's address shows that it is global.
            global_address: source.generic
                && load.generic
                && !self.options.planted.has(Bug::GenericAddress),
        };
        Ok(Covered { source: source.inst, pieces, delta, guards })
    }
}

/// A source that may fit.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Index among the sources.
    index: usize,
    delta: i32,
    /// Bytes from the source's address to the element that stands for the load's first byte.
    displacement: i64,
}

/// The distances in bytes at which some element of the source lines up with the load's first one.
fn displacements(source: &Load, load: &Load) -> SmallVec<[i64; 4]> {
    let first = load.elements[0];
    source
        .elements
        .iter()
        .filter(|element| element.ty.bits() == first.ty.bits())
        .map(|element| element.offset - first.offset)
        .collect()
}

/// For each element of the load the one of the source that stands for it.
fn pieces(
    source: &Load,
    load: &Load,
    displacement: i64,
    planted: Planted,
) -> Option<Vec<(Element, Element)>> {
    load.elements
        .iter()
        .map(|to| {
            let at = to.offset + displacement;
            let mut index = source.elements.iter().position(|from| from.offset == at)?;
            if planted.has(Bug::WrongElement) {
                index = (index + 1) % source.elements.len();
            }
            let from = source.elements[index];
            let alike = planted.has(Bug::Extension) && from.ty.bits() == to.ty.bits();
            (alike || from.stands_for(to)).then_some((from, *to))
        })
        .collect()
}

/// Bytes from one lane's address to the next one's, where that is a constant.
pub fn lane_stride(loops: &LoopForest, trace: &mut KernelTrace, index: usize) -> Option<i64> {
    let address = trace.accesses[index].address?;
    if trace.arena.is_nearly_spent() || trace.arena.are_larger_than([address], MAX_ADDRESS) {
        return None;
    }
    let place = loops.innermost(trace.accesses[index].block);
    let next = Shifter::new(Planted::default()).shift(trace, loops, address, 1, place);
    let (here, next) = (outline(&mut trace.arena, address), outline(&mut trace.arena, next));
    (here.key == next.key).then(|| next.constant.wrapping_sub(here.constant))
}

/// Whether `.reqntid` makes the lanes of every warp consecutive in `tid.x`; `None` where only the
/// launch decides. (`.maxntid` bounds the number of threads, not the shape: PTX ISA, ".maxntid".)
fn linear_lanes(function: &Function<'_>) -> Option<bool> {
    let block = function.directive("reqntid")?;
    let size = |axis: usize| block.get(axis).copied().unwrap_or(1);
    Some(size(0) % 32 == 0 || size(1) * size(2) == 1)
}

/// Whether a function may write global memory.
fn writes_global(trace: &KernelTrace) -> bool {
    trace.accesses.iter().any(|access| match access.effect {
        Effect::Store => {
            !matches!(access.space, StateSpace::Local | StateSpace::Param | StateSpace::Shared)
        }
        Effect::Atomic => access.space != StateSpace::Shared,
        Effect::Call | Effect::Opaque => true,
        _ => false,
    })
}
