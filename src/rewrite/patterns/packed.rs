//! Vectors of more than four bytes or halves: as words of 32 bits, since a vector has at most four elements that are
//! narrower than a word (PTX ISA, "ld", "st").

use crate::ptx::write::{Code, Fresh, Reg, op, vector};

/// How the elements of a vector lie in words, and in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed {
    /// Bits of an element: 8 or 16.
    bits: u32,
    /// Bits of the register that holds an element: 16 or 32.
    register_bits: u32,
}

impl Packed {
    /// How some elements are packed; none if they are a vector as they are.
    pub(super) fn of(count: usize, bits: u32, register_bits: u32) -> Option<Packed> {
        (count > 4 && bits < 32).then_some(Packed { bits, register_bits })
    }

    /// Elements of a word.
    pub(super) fn in_word(self) -> usize {
        (32 / self.bits) as usize
    }

    /// Instructions that take all words of `count` elements apart.
    pub(super) fn to_unpack(self, count: usize) -> u32 {
        let count = count as u32;
        match (self.bits, self.register_bits) {
            (16, 16) => count / 2,
            (8, 16) => 2 * count,
            _ => count,
        }
    }

    /// Instructions that make all words of `count` elements.
    pub(super) fn to_pack(self, count: usize) -> u32 {
        let each = if self.bits == 16 { 1 } else { 3 };
        each * (count / self.in_word()) as u32
    }

    /// Fills the registers of the elements of one word, by address; `guard` is the load's.
    pub(super) fn unpack(
        self,
        (code, fresh): (&mut Code, &mut Fresh),
        (guard, is_signed): (&str, bool),
        word: &Reg,
        registers: &[String],
    ) {
        if (self.bits, self.register_bits) == (16, 16) {
            return code.put_if(guard, op!(Mov.B32), &[&vector(registers), word]);
        }
        for (at, register) in (0..).zip(registers) {
            let selector = format!("{:#06x}", self.selector(at, is_signed));
            if self.register_bits == 32 {
                code.put_if(guard, op!(Prmt.B32), &[register, word, &0, &selector]);
                continue;
            }
            let whole = fresh.word();
            code.put_if(guard, op!(Prmt.B32), &[&whole, word, &0, &selector]);
            code.put_if(guard, op!(Cvt.U16.U32), &[register, &whole]);
        }
    }

    /// The selector of a `prmt` that takes one element of a word and extends it: bytes 4 to 7 are zeros, and a digit of
    /// 8 more repeats its byte's sign (PTX ISA, "prmt").
    fn selector(self, at: u32, is_signed: bool) -> u32 {
        let bytes = self.bits / 8;
        let last = (at + 1) * bytes - 1;
        let digit = |byte: u32| match byte < bytes {
            true => at * bytes + byte,
            false if is_signed => 8 + last,
            false => 4,
        };
        (0..4).map(|byte| digit(byte) << (4 * byte)).sum()
    }

    /// Makes one word of elements in registers, by address.
    pub(super) fn pack(self, code: &mut Code, fresh: &mut Fresh, registers: &[String]) -> Reg {
        let joined = |code: &mut Code, to: Reg, [low, high]: [&str; 2], selector: &str| match self
            .register_bits
        {
            16 => code.set(to, op!(Mov.B32), &[&vector(&[low, high])]),
            _ => code.set(to, op!(Prmt.B32), &[&low, &high, &selector]),
        };
        match registers {
            [a, b, c, d] => {
                let one = joined(code, fresh.word(), [a, b], "0x0040");
                let other = joined(code, fresh.word(), [c, d], "0x0040");
                // The bytes are the low ones of halves, or next to each other.
                let selector = if self.register_bits == 16 { "0x6420" } else { "0x5410" };
                code.set(fresh.word(), op!(Prmt.B32), &[&one, &other, &selector])
            }
            [low, .., high] => joined(code, fresh.word(), [low, high], "0x5410"),
            _ => fresh.word(),
        }
    }
}
