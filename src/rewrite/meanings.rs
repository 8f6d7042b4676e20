//! Whether each name in code that is put into a text means there what the plan meant.
//!
//! In: the edits of a function, its scopes, and the registers and variables that the plan named. Out: the edits, or
//! the name whose meaning differs where the code goes. A name in braces may be declared anew (PTX ISA, "Instruction
//! Statements"), so the same text can mean another register at a latch, at a join, or in front of a loop. Every edit
//! of every strategy passes here; code that nobody has asked about a name is refused, not placed.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::edit::Edit;
use crate::cfg::{Flow, NameMeaning, RegisterId};

/// What the names in a plan's code mean. A plan may mean two registers by one name, each where its scope is.
#[derive(Clone, Debug, Default)]
pub struct Meanings {
    known: RefCell<FxHashMap<String, SmallVec<[Meant; 1]>>>,
}

/// What the plan means by a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meant {
    Register(RegisterId),
    /// A variable by the scope of the body that declares it; `None` for one of the module or a parameter.
    Variable(Option<u32>),
}

impl Meanings {
    /// The plan means this register by a name.
    pub(super) fn register(&self, name: &str, register: RegisterId) {
        // A component of a vector register is named by the vector.
        let name = name.split('.').next().unwrap_or(name);
        self.note(name, Meant::Register(register));
    }

    /// The plan means a variable by a name.
    pub(super) fn variable(&self, name: &str, scope: Option<u32>) {
        self.note(name, Meant::Variable(scope));
    }

    fn note(&self, name: &str, meant: Meant) {
        let mut known = self.known.borrow_mut();
        let meant_before = known.entry(name.to_owned()).or_default();
        if !meant_before.contains(&meant) {
            meant_before.push(meant);
        }
    }

    /// Checks edits of a function.
    ///
    /// # Errors
    /// A name that means something else where an edit puts it, in a sentence.
    pub fn check(&self, flow: &Flow<'_, '_>, edits: &[Edit]) -> Result<(), String> {
        let known = self.known.borrow();
        for edit in edits {
            for name in names(&edit.text) {
                let here = flow.scopes.meaning_at(name, edit.range.start);
                let holds = match known.get(name) {
                    Some(meant) => meant.iter().any(|meant| match meant {
                        Meant::Register(register) => {
                            here.is_some_and(|here| is_register(flow, here, *register))
                        }
                        Meant::Variable(scope) => here == scope.map(NameMeaning::DeclaredIn),
                    }),
                    None => match flow.scopes.declarations(name) {
                        0 => true,
                        1 => here.is_some(),
                        _ => false,
                    },
                };
                if !holds {
                    return Err(format!(
                        "`{name}` means something else where the rewritten code would name it"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Whether a name's meaning is a register, or the vector register that it is a component of.
fn is_register(flow: &Flow<'_, '_>, here: NameMeaning, register: RegisterId) -> bool {
    let name = |register: RegisterId| flow.registers[register.0 as usize].name;
    match here {
        NameMeaning::Register(first) => {
            (first.0..=register.0).contains(&register.0) && {
                register == first
                    || flow.registers[register.0 as usize].component.is_some()
                        && (first.0..register.0).all(|at| name(RegisterId(at)) == name(register))
            }
        }
        NameMeaning::DeclaredIn(_) => false,
    }
}

/// The names in code: registers, variables, labels, and the words of opcodes.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    text.split(move |c| !part_of_name(c))
        .filter(|word| word.starts_with(|c: char| !c.is_ascii_digit()))
}
