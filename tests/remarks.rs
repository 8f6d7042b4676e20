//! Optimisation remarks: their text for a small kernel, word for word; that every sample's can be read by LLVM's rules;
//! and their output file.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ptxasw::pipeline::{Options, rewrite};
use ptxasw::remarks;
use ptxasw::source::SourceFile;

const PTXASW: &str = env!("CARGO_BIN_EXE_ptxasw");

/// Stands for the real ptxas: writes the file behind `-o`.
const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrapper/fake-ptxas");

/// Lines 13 and 15 come from `it's.cu`, 17 from no line of it; `other` has no `.loc`.
const KERNEL: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .f32 %f<5>;
.reg .b32 %r<2>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd3, %r1, 4, %rd2;
.loc 1 7 3
ld.global.f32 %f1, [%rd3];
.loc 1 8 5
ld.global.f32 %f2, [%rd3+4];
.loc 1 0 0
ld.global.f32 %f4, [%rd3]; ld.volatile.global.f32 %f3, [%rd3];
ret;
}
.visible .entry other(.param .u64 b)
{
.reg .f32 %g<2>;
.reg .b64 %q<3>;
ld.param.u64 %q1, [b];
cvta.to.global.u64 %q2, %q1;
ld.global.f32 %g1, [%q2];
ret;
}
.file 1 \"it's.cu\"
";

const EXPECTED: &str = "\
--- !Missed
Pass:            ptxasw
Name:            NoPartner
DebugLoc:        { File: 'it''s.cu', Line: 7, Column: 3 }
Function:        'k'
Args:
  - String:          'load of '
  - Register:        '%f1'
  - String:          ' kept: '
  - Reason:          'no earlier load at a constant lane distance'
  - String:          ' (PTX line '
  - PtxLine:         '13'
  - String:          ')'
...
--- !Passed
Pass:            ptxasw
Name:            LoadReplacedByShuffle
DebugLoc:        { File: 'it''s.cu', Line: 8, Column: 5 }
Function:        'k'
Args:
  - String:          'load of '
  - Register:        '%f2'
  - String:          ' replaced by the value that the lane at distance '
  - Delta:           '1'
  - String:          ' loaded in PTX line '
  - SourceLine:      '13'
    DebugLoc:        { File: 'it''s.cu', Line: 7, Column: 3 }
  - String:          ', checked at run time: '
  - Guards:          'linear-lanes, whole-warp'
  - String:          ' (PTX line '
  - PtxLine:         '15'
  - String:          ')'
...
--- !Passed
Pass:            ptxasw
Name:            LoadReplacedByMove
DebugLoc:        { File: 'k.ptx', Line: 17, Column: 0 }
Function:        'k'
Args:
  - String:          'load of '
  - Register:        '%f4'
  - String:          ' replaced by the value that the lane at distance '
  - Delta:           '0'
  - String:          ' loaded in PTX line '
  - SourceLine:      '13'
    DebugLoc:        { File: 'it''s.cu', Line: 7, Column: 3 }
  - String:          ' (PTX line '
  - PtxLine:         '17'
  - String:          ')'
...
--- !Missed
Pass:            ptxasw
Name:            StrongLoad
DebugLoc:        { File: 'k.ptx', Line: 17, Column: 0 }
Function:        'k'
Args:
  - String:          'load of '
  - Register:        '%f3'
  - String:          ' kept: '
  - Reason:          'volatile loads are never replaced'
  - String:          ' (PTX line '
  - PtxLine:         '17'
  - String:          ')'
...
--- !Analysis
Pass:            ptxasw
Name:            GlobalLoads
DebugLoc:        { File: 'it''s.cu', Line: 7, Column: 3 }
Function:        'k'
Args:
  - Replaced:        '2'
  - String:          ' of '
  - GlobalLoads:     '4'
  - String:          ' global loads replaced, by shuffles: '
  - Shuffles:        '2'
