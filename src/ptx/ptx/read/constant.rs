//! The values of literals and constant expressions (PTX ISA, "Constants"): integers are 64 bits
//! wide and wrap around, signed unless one side is unsigned; floating-point numbers are doubles.
//! Where the ISA is silent (literals of more than 64 bits, shifts by more than 63, remainders of
//! negative numbers) the values are those that ptxas computes.

use smallvec::SmallVec;

use super::Built;
use super::cursor::Cursor;
use crate::ptx::ast::{Immediate, Name, Value};
use crate::ptx::expected::Expected;
use crate::ptx::fault::Fault;
use crate::source::Span;

/// `WARP_SZ` (PTX ISA, "Predefined Identifiers").
const WARP_SIZE: i64 = 32;

/// A constant, perhaps one whose value is a fault.
type Constant = (Span, Built<Value>);

impl<'s> Cursor<'s> {
    /// The rule `expression`.
    pub(super) fn expression(&mut self) -> Option<Immediate> {
        let (span, value) = self.sum(Stack::default())?;
        Some(Immediate { span, value: self.value(value, Value::Signed(0)) })
    }

    /// The rule `expression`, where the value must be an integer.
    pub(super) fn integer_expression(&mut self) -> Option<(Span, i64)> {
        let (span, value) = self.sum(Stack::default())?;
        Some((span, self.value(value.and_then(|value| integer(span, value)), 0)))
    }

    /// The rules `added` and `subtracted`: the text behind a name and its sign is read as the rest of a sum.
    pub(super) fn offset(&mut self, sign: &'static str) -> Option<(Span, i64)> {
        let stack = Stack { values: vec![Value::Signed(0)], operators: vec![sign], fault: None };
        let (span, value) = self.sum(stack)?;
        Some((span, self.value(value.and_then(|value| integer(span, value)), 0)))
    }

    /// The rule `number`, where the value must be an integer without a sign.
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let Name { text, span } = self.number()?;
        let value = digits_value(text, span).and_then(|value| integer(span, value));
        Some(self.value(value, 0) as u64)
    }

    /// The rule `number`, where the value must be an integer of at most 32 bits without a sign.
    pub(super) fn unsigned32(&mut self) -> Option<u32> {
        let start = self.at;
        let value = self.unsigned()?;
        let span = self.since(start);
        let bad = |_| Fault::new(span, "this number is out of range");
        Some(self.value(u32::try_from(value).map_err(bad), 0))
    }

    /// The rule `expression`, whose value continues the values and operators on the stacks.
    fn sum(&mut self, mut stack: Stack) -> Option<Constant> {
        let start = self.at;
        let first = self.term()?;
        if !self.goes_on() && stack.operators.is_empty() {
            return Some((self.since(start), first));
        }
        stack.push(first);
        let mut end = self.at;
        while self.goes_on() {
            self.gap();
            let more = match self.peek() {
                Some(b'?') => self.choice(&mut stack),
                _ => self.operation(&mut stack),
            };
            if more.is_none() {
                break;
            }
            end = self.at;
        }
        self.at = end;
        stack.finish();
        let span = self.since(start);
        let value = match stack.fault {
            // Which operator it was is not known any more.
            Some(fault) if fault.span == Span::default() => Err(Fault { span, ..fault }),
            Some(fault) => Err(fault),
            None => Ok(stack.values.pop().unwrap_or(Value::Signed(0))),
        };
        Some((span, value))
    }

    /// Whether an expression may go on here: what ends an operand does not follow, not even behind blanks.
    fn goes_on(&mut self) -> bool {
        const ENDS: [Option<u8>; 4] = [Some(b','), Some(b';'), Some(b']'), Some(b'}')];
        if ENDS.contains(&self.peek()) {
            return false;
        }
        let start = self.at;
        self.gap();
        let ends = ENDS.contains(&self.peek());
        self.at = start;
        !ends
    }

    /// A binary operator with the term behind it.
    fn operation(&mut self, stack: &mut Stack) -> Option<()> {
        let operator = self.binary_operator()?;
        self.gap();
        let term = self.term()?;
        stack.operator(operator);
        stack.push(term);
        Some(())
    }

    /// The rule `choice`. The other branch may have no value.
    fn choice(&mut self, stack: &mut Stack) -> Option<()> {
        let chosen = self.branch(b'?')?;
        self.gap();
        let other = self.branch(b':')?;
        stack.finish();
        let condition = stack.values.pop().is_some_and(is_true);
        stack.push(if condition { chosen } else { other });
        Some(())
    }

    fn branch(&mut self, mark: u8) -> Option<Built<Value>> {
        self.expect(mark, Expected::Colon)?;
        self.gap();
        self.sum(Stack::default()).map(|(_, value)| value)
    }

    /// The rule `binary_operator`.
    fn binary_operator(&mut self) -> Option<&'static str> {
        const OPERATORS: [&str; 18] = [
            "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&",
            "^", "|",
        ];
        OPERATORS.into_iter().find(|operator| self.eat_text(operator))
    }

    /// The rule `term`.
    fn term(&mut self) -> Option<Built<Value>> {
        let mut operators = SmallVec::<[u8; 8]>::new();
        while let Some(operator) = self.unary_operator() {
            operators.push(operator);
            self.gap();
        }
        let value = match self.peek() {
            Some(b'(') => {
                self.at += 1;
                self.gap();
                let (_, value) = self.sum(Stack::default())?;
                self.gap();
                self.expect(b')', Expected::Parenthesis)?;
                value
            }
            _ if self.is_at_number() => {
                let Name { text, span } = self.number()?;
                digits_value(text, span)
            }
            _ if self.is_at_warp_size() => {
                self.at += "WARP_SZ".len();
                Ok(Value::Signed(WARP_SIZE))
            }
            _ => return self.fail(Expected::Constant),
        };
        let apply = |value, operator: &u8| unary(*operator, value);
        Some(value.map(|value| operators.iter().rev().fold(value, apply)))
    }

    /// The rule `unary_operator`; of a cast the first letter of the type.
    fn unary_operator(&mut self) -> Option<u8> {
        match self.peek()? {
            operator @ (b'-' | b'+' | b'!' | b'~') => {
                self.at += 1;
                Some(operator)
            }
            b'(' => self.attempt(|cursor| {
                cursor.at += 1;
                cursor.gap();
                let kind = cursor.second()?;
                (cursor.eat_text(".s64") || cursor.eat_text(".u64")).then_some(())?;
                cursor.gap();
                cursor.eat(b')').then_some(kind)
            }),
            _ => None,
        }
    }
}

