//! Symbols on their way to memory: plain stores, stores under a condition, and atomic sums.

use super::value::{Symbol, Value};
use super::world::{Memory, Owner, State};
use crate::algebra::{Algebra, Format, Mode, Predicate, Real};
use crate::interp::registers::File;

/// A place in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// Whose memory.
    pub owner: Owner,
    /// The offset in bytes.
    pub offset: u64,
    /// How many bytes: 1, 2, 4 or 8.
    pub bytes: u32,
}

impl State {
    /// The value of bytes of memory, whose bits are `bits`; the bits `poisoned` are not known.
    pub(crate) fn load(&self, spot: Spot, bits: u64, poisoned: u64) -> Value {
        self.memory.load(&self.algebra, spot, bits, poisoned)
    }
}

impl Memory {
    /// As [`State::load`].
    pub(crate) fn load(&self, algebra: &Algebra, spot: Spot, bits: u64, poisoned: u64) -> Value {
        let Spot { owner, offset, bytes } = spot;
        let mut value = Value::known(bits);
        if poisoned == 0 {
            return value;
        }
        if bytes < 2 {
            return Value::lost();
        }
        for part in 0..bytes as usize / 2 {
            let own = poisoned >> (16 * part) & 0xffff;
            if own == 0 {
                continue;
            }
            let at = offset + 2 * part as u64;
            let symbol = self.word(algebra, owner, at / 4)[(at / 2 % 2) as usize];
            if own != 0xffff || !symbol.is_some() {
                return Value::lost();
            }
            value.parts[part] = symbol;
            value.bits &= !(0xffff << (16 * part));
        }
        value
    }
}

impl State {
    /// Sets the symbols of bytes of memory.
    pub(crate) fn store(&mut self, spot: Spot, parts: &[Symbol]) {
        let Spot { owner, offset, bytes } = spot;
        let places = (offset..).step_by(2).take(bytes.div_ceil(2) as usize);
        for (at, part) in places.zip(parts) {
            let mut word = self.memory.word(&self.algebra, owner, at / 4);
            word[(at / 2 % 2) as usize] = *part;
            self.memory.set_word(owner, at / 4, word);
        }
    }

    /// One of two values of bytes of memory.
    pub(crate) fn choose(&mut self, bytes: u32, predicate: Predicate, values: [Value; 2]) -> Value {
        let file = if bytes == 8 { File::W64 } else { File::W32 };
        self.choice_of(file, predicate, values)
    }

    /// The sum of two numbers; none if one is something else.
    pub(crate) fn sum(&mut self, format: Format, [a, b]: [Value; 2]) -> Option<Value> {
        if matches!(self.algebra, Algebra::Bits(_)) {
            return None;
        }
        let terms = [self.number(&a, format)?, self.number(&b, format)?];
        let term = self.algebra.apply((Real::Add, format, Mode::EVEN), &terms)?;
        Some(Value::number(format, term))
    }
}
