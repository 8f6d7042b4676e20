//! The axes of a grid.
//!
//! In: the checks of a kernel. Out: the axes by whose indices its blocks are counted: y, z, and x or the parts that x is split into. A kernel
//! that takes `x / 8` and `x % 8` counts by both.

use typed_index_collections::TiVec;

use super::{AXES, Check, Divisor, Slope};
use crate::interp::memory::FunctionId;
use crate::interp::program::Pc;
use crate::isa::Axis;

/// The checks of all micro-operations.
pub(super) type Checks = TiVec<FunctionId, TiVec<Pc, Box<[Check]>>>;

/// The axes of a grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Axes {
    grid: [u64; 3],
    /// x is the sum of three indices times 1 and these numbers; each divides the next one. 0: the index is missing.
    splits: [u64; 2],
}

impl Axes {
    /// The three axes of a grid.
    pub(super) fn new(grid: [u32; 3]) -> Axes {
        Axes { grid: grid.map(u64::from), splits: [0; 2] }
    }

    /// The axes that x is split into by a kernel's divisors; none if these have them already.
    pub(super) fn split(self, checks: &Checks) -> Option<Axes> {
        let x = self.slope(Axis::X);
        let divisor = |check: &Check| {
            let Check::Quotient(operand, _, Divisor::Number(number), _) = *check else {
                return None;
            };
            let lowest = (0..3).find(|&axis| operand.slope[axis] != 0)?;
            let by = u64::try_from(operand.slope[lowest]).ok()?;
            let steps = number.is_multiple_of(by).then_some(number / by * x[lowest] as u64)?;
            (1 < steps && steps < self.grid[0]).then_some(steps)
        };
        let all = checks.iter().flatten().flat_map(|checks| checks.iter());
        let mut divisors: Vec<u64> = all.filter_map(divisor).collect();
        divisors.sort_unstable();
        divisors.dedup();
        let first = *divisors.first()?;
        let second = divisors.into_iter().find(|&next| next > first && next.is_multiple_of(first));
        let splits = [first, second.unwrap_or(0)];
        (splits != self.splits).then_some(Axes { splits, ..self })
    }

    /// The slope of a block index.
    pub(super) fn slope(&self, axis: Axis) -> Slope {
        match axis {
            Axis::X => [1, self.splits[0] as i64, self.splits[1] as i64, 0, 0],
            Axis::Y => [0, 0, 0, 1, 0],
            Axis::Z => [0, 0, 0, 0, 1],
        }
    }

    /// The indices of a block.
    pub(super) fn indices(&self, block: u64) -> [i64; AXES] {
        let [width, height, _] = self.grid;
        let (x, y, z) = (block % width, block / width % height, block / width / height);
        let split = match self.splits {
            [0, _] => [x, 0, 0],
            [first, 0] => [x % first, x / first, 0],
            [first, second] => [x % first, x % second / first, x / second],
        };
        [split[0], split[1], split[2], y, z].map(|index| index as i64)
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> u64 {
        self.grid.iter().product()
    }
}

/// How far what has a slope moves between blocks.
pub(super) fn moved(slope: Slope, from: [i64; AXES], to: [i64; AXES]) -> i128 {
    let steps = from.iter().zip(to).map(|(&from, to)| i128::from(to) - i128::from(from));
    slope.iter().zip(steps).map(|(&slope, by)| i128::from(slope) * by).sum()
}
