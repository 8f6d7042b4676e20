//! Warp-level synchronisation: the instructions at which lanes wait for each other, and so may come
//! together that control flow would not bring together.
//!
//! In: instructions and blocks. Out: which instructions end a block, since what `activemask` reported
//! before them need not hold behind them, and at which blocks lanes may be brought together.
//!
//! An instruction for whole warps (`.aligned`, `bar` without `.warp`) brings nobody together: the program must not have
//! parted there (PTX ISA, "bar, barrier"). Neither does one whose member mask is the result of an `activemask` before
//! it in the same straight line of code: its members have not parted since, whatever the assembler did (PTX ISA,
//! "activemask", "shfl.sync"). Branches out of the line may stand between: a member that has taken one is waited for,
//! and if it comes round to the same line it comes with another mask, in which those that wait are not. All others are
//! taken to bring together whoever they can. A mask may also be a constant that a register got in the same line, as
//! nvcc writes it.

use super::callee::Callees;
use super::register::RegisterId;
use super::resolve::{Arg, Inst};
use crate::isa::{Opcode, Qualifier};
use crate::source::SourceFile;

/// Who takes part in a warp-level synchronisation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Members {
    /// The instruction names the same lanes each time: the k-th arrival of one of them meets the k-th
    /// arrival of the others, if all arrive equally often.
    Constant,
    /// Lanes chosen at run time, or not known.
    Unknown,
}

/// Follows `activemask`, and constants in registers, through a straight line of code.
#[derive(Default)]
pub(super) struct OwnMask<'s> {
    own: Option<RegisterId>,
    /// The registers that hold a constant of the text.
    constants: Vec<RegisterId>,
    callees: Callees<'s>,
}

impl<'s> OwnMask<'s> {
    /// Another straight line of code begins.
    pub(super) fn forget(&mut self) {
        self.own = None;
    }

    /// Other ways lead to the next instruction.
    pub(super) fn forget_constants(&mut self) {
        self.constants.clear();
    }

    /// Who is brought together at the next instruction, if anybody is.
    pub(super) fn step(&mut self, source: &SourceFile, inst: &Inst<'_, 's>) -> Option<Members> {
        let members = members(source, inst, (self.own, &self.constants), &mut self.callees);
        self.follow_constants(inst);
        // A barrier's first operand is read.
        let result = inst.args.first().filter(|_| inst.ast.form.opcode != Opcode::Bar);
        let written = result.and_then(|result| self.own.filter(|own| names(result, *own)));
        if written.is_some() || members.is_some() {
            self.own = None;
        }
        if let (Opcode::ActiveMask, None, Some(Arg::Register(register))) =
            (inst.ast.form.opcode, inst.guard, inst.args.first())
        {
            self.own = Some(*register);
        }
        members
    }

    /// Updates the set of registers that hold constants.
    fn follow_constants(&mut self, inst: &Inst<'_, 's>) {
        let is_constant = inst.ast.form.opcode == Opcode::Mov && inst.guard.is_none();
        match (inst.ast.form.opcode, &inst.args[..]) {
            (Opcode::Call, _) => self.constants.clear(),
            (_, [Arg::Register(register), Arg::Constant(_)]) if is_constant => {
                if !self.constants.contains(register) {
                    self.constants.push(*register);
                }
            }
            (_, [result, ..]) => self.constants.retain(|register| !names(result, *register)),
            (_, []) => {}
        }
    }
}

/// Who is brought together by an instruction, given the register that holds the lanes which execute
/// it together, and those that hold constants.
fn members<'s>(
    source: &SourceFile,
    inst: &Inst<'_, 's>,
    (own, constants): (Option<RegisterId>, &[RegisterId]),
    callees: &mut Callees<'s>,
) -> Option<Members> {
    let ast = inst.ast;
    match ast.form.opcode {
        Opcode::Call => {
            return callees.may_synchronise(source, inst).then_some(Members::Unknown);
        }
        // All threads of the block or cluster, or some that the instruction does not name.
        Opcode::Barrier if !ast.form.has(Qualifier::Aligned) => {
            let all = matches!(inst.args[..], [] | [Arg::Constant(_)]);
            return Some(if all { Members::Constant } else { Members::Unknown });
        }
        Opcode::Bar if ast.form.has(Qualifier::Warp) => {}
        Opcode::Bar | Opcode::Barrier => return None,
        // Every `.sync` but those for whole warps, unknown instructions included.
        _ if ast.form.has(Qualifier::Sync) && !ast.form.has(Qualifier::Aligned) => {}
        _ => return None,
    }
    match (inst.args.last(), inst.guard) {
        (Some(Arg::Register(mask)), None) if own == Some(*mask) => None,
        (Some(Arg::Constant(_)), _) => Some(Members::Constant),
        (Some(Arg::Register(mask)), _) if constants.contains(mask) => Some(Members::Constant),
        _ => Some(Members::Unknown),
    }
}

/// Whether an operand names a register as a value.
fn names(arg: &Arg<'_>, register: RegisterId) -> bool {
    match arg {
        Arg::Register(other) | Arg::Not(other) | Arg::Modified(other) => *other == register,
        Arg::Vector(elements) => elements.iter().any(|element| names(element, register)),
        Arg::Pair(pair) => pair.iter().any(|element| names(element, register)),
        _ => false,
    }
}
