//! What the addresses of a random kernel are, in plain machine arithmetic: the oracle.

use super::kernel::{ARRAYS, Arithmetic, Kernel, Load, Loop, Pitch, Rows, Spelling};

/// Everything but the thread that an address depends on.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    pub arrays: [u64; ARRAYS],
    pub n: u32,
    pub w: u32,
    pub s: u32,
    pub block: [u32; 3],
    pub ctaid: [u32; 3],
    pub grid_x: u32,
    /// How often the loop has come round.
    pub iteration: u32,
}

impl Environment {
    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// The place in its block of the thread with this number.
    pub fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [number % x, number / x % y, number / (x * y)]
    }

    /// The x index of a thread, loop included.
    pub fn x(&self, kernel: &Kernel, thread: [u32; 3]) -> u32 {
        let start = match kernel.grid {
            true => self.ctaid[0].wrapping_mul(self.block[0]).wrapping_add(thread[0]),
            false => thread[0],
        };
        match kernel.around {
            Loop::GridStride => {
                let step = self.grid_x.wrapping_mul(self.block[0]);
                start.wrapping_add(step.wrapping_mul(self.iteration))
            }
            _ => start,
        }
    }

    /// Whether a thread comes to the loads at all.
    pub fn active(&self, kernel: &Kernel, thread: [u32; 3]) -> bool {
        let x = self.x(kernel, thread);
        let less = |a: u32, b: u32| match kernel.arithmetic.signed() {
            true => (a as i32) < b as i32,
            false => a < b,
        };
        if kernel.around == Loop::GridStride {
            return less(x, self.n);
        }
        kernel.guard.is_none_or(|(low, high)| {
            !less(x, low as u32) && less(x, self.n.wrapping_sub(high as u32))
        })
    }

    /// Where a thread's load reads.
    pub fn address(&self, kernel: &Kernel, load: &Load, thread: [u32; 3]) -> u64 {
        let x = self.x(kernel, thread);
        let y = match kernel.rows {
            Rows::None => 0,
            Rows::Block => self.ctaid[1],
            Rows::Thread => self.ctaid[1].wrapping_mul(self.block[1]).wrapping_add(thread[1]),
        };
        let y = y.wrapping_add(load.row as u32);
        let pitch = match kernel.pitch {
            _ if kernel.rows == Rows::None => 0,
            Pitch::Parameter => self.w,
            Pitch::Constant(pitch) => pitch,
        };
        let shift = if kernel.shifted { self.s } else { 0 };
        let (in_index, in_pointer) = match kernel.around {
            Loop::Index { step, .. } => (step.wrapping_mul(self.iteration as i32), 0),
            Loop::Pointer { step } => (0, i64::from(step) * i64::from(self.iteration)),
            _ => (0, 0),
        };
        let (column, immediate) = offsets(kernel, load);
        let extend = |value: u32| match kernel.arithmetic.signed() {
            true => i64::from(value as i32) as u64,
            false => u64::from(value),
        };
        let unit = kernel.unit;
        let narrow = (kernel.stride as u32)
            .wrapping_mul(x)
            .wrapping_add(y.wrapping_mul(pitch))
            .wrapping_add(shift)
            .wrapping_add(in_index as u32)
            .wrapping_add(column as u32);
        let bytes = match kernel.arithmetic {
            Arithmetic::Narrow { .. } => extend(narrow).wrapping_mul(u64::from(unit)),
            Arithmetic::NarrowBytes { .. } => extend(narrow.wrapping_mul(unit)),
            Arithmetic::Wide { .. } => (i64::from(kernel.stride) as u64)
                .wrapping_mul(extend(x))
                .wrapping_add(extend(y).wrapping_mul(extend(pitch)))
                .wrapping_add(extend(shift))
                .wrapping_add(i64::from(in_index) as u64)
                .wrapping_add(i64::from(column) as u64)
                .wrapping_mul(u64::from(unit)),
        };
        self.arrays[load.array]
            .wrapping_add(bytes)
            .wrapping_add((in_pointer as u64).wrapping_mul(u64::from(unit)))
            .wrapping_add(immediate as u64)
    }
}

/// The elements that a load's spelling adds to the index, and the bytes left for the immediate.
pub fn offsets(kernel: &Kernel, load: &Load) -> (i32, i64) {
    let in_index = match load.spelling {
        Spelling::Immediate => 0,
        Spelling::Split => load.column / 2,
        _ => load.column,
    };
    let rest = i64::from(load.column - in_index) * i64::from(kernel.unit);
    (in_index, rest + i64::from(load.field))
}
