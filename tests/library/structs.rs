//! Structs of every size against their places in memory.

use ptxasw::launch::{Meet, Type};
use ptxasw::ptx::Module;

use super::run::{Start, UNTOUCHED, Values, run};

const LANES: usize = 32;

/// A word that no other one is equal to, in 32 bits as well.
fn word(at: usize, mask: u64) -> u64 {
    (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask
}

/// Runs `kernel(structs, rows, back[, count])`: the contents of the rows, and of the structs after the way back, are
/// compared with `structs`, which are `count` structs of `words` words; nothing behind them may be touched. `rows` has
/// the words of each struct at this place.
fn compare(
    module: &Module,
    kernel: &str,
    (words, count): (usize, usize),
    wide: bool,
    numbers: Vec<i32>,
    row: &dyn Fn(usize, usize) -> usize,
) {
    let (ty, mask) = if wide { (Type::U64, u64::MAX) } else { (Type::U32, u32::MAX.into()) };
    // There are as many as are read: a load behind them is a fault.
    let structs: Vec<u64> = (0..words * count).map(|at| word(at, mask)).collect();
    let nothing = vec![UNTOUCHED & mask; words * LANES];
    let buffers = [&structs, &nothing, &nothing].map(|bits| Values { ty, bits: bits.clone() });
    let start = Start { threads: 32, meet: Meet::default(), numbers };
    let after = run(module, kernel, &buffers, &start);
    assert_eq!(after[0], structs, "{kernel}: structs are read");
    for lane in 0..LANES {
        for e in 0..words {
            let at = words * lane + e;
            let there = if lane < count { structs[at] } else { 0 };
            assert_eq!(after[1][row(lane, e)], there, "{kernel}, {count}: word {e} of lane {lane}");
            let back = if lane < count { structs[at] } else { nothing[at] };
            assert_eq!(after[2][at], back, "{kernel}, {count}: word {e} of struct {lane}, stored");
        }
    }
}

pub fn check(module: &Module, widths: &[&str]) {
    for width in widths {
        let wide = *width == "b64";
        for words in 2..=16 {
            let row = |lane: usize, e: usize| LANES * e + lane;
            compare(module, &format!("whole_{width}_{words}"), (words, LANES), wide, vec![], &row);
            // How many structs there are, and the number that is given.
            for (count, given) in
                [(0, 0), (0, i32::MIN), (1, 1), (7, 7), (31, 31), (32, 32), (32, i32::MAX)]
            {
                let kernel = format!("some_{width}_{words}");
                compare(module, &kernel, (words, count), wide, vec![given], &row);
            }
        }
    }
    for (kernel, words, wide) in [("particles", 7, false), ("wides", 3, true)] {
        for count in [5, 32] {
            let row = |lane: usize, e: usize| words * lane + e;
            compare(module, kernel, (words, count), wide, vec![count as i32], &row);
        }
    }
}
