//! The result of an instruction in each lane, over the values of its operands there.
//!
//! In: an instruction, and the tables of the registers that it reads. Out: the tables of its results, or nothing where it
//! is not followed: its results are leaves then. Only what networks of shuffles and the predicates around them are made
//! of is followed (PTX ISA, "Integer Arithmetic", "Comparison and Selection", "shfl.sync").

use smallvec::{SmallVec, smallvec};

use super::value::{Compared, LANES, Operator, Order, Table, ValueId, Values};
use crate::cfg::{Arg, Inst, RegisterId};
use crate::expr::{BinaryOp, evaluate_binary};
use crate::isa::{Axis, Form, Opcode, Qualifier, Special};
use crate::ptx::{ScalarType, Value as Literal};

/// The tables of results, by register.
pub(super) type Results = SmallVec<[(RegisterId, Table); 2]>;

/// The bits of a lane's number.
const LANE_BITS: u64 = LANES as u64 - 1;

/// Reads operands.
pub(super) struct Operands<'o> {
    /// All values.
    pub values: &'o mut Values,
    /// `%tid.x` without the lane's number: a multiple of 32 that is the same in all lanes. `None` where it is not known
    /// whether lanes are consecutive in `%tid.x`.
    pub thread: Option<ValueId>,
    /// Whether no operand has come from another lane. Then only functions of the lane id matter.
    pub is_own: bool,
    /// Whether `%tid.x` was asked for.
    pub asked_for_thread: &'o mut bool,
    /// The table of a register.
    pub register: &'o mut dyn FnMut(&mut Values, RegisterId) -> Table,
}

/// The lane that each lane has a value from.
pub(super) type Sources = [u8; LANES];

/// A shuffle whose source lanes are all known.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    /// The lane that each lane receives from.
    pub sources: Sources,
    /// Whether each lane's source is in range (the predicate of `shfl`).
    pub in_range: [bool; LANES],
}

