//! The scopes of a body, and the meaning of a name at a place in it.
//!
//! Braces open a scope. A name refers to the last declaration in front of it in the innermost scope that has one (PTX
//! ISA, "Instruction Statements"): `.reg` in the middle of a scope changes the name's meaning from there on.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use super::inst::InstId;
use super::register::RegisterId;
use crate::ptx::{Item, Module, ScalarType, family};

/// The scopes of a body and the declarations in each.
#[derive(Debug, Default)]
pub struct Scopes<'s> {
    scopes: Vec<Scope<'s>>,
}

/// The meaning at a place of a name that a body declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameMeaning {
    /// A register; of a vector register its first element.
    Register(RegisterId),
    /// Something else, or a register that no instruction names, by the scope that declares it.
    DeclaredIn(u32),
}

impl<'s> Scopes<'s> {
    /// The scopes in the order in which they open.
    pub(super) fn new(scopes: Vec<Scope<'s>>) -> Scopes<'s> {
        Scopes { scopes }
    }

    /// The names that any scope of the body declares, as a register, a variable, or a label.
    pub fn declared(&self) -> DeclaredNames<'s> {
        let mut declared = DeclaredNames::default();
        for scope in &self.scopes {
            declared.names.extend(scope.names.keys());
            declared.names.extend(scope.labels.keys());
            declared.names.extend(scope.target_lists.keys());
            for (prefix, (count, _)) in &scope.families {
                let most = declared.families.entry(prefix).or_default();
                *most = (*count).max(*most);
            }
        }
        declared
    }

    /// The meaning of a register's or variable's name in code that is put in front of a byte of the text; `None`
    /// where no scope around that place has declared it. Behind a label the name is the label's.
    pub fn meaning_at(&self, name: &str, byte: usize) -> Option<NameMeaning> {
        let mut next = self.innermost(byte);
        while let Some(at) = next {
            let scope = &self.scopes[at];
            let meaning = match scope.names.get(name) {
                Some(declared) if declared.from < byte => Some(match declared.meaning {
                    Meaning::Registers(first, _) => NameMeaning::Register(first),
                    Meaning::Variable(scope) => NameMeaning::DeclaredIn(scope),
                }),
                Some(_) => None,
                None => {
                    let family = scope.family_member(name).map(|family| family.from);
                    let label = scope.labels.get(name).map(|label| label.from);
                    let from = family.or(label).filter(|from| *from < byte);
                    from.map(|_| NameMeaning::DeclaredIn(at as u32))
                }
            };
            if meaning.is_some() {
                return meaning;
            }
            next = scope.parent;
        }
        None
    }

    /// The number of the innermost scope around a byte, among all scopes.
    pub fn scope_at(&self, byte: usize) -> Option<usize> {
        self.innermost(byte)
    }

    /// The innermost scope around a byte.
    fn innermost(&self, byte: usize) -> Option<usize> {
        let opens_before =
            |scope: &Scope<'_>| scope.bytes.as_ref().is_none_or(|bytes| bytes.start < byte);
        let mut next = self.scopes.partition_point(opens_before).checked_sub(1);
        while let Some(at) = next {
            if self.scopes[at].bytes.as_ref().is_none_or(|bytes| byte < bytes.end) {
                return Some(at);
            }
            next = self.scopes[at].parent;
        }
        None
    }
}

/// The names that a body declares somewhere.
#[derive(Clone, Debug, Default)]
pub struct DeclaredNames<'s> {
    names: FxHashSet<&'s str>,
    /// Prefixes of parameterised declarations, each with the largest count.
    families: BTreeMap<&'s str, u32>,
}

impl<'s> DeclaredNames<'s> {
    /// The names of a module's functions and variables.
    pub(super) fn of_module(module: &Module<'s>) -> DeclaredNames<'s> {
        let mut declared = DeclaredNames::default();
        declared.names.extend(module.aliases.iter().map(|[alias, _]| alias.text));
        for item in &module.items {
            match item {
                Item::Function(function) => _ = declared.names.insert(function.name.text),
                Item::Variable(variable) => {
                    for one in &variable.names {
                        match one.count {
                            Some(count) => _ = declared.families.insert(one.name.text, count),
                            None => _ = declared.names.insert(one.name.text),
                        }
                    }
                }
                Item::Directive(_) => {}
            }
        }
        declared
    }

    /// Whether the body declares a name.
    pub fn contains(&self, name: &str) -> bool {
        let is_member = |(prefix, index): (&str, u32)| {
            self.families.get(prefix).is_some_and(|count| index < *count)
        };
        self.names.contains(name) || family::memberships(name).any(is_member)
    }
}

/// A scope between braces: the names that it declares.
#[derive(Debug, Default)]
pub(super) struct Scope<'s> {
    /// The scope around it.
    pub parent: Option<usize>,
    /// The bytes from brace to brace, both included; `None` for the body as a whole.
    pub bytes: Option<Range<usize>>,
    /// Registers and variables.
    pub names: FxHashMap<&'s str, Declared<Meaning>>,
    /// `%r<100>`: from the prefix to the count and the declaration.
    pub families: BTreeMap<&'s str, (u32, Declared<Family>)>,
    /// Labels: the instruction behind each, declared at a byte of the text.
    pub labels: FxHashMap<&'s str, Declared<InstId>>,
    /// Lists of branch targets (`.branchtargets`).
    pub target_lists: FxHashMap<&'s str, Vec<String>>,
    /// The labels of prototypes of calls (`.callprototype`).
    pub prototypes: FxHashSet<&'s str>,
}

impl Scope<'_> {
    /// Whether a name is a label of the scope, so far.
    pub(super) fn is_label(&self, name: &str) -> bool {
        self.labels.contains_key(name)
            || self.target_lists.contains_key(name)
            || self.prototypes.contains(name)
    }

    /// The family that a member of a parameterised declaration is of.
    pub(super) fn family_member(&self, name: &str) -> Option<Declared<Family>> {
        family::memberships(name).find_map(|(prefix, index)| {
            let &(count, family) = self.families.get(prefix)?;
            (index < count).then_some(family)
        })
    }
}

/// A declaration with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<T> {
    /// The byte of the text from which on the name has this meaning.
    pub from: usize,
    /// The meaning.
    pub meaning: T,
}

/// The kind of thing that each member of a parameterised declaration (`.reg .b32 %r<9>`) declares.
#[derive(Clone, Copy, Debug)]
pub(super) enum Family {
    /// A register of that type; a vector if the number of its elements is above 1.
    Registers(ScalarType, u8),
    /// A variable: `.param .u64 %P<2>` declares two parameters of calls.
    Variables,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Meaning {
    /// First register and number of vector elements.
    Registers(RegisterId, u8),
    /// The scope that declares it.
    Variable(u32),
}
