//! Pairs of a kernel and its specification: records in the module.
//!
//! `PTXASW_SPEC(kernel, specification)` of `ptxasw/hole.cuh` leaves a variable with the addresses of both.

use super::hole::PREFIX;
use crate::ptx::{Function, FunctionKind, Initializer, Item, Module};

/// A kernel and its specification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'m, 's> {
    /// The kernel.
    pub kernel: &'m Function<'s>,
    /// Its specification.
    pub spec: &'m Function<'s>,
}

/// The pairs that a module names, in the order of the text.
///
/// # Errors
/// A record that does not name two kernels of the module: the variable's name.
pub(super) fn pairs<'m, 's>(module: &'m Module<'s>) -> Result<Vec<Pair<'m, 's>>, &'m str> {
    let body = |name: &str| {
        let named = module.functions().filter(|function| function.name.text == name);
        let entries = named.filter(|function| function.kind == FunctionKind::Entry);
        entries.into_iter().find(|function| function.statements().is_some())
    };
    let mut found = Vec::new();
    for item in &module.items {
        let Item::Variable(variable) = item else { continue };
        for declarator in &variable.names {
            let name = declarator.name.text;
            if !is_record(name) {
                continue;
            }
            let Some(Initializer::List(list)) = &declarator.initializer else { return Err(name) };
            let names: Vec<&str> = list
                .iter()
                .filter_map(|one| match one {
                    Initializer::Symbol { name, .. } => Some(name.text),
                    _ => None,
                })
                .collect();
            let [kernel, spec] = names[..] else { return Err(name) };
            match (body(kernel), body(spec)) {
                (Some(kernel), Some(spec)) => found.push(Pair { kernel, spec }),
                _ => return Err(name),
            }
        }
    }
    Ok(found)
}

/// Whether a variable of this name is a record, whatever the compiler puts around the name.
pub(super) fn is_record(name: &str) -> bool {
    name.find(PREFIX).is_some_and(|at| name[at + PREFIX.len()..].starts_with("spec"))
}
