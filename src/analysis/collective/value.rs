//! Values of the lanes of a warp, in a normal form modulo the laws of the operators that combine them.
//!
//! In: the operations of instructions in one lane. Out: a [`ValueId`] for each value. Two values with the same id are
//! equal whatever the registers hold. Sums are kept modulo associativity and commutativity, with a factor for each
//! addend modulo 2^32; the lattice operators modulo idempotence as well; `xor` modulo pairs that cancel. So a reduction
//! has one id, whatever the order in which a network of shuffles has combined the lanes.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

pub(super) use crate::lanes::LANES;

/// A value of one lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct ValueId(u32);

table_ids!(ValueId);

/// The values of a register in all lanes.
pub(super) type Table = [ValueId; LANES];

/// How an operator orders its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Order {
    /// As signed integers of 32 bits.
    Signed,
    /// As unsigned integers of 32 bits.
    Unsigned,
    /// As numbers of single precision (PTX ISA, "Floating Point Instructions: min, max").
    Float {
        /// Whether a NaN is the result if one is among the operands (`.NaN`); otherwise it is left out.
        propagates_nan: bool,
        /// Whether subnormal operands count as zero of their sign (`.ftz`).
        flushes: bool,
    },
}

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Compared {
    /// Whether equal ones count.
    pub or_equal: bool,
    /// The order of integers; none for numbers of single precision.
    pub order: Option<Order>,
    /// Whether subnormal numbers count as zero.
    pub flushes: bool,
}

/// An operator that is associative and commutative.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Operator {
    /// The sum modulo 2^32.
    Sum,
    /// The least operand.
    Min(Order),
    /// The greatest operand.
    Max(Order),
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl Operator {
    /// Whether operands are numbers of single precision.
    pub fn is_float(self) -> bool {
        matches!(self, Operator::Min(Order::Float { .. }) | Operator::Max(Order::Float { .. }))
    }

    /// The factor of an operand that occurs so often, in the normal form.
    fn reduced(self, factor: u32) -> u32 {
        match self {
            Operator::Sum => factor,
            Operator::Xor => factor & 1,
            _ => factor.min(1),
        }
    }

    /// Both constants combined; `None` where that is left to the hardware.
    fn combined(self, a: u64, b: u64) -> Option<u64> {
        let (low, high) = (a as u32, b as u32);
        let value = match self {
            Operator::Sum => low.wrapping_add(high),
            Operator::And => low & high,
            Operator::Or => low | high,
            Operator::Xor => low ^ high,
            Operator::Min(Order::Unsigned) => low.min(high),
            Operator::Max(Order::Unsigned) => low.max(high),
            Operator::Min(Order::Signed) => (low as i32).min(high as i32) as u32,
            Operator::Max(Order::Signed) => (low as i32).max(high as i32) as u32,
            Operator::Min(_) | Operator::Max(_) => return None,
        };
        Some(value.into())
    }
}

/// A value in its normal form.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Value {
    /// A constant of at most 32 bits.
    Constant(u64),
    /// Not followed further: the value of a leaf in a lane.
    Leaf(u32, u8),
    /// Two numbers of single precision added and rounded, the smaller id first; whether subnormal numbers count as zero.
    Rounded(bool, ValueId, ValueId),
    /// Whether one number is less than another, or less or equal.
    Less(Compared, [ValueId; 2]),
    /// Operands combined: ascending, each with its factor; a constant among them comes last, with factor 1.
    Fold(Operator, Rc<[(ValueId, u32)]>),
    /// `if predicate then a else b`
    Choice(ValueId, ValueId, ValueId),
    /// The lower or the upper 32 bits of a value of 64 bits that is none of the two below.
    Half(ValueId, bool),
    /// A value of 64 bits, by its lower and upper 32.
    Pair(ValueId, ValueId),
}

/// The most parts of a combination: several for each lane.
const MAX_PARTS: usize = 32 * LANES;

/// All values of one function.
#[derive(Debug, Default)]
pub(super) struct Values {
    values: TiVec<ValueId, Value>,
    ids: FxHashMap<Value, ValueId>,
    leaves: u32,
}

