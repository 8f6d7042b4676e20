//! The terms of a loop: addresses in the first iteration, in any one and in the one behind that, and a bound
//! on the number of iterations.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::body::Body;
use super::operation::{Thread, operand};
use super::straight::{Lane, Registers};
use super::uniform::named;
use super::values::Values;
use crate::cfg::{Arg, Base, BlockId, Flow, Inst, InstId, RegisterId};
use crate::expr::{BinaryOp, Comparison, Node, Substitution, TermId, UnaryOp};
use crate::isa::{Modifier, Opcode, Qualifier, ScalarType};
use crate::program::results;

/// The largest change of a counter in one iteration.
const MAX_STEP: u64 = 1 << 20;

/// The largest change of an address that is computed: times 32 bits it does not wrap around.
const MOST_STEP: u64 = 1 << 31;

/// The most by which a test may ask for more than is needed.
const MAX_MORE: i64 = 1 << 32;

/// The register and the bytes added to it that make an access' address.
pub(super) fn place(inst: &Inst<'_, '_>) -> Option<(RegisterId, i64)> {
    inst.args.iter().find_map(|arg| match arg {
        Arg::Memory { base: Base::Register(base), offset, rest } if rest.is_empty() => {
            Some((*base, *offset))
        }
        _ => None,
    })
}

impl Lane<'_, '_, '_> {
    /// A register of 32 bits that an instruction may widen.
    fn word(&mut self, at: InstId) -> Option<TermId> {
        let inst = &self.flow.insts[at];
        match (inst.ast.form.opcode, &inst.args[..]) {
            (Opcode::Mul | Opcode::Cvt, [_, Arg::Register(register), ..])
                if self.width(*register) == Some(32) =>
            {
                self.read(*register)
            }
            _ => None,
        }
    }

    /// The address of an access to a register's address, of 64 bits.
    fn address(&mut self, at: InstId) -> Option<TermId> {
        let (base, offset) = place(&self.flow.insts[at])?;
        let base = self.read(base).filter(|_| self.width(base) == Some(64))?;
        Some(self.values.arena.add_constant(base, offset as u64))
    }
}

/// One iteration: the addresses, by instruction, the numbers of 32 bits that may be widened, and the operands of the
/// comparison at its end.
struct Iteration {
    addresses: FxHashMap<InstId, TermId>,
    words: BTreeMap<InstId, TermId>,
    compared: Option<[TermId; 2]>,
}

/// An address over the iterations.
#[derive(Clone, Copy)]
pub(super) struct Address {
    /// In the first iteration.
    pub first: TermId,
    /// Bytes from one iteration to the next, modulo 2 to the 64.
    pub step: Step,
}

/// A change that is the same in all iterations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A number.
    Constant(i64),
    /// A term of 64 bits.
    Term(TermId),
}

/// A bound on the number of iterations.
#[derive(Clone, Copy)]
pub(super) struct Count {
    /// A term of 32 bits without a sign: at least `step` times the number of iterations but one.
    bound: TermId,
    step: u64,
}

/// Whether a predicate that instructions compute, where they stand at the head of a loop, is the same in all iterations.
pub(super) fn is_invariant(
    flow: &Flow<'_, '_>,
    (code, predicate): (&[InstId], RegisterId),
    body: &Body,
) -> bool {
    let mut values = Values::default();
    let mut lane = Lane::new(flow, &mut values);
    // Registers that are read have the same unknown values in two iterations.
    for at in code.iter().copied().chain(body.range.clone()) {
        let inst = &flow.insts[at];
        let read = inst.args.iter().flat_map(named).chain(inst.guard.map(|guard| guard.0));
        read.chain([predicate]).for_each(|register| _ = lane.read(register));
    }
    let head = lane.registers.clone();
    let outcome = |lane: &mut Lane<'_, '_, '_>| {
        code.iter().for_each(|at| lane.pass(*at, true));
        lane.read(predicate)
    };
    let one = outcome(&mut lane);
    lane.registers = head;
    body.range.clone().for_each(|at| lane.pass(at, body.always(at)));
    let next = outcome(&mut lane);
    one.is_some() && one == next
}

/// A loop behind the block with the branch.
pub(super) struct Iterations {
    pub values: Values,
    /// The conjuncts of the condition under which the loop is entered.
    pub conditions: Vec<TermId>,
    /// The first iteration, any one and the one behind that.
    iterations: [Iteration; 3],
    /// The one behind the first one.
    second: Iteration,
    pub count: Option<Count>,
    /// Numbers of 32 bits, widened, in the iteration behind any one, each with the same as a sum in terms of that one.
    widened: Vec<(TermId, TermId)>,
}

