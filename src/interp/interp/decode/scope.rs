//! The meaning of a name at a place: PTX scopes nest by braces, and an inner declaration hides an
//! outer one of the same name (PTX ISA, "Identifiers" and "Parameterized Variable Names").

use rustc_hash::FxHashMap;

use crate::interp::program::{FunctionId, Pc};
use crate::interp::registers::{File, Slot};
use crate::ptx::family::memberships;
use crate::ptx::{ScalarType, StateSpace};

/// The number of a label in its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LabelId(u32);

table_ids!(LabelId);

impl LabelId {
    /// The provisional target of a branch to the label until the place of the label is known.
    pub(super) fn target(self) -> Pc {
        Pc(self.0)
    }

    /// The label that such a target stands for.
    pub(super) fn of(target: Pc) -> LabelId {
        LabelId(target.0)
    }
}

/// A declared register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    /// Its file.
    pub file: File,
    /// Its slot; a 128-bit register has this and the next one.
    pub slot: Slot,
    /// Its width.
    pub bits: u32,
    /// Whether it was declared to hold floating-point numbers.
    pub float: bool,
}

impl Register {
    /// An element of a vector whose first register this is; the elements lie one behind the other.
    pub(crate) fn element(self, index: u8) -> Register {
        let each = if self.bits == 128 { 2 } else { 1 };
        Register { slot: self.slot.plus(each * u32::from(index)), ..self }
    }
}

/// Where a variable lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Home {
    /// At an address of its state space.
    Absolute(u64),
    /// At an offset into the frame's local memory.
    Frame(u64),
}

/// A declared variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Variable {
    /// The space that it was declared in.
    pub space: StateSpace,
    /// Where it lies.
    pub home: Home,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes of an element, if it is an array.
    pub element: u64,
}

impl Variable {
    /// A variable like this one, `bytes` bytes further on.
    fn moved(self, bytes: u64) -> Variable {
        let home = match self.home {
            Home::Absolute(address) => Home::Absolute(address.saturating_add(bytes)),
            Home::Frame(offset) => Home::Frame(offset.saturating_add(bytes)),
        };
        Variable { home, ..self }
    }
}

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Symbol {
    /// A register.
    Register(Register),
    /// A vector register: its first element and how many there are.
    Vector(Register, u8),
    /// A variable.
    Variable(Variable),
    /// A label.
    Label(LabelId),
    /// A `.branchtargets` list, by its number within the function.
    Targets(usize),
    /// A `.callprototype` or `.calltargets`: calls do without it.
    Prototype,
    /// A function.
    Function(FunctionId),
}

/// The kind of a parameterised declaration (`%r<100>`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Family {
    /// Registers of that type; the number of elements of each.
    Registers(ScalarType, u8),
    /// Variables: the first one, and the bytes from each to the next.
    Variables(Variable, u64),
}

/// A scope of a function's body.
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    names: FxHashMap<&'s str, Symbol>,
    /// For each row such as `%r<100>`, by its prefix: the count, and the kind of its members.
    families: FxHashMap<&'s str, (u32, Family)>,
}

/// The result of a lookup.
pub(super) enum Found {
    /// A name with its meaning.
    Symbol(Symbol),
    /// A register of a parameterised family that has no slot yet, in this scope.
    Member(usize, ScalarType, u8),
}

/// The scopes that are open at a place, outermost first.
#[derive(Debug, Default)]
pub(super) struct Scopes<'s> {
    open: Vec<Scope<'s>>,
}

impl<'s> Scopes<'s> {
    /// Opens a scope.
    pub(super) fn push(&mut self) {
        self.open.push(Scope::default());
    }

    /// Closes the innermost scope.
    pub(super) fn pop(&mut self) {
        self.open.pop();
    }

    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, name: &'s str, symbol: Symbol) {
        if let Some(scope) = self.open.last_mut() {
            scope.names.insert(name, symbol);
        }
    }

    /// Declares a name in the scope at a depth that [`Found::Member`] named.
    pub(super) fn declare_at(&mut self, depth: usize, name: &'s str, symbol: Symbol) {
        self.open[depth].names.insert(name, symbol);
    }

    /// Declares `prefix0` to `prefix(count-1)` in the innermost scope.
    pub(super) fn declare_family(&mut self, prefix: &'s str, count: u32, family: Family) {
        if let Some(scope) = self.open.last_mut() {
            scope.families.insert(prefix, (count, family));
        }
    }

    /// The innermost meaning of a name.
    pub(super) fn find(&self, name: &str) -> Option<Found> {
        for (depth, scope) in self.open.iter().enumerate().rev() {
            if let Some(&symbol) = scope.names.get(name) {
                return Some(Found::Symbol(symbol));
            }
            for (prefix, number) in memberships(name) {
                if let Some(&(count, family)) = scope.families.get(prefix)
                    && number < count
                {
                    return Some(match family {
                        Family::Registers(ty, elements) => Found::Member(depth, ty, elements),
                        Family::Variables(first, stride) => Found::Symbol(Symbol::Variable(
                            first.moved(stride.saturating_mul(number.into())),
                        )),
                    });
                }
            }
        }
        None
    }
}
