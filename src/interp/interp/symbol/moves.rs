//! Operations whose result has at most one bit of each source in each of its bits: moves, shifts, permutations, bit fields.
//!
//! An operation is tried on patterns in the parts that are symbols, with the known parts as they are. A part of the result that
//! follows one part of a source in all trials is that part; one that never changes is known. The trials are exhaustive: all
//! combinations of the values of up to three sources, each with masks that tell the 64 bits of a source from one another.

use rustc_hash::FxHashMap;

use crate::interp::registers::{FULL, File, LANES, Registers, Slot, Slots, WarpOp};

/// Where a part of a result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Move {
    /// It is known.
    Known(u16),
    /// It is a part of a source.
    Part(usize, usize),
    /// The same with the top bit inverted.
    Inverted(usize, usize),
    /// The same without the top bit.
    Cleared(usize, usize),
    /// Something else.
    Mixed,
}

/// The operation, the known bits of its sources, and which parts are symbols.
pub(super) type Key = (usize, [u64; 4], u16);

/// The moves of operations that were tried.
#[derive(Debug, Default)]
pub(crate) struct MoveCache {
    pub(super) known: FxHashMap<Key, [Move; 4]>,
    scratch: Registers,
}

/// The slots of scratch registers, sources first.
const SOURCES: [Slot; 4] = [Slot(0), Slot(1), Slot(2), Slot(3)];
/// The slot of the result.
const RESULT: Slot = Slot(4);

/// The sources that are tried in all combinations.
pub(super) const MOST: usize = 3;

/// Masks that tell the bits of a source from one another: bit n of mask m is bit m of the number n. The last two are all zeros
/// and a mixture.
const MASKS: [u64; 8] = [
    0xaaaa_aaaa_aaaa_aaaa,
    0xcccc_cccc_cccc_cccc,
    0xf0f0_f0f0_f0f0_f0f0,
    0xff00_ff00_ff00_ff00,
    0xffff_0000_ffff_0000,
    0xffff_ffff_0000_0000,
    0,
    0x9e37_79b9_7f4a_7c15,
];

/// The parts of a register of a file.
pub(super) fn parts_of(file: File) -> usize {
    match file {
        File::Pred => 0,
        File::W32 => 2,
        File::W64 => 4,
    }
}

impl MoveCache {
    /// Tries an operation.
    pub(super) fn tried(
        &mut self,
        op: &WarpOp,
        (_, known, symbols): &Key,
        file: File,
    ) -> [Move; 4] {
        use typed_index_collections::ti_vec;
        if self.scratch.w64.is_empty() {
            self.scratch = Registers {
                preds: ti_vec![0; 5],
                w32: ti_vec![[0; LANES]; 5],
                w64: ti_vec![[0; LANES]; 5],
            };
        }
        let slots = Slots { d: [RESULT; 2], s: SOURCES };
        // The value of a source in a trial.
        let pattern = |source: usize, trial: usize| {
            let mask = MASKS[trial / 8];
            let inverted = if trial >> source & 1 != 0 { !mask } else { mask };
            let parts = (0..4).filter(|part| symbols >> (4 * source + part) & 1 != 0);
            let varied = parts.fold(0, |bits, part| bits | 0xffff << (16 * part));
            known[source] & !varied | inverted & varied
        };
        let mut results = Vec::new();
        for round in 0..2 {
            for (at, file) in op.s.iter().enumerate() {
                let Some(file) = *file else { continue };
                for lane in 0..LANES {
                    self.scratch.set(file, SOURCES[at], lane, pattern(at, round * LANES + lane));
                }
            }
            (op.run)(&mut self.scratch, &slots, FULL);
            results.extend((0..LANES).map(|lane| self.scratch.get(file, RESULT, lane)));
        }
        let mut moves = [Move::Mixed; 4];
        for (part, found) in moves.iter_mut().enumerate().take(parts_of(file)) {
            let of = |trial: usize| (results[trial] >> (16 * part)) as u16;
            if results.iter().enumerate().all(|(trial, _)| of(trial) == of(0)) {
                *found = Move::Known(of(0));
                continue;
            }
            for bit in (0..16).filter(|bit| symbols >> bit & 1 != 0) {
                let (source, from) = (bit / 4, bit % 4);
                let value = |trial: usize| (pattern(source, trial) >> (16 * from)) as u16;
                let follows = |change: fn(u16) -> u16| {
                    (0..2 * LANES).all(|trial| of(trial) == change(value(trial)))
                };
                if follows(|part| part) {
                    *found = Move::Part(source, from);
                } else if follows(|part| part ^ 0x8000) {
                    *found = Move::Inverted(source, from);
                } else if follows(|part| part & 0x7fff) {
                    *found = Move::Cleared(source, from);
                }
            }
        }
        moves
    }
}
