//! The slopes of registers: how their values grow with the block index.
//!
//! In: a decoded function, and the parameters of the launch. Out: the checks of its micro-operations. Each register has one slope
//! for all instructions that write it. Operations are tried, not told: sums with constant factors, relations and quotients
//! show in a few results.

use smallvec::SmallVec;
use typed_index_collections::TiVec;

use super::axes::Axes;
use super::{Affine, Check, Divisor, Divisors, LEVEL, Slope};
use crate::algebra::{Comparison, Meaning};
use crate::interp::memory::FunctionId;
use crate::interp::poison::{contributed, reads, uses, writes};
use crate::interp::program::rare::Cell;
use crate::interp::program::{
    Base, CollectiveKind, Formal, Function, Guard, LaunchInvariant, MicroOp, Op, Pc, Place,
};
use crate::interp::registers::{File, Slot};
use crate::interp::symbol::{relation, run_once};
use crate::ptx::StateSpace;

/// How a register depends on the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dependence {
    /// No instruction has written it yet.
    Unwritten,
    /// The number is known, and all lanes and blocks have it.
    Known(u64),
    /// It grows with the block index.
    Affine(Slope),
    /// Otherwise.
    Other,
}

use Dependence::{Known, Other, Unwritten};

/// The same in all blocks.
const SAME: Dependence = Dependence::Affine(LEVEL);

impl Dependence {
    fn join(self, other: Dependence) -> Dependence {
        match (self, other) {
            (Unwritten, known) | (known, Unwritten) => known,
            (one, other) if one == other => one,
            (one, other) if one.is_same() && other.is_same() => SAME,
            _ => Other,
        }
    }

    fn is_same(self) -> bool {
        matches!(self, Known(_) | SAME)
    }

    fn slope(self) -> Slope {
        match self {
            Dependence::Affine(slope) => slope,
            _ => LEVEL,
        }
    }
}

/// What the analysis knows of a launch.
pub(crate) struct Launched<'a> {
    /// A special register's number, if all lanes and blocks have it.
    pub special: &'a dyn Fn(LaunchInvariant) -> Option<u64>,
    /// The bytes of a parameter of the kernel: its number, unless it is a symbol.
    pub parameter: &'a dyn Fn(u64, u32) -> Option<u64>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Numbers that were seen in registers by which something is divided.
    pub divisors: &'a Divisors,
}

/// The checks of the micro-operations of a function, whose number is `id`.
pub(super) fn checks(
    (id, function): (FunctionId, &Function),
    launched: &Launched<'_>,
    axes: Axes,
) -> TiVec<Pc, Box<[Check]>> {
    let mut slopes = Slopes::new(function, launched, axes);
    let own = launched.divisors.iter().filter(|((of, _), _)| *of == id);
    slopes.seen = own.filter_map(|((_, cell), number)| Some((*cell, (*number)?))).collect();
    while slopes.propagate(function, launched) {}
    function.code.iter().map(|micro| slopes.checks(micro).into_vec().into()).collect()
}

struct Slopes {
    registers: [TiVec<Slot, Dependence>; 3],
    /// The numbers that were seen in registers which something is divided by.
    seen: Vec<(Cell, u64)>,
}

fn index(file: File) -> usize {
    match file {
        File::Pred => 0,
        File::W32 => 1,
        File::W64 => 2,
    }
}

impl Slopes {
    fn new(function: &Function, launched: &Launched<'_>, axes: Axes) -> Slopes {
        let frame = &function.frame;
        let constants = |row: &[u64]| {
            let first = row.first().copied().unwrap_or(0);
            if row.iter().all(|&lane| lane == first) { Known(first) } else { SAME }
        };
        let truth = |mask: &u32| match mask {
            0 => Known(0),
            &u32::MAX => Known(1),
            _ => SAME,
        };
        let narrow = |row: &[u32; 32]| constants(&row.map(u64::from));
        let mut slopes = Slopes {
            registers: [
                frame.preds.iter().map(truth).collect(),
                frame.w32.iter().map(narrow).collect(),
                frame.w64.iter().map(|row| constants(row)).collect(),
            ],
            seen: Vec::new(),
        };
        // A register that no instruction writes is a constant, or the frame's maker or a caller fills it.
        for cell in function.code.iter().flat_map(|micro| writes(&micro.op)) {
            slopes.set(cell, Unwritten);
        }
        let formals = function.params.iter().filter_map(|formal| match *formal {
            Formal::Register(file, slot) => Some((file, slot)),
            Formal::Memory { .. } => None,
        });
        let unwritten = function.unwritten.iter().map(|(cell, _)| *cell);
        formals.chain(unwritten).for_each(|cell| slopes.set(cell, SAME));
        for &(special, slot) in &frame.specials {
            let value = match special {
                LaunchInvariant::Ctaid(axis) => Dependence::Affine(axes.slope(axis)),
                special => (launched.special)(special).map_or(SAME, Known),
            };
            slopes.set((File::W32, slot), value);
        }
        slopes
    }

