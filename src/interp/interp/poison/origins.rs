//! Which buffer an address was made from, and which 32-bit operation of its index has wrapped around: for the message
//! about an access that fails.
//!
//! A launch is run again with this record once it has faulted, so that other launches do not pay for it. In: each
//! operation before and after it is executed. Out: for each lane of each register of 64 bits the buffer that its value
//! points into or beside, and for each index the first operation that has wrapped around and that the value comes from by
//! sums, products and shifts.

use typed_index_collections::{TiVec, ti_vec};

use super::uses::{ADDRESS, uses, writes};
use crate::interp::exec::Machine;
use crate::interp::fault::{Earlier, Fault, FaultKind, Outside};
use crate::interp::memory::Site;
use crate::interp::program::{FrameTemplate, Op};
use crate::interp::registers::{Dependence, File, LANES, Mask, Registers, Slot, WarpOp, lanes};

/// An operation that has wrapped around.
#[derive(Clone, Copy, Debug)]
struct Wrap {
    site: Site,
    /// The operation in words.
    what: &'static str,
}

/// The operations that have wrapped around, if the value counts as signed, and if it does not: PTX does not say which
/// until the value is widened.
#[derive(Clone, Copy, Debug, Default)]
struct Narrow {
    signed: Option<Wrap>,
    unsigned: Option<Wrap>,
}

/// The origin of a value of 64 bits.
#[derive(Clone, Copy, Debug, Default)]
struct Wide {
    /// The buffer or module variable, by its index.
    region: Option<usize>,
    wrap: Option<Wrap>,
}

/// The origins of the values in the registers of a frame.
#[derive(Debug)]
pub(crate) struct Origins {
    narrow: TiVec<Slot, [Narrow; LANES]>,
    wide: TiVec<Slot, [Wide; LANES]>,
    /// The sources of the present operation, which may overwrite them.
    sources: [[u64; LANES]; 4],
    /// Their origins.
    narrow_sources: [[Narrow; LANES]; 4],
    wide_sources: [[Wide; LANES]; 4],
}

impl Origins {
    /// No origins yet, in the registers of a frame.
    pub(super) fn new(frame: &FrameTemplate) -> Origins {
        Origins {
            narrow: ti_vec![[Narrow::default(); LANES]; frame.w32.len()],
            wide: ti_vec![[Wide::default(); LANES]; frame.w64.len()],
            sources: [[0; LANES]; 4],
            narrow_sources: [[Narrow::default(); LANES]; 4],
            wide_sources: [[Wide::default(); LANES]; 4],
        }
    }

    /// Notes the sources of an operation that is about to be executed.
    pub(crate) fn before(&mut self, op: &Op, registers: &Registers) {
        let Op::Lanes(op, slots) = op else { return };
        for (at, file) in op.s.iter().enumerate() {
            let Some(file) = *file else { continue };
            let slot = slots.s[at];
            self.sources[at] = std::array::from_fn(|lane| registers.get(file, slot, lane));
            match file {
                File::W32 => self.narrow_sources[at] = self.narrow[slot],
                File::W64 => self.wide_sources[at] = self.wide[slot],
                File::Pred => {}
            }
        }
    }

    /// Notes the results of an operation that the lanes of a mask have executed.
    pub(crate) fn after(
        &mut self,
        (op, site): (&Op, Site),
        registers: &Registers,
        mask: Mask,
        machine: &Machine<'_>,
    ) {
        for cell in writes(op) {
            for lane in lanes(mask) {
                match cell {
                    (File::W32, slot) => self.narrow[slot][lane] = Narrow::default(),
                    (File::W64, slot) => self.wide[slot][lane] = Wide::default(),
                    (File::Pred, _) => {}
                }
            }
        }
        let Op::Lanes(op, slots) = op else { return };
        for lane in lanes(mask) {
            let result = |file| registers.get(file, slots.d[0], lane);
            match op.d[0] {
                Some(File::W32) => {
                    let found = self.narrow_result(op, site, lane, result(File::W32) as u32);
                    self.narrow[slots.d[0]][lane] = found;
                }
                Some(File::W64) => {
                    let found = self.wide_result(op, lane, result(File::W64), machine);
                    self.wide[slots.d[0]][lane] = found;
                }
                _ => {}
            }
        }
    }

