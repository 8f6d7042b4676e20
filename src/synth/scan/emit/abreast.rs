//! The code of an operator on many lists abreast, beside its serial loop.
//!
//! In: trials that differ in their seeds alone. Out: how much was compared, or the number of a trial one of whose
//! results is not the loop's; or nothing, and then each trial has to be executed by itself.

use super::Code;
use super::check::{Kernels, Trial, agree, launch, listed, sized};
use super::serial::{LISTS, Serial, Values};
use crate::interp::{Columns, Plan, Room, Row};
use crate::launch::Launch;
use crate::synth::scan::subject::Kind;

/// Sheets of 32 lists that are executed at a time.
const SHEETS: usize = 2;

/// The most lists that are executed at a time.
pub const MOST: usize = SHEETS * LISTS;

/// What is needed to go abreast: the loop, and the plans of both kernels.
#[derive(Debug)]
pub struct Team {
    serial: Serial,
    plans: [Plan; 2],
}

/// Room that is used again and again, for 32 lists each.
#[derive(Debug, Default)]
pub struct Desk {
    rooms: [Room; SHEETS],
    columns: [Columns; SHEETS],
    lists: [Lists; SHEETS],
}

/// 32 lists.
#[derive(Debug, Default)]
struct Lists {
    /// For each element what is read of it.
    elements: Vec<Values>,
    givens: Vec<Values>,
    /// The results of both kernels, each in its memory.
    found: [Vec<Vec<Row>>; 2],
}

/// What came of trials abreast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All results that were compared are the loop's; how many.
    Right(u64),
    /// The first trial with a wrong result.
    Wrong(usize),
}

impl Team {
    /// None if the kernels' launches cannot go abreast.
    pub fn new(code: &Code, kernels: &Kernels) -> Option<Team> {
        let subject = code.subject();
        let first = subject.inputs.len();
        let givens: Vec<usize> = (first..first + subject.givens.len()).collect();
        let [scan, reduce] = kernels.each();
        let plans = [scan.plan(&givens)?, reduce.plan(&givens)?];
        Some(Team { serial: Serial::new(code), plans })
    }

    /// Executes both kernels on the lists of up to [`MOST`] trials that differ in their seeds alone.
    pub fn execute(
        &self,
        code: &Code,
        kernels: &Kernels,
        trials: &[Trial],
        desk: &mut Desk,
    ) -> Option<Outcome> {
        let trial = trials.first()?;
        let Desk { rooms, columns, lists } = desk;
        let sheets = trials.len().div_ceil(LISTS);
        let (columns, lists) = (columns.get_mut(..sheets)?, &mut lists[..sheets]);
        for (lists, trials) in lists.iter_mut().zip(trials.chunks(LISTS)) {
            lists.fill(code, trials);
        }
        let (given, list) = listed(code, trial);
        for (at, (name, count)) in [("scan", trial.length), ("reduce", 1)].into_iter().enumerate() {
            let launch = launch(code, name, &given, &list, count, trial);
            for (columns, lists) in columns.iter_mut().zip(&*lists) {
                fill(code, &launch, columns, lists);
            }
            kernels.each()[at].run_abreast(&self.plans[at], &launch, columns, rooms)?;
            for (columns, lists) in columns.iter_mut().zip(&mut *lists) {
                lists.found[at].clear();
                for result in 0..code.subject().result.len() {
                    let rows = columns.buffers.get_mut(&format!("out {result}"));
                    lists.found[at].push(rows.map(std::mem::take).unwrap_or_default());
                }
            }
        }
        let mut compared = 0;
        for (sheet, (lists, trials)) in lists.iter().zip(trials.chunks(LISTS)).enumerate() {
            let (of_these, wrong) = self.compare(code, lists, trials.len(), trial.length);
            compared += of_these;
            if wrong != 0 {
                return Some(Outcome::Wrong(LISTS * sheet + wrong.trailing_zeros() as usize));
            }
        }
        Some(Outcome::Right(compared))
    }

    /// Compares the results of the first `count` of 32 lists with the loop's: how many, and the lists where one is wrong.
    fn compare(&self, code: &Code, lists: &Lists, count: usize, length: usize) -> (u64, u32) {
        let Lists { elements, givens, found } = lists;
        let inputs = code.subject().inputs.len();
        let asked = u32::MAX >> (LISTS - count);
        let (mut compared, mut wrong) = (0, 0);
        let mut running = self.serial.start();
        for place in 0..length {
            running.step(&elements[place * inputs..][..inputs], givens);
            let last = place + 1 == length;
            for (at, (values, has)) in running.results(givens).enumerate() {
                let has = has & asked;
                let kind = code.result(at);
                wrong |= has & !right(kind, &found[0][at], place, values);
                compared += u64::from(has.count_ones());
                if last {
                    wrong |= has & !right(kind, &found[1][at], 0, values);
                    compared += u64::from(has.count_ones());
                }
            }
        }
        (compared, wrong)
    }
}

