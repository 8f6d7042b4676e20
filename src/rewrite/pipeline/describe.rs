//! The report of one function: its loads, the decision about each, and the reason.

use rustc_hash::FxHashMap;

use super::decided::Decided;
use crate::cfg::InstId;
use crate::isa::Opcode;
use crate::patterns::{Places, Price, operand_text};
use crate::ptx::{Body, Function, StateSpace, Statement};
use crate::report::{self, Decision, KernelReport, LoadReport, Origins};
use crate::select::{Choice, LoadDecision, Verdict};
use crate::source::SourceFile;
use crate::traffic::Request;

/// The text, and where its instructions were compiled from.
pub(super) type Text<'a> = (&'a SourceFile, &'a Origins<'a, 'a>);

/// The report of a function that was analysed.
pub(super) fn decided(
    (source, origins): Text<'_>,
    function: &Function<'_>,
    decided: &Decided<'_, '_>,
    requests: &FxHashMap<InstId, (Option<i64>, Request)>,
) -> KernelReport {
    let places = Places { source, origins, flow: &decided.flow };
    let loads: Vec<LoadReport> = decided
        .choice
        .decisions
        .iter()
        .map(|decision| {
            let report = load_report(&places, &decided.choice, decision);
            match requests.get(&decision.inst).cloned() {
                None => report,
                Some((lane_stride, request)) => {
                    LoadReport { lane_stride, request: Some(request), ..report }
                }
            }
        })
        .collect();
    let deltas: Vec<u32> = loads.iter().filter_map(|l| l.delta.map(i32::unsigned_abs)).collect();
    let average_delta =
        (!deltas.is_empty()).then(|| f64::from(deltas.iter().sum::<u32>()) / deltas.len() as f64);
    let mut report = KernelReport {
        name: function.name.text.to_owned(),
        global_loads: loads.len(),
        shuffles: deltas.len(),
        average_delta,
        loads,
        ..KernelReport::default()
    };
    for group in &decided.choice.groups {
        group.shape.list(group, &places, &mut report);
    }
    report.collectives.sort_by_key(|one| one.line);
    // Of several patterns' words about a store, those of the one that replaces it.
    let kept = |store: &LoadReport| store.decision == Decision::Keep;
    report.stores.sort_by_key(|store| (store.line, kept(store)));
    report.stores.dedup_by(|a, b| (a.line, &a.register) == (b.line, &b.register));
    report
}

pub(super) fn load_report(
    places: &Places<'_, '_>,
    choice: &Choice,
    decision: &LoadDecision,
) -> LoadReport {
    let mut report = places.report_of(decision.inst);
    report.bytes = decision.bytes;
    match &decision.verdict {
        Verdict::Kept(refusal) => places.keep(&mut report, refusal),
        Verdict::Replaced(group) => {
            let group = &choice.groups[*group];
            report.decision = Decision::By(group.strategy);
            group.shape.account(decision.inst, places, &mut report);
            report.cost = group.price.map(Price::cost);
        }
    }
    report
}

/// The report of a function that is left as it is as a whole, for `reason`.
pub(super) fn left(places: Text<'_>, function: &Function<'_>, reason: &str) -> KernelReport {
    let mut loads = Vec::new();
    kept_loads(places, function.statements().unwrap_or_default(), reason, &mut loads);
    let global_loads = match function.body {
        Body::Unparsed { global_loads, .. } => global_loads,
        _ => loads.len(),
    };
    KernelReport {
        name: function.name.text.to_owned(),
        global_loads,
        skipped: Some(reason.to_owned()),
        loads,
        ..KernelReport::default()
    }
}

/// The global loads of a function that is left as it is as a whole, all for one reason.
fn kept_loads(
    (source, origins): Text<'_>,
    statements: &[Statement<'_>],
    reason: &str,
    found: &mut Vec<LoadReport>,
) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => {
                kept_loads((source, origins), statements, reason, found);
            }
            Statement::Instruction(ast)
                if matches!(ast.form.opcode, Opcode::Ld | Opcode::Ldu)
                    && matches!(ast.form.space(), StateSpace::Global | StateSpace::Generic) =>
            {
                let elements = ast.form.elements().map(u32::from);
                let bits = ast.form.last_type().map_or(0, |ty| ty.bits());
                let line = source.line(ast.span.start);
                found.push(LoadReport {
                    bytes: bits / 8 * elements.unwrap_or(1),
                    source: origins.at(ast.span),
                    rule: Some(report::FUNCTION_LEFT.to_owned()),
                    reason: Some(reason.to_owned()),
                    ..LoadReport::new(line, operand_text(source, ast))
                });
            }
            _ => {}
        }
    }
}
