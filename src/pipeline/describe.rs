//! What is reported of one function: its loads, what was decided, and why.

use super::Decided;
use crate::isa::Opcode;
use crate::ptx::{self, Body, Function, Operand, StateSpace, Statement};
use crate::report::{self, Cost, Decision, KernelReport, LoadReport};
use crate::reuse::{Multiple, Refusal};
use crate::select::{Finding, StrategyName, Verdict};
use crate::source::SourceFile;

/// A function that was analysed.
pub(super) fn decided(
    source: &SourceFile,
    function: &Function<'_>,
    decided: &Decided<'_, '_>,
) -> KernelReport {
    let loads: Vec<LoadReport> = decided
        .choice
        .findings
        .iter()
        .map(|finding| load_report(source, decided, finding))
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
        ..KernelReport::default()
    }
}

/// A function that is left as it is as a whole.
pub(super) fn left(source: &SourceFile, function: &Function<'_>, reason: &str) -> KernelReport {
    let mut loads = Vec::new();
    kept_loads(source, function.statements().unwrap_or_default(), reason, &mut loads);
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

fn load_report(source: &SourceFile, decided: &Decided<'_, '_>, finding: &Finding) -> LoadReport {
    let flow = &decided.flow;
    let ast = flow.insts[finding.inst as usize].ast;
    let line = |inst: u32| source.line(flow.insts[inst as usize].ast.span.start);
    let mut report = LoadReport {
        line: line(finding.inst),
        register: operand_text(source, ast),
        bytes: finding.bytes,
        decision: Decision::Keep,
        source_line: None,
        delta: None,
        guards: None,
        iterations: None,
        possible: None,
        cost: None,
        rule: None,
        reason: None,
    };
    match &finding.verdict {
        Verdict::Kept(refusal) => {
            if let Refusal::DoesNotPay(unpaid) = refusal {
                report.possible = Some(vec![unpaid.possible.to_owned()]);
                report.cost = Some(Cost {
                    strategy: f64::from(unpaid.cost) / 100.0,
                    load: f64::from(unpaid.kept) / 100.0,
                });
            }
            report.rule = Some(refusal.rule().to_owned());
            report.reason = Some(refusal.to_string());
        }
        Verdict::Carried(link) => {
            report.decision = Decision::Reuse;
            report.source_line = Some(line(decided.choice.carried[*link].source));
            report.iterations = Some(1);
        }
        Verdict::Wide(group) => {
            let group = &decided.choice.vectors[*group];
            let first = group.members[0].inst;
            report.decision = Decision::Wide;
            report.source_line = (first != finding.inst).then(|| line(first));
            let aligned = |multiple: &Multiple| {
                let Multiple { parameter, offset, of, .. } = multiple;
                let at = if *offset == 0 { String::new() } else { format!("+{offset}") };
                format!("multiple of {of}: {parameter}{at}")
            };
            report.guards = Some(group.multiples.iter().map(aligned).collect());
        }
        Verdict::Window(row) => {
            let row = &decided.choice.rows[*row];
            let start = row.start().load.inst;
            let tap = row.taps.iter().find(|tap| tap.load.inst == finding.inst);
            report.decision = Decision::Window;
            report.source_line = (start != finding.inst).then(|| line(start));
            let distance = tap.map_or(0, |tap| tap.distance);
            report.delta = (distance > 0).then_some(distance as i32);
            let linear = row.linear_lanes.then(|| "linear-lanes".to_owned());
            let mut names: Vec<String> =
                linear.into_iter().chain(["whole-warp".to_owned()]).collect();
            for check in &row.no_wrap {
                names.push(format!("no-wrap {}", flow.registers[check.register.0 as usize]));
            }
            names.dedup();
            report.guards = Some(names);
        }
        Verdict::Covered(name, covered) => {
            let guards = &covered.guards;
            let mut names: Vec<String> = Vec::new();
            if guards.linear_lanes {
                names.push("linear-lanes".to_owned());
            }
            if guards.whole_warp {
                names.push("whole-warp".to_owned());
            }
            for check in &guards.no_wrap {
                let register = &flow.registers[check.register.0 as usize];
                names.push(format!("no-wrap {register}"));
            }
            if let Some((register, negated)) = guards.source_active {
                let register = &flow.registers[register.0 as usize];
                let sign = if negated { "!" } else { "" };
                names.push(format!("source-active {sign}{register}"));
            }
            if guards.global_address {
                names.push("global-address".to_owned());
            }
            report.decision = match name {
                StrategyName::Reuse => Decision::Reuse,
                _ => Decision::Shuffle,
            };
            report.source_line = Some(line(covered.source));
            report.delta = (*name != StrategyName::Reuse).then_some(covered.delta);
            report.guards = Some(names);
        }
    }
    report
}

/// The global loads of a function that is left as it is as a whole, all for one reason.
fn kept_loads(
    source: &SourceFile,
    statements: &[Statement<'_>],
    reason: &str,
    found: &mut Vec<LoadReport>,
) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => kept_loads(source, statements, reason, found),
            Statement::Instruction(ast)
                if matches!(ast.form.opcode, Opcode::Ld | Opcode::Ldu)
                    && matches!(ast.form.space(), StateSpace::Global | StateSpace::Generic) =>
            {
                let elements = ast.form.elements().map(u32::from);
                let bits = ast.form.last_type().map_or(0, |ty| ty.bits());
                found.push(LoadReport {
                    line: source.line(ast.span.start),
                    register: operand_text(source, ast),
                    bytes: bits / 8 * elements.unwrap_or(1),
                    decision: Decision::Keep,
                    source_line: None,
                    delta: None,
                    guards: None,
                    iterations: None,
                    possible: None,
                    cost: None,
                    rule: Some(report::FUNCTION_LEFT.to_owned()),
                    reason: Some(reason.to_owned()),
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
        _ => String::new(),
    }
}
