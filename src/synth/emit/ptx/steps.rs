//! Steps, turns and folds as instructions, one group of steps after the other.

use super::{Value, Writer};
use crate::synth::emit::domain::at;
use crate::synth::emit::fuse::Group;
use crate::synth::emit::kernel::{Part, Step, What};
use crate::synth::emit::turn::{Turn, rounds};
use crate::synth::expr::Expr;
use crate::synth::term::Fold;

/// A place of loops.
type Place = [(String, i64)];

impl Writer<'_> {
    /// Steps, one after the other for each place of their common axis.
    pub(super) fn group(&mut self, group: &Group<'_>) -> Result<(), String> {
        let Some((axis, extent)) = &group.axis else {
            return group.steps.iter().try_for_each(|step| self.step(step, None, &mut Vec::new()));
        };
        let mut sums: Vec<Vec<Option<Value>>> = vec![Vec::new(); group.steps.len()];
        for number in 0..*extent {
            let fixed = (axis.as_str(), number as i64);
            for (step, sums) in group.steps.iter().zip(&mut sums) {
                if planted!(Bug::SumsBegunAgain) {
                    sums.clear();
                }
                self.step(step, Some(fixed), sums)?;
            }
        }
        Ok(())
    }

    /// A step at every place of its loops, or at those where an axis is fixed. `sums` is what its folds have
    /// put together at the places of the axis before.
    fn step(
        &mut self,
        step: &Step,
        fixed: Option<(&str, i64)>,
        sums: &mut Vec<Option<Value>>,
    ) -> Result<(), String> {
        let apart = |place: &Place| {
            fixed.is_some_and(|(axis, at)| place.iter().any(|own| own.0 == axis && own.1 != at))
        };
        match &step.what {
            What::Turn(turn) => return self.turn(step, turn),
            What::Read(read) => {
                for number in 0..step.loops.places() {
                    let place = step.loops.place(number);
                    if !apart(&place) {
                        let value = self.read(read, &place)?;
                        self.write(step, &step.place, &place, value);
                    }
                }
            }
            What::Fold(op, parts) => {
                sums.resize(step.loops.places(), None);
                for (number, sum) in sums.iter_mut().enumerate() {
                    let outer = step.loops.place(number);
                    for part in parts {
                        for number in 0..part.loops.places() {
                            let inner = part.loops.place(number);
                            if !apart(&inner) {
                                let place = [outer.clone(), inner].concat();
                                self.accumulate(*op, part, &place, sum)?;
                            }
                        }
                    }
                    let value = match sum {
                        Some(sum) => sum.clone(),
                        None => self.nothing(*op)?,
                    };
                    self.write(step, &step.place, &outer, Some(value));
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self, step: &Step, turn: &Turn) -> Result<(), String> {
        let (bits, by) = (self.width.bits(), self.over_lanes(&turn.by, &[])?);
        for number in 0..turn.outer.places() {
            let outer = turn.outer.place(number);
            let inner = |number: usize| {
                let mut place = outer.clone();
                place.extend(turn.inner.place(number));
                place
            };
            let mut row: Vec<Value> = vec![Value::new(); turn.n];
            if turn.scatter {
                for number in 0..turn.inner.places() {
                    let place = inner(number);
                    let from = self.flat(turn.from, &turn.place, &place);
                    let Expr::Number(to) = at(&turn.register, &place) else {
                        return Err("a register without number".to_owned());
                    };
                    row[to as usize] = self.value(turn.from, from);
                }
            } else {
                for (register, value) in row.iter_mut().enumerate() {
                    let mut from = turn.place.clone();
                    from[turn.at] = Expr::Number(register as i64);
                    let from = self.flat(turn.from, &from, &outer);
                    *value = self.value(turn.from, from);
                }
            }
            let lost = usize::from(planted!(Bug::RoundLost));
            for round in 0..rounds(turn.most) - lost {
                let by = self.number(&by);
                let bit = self.once(1, "and.b32", &format!("{by}, {}", 1 << round));
                let set = self.once(2, "setp.ne.s32", &format!("{bit}, 0"));
                let old = row.clone();
                for (register, value) in row.iter_mut().enumerate() {
                    let other = &old[(register + (1 << round)) % turn.n];
                    *value =
                        self.once(0, &format!("selp.b{bits}"), &format!("{other}, {value}, {set}"));
                }
            }
            if turn.scatter {
                for (register, value) in row.into_iter().enumerate() {
                    let mut to = step.place.clone();
                    to[turn.at] = Expr::Number(register as i64);
                    self.write(step, &to, &outer, Some(value));
                }
            } else {
                for number in 0..turn.inner.places() {
                    let place = inner(number);
                    let Expr::Number(from) = at(&turn.register, &place) else {
                        return Err("a register without number".to_owned());
                    };
                    self.write(step, &step.place, &place, Some(row[from as usize].clone()));
                }
            }
        }
        Ok(())
    }

    /// The operation of a fold, and what a fold of nothing is.
    fn operation(&self, op: Fold) -> Result<(String, i64), String> {
        let bits = self.width.bits();
        let least = if bits == 32 { i64::from(i32::MIN) } else { i64::MIN };
        let (operation, nothing) = match op {
            Fold::Sum => (format!("add.s{bits}"), 0),
            Fold::Xor => (format!("xor.b{bits}"), 0),
            Fold::Or => (format!("or.b{bits}"), 0),
            Fold::And => (format!("and.b{bits}"), -1),
            Fold::Min => (format!("min.s{bits}"), !least),
            Fold::Max => (format!("max.s{bits}"), least),
            Fold::List => return Err("a list has no instruction".to_owned()),
        };
        Ok((operation, if planted!(Bug::NothingIsZero) { 0 } else { nothing }))
    }

    fn nothing(&mut self, op: Fold) -> Result<Value, String> {
        let nothing = self.operation(op)?.1;
        let bits = self.width.bits();
        Ok(self.once(0, &format!("mov.b{bits}"), &nothing.to_string()))
    }

    /// Puts the product of one place to a sum; none is a sum of nothing.
    fn accumulate(
        &mut self,
        op: Fold,
        part: &Part,
        place: &Place,
        sum: &mut Option<Value>,
    ) -> Result<(), String> {
        let bits = self.width.bits();
        let operation = self.operation(op)?.0;
        let when = part.when.as_ref().map(|when| self.over_lanes(when, place)).transpose()?;
        let when = when.filter(|when| *when != Expr::Number(1));
        if when == Some(Expr::Number(0)) {
            return Ok(());
        }
        let mut product: Option<Value> = None;
        for factor in &part.factors {
            let value = match self.read(factor, place)? {
                Some(value) => value,
                None => self.once(0, &format!("mov.b{bits}"), "0"),
            };
            product = Some(match product {
                None => value,
                Some(other) => {
                    self.once(0, &format!("mul.lo.s{bits}"), &format!("{other}, {value}"))
                }
            });
        }
        let Some(mut value) = product else { return Ok(()) };
        if when.is_some() || sum.is_some() {
            let before = match sum.take() {
                Some(sum) => {
                    value = self.once(0, &operation, &format!("{sum}, {value}"));
                    sum
                }
                None => self.nothing(op)?,
            };
            if let Some(when) = when {
                let when = self.predicate(&when);
                let operands = match planted!(Bug::ConditionSwapped) {
                    true => format!("{before}, {value}, {when}"),
                    false => format!("{value}, {before}, {when}"),
                };
                value = self.once(0, &format!("selp.b{bits}"), &operands);
            }
        }
        *sum = Some(value);
        Ok(())
    }
}
