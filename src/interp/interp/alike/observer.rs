//! What the execution of some blocks shows of others.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rangemap::RangeSet;

use super::axes::{Axes, Checks};
use super::slopes::{Launched, checks};
use super::tried::{bits, integer};
use super::{Affine, Check, Divisor, Divisors, Slope};
use crate::algebra::Comparison;
use crate::interp::exec::Spaces;
use crate::interp::memory::FunctionId;
use crate::interp::program::rare::{Cell, FragmentBase};
use crate::interp::program::{CopyLimit, Op, Pc, Place, Program};
use crate::interp::registers::{FULL, LANES, Mask, Registers, lanes};

/// How often axes are split: a divisor may be known only once others are.
const MOST_SPLITS: usize = 3;

/// Watches the execution of blocks.
#[derive(Debug)]
pub(crate) struct Observer {
    checks: Checks,
    /// Whether each region holds symbols at first.
    symbolic: Vec<bool>,
    seen: Mutex<Trace>,
}

/// What the execution of blocks has shown: in which other blocks each instruction does the same, and their accesses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    /// The interval in which each linear function of the difference of block indices has to stay.
    pub(super) intervals: BTreeMap<Slope, (i128, i128)>,
    /// The bytes of each region that are accessed, by the slope of the accesses.
    pub(super) touched: BTreeMap<(usize, Slope), Touched>,
    /// The names of regions, by their numbers.
    pub(super) regions: Vec<String>,
    /// The axes of the grid.
    pub(super) axes: Axes,
    /// The registers by which something is divided and whose numbers only the execution shows.
    pub(in crate::interp) divisors: Divisors,
    /// Why nothing is known of other blocks.
    pub obstacle: Option<String>,
}

/// Bytes of a region that are accessed.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub read: RangeSet<u64>,
    pub written: RangeSet<u64>,
    /// Those to which atomic operations add, and whose value nobody sees.
    pub summed: RangeSet<u64>,
}

/// How an access touches bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touch {
    Read,
    Write,
    /// A sum in memory, and whether its old value is returned.
    Sum(bool),
}

impl Trace {
    /// A linear function of the difference of block indices has to stay in an interval.
    pub(super) fn stay(&mut self, slope: Slope, (low, high): (i128, i128)) {
        let interval = self.intervals.entry(slope).or_insert((i128::MIN, i128::MAX));
        *interval = (interval.0.max(low), interval.1.min(high));
    }

    fn fail(&mut self, what: impl Into<String>) {
        if planted!(Bug::OtherIsAffine) {
            return;
        }
        self.obstacle.get_or_insert_with(|| what.into());
    }
}

impl Observer {
    /// An observer of a launch; the regions have these names, and some hold symbols at first.
    pub(crate) fn new(
        program: &Program,
        regions: Vec<(String, bool)>,
        launched: &Launched<'_>,
    ) -> Observer {
        let functions = &program.functions;
        let of_all = |axes: Axes| -> Checks {
            functions.iter_enumerated().map(|function| checks(function, launched, axes)).collect()
        };
        let mut axes = Axes::new(launched.grid);
        let mut all = of_all(axes);
        for _ in 0..MOST_SPLITS {
            let Some(split) = axes.split(&all) else { break };
            axes = split;
            all = of_all(axes);
        }
        let (regions, symbolic) = regions.into_iter().unzip();
        let trace = Trace { regions, axes, ..Trace::default() };
        Observer { checks: all, symbolic, seen: Mutex::new(trace) }
    }

