//! Holes in a user's own CUDA: calls of the undefined functions `ptxasw_xform` and its kin, filled with index
//! expressions so that a kernel is equivalent to another one, its specification.
//!
//! In: a PTX text whose compiler has seen `ptxasw/hole.cuh`. Out: the text with instructions in the place of the calls,
//! and the found expressions. Promised: a filled kernel stores, for its first warp, the values that its specification
//! stores, proved over nodes and executed in [`crate::interp`]; a text without holes is only searched for two words.
//!
//! - `spec`: pairs of a kernel and its specification. `hole`: calls and their arguments.
//! - `node`, `bag`: the values of registers. `warp`, `memory`, `collective`: the execution of one warp.
//! - `lower`, `terms`, `cells`, `statements`: both kernels as a program for [`crate::synth`]. `solve`: its search.
//!   `staged`: networks, whose steps share a hole.
//! - `fill`: the edits. `judge`: the proof and the run.

mod bag;
mod cells;
mod collective;
mod fill;
mod hole;
mod judge;
mod lower;
mod memory;
mod node;
mod solve;
mod spec;
mod staged;
mod statements;
mod terms;
mod warp;

use memchr::memmem;
use serde::Serialize;

use crate::cfg;
use crate::isa::Opcode;
use crate::ptx::{self, Depth, Function, Item, Module, Operand, Statement};
use crate::rewrite::{Edit, Edits};
use crate::source::{Diagnostic, LineMap, SourceFile, Span};
use node::Nodes;
use solve::Unsolved;
use spec::Pair;

/// The header with which a CUDA file has holes.
pub const HEADER: &str = include_str!("ptxasw/hole.cuh");

/// A text whose holes are filled.
#[derive(Debug)]
pub struct Filled {
    /// The new text.
    pub text: String,
    /// Which line of the input each line of it came from.
    pub lines: LineMap,
    /// The results.
    pub kernels: Vec<Kernel>,
}

/// The result for one kernel.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The specification's name.
    pub specification: String,
    /// Its holes.
    pub holes: Vec<Hole>,
    /// How many solutions were seen.
    pub solutions: u64,
    /// Whether the space has no cheaper one.
    pub cheapest: bool,
    /// The cost of the chosen one.
    pub cost: crate::synth::search::Cost,
    /// The work: instructions that warps executed, nodes, and tables that were tried.
    pub work: Work,
}

/// How much work it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Work {
    /// Instructions that were executed over nodes.
    pub steps: u64,
    /// Nodes that were made.
    pub nodes: usize,
    /// Tables that were tried.
    pub tables: u64,
}

/// A hole of the chosen solution.
#[derive(Clone, Debug, Serialize)]
pub struct Hole {
    /// The number that the calls give it.
    pub id: u64,
    /// Its family.
    pub family: &'static str,
    /// The PTX line of its first call.
    pub line: u32,
    /// The results.
    pub expression: String,
}

/// Whether a text may have holes.
pub fn may_have(text: &str) -> bool {
    memmem::find(text.as_bytes(), hole::PREFIX.as_bytes()).is_some()
}

/// Fills the holes of a text; nothing where it has none.
///
/// # Errors
/// A hole cannot be filled; the place is one in the PTX.
pub fn fill(source: &SourceFile) -> Result<Option<Filled>, Diagnostic> {
    if !may_have(source.text()) {
        return Ok(None);
    }
    let module = ptx::parse(source, Depth::All)?;
    let mut calls = calls(&module);
    if calls.is_empty() {
        return Ok(None);
    }
    let pairs = spec::pairs(&module).map_err(|name| unclear(source, &module, name))?;
    let stem = fill::stem(source.text());
    // (Registers are numbered through the text.)
    let mut calls_before = 0;
    let mut edits = Vec::new();
    let mut kernels = Vec::new();
    let mut done = Vec::new();
    for pair in &pairs {
        if !calls.iter().any(|(name, _)| *name == pair.kernel.name.text) {
            continue;
        }
        let (own, kernel, filled) = one(source, pair, &stem, calls_before)?;
        edits.extend(own);
        kernels.push(kernel);
        done.push(*pair);
        calls_before += filled.len();
        calls.retain(|(_, call)| !filled.contains(call));
    }
    if let Some(&(name, call)) = calls.first() {
        let (message, hint) = if pairs.iter().any(|pair| pair.kernel.name.text == name) {
            (
                "the first warp never comes to this hole".to_owned(),
                "the holes of a kernel are found for its first warp: let all warps execute this call",
            )
        } else {
            (
                format!("`{name}` has a hole and no specification"),
                "name its specification by PTXASW_SPEC, and let functions with holes be inlined",
            )
        };
        return Err(source.diagnostic(call, message).with_hint(hint));
    }
    edits.extend(module.items.iter().filter_map(|item| {
        let span = match item {
            Item::Function(function) if is_hole(function) => function.span,
            Item::Variable(variable)
                if variable.names.iter().all(|d| spec::is_record(d.name.text)) =>
            {
                variable.span
            }
            _ => return None,
        };
        Some(Edit::new(span.range(), String::new()))
    }));
    let edits = Edits::new(edits).map_err(|overlap| {
        let at = overlap.at;
        let message = "two calls of holes share an instruction: give each its own arguments";
        source.diagnostic(Span::new(at, at), message)
    })?;
    let (text, lines) = edits.apply(source.text());
    judge::judge(source, &done, &text)?;
    Ok(Some(Filled { text, lines, kernels }))
}

