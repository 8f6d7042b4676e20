//! The code of an operator in the interpreter, beside its serial loop.

use super::Code;
use super::numbers::natural;
use super::writer::float;
use crate::interp::Kernel;
use crate::launch::{Argument, Buffer, Launch, Meet, Type};
use crate::ptx::{self, Depth};
use crate::source::SourceFile;
use crate::synth::scan::examples::{List, Source};
use crate::synth::scan::subject::{Kind, Loop};
use crate::synth::scan::term::{self, INFINITY, Op, Shared, Sort, Term, Values};

/// One execution of both kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trial {
    /// How many elements the list has.
    pub length: usize,
    /// How many threads the block has.
    pub threads: u32,
    /// Where lanes meet again.
    pub meet: Meet,
    /// The list's seed.
    pub seed: u64,
}

/// Trials that take less than a second for each operator.
pub fn few() -> Vec<Trial> {
    let lengths = [0, 1, 2, 3, 31, 32, 33, 63, 100, 257, 600, 1000];
    let blocks = [32, 100, 33, 256, 1, 64, 20, 1024, 96, 31];
    let meets = [Meet::Assembler, Meet::Never, Meet::Random(1), Meet::Random(2)];
    let all = lengths.into_iter().zip(blocks.into_iter().cycle()).zip(meets.into_iter().cycle());
    let all = (0..).zip(all);
    all.map(|(seed, ((length, threads), meet))| Trial { length, threads, meet, seed }).collect()
}

/// Executes both kernels of a text and compares every result; how many were compared.
///
/// # Errors
/// The text cannot be parsed, an execution faults, a result is wrong, or numbers are narrower than the operator needs.
pub fn check(code: &Code, text: &str, trials: &[Trial]) -> Result<u64, String> {
    let compared = with_kernels(code, text, |kernels| {
        trials.iter().try_fold(0, |compared, trial| Ok(compared + try_one(code, kernels, trial)?))
    })?;
    if compared == 0 { Err("no result could be compared".to_owned()) } else { Ok(compared) }
}

/// The kernels of a text.
#[derive(Debug)]
pub struct Kernels<'m, 's> {
    scan: Kernel<'m, 's>,
    reduce: Kernel<'m, 's>,
}

impl<'m, 's> Kernels<'m, 's> {
    /// The one that scans and the one that reduces.
    pub fn each(&self) -> [&Kernel<'m, 's>; 2] {
        [&self.scan, &self.reduce]
    }
}

/// Runs `f` on the kernels of an operator whose numbers are wide enough.
pub(super) fn with_kernels<T>(
    code: &Code,
    text: &str,
    act: impl FnOnce(&Kernels) -> Result<T, String>,
) -> Result<T, String> {
    for sort in code.subject().number_sorts() {
        let (needed, bits) = (natural(code.found, sort).bits(), code.kind(sort).bits());
        if bits < needed {
            return Err(format!(
                "in {bits} bits auxiliary values may wrap around where the loop's own do not; the operator needs {needed}"
            ));
        }
    }
    let source = SourceFile::new(code.name.as_str(), text);
    let module = ptx::parse(&source, Depth::All).map_err(|error| error.to_string())?;
    let trial = Trial { length: 1, threads: 32, meet: Meet::Assembler, seed: 0 };
    let (givens, list) = listed(code, &trial);
    let kernel = |name| {
        let launch = launch(code, name, &givens, &list, 1, &trial);
        Kernel::new(&module, &launch, true).map_err(|fault| fault.to_string())
    };
    act(&Kernels { scan: kernel("scan")?, reduce: kernel("reduce")? })
}

/// One execution; an error begins with its length and number of threads.
pub(super) fn try_one(code: &Code, kernels: &Kernels, trial: &Trial) -> Result<u64, String> {
    let Trial { length, threads, .. } = trial;
    execute(code, kernels, trial)
        .map_err(|why| format!("{length} elements, {threads} threads: {why}"))
}

/// The given values that a seed determines, the source of a list's elements, and the bound of these.
pub(super) fn sized<'c>(code: &Code<'c>, seed: u64) -> (Vec<i64>, Source<'c>, i64) {
    let mut source = Source::new(code.subject(), seed);
    let reals = code.subject().has(Sort::Real);
    // Powers of the given values are among the values: over the reals these have to stay exact.
    let givens = source.givens(if reals { 1 } else { 6 });
    let most = match seed % 3 {
        0 => 3,
        1 => 1000,
        // Sums of these leave 32 bits, and not 64.
        _ if code.subject().only_compared => 1 << 20,
        _ => 1 << if reals { 10 } else { 40 },
    };
    (givens, source, most)
}

/// The given values, and the list.
pub(super) fn listed(code: &Code, trial: &Trial) -> (Vec<i64>, List) {
    let (givens, mut source, most) = sized(code, trial.seed);
    let list = source.exactly(trial.length, most);
    (givens, list)
}

