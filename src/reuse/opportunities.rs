//! Everything that is legal: which loads find their value in registers that another load has filled.
//!
//! In: the control flow and trace of one function. Out, one pair of loads at a time and only when asked:
//! an [`Opportunity`] with its guards, or the [`Refusal`] that forbids it. Nothing is chosen here.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::alignment::MAX_VECTOR;
use super::alike::{Alike, LaneClaim};
use super::availability::{Asked, Availability, StoreApart};
use super::distance::{Outline, outline};
use super::eligible::{Load, MAX_ADDRESS, OWN_REGISTERS, addressed_by_register, eligible};
use super::pieces::{Piece, displacements, pieces};
use super::prove::{NoWrap, Proof, Prover};
use super::quiet::Quiet;
use super::refusal::Refusal;
use super::sampling::{Fingerprint, Likely, agree_mostly, distances};
use super::shift::Shifter;
use super::whole;
use crate::cfg::{Arg, Base, BlockId, Flow, Inst, LoopForest, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions};
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Opcode, Qualifier};
use crate::planted::{Bug, Planted};
use crate::ptx::{Function, Instruction, StateSpace};
use crate::solver::Solver;
use crate::source::SourceFile;

/// What may be taken for granted, and how much work goes into the search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Take it for granted that 32-bit indices do not wrap around, as the original did.
    pub assume_no_wrap: bool,
    /// Only loads of read-only memory take part, and loads in kernels that write no global memory.
    pub strict: bool,
    /// Resource limit of one solver query, in z3's units.
    pub solver_limit: u32,
    /// What all solver queries about one function may take together at most, in z3's units; for a
    /// small function less ([`crate::solver::budget_for`]).
    pub solver_budget: u64,
    /// Bytes of the widest vector load that may be written: [`MAX_VECTOR`], or more where the module's
    /// version and target have it.
    pub widest_vector: i64,
    /// A folder for the solver's queries.
    pub dump_queries: Option<std::path::PathBuf>,
    /// A mistake that a test wants to see noticed.
    pub planted: Planted,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            assume_no_wrap: false,
            strict: false,
            solver_limit: 200_000,
            solver_budget: crate::solver::FUNCTION_BUDGET,
            widest_vector: MAX_VECTOR,
            dump_queries: None,
            planted: Planted::default(),
        }
    }
}

/// The checks at run time before a shuffled value is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards {
    /// The warp's lanes must be consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// All 32 lanes of the warp must be there.
    pub whole_warp: bool,
    /// These indices must not wrap around.
    pub no_wrap: Vec<NoWrap>,
    /// The guard predicate of the source load, and whether that is negated; it must have let the
    /// source load run in the lane that sends.
    pub source_active: Option<(RegisterId, bool)>,
    /// The source stands in a branch, so the lane that sends must have executed it since it came by the
    /// end of this block.
    pub source_executed: Option<BlockId>,
    /// These stores must not have been to the source's bytes in this lane.
    pub stores_apart: Vec<StoreApart>,
    /// The load's generic address must be global.
    pub global_address: bool,
    /// In the lane itself, the load's address must be so many bytes above the source's: what is not
    /// known of the load's address is asked at run time, if that of the source is known to be a line
    /// in the lane's number.
    pub bytes_apart: Option<i64>,
    /// These registers must have, in the lane that sends, the values that the address there is known to
    /// depend on: the row of a flattened index, the place in the row.
    pub same_row: Vec<LaneClaim>,
}

/// A load whose value is in the registers of another load, in the same lane or in another: what is
/// known of it, and what has to be checked.
#[derive(Clone, Debug)]
pub struct Opportunity {
    /// Index of the source load's instruction; of the first one, if there are several.
    pub source: u32,
    /// For each element of the load what its register is made of.
    pub pieces: Vec<Piece>,
    /// `A(tid.x + delta) = B(tid.x)`.
    pub delta: i32,
    /// The checks at run time.
    pub guards: Guards,
}

impl Opportunity {
    /// The instructions of the loads that the value comes from.
    pub fn sources(&self) -> impl Iterator<Item = u32> + '_ {
        self.pieces.iter().flat_map(|piece| piece.parts.iter().map(|part| part.source))
    }

    /// How many words of 32 bits come from another lane.
    pub fn words(&self) -> u32 {
        let words: BTreeSet<_> = self.pieces.iter().flat_map(Piece::words).collect();
        words.len() as u32
    }
}

