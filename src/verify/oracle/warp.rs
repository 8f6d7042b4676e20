//! The warp instructions that only the rewritten program has, and the values that lanes receive by
//! them (PTX ISA, "activemask", "shfl.sync", "vote.sync", "bar.warp.sync").
//!
//! A shuffle delivers "the value of the same expression in lane L + n" if all 32 lanes take part and
//! are consecutive in `tid.x`, the lane's own value if lane L + n lies outside the warp, and an
//! unpredictable value otherwise.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::cross_lane::CrossLane;
use super::together::together;
use super::warp_exchange::{Opened, WarpExchange};
use crate::cfg::{Arg, BlockId, Inst, InstId, RegisterId};
use crate::expr::{BinaryOp, Comparison, Node, TermId, to_signed};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Opcode, Qualifier, Special};
use crate::lane::{Evaluation, Results};
use crate::proof::{Lanes, Position, Prover, by_lane};
use crate::ptx::FunctionKind;
use crate::record::{Reach, Reconverged, Reference, Vote};
use crate::terms::{Kind, Terms, conditions, hardware};

/// The state of the evaluation that belongs to the rewritten program's own warp instructions.
pub(crate) struct Warp<'r, 's> {
    pub lanes: Lanes<'r, 's>,
    pub prover: Prover,
    /// Shuffles whose results are known.
    pub shuffles: u32,
    /// Results of `activemask`: the block and the term of each. A result is dropped at an instruction at which a lane
    /// may wait for a later action of another one: it would wait for ever, since the other one waits at the shuffle.
    pub masks: Vec<(BlockId, TermId)>,
    /// The blocks in which lanes are known to be together, each with the condition and the distance.
    pub reaches: Vec<Reach>,
    pub votes: Vec<Vote>,
    pub cross_lane: CrossLane,
    /// All values of the original's registers.
    originals: FxHashSet<TermId>,
    /// The values that each of the original's registers gets, in order.
    pub written: FxHashMap<RegisterId, Vec<(InstId, TermId)>>,
    /// Blocks in which all lanes of a warp are known to be together.
    pub reconverged: Vec<Reconverged>,
    /// The blocks and instructions at which the rewritten program orders the memory of a whole warp.
    pub ordered: Vec<(BlockId, InstId)>,
    /// The last of these barriers.
    pub opened: Option<Opened>,
    /// The stores of other lanes' values.
    pub exchanges: Vec<WarpExchange>,
    /// Instructions that were not understood, each with the reason.
    pub hints: Vec<(InstId, &'static str)>,
}

impl<'r, 's> Warp<'r, 's> {
    /// `definitions` are the values that the original's registers get, each with the instruction.
    pub(crate) fn new(
        lanes: Lanes<'r, 's>,
        prover: Prover,
        definitions: &FxHashMap<(InstId, RegisterId), TermId>,
    ) -> Self {
        let originals = definitions.values().copied().collect();
        let mut written: FxHashMap<RegisterId, Vec<(InstId, TermId)>> = FxHashMap::default();
        // (In any order: each list is sorted afterwards.)
        definitions.iter().for_each(|(&(inst, register), &term)| {
            written.entry(register).or_default().push((inst, term));
        });
        written.values_mut().for_each(|list| list.sort_unstable());
        Warp {
            lanes,
            prover,
            shuffles: 0,
            masks: Vec::new(),
            reaches: Vec::new(),
            votes: Vec::new(),
            cross_lane: CrossLane::default(),
            originals,
            written,
            reconverged: Vec::new(),
            ordered: Vec::new(),
            opened: None,
            exchanges: Vec::new(),
            hints: Vec::new(),
        }
    }
}

impl<'s> Warp<'_, 's> {
    /// The results of an instruction that the original does not have; `None` if they are not known.
    pub(crate) fn understand<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
        guard: Option<TermId>,
    ) -> Option<Results<'i, 's>> {
        if guard.is_some() {
            // Lanes that leave the instruction out would be waited for.
            return None;
        }
        match inst.ast.form.opcode {
            Opcode::ActiveMask => {
                let mask = here.terms.symbol(Kind::Mask(here.at), 32, here.here());
                self.masks.push((here.block, mask));
                Some(smallvec![(&inst.args[0], mask)])
            }
            Opcode::Shfl => self.shuffle(here, inst),
            Opcode::Vote => self.vote(here, inst).or_else(|| self.exchange(here, inst)),
            Opcode::Redux | Opcode::Match => self.exchange(here, inst),
            // It orders memory, so that there are fewer races than without it: nothing else changes.
            Opcode::Bar if inst.ast.form.has(Qualifier::Warp) => {
                let whole = self.whole(here, inst.args.first()?)?;
                let path = here.path()?;
                let path = conditions::literals(&mut here.terms.arena, path);
                if here.terms.arena.constant_value(whole) != Some(1) && !path.contains(&whole) {
                    return None;
                }
                self.ordered.push((here.block, here.at));
                let exchange = self.opened.take().and_then(|opened| opened.close(here));
                self.exchanges.extend(exchange);
                self.opened = Some(Opened::new(here));
                Some(smallvec![])
            }
            _ => None,
        }
    }

    /// `redux.sync`, `vote.sync` and `match.sync` of all lanes, where in the original all lanes of a warp
    /// exchange something: whoever comes by comes with the whole warp.
    fn exchange<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
    ) -> Option<Results<'i, 's>> {
        let (result, sent) = inst.args.split_first()?;
        let results: SmallVec<[(&'i Arg<'s>, u16); 2]> = match result {
            Arg::Pair(pair) => pair.iter().zip(0..).collect(),
            single => smallvec![(single, 0)],
        };
        let path = here.path()?;
        let reference = here.reference?;
        let place = (here.here(), positions(here, reference));
        if !self.prover.exchanges.all_come(here.terms, path, place) {
            self.hints.push((here.at, "some lanes of a warp may not come here"));
            return None;
        }
        let bits = match inst.ast.form.opcode {
            Opcode::Vote => 1,
            _ => inst.ast.form.last_type().map_or(32, |ty| ty.bits().clamp(32, 64)) as u8,
        };
        let (value, others) = sent.split_first()?;
        let mut operands = vec![here.operand(value, bits)?];
        for arg in others {
            operands.push(here.operand(arg, 32)?);
        }
        let mut delivered: Results<'i, 's> = smallvec![];
        for (result, place) in results {
            let register = match result {
                Arg::Register(register) => *register,
                Arg::Sink => continue,
                _ => return None,
            };
            let kind = Kind::RewrittenOnly(here.at, smallvec![place]);
            let symbol = here.terms.symbol(kind, here.width(register), here.here());
            let named = (symbol, place == 1);
            self.prover.exchanges.add(here.terms, inst, &operands, named)?;
            delivered.push((result, symbol));
        }
        self.shuffles += u32::from(inst.ast.form.opcode == Opcode::Shfl);
        Some(delivered)
    }

    /// The condition that the warp is whole, for a member mask from an `activemask` of the same block:
    /// no lane leaves in between, and none waits there for a later action of another one (calls and
    /// barriers without `.aligned` end blocks; see `may_wait` for the rest). The mask may also come
    /// from a block before, if all its lanes have come from there together; then all bits set are a
    /// mask as well, if the path condition says that the `activemask` had them set.
    fn whole(&mut self, here: &mut Evaluation<'_, 's>, mask: &Arg<'s>) -> Option<TermId> {
        let given = here.operand(mask, 32)?;
        let all = here.terms.arena.constant(0xffff_ffff, 32);
        let path = here.path()?;
        let path = conditions::literals(&mut here.terms.arena, path);
        if given == all && self.is_full(here) {
            return Some(here.terms.arena.boolean(true));
        }
        for &(from, mask) in self.masks.iter().rev() {
            let whole = here.terms.arena.equal(mask, all);
            let same = given == mask || given == all && path.contains(&whole);
            if same && together(here, &self.votes, from, (mask, whole)) {
                return Some(whole);
            }
        }
        None
    }

    /// Whether all 32 lanes of each warp execute the block that is evaluated together: the block of threads is known to
    /// be whole warps of consecutive lanes, and they all take the same paths there. An instruction with the member
    /// mask of all lanes waits for them (PTX ISA, "shfl.sync").
    fn is_full(&mut self, here: &mut Evaluation<'_, 's>) -> bool {
        if here.program.function.kind != FunctionKind::Entry || here.program.irreducible {
            return false;
        }
        let Some(shape) = here.program.block else {
            self.hints.push((here.at, "the block's shape is not known (`--block`)"));
            return false;
        };
        let linear = consecutive(here);
        let whole = shape.iter().product::<u64>().is_multiple_of(u64::from(WARP_SIZE));
        if !whole || here.terms.arena.constant_value(linear) != Some(1) {
            self.hints.push((here.at, "the block is not of whole warps with consecutive lanes"));
            return false;
        }
        let place = here.here();
        let Some(path) = here.path() else { return false };
        let together = self.lanes.go_together(here.terms, place)
            && [1, -1].into_iter().all(|n| self.lanes.shift(here.terms, path, n, place) == path);
        if !together {
            self.hints.push((here.at, "some lanes of a warp may not come here"));
        }
        together
    }

    /// `shfl.sync.up|down.b32 d[|p], a, b, c, mask` with constant b and c, and `shfl.sync.idx|bfly` that
    /// give each lane the value of one some lanes up or, where that is beyond the warp, down.
    fn shuffle<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
    ) -> Option<Results<'i, 's>> {
        if !inst.ast.form.has(Qualifier::Sync) || inst.args.len() != 5 {
            return None;
        }
        let sent = here.operand(&inst.args[1], 32)?;
        let control = constant(here, &inst.args[3])?;
        if (control >> 8) & 31 != 0 {
            return None;
        }
        let whole = self.whole(here, &inst.args[4])?;
        let by_lane = inst.ast.form.has(Qualifier::Idx) && control & 31 == 31;
        let Some(Source { near, far, n }) = source(here, inst, control & 31) else {
            return if by_lane { self.shuffle_by_lane(here, inst, (sent, whole)) } else { None };
        };
        let linear = consecutive(here);
        let nothing = here.terms.symbol(Kind::Unpredictable(here.at), 32, here.here());
        // A value from the past may be a different one in the other lane.
        let current = here.is_current(sent);
        let in_warp = here.terms.arena.and(whole, linear);
        self.note_reconverged(here, in_warp)?;
        let beyond = here.terms.arena.not(near);
        let mut from = |this: &mut Self, n: i32, when: TermId| {
            let there = match current {
                true => this.lanes.shift_current(here.terms, sent, n, here.here()),
                // The other lane's value is unknown; that does not mean that it may be any value.
                false => {
                    let kind = Kind::RewrittenOnly(here.at, smallvec![2, n as u16]);
                    here.terms.symbol(kind, 32, here.here())
                }
            };
            this.mark_cross_lane(here.terms, there);
            let condition = here.terms.arena.and(in_warp, when);
            this.reaches.push(Reach { block: here.block, condition, n });
            here.terms.arena.if_then_else(linear, there, nothing)
        };
        self.shuffles += 1;
        let up = from(self, n, near);
        let otherwise = match far {
            Some(far) => from(self, far, beyond),
            None => sent,
        };
        let arena = &mut here.terms.arena;
        let in_range = if far.is_some() { arena.boolean(true) } else { near };
        let in_whole = arena.if_then_else(near, up, otherwise);
        let received = arena.if_then_else(whole, in_whole, nothing);
        Some(match &inst.args[0] {
            Arg::Pair(pair) => {
                let second = Kind::RewrittenOnly(here.at, smallvec![1]);
                let bit = here.terms.symbol(second, 1, here.here());
                let valid = here.terms.arena.if_then_else(whole, in_range, bit);
                smallvec![(&pair[0], received), (&pair[1], valid)]
            }
            single => smallvec![(single, received)],
        })
    }

    /// Notes that all lanes of the warp are in the block that is evaluated, under a condition; returns the
    /// number of the lane.
    fn note_reconverged(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        together: TermId,
    ) -> Option<TermId> {
        let lane = here.operand(&Arg::Special(Special::Laneid), 32)?;
        let reconverged = Reconverged { block: here.block, together, lane };
        if !self.reconverged.contains(&reconverged) {
            self.reconverged.push(reconverged);
        }
        Some(lane)
    }

    /// `shfl.sync.idx.b32 d, a, b, 31, mask` whose source lane is any function of the lane's own number.
    fn shuffle_by_lane<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
        (sent, whole): (TermId, TermId),
    ) -> Option<Results<'i, 's>> {
        let number = here.operand(&inst.args[2], 32)?;
        let lane = here.operand(&Arg::Special(Special::Laneid), 32)?;
        let mut sources = self.prover.by_lane.terms.sources(&mut here.terms.arena, lane, number);
        if sources.is_none() && is_row_of_warps(here) {
            let thread = here.operand(&Arg::Special(Special::Tid(Axis::X)), 32)?;
            self.prover.by_lane.terms.number_by_thread(thread);
            sources = self.prover.by_lane.terms.sources(&mut here.terms.arena, lane, number);
        }
        let sources = sources?;
        let linear = consecutive(here);
        let thread = here.operand(&Arg::Special(Special::Tid(Axis::X)), 32)?;
        self.prover.by_lane.rows = Some((linear, thread));
        let in_warp = here.terms.arena.and(whole, linear);
        self.note_reconverged(here, in_warp)?;
        let nothing = here.terms.symbol(Kind::Unpredictable(here.at), 32, here.here());
        let current = here.is_current(sent);
        let mut values = Vec::new();
        let mut distances = BTreeSet::new();
        for (own, source) in by_lane::all().zip(sources) {
            let n = source as i32 - own as i32;
            distances.insert(n);
            let value = match current {
                true => {
                    let there = self.lanes.shift_current(here.terms, sent, n, here.here());
                    self.prover.by_lane.terms.of(&mut here.terms.arena, lane, own, there)
                }
                false => {
                    let around = here.here();
                    self.prover.by_lane.terms.as_there(here.terms, lane, source, sent, around)
                }
            };
            self.mark_cross_lane(here.terms, value);
            values.push(value);
        }
        for n in distances {
            let arena = &mut here.terms.arena;
            let is_lane = by_lane::has_lane(arena, lane, n);
            let condition = arena.and(in_warp, is_lane);
            self.reaches.push(Reach { block: here.block, condition, n });
        }
        self.shuffles += 1;
        let received = self.prover.by_lane.select(&mut here.terms.arena, lane, &values);
        self.cross_lane.mark(received);
        let arena = &mut here.terms.arena;
        let in_order = arena.if_then_else(linear, received, nothing);
        let received = arena.if_then_else(whole, in_order, nothing);
        Some(match &inst.args[0] {
            Arg::Pair(pair) => {
                // Every lane of the warp is in range.
                let bit =
                    here.terms.symbol(Kind::RewrittenOnly(here.at, smallvec![1]), 1, here.here());
                let arena = &mut here.terms.arena;
                let always = arena.boolean(true);
                let valid = arena.if_then_else(whole, always, bit);
                smallvec![(&pair[0], received), (&pair[1], valid)]
            }
            single => smallvec![(single, received)],
        })
    }

    /// Notes a value that came from another lane. A selection is looked at again where its condition
    /// is known, and the parts of a packed word where they are unpacked.
    fn mark_cross_lane(&mut self, terms: &Terms, there: TermId) {
        let (mut received, mut seen) = (vec![there], FxHashSet::default());
        while let Some(term) = received.pop() {
            if !seen.insert(term) || terms.arena.constant_value(term).is_some() {
                continue;
            }
            if !self.originals.contains(&term) {
                self.cross_lane.mark(term);
            }
            match *terms.arena.node(term) {
                Node::IfThenElse(_, a, b) | Node::Concatenate(a, b) => received.extend([a, b]),
                Node::Extract(a, _) | Node::ZeroExtend(a) | Node::SignExtend(a) => received.push(a),
                _ => {}
            }
        }
    }

    /// `vote.sync.all.pred p, {!}a, mask`
    fn vote<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
    ) -> Option<Results<'i, 's>> {
        if !inst.ast.form.has(Qualifier::Sync)
            || !inst.ast.form.has(Qualifier::All)
            || inst.args.len() != 3
        {
            return None;
        }
        let predicate = here.operand(&inst.args[1], 1)?;
        let whole = self.whole(here, &inst.args[2])?;
        let result = here.terms.symbol(Kind::RewrittenOnly(here.at, smallvec![0]), 1, here.here());
        // The lane's own predicate is among those that are combined, whatever the mask is.
        let value = here.terms.arena.binary(BinaryOp::And, result, predicate);
        let block = here.block;
        self.votes.push(Vote { block, result: value, outcome: result, whole, predicate });
        Some(smallvec![(&inst.args[0], value)])
    }
}