    /// The number of a warp-wide operation's sources of 32 bits, if it has no others.
    fn narrow_count(op: &WarpOp) -> Option<usize> {
        let count = op.s.iter().flatten().count();
        op.s.iter().flatten().all(|file| *file == File::W32).then_some(count)
    }

    fn narrow_result(&self, op: &WarpOp, site: Site, lane: usize, result: u32) -> Narrow {
        let Some(count) = Origins::narrow_count(op) else { return Narrow::default() };
        let [a, b, c] = [0, 1, 2].map(|at| self.sources[at][lane] as u32);
        let own = match (op.dependence, count) {
            (Dependence::Sum, 2) if result == a.wrapping_add(b) => sum(a, b),
            (Dependence::Sum, 2) if result == a.wrapping_sub(b) => {
                let signed = i64::from(a as i32) - i64::from(b as i32);
                wrapped("difference", is_signed(signed), a >= b)
            }
            (Dependence::Product, 2) if result == a.wrapping_mul(b) => product(a, b),
            (Dependence::Product, 3) if result == a.wrapping_mul(b).wrapping_add(c) => {
                let (first, then) = (product(a, b), sum(a.wrapping_mul(b), c));
                (first.0.or(then.0), first.1.or(then.1))
            }
            (Dependence::Bits(1), 2) if b < 32 && result == a << b => {
                let (signed, unsigned) = product(a, 1 << b);
                (signed.map(|_| "shift"), unsigned.map(|_| "shift"))
            }
            (Dependence::Bits(1), 1) if result == a => (None, None),
            _ => return Narrow::default(),
        };
        let of = |what: Option<&'static str>, earlier: fn(&Narrow) -> Option<Wrap>| {
            let first = (0..count).find_map(|at| earlier(&self.narrow_sources[at][lane]));
            first.or(what.map(|what| Wrap { site, what }))
        };
        Narrow { signed: of(own.0, |of| of.signed), unsigned: of(own.1, |of| of.unsigned) }
    }

    fn wide_result(&self, op: &WarpOp, lane: usize, result: u64, machine: &Machine<'_>) -> Wide {
        let mut found = Wide::default();
        let wide = (0..4).filter(|&at| op.s[at] == Some(File::W64));
        let regions: Vec<(usize, usize)> = wide
            .clone()
            .filter_map(|at| {
                let own = self.wide_sources[at][lane].region;
                Some((at, own.or_else(|| inside(machine, self.sources[at][lane]))?))
            })
            .collect();
        found.region = match regions[..] {
            [(_, only)] => Some(only),
            _ => {
                let same = |&&(at, _): &&(usize, usize)| self.sources[at][lane] == result;
                regions.iter().find(same).map(|&(_, region)| region)
            }
        };
        if matches!(op.dependence, Dependence::Sum | Dependence::Product | Dependence::Bits(1)) {
            found.wrap = wide.clone().find_map(|at| self.wide_sources[at][lane].wrap);
        }
        found.wrap = found.wrap.or_else(|| self.widened(op, lane, result));
        found
    }

    /// The wrap of an index of 32 bits that an operation widens to 64 bits.
    fn widened(&self, op: &WarpOp, lane: usize, result: u64) -> Option<Wrap> {
        let narrow: Vec<usize> = (0..4).filter(|&at| op.s[at] == Some(File::W32)).collect();
        let value = |at: usize| self.sources[at][lane] as u32;
        let signed_value = |at: usize| i64::from(value(at) as i32) as u64;
        let (signed, unsigned) = match (narrow[..].len(), op.dependence) {
            (1, _) => (signed_value(narrow[0]), u64::from(value(narrow[0]))),
            (2, Dependence::Product) => {
                let added = if op.s[2] == Some(File::W64) { self.sources[2][lane] } else { 0 };
                let [a, b] = [narrow[0], narrow[1]];
                let signed = signed_value(a).wrapping_mul(signed_value(b));
                let unsigned = u64::from(value(a)).wrapping_mul(u64::from(value(b)));
                (signed.wrapping_add(added), unsigned.wrapping_add(added))
            }
            _ => return None,
        };
        narrow.iter().find_map(|&at| {
            let of = self.narrow_sources[at][lane];
            match (result == signed, result == unsigned) {
                (true, true) => of.signed.and(of.unsigned),
                (true, false) => of.signed,
                (false, true) => of.unsigned,
                (false, false) => None,
            }
        })
    }

    /// Says in a fault which buffer the address of an access was made from, how far from it the access lies, and what has
    /// wrapped around. `at`: the address and the bytes.
    pub(crate) fn explain(
        &self,
        fault: &mut Fault,
        (op, lane): (&Op, usize),
        (address, bytes): (u64, u32),
        machine: &Machine<'_>,
    ) {
        let addresses = uses(op).into_iter().filter(|operand| operand.what == ADDRESS);
        let origin = addresses.filter_map(|operand| match operand.cell {
            (File::W64, slot) => Some(self.wide[slot][lane]),
            _ => None,
        });
        let Some(Wide { region, wrap }) = origin.max_by_key(|of| of.region.is_some()) else {
            return;
        };
        let Some(region) = region else { return };
        let found = &machine.global.regions()[region];
        let offset = address.wrapping_sub(found.base) as i64;
        let (name, size) = (&found.name, found.len);
        let access = format!("access of {bytes} bytes");
        fault.message = match fault.kind {
            FaultKind::Misaligned => {
                format!(
                    "{access} at offset {offset} of `{name}`: the address is not a multiple of {bytes}"
                )
            }
            _ if offset < 0 => {
                format!("{access}, {} bytes before `{name}`", offset.unsigned_abs())
            }
            _ if offset as u64 == size => {
                format!("{access}, directly behind the end of `{name}`, which has {size} bytes")
            }
            _ if offset as u64 > size => format!(
                "{access}, {} bytes behind the end of `{name}`, which has {size} bytes",
                offset as u64 - size
            ),
            // Another rule is broken: a constant is written, for instance.
            _ if offset as u64 + u64::from(bytes) <= size => return,
            _ => format!("{access} at offset {offset} of `{name}`, which has {size} bytes"),
        };
        fault.outside = Some(Box::new(Outside { buffer: name.clone(), offset, bytes }))
            .filter(|_| fault.kind == FaultKind::OutOfBounds);
        if let Some(Wrap { site, what }) = wrap {
            let remedy = "compute the index in 64 bits (`long long`, `size_t`)".to_owned();
            fault.earlier = Some(Box::new(Earlier {
                span: machine.program.span(site),
                what: "the index wrapped around here",
                remedy,
                declared: None,
                wrapped: Some(what),
            }));
        }
    }
}

