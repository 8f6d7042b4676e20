//! The cost of a rewritten kernel's machine code beside that of the original.
//!
//! In: both texts, and their machine code. Out: for each wanted kernel that is in both, the
//! cycles of the multiprocessor for each warp ([`measure`]).

use std::collections::BTreeMap;

use super::{Options, known};
use crate::ptx::Depth;
use crate::report::MeasureReport;
use crate::requests::Known;
use crate::sass::access::Requests;
use crate::sass::measure;
use crate::sass::paths::{Counterpart, Counterparts};
use crate::source::SourceFile;

/// A text and its cubin.
#[derive(Clone, Copy)]
pub(crate) struct Built<'t> {
    /// The text.
    pub source: &'t SourceFile,
    /// Its cubin.
    pub cubin: &'t [u8],
}

/// Both versions of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    /// Their cycles.
    pub report: MeasureReport,
    /// Whether the rewritten one gains by waiting less alone: it gives no unit less to do.
    pub waits_less: bool,
}

/// The measures of the kernels that are `wanted`, by their names.
///
/// # Errors
/// Why a text or a cubin cannot be read.
pub(crate) fn measured(
    original: Built<'_>,
    rewritten: Built<'_>,
    options: &Options,
    wanted: &[&str],
) -> Result<BTreeMap<String, Compared>, String> {
    let analysed = |built: Built<'_>, names: &[&str], others: &Counterparts<'_>| {
        let depth = Depth::Named(names);
        known(built.source, options, depth, others).map_err(|error| error.to_string())
    };
    let mut before = analysed(original, wanted, &|_| Counterpart::None)?;
    let after = analysed(rewritten, wanted, &|name| {
        before.get(name).map_or(Counterpart::None, |known| Counterpart::Original(&known.executed))
    })?;
    // The original goes the way of the code that was rewritten.
    let is_other = |name: &&&str| match (before.get(**name), after.get(**name)) {
        (Some(before), Some(after)) => before.is_other_path(after),
        _ => false,
    };
    let other: Vec<&str> = wanted.iter().filter(is_other).copied().collect();
    if !other.is_empty() {
        let again = analysed(original, &other, &|name| {
            let after = after.get(name).map(|known| &known.executed);
            after.map_or(Counterpart::None, Counterpart::Rewriting)
        })?;
        before.extend(again);
    }
    let requests = |known: &BTreeMap<String, Known>| -> BTreeMap<String, Requests> {
        known.iter().map(|(name, known)| (name.clone(), known.requests.clone())).collect()
    };
    let is_known = |name: &str| before.contains_key(name);
    let executed = measure::executed(original.cubin, &is_known, &|_| Counterpart::None)?;
    let of_original =
        |name: &str| executed.get(name).map_or(Counterpart::None, Counterpart::Original);
    let executed_after = measure::executed(rewritten.cubin, &is_known, &of_original)?;
    let of_rewriting =
        |name: &str| executed_after.get(name).map_or(Counterpart::None, Counterpart::Rewriting);
    let old = measure::measures(original.cubin, &requests(&before), &of_rewriting)?;
    let new = measure::measures(rewritten.cubin, &requests(&after), &of_original)?;
    let both = old.into_iter().filter_map(|(name, old)| {
        let new = new.get(&name)?;
        // (ptxas may have made the same of both.)
        let waits_less = old != *new && !new.takes_less_than(&old);
        let rewritten = new.cycles_per_warp.clone();
        let report = MeasureReport { original: old.cycles_per_warp, rewritten };
        Some((name, Compared { report, waits_less }))
    });
    Ok(both.collect())
}
