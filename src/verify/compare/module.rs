//! Two files: the text outside of functions must be the same, and functions are matched by name.

use std::panic::AssertUnwindSafe;

use rustc_hash::FxHashMap;

use super::barriers::with_one_spelling;
use super::functions::{certified, compare};
use super::outside::{outside, words};
use super::renamed::under_parameters;
use crate::Options;
use crate::expr::within;
use crate::parallel;
use crate::program::{Both, Certificate, ModuleArrays, Program, Refused, arrays, refused};
use crate::ptx::{
    self, Body, Depth, Directive, Function, FunctionKind, Item, Module, StateSpace, Statement,
    Variable,
};
use crate::solver;
use crate::source::{Diagnostic, SourceFile};
use crate::undo::{LOOPS, Undone, VERSIONS, undone, with_parts};
use crate::witness::{CertificateOutcome, FunctionReport, Problem, Verdict, Verification};

/// Taken for granted where an array in shared memory is laid out anew, or nobody reads it by its name.
const WITHIN_ARRAYS: &str =
    "what the original accesses by the name of an array in shared memory is within that array";

/// Taken for granted if the user says so.
const NO_WRAP: &str = "sums and products of 32 bits do not wrap around where they are widened";

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
    let positional = {
        let parse = |source| ptx::parse(source, Depth::All);
        let (before, after) = (parse(original)?, parse(rewritten)?);
        under_parameters((original, &before), (rewritten, &after))
    };
    let rewritten = positional.as_ref().unwrap_or(rewritten);
    let texts = (original, rewritten);
    let search = Guide::Search { by_parts: options.by_parts };
    let Some(certificate) = options.certificate.as_deref() else {
        return validated(texts, options, search, &|_| true);
    };
    let mut found = validated(texts, options, Guide::Certificate(certificate), &|_| true)?;
    let open = found.functions.iter().filter(|one| one.verdict != Verdict::Equal);
    let open: Vec<String> = open.map(|one| one.name.clone()).collect();
    if !open.is_empty() {
        let is_open = |name: &str| open.iter().any(|one| one == name);
        let divisor = u64::from(options.search_divisor.max(1));
        let (steps, budget) = (options.steps / divisor, options.solver_budget / divisor);
        let options = Options { steps, solver_budget: budget, ..options.clone() };
        replace(&mut found.functions, validated(texts, &options, search, &is_open)?.functions);
    }
    Ok(concluded(found.functions, found.problems, options))
}

/// Puts reports into the places of those on the same functions; the outcomes of their certificates stay.
fn replace(functions: &mut [FunctionReport], by: Vec<FunctionReport>) {
    for report in by {
        if let Some(known) = functions.iter_mut().find(|one| one.name == report.name) {
            let before = known.certificate.take();
            *known =
                FunctionReport { certificate: report.certificate.clone().or(before), ..report };
        }
    }
}

/// Validates the functions of some names.
fn validated(
    (original, rewritten): (&SourceFile, &SourceFile),
    options: &Options,
    guide: Guide<'_>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<Verification, Diagnostic> {
    let [old, new] = with_one_spelling([original, rewritten]);
    let [original, rewritten] =
        [old.as_ref().unwrap_or(original), new.as_ref().unwrap_or(rewritten)];
    let simpler = match guide {
        Guide::Certificate(certificate) if !certificate.has_versions() => Undone::default(),
        _ => undone([original, rewritten], VERSIONS, is_wanted),
    };
    let [_, rewritten] = simpler.over([original, rewritten]);
    let mut found = verify_texts(original, rewritten, options, (is_wanted, guide))?;
    list(&simpler, &mut found.functions);
    let is_unknown = |name: &str| {
        let mut functions = found.functions.iter();
        functions.any(|one| one.name == name && one.verdict == Verdict::Unknown)
    };
    let loops = undone([original, rewritten], LOOPS, &is_unknown);
    if loops.by.is_empty() {
        return Ok(found);
    }
    let [before, after] = loops.over([original, rewritten]);
    let guide = match guide {
        Guide::Search { .. } => Guide::Search { by_parts: false },
        certificate => certificate,
    };
    let mut again = verify_texts(before, after, options, (&is_unknown, guide))?.functions;
    again.retain(|one| one.verdict != Verdict::Unknown);
    [&loops, &simpler].into_iter().for_each(|undone| list(undone, &mut again));
    replace(&mut found.functions, again);
    found.verdict = overall(&found.functions, &found.problems, options);
    Ok(found)
}

