//! All blocks of a launch.

use super::block::{Block, Progress};
use super::machine::Machine;
use crate::interp::counters::Counters;
use crate::interp::fault::{Fault, FaultKind};

/// Instructions a block may execute before the next one gets a turn. Blocks that wait for each
/// other through global memory make progress because of it.
const TURN: u64 = 1 << 22;

/// What a launch has done, besides what it wrote to memory.
#[derive(Debug, Default)]
pub struct Executed {
    /// What it cost.
    pub counters: Counters,
    /// What it printed, block by block.
    pub printed: String,
}

/// Runs all blocks in order, or in turns where they take long.
///
/// # Errors
/// The kernel faults, or executes more than `limit` instructions.
pub fn run(machine: &Machine<'_>, limit: u64) -> Result<Executed, Fault> {
    let [x, y, z] = machine.grid;
    let mut waiting =
        (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])));
    let mut started: Vec<Block<'_>> = Vec::new();
    let mut executed = Executed::default();
    let mut spent = 0;
    let mut next = 0;
    loop {
        let mut block = match waiting.next() {
            Some(id) => Block::new(machine, id),
            None if started.is_empty() => return Ok(executed),
            None => {
                next %= started.len();
                started.remove(next)
            }
        };
        let before = block.counters.instructions;
        let progress = block.run(TURN)?;
        spent += block.counters.instructions - before;
        if spent > limit {
            let message = format!("the launch executed more than {limit} instructions");
            return Err(Fault::new(FaultKind::Limit, message));
        }
        match progress {
            Progress::Done => {
                executed.counters.add(&block.counters);
                executed.printed += &block.printed;
            }
            Progress::Running => {
                started.insert(next.min(started.len()), block);
                next += 1;
            }
        }
    }
}
