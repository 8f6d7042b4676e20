//! The rules, by what they are about. Each function takes a function of the input and gives what it has found.
//!
//! `requests`: what rules of global memory share; `coalescing`: sectors of global memory; `structs`: members of structs; `banks`: wavefronts of shared memory, and
//! atomics; `reloads`: loads that a store forbids to keep; `spaces`: local and generic memory, irregular addresses;
//! `arithmetic`: slow instructions; `divergence`: branches.

mod arithmetic;
mod banks;
mod coalescing;
mod divergence;
mod reloads;
mod requests;
mod spaces;
mod structs;

use super::subject::{Found, Subject};

/// What all rules have found.
pub fn all(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let groups = structs::groups(subject);
    let mut found = coalescing::uncoalesced(subject, &groups);
    found.extend(coalescing::misaligned_rows(subject));
    found.extend(structs::partial(subject, &groups));
    found.extend(banks::conflicts(subject));
    found.extend(banks::hot_spots(subject));
    found.extend(spaces::irregular(subject));
    found.extend(spaces::local(subject));
    found.extend(spaces::generic(subject));
    found.extend(reloads::invariant(subject));
    found.extend(reloads::reloaded(subject));
    found.extend(arithmetic::promotions(subject));
    found.extend(arithmetic::divisions(subject));
    found.extend(divergence::branches(subject));
    found
}
