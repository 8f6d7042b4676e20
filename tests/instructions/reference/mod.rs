//! What each instruction computes, written from the PTX ISA manual in plain 128-bit arithmetic,
//! bit by bit where the manual does so. Nothing here knows the emulator.

mod arithmetic;
mod bits;
mod compare;
mod convert;
mod simd;
mod video;

use super::form::{Form, Leaf};

/// The results of a form for given source values (as wide as the registers) and carry flag, the
/// carry out behind them if there is one; `None` where the manual leaves the result open.
///
/// # Panics
/// For an instruction that nobody wrote down.
pub fn results(form: &Form, values: &[u64], carry: u64) -> Option<Vec<u64>> {
    let call = Call::new(form, values, carry);
    let results = match form.mnemonic() {
        "add" | "sub" | "addc" | "subc" | "mul" | "mad" | "madc" | "mul24" | "mad24" | "sad"
        | "div" | "rem" | "abs" | "neg" | "min" | "max" | "dp4a" | "dp2a" => {
            arithmetic::results(&call)?
        }
        "popc" | "clz" | "brev" | "bfind" | "fns" | "bfe" | "bfi" | "bmsk" | "szext" | "prmt"
        | "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" => {
            bits::results(&call)?
        }
        "setp" | "set" | "selp" | "slct" => compare::results(&call),
        "mov" | "cvt" | "cvta" => convert::results(&call),
        name if name.ends_with('2') || name.ends_with('4') => vec![simd::result(&call)],
        name if name.starts_with('v') => vec![video::result(&call)],
        name => panic!("no reference for `{name}`"),
    };
    Some(results.into_iter().map(|value| value as u64).collect())
}

/// A type as the arithmetic sees it.
#[derive(Clone, Copy, Debug)]
pub struct Type {
    /// Width in bits.
    pub bits: u32,
    /// Whether its numbers have a sign.
    pub signed: bool,
}

impl Type {
    /// Reads the low bits of a register as a number of this type.
    pub fn read(self, bits: u64) -> i128 {
        let low = i128::from(bits) & ((1 << self.bits) - 1);
        if self.signed && low >> (self.bits - 1) == 1 { low - (1 << self.bits) } else { low }
    }

    /// The least and greatest number.
    pub fn limits(self) -> (i128, i128) {
        if self.signed {
            (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1)
        } else {
            (0, (1 << self.bits) - 1)
        }
    }

    /// The nearest number of this type.
    pub fn clamp(self, value: i128) -> i128 {
        let (low, high) = self.limits();
        value.clamp(low, high)
    }

    /// A number cut to this type.
    pub fn wrap(self, value: i128) -> i128 {
        value & ((1 << self.bits) - 1)
    }
}

/// An instruction with its operands.
pub struct Call<'a> {
    /// The form.
    pub form: &'a Form,
    /// The types of the opcode, in order.
    pub types: Vec<Type>,
    /// The values of the sources.
    pub values: &'a [u64],
    /// The carry flag before.
    pub carry: i128,
}

impl<'a> Call<'a> {
    fn new(form: &'a Form, values: &'a [u64], carry: u64) -> Call<'a> {
        let types = form.opcode.split('.').skip(1).filter_map(parse_type).collect();
        Call { form, types, values, carry: i128::from(carry) }
    }

    /// The last type of the opcode.
    pub fn ty(&self) -> Type {
        *self.types.last().unwrap_or_else(|| panic!("`{}` names no type", self.form.opcode))
    }

    /// A source as a number of a type.
    pub fn source(&self, index: usize, ty: Type) -> i128 {
        ty.read(self.values[index])
    }

    /// A source as it stands in the text.
    pub fn leaf(&self, index: usize) -> &Leaf {
        &self.form.sources[index]
    }

    /// Whether the opcode has a modifier.
    pub fn has(&self, modifier: &str) -> bool {
        self.form.has(modifier)
    }

    /// A result of a type in the destination register: extended by its sign (or zeros) if the
    /// register is wider.
    pub fn write(&self, ty: Type, value: i128) -> i128 {
        let register = Type { bits: self.form.results[0].bits(), signed: false };
        register.wrap(ty.read(ty.wrap(value) as u64))
    }
}

fn parse_type(modifier: &str) -> Option<Type> {
    let bits = match modifier {
        "pred" => 1,
        "u16x2" | "s16x2" => 32,
        _ => modifier.strip_prefix(['u', 's', 'b', 'f'])?.parse().ok()?,
    };
    Some(Type { bits, signed: modifier.starts_with('s') })
}