/// An operand's value, if it is known.
fn constant<'s>(here: &mut Evaluation<'_, 's>, arg: &Arg<'s>) -> Option<i64> {
    let value = here.operand(arg, 32)?;
    here.terms.arena.constant_value(value).map(|value| to_signed(value, 32))
}

/// The lane that a lane receives from: `n` lanes up if `near` holds; otherwise `far` lanes up, if
/// `far` is given, or the lane itself.
struct Source {
    near: TermId,
    far: Option<i32>,
    n: i32,
}

fn source<'s>(here: &mut Evaluation<'_, 's>, inst: &Inst<'_, 's>, clamp: i64) -> Option<Source> {
    let lane = here.operand(&Arg::Special(Special::Laneid), 32)?;
    let form = &inst.ast.form;
    if form.has(Qualifier::Idx) {
        return (clamp == 31).then(|| by_number(here, lane, &inst.args[2])).flatten();
    }
    let distance = constant(here, &inst.args[2])? & 31;
    let arena = &mut here.terms.arena;
    if form.has(Qualifier::Up) {
        let least = arena.constant((distance + clamp) as u64, 32);
        let near = arena.compare(Comparison::UnsignedLessEqual, least, lane);
        Some(Source { near, far: None, n: -distance as i32 })
    } else if form.has(Qualifier::Down) {
        let end = arena.constant((clamp - distance + 1).max(0) as u64, 32);
        let near = arena.compare(Comparison::UnsignedLess, lane, end);
        Some(Source { near, far: None, n: distance as i32 })
    } else if form.has(Qualifier::Bfly) && clamp == 31 && distance.count_ones() == 1 {
        // The source lane is above a lane without the bit, and below a lane with it.
        let bit = arena.constant(distance as u64, 32);
        let own = arena.and(lane, bit);
        let zero = arena.constant(0, 32);
        let near = arena.equal(own, zero);
        Some(Source { near, far: Some(-distance as i32), n: distance as i32 })
    } else {
        None
    }
}

