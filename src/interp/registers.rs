//! The registers of one call frame of one warp, and how a scalar operation becomes a warp-wide one.
//!
//! A register is 32 lanes wide. Registers of up to 32 bits live in one file, registers of 64 bits
//! in a second (a `.b128` register is two neighbouring ones), predicates are one bit a lane in a
//! mask. Immediates and special registers are ordinary slots that are filled when the frame is
//! made, so that every operand is a slot and no operation has to ask what kind it reads.
//!
//! Invariant of the narrow file: a value of fewer than 32 bits is kept zero-extended.

/// One bit for each of the 32 lanes of a warp; bit 0 is lane 0.
pub type Mask = u32;

/// Lanes in a warp.
pub const LANES: usize = 32;

/// All lanes.
pub const FULL: Mask = !0;

/// The lanes of a mask in ascending order.
pub fn lanes(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        rest &= rest.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Index of a register in its file.
pub type Slot = u32;

/// Which of the register files a slot belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum File {
    /// One bit a lane.
    Pred,
    /// Up to 32 bits a lane.
    W32,
    /// 64 bits a lane.
    W64,
}

/// The registers of one frame.
#[derive(Clone, Debug, Default)]
pub struct Registers {
    /// Predicates.
    pub preds: Vec<Mask>,
    /// Registers of up to 32 bits.
    pub w32: Vec<[u32; LANES]>,
    /// Registers of 64 bits.
    pub w64: Vec<[u64; LANES]>,
}

impl Registers {
    /// One lane of a register, zero-extended.
    pub fn get(&self, file: File, slot: Slot, lane: usize) -> u64 {
        match file {
            File::Pred => u64::from(self.preds[slot as usize] >> lane & 1),
            File::W32 => u64::from(self.w32[slot as usize][lane]),
            File::W64 => self.w64[slot as usize][lane],
        }
    }

    /// Overwrites one lane of a register.
    pub fn set(&mut self, file: File, slot: Slot, lane: usize, value: u64) {
        match file {
            File::Pred => {
                let mask = &mut self.preds[slot as usize];
                *mask = *mask & !(1 << lane) | (u32::from(value != 0)) << lane;
            }
            File::W32 => self.w32[slot as usize][lane] = value as u32,
            File::W64 => self.w64[slot as usize][lane] = value,
        }
    }
}

/// The operands of a warp-wide operation: destinations and sources, each a slot of the file that
/// the operation's lane types say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots {
    /// Destinations.
    pub d: [Slot; 2],
    /// Sources.
    pub s: [Slot; 4],
}

/// A warp-wide operation without side effects beyond its destinations: it computes on every lane
/// and writes those of the mask.
pub type WarpFn = fn(&mut Registers, &Slots, Mask);

/// A type that a lane of a register can be read and written as.
pub trait Lane: Copy {
    /// Reads all 32 lanes.
    fn read(registers: &Registers, slot: Slot) -> [Self; LANES];
    /// Writes the lanes of `mask`.
    fn write(registers: &mut Registers, slot: Slot, values: [Self; LANES], mask: Mask);
}

/// Overwrites the lanes of `mask`.
#[inline(always)]
pub fn blend<T: Copy>(old: &mut [T; LANES], new: &[T; LANES], mask: Mask) {
    if mask == FULL {
        *old = *new;
    } else {
        for lane in 0..LANES {
            if mask >> lane & 1 != 0 {
                old[lane] = new[lane];
            }
        }
    }
}

macro_rules! lane_type {
    ($file:ident: $($ty:ty, |$raw:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Lane for $ty {
            #[inline(always)]
            fn read(registers: &Registers, slot: Slot) -> [Self; LANES] {
                registers.$file[slot as usize].map(|$raw| $from)
            }
            #[inline(always)]
            fn write(registers: &mut Registers, slot: Slot, values: [Self; LANES], mask: Mask) {
                let raw = values.map(|$value| $to);
                blend(&mut registers.$file[slot as usize], &raw, mask);
            }
        }
    )*};
}

lane_type! { w32:
    u8, |raw| raw as u8, |value| u32::from(value);
    i8, |raw| raw as i8, |value| u32::from(value as u8);
    u16, |raw| raw as u16, |value| u32::from(value);
    i16, |raw| raw as i16, |value| u32::from(value as u16);
    u32, |raw| raw, |value| value;
    i32, |raw| raw as i32, |value| value as u32;
    f32, |raw| f32::from_bits(raw), |value| value.to_bits();
}
lane_type! { w64:
    u64, |raw| raw, |value| value;
    i64, |raw| raw as i64, |value| value as u64;
    f64, |raw| f64::from_bits(raw), |value| value.to_bits();
}

impl Lane for bool {
    #[inline(always)]
    fn read(registers: &Registers, slot: Slot) -> [bool; LANES] {
        let mask = registers.preds[slot as usize];
        std::array::from_fn(|lane| mask >> lane & 1 != 0)
    }
    #[inline(always)]
    fn write(registers: &mut Registers, slot: Slot, values: [bool; LANES], mask: Mask) {
        let mut bits = 0;
        for (lane, &value) in values.iter().enumerate() {
            bits |= Mask::from(value) << lane;
        }
        let old = &mut registers.preds[slot as usize];
        *old = *old & !mask | bits & mask;
    }
}

/// Turns a scalar function, written as a closure with all its types, into a [`WarpFn`].
///
/// A closure of one to four parameters that returns one value or, with `-> (A, B)`, two.
macro_rules! warp {
    (|$($arg:ident: $ty:ty),+| -> ($d0:ty, $d1:ty) $body:block) => {
        $crate::interp::registers::warp!(@ |$($arg: $ty),+| -> ($d0, $d1) $body,
            |registers, slots, mask, both| {
                <$d0 as Lane>::write(registers, slots.d[0], both.map(|pair| pair.0), mask);
                <$d1 as Lane>::write(registers, slots.d[1], both.map(|pair| pair.1), mask);
            })
    };
    (|$($arg:ident: $ty:ty),+| -> $d:ty $body:block) => {
        $crate::interp::registers::warp!(@ |$($arg: $ty),+| -> $d $body,
            |registers, slots, mask, result| {
                <$d as Lane>::write(registers, slots.d[0], result, mask);
            })
    };
    (@ |$($arg:ident: $ty:ty),+| -> $d:ty $body:block,
        |$registers:ident, $slots:ident, $mask:ident, $result:ident| $write:block) => {{
        fn run(
            $registers: &mut $crate::interp::registers::Registers,
            $slots: &$crate::interp::registers::Slots,
            $mask: $crate::interp::registers::Mask,
        ) {
            use $crate::interp::registers::{LANES, Lane};
            let mut sources = $slots.s.into_iter();
            $(let $arg = <$ty as Lane>::read($registers, sources.next().unwrap_or_default());)+
            let $result: [$d; LANES] = std::array::from_fn(|lane| {
                $(let $arg = $arg[lane];)+
                $body
            });
            $write
        }
        run as $crate::interp::registers::WarpFn
    }};
}
pub(crate) use warp;
