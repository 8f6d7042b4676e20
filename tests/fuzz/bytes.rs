//! Properties of any bytes whatsoever: nothing panics, nothing hangs, and the output can be read again. Called by the
//! targets of cargo-fuzz and, with the inputs that they found, by a test.

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth, FunctionKind, Module};
use ptxasw::source::SourceFile;

/// Warp-wide instructions after which a kernel of arbitrary bytes is given up.
const LIMIT: u64 = 20_000;

fn source(bytes: &[u8]) -> SourceFile {
    SourceFile::new("bytes.ptx", String::from_utf8_lossy(bytes))
}

/// A text that can be parsed in full can be parsed without the bodies that are of no interest;
/// complaints point into the text.
pub fn parser(bytes: &[u8]) {
    let source = source(bytes);
    let shallow = ptx::parse(&source, ptxasw::pipeline::REWRITABLE);
    match ptx::parse(&source, Depth::All) {
        Ok(full) => {
            let shallow = shallow.unwrap_or_else(|error| panic!("only in full: {error}"));
            assert_eq!(full.functions().count(), shallow.functions().count());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A rewrite is a text that parses as far as the original did, and rewriting it changes nothing.
pub fn pipeline(bytes: &[u8]) {
    let source = source(bytes);
    let options = Options { all_bodies: true, ..Options::paper() };
    let Ok(result) = rewrite(&source, &options) else { return };
    let panicked = |reason: &String| reason.contains("internal error");
    for kernel in &result.report.kernels {
        assert!(!kernel.skipped.as_ref().is_some_and(panicked), "{}", kernel.name);
    }
    let output = SourceFile::new("rewritten.ptx", result.text.as_str());
    let again = rewrite(&output, &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(again.text, result.text, "a second run changes the text again");
}

/// A kernel ends, with a result or with a fault.
pub fn interpreter(bytes: &[u8]) {
    let source = source(bytes);
    let Ok(module) = ptx::parse(&source, Depth::All) else { return };
    for launch in launches(&module) {
        if let Err(fault) = interp::run(&module, &launch) {
            assert!(!fault.diagnostic(&source).to_string().is_empty());
        }
    }
}

/// A launch of every kernel: buffers for 64 bits, small numbers for less.
fn launches(module: &Module<'_>) -> Vec<Launch> {
    let kernels = module.functions().filter(|function| function.kind == FunctionKind::Entry);
    let launch = |function: &ptx::Function<'_>| {
        let arguments: Option<Vec<String>> = function
            .params
            .iter()
            .map(|parameter| match parameter.ty?.bits() {
                64 => Some(r#"{"buffer": "b", "offset": 2048}"#.to_owned()),
                bits @ (8 | 16 | 32) => Some(format!(r#"{{"type": "u{bits}", "value": 3}}"#)),
                _ => None,
            })
            .collect();
        let name = serde_json::Value::from(function.name.text);
        let text = format!(
            r#"{{"kernel": {name}, "grid": [2, 1, 1], "block": [33, 1, 1], "limit": {LIMIT},
                "buffers": {{"b": {{"type": "u32", "len": 1024, "fill": "index"}}}},
                "args": [{}]}}"#,
            arguments?.join(", ")
        );
        Launch::from_json(&text).ok()
    };
    kernels.filter_map(launch).collect()
}
