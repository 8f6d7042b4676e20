//! The text of a kernel with the decision about each load beside it.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};

use super::input::LineProfile;
use super::model::{Kernel, last_part};
use super::words::counted;
use crate::report::{Decision, LoadReport};
use crate::reuse::Refusal;
use crate::strategies::StrategyName;

/// Lines around a load that are always shown.
const CONTEXT: u32 = 3;

/// A stretch of fewer lines than this is not folded away.
const WORTH_FOLDING: usize = 8;

/// The decision about a load, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Another lane's register replaces it (under the paper's strategy the same lane's, too).
    Shuffled,
    /// It comes without a shuffle: from a register of the same lane, or in a vector.
    Replaced,
    /// It could be replaced, but that does not pay.
    Possible,
    /// No other load could replace it, or it is the source of others.
    Kept,
    /// Another load could replace it, but a rule refused that.
    Refused,
}

impl Mark {
    /// Its name in the page and in the style sheet.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mark::Shuffled => "shuffled",
            Mark::Replaced => "replaced",
            Mark::Possible => "possible",
            Mark::Kept => "kept",
            Mark::Refused => "refused",
        }
    }

    /// The mark of a load; `all` are the loads of its kernel.
    pub(super) fn of(load: &LoadReport, all: &[LoadReport]) -> Mark {
        let no_partner = Refusal::NoPartner.to_string();
        if load.decision == Decision::By(StrategyName::Paper) || load.delta.is_some() {
            Mark::Shuffled
        } else if load.decision != Decision::Keep {
            Mark::Replaced
        } else if load.possible.is_some() {
            Mark::Possible
        } else if load.reason.as_ref().is_none_or(|reason| *reason == no_partner)
            || all.iter().any(|other| other.source_line == Some(load.line))
        {
            Mark::Kept
        } else {
            Mark::Refused
        }
    }
}

/// The reason for the mark, in one line.
pub(super) fn reason(load: &LoadReport, all: &[LoadReport]) -> String {
    if let Decision::By(name) = load.decision {
        let facts = name.facts();
        let what = match (facts.served, load.delta) {
            (Some(served), None) => served.to_owned(),
            (_, None | Some(0)) => "copied".to_owned(),
            (_, Some(delta)) => format!("Δ {delta:+}"),
        };
        let named = facts.named;
        let mut from =
            load.source_line.map(|line| format!(" {named} line {line}")).unwrap_or_default();
        if let Some(iterations) = load.iterations {
            from += &format!(", {} before", counted(iterations as usize, "iteration"));
        }
        let cost = load.cost.map(|cost| format!(": {cost}")).unwrap_or_default();
        let guards = load.guards.as_deref().unwrap_or(&[]);
        let checked =
            if guards.is_empty() { String::new() } else { format!(" [{}]", guards.join(", ")) };
        return format!("{what}{from}{checked}{cost}");
    }
    let serves = all.iter().filter(|other| other.source_line == Some(load.line)).count();
    let source = format!("the source of {}", counted(serves, "other"));
    match (serves, load.reason.as_deref()) {
        (0, reason) => reason.unwrap_or("").to_owned(),
        (_, Some(reason)) if load.possible.is_some() => format!("{source}; {reason}"),
        _ => source,
    }
}

