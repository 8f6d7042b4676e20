//! The cost of a kernel on a multiprocessor, as one number for each number of resident warps, by which two versions of
//! it are compared.
//!
//! In: the static schedule of a kernel, and the requests of its accesses to memory ([`Requests`]). Out: a [`Measure`]:
//! cycles of the multiprocessor on which warps execute the kernel beside each other ([`multiprocessor`]). It ranks
//! versions of one piece of code and predicts no time.

use std::collections::BTreeMap;

use serde::Serialize;

use super::access::{Access, Requests};
use super::code::{self, Function};
use super::cubin::{self, Usage};
use super::multiprocessor::{self, Launch};
use super::opcodes::{Pipe, Role};
use super::paths::{Counterparts, Histogram};
use super::resources::{self, USUAL_BLOCKS};
use super::schedule::{SCHEDULERS, Schedule};
use super::timing::{Level, Timing};
use crate::isa::limits::WARP_SIZE;
use crate::isa::multiprocessor::Multiprocessor;
use crate::parallel;

/// Warps of a launch that a multiprocessor executes: at most twice as many as fit on most, ...
pub const LAUNCHED: u32 = 128;

/// ... and for each of fewer that are resident, this many one after the other: more of them do the same once more.
const IN_TURN: u32 = 4;

/// A unit that is busy for less than this many times as long as before has got less to do.
pub const LESS_BUSY: f64 = 0.99;

/// Cycles of one execution of a kernel by a warp.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measure {
    /// Cycles of a warp that has the multiprocessor to itself.
    pub alone: f64,
    /// Cycles that it keeps each unit busy; `None` of caches and memory if nothing is known of the kernel's requests.
    pub busy: BTreeMap<&'static str, Option<f64>>,
    /// Cycles of the multiprocessor for each warp, by the number of resident warps: an eighth, a quarter and half of those
    /// that fit, and all.
    pub cycles_per_warp: BTreeMap<u32, f64>,
    /// By how much `busy` is to be multiplied if it is compared with that of another version: ptxas may have unrolled loops.
    #[serde(skip)]
    scale: f64,
}

impl Measure {
    /// Whether this version keeps some unit less busy than another one. If not, it gains only by waiting less.
    pub fn takes_less_than(&self, other: &Measure) -> bool {
        let of = |measure: &Measure, unit: &str| {
            measure.scale * measure.busy.get(unit).copied().flatten().unwrap_or(0.0)
        };
        let mut units = other.busy.keys();
        units.any(|unit| of(self, unit) < LESS_BUSY * of(other, unit))
    }

    /// The measure of a kernel; `None` if its path is too long, or not the one through the text. `requests`: those of its accesses, if they are known;
    /// `usage`: the resources of its blocks.
    pub fn new(
        schedule: &Schedule,
        architecture: u32,
        requests: Option<&Requests>,
        usage: &Usage,
    ) -> Option<Measure> {
        let is_known = requests.is_some();
        let nothing = Requests::default();
        let requests = requests.unwrap_or(&nothing);
        let timing = Timing::of(architecture)?;
        let steps = schedule.stream()?;
        let most = Multiprocessor::of(architecture).map(|on| resources::resident(on, usage));
        let block = usage.threads.unwrap_or(USUAL_BLOCKS[0]).div_ceil(WARP_SIZE);
        let alone = Launch { resident: 1, warps: 1, block: 1 };
        let scale = scale(&schedule.accesses(), requests)?;
        // Registers and shared memory may hold fewer.
        let fit = |resident: u32| resident.min(most.unwrap_or(resident)).max(1);
        let mut different: Vec<u32> = occupancies(architecture).map(fit).collect();
        different.dedup();
        let launches = different.iter().map(|&fit| Launch {
            resident: fit,
            warps: LAUNCHED.min(IN_TURN * fit),
            block: block.min(fit),
        });
        let launches: Vec<Launch> = [alone].into_iter().chain(launches).collect();
        let cycles = parallel::map(&launches, |&launch| {
            multiprocessor::cycles_per_warp(&steps, timing, requests, launch)
        });
        let with: BTreeMap<u32, f64> =
            different.into_iter().zip(cycles[1..].iter().copied()).collect();
        let of = |resident: u32| (resident, scale * with[&fit(resident)]);
        Some(Measure {
            alone: cycles[0],
            busy: busy(schedule, timing, requests, is_known),
            cycles_per_warp: occupancies(architecture).map(of).collect(),
            scale,
        })
    }
}

/// How many of its iterations through loops a path through the text makes for each of the path through the machine code:
/// ptxas may have unrolled a loop, and equally many of its iterations are followed in both. The bytes of a lane that
/// both load and store tell. ptxas leaves out loads whose value it has and stores that others overwrite, but adds none: so
/// the lesser of both ratios is believed.
/// `None` if only the text loads: then the two paths go different ways.
fn scale(accesses: &BTreeMap<Access, f64>, requests: &Requests) -> Option<f64> {
    use Role::{LoadGeneric, LoadGlobal, LoadShared, StoreGeneric, StoreGlobal, StoreShared};
    let of = |roles: [Role; 3]| -> f64 {
        let counted = accesses.iter().filter(|(access, _)| roles.contains(&access.role));
        counted.map(|(access, count)| f64::from(access.bytes) * count).sum()
    };
    let loaded = (requests.loaded, of([LoadGeneric, LoadGlobal, LoadShared]));
    let stored = (requests.stored, of([StoreGeneric, StoreGlobal, StoreShared]));
    if loaded.0 > 0.0 && loaded.1 == 0.0 {
        return None;
    }
    let known = [loaded, stored].into_iter().filter(|(text, code)| *text > 0.0 && *code > 0.0);
    let ratios = known.map(|(text, code)| text / code).filter(|_| requests.iterates);
    Some(ratios.min_by(f64::total_cmp).unwrap_or(1.0))
}