fn integer(span: Span, value: Value) -> Built<i64> {
    match value {
        Value::Signed(value) => Ok(value),
        Value::Unsigned(value) => Ok(value as i64),
        Value::F32(_) | Value::F64(_) => Err(Fault::new(span, "an integer is expected here")),
    }
}

fn digits_value(text: &str, span: Span) -> Built<Value> {
    let bad = || {
        Fault::new(span, "this is not a number")
            .hint("a number that begins with 0 is octal: its digits are 0 to 7")
    };
    let (digits, suffixed) = match text.strip_suffix('U') {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'f' | b'F', ..] => {
            return u32::from_str_radix(&digits[2..], 16).map(Value::F32).map_err(|_| bad());
        }
        [b'0', b'd' | b'D', ..] => {
            return u64::from_str_radix(&digits[2..], 16).map(Value::F64).map_err(|_| bad());
        }
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        _ if digits.contains(['.', 'e', 'E']) => {
            let value: f64 = digits.parse().map_err(|_| bad())?;
            return Ok(Value::F64(value.to_bits()));
        }
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let mut value = 0_u64;
    for digit in digits.chars() {
        let digit = digit.to_digit(radix).ok_or_else(bad)?;
        value = value.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit));
    }
    Ok(match i64::try_from(value) {
        Ok(value) if !suffixed => Value::Signed(value),
        _ => Value::Unsigned(value),
    })
}

/// Operator precedence by two stacks, so that a long expression costs no recursion. Only
/// parentheses and choices recurse; the lexical scan limits how deep.
#[derive(Default)]
struct Stack {
    values: Vec<Value>,
    operators: Vec<&'static str>,
    /// The first fault. One without a place has that of the whole expression.
    fault: Option<Fault>,
}

impl Stack {
    fn push(&mut self, value: Built<Value>) {
        let value = value.unwrap_or_else(|fault| {
            self.fault.get_or_insert(fault);
            Value::Signed(0)
        });
        self.values.push(value);
    }

    /// Takes a binary operator, after computing the operators before it that bind at least as tightly.
    fn operator(&mut self, operator: &'static str) {
        let level = precedence(operator);
        while self.operators.last().is_some_and(|top| precedence(top) >= level) {
            self.reduce();
        }
        self.operators.push(operator);
    }

    fn reduce(&mut self) {
        if let Some(operator) = self.operators.pop()
            && let (Some(b), Some(a)) = (self.values.pop(), self.values.pop())
        {
            let by_zero =
                || Fault::new(Span::default(), "division by zero in a constant expression");
            self.push(binary(operator, a, b).ok_or_else(by_zero));
        }
    }

    fn finish(&mut self) {
        while !self.operators.is_empty() {
            self.reduce();
        }
    }
}

