//! Proves that a source lane's address is the destination lane's, and collects the checks that have to
//! be made at run time.
//!
//! Lanes are compared upwards: for a source `n` lanes up its terms are shifted, for a source `n`
//! lanes down the destination's are. So the lower lane's `tid.x` is the symbol itself and the upper
//! lane's is larger without wrapping around, which the corner-case check guarantees.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::alike::{Alike, Held};
use super::distance::{Extension, Obligation, base_address, equal_without_wrap, possible_values};
use super::eligible::Load;
use super::facts::imply;
use super::refusal::Refusal;
use super::under::under;
use crate::cfg::{BlockId, Flow, InstId, LoopId};
use crate::emulate::{KernelTrace, SymbolKind, definitions};
use crate::expr::{
    Arena, Comparison, Facts, Node, TermId, are_contradictory, follows, mask, small_dividends,
    to_signed,
};
use crate::lanes::Shifter;
use crate::solver::{Answer, Solver};

/// A check that an index does not wrap around at 32 bits between the lanes: `register` must not be
/// one of `count` values that end `last` above the place where the reading wraps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct NoWrap {
    /// The register that holds the index, in the destination's lane.
    pub register: crate::cfg::RegisterId,
    /// The instruction that widened the register; the value that it had there is meant.
    pub widened: InstId,
    /// Whether it wraps at 2^31 (sign-extended) or at 2^32 (zero-extended).
    pub extension: WrapKind,
    /// First forbidden value, relative to the place where it wraps.
    pub first: i64,
    /// Last forbidden value, relative to the place where it wraps.
    pub last: i64,
}

/// Where a 32-bit index wraps around.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum WrapKind {
    /// From 2^31 - 1 to -2^31.
    Signed,
    /// From 2^32 - 1 to 0.
    Unsigned,
}

/// A proof that two addresses are equal, as far as checks at run time hold.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// Checks at run time.
    pub checks: SmallVec<[NoWrap; 2]>,
}

/// Steps ([`crate::expr::Arena::charge`]) for finding a register that one obligation can be checked by.
const MAX_SEARCHED: u64 = 200_000;

/// Conditions on the path that are made of more terms are left out.
const MAX_FACT: usize = 1024;

/// How far a register may be from the index, and how wide the interval of values that wrap.
const MAX_DISPLACEMENT: i64 = 1 << 29;

/// Proves distances between the loads of one function.
pub struct Prover<'a, 'm, 's> {
    pub flow: &'a Flow<'m, 's>,
    pub(super) shifter: Shifter,
    pub solver: Solver,
    pub assume_no_wrap: bool,
    /// The terms assumed to be equal across lanes, while a pair is proved under this assumption.
    alike: Option<Rc<Alike>>,
    held: Held,
    memory: Memory,
}

/// The results that are kept for later pairs: many loads stand in one block, and many sources have
/// one store behind them.
#[derive(Default)]
struct Memory {
    facts: FxHashMap<(BlockId, i32), Rc<Facts>>,
    /// Whether a store lies apart from a load, by the store's address, its bytes, and the load.
    apart: FxHashMap<(TermId, i64, usize), bool>,
}

impl<'a, 'm, 's> Prover<'a, 'm, 's> {
    /// A prover for the loads of one function.
    pub(super) fn new(
        flow: &'a Flow<'m, 's>,
        shifter: Shifter,
        solver: Solver,
        assume: bool,
    ) -> Self {
        Prover {
            flow,
            shifter,
            solver,
            assume_no_wrap: assume,
            alike: None,
            held: Held::default(),
            memory: Memory::default(),
        }
    }

    /// Bytes from an address in one lane to that in the next one, where that is a constant as far as nothing
    /// wraps around.
    pub fn lane_stride(
        &mut self,
        trace: &mut KernelTrace,
        address: TermId,
        place: Option<LoopId>,
    ) -> Option<i64> {
        let next = self.shifter.shift(trace, &self.flow.loops, address, 1, place);
        let here = base_address(&mut trace.arena, address);
        let next = base_address(&mut trace.arena, next);
        (here.key == next.key).then(|| next.constant.wrapping_sub(here.constant))
    }

    /// Proves `A(L + n) + displacement = B(L)` for every lane `L` of a whole warp that has reached the
    /// destination, if `L + n` is a lane of the warp. The checks are such as can be made at the
    /// destination.
    pub fn prove(
        &mut self,
        trace: &mut KernelTrace,
        from: &Load,
        to: &Load,
        n: i32,
        displacement: i64,
    ) -> Result<Proof, Refusal> {
        self.prove_checked_at(trace, (from, to), n, displacement, to.inst)
    }