...
--- !Missed
Pass:            ptxasw
Name:            NoPartner
DebugLoc:        { File: 'k.ptx', Line: 26, Column: 0 }
Function:        'other'
Args:
  - String:          'load of '
  - Register:        '%g1'
  - String:          ' kept: '
  - Reason:          'no earlier load at a constant lane distance'
  - String:          ' (PTX line '
  - PtxLine:         '26'
  - String:          ')'
...
--- !Analysis
Pass:            ptxasw
Name:            GlobalLoads
DebugLoc:        { File: 'k.ptx', Line: 20, Column: 0 }
Function:        'other'
Args:
  - Replaced:        '0'
  - String:          ' of '
  - GlobalLoads:     '1'
  - String:          ' global loads replaced, by shuffles: '
  - Shuffles:        '0'
...
";

fn remarks_of(name: &str, text: &str) -> (String, ptxasw::report::Report) {
    let source = SourceFile::new(name, text);
    let options = Options { all_bodies: true, ..Options::paper() };
    let report = rewrite(&source, &options).unwrap().report;
    (remarks::yaml(&source, &report), report)
}

#[test]
fn remarks_word_for_word() {
    let (text, _) = remarks_of("k.ptx", KERNEL);
    assert_eq!(text, EXPECTED);
}

/// What LLVM's reader makes of a scalar: quotes go if they are single ones, and nothing may be empty.
fn scalar(text: &str) -> String {
    let inner = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(text);
    assert!(!inner.is_empty() && !inner.replace("''", "").contains('\''), "{text}");
    assert!(inner != text || inner.chars().all(|c| c.is_alphanumeric()), "{text} needs quotes");
    inner.replace("''", "'")
}

/// Reads documents as LLVM's `YAMLRemarkParser` does: five known keys, in any order, arguments that
/// are one pair each with or without a place. Gives the kind of each, and its arguments.
fn read(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut documents = Vec::new();
    for document in text.split_inclusive("...\n") {
        let mut lines = document.strip_suffix("...\n").expect("an end").lines();
        let kind = lines.next().and_then(|line| line.strip_prefix("--- !")).expect("a kind");
        let mut keys = Vec::new();
        let mut arguments = BTreeMap::new();
        for line in lines {
            let (key, value) = line.split_once(':').expect("a pair");
            let value = value.trim_start();
            match key {
                "Pass" | "Name" | "Function" => drop(scalar(value)),
                "DebugLoc" | "    DebugLoc" => {
                    let inner = value.strip_prefix("{ File: ").and_then(|v| v.strip_suffix(" }"));
                    let (file, place) = inner.and_then(|v| v.rsplit_once(", Line: ")).expect(value);
                    scalar(file);
                    let (line, column) = place.split_once(", Column: ").expect(value);
                    assert!(line.parse::<u32>().unwrap() > 0 && column.parse::<u32>().is_ok());
                }
                "Args" => assert_eq!(value, ""),
                argument => {
                    let name = argument.strip_prefix("  - ").expect(line);
                    let value = scalar(value);
                    arguments.entry(name.to_owned()).or_insert(value);
                    continue;
                }
            }
            if !key.starts_with(' ') {
                keys.push(key);
            }
        }
        assert_eq!(keys, ["Pass", "Name", "DebugLoc", "Function", "Args"]);
        documents.push((kind.to_owned(), arguments));
    }
    documents
}

#[test]
fn remarks_of_every_sample_can_be_read() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-samples");
    let mut passed = 0;
    for folder in fs::read_dir(samples).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path()) {
            if file.extension().is_none_or(|extension| extension != "ptx") {
                continue;
            }
            let (text, report) =
                remarks_of(&file.to_string_lossy(), &fs::read_to_string(&file).unwrap());
            let documents = read(&text);
            let count = |kind: &str| documents.iter().filter(|(found, _)| found == kind).count();
            let loads: usize = report.kernels.iter().map(|kernel| kernel.loads.len()).sum();
            let (functions, _, shuffles) = report.counts();
            assert_eq!(count("Passed"), shuffles, "{}", file.display());
            assert_eq!(count("Missed"), loads - shuffles, "{}", file.display());
            assert_eq!(count("Analysis"), functions, "{}", file.display());
            assert_eq!(documents.len(), loads + functions);
            passed += shuffles;
        }
    }
    assert!(passed > 100, "{passed}");
}

