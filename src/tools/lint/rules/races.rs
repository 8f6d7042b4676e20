//! `race`: accesses of two threads to the same bytes that nothing orders.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::InstId;
use crate::emulate::{Effect, effect};
use crate::ptx::FunctionKind;

/// Races of shared memory for which two threads can be named.
pub(super) fn proved(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    if subject.function.kind != FunctionKind::Entry {
        return Vec::new();
    }
    let found = subject.traffic.races.iter().map(|race| {
        let writes = |inst: InstId| effect(subject.inst(inst)) == Effect::Store;
        let [first, second] = [race.first, race.second];
        let verb = |inst: InstId| if writes(inst) { "writes" } else { "reads" };
        Found {
            rule: Rule::Race,
            level: Level::Warning,
            inst: second.inst,
            message: format!(
                "thread {} {} what thread {} {} at {}, and nothing orders the two",
                thread(second.thread),
                verb(second.inst),
                thread(first.thread),
                verb(first.inst),
                subject.place(first.inst)
            ),
            label: race.in_warp.then(|| "lanes of a warp are not ordered by running together".to_owned()),
            help: match race.in_warp {
                true => "put `__syncwarp()` between the two, or `__syncthreads()` if other warps take part",
                false => "put `__syncthreads()` between the two",
            }
            .to_owned(),
            waste: 0,
        }
    });
    found.collect()
}

/// `(3)`, `(0, 1)`: without the zeros at the end.
fn thread(index: [i64; 3]) -> String {
    let length = index.iter().rposition(|&one| one != 0).map_or(1, |last| last + 1);
    let parts: Vec<String> = index[..length].iter().map(ToString::to_string).collect();
    format!("({})", parts.join(", "))
}