impl Iterations {
    /// Evaluates `entry`, and the loop that its predicate leads to if it holds (or does not).
    pub(super) fn of(
        flow: &Flow<'_, '_>,
        entry: BlockId,
        (predicate, holds): (RegisterId, bool),
        body: &Body,
    ) -> Option<Iterations> {
        let mut values = Values::default();
        let mut lane = Lane::new(flow, &mut values);
        flow.block(entry).instructions().for_each(|at| lane.pass(at, true));
        let condition = lane.read(predicate)?;
        // What the loop reads and does not write is the same in all iterations.
        let mut written: BTreeSet<RegisterId> = BTreeSet::new();
        for at in body.range.clone() {
            let inst = &flow.insts[at];
            written.extend(results(inst));
            let read = inst.args.iter().flat_map(named).chain(inst.guard.map(|guard| guard.0));
            read.for_each(|register| _ = lane.read(register));
        }
        let comparison = comparison(flow, body);
        let first = lane.registers.clone();
        let mut any = first.clone();
        for &register in &written {
            match lane.width(register) {
                Some(width) => _ = any.held.insert(register, lane.values.any(width)),
                None => _ = any.held.remove(&register),
            }
        }
        let mut iteration = |from: Registers| {
            lane.registers = from;
            let (mut addresses, mut words) = (FxHashMap::default(), BTreeMap::new());
            let mut compared = None;
            for at in body.range.clone() {
                addresses.extend(lane.address(at).map(|address| (at, address)));
                words.extend(lane.word(at).filter(|_| body.always(at)).map(|word| (at, word)));
                if let Some(found) = comparison.as_ref().filter(|one| one.at == at) {
                    let inst = &flow.insts[at];
                    let width = found.ty.bits() as u8;
                    let a = operand(&mut lane, &inst.args[1], width);
                    compared = a.zip(operand(&mut lane, &inst.args[2], width)).map(|(a, b)| [a, b]);
                }
                lane.pass(at, body.always(at));
            }
            (Iteration { addresses, words, compared }, lane.registers.clone())
        };
        let (first, end) = iteration(first);
        let (second, _) = iteration(end);
        let (any, end) = iteration(any);
        let (next, _) = iteration(end);
        let condition = match holds {
            true => condition,
            false => values.arena.not(condition),
        };
        let conditions = conjuncts(&values, condition);
        let mut found = Iterations {
            values,
            conditions,
            iterations: [first, any, next],
            second,
            count: None,
            widened: Vec::new(),
        };
        found.count = comparison.and_then(|comparison| found.counted(&comparison));
        found.widened = found.widened();
        Some(found)
    }

    /// An access' address, if it changes by the same number of bytes in each iteration.
    pub(super) fn address(&mut self, at: InstId) -> Option<Address> {
        let [first, any, next] = self.iterations.each_ref().map(|one| one.addresses.get(&at));
        let (first, any, next) = (*first?, *any?, *next?);
        let widened = &self.widened;
        let next = Substitution::new().transform(&mut self.values.arena, next, &mut |_, term| {
            widened.iter().find(|(wide, _)| *wide == term).map(|(_, sum)| *sum)
        });
        let arena = &mut self.values.arena;
        if let Some(step) = arena.constant_difference(next, any) {
            return Some(Address { first, step: Step::Constant(step) });
        }
        // No value of any iteration is known in the first one, so what both have in common does not change.
        let second = *self.second.addresses.get(&at)?;
        let (of_any, of_first) = (arena.sub(next, any), arena.sub(second, first));
        (of_any == of_first).then_some(Address { first, step: Step::Term(of_any) })
    }

    /// The numbers of 32 bits with a sign that change by a constant and do not wrap around in any iteration: the way of all
    /// iterations takes no more than the room in front of the first number.
    fn widened(&mut self) -> Vec<(TermId, TermId)> {
        let [first, any, next] = self.iterations.each_ref().map(|one| one.words.clone());
        let mut found: Vec<(TermId, TermId)> = Vec::new();
        for (at, first) in first {
            let (Some(&any), Some(&next)) = (any.get(&at), next.get(&at)) else { continue };
            let arena = &mut self.values.arena;
            let step = arena.constant_difference(next, any).filter(|step| *step != 0);
            let Some(step) = step else { continue };
            let wide = [first, any, next].map(|word| arena.sign_extend(word, 64));
            let edge = if step > 0 { i32::MAX } else { i32::MIN };
            let edge = arena.constant(i64::from(edge) as u64, 64);
            let room = match step > 0 {
                true => arena.sub(edge, wide[0]),
                false => arena.sub(wide[0], edge),
            };
            let Some((span, _)) = self.span(step.unsigned_abs()) else { continue };
            if self.is_at_least(room, span) {
                found.push((wide[2], self.values.arena.add_constant(wide[1], step as u64)));
            }
        }
        found
    }

