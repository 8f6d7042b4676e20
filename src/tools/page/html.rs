//! The page around drawings and listings.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::input::{Inputs, LineProfile};
use super::listing::{self, Mark};
use super::model::{Kernel, last_part};
use super::words::counted;
use super::{bars, decision, exchange, lanes, traffic};
use crate::ab::measurement::Measurement;
use crate::report::{KernelReport, LoadReport, Stores};

/// Rows of loads of a kernel that are open from the start.
const OPEN_ROWS: usize = 6;

/// A sentence in which code stands between backticks.
fn with_code(sentence: &str) -> Markup {
    html! {
        @for (at, part) in sentence.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Writes the page.
pub(super) fn page(kernels: &[Kernel<'_>], inputs: &Inputs) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "ptxasw: " (counted(kernels.len(), "kernel")) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header { h1 { @if has_decisions(kernels) || kernels.is_empty() { "What ptxasw did" } @else { "What memory accesses cost" } } @if !kernels.is_empty() { (summary(kernels)) } }
                main {
                    @if !kernels.is_empty() { (overview(kernels)) }
                    (times(inputs))
                    @for (index, kernel) in kernels.iter().enumerate() { (section(kernel, index, inputs)) }
                }
            }
        }
    };
    markup.into_string()
}

fn summary(kernels: &[Kernel<'_>]) -> Markup {
    let loads: usize = kernels.iter().map(|kernel| kernel.loads().len()).sum();
    let sum = |mark| kernels.iter().map(|kernel| count(kernel, mark)).sum::<usize>();
    let (shuffled, replaced) = (sum(Mark::Shuffled), sum(Mark::Replaced));
    let possible = sum(Mark::Possible);
    html! {
        @if has_decisions(kernels) {
            p { (counted(kernels.len(), "kernel")) ", " (counted(loads, "global load")) ", " (shuffled) " of them shuffled, " (replaced) " replaced otherwise, " (possible) " left alone since that does not pay." }
            @if let Some(others) = others(kernels) { p { (others) } }
            p.legend {
                span.badge.shuffled { "shuffled" } " the value comes from another lane; "
                span.badge.replaced { "replaced" } " it comes from a register of the same lane, or in a vector; "
                span.badge.possible { "possible" } " it could be replaced, but that does not pay; "
                span.badge.kept { "kept" } " no other lane has it, or others take it from here; "
                span.badge.refused { "refused" } " a lane may have it, but a rule stands against it"
            }
        }
    }
}

/// A sentence about what was changed besides loads, and about rewrites that were taken back, if there are some.
fn others(kernels: &[Kernel<'_>]) -> Option<String> {
    let reports = || kernels.iter().filter_map(|kernel| kernel.report);
    let sum = |of: fn(&KernelReport) -> usize| reports().map(of).sum::<usize>();
    let stores = reports().map(KernelReport::replaced_stores);
    let mut parts = stores.fold(Stores::default(), Stores::and).words();
    let (arrays, collectives) =
        (sum(KernelReport::laid_out), sum(KernelReport::replaced_collectives));
    if arrays > 0 {
        parts.push(format!("{} laid out anew", counted(arrays, "array")));
    }
    if collectives > 0 {
        parts.push(format!("{} replaced", counted(collectives, "collective")));
    }
    let taken_back = reports().filter(|report| report.is_taken_back()).count();
    if taken_back > 0 {
        parts.push(format!(
            "{} taken back, whose machine code was not better",
            counted(taken_back, "kernel")
        ));
    }
    (!parts.is_empty()).then(|| format!("Besides: {}.", parts.join(", ")))
}

/// Whether there are decisions about loads; else the page is about the costs of accesses.
fn has_decisions(kernels: &[Kernel<'_>]) -> bool {
    kernels.iter().any(|kernel| kernel.report.is_some())
}

fn count(kernel: &Kernel<'_>, mark: Mark) -> usize {
    kernel.loads().iter().filter(|load| Mark::of(load, kernel.loads()) == mark).count()
}

/// The place of a kernel in the page.
fn anchor(index: usize) -> String {
    format!("k{index}")
}

fn overview(kernels: &[Kernel<'_>]) -> Markup {
    let costs = kernels.iter().any(|kernel| kernel.lint.is_some());
    let decisions = has_decisions(kernels);
    let times = kernels.iter().any(|kernel| !kernel.measurements.is_empty());
    // Columns in which some kernel has a value.
    let marks = [Mark::Shuffled, Mark::Replaced, Mark::Possible, Mark::Refused];
    let has = |mark: &Mark| kernels.iter().any(|kernel| count(kernel, *mark) > 0);
    let marks: Vec<Mark> = marks.into_iter().filter(has).collect();
    let reports = || kernels.iter().filter_map(|kernel| kernel.report);
    let cycled = reports().any(|report| report.cost().is_some());
    let decided = reports().any(|report| report.decision.is_some());
    let averaged = reports().any(|report| report.average_delta.is_some());
    let runs: Vec<Event> = EVENTS
        .into_iter()
        .filter(|event| kernels.iter().any(|kernel| event.of(kernel).is_some()))
        .collect();
    html! {
        section {
            h2 { "Kernels" }
            div.wide {
                table.kernels {
                    thead { tr {
                        th { "kernel" } th { "file" }
                        @if costs {
                            th.number title="sectors and wavefronts too many in one request of each access, more in loops; certain ones where lanes are not followed" { "waste" }
                            th.number { "findings" }
                        }
                        @for event in &runs { th.number title=(event.meaning) { (event.name) } }
                        @if decisions {
                            th.number { "loads" }
                            @for mark in &marks { th.number { (mark.name()) } }
                            @if decided { th { "build uses" } }
                            @if cycled { th.number { "cycles" } }
                            @if averaged { th.number { "average |Δ|" } }
                        }
                        @if times { th { "full against original" } }
                    } }
                    tbody {
                        @for (index, kernel) in kernels.iter().enumerate() {
                            tr {
                                td.name { a href={ "#" (anchor(index)) } { (shown_name(kernel)) } }
                                td.name title=(kernel.file) { (last_part(&kernel.file)) }
                                @if costs {
                                    td.number data-of="waste" { (kernel.lint.map_or_else(String::new, |lint| lint.waste().to_string())) }
                                    td.number data-of="findings" { (kernel.lint.map_or_else(String::new, |lint| lint.findings.len().to_string())) }
                                }
                                @for event in &runs { td.number data-of=(event.name) { (event.shown(kernel)) } }
                                @if decisions {
                                    td.number data-of="loads" { (kernel.loads().len()) }
                                    @for &mark in &marks { td.number data-of=(mark.name()) { (count(kernel, mark)) } }
                                    @if decided { td data-of="build uses" { (kernel.report.map_or("–", decision::word)) } }
                                    @if cycled { td.number data-of="cycles" { (cycles(kernel)) } }
                                    @if averaged { td.number data-of="average |Δ|" { (average(kernel)) } }
                                }
                                @if times { td data-of="full against original" { (verdicts(kernel)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A number of a run, per request.
struct Event {
    name: &'static str,
    meaning: &'static str,
    requests: fn(&LineProfile) -> u64,
    count: fn(&LineProfile) -> u64,
}

const EVENTS: [Event; 4] = [
    Event {
        name: "lines per load",
        meaning: "a run: lines of 128 bytes in each request for global memory",
        requests: |line| line.global_load_requests,
        count: |line| line.global_load_wavefronts,
    },
    Event {
        name: "lines per store",
        meaning: "a run: lines of 128 bytes in each request that stores to global memory",
        requests: |line| line.global_store_requests,
        count: |line| line.global_store_wavefronts,
    },
    Event {
        name: "bank passes",
        meaning: "a run: wavefronts of each request for shared memory",
        requests: |line| line.shared_requests,
        count: |line| line.shared_wavefronts,
    },
    Event {
        name: "divergent",
        meaning: "a run: the share of branches at which lanes of a warp take different paths",
        requests: |line| line.branches,
        count: |line| line.divergent_branches,
    },
];

impl Event {
    /// The mean of a kernel's run; `None` without requests.
    fn of(&self, kernel: &Kernel<'_>) -> Option<f64> {
        let sum =
            |of: fn(&LineProfile) -> u64| kernel.profile.values().map(|line| of(line)).sum::<u64>();
        let requests = sum(self.requests);
        (requests > 0).then(|| sum(self.count) as f64 / requests as f64)
    }

    fn shown(&self, kernel: &Kernel<'_>) -> String {
        self.of(kernel).map_or_else(|| "–".to_owned(), |mean| format!("{mean:.2}"))
    }
}

/// The name in the source, where it is known.
fn shown_name<'k>(kernel: &'k Kernel<'_>) -> &'k str {
    kernel.lint.map_or(&kernel.name, |lint| &lint.demangled)
}

fn average(kernel: &Kernel<'_>) -> String {
    let average = kernel.report.and_then(|report| report.average_delta);
    average.map_or_else(|| "–".to_owned(), |average| format!("{average:.2}"))
}

/// The cycles of the chosen replacements against those of the loads.
fn cycles(kernel: &Kernel<'_>) -> String {
    let cost = kernel.report.and_then(KernelReport::cost);
    cost.map_or_else(|| "–".to_owned(), |cost| format!("{} against {}", cost.strategy, cost.load))
}

fn verdicts(kernel: &Kernel<'_>) -> Markup {
    let full = |measurement: &Measurement| {
        let variant = measurement.variants.iter().find(|variant| variant.name == "full")?;
        let against = variant.against.as_ref()?;
        Some(format!("{} ({:.3})", against.verdict, against.speedup))
    };
    let all: Vec<String> = kernel.measurements.iter().filter_map(|&m| full(m)).collect();
    html! { (if all.is_empty() { "–".to_owned() } else { all.join(", ") }) }
}

/// All measurements, one chart for each device and state of the L2 cache.
fn times(inputs: &Inputs) -> Markup {
    let mut groups: Vec<(String, Vec<&Measurement>)> = Vec::new();
    for measurement in &inputs.measurements {
        let name = setting(measurement);
        match groups.iter_mut().find(|(group, _)| *group == name) {
            Some((_, members)) => members.push(measurement),
            None => groups.push((name, vec![measurement])),
        }
    }
    html! {
        @if !groups.is_empty() {
            section {
                h2 { "Times" }
                @for (name, members) in &groups {
                    figure {
                        figcaption { (name) }
                        div.wide { (PreEscaped(bars::chart(members))) }
                    }
                }
                @for measurement in &inputs.measurements { (warnings(measurement)) }
            }
        }
    }
}

fn setting(measurement: &Measurement) -> String {
    let Measurement { device, architecture, driver, l2, .. } = measurement;
    let l2 = match l2 {
        crate::ab::device::L2::Keep => "L2 kept",
        crate::ab::device::L2::Flush => "L2 flushed",
    };
    format!("{device} ({architecture}, CUDA {driver}), {l2}")
}

fn warnings(measurement: &Measurement) -> Markup {
    html! {
        @if measurement.throttling.seen {
            p.warning { (measurement.kernel) ": the clocks did not hold: " (measurement.throttling.detail) }
        }
        @for note in &measurement.notes { p.warning { (measurement.kernel) ": " (note) } }
    }
}

fn section(kernel: &Kernel<'_>, index: usize, inputs: &Inputs) -> Markup {
    let id = anchor(index);
    html! {
        section id=(id) {
            h2 { (shown_name(kernel)) " " span.file { (kernel.file) } }
            @if let Some(skipped) = kernel.report.and_then(|report| report.skipped.as_ref()) {
                p.warning { "Left as it is: " (skipped) }
            } @else if let Some(report) = kernel.report {
                p { (with_code(&report.sentence())) @if report.proved { "; proved equivalent to the original" } }
                @if let Some(change) = report.machine_code() { p { (change) } }
            }
            @if let Some(drawn) = kernel.report.and_then(decision::section) { (drawn) }
            @if let Some(report) = kernel.report.filter(|report| !report.collectives.is_empty()) {
                (collectives(report))
            }
            @if let Some(costs) = traffic::section(kernel, &id, &inputs.sources) { (costs) }
            @if let Some(report) = kernel.report.filter(|report| !report.arrays.is_empty()) {
                (arrays(report))
            }
            @if let Some(report) = kernel.report.filter(|report| !report.stores.is_empty()) {
                h3 { "Stores" }
                (accesses(&report.stores, "address"))
            }
            @if !kernel.rows.is_empty() { (rows(kernel)) }
            @if let Some(listing) = listing::listing(kernel, &id).filter(|_| kernel.has_decisions()) {
                h3 { "PTX" }
                @if !kernel.names.is_empty() {
                    p.names { "In addresses (hover over a load): " (kernel.names.join("; ")) }
                }
                (listing)
            } @else if !kernel.loads().is_empty() {
                h3 { "Loads" }
                (accesses(kernel.loads(), "register"))
            }
        }
    }
}

/// The collectives, each with the lines of its instructions.
fn collectives(report: &KernelReport) -> Markup {
    html! {
        h3 { "Collectives" }
        div.wide {
            table {
                thead { tr {
                    th.number { "line" } th { "computes" } th { "of" } th.number { "lanes" }
                    th.number { "shuffles" } th { "decision" }
                } }
                tbody {
                    @for one in &report.collectives {
                        tr {
                            td.number { (one.line) }
                            td { (one.computes) }
                            td { code { (one.of) } }
                            td.number { (one.lanes) }
                            td.number { (one.shuffles) }
                            td.why { (with_code(&one.outcome())) }
                        }
                    }
                }
            }
        }
        @for one in &report.collectives {
            @if let Some(drawing) = exchange::draw(one) {
                details.figure {
                    summary { "line " (one.line) ": " (one.sentence()) }
                    figure.wide {
                        (PreEscaped(drawing))
                        figcaption { "Lanes from left to right, steps from top to bottom: a line leads from a lane to the one that gets its value." }
                    }
                }
            }
        }
    }
}

/// The arrays in shared memory, each with its accesses.
fn arrays(report: &KernelReport) -> Markup {
    html! {
        h3 { "Arrays in shared memory" }
        @for array in &report.arrays {
            details.figure {
                summary { "line " (array.line) ": " (array.sentence()) }
                @if !array.accesses.is_empty() {
                    div.wide {
                        table {
                            thead { tr {
                                th.number { "line" } th.number { "bytes" }
                                th.number { "wavefronts" } th.number { "laid out anew" }
                            } }
                            tbody {
                                @for access in &array.accesses {
                                    tr {
                                        td.number { (access.line) }
                                        td.number { (access.bytes) }
                                        td.number { (access.wavefronts.before) }
                                        td.number { (access.wavefronts.after) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn rows(kernel: &Kernel<'_>) -> Markup {
    html! {
        h3 { "Rows of loads" }
        p.legend {
            "Lanes against addresses, in bytes; shaded: lines of 128 bytes. "
            span.key.load {} " loaded by the lane itself; "
            span.key.served {} " comes by shuffle; "
            span.key.corner {} " no source lane in the warp, loaded"
        }
        @for (index, row) in kernel.rows.iter().enumerate() {
            @let drawn = lanes::draw(row);
            @let line = row.loads[0].load.line;
            details.figure open[index < OPEN_ROWS] {
                summary { "line " (line) " serves " (row.loads.len() - 1) }
                figure {
                    @match &drawn.svg {
                        Some(svg) => div.wide { (PreEscaped(svg)) },
                        None => p { "The lanes lie too far apart for a drawing." },
                    }
                    figcaption { (drawn.caption) }
                }
            }
        }
    }
}

/// Loads or stores as a table, each with its operand, whose kind is the heading.
fn accesses(all: &[LoadReport], operand: &str) -> Markup {
    html! {
        div.wide {
            table {
                thead { tr { th.number { "line" } th { (operand) } th { "" } th { "why" } } }
                tbody {
                    @for access in all {
                        @let mark = Mark::of(access, all).name();
                        tr {
                            td.number { (access.line) }
                            td { code { (access.register) } }
                            td { span.badge.(mark) { (mark) } }
                            td.why { (listing::reason(access, all)) (listing::rule(access)) }
                        }
                    }
                }
            }
        }
    }
}
