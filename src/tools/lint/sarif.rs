//! Findings as SARIF 2.1.0, which code-scanning services read.

use serde_json::{Value, json};
use strum::IntoEnumIterator;

use super::report::{Finding, KernelLint, LintFile};
use super::rule::{Level, Rule};

/// One run with the findings of all files.
pub fn sarif(files: &[&LintFile], version: &str) -> Value {
    let rules: Vec<Value> =
        Rule::iter().map(|rule| json!({"id": rule.name(), "name": rule.name()})).collect();
    let results: Vec<Value> = files
        .iter()
        .flat_map(|file| file.findings().map(move |(kernel, finding)| (file, kernel, finding)))
        .map(|(file, kernel, finding)| result(file, kernel, finding))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "ptxasw", "version": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(file: &LintFile, kernel: &KernelLint, finding: &Finding) -> Value {
    let level = match finding.level {
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let in_ptx = location(&file.file, finding.line, 0);
    let place = match &finding.source {
        Some(origin) => location(&origin.file, origin.line, origin.column),
        None => in_ptx.clone(),
    };
    let mut all = vec![json!({
        "physicalLocation": place,
        "logicalLocations": [{
            "name": kernel.demangled, "fullyQualifiedName": kernel.name, "kind": "function",
        }],
    })];
    if let Some(origin) = &finding.source {
        let calls = origin.inlined.iter().map(|call| location(&call.file, call.line, call.column));
        all.extend(calls.map(|place| json!({"physicalLocation": place})));
    }
    json!({
        "ruleId": finding.rule.name(),
        "ruleIndex": Rule::iter().position(|rule| rule == finding.rule),
        "level": level,
        "message": {"text": format!("{}. {}", finding.message, finding.help)},
        "locations": all[..1],
        "relatedLocations": std::iter::once(json!({
            "physicalLocation": in_ptx, "message": {"text": "in the PTX"},
        })).chain(all[1..].iter().map(|one| json!({
            "physicalLocation": one["physicalLocation"], "message": {"text": "inlined here"},
        }))).collect::<Vec<Value>>(),
        "properties": {
            "waste": finding.waste, "loopDepth": finding.loop_depth, "kernel": kernel.name,
        },
    })
}

fn location(file: &str, line: u32, column: u32) -> Value {
    let mut region = json!({"startLine": line.max(1)});
    if column > 0 {
        region["startColumn"] = json!(column);
    }
    json!({"artifactLocation": {"uri": uri(file)}, "region": region})
}

/// A file's name as a URI reference.
fn uri(file: &str) -> String {
    let mut out = String::new();
    if file.starts_with('/') {
        out += "file://";
    }
    for byte in file.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'+' => out.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => out.push(byte.into()),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}
