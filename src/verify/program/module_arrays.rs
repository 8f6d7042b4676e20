//! The arrays in shared memory that a module declares for one kernel alone.
//!
//! In: a module and its text. Out: for each kernel the arrays that no other part of the file names and whose names
//! other files do not see: without a linking directive a name is that of its file (PTX ISA, "Linking Directives"). A
//! part names an array if the word stands in its text, be it in a comment.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::array::{self, Array};
use super::both::Both;
use crate::ptx::{FunctionKind, Item, Module, StateSpace, Variable};
use crate::source::{SourceFile, Span};

/// An array at module level that one kernel alone can access.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owned<'s> {
    array: Array,
    /// The array's type and name: all of its declaration but size and alignment.
    plain: String,
    /// The kernel.
    owner: &'s str,
}

/// The arrays of a module that belong to one kernel each, by their names.
#[derive(Default, Debug)]
pub(crate) struct ModuleArrays<'s> {
    owned: FxHashMap<&'s str, Owned<'s>>,
}

impl<'s> ModuleArrays<'s> {
    /// Looks at every word of a file with such arrays.
    pub(crate) fn of(source: &SourceFile, module: &Module<'s>) -> ModuleArrays<'s> {
        let mut candidates: BTreeMap<&'s str, Candidate> = BTreeMap::new();
        for item in &module.items {
            let Item::Variable(variable) = item else { continue };
            let [declared] = &variable.names[..] else { continue };
            if variable.space == StateSpace::Shared
                && let Some(array) = array::of_file(variable)
            {
                let plain = format!("{}: {:?} {}", array.name, variable.ty, variable.vector);
                let candidate = Candidate { array, plain, named: Vec::new() };
                candidates.insert(declared.name.text, candidate);
            }
        }
        let mut found = ModuleArrays::default();
        if candidates.is_empty() {
            return found;
        }
        for item in &module.items {
            let span = item.span();
            let text = source.slice(span);
            if is_for_debugger(text) {
                continue;
            }
            for word in words(text) {
                if let Some(candidate) = candidates.get_mut(word)
                    && candidate.named.last() != Some(&span)
                {
                    candidate.named.push(span);
                }
            }
        }
        let kernels = module.functions().filter(|one| one.kind == FunctionKind::Entry);
        let kernels: FxHashMap<Span, &'s str> =
            kernels.map(|one| (one.span, one.name.text)).collect();
        for (name, Candidate { array, plain, named }) in candidates {
            // The declaration and one kernel, in any order.
            let [first, second] = named[..] else { continue };
            let owner = kernels.get(&first).or(kernels.get(&second));
            if let Some(owner) = owner {
                found.owned.insert(name, Owned { array, plain, owner });
            }
        }
        found
    }

    /// The arrays of one kernel, sorted by name.
    pub(crate) fn of_kernel(&self, name: &str) -> Vec<Array> {
        let own = self.owned.values().filter(|one| one.owner == name);
        let mut own: Vec<Array> = own.map(|one| one.array.clone()).collect();
        own.sort_by(|one, other| one.name.cmp(&other.name));
        own
    }
}

/// The words that two declarations have to share, if they declare an array of the same kernel in both modules: sizes
/// and alignments may differ.
pub(crate) fn without_size<'a>(
    arrays: Both<&'a ModuleArrays<'_>>,
    variable: &Variable<'_>,
) -> Option<&'a str> {
    let name = variable.names.first()?.name.text;
    let (old, new) = (arrays.original.owned.get(name)?, arrays.rewritten.owned.get(name)?);
    (old.owner == new.owner && old.plain == new.plain).then_some(&old.plain)
}

/// An array that one kernel alone may turn out to name.
struct Candidate {
    array: Array,
    plain: String,
    /// The parts of the file with its name, in order.
    named: Vec<Span>,
}

/// Whether a part of a file describes the program to a debugger.
fn is_for_debugger(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some(".section") && words.next().is_some_and(|one| one.starts_with(".debug"))
}

/// The words of a text that may be names.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '$' | '%'))
}
