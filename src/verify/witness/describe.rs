//! Terms in words, for messages.

use super::reachable::symbols;
use crate::expr::{BinaryOp, Comparison, Node, SymbolId, TermId, UnaryOp, to_signed};
use crate::isa::Special;
use crate::proof::Difference;
use crate::terms::{Kind, Side, Terms};

/// Deeper parts of a term are shown as `…`.
const MAX_DEPTH: u32 = 6;

/// The most parts of a term that are shown; the others are `…`.
const MAX_PARTS: u32 = 40;

/// A term in infix, as `trace` shows terms.
pub(super) fn describe(terms: &Terms, term: TermId) -> String {
    match terms.arena.node(term) {
        Node::Constant(value) => format!("{value:#x}"),
        _ => {
            let mut parts = MAX_PARTS;
            infix(terms, term, MAX_DEPTH, &mut parts)
        }
    }
}

/// A term in infix notation, in brackets where its context needs them.
fn infix(terms: &Terms, term: TermId, depth: u32, parts: &mut u32) -> String {
    let (Some(depth), Some(left)) = (depth.checked_sub(1), parts.checked_sub(1)) else {
        return "…".to_owned();
    };
    *parts = left;
    let width = terms.arena.width(term);
    let mut show = |term: TermId| infix(terms, term, depth, parts);
    match terms.arena.node(term) {
        Node::Constant(value) => to_signed(*value, width).to_string(),
        Node::Symbol(symbol) => name(terms, *symbol),
        Node::Sum { constant, addends } => {
            let mut text = String::new();
            for &(addend, factor) in addends {
                let factor = to_signed(factor, width);
                let sign = match (text.is_empty(), factor < 0) {
                    (true, true) => "-",
                    (true, false) => "",
                    (false, true) => " - ",
                    (false, false) => " + ",
                };
                let by = match factor.unsigned_abs() {
                    1 => String::new(),
                    by => format!("{by}*"),
                };
                text += &format!("{sign}{by}{}", show(addend));
            }
            match to_signed(*constant, width) {
                0 => {}
                below if below < 0 => text += &format!(" - {}", below.unsigned_abs()),
                above => text += &format!(" + {above}"),
            }
            format!("({text})")
        }
        Node::Product(factors) => {
            let powers = factors.iter().flat_map(|&(factor, power)| {
                std::iter::repeat_n(factor, power.min(u64::from(MAX_DEPTH)) as usize)
            });
            powers.map(show).collect::<Vec<_>>().join("*")
        }
        Node::Unary(op, a) => format!("{}({})", unary(*op), show(*a)),
        Node::Binary(op, a, b) => match binary(*op) {
            Ok(sign) => format!("({} {sign} {})", show(*a), show(*b)),
            Err(function) => format!("{function}({}, {})", show(*a), show(*b)),
        },
        Node::Compare(op, a, b) => format!("({} {} {})", show(*a), comparison(*op), show(*b)),
        Node::IfThenElse(condition, a, b) => {
            format!("ite({}, {}, {})", show(*condition), show(*a), show(*b))
        }
        Node::ZeroExtend(a) => format!("u{}({})", terms.arena.width(*a), show(*a)),
        Node::SignExtend(a) => format!("s{}({})", terms.arena.width(*a), show(*a)),
        Node::Extract(a, low) => {
            format!("{}[{}:{low}]", show(*a), u32::from(*low) + u32::from(width) - 1)
        }
        Node::Concatenate(a, b) => format!("({} ++ {})", show(*a), show(*b)),
        Node::Apply(function, operands) => {
            let function = terms.symbols.function_of(*function);
            // Which version of memory is read says nothing to a reader.
            let operands = match function.as_load() {
                Some(load) => &operands[load.address()..=load.address()],
                None => &operands[..],
            };
            let shown: Vec<String> = operands.iter().map(|&operand| show(operand)).collect();
            format!("{}({})", function.shown(), shown.join(", "))
        }
    }
}

/// A symbol's name.
fn name(terms: &Terms, symbol: SymbolId) -> String {
    let symbols = &terms.symbols;
    match &symbols.info(symbol).kind {
        Kind::Unpredictable(_) => "an unpredictable value".to_owned(),
        Kind::InLane(lane, _) => format!("what lane {lane} has"),
        Kind::Tid(axis) => Special::Tid(*axis).to_string(),
        Kind::LaneId => Special::Laneid.to_string(),
        Kind::Uniform(register) => register.to_string(),
        Kind::Volatile(_, _, register) => register.clone(),
        Kind::Parameter { name, offset: 0, .. } => name.clone(),
        Kind::Parameter { name, offset, .. } => format!("{name}[{offset}]"),
        Kind::Address(name) => {
            let plain = name.rsplit(['.', ':']).next().unwrap_or(name);
            format!("&{plain}")
        }
        Kind::Thread => "the thread".to_owned(),
        Kind::Unwritten(_, name, _) => {
            let plain = name.rsplit_once(':').map_or(name.as_str(), |(name, _)| name);
            format!("{plain} before it is written")
        }
        Kind::Phi(side, id, register) => {
            format!("{}@loop{}", symbols.register(*side, *register), id.0)
        }
        Kind::Memory(window, _) => format!("{window:?} memory").to_lowercase(),
        Kind::Event(inst, _) => format!("the result of {}", symbols.inst(Side::Original, *inst)),
        Kind::RewrittenOnly(inst, _) | Kind::Mask(inst) => {
            format!("the result of {}", symbols.inst(Side::Rewritten, *inst))
        }
        Kind::Carry(side, inst) => format!("the carry at {}", symbols.inst(*side, *inst)),
        Kind::Any(number) => format!("any value {number}"),
        Kind::Abstract(term) => describe(terms, *term),
        Kind::Shifted(symbol, lanes) => format!("{}@lane{lanes:+}", name(terms, *symbol)),
    }
}

fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Not => "!",
        UnaryOp::PopulationCount => "popc",
        UnaryOp::LeadingZeros => "clz",
        UnaryOp::Reverse => "brev",
    }
}

/// The sign of an operation, or the function that it is shown as.
fn binary(op: BinaryOp) -> Result<&'static str, &'static str> {
    match op {
        BinaryOp::Add => Ok("+"),
        BinaryOp::Multiply => Ok("*"),
        BinaryOp::And => Ok("&"),
        BinaryOp::Or => Ok("|"),
        BinaryOp::Xor => Ok("^"),
        BinaryOp::ShiftLeft => Ok("<<"),
        BinaryOp::ShiftRight => Ok(">>u"),
        BinaryOp::ArithmeticShiftRight => Ok(">>"),
        BinaryOp::UnsignedDivide => Ok("/u"),
        BinaryOp::UnsignedRemainder => Ok("%u"),
        BinaryOp::SignedDivide => Ok("/"),
        BinaryOp::SignedRemainder => Ok("%"),
        BinaryOp::UnsignedMultiplyHigh => Err("umulhi"),
        BinaryOp::SignedMultiplyHigh => Err("mulhi"),
    }
}

fn comparison(op: Comparison) -> &'static str {
    match op {
        Comparison::Equal => "==",
        Comparison::UnsignedLess => "<u",
        Comparison::UnsignedLessEqual => "<=u",
        Comparison::SignedLess => "<",
        Comparison::SignedLessEqual => "<=",
    }
}

/// The most numbers of a floating-point sum that are compared.
const MAX_LEAVES: usize = 64;

/// Why two values are not shown to be equal, if that is known: floating-point sums of the same numbers in another
/// order.
pub(crate) fn missing(terms: &Terms, (a, b): (TermId, TermId)) -> Option<&'static str> {
    let (mut own, mut its) = (leaves(terms, a)?, leaves(terms, b)?);
    own.sort_unstable();
    its.sort_unstable();
    let other_order = a != b && own.len() > 2 && own == its;
    other_order.then_some("sums of floating-point numbers in another order are not the same result")
}

/// The numbers that a floating-point sum or product is made of, if it is one.
fn leaves(terms: &Terms, term: TermId) -> Option<Vec<TermId>> {
    let parts = |term: TermId| {
        let (function, operands) = terms.applied(term)?;
        function.is_float_sum().then_some(operands)
    };
    parts(term)?;
    let (mut found, mut work) = (Vec::new(), vec![term]);
    while let Some(next) = work.pop() {
        match parts(next) {
            Some(operands) => work.extend(operands),
            None => found.push(next),
        }
        if found.len() + work.len() > MAX_LEAVES {
            return None;
        }
    }
    Some(found)
}

/// Why a difference is not certain.
pub(crate) fn why(terms: &Terms, difference: &Difference) -> String {
    let memory = |term: TermId| match terms.arena.node(term) {
        Node::Symbol(symbol) => matches!(terms.symbols.info(*symbol).kind, Kind::Memory(..)),
        Node::IfThenElse(_, a, _) => terms.arena.width(*a) == 32 && mentions_memory(terms, term),
        _ => false,
    };
    if memory(difference.original) && memory(difference.rewritten) {
        return "memory may have changed in between".to_owned();
    }
    format!(
        "{} against {}",
        describe(terms, difference.original),
        describe(terms, difference.rewritten)
    )
}

fn mentions_memory(terms: &Terms, term: TermId) -> bool {
    symbols(terms, &[term])
        .iter()
        .any(|symbol| matches!(terms.symbols.info(*symbol).kind, Kind::Memory(..)))
}

/// A value in words; a loaded value has none before the kernel runs.
pub(super) fn say(terms: &Terms, term: TermId, value: u64) -> String {
    match terms.arena.node(term) {
        Node::Symbol(symbol) => match terms.symbols.info(*symbol).kind {
            Kind::Unpredictable(_) => {
                "unpredictable: not all lanes take part in the shuffle, or they are not in a row"
                    .to_owned()
            }
            Kind::Unwritten(..) => "that of a register which was never written".to_owned(),
            _ => format!("{value:#x}"),
        },
        Node::Apply(..) => describe(terms, term),
        _ => format!("{value:#x}"),
    }
}
