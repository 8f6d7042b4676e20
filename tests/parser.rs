//! The parser's tests are files. `parser/ok/NAME.ptx` parses to the tree in `NAME.tree`,
//! `parser/error/NAME.ptx` fails with the message in `NAME.stderr`. To add a test, add a `.ptx`
//! file and run `BLESS=1 cargo test --test main parser::`, which writes the expectations; read them.
//!
//! Every file that parses must also keep the invariants of `parser/coverage.rs`. With
//! `PTX_CORPUS=DIR` they are checked for every `.ptx` file under another folder too.

#![expect(
    clippy::disallowed_methods,
    reason = "`BLESS` and `PTX_CORPUS` are environment variables"
)]

mod coverage;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

/// The `.ptx` files under a folder, in order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn cases(kind: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/parser").join(kind);
    let cases = files(&folder);
    assert!(!cases.is_empty(), "no tests in {}", folder.display());
    cases
}

fn read(path: &Path) -> SourceFile {
    let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
    let bytes = fs::read(path).expect("the file can be read");
    SourceFile::from_bytes(name, bytes).expect("the file is text")
}

/// Compares with the expectation beside a case, or writes it. `Some` has the difference.
fn compare(case: &Path, extension: &str, actual: &str) -> Option<String> {
    let path = case.with_extension(extension);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, actual).expect("the expectation can be written");
        return None;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    (expected != actual).then(|| {
        let line = expected.lines().zip(actual.lines()).take_while(|(a, b)| a == b).count();
        format!(
            "{} differs from line {} on.\n--- expected\n{}\n--- actual\n{}\n",
            path.display(),
            line + 1,
            expected.lines().skip(line).take(8).collect::<Vec<_>>().join("\n"),
            actual.lines().skip(line).take(8).collect::<Vec<_>>().join("\n"),
        )
    })
}

fn report(failures: Vec<String>) {
    assert!(
        failures.is_empty(),
        "{}\nIf the new output is right: BLESS=1 cargo test --test main parser::",
        failures.join("\n")
    );
}

