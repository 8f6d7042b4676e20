//! A rewriter that does what a line of its input says:
//!
//! - `// rewrite: insert` puts three comments before that line, so that what follows moves down;
//! - `// rewrite: break` puts one word there that is no PTX and that the fake ptxas refuses;
//! - `// rewrite: die` puts an order there on which the fake ptxas ends by SIGSEGV;
//! - `// rewrite: wait` puts an order there on which the fake ptxas waits;
//! - `// rewrite: grow` makes the text larger than one argument may be;
//! - `// rewrite: fail` is a syntax error, `// rewrite: panic` a panic.
//!
//! Any other input stays as it is.

use ptxasw::pipeline::{Options, Rewritten};
use ptxasw::report::{Decision, KernelReport, LoadReport, Report};
use ptxasw::source::{Diagnostic, LineMap, SourceFile, Span};

/// The rewriter.
pub fn rewrite(source: &SourceFile, _: &Options) -> Result<Rewritten, Diagnostic> {
    let text = source.text();
    let order = text
        .split_once("// rewrite: ")
        .and_then(|(before, after)| Some((before.len(), after.split_whitespace().next()?)));
    let mut report =
        Report { file: source.name().to_owned(), strategy: "paper".into(), kernels: Vec::new() };
    let Some((at, order)) = order else {
        let lines = LineMap::default();
        return Ok(Rewritten { text: text.to_owned(), report, lines });
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
    let load = LoadReport {
        line,
        register: "%f2".to_owned(),
        bytes: 4,
        decision: Decision::Shuffle,
        source_line: Some(1),
        delta: Some(1),
        guards: Some(Vec::new()),
        possible: None,
        cost: None,
        rule: None,
        reason: None,
    };
    report.kernels.push(KernelReport {
        name: "k".to_owned(),
        global_loads: 1,
        shuffles: 1,
        average_delta: Some(1.0),
        skipped: None,
        loads: vec![load],
    });
    let text = format!("{}{inserted}{}", &text[..at], &text[at..]);
    Ok(Rewritten { text, report, lines: LineMap::from_runs(runs) })
}
