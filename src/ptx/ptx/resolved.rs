//! The names in a function's body, each with its meaning.
//!
//! A name names the last declaration in front of it in the innermost scope that has one (PTX ISA, "Instruction
//! Statements"); labels of a scope are known in all of it. What no scope of the function declares belongs to the module or
//! to the hardware.

use rustc_hash::FxHashMap;

use super::family::{self, Row};
use super::{Declarator, Directive, Function, Name, StateSpace, Statement, Variable};
use crate::isa::Opcode;
use crate::source::Span;

/// The kinds of declarations of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declared {
    /// A parameter or the place of a result.
    Parameter,
    /// A variable of the body.
    Variable,
    /// A register, or a family of them.
    Register,
    /// A label of an instruction, a list of targets or a prototype.
    Label,
}

/// Something that a function declares.
#[derive(Clone, Copy, Debug)]
pub struct Entity<'s> {
    /// Its kind.
    pub kind: Declared,
    /// Its name as declared; of a family the prefix.
    pub name: &'s str,
    /// Whether it is a family (`%r<9>`).
    pub is_family: bool,
}

/// A place in the text at which something is named.
#[derive(Clone, Copy, Debug)]
pub struct Mention {
    /// The bytes: a name without a component (`.x`), of a member of a family the prefix alone.
    pub span: Span,
    /// The number of the named entity; `None` for names from outside of the function.
    pub entity: Option<usize>,
}

/// A function's entities and the places at which they are named, declarations included.
#[derive(Debug, Default)]
pub struct Resolved<'s> {
    /// Its declarations.
    pub entities: Vec<Entity<'s>>,
    /// The places, in no order.
    pub mentions: Vec<Mention>,
    /// Lists of branch targets name rows of labels (`L<4>`), which have no places of their own.
    pub has_rows: bool,
    scopes: Vec<Scope<'s>>,
}

/// The names of a scope that is open.
#[derive(Debug, Default)]
struct Scope<'s> {
    names: FxHashMap<&'s str, usize>,
    families: Vec<(&'s str, u32, usize)>,
    labels: FxHashMap<&'s str, usize>,
}

impl<'s> Resolved<'s> {
    /// Resolves the names of a function.
    pub fn of(function: &Function<'s>) -> Resolved<'s> {
        let mut resolved = Resolved::default();
        resolved.scopes.push(Scope::default());
        for variable in function.returns.iter().chain(&function.params) {
            resolved.declare(variable, Declared::Parameter);
        }
        resolved.statements(function.statements().unwrap_or_default());
        resolved
    }

    /// The places at which a register is named.
    pub fn registers(&self) -> impl Iterator<Item = Span> {
        let is_register = |mention: &&Mention| {
            mention.entity.is_some_and(|number| self.entities[number].kind == Declared::Register)
        };
        self.mentions.iter().filter(is_register).map(|mention| mention.span)
    }

    fn add(&mut self, kind: Declared, name: Name<'s>, is_family: bool) -> usize {
        let number = self.entities.len();
        self.entities.push(Entity { kind, name: name.text, is_family });
        self.mentions.push(Mention { span: name.span, entity: Some(number) });
        number
    }

    fn declare(&mut self, variable: &Variable<'s>, kind: Declared) {
        for Declarator { name, count, .. } in &variable.names {
            let number = self.add(kind, *name, count.is_some());
            let Some(scope) = self.scopes.last_mut() else { return };
            match count {
                Some(count) => scope.families.push((name.text, *count, number)),
                None => _ = scope.names.insert(name.text, number),
            }
        }
    }

    fn statements(&mut self, statements: &[Statement<'s>]) {
        self.scopes.push(Scope::default());
        for statement in statements {
            let (Statement::Label(label)
            | Statement::Directive(
                Directive::Targets { label, .. } | Directive::Prototype { label, .. },
            )) = statement
            else {
                continue;
            };
            let number = self.add(Declared::Label, *label, false);
            self.scopes.last_mut().map(|scope| scope.labels.insert(label.text, number));
        }
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => self.statements(statements),
                Statement::Variable(variable) => {
                    let kind = match variable.space {
                        StateSpace::Reg => Declared::Register,
                        _ => Declared::Variable,
                    };
                    self.declare(variable, kind);
                }
                Statement::Instruction(inst) => {
                    let jumps = matches!(inst.form.opcode, Opcode::Bra | Opcode::Brx);
                    let names = inst.names();
                    for (at, name) in names.iter().enumerate() {
                        self.mention(*name, jumps && at + 1 == names.len());
                    }
                }
                Statement::Directive(Directive::Targets { targets, .. }) => {
                    self.has_rows |= targets.iter().any(|one| Row::of(one.text).is_some());
                    targets.iter().for_each(|target| self.mention(*target, true));
                }
                Statement::Label(_) | Statement::Directive(_) => {}
            }
        }
        self.scopes.pop();
    }

    fn mention(&mut self, name: Name<'s>, is_label: bool) {
        // A component of a vector stands behind the name.
        let text = match name.text.rsplit_once('.') {
            Some((vector, "x" | "y" | "z" | "w" | "r" | "g" | "b" | "a")) => vector,
            _ => name.text,
        };
        let scopes = || self.scopes.iter().rev();
        let label = || scopes().find_map(|scope| scope.labels.get(text).copied());
        let member = |scope: &Scope<'s>| {
            family::memberships(text).find_map(|(prefix, index)| {
                let families = scope.families.iter().rev();
                let found = families.copied().find(|(own, ..)| *own == prefix);
                found.and_then(|(_, count, number)| {
                    (index < count).then_some((number, prefix.len()))
                })
            })
        };
        let own = |scope: &Scope<'s>| {
            let single = scope.names.get(text).map(|number| (*number, text.len()));
            single.or_else(|| member(scope))
        };
        let found = match is_label {
            true => label().map(|number| (number, text.len())),
            false => scopes().find_map(own).or_else(|| label().map(|number| (number, text.len()))),
        };
        let length = found.map_or(text.len(), |(_, length)| length) as u32;
        let span = Span { start: name.span.start, end: name.span.start + length };
        self.mentions.push(Mention { span, entity: found.map(|(number, _)| number) });
    }
}