    fn of(&self, (file, slot): Cell) -> Dependence {
        self.registers[index(file)][slot]
    }

    fn set(&mut self, (file, slot): Cell, dependence: Dependence) {
        self.registers[index(file)][slot] = dependence;
    }

    /// Visits all instructions once; returns whether something has changed.
    fn propagate(&mut self, function: &Function, launched: &Launched<'_>) -> bool {
        let mut changed = false;
        for micro in &function.code {
            for cell in writes(&micro.op) {
                let old = self.of(cell);
                let new = old.join(self.result(&micro.op, cell, launched));
                changed |= new != old;
                self.set(cell, new);
            }
        }
        changed
    }

    /// The dependence of a register that a micro-operation writes.
    fn result(&self, op: &Op, cell: Cell, launched: &Launched<'_>) -> Dependence {
        match op {
            Op::Lanes(..) | Op::Scalar(_) => self.pure(op, cell).dependence,
            Op::Load(load) if load.place.space == StateSpace::Param => {
                let dests = load.dests.iter();
                let mut at = dests.zip(0_u64..).filter_map(|(dest, at)| Some(((*dest)?, at)));
                let found = at.find(|(dest, _)| (dest.file, dest.slot) == cell);
                match (found, load.place.base) {
                    (Some((dest, at)), Base::Absolute) if dest.sign_to == 0 => {
                        let offset = load.place.offset as u64 + at * u64::from(load.bytes);
                        (launched.parameter)(offset, load.bytes).map_or(SAME, Known)
                    }
                    _ => SAME,
                }
            }
            Op::Clock(..) => Other,
            Op::CrossLane(_) | Op::IsSpace(..) => {
                let sources = reads(op);
                if sources.iter().any(|&cell| self.of(cell) == Unwritten) {
                    Unwritten
                } else if sources.iter().all(|&cell| self.of(cell).is_same()) {
                    SAME
                } else {
                    Other
                }
            }
            Op::Collective(collective) => {
                let given = contributed(collective).map_or(SAME, |cell| self.of(cell));
                match collective.kind {
                    _ if given == Unwritten => Unwritten,
                    CollectiveKind::Shuffle(_) if cell.0 == File::W32 => given,
                    _ if given.is_same() => SAME,
                    _ => Other,
                }
            }
            _ => SAME,
        }
    }

    fn pure(&self, op: &Op, cell: Cell) -> Found {
        let Some(pure) = Pure::of(op, cell) else { return Found::from(Other) };
        let sources: Sources = pure.sources.iter().map(|&cell| (cell, self.of(cell))).collect();
        let all = |is: fn(Dependence) -> bool| sources.iter().all(|source| is(source.1));
        if sources.iter().any(|source| source.1 == Unwritten) {
            Found::from(Unwritten)
        } else if all(|source| matches!(source, Known(_))) && pure.is_first {
            let known: SmallVec<[u64; 4]> = sources.iter().map(|source| known(source.1)).collect();
            Found::from((pure.run)(&known).map_or(SAME, Known))
        } else if all(Dependence::is_same) {
            Found::from(SAME)
        } else if sources.iter().any(|source| source.1 == Other) || !pure.is_first {
            Found::from(Other)
        } else {
            tried(&pure, &sources, &self.seen)
        }
    }