/// What was weighed is said in the line about a file, in the remarks of what was chosen, and in those of what
/// was left alone.
#[test]
fn costs_are_told() {
    let say = |name: &str| {
        let path = format!("{}/ptx-samples/{name}/{name}.sm_80.ptx", env!("CARGO_MANIFEST_DIR"));
        let source = SourceFile::new(name, fs::read_to_string(path).unwrap());
        let report = rewrite(&source, &Options::default()).unwrap().report;
        (report.summary(), read(&remarks::yaml(&source, &report)))
    };
    let value = |(_, arguments): &(String, BTreeMap<String, String>), name: &str| {
        arguments.get(name).cloned().unwrap_or_default()
    };
    let (summary, documents) = say("rowwise");
    assert_eq!(summary, "1 function, 3 global loads, 2 replaced, 0.5 cycles against 2.5");
    let costs: Vec<_> =
        documents.iter().map(|it| (value(it, "Cycles"), value(it, "LoadCycles"))).collect();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let one = pair("0.25", "1.25");
    assert_eq!(costs, [one.clone(), one, pair("", ""), pair("0.5", "2.5")]);
    assert_eq!(value(&documents[3], "Replaced"), "2");
    assert_eq!(value(&documents[3], "Shuffles"), "0");

    // A vector load counts once; structs of three words could be transposed, and one test for a vector of
    // four words saves too little where L1 serves the loads.
    let (summary, _) = say("structs");
    assert_eq!(
        summary,
        "3 functions, 15 global loads, 8 replaced, 18 cycles against 66, 7 possible that do not pay"
    );

    let (summary, documents) = say("jacobi");
    assert_eq!(summary, "1 function, 9 global loads, 0 replaced, 8 possible that do not pay");
    assert_eq!(value(&documents[9], "Unpaid"), "8");
    assert!(value(&documents[1], "Reason").starts_with("does not pay on sm_80: `window` "));
}

#[test]
fn names_with_control_characters_stay_on_their_line() {
    let (text, _) = remarks_of("a\nb: 'c'.ptx", &KERNEL.replace(".loc 1 7 3\n", ""));
    assert!(text.contains("File: 'a b: ''c''.ptx'"), "{text}");
    assert_eq!(read(&text).len(), 7);
}

#[test]
fn where_they_go() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("fake")).unwrap();
    std::os::unix::fs::symlink(FAKE, path("fake/ptxas")).unwrap();
    fs::write(path("k.ptx"), KERNEL).unwrap();
    let call = |words: &[&str], variables: &[(&str, &str)]| {
        let output = Command::new(PTXASW)
            .current_dir(folder.path())
            .args(words)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("PTXASW_PTXAS", path("fake/ptxas"))
            .env("PTXASW_STRATEGY", "paper")
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = call(
        &["rewrite", "--strategy", "paper", "k.ptx", "--remarks", "out.yaml", "-o", "out.ptx"],
        &[],
    );
    assert_eq!(said, "");
    assert_eq!(fs::read_to_string(path("out.yaml")).unwrap(), EXPECTED);

    let words = ["ptxas", "--", "-arch=sm_80", "k.ptx", "-o", "k.cubin"];
    let said = call(&words, &[("PTXASW_REMARKS", "made/remarks"), ("PTXASW_LOG", "info")]);
    let made: Vec<_> = fs::read_dir(path("made/remarks")).unwrap().flatten().collect();
    let [file] = made.as_slice() else { panic!("{made:?}") };
    // What LLVM's tools look for in a folder.
    assert!(file.file_name().to_string_lossy().ends_with(".opt.yaml"), "{file:?}");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), EXPECTED);
    let summary = "k.ptx: 2 functions, 5 global loads, 2 replaced, ";
    let lines: Vec<&str> = said.lines().filter(|line| line.contains(summary)).collect();
    assert!(lines.len() == 1 && lines[0].ends_with(" ms"), "{said}");

    // What ptxas refuses is not claimed.
    let refused = format!("// ptxas: refuse\n{KERNEL}");
    fs::write(path("k.ptx"), refused).unwrap();
    fs::remove_file(file.path()).unwrap();
    let failed = Command::new(PTXASW)
        .current_dir(folder.path())
        .args(words)
        .env("PTXASW_PTXAS", path("fake/ptxas"))
        .env("PTXASW_STRATEGY", "paper")
        .env("PTXASW_REMARKS", "made/remarks")
        .output()
        .unwrap();
    assert_eq!(failed.status.code(), Some(255), "{failed:?}");
    assert_eq!(fs::read_dir(path("made/remarks")).unwrap().count(), 0);
}

