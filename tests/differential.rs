//! Every case that is rewritten is executed, original against result, in blocks of many shapes:
//! whole and incomplete warps, rows shorter and longer than a warp, lanes that leave loops early.
//! What the buffers hold afterwards is the same to the bit.

use std::path::{Path, PathBuf};

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth, Function, FunctionKind};
use ptxasw::rewrite::Mode;
use ptxasw::source::SourceFile;
use rayon::prelude::*;

#[path = "common/shapes.rs"]
mod shapes;

const FOLDER: &str = "tests/cases/accept";
const COUNTS: [i32; 3] = [3, 26, 1];
/// Elements of each buffer.
const ELEMENTS: usize = 16384;
/// Kernels of which two blocks would write the same.
const ONE_BLOCK: &[&str] =
    &["barrier_before_both", "index_read_again", "index_read_by_all_lanes", "thread_index_only"];
/// Kernels that no launch of this kind suits, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("other_register", "loads its address"),
    ("source_overwrites_its_address", "loads its address"),
    ("destination_is_another_address", "loads its address"),
    ("next_pointer", "loads its address"),
    ("in_a_vector", "loads its address"),
    ("bulk_copy_behind_both", "bulk copies want aligned addresses, of one thread"),
    ("thirty_two_wide", "all rows write the same"),
    ("sixty_four_wide", "all rows write the same"),
    ("both_beyond_four_gigabytes", "needs such a buffer"),
];
/// Random shapes of blocks besides the fixed ones.
const RANDOM: usize = 3;
/// Instructions of a warp after which a launch of the original is given up.
const MAX_INSTRUCTIONS: u64 = 60_000;

/// A launch of a kernel with buffers for its 64-bit parameters, each pointing well into its buffer,
/// and a number for the others. An element's value is its index, so a wrong address shows.
fn launch(function: &Function<'_>, blocks: u32, block: [u32; 3], count: i32) -> Option<Launch> {
    let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
    for (index, parameter) in function.params.iter().enumerate() {
        match parameter.ty?.bits() {
            64 => {
                buffers.push(format!(
                    r#""b{index}": {{"type": "u32", "len": {ELEMENTS}, "fill": "index"}}"#
                ));
                arguments.push(format!(r#"{{"buffer": "b{index}", "offset": 4096}}"#));
            }
            32 => arguments.push(format!(r#"{{"type": "s32", "value": {count}}}"#)),
            _ => return None,
        }
    }
    let text = format!(
        r#"{{"kernel": "{}", "grid": [{blocks}, 1, 1], "block": {block:?}, "dynamic_shared": 0,
            "buffers": {{{}}}, "args": [{}]}}"#,
        function.name.text,
        buffers.join(", "),
        arguments.join(", ")
    );
    let mut launch = Launch::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    // Some kernels never end for some numbers.
    launch.limit = MAX_INSTRUCTIONS;
    Some(launch)
}

/// Runs all kernels of a file; gives how many launches went through, and the differences.
fn compare(file: &str, original: &str, result: &str) -> (usize, Vec<String>) {
    let (before, after) = (SourceFile::new(file, original), SourceFile::new(file, result));
    let parse = |source| ptx::parse(source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
    let (before, after) = (parse(&before), parse(&after));
    let (mut completed, mut differences) = (0, Vec::new());
    for function in before.functions().filter(|f| f.kind == FunctionKind::Entry) {
        let demanded = function.directive("reqntid").map(|extents| {
            [0, 1, 2].map(|axis| extents.get(axis).map_or(1, |&extent| extent as u32))
        });
        let blocks = match demanded {
            Some(block) => vec![block],
            None => shapes::shapes(function, RANDOM, u64::from(function.span.start)),
        };
        let number = if ONE_BLOCK.contains(&function.name.text) { 1 } else { 2 };
        let before_these = completed;
        for (block, count) in blocks.iter().flat_map(|b| COUNTS.iter().map(move |c| (*b, *c))) {
            let Some(launch) = launch(function, number, block, count) else { continue };
            // A launch that does not suit the kernel says nothing about its rewrite.
            let Ok(expected) = interp::run(&before, &launch) else { continue };
            completed += 1;
            let place = format!("{file}: {} {block:?}, n = {count}", function.name.text);
            // The rewritten kernel executes more instructions.
            let launch = Launch { limit: 20 * MAX_INSTRUCTIONS, ..launch };
            match interp::run(&after, &launch) {
                Err(fault) => differences.push(format!("{place}: {fault}")),
                Ok(outcome) => {
                    let differs = expected.buffers.iter().any(|(name, buffer)| {
                        outcome.buffers.get(name).is_none_or(|other| other.bytes != buffer.bytes)
                    });
                    if differs {
                        differences.push(format!("{place}: the buffers differ"));
                    }
                }
            }
        }
        let not_run = NOT_RUN.iter().any(|(name, _)| *name == function.name.text);
        if (completed == before_these) != not_run {
            let found = if not_run { "was run" } else { "no launch suits it" };
            differences.push(format!("{file}: {}: {found}; see NOT_RUN", function.name.text));
        }
    }
    (completed, differences)
}

#[test]
fn rewritten_cases_compute_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.sort();
    let results: Vec<(usize, Vec<String>)> = files
        .par_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(path).expect("a readable case");
            let source = SourceFile::new(&*name, text.as_str());
            let result = rewrite(&source, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
            if result.text == text { (0, Vec::new()) } else { compare(&name, &text, &result.text) }
        })
        .collect();
    let completed: usize = results.iter().map(|(completed, _)| completed).sum();
    assert!(completed > 3000, "only {completed} launches went through");
    let differences: Vec<String> = results.into_iter().flat_map(|(_, found)| found).collect();
    assert!(
        differences.is_empty(),
        "\n{}\nRun both texts by hand: `ptxasw rewrite`, `ptxasw run`.",
        differences.join("\n")
    );
}

#[test]
fn a_wrong_rewrite_is_noticed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join("loop_carried.ptx");
    let text = std::fs::read_to_string(path).expect("a readable case");
    let source = SourceFile::new("loop_carried.ptx", text.as_str());
    // Without the loads for lanes that have no source lane the result is wrong by design.
    let options = Options { mode: Mode::NoCorner, ..Options::default() };
    let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
    let (completed, differences) = compare("loop_carried.ptx", &text, &result.text);
    assert!(completed > 0 && !differences.is_empty());
}
