//! Stores to arrays in shared memory that nobody reads in the rewritten program: it may leave them out.
//!
//! The bytes of such an array live as long as the block, and its address goes nowhere but into addresses of stores. So
//! nobody notices their values.

use rustc_hash::FxHashSet;

use crate::cfg::InstId;
use crate::program::arrays::Arrays;
use crate::program::{Both, Program, Role, role};
use crate::ptx::{FunctionKind, Module};

/// The stores of the original whose words nobody reads in the rewritten program.
pub(super) fn unread(
    programs: Both<&Program<'_, '_>>,
    modules: Both<&Module<'_>>,
) -> FxHashSet<InstId> {
    let Both { original, rewritten } = programs;
    let mut found = FxHashSet::default();
    let are_kernels =
        [original, rewritten].iter().all(|one| one.function.kind == FunctionKind::Entry);
    let (Ok(before), Ok(after)) =
        (Arrays::of(original, modules.original), Arrays::of(rewritten, modules.rewritten))
    else {
        return found;
    };
    if !are_kernels || before.bent.is_some() {
        return found;
    }
    let is_store =
        |program: &Program<'_, '_>, inst: InstId| role(&program.flow.insts[inst]) == Role::Store;
    let is_unread = |name: &str| {
        let at = after.declared.iter().position(|array| array.name == name && !array.is_dynamic);
        at.is_some_and(|at| {
            let mut own = after.accesses.iter().filter(|access| access.array == Some(at));
            after.reached[at].is_none() && own.all(|access| is_store(rewritten, access.inst))
        })
    };
    for access in before.accesses.iter().filter(|access| is_store(original, access.inst)) {
        let Some(at) = access.array else { continue };
        if before.reached[at].is_none() && is_unread(&before.declared[at].name) {
            found.insert(access.inst);
        }
    }
    found
}
