//! All blocks of a launch: one after the other, or side by side if the results cannot show it.
//!
//! Side by side means: the grid is cut into as many parts as there are threads, all parts work on the
//! same memory, and each part notes which words it touched. If no part touched a word that another
//! wrote, any order would have given the same result. Otherwise, or if anything faulted, the launch
//! runs again from the start, in order. So the outcome never depends on timing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::block::{Block, Progress};
use super::machine::Machine;
use crate::interp::counters::Total;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::{Reports, Shadow};
use crate::parallel;

/// Instructions that a block may execute before another one gets a turn, so that blocks which wait for
/// each other through global memory get on.
const TURN: u64 = 1 << 18;

/// Blocks that may be under way at a time, as many as fit on a large device.
const RESIDENT: usize = 256;

/// The maximum size of watched buffers in bytes; the stamps take six times as much.
const WATCHED: u64 = 1 << 29;

/// The outcome of a launch, besides memory.
#[derive(Debug)]
pub(crate) struct Executed<C> {
    /// The events that were counted.
    pub counters: C,
    /// Instructions of warps.
    pub steps: u64,
    /// The printed text of each block.
    pub printed: BTreeMap<u64, String>,
}

impl<C: Total> Executed<C> {
    fn new(machine: &Machine<'_>) -> Executed<C> {
        Executed { counters: C::new(machine.program), steps: 0, printed: BTreeMap::new() }
    }
}

fn watched(machine: &Machine<'_>) -> bool {
    machine.global.in_windows().iter().map(|region| region.len).sum::<u64>() <= WATCHED
}

/// The stamps of all memory; `whole`: all blocks run.
fn shadow(machine: &Machine<'_>, races: bool, whole: bool) -> Shadow {
    let regions = machine.global.regions().iter().map(|region| region.len);
    let program = machine.program;
    let reports = match (races, machine.watched_byte) {
        (false, _) => Reports::Nothing,
        (true, None) => Reports::All,
        (true, Some(byte)) => Reports::Shared(byte),
    };
    Shadow::new(regions, (program.layout.shared_bytes, whole), (reports, program.orders))
}

/// Runs all blocks in order. With `races`, unordered accesses of different threads are faults.
///
/// # Errors
/// The kernel faults, or executes more than `limit` instructions.
pub(crate) fn run<C: Total>(
    machine: &Machine<'_>,
    limit: u64,
    races: bool,
) -> Result<Executed<C>, Fault> {
    let watches = races && !machine.program.heap && watched(machine);
    let mut shadow = watches.then(|| shadow(machine, races, true));
    run_part(machine, 0..machine.blocks(), limit, &mut shadow)
}

/// As [`run`], for some blocks alone; however large buffers are, all accesses are watched.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_blocks<C: Total>(
    machine: &Machine<'_>,
    blocks: &[u64],
    limit: u64,
    races: bool,
) -> Result<Executed<C>, Fault> {
    let watches = races && !machine.program.heap;
    let mut shadow = watches.then(|| shadow(machine, races, false));
    run_part(machine, blocks.iter().copied(), limit, &mut shadow)
}

/// Runs all blocks side by side. `None`: memory is in an undefined state, and the launch has to
/// run in order.
pub(crate) fn run_side_by_side<C: Total>(
    machine: &Machine<'_>,
    limit: u64,
    races: bool,
) -> Option<Executed<C>> {
    let parts = (parallel::threads() as u64).min(machine.blocks());
    if parts < 2 || !machine.program.plain || !watched(machine) {
        return None;
    }
    let step = machine.blocks().div_ceil(parts);
    let ranges: Vec<Range<u64>> =
        (0..parts).map(|part| part * step..((part + 1) * step).min(machine.blocks())).collect();
    let results = parallel::map(&ranges, |range| {
        let mut shadow = Some(shadow(machine, races, true));
        let executed = run_part(machine, range.clone(), limit, &mut shadow).ok()?;
        Some((executed, shadow?))
    });
    let results: Vec<(Executed<C>, Shadow)> = results.into_iter().collect::<Option<_>>()?;
    for (index, (_, shadow)) in results.iter().enumerate() {
        if results[..index].iter().any(|(_, other)| shadow.meets(other)) {
            return None;
        }
    }
    let mut whole = Executed::<C>::new(machine);
    for (executed, _) in results {
        whole.steps += executed.steps;
        whole.counters.merge(&executed.counters);
        whole.printed.extend(executed.printed);
    }
    (whole.steps <= limit).then_some(whole)
}

/// Runs some blocks in order; a block that runs for long lets others have a turn.
fn run_part<C: Total>(
    machine: &Machine<'_>,
    blocks: impl Iterator<Item = u64>,
    limit: u64,
    shadow: &mut Option<Shadow>,
) -> Result<Executed<C>, Fault> {
    let mut waiting = blocks;
    let mut started: VecDeque<Block<'_, C>> = VecDeque::new();
    let mut executed = Executed::new(machine);
    loop {
        let number = if started.len() < RESIDENT { waiting.next() } else { None };
        let (fresh, mut block) = match number {
            Some(number) => {
                (true, Block::new(machine, machine.block_at(number), C::new(machine.program)))
            }
            None => match started.pop_front() {
                Some(block) => (false, block),
                None => return Ok(executed),
            },
        };
        if let Some(shadow) = shadow {
            // A block that goes on after an interruption has lost its stamps: that can hide a race in
            // shared memory, not invent one.
            if fresh || !started.is_empty() {
                shadow.next_block();
            }
        }
        let before = block.steps;
        let turn = TURN.min(limit.saturating_sub(executed.steps).saturating_add(1));
        let progress = block.run(turn, shadow);
        executed.steps += block.steps - before;
        let progress = progress.map_err(|fault| Fault { steps: executed.steps, ..fault })?;
        if executed.steps > limit {
            let message =
                format!("the launch has executed more than {limit} instructions, its limit");
            let fault = Fault { steps: executed.steps, ..Fault::new(FaultKind::Limit, message) };
            return Err(block.spinning(fault));
        }
        match progress {
            Progress::Done => {
                executed.counters.merge(&block.counters);
                if let Some(world) = machine.world {
                    world.state().memory.end_block(machine.number(block.id));
                }
                executed.printed.insert(machine.number(block.id), block.printed);
            }
            Progress::Running => started.push_back(block),
        }
    }
}
