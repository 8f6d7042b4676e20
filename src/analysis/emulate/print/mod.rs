//! Terms in infix, with the names that the PTX uses.

mod factor;

use std::cell::{Cell, RefCell};
use std::fmt::Write;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::symbols::{SymbolKind, Symbols};
use crate::cfg::{Register, RegisterId};
use crate::expr::{Arena, BinaryOp, Comparison, Node, SymbolId, TermId, UnaryOp, to_signed};
use crate::isa::{Axis, Special};
use factor::{Factor, INDEX_NAMES, Summand, Summands, common_factor, factors_of};
use typed_index_collections::TiSlice;

/// Deeper terms are shown as `…`.
const MAX_DEPTH: u32 = 40;

/// The most parts of a term that are printed; the others are shown as `…`. Without sharing, the text of a term with a
/// few hundred shared parts could exceed any memory.
const MAX_PARTS: u32 = 512;

/// The most parts of all terms that are printed; the others are shown as `…`.
const MAX_PARTS_IN_ALL: u32 = 2_000_000;

/// Prints terms of one kernel.
pub struct Printer<'a> {
    /// The terms that have names because they are too large to be written out, in the order of their names.
    named: Option<RefCell<IndexSet<TermId, FxBuildHasher>>>,
    /// Parts shown of the term being printed.
    parts: Cell<u32>,
    /// Parts shown so far.
    in_all: Cell<u32>,
    arena: &'a Arena,
    symbols: &'a Symbols,
    registers: &'a TiSlice<RegisterId, Register<'a>>,
}

impl<'a> Printer<'a> {
    /// A printer for the terms of a trace.
    pub fn new(
        arena: &'a Arena,
        symbols: &'a Symbols,
        registers: &'a TiSlice<RegisterId, Register<'a>>,
    ) -> Self {
        let (parts, in_all) = (Cell::new(0), Cell::new(0));
        Printer { named: None, parts, in_all, arena, symbols, registers }
    }

    /// This printer without omissions: where others write `…`, it names the term (`#1`), and [`Printer::definitions`]
    /// defines the names.
    pub fn whole(mut self) -> Self {
        self.named = Some(RefCell::default());
        self
    }

    /// The terms that were named, each as `#1 = term`; they may name more terms, whose definitions come behind.
    pub fn definitions(&self) -> Vec<String> {
        let Some(named) = &self.named else { return Vec::new() };
        let mut lines = Vec::new();
        loop {
            let next = named.borrow().get_index(lines.len()).copied();
            let Some(term) = next else { return lines };
            lines.push(format!("#{} = {}", lines.len() + 1, self.print(term)));
        }
    }

    /// A term in infix.
    pub fn print(&self, term: TermId) -> String {
        let mut out = String::new();
        self.parts.set(0);
        self.term(term, 0, false, &mut out);
        out
    }

    /// A predicate that holds, or does not, in infix.
    pub fn literal(&self, term: TermId, holds: bool) -> String {
        let (Node::Compare(op, a, b), false) = (self.arena.node(term), holds) else {
            let text = self.print(term);
            return if holds { text } else { format!("!({text})") };
        };
        // The complement of an order is the other order, turned round.
        let (sign, x, y) = match op {
            Comparison::Equal => (" != ", a, b),
            Comparison::UnsignedLess => (" <=u ", b, a),
            Comparison::UnsignedLessEqual => (" <u ", b, a),
            Comparison::SignedLess => (" <= ", b, a),
            Comparison::SignedLessEqual => (" < ", b, a),
        };
        let mut out = String::new();
        self.parts.set(0);
        self.infix(*x, sign, *y, 0, false, &mut out);
        out
    }

