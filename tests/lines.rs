//! Line tables: `-lineinfo` gives the machine code of a rewritten text the same lines as the original's, and added
//! instructions the line of the load they serve.
//!
//! Each instruction of a sample gets a line of its own (`.loc`). With its original and its rewritten text
//! assembled for several architectures, both have the same loads, stores, arithmetic and barriers on the
//! same lines; how the assembler moves addresses and constants around is its own affair.

#![expect(clippy::disallowed_methods, reason = "the assembler is called")]

use crate::common::assembler;
use assembler::Assembler;
use ptxasw::pipeline::{self, Options, Rewritten};
use ptxasw::report::Decision;
use ptxasw::source::SourceFile;
use rayon::prelude::*;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Samples with loads that are replaced, of one kernel or several.
const SOURCES: [&str; 15] = [
    "average1d",
    "conv1d",
    "divergence",
    "gameoflife",
    "gaussblur",
    "gradient",
    "jacobi",
    "lapgsrb",
    "laplacian",
    "march27",
    "march7",
    "pastl1",
    "uxx1",
    "wave13pt",
    "whispering",
];

const TARGETS: [&str; 9] =
    ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "sm_121"];

/// The file that all places are in.
const FILE: &str = ".file 1 \"sample.cu\"\n";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The text with a line of its own for each instruction: its number in the text.
fn located(text: &str) -> String {
    let mut located = String::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let code = line.trim();
        inside |= code.starts_with('{');
        if inside && code.ends_with(';') && !code.starts_with('.') {
            located += &format!(".loc 1 {} 0\n", index + 1);
        }
        located += line;
        located.push('\n');
        if code.starts_with(".address_size") {
            located += FILE;
        }
    }
    located
}

/// The line that `.loc` names for each line of a text; 0 where none does.
fn locations(text: &str) -> Vec<u32> {
    let mut now = 0;
    let mut line_of = |line: &str| {
        let mut words = line.split_whitespace();
        if words.next() == Some(".loc") {
            now = words.nth(1).and_then(|number| number.parse().ok()).expect("a line");
        } else if line.starts_with('}') {
            now = 0;
        }
        now
    };
    text.lines().map(&mut line_of).collect()
}

fn rewritten(name: &str) -> (SourceFile, Rewritten) {
    let path = root().join(format!("ptx-samples/{name}/{name}.sm_80.ptx"));
    let text = located(&std::fs::read_to_string(path).unwrap());
    let source = SourceFile::new(name, text);
    let rewritten = pipeline::rewrite(&source, &Options::paper()).unwrap();
    (source, rewritten)
}

/// One text of several, for a target: the first's directives, the others' functions.
fn joined<'t>(texts: impl IntoIterator<Item = &'t str>, target: &str) -> String {
    // (Older machines than a text is for do not take it; none of these needs a newer one.)
    let named = if target == "sm_75" { target } else { "sm_80" };
    let mut joined = String::new();
    for text in texts {
        let (head, body) = text.split_once(FILE).expect("the file is named behind the directives");
        if joined.is_empty() {
            joined = head.replace(".target sm_80", &format!(".target {named}")) + FILE;
        }
        joined += body;
    }
    joined
}

/// The lines of the loads that were replaced.
fn served(source: &SourceFile, rewritten: &Rewritten) -> BTreeSet<u32> {
    let locations = locations(source.text());
    let loads = rewritten.report.kernels.iter().flat_map(|kernel| &kernel.loads);
    let replaced = loads.filter(|load| load.decision != Decision::Keep);
    replaced.map(|load| locations[load.line as usize - 1]).collect()
}

/// How often each opcode comes on each line: function, line, opcode.
type Counts = BTreeMap<(String, u32, String), usize>;

