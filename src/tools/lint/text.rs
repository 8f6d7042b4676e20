//! Findings as text, in the manner of rustc; `annotate-snippets` draws them.

use annotate_snippets::{AnnotationKind, Level as Drawn, Renderer, Snippet};

use super::excerpt::{LONGEST_LINE, Sources, expression};
use super::report::{Finding, KernelLint, LintFile};
use super::rule::Level;
use crate::source::SourceFile;

/// All findings of a file, those that waste most first, and a line with their number.
pub fn text(file: &LintFile, source: &SourceFile, sources: &mut Sources, colours: bool) -> String {
    let mut all: Vec<(&KernelLint, &Finding)> = file.findings().collect();
    all.sort_by_key(|(_, finding)| {
        (std::cmp::Reverse(finding.level), std::cmp::Reverse(finding.weight))
    });
    let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for (kernel, finding) in &all {
        out += &renderer.render(&[drawn(kernel, finding, source, sources)]);
        out += "\n\n";
    }
    let count = |level: Level| all.iter().filter(|(_, finding)| finding.level == level).count();
    let accesses: usize = file.kernels.iter().map(|kernel| kernel.accesses.len()).sum();
    out += &format!(
        "{}: {} for {} in {}\n",
        file.file,
        listed(count(Level::Warning), count(Level::Note)),
        plural(accesses, "access", "accesses"),
        plural(file.kernels.len(), "function", "functions")
    );
    for kernel in &file.kernels {
        if let Some(reason) = &kernel.skipped {
            out += &format!("  {}: nothing is known: {reason}\n", kernel.demangled);
        }
    }
    let uncounted: usize = file.kernels.iter().map(|kernel| kernel.uncounted).sum();
    if uncounted > 0 {
        out += &format!(
            "  not counted: {} (bulk copies, textures, surfaces, tensor cores)\n",
            plural(uncounted, "instruction", "instructions")
        );
    }
    for assumption in &file.assumptions {
        out += &format!("  assumed: {assumption}\n");
    }
    out
}

fn listed(warnings: usize, notes: usize) -> String {
    format!("{} and {}", plural(warnings, "warning", "warnings"), plural(notes, "note", "notes"))
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn drawn<'a>(
    kernel: &'a KernelLint,
    finding: &'a Finding,
    source: &'a SourceFile,
    sources: &mut Sources,
) -> annotate_snippets::Group<'a> {
    let title = match finding.level {
        Level::Warning => Drawn::WARNING.primary_title(finding.message.as_str()),
        Level::Note => Drawn::NOTE.primary_title(finding.message.as_str()),
    };
    let label = finding.label.as_deref();
    let origin = finding.source.as_ref();
    let found = origin
        .and_then(|origin| Some((origin, sources.line(&origin.file, origin.line)?.to_owned())));
    let snippet = match found {
        Some((origin, line)) => {
            let span = expression(&line, origin.column);
            let annotation = AnnotationKind::Primary.span(span).label(label);
            Snippet::source(line)
                .line_start(origin.line as usize)
                .path(origin.file.as_str())
                .annotation(annotation)
        }
        None => {
            let line = source.line_text(finding.line).replace('\t', " ");
            let span = finding.span.start..finding.span.end.min(line.len());
            // (A text without line ends shows the instruction alone.)
            let (line, span) = match line.get(span.clone()).filter(|_| line.len() > LONGEST_LINE) {
                Some(instruction) => (instruction.to_owned(), 0..instruction.len()),
                None => (line, span),
            };
            Snippet::source(line)
                .line_start(finding.line as usize)
                .path(source.name())
                .annotation(AnnotationKind::Primary.span(span).label(label))
        }
    };
    let mut place = format!("in {}", kernel.demangled);
    if finding.loop_depth > 0 {
        place += &format!(", loop depth {}", finding.loop_depth);
    }
    if finding.count > 1 {
        place += &format!(", the worst of {} instructions", finding.count);
    }
    if let Some(origin) = origin {
        place += &format!(", line {} of the PTX", finding.line);
        if sources.line(&origin.file, origin.line).is_none() {
            place += &format!(", from {}", origin.shown());
        }
        for call in &origin.inlined {
            place += &format!(", inlined at {}:{}", call.file, call.line);
        }
    }
    title
        .id(finding.rule.name())
        .element(snippet)
        .element(Drawn::NOTE.message(place))
        .element(Drawn::HELP.message(finding.help.as_str()))
}