impl Operands<'_> {
    /// The table of an operand; `None` if it is not followed.
    pub(super) fn table(&mut self, arg: &Arg<'_>) -> Option<Table> {
        match arg {
            Arg::Register(register) => Some((self.register)(self.values, *register)),
            Arg::Constant(Literal::F32(bits)) => Some(self.values.everywhere(u64::from(*bits))),
            Arg::Constant(value) => {
                let value = value.as_integer()? as u32;
                Some(self.values.everywhere(value.into()))
            }
            Arg::Special(special) => self.special(*special),
            _ => None,
        }
    }

    fn special(&mut self, special: Special) -> Option<Table> {
        let below = |lane: u32| (1u64 << lane) - 1;
        let own = |lane: u32| 1u64 << lane;
        let above = |lane: u32| u64::from(u32::MAX) & !below(lane) & !own(lane);
        Some(match special {
            Special::Laneid => self.values.by_lane(u64::from),
            Special::WarpSize => self.values.everywhere(LANES as u64),
            Special::LanemaskEq => self.values.by_lane(own),
            Special::LanemaskLt => self.values.by_lane(below),
            Special::LanemaskLe => self.values.by_lane(|lane| below(lane) | own(lane)),
            Special::LanemaskGt => self.values.by_lane(above),
            Special::LanemaskGe => self.values.by_lane(|lane| above(lane) | own(lane)),
            Special::Tid(Axis::X) => {
                *self.asked_for_thread = true;
                let base = self.thread?;
                let lanes = self.values.by_lane(u64::from);
                lanes.map(|lane| self.values.fold(Operator::Sum, &[(base, 1), (lane, 1)]))
            }
            _ => return None,
        })
    }

    /// The same constant in all lanes.
    fn constant(&mut self, arg: &Arg<'_>) -> Option<u64> {
        let table = self.table(arg)?;
        let first = self.values.constant_of(table[0])?;
        table.iter().all(|value| *value == table[0]).then_some(first)
    }

    /// The constants of the lanes.
    pub(super) fn constants(&mut self, arg: &Arg<'_>) -> Option<[u64; LANES]> {
        let table = self.table(arg)?;
        let mut out = [0; LANES];
        for (place, value) in out.iter_mut().zip(table) {
            *place = self.values.constant_of(value)?;
        }
        Some(out)
    }

    /// The number modulo 32 that a value is known to have: a constant, or one beside the base of `%tid.x`.
    fn low_bits(&self, value: ValueId) -> Option<u64> {
        if let Some(constant) = self.values.constant_of(value) {
            return Some(constant & LANE_BITS);
        }
        let base = self.thread?;
        match self.values.get(value) {
            _ if value == base => Some(0),
            super::value::Value::Fold(Operator::Sum, parts) => {
                parts.iter().try_fold(0u64, |sum, &(part, factor)| match part {
                    part if part == base => Some(sum),
                    part => {
                        let value = self.values.constant_of(part)?;
                        Some((sum + value.wrapping_mul(factor.into())) & LANE_BITS)
                    }
                })
            }
            _ => None,
        }
    }

    /// The tables of an instruction's results, its guard left aside; `None` if it is not followed.
    pub(super) fn results(&mut self, inst: &Inst<'_, '_>) -> Option<Results> {
        let form = &inst.ast.form;
        if form.opcode == Opcode::Shfl {
            return self.shuffled(inst);
        }
        if form.types().iter().any(|ty| ty.bits() == 64) && form.opcode != Opcode::Setp {
            return self.wide(inst);
        }
        let Some(Arg::Register(result)) = inst.args.first() else { return None };
        let table = match form.opcode {
            Opcode::Mov => self.moved(inst)?,
            Opcode::Selp => self.selected(inst)?,
            Opcode::Setp => self.compared(inst)?,
            Opcode::And | Opcode::Or if form.last_type() == Some(ScalarType::Pred) => {
                self.both_predicates(inst)?
            }
            _ => self.combined(inst)?,
        };
        Some(smallvec![(*result, table)])
    }

    fn moved(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, from] = &inst.args[..] else { return None };
        let ty = inst.ast.form.last_type()?;
        (ty.bits() == 32 || ty == ScalarType::Pred).then(|| self.table(from)).flatten()
    }

    fn selected(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, a, b, predicate] = &inst.args[..] else { return None };
        if inst.ast.form.last_type()?.bits() != 32 {
            return None;
        }
        let (a, b, predicate) = (self.table(a)?, self.table(b)?, self.table(predicate)?);
        Some(std::array::from_fn(|lane| self.values.choice(predicate[lane], a[lane], b[lane])))
    }

    /// A comparison that is decided in some lanes; in the others the predicate is a leaf.
    fn compared(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, a, b] = &inst.args[..] else { return None };
        let form = &inst.ast.form;
        let ty = form.last_type()?;
        if ty == ScalarType::F32 {
            return self.less(inst);
        }
        if ty.bits() != 32 || ty.is_float() {
            return None;
        }
        let comparison = form.first_of(&[
            Qualifier::Eq,
            Qualifier::Ne,
            Qualifier::Lt,
            Qualifier::Le,
            Qualifier::Gt,
            Qualifier::Ge,
        ])?;
        let (a, b) = (self.table(a)?, self.table(b)?);
        let less = if self.is_own { None } else { self.less(inst) };
        let mut out = less.unwrap_or_else(|| self.values.fresh());
        for lane in 0..LANES {
            let decided = match (self.values.constant_of(a[lane]), self.values.constant_of(b[lane]))
            {
                (Some(a), Some(b)) => Some(compare(comparison, ty, a as u32, b as u32)),
                // Numbers that differ modulo 32 differ.
                _ => match (comparison, self.low_bits(a[lane]), self.low_bits(b[lane])) {
                    (Qualifier::Eq, Some(a), Some(b)) if a != b => Some(false),
                    (Qualifier::Ne, Some(a), Some(b)) if a != b => Some(true),
                    _ => None,
                },
            };
            if let Some(decided) = decided {
                out[lane] = self.values.constant(decided.into());
            }
        }
        Some(out)
    }

    /// A comparison of numbers that may have come from other lanes.
    fn less(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, a, b] = &inst.args[..] else { return None };
        let (mut comparison, mut flushes) = (None, false);
        for word in inst.ast.form.qualifiers() {
            match word {
                Qualifier::Lt | Qualifier::Le | Qualifier::Gt | Qualifier::Ge => {
                    comparison = Some(word)
                }
                Qualifier::Ftz => flushes = true,
                _ => return None,
            }
        }
        let comparison = comparison?;
        let order = match inst.ast.form.last_type()? {
            ScalarType::F32 => None,
            ScalarType::S32 => Some(Order::Signed),
            ScalarType::U32 => Some(Order::Unsigned),
            _ => return None,
        };
        let (mut a, mut b) = self.both(a, b)?;
        if matches!(comparison, Qualifier::Gt | Qualifier::Ge) {
            std::mem::swap(&mut a, &mut b);
        }
        let or_equal = matches!(comparison, Qualifier::Le | Qualifier::Ge);
        let compared = Compared { or_equal, order, flushes };
        Some(std::array::from_fn(|lane| self.values.less(compared, [a[lane], b[lane]])))
    }

    /// Two predicates combined where one is known.
    fn both_predicates(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, a, b] = &inst.args[..] else { return None };
        let is_and = inst.ast.form.opcode == Opcode::And;
        let (a, b) = (self.table(a)?, self.table(b)?);
        let mut out = self.values.fresh();
        for lane in 0..LANES {
            let known = [(a, b), (b, a)].into_iter().find_map(|(one, other)| {
                let known = self.values.constant_of(one[lane])?;
                Some(if (known != 0) == is_and { other[lane] } else { one[lane] })
            });
            out[lane] = known.unwrap_or(out[lane]);
        }
        Some(out)
    }

    /// The tables of two operands that are to be combined. Values that a lane combines for itself are a leaf, unless
    /// they follow from its number.
    fn both(&mut self, a: &Arg<'_>, b: &Arg<'_>) -> Option<(Table, Table)> {
        let (a, b) = (self.table(a)?, self.table(b)?);
        let follows = |table: &Table| table.iter().all(|value| self.low_bits(*value).is_some());
        (!self.is_own || follows(&a) && follows(&b)).then_some((a, b))
    }

    /// Two operands of 32 bits combined.
    fn combined(&mut self, inst: &Inst<'_, '_>) -> Option<Table> {
        let [_, a, b] = &inst.args[..] else { return None };
        let form = &inst.ast.form;
        let ty = form.last_type()?;
        if is_rounded_sum(form) {
            let ((a, b), flushes) = (self.both(a, b)?, form.has(Qualifier::Ftz));
            return Some(std::array::from_fn(|lane| {
                self.values.rounded(flushes, a[lane], b[lane])
            }));
        }
        if let Some(operator) = operator(form) {
            let (a, b) = self.both(a, b)?;
            let known = |this: &Self, lane: usize| {
                Some((this.low_bits(a[lane])?, this.values.constant_of(b[lane])?))
            };
            return Some(std::array::from_fn(|lane| match (operator, known(self, lane)) {
                // The lane's number of `%tid.x & 31`.
                (Operator::And, Some((low, mask))) if mask <= LANE_BITS => {
                    self.values.constant(low & mask)
                }
                _ => self.values.fold(operator, &[(a[lane], 1), (b[lane], 1)]),
            }));
        }
        if ty.bits() != 32 || ty.is_float() || !form.qualifiers().all(|word| word == Qualifier::Lo)
        {
            return None;
        }
        match form.opcode {
            Opcode::Sub => {
                let (a, b) = self.both(a, b)?;
                Some(std::array::from_fn(|lane| {
                    self.values.fold(Operator::Sum, &[(a[lane], 1), (b[lane], u32::MAX)])
                }))
            }
            Opcode::Rem if !ty.is_signed() => {
                let by =
                    self.constant(b).filter(|by| by.is_power_of_two() && *by <= LANES as u64)?;
                let a = self.table(a)?;
                let mut out = a;
                for place in &mut out {
                    let low = self.low_bits(*place)?;
                    *place = self.values.constant(low & (by - 1));
                }
                Some(out)
            }
            Opcode::Shl | Opcode::Shr | Opcode::Mul => {
                let (a, b) = (self.constants(a)?, self.constants(b)?);
                let operator = match form.opcode {
                    Opcode::Shl => BinaryOp::ShiftLeft,
                    Opcode::Shr if ty.is_signed() => BinaryOp::ArithmeticShiftRight,
                    Opcode::Shr => BinaryOp::ShiftRight,
                    _ => BinaryOp::Multiply,
                };
                let of = |lane: usize| evaluate_binary(operator, a[lane], b[lane], 32);
                Some(self.values.by_lane(|lane| of(lane as usize)))
            }
            _ => None,
        }
    }

    /// The source lane of each lane of a shuffle (PTX ISA, "shfl.sync"), if it depends on nothing but the lane.
    pub(super) fn exchange(&mut self, inst: &Inst<'_, '_>) -> Option<Exchange> {
        let form = &inst.ast.form;
        if form.opcode != Opcode::Shfl || !form.has(Qualifier::Sync) {
            return None;
        }
        let [_, _, number, control, _] = &inst.args[..] else { return None };
        let (number, control) = (self.constants(number)?, self.constants(control)?);
        let (mut sources, mut in_range) = ([0; LANES], [true; LANES]);
        for lane in 0..LANES {
            let (own, b) = (lane as i64, (number[lane] & LANE_BITS) as i64);
            let (segment, clamp) =
                ((control[lane] >> 8 & LANE_BITS) as i64, (control[lane] & LANE_BITS) as i64);
            let (greatest, least) = (own & segment | clamp & !segment, own & segment);
            let (source, is_in_range) = if form.has(Qualifier::Up) {
                (own - b, own - b >= greatest)
            } else {
                let source = if form.has(Qualifier::Down) {
                    own + b
                } else if form.has(Qualifier::Bfly) {
                    own ^ b
                } else if form.has(Qualifier::Idx) {
                    least | b & !segment
                } else {
                    return None;
                };
                (source, source <= greatest)
            };
            in_range[lane] = is_in_range;
            sources[lane] = if is_in_range { u8::try_from(source).ok()? } else { lane as u8 };
        }
        Some(Exchange { sources, in_range })
    }

    fn shuffled(&mut self, inst: &Inst<'_, '_>) -> Option<Results> {
        let Exchange { sources, in_range } = self.exchange(inst)?;
        let sent = self.table(&inst.args[1])?;
        let received: Table = std::array::from_fn(|lane| sent[usize::from(sources[lane])]);
        let mut out = Results::new();
        let (value, predicate) = match &inst.args[0] {
            Arg::Pair(pair) => (&pair[0], Some(&pair[1])),
            single => (single, None),
        };
        if let Arg::Register(value) = value {
            out.push((*value, received));
        }
        if let Some(Arg::Register(predicate)) = predicate {
            let table = self.values.by_lane(|lane| in_range[lane as usize].into());
            out.push((*predicate, table));
        }
        Some(out)
    }
}