    /// The checks of a micro-operation.
    fn checks(&self, micro: &MicroOp) -> SmallVec<[Check; 2]> {
        let mut checks = SmallVec::new();
        if let Guard::If(slot) | Guard::Unless(slot) = micro.guard
            && self.of((File::Pred, slot)) == Other
        {
            checks.push(Check::Obstacle("whether this is executed"));
        }
        let place = match &micro.op {
            op @ (Op::Lanes(..) | Op::Scalar(_)) => {
                for cell in writes(op) {
                    checks.extend(self.pure(op, cell).checks);
                }
                return checks;
            }
            Op::CrossLane(_) | Op::IsSpace(..) => return checks,
            Op::CopyBulk(_) => {
                checks.push(Check::Obstacle("this copy"));
                return checks;
            }
            Op::Load(load) => Some(load.place),
            Op::Store(store) => Some(store.place),
            Op::Atomic(atomic) => Some(atomic.place),
            Op::CopyAsync(copy) => Some(copy.from),
            Op::Fragment(fragment) => Some(fragment.place),
            _ => None,
        };
        let place = place.filter(may_be_global);
        let address = place.and_then(|place| base(&place));
        if place.is_some() {
            let slope = address.map_or(LEVEL, |cell| self.of(cell).slope());
            checks.push(Check::Access(slope));
        }
        let is_shuffle = |op: &Op| matches!(op, Op::Collective(collective) if matches!(collective.kind, CollectiveKind::Shuffle(_)));
        let needed = uses(&micro.op);
        for cell in reads(&micro.op) {
            let free = match self.of(cell) {
                Unwritten | Known(_) | SAME => true,
                Dependence::Affine(_) if Some(cell) == address => true,
                Dependence::Affine(_) if is_shuffle(&micro.op) => {
                    needed.iter().all(|operand| operand.cell != cell)
                }
                _ => false,
            };
            if !free {
                let what = needed.iter().find(|operand| operand.cell == cell);
                checks.push(Check::Obstacle(what.map_or(OPERAND, |operand| operand.what)));
            }
        }
        checks
    }
}

/// A register that an instruction hands to others.
const OPERAND: &str = "an operand of this instruction";

fn known(dependence: Dependence) -> u64 {
    match dependence {
        Known(bits) => bits,
        _ => 0,
    }
}

/// Whether an access may be one to global memory.
fn may_be_global(place: &Place) -> bool {
    matches!(place.space, StateSpace::Global | StateSpace::Generic | StateSpace::Const)
}

fn base(place: &Place) -> Option<Cell> {
    match place.base {
        Base::W32(slot) => Some((File::W32, slot)),
        Base::W64(slot) => Some((File::W64, slot)),
        Base::Absolute | Base::Frame => None,
    }
}

/// The sources of an operation, and how they depend on the block.
type Sources = SmallVec<[(Cell, Dependence); 4]>;

/// What an operation makes of the bits of its sources; none if it has no result.
type Run<'a> = Box<dyn Fn(&[u64]) -> Option<u64> + 'a>;

/// A pure operation on a lane's registers.
struct Pure<'a> {
    run: Run<'a>,
    sources: SmallVec<[Cell; 4]>,
    file: File,
    meaning: Meaning,
    /// Whether the result that is asked for is the one that `run` returns.
    is_first: bool,
}

impl<'a> Pure<'a> {
    fn of(op: &'a Op, cell: Cell) -> Option<Pure<'a>> {
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
struct Found {
    dependence: Dependence,
    checks: SmallVec<[Check; 2]>,
}

impl From<Dependence> for Found {
    fn from(dependence: Dependence) -> Found {
        Found { dependence, checks: SmallVec::new() }
    }
}

/// Tries an operation on affine sources and others that are the same in all blocks.
fn tried(pure: &Pure<'_>, sources: &Sources, seen: &[(Cell, u64)]) -> Found {
    if pure.meaning == Meaning::Select {
        return Found::from(sources[0].1.join(sources[1].1));
    }
    if !matches!(pure.meaning, Meaning::Unknown | Meaning::ShiftLeft) {
        return Found::from(Other);
    }
    let found = match pure.file {
        File::Pred => relation_of(pure, sources),
        _ => linear(pure, sources)
            .or_else(|| quotient(pure, sources, seen))
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
fn quotient(pure: &Pure<'_>, sources: &Sources, seen: &[(Cell, u64)]) -> Option<Found> {
    let &[(dividend, dependence), (divisor, mut other)] = &sources[..] else { return None };
    let mut checks = SmallVec::new();
    if let Some(&(cell, number)) = seen.iter().find(|(cell, _)| *cell == divisor)
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
