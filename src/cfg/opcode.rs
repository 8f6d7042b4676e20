//! Which instructions transfer control.

use crate::ptx::Instruction;

/// How an instruction transfers control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opcode {
    /// To the next instruction.
    Sequential,
    /// `bra`: to its label, under its guard predicate.
    Branch,
    /// `brx.idx`: to one of the labels of a `.branchtargets` list.
    IndexedBranch,
    /// `ret`, `exit`: out of the function, under its guard predicate. `trap` ends the whole grid.
    Leave,
    /// `call`: back to the next instruction, after anything may have happened.
    Call,
}

impl Opcode {
    /// Classifies an instruction (PTX ISA, "Control Flow Instructions").
    pub fn of(instruction: &Instruction<'_>) -> Opcode {
        match instruction.mnemonic() {
            "bra" => Opcode::Branch,
            "brx" => Opcode::IndexedBranch,
            "ret" | "exit" | "trap" => Opcode::Leave,
            "call" => Opcode::Call,
            _ => Opcode::Sequential,
        }
    }
}
