//! The code of an operator on 32 lists abreast, beside its serial loop.
//!
//! In: trials that differ in their seeds alone. Out: how much was compared, or the number of a trial one of whose
//! results is not the loop's; or nothing, and then each trial has to be executed by itself.

use super::Code;
use super::check::{Kernels, Trial, agree, launch, listed, sized};
use super::serial::{LISTS, Serial, Values};
use crate::interp::{Columns, Plan, Room, Row};
use crate::launch::Launch;
use crate::synth::scan::subject::Kind;

/// What is needed to go abreast: the loop, and the plans of both kernels.
#[derive(Debug)]
pub struct Team {
    serial: Serial,
    plans: [Plan; 2],
}

/// Room that is used again and again.
#[derive(Debug, Default)]
pub struct Desk {
    room: Room,
    columns: Columns,
    elements: Vec<Values>,
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

    /// Executes both kernels on the lists of up to 32 trials that differ in their seeds alone.
    pub fn execute(
        &self,
        code: &Code,
        kernels: &Kernels,
        trials: &[Trial],
        desk: &mut Desk,
    ) -> Option<Outcome> {
        let subject = code.subject();
        let trial = trials.first()?;
        let Desk { room, columns, elements } = desk;
        let inputs = subject.inputs.len();
        let mut givens = vec![[0; LISTS]; subject.givens.len()];
        elements.clear();
        elements.resize(trial.length * inputs, [0; LISTS]);
        // (Where there are fewer trials, the first one's list stands in the columns that are left.)
        let seeds = (0..LISTS).map(|list| trials.get(list).unwrap_or(trial).seed);
        for (list, seed) in seeds.enumerate() {
            let (given, mut source, most) = sized(code, seed);
            givens.iter_mut().zip(given).for_each(|(row, value)| row[list] = value);
            source.each(trial.length, most, |place, value| elements[place][list] = value);
        }
        let (given, list) = listed(code, trial);
        let mut found = [(); 2].map(|()| Vec::new());
        for (at, (name, count)) in [("scan", trial.length), ("reduce", 1)].into_iter().enumerate() {
            let launch = launch(code, name, &given, &list, count, trial);
            fill(code, &launch, columns, elements, &givens);
            kernels.each()[at].run_abreast(&self.plans[at], &launch, columns, room)?;
            for result in 0..subject.result.len() {
                let rows = columns.buffers.get_mut(&format!("out {result}"));
                found[at].push(rows.map(std::mem::take).unwrap_or_default());
            }
        }
        let asked = u32::MAX >> (LISTS - trials.len().min(LISTS));
        let mut compared = 0;
        let mut wrong = 0;
        let mut running = self.serial.start();
        for place in 0..trial.length {
            running.step(&elements[place * inputs..][..inputs], &givens);
            let last = place + 1 == trial.length;
            for (at, (values, has)) in running.results(&givens).enumerate() {
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
        let first = wrong.trailing_zeros() as usize;
        Some(if wrong == 0 { Outcome::Right(compared) } else { Outcome::Wrong(first) })
    }
}

/// The lists in which the element at a place is this value.
fn right(kind: Kind, rows: &[Row], place: usize, values: &Values) -> u32 {
    let bytes = kind.bits() as usize / 8;
    let row = |byte: usize| &rows[byte / 4];
    let low = row(place * bytes);
    let equal = |list: usize| -> bool {
        match kind {
            Kind::Signed(32) | Kind::Unsigned(32) => low[list] == values[list] as u32,
            Kind::Signed(64) | Kind::Unsigned(64) => {
                let high = row(place * 8 + 4);
                low[list] == values[list] as u32 && high[list] == (values[list] >> 32) as u32
            }
            Kind::Float(64) => {
                let high = row(place * 8 + 4);
                let bits = u64::from(low[list]) | u64::from(high[list]) << 32;
                agree(kind, bits, values[list])
            }
            Kind::Float(_) => agree(kind, u64::from(low[list]), values[list]),
            _ => {
                let shift = 8 * (place * bytes % 4);
                let bits = u64::from(low[list]) >> shift & (u64::MAX >> (64 - 8 * bytes));
                agree(kind, bits, values[list])
            }
        }
    };
    if (0..LISTS).all(equal) {
        return u32::MAX;
    }
    (0..LISTS).fold(0, |bits, list| bits | u32::from(equal(list)) << list)
}

/// Fills the columns with what lists have in the buffers and arguments of a launch.
fn fill(
    code: &Code,
    launch: &Launch,
    columns: &mut Columns,
    elements: &[Values],
    givens: &[Values],
) {
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
        Kind::Signed(32) | Kind::Unsigned(32) => rows[word] = values.map(|value| value as u32),
        Kind::Signed(64) | Kind::Unsigned(64) => {
            rows[word] = values.map(|value| value as u32);
            rows[word + 1] = values.map(|value| (value >> 32) as u32);
        }
        Kind::Float(32) => rows[word] = values.map(|value| (value as f32).to_bits()),
        Kind::Float(_) => {
            let bits = values.map(|value| (value as f64).to_bits());
            rows[word] = bits.map(|bits| bits as u32);
            rows[word + 1] = bits.map(|bits| (bits >> 32) as u32);
        }
        _ => {
            let mask = u32::MAX >> (32 - 8 * bytes);
            for (word, value) in rows[word].iter_mut().zip(values) {
                *word |= (*value as u32 & mask) << shift;
            }
        }
    }
}
