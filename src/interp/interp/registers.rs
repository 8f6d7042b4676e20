//! The registers of one call frame of one warp, and how a scalar operation becomes a warp-wide one.
//!
//! A register is 32 lanes wide. Registers of up to 32 bits live in one file, registers of 64 bits
//! in a second (a `.b128` register is two neighbouring ones), predicates are one bit a lane in a
//! mask. Immediates and special registers are ordinary slots that are filled when the frame is
//! made, so that every operand is a slot and no operation has to ask what kind it reads.
//!
//! Invariant of the narrow file: a value of fewer than 32 bits is kept zero-extended.

use typed_index_collections::TiVec;

use crate::algebra::Meaning;

/// One bit for each of the 32 lanes of a warp; bit 0 is lane 0.
pub(super) type Mask = u32;

/// Lanes in a warp.
pub(super) const LANES: usize = 32;

/// All lanes.
pub(super) const FULL: Mask = !0;

/// The lanes of a mask in ascending order.
pub(super) fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// The number of a register in its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Slot(pub u32);

table_ids!(Slot);

impl Slot {
    /// The register `count` places behind it.
    #[inline]
    pub(super) fn plus(self, count: u32) -> Slot {
        Slot(self.0 + count)
    }
}

/// Which of the register files a slot belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum File {
    /// One bit a lane.
    Pred,
    /// Up to 32 bits a lane.
    W32,
    /// 64 bits a lane.
    W64,
}

/// All bits of a register.
pub(super) fn whole(file: File) -> u64 {
    match file {
        File::Pred => 1,
        File::W32 => u32::MAX.into(),
        File::W64 => u64::MAX,
    }
}

/// The registers of one frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    /// Predicates.
    pub preds: TiVec<Slot, Mask>,
    /// Registers of up to 32 bits.
    pub w32: TiVec<Slot, [u32; LANES]>,
    /// Registers of 64 bits.
    pub w64: TiVec<Slot, [u64; LANES]>,
}

impl Registers {
    /// One lane of a register, zero-extended.
    pub(super) fn get(&self, file: File, slot: Slot, lane: usize) -> u64 {
        match file {
            File::Pred => u64::from(self.preds[slot] >> lane & 1),
            File::W32 => u64::from(self.w32[slot][lane]),
            File::W64 => self.w64[slot][lane],
        }
    }

    /// Overwrites one lane of a register.
    pub(super) fn set(&mut self, file: File, slot: Slot, lane: usize, value: u64) {
        match file {
            File::Pred => {
                let mask = &mut self.preds[slot];
                *mask = *mask & !(1 << lane) | (u32::from(value != 0)) << lane;
            }
            File::W32 => self.w32[slot][lane] = value as u32,
            File::W64 => self.w64[slot][lane] = value,
        }
    }
}

/// The operands of a warp-wide operation: destinations and sources, each a slot of the file that
/// the operation's lane types say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slots {
    /// Destinations.
    pub d: [Slot; 2],
    /// Sources.
    pub s: [Slot; 4],
}

/// Which bits of its sources a bit of a result depends on, in one lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dependence {
    /// All bits of all sources.
    Whole,
    /// For given values of the other sources, at most one bit of each of the first `n`: moves, shifts, bitwise logic,
    /// selections.
    Bits(u8),
    /// The bits of the same half of each source: two numbers in one register.
    Halves,
    /// Bit n: bits 0 to n of all sources, whose sum or difference it is.
    Sum,
    /// Bit n: bits 0 to n of the product of the first two sources, and of a third that is added.
    Product,
    /// As [`Dependence::Product`], without the low half of the product: only a factor of 0 tells something.
    HighProduct,
    /// Whether two numbers are equal.
    Equality,
    /// The result never falls, or never rises, as a source grows: minima, maxima, comparisons. With the bits whose value
    /// is negative in the sources: the sign and what extends it, or none.
    Monotone(u64),
}

/// A warp-wide operation without side effects beyond its destinations: it computes on every lane
/// and writes those of the mask.
#[derive(Debug)]
pub(super) struct WarpOp {
    /// The function.
    pub run: fn(&mut Registers, &Slots, Mask),
    /// The file of each destination; none where there are fewer.
    pub d: [Option<File>; 2],
    /// The file of each source; none where there are fewer.
    pub s: [Option<File>; 4],
    /// The operand bits that the bits of a result depend on.
    pub dependence: Dependence,
    /// What the function computes, for those who compute with something else than bits.
    pub meaning: Meaning,
    /// The text of the function, with its file: functions of one text are the same.
    pub text: &'static str,
}

