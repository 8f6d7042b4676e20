//! Every file in `tests/cases/`: kernels that a careless rewrite breaks (`refuse/`), and beside each of these files,
//! under the same name, kernels that differ in one detail and are to be rewritten (`accept/`). The expectation of each
//! load stands behind it; see `common/expectation.rs` for the form. `BLESS=1 cargo test --test main cases::` writes the
//! outcome.

#![expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]

use crate::common;
use crate::common::expectation;
use crate::common::respelled::respelled;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::assembler::Assembler;
use common::invariants::{broken, rewritten};
use expectation::{Expectation, split};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::report::{LoadReport, Report};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

const FOLDER: &str = "tests/cases";
const ADVICE: &str = "If every new decision is right, `BLESS=1 cargo test --test main cases::` writes \
                      them into the files; read the difference before you commit it.";

fn blessing() -> bool {
    std::env::var("BLESS").is_ok_and(|v| v == "1")
}

/// The case files, relative to the root of the repository and sorted.
/// Fails without any, as a test over nothing would pass.
fn case_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![common::root().join(FOLDER)];
    while let Some(folder) = pending.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder entry").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                found.push(
                    path.strip_prefix(common::root()).expect("a path below the root").to_owned(),
                );
            }
        }
    }
    assert!(!found.is_empty(), "no .ptx file in {FOLDER}");
    found.sort();
    found
}

/// Whether a case file lies in a folder of that name.
fn lies_in(file: &Path, folder: &str) -> bool {
    file.parent().is_some_and(|parent| parent.ends_with(folder))
}

/// What became of each load, by line.
fn decisions(report: &Report) -> BTreeMap<u32, Expectation> {
    let loads: BTreeMap<u32, &LoadReport> =
        report.kernels.iter().flat_map(|k| &k.loads).map(|load| (load.line, load)).collect();
    let source = |load: &LoadReport| load.source_line.and_then(|line| loads.get(&line).copied());
    let of_loads = loads.iter().map(|(&line, &load)| (line, Expectation::of(load, source(load))));
    let arrays = report.kernels.iter().flat_map(|kernel| &kernel.arrays);
    let of_arrays = arrays.filter_map(|array| Some((array.line, Expectation::of_array(array)?)));
    let stores = report.kernels.iter().flat_map(|kernel| &kernel.stores);
    let of_stores = stores.map(|store| (store.line, Expectation::of(store, None)));
    let collectives = report.kernels.iter().flat_map(|kernel| &kernel.collectives);
    let of_collectives = collectives.map(|one| (one.line, Expectation::of_collective(one)));
    of_loads.chain(of_arrays).chain(of_stores).chain(of_collectives).collect()
}

/// A name is an entity, not a word: cases whose names are spelled like words of the language are decided alike, and the
/// rewritten text is one that names the same things.
#[test]
fn names_like_words_of_the_language_change_no_decision() {
    let files: Vec<(usize, PathBuf)> = case_files().into_iter().enumerate().collect();
    let wrong: Vec<String> = common::some(files, 1)
        .par_iter()
        .filter_map(|(number, file)| {
            let text = common::read(file);
            let [spelled] = respelled([&text], *number)?;
            let options = common::header::options_of(&text);
            let [before, after] = [text, spelled].map(|text| {
                let source = SourceFile::new(file.display().to_string(), text);
                rewrite(&source, &options).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
            });
            let kinds = |report: &Report| -> Vec<(u32, String)> {
                let kernels = report.kernels.iter();
                let of = |load: &LoadReport| (load.line, format!("{:?}", load.decision));
                kernels.flat_map(|one| one.loads.iter().chain(&one.stores)).map(of).collect()
            };
            let (old, new) = (kinds(&before.report), kinds(&after.report));
            let lines = |text: &str| text.lines().count();
            let differs = old.iter().zip(&new).find(|(old, new)| old != new);
            if let Some((old, new)) = differs {
                return Some(format!("{}: {old:?} became {new:?}", file.display()));
            }
            let alike = lines(&before.text) == lines(&after.text);
            (!alike).then(|| format!("{}: the rewritten texts differ", file.display()))
        })
        .collect();
    common::report(&wrong, "A name is an entity, not a word.");
}