/// Whether a comparison of integers holds.
fn compare(comparison: Qualifier, ty: ScalarType, a: u32, b: u32) -> bool {
    let order = if ty.is_signed() { (a as i32).cmp(&(b as i32)) } else { a.cmp(&b) };
    match comparison {
        Qualifier::Eq => order.is_eq(),
        Qualifier::Ne => order.is_ne(),
        Qualifier::Lt => order.is_lt(),
        Qualifier::Le => order.is_le(),
        Qualifier::Gt => order.is_gt(),
        _ => order.is_ge(),
    }
}

/// Whether an instruction adds two numbers of single precision.
fn is_rounded_sum(form: &Form) -> bool {
    form.opcode == Opcode::Add
        && form.types()[..] == [ScalarType::F32]
        && form.qualifiers().all(|word| matches!(word, Qualifier::Ftz | Qualifier::Rn))
}

/// The operator of an instruction that combines two operands of 32 bits. A modifier that is not known here makes it none.
pub(super) fn operator(form: &Form) -> Option<Operator> {
    let ty = form.last_type()?;
    let plain = form.qualifiers().next().is_none() && form.types().len() == 1;
    let ordered = || match ty {
        ScalarType::S32 if plain => Some(Order::Signed),
        ScalarType::U32 if plain => Some(Order::Unsigned),
        ScalarType::F32 if form.types().len() == 1 => form
            .qualifiers()
            .all(|word| matches!(word, Qualifier::Ftz | Qualifier::PropagateNan))
            .then(|| Order::Float {
                propagates_nan: form.has(Qualifier::PropagateNan),
                flushes: form.has(Qualifier::Ftz),
            }),
        _ => None,
    };
    let is_word = plain && ty == ScalarType::B32;
    match form.opcode {
        Opcode::Add if plain && matches!(ty, ScalarType::S32 | ScalarType::U32) => {
            Some(Operator::Sum)
        }
        Opcode::Min => ordered().map(Operator::Min),
        Opcode::Max => ordered().map(Operator::Max),
        Opcode::And if is_word => Some(Operator::And),
        Opcode::Or if is_word => Some(Operator::Or),
        Opcode::Xor if is_word => Some(Operator::Xor),
        _ => None,
    }
}
