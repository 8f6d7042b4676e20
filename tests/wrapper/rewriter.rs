//! A rewriter that does what a line of its input says:
//!
//! - `// rewrite: insert` puts three comments before that line, so that the lines below move down;
//! - `// rewrite: break` puts one word there that is not PTX and that the fake ptxas refuses;
//! - `// rewrite: die` puts an order there on which the fake ptxas ends by SIGSEGV;
//! - `// rewrite: wait` puts an order there on which the fake ptxas waits;
//! - `// rewrite: grow` makes the text larger than one argument may be;
//! - `// rewrite: hold N` puts N loads there whose values are all held until the last has come, for an
//!   address in `%rd2`, unless the kernel is left out; several kernels may have it;
//! - `// rewrite: fail` is a syntax error, `// rewrite: panic` a panic.
//!
//! Any other input stays as it is.

use ptxasw::pipeline::{Options, Rewritten};
use ptxasw::report::{CollectiveReport, Decision, KernelReport, LoadReport, Report};
use ptxasw::rewrite::Edit;
use ptxasw::select::StrategyName;
use ptxasw::source::{Diagnostic, LineMap, SourceFile, Span};

/// The rewriter.
pub fn rewrite(source: &SourceFile, _: &Options) -> Result<Rewritten, Diagnostic> {
    let text = source.text();
    if text.contains(HOLD) {
        return Ok(hold(source));
    }
    let order = text
        .split_once("// rewrite: ")
        .and_then(|(before, after)| Some((before.len(), after.split_whitespace().next()?)));
    let mut report = empty_report(source);
    let Some((at, order)) = order else {
        return Ok(Rewritten::unchanged(source, report));
    };
    let inserted = match order {
        "insert" => "// one\n// two\n// three\n".to_owned(),
        "break" => "// ptxas: refuse\nbroken\n".to_owned(),
        "die" => "// ptxas: die SEGV\n".to_owned(),
        "wait" => "// ptxas: wait\n".to_owned(),
        "grow" => format!("// {}\n", "x".repeat(1 << 20)),
        "panic" => panic!("ordered\nto panic"),
        _ => return Err(source.diagnostic(Span::new(at, at + 2), "ordered to fail")),
    };
    let line = source.line(at as u32);
    let count = inserted.lines().count() as u32;
    let mut runs = vec![(1, 1)];
    runs.extend((line..=line + count).map(|inserted| (inserted, line)));
    report.kernels.push(kernel("k", line));
    let text = format!("{}{inserted}{}", &text[..at], &text[at..]);
    Ok(Rewritten { text, report, lines: LineMap::from_runs(runs), ..Rewritten::default() })
}

/// The report of an input before any decision.
fn empty_report(source: &SourceFile) -> Report {
    let file = source.name().to_owned();
    Report { file, strategy: "paper".to_owned(), ..Report::default() }
}

/// The report of a kernel in which one load, in this line, is replaced.
fn kernel(name: &str, line: u32) -> KernelReport {
    let load = LoadReport {
        bytes: 4,
        decision: Decision::By(StrategyName::Paper),
        source_line: Some(1),
        guards: Some(Vec::new()),
        ..LoadReport::new(line, "%f2".to_owned())
    };
    KernelReport {
        name: name.to_owned(),
        global_loads: 1,
        shuffles: 1,
        average_delta: Some(1.0),
        loads: vec![load],
        ..KernelReport::default()
    }
}

/// The report of a sum that is done by one instruction.
fn collective(line: u32) -> CollectiveReport {
    CollectiveReport {
        line,
        lines: vec![line],
        source: None,
        register: "%f2".to_owned(),
        of: "%f1".to_owned(),
        computes: "sum".to_owned(),
        ty: "s32".to_owned(),
        lanes: 32,
        shuffles: 5,
        steps: Vec::new(),
        barriers: None,
        decision: Decision::By(StrategyName::Collective),
        becomes: Some("redux.sync.add.s32".to_owned()),
        guards: None,
        cost: None,
        rule: None,
        reason: None,
    }
}

const HOLD: &str = "// rewrite: hold ";

/// Follows the orders to hold values.
fn hold(source: &SourceFile) -> Rewritten {
    let mut report = empty_report(source);
    let mut edits: Vec<(String, Vec<Edit>)> = Vec::new();
    let (mut name, mut at) = ("", 0);
    for (line, words) in (1..).zip(source.text().lines()) {
        if let Some((_, rest)) = words.split_once(".entry ") {
            name = rest.split('(').next().unwrap();
        }
        if let Some(count) = words.strip_prefix(HOLD) {
            let count: u32 = count.parse().unwrap();
            let mut text = format!("{{ .reg .f32 %h<{count}>;\n");
            for held in 0..count {
                text += &format!("ld.volatile.global.f32 %h{held}, [%rd2+{}];\n", 4 * held);
            }
            for held in 0..count {
                text += &format!("st.volatile.global.f32 [%rd2+{}], %h{held};\n", 4 * held);
            }
            text += "}\n";
            edits.push((name.to_owned(), vec![Edit::new(at..at, text)]));
            report
                .kernels
                .push(KernelReport { collectives: vec![collective(line)], ..kernel(name, line) });
        }
        at += words.len() + 1;
    }
    Rewritten::edited(source, report, edits)
}
