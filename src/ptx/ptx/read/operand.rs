//! Operands: names, vectors, addresses, and the two-destination form `a|b` (`grammar/operands.pest`).

use super::Built;
use super::cursor::Cursor;
use crate::ptx::ast::{Address, AddressBase, Operand};
use crate::ptx::expected::Expected;
use crate::ptx::fault::Fault;
use crate::source::Span;

impl<'s> Cursor<'s> {
    /// The rule `operands`, with the gap behind the last one.
    pub(super) fn operands(&mut self, mut each: impl FnMut(Operand<'s>)) -> Option<()> {
        loop {
            each(self.operand()?);
            if !self.eat(b',') {
                return Some(());
            }
            self.gap();
        }
    }

    /// The rule `operand`, with the gap behind it.
    fn operand(&mut self) -> Option<Operand<'s>> {
        let value = self.value_of_operand()?;
        self.gap();
        let sign = match self.peek() {
            Some(b'+') => "+",
            Some(b'-') => "-",
            Some(b'|') => {
                self.at += 1;
                self.gap();
                let pair = Box::new([value, self.value_of_operand()?]);
                self.gap();
                return Some(Operand::Pair(pair));
            }
            Some(b'[') => "",
            _ => return Some(value),
        };
        self.at += 1;
        self.gap();
        let indexed = sign.is_empty();
        let (span, offset) = if indexed {
            let index = self.integer_expression()?;
            self.gap();
            self.expect(b']', Expected::Bracket)?;
            index
        } else {
            self.offset(sign)?
        };
        self.gap();
        Some(match value {
            Operand::Name(name) => Operand::Offset { name, offset, indexed },
            other => {
                let fault = Fault::new(span, "only a name can have an offset")
                    .hint("write one constant expression, or compute the address first");
                self.value(Err(fault), other)
            }
        })
    }

    /// The rule `value`.
    fn value_of_operand(&mut self) -> Option<Operand<'s>> {
        let start = self.at;
        match self.peek() {
            Some(b'[') => self.address(),
            Some(b'{') => {
                self.at += 1;
                self.gap();
                let mut all = Vec::new();
                self.operands(|operand| all.push(operand))?;
                self.expect_closing(b'}', Expected::Brace)?;
                Some(Operand::Vector(all, self.since(start)))
            }
            Some(sign @ (b'!' | b'-')) => {
                if let Some(immediate) = self.attempt(Self::expression) {
                    return Some(Operand::Immediate(immediate));
                }
                self.at += 1;
                self.gap();
                let of = if sign == b'!' { Operand::Not } else { Operand::Negated };
                self.name().map(of)
            }
            Some(b'%' | b'$') => self.name().map(Operand::Name),
            Some(b'0'..=b'9' | b'(' | b'+' | b'~') => self.expression().map(Operand::Immediate),
            Some(b'_') if self.is_at_sink() && self.second() != Some(b'.') => {
                self.at += 1;
                Some(Operand::Sink(self.since(start)))
            }
            _ if self.is_at_number() || self.is_at_warp_size() => {
                self.expression().map(Operand::Immediate)
            }
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => self.name().map(Operand::Name),
            _ => self.fail(Expected::Operand),
        }
    }

    /// The rule `list`.
    pub(super) fn list(&mut self) -> Option<Operand<'s>> {
        let start = self.at;
        self.eat(b'(').then_some(())?;
        self.gap();
        let mut all = Vec::new();
        if self.peek() != Some(b')') {
            self.operands(|operand| all.push(operand))?;
        }
        self.expect_closing(b')', Expected::Parenthesis)?;
        Some(Operand::List(all, self.since(start)))
    }

    /// The bracket behind operands.
    fn expect_closing(&mut self, byte: u8, expected: Expected) -> Option<()> {
        if self.eat(byte) {
            return Some(());
        }
        self.note(Expected::Comma);
        self.fail(expected)
    }

    /// The rule `address`.
    fn address(&mut self) -> Option<Operand<'s>> {
        let start = self.at;
        self.at += 1;
        self.gap();
        let (mut first, mut rest) = (None, Vec::new());
        self.operands(|operand| match first {
            None => first = Some(operand),
            Some(_) => rest.push(operand),
        })?;
        self.expect_closing(b']', Expected::Bracket)?;
        let span = self.since(start);
        let (base, offset) = self.value(base(first, span), (AddressBase::Absolute, 0));
        Some(Operand::Address(Box::new(Address { span, base, offset, rest })))
    }
}

/// The base and the offset of an address.
fn base(operand: Option<Operand<'_>>, span: Span) -> Built<(AddressBase<'_>, i64)> {
    match operand {
        Some(Operand::Name(name)) => Ok((AddressBase::Name(name), 0)),
        Some(Operand::Offset { name, offset, indexed: false }) => {
            Ok((AddressBase::Name(name), offset))
        }
        Some(Operand::Offset { name, .. }) => {
            Err(Fault::new(name.span, "an address is not indexed")
                .hint("write the offset in bytes, `[name+8]`"))
        }
        Some(Operand::Immediate(immediate)) => match immediate.value.as_integer() {
            Some(offset) => Ok((AddressBase::Absolute, offset)),
            None => Err(Fault::new(immediate.span, "an address is an integer")),
        },
        _ => Err(Fault::new(span, "an address is missing here")),
    }
}
