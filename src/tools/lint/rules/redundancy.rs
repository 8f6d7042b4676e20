//! `redundant-load`: values that are in registers already, as the analysis that `candidates` shows has proved.

use std::collections::BTreeSet;

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::InstId;
use crate::emulate::SymbolKind;
use crate::expr::TermId;
use crate::isa::{Axis, Special};
use crate::report::{Decision, LoadReport};
use crate::strategies::StrategyName;
use crate::traffic::LANES;

/// The largest distance to another lane that is reported. A larger one serves less than half of a warp, and is mostly the
/// width of blocks that are not whole warps.
const MAX_DISTANCE: u32 = 15;

/// The most terms of an address that are looked at.
const MAX_TERMS: usize = 200;

/// The loads of a function whose values another load has already loaded. `reusable`: the legal replacement of each
/// load, by its instruction; `rows_are_warps`: whether a lane's neighbours are its neighbours along x.
pub(crate) fn redundant(
    subject: &Subject<'_, '_, '_>,
    reusable: &[(InstId, LoadReport)],
    rows_are_warps: bool,
) -> Vec<Found> {
    let mut found = Vec::new();
    let mut addresses = subject.trace.accesses.iter().filter_map(|access| access.address);
    let is_narrow = !rows_are_warps || addresses.any(|address| has_narrow_blocks(subject, address));
    for (inst, load) in reusable {
        let Some(from) = load.source_line.and_then(|line| subject.at_line(line)) else { continue };
        let place = subject.place(from);
        let guards = load.guards.as_deref().unwrap_or_default();
        let (level, message, help) = match (load.decision, load.delta) {
            (Decision::By(StrategyName::Reuse), _) => match (load.iterations, assumption(guards)) {
                (Some(iterations), Some((condition, help))) => (
                    if guards.is_empty() { Level::Warning } else { Level::Note },
                    format!(
                        "this load reads what the load at {place} has read {iterations} iteration{} before{condition}",
                        if iterations == 1 { "" } else { "s" }
                    ),
                    help,
                ),
                (None, _) if guards.is_empty() => (
                    Level::Note,
                    format!("this load reads what the load at {place} has read"),
                    "keep the value in a local variable",
                ),
                _ => continue,
            },
            (Decision::By(StrategyName::Paper), Some(delta))
                if delta.unsigned_abs() <= MAX_DISTANCE && !is_narrow =>
            {
                (
                    Level::Note,
                    format!(
                        "this load reads what the load at {place} has read in the lane {} {}",
                        delta.unsigned_abs(),
                        if delta < 0 { "below" } else { "above" }
                    ),
                    match subject.architecture {
                        Some(..70) => {
                            "let lanes pass the elements on (`__shfl`), or load a row of them once into shared memory"
                        }
                        _ => {
                            "leave it as it is unless loads limit the kernel: the first-level cache has the element, and a \
                             shuffle costs more (`ptxasw candidates` has both numbers); else load a row of elements once \
                             into shared memory"
                        }
                    },
                )
            }
            _ => continue,
        };
        let traffic = subject.traffic.accesses.iter().find(|traffic| traffic.inst == *inst);
        let span = traffic.and_then(|traffic| traffic.spread.span());
        found.push(Found {
            rule: Rule::RedundantLoad,
            level,
            inst: *inst,
            message,
            label: None,
            help: help.to_owned(),
            waste: span.map_or(0, |span| span.max),
        });
    }
    found
}

/// The condition under which a loop carries a value, by the checks at run time that `reuse` makes, and the advice; `None`
/// for other checks.
fn assumption(guards: &[String]) -> Option<(&'static str, &'static str)> {
    let is_known = |guard: &String| matches!(&**guard, "same-address" | "no-alias");
    let has = |wanted: &str| guards.iter().any(|guard| guard == wanted);
    if !guards.iter().all(is_known) {
        return None;
    }
    Some(match (has("same-address"), has("no-alias")) {
        (false, false) => ("", "keep the value in a local variable from one iteration to the next"),
        (true, false) => (
            ", if no 32-bit index wraps around",
            "keep the value in a local variable from one iteration to the next; `ptxasw candidates --strategy reuse` \
             shows a replacement that checks this",
        ),
        (false, true) => (
            ", if the loop's stores are to other bytes",
            "declare the pointers `__restrict__`, and keep the value in a local variable from one iteration to the next",
        ),
        (true, true) => (
            ", if no 32-bit index wraps around and the loop's stores are to other bytes",
            "declare the pointers `__restrict__`, and keep the value in a local variable from one iteration to the next",
        ),
    })
}

/// Whether an index has a part `%ctaid.x * n + %tid.x` with n below 32: blocks are meant that have fewer threads than a warp,
/// since the elements of larger ones would overlap.
fn has_narrow_blocks(subject: &Subject<'_, '_, '_>, address: TermId) -> bool {
    let arena = &subject.trace.arena;
    let mut open = vec![address];
    let mut seen = BTreeSet::new();
    while let Some(term) = open.pop() {
        if seen.len() > MAX_TERMS || !seen.insert(term) {
            continue;
        }
        let (_, addends) = arena.linear_parts(term);
        let times = |wanted: SymbolKind| {
            let is_wanted = |symbol| subject.trace.symbols.info(symbol).kind == wanted;
            let mut found =
                addends.iter().filter(|(one, _)| subject.symbol(*one).is_some_and(is_wanted));
            found.next().map(|(_, times)| *times)
        };
        let thread = times(SymbolKind::Tid(Axis::X));
        let block = times(SymbolKind::WarpUniform(Special::Ctaid(Axis::X)));
        if let (Some(thread), Some(block)) = (thread, block)
            && block < thread.saturating_mul(LANES as u64)
        {
            return true;
        }
        open.extend(arena.operands(term));
    }
    false
}
