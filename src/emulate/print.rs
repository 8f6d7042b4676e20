//! Terms in infix, with the names that the PTX uses.

use std::fmt::Write;

use super::symbols::{Dimension, SymbolKind, Symbols};
use crate::cfg::Register;
use crate::expr::{Arena, BinaryOp, Comparison, Node, SymbolId, TermId, UnaryOp, mask, to_signed};

/// Deeper terms are shown as `…`.
const MAX_DEPTH: u32 = 40;

/// Prints terms of one kernel.
pub struct Printer<'a> {
    arena: &'a Arena,
    symbols: &'a Symbols,
    registers: &'a [Register<'a>],
}

impl<'a> Printer<'a> {
    /// A printer for the terms of a trace.
    pub fn new(arena: &'a Arena, symbols: &'a Symbols, registers: &'a [Register<'a>]) -> Self {
        Printer { arena, symbols, registers }
    }

    /// A term in infix.
    pub fn print(&self, term: TermId) -> String {
        let mut out = String::new();
        self.term(term, 0, false, &mut out);
        out
    }

    /// A symbol's name.
    pub fn symbol(&self, symbol: SymbolId) -> String {
        let info = self.symbols.info(symbol);
        match &info.kind {
            SymbolKind::Tid(dimension) => match dimension {
                Dimension::X => "%tid.x".to_owned(),
                Dimension::Y => "%tid.y".to_owned(),
                Dimension::Z => "%tid.z".to_owned(),
            },
            SymbolKind::LaneId => "%laneid".to_owned(),
            SymbolKind::WarpUniform(name) => name.clone(),
            SymbolKind::Parameter { name, offset: 0, .. } => name.clone(),
            SymbolKind::Parameter { name, offset, .. } => format!("{name}[{offset}]"),
            SymbolKind::Address(name) => match name.rsplit_once(':') {
                Some((name, _)) => format!("&{name}"),
                None => format!("&{name}"),
            },
            SymbolKind::Iteration(id) => format!("iter{}", id.0),
            SymbolKind::Memory(version) => format!("memory{version}"),
            SymbolKind::LoopValue(register, id) => {
                format!("{}@loop{id}", self.registers[register.0 as usize].name)
            }
            SymbolKind::JoinValue(register, number) => {
                format!("{}@join{number}", self.registers[register.0 as usize].name)
            }
            SymbolKind::Unknown(number) => format!("unknown{number}"),
            SymbolKind::Shifted(symbol, lanes) => format!("{}@lane+{lanes}", self.symbol(*symbol)),
        }
    }

    fn term(&self, term: TermId, depth: u32, nested: bool, out: &mut String) {
        if depth > MAX_DEPTH {
            out.push('…');
            return;
        }
        let width = self.arena.width(term);
        match self.arena.node(term) {
            Node::Constant(value) => self.constant(*value, width, out),
            Node::Symbol(symbol) => out.push_str(&self.symbol(*symbol)),
            Node::Sum { constant, addends } => {
                self.sum(*constant, addends, width, depth, nested, out);
            }
            Node::Product(factors) => self.joined(factors, "*", depth, out),
            Node::Unary(op, a) => {
                let name = match op {
                    UnaryOp::Not => "!",
                    UnaryOp::PopulationCount => "popc",
                    UnaryOp::LeadingZeros => "clz",
                    UnaryOp::Reverse => "brev",
                };
                out.push_str(name);
                self.call(&[*a], depth, out);
            }
            Node::Binary(op, a, b) => self.binary(*op, *a, *b, depth, nested, out),
            Node::Compare(op, a, b) => {
                let sign = match op {
                    Comparison::Equal => " == ",
                    Comparison::UnsignedLess => " <u ",
                    Comparison::UnsignedLessEqual => " <=u ",
                    Comparison::SignedLess => " < ",
                    Comparison::SignedLessEqual => " <= ",
                };
                self.infix(*a, sign, *b, depth, nested, out);
            }
            Node::IfThenElse(c, a, b) => {
                out.push_str("ite");
                self.call(&[*c, *a, *b], depth, out);
            }
            Node::ZeroExtend(a) | Node::SignExtend(a) => {
                let sign = matches!(self.arena.node(term), Node::SignExtend(_));
                // Widening a whole register is part of every address; narrower parts are not.
                let from = self.arena.width(*a);
                let _ = write!(out, "{}{from}", if sign { "s" } else { "u" });
                self.call(&[*a], depth, out);
            }
            Node::Extract(a, low) => {
                self.term(*a, depth + 1, true, out);
                let _ = write!(out, "[{}:{low}]", u32::from(*low) + u32::from(width) - 1);
            }
            Node::Concatenate(a, b) => self.infix(*a, " ++ ", *b, depth, nested, out),
            Node::Apply(function, arguments) => {
                let name = self.symbols.function_name(*function);
                // Which memory state is read says nothing to a reader.
                let (name, shown) = match name.strip_prefix("load.") {
                    Some(_) => ("load", &arguments[1..]),
                    None => (name, &arguments[..]),
                };
                out.push_str(name);
                self.call(shown, depth, out);
            }
        }
    }

    fn constant(&self, value: u64, width: u8, out: &mut String) {
        let signed = to_signed(value, width);
        let _ = match width {
            1 => write!(out, "{}", value != 0),
            _ if (-4096..=1 << 31).contains(&signed) => write!(out, "{signed}"),
            _ => write!(out, "{value:#x}"),
        };
    }

    fn sum(
        &self,
        constant: u64,
        addends: &[(TermId, u64)],
        width: u8,
        depth: u32,
        nested: bool,
        out: &mut String,
    ) {
        if nested {
            out.push('(');
        }
        // Positive summands first, so that a difference reads as one.
        let positive = |&&(_, c): &&(TermId, u64)| to_signed(c, width) > 0;
        let ordered =
            addends.iter().filter(positive).chain(addends.iter().filter(|a| !positive(a)));
        for (index, &(term, coefficient)) in ordered.enumerate() {
            let coefficient = to_signed(coefficient, width);
            match (index, coefficient < 0) {
                (0, false) => {}
                (0, true) => out.push('-'),
                (_, false) => out.push_str(" + "),
                (_, true) => out.push_str(" - "),
            }
            if coefficient.unsigned_abs() & mask(width) != 1 {
                let _ = write!(out, "{}*", coefficient.unsigned_abs());
            }
            self.term(term, depth + 1, true, out);
        }
        let constant = to_signed(constant, width);
        if constant != 0 {
            let sign = if constant < 0 { '-' } else { '+' };
            let _ = write!(out, " {sign} {}", constant.unsigned_abs());
        }
        if nested {
            out.push(')');
        }
    }

    fn binary(
        &self,
        op: BinaryOp,
        a: TermId,
        b: TermId,
        depth: u32,
        nested: bool,
        out: &mut String,
    ) {
        let sign = match op {
            BinaryOp::And => " & ",
            BinaryOp::Or => " | ",
            BinaryOp::Xor => " ^ ",
            BinaryOp::ShiftLeft => " << ",
            BinaryOp::ShiftRight => " >>u ",
            BinaryOp::ArithmeticShiftRight => " >> ",
            BinaryOp::UnsignedDivide => " /u ",
            BinaryOp::UnsignedRemainder => " %u ",
            BinaryOp::SignedDivide => " / ",
            BinaryOp::SignedRemainder => " % ",
            BinaryOp::UnsignedMultiplyHigh | BinaryOp::SignedMultiplyHigh => {
                out.push_str(if op == BinaryOp::SignedMultiplyHigh { "mulhi" } else { "umulhi" });
                self.call(&[a, b], depth, out);
                return;
            }
        };
        self.infix(a, sign, b, depth, nested, out);
    }

    fn infix(&self, a: TermId, sign: &str, b: TermId, depth: u32, nested: bool, out: &mut String) {
        if nested {
            out.push('(');
        }
        self.term(a, depth + 1, true, out);
        out.push_str(sign);
        self.term(b, depth + 1, true, out);
        if nested {
            out.push(')');
        }
    }

    fn joined(&self, terms: &[TermId], sign: &str, depth: u32, out: &mut String) {
        for (index, &term) in terms.iter().enumerate() {
            if index > 0 {
                out.push_str(sign);
            }
            self.term(term, depth + 1, true, out);
        }
    }

    fn call(&self, arguments: &[TermId], depth: u32, out: &mut String) {
        out.push('(');
        for (index, &argument) in arguments.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.term(argument, depth + 1, false, out);
        }
        out.push(')');
    }
}
