//! Work on many items by the threads of rayon's pool.
//!
//! In: items and a function. Out: its results in the items' order. The function works in the scope of planted mistakes
//! ([`crate::planted`]) of the thread that calls. While that thread waits it may be given work of others, which must not
//! see its scope: so it waits in the scope without a mistake. Nothing else in this crate calls rayon (`tests/layering.rs`).

use rayon::prelude::*;

use crate::planted::Scope;

/// Applies a function to all items, in parallel.
pub fn map<I, R>(items: I, function: impl Fn(I::Item) -> R + Sync + Send) -> Vec<R>
where
    I: IntoParallelIterator,
    R: Send,
{
    let scope = Scope::here();
    let function = |item| scope.enter(|| function(item));
    Scope::default().enter(|| items.into_par_iter().map(function).collect())
}

/// How many threads [`map`] uses.
pub fn threads() -> usize {
    rayon::current_num_threads()
}
