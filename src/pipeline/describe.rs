//! The report of one function: its loads, the decision about each, and the reason.

use super::{Decided, arrays};
use crate::cfg::Flow;
use crate::isa::Opcode;
use crate::ptx::{self, Body, Function, Operand, StateSpace, Statement};
use crate::report::{self, Cost, Decision, KernelReport, LoadReport, Origins};
use crate::reuse::{Guards, Multiple, NoWrap, Refusal, Start};
use crate::select::{Finding, Price, StrategyName, Verdict};
use crate::source::SourceFile;

/// The text, and where its instructions were compiled from.
pub(super) type Places<'a> = (&'a SourceFile, &'a Origins<'a, 'a>);

/// The report of a function that was analysed.
pub(super) fn decided(
    (source, origins): Places<'_>,
    function: &Function<'_>,
    decided: &Decided<'_, '_>,
) -> KernelReport {
    let loads: Vec<LoadReport> = decided
        .choice
        .findings
        .iter()
        .map(|finding| load_report((source, origins), decided, finding))
        .collect();
    let deltas: Vec<u32> = loads.iter().filter_map(|l| l.delta.map(i32::unsigned_abs)).collect();
    let average_delta =
        (!deltas.is_empty()).then(|| f64::from(deltas.iter().sum::<u32>()) / deltas.len() as f64);
    KernelReport {
        name: function.name.text.to_owned(),
        global_loads: loads.len(),
        shuffles: deltas.len(),
        average_delta,
        loads,
        arrays: decided
            .choice
            .arrays
            .iter()
            .map(|found| arrays::report((source, origins), decided, found))
            .collect(),
        stores: stores((source, origins), decided),
        ..KernelReport::default()
    }
}

/// The reports of the stores of structs.
fn stores((source, origins): Places<'_>, decided: &Decided<'_, '_>) -> Vec<LoadReport> {
    let flow = &decided.flow;
    let line = |inst: u32| source.line(flow.insts[inst as usize].ast.span.start);
    let mut reports = Vec::new();
    for found in &decided.choice.stores {
        let whole = &found.whole;
        let first = whole.fields.first().map_or(0, |field| line(field.inst));
        for field in &whole.fields {
            let ast = flow.insts[field.inst as usize].ast;
            let mut report = LoadReport::new(line(field.inst), operand_text(source, ast));
            report.bytes = field.values.len() as u32 * whole.word_bits / 8;
            report.source = origins.at(ast.span);
            match &found.refusal {
                Some(refusal) => kept(&mut report, refusal),
                None => {
                    report.decision = Decision::Aos;
                    report.source_line = Some(first).filter(|first| *first != report.line);
                    let mut guards = warp_guards(flow, whole.linear_lanes, true, &whole.no_wrap);
                    if whole.request.generic {
                        guards.push("global-address".to_owned());
                    }
                    guards.dedup();
                    report.guards = Some(guards);
                    report.cost = found.price.map(cost);
                }
            }
            reports.push(report);
        }
    }
    reports.sort_by_key(|report| report.line);
    reports
}

/// Says that an access is kept, and why.
fn kept(report: &mut LoadReport, refusal: &Refusal) {
    if let Refusal::DoesNotPay(unpaid) | Refusal::ByNameOnly(unpaid) = refusal {
        report.architecture = Some(unpaid.architecture);
        report.possible = Some(vec![unpaid.possible.to_owned()]);
        report.cost = Some(cost(Price { instead: unpaid.cost, kept: unpaid.kept }));
        report.loads = Some(unpaid.loads).filter(|loads| *loads > 1);
    }
    report.rule = Some(refusal.rule().to_owned());
    report.reason = Some(refusal.to_string());
}