fn counts(assembler: &Assembler, text: &str, target: &str) -> Counts {
    let folder = tempfile::tempdir().unwrap();
    let (input, cubin) = (folder.path().join("a.ptx"), folder.path().join("a.cubin"));
    std::fs::write(&input, text).unwrap();
    let run = |program: &Path, words: &[&str]| {
        let done = Command::new(program).args(words).output().unwrap();
        assert!(done.status.success(), "{target}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let [input, cubin] = [&input, &cubin].map(|path| path.to_str().unwrap());
    // Which of two products is fused with a sum is the assembler's choice, and not always the same.
    run(&assembler.ptxas, &["-lineinfo", "-fmad=false", "-arch", target, "-o", cubin, input]);
    let listing = run(&assembler.ptxas.with_file_name("nvdisasm"), &["-c", "-g", cubin]);
    let place = Regex::new(r"//## File .*line ([0-9]+)").unwrap();
    let code = Regex::new(r"^[ \t]+/\*[0-9a-f]+\*/[ \t]+(?:@[^ ]+ +)?([A-Z][A-Z0-9]*)").unwrap();
    let (mut counts, mut function, mut line) = (Counts::new(), String::new(), 0);
    for row in listing.lines() {
        if let Some(found) = place.captures(row) {
            line = found[1].parse().unwrap();
        } else if row.starts_with(".text.") {
            (function, line) = (row.to_owned(), 0);
        } else if let Some(found) = code.captures(row) {
            *counts.entry((function.clone(), line, found[1].to_owned())).or_default() += 1;
        }
    }
    counts
}

/// Loads, stores, arithmetic on floating-point numbers, barriers. (`HFMA2` also moves constants.)
fn is_kept(opcode: &str) -> bool {
    let starts = ["LDG", "STG", "LDS", "STS", "LDL", "STL", "RED", "ATOM", "MUFU", "BAR"];
    let arithmetic = ["ADD", "MUL", "FMA", "MNMX", "SETP"];
    starts.iter().any(|start| opcode.starts_with(start))
        || opcode.strip_prefix(['F', 'D']).is_some_and(|rest| arithmetic.contains(&rest))
}

fn disagreements(assembler: &Assembler, target: &str) -> Vec<String> {
    let all = SOURCES.map(rewritten);
    // By kernel, the lines of the loads that are replaced.
    let served: BTreeMap<String, BTreeSet<u32>> = all
        .iter()
        .flat_map(|(source, rewritten)| {
            let lines = served(source, rewritten);
            assert!(!lines.is_empty(), "nothing of {} is replaced", source.name());
            let kernels = rewritten.report.kernels.iter();
            kernels.map(move |kernel| (format!(".text.{}:", kernel.name), lines.clone()))
        })
        .collect();
    let before = joined(all.iter().map(|(source, _)| source.text()), target);
    let after = joined(all.iter().map(|(_, rewritten)| rewritten.text.as_str()), target);
    let [before, after] = [before, after].map(|text| counts(assembler, &text, target));
    let mut wrong = Vec::new();
    let mut shuffled = BTreeSet::new();
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key @ (function, line, opcode) in keys {
        let [had, has] = [&before, &after].map(|counts| counts.get(key).copied().unwrap_or(0));
        let is_served = || served.get(function).is_some_and(|lines| lines.contains(line));
        let is_new = opcode == "SHFL" && has > had;
        if is_kept(opcode) && had != has || is_new && !is_served() {
            wrong.push(format!("{target}: {function} line {line}: {has} {opcode} for {had}"));
        }
        if is_new {
            shuffled.insert(function);
        }
    }
    assert!(shuffled.len() > SOURCES.len(), "{target}: shuffles in {shuffled:?} only");
    wrong
}

#[test]
fn line_tables_agree_with_the_originals() {
    let Some(assembler) = Assembler::find() else { return };
    let wrong: Vec<String> =
        TARGETS.par_iter().flat_map_iter(|target| disagreements(&assembler, target)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// In the text: each inserted line stands behind the `.loc` of the line that it was put in for.
#[test]
fn inserted_lines_stand_behind_the_place_of_their_load() {
    for name in SOURCES {
        let (source, rewritten) = rewritten(name);
        let (before, after) = (locations(source.text()), locations(&rewritten.text));
        let mut inserted = 0;
        let lines: Vec<&str> = source.text().lines().collect();
        for (index, line) in rewritten.text.lines().enumerate() {
            let from = rewritten.lines.original(index as u32 + 1) as usize - 1;
            if lines[from] != line
                && line.trim_end().ends_with(';')
                && !line.trim().starts_with('.')
            {
                inserted += 1;
                assert_eq!(after[index], before[from], "{name}, line {}: {line}", index + 1);
            }
        }
        assert!(inserted > 0, "{name}");
    }
}
