//! Two files: what stands outside of functions must be the same, functions are matched by name.

use std::panic::AssertUnwindSafe;

use rayon::prelude::*;

use super::Options;
use super::compare::compare;
use super::program::Program;
use super::verdict::{FunctionReport, Problem, Verdict, Verification};
use crate::expr::within;
use crate::ptx::{
    self, Body, Depth, Directive, Function, FunctionKind, Item, Module, StateSpace, Statement,
};
use crate::solver;
use crate::source::{Diagnostic, SourceFile};

const ASSUMPTIONS: &[&str] = &[
    "the original is free of data races",
    "lanes that are converged in a loop are in the same iteration",
];

/// Validates a rewritten file against the original.
///
/// # Errors
/// A syntax error in one of the two.
pub fn verify(
    original: &SourceFile,
    rewritten: &SourceFile,
    options: &Options,
) -> Result<Verification, Diagnostic> {
    let before = ptx::parse(original, Depth::All)?;
    let after = ptx::parse(rewritten, Depth::All)?;
    let wanted: Vec<&Function<'_>> = before
        .functions()
        .filter(|function| !matches!(function.body, Body::Absent))
        .filter(|f| {
            // A kernel does what the functions that it may call do.
            let called = f.kind == FunctionKind::Func;
            options.kernel.as_deref().is_none_or(|name| called || f.name.text == name)
        })
        .collect();
    let functions: Vec<FunctionReport> = wanted
        .par_iter()
        .map(|function| {
            let counterpart = after
                .functions()
                .find(|f| f.name.text == function.name.text && !matches!(f.body, Body::Absent));
            match counterpart {
                None => FunctionReport::unknown(
                    function.name.text.to_owned(),
                    "the rewritten file does not define it".to_owned(),
                ),
                Some(other) => pair(original, function, rewritten, other, options),
            }
        })
        .collect();
    let problems = outside(original, &before, rewritten, &after);
    let worst = functions.iter().map(|function| function.verdict).max();
    let mut verdict = worst.unwrap_or(Verdict::Equal);
    if !problems.is_empty() {
        verdict = verdict.max(Verdict::Unknown);
    }
    let found = |name: &str| functions.iter().any(|function| function.name == name);
    if options.kernel.as_deref().is_some_and(|name| !found(name)) {
        verdict = verdict.max(Verdict::Unknown);
    }
    Ok(Verification { verdict, assumptions: ASSUMPTIONS.to_vec(), functions, problems })
}

/// Compares two functions of one name.
fn pair<'s>(
    original: &SourceFile,
    before: &Function<'s>,
    rewritten: &SourceFile,
    after: &Function<'s>,
    options: &Options,
) -> FunctionReport {
    let name = before.name.text.to_owned();
    if words(original.slice(before.span)) == words(rewritten.slice(after.span)) {
        return FunctionReport::same(name);
    }
    if head(original, before) != head(rewritten, after) {
        let reason = "parameters or directives of the two differ".to_owned();
        return FunctionReport::unknown(name, reason);
    }
    if before.returns.iter().any(|variable| variable.space == StateSpace::Reg) {
        // What stands in it at the end is no operand of anything.
        let reason = "the function returns its result in a register".to_owned();
        return FunctionReport::unknown(name, reason);
    }
    if declared(original, before) != declared(rewritten, after) {
        let reason = "the two declare different variables or prototypes".to_owned();
        return FunctionReport::unknown(name, reason);
    }
    // A panic in here is a bug of ours, and no proof.
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let programs = Program::new(original, before, options)
            .and_then(|one| Ok((one, Program::new(rewritten, after, options)?)));
        let (one, other) = match programs {
            Ok(programs) => programs,
            Err(reason) => return FunctionReport::unknown(name.clone(), reason),
        };
        let compared = solver::session(|| within(|| compare(&one, &other, options)));
        compared.unwrap_or_else(|_| {
            let reason = format!("budget: the terms take more than {} steps", options.steps);
            FunctionReport::unknown(name.clone(), reason)
        })
    }));
    attempt.unwrap_or_else(|_| {
        FunctionReport::unknown(name, "internal error: the validation panicked".to_owned())
    })
}

