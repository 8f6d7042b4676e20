//! Registers as sums of other registers, by the instructions of their block.
//!
//! In: straight code. Out: a register of 64 bits as a [`Sum`], modulo 2 to the 64, of multiples of values that other
//! registers hold; or one of 32 bits, modulo 2 to the 32. Common summands of two addresses cancel in their difference; the rest can be computed, often from
//! loop-invariant registers.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::cfg::{Arg, Flow, Inst, InstId, InstRange, RegisterId};
use crate::emulate::definitions;
use crate::isa::{Modifier, Opcode, Qualifier};

/// The most instructions that one sum is made of.
const MAX_PARTS: usize = 64;

/// A value that a register holds in a block: the result of an instruction, or its value at the block's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// The register.
    pub register: RegisterId,
    /// The instruction of the block that wrote it; `None` if it is the register's value at the start.
    pub by: Option<InstId>,
}

/// A constant and multiples of values, modulo 2 to the 64 (where they are of 32 bits, modulo 2 to the 32).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The values with their factors, which are not 0.
    pub parts: BTreeMap<Held, i64>,
    /// The constant.
    pub constant: i64,
}

impl Sum {
    /// Adds a multiple of another sum.
    pub fn add(&mut self, other: &Sum, times: i64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(times));
        for (held, factor) in &other.parts {
            let own = self.parts.entry(*held).or_default();
            *own = own.wrapping_add(factor.wrapping_mul(times));
        }
        self.parts.retain(|_, factor| *factor != 0);
    }

    /// The difference of two sums.
    pub fn minus(&self, other: &Sum) -> Sum {
        let mut found = self.clone();
        found.add(other, -1);
        found
    }
}

/// The sums of one block.
pub struct Sums<'f, 'm, 's> {
    flow: &'f Flow<'m, 's>,
    /// The block's first instruction.
    start: InstId,
    /// By register and the instruction that would read it.
    known: BTreeMap<(RegisterId, InstId), Sum>,
    /// The instructions in front of `searched` that write each register, in order.
    writers: FxHashMap<RegisterId, Vec<InstId>>,
    searched: InstId,
    /// Code whose instructions may not be executed: their results are values of their own.
    sometimes: Vec<InstRange>,
    /// Bits of the registers.
    bits: u32,
}

impl<'f, 'm, 's> Sums<'f, 'm, 's> {
    /// Those of the block that begins with an instruction.
    pub fn of_block(flow: &'f Flow<'m, 's>, start: InstId) -> Sums<'f, 'm, 's> {
        let (known, writers) = (BTreeMap::new(), FxHashMap::default());
        Sums { flow, start, known, writers, searched: start, sometimes: Vec::new(), bits: 64 }
    }

    /// Those of code that begins with an instruction and has branches forwards only, over some parts of it.
    pub fn of_code(
        flow: &'f Flow<'m, 's>,
        start: InstId,
        sometimes: Vec<InstRange>,
    ) -> Sums<'f, 'm, 's> {
        Sums { sometimes, ..Sums::of_block(flow, start) }
    }

    /// The same for registers of 32 bits.
    pub fn of_words(self) -> Sums<'f, 'm, 's> {
        Sums { bits: 32, ..self }
    }

    /// The value of a register, of 64 bits or of 32, in front of an instruction.
    pub fn of(&mut self, register: RegisterId, behind: InstId) -> Sum {
        self.within(register, behind, &mut MAX_PARTS.clone())
    }

    /// The instruction of the block that wrote a register last, in front of another one.
    pub fn writer(&mut self, register: RegisterId, behind: InstId) -> Option<InstId> {
        for at in self.searched.to(behind) {
            for written in definitions(&self.flow.insts[at]) {
                self.writers.entry(written).or_default().push(at);
            }
        }
        self.searched = self.searched.max(behind);
        let writers = self.writers.get(&register)?;
        let in_front = writers.partition_point(|at| *at < behind);
        in_front.checked_sub(1).map(|last| writers[last])
    }

    fn within(&mut self, register: RegisterId, behind: InstId, left: &mut usize) -> Sum {
        let by = self.writer(register, behind);
        let place = by.map_or(self.start, InstId::next);
        if let Some(known) = self.known.get(&(register, place)) {
            return known.clone();
        }
        let made = by.filter(|_| *left > 0).and_then(|at| {
            *left -= 1;
            self.made_of(at, left)
        });
        let sum = made.unwrap_or_else(|| Sum {
            parts: BTreeMap::from([(Held { register, by }, 1)]),
            constant: 0,
        });
        self.known.insert((register, place), sum.clone());
        sum
    }

    /// The result of an instruction as a sum, if it is one.
    fn made_of(&mut self, at: InstId, left: &mut usize) -> Option<Sum> {
        let inst = &self.flow.insts[at];
        let mut sum = Sum::default();
        let is_plain = |modifier: &Modifier| {
            matches!(modifier, Modifier::Type(ty) if ty.bits() == self.bits && !ty.is_float())
                || *modifier == Modifier::Qualifier(Qualifier::Lo)
        };
        let is_sure = !self.sometimes.iter().any(|range| range.contains(&at));
        if !is_sure
            || inst.guard.is_some()
            || inst.pragma
            || !inst.ast.form.modifiers().iter().all(is_plain)
        {
            return None;
        }
        match (inst.ast.form.opcode, &inst.args[1..]) {
            (Opcode::Mov, [a]) => sum.add(&self.operand(a, at, left)?, 1),
            (Opcode::Add, [a, b]) => {
                sum.add(&self.operand(a, at, left)?, 1);
                sum.add(&self.operand(b, at, left)?, 1);
            }
            (Opcode::Sub, [a, b]) => {
                sum.add(&self.operand(a, at, left)?, 1);
                sum.add(&self.operand(b, at, left)?, -1);
            }
            (Opcode::Shl, [a, Arg::Constant(by)]) => {
                let by = by.as_integer().filter(|by| (0..i64::from(self.bits)).contains(by))?;
                sum.add(&self.operand(a, at, left)?, 1 << by);
            }
            (Opcode::Mul, [a, Arg::Constant(times)] | [Arg::Constant(times), a])
                if is_low(inst) =>
            {
                sum.add(&self.operand(a, at, left)?, times.as_integer()?);
            }
            (Opcode::Mad, [a, Arg::Constant(times), c]) if is_low(inst) => {
                sum.add(&self.operand(a, at, left)?, times.as_integer()?);
                sum.add(&self.operand(c, at, left)?, 1);
            }
            _ => return None,
        }
        Some(sum)
    }

    fn operand(&mut self, arg: &Arg<'_>, at: InstId, left: &mut usize) -> Option<Sum> {
        match arg {
            Arg::Register(register) if self.bits(*register) == self.bits => {
                Some(self.within(*register, at, left))
            }
            Arg::Sum(register, more) if self.bits(*register) == self.bits => {
                let mut sum = self.within(*register, at, left);
                sum.constant = sum.constant.wrapping_add(*more);
                Some(sum)
            }
            Arg::Constant(value) => Some(Sum { constant: value.as_integer()?, ..Sum::default() }),
            _ => None,
        }
    }

    fn bits(&self, register: RegisterId) -> u32 {
        self.flow.registers[register].ty.bits()
    }
}

/// Whether a product is its lower half.
fn is_low(inst: &Inst<'_, '_>) -> bool {
    inst.ast.form.has(Qualifier::Lo)
}
