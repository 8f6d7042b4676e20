//! The warp instructions that only the rewritten program has: what a lane receives from another one
//! (PTX ISA, "activemask", "shfl.sync", "vote.sync").
//!
//! A shuffle delivers "the value of the same expression in lane L + n" where all 32 lanes take part
//! and are consecutive in `tid.x`, the lane's own value where it reaches over the edge, and nothing
//! predictable otherwise.

use rustc_hash::FxHashSet;
use smallvec::smallvec;

use super::evaluate::Evaluation;
use super::hardware;
use super::lanes::Lanes;
use super::prove::Prover;
use super::settle::Taint;
use super::symbols::Kind;
use crate::cfg::{Arg, BlockId, Inst, LoopId};
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

/// A fact about another lane: under `condition`, lane `L + n` is in `block` too. (No relation to
/// reachability in the graph, which is `cfg::reach`.)
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub block: BlockId,
    pub condition: TermId,
    pub n: i32,
}

/// A condition, the loop around it, and the predicate that an address is global, which holds under the
/// condition.
pub(super) type GlobalFact = (TermId, Option<LoopId>, TermId);

/// A `vote.sync.all`: if `result` is true and the warp is whole, `predicate` is true in each lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vote {
    pub block: BlockId,
    pub result: TermId,
    pub whole: TermId,
    pub predicate: TermId,
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

impl<'s> Evaluation<'_, '_, '_, 's> {
    /// An instruction that the original has not. True if it was understood; otherwise it is an event
    /// like any other.
    pub(super) fn extra(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) -> bool {
        if guard.is_some() {
            // Lanes that leave it out would be waited for.
            return false;
        }
        match inst.ast.form.opcode {
            Opcode::ActiveMask => {
                let mask = self.terms.symbol(Kind::Mask(self.at), 32, self.here());
                let block = self.block;
                if let Some(warp) = self.warp.as_deref_mut() {
                    warp.masks.push((block, mask));
                }
                self.set(&inst.args[0], mask, false, None);
                true
            }
            Opcode::Shfl => self.shuffle(inst).is_some(),
            Opcode::Vote => self.vote(inst).is_some(),
            _ => false,
        }
    }

    /// The condition that the warp is whole, for a member mask from an `activemask` of the same
    /// block: no lane leaves in between, and none waits there for what another one does later (calls
    /// and barriers without `.aligned` end blocks; see `may_wait` for the rest).
    fn whole(&mut self, mask: &Arg<'s>) -> Option<TermId> {
        let mask = self.operand(mask, 32)?;
        let warp = self.warp.as_deref()?;
        if !warp.masks.contains(&(self.block, mask)) {
            return None;
        }
        let all = self.terms.arena.constant(0xffff_ffff, 32);
        Some(self.terms.arena.equal(mask, all))
    }

    /// Whether the lanes of a whole warp are consecutive in `tid.x`.
    fn consecutive(&mut self) -> TermId {
        let [x, y, z] = Axis::ALL.map(|axis| self.block_extent(axis));
        hardware::consecutive(&mut self.terms.arena, [x, y, z])
    }

    /// `shfl.sync.up|down.b32 d[|p], a, b, c, mask` with constant b and c.
    fn shuffle(&mut self, inst: &Inst<'_, 's>) -> Option<()> {
        let ast = inst.ast;
        if !ast.form.has(Qualifier::Sync) || inst.args.len() != 5 {
            return None;
        }
        let constant = |arg: &Arg<'s>| match arg {
            Arg::Constant(Value::Signed(value)) => Some(*value),
            Arg::Constant(Value::Unsigned(value)) => i64::try_from(*value).ok(),
            _ => None,
        };
        let sent = self.operand(&inst.args[1], 32)?;
        let distance = constant(&inst.args[2])? & 31;
        let control = constant(&inst.args[3])?;
        if (control >> 8) & 31 != 0 {
            return None;
        }
        let clamp = control & 31;
        let whole = self.whole(&inst.args[4])?;
        let lane = self.operand(&Arg::Special(Special::Laneid), 32)?;
        // Lanes whose source lane lies within bounds.
        let (n, in_range) = if ast.form.has(Qualifier::Up) {
            let least = self.terms.arena.constant((distance + clamp) as u64, 32);
            (-distance, self.terms.arena.compare(Comparison::UnsignedLessEqual, least, lane))
        } else if ast.form.has(Qualifier::Down) {
            let end = self.terms.arena.constant((clamp - distance + 1).max(0) as u64, 32);
            (distance, self.terms.arena.compare(Comparison::UnsignedLess, lane, end))
        } else {
            return None;
        };
        let n = n as i32;
        let place = self.here();
        let linear = self.consecutive();
        let kind = Kind::Unpredictable(self.at);
        let nothing = self.terms.symbol(kind, 32, place);
        let current = self.is_current(sent);
        let warp = self.warp.as_deref_mut()?;
        let there = match current {
            true => warp.lanes.shift_current(self.terms, sent, n, place),
            // Some value from the past.
            false => nothing,
        };
        warp.shuffles += 1;
        // What is selected from is looked at by itself where the selecting condition is known, and
        // what the halves and fillings of a word are made of where they are unpacked.
        let (mut received, mut seen) = (vec![there], FxHashSet::default());
        while let Some(term) = received.pop() {
            if !seen.insert(term) || self.terms.arena.constant_value(term).is_some() {
                continue;
            }
            if !warp.originals.contains(&term) {
                warp.taint.received(term);
            }
            match *self.terms.arena.node(term) {
                Node::IfThenElse(_, a, b) | Node::Concatenate(a, b) => received.extend([a, b]),
                Node::Extract(a, _) | Node::ZeroExtend(a) | Node::SignExtend(a) => received.push(a),
                _ => {}
            }
        }
        let in_warp = self.terms.arena.and(whole, in_range);
        let condition = self.terms.arena.and(in_warp, linear);
        warp.reaches.push(Reach { block: self.block, condition, n });
        let arena = &mut self.terms.arena;
        let linear_value = arena.if_then_else(linear, there, nothing);
        let in_whole = arena.if_then_else(in_range, linear_value, sent);
        let received = arena.if_then_else(whole, in_whole, nothing);
        match &inst.args[0] {
            Arg::Pair(pair) => {
                let second = Kind::Extra(self.at, smallvec![1]);
                let bit = self.terms.symbol(second, 1, place);
                let valid = self.terms.arena.if_then_else(whole, in_range, bit);
                self.set(&pair[0], received, false, None);
                self.set(&pair[1], valid, false, None);
            }
            single => self.set(single, received, false, None),
        }
        Some(())
    }

    /// `vote.sync.all.pred p, {!}a, mask`
    fn vote(&mut self, inst: &Inst<'_, 's>) -> Option<()> {
        if !inst.ast.form.has(Qualifier::Sync)
            || !inst.ast.form.has(Qualifier::All)
            || inst.args.len() != 3
        {
            return None;
        }
        let predicate = self.operand(&inst.args[1], 1)?;
        let whole = self.whole(&inst.args[2])?;
        let result = self.terms.symbol(Kind::Extra(self.at, smallvec![0]), 1, self.here());
        // The lane's own predicate is among them whatever the mask.
        let value = self.terms.arena.binary(BinaryOp::And, result, predicate);
        let vote = Vote { block: self.block, result: value, whole, predicate };
        self.warp.as_deref_mut()?.votes.push(vote);
        self.set(&inst.args[0], value, false, None);
        Some(())
    }
}
