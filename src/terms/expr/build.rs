//! Constructors of logic, shifts, division and the rest of the two-operand operations.

use super::arena::Arena;
use super::bits::mask;
use super::eval::{evaluate_binary, evaluate_unary};
use super::node::{BinaryOp, FunctionId, Node, SymbolId, TermId, UnaryOp};

impl Arena {
    /// A symbol that may have any value.
    pub fn symbol(&mut self, symbol: SymbolId, width: u8) -> TermId {
        self.intern(Node::Symbol(symbol), width)
    }

    /// The predicate `value`.
    pub fn boolean(&mut self, value: bool) -> TermId {
        self.constant(u64::from(value), 1)
    }

    /// An uninterpreted function of its arguments.
    pub fn apply(&mut self, function: FunctionId, arguments: &[TermId], width: u8) -> TermId {
        self.intern(Node::Apply(function, arguments.into()), width)
    }

    /// The bitwise complement.
    pub fn not(&mut self, a: TermId) -> TermId {
        let width = self.width(a);
        if width > 1 {
            let negative = self.neg(a);
            return self.add_constant(negative, mask(width));
        }
        match *self.node(a) {
            Node::Constant(value) => self.constant(!value, 1),
            Node::Unary(UnaryOp::Not, inner) => inner,
            Node::Compare(op, x, y) => self.negated_comparison(a, op, x, y),
            _ => self.intern(Node::Unary(UnaryOp::Not, a), 1),
        }
    }

    /// An operation on one operand.
    pub fn unary(&mut self, op: UnaryOp, a: TermId) -> TermId {
        let width = self.width(a);
        match (op, self.constant_value(a)) {
            (UnaryOp::Not, _) => self.not(a),
            (_, Some(value)) => self.constant(evaluate_unary(op, value, width), width),
            _ => self.intern(Node::Unary(op, a), width),
        }
    }

    /// An operation on two operands of one width.
    pub fn binary(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        if let Some(folded) = self.folded(op, a, b) {
            return folded;
        }
        match op {
            BinaryOp::Add => self.add(a, b),
            BinaryOp::Multiply => self.mul(a, b),
            BinaryOp::And => self.and(a, b),
            BinaryOp::Or => self.or(a, b),
            BinaryOp::Xor => self.xor(a, b),
            BinaryOp::ShiftLeft => self.shift_left(a, b),
            BinaryOp::ShiftRight => self.shift_right(a, b),
            BinaryOp::UnsignedDivide | BinaryOp::UnsignedRemainder => self.divide(op, a, b),
            BinaryOp::SignedDivide if self.both_non_negative(a, b) => {
                self.divide(BinaryOp::UnsignedDivide, a, b)
            }
            BinaryOp::SignedRemainder if self.both_non_negative(a, b) => {
                self.divide(BinaryOp::UnsignedRemainder, a, b)
            }
            BinaryOp::ArithmeticShiftRight if self.range(a).smin >= 0 => self.shift_right(a, b),
            BinaryOp::ArithmeticShiftRight if let Some(by) = self.undone_shift(a, b) => {
                let high = self.extract(a, by, width - by);
                self.sign_extend(high, width)
            }
            BinaryOp::UnsignedMultiplyHigh | BinaryOp::SignedMultiplyHigh => {
                let (a, b) = (a.min(b), a.max(b));
                self.intern(Node::Binary(op, a, b), width)
            }
            _ => self.intern(Node::Binary(op, a, b), width),
        }
    }

    /// An operation on two constants.
    fn folded(&mut self, op: BinaryOp, a: TermId, b: TermId) -> Option<TermId> {
        let (x, y, width) = (self.constant_value(a)?, self.constant_value(b)?, self.width(a));
        Some(self.constant(evaluate_binary(op, x, y, width), width))
    }

    fn both_non_negative(&self, a: TermId, b: TermId) -> bool {
        self.range(a).smin >= 0 && self.range(b).smin >= 0
    }