    /// What was seen.
    pub(crate) fn trace(self) -> Trace {
        self.seen.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lanes are about to execute a micro-operation.
    #[inline]
    pub(crate) fn see(
        &self,
        (function, pc): (FunctionId, Pc),
        op: &Op,
        (registers, mask): (&Registers, Mask),
        spaces: &Spaces<'_>,
    ) {
        let checks = &self.checks[function][pc];
        if checks.is_empty() || mask == 0 {
            return;
        }
        let mut trace = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for check in checks {
            match *check {
                Check::Fits(operand, signed) => {
                    trace.fits(operand, signed, (registers, mask));
                }
                Check::Relation(operands, comparison, signed) => {
                    operands.iter().for_each(|&operand| {
                        trace.fits(operand, signed, (registers, mask));
                    });
                    trace.relation(operands, comparison, signed, (registers, mask));
                }
                Check::Holds(operands, comparison, signed) => {
                    operands.iter().for_each(|&operand| {
                        trace.fits(operand, signed, (registers, mask));
                    });
                    trace.holds(operands, comparison, signed, (registers, mask));
                }
                Check::Quotient(operand, rest, divisor, signed) => {
                    trace.fits(operand, signed, (registers, mask));
                    trace.quotient((operand, rest), divisor, signed, (registers, mask));
                    if let Divisor::Register(cell) = divisor {
                        trace.divide((function, cell), (registers, mask));
                    }
                }
                Check::Equals(cell, number) => {
                    if lanes(mask).any(|lane| registers.get(cell.0, cell.1, lane) != number) {
                        trace.fail("a divisor depends on the block");
                    }
                }
                Check::Below(cell, power) => {
                    let above = |lane| registers.get(cell.0, cell.1, lane).checked_shr(power);
                    if lanes(mask).any(|lane| above(lane).is_some_and(|above| above != 0)) {
                        trace.divisors.insert((function, cell), None);
                        trace.fail("bits that depend on the block are joined with others");
                    }
                }
                Check::Obstacle(what) => {
                    trace.fail(format!("{what} depends on the block by more than a sum"));
                }
                Check::Access(slope) => {
                    for (touch, bytes, addresses, mask) in accesses(op, registers, mask, spaces) {
                        let access = (touch, bytes, slope);
                        self.access(&mut trace, access, (&addresses, mask), spaces);
                    }
                }
            }
        }
    }

    fn is_symbolic(&self, region: usize) -> bool {
        self.symbolic.get(region).copied().unwrap_or(false)
    }

    /// Lanes access bytes of global memory.
    fn access(
        &self,
        trace: &mut Trace,
        (touch, bytes, slope): (Touch, u32, Slope),
        (addresses, mask): (&[u64; LANES], Mask),
        spaces: &Spaces<'_>,
    ) {
        let mut runs: Vec<(usize, u64)> = Vec::with_capacity(LANES);
        for lane in lanes(mask) {
            let address = addresses[lane];
            match spaces.layout.region_index(address) {
                Some(region) => runs.push((region, address - spaces.layout.region_base(region))),
                // Another window, whose addresses no block index can be a part of.
                None if slope == super::LEVEL => {}
                None => trace.fail("an address outside of global memory depends on the block"),
            }
        }
        runs.sort_unstable();
        if let Some(alignment) = u64::from(bytes).checked_next_power_of_two()
            && slope.iter().any(|&by| by.unsigned_abs() % alignment != 0)
        {
            trace.fail("the alignment of an access depends on the block");
        }
        let mut at = 0;
        while let Some(&(region, first)) = runs.get(at) {
            let mut end = first + u64::from(bytes);
            at += 1;
            while let Some(&(_, next)) = runs.get(at).filter(|run| run.0 == region && run.1 <= end)
            {
                end = end.max(next + u64::from(bytes));
                at += 1;
            }
            let Some(len) = spaces.global.regions().get(region).map(|region| region.len) else {
                continue;
            };
            if end > len {
                continue;
            }
            if slope != super::LEVEL {
                trace.stay(slope, (-i128::from(first), i128::from(len - end)));
                if touch == Touch::Read && !self.is_symbolic(region) {
                    let name = &trace.regions[region];
                    let what = format!("numbers in `{name}`, which other blocks read elsewhere");
                    trace.fail(what);
                }
            }
            let touched = trace.touched.entry((region, slope)).or_default();
            let is_symbolic = self.is_symbolic(region);
            let Touched { read, written, summed } = touched;
            let all: &mut [&mut RangeSet<u64>] = match touch {
                Touch::Read => &mut [read],
                Touch::Write => &mut [written],
                // The old value of a symbol is lost.
                Touch::Sum(returns) if !returns || is_symbolic => &mut [summed],
                Touch::Sum(_) => &mut [read, written],
            };
            for ranges in all {
                if ranges.get(&first).is_none_or(|range| range.end < end) {
                    ranges.insert(first..end);
                }
            }
        }
    }
}

/// Registers, and the lanes that count.
type Rows<'a> = (&'a Registers, Mask);

