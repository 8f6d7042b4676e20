//! Poison in instructions that lanes of a warp execute together: values move with it, and a result to which many lanes
//! contribute depends on all of them.

use super::collective::{Gathered, Outcome, reduce, shuffle_source};
use super::machine::Machine;
use super::warp::Warp;
use crate::interp::poison::{Poison, Source, contributed, whole};
use crate::interp::program::{CollectiveKind, Reduction};
use crate::interp::registers::{File, LANES, Mask, lanes};
use crate::interp::symbol::Symbol;

/// The poisoned bits of each lane, and where they come from.
type Row = [(u64, Source); LANES];

/// The poison of the results of the lanes that take part.
fn results(kind: CollectiveKind, all: &Gathered, outcome: &Outcome, given: &Row, own: u32) -> Row {
    let mut row = [(0, Source::default()); LANES];
    if let CollectiveKind::Shuffle(mode) = kind {
        for lane in lanes(all.lanes) {
            row[lane] = match outcome.absent[lane] {
                Some(absent) => (u64::MAX, Source::shuffle(own, absent.into())),
                None => given[shuffle_source(mode, lane, all.b[lane], all.c[lane]).0],
            };
        }
        return row;
    }
    let poisoned = lanes(all.lanes).filter(|&lane| given[lane].0 != 0);
    let poisoned = poisoned.fold(0, |mask: Mask, lane| mask | 1 << lane);
    let Some(first) = lanes(poisoned).next() else { return row };
    let clean = all.lanes & !poisoned;
    let holds =
        lanes(clean).filter(|&lane| all.a[lane] != 0).fold(0, |m: Mask, lane| m | 1 << lane);
    let decided = match kind {
        CollectiveKind::All => holds != clean,
        CollectiveKind::Any => holds != 0,
        CollectiveKind::Uni => holds != 0 && holds != clean,
        _ => false,
    };
    let bits = match kind {
        _ if decided => 0,
        CollectiveKind::Ballot => u64::from(poisoned),
        CollectiveKind::Redux(operation) => of_reduction(operation, all, given),
        _ => u64::MAX,
    };
    lanes(all.lanes).for_each(|lane| row[lane] = (bits, given[first].1));
    row
}

/// The bits of a reduction that may depend on poison. An extremum, or a bit of an `and` or `or`, never falls where an
/// operand grows, so it is determined if it is the same for the least and the greatest values.
fn of_reduction(operation: Reduction, all: &Gathered, given: &Row) -> u64 {
    use Reduction::{And, MaxS, MaxU, MinS, MinU, Or};
    if !matches!(operation, And | MaxS | MaxU | MinS | MinU | Or) {
        return u64::MAX;
    }
    let sign = if matches!(operation, MaxS | MinS) { 1 << 31 } else { 0 };
    let end = |set: u32| {
        let values = lanes(all.lanes).map(|lane| {
            let (value, bits) = (all.a[lane] as u32, given[lane].0 as u32);
            value & !bits | bits & set
        });
        reduce(operation, values)
    };
    let differing = u64::from(end(sign) ^ end(!sign));
    match operation {
        And | Or => differing,
        _ if differing == 0 => 0,
        _ => u64::MAX,
    }
}

impl Warp {
    /// Propagates poison from the lanes' operands to their results.
    pub(super) fn spread_poison(
        &mut self,
        machine: &Machine<'_>,
        parts: &[(usize, Mask)],
        kind: CollectiveKind,
        all: &Gathered,
        outcome: &Outcome,
    ) {
        let holds =
            |&(group, _): &(usize, Mask)| self.frames[self.groups[group].frame].poison.is_some();
        let absent = lanes(all.lanes).any(|lane| outcome.absent[lane].is_some());
        if !absent && !parts.iter().any(holds) {
            return;
        }
        let mut given: Row = [(0, Source::default()); LANES];
        let mut symbols = [[Symbol::NONE; 2]; LANES];
        for &(group, executing) in parts {
            let Some(cell) = self.collective(machine, group).and_then(contributed) else {
                continue;
            };
            let Some(poison) = &self.frames[self.groups[group].frame].poison else { continue };
            for lane in lanes(executing & poison.lanes(cell)) {
                given[lane] = (poison.bits(cell, lane), poison.source(cell, lane));
                let value = poison.value_of(cell, lane, 0);
                if !value.lost && cell.0 == File::W32 {
                    symbols[lane] = [value.parts[0], value.parts[1]];
                }
            }
        }
        for &(group, executing) in parts {
            let Some(collective) = self.collective(machine, group) else { continue };
            let function = self.function(machine, group);
            let site = function.site(self.groups[group].pc);
            let row = results(kind, all, outcome, &given, site);
            let frame = &mut self.frames[self.groups[group].frame];
            let any = lanes(executing).any(|lane| row[lane].0 != 0);
            if !any && frame.poison.is_none() {
                continue;
            }
            let poison = frame.poison.get_or_insert_with(|| Box::new(Poison::new(&function.frame)));
            let votes =
                matches!(kind, CollectiveKind::All | CollectiveKind::Any | CollectiveKind::Uni);
            let d = collective.d.map(|d| (if votes { File::Pred } else { File::W32 }, d));
            // The predicate of a shuffle tells whether the lane was in range.
            let shuffles = matches!(kind, CollectiveKind::Shuffle(_));
            let p = collective.p.map(|p| (File::Pred, p));
            for (cell, known) in [(d, false), (p, shuffles)] {
                let Some(cell) = cell else { continue };
                poison.clear(cell, executing);
                for lane in lanes(executing).filter(|_| !known) {
                    let (bits, source) = row[lane];
                    let bits =
                        if cell.0 == File::Pred && bits != 0 { whole(File::Pred) } else { bits };
                    poison.add(cell, lane, bits, source);
                    if let (CollectiveKind::Shuffle(mode), true) = (kind, bits != 0)
                        && outcome.absent[lane].is_none()
                        && cell.0 == File::W32
                    {
                        let (b, c) = (all.b[lane], all.c[lane]);
                        let parts = &symbols[shuffle_source(mode, lane, b, c).0];
                        poison.set_parts(cell, lane, parts);
                    }
                }
            }
        }
    }
}