/// A file's expectations held against what was decided.
#[derive(Default)]
struct Comparison {
    /// Loads that were decided otherwise.
    differences: Vec<String>,
    /// Expectations that cannot be read, or stand where no load was reported: not to be blessed.
    errors: Vec<String>,
    /// The text whose expectations would agree.
    blessed: String,
}

fn compare(file: &Path, text: &str, report: &Report) -> Comparison {
    let actual = decisions(report);
    let mut comparison = Comparison::default();
    for (number, line) in (1u32..).zip(text.lines()) {
        let place = format!("{}:{number}", file.display());
        let mut error = |what| comparison.errors.push(format!("{place}: {what}\n    {line}"));
        let (mut new, mut statement) = (None, line);
        match (split(line), actual.get(&number)) {
            (Err(what), _) => error(what),
            (Ok((_, None)), None) => {}
            (Ok((_, Some(_))), None) => error("no load was reported here".to_owned()),
            (Ok((code, expected)), Some(got)) => {
                statement = code;
                new = Some(Expectation::blessed(expected.as_ref(), got));
                if new != expected {
                    let expected = expected.map_or("nothing".to_owned(), |e| format!("`{e}`"));
                    let code = code.trim();
                    let what = format!("{place}: expected {expected}, got `{got}`\n    {code}");
                    comparison.differences.push(what);
                }
            }
        }
        comparison.blessed.push_str(statement);
        comparison.blessed.extend(new.map(|new| format!("   // {new}")));
        comparison.blessed.push('\n');
    }
    comparison
}

/// What the folder itself says about every kernel in it.
fn against_verdict(file: &Path, report: &Report) -> Vec<String> {
    let accept = lies_in(file, "accept");
    report
        .kernels
        .iter()
        .filter(|kernel| kernel.global_loads > 0 && accept != kernel.is_rewritten())
        .map(|kernel| {
            let (name, n) = (&kernel.name, kernel.changes());
            format!(
                "{}: {n} accesses and arrays of kernel {name} are replaced, which its folder forbids",
                file.display()
            )
        })
        .collect()
}

#[test]
fn every_load_is_decided_as_expected() {
    let failures: Vec<String> = case_files()
        .par_iter()
        .flat_map(|file| {
            let text = common::read(file);
            let report = match rewritten(&file.to_string_lossy(), &text) {
                Ok(result) => result.report,
                Err(error) => return vec![error],
            };
            let Comparison { differences, errors, blessed } = compare(file, &text, &report);
            let mut failures = [errors, against_verdict(file, &report)].concat();
            if !blessing() {
                failures.extend(differences);
            } else if !differences.is_empty() {
                std::fs::write(common::root().join(file), blessed).expect("a writable case file");
            }
            failures
        })
        .collect();
    common::report(&failures, ADVICE);
}

#[test]
fn every_rewrite_keeps_the_invariants() {
    let failures: Vec<String> = case_files()
        .par_iter()
        .flat_map(|file| {
            let (name, text) = (file.to_string_lossy(), common::read(file));
            match rewritten(&name, &text) {
                Ok(result) => broken(&name, &text, &result),
                Err(error) => vec![error],
            }
        })
        .collect();
    common::report(&failures, "These hold for every file, whatever is decided.");
}

#[test]
fn ptxas_accepts_every_case_and_its_rewrite() {
    let Some(assembler) = Assembler::find() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let failures: Vec<String> = case_files()
        .par_iter()
        .enumerate()
        .flat_map(|(index, file)| {
            let (name, text) = (file.display(), common::read(file));
            let cubin = folder.path().join(format!("{index}.cubin"));
            if let Err(message) = assembler.assemble(&text, &cubin) {
                return Some(format!("{name}: the case itself is not valid PTX:\n{message}"));
            }
            let result = match rewritten(&name.to_string(), &text) {
                Ok(result) if result.text == text => return None,
                Ok(result) => result,
                Err(error) => return Some(error),
            };
            let message = assembler.assemble(&result.text, &cubin).err()?;
            Some(format!("{name}: ptxas refuses the rewritten text:\n{message}"))
        })
        .collect();
    common::report(&failures, "`ptxasw rewrite FILE` prints the text in question.");
}

