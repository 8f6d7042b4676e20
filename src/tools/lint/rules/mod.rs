//! The rules, by subject. Each function takes a function of the input and returns its findings.
//!
//! `requests`: what rules of global memory share; `coalescing`: sectors of global memory; `structs`: members of structs;
//! `banks`: wavefronts of shared memory, and atomics; `reloads`: loads that a store forbids to keep; `spaces`: local and generic memory, irregular addresses;
//! `arithmetic`: slow instructions; `divergence`: branches; `convergence`: barriers and shuffles; `races`: missing barriers;
//! `redundancy`: loads of values that are in registers; `collectives`: shuffles that one instruction could replace.

mod arithmetic;
mod banks;
mod coalescing;
mod collectives;
mod convergence;
mod divergence;
mod races;
mod redundancy;
mod reloads;
mod requests;
mod spaces;
mod structs;

use super::subject::{Found, Subject};

pub(super) use redundancy::redundant;

/// The findings of all rules but [`redundant`], which needs an analysis of its own.
pub(super) fn all(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
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
    found.extend(reloads::sums(subject));
    found.extend(arithmetic::promotions(subject));
    found.extend(arithmetic::divisions(subject));
    found.extend(divergence::branches(subject));
    found.extend(convergence::barriers(subject));
    found.extend(convergence::shuffles(subject));
    found.extend(races::proved(subject));
    found.extend(collectives::possible(subject));
    found
}
