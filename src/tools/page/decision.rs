//! The decision of a build about a kernel as a drawing: its steps with their shares of the time, and the cycles of both
//! versions for each number of resident warps.

use maud::{Markup, html};

use crate::report::{Kept, KernelReport, MeasureReport};

/// The decision, its steps and its numbers; `None` outside of builds.
pub(super) fn section(report: &KernelReport) -> Option<Markup> {
    report.decision?;
    let longest = report.trace.iter().map(|step| step.seconds).fold(0.0, f64::max);
    let proof = report.proof.as_ref();
    Some(html! {
        h3 { "Decision of the build" }
        p { span.badge.(badge(report)) { (word(report)) } " " (report.outcome()) }
        div.wide {
            table.decision {
                thead { tr { th { "step" } th.number { "seconds" } th { "" } } }
                tbody {
                    @for step in &report.trace {
                        tr {
                            td { (step.step.to_string()) }
                            td.number { (format!("{:.3}", step.seconds)) }
                            td { (share(step.seconds, longest, "other")) }
                        }
                    }
                }
            }
        }
        @if let Some(proof) = proof {
            p { "The judge says " code { (proof.verdict) } ", by a " (proof.by.to_string()) " of " (proof.steps) " steps." }
        }
        @if let Some(measure) = &report.measure { (cycles(measure)) }
    })
}

/// The outcome in one word, for a table of kernels.
pub(super) fn word(report: &KernelReport) -> &'static str {
    match report.decision {
        Some(Kept::Rewritten) => "rewritten",
        Some(Kept::KeptOriginal) => "original",
        None => "–",
    }
}

fn badge(report: &KernelReport) -> &'static str {
    if report.decision == Some(Kept::Rewritten) { "replaced" } else { "kept" }
}

/// The cycles of both versions, one row for each number of resident warps.
fn cycles(measure: &MeasureReport) -> Markup {
    let all = measure.original.values().chain(measure.rewritten.values());
    let most = all.copied().fold(0.0, f64::max);
    html! {
        div.wide {
            table.decision {
                thead { tr {
                    th.number title="on a multiprocessor" { "resident warps" } th { "version" } th.number { "cycles for each warp" } th { "" }
                    th.number title="those of the rewritten kernel by those of the original" { "ratio" }
                } }
                tbody {
                    @for (warps, old) in &measure.original {
                        @let new = measure.rewritten.get(warps);
                        tr {
                            td.number { (warps) }
                            td { "original" }
                            td.number { (format!("{old:.0}")) }
                            td { (share(*old, most, "original")) }
                            td {}
                        }
                        @if let Some(new) = new {
                            tr {
                                td {}
                                td { "rewritten" }
                                td.number { (format!("{new:.0}")) }
                                td { (share(*new, most, "full")) }
                                td.number { (format!("{:.3}", new / old)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A bar as long as the share that a number has in the greatest.
fn share(of: f64, most: f64, class: &str) -> Markup {
    let percent = if most > 0.0 { (100.0 * of / most).round() } else { 0.0 };
    html! { span.share.(class) style={ "width: " (percent / 10.0) "rem" } {} }
}
