//! Faults in words: where a value was read that nobody has determined, and the other access of a race.

use super::access::AccessFault;
use super::machine::Machine;
use super::watch::Watch;
use crate::interp::fault::{Earlier, Fault};
use crate::interp::memory::{Conflict, Named, Race};
use crate::interp::poison::{Place, Source};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Function, Pc};
use crate::ptx::StateSpace;

/// The fault of a micro-operation at which something failed.
#[cold]
pub(super) fn fault_of(
    machine: &Machine<'_>,
    function: &Function,
    pc: Pc,
    watch: &Watch<'_>,
    failed: AccessFault,
    warp: u32,
) -> Fault {
    let AccessFault { lane, kind, message, outside, more_shared, poison, .. } = failed;
    let mut fault = Fault::new(kind, message).at(function.spans[pc]);
    fault.outside = outside;
    fault.more_shared = more_shared.unwrap_or_default();
    if let Some(race) = &watch.race {
        tell_other(machine, race, warp, &mut fault);
    }
    if let Some(source) = poison {
        tell_source(machine, source, &mut fault);
    }
    machine.blame(fault, warp, 1 << lane)
}

/// Adds to a fault where a value was read that nobody has determined.
pub(super) fn tell_source(machine: &Machine<'_>, source: Source, fault: &mut Fault) {
    let program = machine.program;
    let function = program.function(source.site());
    let (space, names, offset) = match source.place() {
        Place::Memory { space: StateSpace::Shared, offset } => {
            fault.unwritten = Some(offset);
            ("shared", program.layout.shared_names.as_slice(), offset)
        }
        Place::Memory { offset, .. } => {
            ("local", function.map_or(&[][..], |function| &function.locals), offset)
        }
        Place::Register(cell) => {
            let named = |(other, _): &&(Cell, String)| *other == cell;
            let name = function.and_then(|function| function.unwritten.iter().find(named));
            let name = name.map_or("?", |(_, name)| name);
            fault.message += &format!(" depends on `{name}`, which no instruction has written");
            let (span, what) = (program.span(source.site()), "the register is read here");
            let remedy = format!("write `{name}` on all paths that lead here");
            fault.earlier = Earlier::new(span, what, remedy);
            return;
        }
        Place::Symbol => {
            fault.message += " depends on symbolic data";
            let span = program.span(source.site());
            let what = "the last operation on it whose result is described";
            let remedy = "nothing is proved of an operation without a description in the algebra";
            fault.earlier = Earlier::new(span, what, remedy.to_owned());
            return;
        }
        Place::Shuffle { lane } => {
            fault.message += &format!(
                " depends on the register of lane {lane}, which takes no part in the shuffle that reads it"
            );
            let remedy = "a shuffle delivers anything from a lane that does not execute it together with the others";
            let (span, what) = (program.span(source.site()), "read by this shuffle");
            fault.earlier = Earlier::new(span, what, remedy.to_owned());
            return;
        }
    };
    fault.message += &format!(" depends on bytes of {space} memory that no thread has written");
    let inside = |name: &&Named| (name.offset..name.offset + name.size).contains(&offset);
    let mut declared = None;
    let remedy = match names.iter().find(inside) {
        Some(name) => {
            declared = Some(name.span);
            format!(
                "byte {} of `{}`, at offset {offset} of {space} memory",
                offset - name.offset,
                name.name
            )
        }
        None => format!("offset {offset} of {space} memory"),
    };
    let (span, what) = (program.span(source.site()), "the unwritten bytes are read here");
    fault.earlier = Some(Box::new(Earlier { span, what, remedy, declared, wrapped: None }));
}

/// Adds the other access of a race to a warp's fault.
fn tell_other(machine: &Machine<'_>, race: &Race, warp: u32, fault: &mut Fault) {
    let [x, y, z] = machine.thread(race.phase.warp, race.lane);
    let verb = if race.wrote { "wrote" } else { "read" };
    fault.message += &format!(" thread ({x}, {y}, {z})");
    if !race.same_block {
        let [x, y, z] = machine.block_at(race.phase.block);
        fault.message += &format!(" of block ({x}, {y}, {z})");
    }
    fault.message += &match race.conflict {
        Conflict::Copies => {
            " copies by `cp.async`, and that thread has not waited for the copy".to_owned()
        }
        Conflict::ReadOnly => {
            " wrote, and `.nc` is for memory that no thread of the launch writes".to_owned()
        }
        Conflict::Order => format!(
            " {verb}: both are volatile or relaxed, and the result depends on which lane of the warp comes first, which nothing guarantees"
        ),
        Conflict::Unordered => format!(" {verb}, and nothing orders the two"),
    };
    let remedy = match () {
        () if race.conflict == Conflict::ReadOnly => {
            "a load without `.nc` sees what was written: in CUDA leave out `__restrict__`, `__ldg` or `const`"
        }
        () if race.conflict == Conflict::Copies => {
            "the copying thread has to wait first (`cp.async.wait_group`, `cp.async.wait_all`), and a barrier has to follow if another thread goes on"
        }
        () if race.conflict == Conflict::Order => {
            "lanes of a warp do not stay in step by themselves; `__syncwarp()` (`bar.warp.sync`) between the two would order them"
        }
        () if !race.same_block => {
            "blocks are ordered by nothing but fences and atomics that acquire and release"
        }
        () if race.phase.warp != warp => "a barrier of the block (`bar.sync`) would order them",
        () => {
            "lanes of a warp are not ordered by running together; `bar.warp.sync` would order them"
        }
    };
    let span = machine.program.span(race.site);
    let what = match (race.conflict, race.wrote) {
        (Conflict::Copies, _) => "copied here",
        (_, true) => "written here",
        (_, false) => "read here",
    };
    fault.earlier = Earlier::new(span, what, remedy.to_owned());
}
