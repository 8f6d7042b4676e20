//! The values of literals and constant expressions (PTX ISA, "Constants"): integers are 64 bits
//! wide and wrap around, signed unless one side is unsigned; floating-point numbers are doubles.
//! Where the ISA is silent (literals of more than 64 bits, shifts by more than 63, remainders of
//! negative numbers) the values are those that ptxas computes.

use super::{Built, unforeseen};
use crate::ptx::ast::{Immediate, Value};
use crate::ptx::fault::Fault;
use crate::ptx::grammar::{Fragment, Node, Rule};
use crate::source::Span;

/// `WARP_SZ` (PTX ISA, "Predefined Identifiers").
const WARP_SIZE: i64 = 32;

/// The value of an `expression`.
pub(in crate::ptx) fn expression<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<Immediate> {
    let span = fragment.span(&node);
    let mut terms = node.clone().into_inner();
    if let (Some(only), None) = (terms.next(), terms.next())
        && only.as_rule() == Rule::number
    {
        return Ok(Immediate { span, value: number(fragment, &only)? });
    }
    let mut stack = Stack::default();
    let value = stack.evaluate(fragment, node)?;
    Ok(Immediate { span, value })
}

/// A number as it stands, perhaps with a minus.
pub(in crate::ptx) fn literal(text: &str, span: Span) -> Built<Immediate> {
    let value = match text.strip_prefix('-') {
        Some(digits) => unary("-", digits_value(digits, span)?),
        None => digits_value(text, span)?,
    };
    Ok(Immediate { span, value })
}

/// The bytes that `added` or `subtracted` stand for: the text behind the name is read as the rest of a
/// sum.
pub(in crate::ptx) fn offset<'s>(fragment: Fragment<'s>, node: Node<'s>) -> Built<i64> {
    let sign = if node.as_rule() == Rule::subtracted { "-" } else { "+" };
    let sum = node.clone().into_inner().next().ok_or_else(|| unforeseen(fragment, &node))?;
    let mut stack = Stack { values: vec![Value::Signed(0)], operators: vec![sign] };
    integer(fragment, &sum, stack.evaluate(fragment, sum.clone())?)
}

/// The value of an `expression` that must be an integer.
pub(in crate::ptx) fn integer_expression<'s>(f: Fragment<'s>, node: Node<'s>) -> Built<i64> {
    let value = expression(f, node.clone())?.value;
    integer(f, &node, value)
}

fn integer(fragment: Fragment<'_>, node: &Node<'_>, value: Value) -> Built<i64> {
    match value {
        Value::Signed(value) => Ok(value),
        Value::Unsigned(value) => Ok(value as i64),
        Value::F32(_) | Value::F64(_) => {
            Err(Fault::new(fragment.span(node), "an integer is expected here"))
        }
    }
}

/// A `number` that must be an integer without a sign.
pub(in crate::ptx) fn unsigned(fragment: Fragment<'_>, node: &Node<'_>) -> Built<u64> {
    let value = number(fragment, node)?;
    integer(fragment, node, value).map(|value| value as u64)
}

/// A `number` of at most 32 bits without a sign.
pub(in crate::ptx) fn unsigned32(fragment: Fragment<'_>, node: &Node<'_>) -> Built<u32> {
    u32::try_from(unsigned(fragment, node)?)
        .map_err(|_| Fault::new(fragment.span(node), "this number is out of range"))
}

/// The value of a `number`.
pub(in crate::ptx) fn number(fragment: Fragment<'_>, node: &Node<'_>) -> Built<Value> {
    digits_value(node.as_str(), fragment.span(node))
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
struct Stack<'s> {
    values: Vec<Value>,
    operators: Vec<&'s str>,
}

impl<'s> Stack<'s> {
    /// Takes a binary operator, after computing the operators before it that bind at least as tightly.
    fn operator(&mut self, operator: &'s str) -> Built<()> {
        let level = precedence(operator);
        while self.operators.last().is_some_and(|top| precedence(top) >= level) {
            self.reduce()?;
        }
        self.operators.push(operator);
        Ok(())
    }

    fn reduce(&mut self) -> Built<()> {
        if let Some(operator) = self.operators.pop()
            && let (Some(b), Some(a)) = (self.values.pop(), self.values.pop())
        {
            let value = binary(operator, a, b).ok_or_else(|| {
                // The caller knows the place in the text, which the operator does not.
                Fault::new(Span::default(), "division by zero in a constant expression")
            })?;
            self.values.push(value);
        }
        Ok(())
    }

    /// The value of an expression that continues the values and operators on the stacks.
    fn evaluate(&mut self, fragment: Fragment<'s>, node: Node<'s>) -> Built<Value> {
        let span = fragment.span(&node);
        let placed = |fault: Fault| match fault.span {
            Span { start: 0, end: 0 } => Fault { span, ..fault },
            _ => fault,
        };
        let mut unary_operators = Vec::new();
        for term in node.into_inner() {
            let value = match term.as_rule() {
                Rule::unary_operator => {
                    unary_operators.push(term);
                    continue;
                }
                Rule::binary_operator => {
                    self.operator(term.as_str()).map_err(placed)?;
                    continue;
                }
                Rule::choice => {
                    self.finish().map_err(placed)?;
                    let condition = self.values.pop().is_some_and(is_true);
                    let mut branches = term.into_inner();
                    let chosen = if condition { branches.next() } else { branches.nth(1) };
                    let Some(chosen) = chosen else { continue };
                    expression(fragment, chosen)?.value
                }
                Rule::number => number(fragment, &term)?,
                Rule::warp_size => Value::Signed(WARP_SIZE),
                Rule::expression => expression(fragment, term)?.value,
                _ => return Err(unforeseen(fragment, &term)),
            };
            let value = unary_operators
                .drain(..)
                .rev()
                .fold(value, |value, operator| unary(operator.as_str(), value));
            self.values.push(value);
        }
        self.finish().map_err(placed)?;
        self.values.pop().ok_or_else(|| Fault::new(span, "a constant is expected here"))
    }

    fn finish(&mut self) -> Built<()> {
        while !self.operators.is_empty() {
            self.reduce()?;
        }
        Ok(())
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

fn unary(operator: &str, value: Value) -> Value {
    match (operator, value) {
        ("-", Value::Signed(value)) => Value::Signed(value.wrapping_neg()),
        ("-", Value::Unsigned(value)) => Value::Unsigned(value.wrapping_neg()),
        ("-", Value::F32(bits)) => Value::F32(bits ^ 1 << 31),
        ("-", Value::F64(bits)) => Value::F64(bits ^ 1 << 63),
        ("!", value) => Value::Signed(i64::from(!is_true(value))),
        ("~", Value::Signed(value)) => Value::Signed(!value),
        ("~", value) => Value::Unsigned(!bits(value)),
        ("+", value) => value,
        // The remaining operators are the casts.
        (cast, value) if cast.contains('s') => Value::Signed(bits(value) as i64),
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