/// How tightly an operator binds, as in C.
fn precedence(operator: &str) -> u8 {
    match operator {
        "*" | "/" | "%" => 10,
        "+" | "-" => 9,
        "<<" | ">>" => 8,
        "<" | ">" | "<=" | ">=" => 7,
        "==" | "!=" => 6,
        "&" => 5,
        "^" => 4,
        "|" => 3,
        "&&" => 2,
        _ => 1,
    }
}

fn is_true(value: Value) -> bool {
    match value {
        Value::Signed(value) => value != 0,
        Value::Unsigned(value) => value != 0,
        Value::F32(_) | Value::F64(_) => double(value) != 0.0,
    }
}

fn bits(value: Value) -> u64 {
    match value {
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
        Value::F32(_) | Value::F64(_) => double(value) as i64 as u64,
    }
}

fn double(value: Value) -> f64 {
    match value {
        Value::Signed(value) => value as f64,
        Value::Unsigned(value) => value as f64,
        Value::F32(bits) => f64::from(f32::from_bits(bits)),
        Value::F64(bits) => f64::from_bits(bits),
    }
}

fn unary(operator: u8, value: Value) -> Value {
    match (operator, value) {
        (b'-', Value::Signed(value)) => Value::Signed(value.wrapping_neg()),
        (b'-', Value::Unsigned(value)) => Value::Unsigned(value.wrapping_neg()),
        (b'-', Value::F32(bits)) => Value::F32(bits ^ 1 << 31),
        (b'-', Value::F64(bits)) => Value::F64(bits ^ 1 << 63),
        (b'!', value) => Value::Signed(i64::from(!is_true(value))),
        (b'~', Value::Signed(value)) => Value::Signed(!value),
        (b'~', value) => Value::Unsigned(!bits(value)),
        (b'+', value) => value,
        // The remaining operators are the casts.
        (b's', value) => Value::Signed(bits(value) as i64),
        (_, value) => Value::Unsigned(bits(value)),
    }
}

/// The value of a binary operator; `None` for a division by zero.
fn binary(operator: &str, a: Value, b: Value) -> Option<Value> {
    let truth = |value: bool| Some(Value::Signed(i64::from(value)));
    match operator {
        "&&" => return truth(is_true(a) && is_true(b)),
        "||" => return truth(is_true(a) || is_true(b)),
        _ => {}
    }
    match (a, b) {
        (Value::F32(_) | Value::F64(_), _) | (_, Value::F32(_) | Value::F64(_)) => {
            Some(floating(operator, double(a), double(b)))
        }
        (Value::Signed(a), Value::Signed(b)) => signed(operator, a, b).map(Value::Signed),
        // The left side alone says how a shift works.
        (Value::Signed(a), b) if matches!(operator, "<<" | ">>") => {
            signed(operator, a, bits(b) as i64).map(Value::Signed)
        }
        (a, b) => match unsigned_arithmetic(operator, bits(a), bits(b)) {
            Some(value) if (6..=7).contains(&precedence(operator)) => {
                Some(Value::Signed(value as i64))
            }
            value => value.map(Value::Unsigned),
        },
    }
}

fn floating(operator: &str, a: f64, b: f64) -> Value {
    let value = match operator {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" => a / b,
        "%" => a % b,
        "<" => return Value::Signed(i64::from(a < b)),
        ">" => return Value::Signed(i64::from(a > b)),
        "<=" => return Value::Signed(i64::from(a <= b)),
        ">=" => return Value::Signed(i64::from(a >= b)),
        "==" => return Value::Signed(i64::from(a == b)),
        "!=" => return Value::Signed(i64::from(a != b)),
        _ => f64::NAN,
    };
    Value::F64(value.to_bits())
}

fn signed(operator: &str, a: i64, b: i64) -> Option<i64> {
    Some(match operator {
        "/" if b == 0 => return None,
        "/" => a.wrapping_div(b),
        "<" => i64::from(a < b),
        ">" => i64::from(a > b),
        "<=" => i64::from(a <= b),
        ">=" => i64::from(a >= b),
        ">>" => a.wrapping_shr(b as u32),
        // The other operators, remainders included, do not depend on the sign.
        _ => return unsigned_arithmetic(operator, a as u64, b as u64).map(|value| value as i64),
    })
}

fn unsigned_arithmetic(operator: &str, a: u64, b: u64) -> Option<u64> {
    Some(match operator {
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        "/" => return a.checked_div(b),
        "%" => return a.checked_rem(b),
        "<<" => a.wrapping_shl(b as u32),
        ">>" => a.wrapping_shr(b as u32),
        "<" => u64::from(a < b),
        ">" => u64::from(a > b),
        "<=" => u64::from(a <= b),
        ">=" => u64::from(a >= b),
        "==" => u64::from(a == b),
        "!=" => u64::from(a != b),
        "&" => a & b,
        "^" => a ^ b,
        _ => a | b,
    })
}
