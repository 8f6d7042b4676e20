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

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::TiSlice;

use super::callee::Callees;
use super::inst::InstId;
use super::register::RegisterId;
use super::resolve::{Arg, Inst};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::Value;
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
    /// The registers that hold one constant wherever they are read.
    always: FxHashSet<RegisterId>,
    callees: Callees<'s>,
}

impl<'s> OwnMask<'s> {
    /// Before the first instruction of a function.
    pub(super) fn new(insts: &TiSlice<InstId, Inst<'_, 's>>) -> OwnMask<'s> {
        OwnMask { always: constants(insts), ..OwnMask::default() }
    }

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
        let is_constant =
            |mask: &RegisterId| self.constants.contains(mask) || self.always.contains(mask);
        let members = members(source, inst, self.own, is_constant, &mut self.callees);
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

/// The registers that only one constant is ever moved into.
fn constants(insts: &TiSlice<InstId, Inst<'_, '_>>) -> FxHashSet<RegisterId> {
    let mut values: FxHashMap<RegisterId, Option<&Value>> = FxHashMap::default();
    for inst in insts {
        let moves = inst.ast.form.opcode == Opcode::Mov && inst.guard.is_none();
        if let (true, [Arg::Register(register), Arg::Constant(value)]) = (moves, &inst.args[..]) {
            let known = values.entry(*register).or_insert(Some(value));
            *known = known.filter(|known| *known == value);
            continue;
        }
        // (The first operand is the result if there is one; results of a call may be others.)
        let count = if inst.ast.form.opcode == Opcode::Call { inst.args.len() } else { 1 };
        for register in inst.args.iter().take(count).flat_map(registers) {
            values.insert(register, None);
        }
    }
    values.into_iter().filter(|(_, value)| value.is_some()).map(|(register, _)| register).collect()
}

/// The registers that an operand names as values.
fn registers(arg: &Arg<'_>) -> Vec<RegisterId> {
    match arg {
        Arg::Register(register) | Arg::Not(register) | Arg::Modified(register) => vec![*register],
        Arg::Vector(elements) => elements.iter().flat_map(registers).collect(),
        Arg::Pair(pair) => pair.iter().flat_map(registers).collect(),
        _ => Vec::new(),
    }
}

/// Who is brought together by an instruction, given the register that holds the lanes which execute
/// it together, and those that hold constants.
fn members<'s>(
    source: &SourceFile,
    inst: &Inst<'_, 's>,
    own: Option<RegisterId>,
    is_constant: impl Fn(&RegisterId) -> bool,
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
        (Some(Arg::Register(mask)), _) if is_constant(mask) => Some(Members::Constant),
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