/// A load whose registers may be read.
struct Source {
    load: Load,
    outline: Outline,
    /// Bytes from lane to lane, if the outline shows it.
    stride: Option<i64>,
    /// The registers that lanes are asked about if it does not, and the bytes from lane to lane then.
    rows: Option<Option<(Rc<Alike>, i64)>>,
    fingerprint: Option<Fingerprint>,
}

/// What may be reused in one function: loads are looked at in program order, each may be offered as a
/// source, and pairs are proved when they are asked for, each once.
pub struct Opportunities<'a, 'm, 's> {
    source: &'a SourceFile,
    quiet: OnceCell<Quiet>,
    availability: Availability<'a, 'm, 's>,
    pub(super) prover: Prover<'a, 'm, 's>,
    pub(super) options: &'a Options,
    /// Whether lanes are consecutive in `tid.x`, if `.reqntid` says so.
    pub(super) linear: Option<bool>,
    /// Whether no block has a whole warp.
    pub(super) narrow: bool,
    /// Whether results depend on which lanes happen to be together, so that no branch may be added: a proof
    /// compares the branches of both programs then.
    pub(super) observes_lanes: bool,
    writes_global: bool,
    /// What pointers among the parameters are multiples of, in bytes, as they are declared.
    pub(super) aligned: FxHashMap<String, u64>,
    sources: Vec<Source>,
    likely: Likely,
    /// Bits of the narrowest element of a source.
    narrowest: u32,
    /// Sources by outline.
    groups: FxHashMap<TermId, Group>,
    /// Registers that an earlier rewrite sends: their loads are sources, and stay.
    sent: FxHashSet<RegisterId>,
    /// The blocks of which it was asked whether a warp can be whole there.
    never_whole: FxHashMap<BlockId, bool>,
    /// The opportunities that were found, by candidate and load. (Refused pairs are not kept: they are
    /// many, and seldom asked about twice.)
    known: FxHashMap<(Candidate, u32), Opportunity>,
}

/// Sources of one outline.
#[derive(Default)]
struct Group {
    /// The sources, by the constant of their outlines.
    by_constant: BTreeMap<i64, Vec<usize>>,
    /// How far from a load's constant that of a partner can be.
    reach: i64,
}

/// The most stores between a source and a load that are compared with it at run time.
const MAX_ASKED: usize = 4;

/// Bytes of the longest load; no element is further from the load's address.
const MAX_BYTES: i64 = 64;

