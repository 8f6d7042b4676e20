//! What holds for every rewrite of every file, whatever was decided.

use std::collections::BTreeSet;

use ptxasw::pipeline::{Options, Rewritten, rewrite};
use ptxasw::ptx::{self, Depth};
use ptxasw::report::{Decision, KernelReport};
use ptxasw::source::SourceFile;

use super::header::options_of;

/// Rewrites a text as its header says.
///
/// # Errors
/// The diagnostic of a file that does not parse.
pub fn rewritten(name: &str, text: &str) -> Result<Rewritten, String> {
    // Every load shall be reported; which bodies are looked into must not show in the text.
    let source = SourceFile::new(name, text);
    let result = rewrite(&source, &Options { all_bodies: true, ..options_of(text) })
        .map_err(|e| e.to_string())?;
    let plain = rewrite(&source, &options_of(text)).map_err(|e| e.to_string())?;
    if plain.text != result.text {
        return Err(format!("{name}: the text depends on whether all bodies are parsed"));
    }
    Ok(result)
}

/// Checks one rewrite and returns the broken invariants.
pub fn broken(name: &str, original: &str, result: &Rewritten) -> Vec<String> {
    let mut failures = Vec::new();
    let shuffles: usize = result.report.kernels.iter().map(KernelReport::changes).sum();
    if (shuffles == 0) != (result.text == original) {
        let what = if shuffles == 0 { "changed without" } else { "unchanged despite" };
        failures.push(format!("{name}: the text is {what} an accepted load ({shuffles})"));
    }
    let output = SourceFile::new(name, result.text.as_str());
    if let Err(error) = ptx::parse(&output, Depth::All) {
        failures.push(format!("the output does not parse: {error}"));
    }
    match rewritten(name, &result.text) {
        Ok(again) if again.text == result.text => {}
        Ok(again) => failures.push(format!(
            "{name}: a second run changes the text again, first at line {} of the output",
            first_difference(&result.text, &again.text)
        )),
        Err(error) => failures.push(format!("{name}: a second run fails: {error}")),
    }
    failures.extend(unmapped(name, original, result));
    failures
}

/// The 1-based line in which two texts first differ.
fn first_difference(a: &str, b: &str) -> usize {
    a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count() + 1
}

/// Every line of the original must be reached through the line map: a replaced load and a line of an array that
/// is laid out anew by any line, a
/// source load by one that still holds its statement (its value may be copied behind it), every
/// other line by one that still holds all its text.
fn unmapped(name: &str, original: &str, result: &Rewritten) -> Vec<String> {
    let before: Vec<&str> = original.lines().collect();
    let loads = || result.report.kernels.iter().flat_map(|kernel| &kernel.loads);
    let stores = result.report.kernels.iter().flat_map(|kernel| &kernel.stores);
    let covered = loads().chain(stores).filter(|load| load.decision != Decision::Keep);
    let arrays = result.report.kernels.iter().flat_map(|kernel| &kernel.arrays);
    let laid_out = arrays.filter(|array| array.layout.is_some());
    let of_arrays = laid_out.flat_map(|array| {
        let accesses = array.accesses.iter().map(|access| access.line);
        accesses.chain([array.line])
    });
    let collectives = result.report.kernels.iter().flat_map(|kernel| &kernel.collectives);
    let of_collectives = collectives
        .filter(|collective| collective.decision != Decision::Keep)
        .flat_map(|collective| collective.lines.iter().copied());
    let replaced = covered.map(|load| load.line).chain(of_arrays).chain(of_collectives);
    let replaced: BTreeSet<usize> = replaced.map(|line| line as usize).collect();
    let sources: BTreeSet<usize> =
        loads().filter_map(|load| load.source_line).map(|line| line as usize).collect();
    let survives = |line: usize, text: &str| {
        let old = before[line - 1].trim();
        let statement = old.split("//").next().unwrap_or(old).trim();
        replaced.contains(&line)
            || text.contains(old)
            || (sources.contains(&line) && text.contains(statement))
    };
    let mut reached = BTreeSet::new();
    let mut last = 0;
    for (index, text) in result.text.lines().enumerate() {
        let line = index + 1;
        let from = result.lines.original(line as u32) as usize;
        if from < last || from == 0 || from > before.len() {
            let lines = before.len();
            return vec![format!(
                "{name}: line {line} of the output maps to line {from} of {lines}, after line {last}"
            )];
        }
        last = from;
        if survives(from, text) {
            reached.insert(from);
        }
    }
    let missing = (1..=before.len()).filter(|line| !reached.contains(line));
    missing
        .map(|line| format!("{name}:{line}: no line of the output maps here and holds its text"))
        .collect()
}
