//! The uninterpreted functions of terms. Code matches on a function's variant, never on its name: the name is for
//! queries and messages alone.

use std::fmt;

use crate::isa::{Form, Modifier, Opcode, Qualifier, Special};
use crate::program::Places;
use crate::ptx::{ScalarType, StateSpace};

/// An uninterpreted function: equal operands give equal results.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Function {
    /// The value of a weak load of one element.
    Load(Load),
    /// Whether a generic address is global.
    IsGlobal,
    /// One output of an instruction that is not modelled exactly.
    Opcode(Box<Operation>, Output),
    /// A comparison of floating-point numbers.
    Compare(FloatComparison),
    /// Whether an indexed branch goes to one of its targets.
    Branch(BranchTarget),
    /// A special register that depends on the lane's number alone, such as `%lanemask_lt`.
    OfLane(Special),
    /// Marks a version of memory, its operand, as the memory before the own stores of another lane that reads it.
    /// That lane reads there what any lane would read that has stored nothing, since its own stores leave the bytes
    /// alone that this lane reads too: they would race with it.
    OtherLanesMemory,
    /// Operands combined by a lattice operator: sorted, each once.
    Lattice(Lattice),
    /// The exclusive or of its operands: sorted, each once.
    Exclusive,
    /// A word with a bit for each lane's predicate, the lowest lane's first.
    Ballot,
}

/// An operator that is associative, commutative and idempotent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Lattice {
    /// The least number.
    Min {
        signed: bool,
    },
    /// The greatest number.
    Max {
        signed: bool,
    },
    And,
    Or,
    /// The least or greatest number of single precision. It is idempotent on its own results: these are neither NaNs of
    /// other bits nor, with `.ftz`, subnormal.
    Extremum {
        greatest: bool,
        propagates_nan: bool,
        flushes: bool,
    },
}

/// A load without its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Load {
    /// The state space; of a generic address the part of the value that is not in global memory.
    pub space: StateSpace,
    /// Width in bits.
    pub bits: u8,
}

impl Load {
    /// Which of the operands is the address.
    pub(crate) fn address(self) -> usize {
        match self.space {
            StateSpace::Const => 0,
            StateSpace::Generic => 2,
            _ => 1,
        }
    }

    /// Whether the lanes of a warp read the same memory: the operands are a version and an address.
    pub(crate) fn is_shared_by_lanes(self) -> bool {
        matches!(self.space, StateSpace::Global | StateSpace::Shared)
    }
}

/// An instruction as a function of its operands. Two texts are two functions, even if they decode alike.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Operation {
    pub form: Form,
    /// The opcode with its modifiers as written, without blanks.
    pub text: String,
    /// The spelling of the operands where it means something: `%r1.b0`, `-%r1`.
    pub spelling: String,
    /// Whether the first two operands may change places.
    pub commutes: bool,
}

/// An output of an instruction.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Output {
    /// The results of these numbers, which one register gets.
    Results(Places),
    /// The condition code register.
    Carry,
}

/// Which floating-point comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct FloatComparison {
    pub operator: Qualifier,
    /// Whether subnormal numbers count as zero.
    pub flushes: bool,
    pub ty: ScalarType,
    /// Whether the operands may change places.
    pub commutes: bool,
}

/// A target of an indexed branch.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct BranchTarget {
    /// How many targets the branch lists.
    pub targets: usize,
    /// The indices that lead to this one.
    pub indices: Vec<usize>,
    /// Whether a lane whose guard predicate is false takes this edge as well.
    pub past: bool,
}

/// An integer division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IntegerDivision {
    pub remainder: bool,
    pub ty: ScalarType,
}

impl Function {
    /// A load of `bits` bits.
    pub(crate) fn load(space: StateSpace, bits: u8) -> Function {
        Function::Load(Load { space, bits })
    }

    /// An output of an instruction; `isspacep.global` has a variant of its own.
    pub(crate) fn of(operation: &Operation, output: Output) -> Function {
        let first = matches!(&output, Output::Results(places) if places[..] == [0]);
        match operation.is_plain(Opcode::Isspacep) {
            Some(Modifier::Space(StateSpace::Global)) if first => Function::IsGlobal,
            _ => Function::Opcode(Box::new(operation.clone()), output),
        }
    }

    /// The load that a function is.
    pub(crate) fn as_load(&self) -> Option<Load> {
        match self {
            Function::Load(load) => Some(*load),
            _ => None,
        }
    }

    /// Whether its first two operands may change places.
    pub(crate) fn commutes(&self) -> bool {
        match self {
            Function::Opcode(operation, _) => operation.commutes,
            Function::Compare(comparison) => comparison.commutes,
            _ => false,
        }
    }

    /// The integer division that a function is.
    pub(crate) fn as_division(&self) -> Option<IntegerDivision> {
        use ScalarType::{S16, S32, S64, U16, U32, U64};
        let Function::Opcode(operation, Output::Results(places)) = self else { return None };
        let divides = [Opcode::Div, Opcode::Rem];
        let opcode = divides.into_iter().find(|opcode| operation.form.opcode == *opcode)?;
        let Some(Modifier::Type(ty @ (U16 | S16 | U32 | S32 | U64 | S64))) =
            operation.is_plain(opcode)
        else {
            return None;
        };
        (places[..] == [0]).then_some(IntegerDivision { remainder: opcode == Opcode::Rem, ty })
    }

