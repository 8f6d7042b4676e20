//! How each access gets its new address: from a register that several accesses share, or by itself.

use std::collections::BTreeMap;

use super::{ArrayAccess, Placement, SharedArray};
use crate::cfg::{BlockId, Flow, InstId, RegisterId};
use crate::emulate::definitions;

/// The new address of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Made {
    /// As it was.
    Kept,
    /// The new address of the register's target, computed in front of the instruction `from` (the
    /// access itself, or one before it in the block), some of its bits turned, and bytes added.
    Shared {
        /// The first access with that register.
        from: InstId,
        /// Bits that are turned.
        turned: u64,
        /// Bytes added.
        added: i64,
    },
    /// Where each launch gives the array's size: the bits to invert, computed from the register's target in front of
    /// the instruction `from`, are inverted in the access's own address.
    Turned {
        /// The first access with that register.
        from: InstId,
        /// Bytes added in front of the turn.
        before: i64,
        /// Bytes added behind it.
        behind: i64,
    },
    /// Made of the access's whole address, for this access alone.
    Own,
}

/// The new address of each access to an array.
pub fn made(flow: &Flow<'_, '_>, array: &SharedArray, placement: Placement) -> Vec<Made> {
    // For each register its number of writes so far in the block, and with it the first access.
    let mut firsts: BTreeMap<(RegisterId, BlockId, usize), InstId> = BTreeMap::new();
    let blocks: BTreeMap<InstId, BlockId> =
        array.accesses.iter().map(|access| (access.inst, block_of(flow, access.inst))).collect();
    let mut first = |register: RegisterId, inst: InstId| {
        let block = blocks[&inst];
        let start = flow.block(block).instructions().start;
        let writes = flow.insts[start..inst]
            .iter()
            .filter(|inst| definitions(inst).contains(&register))
            .count();
        *firsts.entry((register, block, writes)).or_insert(inst)
    };
    array
        .accesses
        .iter()
        .map(|access| {
            if array.is_dynamic && placement != Placement::Same {
                let split = split(access, placement);
                return match (access.base.0, split) {
                    (Some(register), Some((before, behind))) => {
                        Made::Turned { from: first(register, access.inst), before, behind }
                    }
                    _ => Made::Own,
                };
            }
            let folded = folded(access, placement);
            match (placement, access.base.0, folded) {
                (Placement::Same, ..) => Made::Kept,
                // The array's name: the address is a constant, or nearly.
                (Placement::Gaps { .. }, None, Some((turned, added))) => {
                    Made::Shared { from: access.inst, turned, added }
                }
                (_, Some(register), Some((turned, added))) => {
                    Made::Shared { from: first(register, access.inst), turned, added }
                }
                _ => Made::Own,
            }
        })
        .collect()
}

/// The block of an instruction by its index; that of the entry if no way leads to it.
fn block_of(flow: &Flow<'_, '_>, inst: InstId) -> BlockId {
    let within = |block: &BlockId| flow.block(*block).instructions().contains(&inst);
    flow.block_ids().find(within).unwrap_or(BlockId(0))
}

/// The change from the new address of the register's target to that of the access: bits inverted, bytes added; `None`
/// if it depends on the register's value.
fn folded(access: &ArrayAccess, placement: Placement) -> Option<(u64, i64)> {
    let (register, displacement) = access.base;
    // The bits that may be set in the offset of the register's target.
    let bits = match register {
        None => 0,
        Some(_) => access.bits?,
    };
    let (row, low) = match placement {
        Placement::Same => return Some((0, displacement)),
        Placement::Swizzle { row, .. } | Placement::Gaps { row, .. } => {
            (row, displacement & ((1 << row) - 1))
        }
    };
    // The displacement's whole rows and the rest; the rest must not lead into another row.
    let rows = displacement >> row;
    let in_row = bits & ((1 << row) - 1);
    let stays = in_row + (low as u64) < 1 << row || planted!(Bug::ArrayFolded);
    match placement {
        _ if !stays => None,
        Placement::Gaps { bytes, .. } => Some((0, rows * ((1 << row) + bytes as i64) + low)),
        // The bits that are turned must not have been set, and no carry may come from them.
        Placement::Swizzle { bits: taken, .. } => {
            let same_turn = rows % (1 << taken) == 0 || planted!(Bug::ArrayFolded);
            let apart = in_row & low as u64 == 0;
            (same_turn && apart).then_some((low as u64, rows << row))
        }
        Placement::Same => None,
    }
}

/// The bytes that are added to a register in front of a turn by bits of the register, and those behind it; `None` if the
/// bytes added lead into another row. No start of the array is known, but where bits are turned it begins with a row.
fn split(access: &ArrayAccess, placement: Placement) -> Option<(i64, i64)> {
    let displacement = access.base.1;
    let Placement::Swizzle { row, bits, unit } = placement else { return None };
    // Rows that lie so far apart are turned alike, wherever the array begins.
    let far = row + bits;
    if displacement & ((1 << far) - 1) == 0 {
        return Some((0, displacement));
    }
    let (row_mask, low) = ((1i64 << row) - 1, displacement & ((1 << far) - 1));
    let in_row = access.bits? & row_mask as u64;
    let stays = in_row + (low as u64) < 1 << row || planted!(Bug::ArrayFolded);
    if !stays {
        return None;
    }
    // Bits that nobody turns and the register has not set are added as well behind the turn.
    let changed = ((1i64 << bits) - 1) << unit;
    let is_apart = in_row & low as u64 == 0 && low & changed == 0;
    Some(if is_apart { (0, displacement) } else { (low, displacement - low) })
}

/// Instructions that make the mask for dynamic shared memory.
const MASK: f64 = 5.0;

/// How many instructions the new addresses take, each times the guessed iterations of its loops: `often` for one
/// of some depth.
pub fn added(
    array: &SharedArray,
    placement: Placement,
    made: &[Made],
    often: impl Fn(usize) -> f64,
) -> f64 {
    // A swizzle takes a shift, and a choice of bits that goes with the exclusive or; gaps a difference, a shift
    // and a multiplication that adds.
    let whole = match placement {
        Placement::Same => 0.0,
        Placement::Swizzle { .. } => 2.0,
        Placement::Gaps { .. } => 3.0,
    };
    let each = |(access, made): (&ArrayAccess, &Made)| {
        let instructions = match *made {
            Made::Kept => 0.0,
            // A shift and a choice of bits; the turn goes with the latter, if nothing is added in front of it.
            Made::Turned { from, before: 0, .. } => {
                whole * f64::from(u8::from(from == access.inst))
            }
            Made::Turned { from, .. } => 2.0 + whole * f64::from(u8::from(from == access.inst)),
            Made::Own => whole + f64::from(u8::from(access.base.1 != 0)),
            Made::Shared { from, turned, .. } => {
                let first =
                    if from == access.inst && access.base.0.is_some() { whole } else { 0.0 };
                first + f64::from(u8::from(turned != 0))
            }
        };
        instructions * often(access.depth)
    };
    let mask = if array.is_dynamic && placement != Placement::Same { MASK } else { 0.0 };
    mask + array.accesses.iter().zip(made).map(each).sum::<f64>()
}
