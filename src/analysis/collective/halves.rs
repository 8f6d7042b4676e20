//! Values of 64 bits, which lanes exchange by halves.
//!
//! In: an instruction with a register of 64 bits. Out: the tables of its results, as pairs of halves where it moves halves
//! or combines bits (PTX ISA, "Data Movement", "Logic and Shift Instructions").

use smallvec::smallvec;

use super::evaluate::{Operands, Results};
use super::value::{Operator, Table};
use crate::cfg::{Arg, Inst};
use crate::isa::{Form, Opcode};
use crate::ptx::ScalarType;

/// The bits of a half.
const HALF: u64 = 32;

impl Operands<'_> {
    /// The tables of the results of an instruction with operands of 64 bits, its guard left aside; `None` if it is not
    /// followed.
    pub(super) fn wide(&mut self, inst: &Inst<'_, '_>) -> Option<Results> {
        let form = &inst.ast.form;
        let types = form.types();
        if form.qualifiers().next().is_some() || types.iter().any(|ty| ty.is_float()) {
            return None;
        }
        let is_wide = |ty: &ScalarType| ty.bits() == 64;
        let is_word = |ty: &ScalarType| ty.bits() == 32;
        let table = match (form.opcode, &types[..], &inst.args[..]) {
            (Opcode::Mov, [ty], [Arg::Vector(parts), Arg::Register(from)]) if is_wide(ty) => {
                let whole = (self.register)(self.values, *from);
                let [low, high] = &parts[..] else { return None };
                let mut found = Results::new();
                for (part, upper) in [(low, false), (high, true)] {
                    if let Arg::Register(part) = part {
                        found.push((*part, self.half(whole, upper)));
                    }
                }
                return Some(found);
            }
            (Opcode::Mov, [ty], [_, Arg::Vector(parts)]) if is_wide(ty) => {
                let [low, high] = &parts[..] else { return None };
                let (low, high) = (self.table(low)?, self.table(high)?);
                self.pair(low, high)
            }
            (Opcode::Mov, [ty], [_, Arg::Register(from)]) if is_wide(ty) => {
                (self.register)(self.values, *from)
            }
            (Opcode::Cvt, [to, from], [_, value]) if is_word(to) && is_wide(from) => {
                let whole = self.register_of(value)?;
                self.half(whole, false)
            }
            (Opcode::Cvt, [to, from], [_, value])
                if is_wide(to) && is_word(from) && !from.is_signed() =>
            {
                let (low, high) = (self.register_of(value)?, self.values.everywhere(0));
                self.pair(low, high)
            }
            (Opcode::Shr | Opcode::Shl, [ty], [_, value, by])
                if is_wide(ty) && self.is_half(by) && !ty.is_signed() =>
            {
                let (whole, zero) = (self.register_of(value)?, self.values.everywhere(0));
                let upper = form.opcode == Opcode::Shr;
                let moved = self.half(whole, upper);
                if upper { self.pair(moved, zero) } else { self.pair(zero, moved) }
            }
            (Opcode::Bfi, [ty], [_, high, low, at, bits])
                if is_wide(ty) && self.is_half(at) && self.is_half(bits) =>
            {
                let (high, low) = (self.register_of(high)?, self.register_of(low)?);
                let (high, low) = (self.half(high, false), self.half(low, false));
                self.pair(low, high)
            }
            (_, [ty], [_, a, b]) if is_wide(ty) && !self.is_own => {
                let (a, b) = (self.register_of(a)?, self.register_of(b)?);
                self.combined_wide(wide_operator(form)?, (a, b))
            }
            _ => return None,
        };
        let Some(Arg::Register(result)) = inst.args.first() else { return None };
        Some(smallvec![(*result, table)])
    }

    fn register_of(&mut self, arg: &Arg<'_>) -> Option<Table> {
        match arg {
            Arg::Register(register) => Some((self.register)(self.values, *register)),
            _ => None,
        }
    }

    fn is_half(&self, arg: &Arg<'_>) -> bool {
        matches!(arg, Arg::Constant(value) if value.as_integer() == Some(HALF as i64))
    }

    fn half(&mut self, whole: Table, upper: bool) -> Table {
        whole.map(|value| self.values.half(value, upper))
    }

    fn pair(&mut self, low: Table, high: Table) -> Table {
        std::array::from_fn(|lane| self.values.pair(low[lane], high[lane]))
    }

    fn combined_wide(&mut self, operator: Operator, (a, b): (Table, Table)) -> Table {
        let [low, high] = [false, true].map(|upper| {
            let (a, b) = (self.half(a, upper), self.half(b, upper));
            std::array::from_fn(|lane| self.values.fold(operator, &[(a[lane], 1), (b[lane], 1)]))
        });
        self.pair(low, high)
    }
}

/// The operator of an instruction that combines two operands of 64 bits by halves.
pub(super) fn wide_operator(form: &Form) -> Option<Operator> {
    match (form.opcode, form.last_type()?) {
        (Opcode::And, ScalarType::B64) => Some(Operator::And),
        (Opcode::Or, ScalarType::B64) => Some(Operator::Or),
        (Opcode::Xor, ScalarType::B64) => Some(Operator::Xor),
        _ => None,
    }
}
