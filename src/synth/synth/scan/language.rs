//! From the statements of a loop to the transfer function of one step.
//!
//! Out: a [`Loop`] whose terms are typed, with the assignments of its body put into each other, so that each
//! accumulator's next value is a term over the accumulators and the element.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::sorts::{is_infinite, sorts};
use super::subject::{Accumulator, Kind, Loop, Read};
use super::term::{self, GIVEN, INFINITY, INPUT, Op, Shared, Sort, Term, binary, choose, not};
use crate::source::{Diagnostic, SourceFile, Span};
use crate::synth::Defines;
use crate::synth::ast::{LoopStatement, LoopText, Name, SpannedValue, Statement, Value};
use crate::synth::declared::{defined, is_there};

/// The most accumulators, inputs or givens.
const MOST: usize = 12;

/// Whether a sketch is about a loop.
pub fn is_loop(tree: &[Statement]) -> bool {
    tree.iter().any(|statement| matches!(statement, Statement::Loop(_)))
}

struct Reader<'s> {
    source: &'s SourceFile,
    /// For each name its sort, of a literal none, and its value.
    names: FxHashMap<String, (Option<Sort>, Shared)>,
}

/// Reads a loop.
///
/// # Errors A diagnostic at the place of the mistake.
pub fn read(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
) -> Result<Loop, Diagnostic> {
    let mut reader = Reader { source, names: FxHashMap::default() };
    let mut text: Option<&LoopText> = None;
    let (mut result, mut operators, mut most): (Option<&Vec<SpannedValue>>, _, _) = (None, None, 3);
    for statement in tree {
        match statement {
            Statement::Param(name, value) => {
                let value = match defined(defines, name) {
                    Some(value) => value,
                    None => reader.param(value)?,
                };
                reader.declare(name, None, term::number(value))?;
            }
            Statement::Loop(LoopStatement::Loop(other)) if text.is_some() => {
                return Err(source.diagnostic(other.span, "a sketch has one loop"));
            }
            Statement::Loop(LoopStatement::Loop(own)) => text = Some(own),
            Statement::Loop(LoopStatement::Result(values)) => result = Some(values),
            Statement::Loop(LoopStatement::Operators(names)) => {
                let of = |name: &Name| match name.text.as_str() {
                    "+" => Op::Add,
                    "-" => Op::Sub,
                    "*" => Op::Mul,
                    "min" => Op::Min,
                    _ => Op::Max,
                };
                operators = Some(names.iter().map(of).collect::<Vec<Op>>());
            }
            Statement::Loop(LoopStatement::Aux(number)) => {
                most = number.text.parse().ok().filter(|&most| most <= 3).ok_or_else(|| {
                    source
                        .diagnostic(number.span, "0 to 3 auxiliary accumulators can be looked for")
                })?;
            }
            _ => {
                let loops = tree.iter().find_map(|statement| match statement {
                    Statement::Loop(LoopStatement::Loop(text)) => Some(text.span),
                    _ => None,
                });
                let span = loops.unwrap_or(Span::new(0, 1));
                let message = "beside a loop stand `param`, `result`, `operators` and `aux` only";
                return Err(source.diagnostic(span, message));
            }
        }
    }
    let Some(text) = text else {
        let message = "there is no `loop` that this is about";
        return Err(source.diagnostic(Span::new(0, 1), message));
    };
    let mut found = reader.serial(text)?;
    found.most = most;
    if let Some(values) = result {
        found.result.clear();
        for value in values {
            found.result.push(reader.value(value)?.1);
        }
    }
    found.operators = operators.unwrap_or_else(|| default_operators(&found));
    Ok(found)
}

/// The operators of the body, sums, and both extrema where one is, or numbers are compared.
fn default_operators(found: &Loop) -> Vec<Op> {
    let mut present: Vec<Op> = Vec::new();
    for accumulator in &found.accumulators {
        term::parts(&accumulator.step, &mut |part| {
            if let Term::Binary(op, a, _) = &**part {
                let compares = matches!(op, Op::Less | Op::LessEqual);
                let numbers = compares || !matches!(&**a, Term::Truth(_));
                if numbers && !present.contains(op) {
                    present.push(*op);
                }
            }
        });
    }
    let compares = |op: &Op| matches!(op, Op::Less | Op::LessEqual | Op::Min | Op::Max);
    let mut operators = vec![Op::Add];
    if present.iter().any(compares) {
        operators.extend([Op::Max, Op::Min]);
    }
    if present.contains(&Op::Mul) && found.accumulators.iter().any(|own| own.start != 0) {
        present.insert(0, Op::Sub);
    }
    operators.extend(present.into_iter().filter(|op| matches!(op, Op::Mul | Op::Sub | Op::Rem)));
    operators.dedup();
    operators
}

