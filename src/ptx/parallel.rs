//! Work on many items by the threads of rayon's pool.
//!
//! In: items and a function. Out: its results in the items' order. The function works in the scope of planted mistakes
//! ([`mod@crate::planted`]) of the thread that calls. While that thread waits it may be given work of others, which must not
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

/// Bytes of a text. A shorter one is parsed and analysed before threads are started and have got work.
const SMALL: usize = 16 << 10;

/// Applies a function to the parts of a text, whose length in `bytes` says whether that is worth threads.
pub fn map_text<'i, T: Sync, R: Send>(
    bytes: usize,
    parts: &'i [T],
    function: impl Fn(&'i T) -> R + Sync + Send,
) -> Vec<R> {
    match bytes < SMALL {
        true => parts.iter().map(function).collect(),
        false => map(parts, function),
    }
}

/// How many threads [`map`] uses.
pub fn threads() -> usize {
    rayon::current_num_threads()
}