/// Parameters, results and directives of a function that its meaning depends on.
fn head(source: &SourceFile, function: &Function<'_>) -> Vec<String> {
    let mut all = vec![format!("{:?}", function.kind)];
    all.extend(function.linkage.iter().map(|text| words(text)));
    let variables = function.returns.iter().chain(&function.params);
    all.extend(variables.map(|one| words(source.slice(one.span))));
    for directive in &function.directives {
        match directive {
            // Hints to the compiler and debug information.
            Directive::Performance { name: "maxnreg" | "minnctapersm", .. }
            | Directive::Loc(_)
            | Directive::File { .. } => {}
            Directive::Performance { span, .. }
            | Directive::Pragma { span, .. }
            | Directive::Targets { span, .. }
            | Directive::Prototype { span, .. }
            | Directive::Other { span, .. } => all.push(words(source.slice(*span))),
        }
    }
    all
}

/// What a body declares besides registers, each with the number of its scope: variables, prototypes
/// of calls, and the pragmas that say what a load delivers.
fn declared(source: &SourceFile, function: &Function<'_>) -> Vec<(u32, String)> {
    fn collect(
        source: &SourceFile,
        statements: &[Statement<'_>],
        scopes: &mut u32,
        all: &mut Vec<(u32, String)>,
    ) {
        let scope = *scopes;
        for statement in statements {
            let span = match statement {
                Statement::Block { statements, .. } => {
                    *scopes += 1;
                    collect(source, statements, scopes, all);
                    continue;
                }
                Statement::Variable(variable) if variable.space != StateSpace::Reg => variable.span,
                Statement::Directive(Directive::Prototype { span, .. }) => *span,
                Statement::Directive(Directive::Pragma { strings, span })
                    if strings.iter().any(|text| text.starts_with("used_bytes_mask")) =>
                {
                    *span
                }
                _ => continue,
            };
            all.push((scope, words(source.slice(span))));
        }
    }
    let (mut scopes, mut all) = (0, Vec::new());
    collect(source, function.statements().unwrap_or_default(), &mut scopes, &mut all);
    all
}

/// What differs outside of function bodies.
fn outside(
    original: &SourceFile,
    before: &Module<'_>,
    rewritten: &SourceFile,
    after: &Module<'_>,
) -> Vec<Problem> {
    let variables = |source: &SourceFile, module: &Module<'_>| -> Vec<String> {
        let spans = module.items.iter().filter_map(|item| match item {
            Item::Variable(variable) => Some(variable.span),
            _ => None,
        });
        spans.map(|span| words(source.slice(span))).collect()
    };
    let problem = |reason: &str| Problem { reason: reason.to_owned(), ..Problem::default() };
    let mut problems = Vec::new();
    if before.address_size != after.address_size {
        problems.push(problem("the two have different address sizes"));
    }
    if variables(original, before) != variables(rewritten, after) {
        problems.push(problem("the variables of the two modules differ"));
    }
    if before.target != after.target {
        problems.push(problem("the two are for different targets"));
    }
    let defines = |module: &Module<'_>, name: &str| {
        module.functions().any(|f| f.name.text == name && !matches!(f.body, Body::Absent))
    };
    for function in before.functions() {
        let name = function.name.text;
        if !defines(before, name) && defines(after, name) {
            let reason = format!("only the rewritten file defines `{name}`");
            problems.push(Problem { reason, ..Problem::default() });
        }
    }
    problems
}

/// A text without comments, each run of blanks as one.
fn words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let (end, stands_for) = match from.as_bytes() {
            [b'/', b'/', ..] => (from.find('\n').unwrap_or(from.len()), Some(" ")),
            [b'/', b'*', ..] => (from[2..].find("*/").map_or(from.len(), |end| end + 4), Some(" ")),
            // No comment begins in a string.
            [b'"', ..] => (from[1..].find('"').map_or(from.len(), |end| end + 2), None),
            _ => (1, None),
        };
        kept.push_str(stands_for.unwrap_or(&from[..end]));
        rest = &from[end..];
    }
    kept.push_str(rest);
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}