impl Lists {
    /// Makes the lists of up to 32 trials. Where there are fewer, the first one's list stands in the columns that are left.
    fn fill(&mut self, code: &Code, trials: &[Trial]) {
        let subject = code.subject();
        let Some(first) = trials.first() else { return };
        self.elements.clear();
        self.elements.resize(first.length * subject.inputs.len(), [0; LISTS]);
        self.givens.clear();
        self.givens.resize(subject.givens.len(), [0; LISTS]);
        for list in 0..LISTS {
            let seed = trials.get(list).unwrap_or(first).seed;
            let (given, mut source, most) = sized(code, seed);
            self.givens.iter_mut().zip(given).for_each(|(row, value)| row[list] = value);
            let elements = &mut self.elements;
            source.each(first.length, most, |place, value| elements[place][list] = value);
        }
    }
}

/// The lists in which the element at a place is this value.
fn right(kind: Kind, rows: &[Row], place: usize, values: &Values) -> u32 {
    let bytes = kind.bits() as usize / 8;
    let (word, shift) = (place * bytes / 4, 8 * (place * bytes % 4));
    let low = &rows[word];
    let mut found = [0; LISTS];
    for list in 0..LISTS {
        found[list] = u64::from(low[list] >> shift);
    }
    match bytes {
        8 => {
            let high = &rows[word + 1];
            for list in 0..LISTS {
                found[list] |= u64::from(high[list]) << 32;
            }
        }
        4 => {}
        _ => {
            for bits in &mut found {
                *bits &= u64::MAX >> (64 - 8 * bytes);
            }
        }
    }
    let mut other = 0;
    match kind {
        Kind::Signed(64) | Kind::Unsigned(64) | Kind::Boolean => {
            for list in 0..LISTS {
                other |= found[list] ^ values[list] as u64;
            }
        }
        Kind::Signed(32) | Kind::Unsigned(32) => {
            for list in 0..LISTS {
                other |= found[list] ^ u64::from(values[list] as u32);
            }
        }
        _ => other = 1,
    }
    if other == 0 {
        return u32::MAX;
    }
    (0..LISTS)
        .fold(0, |bits, list| bits | u32::from(agree(kind, found[list], values[list])) << list)
}

/// Fills the columns with what lists have in the buffers and arguments of a launch.
fn fill(code: &Code, launch: &Launch, columns: &mut Columns, lists: &Lists) {
    let Lists { elements, givens, .. } = lists;
    let subject = code.subject();
    let inputs = subject.inputs.len();
    columns.buffers.retain(|name, _| launch.buffers.contains_key(name));
    for (name, buffer) in &launch.buffers {
        let rows = columns.buffers.entry(name.clone()).or_default();
        rows.clear();
        let input = (0..inputs).find(|at| *name == format!("in {at}"));
        match input {
            Some(at) => {
                let kind = subject.inputs[at].kind;
                rows.resize(buffer.bytes.len().div_ceil(4), [0; LISTS]);
                for (place, values) in elements.iter().skip(at).step_by(inputs).enumerate() {
                    put(kind, rows, place, values);
                }
            }
            None => rows.extend(buffer.bytes.chunks(4).map(|chunk| {
                let mut raw = [0; 4];
                raw[..chunk.len()].copy_from_slice(chunk);
                [u32::from_le_bytes(raw); LISTS]
            })),
        }
    }
    columns.args.clear();
    for (at, (read, values)) in subject.givens.iter().zip(givens).enumerate() {
        let values = values.iter().map(|value| super::check::bytes(read.kind, *value)).collect();
        columns.args.insert(inputs + at, values);
    }
}

/// Puts values into memory as the element at a place.
fn put(kind: Kind, rows: &mut [Row], place: usize, values: &Values) {
    let bytes = kind.bits() as usize / 8;
    let (word, shift) = (place * bytes / 4, 8 * (place * bytes % 4));
    match kind {
        Kind::Signed(32) | Kind::Unsigned(32) => {
            words(&mut rows[word], values, |value| value as u32)
        }
        Kind::Signed(64) | Kind::Unsigned(64) => {
            words(&mut rows[word], values, |value| value as u32);
            words(&mut rows[word + 1], values, |value| (value >> 32) as u32);
        }
        Kind::Float(32) => words(&mut rows[word], values, |value| (value as f32).to_bits()),
        Kind::Float(_) => {
            words(&mut rows[word], values, |value| (value as f64).to_bits() as u32);
            words(&mut rows[word + 1], values, |value| ((value as f64).to_bits() >> 32) as u32);
        }
        _ => {
            let mask = u32::MAX >> (32 - 8 * bytes);
            for (word, value) in rows[word].iter_mut().zip(values) {
                *word |= (*value as u32 & mask) << shift;
            }
        }
    }
}

/// Makes a word of each value.
#[inline(always)]
fn words(row: &mut Row, values: &Values, of: impl Fn(i64) -> u32) {
    for list in 0..LISTS {
        row[list] = of(values[list]);
    }
}