impl Trace {
    /// An operand stays within the numbers of its width.
    fn fits(&mut self, Affine { cell, slope }: Affine, signed: bool, (registers, mask): Rows<'_>) {
        if slope == super::LEVEL || planted!(Bug::WrapsUnseen) {
            return;
        }
        let width = bits(cell.0);
        let (least, most) = match signed {
            true => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
            false => (0, (1_i128 << width) - 1),
        };
        let values = lanes(mask).map(|lane| value(registers, cell, lane, signed));
        let (low, high) =
            values.fold((most, least), |(low, high), value| (low.min(value), high.max(value)));
        self.stay(slope, (least - low, most - high));
    }

    fn relation(
        &mut self,
        [one, other]: [Affine; 2],
        comparison: Comparison,
        signed: bool,
        (registers, mask): Rows<'_>,
    ) {
        let slope: Slope =
            std::array::from_fn(|axis| one.slope[axis].wrapping_sub(other.slope[axis]));
        if slope == super::LEVEL {
            return;
        }
        let mut all = (i128::MIN, i128::MAX);
        for lane in lanes(mask) {
            let [a, b] = [one, other].map(|operand| value(registers, operand.cell, lane, signed));
            let difference = a - b;
            let (low, high) = match (comparison, difference.signum()) {
                (Comparison::Eq | Comparison::Ne, 0) => (0, 0),
                (Comparison::Eq | Comparison::Ne, 1) | (Comparison::Le | Comparison::Gt, 1) => {
                    (1, i128::MAX)
                }
                (Comparison::Eq | Comparison::Ne, _) | (Comparison::Lt | Comparison::Ge, -1) => {
                    (i128::MIN, -1)
                }
                (Comparison::Lt | Comparison::Ge, _) => (0, i128::MAX),
                _ => (i128::MIN, 0),
            };
            let (low, high) = (low.saturating_sub(difference), high.saturating_sub(difference));
            all = (all.0.max(low), all.1.min(high));
        }
        self.stay(slope, all);
    }

    /// Notes the number in a register that something is divided by.
    fn divide(&mut self, register: (FunctionId, Cell), (registers, mask): Rows<'_>) {
        let (_, (file, slot)) = register;
        for number in lanes(mask).map(|lane| registers.get(file, slot, lane)) {
            let seen = self.divisors.entry(register).or_insert(Some(number));
            *seen = seen.filter(|&seen| seen == number);
        }
    }

    /// A relation holds now, and in all blocks.
    fn holds(
        &mut self,
        operands: [Affine; 2],
        comparison: Comparison,
        signed: bool,
        (registers, mask): Rows<'_>,
    ) {
        let holds = |lane: usize| {
            let [a, b] = operands.map(|operand| value(registers, operand.cell, lane, signed));
            if comparison == Comparison::Ge { a >= b } else { a <= b }
        };
        match lanes(mask).all(holds) {
            true => self.relation(operands, comparison, signed, (registers, mask)),
            false => self.fail("a minimum or maximum depends on the block"),
        }
    }

