//! Associative operators of serial loops (`operators.txt`), each found and proved when the library is written.

use super::header::{Header, bracketed};
use super::notes::{Notes, annotated, wrapped};
use crate::parallel;
use crate::source::SourceFile;
use crate::synth::parse;
use crate::synth::scan::emit::{Code, functions};
use crate::synth::scan::{self, Outcome, report};

const TEST: &str = "tests/library.rs, operators_do_what_their_loops_do";

const PROOF: &str = "by z3, for lists of all lengths: the laws that are named above; within a warp and a block as in \
                     scans.cuh";

/// A loop of the library, with the operator that was found.
pub struct Operator {
    /// The prefix of names in its code.
    pub name: String,
    /// The sketch.
    pub sketch: String,
    /// The outcome of the search.
    pub outcome: Outcome,
}

/// The names and the sketches of all loops.
pub fn loops() -> Vec<(String, String)> {
    let text = include_str!("operators.txt");
    let mut all = Vec::new();
    for section in text.split("\n== ").skip(1) {
        let (head, sketch) = section.split_once('\n').unwrap_or((section, ""));
        let sketch = sketch.trim_end();
        let mut words = head.split_whitespace();
        let name = words.next().unwrap_or_default();
        let types: Vec<&str> = words.collect();
        if types.is_empty() {
            all.push((name.to_owned(), format!("{sketch}\n")));
        }
        for ty in &types {
            let mut own = sketch.replace(&format!(": {}", types[0]), &format!(": {ty}"));
            if ty.starts_with('f') {
                own = own.replace("assuming exact", "assuming real");
            }
            all.push((format!("{name}_{ty}"), format!("{own}\n")));
        }
    }
    all
}

/// Finds the operator of each loop.
///
/// # Errors
/// A loop cannot be read, or has no operator that is proved.
pub(super) fn solve() -> Result<Vec<Operator>, String> {
    let solve = |(name, sketch): (String, String)| {
        let source = SourceFile::new(name.as_str(), sketch.as_str());
        let tree = parse(&source).map_err(|error| error.to_string())?;
        let subject = scan::read(&source, &tree, &[]).map_err(|error| error.to_string())?;
        let outcome = scan::solve(&subject);
        match &outcome.found {
            Some(found) if found.unproved.is_empty() => Ok(Operator { name, sketch, outcome }),
            Some(_) => Err(format!("{name}: a law of its operator is not proved")),
            None => Err(format!("{name}: no operator was found")),
        }
    };
    parallel::map(loops(), solve).into_iter().collect()
}

/// The header.
///
/// # Errors
/// A function has no notes.
pub(super) fn header(operators: &[Operator]) -> Result<Header, String> {
    let (mut text, mut count) = (String::new(), 0);
    for Operator { name, sketch, outcome } in operators {
        let Some(found) = &outcome.found else { continue };
        text.push('\n');
        let (comments, lines): (Vec<&str>, Vec<&str>) =
            sketch.lines().partition(|line| line.starts_with('#'));
        let about: Vec<&str> = comments.iter().map(|line| line.trim_start_matches('#')).collect();
        wrapped(&mut text, &format!("{name}: {}", about.join(" ").trim()));
        lines.iter().for_each(|line| text.push_str(&format!("//     {line}\n")));
        report::table(outcome).lines().for_each(|line| text.push_str(&format!("// {line}\n")));
        let code = functions(&Code::new(found, name, None));
        let (code, own) = annotated(&code, &|function| {
            let formula = match function.strip_prefix(name.as_str())? {
                "_scan" => {
                    "result i = project of step over elements 0 to i, by `combine` of the threads' shares"
                }
                "_reduce" => "step over all elements, by `combine` of the threads' shares",
                _ => return None,
            };
            Some(Notes::new(formula, PROOF, TEST))
        })?;
        text.push_str(&code);
        count += own;
    }
    let about = "Associative operators that were found for serial loops: the state, the operator as a functor, NAME_scan and \
                 NAME_reduce for one block and a list of any length. CUB's DeviceScan takes the operators as they are. In \
                 front of each stand the loop and what was found and proved. Floating-point numbers are taken for reals: \
                 results are rounded otherwise than the loop's.";
    let text = bracketed("operators.cuh", about, &["scans.cuh"], &text);
    Ok(Header { file: "operators.cuh", text, functions: count })
}
