//! Small random sketches: the search finds what trying every member of every family finds, and families yield
//! within masks exactly those members that lie within them.

use std::fmt::Write as _;

use ptxasw::source::SourceFile;
use ptxasw::synth::family::Wanted;
use ptxasw::synth::program::{CellId, Guard, Hole, HoleId, Program, Statement, Table};
use ptxasw::synth::search::{Limits, Mode, search};
use ptxasw::synth::term::{TermId, UNDEFINED};
use ptxasw::synth::{lower::lower, parse};
use typed_index_collections::{TiSlice, TiVec};

/// The most choices of tables that are tried for one sketch.
const MOST: usize = 8000;

/// How many sketches are solved both ways, and with how many choices each at most.
const SKETCHES: [(usize, usize); 2] = [(300, MOST), (9700, 300)];

/// How many threads do that.
const THREADS: u64 = 4;

fn pick<'c>(random: &mut fastrand::Rng, choices: &[&'c str]) -> &'c str {
    choices[random.usize(..choices.len())]
}

/// A hole along `axis`, which may depend on `other`.
fn hole(random: &mut fastrand::Rng, axis: &str, other: &str) -> String {
    let family = pick(random, &["xform", "xform", "rot", "unit", "xor", "linear", "part", "table"]);
    match (family, random.bool()) {
        ("table", _) | (_, true) => format!("?{family}({axis})"),
        ("part", false) => format!("?part({axis}, {other})"),
        (_, false) => format!("?{family}({axis}; {other})"),
    }
}

/// A sketch of two or three steps, and of a fold behind them half of the time.
fn sketch(random: &mut fastrand::Rng) -> String {
    let (lanes, registers) = (random.usize(2..=4), random.usize(1..=3));
    let mut text = format!(
        "axis lane = {lanes}, reg = {registers}\ninput x[lane * reg], w[reg]\n\
         load a0[lane, reg] = x[{lanes} * reg + lane]\n"
    );
    let steps = random.usize(1..=3);
    for step in 1..=steps {
        let (along, other) = if random.bool() { ("lane", "reg") } else { ("reg", "lane") };
        let hole = hole(random, along, other);
        let index = if along == "lane" { format!("{hole}, reg") } else { format!("lane, {hole}") };
        let (to, from) = if random.u8(..4) == 0 {
            (index.as_str(), "lane, reg")
        } else {
            ("lane, reg", &*index)
        };
        let _ = writeln!(text, "step a{step}[{to}] = a{}[{from}]", step - 1);
    }
    let (turn, all) = (random.usize(..lanes), lanes * registers);
    let index = match random.u8(..5) {
        0 => format!("{registers} * lane + reg"),
        1 => format!("{lanes} * reg + (lane + {turn}) % {lanes}"),
        2 => format!("{lanes} * ((reg + lane) % {registers}) + lane"),
        3 => format!("({lanes} * reg + lane + {turn}) % {all}"),
        _ => format!("{lanes} * reg + lane * {turn} % {lanes}"),
    };
    if random.bool() {
        let _ = writeln!(text, "goal a{steps}[lane, reg] = x[{index}]");
        return text;
    }
    let operator = pick(random, &["sum", "sum", "xor", "max"]);
    let weight = pick(random, &["", "w[reg] * "]);
    let condition = pick(random, &["", " when ?cond(lane, reg)", " when reg <= lane"]);
    let wanted = pick(random, &["", " when reg <= lane", " when lane > 0"]);
    let _ = writeln!(text, "fold y[lane] = {operator}(reg) {weight}a{steps}[lane, reg]{condition}");
    let _ = writeln!(text, "goal y[lane] = {operator}(reg) {weight}x[{index}]{wanted}");
    text
}

/// Every member of a hole's family, in its order.
fn members(hole: &Hole, most: usize) -> Vec<Table> {
    let all = (1u64 << hole.values) - 1;
    let masks = vec![all; hole.points()];
    let wanted = Wanted { masks: &masks, first_differ: false, second_differ: false };
    let mut found = Vec::new();
    hole.family.each(&wanted, &mut |table, _| {
        found.push(Table::from(table.to_vec()));
        found.len() <= most
    });
    found
}

/// Whether the goals are met with these tables, statement by statement.
fn solves(program: &mut Program, tables: &TiSlice<HoleId, &Table>) -> bool {
    let mut holds: TiVec<CellId, TermId> = program.initial.clone();
    holds.resize(program.cells, UNDEFINED);
    for statement in &program.statements {
        match statement {
            Statement::Move { hole, edges, .. } => {
                let table = tables[*hole];
                for edge in edges.iter().filter(|e| table[e.point] == e.value) {
                    if holds[edge.target] != UNDEFINED {
                        return false;
                    }
                    holds[edge.target] = holds[edge.source];
                }
            }
            Statement::Fold { op, slots, made, .. } => {
                for (at, slots) in slots.iter().enumerate() {
                    let mut values = Vec::new();
                    for slot in slots {
                        let part = match slot.guard {
                            Guard::Always => true,
                            Guard::Hole(hole, point) => tables[hole][point] == 1,
                        };
                        if part {
                            let factors: Vec<TermId> =
                                slot.factors.iter().map(|&cell| holds[cell]).collect();
                            values.push(program.terms.product(&factors));
                        }
                    }
                    holds[made.cell(at)] = program.terms.fold(*op, &values);
                }
            }
        }
    }
    program.goals.iter().all(|goal| holds[goal.cell] == goal.term)
}

