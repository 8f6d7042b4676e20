//! Lane by lane: a shuffle whose source lane is any function of the lane's own number, and claims about its result.
//!
//! In: terms with the number of the lane in them. Out: the terms of one lane, whose number is a constant, so that its
//! selections and source lanes are decided. A claim holds if it holds in each of the 32 lanes.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::LoopId;
use crate::expr::{Arena, Comparison, Substitution, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::record::{Place, Reach};
use crate::terms::{Kind, Terms, conditions};

/// The numbers of a warp's lanes.
pub(crate) fn all() -> std::ops::Range<u32> {
    0..WARP_SIZE
}

/// Terms of one lane. Keeps its results: claims about one kernel share most of their terms.
#[derive(Default)]
pub(crate) struct InLane {
    /// `%tid.x`, where its five low bits are the lane's number.
    pub thread: Option<TermId>,
    /// By the term of the lane's number, and that number.
    done: FxHashMap<(TermId, u32), Substitution>,
}

impl InLane {
    /// From now on the five low bits of `%tid.x` are the lane's number.
    pub(crate) fn number_by_thread(&mut self, thread: TermId) {
        if self.thread != Some(thread) {
            self.thread = Some(thread);
            self.done.clear();
        }
    }

    /// A term in which `%tid.x` is that of the lane of a number: its five low bits are that number.
    pub(crate) fn in_row(arena: &mut Arena, thread: TermId, number: u32, term: TermId) -> TermId {
        let there = with_low_bits(arena, thread, number);
        Substitution::new().transform(arena, term, &mut |_, next| (next == thread).then_some(there))
    }

    /// `%tid.x` in the lane of a number, where its five low bits are that number.
    pub(crate) fn numbered(arena: &mut Arena, thread: TermId, number: u32) -> TermId {
        with_low_bits(arena, thread, number)
    }

    /// A term in the lane of a number; `lane` is the symbol of the lane's number.
    pub(crate) fn of(
        &mut self,
        arena: &mut Arena,
        lane: TermId,
        number: u32,
        term: TermId,
    ) -> TermId {
        let thread = self.thread;
        let done = self.done.entry((lane, number)).or_default();
        done.transform(arena, term, &mut |arena, next| match () {
            () if next == lane => Some(arena.constant(number.into(), arena.width(lane))),
            () if Some(next) == thread => Some(with_low_bits(arena, next, number)),
            () => None,
        })
    }

    /// A place with the facts about other lanes that lane `number` has there; its number determines which lanes exist.
    pub(crate) fn place(
        &mut self,
        arena: &mut Arena,
        lane: TermId,
        number: u32,
        place: &Place,
    ) -> Place {
        let there = |reach: &Reach| {
            let condition = self.of(arena, lane, number, reach.condition);
            let exists = arena.constant_value(condition) != Some(0);
            exists.then_some(Reach { condition, ..*reach })
        };
        Place { reaches: place.reaches.iter().filter_map(there).collect(), ..place.clone() }
    }

    /// For each lane the number of the lane that `number` names (its upper bits do not count: PTX ISA,
    /// "shfl.sync"), if that depends on nothing but the lane.
    pub(crate) fn sources(
        &mut self,
        arena: &mut Arena,
        lane: TermId,
        number: TermId,
    ) -> Option<Vec<u32>> {
        let low = arena.extract(number, 0, 5);
        all()
            .map(|own| {
                let source = self.of(arena, lane, own, low);
                arena.constant_value(source).map(|source| source as u32)
            })
            .collect()
    }

    /// The value that a term of 32 bits has in the lane of a number, as a symbol: it is compared only with the value of
    /// the same term there. (A value from the past may be a different one in the lane that asks.)
    pub(crate) fn as_there(
        &mut self,
        terms: &mut Terms,
        lane: TermId,
        number: u32,
        term: TermId,
        made_in: Option<LoopId>,
    ) -> TermId {
        let there = self.of(&mut terms.arena, lane, number, term);
        if terms.arena.constant_value(there).is_some() {
            return there;
        }
        terms.symbol(Kind::InLane(number, there), 32, made_in)
    }
}

/// A term whose five low bits are those of `number`: the others stay.
fn with_low_bits(arena: &mut Arena, term: TermId, number: u32) -> TermId {
    const BITS: u8 = WARP_SIZE.trailing_zeros() as u8;
    let width = arena.width(term);
    let high = arena.extract(term, BITS, width - BITS);
    let high = arena.zero_extend(high, width);
    let high = arena.scale(high, WARP_SIZE.into());
    arena.add_constant(high, number.into())
}

/// The condition that the lane `n` up is one of the warp's.
pub(crate) fn has_lane(arena: &mut Arena, lane: TermId, n: i32) -> TermId {
    let width = arena.width(lane);
    match n > 0 {
        true => {
            let end = arena.constant((WARP_SIZE - n.unsigned_abs()).into(), width);
            arena.compare(Comparison::UnsignedLess, lane, end)
        }
        false => {
            let least = arena.constant(n.unsigned_abs().into(), width);
            arena.compare(Comparison::UnsignedLessEqual, least, lane)
        }
    }
}

/// The received values, lane by lane.
#[derive(Default)]
pub(crate) struct ByLane {
    /// The lane's number.
    pub lane: Option<TermId>,
    /// The conditions, one for each lane, that select the received value.
    conditions: FxHashSet<TermId>,
    /// Terms in which none of these is.
    without: FxHashSet<TermId>,
    /// The terms of one lane.
    pub terms: InLane,
    /// The condition under which the five low bits of `%tid.x` are the lane's number, and `%tid.x`.
    pub rows: Option<(TermId, TermId)>,
}

impl ByLane {
    /// `%tid.x`, if its five low bits are the lane's number where some facts hold.
    pub(crate) fn row_thread(&self, arena: &mut Arena, known: &[TermId]) -> Option<TermId> {
        let (condition, thread) = self.rows?;
        let facts: Vec<TermId> =
            known.iter().flat_map(|fact| conditions::literals(arena, *fact)).collect();
        (conditions::decided(arena, condition, &facts) == Some(true)).then_some(thread)
    }

    /// A term that has `values[n]` in lane n; its value in further lanes does not matter.
    pub(crate) fn select(&mut self, arena: &mut Arena, lane: TermId, values: &[TermId]) -> TermId {
        self.lane = Some(lane);
        let mut lanes = all().zip(values).rev();
        let Some((_, last)) = lanes.next() else { return lane };
        lanes.fold(*last, |others, (number, value)| {
            let number = arena.constant(number.into(), arena.width(lane));
            let here = arena.equal(lane, number);
            if self.conditions.insert(here) {
                self.without.clear();
            }
            arena.if_then_else(here, *value, others)
        })
    }

    /// Whether a term has something in it that was received lane by lane.
    pub(crate) fn is_in(&mut self, terms: &Terms, term: TermId) -> bool {
        if self.conditions.is_empty() {
            return false;
        }
        let (mut work, mut seen) = (vec![term], FxHashSet::default());
        while let Some(next) = work.pop() {
            if self.conditions.contains(&next) {
                return true;
            }
            if !self.without.contains(&next) && seen.insert(next) {
                terms.arena.charge(1);
                work.extend(terms.arena.operands(next));
            }
        }
        self.without.extend(seen);
        false
    }
}
