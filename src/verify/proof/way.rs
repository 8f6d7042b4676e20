//! How an instruction treats the values of a warp's lanes (PTX ISA, "shfl.sync", "vote.sync", "redux.sync").
//!
//! In: an instruction with the terms of its operands. Out: a [`Way`], and for shuffles the source lane of each lane.

use smallvec::{SmallVec, smallvec};

use super::normal_form::extremum;
use crate::cfg::Inst;
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Form, Opcode, Qualifier, Special};
use crate::ptx::ScalarType;
use crate::terms::{Lattice, Terms};

/// How an instruction treats the lanes' values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// `shfl.sync`: the value sent, the lane or distance, clamp and segment.
    Shuffle(Direction, [TermId; 3]),
    /// Whether the source lane of such a shuffle is in range.
    InRange(Direction, [TermId; 3]),
    /// `redux.sync` of sums.
    Sum(TermId),
    /// `redux.sync` of a lattice operator.
    Lattice(Lattice, TermId),
    /// `redux.sync.xor`
    Xor(TermId),
    /// `vote.sync.ballot`
    Ballot(TermId),
    /// `vote.sync.any`, `vote.sync.all`
    Vote(Lattice, TermId),
    /// `match.sync`: which question about the lanes' values is answered.
    Match(Matched, TermId),
}

impl Way {
    /// The terms of the instruction's operands.
    pub(super) fn operands(&self) -> SmallVec<[TermId; 3]> {
        match *self {
            Way::Shuffle(_, operands) | Way::InRange(_, operands) => operands.into(),
            Way::Sum(value)
            | Way::Lattice(_, value)
            | Way::Xor(value)
            | Way::Ballot(value)
            | Way::Vote(_, value)
            | Way::Match(_, value) => smallvec![value],
        }
    }
}

/// The result of a comparison of all lanes' values (PTX ISA, "match.sync").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Matched {
    /// `match.any`: the lanes that have the own value.
    Any,
    /// `match.all`: all lanes if all have one value, else none.
    All,
    /// The predicate of `match.all`: whether all have one value.
    Holds,
}

/// How a shuffle finds the source lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    Up,
    Down,
    Butterfly,
    Index,
}

/// Whether an instruction is executed by all lanes of the warp: its last operand is the constant of all bits.
pub(super) fn is_of_all(inst: &Inst<'_, '_>, operands: &[TermId], terms: &Terms) -> bool {
    let form = &inst.ast.form;
    matches!(form.opcode, Opcode::Shfl | Opcode::Vote | Opcode::Redux | Opcode::Match)
        && form.has(Qualifier::Sync)
        // (A constant of the text has 64 bits.)
        && operands.last().and_then(|mask| terms.arena.constant_value(*mask))
            .is_some_and(|mask| mask as u32 == u32::MAX)
}

/// Whether an instruction is `redux.sync`.
pub(super) fn is_reduction(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    form.opcode == Opcode::Redux && form.has(Qualifier::Sync)
}

/// How an instruction treats the operands behind its result; `second` asks about its second result.
pub(super) fn way(inst: &Inst<'_, '_>, operands: &[TermId], second: bool) -> Option<Way> {
    let form = &inst.ast.form;
    match (form.opcode, operands) {
        (Opcode::Shfl, &[value, number, control, _]) => {
            let directions = [
                (Qualifier::Up, Direction::Up),
                (Qualifier::Down, Direction::Down),
                (Qualifier::Bfly, Direction::Butterfly),
                (Qualifier::Idx, Direction::Index),
            ];
            let (_, direction) = directions.into_iter().find(|(word, _)| form.has(*word))?;
            let operands = [value, number, control];
            Some(match second {
                false => Way::Shuffle(direction, operands),
                true => Way::InRange(direction, operands),
            })
        }
        (Opcode::Match, &[value, _]) => match (form.has(Qualifier::All), second) {
            (true, true) => Some(Way::Match(Matched::Holds, value)),
            (true, false) => Some(Way::Match(Matched::All, value)),
            (false, false) => Some(Way::Match(Matched::Any, value)),
            (false, true) => None,
        },
        (Opcode::Redux, &[value, _]) if !second => reduction(form, value),
        (Opcode::Vote, &[predicate, _]) if !second => {
            // (`.uni` is another question.)
            let way = [
                (Qualifier::Ballot, Way::Ballot(predicate)),
                (Qualifier::Any, Way::Vote(Lattice::Or, predicate)),
                (Qualifier::All, Way::Vote(Lattice::And, predicate)),
            ];
            way.into_iter().find(|(word, _)| form.has(*word)).map(|(_, way)| way)
        }
        _ => None,
    }
}

/// The operator of `redux.sync`.
fn reduction(form: &Form, value: TermId) -> Option<Way> {
    let ty = form.last_type()?;
    let words: Vec<Qualifier> = form.qualifiers().filter(|word| *word != Qualifier::Sync).collect();
    let lattice = |lattice| Some(Way::Lattice(lattice, value));
    match (ty, &words[..]) {
        (ScalarType::U32 | ScalarType::S32, [Qualifier::Add]) => Some(Way::Sum(value)),
        (ScalarType::U32, [Qualifier::Min]) => lattice(Lattice::Min { signed: false }),
        (ScalarType::U32, [Qualifier::Max]) => lattice(Lattice::Max { signed: false }),
        (ScalarType::S32, [Qualifier::Min]) => lattice(Lattice::Min { signed: true }),
        (ScalarType::S32, [Qualifier::Max]) => lattice(Lattice::Max { signed: true }),
        (ScalarType::B32, [Qualifier::And]) => lattice(Lattice::And),
        (ScalarType::B32, [Qualifier::Or]) => lattice(Lattice::Or),
        (ScalarType::B32, [Qualifier::Xor]) => Some(Way::Xor(value)),
        (ScalarType::F32, words) => lattice(extremum(words)?),
        _ => None,
    }
}

/// The source lane of a lane, and whether it is in range (PTX ISA, "shfl.sync").
pub(super) fn source_lane(
    direction: Direction,
    lane: u32,
    number: u64,
    control: u64,
) -> Option<(u32, bool)> {
    let low = u64::from(WARP_SIZE - 1);
    let (own, number) = (i64::from(lane), (number & low) as i64);
    let (segment, clamp) = ((control >> 8 & low) as i64, (control & low) as i64);
    let last = own & segment | clamp & !segment;
    let (source, in_range) = match direction {
        Direction::Up => (own - number, own - number >= last),
        Direction::Down => (own + number, own + number <= last),
        Direction::Butterfly => (own ^ number, own ^ number <= last),
        Direction::Index => {
            let source = own & segment | number & !segment;
            (source, source <= last)
        }
    };
    let source = if in_range { u32::try_from(source).ok()? } else { lane };
    (source < WARP_SIZE).then_some((source, in_range))
}

/// A special register that names lanes by bits, in a lane.
pub(super) fn lane_mask(special: Special, lane: u32) -> Option<u64> {
    let own = 1u64 << lane;
    let above = u64::from(u32::MAX) & !(own - 1) & !own;
    Some(match special {
        Special::LanemaskEq => own,
        Special::LanemaskLt => own - 1,
        Special::LanemaskLe => (own - 1) | own,
        Special::LanemaskGt => above,
        Special::LanemaskGe => above | own,
        _ => return None,
    })
}
