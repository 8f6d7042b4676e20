//! A file's way through the rules.

use std::panic::AssertUnwindSafe;

use super::report::{AccessLint, FORMAT_VERSION, Finding, KernelLint, LintFile};
use super::rule::Level;
use super::rules;
use super::subject::{Found, Subject, merged};
use crate::cfg::InstId;
use crate::expr::within;
use crate::isa::{Form, Opcode, Qualifier};
use crate::kernels::{demangled, spellings};
use crate::parallel;
use crate::pipeline;
use crate::ptx::{self, Body, Depth, Function, Module};
use crate::report::{LoadReport, Origins};
use crate::reuse::shared::Surroundings;
use crate::source::{Diagnostic, SourceFile, Span};
use crate::traffic::{AccessTraffic, Assumed, BlockShape, LANES, Traffic};

/// The functions to look at, and assumptions.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The only function to look at, by its name in the PTX or in the source.
    pub kernel: Option<String>,
    /// Assumptions of the counts.
    pub assumed: Assumed,
    /// The lowest level of findings.
    pub level: Level,
}

impl Options {
    fn wants(&self, function: &Function<'_>) -> bool {
        let name = function.name.text;
        let meant = |wanted: &str| spellings(name).iter().any(|name| name == wanted);
        !matches!(function.body, Body::Absent) && self.kernel.as_deref().is_none_or(meant)
    }
}

/// Looks at a file.
///
/// # Errors
/// The file cannot be parsed.
pub fn lint(source: &SourceFile, options: &Options) -> Result<LintFile, Diagnostic> {
    let module = ptx::parse(source, Depth::All)?;
    let origins = Origins::of(source, &module);
    let functions: Vec<&Function<'_>> =
        module.functions().filter(|function| options.wants(function)).collect();
    let around = Surroundings::new(source, &module);
    let kernels = parallel::map(&functions, |function| {
        // A panic is a bug of ours, and costs the findings of one function.
        let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
            of_function((source, &origins), (&module, &around), function, options)
        }));
        let found = attempt.unwrap_or_else(|_| Err("internal error".to_owned()));
        found.unwrap_or_else(|reason| skipped(function, options, reason))
    });
    let unknown_shape = kernels.iter().any(|kernel| kernel.block.is_none());
    let assumptions = assumptions(unknown_shape, &options.assumed);
    Ok(LintFile { version: FORMAT_VERSION, file: source.name().to_owned(), assumptions, kernels })
}

fn assumptions(unknown_shape: bool, assumed: &Assumed) -> Vec<String> {
    let mut all = Vec::new();
    if unknown_shape {
        all.push(
            "blocks are whole warps along x where the text has no .reqntid (`--block 16x16` says otherwise)"
                .to_owned(),
        );
    }
    match assumed.pointer_bytes {
        1 => {}
        bytes => all.push(format!(
            "pointer parameters are multiples of {bytes} bytes, as cudaMalloc returns them (`--pointer-align 1` assumes nothing)"
        )),
    }
    all.push("all 32 lanes of a warp take part, and no index wraps around".to_owned());
    all
}

fn shape(function: &Function<'_>, options: &Options) -> Option<[u64; 3]> {
    match BlockShape::of(function, options.assumed.block) {
        BlockShape::Rows => None,
        BlockShape::Known(sizes) => Some(sizes),
    }
}

fn skipped(function: &Function<'_>, options: &Options, reason: String) -> KernelLint {
    KernelLint {
        name: function.name.text.to_owned(),
        demangled: demangled(function.name.text),
        block: shape(function, options),
        skipped: Some(reason),
        uncounted: 0,
        accesses: Vec::new(),
        findings: Vec::new(),
    }
}