impl<'a, 'm, 's> Opportunities<'a, 'm, 's> {
    /// The opportunities of a function, with no source offered yet.
    pub fn new(
        source: &'a SourceFile,
        function: &Function<'_>,
        flow: &'a Flow<'m, 's>,
        trace: &KernelTrace,
        options: &'a Options,
    ) -> Self {
        let solver = Solver::new(options.solver_limit, options.dump_queries.clone())
            .with_budget(options.solver_budget)
            .sized(flow.insts.len());
        let shifter = Shifter::new(options.planted);
        Opportunities {
            source,
            quiet: OnceCell::new(),
            availability: Availability::new(source, flow, trace, options.planted),
            prover: Prover::new(flow, shifter, solver, options.assume_no_wrap),
            options,
            linear: match options.planted.has(Bug::BlockShape) {
                true => Some(true),
                false => linear_lanes(function),
            },
            narrow: is_narrow(function),
            observes_lanes: flow.insts.iter().any(observes_lanes),
            writes_global: writes_global(trace),
            aligned: function
                .aligned_pointers()
                .map(|(name, align)| (name.to_owned(), align))
                .collect(),
            sources: Vec::new(),
            likely: Likely::default(),
            narrowest: u32::MAX,
            groups: FxHashMap::default(),
            sent: sent(flow),
            never_whole: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// The load of an access, if it may take part.
    ///
    /// # Errors
    /// Why the load may not take part.
    pub fn load(&self, trace: &KernelTrace, index: usize) -> Result<Load, Refusal> {
        let block = trace.accesses[index].block;
        let always = |guard| self.prover.always(trace, block, guard);
        let mut load = eligible(self.prover.flow, trace, index, always)?;
        if trace.arena.is_nearly_spent() {
            return Err(Refusal::Budget);
        }
        if self.is_version(block) {
            return Err(Refusal::CornerCase);
        }
        if self.options.planted.has(Bug::SourceGuard) {
            load.guard = None;
        }
        if self.options.strict && self.writes_global && !trace.accesses[index].read_only {
            return Err(Refusal::Strict);
        }
        Ok(load)
    }

    /// Offers a load as a source for those that come behind it.
    pub fn offer(&mut self, trace: &mut KernelTrace, load: Load) {
        self.narrowest = self.narrowest.min(load.elements[0].ty.bits());
        let at = outline(&mut trace.arena, load.address);
        let place = self.place(trace, &load);
        let loops = &self.prover.flow.loops;
        let next = self.prover.shifter.shift(trace, loops, load.address, 1, place);
        let next = outline(&mut trace.arena, next);
        let stride = (next.key == at.key).then(|| next.constant.wrapping_sub(at.constant));
        let group = self.groups.entry(at.key).or_default();
        group.by_constant.entry(at.constant).or_default().push(self.sources.len());
        let reach = stride.unwrap_or(0).saturating_abs().saturating_mul(31);
        // (In rows lanes mostly read elements that lie one after the other.)
        let reach = if stride.is_none() { 31 * MAX_BYTES } else { reach };
        group.reach = group.reach.max(reach.saturating_add(2 * MAX_BYTES));
        self.sources.push(Source { load, outline: at, stride, rows: None, fingerprint: None });
    }

    /// Takes back all offers, for another choice among the same loads.
    pub fn take_back_offers(&mut self) {
        self.sources.clear();
        self.groups.clear();
        self.known.clear();
        self.narrowest = u32::MAX;
    }

    /// The function's control flow.
    pub fn flow(&self) -> &'a Flow<'m, 's> {
        self.prover.flow
    }

    /// Which parts of the function may stand twice.
    pub(super) fn quiet(&self, trace: &KernelTrace) -> &Quiet {
        self.quiet.get_or_init(|| {
            let flow = self.prover.flow;
            trace.arena.charge(flow.insts.len() as u64);
            Quiet::new(self.source, flow)
        })
    }

    /// Whether the bytes that a load reads have been in memory, unchanged, since an earlier load.
    pub(super) fn check_available(
        &mut self,
        trace: &mut KernelTrace,
        from: &Load,
        to: &Load,
    ) -> Result<(), Refusal> {
        self.availability.check(trace, &mut self.prover, from, to, &mut Asked::default())
    }

    /// Whether an earlier rewrite has replaced loads by this one's registers.
    pub fn serves_already(&self, load: &Load) -> bool {
        load.elements.iter().any(|element| self.sent.contains(&element.register))
    }

    /// The instruction of a load, as parsed.
    pub fn instruction(&self, inst: u32) -> &Instruction<'s> {
        self.prover.flow.insts[inst as usize].ast
    }

    /// Bytes from a load's address in one lane to that in the next one, where that is a constant.
    pub fn lane_stride(&mut self, trace: &mut KernelTrace, load: &Load) -> Option<i64> {
        let place = self.place(trace, load);
        self.prover.lane_stride(trace, load.address, place)
    }

    fn place(&self, trace: &KernelTrace, load: &Load) -> Option<crate::cfg::LoopId> {
        self.prover.flow.loops.innermost(trace.accesses[load.access].block)
    }

    /// The sources that may hold what a load reads, nearest lane first. Nothing is proved yet.
    pub fn candidates(&mut self, trace: &mut KernelTrace, load: &Load) -> Vec<Candidate> {
        let at = outline(&mut trace.arena, load.address);
        let mut candidates = self.by_outline(trace, at, load);
        if candidates.is_empty() {
            candidates = self.by_sampling(trace, load);
        }
        candidates.sort_by_key(|candidate| (candidate.delta.unsigned_abs(), candidate.index));
        candidates
    }

    /// Whether a load may take its value from a candidate, and under which guards.
    ///
    /// # Errors
    /// Why it may not.
    pub fn prove(
        &mut self,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
    ) -> Result<Opportunity, Refusal> {
        let key = (candidate, load.inst);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let found = self.look(trace, candidate, load, false)?;
        self.known.insert(key, found.clone());
        Ok(found)
    }

