//! Everything that is legal: which loads find their value in registers that another load has filled.
//!
//! In: the control flow and trace of one function. Out, one pair of loads at a time and only when asked:
//! an [`LegalReuse`] with its guards, or the [`Refusal`] that forbids it. Nothing is chosen here.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::availability::{Availability, RuntimeChecks};
use super::eligible::{Load, addressed_by_register, eligible};
use super::function::{
    is_narrow, linear_lanes, observes_lanes, overwrites_address, sent, writes_global,
};
use super::legal_reuse::{Guards, LegalReuse, Options};
use super::prove::Prover;
use super::refusal::Refusal;
use super::side_effect_free::SideEffectFree;
use super::whole;
use crate::cfg::{Arg, Base, BlockId, Flow, Inst, InstId, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions, effect};
use crate::isa::{Modifier, Qualifier};
use crate::lanes::{Fingerprints, Shifter};
use crate::ptx::{Function, FunctionKind, Instruction};
use crate::solver::Solver;
use crate::source::SourceFile;

/// The legal reuses in one function: loads are visited in program order, each may be offered as a source, and each pair
/// is proved once, on request.
pub struct Legality<'a, 'm, 's> {
    /// The text of the function.
    pub source: &'a SourceFile,
    side_effect_free: OnceCell<SideEffectFree>,
    pub(super) availability: Availability<'a, 'm, 's>,
    /// Proves equalities of addresses, with checks at run time.
    pub prover: Prover<'a, 'm, 's>,
    /// What the user takes for granted.
    pub options: &'a Options,
    /// Whether lanes are consecutive in `tid.x`, if `.reqntid` says so.
    pub linear: Option<bool>,
    /// Whether no block has a whole warp.
    pub narrow: bool,
    /// Whether results depend on which lanes happen to be together, so that no branch may be added: a proof
    /// compares the branches of both programs then.
    pub observes_lanes: bool,
    writes_global: bool,
    is_kernel: bool,
    /// What pointers among the parameters are multiples of, in bytes, as they are declared.
    pub aligned: FxHashMap<String, u64>,
    pub(super) fingerprints: Fingerprints,
    /// Registers that an earlier rewrite sends: their loads are sources, and stay.
    sent: FxHashSet<RegisterId>,
    /// Cache: whether no full warp reaches this block.
    never_whole: FxHashMap<BlockId, bool>,
    /// Why loads, by instruction, that look like parts of a struct or of a vector are none.
    pub not_joined: FxHashMap<InstId, Refusal>,
}

impl<'a, 'm, 's> Legality<'a, 'm, 's> {
    /// The legal reuses of a function, with no source offered yet.
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
        let shifter = Shifter::new();
        Legality {
            source,
            side_effect_free: OnceCell::new(),
            availability: Availability::new(source, flow, trace),
            prover: Prover::new(flow, shifter, solver, options.assume_no_wrap),
            options,
            linear: match planted!(Bug::BlockShape) {
                true => Some(true),
                false => linear_lanes(function),
            },
            narrow: is_narrow(function),
            observes_lanes: flow.insts.iter().any(observes_lanes),
            writes_global: writes_global(trace),
            is_kernel: function.kind == FunctionKind::Entry,
            aligned: function
                .aligned_pointers()
                .map(|(name, align)| (name.to_owned(), align))
                .collect(),
            fingerprints: Fingerprints::default(),
            sent: sent(flow),
            never_whole: FxHashMap::default(),
            not_joined: FxHashMap::default(),
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
        if planted!(Bug::SourceGuard) {
            load.guard = None;
        }
        if self.options.strict && self.writes_global && !trace.accesses[index].read_only {
            return Err(Refusal::Strict);
        }
        Ok(load)
    }