/// The listing of a kernel; `None` if its text is not there.
pub(super) fn listing(kernel: &Kernel<'_>, id: &str) -> Option<Markup> {
    let (source, first, last) = kernel.source?;
    let mut loads: BTreeMap<u32, Vec<&LoadReport>> = BTreeMap::new();
    for load in kernel.loads() {
        loads.entry(load.line).or_default().push(load);
    }
    // Lines with accesses: the loads about which was decided, and all that a run has counted.
    let run = kernel.profile.iter().filter(|(_, profile)| has_requests(profile));
    let open: BTreeSet<u32> = loads.keys().chain(run.map(|(line, _)| line)).copied().collect();
    let folded = if kernel.profile.is_empty() {
        "lines without a load"
    } else {
        "lines without a memory access"
    };
    let near = |line: u32| {
        open.range(line.saturating_sub(CONTEXT)..=line.saturating_add(CONTEXT)).next().is_some()
    };
    // Stretches of lines, shown and folded in turn.
    let mut stretches: Vec<(bool, Vec<u32>)> = Vec::new();
    for line in first..=last {
        let shown = near(line) || line == first;
        match stretches.last_mut() {
            Some((same, lines)) if *same == shown => lines.push(line),
            _ => stretches.push((shown, vec![line])),
        }
    }
    let row = |line: u32| {
        let here = loads.get(&line).map_or(&[][..], Vec::as_slice);
        let mark =
            here.iter().map(|load| Mark::of(load, kernel.loads())).min_by_key(|mark| match mark {
                Mark::Shuffled => 0,
                Mark::Replaced => 1,
                Mark::Possible => 2,
                Mark::Refused => 3,
                Mark::Kept => 4,
            });
        let class = mark.map_or("", Mark::name);
        let address = kernel.accesses.get(&line).and_then(|access| access.address.as_deref());
        html! {
            div class={ "row " (class) } id={ (id) "-" (line) } title=[address] {
                span.number { (line) }
                code { (source.line_text(line).trim_end()) }
                @let profile = kernel.profile.get(&line).filter(|profile| has_requests(profile));
                @if mark.is_some() || profile.is_some() {
                    span.why {
                        @for load in here { (explained(load, kernel)) }
                        @if let Some(profile) = profile { (cost(profile)) }
                    }
                }
            }
        }
    };
    Some(html! {
        div.listing tabindex="0" role="region" aria-label={ "Source of " (kernel.name) } {
            @for (shown, lines) in &stretches {
                @if *shown || lines.len() < WORTH_FOLDING {
                    @for &line in lines { (row(line)) }
                } @else {
                    details {
                        summary { (lines.len()) " " (folded) }
                        @for &line in lines { (row(line)) }
                    }
                }
            }
        }
    })
}

/// The name of the rule that kept a load, by which `ptxasw explain` knows it.
pub(super) fn rule(load: &LoadReport) -> Markup {
    html! {
        @if let Some(rule) = &load.rule {
            " " span.rule title={ "ptxasw explain " (rule) } { "(" (rule) ")" }
        }
    }
}

fn explained(load: &LoadReport, kernel: &Kernel<'_>) -> Markup {
    let mark = Mark::of(load, kernel.loads()).name();
    html! {
        span.badge.(mark) { (mark) }
        span { (reason(load, kernel.loads())) (rule(load)) }
    }
}

/// The kinds of requests of a line, each with its number, the lines or wavefronts, and their name.
fn requests(profile: &LineProfile) -> [(u64, u64, &'static str); 3] {
    [
        (profile.global_load_requests, profile.global_load_wavefronts, "line"),
        (profile.global_store_requests, profile.global_store_wavefronts, "line"),
        (profile.shared_requests, profile.shared_wavefronts, "wavefront"),
    ]
}

fn has_requests(profile: &LineProfile) -> bool {
    requests(profile).iter().any(|(requests, ..)| *requests > 0)
}

/// Requests with more lines or wavefronts than this, in the mean, are marked.
const MANY: f64 = 4.0;

fn cost(profile: &LineProfile) -> Markup {
    let from = match (&profile.source_file, profile.source_line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", last_part(file)),
        _ => String::new(),
    };
    html! {
        @for (requests, count, unit) in requests(profile).into_iter().filter(|(requests, ..)| *requests > 0) {
            @let mean = count as f64 / requests as f64;
            span.cost.many[mean > MANY] title=[profile.source_file.as_deref()] {
                (counted(requests as usize, "request")) " of " (format!("{mean:.2}")) " " (unit) "s" (from)
            }
        }
    }
}
