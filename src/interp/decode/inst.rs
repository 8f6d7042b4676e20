//! One instruction while it is decoded: its modifiers are taken off one by one, and what is left
//! over at the end was not understood.

use smallvec::SmallVec;

use crate::interp::fault::{Fault, FaultKind};
use crate::ptx::{Instruction, Operand, ScalarType, StateSpace};

/// A rounding mode of an operation that yields a floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Round {
    /// `.rn`: to nearest, ties to even.
    Even,
    /// `.rna`: to nearest, ties away from zero.
    Away,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards negative infinity.
    Down,
    /// `.rp`: towards positive infinity.
    Up,
}

/// An instruction and the modifiers that nobody has taken yet.
pub struct Inst<'a, 's> {
    /// The instruction.
    pub ast: &'a Instruction<'s>,
    rest: SmallVec<[&'s str; 8]>,
}

impl<'a, 's> Inst<'a, 's> {
    /// All modifiers still to be taken.
    pub fn new(ast: &'a Instruction<'s>) -> Inst<'a, 's> {
        Inst { ast, rest: ast.modifiers().collect() }
    }

    /// The operands.
    pub fn operands(&self) -> &'a [Operand<'s>] {
        &self.ast.operands
    }

    /// The operand at an index.
    ///
    /// # Errors
    /// There are fewer.
    pub fn operand(&self, index: usize) -> Result<&'a Operand<'s>, Fault> {
        self.ast.operands.get(index).ok_or_else(|| {
            let name = self.ast.opcode.text;
            self.unsupported(format!("`{name}` has no operand {}", index + 1))
        })
    }

    /// Takes a modifier if it is there.
    pub fn take(&mut self, name: &str) -> bool {
        let found = self.rest.iter().position(|&m| m == name);
        found.map(|at| self.rest.remove(at)).is_some()
    }

    /// Takes the first modifier that `choose` has a meaning for.
    pub fn take_with<T>(&mut self, choose: impl Fn(&str) -> Option<T>) -> Option<T> {
        let at = self.rest.iter().position(|m| choose(m).is_some())?;
        choose(self.rest.remove(at))
    }

    /// Takes the next type.
    ///
    /// # Errors
    /// There is none left.
    pub fn take_type(&mut self) -> Result<ScalarType, Fault> {
        self.take_with(ScalarType::from_modifier)
            .ok_or_else(|| self.unsupported(format!("`{}` names no type", self.ast.opcode.text)))
    }

    /// Takes the state space; generic where none is named.
    pub fn take_space(&mut self) -> StateSpace {
        self.take_with(StateSpace::from_modifier).unwrap_or(StateSpace::Generic)
    }

    /// Takes a rounding mode of floating-point results.
    pub fn take_round(&mut self) -> Option<Round> {
        self.take_with(|m| {
            Some(match m {
                "rn" => Round::Even,
                "rna" => Round::Away,
                "rz" => Round::Zero,
                "rm" => Round::Down,
                "rp" => Round::Up,
                _ => return None,
            })
        })
    }

    /// Drops modifiers that change only speed.
    pub fn drop_hints(&mut self, hint: impl Fn(&str) -> bool) {
        self.rest.retain(|m| !hint(m));
    }

    /// Every modifier must have been taken.
    ///
    /// # Errors
    /// The first that was not.
    pub fn finish(&self) -> Result<(), Fault> {
        match self.rest.first() {
            None => Ok(()),
            Some(modifier) => {
                let name = self.ast.opcode.text;
                Err(self.unsupported(format!("modifier `.{modifier}` of `{name}` is not modelled")))
            }
        }
    }

    /// The operation exists, but not for this type.
    pub fn bad_type(&self, ty: ScalarType) -> Fault {
        self.unsupported(format!("`{}` is not modelled for {ty}", self.ast.opcode.text))
    }

    /// An error about this instruction.
    pub fn unsupported(&self, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Unsupported, message).at(self.ast.span)
    }
}
