//! How many warps of a kernel are resident on a multiprocessor.
//!
//! In: an architecture, and the registers, threads and shared memory that a block of a kernel takes.
//! Out: warps. Numbers and formulas are those of NVIDIA's `cuda_occupancy.h` (CUDA 13.5), the source
//! of its occupancy calculator; the sizes that this header asks the driver for are those of the CUDA
//! C++ Programming Guide, "Compute Capabilities", "Technical Specifications per Compute Capability":
//!
//! | | 5.0, 5.3 | 5.2, 6.1 | 6.0, 6.2 | 7.0, 7.2 | 7.5 | 8.0, 8.7 | 8.6, 8.9 | 9.0, 10.0, 10.3 | 11.0 | 12.0, 12.1 |
//! |---|---|---|---|---|---|---|---|---|---|---|
//! | registers, 1024 | 64 | 64 | 64 | 64 | 64 | 64 | 64 | 64 | 64 | 64 |
//! | of a block | 64, 32 | 64 | 64, 32 | 64 | 64 | 64 | 64 | 64 | 64 | 64 |
//! | warps | 64 | 64 | 64 | 64 | 32 | 64, 48 | 48 | 64 | 48 | 48 |
//! | blocks | 32 | 32 | 32 | 32 | 16 | 32, 16 | 16, 24 | 32 | 24 | 24 |
//! | shared memory, KiB | 64 | 96 | 64 | 96 | 64 | 164 | 100 | 228 | 228 | 100 |
//!
//! Registers are given to whole warps in units of 256, out of the part of the register file that
//! belongs to one of the four schedulers (of two in 6.0). Shared memory comes in units of 256 bytes,
//! from 8.0 on of 128, and the system takes 1 KiB of each block besides.

use super::limits::WARP_SIZE;

const KIB: u32 = 1 << 10;

/// Registers that are given to a warp at a time.
const REGISTER_UNIT: u32 = 256;

/// The resources that the blocks on one multiprocessor share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Multiprocessor {
    /// 32-bit registers in all.
    registers: u32,
    /// 32-bit registers that one block may have.
    block_registers: u32,
    /// The most warps.
    pub warps: u32,
    /// The most blocks.
    blocks: u32,
    /// Shared memory in bytes.
    shared: u32,
    /// Parts of the register file, one for each scheduler.
    schedulers: u32,
    /// Shared memory that is given to a block at a time, in bytes.
    shared_unit: u32,
    /// Shared memory of each block that the system takes, in bytes.
    reserved: u32,
}

impl Multiprocessor {
    /// The multiprocessor of an architecture, 80 for `sm_80`; `None` if its numbers are not known.
    pub const fn of(architecture: u32) -> Option<Multiprocessor> {
        let (registers, warps, blocks, shared) = match architecture {
            30 | 35 => (64, 64, 16, 48),
            37 => (128, 64, 16, 112),
            50 | 53 | 60 | 62 => (64, 64, 32, 64),
            52 | 61 | 70 | 72 => (64, 64, 32, 96),
            75 => (64, 32, 16, 64),
            80 => (64, 64, 32, 164),
            87 => (64, 48, 16, 164),
            86 => (64, 48, 16, 100),
            89 => (64, 48, 24, 100),
            90 | 100 | 103 => (64, 64, 32, 228),
            101 | 110 => (64, 48, 24, 228),
            120 | 121 => (64, 48, 24, 100),
            _ => return None,
        };
        let is_new = architecture >= 80;
        Some(Multiprocessor {
            registers: registers * KIB,
            block_registers: KIB * if matches!(architecture, 53 | 62) { 32 } else { 64 },
            warps,
            blocks,
            shared: shared * KIB,
            schedulers: if architecture == 60 { 2 } else { 4 },
            shared_unit: if is_new { 128 } else { 256 },
            reserved: if is_new { KIB } else { 0 },
        })
    }

    /// The most warps that are resident at once.
    pub fn most_warps(&self) -> u32 {
        self.warps
    }

    /// The most shared memory that one block may have, in bytes.
    pub fn most_shared(&self) -> u32 {
        self.shared - self.reserved
    }

    /// Warps of a kernel that are resident at once: in blocks of `threads`, with `registers` for each
    /// thread and `shared` bytes of shared memory for each block, without the bytes that the system
    /// takes. 0 if not one block fits, and for a block without threads.
    pub fn resident_warps(&self, threads: u32, registers: u32, shared: u32) -> u32 {
        let warps = threads.div_ceil(WARP_SIZE);
        let of_warp = registers.saturating_mul(WARP_SIZE).max(1);
        let of_warp = of_warp.div_ceil(REGISTER_UNIT).saturating_mul(REGISTER_UNIT);
        // The hardware counts a block's warps as if each scheduler had as many as any other.
        let even = warps.div_ceil(self.schedulers).saturating_mul(self.schedulers);
        if of_warp.saturating_mul(even) > self.block_registers {
            return 0;
        }
        let fit = self.registers / self.schedulers / of_warp * self.schedulers;
        let of_block = shared.saturating_add(self.reserved).div_ceil(self.shared_unit);
        let of_block = of_block.saturating_mul(self.shared_unit);
        let blocks = [
            fit.checked_div(warps).unwrap_or(0),
            self.warps.checked_div(warps).unwrap_or(0),
            self.shared.checked_div(of_block).unwrap_or(u32::MAX),
            self.blocks,
        ];
        blocks.into_iter().min().unwrap_or(0) * warps
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(warps_are_those_of_the_occupancy_calculator, absurd_sizes_are_no_panic);

    fn warps_are_those_of_the_occupancy_calculator() {
        // Printed by `cudaOccMaxActiveBlocksPerMultiprocessor` of CUDA 13.5's `cuda_occupancy.h`, times
        // the warps of a block: architecture, threads, registers, shared memory, warps.
        let table = include_str!("multiprocessor.txt");
        let rows = table.lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for row in rows {
            let numbers: Vec<u32> = row.split(' ').map(|word| word.parse().unwrap()).collect();
            let [architecture, threads, registers, shared, warps] = numbers[..] else {
                panic!("{row}")
            };
            let found = Multiprocessor::of(architecture).unwrap();
            assert_eq!(found.resident_warps(threads, registers, shared), warps, "{row}");
            count += 1;
        }
        assert!(count > 100, "{count} rows");
    }

    fn absurd_sizes_are_no_panic() {
        let some = Multiprocessor::of(80).unwrap();
        for threads in [0, 1, 2048, u32::MAX] {
            for registers in [0, 1, 255, u32::MAX] {
                for shared in [0, u32::MAX] {
                    let warps = some.resident_warps(threads, registers, shared);
                    assert!(warps <= 64, "{threads} {registers} {shared}: {warps}");
                }
            }
        }
        assert_eq!(Multiprocessor::of(999), None);
    }
}