    /// `a and b`; masks of low bits become extensions of the low part, where sums have their normal
    /// form.
    pub fn and(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if let Some(folded) = self.folded(BinaryOp::And, a, b) {
            return folded;
        }
        if a == b {
            return a;
        }
        let (a, b) = if self.constant_value(a).is_some() { (b, a) } else { (a, b) };
        if let Some(value) = self.constant_value(b) {
            let range = self.range(a);
            if value & !range.zeros & mask(width) == 0 {
                return self.constant(0, width);
            }
            if (value | range.zeros) & mask(width) == mask(width) {
                return a;
            }
            if value.trailing_ones() == 64 - value.leading_zeros() {
                let low = self.extract(a, 0, value.trailing_ones() as u8);
                return self.zero_extend(low, width);
            }
        }
        if width == 1 && self.is_negation(a, b) {
            return self.constant(0, 1);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.intern(Node::Binary(BinaryOp::And, a, b), width)
    }

    /// `a or b`; a sum where no bit can be set in both.
    pub fn or(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if let Some(folded) = self.folded(BinaryOp::Or, a, b) {
            return folded;
        }
        if a == b {
            return a;
        }
        let ones = mask(width);
        for (x, y) in [(a, b), (b, a)] {
            match self.constant_value(x) {
                Some(0) => return y,
                Some(value) if value == ones => return x,
                _ => {}
            }
        }
        if width == 1 {
            if self.is_negation(a, b) {
                return self.constant(1, 1);
            }
        } else if (self.range(a).zeros | self.range(b).zeros) & ones == ones {
            return self.add(a, b);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.intern(Node::Binary(BinaryOp::Or, a, b), width)
    }

    /// `a xor b`
    pub fn xor(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if let Some(folded) = self.folded(BinaryOp::Xor, a, b) {
            return folded;
        }
        if a == b {
            return self.constant(0, width);
        }
        for (x, y) in [(a, b), (b, a)] {
            match self.constant_value(x) {
                Some(0) => return y,
                Some(value) if value == mask(width) => return self.not(y),
                // Where all the other's bits are among the constant's, nothing is borrowed.
                Some(value) if (self.range(y).zeros | value) & mask(width) == mask(width) => {
                    return self.sub(x, y);
                }
                _ => {}
            }
        }
        if width > 1 && (self.range(a).zeros | self.range(b).zeros) & mask(width) == mask(width) {
            return self.add(a, b);
        }
        let (a, b) = (a.min(b), a.max(b));
        self.intern(Node::Binary(BinaryOp::Xor, a, b), width)
    }

    fn is_negation(&self, a: TermId, b: TermId) -> bool {
        let negates = |x, y| matches!(*self.node(x), Node::Unary(UnaryOp::Not, z) if z == y);
        negates(a, b) || negates(b, a)
    }

    fn shift_left(&mut self, a: TermId, by: TermId) -> TermId {
        let width = self.width(a);
        match self.constant_value(by) {
            Some(by) if by >= u64::from(width) => self.constant(0, width),
            Some(by) => self.scale(a, 1 << by),
            None => self.intern(Node::Binary(BinaryOp::ShiftLeft, a, by), width),
        }
    }

    fn shift_right(&mut self, a: TermId, by: TermId) -> TermId {
        let width = self.width(a);
        match self.constant_value(by) {
            Some(by) if by >= u64::from(width) => self.constant(0, width),
            Some(by) => {
                let high = self.extract(a, by as u8, width - by as u8);
                self.zero_extend(high, width)
            }
            None => self.intern(Node::Binary(BinaryOp::ShiftRight, a, by), width),
        }
    }

    /// The bits by which a sum is shifted down, if all its parts were shifted up by as many.
    fn undone_shift(&self, a: TermId, by: TermId) -> Option<u8> {
        let by = self.constant_value(by)?;
        let is_sum = matches!(self.node(a), Node::Sum { .. });
        let by = u8::try_from(by).ok().filter(|&by| by > 0 && by < self.width(a))?;
        (is_sum && self.is_multiple(a, by)).then_some(by)
    }

    fn divide(&mut self, op: BinaryOp, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        if let Some(divisor) = self.constant_value(b)
            && divisor.is_power_of_two()
        {
            if op == BinaryOp::UnsignedDivide {
                let by = self.constant(u64::from(divisor.trailing_zeros()), width);
                return self.shift_right(a, by);
            }
            return self.and_constant(a, divisor - 1);
        }
        if self.range(a).umax < self.range(b).umin {
            return if op == BinaryOp::UnsignedDivide { self.constant(0, width) } else { a };
        }
        self.intern(Node::Binary(op, a, b), width)
    }

    /// `a and value`
    pub fn and_constant(&mut self, a: TermId, value: u64) -> TermId {
        let width = self.width(a);
        let value = self.constant(value, width);
        self.and(a, value)
    }
}
