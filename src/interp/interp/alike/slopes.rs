//! The slopes of registers: how their values grow with the block index.
//!
//! In: a decoded function, and the parameters of the launch. Out: the checks of its micro-operations. Each register has one slope
//! for all instructions that write it.

use smallvec::SmallVec;
use typed_index_collections::TiVec;

use super::axes::Axes;
use super::dependence::Dependence::{self, Known, Other, Unwritten};
use super::dependence::SAME;
use super::tried::{Found, Pure, Sources, known, tried};
use super::{Check, Divisors, LEVEL};
use crate::interp::memory::FunctionId;
use crate::interp::poison::{contributed, reads, uses, writes};
use crate::interp::program::rare::Cell;
use crate::interp::program::{
    Base, CollectiveKind, Formal, Function, Guard, LaunchInvariant, MicroOp, Op, Pc, Place,
};
use crate::interp::registers::{File, Slot};
use crate::ptx::StateSpace;

/// What the analysis knows of a launch.
pub(crate) struct Launched<'a> {
    /// A special register's number, if all lanes and blocks have it.
    pub special: &'a dyn Fn(LaunchInvariant) -> Option<u64>,
    /// The bytes of a parameter of the kernel: its number, unless it is a symbol.
    pub parameter: &'a dyn Fn(u64, u32) -> Option<u64>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Numbers that were seen in registers by which something is divided.
    pub divisors: &'a Divisors,
}

/// The checks of the micro-operations of a function, whose number is `id`.
pub(super) fn checks(
    (id, function): (FunctionId, &Function),
    launched: &Launched<'_>,
    axes: Axes,
) -> TiVec<Pc, Box<[Check]>> {
    let mut slopes = Slopes::new(function, launched, axes);
    let own = launched.divisors.iter().filter(|((of, _), _)| *of == id);
    slopes.seen = own.map(|((_, cell), number)| (*cell, *number)).collect();
    while slopes.propagate(function, launched) {}
    let returned = |formal: &Formal| match *formal {
        Formal::Register(file, slot) => slopes.of((file, slot)),
        Formal::Memory { .. } => SAME,
    };
    let differs = |formal: &Formal| !matches!(returned(formal), Unwritten | Known(_) | SAME);
    let returns = function.returns.iter().any(differs);
    let checks = |micro: &MicroOp| {
        let mut checks = slopes.checks(micro);
        if returns && matches!(micro.op, Op::Return) {
            checks.push(Check::Obstacle("what this returns"));
        }
        checks.into_vec().into()
    };
    function.code.iter().map(checks).collect()
}

struct Slopes {
    registers: [TiVec<Slot, Dependence>; 3],
    /// The numbers that were seen in registers which something is divided by or joined with.
    seen: Vec<(Cell, Option<u64>)>,
}

fn index(file: File) -> usize {
    match file {
        File::Pred => 0,
        File::W32 => 1,
        File::W64 => 2,
    }
}

impl Slopes {
    fn new(function: &Function, launched: &Launched<'_>, axes: Axes) -> Slopes {
        let frame = &function.frame;
        let constants = |row: &[u64]| {
            let first = row.first().copied().unwrap_or(0);
            if row.iter().all(|&lane| lane == first) { Known(first) } else { SAME }
        };
        let truth = |mask: &u32| match mask {
            0 => Known(0),
            &u32::MAX => Known(1),
            _ => SAME,
        };
        let narrow = |row: &[u32; 32]| constants(&row.map(u64::from));
        let mut slopes = Slopes {
            registers: [
                frame.preds.iter().map(truth).collect(),
                frame.w32.iter().map(narrow).collect(),
                frame.w64.iter().map(|row| constants(row)).collect(),
            ],
            seen: Vec::new(),
        };
        // A register that no instruction writes is a constant, or the frame's maker or a caller fills it.
        for cell in function.code.iter().flat_map(|micro| writes(&micro.op)) {
            slopes.set(cell, Unwritten);
        }
        let formals = function.params.iter().filter_map(|formal| match *formal {
            Formal::Register(file, slot) => Some((file, slot)),
            Formal::Memory { .. } => None,
        });
        let unwritten = function.unwritten.iter().map(|(cell, _)| *cell);
        formals.chain(unwritten).for_each(|cell| slopes.set(cell, SAME));
        for &(special, slot) in &frame.specials {
            let value = match special {
                LaunchInvariant::Ctaid(axis) => Dependence::Affine(axes.slope(axis)),
                special => (launched.special)(special).map_or(SAME, Known),
            };
            slopes.set((File::W32, slot), value);
        }
        slopes
    }

    fn of(&self, (file, slot): Cell) -> Dependence {
        self.registers[index(file)][slot]
    }

    fn set(&mut self, (file, slot): Cell, dependence: Dependence) {
        self.registers[index(file)][slot] = dependence;
    }

    /// Visits all instructions once; returns whether something has changed.
    fn propagate(&mut self, function: &Function, launched: &Launched<'_>) -> bool {
        let mut changed = false;
        for micro in &function.code {
            for cell in writes(&micro.op) {
                let old = self.of(cell);
                let new = old.join(self.result(&micro.op, cell, launched));
                changed |= new != old;
                self.set(cell, new);
            }
        }
        changed
    }