/// The buffer or module variable that a value points into.
fn inside(machine: &Machine<'_>, value: u64) -> Option<usize> {
    let index = machine.global.index(&machine.program.layout, value)?;
    let region = machine.global.regions().get(index)?;
    let offset = value - region.base;
    (offset < region.len).then_some(index)
}

/// What has wrapped around, if the value counts as signed, and if it does not.
type Wrapped = (Option<&'static str>, Option<&'static str>);

fn wrapped(what: &'static str, signed_fits: bool, unsigned_fits: bool) -> Wrapped {
    ((!signed_fits).then_some(what), (!unsigned_fits).then_some(what))
}

fn is_signed(value: i64) -> bool {
    i32::try_from(value).is_ok()
}

fn is_unsigned(value: i128) -> bool {
    u32::try_from(value).is_ok()
}

/// A number; compilers write negative ones as large ones: `i - 1` is a sum.
fn either(value: u32) -> i64 {
    i64::from(value as i32)
}

fn sum(a: u32, b: u32) -> Wrapped {
    let signed = is_signed(either(a) + either(b));
    let unsigned = match (either(a) < 0, either(b) < 0) {
        (false, false) => true,
        (true, true) => signed,
        (true, false) | (false, true) => either(a) + either(b) >= 0,
    };
    wrapped("sum", signed, unsigned)
}

fn product(a: u32, b: u32) -> Wrapped {
    let signed = is_signed(either(a).saturating_mul(either(b)));
    let exact = match (either(a) < 0, either(b) < 0) {
        (false, false) => i128::from(a) * i128::from(b),
        _ => i128::from(either(a)) * i128::from(either(b)),
    };
    wrapped("product", signed, is_unsigned(exact))
}
