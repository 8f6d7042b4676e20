//! The race detector on the kernels of `tests/interp/races`. Above each stands its launch; of its
//! lines those that race are marked `// first` and `// second`, in the order in which they are
//! executed. A kernel without marks has no race. All are what the real ptxas accepts.

use super::bed::Bed;
use super::marked::{self, ELEMENTS};
use super::root;
use ptxasw::interp::FaultKind;

#[test]
fn races_are_found_and_nothing_else() {
    let (mut racy, mut free) = (0, 0);
    let wrong = marked::each("races", &mut |kernel| {
        let [first, second] = ["first", "second"].map(|word| kernel.line(word));
        match (kernel.bed().ignoring_uninitialized().run(), second) {
            (Ok(_), None) => free += 1,
            (Ok(_), Some(line)) => {
                return vec![format!("{}: no race in line {line}", kernel.place)];
            }
            (Err(fault), None) => return vec![kernel.shown(&fault)],
            (Err(fault), Some(_)) => {
                racy += 1;
                if fault.kind != FaultKind::Race || kernel.found(&fault) != (first, second) {
                    return vec![kernel.shown(&fault)];
                }
            }
        }
        Vec::new()
    });
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