/// Where strategy `aos` is asked for by name, stores of structs are spoken of as loads are; where it is weighed, they
/// stay, and both costs are said.
#[test]
fn stores_of_structs_are_spoken_of() {
    let text = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<3>;
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r1, %tid.x;
mad.wide.u32 %rd3, %r1, 32, %rd2;
st.global.v2.u32 [%rd3], {%r1, %r1};
st.global.v2.u32 [%rd3+8], {%r1, %r1};
st.global.v2.u32 [%rd3+16], {%r1, %r1};
st.global.v2.u32 [%rd3+24], {%r1, %r1};
ret;
}
";
    let source = SourceFile::new("k.ptx", text);
    let told = |strategies: &str| {
        let mut options = Options { all_bodies: true, ..Options::default() };
        options.select.strategies = strategies.parse().expect("a strategy");
        let report = rewrite(&source, &options).expect("a kernel that parses").report;
        let stores = report.kernels[0].replaced_stores();
        (stores, report.kernels[0].stores.len(), remarks::yaml(&source, &report))
    };
    let (stored, found, remarks) = told("aos");
    assert_eq!((stored.elsewhere, stored.joined, found), (4, 0, 4), "{remarks}");
    assert!(remarks.contains("'store to '") && remarks.contains("'[%rd3+8]'"), "{remarks}");
    assert!(remarks.contains("StructTransposed"), "{remarks}");
    let (stored, found, remarks) = told("auto");
    assert_eq!((stored.elsewhere, stored.joined, found), (0, 4, 4), "{remarks}");
    assert!(remarks.contains("StoreJoinedToVector"), "{remarks}");
    let (stored, found, remarks) = told("none");
    assert_eq!((stored.elsewhere, stored.joined, found), (0, 0, 0), "{remarks}");
}

/// `candidates` shows the line of the sources, and its JSON the file, line and column.
#[test]
fn candidates_name_the_place_in_the_sources() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("k.ptx");
    let text = KERNEL.replace("it's.cu", "/home/someone/project/stencil.cu");
    let text =
        text.replace("ld.global.f32 %g1, [%q2];", "ld.global.v4.f32 {%g1,%g2,%g3,%g4}, [%q2];");
    fs::write(&path, text).expect("written");
    let candidates = |more: &[&str]| {
        let done = Command::new(PTXASW).arg("candidates").arg(&path).args(more).output();
        let done = done.expect("the program can be started");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("a text")
    };
    let text = candidates(&[]);
    assert!(text.contains("{%g1,%g2,%g3,%g4} keep:"), "{text}");
    for line in
        ["line    13  stencil.cu:7  %f1", "line    15  stencil.cu:8  %f2", "line    17  %f4"]
    {
        assert!(text.contains(line), "`{line}` is not in\n{text}");
    }
    let report: serde_json::Value =
        serde_json::from_str(&candidates(&["--format", "json"])).expect("JSON");
    let loads = &report["kernels"][0]["loads"];
    let file = "/home/someone/project/stencil.cu";
    let place = serde_json::json!({"file": file, "line": 8, "column": 5, "inlined": []});
    assert_eq!(loads[1]["source"], place, "{loads}");
    assert!(loads[2].get("source").is_none() && loads[1]["line"] == 15, "{loads}");
}