fn of_function<'s>(
    places: (&'s SourceFile, &Origins<'s, 's>),
    (module, around): (&Module<'s>, &Surroundings<'_, 's>),
    function: &Function<'s>,
    options: &Options,
) -> Result<KernelLint, String> {
    let traced = pipeline::Options::default();
    let (flow, mut trace) = pipeline::emulated(places.0, function, &traced)?;
    let too_large = |_| "the function is too large".to_owned();
    let traffic = within(|| Traffic::of(module, function, &flow, &trace, &options.assumed));
    let traffic = traffic.map_err(too_large)?;
    let reusable = pipeline::reusable(places, around, function, &flow, &mut trace);
    within(|| {
        let subject = Subject::new(places, (module, function), &flow, (&trace, &traffic));
        let mut findings = merged(findings(&subject, &reusable, rows_are_warps(function, options)));
        findings.retain(|finding| finding.level >= options.level);
        findings.sort_by_key(|finding| {
            (std::cmp::Reverse(finding.weight), std::cmp::Reverse(finding.level), finding.line)
        });
        let mut accesses: Vec<AccessLint> =
            traffic.all().map(|one| described(&subject, one)).collect();
        accesses.sort_by_key(|access| access.line);
        KernelLint {
            name: function.name.text.to_owned(),
            demangled: demangled(function.name.text),
            block: shape(function, options),
            skipped: None,
            uncounted: flow.insts.iter().filter(|inst| is_uncounted(&inst.ast.form)).count(),
            accesses,
            findings,
        }
    })
    .map_err(too_large)
}

/// Whether an instruction accesses memory and is not counted.
fn is_uncounted(form: &Form) -> bool {
    match form.opcode {
        Opcode::Cp => {
            let waits = [Qualifier::CommitGroup, Qualifier::WaitGroup, Qualifier::Prefetch];
            form.has(Qualifier::Bulk) && !form.has_any(&waits)
        }
        Opcode::Tex
        | Opcode::Tld4
        | Opcode::Suld
        | Opcode::Sust
        | Opcode::Sured
        | Opcode::Multimem
        | Opcode::Wgmma
        | Opcode::Tcgen05 => true,
        _ => false,
    }
}

/// Whether neighbouring lanes are neighbours along x, unless the text itself says how blocks are shaped.
fn rows_are_warps(function: &Function<'_>, options: &Options) -> bool {
    let is_declared = !matches!(BlockShape::of(function, None), BlockShape::Rows);
    let named = options.assumed.block.filter(|_| !is_declared);
    named.is_none_or(|[x, ..]| x % LANES as u64 == 0)
}

fn findings(
    subject: &Subject<'_, '_, '_>,
    reusable: &[(InstId, LoadReport)],
    rows_are_warps: bool,
) -> Vec<Finding> {
    let mut found = rules::all(subject);
    found.extend(rules::redundant(subject, reusable, rows_are_warps));
    found.sort_by_key(|found| (found.inst, found.rule));
    let finding = |found: Found| {
        let loop_depth = subject.flow.loops.depth(subject.loop_of(found.inst));
        Finding {
            rule: found.rule,
            level: found.level,
            line: subject.line(found.inst),
            source: subject.origins.at(subject.inst(found.inst).ast.span),
            message: found.message,
            label: found.label,
            help: found.help,
            waste: found.waste,
            loop_depth,
            count: 1,
            weight: u64::from(found.waste) * (1 + loop_depth as u64),
            span: in_line(subject.source, subject.inst(found.inst).ast.span),
        }
    };
    found.into_iter().map(finding).collect()
}

/// The bytes of a span in the line that it begins in.
fn in_line(source: &SourceFile, span: Span) -> std::ops::Range<usize> {
    let start = span.start as usize;
    let line = source.text()[..start].rfind('\n').map_or(0, |at| at + 1);
    let length = source.slice(span).lines().next().map_or(0, str::len);
    start - line..start - line + length
}

fn described(subject: &Subject<'_, '_, '_>, traffic: &AccessTraffic) -> AccessLint {
    AccessLint {
        line: subject.line(traffic.inst),
        source: subject.origins.at(subject.inst(traffic.inst).ast.span),
        kind: traffic.kind.word(),
        space: traffic.space.name(),
        bytes: traffic.bytes,
        lane_stride: traffic.lane_stride(),
        request: subject.request(traffic),
        loop_depth: traffic.loop_depth,
        lanes: traffic.lanes,
    }
}