impl Reader<'_> {
    fn refuse<T>(&self, span: Span, message: impl Into<String>) -> Result<T, Diagnostic> {
        Err(self.source.diagnostic(span, message))
    }

    /// A param's number, which names other params.
    fn param(&self, value: &crate::synth::ast::Spanned) -> Result<i64, Diagnostic> {
        let of = |name: &str| match self.names.get(name).map(|(_, term)| &**term) {
            Some(Term::Number(value)) => Some(*value),
            _ => None,
        };
        match value.expr.value(&of) {
            Some(value) => Ok(value),
            None => self.refuse(value.span, "this has no value"),
        }
    }

    fn declare(&mut self, name: &Name, sort: Option<Sort>, term: Shared) -> Result<(), Diagnostic> {
        match self.names.insert(name.text.clone(), (sort, term)) {
            None => Ok(()),
            Some(_) => Err(is_there(self.source, name)),
        }
    }

    /// The type of this name.
    fn kind(&self, name: &Name) -> Result<Kind, Diagnostic> {
        Kind::named(&name.text).ok_or_else(|| {
            let message = format!("unknown type `{}`", name.text);
            let diagnostic = self.source.diagnostic(name.span, message);
            diagnostic.with_hint("types are bool, i8, i16, i32, i64, u8, u16, u32, f32 and f64")
        })
    }

    fn reads(&mut self, from: &[(Name, Name)], first: u32) -> Result<Vec<Read>, Diagnostic> {
        let mut reads = Vec::new();
        for (at, (name, kind)) in (0u32..).zip(from) {
            let kind = self.kind(kind)?;
            self.declare(name, Some(kind.sort()), term::variable(first + at))?;
            reads.push(Read { name: name.text.clone(), kind });
        }
        Ok(reads)
    }

    fn serial(&mut self, text: &LoopText) -> Result<Loop, Diagnostic> {
        if text.start.len().max(text.over.len()).max(text.given.len()) > MOST {
            return self.refuse(text.span, format!("more than {MOST} names of one kind"));
        }
        let inputs = self.reads(&text.over, INPUT)?;
        let givens = self.reads(&text.given, GIVEN)?;
        let mut accumulators = self.accumulators(text)?;
        // Names of accumulators are known in the body only: their first values are constants.
        for (own, (at, start)) in accumulators.iter().zip((0u32..).zip(&text.start)) {
            self.declare(&start.name, Some(own.sort), term::variable(at))?;
        }
        let before = self.names.clone();
        for (name, value) in &text.body {
            let (sort, term) = self.value(value)?;
            let accumulator = text.start.iter().position(|own| own.name.text == name.text);
            let own = accumulator.map(|at| accumulators[at].sort);
            match accumulator {
                Some(at) if unified(own, sort).is_none() => {
                    let own = Some(accumulators[at].sort);
                    let message = format!("`{}` is {}", name.text, kind(own, sort));
                    return self
                        .refuse(value.span, format!("{message}, and this is {}", kind(sort, own)));
                }
                None if before.contains_key(&name.text) => {
                    return self
                        .refuse(name.span, format!("`{}` cannot be assigned to", name.text));
                }
                _ => {}
            }
            self.names.insert(name.text.clone(), (own.or(sort), term));
        }
        for accumulator in &mut accumulators {
            accumulator.step = Arc::clone(&self.names[&accumulator.name].1);
        }
        self.names = before;
        let own = accumulators.len();
        let result = (0u32..).zip(&accumulators).map(|(at, _)| term::variable(at)).collect();
        let mut found = Loop {
            accumulators,
            own,
            inputs,
            givens,
            result,
            only_compared: false,
            operators: Vec::new(),
            most: 3,
            span: text.span,
        };
        found.only_compared = found.has(Sort::Real) && compares(&found) && has_one_float(&found);
        self.assumed(text, &found)?;
        Ok(found)
    }

    /// Checks that the sketch states the necessary assumption about arithmetic.
    fn assumed(&self, text: &LoopText, found: &Loop) -> Result<(), Diagnostic> {
        let reals = found.has(Sort::Real);
        let rounds = reals && !found.only_compared;
        match &text.assuming {
            None if rounds => {
                let message = match compares(found) {
                    true => "floating-point numbers of two widths are rounded on their way",
                    false => "sums of floating-point numbers are not associative",
                };
                let diagnostic = self.source.diagnostic(text.span, message);
                let hint = "`assuming real` asks for an operator over the reals, whose results are rounded otherwise";
                return Err(diagnostic.with_hint(hint));
            }
            Some(name) if rounds && name.text != "real" => {
                return self.refuse(name.span, "floating-point numbers take `assuming real`");
            }
            Some(name) if !reals && name.text != "exact" => {
                return self.refuse(name.span, "integers take `assuming exact`");
            }
            _ => {}
        }
        let infinite = text.start.iter().find(|start| is_infinite(&start.value).is_some());
        match infinite {
            Some(start) if rounds => self.refuse(
                start.value.span,
                "an infinite first value needs floating-point numbers that are only compared",
            ),
            _ => Ok(()),
        }
    }

    /// The accumulators, whose steps are not known yet.
    fn accumulators(&self, text: &LoopText) -> Result<Vec<Accumulator>, Diagnostic> {
        let mut accumulators: Vec<Accumulator> = Vec::new();
        for ((at, start), sort) in (0u32..).zip(&text.start).zip(sorts(text)) {
            let declared = start.kind.as_ref().map(|name| self.kind(name)).transpose()?;
            if let (Some(name), Some(Kind::Signed(8 | 16) | Kind::Unsigned(_))) =
                (&start.kind, declared)
            {
                let message = format!("an accumulator cannot be `{}`", name.text);
                let diagnostic = self.source.diagnostic(name.span, message);
                return Err(diagnostic.with_hint("accumulators are bool, i32, i64, f32 and f64"));
            }
            let sort = declared.map_or(sort, Kind::sort);
            let alike = accumulators.iter().filter(|other| other.sort == sort);
            let other = alike.filter_map(|other| Some((other, other.declared?))).next();
            if let (Some(name), Some((other, kind))) = (&start.kind, other)
                && declared != Some(kind)
            {
                let message =
                    format!("`{}` and `{}` have different widths", other.name, start.name.text);
                let diagnostic = self.source.diagnostic(name.span, message);
                let hint = "declare all integers of a loop alike, and all floating-point numbers";
                return Err(diagnostic.with_hint(hint));
            }
            let value = &start.value;
            let first = match is_infinite(value) {
                Some(negative) if sort == Sort::Real => {
                    if negative {
                        -INFINITY
                    } else {
                        INFINITY
                    }
                }
                Some(_) => return self.refuse(value.span, "no integer is infinite"),
                None => {
                    let (own, first) = self.value(value)?;
                    if unified(Some(sort), own).is_none() {
                        let name = &start.name.text;
                        let message = format!("`{name}` is {}", kind(Some(sort), own));
                        let message = format!("{message}, and this is {}", kind(own, Some(sort)));
                        return self.refuse(value.span, message);
                    }
                    match &*first {
                        Term::Number(number) => *number,
                        Term::Truth(truth) => i64::from(*truth),
                        _ => {
                            return self
                                .refuse(value.span, "an accumulator begins with a constant");
                        }
                    }
                }
            };
            let (name, step) = (start.name.text.clone(), term::variable(at));
            accumulators.push(Accumulator { name, sort, declared, start: first, step });
        }
        Ok(accumulators)
    }

    fn truth(&self, value: &SpannedValue) -> Result<Shared, Diagnostic> {
        match self.value(value)? {
            (Some(Sort::Boolean), term) => Ok(term),
            _ => self.refuse(value.span, "this is a number, and a boolean is needed"),
        }
    }

    /// A value with its sort; a number that is made of literals alone has none.
    fn value(&self, value: &SpannedValue) -> Result<(Option<Sort>, Shared), Diagnostic> {
        let truths = |term: Shared| Ok((Some(Sort::Boolean), term));
        match &value.value {
            Value::Number(number) => Ok((None, term::number(*number))),
            Value::Truth(value) => truths(term::truth(*value)),
            Value::Name(name) => match self.names.get(name) {
                Some((sort, term)) => Ok((*sort, Arc::clone(term))),
                None if name.contains('.') => {
                    let message = "only whole numbers stand in a loop";
                    let diagnostic = self.source.diagnostic(value.span, message);
                    Err(diagnostic.with_hint("name it: `given c: f32`"))
                }
                None => self.refuse(value.span, format!("unknown name `{name}`")),
            },
            Value::Prefix('!', inner) => truths(not(self.truth(inner)?)),
            Value::Prefix(_, inner) => {
                let (sort, inner) = self.number(inner)?;
                Ok((sort, binary(Op::Sub, term::number(0), inner)))
            }
            Value::If(three) => {
                let [c, a, b] = &**three;
                let (c, (sort, a), (other, no)) = (self.truth(c)?, self.value(a)?, self.value(b)?);
                let Some(both) = unified(sort, other) else {
                    let message = format!(
                        "this is {}, and the other choice is {}",
                        kind(other, sort),
                        kind(sort, other)
                    );
                    return self.refuse(b.span, message);
                };
                Ok((both, choose(c, a, no)))
            }
            Value::Infix(op, a, b) if matches!(op.as_str(), "&&" | "||") => {
                let op = if op == "&&" { Op::And } else { Op::Or };
                truths(binary(op, self.truth(a)?, self.truth(b)?))
            }
            Value::Infix(op, a, b) => {
                let equality = matches!(op.as_str(), "==" | "!=");
                let ((sort, x), (other, y)) = match equality {
                    true => (self.value(a)?, self.value(b)?),
                    false => (self.number(a)?, self.number(b)?),
                };
                let Some(sort) = unified(sort, other) else {
                    let compared = matches!(op.as_str(), "==" | "!=" | "<" | "<=" | ">" | ">=");
                    let verb = if compared { "is compared with" } else { "stands beside" };
                    let (a, b) = (kind(sort, other), kind(other, sort));
                    return self.refuse(value.span, format!("{a} {verb} {b}"));
                };
                let numbers = |op: Op| Ok((sort, binary(op, x.clone(), y.clone())));
                let both = |op: Op| binary(op, x.clone(), y.clone());
                match op.as_str() {
                    "+" => numbers(Op::Add),
                    "-" => numbers(Op::Sub),
                    "*" => numbers(Op::Mul),
                    "/" | "%" if sort == Some(Sort::Real) => {
                        self.refuse(value.span, "quotients of reals are not modelled")
                    }
                    "/" => numbers(Op::Div),
                    "%" => numbers(Op::Rem),
                    "min" => numbers(Op::Min),
                    "max" => numbers(Op::Max),
                    "<" => truths(both(Op::Less)),
                    "<=" => truths(both(Op::LessEqual)),
                    ">" => truths(not(both(Op::LessEqual))),
                    ">=" => truths(not(both(Op::Less))),
                    "==" => truths(both(Op::Equal)),
                    _ => truths(not(both(Op::Equal))),
                }
            }
        }
    }

    fn number(&self, value: &SpannedValue) -> Result<(Option<Sort>, Shared), Diagnostic> {
        match self.value(value)? {
            (Some(Sort::Boolean), _) => {
                self.refuse(value.span, "this is a boolean, and a number is needed")
            }
            number => Ok(number),
        }
    }
}