    /// Whether the conditions say that a number without a sign is at least another one.
    pub(super) fn is_at_least(&mut self, value: TermId, needed: TermId) -> bool {
        let arena = &self.values.arena;
        if let (Some(value), Some(needed)) =
            (arena.constant_value(value), arena.constant_value(needed))
        {
            return value >= needed;
        }
        let conditions = self.conditions.clone();
        conditions.into_iter().any(|condition| {
            let Some((least, known)) = at_least(&self.values, condition) else { return false };
            let arena = &mut self.values.arena;
            // `known` is further than `value` by as much as `least` is larger, or by less.
            let further = arena.constant_difference(known, value);
            let more = arena.constant_difference(least, needed);
            let (Some(further), Some(more)) = (further, more) else { return false };
            (0..MAX_MORE).contains(&more) && (0..=more).contains(&further)
        })
    }

    /// A term of 64 bits that is at least `step`, which is at most [`MOST_STEP`], times the number of iterations but one.
    pub(super) fn span_of_term(&mut self, step: TermId) -> Option<TermId> {
        let Count { bound, step: each } = self.count?;
        let arena = &mut self.values.arena;
        let most = arena.constant(MOST_STEP, 64);
        let is_small = arena.compare(Comparison::UnsignedLessEqual, step, most);
        if !self.holds(is_small) {
            return None;
        }
        let arena = &mut self.values.arena;
        let shift = arena.constant(u64::from(each.ilog2()), 32);
        let times = arena.binary(BinaryOp::ShiftRight, bound, shift);
        let times = arena.zero_extend(times, 64);
        Some(arena.mul(step, times))
    }

    /// A term of 64 bits that is at least `step` bytes times the number of iterations but one, and the most that it is.
    pub(super) fn span(&mut self, step: u64) -> Option<(TermId, u64)> {
        let Count { bound, step: each } = self.count?;
        let factor = step.div_ceil(each);
        if factor > MAX_STEP {
            return None;
        }
        let arena = &mut self.values.arena;
        let wide = arena.zero_extend(bound, 64);
        let factor_term = arena.constant(factor, 64);
        Some((arena.mul(wide, factor_term), factor * u64::from(u32::MAX)))
    }

    /// Whether a condition is one of those under which the loop is entered.
    fn holds(&self, condition: TermId) -> bool {
        self.values.constant(condition) == Some(1) || self.conditions.contains(&condition)
    }

    /// The bound that the comparison at the loop's end gives, with the operands that it has in the first iteration.
    ///
    /// The loop goes on as long as `counter < bound`, or `counter != bound`, and the counter grows by `step`; or
    /// everything the other way round, with a counter that falls.
    fn counted(&mut self, comparison: &Compared) -> Option<Count> {
        let swaps: &[bool] = match comparison.relation {
            Relation::Less => &[false],
            Relation::Greater => &[true],
            Relation::NotEqual => &[false, true],
        };
        swaps.iter().find_map(|&swapped| self.counted_by(comparison, swapped))
    }

