//! Steps, turns and folds as instructions, one group of steps after the other.

use super::writer::Writer;
use crate::isa::ScalarType::{self, B32, Pred};
use crate::ptx::write::{Op as Instruction, Reg, op};
use crate::synth::emit::domain::at;
use crate::synth::emit::fuse::Group;
use crate::synth::emit::kernel::{Part, Step, What};
use crate::synth::emit::rotation::{Rotation, rounds};
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
        let mut sums: Vec<Vec<Option<Reg>>> = vec![Vec::new(); group.steps.len()];
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

    /// A step at every place of its loops, or at those where an axis is fixed. `sums` has the partial results of its
    /// folds at the places of the axis before.
    fn step(
        &mut self,
        step: &Step,
        fixed: Option<(&str, i64)>,
        sums: &mut Vec<Option<Reg>>,
    ) -> Result<(), String> {
        let apart = |place: &Place| {
            fixed.is_some_and(|(axis, at)| place.iter().any(|own| own.0 == axis && own.1 != at))
        };
        match &step.what {
            What::Rotation(rotation) => return self.rotation(step, rotation),
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
                        None => {
                            let (_, nothing) = self.operation(*op)?;
                            self.constant(nothing)
                        }
                    };
                    self.write(step, &step.place, &outer, Some(value));
                }
            }
        }
        Ok(())
    }

    fn rotation(&mut self, step: &Step, rotation: &Rotation) -> Result<(), String> {
        let by = self.over_lanes(&rotation.by, &[])?;
        for number in 0..rotation.outer.places() {
            let outer = rotation.outer.place(number);
            let inner = |number: usize| {
                let mut place = outer.clone();
                place.extend(rotation.inner.place(number));
                place
            };
            let mut row: Vec<Reg> = if rotation.scatter {
                let mut row = vec![None; rotation.n];
                for number in 0..rotation.inner.places() {
                    let place = inner(number);
                    let from = self.flat(rotation.from, &rotation.place, &place);
                    let Expr::Number(to) = at(&rotation.register, &place) else {
                        return Err("a register without number".to_owned());
                    };
                    row[to as usize] = Some(self.value(rotation.from, from));
                }
                row.into_iter().collect::<Option<_>>().ok_or("a register without value")?
            } else {
                let mut gathered = |register: usize| {
                    let mut from = rotation.place.clone();
                    from[rotation.at] = Expr::Number(register as i64);
                    let from = self.flat(rotation.from, &from, &outer);
                    self.value(rotation.from, from)
                };
                (0..rotation.n).map(&mut gathered).collect()
            };
            let lost = usize::from(planted!(Bug::RoundLost));
            for round in 0..rounds(rotation.most) - lost {
                let by = self.number(&by)?;
                let bit = self.block.once(B32, op!(And.B32), &[&by, &(1 << round)]);
                let set = self.block.once(Pred, op!(Setp.Ne.S32), &[&bit, &0]);
                let old = row.clone();
                for (register, value) in row.iter_mut().enumerate() {
                    let other = &old[(register + (1 << round)) % rotation.n];
                    *value = self.select(other, value, &set);
                }
            }
            if rotation.scatter {
                for (register, value) in row.into_iter().enumerate() {
                    let mut to = step.place.clone();
                    to[rotation.at] = Expr::Number(register as i64);
                    self.write(step, &to, &outer, Some(value));
                }
            } else {
                for number in 0..rotation.inner.places() {
                    let place = inner(number);
                    let Expr::Number(from) = at(&rotation.register, &place) else {
                        return Err("a register without number".to_owned());
                    };
                    self.write(step, &step.place, &place, Some(row[from as usize].clone()));
                }
            }
        }
        Ok(())
    }

    /// The operation of a fold, and the value of an empty fold.
    fn operation(&self, op: Fold) -> Result<(Instruction, i64), String> {
        let bits = self.element.bits();
        let (signed, least) = (ScalarType::s(bits), i64::MIN >> (64 - bits));
        let (operation, nothing) = match op {
            Fold::Sum => (op!(Add.(signed)), 0),
            Fold::Xor => (op!(Xor.(self.element)), 0),
            Fold::Or => (op!(Or.(self.element)), 0),
            Fold::And => (op!(And.(self.element)), -1),
            Fold::Min => (op!(Min.(signed)), !least),
            Fold::Max => (op!(Max.(signed)), least),
            Fold::List => return Err("a list has no instruction".to_owned()),
        };
        Ok((operation, if planted!(Bug::NothingIsZero) { 0 } else { nothing }))
    }

    /// Puts the product of one place to a sum; none is a sum of nothing.
    fn accumulate(
        &mut self,
        op: Fold,
        part: &Part,
        place: &Place,
        sum: &mut Option<Reg>,
    ) -> Result<(), String> {
        let (operation, nothing) = self.operation(op)?;
        let when = part.when.as_ref().map(|when| self.over_lanes(when, place)).transpose()?;
        let when = when.filter(|when| *when != Expr::Number(1));
        if when == Some(Expr::Number(0)) {
            return Ok(());
        }
        let mut product: Option<Reg> = None;
        for factor in &part.factors {
            let value = match self.read(factor, place)? {
                Some(value) => value,
                None => self.constant(0),
            };
            product = Some(match product {
                None => value,
                Some(other) => {
                    let signed = ScalarType::s(self.element.bits());
                    self.element(op!(Mul.Lo.(signed)), &[&other, &value])
                }
            });
        }
        let Some(mut value) = product else { return Ok(()) };
        if when.is_some() || sum.is_some() {
            let before = match sum.take() {
                Some(sum) => {
                    value = self.element(operation, &[&sum, &value]);
                    sum
                }
                None => self.constant(nothing),
            };
            if let Some(when) = when {
                let when = self.predicate(&when)?;
                value = match planted!(Bug::ConditionSwapped) {
                    true => self.select(&before, &value, &when),
                    false => self.select(&value, &before, &when),
                };
            }
        }
        *sum = Some(value);
        Ok(())
    }
}
