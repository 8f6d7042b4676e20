//! The warp instructions that only the rewritten program has: what a lane receives from another one
//! (PTX ISA, "activemask", "shfl.sync", "vote.sync").
//!
//! A shuffle delivers "the value of the same expression in lane L + n" where all 32 lanes take part
//! and are consecutive in `tid.x`, the lane's own value where it reaches over the edge, and nothing
//! predictable otherwise.

use rustc_hash::FxHashSet;
use smallvec::smallvec;

use super::hardware;
use super::lanes::Lanes;
use super::place::{Reach, Vote};
use super::query::Prover;
use super::state::{Evaluation, Results};
use super::symbols::{Kind, Terms};
use super::taint::Taint;
use crate::cfg::{Arg, BlockId, Inst};
use crate::expr::{BinaryOp, Comparison, Node, TermId};
use crate::isa::{Axis, Opcode, Qualifier, Special};
use crate::ptx::Value;

/// The state of the evaluation that belongs to the rewritten program's own warp instructions.
pub(super) struct Warp<'r, 's> {
    pub lanes: Lanes<'r, 's>,
    pub prover: Prover,
    /// Shuffles understood.
    pub shuffles: u32,
    /// Results of `activemask`: the block and the term of each. Only those behind which no lane has
    /// had to wait for what another one may do later: it would wait for ever, since that one waits
    /// at the shuffle.
    pub masks: Vec<(BlockId, TermId)>,
    /// The blocks in which lanes are known to be together, each with the condition and the distance.
    pub reaches: Vec<Reach>,
    pub votes: Vec<Vote>,
    pub taint: Taint,
    /// All values of the original's registers.
    originals: FxHashSet<TermId>,
}

impl<'r, 's> Warp<'r, 's> {
    pub fn new(lanes: Lanes<'r, 's>, prover: Prover, originals: FxHashSet<TermId>) -> Self {
        Warp {
            lanes,
            prover,
            shuffles: 0,
            masks: Vec::new(),
            reaches: Vec::new(),
            votes: Vec::new(),
            taint: Taint::default(),
            originals,
        }
    }
}