/// Lists the passes that changed functions in their reports.
fn list(undone: &Undone, functions: &mut [FunctionReport]) {
    for function in functions {
        let by = undone.by.get(&function.name);
        function.undone.splice(0..0, by.into_iter().flatten().copied());
    }
}

/// The worst verdict on the functions and on the text outside of them.
fn overall(functions: &[FunctionReport], problems: &[Problem], options: &Options) -> Verdict {
    let worst = functions.iter().map(|function| function.verdict).max();
    let mut verdict = worst.unwrap_or(Verdict::Equal);
    if !problems.is_empty() {
        verdict = verdict.max(Verdict::Unknown);
    }
    let found = |name: &str| functions.iter().any(|function| function.name == name);
    if options.kernel.as_deref().is_some_and(|name| !found(name)) {
        verdict = verdict.max(Verdict::Unknown);
    }
    verdict
}

/// What leads a proof.
#[derive(Clone, Copy)]
enum Guide<'c> {
    /// The rewriter's description of its changes.
    Certificate(&'c Certificate),
    /// Nothing; `by_parts`: functions that are not proved are compared once more, without parts that do the same.
    Search { by_parts: bool },
}

/// Validates the functions of some names.
fn verify_texts(
    original: &SourceFile,
    rewritten: &SourceFile,
    options: &Options,
    (is_wanted, guide): (&dyn Fn(&str) -> bool, Guide<'_>),
) -> Result<Verification, Diagnostic> {
    let before = ptx::parse(original, Depth::All)?;
    let after = ptx::parse(rewritten, Depth::All)?;
    let wanted: Vec<&Function<'_>> = before
        .functions()
        .filter(|function| !matches!(function.body, Body::Absent))
        .filter(|function| is_wanted(function.name.text))
        .filter(|f| {
            // The effects of a kernel include those of the functions that it may call.
            let called = f.kind == FunctionKind::Func;
            options.kernel.as_deref().is_none_or(|name| called || f.name.text == name)
        })
        .collect();
    let mut counterparts: FxHashMap<&str, &Function<'_>> = FxHashMap::default();
    for function in after.functions().filter(|f| !matches!(f.body, Body::Absent)) {
        counterparts.entry(function.name.text).or_insert(function);
    }
    let of_before = ModuleArrays::of(original, &before);
    let of_after = ModuleArrays::of(rewritten, &after);
    let shared = Both { original: &of_before, rewritten: &of_after };
    let functions = parallel::map(&wanted, |function| match counterparts.get(function.name.text) {
        None => FunctionReport::unknown(
            function.name.text.to_owned(),
            "the rewritten file does not define it".to_owned(),
        ),
        Some(other) => {
            let modules = Both { original: &before, rewritten: &after };
            let (old, new) = ((original, *function), (rewritten, *other));
            pair(old, new, (modules, shared), (options, guide))
        }
    });
    let problems = outside(original, &before, rewritten, &after, shared);
    Ok(concluded(functions, problems, options))
}

/// The outcome for two files, with its assumptions.
fn concluded(
    functions: Vec<FunctionReport>,
    problems: Vec<Problem>,
    options: &Options,
) -> Verification {
    let verdict = overall(&functions, &problems, options);
    let mut assumptions: Vec<String> = ASSUMPTIONS.iter().map(|one| (*one).to_owned()).collect();
    if let Some([x, y, z]) = options.block {
        assumptions.push(format!("kernels without `.reqntid` run in blocks of {x} x {y} x {z}"));
    }
    if options.assume_no_wrap {
        assumptions.push(NO_WRAP.to_owned());
    }
    for (name, bytes) in &options.aligned {
        assumptions.push(format!("the parameter `{name}` is a multiple of {bytes}"));
    }
    let mut assumed: Vec<String> =
        options.preconditions.iter().map(|one| format!("`{one}`")).collect();
    if !options.no_alias.is_empty() {
        let names: Vec<String> = options.no_alias.iter().map(|name| format!("`{name}`")).collect();
        assumed.push(format!("the bytes behind {} do not overlap", names.join(", ")));
    }
    if functions.iter().any(|one| one.within_arrays || !one.layouts.is_empty()) {
        assumed.push(WITHIN_ARRAYS.to_owned());
    }
    assumptions.extend(assumed.iter().cloned());
    let against = options.kernel.clone().zip(options.against.clone()).into_iter().collect();
    Verification { verdict, against, assumptions, assumed, functions, problems }
}

/// Compares two functions of one name.
fn pair<'s>(
    (original, before): (&SourceFile, &Function<'s>),
    (rewritten, after): (&SourceFile, &Function<'s>),
    (modules, shared): (Both<&Module<'s>>, Both<&ModuleArrays<'s>>),
    (options, guide): (&Options, Guide<'_>),
) -> FunctionReport {
    let name = before.name.text.to_owned();
    let of = |all: &ModuleArrays<'_>| all.of_kernel(&name);
    let shared = Both { original: of(shared.original), rewritten: of(shared.rewritten) };
    let is_same = words(original.slice(before.span)) == words(rewritten.slice(after.span));
    let certificate = match guide {
        Guide::Certificate(all) => all.function(&name).map(Some),
        Guide::Search { .. } => Some(None),
    };
    let has_same_arrays = shared.original == shared.rewritten;
    if is_same && has_same_arrays {
        // (Versions that do the same may have been all.)
        let certificate = certificate.flatten().map(|_| CertificateOutcome::Proved);
        return FunctionReport { certificate, ..FunctionReport::same(name) };
    }
    let Some(certificate) = certificate else {
        let reason = "it does not name this function".to_owned();
        let certificate = Some(CertificateOutcome::Wrong(reason.clone()));
        return FunctionReport { certificate, ..FunctionReport::unknown(name, reason) };
    };
    let resized =
        match outside_of_bodies((original, before), (rewritten, after), modules, has_same_arrays) {
            Ok(resized) => resized,
            Err(reason) => return FunctionReport::unknown(name, reason),
        };
    // A panic in the validation is a bug of ours, and no proof.
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let programs = Program::new(original, before, options)
            .and_then(|one| Ok((one, Program::new(rewritten, after, options)?)));
        let (one, other) = match programs {
            Ok(programs) => programs,
            Err(reason) => return FunctionReport::unknown(name.clone(), reason),
        };
        let one = one.with_arrays(shared.original.clone());
        let mut other = other.with_arrays(shared.rewritten.clone());
        let refused = refused(Both { original: &one, rewritten: &other }, modules);
        if let Some(Refused::Impossible(reason)) = refused {
            return FunctionReport::unknown(name.clone(), reason);
        }
        let compared = solver::session(|| {
            within(|| match certificate {
                Some(certificate) => {
                    certified(&one, &mut other, modules, (certificate, resized), options)
                }
                None => compare(&one, &mut other, modules, resized, options),
            })
        });
        let report = compared.unwrap_or_else(|_| {
            let reason = format!("budget: the terms take more than {} steps", options.steps);
            FunctionReport::unknown(name.clone(), reason)
        });
        match (refused, report.verdict) {
            (Some(Refused::NotKnown(reason)), Verdict::Equal) => {
                FunctionReport::unknown(name.clone(), reason)
            }
            (None, Verdict::Unknown) if matches!(guide, Guide::Search { by_parts: true }) => {
                by_equal_parts([original, rewritten], one.block, report, options)
            }
            _ => report,
        }
    }));
    attempt.unwrap_or_else(|_| {
        FunctionReport::unknown(name, "internal error: the validation panicked".to_owned())
    })
}

