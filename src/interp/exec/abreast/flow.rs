//! What a micro-operation reads and writes, as far as launches abreast have to know.

use smallvec::SmallVec;

use crate::interp::program::rare::Cell;
use crate::interp::program::{BarrierKind, Base, CollectiveKind, Guard, MicroOp, Op, Place};
use crate::interp::registers::File;

/// Some registers.
pub type Cells = SmallVec<[Cell; 4]>;

/// The registers of a micro-operation.
#[derive(Debug, Default)]
pub struct Flow {
    /// What it computes with.
    pub data: Cells,
    /// What says who executes it, where it accesses memory, where it goes on, or whom it waits for.
    pub control: Cells,
    /// What it writes.
    pub written: Cells,
}

impl Flow {
    /// The registers of a micro-operation; none if there is more to it than registers, simple loads and stores, and
    /// what keeps lanes together.
    pub fn of(micro: &MicroOp) -> Option<Flow> {
        let mut flow = Flow::default();
        match micro.guard {
            Guard::Always => {}
            Guard::If(slot) | Guard::Unless(slot) => flow.control.push((File::Pred, slot)),
        }
        match &micro.op {
            Op::Lanes(op, slots) => {
                let cells = |files: &[Option<File>], slots: &[u32]| -> Cells {
                    let pairs = files.iter().zip(slots);
                    pairs.filter_map(|(file, slot)| Some(((*file)?, *slot))).collect()
                };
                flow.data = cells(&op.s, &slots.s);
                flow.written = cells(&op.d, &slots.d);
            }
            Op::Scalar(scalar) => {
                flow.data.extend(scalar.s.iter().copied());
                flow.written.push(scalar.d);
            }
            Op::Load(load) => {
                flow.address(&load.place);
                let dests = load.dests.iter().flatten();
                flow.written.extend(dests.map(|dest| (dest.file, dest.slot)));
            }
            Op::Store(store) => {
                flow.address(&store.place);
                flow.data.extend(store.sources.iter().copied());
            }
            Op::Collective(collective) => {
                let [a, b, c] = collective.s;
                flow.control.extend(collective.members.map(|slot| (File::W32, slot)));
                let narrow = match collective.kind {
                    CollectiveKind::Shuffle(_) => {
                        flow.data.push((File::W32, a));
                        flow.control.extend([(File::W32, b), (File::W32, c)]);
                        true
                    }
                    CollectiveKind::All | CollectiveKind::Any | CollectiveKind::Uni => {
                        flow.control.push((File::Pred, a));
                        false
                    }
                    CollectiveKind::Ballot => {
                        flow.control.push((File::Pred, a));
                        true
                    }
                    CollectiveKind::MatchAny(file) | CollectiveKind::MatchAll(file) => {
                        flow.control.push((file, a));
                        true
                    }
                    CollectiveKind::Redux(_) => {
                        flow.control.push((File::W32, a));
                        true
                    }
                    CollectiveKind::Sync | CollectiveKind::Elect => true,
                };
                let file = if narrow { File::W32 } else { File::Pred };
                flow.written.extend(collective.d.map(|slot| (file, slot)));
                flow.written.extend(collective.p.map(|slot| (File::Pred, slot)));
            }
            Op::Barrier(barrier) => {
                let numbers = [barrier.id, barrier.threads].into_iter().flatten();
                flow.control.extend(numbers.map(|slot| (File::W32, slot)));
                match barrier.kind {
                    BarrierKind::Sync | BarrierKind::Arrive => {}
                    BarrierKind::Popc { d, p, .. } => {
                        flow.control.push((File::Pred, p));
                        flow.written.push((File::W32, d));
                    }
                    BarrierKind::And { d, p, .. } | BarrierKind::Or { d, p, .. } => {
                        flow.control.push((File::Pred, p));
                        flow.written.push((File::Pred, d));
                    }
                }
            }
            Op::FrameAddress(file, slot, _) | Op::Clock(file, slot) => {
                flow.written.push((*file, *slot));
            }
            Op::ActiveMask(slot) => flow.written.push((File::W32, *slot)),
            Op::IsSpace(p, a, _) => {
                flow.control.push((File::W64, *a));
                flow.written.push((File::Pred, *p));
            }
            Op::Branch { .. }
            | Op::Return
            | Op::Exit
            | Op::Trap
            | Op::Nothing
            | Op::CopyGroup(_)
            | Op::Fence(_)
            | Op::Unsupported(_) => {}
            Op::Across(_)
            | Op::Atomic(_)
            | Op::CopyAsync(_)
            | Op::CopyBulk(_)
            | Op::Fragment(_)
            | Op::MBarrier(_)
            | Op::IndexedBranch(_)
            | Op::Call(_)
            | Op::Stack(_) => return None,
        }
        Some(flow)
    }

    fn address(&mut self, place: &Place) {
        match place.base {
            Base::Absolute | Base::Frame => {}
            Base::W32(slot) => self.control.push((File::W32, slot)),
            Base::W64(slot) => self.control.push((File::W64, slot)),
        }
    }
}
