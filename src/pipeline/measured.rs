//! What the machine code of a rewritten kernel takes beside that of the original.
//!
//! In: both texts, and what the assembler has made of them. Out: for each kernel that is wanted and known of both, the
//! cycles of the multiprocessor for each warp ([`measure`]).

use std::collections::BTreeMap;

use super::{Options, known};
use crate::ptx::Depth;
use crate::report::MeasureReport;
use crate::requests::Known;
use crate::sass::access::Requests;
use crate::sass::measure;
use crate::source::SourceFile;

/// A text and its cubin.
#[derive(Clone, Copy)]
pub(crate) struct Built<'t> {
    /// The text.
    pub source: &'t SourceFile,
    /// What the assembler made of it.
    pub cubin: &'t [u8],
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
) -> Result<BTreeMap<String, MeasureReport>, String> {
    let analysed = |built: Built<'_>, before: Option<&BTreeMap<String, Known>>| {
        known(built.source, options, Depth::Named(wanted), before)
            .map_err(|error| error.to_string())
    };
    let before = analysed(original, None)?;
    let after = analysed(rewritten, Some(&before))?;
    let requests = |known: &BTreeMap<String, Known>| -> BTreeMap<String, Requests> {
        known.iter().map(|(name, known)| (name.clone(), known.requests.clone())).collect()
    };
    let executed = measure::executed(original.cubin, &|name| before.contains_key(name))?;
    let old = measure::measures(original.cubin, &requests(&before), &BTreeMap::new())?;
    let new = measure::measures(rewritten.cubin, &requests(&after), &executed)?;
    let both = old.into_iter().filter_map(|(name, old)| {
        let rewritten = new.get(&name)?.cycles_per_warp.clone();
        Some((name, MeasureReport { original: old.cycles_per_warp, rewritten }))
    });
    Ok(both.collect())
}
