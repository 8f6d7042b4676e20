//! The part of a plan for loop-carried values: the code in front of the loop, in the place of the load, and at the
//! loop's end.

use super::recurrences::{LoopCarriedReuse, Start};
use super::slice::{SameAddress, Slice, Tested};
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, InstId, RegisterId};
use crate::isa::Qualifier::Eq;
use crate::isa::ScalarType::U64;
use crate::ptx::write::{Code, Reg, op};
use crate::rewrite::{Draft, Part, Planner, Prepared, line_end};

/// The code that one loop's recurrences share.
#[derive(Default)]
struct Shared {
    /// Copies of instructions in front of a loop or at its end: by the instruction that they stand at, their
    /// own and the iteration the register with the result.
    copies: FxHashMap<(InstId, InstId, u32), String>,
    /// By a loop's entry and the iterations, the predicate that values have been passed on and are the
    /// right ones.
    passed: FxHashMap<(InstId, u32), String>,
}

/// A store and the loads that it must not overlap: the bases of both, the bytes that the store writes, and those that
/// the loads read.
struct Rows {
    store: String,
    load: String,
    written: ByteRange,
    read: ByteRange,
}

/// The code that is added around a loop.
struct Lines {
    entry: Code,
    latch: Code,
}

/// A load whose value comes from an iteration before.
#[derive(Clone, Debug)]
struct CarriedLoad {
    /// The load's statement.
    span: Range<usize>,
    /// The text in its place.
    moves: String,
    /// The place in front of the loop, and the code there.
    entry: (usize, String),
    /// Where values are passed on to the next iteration, and the code.
    latches: Vec<(usize, String)>,
}

/// Plans the recurrences that have been chosen. Their code comes behind other patterns': the code in front of a loop is
/// executed after either version of the code before it.
pub(super) fn plan(
    recurrences: &[&LoopCarriedReuse],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let mut shared = Shared::default();
    let planned: Vec<CarriedLoad> = recurrences
        .iter()
        .map(|recurrence| planner.recurrence(recurrence, recurrences, &mut shared))
        .collect();
    let mut prepared = Prepared::default();
    for CarriedLoad { span, moves, entry, latches } in planned {
        prepared.left_out.push(span.clone());
        prepared.drafts.push(Draft { range: span, code: moves });
        let around = latches.into_iter().chain([entry]);
        prepared.drafts.extend(around.map(|(at, code)| Draft::insert(at, code)));
    }
    prepared.part()
}

impl Planner<'_, '_, '_, '_> {
    fn recurrence(
        &mut self,
        recurrence: &LoopCarriedReuse,
        all: &[&LoopCarriedReuse],
        shared: &mut Shared,
    ) -> CarriedLoad {
        let entry = if recurrence.falls_in { Code::behind() } else { Code::in_front() };
        let mut lines = Lines { entry, latch: Code::in_front() };
        let (mut moves, mut registers) = (Vec::new(), Vec::new());
        for (from, to) in &recurrence.pieces {
            let bits = to.register_bits;
            // From the newest to the one that is used now.
            let rounds: Vec<Reg> =
                (0..recurrence.distance).map(|_| self.plan.fresh.bits(bits)).collect();
            let sent = self.sent(
                recurrence.source,
                from.register,
                from.register_bits,
                &recurrence.latches,
            );
            let now = rotate(&rounds, &sent, &mut lines.latch);
            moves.push((bits, self.name(to.register), now.clone()));
            registers.push((to.register, now));
        }
        let own = &self.flow.insts[recurrence.load.inst];
        let moves = match &recurrence.start {
            Start::Loaded { slice, base } => {
                self.first(recurrence, (slice, *base), &registers, shared, &mut lines.entry);
                moves.iter().map(|(bits, to, now)| format!("mov.b{bits} {to}, {now};")).collect()
            }
            Start::Performed(_) => {
                let passed = self.passed(recurrence, all, shared, &mut lines);
                // A guard predicate that it may have always holds, and an instruction can have one only.
                let text = own.ast.opcode.span.start as usize..own.ast.span.end as usize;
                let load = format!("@!{passed} {}", self.plan.copied(text));
                // A register of the address is written behind the load only.
                let base = recurrence.pieces.iter().any(|(_, to)| {
                    own.args.iter().any(|arg| {
                    matches!(arg, Arg::Memory { base: Base::Register(r), .. } if *r == to.register)
                })
                });
                let when = if base { format!("@{passed} ") } else { String::new() };
                let mut texts: Vec<String> = moves
                    .iter()
                    .map(|(bits, to, now)| format!("{when}mov.b{bits} {to}, {now};"))
                    .collect();
                texts.insert(if base { 0 } else { texts.len() }, load);
                texts
            }
        };
        if planted!(Bug::NothingPassedOn) {
            lines.latch.text.clear();
        }
        self.placed(recurrence, moves.join("\n\t"), lines)
    }