    /// Whether the function is a sum or product of floating-point numbers.
    pub(crate) fn is_float_sum(&self) -> bool {
        let Function::Opcode(operation, _) = self else { return false };
        let form = &operation.form;
        matches!(form.opcode, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma | Opcode::Mad)
            && form.types().iter().any(|ty| ty.is_float())
    }

    /// Whether a counterexample's machine has values of the function: the contents of memory, and the state space of an
    /// address.
    pub(crate) fn has_values(&self) -> bool {
        match self {
            Function::Load(_) | Function::IsGlobal | Function::OtherLanesMemory => true,
            Function::Opcode(operation, _) => operation.form.opcode == Opcode::Isspacep,
            Function::Compare(_)
            | Function::Branch(_)
            | Function::OfLane(_)
            | Function::Lattice(_)
            | Function::Exclusive
            | Function::Ballot => false,
        }
    }

    /// How messages name the function.
    pub(crate) fn shown(&self) -> String {
        match self {
            Function::Load(_) => "load".to_owned(),
            Function::IsGlobal => "isspacep.global".to_owned(),
            Function::Opcode(operation, output) => {
                let Operation { text, spelling, .. } = &**operation;
                match output {
                    Output::Results(places) if places[..] == [0] => format!("{text}{spelling}"),
                    output => format!("{text}{spelling}#{output}"),
                }
            }
            Function::Compare(comparison) => comparison.to_string(),
            other => other.to_string(),
        }
    }
}

impl Operation {
    /// The only modifier of an instruction, if it has that opcode and its operands are spelled plainly.
    fn is_plain(&self, opcode: Opcode) -> Option<Modifier> {
        match self.form.modifiers() {
            [only] if self.form.opcode == opcode && self.spelling.is_empty() => Some(*only),
            _ => None,
        }
    }
}

/// The mark in the names of functions that commute. No opcode contains it.
fn mark(commutes: bool) -> &'static str {
    if commutes { "~" } else { "" }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Function::Load(Load { space, bits }) => write!(f, "load.{}.{bits}", space.name()),
            Function::IsGlobal => f.write_str("isspacep.global#0"),
            Function::Opcode(operation, output) => {
                let Operation { text, spelling, commutes, .. } = &**operation;
                write!(f, "{text}{spelling}{}#{output}", mark(*commutes))
            }
            Function::Compare(comparison) => {
                write!(f, "{comparison}{}", mark(comparison.commutes))
            }
            Function::Branch(BranchTarget { targets, indices, past }) => {
                let indices: Vec<String> = indices.iter().map(usize::to_string).collect();
                let past = if *past { "+" } else { "" };
                write!(f, "brx.{targets}:{}{past}", indices.join(","))
            }
            Function::OfLane(register) => register.fmt(f),
            Function::OtherLanesMemory => f.write_str("elsewhere"),
            Function::Lattice(lattice) => write!(f, "{lattice:?}"),
            Function::Exclusive => f.write_str("xor"),
            Function::Ballot => f.write_str("ballot"),
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Results(places) => {
                let places: Vec<String> = places.iter().map(u16::to_string).collect();
                f.write_str(&places.join("&"))
            }
            Output::Carry => f.write_str("cc"),
        }
    }
}

impl fmt::Display for FloatComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ftz = if self.flushes { ".ftz" } else { "" };
        write!(f, "setp.{}{ftz}.{}", self.operator, self.ty.name())
    }
}

#[cfg(feature = "internals")]
mod tests {
    use smallvec::smallvec;

    use super::*;

    crate::unit_tests!(functions_are_told_apart_by_the_decoded_instruction);

    fn of(text: &str, spelling: &str, places: Places) -> Function {
        let (form, spelling) = (Form::of(text), spelling.to_owned());
        let operation = Operation { form, text: text.to_owned(), spelling, commutes: false };
        Function::of(&operation, Output::Results(places))
    }

    fn functions_are_told_apart_by_the_decoded_instruction() {
        let first = || -> Places { smallvec![0] };
        assert_eq!(of("isspacep.global", "", first()), Function::IsGlobal);
        for other in [
            of("isspacep.shared", "", first()),
            of("isspacep.global", " -", first()),
            of("isspacep.global", "", smallvec![1]),
            of("isspacep.globa", "", first()),
        ] {
            assert_ne!(other, Function::IsGlobal);
            assert_ne!(other.to_string(), Function::IsGlobal.to_string());
        }
        let division = |function: Function| function.as_division();
        let remainder = IntegerDivision { remainder: true, ty: ScalarType::S64 };
        assert_eq!(division(of("rem.s64", "", first())), Some(remainder));
        for other in ["rem.f32", "rem", "div.rn.f64", "divx.u32", "add.u32"] {
            assert_eq!(division(of(other, "", first())), None, "{other}");
        }
        assert_eq!(division(of("div.u32", " -", first())), None);
        assert!(of("fma.rn.f32", "", first()).is_float_sum());
        assert!(!of("fma.rn.u32", "", first()).is_float_sum());
        assert!(!of("div.rn.f32", "", first()).is_float_sum());
        for space in [StateSpace::Global, StateSpace::Shared, StateSpace::Const] {
            let load = Function::load(space, 32);
            assert_eq!(load.to_string(), format!("load.{}.32", space.name()));
            assert_eq!(load.shown(), "load");
        }
    }
}
