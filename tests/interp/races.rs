//! The race detector on the kernels of `tests/interp/races`. Above each stands its launch; of its
//! lines those that race are marked `// first` and `// second`, in the order in which they are
//! executed. A kernel without marks has no race. All are what the real ptxas accepts.

use super::assembler::Assembler;
use super::bed::Bed;
use super::root;
use ptxasw::interp::FaultKind;
use ptxasw::ptx::{self, Depth, FunctionKind};
use ptxasw::source::SourceFile;

/// Elements of the buffer that each kernel gets.
const ELEMENTS: usize = 256;

/// The 1-based line of a function that bears a mark.
pub fn marked(source: &SourceFile, lines: std::ops::Range<u32>, mark: &str) -> Option<u32> {
    let bears = |line: &u32| match source.line_text(*line).rsplit_once("// ") {
        Some((_, comment)) => comment.split(", ").any(|word| word == mark),
        None => false,
    };
    lines.into_iter().find(bears)
}

/// Blocks and threads, from the line above a kernel: `// grid 2, block 64`.
pub fn shape(line: &str) -> Option<(u32, u32)> {
    let (grid, block) = line.strip_prefix("// grid ")?.split_once(", block ")?;
    Some((grid.parse().ok()?, block.parse().ok()?))
}

#[test]
fn races_are_found_and_nothing_else() {
    let assembler = Assembler::find();
    let cubin = tempfile::NamedTempFile::new().expect("a temporary file");
    let (mut racy, mut free, mut wrong) = (0, 0, Vec::new());
    let folder = std::fs::read_dir(root().join("tests/interp/races")).expect("a readable folder");
    for entry in folder {
        let path = entry.expect("a readable entry").path();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = SourceFile::new(&*name, text.as_str());
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        for function in module.functions().filter(|f| f.kind == FunctionKind::Entry) {
            let lines = source.line(function.span.start)..source.line(function.span.end) + 1;
            let (grid, block) = shape(source.line_text(lines.start - 1))
                .unwrap_or_else(|| panic!("{name}:{}: no launch above", lines.start));
            let [first, second] = ["first", "second"].map(|m| marked(&source, lines.clone(), m));
            let bed = Bed::text(&name, text.as_str(), function.name.text)
                .grid([grid, 1, 1])
                .block([block, 1, 1])
                .ignoring_uninitialized()
                .buffer("p", &[7_u32; ELEMENTS]);
            let place = format!("{name}: {}", function.name.text);
            match (bed.run(), second) {
                (Ok(_), None) => free += 1,
                (Ok(_), Some(line)) => wrong.push(format!("{place}: no race in line {line}")),
                (Err(fault), None) => wrong.push(fault.diagnostic(&source).to_string()),
                (Err(fault), Some(_)) => {
                    racy += 1;
                    let at = |span: ptxasw::source::Span| source.line(span.start);
                    let found = (fault.earlier.as_ref().map(|o| at(o.span)), fault.span.map(at));
                    if fault.kind != FaultKind::Race || found != (first, second) {
                        wrong.push(fault.diagnostic(&source).to_string());
                    }
                }
            }
        }
        let assembled = assembler.as_ref().map(|a| a.assemble(&text, cubin.path()));
        if let Some(Err(message)) = assembled {
            wrong.push(format!("{name}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    assert!(racy > 10 && free > 10, "{racy} kernels with a race, {free} without");
}

#[test]
fn the_last_lane_of_a_store_wins_if_conflicts_are_ignored() {
    let kernel = |name| {
        let bed = Bed::file("tests/interp/races/lanes.ptx", name);
        bed.buffer("p", &[7_u32; ELEMENTS]).ignoring_store_conflicts()
    };
    let left: Vec<u32> = kernel("different_values_to_one_place").good().get("p");
    assert_eq!((left[0], left[31], left[32]), (31, 31, 7));
    let (fault, _) = kernel("through_shared_memory").fault();
    assert_eq!(fault.kind, FaultKind::Race);
}

#[test]
fn the_message_shows_both_lines_and_both_threads() {
    let bed = Bed::file("tests/interp/races/lanes.ptx", "through_shared_memory");
    let (_, shown) = bed.buffer("p", &[7_u32; ELEMENTS]).fault();
    let text = std::fs::read_to_string(root().join("tests/interp/races/lanes.ptx"));
    let text = text.expect("a readable file");
    let line = |mark: &str| {
        let at = text.lines().position(|line| line.ends_with(mark)).expect("a mark");
        (at + 1, text.lines().nth(at).expect("a line"))
    };
    let ((first, wrote), (second, read)) = (line("// first"), line("// second"));
    for part in [
        format!("lanes.ptx:{second}:"),
        format!("lanes.ptx:{first}:"),
        "the thread reads bytes that thread (1, 0, 0) wrote".to_owned(),
        "thread (0, 0, 0) of block (0, 0, 0)".to_owned(),
        "note: written here".to_owned(),
        "bar.warp.sync".to_owned(),
        wrote.trim().to_owned(),
        read.trim().to_owned(),
    ] {
        assert!(shown.contains(&part), "`{part}` is not in\n{shown}");
    }
}
