//! The code of an operator on many random lists of each length: an operator with its PTX in, how much was compared
//! out, or the first result that is not the serial loop's.
//!
//! Lists, blocks and schedules depend on nothing but the length and the list's number; every execution looks for
//! races. Lengths are executed side by side.

use super::Code;
use super::check::{Kernels, Trial, try_one, with_kernels};
use crate::launch::Meet;
use crate::parallel;

/// The longest list.
pub const LONGEST: usize = 2048;

/// Lengths that are looked at before it is asked whether one of them failed.
const BATCH: usize = 64;

/// How much was executed and compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// The number of lists; each one was scanned and reduced.
    pub lists: u64,
    /// Results that were compared with the loop's; where the loop's number is too large for the interpreter of
    /// terms, there is nothing to compare.
    pub results: u64,
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

/// Executes both kernels on lists of one length; `lists` is their number.
fn of_length(code: &Code, kernels: &Kernels, lists: usize, length: usize) -> Result<Swept, String> {
    let results = (0..lists).try_fold(0, |results, number| {
        Ok::<u64, String>(results + try_one(code, kernels, &trial(length, number))?)
    })?;
    Ok(Swept { lists: lists as u64, results })
}

/// Executes both kernels of a text on `lists` random lists of each length up to `longest`.
///
/// # Errors
/// As [`check`](super::check::check); the shortest list of those that fail.
pub fn sweep(code: &Code, text: &str, lists: usize, longest: usize) -> Result<Swept, String> {
    with_kernels(code, text, |kernels| {
        let mut swept = Swept::default();
        let lengths: Vec<usize> = (1..=longest).collect();
        for batch in lengths.chunks(BATCH) {
            // (All of a batch: which failure is reported does not depend on threads.)
            let results = parallel::map(batch, |length| of_length(code, kernels, lists, *length));
            for of_one in results {
                let Swept { lists, results } = of_one?;
                swept.lists += lists;
                swept.results += results;
            }
        }
        if swept.results == 0 { Err("no result could be compared".to_owned()) } else { Ok(swept) }
    })
}
