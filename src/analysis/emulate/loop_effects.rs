//! The registers and memory that each loop changes, computed before any of its blocks is visited.

use typed_index_collections::{TiVec, ti_vec};

use super::effects::{Effect, changes_memory, definitions, effect, strong};
use super::registers::{Slot, Writes};
use super::window::Window;
use crate::cfg::{Flow, Inst, LoopId};

/// The registers and the parts of memory that a loop changes.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopEffects {
    /// Indices of mutable registers, ascending.
    pub registers: Vec<u32>,
    pub memory: [bool; Window::ALL.len()],
    /// Whether something in it synchronises with other threads.
    pub synchronises: bool,
}

impl LoopEffects {
    /// The effects of all loops of a function.
    pub(super) fn all(flow: &Flow<'_, '_>, writes: &Writes) -> TiVec<LoopId, LoopEffects> {
        let mut all = ti_vec![LoopEffects::default(); flow.loops.loops.len()];
        for id in flow.block_ids() {
            let Some(innermost) = flow.loops.innermost(id) else { continue };
            let block =
                LoopEffects::of(&flow.insts[flow.block(id).instructions().range()].raw, writes);
            for around in flow.loops.around(Some(innermost)) {
                let effects = &mut all[around];
                effects.registers.extend(&block.registers);
                effects.synchronises |= block.synchronises;
                for window in Window::ALL {
                    effects.memory[window as usize] |= block.memory[window as usize];
                }
            }
        }
        for effects in &mut all {
            effects.registers.sort_unstable();
            effects.registers.dedup();
        }
        all
    }

    /// The changes by some instructions, each register as often as it is written.
    fn of(insts: &[Inst<'_, '_>], writes: &Writes) -> LoopEffects {
        let mut found = LoopEffects::default();
        for inst in insts {
            let changed = changes_memory(inst);
            for &window in changed {
                found.memory[window as usize] = true;
            }
            let weak_store = effect(inst) == Effect::Store && strong(&inst.ast.form).is_none();
            found.synchronises |= !changed.is_empty() && !weak_store;
            found.registers.extend(definitions(inst).iter().filter_map(
                |register| match writes.slots[*register] {
                    Slot::Mutable(index) => Some(index),
                    Slot::Single => None,
                },
            ));
        }
        found
    }
}
