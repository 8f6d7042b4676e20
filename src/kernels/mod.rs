//! Kernels by name: their names as people write them, and rules that choose kernels by pattern.
//!
//! In: a name as PTX has it. Out: its demangled form, or whether a rule chooses it. `demangle`: names of C++ and Rust;
//! `rules`: lists such as `-march7,+jacobi*`; `pattern`: one name with `*` and `?`.

mod demangle;
mod pattern;
mod rules;

pub use demangle::{demangled, spellings};
pub use rules::Rules;

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

/// The one function among `names` that `wanted` means.
///
/// # Errors
/// One line: there is none, or several are meant.
pub fn find<'n>(names: &[&'n str], wanted: &str) -> Result<&'n str, String> {
    match meant(names, wanted)[..] {
        [one] => Ok(one),
        [] if names.is_empty() => Err("there is no function".to_owned()),
        [] => {
            let all = listed(names.iter().copied());
            Err(format!("there is no function `{wanted}` among {all}"))
        }
        ref several => {
            let all = listed(several.iter().copied());
            Err(format!("`{wanted}` is the name of several functions: {all}"))
        }
    }
}
