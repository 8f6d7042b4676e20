//! Operations are tried, not told: sums with constant factors, relations, quotients and bounds show in a few results.

use smallvec::SmallVec;

use super::dependence::Dependence::{self, Known, Other};
use super::dependence::SAME;
use super::{Affine, Check, Divisor, LEVEL, Slope};
use crate::algebra::{Comparison, Meaning};
use crate::interp::program::Op;
use crate::interp::program::rare::Cell;
use crate::interp::registers::File;
use crate::interp::symbol::{relation, run_once};

pub(super) fn known(dependence: Dependence) -> u64 {
    match dependence {
        Known(bits) => bits,
        _ => 0,
    }
}

/// The sources of an operation, and how they depend on the block.
pub(super) type Sources = SmallVec<[(Cell, Dependence); 4]>;

/// What an operation makes of the bits of its sources; none if it has no result.
type Run<'a> = Box<dyn Fn(&[u64]) -> Option<u64> + 'a>;

/// A pure operation on a lane's registers.
pub(super) struct Pure<'a> {
    pub run: Run<'a>,
    pub sources: SmallVec<[Cell; 4]>,
    file: File,
    meaning: Meaning,
    /// Whether the result that is asked for is the one that `run` returns.
    pub is_first: bool,
}

impl<'a> Pure<'a> {
    pub(super) fn of(op: &'a Op, cell: Cell) -> Option<Pure<'a>> {
        match op {
            Op::Lanes(op, slots) => {
                let pairs = op.s.iter().zip(slots.s);
                Some(Pure {
                    run: Box::new(|sources| Some(run_once(op, sources))),
                    sources: pairs.filter_map(|(file, slot)| Some(((*file)?, slot))).collect(),
                    file: cell.0,
                    meaning: op.meaning,
                    is_first: op.d[0] == Some(cell.0) && slots.d[0] == cell.1,
                })
            }
            Op::Scalar(scalar) => Some(Pure {
                run: Box::new(|sources| {
                    let mut all = [0; 4];
                    all[..sources.len()].copy_from_slice(sources);
                    (scalar.run)(all).ok()
                }),
                sources: scalar.s.iter().copied().collect(),
                file: cell.0,
                meaning: scalar.meaning,
                is_first: true,
            }),
            _ => None,
        }
    }
}

/// What was found out about an operation.
pub(super) struct Found {
    pub dependence: Dependence,
    pub checks: SmallVec<[Check; 2]>,
}

impl From<Dependence> for Found {
    fn from(dependence: Dependence) -> Found {
        Found { dependence, checks: SmallVec::new() }
    }
}

/// Tries an operation on affine sources and others that are the same in all blocks.
pub(super) fn tried(pure: &Pure<'_>, sources: &Sources, seen: &[(Cell, Option<u64>)]) -> Found {
    if pure.meaning == Meaning::Select {
        return Found::from(sources[0].1.join(sources[1].1));
    }
    if !matches!(pure.meaning, Meaning::Unknown | Meaning::ShiftLeft | Meaning::Copy) {
        return Found::from(Other);
    }
    let found = match pure.file {
        File::Pred => relation_of(pure, sources),
        _ => linear(pure, sources)
            .or_else(|| quotient(pure, sources, seen))
            .or_else(|| joined(pure, sources, seen))
            .or_else(|| bounded(pure, sources)),
    };
    found.unwrap_or_else(|| Found::from(Other))
}

fn relation_of(pure: &Pure<'_>, sources: &Sources) -> Option<Found> {
    let &[one, other] = &sources[..] else { return None };
    if one.0.0 != other.0.0 || one.0.0 == File::Pred {
        return None;
    }
    let holds = |a: u64, b: u64| (pure.run)(&[a, b]) == Some(1);
    let (comparison, signed) = relation(holds, bits(one.0.0))?;
    let both = [one, other].map(|(cell, dependence)| Affine { cell, slope: dependence.slope() });
    let mut found = Found::from(SAME);
    found.checks.push(Check::Relation(both, comparison, signed));
    Some(found)
}

/// The bits of a register of a file.
pub(super) fn bits(file: File) -> u32 {
    match file {
        File::Pred => 1,
        File::W32 => 32,
        File::W64 => 64,
    }
}

/// Numbers that operations are tried on.
const SAMPLES: [u64; 16] = [
    0x9e37_79b9_7f4a_7c15,
    u64::MAX,
    3,
    0x8000_0000_8000_0000,
    0x2545_f491_4f6c_dd1d,
    0x7fff_ffff_7fff_ffff,
    0xffff_8000,
    1,
    0xd134_2543_de82_ef95,
    0x1_0000,
    0x8000_0001_8000_0001,
    0x5851_f42d_4c95_7f2d,
    100,
    0xaaaa_aaaa_5555_5555,
    0xffff,
    0x14057b7ef767814f,
];

/// A sum of the sources with constant factors, those that are known aside, perhaps widened.
fn linear(pure: &Pure<'_>, sources: &Sources) -> Option<Found> {
    let open: SmallVec<[usize; 4]> =
        (0..sources.len()).filter(|&at| !matches!(sources[at].1, Known(_))).collect();
    let near = sources.iter().filter_map(|source| match source.1 {
        Known(bits) => Some([bits.wrapping_sub(1), bits, bits.wrapping_add(1)]),
        _ => None,
    });
    let samples: SmallVec<[u64; 32]> = SAMPLES.into_iter().chain(near.flatten()).collect();
    let width = bits(pure.file);
    let run = |values: &[u64]| {
        let mut all: SmallVec<[u64; 4]> = sources.iter().map(|source| known(source.1)).collect();
        for (&at, value) in open.iter().zip(values) {
            all[at] = value & mask(bits(sources[at].0.0));
        }
        (pure.run)(&all)
    };
    if open.iter().any(|&at| sources[at].0.0 == File::Pred) {
        return None;
    }
    let zero: SmallVec<[u64; 4]> = open.iter().map(|_| 0).collect();
    let constant = run(&zero)?;
    let mut factors: SmallVec<[u64; 4]> = SmallVec::new();
    for at in 0..open.len() {
        let mut unit = zero.clone();
        unit[at] = 1;
        factors.push(run(&unit)?.wrapping_sub(constant));
    }
    let widens = |&at: &usize| bits(sources[at].0.0) < width;
    let signed = [false, true].into_iter().find(|&signed| {
        (0..3 * samples.len()).all(|trial| {
            let value = |at: usize| samples[(trial * (2 * at + 1) + at) % samples.len()];
            let values: SmallVec<[u64; 4]> = (0..open.len()).map(value).collect();
            let terms = open.iter().zip(&values).zip(&factors);
            let sum = terms.fold(constant, |sum, ((&at, &value), &factor)| {
                let value = integer(value, sources[at].0.0, signed) as u64;
                sum.wrapping_add(value.wrapping_mul(factor))
            });
            run(&values) == Some(sum & mask(width))
        })
    })?;
    let mut slope = LEVEL;
    let mut found = Found::from(SAME);
    for (at, &factor) in open.iter().zip(&factors) {
        let source = sources[*at];
        for (all, own) in slope.iter_mut().zip(source.1.slope()) {
            *all = all.wrapping_add(own.wrapping_mul(factor as i64));
        }
        if widens(at) && source.1.slope() != LEVEL {
            let operand = Affine { cell: source.0, slope: source.1.slope() };
            found.checks.push(Check::Fits(operand, signed));
        }
    }
    // Any slope that is the same modulo the width will do: the smallest.
    if pure.file == File::W32 {
        slope = slope.map(|by| i64::from(by as i32));
    }
    found.dependence = Dependence::Affine(slope);
    Some(found)
}

fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// The integer that a register of a file holds.
pub(super) fn integer(value: u64, file: File, signed: bool) -> i128 {
    match (file, signed) {
        (File::W32, true) => i128::from(value as i32),
        (File::W64, true) => i128::from(value as i64),
        (file, _) => i128::from(value & mask(bits(file))),
    }
}

/// A quotient or remainder.
fn quotient(pure: &Pure<'_>, sources: &Sources, seen: &[(Cell, Option<u64>)]) -> Option<Found> {
    let &[(dividend, dependence), (divisor, mut other)] = &sources[..] else { return None };
    let mut checks = SmallVec::new();
    if let Some(&(cell, Some(number))) = seen.iter().find(|(cell, _)| *cell == divisor)
        && other == SAME
    {
        checks.push(Check::Equals(cell, number));
        other = Known(number);
    }
    if !other.is_same() || dividend.0 != pure.file || dividend.0 == File::Pred {
        return None;
    }
    let (file, width) = (dividend.0, bits(dividend.0));
    let is = |function: &dyn Fn(i128, i128) -> i128, signed: bool, divisors: &[u64]| {
        let pairs = SAMPLES.iter().flat_map(|&a| divisors.iter().map(move |&b| (a, b)));
        pairs.into_iter().all(|(a, b)| {
            let (a, b) = (a & mask(width), b & mask(bits(divisor.0)));
            let value = function(integer(a, file, signed), integer(b, divisor.0, signed));
            (pure.run)(&[a, b]) == Some(value as u64 & mask(width))
        })
    };
    let small = [1, 2, 5, 16, 31];
    let operand = Affine { cell: dividend, slope: dependence.slope() };
    let register = match other {
        Known(number) if number >> (width - 1) == 0 => Divisor::Number(number),
        _ => Divisor::Register(divisor),
    };
    let power = match other {
        Known(bits) if bits < 62 => Divisor::Number(1 << bits),
        _ => Divisor::Power(divisor),
    };
    let same_width = divisor.0 == file;
    for signed in [false, true] {
        let (is_quotient, divisor) = if same_width && is(&|a, b| a / b, signed, &SAMPLES) {
            (true, register)
        } else if same_width && is(&|a, b| a % b, signed, &SAMPLES) {
            (false, register)
        } else if is(&|a, b| a >> b, signed, &small) {
            (true, power)
        } else if width == 32 && same_width && is(&|a, b| (a * b) >> 32, signed, &SAMPLES) {
            (true, Divisor::High(divisor))
        } else if let Known(ones) = other
            && same_width
            && is(&|a, b| a & b, signed, &SAMPLES)
        {
            return masked(operand, ones, (width, signed), checks);
        } else {
            continue;
        };
        let (whole, rest) = match divisor {
            Divisor::Number(number) => shares(operand.slope, number),
            _ => (LEVEL, operand.slope),
        };
        let dependence = Dependence::Affine(if is_quotient { whole } else { rest });
        let mut found = Found { dependence, checks };
        found.checks.push(Check::Quotient(operand, rest, divisor, signed));
        return Some(found);
    }
    None
}

/// The bits of an affine operand that a mask of neighbouring ones keeps: the remainder by the power of 2 above them, without
/// the remainder by the lowest one.
fn masked(
    operand: Affine,
    ones: u64,
    (width, signed): (u32, bool),
    mut checks: SmallVec<[Check; 2]>,
) -> Option<Found> {
    let (low, high) = (ones.trailing_zeros(), 64 - ones.leading_zeros());
    if ones == 0 || high - low != ones.count_ones() || high > 62 {
        return None;
    }
    let mut slope = operand.slope;
    let mut by = |power: u32| {
        let rest = shares(operand.slope, 1 << power).1;
        checks.push(Check::Quotient(operand, rest, Divisor::Number(1 << power), signed));
        rest
    };
    if high < width {
        slope = by(high);
    }
    if low > 0 {
        let lower = by(low);
        slope = std::array::from_fn(|axis| if lower[axis] == 0 { slope[axis] } else { 0 });
    }
    Some(Found { dependence: Dependence::Affine(slope), checks })
}

/// The part of a slope that a number divides, divided by it, and the rest.
fn shares(slope: Slope, number: u64) -> (Slope, Slope) {
    let number = i64::try_from(number).unwrap_or(i64::MAX).max(1);
    let divides = |by: i64| by % number == 0;
    let whole = slope.map(|by| if divides(by) { by / number } else { 0 });
    (whole, slope.map(|by| if divides(by) { 0 } else { by }))
}

/// An affine operand, with bits of another one or inverted by them that are below all that its slope changes.
fn joined(pure: &Pure<'_>, sources: &Sources, seen: &[(Cell, Option<u64>)]) -> Option<Found> {
    let &[one, other] = &sources[..] else { return None };
    let (affine, level) = if other.1.is_same() { (one, other) } else { (other, one) };
    let file = affine.0.0;
    if !level.1.is_same() || level.0.0 != file || file != pure.file || file == File::Pred {
        return None;
    }
    let is = |function: fn(u64, u64) -> u64| {
        let pairs = SAMPLES.iter().flat_map(|&a| SAMPLES.map(|b| (a, b)));
        pairs.into_iter().all(|(a, b)| {
            let (a, b) = (a & mask(bits(file)), b & mask(bits(file)));
            (pure.run)(&[a, b]) == Some(function(a, b))
        })
    };
    // It was seen to have other bits, too.
    let is_refused = seen.contains(&(level.0, None));
    if is_refused || !is(|a, b| a | b) && !is(|a, b| a ^ b) {
        return None;
    }
    let slope = affine.1.slope();
    let power = slope.iter().map(|by| by.trailing_zeros()).min()?;
    let mut found = Found::from(affine.1);
    found.checks.push(Check::Below(level.0, power));
    Some(found)
}

/// A minimum or maximum of an affine operand and one that is the same in all blocks, if it is always the latter.
fn bounded(pure: &Pure<'_>, sources: &Sources) -> Option<Found> {
    let &[one, other] = &sources[..] else { return None };
    let (affine, level) = if other.1.is_same() { (one, other) } else { (other, one) };
    let file = affine.0.0;
    if !level.1.is_same() || level.0.0 != file || file != pure.file || file == File::Pred {
        return None;
    }
    let is = |function: fn(i128, i128) -> i128, signed: bool| {
        let pairs = SAMPLES.iter().flat_map(|&a| SAMPLES.map(|b| (a, b)));
        pairs.into_iter().all(|(a, b)| {
            let [x, y] = [a, b].map(|value| integer(value & mask(bits(file)), file, signed));
            (pure.run)(&[a & mask(bits(file)), b & mask(bits(file))])
                == Some(function(x, y) as u64 & mask(bits(file)))
        })
    };
    let kinds = [(Comparison::Ge, i128::min as fn(_, _) -> _), (Comparison::Le, i128::max)];
    let (comparison, signed) = kinds.into_iter().find_map(|(comparison, function)| {
        let signed = [false, true].into_iter().find(|&signed| is(function, signed))?;
        Some((comparison, signed))
    })?;
    let operands = [affine, level].map(|(cell, how)| Affine { cell, slope: how.slope() });
    let mut found = Found::from(level.1);
    found.checks.push(Check::Holds(operands, comparison, signed));
    Some(found)
}