/// Judges a text as if [`fill`] had made it of another one.
///
/// # Errors
/// A kernel of it does something else than the specification that the other text names for it.
#[cfg(feature = "internals")]
pub fn judge(source: &SourceFile, text: &str) -> Result<(), Diagnostic> {
    let module = ptx::parse(source, Depth::All)?;
    let pairs = spec::pairs(&module).map_err(|name| unclear(source, &module, name))?;
    judge::judge(source, &pairs, text)
}

/// Whether a function is the declaration of a hole.
fn is_hole(function: &Function<'_>) -> bool {
    hole::function(function.name.text).is_some() && function.statements().is_none()
}

/// The calls of holes: the function that each stands in, and where.
fn calls<'s>(module: &Module<'s>) -> Vec<(&'s str, Span)> {
    fn walk(statements: &[Statement<'_>], see: &mut dyn FnMut(Span)) {
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => walk(statements, see),
                Statement::Instruction(one) if one.form.opcode == Opcode::Call => {
                    let is_hole = |operand: &Operand<'_>| match operand {
                        Operand::Name(name) => hole::function(name.text).is_some(),
                        _ => false,
                    };
                    if one.operands.iter().any(is_hole) {
                        see(one.span);
                    }
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    for function in module.functions() {
        walk(function.statements().unwrap_or_default(), &mut |span| {
            found.push((function.name.text, span));
        });
    }
    found
}

fn unclear(source: &SourceFile, module: &Module<'_>, name: &str) -> Diagnostic {
    let span = module.items.iter().find_map(|item| match item {
        Item::Variable(variable) => {
            let own = variable.names.iter().any(|declarator| declarator.name.text == name);
            own.then_some(variable.span)
        }
        _ => None,
    });
    let message = "this record of a specification does not name two kernels of this file";
    source.diagnostic(span.unwrap_or_default(), message)
}

/// Fills the holes of one kernel; also returns the calls that are filled.
fn one(
    source: &SourceFile,
    pair: &Pair<'_, '_>,
    stem: &str,
    calls_before: usize,
) -> Result<(Vec<Edit>, Kernel, Vec<Span>), Diagnostic> {
    let mut nodes = Nodes::default();
    let flow = cfg::build(source, pair.kernel)?;
    let spec_flow = cfg::build(source, pair.spec)?;
    let wanted = warp::execute(source, pair.spec, &spec_flow, &mut nodes)?;
    let kernel = warp::execute(source, pair.kernel, &flow, &mut nodes)?;
    let name = pair.kernel.name;
    let place = |hole: Option<usize>| match hole {
        Some(hole) => kernel.holes.holes[hole].span,
        None => name.span,
    };
    let solved = solve::solve(&nodes, &kernel, &wanted, pair.spec.name.span);
    let solved = solved.map_err(|why| match why {
        Unsolved::Unsupported(refused) => source.diagnostic(place(refused.hole), refused.message),
        Unsolved::Unsat(message, hole) => {
            let message = format!("the holes of `{}` cannot be filled: {message}", name.text);
            let note = "the specification";
            source.diagnostic(place(hole), message).with_note(source, pair.spec.name.span, note)
        }
        Unsolved::Bound(tried) => {
            let message =
                format!("the holes of `{}` are too many: {tried} tables were tried", name.text);
            source.diagnostic(name.span, message)
        }
    })?;
    let stem = (stem, calls_before);
    let edits = fill::edits(source, pair.kernel, &flow, &kernel.holes, &solved.formulas, stem)?;
    let filled = kernel.holes.sites.values().map(|site| flow.insts[site.inst].ast.span).collect();
    let holes = kernel.holes.holes.iter().zip(&solved.formulas).map(|(hole, formula)| Hole {
        id: hole.id,
        family: hole.family,
        line: source.line(hole.span.start),
        expression: formula.to_string(),
    });
    let report = Kernel {
        name: name.text.to_owned(),
        specification: pair.spec.name.text.to_owned(),
        holes: holes.collect(),
        solutions: solved.solutions,
        cheapest: solved.cheapest,
        cost: solved.cost,
        work: Work {
            steps: wanted.steps + kernel.steps,
            nodes: nodes.count(),
            tables: solved.tried,
        },
    };
    Ok((edits, report, filled))
}