/// The lane whose number is `laneid + n` modulo 32, for a constant n from 0 to 31: it lies n lanes up,
/// or 32 - n lanes down. (The upper bits of the number do not count: PTX ISA, "shfl.sync".)
fn by_number<'s>(here: &mut Evaluation<'_, 's>, lane: TermId, number: &Arg<'s>) -> Option<Source> {
    let number = here.operand(number, 32)?;
    let arena = &mut here.terms.arena;
    let low = arena.extract(number, 0, 5);
    let own = arena.extract(lane, 0, 5);
    let n = match arena.constant_difference(low, own) {
        Some(ahead) => ahead.rem_euclid(32),
        None => (0..32).find(|&n| {
            let there = arena.add_constant(lane, n as u64);
            arena.extract(there, 0, 5) == low
        })?,
    };
    let end = arena.constant(32 - n as u64, 32);
    let near = arena.compare(Comparison::UnsignedLess, lane, end);
    Some(Source { near, far: (n > 0).then_some(n as i32 - 32), n: n as i32 })
}

/// Whether the five low bits of `tid.x` are the lane's number: the block is known to be of rows that are whole warps, or
/// of one row. (The lane is the linear index of the thread modulo 32, see `hardware`.)
fn is_row_of_warps(here: &Evaluation<'_, '_>) -> bool {
    let is_kernel = here.program.function.kind == FunctionKind::Entry;
    here.program.block.is_some_and(|[x, y, z]| {
        is_kernel && (x.is_multiple_of(u64::from(WARP_SIZE)) || y * z == 1)
    })
}