    /// The definitions of the index names that a text may use: those of dimensions that occur.
    pub fn legend(&self) -> Vec<String> {
        let used = |register: Special| {
            self.symbols.iter().any(|(_, info)| info.kind == SymbolKind::WarpUniform(register))
        };
        Axis::ALL
            .into_iter()
            .filter(|&axis| used(Special::Ntid(axis)) && used(Special::Ctaid(axis)))
            .map(|axis| {
                let name = INDEX_NAMES[axis.index()];
                let [thread, extent, block] =
                    [Special::Tid(axis), Special::Ntid(axis), Special::Ctaid(axis)];
                format!("{name} = {thread} + {extent}*{block}")
            })
            .collect()
    }

    /// A symbol's name.
    pub fn symbol(&self, symbol: SymbolId) -> String {
        let info = self.symbols.info(symbol);
        match &info.kind {
            SymbolKind::Tid(axis) => Special::Tid(*axis).to_string(),
            SymbolKind::LaneId => "%laneid".to_owned(),
            SymbolKind::WarpUniform(register) => register.to_string(),
            SymbolKind::Parameter { name, offset: 0, .. } => name.clone(),
            SymbolKind::Parameter { name, offset, .. } => format!("{name}[{offset}]"),
            SymbolKind::Address(name) => match name.rsplit_once(':') {
                Some((name, _)) => format!("&{name}"),
                None => format!("&{name}"),
            },
            SymbolKind::Iteration(id) => format!("iter{}", id.0),
            SymbolKind::Memory(version) => format!("memory{version}"),
            SymbolKind::LoopValue(register, id) => {
                format!("{}@loop{id}", self.registers[*register].name)
            }
            SymbolKind::JoinValue(register, number) => {
                format!("{}@join{number}", self.registers[*register].name)
            }
            SymbolKind::Unknown(number) => format!("unknown{number}"),
            SymbolKind::Alike(..) => "alike".to_owned(),
            SymbolKind::Shifted(symbol, lanes) => format!("{}@lane+{lanes}", self.symbol(*symbol)),
        }
    }

    fn term(&self, term: TermId, depth: u32, nested: bool, out: &mut String) {
        self.parts.set(self.parts.get() + 1);
        self.in_all.set(self.in_all.get().saturating_add(1));
        let parts = self.parts.get() > MAX_PARTS || self.in_all.get() > MAX_PARTS_IN_ALL;
        if depth > MAX_DEPTH || parts {
            let Some(named) = &self.named else {
                out.push('…');
                return;
            };
            // (The term that is defined stands at depth 0, and the text of a term without parts is at most as long as
            // its name.)
            if depth > 0 && !self.arena.operands(term).is_empty() {
                let (index, _) = named.borrow_mut().insert_full(term);
                let _ = write!(out, "#{}", index + 1);
                return;
            }
        }
        let width = self.arena.width(term);
        match self.arena.node(term) {
            Node::Constant(value) => self.constant(*value, width, out),
            Node::Symbol(symbol) => out.push_str(&self.symbol(*symbol)),
            Node::Sum { constant, addends } => {
                self.sum(*constant, addends, width, depth, nested, out);
            }
            Node::Product(factors) => self.product(factors, depth, out),
            Node::Unary(op, a) => {
                out.push_str(function_name(*op));
                self.call(&[*a], depth, out);
            }
            Node::Binary(op, a, b) => self.binary(*op, *a, *b, depth, nested, out),
            Node::Compare(op, a, b) => self.infix(*a, sign(*op), *b, depth, nested, out),
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
            // An iteration counted in fewer bits counts the same iterations.
            Node::Extract(a, 0) if self.is_iteration(*a) => self.term(*a, depth, nested, out),
            Node::Extract(a, low) => {
                self.term(*a, depth + 1, true, out);
                let _ = write!(out, "[{}:{low}]", u32::from(*low) + u32::from(width) - 1);
            }
            Node::Concatenate(a, b) => self.infix(*a, " ++ ", *b, depth, nested, out),
            Node::Apply(function, arguments) => {
                // Which version of memory is read says nothing to a reader.
                let (name, shown) = match self.symbols.is_load(*function) {
                    true => ("load", &arguments[1..]),
                    false => (self.symbols.function_name(*function), &arguments[..]),
                };
                out.push_str(name);
                self.call(shown, depth, out);
            }
        }
    }