    /// The same for a candidate that not all lanes have executed, since it stands in a branch, or behind
    /// which the lane may have stored to the same bytes: the opportunity says what has to be asked.
    ///
    /// # Errors
    /// Why the load may not take its value from there.
    pub fn prove_asking(
        &mut self,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
    ) -> Result<Opportunity, Refusal> {
        self.look(trace, candidate, load, true)
    }

    /// Bits of the narrowest element of a source.
    pub(super) fn narrowest(&self) -> u32 {
        self.narrowest
    }

    /// The instruction of the load that a candidate is.
    pub fn source_of(&self, candidate: Candidate) -> u32 {
        self.sources[candidate.index].load.inst
    }

    /// Sources of the same outline at a whole number of lanes, element by element.
    fn by_outline(&mut self, trace: &mut KernelTrace, at: Outline, load: &Load) -> Vec<Candidate> {
        let Some(group) = self.groups.get(&at.key) else { return Vec::new() };
        let mut found = Vec::new();
        let place = self.place(trace, load);
        let (low, high) =
            (at.constant.saturating_sub(group.reach), at.constant.saturating_add(group.reach));
        for &index in group.by_constant.range(low..=high).flat_map(|(_, sources)| sources) {
            trace.arena.charge(2);
            let source = &mut self.sources[index];
            for displacement in displacements(&source.load, load) {
                let bytes =
                    at.constant.wrapping_sub(source.outline.constant).wrapping_sub(displacement);
                let in_rows = bytes != 0 && source.stride.is_none();
                let stride = match source.stride {
                    None if in_rows => {
                        let prover = &mut self.prover;
                        let rows = source
                            .rows
                            .get_or_insert_with(|| prover.rows(trace, source.load.address, place));
                        rows.as_ref().map(|(_, stride)| *stride)
                    }
                    stride => stride,
                };
                let delta = match stride {
                    _ if bytes == 0 => 0,
                    Some(stride) if bytes.checked_rem(stride) == Some(0) => bytes / stride,
                    _ => continue,
                };
                if (-31..=31).contains(&delta) {
                    let delta = delta as i32;
                    found.push(Candidate { index, delta, displacement, in_rows });
                }
            }
        }
        found
    }

    /// Sources whose addresses agree at some distance when they are evaluated. Tried only while it is
    /// cheap.
    fn by_sampling(&mut self, trace: &mut KernelTrace, load: &Load) -> Vec<Candidate> {
        const MAX_SOURCES: usize = 64;
        if self.sources.len() > MAX_SOURCES || trace.arena.is_nearly_spent() {
            return Vec::new();
        }
        let place = self.place(trace, load);
        let (loops, shifter) = (&self.prover.flow.loops, &self.prover.shifter);
        let mut own = Fingerprint::likely(trace, &mut self.likely, load.address, place);
        let likely = &mut self.likely;
        let mut found = Vec::new();
        for (index, source) in self.sources.iter_mut().enumerate() {
            let address = source.load.address;
            let other = source
                .fingerprint
                .get_or_insert_with(|| Fingerprint::likely(trace, likely, address, place));
            for displacement in displacements(&source.load, load) {
                let agree = distances(trace, loops, shifter, (other, &mut own), displacement);
                found.extend(agree.first().map(|&delta| Candidate {
                    index,
                    delta,
                    displacement,
                    in_rows: false,
                }));
            }
        }
        found
    }