    /// The dependence of a register that a micro-operation writes.
    fn result(&self, op: &Op, cell: Cell, launched: &Launched<'_>) -> Dependence {
        match op {
            Op::Lanes(..) | Op::Scalar(_) => self.pure(op, cell).dependence,
            Op::Load(load) if load.place.space == StateSpace::Param => {
                let dests = load.dests.iter();
                let mut at = dests.zip(0_u64..).filter_map(|(dest, at)| Some(((*dest)?, at)));
                let found = at.find(|(dest, _)| (dest.file, dest.slot) == cell);
                match (found, load.place.base) {
                    (Some((dest, at)), Base::Absolute) if dest.sign_to == 0 => {
                        let offset = load.place.offset as u64 + at * u64::from(load.bytes);
                        (launched.parameter)(offset, load.bytes).map_or(SAME, Known)
                    }
                    _ => SAME,
                }
            }
            Op::Clock(..) => Other,
            Op::CrossLane(_) | Op::IsSpace(..) => {
                let sources = reads(op);
                if sources.iter().any(|&cell| self.of(cell) == Unwritten) {
                    Unwritten
                } else if sources.iter().all(|&cell| self.of(cell).is_same()) {
                    SAME
                } else {
                    Other
                }
            }
            Op::Collective(collective) => {
                let given = contributed(collective).map_or(SAME, |cell| self.of(cell));
                match collective.kind {
                    _ if given == Unwritten => Unwritten,
                    CollectiveKind::Shuffle(_) if cell.0 == File::W32 => given,
                    _ if given.is_same() => SAME,
                    _ => Other,
                }
            }
            _ => SAME,
        }
    }

    fn pure(&self, op: &Op, cell: Cell) -> Found {
        let Some(pure) = Pure::of(op, cell) else { return Found::from(Other) };
        let sources: Sources = pure.sources.iter().map(|&cell| (cell, self.of(cell))).collect();
        let all = |is: fn(Dependence) -> bool| sources.iter().all(|source| is(source.1));
        if sources.iter().any(|source| source.1 == Unwritten) {
            Found::from(Unwritten)
        } else if all(|source| matches!(source, Known(_))) && pure.is_first {
            let known: SmallVec<[u64; 4]> = sources.iter().map(|source| known(source.1)).collect();
            Found::from((pure.run)(&known).map_or(SAME, Known))
        } else if all(Dependence::is_same) {
            Found::from(SAME)
        } else if sources.iter().any(|source| source.1 == Other) || !pure.is_first {
            Found::from(Other)
        } else {
            tried(&pure, &sources, &self.seen)
        }
    }

    /// The checks of a micro-operation.
    fn checks(&self, micro: &MicroOp) -> SmallVec<[Check; 2]> {
        let mut checks = SmallVec::new();
        if let Guard::If(slot) | Guard::Unless(slot) = micro.guard
            && self.of((File::Pred, slot)) == Other
        {
            checks.push(Check::Obstacle("whether this is executed"));
        }
        let place = match &micro.op {
            op @ (Op::Lanes(..) | Op::Scalar(_)) => {
                for cell in writes(op) {
                    checks.extend(self.pure(op, cell).checks);
                }
                return checks;
            }
            Op::CrossLane(_) | Op::IsSpace(..) => return checks,
            Op::CopyBulk(_) => {
                checks.push(Check::Obstacle("this copy"));
                return checks;
            }
            Op::Load(load) => Some(load.place),
            Op::Store(store) => Some(store.place),
            Op::Atomic(atomic) => Some(atomic.place),
            Op::CopyAsync(copy) => Some(copy.from),
            Op::Fragment(fragment) => Some(fragment.place),
            _ => None,
        };
        let place = place.filter(may_be_global);
        let address = place.and_then(|place| base(&place));
        if place.is_some() {
            let slope = address.map_or(LEVEL, |cell| self.of(cell).slope());
            checks.push(Check::Access(slope));
        }
        let is_shuffle = |op: &Op| matches!(op, Op::Collective(collective) if matches!(collective.kind, CollectiveKind::Shuffle(_)));
        let needed = uses(&micro.op);
        for cell in reads(&micro.op) {
            let free = match self.of(cell) {
                Unwritten | Known(_) | SAME => true,
                Dependence::Affine(_) if Some(cell) == address => true,
                Dependence::Affine(_) if is_shuffle(&micro.op) => {
                    needed.iter().all(|operand| operand.cell != cell)
                }
                _ => false,
            };
            if !free {
                let what = needed.iter().find(|operand| operand.cell == cell);
                checks.push(Check::Obstacle(what.map_or(OPERAND, |operand| operand.what)));
            }
        }
        checks
    }
}

/// A register that an instruction hands to others.
const OPERAND: &str = "an operand of this instruction";

/// Whether an access may be one to global memory.
fn may_be_global(place: &Place) -> bool {
    matches!(place.space, StateSpace::Global | StateSpace::Generic | StateSpace::Const)
}

fn base(place: &Place) -> Option<Cell> {
    match place.base {
        Base::W32(slot) => Some((File::W32, slot)),
        Base::W64(slot) => Some((File::W64, slot)),
        Base::Absolute | Base::Frame => None,
    }
}