    /// The same, with checks that can be made in front of the instruction `at` of the destination's
    /// block.
    pub fn prove_checked_at(
        &mut self,
        trace: &mut KernelTrace,
        (from, to): (&Load, &Load),
        n: i32,
        displacement: i64,
        at: InstId,
    ) -> Result<Proof, Refusal> {
        let block = trace.accesses[to.access].block;
        self.prove_terms(trace, (from.address, to.address), n, displacement, (block, at))
    }

    /// Proves `A(L + n) + displacement = A(L)` for the address of a source, for lanes that have reached
    /// the destination and with checks that can be made there.
    pub fn prove_line(
        &mut self,
        trace: &mut KernelTrace,
        source: &Load,
        to: &Load,
        n: i32,
        displacement: i64,
    ) -> Result<Proof, Refusal> {
        let block = trace.accesses[to.access].block;
        let terms = (source.address, source.address);
        self.prove_terms(trace, terms, n, displacement, (block, to.inst))
    }

    /// The registers that lanes are asked about where an address is not affine in the lane id, and the
    /// bytes from lane to lane if they agree.
    pub(super) fn rows(
        &mut self,
        trace: &mut KernelTrace,
        address: TermId,
        place: Option<LoopId>,
    ) -> Option<(Rc<Alike>, i64)> {
        let Prover { shifter, held, .. } = self;
        let alike = Alike::of(trace, self.flow, shifter, held, address, place)?;
        let line = alike.replaced(trace, address);
        let stride = self.lane_stride(trace, line, place)?;
        Some((Rc::new(alike), stride))
    }

    /// Proves the same as [`Prover::prove`] for lanes that agree about some registers.
    pub(super) fn prove_alike(
        &mut self,
        trace: &mut KernelTrace,
        alike: &Rc<Alike>,
        (from, to): (&Load, &Load),
        n: i32,
        displacement: i64,
    ) -> Result<Proof, Refusal> {
        // (The facts about paths have other terms there.)
        let known = std::mem::take(&mut self.memory.facts);
        self.alike = Some(Rc::clone(alike));
        let block = trace.accesses[to.access].block;
        let terms = (alike.replaced(trace, from.address), alike.replaced(trace, to.address));
        let proof = self.prove_terms(trace, terms, n, displacement, (block, to.inst));
        self.alike = None;
        self.memory.facts = known;
        proof
    }

    /// A term as it is where the registers agree about which lanes are being asked, if any are.
    fn where_alike(&self, trace: &mut KernelTrace, term: TermId) -> TermId {
        match &self.alike {
            Some(alike) => alike.replaced(trace, term),
            None => term,
        }
    }

    fn prove_terms(
        &mut self,
        trace: &mut KernelTrace,
        (from, to): (TermId, TermId),
        n: i32,
        displacement: i64,
        (block, at): (BlockId, InstId),
    ) -> Result<Proof, Refusal> {
        let place = self.flow.loops.innermost(block);
        let (up, down) = (n.max(0), (-n).max(0));
        let loops = &self.flow.loops;
        let a = self.shifter.shift(trace, loops, from, up, place);
        let b = self.shifter.shift(trace, loops, to, down, place);
        let a = trace.arena.add_constant(a, displacement as u64);
        if a == b {
            return Ok(Proof::default());
        }
        let mut facts = None;
        let obligations = match equal_without_wrap(&mut trace.arena, a, b) {
            Some(obligations) => obligations,
            None => {
                // If the forms differ, the facts at the place may make one of them.
                let facts = facts.insert(self.facts(trace, block, n.abs()));
                let arena = &mut trace.arena;
                let (here, there) = (under(arena, facts, a), under(arena, facts, b));
                match equal_without_wrap(arena, here, there) {
                    Some(obligations) => obligations,
                    None => return self.ask(trace, a, b, facts),
                }
            }
        };
        let mut proof = Proof::default();
        if self.assume_no_wrap {
            return Ok(proof);
        }
        let facts = match facts {
            Some(facts) => facts,
            None => self.facts(trace, block, n.abs()),
        };
        for obligation in &obligations {
            if imply(&facts, &mut trace.arena, obligation) {
                continue;
            }
            match self.check(trace, obligation, at, block, down, place) {
                Some(check) => proof.checks.push(check),
                None => {
                    return match self.solve(trace, a, b, &facts) {
                        Answer::Proved => Ok(Proof::default()),
                        answer => Err(Refusal::MayWrap(answer)),
                    };
                }
            }
        }
        Ok(proof)
    }