    pub(super) fn look(
        &mut self,
        trace: &mut KernelTrace,
        candidate: Candidate,
        load: &Load,
        asking: bool,
    ) -> Result<Opportunity, Refusal> {
        let Candidate { index, delta, displacement, in_rows } = candidate;
        let source = self.sources[index].load.clone();
        if delta != 0 && self.narrow {
            return Err(Refusal::NarrowBlock);
        }
        if delta != 0 && self.linear == Some(false) {
            return Err(Refusal::BlockShape);
        }
        if delta != 0 && (self.never_whole(trace, load) || self.never_sends(trace, &source)) {
            return Err(Refusal::NeverRuns);
        }
        // (Both questions at once would be long chains of comparisons in large kernels.)
        let in_branch = asking && !self.availability.is_before(trace, &source, load);
        let may_ask = asking
            && !in_branch
            && delta == 0
            && self.linear != Some(false)
            && self.is_copied(trace, &source);
        let mut asked = Asked::up_to(if may_ask { MAX_ASKED } else { 0 });
        let mut source_executed = None;
        let (availability, prover) = (&mut self.availability, &mut self.prover);
        if in_branch {
            let since = availability.check_since(trace, prover, &source, load)?;
            source_executed = Some(since);
        } else {
            availability.check(trace, prover, &source, load, &mut asked)?;
        }
        if in_branch && delta != 0 && self.never_whole(trace, &source) {
            return Err(Refusal::NeverRuns);
        }
        let stores_apart = asked.stores;
        let is_remembered = in_branch || !stores_apart.is_empty();
        let pieces = pieces(&source, load, displacement, self.options.planted)
            .ok_or_else(|| Refusal::Elements(self.availability.line(source.inst)))?;
        // (What is remembered of a source says whether its guard predicate held, too.)
        let source_active =
            source.guard.filter(|_| !is_remembered && (delta != 0 || source.guard != load.guard));
        if let Some((register, _)) = source_active
            && !self.prover.flow.visible(register, load.inst)
        {
            return Err(Refusal::Guarded);
        }
        let mut same_row = Vec::new();
        let (proof, bytes_apart) = if in_rows {
            let rows = self.sources[index].rows.as_ref().and_then(Option::as_ref);
            let (alike, _) = rows.ok_or(Refusal::NoPartner)?;
            let loads = (&source, load);
            let proof = self.prover.prove_alike(trace, alike, loads, delta, displacement)?;
            same_row = alike.asked.clone();
            (proof, None)
        } else {
            match self.prover.prove(trace, &source, load, delta, displacement) {
                Ok(proof) => (proof, None),
                Err(refusal) => self
                    .tested(trace, (index, &source), load, delta, displacement)
                    .map(|(proof, bytes)| (proof, Some(bytes)))
                    .ok_or(refusal)?,
            }
        };
        let mut no_wrap = proof.checks.to_vec();
        if self.options.planted.has(Bug::WrapAround) {
            no_wrap.clear();
        }
        no_wrap.sort_unstable();
        no_wrap.dedup();
        let moves = delta != 0;
        let guards = Guards {
            // (What other lanes of the warp may have stored lies by the lane's place.)
            linear_lanes: (moves || !stores_apart.is_empty()) && self.linear.is_none(),
            whole_warp: moves,
            no_wrap,
            source_active,
            source_executed,
            stores_apart,
            // If only one of the two is generic, the other one's address shows that it is global.
            global_address: source.generic
                && load.generic
                && !self.options.planted.has(Bug::GenericAddress),
            bytes_apart,
            same_row,
        };
        Ok(Opportunity { source: source.inst, pieces, delta, guards })
    }

    /// Whether no warp that comes to a load is whole.
    pub(super) fn never_whole(&mut self, trace: &KernelTrace, load: &Load) -> bool {
        let (flow, block) = (self.prover.flow, trace.accesses[load.access].block);
        let unknown: Vec<BlockId> = flow
            .dominators
            .chain(block)
            .take_while(|at| !self.never_whole.contains_key(at))
            .collect();
        trace.arena.charge(unknown.len() as u64);
        let above = flow.dominators.chain(block).nth(unknown.len());
        let mut never = above.is_some_and(|at| self.never_whole[&at]);
        for at in unknown.into_iter().rev() {
            never = never || whole::never_whole(flow, trace, at);
            self.never_whole.insert(at, never);
        }
        never
    }

    /// Whether some lane of every warp leaves a source load out.
    fn never_sends(&self, trace: &KernelTrace, source: &Load) -> bool {
        source.guard.is_some()
            && trace.accesses[source.access]
                .guard
                .is_some_and(|guard| whole::some_lane_fails(trace, guard))
    }

    /// Whether a load's address is in a 64-bit register.
    fn is_by_register(&self, trace: &KernelTrace, load: &Load) -> bool {
        trace.arena.width(load.address) == 64
            && addressed_by_register(&self.prover.flow.insts[load.inst as usize])
    }