impl<'s> Warp<'_, 's> {
    /// The results of an instruction that the original has not; `None` where it was not understood.
    pub fn understand<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
        guard: Option<TermId>,
    ) -> Option<Results<'i, 's>> {
        if guard.is_some() {
            // Lanes that leave it out would be waited for.
            return None;
        }
        match inst.ast.form.opcode {
            Opcode::ActiveMask => {
                let mask = here.terms.symbol(Kind::Mask(here.at), 32, here.here());
                self.masks.push((here.block, mask));
                Some(smallvec![(&inst.args[0], mask)])
            }
            Opcode::Shfl => self.shuffle(here, inst),
            Opcode::Vote => self.vote(here, inst),
            _ => None,
        }
    }

    /// The condition that the warp is whole, for a member mask from an `activemask` of the same
    /// block: no lane leaves in between, and none waits there for what another one does later (calls
    /// and barriers without `.aligned` end blocks; see `may_wait` for the rest).
    fn whole(&self, here: &mut Evaluation<'_, 's>, mask: &Arg<'s>) -> Option<TermId> {
        let mask = here.operand(mask, 32)?;
        if !self.masks.contains(&(here.block, mask)) {
            return None;
        }
        let all = here.terms.arena.constant(0xffff_ffff, 32);
        Some(here.terms.arena.equal(mask, all))
    }

    /// `shfl.sync.up|down.b32 d[|p], a, b, c, mask` with constant b and c.
    fn shuffle<'i>(
        &mut self,
        here: &mut Evaluation<'_, 's>,
        inst: &'i Inst<'_, 's>,
    ) -> Option<Results<'i, 's>> {
        if !inst.ast.form.has(Qualifier::Sync) || inst.args.len() != 5 {
            return None;
        }
        let sent = here.operand(&inst.args[1], 32)?;
        let distance = constant(&inst.args[2])? & 31;
        let control = constant(&inst.args[3])?;
        if (control >> 8) & 31 != 0 {
            return None;
        }
        let whole = self.whole(here, &inst.args[4])?;
        let (n, in_range) = source(here, inst, distance, control & 31)?;
        let linear = consecutive(here);
        let nothing = here.terms.symbol(Kind::Unpredictable(here.at), 32, here.here());
        let there = match here.is_current(sent) {
            true => self.lanes.shift_current(here.terms, sent, n, here.here()),
            // Some value from the past.
            false => nothing,
        };
        self.shuffles += 1;
        self.receive(here.terms, there);
        let in_warp = here.terms.arena.and(whole, in_range);
        let condition = here.terms.arena.and(in_warp, linear);
        self.reaches.push(Reach { block: here.block, condition, n });
        let arena = &mut here.terms.arena;
        let linear_value = arena.if_then_else(linear, there, nothing);
        let in_whole = arena.if_then_else(in_range, linear_value, sent);
        let received = arena.if_then_else(whole, in_whole, nothing);
        Some(match &inst.args[0] {
            Arg::Pair(pair) => {
                let second = Kind::Extra(here.at, smallvec![1]);
                let bit = here.terms.symbol(second, 1, here.here());
                let valid = here.terms.arena.if_then_else(whole, in_range, bit);
                smallvec![(&pair[0], received), (&pair[1], valid)]
            }
            single => smallvec![(single, received)],
        })
    }

    /// Notes what came from another lane. What is selected from is looked at by itself where the
    /// selecting condition is known, and what the halves and fillings of a word are made of where
    /// they are unpacked.
    fn receive(&mut self, terms: &Terms, there: TermId) {
        let (mut received, mut seen) = (vec![there], FxHashSet::default());
        while let Some(term) = received.pop() {
            if !seen.insert(term) || terms.arena.constant_value(term).is_some() {
                continue;
            }
            if !self.originals.contains(&term) {
                self.taint.received(term);
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
        let result = here.terms.symbol(Kind::Extra(here.at, smallvec![0]), 1, here.here());
        // The lane's own predicate is among them whatever the mask.
        let value = here.terms.arena.binary(BinaryOp::And, result, predicate);
        self.votes.push(Vote { block: here.block, result: value, whole, predicate });
        Some(smallvec![(&inst.args[0], value)])
    }
}

fn constant(arg: &Arg<'_>) -> Option<i64> {
    match arg {
        Arg::Constant(Value::Signed(value)) => Some(*value),
        Arg::Constant(Value::Unsigned(value)) => i64::try_from(*value).ok(),
        _ => None,
    }
}

/// How far up the lane is that a lane receives from, and whether that lane lies within bounds.
fn source<'s>(
    here: &mut Evaluation<'_, 's>,
    inst: &Inst<'_, 's>,
    distance: i64,
    clamp: i64,
) -> Option<(i32, TermId)> {
    let lane = here.operand(&Arg::Special(Special::Laneid), 32)?;
    let arena = &mut here.terms.arena;
    if inst.ast.form.has(Qualifier::Up) {
        let least = arena.constant((distance + clamp) as u64, 32);
        Some((-distance as i32, arena.compare(Comparison::UnsignedLessEqual, least, lane)))
    } else if inst.ast.form.has(Qualifier::Down) {
        let end = arena.constant((clamp - distance + 1).max(0) as u64, 32);
        Some((distance as i32, arena.compare(Comparison::UnsignedLess, lane, end)))
    } else {
        None
    }
}

/// Whether the lanes of a whole warp are consecutive in `tid.x`.
fn consecutive(here: &mut Evaluation<'_, '_>) -> TermId {
    let [x, y, z] = Axis::ALL.map(|axis| here.block_extent(axis));
    hardware::consecutive(&mut here.terms.arena, [x, y, z])
}