    /// Asks the solver about a claim that the normal forms do not show.
    fn ask(
        &mut self,
        trace: &mut KernelTrace,
        a: TermId,
        b: TermId,
        facts: &Facts,
    ) -> Result<Proof, Refusal> {
        match self.solve(trace, a, b, facts) {
            Answer::Proved => Ok(Proof::default()),
            Answer::Refuted => Err(Refusal::SolverRefuted),
            answer => Err(Refusal::SolverUnknown(answer)),
        }
    }

    fn solve(&mut self, trace: &mut KernelTrace, a: TermId, b: TermId, facts: &Facts) -> Answer {
        let claim = reduced(&mut trace.arena, a, b);
        let KernelTrace { arena, symbols, .. } = trace;
        // The quotients of small dividends are known without a division, and order alone may decide
        // then.
        let mut known = small_dividends(arena, claim.into());
        if !known.is_empty() {
            known.extend(facts.predicates());
            if follows(arena, &known, claim) && !are_contradictory(arena, &known) {
                return Answer::Proved;
            }
        }
        self.solver.prove_equal(arena, symbols, claim, facts.predicates())
    }

    /// Whether a store of `size` bytes and a load touch no common byte in any lane that reaches the
    /// load. Asked only if both addresses start from the same pointers: two pointers may always alias.
    pub fn apart(
        &mut self,
        trace: &mut KernelTrace,
        store: TermId,
        size: i64,
        load: &Load,
    ) -> bool {
        let question = (store, size, load.access);
        if let Some(&known) = self.memory.apart.get(&question) {
            return known;
        }
        let apart = self.is_apart(trace, store, size, load);
        self.memory.apart.insert(question, apart);
        apart
    }

    fn is_apart(&mut self, trace: &mut KernelTrace, store: TermId, size: i64, load: &Load) -> bool {
        let width = trace.arena.width(store);
        if size == 0 || width != trace.arena.width(load.address) {
            return false;
        }
        let distance = trace.arena.sub(store, load.address);
        if contains_pointer(trace, distance) {
            return false;
        }
        let (near, far) = (load.bytes as u64, (size as u64).wrapping_neg() & mask(width));
        if let Some(values) = possible_values(&mut trace.arena, distance)
            && values.iter().all(|value| (near..=far).contains(value))
        {
            return true;
        }
        let least = trace.arena.constant(load.bytes as u64, width);
        let most = trace.arena.constant((size as u64).wrapping_neg(), width);
        let behind = trace.arena.compare(Comparison::UnsignedLessEqual, least, distance);
        let before = trace.arena.compare(Comparison::UnsignedLessEqual, distance, most);
        let apart = trace.arena.and(behind, before);
        let always = trace.arena.boolean(true);
        let block = trace.accesses[load.access].block;
        let facts = self.facts(trace, block, 0);
        apart == always || self.solve(trace, apart, always, &facts) == Answer::Proved
    }

    /// Whether a predicate holds wherever a block is reached.
    pub fn always(&self, trace: &KernelTrace, block: BlockId, predicate: TermId) -> bool {
        let mut facts = Facts::default();
        for at in self.flow.dominators.chain(block) {
            trace.arena.charge(1);
            if let Some(known) = trace.assumptions[at] {
                facts.add(&trace.arena, known);
            }
        }
        facts.contain(&trace.arena, predicate)
    }

    /// The path condition of a block in both lanes: the whole warp has reached it.
    fn facts(&mut self, trace: &mut KernelTrace, block: BlockId, n: i32) -> Rc<Facts> {
        if let Some(known) = self.memory.facts.get(&(block, n)) {
            return Rc::clone(known);
        }
        let place = self.flow.loops.innermost(block);
        let mut facts = Facts::default();
        for at in self.flow.dominators.chain(block) {
            trace.arena.charge(1);
            if let Some(predicate) = trace.assumptions[at]
                && !trace.arena.are_larger_than([predicate], MAX_FACT)
            {
                let predicate = self.where_alike(trace, predicate);
                facts.add(&trace.arena, predicate);
                let shifted = self.shifter.shift(trace, &self.flow.loops, predicate, n, place);
                if shifted != predicate {
                    facts.add(&trace.arena, shifted);
                }
            }
        }
        let facts = Rc::new(facts);
        self.memory.facts.insert((block, n), Rc::clone(&facts));
        facts
    }

