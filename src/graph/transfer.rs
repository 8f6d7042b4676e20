//! Which instructions transfer control: an opcode in, the kind of transfer out. (The other `Transfer`,
//! of the module `rewrite`, moves a value between registers.)

use crate::isa::Opcode;

/// How an instruction transfers control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transfer {
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

impl Transfer {
    /// Classifies an opcode (PTX ISA, "Control Flow Instructions"). One that is not known goes on with
    /// the next instruction: it is not a jump, since [`super::build`] refuses a function in which such an
    /// instruction names a label.
    pub fn of(opcode: Opcode) -> Transfer {
        match opcode {
            Opcode::Bra => Transfer::Branch,
            Opcode::Brx => Transfer::IndexedBranch,
            Opcode::Ret | Opcode::Exit | Opcode::Trap => Transfer::Leave,
            Opcode::Call => Transfer::Call,
            _ => Transfer::Sequential,
        }
    }
}
