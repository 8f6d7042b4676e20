//! `verify --over`: laws that the algebra keeps (`laws`) and, under the same name, what looks like them and is wrong
//! (`nonlaws`); kernels by different algorithms (`pairs`), and typical mistakes in them (`mistakes`).
//!
//! `same-bits` and `other-bits`: the same over the bits. `alike`: a few blocks of these launches stand for all; `apart`: the first
//! block is right, another one is not.
//!
//! A file has two kernels, `a` and `b`. `NAME.json` is the launch of `a`, `NAME.against.json` that of `b`; without them both run
//! with `default.json`. A mistake is told from the original by a witness unless its launch has `"comment": "unknown"`.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxasw::interp::{Blocks, Cover, Domain, Symbolic};
use ptxasw::launch::Launch;
use ptxasw::planted::{Bug, Set, with};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use serde_json::Value;

use crate::common::root;

fn folder(kind: &str) -> PathBuf {
    root().join("tests/over").join(kind)
}

/// The programs of a folder.
fn files(kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder(kind)).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "ptx")).collect();
    files.sort();
    assert!(!files.is_empty(), "{kind}");
    files
}

/// The exit status and the JSON of a comparison.
fn compared(file: &Path, over: &str, more: &[&str]) -> (i32, Value) {
    let beside = |end: &str| {
        let launch = file.with_extension(end);
        if launch.exists() { launch } else { root().join("tests/over/default.json") }
    };
    let output = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .arg("verify")
        .args([file, file])
        .args(["--over", over, "--kernel", "a", "--against", "b", "--format", "json"])
        .arg("--launch")
        .arg(beside("json"))
        .arg("--launch-against")
        .arg(beside("against.json"))
        .args(more)
        .output()
        .expect("the program can be started");
    let text = String::from_utf8_lossy(&output.stdout);
    let report = serde_json::from_str(&text);
    let report = report.unwrap_or_else(|error| {
        panic!("{}: {error}: {}", file.display(), String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code().unwrap_or(-1), report)
}

/// The files whose verdict is not the expected one, each with its reason.
fn unexpected(kind: &str, is_expected: impl Fn(&Path, i32, &Value) -> bool + Sync) -> Vec<String> {
    let wrong = |file: &PathBuf| {
        let (status, report) = compared(file, "reals", &[]);
        let reason = &report["reason"];
        (!is_expected(file, status, &report))
            .then(|| format!("{}: {status} {} {reason}", file.display(), report["verdict"]))
    };
    ptxasw::parallel::map(files(kind), |file| wrong(&file)).into_iter().flatten().collect()
}

fn is_equal(_: &Path, status: i32, report: &Value) -> bool {
    status == 0 && report["verdict"] == "equal" && report["error_bound"].as_f64() < Some(1e-9)
}

#[test]
fn a_witness_names_the_inputs_that_matter() {
    let (_, report) = compared(&folder("mistakes").join("max-short.ptx"), "reals", &[]);
    let smallest = &report["witness"]["smallest"];
    let inputs = smallest["inputs"].as_array().expect("inputs");
    let [input] = &inputs[..] else { panic!("{report}") };
    assert!(input["buffer"] == "x" && smallest["others"] == 0.5, "{report}");
    assert!(input["value"].as_f64() > Some(0.5), "{report}");
    assert_ne!(smallest["original"], smallest["rewritten"], "{report}");
}

#[test]
fn laws_hold() {
    crate::common::report(&unexpected("laws", is_equal), "a law is lost");
}

#[test]
fn nothing_else_holds() {
    let refused = |_: &Path, status: i32, report: &Value| {
        let is_different = status == 1 && report["witness"].is_object();
        is_different || status == 3 && report["verdict"] == "unknown" && report["witness"].is_null()
    };
    crate::common::report(&unexpected("nonlaws", refused), "this is not a law");
    let names = |kind: &str| {
        files(kind)
            .iter()
            .map(|file| file.file_name().map(Into::into))
            .collect::<Vec<Option<PathBuf>>>()
    };
    assert_eq!(names("laws"), names("nonlaws"), "each law has a neighbour that is none");
}

#[test]
fn algorithms_are_the_same_function() {
    crate::common::report(&unexpected("pairs", is_equal), "these are the same function");
}

#[test]
fn mistakes_are_seen() {
    let seen = |file: &Path, status: i32, report: &Value| {
        let launch = fs::read_to_string(file.with_extension("json")).unwrap_or_default();
        match launch.contains("\"comment\": \"unknown\"") {
            true => status == 3 && report["witness"].is_null(),
            false => status == 1 && report["witness"].is_object(),
        }
    };
    crate::common::report(&unexpected("mistakes", seen), "this is another function");
}

#[test]
fn a_race_is_found_in_the_same_run() {
    let (status, report) = compared(&folder("mistakes").join("matmul-barrier.ptx"), "reals", &[]);
    assert_eq!((status, &report["races"]), (3, &Value::from(1)), "{report}");
}

#[test]
fn no_law_of_real_numbers_holds_to_the_bit() {
    for file in files("nonlaws") {
        let (status, report) = compared(&file, "bits", &[]);
        assert_eq!(status, 3, "{}: {report}", file.display());
    }
    let rounds = ["exp-of-sum", "max-plus-min", "quotient", "tenth", "circle", "log-of-product"];
    for name in rounds {
        let file = folder("laws").join(name).with_extension("ptx");
        assert_eq!(compared(&file, "bits", &[]).0, 3, "{name}");
    }
    let file = folder("laws").join("choice.ptx");
    assert_eq!(compared(&file, "bits", &[]).0, 0, "the operands of a comparison are exchanged");
}

#[test]
fn bits_are_the_same_where_operations_are() {
    for (kind, status) in [("same-bits", 0), ("other-bits", 3)] {
        for file in files(kind) {
            let (found, report) = compared(&file, "bits", &[]);
            assert_eq!(found, status, "{}: {report}", file.display());
        }
    }
}

/// The hash of the output of a kernel, and those of its rows.
fn fingerprint(name: &str, kernel: &str, end: &str, output: &str) -> Value {
    let file = folder(name).with_extension("ptx");
    let called = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .arg("fingerprint")
        .arg(&file)
        .args(["--kernel", kernel, "--format", "json", "--rows", "32", "--launch"])
        .arg(file.with_extension(end))
        .output()
        .expect("the program can be started");
    let report: Value = serde_json::from_slice(&called.stdout).expect("JSON");
    report["buffers"][output].clone()
}

#[test]
fn fingerprints_are_those_of_bits() {
    let of = |name, output| {
        let both = [("a", "json"), ("b", "against.json")];
        both.map(|(kernel, end)| fingerprint(name, kernel, end, output))
    };
    let [one, other] = of("same-bits/tiles", "c");
    assert_eq!(one, other);
    assert_eq!(one["rows"].as_array().map(Vec::len), Some(32));
    let [one, other] = of("other-bits/two-accumulators", "o");
    assert_ne!(one["hash"], other["hash"]);
    assert_eq!(one["elements"], 32);
}

#[test]
fn a_sample_of_blocks_is_said_to_be_one() {
    let file = folder("pairs").join("matmul-tiled.ptx");
    let (status, report) = compared(&file, "reals", &["--blocks", "0,3", "--seeds", "1"]);
    assert_eq!(status, 0, "{report}");
    assert_eq!(report["blocks"], serde_json::json!({"executed": 2, "of": 4}));
    assert_eq!(report["elements"], 512);
}

#[test]
fn constants_are_read_and_listed() {
    let (_, report) = compared(&folder("laws").join("tenth.ptx"), "reals", &[]);
    let reading = &report["readings"][0];
    assert_eq!((&reading["bits"], &reading["as"]), (&"0x3dcccccd".into(), &"1/10".into()));
    assert!(reading["line"].as_u64() > Some(1), "{report}");
}

/// Whether the kernels of a file are found equal, in this process.
fn is_found_equal(file: &Path, domain: Domain) -> bool {
    let beside = |end: &str| {
        let launch = file.with_extension(end);
        let launch = if launch.exists() { launch } else { root().join("tests/over/default.json") };
        Launch::from_json(&crate::common::read(&launch)).expect("a launch")
    };
    let source = SourceFile::new(file.display().to_string(), crate::common::read(file));
    let module = ptx::parse(&source, Depth::All).expect("a module");
    let mut symbolic = Symbolic::new(domain, 0);
    let mut run = |kernel: &str, end: &str| {
        let launch = Launch { kernel: Some(kernel.to_owned()), ..beside(end) };
        symbolic.run(&module, &launch, &Blocks::All).ok()
    };
    let (Some(one), Some(other)) = (run("a", "json"), run("b", "against.json")) else {
        return false;
    };
    let comparison = symbolic.compare(&one, &other, &[]);
    comparison.differences.is_empty() && comparison.trouble.is_none() && comparison.elements > 0
}

/// The file whose verdict each mistake changes, and whether it is equal.
const NOTICED: [(Bug, &str, Domain, bool); 13] = [
    (Bug::ClassOfLogarithm, "laws/power.ptx", Domain::Reals, true),
    (Bug::ChoiceIsMaximum, "nonlaws/choice.ptx", Domain::Reals, false),
    (Bug::RoundingKept, "laws/rounded-constant.ptx", Domain::Reals, true),
    (Bug::MagnitudeOfTree, "nonlaws/abs.ptx", Domain::Bits, false),
    (Bug::FootprintsIgnored, "mistakes/axpy-tail.ptx", Domain::Reals, false),
    (Bug::OneWay, "pairs/branch.ptx", Domain::Reals, true),
    (Bug::UnknownIsKnown, "nonlaws/bit-count.ptx", Domain::Reals, false),
    (Bug::MaximumForgets, "pairs/max.ptx", Domain::Reals, true),
    (Bug::ExpansionBelieved, "nonlaws/erff.ptx", Domain::Reals, false),
    (Bug::SymbolsUnchanged, "mistakes/reuse-barrier.ptx", Domain::Reals, false),
    (Bug::DifferencePositive, "nonlaws/positive.ptx", Domain::Reals, false),
    (Bug::StrictnessIgnored, "nonlaws/choice-strict.ptx", Domain::Reals, false),
    (Bug::NegativeFactor, "laws/abs-by-choice.ptx", Domain::Reals, true),
];

#[test]
fn planted_mistakes_change_a_verdict() {
    for bug in Bug::of(Set::Algebra) {
        let (_, file, domain, equal) =
            NOTICED.into_iter().find(|noticed| noticed.0 == bug).expect("a file for the mistake");
        let file = folder(file);
        assert_eq!(is_found_equal(&file, domain), equal, "{}", file.display());
        assert_eq!(with(bug, || is_found_equal(&file, domain)), !equal, "nobody notices {bug:?}");
    }
}

/// Whether the blocks that stand for all others, if there are some, are found equal; and how many of how many these are.
fn is_covered_equal(file: &Path) -> Option<(u64, u64)> {
    let source = SourceFile::new(file.display().to_string(), crate::common::read(file));
    let module = ptx::parse(&source, Depth::All).expect("a module");
    let launch = |kernel: &str, end: &str| {
        let launch = Launch::from_json(&crate::common::read(&file.with_extension(end)));
        Launch { kernel: Some(kernel.to_owned()), ..launch.expect("a launch") }
    };
    let launches = [launch("a", "json"), launch("b", "against.json")];
    let mut symbolic = Symbolic::new(Domain::Reals, 0);
    let mut classes = |side: usize| symbolic.classes(&module, &launches[side]).ok()?.ok();
    let (one, other) = (classes(0)?, classes(1)?);
    let same_grids = launches[0].grid == launches[1].grid;
    let cover = Cover::new([&one, &other], same_grids).ok()?;
    let mut run = |side: usize| {
        let blocks = Blocks::Some(cover.blocks[side].clone());
        symbolic.run(&module, &launches[side], &blocks).ok()
    };
    let (one, other) = (run(0)?, run(1)?);
    let compared = symbolic.compare(&one, &other, &[]);
    compared.differences.is_empty().then_some((one.blocks, one.of))
}

#[test]
fn a_few_blocks_stand_for_all() {
    for file in files("alike") {
        let (status, report) = compared(&file, "reals", &[]);
        let blocks = &report["blocks"];
        let number = |name: &str| blocks[name].as_u64().expect("a number");
        let (executed, of) = (number("executed"), number("of"));
        assert_eq!((status, number("alike")), (0, of - executed), "{}: {report}", file.display());
        assert!(4 * executed <= of, "{}: {report}", file.display());
        assert_eq!(is_covered_equal(&file), Some((executed, of)), "{}", file.display());
    }
}

#[test]
fn all_blocks_are_executed_if_asked_for() {
    let (status, report) = compared(&folder("alike/tail.ptx"), "reals", &["--blocks", "all"]);
    let blocks = &report["blocks"];
    assert_eq!((status, &blocks["executed"]), (0, &blocks["of"]), "{report}");
    assert!(blocks["alike"].is_null(), "{report}");
}

#[test]
fn blocks_that_nobody_can_list_are_refused() {
    let file = folder("laws/abs.ptx");
    let source = SourceFile::new(file.display().to_string(), crate::common::read(&file));
    let module = ptx::parse(&source, Depth::All).expect("a module");
    let launch = Launch::from_json(&crate::common::read(&folder("default.json")));
    let grid = [2_147_483_647, 65_535, 65_535];
    let launch = Launch { kernel: Some("a".to_owned()), grid, ..launch.expect("a launch") };
    let refused = Symbolic::new(Domain::Reals, 0).run(&module, &launch, &Blocks::All);
    assert!(refused.is_err_and(|fault| fault.message.contains("blocks: at most")));
}

#[test]
fn what_other_blocks_do_counts() {
    for file in files("apart") {
        assert_eq!(is_covered_equal(&file), None, "{}", file.display());
        let (status, report) = compared(&file, "reals", &[]);
        assert_ne!(status, 0, "{}: {report}", file.display());
    }
}

/// The file in which each mistake makes kernels equal that are not.
const BELIEVED: [(Bug, &str); 5] = [
    (Bug::IntervalsIgnored, "apart/one-block.ptx"),
    (Bug::OtherIsAffine, "apart/number-of-block.ptx"),
    (Bug::DistancesIgnored, "apart/row-of-column.ptx"),
    (Bug::BlocksMeet, "apart/neighbours.ptx"),
    (Bug::WrapsUnseen, "apart/wraps.ptx"),
];

#[test]
fn planted_mistakes_about_blocks_are_noticed() {
    for bug in Bug::of(Set::Blocks) {
        let (_, file) = BELIEVED.into_iter().find(|own| own.0 == bug).expect("a file");
        let found = with(bug, || is_covered_equal(&folder(file)));
        assert!(found.is_some(), "nobody notices {bug:?}");
    }
}

#[test]
fn meanings_are_those_of_the_functions() {
    ptxasw::unit::run("ptxasw_interp::");
}