impl WarpOp {
    /// An operation on registers of these files.
    pub(super) const fn new(
        run: fn(&mut Registers, &Slots, Mask),
        text: &'static str,
        destinations: &[File],
        sources: &[File],
    ) -> WarpOp {
        let (dependence, meaning) = (Dependence::Whole, Meaning::Unknown);
        let mut op = WarpOp { run, d: [None; 2], s: [None; 4], dependence, meaning, text };
        let mut at = 0;
        while at < destinations.len() {
            op.d[at] = Some(destinations[at]);
            at += 1;
        }
        at = 0;
        while at < sources.len() {
            op.s[at] = Some(sources[at]);
            at += 1;
        }
        op
    }

    /// How many sources it has.
    pub(super) fn sources(&self) -> usize {
        self.s.iter().flatten().count()
    }

    /// The same operation with a meaning.
    pub(super) const fn meaning(mut self, meaning: Meaning) -> WarpOp {
        self.meaning = meaning;
        self
    }

    /// The same operation with a narrower dependence of its result.
    pub(super) const fn depending(mut self, dependence: Dependence) -> WarpOp {
        self.dependence = dependence;
        self
    }
}

/// A warp-wide operation, as [`warp!`] makes it.
pub(super) type WarpFn = &'static WarpOp;

/// Lanes that an operation computes at a time: intermediate values stay in registers of the host.
pub(super) const PART: usize = 8;

/// A type that a lane of a register can be read and written as.
pub(super) trait Lane: Copy + Default {
    /// The file of such a register.
    const FILE: File;
    /// Reads a part of the lanes, from `first` on.
    fn read(registers: &Registers, slot: Slot, first: usize) -> [Self; PART];
    /// Writes those of a part that are in `mask`.
    fn write(registers: &mut Registers, slot: Slot, first: usize, part: &[Self; PART], mask: Mask);
}

/// Overwrites the lanes of `mask`.
#[inline(always)]
pub(super) fn blend<T: Copy>(old: &mut [T; LANES], new: &[T; LANES], mask: Mask) {
    if mask == FULL {
        *old = *new;
    } else {
        for lane in 0..LANES {
            old[lane] = if mask & 1 << lane != 0 { new[lane] } else { old[lane] };
        }
    }
}

macro_rules! lane_type {
    ($file:ident, $name:ident: $($ty:ty, |$raw:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            const FILE: File = File::$name;
            #[inline(always)]
            fn read(registers: &Registers, slot: Slot, first: usize) -> [Self; PART] {
                let row = &registers.$file[slot][first..first + PART];
                let mut part = [Self::default(); PART];
                for at in 0..PART {
                    let $raw = row[at];
                    part[at] = $from;
                }
                part
            }
            #[inline(always)]
            fn write(
                registers: &mut Registers,
                slot: Slot,
                first: usize,
                part: &[Self; PART],
                mask: Mask,
            ) {
                let row = &mut registers.$file[slot][first..first + PART];
                if mask == FULL {
                    for at in 0..PART {
                        let $value = part[at];
                        row[at] = $to;
                    }
                } else {
                    for at in 0..PART {
                        let $value = part[at];
                        row[at] = if mask >> first & 1 << at != 0 { $to } else { row[at] };
                    }
                }
            }
        }
    )*};
}

lane_type! { w32, W32:
    u8, |raw| raw as u8, |value| u32::from(value);
    i8, |raw| raw as i8, |value| u32::from(value as u8);
    u16, |raw| raw as u16, |value| u32::from(value);
    i16, |raw| raw as i16, |value| u32::from(value as u16);
    u32, |raw| raw, |value| value;
    i32, |raw| raw as i32, |value| value as u32;
    f32, |raw| f32::from_bits(raw), |value| value.to_bits();
}
lane_type! { w64, W64:
    u64, |raw| raw, |value| value;
    i64, |raw| raw as i64, |value| value as u64;
    f64, |raw| f64::from_bits(raw), |value| value.to_bits();
}

impl Lane for bool {
    const FILE: File = File::Pred;
    #[inline(always)]
    fn read(registers: &Registers, slot: Slot, first: usize) -> [bool; PART] {
        let bits = registers.preds[slot] >> first;
        let mut part = [false; PART];
        for (at, value) in part.iter_mut().enumerate() {
            *value = bits & 1 << at != 0;
        }
        part
    }
    #[inline(always)]
    fn write(registers: &mut Registers, slot: Slot, first: usize, part: &[bool; PART], mask: Mask) {
        let mut bytes = [0; PART];
        for at in 0..PART {
            bytes[at] = u8::from(part[at]);
        }
        // Each byte is 0 or 1; the product has all of them side by side in its uppermost byte.
        let product = u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080);
        let mask = mask & 0xff << first;
        let old = &mut registers.preds[slot];
        *old = *old & !mask | ((product >> 56) as Mask) << first & mask;
    }
}