#[test]
fn what_is_right_parses_to_its_tree() {
    let mut failures = Vec::new();
    for case in cases("ok") {
        let source = read(&case);
        match ptx::parse(&source, Depth::All) {
            Ok(module) => {
                failures.extend(compare(&case, "tree", &tree::render(&source, &module)));
                failures.extend(coverage::violations(&source, &module));
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    report(failures);
}

#[test]
fn what_is_wrong_is_explained() {
    let mut failures = Vec::new();
    for case in cases("error") {
        let source = read(&case);
        match ptx::parse(&source, Depth::All) {
            Ok(_) => failures.push(format!("{} parses", case.display())),
            Err(error) => failures.extend(compare(&case, "stderr", &format!("{error}\n"))),
        }
    }
    report(failures);
}

#[test]
fn counting_agrees_with_the_tree() {
    for case in cases("ok") {
        let source = read(&case);
        for depth in [Depth::All, ptxasw::pipeline::REWRITABLE] {
            let module = ptx::parse(&source, depth).expect("the case parses");
            let stats = ptx::stats(&source, depth).expect("the case parses");
            assert_eq!(stats.functions, module.functions().count(), "{}", case.display());
            assert_eq!(stats.instructions, tree::instructions(&module), "{}", case.display());
            assert_eq!(stats.bytes, source.text().len());
        }
    }
}

#[test]
fn line_ends_do_not_matter() {
    for case in cases("ok") {
        let source = read(&case);
        let crlf = source.text().replace("\r\n", "\n").replace('\n', "\r\n");
        let crlf = SourceFile::new(source.name(), crlf);
        let module = ptx::parse(&source, Depth::All).expect("the case parses");
        let other = ptx::parse(&crlf, Depth::All).expect("the case parses with CRLF");
        assert_eq!(tree::instructions(&module), tree::instructions(&other), "{}", case.display());
        assert_eq!(coverage::violations(&crlf, &other), Vec::<String>::new());
    }
}

/// Damaged programs must give a tree of all that is there, or a message; nothing else.
#[test]
fn damage_is_survived() {
    /// The replacements of a character; the first one deletes it.
    const DAMAGE: [&str; 8] = ["", "{", "}", ";", "\"", "/*", "(", "\u{e9}"];
    /// Of how many places one is damaged.
    const STEP: usize = 37;
    let (mut parsed, mut refused) = (0, 0);
    for case in cases("ok") {
        let source = read(&case);
        let places = source.text().char_indices().step_by(STEP);
        for ((at, c), damage) in places.zip(DAMAGE.iter().cycle()) {
            let (before, after) = (&source.text()[..at], &source.text()[at + c.len_utf8()..]);
            for text in [format!("{before}{damage}{after}"), before.to_owned()] {
                let damaged = SourceFile::new(source.name(), text);
                match ptx::parse(&damaged, Depth::All) {
                    Ok(module) => {
                        parsed += 1;
                        let lost = coverage::violations(&damaged, &module);
                        assert!(lost.is_empty(), "{lost:?} in:\n{}", damaged.text());
                    }
                    Err(error) => {
                        refused += 1;
                        assert!(error.position.is_some() && !error.to_string().is_empty());
                    }
                }
            }
        }
    }
    assert!(parsed > 100 && refused > 100, "{parsed} parsed, {refused} refused");
}

/// A body that is parsed in many runs, with scopes that are open where it is cut.
#[test]
fn a_long_body_is_one_body() {
    const STATEMENTS: usize = 10_000;
    let mut text = ".version 8.5\n.target sm_80\n.visible .entry long() {\n".to_owned();
    for number in 0..STATEMENTS {
        text.push_str(&format!("{{ ld.global.v2.u32 {{%r1, %r2}}, [%rd1+{number}]; /* ; */\n"));
        text.push_str("} // ;\n");
        if number % 1000 == 0 {
            text.push_str("{ { mov.u32 %r1, 5;\n");
        }
    }
    text.push_str(&"} }".repeat(STATEMENTS / 1000));
    text.push_str("\n}\n");
    let source = SourceFile::new("long.ptx", text);
    let module = ptx::parse(&source, Depth::All).expect("the body parses");
    assert_eq!(tree::instructions(&module), STATEMENTS + STATEMENTS / 1000);
    assert_eq!(coverage::violations(&source, &module), Vec::<String>::new());
    let stats = ptx::stats(&source, ptxasw::pipeline::REWRITABLE).expect("the body parses");
    assert_eq!(stats.instructions, STATEMENTS + STATEMENTS / 1000);
}

/// Of several mistakes the first is reported, whoever finds it.
#[test]
fn the_first_mistake_is_reported() {
    let good = ".entry f() { add.s32 %r1, %r2, 1; }\n";
    let bad = ".entry f() { add.s32 %r1 %r2, 1; }\n";
    let unclosed = ".entry f() { /* \n";
    let text = [good, good, bad, bad, unclosed].concat();
    let source = SourceFile::new("mistakes.ptx", text);
    for _ in 0..8 {
        let error = ptx::parse(&source, Depth::All).expect_err("line 3 is wrong");
        assert_eq!(error.position.map(|position| position.line), Some(3));
    }
}

/// The other programs of the repository.
#[test]
fn samples_and_cases_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    check_corpus(&root.join("ptx-samples"));
    check_corpus(&root.join("tests/cases"));
}

#[test]
fn a_corpus_parses() {
    if let Some(folder) = std::env::var_os("PTX_CORPUS") {
        check_corpus(Path::new(&folder));
    }
}

fn check_corpus(folder: &Path) {
    let mut failures = Vec::new();
    for path in files(folder) {
        let source = read(&path);
        match ptx::parse(&source, Depth::All) {
            Ok(module) => failures.extend(coverage::violations(&source, &module)),
            Err(error) => failures.push(error.to_string()),
        }
    }
    report(failures);
}