    /// The function's control flow.
    pub fn flow(&self) -> &'a Flow<'m, 's> {
        self.prover.flow
    }

    /// Why a load without a partner, which looks like a part of a struct or of a vector, is none.
    pub fn not_joined_with_others(&self, inst: InstId) -> Option<&Refusal> {
        self.not_joined.get(&inst)
    }

    /// The line of the source of a legal reuse in the same lane, if `ptxas` reuses its value by itself: both loads
    /// stand in one block, read from one register and offset with the same modifiers, and no instruction between them
    /// writes the loaded bytes. (Seen with ptxas 13 for sm_80 and sm_90. Addresses that are equal by algebra, other
    /// signs, and hints between the loads keep it from doing so.)
    pub fn folded(&self, trace: &KernelTrace, found: &LegalReuse, load: &Load) -> Option<u32> {
        let flow = self.flow();
        let (from, to) = (found.source, load.inst);
        let [source, inst] = [from, to].map(|at| &flow.insts[at]);
        let form = &inst.ast.form;
        let is_plain = found.delta == 0
            && found.guards == Guards::default()
            && found.pieces.iter().all(|piece| piece.whole().is_some())
            && source.guard.is_none()
            && inst.guard.is_none();
        let modifiers = |inst: &Inst<'_, '_>| {
            let kept = |modifier: &&Modifier| !matches!(modifier, Modifier::Type(_));
            inst.ast.form.modifiers().iter().filter(kept).copied().collect::<Vec<_>>()
        };
        let address = |inst: &Inst<'_, '_>| match inst.args.get(1) {
            Some(Arg::Memory { base: Base::Register(base), offset, .. }) => Some((*base, *offset)),
            _ => None,
        };
        let (base, _) = address(inst)?;
        let bits = form.last_type()?.bits();
        let types = source.ast.form.last_type() == form.last_type() || bits >= 32;
        trace.arena.charge(u64::from(to.max(from).since(from)));
        let between = &flow.insts[from..to.max(from)];
        let is_kept = between
            .iter()
            .all(|inst| effect(inst) != Effect::Hint && !definitions(inst).contains(&base));
        let is_plain = is_plain && types && is_kept && address(source) == address(inst);
        let side_effect_free = self.side_effect_free(trace);
        let is_quiet = match form.has(Qualifier::Nc) {
            true => side_effect_free.but_for_stores(from, to),
            false => side_effect_free.between(from, to),
        };
        (is_plain && from < to && modifiers(source) == modifiers(inst) && is_quiet)
            .then(|| self.source.line(source.ast.span.start))
    }

    /// Which parts of the function may be duplicated.
    /// Whether nothing but blanks, comments and `.loc` stands between two instructions of straight code and those in
    /// between, and whether a branch may be added there at all.
    pub fn may_be_two_versions(&self, from: InstId, to: InstId, trace: &KernelTrace) -> bool {
        !self.observes_lanes
            && !self.is_irreducible()
            && self.side_effect_free(trace).in_one_piece(from, to)
    }

    /// The 1-based line of an instruction.
    pub fn line(&self, inst: InstId) -> u32 {
        self.availability.line(inst)
    }

    /// Whether the function is a kernel.
    pub fn is_kernel(&self) -> bool {
        self.is_kernel
    }

    /// Whether the lanes of each warp are consecutive in `%tid.x`, if `.reqntid` says so.
    pub fn lanes_are_consecutive(&self) -> Option<bool> {
        self.linear
    }

    /// The parts of the function without effects that another thread can see.
    pub fn side_effect_free(&self, trace: &KernelTrace) -> &SideEffectFree {
        self.side_effect_free.get_or_init(|| {
            let flow = self.prover.flow;
            trace.arena.charge(flow.insts.len() as u64);
            SideEffectFree::new(self.source, flow)
        })
    }

    /// Whether the bytes that a load reads have been in memory, unchanged, since an earlier load.
    pub fn check_available(
        &mut self,
        trace: &mut KernelTrace,
        from: &Load,
        to: &Load,
    ) -> Result<(), Refusal> {
        self.availability.check(trace, &mut self.prover, from, to, &mut RuntimeChecks::default())
    }

    /// Whether an earlier rewrite has replaced loads by this one's registers.
    pub fn serves_already(&self, load: &Load) -> bool {
        load.elements.iter().any(|element| self.sent.contains(&element.register))
    }

    /// The instruction of a load, as parsed.
    pub fn instruction(&self, inst: InstId) -> &Instruction<'s> {
        self.prover.flow.insts[inst].ast
    }

    /// Bytes from a load's address in one lane to that in the next one, where that is a constant.
    pub fn lane_stride(&mut self, trace: &mut KernelTrace, load: &Load) -> Option<i64> {
        let place = self.place(trace, load);
        self.prover.lane_stride(trace, load.address, place)
    }

    /// The innermost loop around a load.
    pub fn place(&self, trace: &KernelTrace, load: &Load) -> Option<crate::cfg::LoopId> {
        self.prover.flow.loops.innermost(trace.accesses[load.access].block)
    }

    /// Whether a lane may get the value of another lane at all.
    pub fn may_send(
        &mut self,
        trace: &KernelTrace,
        source: &Load,
        load: &Load,
    ) -> Result<(), Refusal> {
        if self.narrow {
            return Err(Refusal::NarrowBlock);
        }
        if self.linear == Some(false) {
            return Err(Refusal::BlockShape);
        }
        match self.never_whole(trace, load) || self.never_sends(trace, source) {
            true => Err(Refusal::NeverRuns),
            false => Ok(()),
        }
    }

    /// Whether no warp that comes to a load is whole.
    pub fn never_whole(&mut self, trace: &KernelTrace, load: &Load) -> bool {
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
    pub fn is_by_register(&self, trace: &KernelTrace, load: &Load) -> bool {
        trace.arena.width(load.address) == 64
            && addressed_by_register(&self.prover.flow.insts[load.inst])
    }

    /// Whether a copy of the register that a load is addressed by can be made behind it.
    pub fn is_copied(&self, trace: &KernelTrace, load: &Load) -> bool {
        self.is_by_register(trace, load) && !overwrites_address(self.prover.flow, load.inst)
    }

    /// The block that an instruction stands in.
    pub fn block_of(&self, inst: InstId) -> Option<BlockId> {
        let flow = self.flow();
        flow.block_ids().find(|id| flow.block(*id).instructions().contains(&inst))
    }

    /// Whether the register of a generic load's address holds it at an earlier place, at which it is asked
    /// whether it is global. (Of other loads nothing is asked.)
    pub fn has_address(&self, load: &Load, place: InstId) -> bool {
        if !load.generic {
            return true;
        }
        let insts = &self.flow().insts;
        let Some(Arg::Memory { base: Base::Register(base), .. }) = insts[load.inst].args.get(1)
        else {
            return false;
        };
        let between = &insts[place..load.inst];
        between.iter().all(|inst| !definitions(inst).contains(base))
    }
}