    /// Whether a copy of the register that a load is addressed by can be made behind it.
    fn is_copied(&self, trace: &KernelTrace, load: &Load) -> bool {
        self.is_by_register(trace, load) && !overwrites_address(self.prover.flow, load.inst)
    }

    /// The distance in bytes, in one lane, that shows at run time that a load reads what the source
    /// reads `delta` lanes further on; with the checks under which the source's addresses have that
    /// distance from each other. `B(L) = A(L) + bytes` and `A(L + delta) = A(L) + delta * stride`.
    fn tested(
        &mut self,
        trace: &mut KernelTrace,
        (index, source): (usize, &Load),
        load: &Load,
        delta: i32,
        displacement: i64,
    ) -> Option<(Proof, i64)> {
        let flow = self.prover.flow;
        if !self.is_copied(trace, source) || !self.is_by_register(trace, load) {
            return None;
        }
        let place = self.place(trace, load);
        let mut own = Fingerprint::likely(trace, &mut self.likely, load.address, place);
        let likely = &mut self.likely;
        let other = self.sources[index]
            .fingerprint
            .get_or_insert_with(|| Fingerprint::likely(trace, likely, source.address, place));
        let (loops, shifter) = (&flow.loops, &self.prover.shifter);
        let distance = (delta, displacement);
        if !agree_mostly(trace, loops, shifter, (other, &mut own), distance) {
            return None;
        }
        if delta == 0 {
            return Some((Proof::default(), displacement));
        }
        let further = self.sources[index].stride?.checked_mul(i64::from(delta))?;
        let proof =
            self.prover.prove_line(trace, source, load, delta, further.checked_neg()?).ok()?;
        Some((proof, further.checked_add(displacement)?))
    }
}

/// A source that may fit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Candidate {
    /// Index among the sources.
    index: usize,
    /// Lanes up: the source's address there is the load's here.
    pub delta: i32,
    /// Bytes from the source's address to the element that stands for the load's first byte.
    displacement: i64,
    /// Whether lanes are asked about the registers that make the source's address.
    in_rows: bool,
}

/// The registers that are sent, or copied to be sent, by what a rewrite has added.
fn sent(flow: &Flow<'_, '_>) -> FxHashSet<RegisterId> {
    let is_own =
        |register: RegisterId| flow.registers[register.0 as usize].name.starts_with(OWN_REGISTERS);
    let mut sent = FxHashSet::default();
    if !flow.registers.iter().any(|register| register.name.starts_with(OWN_REGISTERS)) {
        return sent;
    }
    for inst in &flow.insts {
        // (What is moved to another register of the text stands under a predicate of the rewrite.)
        let added = definitions(inst).into_iter().any(is_own)
            || inst.guard.is_some_and(|(register, _)| is_own(register));
        if added {
            sent.extend(inst.args.iter().flat_map(|arg| {
                match arg {
                    Arg::Register(register) => vec![*register],
                    Arg::Vector(all) => all
                        .iter()
                        .filter_map(|one| match one {
                            Arg::Register(register) => Some(*register),
                            _ => None,
                        })
                        .collect(),
                    _ => Vec::new(),
                }
            }));
        }
    }
    sent
}

/// Whether an instruction writes the register that it is addressed by.
fn overwrites_address(flow: &Flow<'_, '_>, inst: u32) -> bool {
    let inst = &flow.insts[inst as usize];
    inst.args.iter().any(|arg| match arg {
        Arg::Memory { base: Base::Register(base), .. } => definitions(inst).contains(base),
        _ => false,
    })
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

/// Whether a function's blocks have less threads than a warp.
fn is_narrow(function: &Function<'_>) -> bool {
    let below = |name: &str| {
        let block = function.directive(name)?;
        let threads = block.iter().try_fold(1, |threads: u64, &size| threads.checked_mul(size))?;
        Some(threads < u64::from(WARP_SIZE))
    };
    below("reqntid").or_else(|| below("maxntid")).unwrap_or(false)
}

/// Whether an instruction's result tells which lanes are together.
fn observes_lanes(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    match form.opcode {
        Opcode::ActiveMask => true,
        Opcode::Shfl | Opcode::Vote => !form.has(Qualifier::Sync),
        _ => false,
    }
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