impl Values {
    /// A value by its id.
    pub(super) fn get(&self, id: ValueId) -> &Value {
        &self.values[id]
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The constant that a value is.
    pub(super) fn constant_of(&self, id: ValueId) -> Option<u64> {
        match self.get(id) {
            Value::Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn id(&mut self, value: Value) -> ValueId {
        if let Some(&known) = self.ids.get(&value) {
            return known;
        }
        let id = ValueId(self.values.len() as u32);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    /// A constant.
    pub(super) fn constant(&mut self, value: u64) -> ValueId {
        self.id(Value::Constant(value))
    }

    /// The same constant in all lanes.
    pub(super) fn everywhere(&mut self, value: u64) -> Table {
        [self.constant(value); LANES]
    }

    /// A constant for each lane.
    pub(super) fn by_lane(&mut self, value: impl Fn(u32) -> u64) -> Table {
        std::array::from_fn(|lane| self.constant(value(lane as u32)))
    }

    /// What nothing is known of: another value in each lane.
    pub(super) fn fresh(&mut self) -> Table {
        let leaf = self.fresh_leaf();
        std::array::from_fn(|lane| self.add_leaf(Value::Leaf(leaf, lane as u8)))
    }

    /// What nothing is known of, but that it is the same in all lanes.
    pub(super) fn fresh_uniform(&mut self) -> ValueId {
        let leaf = self.fresh_leaf();
        self.add_leaf(Value::Leaf(leaf, 0))
    }

    /// Adds a leaf, which is asked for once: it is not looked up by its value.
    fn add_leaf(&mut self, leaf: Value) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(leaf);
        id
    }

    fn fresh_leaf(&mut self) -> u32 {
        self.leaves += 1;
        self.leaves
    }

    /// `if predicate then a else b`
    pub(super) fn choice(&mut self, predicate: ValueId, a: ValueId, b: ValueId) -> ValueId {
        match self.constant_of(predicate) {
            Some(0) => b,
            Some(_) => a,
            None if a == b => a,
            None => match self.selected(predicate, [a, b]) {
                // Of two integers neither is lost.
                Some(operator) => self.fold(operator, &[(a, 1), (b, 1)]),
                None => self.id(Value::Choice(predicate, a, b)),
            },
        }
    }

    /// The lower or the upper 32 bits of a value of 64 bits.
    pub(super) fn half(&mut self, id: ValueId, upper: bool) -> ValueId {
        match *self.get(id) {
            Value::Pair(low, high) => [low, high][usize::from(upper)],
            _ => self.id(Value::Half(id, upper)),
        }
    }

    /// A value of 64 bits, by its lower and upper 32.
    pub(super) fn pair(&mut self, low: ValueId, high: ValueId) -> ValueId {
        match (self.get(low), self.get(high)) {
            (Value::Half(one, false), Value::Half(other, true)) if one == other => *one,
            _ => self.id(Value::Pair(low, high)),
        }
    }

    /// Two numbers of single precision added. (In another order or grouping a sum has other bits.)
    pub(super) fn rounded(&mut self, flushes: bool, a: ValueId, b: ValueId) -> ValueId {
        self.id(Value::Rounded(flushes, a.min(b), a.max(b)))
    }

    /// Whether one number is less than another, or less or equal.
    pub(super) fn less(&mut self, compared: Compared, numbers: [ValueId; 2]) -> ValueId {
        self.id(Value::Less(compared, numbers))
    }

    /// The extremum that a selection by a comparison of the same two integers is.
    fn selected(&self, predicate: ValueId, [a, b]: [ValueId; 2]) -> Option<Operator> {
        match *self.get(predicate) {
            Value::Less(Compared { order, .. }, numbers) if numbers == [a, b] => {
                order.map(Operator::Min)
            }
            Value::Less(Compared { order, .. }, numbers) if numbers == [b, a] => {
                order.map(Operator::Max)
            }
            _ => None,
        }
    }

    /// Whether a value is the least or the greatest of others.
    pub(super) fn is_extremum(&self, id: ValueId) -> bool {
        matches!(self.get(id), Value::Fold(Operator::Min(_) | Operator::Max(_), _))
    }

    /// Operands combined, each with a factor (1 but for sums, where it is modulo 2^32).
    pub(super) fn fold(&mut self, operator: Operator, operands: &[(ValueId, u32)]) -> ValueId {
        let mut found: Vec<(ValueId, u32)> = Vec::new();
        let mut constant: Option<u64> = None;
        for &(operand, factor) in operands {
            match self.get(operand) {
                Value::Fold(inner, parts) if *inner == operator => {
                    for &(part, times) in &**parts {
                        let of_part = (part, times.wrapping_mul(factor));
                        self.add(operator, of_part, &mut found, &mut constant);
                    }
                }
                _ => self.add(operator, (operand, factor), &mut found, &mut constant),
            }
        }
        // (The stable sort merges the ascending parts of the operands.)
        found.sort_by_key(|(part, _)| *part);
        found.dedup_by(|(next, factor), (kept, all)| {
            let same = next == kept;
            if same {
                *all = operator.reduced(all.wrapping_add(*factor));
            }
            same
        });
        let neutral = match operator {
            Operator::Sum | Operator::Or | Operator::Xor => Some(0),
            Operator::And => Some(u64::from(u32::MAX)),
            _ => None,
        };
        let constant = constant.filter(|value| Some(*value) != neutral);
        let mut parts = found;
        parts.retain(|(_, factor)| *factor != 0);
        if parts.len() > MAX_PARTS {
            return self.fresh_uniform();
        }
        if let Some(value) = constant {
            parts.push((self.constant(value), 1));
        }
        match parts[..] {
            [] => self.constant(neutral.unwrap_or(0)),
            // A minimum of one number of single precision is not that number: it may be a NaN, or be flushed.
            [(only, 1)] if !operator.is_float() => only,
            _ => self.id(Value::Fold(operator, parts.into())),
        }
    }

    /// Adds an operand to those that are to be combined.
    fn add(
        &self,
        operator: Operator,
        (operand, factor): (ValueId, u32),
        found: &mut Vec<(ValueId, u32)>,
        constant: &mut Option<u64>,
    ) {
        let value = self.constant_of(operand).map(|value| match operator {
            Operator::Sum => u64::from((value as u32).wrapping_mul(factor)),
            _ => value,
        });
        let both = value.and_then(|value| match *constant {
            None if !operator.is_float() => Some(value),
            None => None,
            Some(known) => operator.combined(known, value),
        });
        match both {
            Some(both) => *constant = Some(both),
            None => found.push((operand, operator.reduced(factor))),
        }
    }

    /// Whether a value may be a combination of several that one is among: whether a part of that one is in it.
    pub(super) fn may_have(&self, operator: Operator, whole: ValueId, one: ValueId) -> bool {
        let Value::Fold(inner, parts) = self.get(whole) else { return whole == one };
        // (All but the last are ascending.)
        let Some(((end, _), ascending)) = parts.split_last() else { return false };
        let has = |part: ValueId| {
            *end == part || ascending.binary_search_by_key(&part, |(own, _)| *own).is_ok()
        };
        *inner == operator
            && match self.get(one) {
                Value::Constant(_) => true,
                Value::Fold(same, some) if *same == operator => {
                    some.iter().any(|(part, _)| self.constant_of(*part).is_some() || has(*part))
                }
                _ => has(one),
            }
    }

    /// Some lanes of a table combined.
    pub(super) fn reduction(
        &mut self,
        operator: Operator,
        table: &Table,
        lanes: impl Iterator<Item = usize>,
    ) -> ValueId {
        let operands: Vec<(ValueId, u32)> = lanes.map(|lane| (table[lane], 1)).collect();
        self.fold(operator, &operands)
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        the_order_of_operands_does_not_matter,
        what_occurs_twice_counts_by_the_operator,
        one_number_is_not_its_own_minimum,
        sums_of_numbers_keep_their_order
    );

    fn the_order_of_operands_does_not_matter() {
        let mut values = Values::default();
        let x = values.fresh();
        for operator in [Operator::Sum, Operator::And, Operator::Max(Order::Signed)] {
            let up = values.reduction(operator, &x, 0..LANES);
            let down = values.reduction(operator, &x, (0..LANES).rev());
            let halves =
                [values.reduction(operator, &x, 0..7), values.reduction(operator, &x, 7..LANES)];
            let joined = values.fold(operator, &[(halves[1], 1), (halves[0], 1)]);
            assert!(up == down && up == joined);
            assert_ne!(up, values.reduction(operator, &x, 1..LANES));
        }
    }

    fn what_occurs_twice_counts_by_the_operator() {
        let mut values = Values::default();
        let x = values.fresh();
        let twice =
            |values: &mut Values, operator| values.reduction(operator, &x, [3, 3].into_iter());
        assert_eq!(twice(&mut values, Operator::And), x[3]);
        assert_eq!(twice(&mut values, Operator::Max(Order::Unsigned)), x[3]);
        let zero = values.constant(0);
        assert_eq!(twice(&mut values, Operator::Xor), zero);
        assert_ne!(twice(&mut values, Operator::Sum), x[3]);
        let none = values.fold(Operator::Sum, &[(x[3], 1), (x[3], u32::MAX)]);
        assert_eq!(none, zero);
    }

    fn one_number_is_not_its_own_minimum() {
        let mut values = Values::default();
        let x = values.fresh();
        let float = Order::Float { propagates_nan: false, flushes: false };
        let one = values.reduction(Operator::Min(float), &x, [3, 3].into_iter());
        assert_ne!(one, x[3]);
        let again = values.fold(Operator::Min(float), &[(one, 1), (x[3], 1)]);
        assert_eq!(one, again);
    }

    fn sums_of_numbers_keep_their_order() {
        let mut values = Values::default();
        let x = values.fresh();
        let one = values.rounded(false, x[0], x[1]);
        assert_eq!(one, values.rounded(false, x[1], x[0]));
        assert_ne!(one, values.rounded(true, x[0], x[1]));
        let first = values.rounded(false, one, x[2]);
        let other = values.rounded(false, x[1], x[2]);
        assert_ne!(first, values.rounded(false, x[0], other));
    }
}
