//! Local memory that a function asks for while it runs: `alloca`, `stacksave`, `stackrestore`
//! (PTX ISA, "Stack Manipulation Instructions").
//!
//! All lanes of a frame share one stack pointer, which grows by the largest of their requests. A
//! lane's addresses may be further apart than it asked for, but they never overlap.

use super::machine::Machine;
use super::warp::Warp;
use crate::interp::decode::MAX_LOCAL;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::program::rare::{Stack, StackKind};
use crate::interp::program::{FunctionId, Op, Pc};
use crate::interp::registers::lanes;

impl Warp {
    /// Executes the stack instruction at which a group stands.
    ///
    /// # Errors
    /// A thread would have more local memory than is possible.
    pub(super) fn stack(&mut self, machine: &Machine<'_>, index: usize) -> Result<(), Fault> {
        let executing = self.executing(machine, index);
        let (pc, frame) = (self.groups[index].pc, self.groups[index].frame);
        self.groups[index].pc = pc.next();
        let Some(stack) = stack_at(machine, self.function_id(index), pc) else { return Ok(()) };
        let fixed = machine.program.functions[self.function_id(index)].local_bytes;
        let alone = self.alone(index);
        let frame = &mut self.frames[frame];
        let (file, slot) = stack.value;
        let values = lanes(executing).map(|lane| frame.registers.get(file, slot, lane));
        let mut fresh = None;
        let result = match stack.kind {
            StackKind::Allocate { align, .. } => {
                let top = frame.local_base + fixed + frame.dynamic;
                let at = top.next_multiple_of(align);
                let end = values.max().and_then(|bytes| at.checked_add(bytes));
                let Some(end) = end.filter(|&end| end <= MAX_LOCAL) else {
                    let message = format!("a thread has at most {MAX_LOCAL} bytes of local memory");
                    let span = machine.program.functions[frame.function].spans[pc];
                    let fault = Fault::new(FaultKind::OutOfBounds, message).at(span);
                    return Err(machine.blame(fault, self.index, executing));
                };
                frame.dynamic = end - frame.local_base - fixed;
                self.local_bytes = self.local_bytes.max(end);
                fresh = Some((at, end - at));
                at
            }
            StackKind::Save { .. } => frame.dynamic,
            StackKind::Restore => {
                // Memory that other lanes of the frame have allocated meanwhile stays.
                if let (true, Some(saved)) = (alone, values.max()) {
                    frame.dynamic = frame.dynamic.min(saved);
                }
                frame.dynamic
            }
        };
        if let StackKind::Allocate { d, .. } | StackKind::Save { d } = stack.kind {
            for lane in lanes(executing) {
                frame.registers.set(d.0, d.1, lane, result);
            }
        }
        self.grow_local(machine);
        if let Some((first, bytes)) = fresh {
            self.forget_local(machine, first, bytes);
        }
        Ok(())
    }

    /// Whether a group holds all lanes that are in its frame.
    fn alone(&self, index: usize) -> bool {
        let group = &self.groups[index];
        let others =
            self.groups.iter().enumerate().any(|(i, g)| i != index && g.frame == group.frame);
        let mut waiting = self.joins.iter().flatten().filter(|join| join.frame == group.frame);
        !others && !waiting.any(|join| join.arrived & !group.mask != 0)
    }
}

fn stack_at<'p>(machine: &Machine<'p>, function: FunctionId, pc: Pc) -> Option<&'p Stack> {
    match &machine.program.functions[function].code.get(pc)?.op {
        Op::Stack(stack) => Some(stack),
        _ => None,
    }
}