    fn quotient(
        &mut self,
        (Affine { cell, slope: whole }, slope): (Affine, Slope),
        divisor: Divisor,
        signed: bool,
        (registers, mask): Rows<'_>,
    ) {
        let mut all = (i128::MIN, i128::MAX);
        for lane in lanes(mask) {
            let a = value(registers, cell, lane, signed);
            if slope != whole {
                // A quotient is rounded towards zero.
                self.stay(whole, if a < 0 { (0, 0) } else { (-a, i128::MAX) });
            }
            let by = |cell: Cell| value(registers, cell, lane, signed);
            let same = match divisor {
                Divisor::Register(cell) => multiples(a, by(cell)),
                Divisor::Power(cell) => floors(a, 1 << (by(cell) & 63)),
                Divisor::Number(number) => multiples(a, i128::from(number)),
                Divisor::High(cell) => highs(a, by(cell), bits(cell.0)),
            };
            all = (all.0.max(same.0 - a), all.1.min(same.1 - a));
        }
        self.stay(slope, all);
    }
}

fn value(registers: &Registers, cell: Cell, lane: usize, signed: bool) -> i128 {
    integer(registers.get(cell.0, cell.1, lane), cell.0, signed)
}

/// The numbers with the same quotient as `a`, if both are positive; else `a` alone.
fn multiples(a: i128, by: i128) -> (i128, i128) {
    if a < 0 || by <= 0 { (a, a) } else { floors(a, by) }
}

/// The numbers with the same quotient as `a`, rounded down, by a positive number.
fn floors(a: i128, by: i128) -> (i128, i128) {
    let first = a.div_euclid(by) * by;
    (first, first + by - 1)
}

/// The numbers whose product with `by` has the same upper half, if that is positive; else `a` alone.
fn highs(a: i128, by: i128, width: u32) -> (i128, i128) {
    if by <= 0 {
        return (a, a);
    }
    let (first, last) = floors(a * by, 1 << width);
    (-(-first).div_euclid(by), last.div_euclid(by))
}

/// An access: its kind, the bytes of each lane, the addresses, and the lanes.
type Access = (Touch, u32, [u64; LANES], Mask);

/// The accesses to global memory of a micro-operation.
fn accesses(op: &Op, registers: &Registers, mask: Mask, spaces: &Spaces<'_>) -> Vec<Access> {
    let at = |place: &Place| spaces.addresses(registers, place);
    match op {
        Op::Load(load) => {
            vec![(Touch::Read, load.bytes * load.dests.len() as u32, at(&load.place), mask)]
        }
        Op::Store(store) => {
            vec![(Touch::Write, store.bytes * store.sources.len() as u32, at(&store.place), mask)]
        }
        Op::Atomic(atomic) => {
            let bytes = atomic.bytes * atomic.elements.len() as u32;
            let returns = atomic.elements.iter().any(|element| element.0.is_some());
            let addresses = at(&atomic.place);
            if atomic.is_sum() {
                return vec![(Touch::Sum(returns), bytes, addresses, mask)];
            }
            let both = [Touch::Read, Touch::Write];
            both.map(|touch| (touch, bytes, addresses, mask)).to_vec()
        }
        Op::CopyAsync(copy) => {
            let reads = |lane: &usize| match copy.limit {
                CopyLimit::All => true,
                CopyLimit::Bytes(slot) => registers.w32[slot][*lane] != 0,
                CopyLimit::Ignore(slot) => registers.preds[slot] >> lane & 1 == 0,
            };
            let reading = lanes(mask).filter(reads).fold(0, |mask, lane| mask | 1 << lane);
            vec![(Touch::Read, copy.bytes, at(&copy.from), reading)]
        }
        Op::Fragment(fragment) => {
            let strides = fragment.stride.map_or([0; LANES], |slot| registers.w32[slot]);
            let base = FragmentBase { addresses: at(&fragment.place), strides };
            let touch = if fragment.store { Touch::Write } else { Touch::Read };
            let elements = 0..fragment.elements.len();
            let of = |element| std::array::from_fn(|lane| (fragment.address)(&base, lane, element));
            elements.map(|element| (touch, fragment.bytes, of(element), FULL)).collect()
        }
        _ => Vec::new(),
    }
}