    /// With the second operand as the counter if `swapped`, and written as less than otherwise.
    fn counted_by(&mut self, comparison: &Compared, swapped: bool) -> Option<Count> {
        let [first, any, next] = self.iterations.each_ref().map(|one| one.compared);
        let (first, any, next) = (first?, any?, next?);
        let signed = comparison.ty.is_signed();
        let arena = &mut self.values.arena;
        let mut moved = |at: usize| arena.constant_difference(next[at], any[at]);
        let (of_0, of_1) = (moved(0)?, moved(1)?);
        let (counter, bound, step) = match comparison.relation {
            // `a < b` with a counter that is `a`, or that is `b` and falls.
            Relation::Less | Relation::Greater => match (of_0, of_1) {
                (step, 0) if step != 0 => (0, 1, step),
                (0, step) if step != 0 => (1, 0, step),
                _ => return None,
            },
            Relation::NotEqual => match (swapped, of_0, of_1) {
                (false, step, 0) if step != 0 => (0, 1, step),
                (true, 0, step) if step != 0 => (1, 0, step),
                _ => return None,
            },
        };
        // A smaller counter grows, a larger one falls.
        let less = match comparison.relation {
            Relation::Less => counter == 0,
            Relation::Greater => counter == 1,
            Relation::NotEqual => step > 0,
        };
        let each = step.unsigned_abs();
        if (step > 0) != less || each > MAX_STEP {
            return None;
        }
        let (counter, bound) = (first[counter], first[bound]);
        let start = arena.add_constant(counter, (step as u64).wrapping_neg());
        let distance = match less {
            true => arena.sub(bound, start),
            false => arena.sub(start, bound),
        };
        if comparison.relation == Relation::NotEqual {
            let exact = each == 1
                || each.is_power_of_two() && {
                    let rest = arena.and_constant(distance, each - 1);
                    let zero = arena.constant(0, 32);
                    let whole = arena.equal(rest, zero);
                    self.holds(whole)
                };
            let bound = self.values.arena.add_constant(distance, each.wrapping_neg());
            return exact.then_some(Count { bound, step: each });
        }
        let (least, strict) = match signed {
            true => (Comparison::SignedLessEqual, Comparison::SignedLess),
            false => (Comparison::UnsignedLessEqual, Comparison::UnsignedLess),
        };
        let enters = match less {
            true => arena.compare(strict, start, bound),
            false => arena.compare(strict, bound, start),
        };
        // The counter does not wrap around before it gets there.
        let edge = match (signed, less) {
            (true, true) => i32::MAX as u32,
            (true, false) => i32::MIN as u32,
            (false, true) => u32::MAX,
            (false, false) => 0,
        };
        let room = (each - 1) as u32;
        let edge = if less { edge.wrapping_sub(room) } else { edge.wrapping_add(room) };
        let edge = arena.constant(u64::from(edge), 32);
        let fits = match less {
            true => arena.compare(least, bound, edge),
            false => arena.compare(least, edge, bound),
        };
        let bound = arena.add_constant(distance, 1_u64.wrapping_neg());
        let known = self.holds(enters) && (each == 1 || self.holds(fits));
        known.then_some(Count { bound, step: each })
    }
}

/// The comparison of integers whose outcome decides whether a loop goes on.
struct Compared {
    at: InstId,
    /// The relation of the operands where it goes on.
    relation: Relation,
    ty: ScalarType,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Less,
    Greater,
    NotEqual,
}

/// The comparison at the end of a loop, of 32 bits.
fn comparison(flow: &Flow<'_, '_>, body: &Body) -> Option<Compared> {
    let branch = body.range.end.before();
    let (predicate, negated) = flow.insts[branch].guard?;
    let writes = |at: &InstId| results(&flow.insts[*at]).contains(&predicate);
    let at = body.range.clone().rev().find(writes)?;
    let inst = &flow.insts[at];
    let form = &inst.ast.form;
    let ([Modifier::Qualifier(name), Modifier::Type(ty)], Opcode::Setp) =
        (form.modifiers(), form.opcode)
    else {
        return None;
    };
    let is_plain = inst.guard.is_none()
        && body.always(at)
        && inst.args.len() == 3
        && matches!(inst.args[0], Arg::Register(own) if own == predicate)
        && matches!(ty, ScalarType::S32 | ScalarType::U32 | ScalarType::B32);
    let relation = match (name, negated) {
        (Qualifier::Lt, false) | (Qualifier::Ge, true) => Relation::Less,
        (Qualifier::Gt, false) | (Qualifier::Le, true) => Relation::Greater,
        (Qualifier::Ne, false) | (Qualifier::Eq, true) => Relation::NotEqual,
        _ => return None,
    };
    is_plain.then_some(Compared { at, relation, ty: *ty })
}

/// The operands of a condition that is `least <= value` without a sign.
fn at_least(values: &Values, condition: TermId) -> Option<(TermId, TermId)> {
    let arena = &values.arena;
    match *arena.node(condition) {
        Node::Compare(Comparison::UnsignedLessEqual, least, value) => Some((least, value)),
        Node::Unary(UnaryOp::Not, inner) => match *arena.node(inner) {
            Node::Compare(Comparison::UnsignedLess, value, least) => Some((least, value)),
            _ => None,
        },
        _ => None,
    }
    .filter(|(least, _)| arena.width(*least) == 64)
}

/// The conjuncts of a condition.
fn conjuncts(values: &Values, condition: TermId) -> Vec<TermId> {
    let (mut found, mut work) = (Vec::new(), vec![condition]);
    while let Some(term) = work.pop() {
        match *values.arena.node(term) {
            Node::Binary(BinaryOp::And, a, b) => work.extend([a, b]),
            _ => found.push(term),
        }
    }
    found
}