/// Turns a scalar function, written as a closure with all its types, into a [`WarpFn`].
///
/// A closure of one to four parameters that returns one value or, with `-> (A, B)`, two. A lane's results depend on that
/// lane alone, so a destination may be a source. `bits n;`, `halves;`, `monotone;` or `as` with
/// another kind in front says what [`Dependence`] the result has; before that, `means` and a [`Meaning`] say which function it is.
macro_rules! warp {
    (means $meaning:expr; $($rest:tt)*) => {{
        const MEANT: &$crate::interp::registers::WarpOp = &{
            let op = $crate::interp::registers::warp!($($rest)*);
            $crate::interp::registers::WarpOp { meaning: $meaning, ..*op }
        };
        MEANT
    }};
    (bits $n:literal; |$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {{
        const BITS: &$crate::interp::registers::WarpOp = &{
            use $crate::interp::registers::Dependence;
            $crate::interp::registers::warp!(% |$($arg: $ty),+| -> $d $body, [only: $d = 0], |only|)
                .depending(Dependence::Bits($n))
        };
        BITS
    }};
    (halves; |$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {{
        const HALVES: &$crate::interp::registers::WarpOp = &{
            use $crate::interp::registers::Dependence;
            $crate::interp::registers::warp!(% |$($arg: $ty),+| -> $d $body, [only: $d = 0], |only|)
                .depending(Dependence::Halves)
        };
        HALVES
    }};
    (monotone; |$first:ident: $one:ty, $second:ident: $other:ty| -> $d:ty $body:block) => {
        $crate::interp::registers::warp!(& Monotone(<$one>::MIN as u64),
            |$first: $one, $second: $other| -> $d $body)
    };
    (as $dependence:ident; |$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {
        $crate::interp::registers::warp!(& $dependence, |$($arg: $ty),+| -> $d $body)
    };
    (& $dependence:ident $(($signs:expr))?, |$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {{
        const OP: &$crate::interp::registers::WarpOp = &{
            use $crate::interp::registers::Dependence;
            $crate::interp::registers::warp!(% |$($arg: $ty),+| -> $d $body, [only: $d = 0], |only|)
                .depending(Dependence::$dependence $(($signs))?)
        };
        OP
    }};
    (|$($arg:ident: $ty:ty),+| -> ($d0:ty, $d1:ty) $body:block) => {
        $crate::interp::registers::warp!(@ |$($arg: $ty),+| -> ($d0, $d1) $body,
            [first: $d0 = 0, second: $d1 = 1], |(first, second)|)
    };
    (|$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {
        $crate::interp::registers::warp!(@ |$($arg: $ty),+| -> $d $body, [only: $d = 0], |only|)
    };
    (@ |$($arg:ident: $ty:ty),+| -> $all:ty $body:block,
        [$($value:ident: $d:ty = $number:tt),+], |$pattern:pat_param|) => {{
        const OP: &$crate::interp::registers::WarpOp = &$crate::interp::registers::warp!(%
            |$($arg: $ty),+| -> $all $body, [$($value: $d = $number),+], |$pattern|);
        OP
    }};
    (% |$($arg:ident: $ty:ty),+| -> $all:ty $body:block,
        [$($value:ident: $d:ty = $number:tt),+], |$pattern:pat_param|) => {{
        fn run(
            registers: &mut $crate::interp::registers::Registers,
            slots: &$crate::interp::registers::Slots,
            mask: $crate::interp::registers::Mask,
        ) {
            use $crate::interp::registers::{LANES, Lane, PART};
            let one = |$($arg: $ty),+| -> $all { $body };
            for first in (0..LANES).step_by(PART) {
                if mask >> first & 0xff == 0 {
                    continue;
                }
                let mut sources = slots.s.into_iter();
                $(
                    let slot = sources.next().unwrap_or_default();
                    let $arg = <$ty as Lane>::read(registers, slot, first);
                )+
                let mut results = ($([<$d as Default>::default(); PART],)+);
                for at in 0..PART {
                    let $pattern = one($($arg[at]),+);
                    $(results.$number[at] = $value;)+
                }
                $(<$d as Lane>::write(registers, slots.d[$number], first, &results.$number, mask);)+
            }
        }
        {
            use $crate::interp::registers::{Lane, WarpOp};
            const TEXT: &str = concat!(
                file!(),
                stringify!(|$($arg: $ty),+| -> $all $body)
            );
            WarpOp::new(run, TEXT, &[$(<$d as Lane>::FILE),+], &[$(<$ty as Lane>::FILE),+])
        }
    }};
}
pub(crate) use warp;
