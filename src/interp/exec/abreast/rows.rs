//! Memory of launches abreast: for each word its values in all of them.

use crate::interp::exec::access::put;
use crate::interp::program::Destination;
use crate::interp::registers::{FULL, File, LANES, Registers, Slot};

/// What each launch has in one word.
pub type Row = [u32; LANES];

/// Loads an element of 1, 2, 4 or 8 bytes at an aligned offset into a row of registers.
pub fn load(rows: &[Row], offset: u64, bytes: u32, dest: Destination, registers: &mut Registers) {
    let word = (offset / 4) as usize;
    let low = &rows[word];
    match (bytes, dest.file, dest.sign_to) {
        (4, File::W32, 0) => registers.w32[dest.slot as usize] = *low,
        (8, File::W64, _) => {
            let high = &rows[word + 1];
            let row = &mut registers.w64[dest.slot as usize];
            for at in 0..LANES {
                row[at] = u64::from(low[at]) | u64::from(high[at]) << 32;
            }
        }
        (4, File::W64, 64) => {
            let row = &mut registers.w64[dest.slot as usize];
            for at in 0..LANES {
                row[at] = i64::from(low[at] as i32) as u64;
            }
        }
        _ => {
            let (shift, mask) = part(offset, bytes);
            let mut values = [0; LANES];
            for at in 0..LANES {
                values[at] = u64::from(low[at] >> shift & mask);
            }
            if bytes == 8 {
                let high = &rows[word + 1];
                for at in 0..LANES {
                    values[at] |= u64::from(high[at]) << 32;
                }
            }
            put(registers, dest, values, bytes, FULL);
        }
    }
}

/// Where a narrow element lies in its word: the shift and the mask.
fn part(offset: u64, bytes: u32) -> (u32, u32) {
    match bytes {
        1 => (8 * (offset as u32 & 3), 0xff),
        2 => (8 * (offset as u32 & 2), 0xffff),
        _ => (0, u32::MAX),
    }
}

/// Stores the low bits of a row of registers as elements of 1, 2, 4 or 8 bytes at an aligned offset. Returns whether some
/// launch's memory has changed.
pub fn store(
    rows: &mut [Row],
    offset: u64,
    bytes: u32,
    (file, row): (File, Slot),
    registers: &Registers,
) -> bool {
    let word = (offset / 4) as usize;
    let (shift, mask) = part(offset, bytes);
    let mut changed = match file {
        File::W32 => set(&mut rows[word], &registers.w32[row as usize], (shift, mask)),
        File::W64 => {
            let mut low = [0; LANES];
            let values = &registers.w64[row as usize];
            for at in 0..LANES {
                low[at] = values[at] as u32;
            }
            set(&mut rows[word], &low, (shift, mask))
        }
        File::Pred => 0,
    };
    if let (8, File::W64) = (bytes, file) {
        let mut high = [0; LANES];
        let values = &registers.w64[row as usize];
        for at in 0..LANES {
            high[at] = (values[at] >> 32) as u32;
        }
        changed |= set(&mut rows[word + 1], &high, (0, u32::MAX));
    }
    changed != 0
}

/// Overwrites a part of words; returns the bits that have changed in any of them.
#[inline(always)]
fn set(row: &mut Row, values: &Row, (shift, mask): (u32, u32)) -> u32 {
    let mut changed = 0;
    for at in 0..LANES {
        let new = row[at] & !(mask << shift) | (values[at] & mask) << shift;
        changed |= new ^ row[at];
        row[at] = new;
    }
    changed
}

/// Fills a row with one value.
pub fn fill(registers: &mut Registers, file: File, row: Slot, value: u64) {
    let row = row as usize;
    match file {
        File::Pred => registers.preds[row] = if value == 0 { 0 } else { FULL },
        File::W32 => registers.w32[row] = [value as u32; LANES],
        File::W64 => registers.w64[row] = [value; LANES],
    }
}
