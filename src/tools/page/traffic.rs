//! The source of a kernel with the costs of its accesses beside it: a bar for each line, and the findings.
//!
//! The source is that which `.loc` names, where it was found, and the PTX otherwise.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::input::{LintAccess, LintFinding};
use super::model::{Kernel, last_part};
use crate::report::Origin;
use crate::source::SourceFile;
use crate::traffic::Counts;

/// Lines around an access that are shown.
const CONTEXT: u32 = 2;

/// The costs of the accesses of a line.
#[derive(Default)]
struct Line<'l> {
    accesses: Vec<&'l LintAccess>,
    findings: Vec<&'l LintFinding>,
}

impl Line<'_> {
    /// The sectors and wavefronts of all requests of the line.
    fn counts(&self) -> Counts {
        let all = self.accesses.iter().filter_map(|access| access.request.counts());
        all.fold(Counts { min: 0, max: 0, ideal: 0 }, |sum, one| Counts {
            min: sum.min + one.min,
            max: sum.max + one.max,
            ideal: sum.ideal + one.ideal,
        })
    }

    fn has_irregular(&self) -> bool {
        self.accesses.iter().any(|access| access.request.irregular)
    }
}

/// The section of a kernel, if it was linted. `sources`: texts by the names that the JSON gives them.
pub(super) fn section(
    kernel: &Kernel<'_>,
    id: &str,
    sources: &BTreeMap<String, SourceFile>,
) -> Option<Markup> {
    let lint = kernel.lint.filter(|lint| !lint.accesses.is_empty())?;
    let mut files: BTreeMap<&str, BTreeMap<u32, Line<'_>>> = BTreeMap::new();
    let place = |origin: Option<&'_ Origin>, line: u32| {
        let found =
            origin.and_then(|origin| Some((sources.get_key_value(&origin.file)?.0, origin)));
        found.map_or((kernel.file.as_str(), line), |(name, origin)| (name.as_str(), origin.line))
    };
    for access in &lint.accesses {
        let (file, line) = place(access.source.as_ref(), access.line);
        files.entry(file).or_default().entry(line).or_default().accesses.push(access);
    }
    for finding in &lint.findings {
        let (file, line) = place(finding.source.as_ref(), finding.line);
        files.entry(file).or_default().entry(line).or_default().findings.push(finding);
    }
    let most = files.values().flat_map(BTreeMap::values).map(|line| line.counts().max).max();
    let most = most.unwrap_or(0).max(1);
    Some(html! {
        h3 { "What accesses cost" }
        p.legend {
            "Sectors or wavefronts of a warp's request, of the lanes that take part: "
            span.key.used {} " needed; " span.key.wasted {} " too many; "
            span.key.maybe {} " possibly too many: for some values of parameters, or where lanes are not followed"
        }
        @for (name, lines) in &files {
            @let text = sources.get(*name).or(kernel.source.map(|(text, ..)| text).filter(|_| *name == kernel.file));
            p.file title=(name) { (last_part(name)) }
            div.listing tabindex="0" role="region" aria-label={ "Accesses of " (kernel.name) " in " (name) } {
                @for line in shown(lines, text) {
                    @match line {
                        None => div.gap { "⋮" },
                        Some(at) => (row(at, lines.get(&at), text, id, most)),
                    }
                }
            }
        }
    })
}

/// The lines that are shown, `None` for those between; those around accesses where there is a text.
fn shown(lines: &BTreeMap<u32, Line<'_>>, text: Option<&SourceFile>) -> Vec<Option<u32>> {
    let last = text.map_or(0, |text| text.line(text.text().len() as u32));
    let mut all: Vec<Option<u32>> = Vec::new();
    let mut before = 0;
    for &at in lines.keys() {
        let around = match text {
            Some(_) => {
                at.saturating_sub(CONTEXT).max(before + 1)..=(at + CONTEXT).min(last.max(at))
            }
            None => at..=at,
        };
        if before > 0 && *around.start() > before + 1 {
            all.push(None);
        }
        before = *around.end().max(&before);
        all.extend(around.map(Some));
    }
    all
}

fn row(at: u32, line: Option<&Line<'_>>, text: Option<&SourceFile>, id: &str, most: u32) -> Markup {
    let worst =
        line.and_then(|line| line.findings.iter().map(|finding| finding.level.word()).max());
    html! {
        div class={ "access " (worst.unwrap_or("")) } id={ (id) "-a" (at) } {
            span.number { (at) }
            @match line.filter(|line| !line.accesses.is_empty()) {
                Some(line) => (bar(line, most)),
                None => { span.meter {} span.count {} }
            }
            code { (text.map_or("", |text| text.line_text(at).trim_end())) }
            @if let Some(line) = line.filter(|line| !line.findings.is_empty()) {
                div.why { @for finding in &line.findings { (explained(finding)) } }
            }
        }
    }
}

/// The bar of a line, and its numbers.
fn bar(line: &Line<'_>, most: u32) -> Markup {
    let Counts { min, max, ideal } = line.counts();
    let width = |part: u32| format!("width:{:.1}%", 100.0 * f64::from(part) / f64::from(most));
    let certain = min.max(ideal);
    let numbers = match (max, max == ideal) {
        (0, _) => "irregular".to_owned(),
        (_, true) => max.to_string(),
        _ => format!("{max} for {ideal}"),
    };
    let accesses = line.accesses.iter().map(|access| {
        format!(
            "{} {} of {} bytes: {}",
            access.space,
            access.kind,
            access.bytes,
            access.request.sentence()
        )
    });
    html! {
        span.meter title=(accesses.collect::<Vec<_>>().join("\n")) {
            span.used style=(width(ideal.min(max))) {}
            span.wasted style=(width(certain - ideal.min(certain))) {}
            span.maybe style=(width(max.saturating_sub(certain))) {}
        }
        span.count { (numbers) @if max > 0 && line.has_irregular() { " +" } }
    }
}

fn explained(finding: &LintFinding) -> Markup {
    html! {
        div.finding {
            span.badge.(finding.level.word()) title={ "ptxasw explain " (finding.rule) } { (finding.rule) }
            " " (finding.message)
            @if let Some(label) = &finding.label { " (" (label) ")" }
            span.help { " " (finding.help) }
        }
    }
}
