//! From the statements of a loop to what one step does to the accumulators.
//!
//! Out: a [`Loop`] whose terms are typed, with the assignments of its body put into each other, so that each
//! accumulator's next value is a term over the accumulators and the element.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::subject::{Accumulator, Kind, Loop, Read};
use super::term::{self, GIVEN, INPUT, Op, Shared, Sort, Term, binary, choose, not};
use crate::planted::Planted;
use crate::source::{Diagnostic, SourceFile, Span};
use crate::synth::Defines;
use crate::synth::ast::{LoopStatement, LoopText, Name, SpannedValue, Statement, Value};

/// The most accumulators, inputs or givens.
const MOST: usize = 12;

/// Whether a sketch is about a loop.
pub fn is_loop(tree: &[Statement]) -> bool {
    tree.iter().any(|statement| matches!(statement, Statement::Loop(_)))
}

struct Reader<'s> {
    source: &'s SourceFile,
    names: FxHashMap<String, (Sort, Shared)>,
    numbers: Sort,
}

/// Reads a loop.
///
/// # Errors
/// What is wrong, at its place.
pub fn read(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
) -> Result<Loop, Diagnostic> {
    let mut reader = Reader { source, names: FxHashMap::default(), numbers: Sort::Integer };
    let mut text: Option<&LoopText> = None;
    let (mut result, mut operators, mut most): (Option<&Vec<SpannedValue>>, _, _) = (None, None, 3);
    for statement in tree {
        match statement {
            Statement::Param(name, value) => {
                let defined = defines.iter().rev().find(|(other, _)| *other == name.text);
                let value = match defined {
                    Some((_, value)) => *value,
                    None => reader.param(value)?,
                };
                reader.declare(name, Sort::Integer, term::number(value))?;
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

    fn declare(&mut self, name: &Name, sort: Sort, term: Shared) -> Result<(), Diagnostic> {
        match self.names.insert(name.text.clone(), (sort, term)) {
            None => Ok(()),
            Some(_) => self.refuse(name.span, format!("`{}` is there already", name.text)),
        }
    }

    fn reads(&mut self, from: &[(Name, Name)], first: u32) -> Result<Vec<Read>, Diagnostic> {
        let mut reads = Vec::new();
        for (at, (name, kind)) in (0u32..).zip(from) {
            let Some(kind) = Kind::named(&kind.text) else {
                let message = format!("unknown type `{}`", kind.text);
                let diagnostic = self.source.diagnostic(kind.span, message);
                let hint = "types are bool, i8, i16, i32, i64, u8, u16, u32, f32 and f64";
                return Err(diagnostic.with_hint(hint));
            };
            self.declare(name, kind.sort(), term::variable(first + at))?;
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
        let has = |sort: Sort| inputs.iter().chain(&givens).any(|read| read.sort() == sort);
        if has(Sort::Real) {
            if has(Sort::Integer) {
                return self
                    .refuse(text.span, "the numbers of a loop are integers or reals, not both");
            }
            self.numbers = Sort::Real;
        }
        match (&text.assuming, self.numbers) {
            (None, Sort::Real) => {
                let message = "sums of floating-point numbers are not associative";
                let diagnostic = self.source.diagnostic(text.span, message);
                let hint = "`assuming real` asks for an operator over the reals, whose results are rounded otherwise";
                return Err(diagnostic.with_hint(hint));
            }
            (Some(name), Sort::Real) if name.text != "real" => {
                return self.refuse(name.span, "floating-point numbers take `assuming real`");
            }
            (Some(name), Sort::Integer) if name.text != "exact" => {
                return self.refuse(name.span, "integers take `assuming exact`");
            }
            _ => {}
        }
        let mut accumulators = Vec::new();
        for (at, (name, value)) in (0u32..).zip(&text.start) {
            let (sort, start) = self.value(value)?;
            let start = match &*start {
                Term::Number(number) => *number,
                Term::Truth(truth) => i64::from(*truth),
                _ => return self.refuse(value.span, "an accumulator begins with a constant"),
            };
            let step = term::variable(at);
            accumulators.push(Accumulator { name: name.text.clone(), sort, start, step });
        }
        // Names of accumulators are known in the body only: their first values are constants.
        for (at, (name, _)) in (0u32..).zip(&text.start) {
            self.declare(name, accumulators[at as usize].sort, term::variable(at))?;
        }
        let before = self.names.clone();
        for (name, value) in &text.body {
            let (sort, term) = self.value(value)?;
            let accumulator = text.start.iter().position(|(own, _)| own.text == name.text);
            match accumulator {
                Some(at) if accumulators[at].sort != sort => {
                    let message = format!("`{}` is {}", name.text, kind(accumulators[at].sort));
                    return self
                        .refuse(value.span, format!("{message}, and this is {}", kind(sort)));
                }
                None if before.contains_key(&name.text) => {
                    return self
                        .refuse(name.span, format!("`{}` cannot be assigned to", name.text));
                }
                _ => {}
            }
            self.names.insert(name.text.clone(), (sort, term));
        }
        for accumulator in &mut accumulators {
            accumulator.step = Arc::clone(&self.names[&accumulator.name].1);
        }
        self.names = before;
        let own = accumulators.len();
        let result = (0u32..).zip(&accumulators).map(|(at, _)| term::variable(at)).collect();
        let (numbers, span) = (self.numbers, text.span);
        let (operators, planted) = (Vec::new(), Planted::default());
        Ok(Loop {
            accumulators,
            own,
            inputs,
            givens,
            result,
            numbers,
            operators,
            most: 3,
            span,
            planted,
        })
    }

    fn number(&self, value: &SpannedValue) -> Result<Shared, Diagnostic> {
        match self.value(value)? {
            (Sort::Boolean, _) => {
                self.refuse(value.span, "this is a boolean, and a number is needed")
            }
            (_, term) => Ok(term),
        }
    }

    fn truth(&self, value: &SpannedValue) -> Result<Shared, Diagnostic> {
        match self.value(value)? {
            (Sort::Boolean, term) => Ok(term),
            _ => self.refuse(value.span, "this is a number, and a boolean is needed"),
        }
    }

    fn value(&self, value: &SpannedValue) -> Result<(Sort, Shared), Diagnostic> {
        let numbers = |term: Shared| Ok((self.numbers, term));
        let truths = |term: Shared| Ok((Sort::Boolean, term));
        match &value.value {
            Value::Number(number) => numbers(term::number(*number)),
            Value::Truth(value) => truths(term::truth(*value)),
            Value::Name(name) => match self.names.get(name) {
                Some((Sort::Boolean, term)) => truths(Arc::clone(term)),
                Some((_, term)) => numbers(Arc::clone(term)),
                None if name.contains('.') => {
                    let message = "only whole numbers stand in a loop";
                    let diagnostic = self.source.diagnostic(value.span, message);
                    Err(diagnostic.with_hint("name it: `given c: f32`"))
                }
                None => self.refuse(value.span, format!("unknown name `{name}`")),
            },
            Value::Prefix('!', inner) => truths(not(self.truth(inner)?)),
            Value::Prefix(_, inner) => {
                numbers(binary(Op::Sub, term::number(0), self.number(inner)?))
            }
            Value::If(three) => {
                let [c, a, b] = &**three;
                let (c, (sort, a), (other, no)) = (self.truth(c)?, self.value(a)?, self.value(b)?);
                if sort != other {
                    let message =
                        format!("this is {}, and the other choice is {}", kind(other), kind(sort));
                    return self.refuse(b.span, message);
                }
                Ok((sort, choose(c, a, no)))
            }
            Value::Infix(op, a, b) => {
                let both =
                    |op: Op| Ok::<_, Diagnostic>(binary(op, self.number(a)?, self.number(b)?));
                match op.as_str() {
                    "+" => numbers(both(Op::Add)?),
                    "-" => numbers(both(Op::Sub)?),
                    "*" => numbers(both(Op::Mul)?),
                    "/" | "%" if self.numbers == Sort::Real => {
                        self.refuse(value.span, "quotients of reals are not modelled")
                    }
                    "/" => numbers(both(Op::Div)?),
                    "%" => numbers(both(Op::Rem)?),
                    "min" => numbers(both(Op::Min)?),
                    "max" => numbers(both(Op::Max)?),
                    "<" => truths(both(Op::Less)?),
                    "<=" => truths(both(Op::LessEqual)?),
                    ">" => truths(not(both(Op::LessEqual)?)),
                    ">=" => truths(not(both(Op::Less)?)),
                    "&&" => truths(binary(Op::And, self.truth(a)?, self.truth(b)?)),
                    "||" => truths(binary(Op::Or, self.truth(a)?, self.truth(b)?)),
                    _ => {
                        let ((sort, x), (other, y)) = (self.value(a)?, self.value(b)?);
                        if sort != other {
                            let message =
                                format!("{} is compared with {}", kind(sort), kind(other));
                            return self.refuse(value.span, message);
                        }
                        let equal = binary(Op::Equal, x, y);
                        truths(if op == "==" { equal } else { not(equal) })
                    }
                }
            }
        }
    }
}

/// A sort in words.
fn kind(sort: Sort) -> &'static str {
    if sort == Sort::Boolean { "a boolean" } else { "a number" }
}