/// Compares two functions' heads, declarations and pragmas; whether arrays in shared memory have other sizes.
///
/// # Errors
/// The reason why the two cannot be proved equal.
fn outside_of_bodies<'s>(
    (original, before): (&SourceFile, &Function<'s>),
    (rewritten, after): (&SourceFile, &Function<'s>),
    modules: Both<&Module<'s>>,
    has_same_arrays: bool,
) -> Result<bool, String> {
    if let Some(reason) = other_head((original, before), (rewritten, after)) {
        return Err(reason);
    }
    if before.returns.iter().any(|variable| variable.space == StateSpace::Reg) {
        // The value of that register at the end is the operand of no instruction.
        let reason = "the function returns its result in a register".to_owned();
        return Err(reason);
    }
    let is_redeclared = declared(original, before) != declared(rewritten, after);
    let resized = is_redeclared || !has_same_arrays;
    if is_redeclared {
        let all = (sized_freely(original, before), sized_freely(rewritten, after));
        if all.0 != all.1 {
            return Err(other_declarations(&all.0, &all.1));
        }
    }
    if !same_masks(used_bytes(original, before), used_bytes(rewritten, after)) {
        let reason = "the two have other `used_bytes_mask` pragmas, or in front of other loads";
        return Err(reason.to_owned());
    }
    let functions = Both { original: before, rewritten: after };
    if resized && let Some(reason) = arrays::overfull(modules, functions) {
        return Err(reason);
    }
    if resized && has_dynamic(modules.original, before) {
        // A launch may have left room for the original's arrays only.
        let reason = "arrays have other sizes beside shared memory of a size that launches give";
        return Err(reason.to_owned());
    }
    Ok(resized)
}

/// The sizes of blocks that are tried where none is known, in threads: the others only if one of the first two is proved.
const SIZES: [u32; 5] = [64, 256, 128, 512, 1024];

/// The report on a function that was not proved equal, once it has been compared without the parts that do the same in
/// blocks of its shape. Where no shape is known, the report says in which blocks it is equal.
fn by_equal_parts(
    texts: [&SourceFile; 2],
    shape: Option<[u64; 3]>,
    report: FunctionReport,
    options: &Options,
) -> FunctionReport {
    let name = &report.name;
    let compared = |shape: Option<[u32; 3]>| {
        let left = with_parts(shape, |parts| undone(texts, parts, &|one| one == name));
        if left.by.is_empty() {
            return None;
        }
        let [old, new] = left.over(texts);
        let modules = [ptx::parse(old, Depth::All).ok()?, ptx::parse(new, Depth::All).ok()?];
        let [before, after] = &modules;
        let of_before = ModuleArrays::of(old, before);
        let of_after = ModuleArrays::of(new, after);
        let shared = Both { original: &of_before, rewritten: &of_after };
        let named = |module: &Module<'_>| module.functions().position(|one| one.name.text == name);
        let one = before.functions().nth(named(before)?)?;
        let other = after.functions().nth(named(after)?)?;
        let modules = Both { original: before, rewritten: after };
        let options = Options { block: shape.or(options.block), ..options.clone() };
        let guide = Guide::Search { by_parts: false };
        let mut found = pair((old, one), (new, other), (modules, shared), (&options, guide));
        list(&left, std::slice::from_mut(&mut found));
        Some(found).filter(|found| found.verdict == Verdict::Equal)
    };
    if let Some(shape) = shape {
        let [Ok(x), Ok(y), Ok(z)] = shape.map(u32::try_from) else { return report };
        return compared(Some([x, y, z])).unwrap_or(report);
    }
    if let Some(found) = compared(None) {
        return found;
    }
    let [first, rest] = [&SIZES[..2], &SIZES[2..]]
        .map(|sizes| sizes.iter().copied().filter(|size| compared(Some([*size, 1, 1])).is_some()));
    let mut sizes: Vec<u32> = first.collect();
    if sizes.is_empty() {
        return report;
    }
    sizes.extend(rest);
    sizes.sort_unstable();
    let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let reason = format!(
        "the block's shape is not known: the two are equal in blocks of one row of {} threads (`--block {}`)",
        sizes.join(", "),
        sizes[0],
    );
    let mut problems = vec![Problem { reason, ..Problem::default() }];
    problems.extend(report.problems.iter().cloned());
    FunctionReport { problems, ..report }
}

/// The first difference of two functions' parameters, results and directives, in words.
fn other_head(
    (original, before): (&SourceFile, &Function<'_>),
    (rewritten, after): (&SourceFile, &Function<'_>),
) -> Option<String> {
    let (old, new) = (head(original, before), head(rewritten, after));
    if old == new {
        return None;
    }
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let text =
        |head: &[String]| head.get(same).map_or("nothing".to_owned(), |text| format!("`{text}`"));
    let lines = (original.line(before.span.start), rewritten.line(after.span.start));
    let (old, new) = (text(&old), text(&new));
    Some(format!(
        "parameters or directives of the two differ: {old} against {new} (functions at lines {} and {})",
        lines.0, lines.1,
    ))
}

/// Whether a function, or one that it may call, uses shared memory whose size each launch gives: `.extern .shared`. (Calls
/// of functions whose bodies are elsewhere are another reason, `arrays::observed`.)
fn has_dynamic(module: &Module<'_>, function: &Function<'_>) -> bool {
    let dynamic = |variable: &Variable<'_>| {
        variable.space == StateSpace::Shared && !variable.linkage.is_empty()
    };
    let own =
        |statement: &Statement<'_>| matches!(statement, Statement::Variable(one) if dynamic(one));
    let common = module.items.iter().filter_map(|item| match item {
        Item::Variable(one) if dynamic(one) => Some(one),
        _ => None,
    });
    let names: Vec<&str> =
        common.flat_map(|variable| &variable.names).map(|one| one.name.text).collect();
    let bodies = arrays::reached(module, function.name.text);
    let bodies = bodies.into_iter().map(|one| one.statements().unwrap_or_default());
    bodies.into_iter().any(|body| body.iter().any(own) || arrays::uses_common(body, &names))
}

/// The parameters, results and directives of a function on which its meaning depends.
fn head(source: &SourceFile, function: &Function<'_>) -> Vec<String> {
    let mut all = vec![format!("{:?}", function.kind)];
    all.extend(function.linkage.iter().map(|text| words(text)));
    let variables = function.returns.iter().chain(&function.params);
    all.extend(variables.map(|one| words(source.slice(one.span))));
    for directive in &function.directives {
        match directive {
            // These are for a debugger.
            Directive::Loc(_) | Directive::File { .. } => {}
            Directive::Performance { span, .. }
            | Directive::Pragma { span, .. }
            | Directive::Targets { span, .. }
            | Directive::Prototype { span, .. }
            | Directive::Other { span, .. } => all.push(words(source.slice(*span))),
        }
    }
    all
}

/// The declarations in a body besides registers, each with the number of its scope: variables, prototypes of calls and
/// lists of functions, and pragmas; a pragma about the value of a load is another question
/// ([`used_bytes`]).
fn declared(source: &SourceFile, function: &Function<'_>) -> Vec<(u32, String)> {
    declarations(source, function, &|variable| words(source.slice(variable.span)))
}

/// The same, but of arrays in shared memory whose size is known neither sizes nor alignments: the two may differ
/// in these if the arrays are laid out anew (`layouts`).
fn sized_freely(source: &SourceFile, function: &Function<'_>) -> Vec<(u32, String)> {
    let sizes = arrays::declared(function);
    declarations(source, function, &|variable| {
        let name = variable.names.first().map_or("", |declared| declared.name.text);
        let known = sizes.iter().any(|array| array.name.ends_with(&format!(".{name}")));
        let alone = variable.names.len() == 1 && variable.linkage.is_empty();
        let ty = variable.ty.map_or(String::new(), |ty| ty.to_string());
        match variable.space == StateSpace::Shared && alone && known {
            true => match variable.vector {
                0 | 1 => format!(".shared {ty} {name}"),
                elements => format!(".shared .v{elements} {ty} {name}"),
            },
            false => words(source.slice(variable.span)),
        }
    })
}

/// Why two functions with these declarations are not compared, and what to do.
fn other_declarations(old: &[(u32, String)], new: &[(u32, String)]) -> String {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let first = [old, new].map(|all| all.get(same).map(|(_, text)| text.as_str()));
    let differ = match first {
        [Some(before), Some(after)] => {
            format!(
                "the two declare different variables, prototypes or pragmas: `{before}` against `{after}`"
            )
        }
        [Some(only), None] => format!("only the original declares `{only}`"),
        [None, Some(only)] => format!("only the rewritten function declares `{only}`"),
        [None, None] => "the two declare different variables, prototypes or pragmas".to_owned(),
    };
    let is_local = first.iter().flatten().any(|text| text.starts_with(".local"));
    let advice = match is_local {
        true => {
            ". Variables in local memory must be the same in both: compile both with optimisation (at `-O0` a \
             compiler keeps every variable there), or change only what leaves them as they are"
        }
        false => "",
    };
    differ + advice
}

/// All of them in the words that `of` has for a variable.
fn declarations(
    source: &SourceFile,
    function: &Function<'_>,
    of: &dyn Fn(&Variable<'_>) -> String,
) -> Vec<(u32, String)> {
    fn collect(
        source: &SourceFile,
        statements: &[Statement<'_>],
        of: &dyn Fn(&Variable<'_>) -> String,
        scopes: &mut u32,
        all: &mut Vec<(u32, String)>,
    ) {
        let scope = *scopes;
        for statement in statements {
            let span = match statement {
                Statement::Block { statements, .. } => {
                    *scopes += 1;
                    collect(source, statements, of, scopes, all);
                    continue;
                }
                Statement::Variable(variable) if variable.space != StateSpace::Reg => {
                    all.push((scope, of(variable)));
                    continue;
                }
                Statement::Directive(
                    Directive::Prototype { span, .. }
                    | Directive::Performance { span, .. }
                    | Directive::Other { span, .. }
                    | Directive::Targets { name: "calltargets", span, .. },
                ) => *span,
                Statement::Directive(Directive::Pragma { strings, span }) => {
                    // How often an assembler unrolls a loop changes nothing (PTX ISA, "Pragma Strings").
                    let is_hint = strings.iter().all(|text| *text == "nounroll");
                    if is_hint || strings.iter().any(|text| text.starts_with(USED_BYTES)) {
                        continue;
                    }
                    *span
                }
                Statement::Directive(
                    Directive::Loc(_) | Directive::File { .. } | Directive::Targets { .. },
                )
                | Statement::Variable(_)
                | Statement::Label(_)
                | Statement::Instruction(_) => continue,
            };
            all.push((scope, words(source.slice(span))));
        }
    }
    let (mut scopes, mut all) = (0, Vec::new());
    collect(source, function.statements().unwrap_or_default(), of, &mut scopes, &mut all);
    all
}

/// The beginning of a pragma about the next instruction, a load: which of its bytes are used (PTX ISA, "Pragma Strings").
const USED_BYTES: &str = "used_bytes_mask";

/// The loads behind such pragmas, in the order of the text, each with its pragma.
fn used_bytes(source: &SourceFile, function: &Function<'_>) -> Vec<(String, String)> {
    fn collect(
        source: &SourceFile,
        statements: &[Statement<'_>],
        open: &mut Option<String>,
        found: &mut Vec<(String, String)>,
    ) {
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => collect(source, statements, open, found),
                Statement::Directive(Directive::Pragma { strings, span }) => {
                    let is_mask = strings.iter().any(|text| text.starts_with(USED_BYTES));
                    *open = open.take().or(is_mask.then(|| words(source.slice(*span))));
                }
                Statement::Instruction(load) => {
                    let own = words(source.slice(load.span));
                    found.extend(open.take().map(|pragma| (own, pragma)));
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    collect(source, function.statements().unwrap_or_default(), &mut None, &mut found);
    found
}

/// Whether pragmas of two functions say the same of the same loads. A load may stand several times, if all have one pragma.
fn same_masks(mut old: Vec<(String, String)>, mut new: Vec<(String, String)>) -> bool {
    if old == new {
        return true;
    }
    for all in [&mut old, &mut new] {
        all.sort_unstable();
        all.dedup();
    }
    old == new && old.windows(2).all(|pair| pair[0].0 != pair[1].0)
}