    /// A recurrence's code with its places in the text.
    fn placed(&self, recurrence: &LoopCarriedReuse, moves: String, lines: Lines) -> CarriedLoad {
        let span = |inst: InstId| self.span(inst);
        let entry = match recurrence.falls_in {
            false => span(recurrence.entry).start,
            true => line_end(self.source.text(), span(recurrence.entry).end),
        };
        let latches = recurrence.latches.iter();
        CarriedLoad {
            span: span(recurrence.load.inst),
            moves,
            entry: (entry, lines.entry.text),
            latches: latches.map(|&latch| (span(latch).start, lines.latch.text.clone())).collect(),
        }
    }

    /// The predicate that the values of `distance` iterations before exist and are right: false at first, and the
    /// result of the tests once `distance` iterations have passed. Recurrences of the same distance in one loop share
    /// it.
    fn passed(
        &mut self,
        recurrence: &LoopCarriedReuse,
        all: &[&LoopCarriedReuse],
        shared: &mut Shared,
        lines: &mut Lines,
    ) -> String {
        let key = (recurrence.entry, recurrence.distance);
        if let Some(known) = shared.passed.get(&key) {
            return known.clone();
        }
        let sharing: Vec<&LoopCarriedReuse> = all
            .iter()
            .copied()
            .filter(|other| (other.entry, other.distance) == key)
            .filter(|other| matches!(other.start, Start::Performed(_)))
            .collect();
        let holds = self.tests(&sharing, shared, lines);
        let fresh = &mut self.plan.fresh;
        let rounds: Vec<Reg> = (0..recurrence.distance).map(|_| fresh.predicate()).collect();
        for round in &rounds {
            let first = if planted!(Bug::PassedAtOnce) { "-1" } else { "0" };
            lines.entry.put(op!(Mov.Pred), &[round, &first]);
        }
        let now = rotate(&rounds, &holds, &mut lines.latch);
        shared.passed.insert(key, now.clone());
        now
    }

    /// All tests of some recurrences; returns their conjunction at the loop's end.
    fn tests(
        &mut self,
        recurrences: &[&LoopCarriedReuse],
        shared: &mut Shared,
        lines: &mut Lines,
    ) -> String {
        let mut holds: Option<Reg> = None;
        if !planted!(Bug::NoApartTest) {
            for rows in self.rows_apart(recurrences, shared, lines) {
                holds = Some(self.test_apart(&rows, holds, lines));
            }
        }
        if planted!(Bug::NoAddressTest) {
            return holds.map_or_else(|| "-1".to_owned(), String::from);
        }
        let mut done: Vec<(String, String, i64)> = Vec::new();
        // Those in front of the loop come before those at its end.
        for at_end in [false, true] {
            for recurrence in recurrences {
                let Start::Performed(Some(test)) = &recurrence.start else { continue };
                if matches!(test.source, Tested::Always(_)) != at_end {
                    continue;
                }
                let code = if at_end { &mut lines.latch } else { &mut lines.entry };
                let tested = self.tested(recurrence, test, shared, code);
                if !done.contains(&tested) {
                    holds = Some(self.test_same(&tested, holds, code));
                    done.push(tested);
                }
            }
        }
        holds.map_or_else(|| "-1".to_owned(), String::from)
    }

    /// The test that two addresses are equal, in conjunction with the tests before.
    fn test_same(
        &mut self,
        (a, b, ahead): &(String, String, i64),
        known: Option<Reg>,
        code: &mut Code,
    ) -> Reg {
        let fresh = &mut self.plan.fresh;
        let a = match ahead {
            0 => a.clone(),
            _ => code.set(fresh.bits(64), op!(Add.S64), &[a, ahead]).into(),
        };
        code.compare(fresh, (Eq, U64), [&a, b], known.as_deref())
    }

    /// The bytes that must not overlap for some recurrences: for each store and each base of loads one row of bytes.
    fn rows_apart(
        &mut self,
        recurrences: &[&LoopCarriedReuse],
        shared: &mut Shared,
        lines: &mut Lines,
    ) -> Vec<Rows> {
        let mut all: Vec<Rows> = Vec::new();
        for recurrence in recurrences {
            let results =
                self.copies(recurrence.entry, &recurrence.apart.slice, shared, &mut lines.entry);
            for pair in &recurrence.apart.pairs {
                let [(store, written), (load, read)] = [pair.store, pair.load].map(|place| {
                    let (own, _) = self.address(place.inst);
                    let base = place.base.map_or(own, |step| results[step].clone());
                    (base, self.bytes_at(place.inst, place.bytes))
                });
                let hull = |row: &Rows| {
                    let is_same = row.store == store && row.load == load && row.written == written;
                    row.read.hull(read).filter(|_| is_same)
                };
                match all.iter_mut().find_map(|row| hull(row).map(|hull| (row, hull))) {
                    Some((row, hull)) => row.read = hull,
                    None => all.push(Rows { store, load, written, read }),
                }
            }
        }
        all
    }