/// Whether the lanes of a whole warp are consecutive in `tid.x`.
fn consecutive(here: &mut Evaluation<'_, '_>) -> TermId {
    let [x, y, z] = Axis::ALL.map(|axis| here.block_extent(axis));
    hardware::consecutive(&mut here.terms.arena, [x, y, z])
}

/// Where the original is when an instruction of the rewritten program is executed: behind the nearest matched
/// instruction that is surely executed before, and not behind the nearest one that surely follows.
fn positions(here: &Evaluation<'_, '_>, reference: &Reference<'_, '_>) -> Range<Position> {
    let flow = &here.program.flow;
    let insts = |block: BlockId| flow.block(block).instructions();
    let matched = |at: InstId| {
        let original = reference.matched[at]?;
        let blocks = &reference.program.flow.blocks;
        let block = blocks.iter_enumerated().find(|(_, of)| of.instructions().contains(&original));
        block.map(|(block, _)| (block, original))
    };
    let (own, at) = (insts(here.block), here.at);
    let before = flow.dominators.chain(here.block);
    let mut before = before.flat_map(|block| insts(block).rev());
    let last = before.find_map(|one| matched(one).filter(|_| !own.contains(&one) || one < at));
    // The only successor of a block, within the same iteration.
    let behind =
        std::iter::successors(Some(here.block), |&at| match &flow.block(at).successors[..] {
            [edge] => Some(edge.to).filter(|to| at < *to),
            _ => None,
        });
    let mut behind = behind.flat_map(insts);
    let next = behind.find_map(|one| matched(one).filter(|_| !own.contains(&one) || at < one));
    let end = (reference.program.flow.blocks.next_key(), InstId::default());
    let start = last.map_or((BlockId(0), InstId(0)), |(block, inst)| (block, inst.next()));
    start..next.unwrap_or(end)
}