/// The sort of two values that have to be of one; the outer `None` where they are not. A literal is any number.
fn unified(a: Option<Sort>, b: Option<Sort>) -> Option<Option<Sort>> {
    match (a, b) {
        (None, Some(Sort::Boolean)) | (Some(Sort::Boolean), None) => None,
        (None, sort) | (sort, None) => Some(sort),
        (Some(a), Some(b)) => (a == b).then_some(Some(a)),
    }
}

/// A sort in words, beside another one that it differs from.
fn kind(sort: Option<Sort>, other: Option<Sort>) -> &'static str {
    match (sort, other) {
        (Some(Sort::Boolean), _) => "a boolean",
        (Some(Sort::Integer), Some(Sort::Real)) => "an integer",
        (Some(Sort::Real), Some(Sort::Integer)) => "a floating-point number",
        _ => "a number",
    }
}

/// Whether floating-point numbers are only compared and chosen, beside literals that all of their types have.
fn compares(found: &Loop) -> bool {
    let exact = |number: i64| number.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS;
    let mut compares = true;
    for own in &found.accumulators {
        let infinite = own.start.unsigned_abs() == INFINITY.unsigned_abs();
        compares &= own.sort != Sort::Real || infinite || exact(own.start);
        term::parts(&own.step, &mut |part| match &**part {
            // (It may stand beside integers alone: then the loop is one over the reals.)
            Term::Number(number) => compares &= exact(*number),
            Term::Binary(Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem, a, b) => {
                let sort = found.sort_of(a).or_else(|| found.sort_of(b));
                compares &= sort != Some(Sort::Real);
            }
            _ => {}
        });
    }
    compares
}

/// Whether all floating-point numbers have one type, so that none is rounded on its way.
fn has_one_float(found: &Loop) -> bool {
    let reads = found.inputs.iter().chain(&found.givens).map(|read| read.kind);
    let declared = found.accumulators.iter().filter_map(|own| own.declared);
    let mut floats = reads.chain(declared).filter(|kind| kind.sort() == Sort::Real);
    let first = floats.next();
    floats.all(|kind| Some(kind) == first)
}
