//! The cost of a rewritten kernel's machine code beside that of the original.
//!
//! In: the machine code of both, and the facts about their texts. Out: for each wanted kernel that is in both, the
//! cycles of the multiprocessor for each warp ([`measure`]).

use std::collections::BTreeMap;

use crate::isa::multiprocessor::Multiprocessor;
use crate::parallel;
use crate::report::MeasureReport;
use crate::requests::{Facts, Known, Totals};
use crate::sass::access::Requests;
use crate::sass::opcodes::Latency;
use crate::sass::paths::{Counterpart, Counterparts};
use crate::sass::schedule::SCHEDULERS;
use crate::sass::timing::{Level, Timing};
use crate::sass::{cubin, measure, stream};

/// The facts about both versions of a kernel on the same path.
#[derive(Clone, Debug)]
pub struct Followed {
    architecture: u32,
    /// Of the original and of the rewritten one.
    known: [Known; 2],
}

/// Both versions of a kernel.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Their cycles.
    pub report: MeasureReport,
    /// If the rewritten one gives no unit less to do and gains by waiting less alone: the ratio of cycles up to which it
    /// is to come with all warps resident that fit ([`Timing::waiting`]).
    pub most_when_full: Option<f64>,
    /// The bytes that a lane loads on the path through the text by those of the original: 1 if the strategy leaves no load out and
    /// both paths are the same.
    pub loaded: f64,
}

/// The expectations about a rewritten kernel beside the original.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Expected {
    /// Its work by that of the original.
    pub work: f64,
    /// [`Compared::loaded`].
    pub loaded: f64,
    /// It gives no unit less to do, a unit of the original is always busy with many warps resident, and the architecture is
    /// one on which a gain with few warps alone does not count ([`Timing::waiting`]).
    pub waits_in_vain: bool,
    /// A path through it is too long for [`measured`].
    pub is_too_long: bool,
}

/// Cycles at most from an arithmetic instruction to one that uses its result.
const MAX_CYCLES: f64 = 6.0;

/// How many times one number another one is; 1 if there is nothing.
fn ratio(before: f64, after: f64) -> f64 {
    if before > 0.0 { after / before } else { 1.0 }
}

/// Whether the measure knows the architecture of a cubin.
pub fn is_measurable(cubin: &[u8]) -> bool {
    cubin::read(cubin).is_ok_and(|cubin| Timing::of(cubin.architecture).is_some())
}

/// The facts about the kernels that are in both versions of a text, on the same path.
pub fn followed(
    original: &BTreeMap<String, Facts>,
    rewritten: &BTreeMap<String, Facts>,
) -> BTreeMap<String, Followed> {
    let both = original.iter().filter_map(|(name, original)| {
        let rewritten = rewritten.get(name)?;
        let before = original.known(Counterpart::None);
        let after = rewritten.known(Counterpart::Original(&before.executed));
        // The original goes the way of the code that was rewritten.
        let before = original.known(Counterpart::Rewriting(&after.executed));
        let architecture = original.architecture();
        Some((name.clone(), Followed { architecture, known: [before, after] }))
    });
    both.collect()
}

/// The work of the rewritten version of each kernel by that of the original, before anything is assembled: of the units of a
/// multiprocessor (instructions of the text, load/store unit, bytes from the second-level cache and from memory), whose
/// cycles overlap in part, the root of the sum of squares.
pub fn expected(followed: &BTreeMap<String, Followed>) -> BTreeMap<String, Expected> {
    let both =
        followed.iter().filter_map(|(name, Followed { architecture, known: [before, after] })| {
            let timing = Timing::of(*architecture)?;
            let units = |work: &Totals| {
                let of = |level, bytes: f64| timing.bytes(level).map_or(0.0, |each| bytes / each);
                let moved = [of(Level::L2, work.from_l2), of(Level::Memory, work.from_memory)];
                [work.instructions / SCHEDULERS, work.lsu, moved[0], moved[1]]
            };
            let (old, new) = (units(&before.work), units(&after.work));
            let sum =
                |units: [f64; 4]| units.map(|cycles| cycles * cycles).iter().sum::<f64>().sqrt();
            let loaded = ratio(before.requests.loaded, after.requests.loaded);
            let work = ratio(sum(old), sum(new));
            // The longest that a warp can take, shared by half of the warps that fit.
            let waits = before.work.loads * f64::from(timing.latency(Latency::Global));
            let alone = waits + before.work.instructions * MAX_CYCLES;
            let warps = f64::from(Multiprocessor::of(*architecture)?.warps) / 2.0;
            let is_busy = alone / warps <= old.into_iter().fold(0.0, f64::max);
            let takes_less = old.iter().zip(new).any(|(old, new)| new < measure::LESS_BUSY * old);
            let waits_in_vain = timing.waiting < 1.0 && is_busy && !takes_less;
            let longest = before.work.instructions.max(after.work.instructions);
            let is_too_long = longest > stream::MAX_STEPS as f64;
            Some((name.clone(), Expected { work, loaded, waits_in_vain, is_too_long }))
        });
    both.collect()
}

/// The measures of the kernels that are `wanted`, by their names: from the machine code of both texts.
///
/// # Errors
/// Why a cubin cannot be read.
pub fn measured(
    [original, rewritten]: [&[u8]; 2],
    followed: &BTreeMap<String, Followed>,
    wanted: &[&str],
) -> Result<BTreeMap<String, Compared>, String> {
    let mut requests: [BTreeMap<String, Requests>; 2] = Default::default();
    for (name, both) in wanted.iter().filter_map(|name| Some((name, followed.get(*name)?))) {
        for (requests, known) in requests.iter_mut().zip(&both.known) {
            requests.insert((*name).to_owned(), known.requests.clone());
        }
    }
    let is_known = |name: &str| requests[0].contains_key(name);
    let executed = measure::executed(original, &is_known, &|_| Counterpart::None)?;
    let of_original =
        |name: &str| executed.get(name).map_or(Counterpart::None, Counterpart::Original);
    let executed_after = measure::executed(rewritten, &is_known, &of_original)?;
    let of_rewriting =
        |name: &str| executed_after.get(name).map_or(Counterpart::None, Counterpart::Rewriting);
    let versions: [(&[u8], _, &Counterparts<'_>); 2] =
        [(original, &requests[0], &of_rewriting), (rewritten, &requests[1], &of_original)];
    let measured = parallel::map(&versions, |(cubin, requests, counterparts)| {
        measure::measures(cubin, requests, counterparts)
    });
    let [old, new] = <[_; 2]>::try_from(measured).map_err(|_| "two versions")?;
    let (old, new) = (old?, new?);
    let waiting = Timing::of(cubin::read(original)?.architecture).map(|of| of.waiting);
    let both = old.into_iter().filter_map(|(name, old)| {
        let new = new.get(&name)?;
        // (ptxas may have made the same of both.)
        let waits_less = old != *new && !new.takes_less_than(&old);
        let [before, after] =
            requests.each_ref().map(|of| of.get(&name).map_or(0.0, |of| of.loaded));
        let loaded = ratio(before, after);
        let rewritten = new.cycles_per_warp.clone();
        let report = MeasureReport { original: old.cycles_per_warp, rewritten };
        Some((name, Compared { report, most_when_full: waiting.filter(|_| waits_less), loaded }))
    });
    Ok(both.collect())
}