/// `// queries: N` in a file's header: how many claims about its loads the solver is asked at most.
#[test]
fn what_values_refute_is_not_asked() {
    let mut checked = 0;
    let mut failures = Vec::new();
    for file in case_files() {
        let text = common::read(&file);
        let header = text.lines().take_while(|line| line.starts_with("//"));
        let allowed = header.filter_map(|line| line.strip_prefix("// queries: "));
        for allowed in allowed {
            let allowed: usize =
                allowed.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut options = Options::paper();
            options.reuse.dump_queries = Some(folder.path().to_owned());
            let source = SourceFile::new(file.to_string_lossy().as_ref(), text.as_str());
            rewrite(&source, &options).expect("a case that parses");
            let asked = std::fs::read_dir(folder.path()).expect("a readable folder").count();
            if asked > allowed {
                failures.push(format!("{}: {asked} queries, allowed: {allowed}", file.display()));
            }
            checked += 1;
        }
    }
    assert!(checked > 0, "no file says how many queries are allowed");
    common::report(&failures, "Look at them: `ptxasw candidates --dump-queries DIR FILE`.");
}

#[test]
fn every_refusal_has_a_neighbour_that_is_allowed() {
    let files = case_files();
    let stems = |folder: &str| -> BTreeSet<_> {
        let of_folder = files.iter().filter(|file| lies_in(file, folder));
        of_folder.map(|file| file.file_name().expect("a file name").to_owned()).collect()
    };
    assert_eq!(stems("refuse"), stems("accept"), "refusing everything must not pass");
}

/// Hazards are numbered as in the project's list of rewrites that look right and are wrong; a file's
/// header says to which one its kernels belong.
#[test]
fn every_hazard_has_kernels_on_both_sides() {
    const HAZARDS: usize = 34;
    // Collectives that one lane does not read have pairs in tests/verify.
    const ELSEWHERE: usize = 30;
    const ENOUGH: usize = 3;
    let mut counts = [[0; 2]; HAZARDS + 1];
    for file in case_files() {
        let text = common::read(&file);
        let header = text.lines().take_while(|line| line.starts_with("//"));
        let hazard = header
            .filter_map(|line| line.strip_prefix("// hazard: "))
            .find_map(|number| number.parse::<usize>().ok())
            .filter(|number| (1..=HAZARDS).contains(number))
            .unwrap_or_else(|| panic!("{}: the header names no hazard", file.display()));
        let side = usize::from(lies_in(&file, "accept"));
        counts[hazard][side] += text.lines().filter(|line| line.contains(".entry ")).count();
    }
    println!("hazard refuse accept");
    let mut failures = Vec::new();
    for (hazard, [refuse, accept]) in counts.into_iter().enumerate().skip(1) {
        if hazard == ELSEWHERE {
            continue;
        }
        println!("{hazard:6} {refuse:6} {accept:6}");
        if refuse.min(accept) < ENOUGH {
            failures.push(format!("hazard {hazard}: {refuse} refused, {accept} accepted kernels"));
        }
    }
    common::report(&failures, "Add kernels until there are three on each side.");
}

#[test]
fn every_global_load_of_a_case_carries_an_expectation() {
    let opcodes = ["ld.global", "ld.volatile", "ld.relaxed", "ld.acquire", "ld.mmio", "ld.weak"];
    let generic = ["ld.f32", "ld.u32", "ld.f64", "ld.v2", "ld.cg"];
    let mut failures = Vec::new();
    for file in case_files() {
        for (number, line) in (1..).zip(common::read(&file).lines()) {
            let (statement, expectation) =
                split(line).unwrap_or_else(|e| panic!("{}:{number}: {e}", file.display()));
            let code = statement.split("//").next().unwrap_or_default();
            let declaration = [".extern ", ".visible ", ".weak "]
                .iter()
                .fold(code.trim_start(), |code, linking| code.trim_start_matches(linking));
            let array = declaration.starts_with(".shared ") && expectation.is_some();
            let shared = code.contains(".shared.");
            // Stores have one where strategy `aos` has found a struct.
            let store = code.contains("st.") && !code.contains(".shared") && expectation.is_some();
            // That there is a collective where one is expected is another test's concern.
            let collective = ["ld.", "st.", ".shared"].iter().all(|word| !code.contains(word));
            let loads = array
                || store
                || collective && expectation.is_some()
                || !shared && opcodes.iter().chain(&generic).any(|opcode| code.contains(opcode));
            if loads != expectation.is_some() {
                failures.push(format!("{}:{number}: {line}", file.display()));
            }
        }
    }
    common::report(&failures, "A load without expectation, or the other way round.");
}
