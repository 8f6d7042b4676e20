//! Kernels by name: their names as people write them, and rules that choose kernels by pattern.
//!
//! In: a name as PTX has it. Out: its demangled form, or whether a rule chooses it. `demangle`: names of C++ and Rust;
//! `parameters`: names of parameters in the source; `rules`: lists such as `-march7,+jacobi*`; `pattern`: one name with `*` and `?`.

mod demangle;
mod parameters;
mod pattern;
mod rules;

pub use demangle::{demangled, spellings};
pub use parameters::parameters;
pub use rules::Rules;

use std::collections::{BTreeMap, BTreeSet};

use crate::source::listed;

/// The functions among `names` that `wanted` means: the one of this name in the PTX, else all that the source calls so.
pub fn meant<'n>(names: &[&'n str], wanted: &str) -> Vec<&'n str> {
    match names.iter().find(|name| **name == wanted) {
        Some(exact) => vec![*exact],
        None => {
            let is_meant = |name: &&&str| spellings(name).iter().any(|name| name == wanted);
            names.iter().filter(is_meant).copied().collect()
        }
    }
}

/// Names for a message, each as short as it stays the name of one function.
pub fn listed_shortly(names: &[&str]) -> String {
    let spelled: Vec<Vec<String>> = names.iter().map(|name| spellings(name)).collect();
    let mut functions: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (at, all) in spelled.iter().enumerate() {
        all.iter().for_each(|name| {
            functions.entry(name).or_default().insert(at);
        });
    }
    let short = |all: &'_ Vec<String>| {
        all.iter().rev().find(|name| functions[name.as_str()].len() == 1).cloned()
    };
    let each = spelled.iter().zip(names);
    let shown: Vec<String> =
        each.map(|(all, name)| short(all).unwrap_or_else(|| (*name).to_owned())).collect();
    listed(shown.iter().map(String::as_str))
}

/// The one function among `names` that `wanted` means.
///
/// # Errors
/// One line: there is none, or several are meant.
pub fn find<'n>(names: &[&'n str], wanted: &str) -> Result<&'n str, String> {
    match meant(names, wanted)[..] {
        [one] => Ok(one),
        [] if names.is_empty() => Err("there is no function".to_owned()),
        [] => Err(format!("there is no function `{wanted}` among {}", listed_shortly(names))),
        ref several => {
            let all = listed(several.iter().copied());
            Err(format!("`{wanted}` is the name of several functions: {all}"))
        }
    }
}