    fn is_iteration(&self, term: TermId) -> bool {
        matches!(*self.arena.node(term), Node::Symbol(symbol)
            if matches!(self.symbols.info(symbol).kind, SymbolKind::Iteration(_)))
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
        let Printer { arena, symbols, .. } = *self;
        let summands = Summands { arena, symbols }.of(constant, addends, width);
        // An index by itself needs no parentheses.
        let single = summands.len() == 1 && summands[0].coefficient == 1;
        if nested && !single {
            out.push('(');
        }
        self.summed(summands, depth, out);
        if nested && !single {
            out.push(')');
        }
    }

    /// Summands with signs between them: positive ones first, so that a difference reads as one, and
    /// plain numbers last.
    fn summed(&self, summands: Vec<Summand>, depth: u32, out: &mut String) {
        if let Some((factor, with, without)) = common_factor(&summands) {
            let mut inner = String::new();
            self.summed(with, depth + 1, &mut inner);
            let mut first = String::new();
            if !without.is_empty() {
                let (numbers, rest): (Vec<Summand>, Vec<Summand>) =
                    without.into_iter().partition(|summand| summand.factors.is_empty());
                if !rest.is_empty() {
                    self.summed(rest, depth, &mut first);
                    first.push_str(" + ");
                }
                out.push_str(&first);
                self.factor(factor, depth, out);
                let _ = write!(out, "*({inner})");
                for number in numbers {
                    let sign = if number.coefficient < 0 { '-' } else { '+' };
                    let _ = write!(out, " {sign} {}", number.coefficient.unsigned_abs());
                }
                return;
            }
            self.factor(factor, depth, out);
            let _ = write!(out, "*({inner})");
            return;
        }
        let mut ordered = summands;
        ordered.sort_by_key(|summand| {
            (summand.factors.is_empty(), summand.coefficient < 0 && !summand.factors.is_empty())
        });
        for (index, summand) in ordered.iter().enumerate() {
            match (index, summand.coefficient < 0) {
                (0, false) => {}
                (0, true) => out.push('-'),
                (_, false) => out.push_str(" + "),
                (_, true) => out.push_str(" - "),
            }
            let size = summand.coefficient.unsigned_abs();
            if summand.factors.is_empty() {
                let _ = write!(out, "{size}");
                continue;
            }
            if size != 1 {
                let _ = write!(out, "{size}*");
            }
            for (index, &factor) in summand.factors.iter().enumerate() {
                if index > 0 {
                    out.push('*');
                }
                self.factor(factor, depth, out);
            }
        }
    }

    fn factor(&self, factor: Factor, depth: u32, out: &mut String) {
        match factor {
            Factor::Index(axis) => out.push_str(INDEX_NAMES[axis]),
            Factor::Term(term) => self.term(term, depth + 1, true, out),
            Factor::Power(term, exponent) => {
                self.term(term, depth + 1, true, out);
                let _ = write!(out, "^{exponent}");
            }
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
            BinaryOp::Add => " + ",
            BinaryOp::Multiply => "*",
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

    fn product(&self, powers: &[(TermId, u64)], depth: u32, out: &mut String) {
        for (index, &factor) in factors_of(powers).iter().enumerate() {
            if index > 0 {
                out.push('*');
            }
            self.factor(factor, depth, out);
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

fn function_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Not => "!",
        UnaryOp::PopulationCount => "popc",
        UnaryOp::LeadingZeros => "clz",
        UnaryOp::Reverse => "brev",
    }
}

fn sign(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => " == ",
        Comparison::UnsignedLess => " <u ",
        Comparison::UnsignedLessEqual => " <=u ",
        Comparison::SignedLess => " < ",
        Comparison::SignedLessEqual => " <= ",
    }
}
