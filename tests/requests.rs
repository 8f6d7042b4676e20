//! What the accesses of kernels take, by kind, for the measure by machine code (`requests`).

use crate::common::root;
use ptxasw::pipeline::{self, Options};
use ptxasw::ptx::Depth;
use ptxasw::sass::access::{Access, Request};
use ptxasw::sass::opcodes::Role;
use ptxasw::sass::paths::Counterpart;
use ptxasw::select;
use ptxasw::source::SourceFile;

/// A kernel of a file, and what its strategy makes of it: the requests of a kind in both.
fn requests(file: &str, kernel: &str, strategies: &str, of: Access) -> [Option<Request>; 2] {
    let text = std::fs::read_to_string(root().join(file)).unwrap();
    let source = SourceFile::new(file, text.as_str());
    let select = select::Options { strategies: strategies.parse().unwrap(), ..Default::default() };
    let options = Options { select, ..Options::default() };
    let rewritten = pipeline::rewrite(&source, &options).unwrap().text;
    let rewritten = SourceFile::new(file, rewritten.as_str());
    let wanted = [kernel];
    let facts = |text| pipeline::facts(text, &options, Depth::Named(&wanted)).unwrap();
    let original = facts(&source)[kernel].known(Counterpart::None);
    let after = facts(&rewritten)[kernel].known(Counterpart::Original(&original.executed));
    [original, after].map(|known| known.requests.by_kind.get(&of).copied())
}

const fn of(role: Role, guarded: bool) -> Access {
    Access { role, bytes: 4, guarded }
}

#[test]
fn the_layouts_of_arrays_are_followed() {
    let file = "openacc-bench/bank/kernels.sm_80.ptx";
    for (kernel, columns) in [("transposed", 32.0), ("reduced", 32.0)] {
        let found = requests(file, kernel, "bank", of(Role::LoadShared, false));
        let [before, after] = found.map(|request| request.expect("loads are there").cycles);
        assert_eq!((before, after), (columns, 1.0), "{kernel}");
    }
}

/// The corner loads of the paper's shape are those of a few lanes.
#[test]
fn few_lanes_take_few_bytes() {
    let file = "ptx-samples/pastl1/pastl1.sm_80.ptx";
    let [before, _] = requests(file, "pastl1_3", "paper", of(Role::LoadGlobal, false));
    let before = before.expect("loads are there");
    assert!(before.from_l2 >= 128.0, "{before:?}");
    let [none, after] = requests(file, "pastl1_3", "paper", of(Role::LoadGlobal, true));
    assert_eq!(none, None);
    let after = after.expect("corner loads are there");
    assert!(after.executed == 1.0 && after.from_l2 <= 64.0, "{after:?}");
}

/// Of three rows each is another block's middle one: from memory comes one.
#[test]
fn rows_of_other_blocks_come_from_memory_once() {
    let file = "ptx-samples/jacobi/jacobi.sm_80.ptx";
    let [found, _] = requests(file, "jacobi", "none", of(Role::LoadGlobal, false));
    let found = found.expect("loads are there");
    // Nine loads: 128 bytes of a row from memory, in up to six sectors where rows do not begin with one, and more from the
    // second-level cache, where other blocks' rows are.
    let [from_l2, from_memory] = [found.from_l2, found.from_memory].map(|each| 9.0 * each);
    assert!((128.0..192.0).contains(&from_memory), "{found:?}");
    assert!(from_l2 > from_memory + 64.0 && from_l2 < 3.0 * 192.0, "{found:?}");
}
