//! An execution in numbers in which two kernels differ by more than rounding explains.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::value::RawValue;

use super::smallest::{Difference, Numbers, Smallest, smallest};
use crate::interp::{self, Blocks};
use crate::launch::{Argument, Buffer, Launch, Type, show};
use crate::ptx::Module;
use crate::source::SourceFile;

/// A kernel with its launch.
pub(super) struct Side<'a> {
    /// The program.
    pub source: &'a SourceFile,
    /// The same, parsed.
    pub module: Module<'a>,
    /// How the kernel is launched.
    pub launch: Launch,
}

impl Side<'_> {
    /// The text of the kernel; of the whole program if that is not all that it executes.
    fn text(&self) -> &str {
        let whole = self.source.text();
        let name = self.launch.kernel.as_deref().unwrap_or_default();
        let begin = whole.find(&format!(".entry {name}("));
        let kernel = begin.and_then(|begin| {
            let kernel = &whole[begin..];
            Some(&kernel[..kernel.find("\n}")?])
        });
        kernel.filter(|kernel| !kernel.contains("call")).unwrap_or(whole)
    }
}

/// An element that differs.
#[derive(Debug, Serialize)]
pub(super) struct Witness {
    buffer: String,
    index: u64,
    original: Box<RawValue>,
    rewritten: Box<RawValue>,
    inputs: String,
    /// The same difference with few inputs that matter, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    smallest: Option<Smallest>,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Witness { buffer, index, original, rewritten, inputs, .. } = self;
        write!(f, "{buffer}[{index}] is {original} and {rewritten} with inputs {inputs}")
    }
}

/// How inputs are chosen.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The least number.
    low: f64,
    /// The largest one.
    high: f64,
    /// The amount that is added from the first element to the last one: for maxima, which the first or the last one alone decides.
    slope: f64,
}

/// The inputs that are tried.
const TRIALS: [Trial; 7] = [
    Trial { low: -1.0, high: 1.0, slope: 0.0 },
    Trial { low: 0.5, high: 1.5, slope: 0.0 },
    Trial { low: -4.0, high: 4.0, slope: 0.0 },
    Trial { low: -2.0, high: -1.0, slope: 0.0 },
    Trial { low: 0.0, high: 0.0, slope: 8.0 },
    Trial { low: 0.0, high: 0.0, slope: -8.0 },
    Trial { low: 0.0, high: 0.125, slope: 64.0 },
];

/// The factor by which integers are larger than numbers.
const INTEGERS: f64 = 64.0;

/// The numbers of a trial in words.
fn words(Trial { low, high, slope }: Trial, seed: u64) -> String {
    let slopes = match slope {
        0.0 => String::new(),
        slope => format!(", and {slope} more from the first element to the last"),
    };
    format!("between {low} and {high} by the seed {seed}{slopes}")
}

fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The numbers of a trial for the symbolic buffers of both launches.
fn numbers(sides: &[Side<'_>; 2], (trial, seed): (Trial, u64)) -> Numbers {
    let Trial { low, high, slope } = trial;
    let mut numbers = Numbers::new();
    for launch in sides.iter().map(|side| &side.launch) {
        for (name, buffer) in launch.buffers.iter().filter(|(name, _)| launch.is_symbolic(name)) {
            let mut state = name
                .bytes()
                .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
            let count = buffer.bytes.len() / buffer.ty.bytes();
            let values = (0..count).map(|index| {
                let share = index as f64 / count as f64;
                low + (high - low) * random(&mut state) + slope * share
            });
            let values: Vec<f64> = values.collect();
            let known = numbers.entry(name.clone()).or_default();
            if known.len() < count {
                *known = values;
            }
        }
    }
    numbers
}

/// A launch with numbers in the place of its symbols, each of them changed at random by at most a share `by`.
fn with_numbers(
    launch: &Launch,
    numbers: &Numbers,
    (trial, seed): (Trial, u64),
    by: f64,
) -> Launch {
    let mut launch = launch.clone();
    let Trial { low, high, .. } = trial;
    let names: Vec<String> =
        launch.buffers.keys().filter(|name| launch.is_symbolic(name)).cloned().collect();
    let mut state = !seed;
    for name in names {
        let (Some(buffer), Some(values)) = (launch.buffers.get_mut(&name), numbers.get(&name))
        else {
            continue;
        };
        let size = buffer.ty.bytes();
        for (element, &value) in buffer.bytes.chunks_exact_mut(size).zip(values) {
            let bits = if buffer.ty.is_float() {
                buffer.ty.round(value * (1.0 + by * (2.0 * random(&mut state) - 1.0)))
            } else {
                (INTEGERS * value) as i64 as u64
            };
            element.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
    }
    for (&index, &ty) in &launch.symbolic_args {
        let mut state = seed ^ index as u64;
        let value = ty.round(low + (high - low) * random(&mut state));
        launch.args[index] = Argument::Value(value.to_le_bytes()[..ty.bytes()].to_vec());
    }
    launch.uninitialized = false;
    launch.races = false;
    launch
}

/// The relative difference that rounding explains: by the least precise format in the programs.
fn tolerance(sides: &[Side<'_>; 2]) -> f64 {
    let has = |word: &str| sides.iter().any(|side| side.text().contains(word));
    match () {
        () if has(".bf16") => 0.05,
        () if has(".f16") || has(".tf32") => 0.01,
        () => 1e-4,
    }
}

/// By how much changes of the inputs are smaller than the tolerance, and how much larger a difference has to be than what these
/// change: terms that cancel, and approximations, make much of little.
const SMALLER: f64 = 64.0;
const LARGER: f64 = 30.0;

/// A largest number below which all of a buffer is rounding.
const TINY: f64 = 1e-30;

/// How many inputs are tried where kernels are the same function, and the most numbers that their buffers then have.
const FEW: usize = 2;
const MAX_NUMBERS: usize = 1 << 22;

/// Two kernels that are executed in numbers.
pub(super) struct Executed<'a, 's> {
    /// The kernels.
    pub sides: &'a [Side<'s>; 2],
    /// The blocks of each launch.
    pub blocks: &'a [Blocks; 2],
    /// The buffers that are compared.
    pub written: &'a [String],
    /// The relative difference that rounding explains, if the user names one.
    pub tolerance: Option<f64>,
}

impl Executed<'_, '_> {
    /// An execution in which buffers differ, in words, of kernels that are the same function over the reals.
    pub(super) fn doubt(&self) -> Option<String> {
        let buffers = self.sides.iter().flat_map(|side| side.launch.buffers.values());
        let numbers: usize = buffers.map(|buffer| buffer.bytes.len() / buffer.ty.bytes()).sum();
        let found = (numbers <= MAX_NUMBERS).then(|| self.search(FEW));
        let Witness { buffer, index, original, rewritten, inputs, .. } = found.flatten()?;
        Some(format!(
            "equal over the reals, but {buffer}[{index}] is {original} and {rewritten} with inputs {inputs}: numbers round, \
         underflow or overflow on the way"
        ))
    }

    /// An execution in which buffers differ.
    pub(super) fn find(&self) -> Option<Witness> {
        self.search(TRIALS.len())
    }

    fn search(&self, trials: usize) -> Option<Witness> {
        let Executed { sides, blocks, written, .. } = *self;
        let tolerance = self.tolerance.unwrap_or_else(|| tolerance(sides));
        for (number, &trial) in TRIALS[..trials].iter().enumerate() {
            for seed in [1, 2].map(|seed| seed + 2 * number as u64) {
                let run = |numbers: &Numbers, at: usize, by: f64| {
                    let Side { module, launch, .. } = &sides[at];
                    let launch = with_numbers(launch, numbers, (trial, seed), by);
                    interp::run_some(module, &launch, &blocks[at]).ok()
                };
                let differs = |numbers: &Numbers| -> Option<Difference> {
                    let run = |at: usize, by: f64| Some(run(numbers, at, by)?.0);
                    let both = |by: f64| Some([run(0, by)?, run(1, by)?]);
                    let [first, second] = both(0.0)?;
                    let pair = (&first, &second);
                    differing(pair, None, written, tolerance)?;
                    // Differences that small changes of the inputs explain come from rounding.
                    let [one, other] = both(tolerance / SMALLER)?;
                    let changed = Some([(&first, &one), (&second, &other)]);
                    let (buffer, index, [a, b]) = differing(pair, changed, written, tolerance)?;
                    let ty = first[&buffer].ty;
                    Some((buffer, index, [shown(ty, a)?, shown(ty, b)?]))
                };
                let numbers = numbers(sides, (trial, seed));
                let Some((buffer, index, [original, rewritten])) = differs(&numbers) else {
                    continue;
                };
                let inputs = words(trial, seed);
                let steps = |at: usize| Some(run(&numbers, at, 0.0)?.1);
                let both = steps(0).zip(steps(1));
                let runs = both.map_or(0, |(one, other)| MAX_STEPS / (2 * (one + other)).max(1));
                let smallest = smallest(numbers, runs, differs);
                return Some(Witness { buffer, index, original, rewritten, inputs, smallest });
            }
        }
        None
    }
}

/// Warp instructions of the search for the inputs that matter.
const MAX_STEPS: u64 = 1 << 23;

/// A number as JSON.
fn shown(ty: Type, bits: u64) -> Option<Box<RawValue>> {
    RawValue::from_string(show(ty, bits)).ok()
}

/// Buffers by name.
type Buffers = BTreeMap<String, Buffer>;

/// The first element of some buffers that differs by more than a share of the largest one, and by much more than the same run
/// with changed inputs.
fn differing(
    (first, second): (&Buffers, &Buffers),
    changed: Option<[(&Buffers, &Buffers); 2]>,
    names: &[String],
    tolerance: f64,
) -> Option<(String, u64, [u64; 2])> {
    for name in names {
        let (Some(one), Some(other)) = (first.get(name), second.get(name)) else { continue };
        if one.ty != other.ty {
            continue;
        }
        let shift = 64 - 8 * one.ty.bytes() as u32;
        let integer = |bits: u64| ((bits << shift) as i64 >> shift) as f64;
        let value = |bits: u64| if one.ty.is_float() { one.ty.widen(bits) } else { integer(bits) };
        let largest = one.elements().chain(other.elements()).map(value).filter(|v| v.is_finite());
        let largest = largest.fold(0.0_f64, |all, value| all.max(value.abs()));
        let mut slack = vec![0.0_f64; one.elements().count()];
        for (run, again) in changed.into_iter().flatten() {
            let (Some(run), Some(again)) = (run.get(name), again.get(name)) else { continue };
            for ((slack, a), b) in slack.iter_mut().zip(run.elements()).zip(again.elements()) {
                *slack = slack.max((value(a) - value(b)).abs());
            }
        }
        let bound = if one.ty.is_float() { tolerance * largest } else { 0.0 };
        for (index, (a, b)) in one.elements().zip(other.elements()).enumerate() {
            let (x, y) = (value(a), value(b));
            let difference = (x - y).abs();
            let differs = x.is_finite()
                && y.is_finite()
                && largest > TINY
                && difference > bound
                && difference > LARGER * slack[index];
            if differs {
                return Some((name.clone(), index as u64, [a, b]));
            }
        }
    }
    None
}