    /// The test that a store does not overlap the loads' bytes, in conjunction with the tests before.
    fn test_apart(&mut self, rows: &Rows, known: Option<Reg>, lines: &mut Lines) -> Reg {
        let test = rows.written.separation(rows.read);
        let (fresh, places) = (&mut self.plan.fresh, [&*rows.store, &*rows.load]);
        lines.entry.apart(fresh, places, test, known.as_deref())
    }

    /// The operands of a test: the base of the load's address some iterations on, that of the source's, and how
    /// much further the load reads from its base than the source from its own.
    fn tested(
        &mut self,
        recurrence: &LoopCarriedReuse,
        test: &SameAddress,
        shared: &mut Shared,
        lines: &mut Code,
    ) -> (String, String, i64) {
        let place = match test.source {
            Tested::Once(_) => recurrence.entry,
            Tested::Always(_) => recurrence.latches[0],
        };
        let results = self.copies(place, &test.slice, shared, lines);
        let base = |step: Option<usize>, inst: InstId| match step {
            Some(step) => results[step].clone(),
            None => self.address(inst).0,
        };
        let load = base(test.load, recurrence.load.inst);
        let source = match test.source {
            Tested::Once(step) => base(step, recurrence.source),
            Tested::Always(register) => {
                self.sent(recurrence.source, register, 64, &recurrence.latches)
            }
        };
        let (own, its) = (self.address(recurrence.load.inst).1, self.address(recurrence.source).1);
        (load, source, own.wrapping_sub(its))
    }

    /// Copies of instructions at a place; gives the register with each step's result.
    fn copies(
        &mut self,
        place: InstId,
        slice: &Slice,
        shared: &mut Shared,
        lines: &mut Code,
    ) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        for step in slice {
            let key = (place, step.inst, step.iteration);
            if let Some(known) = shared.copies.get(&key) {
                results.push(known.clone());
                continue;
            }
            let uses = step.uses.iter();
            let uses =
                uses.filter_map(|(register, from)| Some((*register, results[(*from)?].clone())));
            let fresh = self.copied_inst(step.inst, &uses.collect::<Vec<_>>(), lines);
            shared.copies.insert(key, fresh.clone());
            results.push(fresh);
        }
        results
    }

    /// The load of the first iteration's value, behind copies of the instructions that compute its address.
    fn first(
        &mut self,
        recurrence: &LoopCarriedReuse,
        (slice, base): (&Slice, Option<usize>),
        registers: &[(RegisterId, String)],
        shared: &mut Shared,
        lines: &mut Code,
    ) {
        let results = self.copies(recurrence.entry, slice, shared, lines);
        let flow = self.flow;
        let inst = &flow.insts[recurrence.load.inst];
        let ast = inst.ast;
        // The destinations, each with the rotating register in its place.
        let rounds: FxHashMap<RegisterId, String> = registers.iter().cloned().collect();
        let mut names: FxHashMap<RegisterId, String> = FxHashMap::default();
        if let (Some(step), Some(Arg::Memory { base: Base::Register(register), .. })) =
            (base, inst.args.get(1))
        {
            names.insert(*register, results[step].clone());
        }
        let (to, address) = (ast.operands[0].span(), ast.operands[1].span());
        let mut address = self.plan.copied_with_registers(address.range(), &names);
        if planted!(Bug::FirstOfAnother) {
            let other = flow.insts[recurrence.source].ast.operands[1].span();
            address = self.plan.copied_with_registers(other.range(), &names);
        }
        let to = self.plan.copied_with_registers(to.range(), &rounds);
        lines.line(&format!("{} {to}, {address};", ast.opcode.text));
    }
}

/// Moves what rotating registers hold to the next, `newest` into the first; gives the last, which is used now.
fn rotate(rounds: &[Reg], newest: &str, latch: &mut Code) -> String {
    let move_on = |older: &Reg, newer: &str, latch: &mut Code| {
        latch.put(op!(Mov.(older.ty)), &[older, &newer]);
    };
    for pair in rounds.windows(2).rev() {
        move_on(&pair[1], &pair[0], latch);
    }
    move_on(&rounds[0], newest, latch);
    rounds[rounds.len() - 1].to_string()
}
