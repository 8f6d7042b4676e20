//! Terms as sums over the lanes of a warp.
//!
//! In: a term of the trace, a warp, the innermost loop around the place. Out: its [`LaneSum`], or why there is none.
//! Extensions of 32-bit sums are assumed not to have wrapped, those of narrower ones, which are masks and remainders, are
//! not; terms with a known number in each lane are computed exactly.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::alignment::{Aligned, Alignments};

use super::shape::{BlockShape, LANES, Warp};
use super::sum::LaneSum;
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolKind, Uniformity};
use crate::expr::{Arena, BinaryOp, Node, SymbolId, TermId, evaluate_node, mask, to_signed};
use crate::isa::Special;

/// Indices have at least this width.
const INDEX_BITS: u8 = 32;

/// Symbols that feed symbols that feed symbols: further are not followed.
const MAX_NESTED: u32 = 12;

/// A uniform sum of more summands is one term.
const MAX_UNIFORM_PARTS: usize = 4;

/// A value that may be one of more sums is not followed.
pub(crate) const MAX_CASES: usize = 128;

/// The value of a term.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    /// In each lane.
    Known(LaneSum),
    /// One of several in each lane: which, depends on the values of uniform terms.
    OneOf(Rc<[LaneSum]>),
    /// It depends on loaded or exchanged values, or on results that are not modelled.
    Data,
    /// It is an unknown function of the lane.
    Unknown,
}

impl Value {
    /// One of some values; `None` if they are too many.
    pub(crate) fn one_of(mut sums: Vec<LaneSum>) -> Option<Value> {
        match sums.len() {
            1 => sums.pop().map(Value::Known),
            count => (count <= MAX_CASES).then(|| Value::OneOf(sums.into())),
        }
    }

    /// The values that it may have, where these are known.
    pub(crate) fn cases(&self) -> Option<&[LaneSum]> {
        match self {
            Value::Known(sum) => Some(std::slice::from_ref(sum)),
            Value::OneOf(sums) => Some(sums),
            Value::Data | Value::Unknown => None,
        }
    }

    /// What `combine` makes of each two cases of both values; `None` if it makes nothing of some.
    fn combined(
        &self,
        other: &[LaneSum],
        combine: impl Fn(&LaneSum, &LaneSum) -> Option<LaneSum>,
    ) -> Option<Value> {
        let own = self.cases().filter(|own| own.len() * other.len() <= MAX_CASES)?;
        let pairs = own.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
        pairs
            .map(|(one, other)| combine(one, other))
            .collect::<Option<Vec<_>>>()
            .and_then(Value::one_of)
    }
}

/// Everything that values depend on besides the warp and the place.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The trace.
    pub trace: &'a KernelTrace,
    /// The function's loops.
    pub loops: &'a LoopForest,
    /// Which symbols are uniform in blocks of this shape.
    pub uniformity: &'a Uniformity,
    /// The shape.
    pub shape: BlockShape,
}

/// The values of terms in one warp at one place.
pub(crate) struct Evaluator<'a> {
    pub context: Context<'a>,
    warp: Warp,
    place: Option<LoopId>,
    known: FxHashMap<TermId, Value>,
    /// Loop values that were found not to keep the form they start with.
    refuted: FxHashSet<SymbolId>,
    /// Powers of two that divide uniform terms.
    pub alignments: Alignments<'a>,
    nested: u32,
}