/// The report of a function that is left as it is as a whole, for `reason`.
pub(super) fn left(places: Places<'_>, function: &Function<'_>, reason: &str) -> KernelReport {
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

fn load_report(
    (source, origins): Places<'_>,
    decided: &Decided<'_, '_>,
    finding: &Finding,
) -> LoadReport {
    let flow = &decided.flow;
    let ast = flow.insts[finding.inst as usize].ast;
    let line = |inst: u32| source.line(flow.insts[inst as usize].ast.span.start);
    let mut report = LoadReport::new(line(finding.inst), operand_text(source, ast));
    report.bytes = finding.bytes;
    report.source = origins.at(ast.span);
    match &finding.verdict {
        Verdict::Kept(refusal) => kept(&mut report, refusal),
        Verdict::Carried(link) => {
            report.decision = Decision::Reuse;
            let link = &decided.choice.carried[*link];
            report.source_line = Some(line(link.source));
            report.iterations = Some(link.distance);
            let same = matches!(link.start, Start::Performed(Some(_))).then_some("same-address");
            let apart = (!link.apart.pairs.is_empty()).then_some("no-alias");
            let guards: Vec<String> = same.into_iter().chain(apart).map(str::to_owned).collect();
            report.guards = (!guards.is_empty()).then_some(guards);
        }
        Verdict::Wide(group) => {
            let group = &decided.choice.vectors[*group];
            let first = group.members[0].inst;
            report.decision = Decision::Wide;
            report.source_line = (first != finding.inst).then(|| line(first));
            report.guards = Some(group.multiples.iter().map(alignment).collect());
        }
        Verdict::Window(row) => {
            let row = &decided.choice.rows[*row];
            let start = row.start().load.inst;
            let tap = row.taps.iter().find(|tap| tap.load.inst == finding.inst);
            report.decision = Decision::Window;
            report.source_line = (start != finding.inst).then(|| line(start));
            let mut distances = tap.iter().flat_map(|tap| tap.values.iter().map(|v| v.distance));
            report.delta = distances.find(|distance| *distance != 0);
            let mut guards = warp_guards(flow, row.linear_lanes, true, &row.no_wrap);
            guards.extend(row.multiples.iter().map(alignment));
            if row.start().load.generic {
                guards.push("global-address".to_owned());
            }
            guards.dedup();
            report.guards = Some(guards);
        }
        Verdict::Aos(whole) => {
            let whole = &decided.choice.structs[*whole];
            let first = whole.fields[0].load.inst;
            report.decision = Decision::Aos;
            report.source_line = (first != finding.inst).then(|| line(first));
            let mut guards = warp_guards(flow, whole.linear_lanes, true, &whole.no_wrap);
            if whole.fields[0].load.generic {
                guards.push("global-address".to_owned());
            }
            guards.dedup();
            report.guards = Some(guards);
        }
        Verdict::Covered(name, covered) => {
            report.decision = match name {
                StrategyName::Reuse => Decision::Reuse,
                _ => Decision::Shuffle,
            };
            report.source_line = Some(line(covered.source));
            report.delta = (*name != StrategyName::Reuse).then_some(covered.delta);
            report.guards = Some(pair_guards(flow, &covered.guards));
        }
    }
    if report.decision != Decision::Keep {
        report.cost = finding.price.map(cost);
    }
    report
}

/// The cycles of a replacement, and of the load.
fn cost(price: Price) -> Cost {
    let cycles = |hundredths: u32| f64::from(hundredths) / 100.0;
    Cost { strategy: cycles(price.instead), load: cycles(price.kept) }
}

/// The guard that a parameter leaves a vector load aligned.
fn alignment(multiple: &Multiple) -> String {
    let Multiple { parameter, offset, of, .. } = multiple;
    let at = if *offset == 0 { String::new() } else { format!("+{offset}") };
    format!("multiple of {of}: {parameter}{at}")
}

/// The guards that concern the warp and its indices.
fn warp_guards(
    flow: &Flow<'_, '_>,
    linear_lanes: bool,
    whole_warp: bool,
    no_wrap: &[NoWrap],
) -> Vec<String> {
    let linear_lanes = linear_lanes.then(|| "linear-lanes".to_owned());
    let whole_warp = whole_warp.then(|| "whole-warp".to_owned());
    let no_wrap = no_wrap
        .iter()
        .map(|check| format!("no-wrap {}", flow.registers[check.register.0 as usize]));
    linear_lanes.into_iter().chain(whole_warp).chain(no_wrap).collect()
}

/// The guards under which a load takes its value from another one.
fn pair_guards(flow: &Flow<'_, '_>, guards: &Guards) -> Vec<String> {
    let mut names = warp_guards(flow, guards.linear_lanes, guards.whole_warp, &guards.no_wrap);
    if let Some((register, negated)) = guards.source_active {
        let register = &flow.registers[register.0 as usize];
        let sign = if negated { "!" } else { "" };
        names.push(format!("source-active {sign}{register}"));
    }
    if guards.source_executed.is_some() {
        names.push("source-executed".to_owned());
    }
    if !guards.stores_apart.is_empty() {
        names.push("stores-apart".to_owned());
    }
    if guards.global_address {
        names.push("global-address".to_owned());
    }
    for claim in &guards.same_row {
        let grows = if claim.grows { "+1" } else { "" };
        names.push(format!("same-row {}{grows}", flow.registers[claim.register.0 as usize]));
    }
    if let Some(bytes) = guards.bytes_apart {
        names.push(format!("bytes-apart {bytes}"));
    }
    names
}

/// The global loads of a function that is left as it is as a whole, all for one reason.
fn kept_loads(
    (source, origins): Places<'_>,
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

/// The destination operand as written.
fn operand_text(source: &SourceFile, instruction: &ptx::Instruction<'_>) -> String {
    match instruction.operands.first() {
        Some(Operand::Name(name)) => name.text.to_owned(),
        Some(Operand::Vector(_, span)) => source.slice(*span).to_owned(),
        Some(Operand::Sink(span)) => source.slice(*span).to_owned(),
        Some(Operand::Address(address)) => source.slice(address.span).to_owned(),
        _ => String::new(),
    }
}