/// All solutions by trying all choices; `None` where there are too many of them.
fn brute(program: &Program, most: usize) -> Option<Vec<TiVec<HoleId, Table>>> {
    let mut members: Vec<Vec<Table>> = Vec::new();
    for hole in &program.holes {
        members.push(self::members(hole, most));
        // Most sketches have far too many choices, which the first holes tell.
        if members.iter().map(Vec::len).product::<usize>() > most {
            return None;
        }
    }
    let choices = members.iter().try_fold(1usize, |all, own| all.checked_mul(own.len()))?;
    let mut program = program.clone();
    let mut found = Vec::new();
    for number in 0..choices {
        let mut rest = number;
        let mut tables: TiVec<HoleId, &Table> = TiVec::new();
        for own in members.iter().rev() {
            tables.push(&own[rest % own.len()]);
            rest /= own.len();
        }
        tables.reverse();
        if solves(&mut program, &tables) {
            found.push(tables.into_iter().cloned().collect());
        }
    }
    Some(found)
}

/// Solves random sketches both ways: how many have a solution, and how many have several.
fn compared(seed: u64, count: usize, most: usize) -> (usize, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut compared, mut solved, mut several) = (0, 0, 0);
    while compared < count {
        let text = sketch(&mut random);
        let source = SourceFile::new("sketch", text.as_str());
        let tree = parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let mut lowered = lower(&source, &tree, &[], 3).unwrap_or_else(|error| panic!("{error}"));
        let Some(expected) = brute(&lowered.program, most) else { continue };
        let limits = Limits {
            mode: Mode::All,
            tables: u64::MAX,
            solutions: MOST,
            stop: None,
            progress: None,
        };
        let found = search(&mut lowered.program, &limits);
        assert!(found.exhaustive, "{text}");
        assert_eq!(found.unsat.is_some(), expected.is_empty(), "{text}");
        let mut actual: Vec<_> = found.solutions.into_iter().map(|found| found.tables).collect();
        let mut sorted = expected.clone();
        actual.sort();
        sorted.sort();
        assert_eq!(actual, sorted, "{text}");
        compared += 1;
        solved += usize::from(!expected.is_empty());
        several += usize::from(expected.len() > 1);
    }
    (solved, several)
}

#[test]
fn the_search_finds_what_trying_everything_finds() {
    let (mut all, mut solved, mut several) = (0, 0, 0);
    std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            scope.spawn(move || {
                SKETCHES.map(|(count, most)| {
                    compared(17 + thread + most as u64, count / THREADS as usize, most)
                })
            })
        });
        let threads: Vec<_> = threads.collect();
        for thread in threads {
            for found in thread.join().expect("the sketches have equal solutions") {
                solved += found.0;
                several += found.1;
            }
        }
    });
    SKETCHES.iter().for_each(|(count, _)| all += count);
    assert!(solved > all / 10 && several > all / 20, "{solved} solved, {several} often");
    assert!(solved < all * 4 / 5, "{solved} of {all} solved");
}

#[test]
fn families_yield_the_members_within_masks_and_no_others() {
    let mut random = fastrand::Rng::with_seed(18);
    let mut kept = 0;
    for family in ["xform", "rot", "linear", "unit", "xor", "cond", "part", "fit", "fit1"] {
        for [first, second, values] in [[4, 1, 4], [4, 3, 4], [3, 4, 3], [6, 2, 3], [2, 6, 12]] {
            let values = if family == "cond" { 2 } else { values };
            let names = ["lane".to_owned(), "reg".to_owned()];
            let request = ptxasw::synth::family::Request {
                extents: [first, second],
                values,
                space: 3,
                names: &names,
            };
            let own = ptxasw::synth::family::Family::named(family, &request, &[]);
            let own = own.unwrap_or_else(|| panic!("{family} is not a family"));
            let collect = |masks: &[u64]| {
                let wanted = Wanted { masks, first_differ: false, second_differ: false };
                let mut found = Vec::new();
                own.each(&wanted, &mut |table, recipe| {
                    found.push((table.to_vec(), own.expression(table, &recipe).to_string()));
                    found.len() < 2000
                });
                found
            };
            let all = collect(&vec![(1 << values) - 1; first * second]);
            if all.is_empty() || all.len() == 2000 {
                continue;
            }
            for _ in 0..20 {
                // Masks around a member, so that something is left.
                let around = &all[random.usize(..all.len())].0;
                let masks: Vec<u64> = around
                    .iter()
                    .map(|value| 1 << value | random.u64(..1 << values) | random.u64(..1 << values))
                    .collect();
                let within =
                    |t: &[u8]| t.iter().zip(&masks).all(|(value, mask)| mask >> value & 1 == 1);
                let mut expected: Vec<_> =
                    all.iter().filter(|(table, _)| within(table)).map(|(table, _)| table).collect();
                let found = collect(&masks);
                let mut found: Vec<_> = found.iter().map(|(table, _)| table).collect();
                kept += found.len();
                expected.sort();
                found.sort();
                assert_eq!(found, expected, "{family} of {first}, {second}, {values}");
            }
        }
    }
    assert!(kept > 1000, "{kept} members");
}