    /// A check of the obligation by a register of the destination's lane, in front of the instruction
    /// `at`; `None` if no register serves.
    fn check(
        &mut self,
        trace: &mut KernelTrace,
        obligation: &Obligation,
        at: InstId,
        block: BlockId,
        down: i32,
        place: Option<LoopId>,
    ) -> Option<NoWrap> {
        let width = trace.arena.width(obligation.base);
        if width != 32 {
            return None;
        }
        let before = trace.arena.spent();
        for index in 0..trace.widened.len() {
            trace.arena.charge(4);
            if trace.arena.spent() - before > MAX_SEARCHED {
                return None;
            }
            let widened = trace.widened[index];
            if !self.still_holds(trace, index, at, block)
                || !self.flow.visible(widened.register, at) && !planted!(Bug::IndexNotAsked)
            {
                continue;
            }
            let value = self.where_alike(trace, widened.value);
            let value = self.shifter.shift(trace, &self.flow.loops, value, down, place);
            let Some(offset) = trace.arena.constant_difference(value, obligation.base) else {
                continue;
            };
            // `base + low` must lie `high - low` or more below the wrap: the forbidden values of `base + low` are
            // -(high - low) ..= -1 from there, those of the register are moved by its distance from `base + low`.
            let moved = to_signed(offset.wrapping_sub(obligation.low) as u64, width);
            let window = obligation.high - obligation.low;
            // Checks of one register are joined to one interval, which must not wrap around.
            if moved.abs() > MAX_DISPLACEMENT || window > MAX_DISPLACEMENT {
                continue;
            }
            return Some(NoWrap {
                register: widened.register,
                widened: widened.inst,
                extension: match obligation.extension {
                    Extension::Sign => WrapKind::Signed,
                    Extension::Zero => WrapKind::Unsigned,
                },
                first: moved - window,
                last: moved - 1,
            });
        }
        None
    }

    /// Whether the register still holds, at `at`, the value that was widened.
    fn still_holds(&self, trace: &KernelTrace, index: usize, at: InstId, block: BlockId) -> bool {
        let widened = &trace.widened[index];
        if widened.settled && self.flow.dominators.dominates(widened.block, block) {
            // Of one block the extension may come behind the place; the only definition must not.
            let later = match widened.block == block {
                true => at.min(widened.inst).to(widened.inst),
                false => InstId(0).to(InstId(0)),
            };
            trace.arena.charge(later.len() as u64);
            let later = &self.flow.insts[later.range()];
            return !later.iter().any(|inst| definitions(inst).contains(&widened.register));
        }
        // Up the straight line of blocks that ends with the load's.
        let (mut here, mut end) = (block, at);
        loop {
            let start = match here == widened.block {
                true => widened.inst.next(),
                false => self.flow.block(here).first,
            };
            if start > end {
                return false;
            }
            trace.arena.charge(u64::from(end.since(start)));
            let between = &self.flow.insts[start..end];
            if between.iter().any(|inst| definitions(inst).contains(&widened.register)) {
                return false;
            }
            if here == widened.block {
                return true;
            }
            // (The function's entry is also a way into its first block.)
            let [above] = self.flow.block(here).predecessors[..] else { return false };
            if here.0 == 0 {
                return false;
            }
            here = above.from;
            if self.flow.block(here).successors.len() > 1 {
                return false;
            }
            end = self.flow.block(here).end;
        }
    }
}

/// Two smaller terms whose equality makes `a` and `b` equal: without the parts that both have in
/// common, such as the pointer from which both addresses start, the size of an element, or the
/// extension of both indices. With these parts a solver takes a hundred times longer.
fn reduced(arena: &mut Arena, a: TermId, b: TermId) -> (TermId, TermId) {
    let width = arena.width(a);
    if width == 1 || width != arena.width(b) {
        return (a, b);
    }
    let difference = arena.sub(a, b);
    let (constant, addends) = arena.linear_parts(difference);
    let [(x, by_x), (y, by_y)] = addends[..] else {
        return (difference, arena.constant(0, width));
    };
    if constant != 0 || by_x.wrapping_add(by_y) & mask(width) != 0 {
        return (difference, arena.constant(0, width));
    }
    match (Extension::of(arena, x), Extension::of(arena, y)) {
        (Some((one, x)), Some((other, y))) if one == other && arena.width(x) == arena.width(y) => {
            (x, y)
        }
        _ => (x, y),
    }
}

/// Whether a term depends on the value of a pointer: a 64-bit parameter, a loaded value, or the
/// address of a variable.
fn contains_pointer(trace: &KernelTrace, term: TermId) -> bool {
    let mut work = vec![term];
    let mut seen = rustc_hash::FxHashSet::default();
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        trace.arena.charge(2);
        let pointer = match trace.arena.node(next) {
            Node::Apply(..) => true,
            Node::Symbol(symbol) => {
                let info = trace.symbols.info(*symbol);
                match info.kind {
                    SymbolKind::Parameter { .. } => info.width == 64,
                    SymbolKind::Address(_) | SymbolKind::Unknown(_) => true,
                    _ => false,
                }
            }
            _ => false,
        };
        if pointer {
            return true;
        }
        work.extend(trace.arena.operands(next));
    }
    false
}