/// Cycles that a warp keeps each unit busy; those of caches and memory follow from requests that are known.
fn busy(
    schedule: &Schedule,
    timing: &Timing,
    requests: &Requests,
    is_known: bool,
) -> BTreeMap<&'static str, Option<f64>> {
    let mut busy: BTreeMap<&'static str, f64> = BTreeMap::new();
    busy.insert("issue", schedule.sum(|block| block.instructions as f64) / SCHEDULERS);
    let (mut queued, mut from_l2, mut from_memory) = (0.0, 0.0, 0.0);
    for (access, count) in schedule.accesses() {
        let request = requests.of(access);
        let fetch = request.cycles_of_fetch(timing.fetched_lines);
        let cycles = request.cycles + request.misses * (fetch - request.cycles);
        queued += count * (request.executed * cycles.max(1.0) - 1.0);
        from_l2 += count * request.executed * request.from_l2;
        from_memory += count * request.executed * request.from_memory;
    }
    for (pipe, cycles) in schedule.pipes() {
        *busy.entry(pipe.into()).or_default() += cycles;
    }
    *busy.entry(Pipe::Lsu.into()).or_default() += queued;
    let mut busy: BTreeMap<&'static str, Option<f64>> =
        busy.into_iter().map(|(unit, cycles)| (unit, Some(cycles))).collect();
    for (level, bytes) in [(Level::L2, from_l2), (Level::Memory, from_memory)] {
        let cycles = timing.bytes(level).map_or(0.0, |each| bytes / each);
        busy.insert(level.into(), is_known.then_some(cycles));
    }
    busy
}

/// The numbers of resident warps for which versions are compared: an eighth, a quarter and half of those that fit on a
/// multiprocessor, and all.
pub fn occupancies(architecture: u32) -> impl Iterator<Item = u32> {
    let most = Multiprocessor::of(architecture).map(|on| on.warps);
    most.into_iter().flat_map(|most| [8, 4, 2, 1].map(|part| most / part))
}

/// The measures of some kernels of a cubin, by the kernels' names; without those that are not known.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn measures(
    bytes: &[u8],
    requests: &BTreeMap<String, Requests>,
    counterparts: &Counterparts<'_>,
) -> Result<BTreeMap<String, Measure>, String> {
    let cubin = cubin::read(bytes)?;
    let of_function = |function: Function| {
        let requests = requests.get(&function.name)?;
        let usage = cubin.kernels.get(&function.name)?;
        let counterpart = counterparts(&function.name);
        let schedule = Schedule::new(&function, cubin.architecture, counterpart).ok()?;
        let measure = Measure::new(&schedule, cubin.architecture, Some(requests), usage)?;
        Some((function.name, measure))
    };
    Ok(parallel::map(code::functions(bytes)?, of_function).into_iter().flatten().collect())
}

/// The instructions that each of the kernels of a cubin that are `wanted` executes, by the kernels' names; without those
/// whose schedule is not known.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn executed(
    bytes: &[u8],
    wanted: &dyn Fn(&str) -> bool,
    counterparts: &Counterparts<'_>,
) -> Result<BTreeMap<String, Histogram>, String> {
    let cubin = cubin::read(bytes)?;
    let of_function = |function: Function| {
        if !wanted(&function.name) {
            return None;
        }
        let counterpart = counterparts(&function.name);
        let schedule = Schedule::new(&function, cubin.architecture, counterpart).ok()?;
        Some((function.name, schedule.executed))
    };
    Ok(code::functions(bytes)?.into_iter().filter_map(of_function).collect())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(loads_say_how_often_a_loop_is_unrolled);

    fn loads_say_how_often_a_loop_is_unrolled() {
        let access = |role, bytes| Access { role, bytes, guarded: false };
        let code = BTreeMap::from([
            (access(Role::LoadGlobal, 16), 4.0),
            (access(Role::LoadShared, 4), 16.0),
            (access(Role::StoreGlobal, 4), 1.0),
        ]);
        let text =
            |loaded, stored| Requests { loaded, stored, iterates: true, ..Requests::default() };
        // Half the iterations; ptxas has left out stores that are overwritten.
        assert_eq!(scale(&code, &text(64.0, 16.0)), Some(0.5));
        // It has left out three of four loads of the same bytes.
        assert_eq!(scale(&code, &text(512.0, 4.0)), Some(1.0));
        // Nothing is loaded: stores tell. Nothing is known: as it stands.
        assert_eq!(scale(&code, &text(0.0, 16.0)), Some(4.0));
        assert_eq!(scale(&code, &text(0.0, 0.0)), Some(1.0));
        assert_eq!(scale(&BTreeMap::new(), &text(64.0, 16.0)), None);
        assert_eq!(scale(&BTreeMap::new(), &text(0.0, 16.0)), Some(1.0));
        // Without a loop nothing is unrolled.
        let straight = Requests { iterates: false, ..text(64.0, 16.0) };
        assert_eq!(scale(&code, &straight), Some(1.0));
    }
}