fn execute(code: &Code, kernels: &Kernels, trial: &Trial) -> Result<u64, String> {
    let subject = code.subject();
    let (givens, list) = listed(code, trial);
    let expected = expected(code, &givens, &list);
    let mut compared = 0;
    let counts = [("scan", trial.length), ("reduce", 1)];
    for ((kernel, count), decoded) in counts.into_iter().zip(kernels.each()) {
        let launch = launch(code, kernel, &givens, &list, count, trial);
        let done = decoded.run(&launch).map_err(|fault| fault.to_string())?;
        for at in 0..subject.result.len() {
            let found: Vec<u64> = done.buffers[&format!("out {at}")].elements().collect();
            let expected = match kernel {
                "scan" => &expected[1..],
                _ => &expected[trial.length..],
            };
            for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
                let Some(expected) = expected.as_ref().and_then(|results| results[at]) else {
                    continue;
                };
                compared += 1;
                if !agree(code.result(at), *found, expected) {
                    return Err(format!(
                        "result {at} of {kernel} is {found:#x} in place {place}, and {expected} is right"
                    ));
                }
            }
        }
    }
    Ok(compared)
}

/// For each number of elements the results of the loop; none behind a number that is too large.
fn expected(code: &Code, givens: &[i64], list: &List) -> Vec<Option<Vec<Option<i64>>>> {
    let subject = code.subject();
    let wraps = code.wraps();
    let results = |state: &[i64]| {
        let known = Values::new(state, givens);
        let of = |variable: u32| *known.of(variable);
        let results = subject.result.iter().map(|term| {
            let kind = code.kind(code.sort(term));
            value(term, &of, wraps).filter(|value| is_exact(kind, *value))
        });
        results.collect()
    };
    let mut state = Some(subject.start());
    let mut all = vec![state.as_deref().map(results)];
    for element in list {
        state = state.and_then(|state| stepped(subject, givens, &state, element, wraps));
        state = state.filter(|state| {
            let mut places = state.iter().enumerate();
            places.all(|(at, value)| is_exact(code.accumulated(at), *value))
        });
        all.push(state.as_deref().map(results));
    }
    all
}

/// Whether a value of a type is compared: floating-point numbers that are exact, and every integer that the loop has.
pub(super) fn is_exact(kind: Kind, value: i64) -> bool {
    let digits = match kind {
        Kind::Float(32) => f32::MANTISSA_DIGITS,
        Kind::Float(_) => f64::MANTISSA_DIGITS,
        Kind::Unsigned(_) => return true,
        _ => return value != i64::MIN,
    };
    let size = value.unsigned_abs();
    size <= 1 << digits || size == INFINITY.unsigned_abs()
}

fn stepped(
    subject: &Loop,
    givens: &[i64],
    state: &[i64],
    element: &[i64],
    wraps: bool,
) -> Option<Vec<i64>> {
    let known = Values::new(state, givens).with_inputs(element);
    let of = |variable: u32| *known.of(variable);
    subject.accumulators.iter().map(|own| value(&own.step, &of, wraps)).collect()
}

/// A term's value, of integers that may wrap around modulo 2^64 or of such that must not.
fn value(term: &Shared, of: &dyn Fn(u32) -> i64, wraps: bool) -> Option<i64> {
    match &**term {
        Term::Binary(op @ (Op::Add | Op::Sub | Op::Mul), a, b) if wraps => {
            let (a, b) = (value(a, of, wraps)?, value(b, of, wraps)?);
            Some(match op {
                Op::Add => a.wrapping_add(b),
                Op::Sub => a.wrapping_sub(b),
                _ => a.wrapping_mul(b),
            })
        }
        _ => term::value(term, of),
    }
}

/// Whether the bits in memory are those of a value.
pub(super) fn agree(kind: Kind, bits: u64, value: i64) -> bool {
    match kind {
        // (A zero may have a sign.)
        Kind::Float(32) => f64::from(f32::from_bits(bits as u32)) == float(value),
        Kind::Float(_) => f64::from_bits(bits) == float(value),
        Kind::Signed(32) | Kind::Unsigned(32) => bits as u32 == value as u32,
        _ => bits == value as u64,
    }
}

/// A value as it stands in memory.
pub(super) fn bytes(kind: Kind, value: i64) -> Vec<u8> {
    let raw = match kind {
        Kind::Float(32) => u64::from((value as f32).to_bits()),
        Kind::Float(_) => (value as f64).to_bits(),
        _ => value as u64,
    };
    raw.to_le_bytes()[..(kind.bits() / 8) as usize].to_vec()
}

pub(super) fn launch(
    code: &Code,
    kernel: &str,
    givens: &[i64],
    list: &List,
    count: usize,
    trial: &Trial,
) -> Launch {
    let subject = code.subject();
    // (Shuffles read lanes beyond the block's last thread; their values are not used.)
    let mut launch = Launch {
        block: [trial.threads, 1, 1],
        meet: trial.meet,
        ..Launch::one_warp(format!("{}_{kernel}_kernel", code.name))
    };
    for (at, read) in subject.inputs.iter().enumerate() {
        let values = list.iter().flat_map(|element| bytes(read.kind, element[at])).collect();
        launch.point_into(format!("in {at}"), Buffer { ty: Type::U8, bytes: values }, 0);
    }
    for (read, given) in subject.givens.iter().zip(givens) {
        launch.args.push(Argument::Value(bytes(read.kind, *given)));
    }
    for at in 0..subject.result.len() {
        let bits = code.result(at).bits();
        let ty = match bits {
            8 => Type::U8,
            32 => Type::U32,
            _ => Type::U64,
        };
        let values = vec![0xa5; count * (bits / 8) as usize];
        launch.point_into(format!("out {at}"), Buffer { ty, bytes: values }, 0);
    }
    launch.args.push(Argument::Value((list.len() as u32).to_le_bytes().to_vec()));
    launch
}
