//! The code of an operator on many random lists of each length: an operator with its PTX in, how much was compared
//! out, or the first result that is not the serial loop's.
//!
//! Lists, blocks and schedules depend on nothing but the length and the list's number; every execution looks for
//! races. Where there are many lists of a length, several of them share a block and a schedule, and are executed abreast
//! of each other: no branch, address or lane that is read depends on what the lists hold, or they are executed one by one.

use rayon::prelude::*;

use super::Code;
use super::abreast::{Desk, MOST, Outcome, Team};
use super::check::{Kernels, Trial, try_one, with_kernels};
use crate::launch::Meet;

/// The longest list.
pub const LONGEST: usize = 2048;

/// Lengths that are looked at before it is asked whether one of them failed.
const BATCH: usize = 64;

/// The least number of groups that a length's lists are cut into: the lists of a group share their block and their
/// schedule.
const GROUPS: usize = 16;

/// How much was executed and compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// Lists, each of which was scanned and reduced.
    pub lists: u64,
    /// Results that were compared with the loop's; where the loop's number is too large for the interpreter of
    /// terms, there is nothing to compare.
    pub results: u64,
    /// Lists that were not executed by themselves but abreast of others.
    pub abreast: u64,
}

impl Swept {
    fn add(&mut self, more: Swept) {
        self.lists += more.lists;
        self.results += more.results;
        self.abreast += more.abreast;
    }
}

/// One execution: blocks of a few warps mostly, of any number of threads now and then.
fn trial(length: usize, number: usize) -> Trial {
    let mut random = fastrand::Rng::with_seed(((length as u64) << 32) | number as u64);
    let threads = match random.u32(0..16) {
        0 => random.u32(1..=1024),
        1 => 32 * random.u32(1..=32),
        2..6 => 32 * random.u32(1..=3),
        _ => random.u32(1..=96),
    };
    let meet = match random.u32(0..3) {
        0 => Meet::Assembler,
        1 => Meet::Never,
        _ => Meet::Random(random.u64(..)),
    };
    Trial { length, threads, meet, seed: random.u64(..) }
}

/// Executes both kernels on the lists of trials that differ in their seeds alone: abreast, if there are many.
fn try_group(
    code: &Code,
    kernels: &Kernels,
    team: Option<&Team>,
    trials: &[Trial],
    desk: &mut Desk,
) -> Result<Swept, String> {
    let lists = trials.len() as u64;
    let team = team.filter(|_| lists > 1);
    match team.and_then(|team| team.execute(code, kernels, trials, desk)) {
        Some(Outcome::Right(results)) => Ok(Swept { lists, results, abreast: lists }),
        Some(Outcome::Wrong(number)) => {
            let trial = &trials[number];
            try_one(code, kernels, trial)?;
            Err(format!("{} elements: wrong only abreast of other lists", trial.length))
        }
        None => {
            let results = trials.iter().try_fold(0, |results, trial| {
                Ok::<u64, String>(results + try_one(code, kernels, trial)?)
            })?;
            Ok(Swept { lists, results, abreast: 0 })
        }
    }
}

/// Executes both kernels of a text on so many random lists of each length up to `longest`.
///
/// # Errors
/// As [`check`](super::check::check); the shortest list of those that fail.
pub fn sweep(code: &Code, text: &str, lists: usize, longest: usize) -> Result<Swept, String> {
    sweep_together(code, text, (lists, longest), lists.div_ceil(GROUPS))
}

/// As [`sweep`], with the most lists that share a block and a schedule: the same lists, whatever that is.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_together(
    code: &Code,
    text: &str,
    (lists, longest): (usize, usize),
    together: usize,
) -> Result<Swept, String> {
    with_kernels(code, text, |kernels| {
        let team = Team::new(code, kernels);
        let of_length = |desk: &mut Desk, length: usize| {
            let mut of_one = Swept::default();
            let all: Vec<usize> = (0..lists).collect();
            for group in all.chunks(together.clamp(1, MOST)) {
                let first = trial(length, group[0]);
                let trials = group.iter().map(|&number| trial(length, number).seed);
                let trials: Vec<Trial> = trials.map(|seed| Trial { seed, ..first }).collect();
                of_one.add(try_group(code, kernels, team.as_ref(), &trials, desk)?);
            }
            Ok::<Swept, String>(of_one)
        };
        let mut swept = Swept::default();
        let lengths: Vec<usize> = (1..=longest).collect();
        for batch in lengths.chunks(BATCH) {
            // (All of a batch: which failure is reported does not depend on threads.)
            let results =
                batch.par_iter().map_init(Desk::default, |d, length| of_length(d, *length));
            for of_one in results.collect::<Vec<_>>() {
                swept.add(of_one?);
            }
        }
        if swept.results == 0 { Err("no result could be compared".to_owned()) } else { Ok(swept) }
    })
}
