//! One instruction while it is decoded: its modifiers are taken off one by one, and a modifier that is
//! left over at the end was not understood.

use smallvec::SmallVec;

use crate::float::Round;
use crate::interp::fault::{Fault, FaultKind};
use crate::isa::{Modifier, Opcode, Qualifier, ScalarType, StateSpace, Words};
use crate::ptx::{Instruction, Operand};

/// An instruction and the modifiers that have not been taken yet.
pub(crate) struct Inst<'a, 's> {
    /// The instruction.
    pub ast: &'a Instruction<'s>,
    /// For each modifier that is left: its place among all modifiers, and which one it is.
    rest: SmallVec<[(usize, Modifier); 8]>,
}

impl<'a, 's> Inst<'a, 's> {
    /// An instruction with all its modifiers still to be taken.
    pub(crate) fn new(ast: &'a Instruction<'s>) -> Inst<'a, 's> {
        Inst { ast, rest: ast.form.modifiers().iter().copied().enumerate().collect() }
    }

    /// The operands.
    pub(crate) fn operands(&self) -> &'a [Operand<'s>] {
        &self.ast.operands
    }

    /// The operand at an index.
    ///
    /// # Errors
    /// The instruction has fewer operands.
    pub(crate) fn operand(&self, index: usize) -> Result<&'a Operand<'s>, Fault> {
        self.ast.operands.get(index).ok_or_else(|| {
            let name = self.ast.opcode.text;
            self.unsupported(format!("operand {} of `{name}` is missing", index + 1))
        })
    }

    /// The opcode.
    pub(crate) fn opcode(&self) -> Opcode {
        self.ast.form.opcode
    }

    /// Takes a qualifier if it is there.
    pub(crate) fn take(&mut self, qualifier: Qualifier) -> bool {
        self.take_modifier(Modifier::Qualifier(qualifier))
    }

    /// Takes a modifier if it is there.
    pub(crate) fn take_modifier(&mut self, modifier: Modifier) -> bool {
        self.take_with(|other| (other == modifier).then_some(())).is_some()
    }

    /// Takes the first modifier that `choose` has a meaning for.
    pub(crate) fn take_with<T>(&mut self, choose: impl Fn(Modifier) -> Option<T>) -> Option<T> {
        let at = self.rest.iter().position(|&(_, modifier)| choose(modifier).is_some())?;
        choose(self.rest.remove(at).1)
    }

    /// Takes the first qualifier that `choose` has a meaning for.
    pub(crate) fn take_qualifier<T>(
        &mut self,
        choose: impl Fn(Qualifier) -> Option<T>,
    ) -> Option<T> {
        self.take_with(|modifier| match modifier {
            Modifier::Qualifier(qualifier) => choose(qualifier),
            _ => None,
        })
    }

    /// Takes the first of some qualifiers.
    pub(crate) fn take_one_of(&mut self, qualifiers: &[Qualifier]) -> Option<Qualifier> {
        self.take_qualifier(|qualifier| qualifiers.contains(&qualifier).then_some(qualifier))
    }

    /// Takes the next type.
    ///
    /// # Errors
    /// No type is left.
    pub(crate) fn take_type(&mut self) -> Result<ScalarType, Fault> {
        self.take_with(Modifier::ty)
            .ok_or_else(|| self.unsupported(format!("`{}` needs a type", self.ast.opcode.text)))
    }

    /// Takes the state space; generic where none is named.
    pub(crate) fn take_space(&mut self) -> StateSpace {
        self.take_with(Modifier::space).unwrap_or(StateSpace::Generic)
    }

    /// Takes a rounding mode of floating-point results.
    pub(crate) fn take_round(&mut self) -> Option<Round> {
        self.take_qualifier(|mode| {
            Some(match mode {
                Qualifier::Rn => Round::Even,
                Qualifier::Rna => Round::Away,
                Qualifier::Rz => Round::Zero,
                Qualifier::Rm => Round::Down,
                Qualifier::Rp => Round::Up,
                _ => return None,
            })
        })
    }

    /// Drops the qualifiers that `hint` says only change speed.
    pub(crate) fn drop_hints(&mut self, hint: impl Fn(Qualifier) -> bool) {
        self.rest.retain(|(_, modifier)| !matches!(modifier, Modifier::Qualifier(q) if hint(*q)));
    }

    /// Checks that every modifier has been taken.
    ///
    /// # Errors
    /// The first modifier that has not been taken.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        let Some(&(at, _)) = self.rest.first() else { return Ok(()) };
        let name = self.ast.opcode.text;
        let modifier = Words::of(name).nth(at + 1).unwrap_or(name);
        Err(self.unsupported(format!("modifier `.{modifier}` of `{name}` is not modelled")))
    }

    /// The error of an operation that exists, but not for this type.
    pub(crate) fn bad_type(&self, ty: ScalarType) -> Fault {
        self.unsupported(format!("`{}` is not modelled for {ty}", self.ast.opcode.text))
    }

    /// An error about this instruction.
    pub(crate) fn unsupported(&self, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Unsupported, message).at(self.ast.span)
    }
}