impl<'a> Evaluator<'a> {
    /// Nothing is known yet. `place`: the innermost loop around the access.
    pub(crate) fn new(
        context: Context<'a>,
        warp: Warp,
        place: Option<LoopId>,
        aligned: &'a Aligned,
    ) -> Evaluator<'a> {
        let alignments = Alignments::new(context.trace, context.shape, aligned);
        let (known, refuted) = (FxHashMap::default(), FxHashSet::default());
        Evaluator { context, warp, place, known, refuted, alignments, nested: 0 }
    }

    /// The value of a term.
    pub(crate) fn value(&mut self, root: TermId) -> Value {
        let arena = &self.context.trace.arena;
        let (mut terms, mut open) = (Vec::new(), vec![root]);
        let mut seen = FxHashSet::default();
        while let Some(term) = open.pop() {
            if !self.known.contains_key(&term) && seen.insert(term) {
                terms.push(term);
                open.extend(arena.operands(term));
            }
        }
        arena.charge(4 + 8 * terms.len() as u64);
        // Operands come before the terms that use them.
        terms.sort_unstable();
        for term in terms {
            let value = self.of_node(term);
            let value = match value {
                Value::Known(sum) if sum.is_uniform() && sum.parts().len() > MAX_UNIFORM_PARTS => {
                    Value::Known(LaneSum::uniform(term))
                }
                other => other,
            };
            self.known.insert(term, value);
        }
        self.known.get(&root).cloned().unwrap_or(Value::Unknown)
    }

    fn of(&self, term: TermId) -> Value {
        self.known.get(&term).cloned().unwrap_or(Value::Unknown)
    }

    fn of_node(&mut self, term: TermId) -> Value {
        let arena = &self.context.trace.arena;
        let width = arena.width(term);
        if let Some(numbers) = self.in_lanes(term) {
            return Value::Known(LaneSum::numbers(numbers));
        }
        match arena.node(term) {
            Node::Constant(value) => Value::Known(LaneSum::constant(to_signed(*value, width))),
            Node::Symbol(symbol) => self.of_symbol(*symbol, term),
            Node::Sum { constant, addends } => {
                let mut sum = Value::Known(LaneSum::constant(to_signed(*constant, width)));
                for (addend, times) in addends {
                    let value = self.of(*addend);
                    let Some(cases) = value.cases() else { return value };
                    let times = to_signed(*times, width);
                    let added = |one: &LaneSum, other: &LaneSum| {
                        let mut sum = one.clone();
                        sum.add(other, times).then_some(sum)
                    };
                    let Some(next) = sum.combined(cases, added) else {
                        return self.unfollowed(term);
                    };
                    sum = next;
                }
                sum
            }
            Node::Product(powers) => {
                let mut product = Value::Known(LaneSum::constant(1));
                for (factor, power) in powers {
                    let value = self.of(*factor);
                    let Some(cases) = value.cases() else { return value };
                    for _ in 0..*power {
                        let Some(next) = product.combined(cases, LaneSum::times) else {
                            return self.unfollowed(term);
                        };
                        product = next;
                    }
                }
                product
            }
            Node::ZeroExtend(inner) => self.widened(term, *inner, false),
            Node::SignExtend(inner) => self.widened(term, *inner, true),
            Node::Extract(inner, 0) if width >= 32 => self.fitting(term, *inner, width),
            Node::Extract(inner, low) => self.field(term, *inner, *low),
            Node::Binary(op, a, b) => self.binary(term, *op, *a, *b),
            Node::IfThenElse(c, a, b) => self.choice(term, *c, *a, *b),
            Node::Apply(function, _) => match self.unfollowed(term) {
                Value::Unknown if self.context.trace.symbols.is_load(*function) => Value::Data,
                other => other,
            },
            Node::Unary(..) | Node::Compare(..) | Node::Concatenate(..) => self.unfollowed(term),
        }
    }

    /// A term whose value is not followed: one uniform term where its operands are uniform, or not known.
    pub(crate) fn unfollowed(&self, term: TermId) -> Value {
        let mut found = Value::Known(LaneSum::uniform(term));
        for operand in self.context.trace.arena.operands(term) {
            match self.of(operand) {
                Value::Data => return Value::Data,
                Value::Known(sum) if sum.is_uniform() => {}
                _ => found = Value::Unknown,
            }
        }
        found
    }

    /// The numbers that a term has where its operands are numbers in each lane. Sums and products are taken not to wrap
    /// around, so they have none here.
    fn in_lanes(&self, term: TermId) -> Option<[i64; LANES]> {
        let arena = &self.context.trace.arena;
        if let Node::Constant(_)
        | Node::Symbol(_)
        | Node::Sum { .. }
        | Node::Product(_)
        | Node::IfThenElse(..)
        | Node::Apply(..) = arena.node(term)
        {
            return None;
        }
        let number = |operand: TermId| match self.of(operand) {
            Value::Known(sum) => Some((operand, sum.known()?)),
            _ => None,
        };
        let numbers: SmallVec<[(TermId, [i64; LANES]); 2]> =
            arena.operands(term).into_iter().map(number).collect::<Option<_>>()?;
        let lane = |lane: usize| {
            let of = |operand: TermId| {
                let mut each = numbers.iter().filter(|(one, _)| *one == operand);
                each.next().map_or(0, |(_, all)| all[lane] as u64 & mask(arena.width(operand)))
            };
            to_signed(evaluate_node(arena, term, &of, &[]), arena.width(term))
        };
        Some(std::array::from_fn(lane))
    }

    fn of_symbol(&mut self, symbol: SymbolId, term: TermId) -> Value {
        let Context { trace, shape, .. } = self.context;
        let info = trace.symbols.info(symbol);
        let uniform = Value::Known(LaneSum::uniform(term));
        match (&info.kind, self.warp) {
            (SymbolKind::LaneId, _) => Value::Known(lane_numbers(0)),
            (SymbolKind::Tid(axis), Warp::Numbered(warp)) => {
                let lanes = std::array::from_fn(|lane| shape.index(warp, lane, *axis));
                Value::Known(LaneSum::numbers(lanes))
            }
            (SymbolKind::Tid(crate::isa::Axis::X), Warp::From(first)) => {
                Value::Known(lane_numbers(first as i64))
            }
            (SymbolKind::Tid(crate::isa::Axis::X), Warp::Row) => {
                let mut sum = LaneSum::uniform(term);
                let _ = sum.add(&lane_numbers(0), 1);
                Value::Known(sum)
            }
            (SymbolKind::Tid(_), _) => uniform,
            (SymbolKind::WarpUniform(Special::Ntid(axis)), _) => match shape.extent(*axis) {
                Some(extent) => Value::Known(LaneSum::constant(extent as i64)),
                None => uniform,
            },
            _ if self.is_uniform(symbol) => uniform,
            (SymbolKind::LoopValue(..) | SymbolKind::JoinValue(..), _) => {
                self.merged(symbol, term).unwrap_or_else(|| self.origin(symbol))
            }
            _ => self.origin(symbol),
        }
    }

    fn is_uniform(&self, symbol: SymbolId) -> bool {
        self.context.uniformity.in_iteration(symbol) && self.left_together(symbol)
    }

    /// Whether all lanes have left the loops that a symbol is from in the same iteration.
    fn left_together(&self, symbol: SymbolId) -> bool {
        let Context { trace, loops, uniformity, .. } = self.context;
        uniformity.left_together(loops, trace.symbols.info(symbol).created_in, self.place)
    }

    /// A register at a join that all lanes reach by the same path, or that a loop changes by uniform values: the parts
    /// that differ between lanes are the same on all paths.
    fn merged(&mut self, symbol: SymbolId, term: TermId) -> Option<Value> {
        let Context { trace, loops, uniformity, .. } = self.context;
        let info = trace.symbols.info(symbol);
        let LaneDependence::DependsOn(feeds) = &info.dependence else { return None };
        let mut around = loops.around(info.created_in);
        let in_step = around.all(|id| uniformity.in_step[id]);
        let ready = !self.refuted.contains(&symbol) && self.nested < MAX_NESTED;
        if !(in_step && ready && info.width > 1 && self.left_together(symbol)) {
            return None;
        }
        self.nested += 1;
        let is_loop = matches!(info.kind, SymbolKind::LoopValue(..));
        let merged = self.merged_feeds(feeds, info.width, term, is_loop);
        self.nested -= 1;
        if merged.is_none() {
            // Results that assumed the refuted form are forgotten.
            self.refuted.insert(symbol);
            self.known.retain(|&known, _| known < term);
        }
        merged
    }

    fn merged_feeds(
        &mut self,
        feeds: &[TermId],
        width: u8,
        term: TermId,
        is_loop: bool,
    ) -> Option<Value> {
        let arena = &self.context.trace.arena;
        let is_value = |feed: &&TermId| arena.width(**feed) == width;
        let values: Vec<TermId> = feeds.iter().filter(is_value).copied().collect();
        let (&first, others) = values.split_first()?;
        let Value::Known(start) = self.value(first) else { return None };
        let (varying, base) = start.split();
        let mut form = LaneSum::uniform(term);
        if !form.add(&varying, 1) {
            return None;
        }
        let mut zeros = self.alignments.of_sum(&base, false);
        self.alignments.set_base(term, zeros);
        if is_loop {
            self.known.insert(term, Value::Known(form.clone()));
        }
        for &other in others {
            let Value::Known(value) = self.value(other) else { return None };
            let (differs, base) = value.split();
            if differs != varying {
                return None;
            }
            zeros = zeros.min(self.alignments.of_sum(&base, false));
            self.alignments.set_base(term, zeros);
        }
        // Ways that differ are chosen by all lanes together.
        for condition in feeds.iter().filter(|feed| !is_value(feed)) {
            let Value::Known(value) = self.value(*condition) else { return None };
            if !value.is_uniform() {
                return None;
            }
        }
        Some(Value::Known(form))
    }

    /// A symbol that is not uniform: where it comes from.
    fn origin(&mut self, symbol: SymbolId) -> Value {
        let info = self.context.trace.symbols.info(symbol);
        let LaneDependence::DependsOn(feeds) = &info.dependence else {
            return match info.kind {
                SymbolKind::Iteration(_) => Value::Unknown,
                _ => Value::Data,
            };
        };
        if self.nested >= MAX_NESTED {
            return Value::Unknown;
        }
        self.nested += 1;
        self.refuted.insert(symbol);
        let loaded = feeds.iter().any(|feed| self.value(*feed) == Value::Data);
        self.nested -= 1;
        if loaded { Value::Data } else { Value::Unknown }
    }

    fn widened(&mut self, term: TermId, inner: TermId, signed: bool) -> Value {
        let from = self.context.trace.arena.width(inner);
        let Value::Known(sum) = self.of(inner) else { return self.fitting(term, inner, from) };
        // (A number of fewer bits than an index is one that was masked.)
        match from < INDEX_BITS && !sum.is_uniform() {
            true => self.wrapped(term, &sum, from, signed),
            false => self.fitting(term, inner, from),
        }
    }

    /// The value of `inner`, taken not to have wrapped around in `width` bits.
    fn fitting(&self, term: TermId, inner: TermId, width: u8) -> Value {
        let value = self.of(inner);
        let fits = |sum: &LaneSum| sum.is_uniform() || !sum.spans_too_far(width);
        match value.cases() {
            Some(cases) if !cases.iter().all(fits) => self.unfollowed(term),
            _ => value,
        }
    }

    /// Some bits of a term: a shift, and a remainder.
    fn field(&mut self, term: TermId, inner: TermId, low: u8) -> Value {
        let arena: &Arena = &self.context.trace.arena;
        let width = arena.width(term);
        let Value::Known(sum) = self.of(inner) else { return self.of(inner) };
        if low == 0 && sum.is_uniform() && self.alignments.of_sum(&sum, false) >= width.into() {
            return Value::Known(LaneSum::constant(0));
        }
        // Where a row of lanes lies below bit `low`, the bits are the same in all of them.
        let is_below = |row: (u32, [i64; LANES])| row.0 <= u32::from(low);
        if sum.is_uniform() || self.in_row(&sum).is_some_and(is_below) {
            return Value::Known(LaneSum::uniform(term));
        }
        match low {
            // (Where it is widened again, it has wrapped around.)
            0 => Value::Known(sum),
            1..62 if low + width == arena.width(inner) => self.quotient(term, &sum, 1 << low),
            _ => self.unfollowed(term),
        }
    }

    fn binary(&mut self, term: TermId, op: BinaryOp, a: TermId, b: TermId) -> Value {
        let arena = &self.context.trace.arena;
        let width = arena.width(term);
        let (x, y) = (self.of(a), self.of(b));
        let (Value::Known(x), Value::Known(y)) = (x, y) else { return self.unfollowed(term) };
        match op {
            BinaryOp::Add => {
                let mut sum = x;
                if sum.add(&y, 1) { Value::Known(sum) } else { self.unfollowed(term) }
            }
            BinaryOp::Multiply => match x.times(&y) {
                Some(product) => Value::Known(product),
                None => self.unfollowed(term),
            },
            _ if x.is_uniform() && y.is_uniform() => Value::Known(LaneSum::uniform(term)),
            BinaryOp::Or | BinaryOp::Xor => self.disjoint(term, &x, &y),
            _ => match y.known().filter(|_| y.is_uniform()) {
                Some(number) => self.by_number(term, op, &x, number[0], width),
                None if op == BinaryOp::And && x.known().is_some() && x.is_uniform() => {
                    self.by_number(term, op, &y, x.numbers_only()[0], width)
                }
                None => self.unfollowed(term),
            },
        }
    }

    /// `a | b` and `a ^ b` are `a + b` where no bit is set in both.
    fn disjoint(&mut self, term: TermId, x: &LaneSum, y: &LaneSum) -> Value {
        for (wide, small) in [(x, y), (y, x)] {
            let Some(lanes) = small.known() else { continue };
            let zeros = self.alignments.of_sum(wide, false).min(62);
            if lanes.iter().all(|one| (0..1 << zeros).contains(one)) {
                let mut sum = wide.clone();
                if sum.add(small, 1) {
                    return Value::Known(sum);
                }
            }
        }
        self.unfollowed(term)
    }

    fn choice(&mut self, term: TermId, c: TermId, a: TermId, b: TermId) -> Value {
        let (condition, x, y) = (self.of(c), self.of(a), self.of(b));
        let Value::Known(condition) = condition else { return self.unfollowed(term) };
        let (Value::Known(x), Value::Known(y)) = (x, y) else { return self.unfollowed(term) };
        if let Some(lanes) = condition.known() {
            let chosen = lanes.map(|one| one & 1 != 0);
            return x.select(&y, &chosen).map_or(Value::Unknown, Value::Known);
        }
        if !condition.is_uniform() {
            return if x == y { Value::Known(x) } else { Value::Unknown };
        }
        let ((varying, first), (other, second)) = (x.split(), y.split());
        if varying != other {
            return Value::Unknown;
        }
        let zeros = self.alignments.of_sum(&first, false);
        let zeros = zeros.min(self.alignments.of_sum(&second, false));
        self.beside(term, zeros, &varying)
    }

    /// A term by its value in lane 0, whose low bits are zero, and the sum that each lane adds to it.
    pub(super) fn beside(&mut self, term: TermId, zeros: u32, varying: &LaneSum) -> Value {
        self.alignments.set_base(term, zeros);
        let mut sum = LaneSum::uniform(term);
        if sum.add(varying, 1) { Value::Known(sum) } else { Value::Unknown }
    }
}

/// A number that is one more in each next lane.
fn lane_numbers(first: i64) -> LaneSum {
    LaneSum::numbers(std::array::from_fn(|lane| first + lane as i64))
}
