//! Steps, turns and folds as C++ loops, one group of steps after the other.

use std::fmt::Write as _;

use super::writer::{Writer, named};
use crate::synth::emit::domain::Domain;
use crate::synth::emit::fuse::Group;
use crate::synth::emit::kernel::{Part, Read, Step, What};
use crate::synth::emit::rotation::Rotation;
use crate::synth::expr::Expr;
use crate::synth::term::Fold;

/// How many places of a group's axis are unrolled where nothing has to be known of them.
const UNROLLED: usize = 4;

impl<'k> Writer<'k> {
    /// Steps, in one loop along their common axis if they have one.
    pub(super) fn group(&mut self, group: &'k Group<'k>) -> Result<(), String> {
        let Some((axis, extent)) = &group.axis else {
            return group.steps.iter().try_for_each(|step| self.step(step));
        };
        self.group = Some(group);
        let mut begins = false;
        for step in &group.steps {
            if let What::Fold(op, parts) = &step.what {
                begins |= self.begin_sums(step, *op, parts)?;
            }
        }
        match begins {
            true => _ = writeln!(self.text, "#pragma unroll"),
            false => _ = writeln!(self.text, "#pragma unroll {UNROLLED}"),
        }
        let name = named(axis);
        self.open(&format!("for (int {name} = 0; {name} < {extent}; ++{name}) {{"));
        for step in &group.steps {
            match &step.what {
                What::Fold(op, parts) => {
                    if planted!(Bug::CudaSumsBegunAgain) {
                        self.begin_sums(step, *op, parts)?;
                    }
                    self.begin(&self.others(&step.loops));
                    self.add(step, *op, parts)?;
                    self.end(&self.others(&step.loops));
                }
                _ => {
                    let array = &self.kernel.arrays[step.to];
                    let own = group.local.get(&step.to);
                    let extents =
                        array.extents.iter().enumerate().filter(|(at, _)| own != Some(at));
                    let dimensions: String =
                        extents.map(|(_, extent)| format!("[{extent}]")).collect();
                    self.line(&format!("T {}{dimensions};", named(&array.name)));
                    self.step(step)?;
                }
            }
        }
        self.close();
        self.group = None;
        Ok(())
    }

    /// Loops without the one along the group's axis, which is open already.
    fn others(&self, loops: &Domain) -> Domain {
        let own = self.group.and_then(|group| group.axis.as_ref());
        Domain::of(loops.axes.iter().filter(|axis| own.is_none_or(|own| own.0 != axis.0)))
    }

    pub(super) fn step(&mut self, step: &Step) -> Result<(), String> {
        match &step.what {
            What::Read(read) => {
                let loops = self.others(&step.loops);
                self.begin(&loops);
                let value = self.read(read, &step.loops)?;
                self.write(step.to, &step.place, &step.loops, &value)?;
                self.end(&loops);
            }
            What::Rotation(rotation) => self.rotation(step, rotation)?,
            What::Fold(op, parts) => {
                let begins = self.begins(*op, parts);
                self.begin(&step.loops);
                self.line(&format!("T sum_ = {};", self.nothing(*op)));
                if begins {
                    self.line("bool begun_ = false;");
                }
                self.add(step, *op, parts)?;
                self.write(step.to, &step.place, &step.loops, "sum_")?;
                self.end(&step.loops);
            }
        }
        Ok(())
    }

    fn rotation(&mut self, step: &Step, rotation: &Rotation) -> Result<(), String> {
        let Rotation { outer, inner, n, most, .. } = rotation;
        let row = Domain { axes: vec![("i_".to_owned(), *n)] };
        let along_row = Domain::of(outer.axes.iter().chain(&row.axes));
        let loops = Domain::of(outer.axes.iter().chain(&inner.axes));
        self.begin(outer);
        self.line(&format!("T row_[{n}];"));
        let register = self.expression(&rotation.register, &loops)?;
        if rotation.scatter {
            let read =
                Read::Register { array: rotation.from, place: rotation.place.clone(), lane: None };
            self.begin(inner);
            let value = self.read(&read, &loops)?;
            self.line(&format!("row_[{register}] = {value};"));
            self.end(inner);
        } else {
            let mut place = rotation.place.clone();
            place[rotation.at] = Expr::name("i_");
            self.begin(&row);
            let value =
                self.read(&Read::Register { array: rotation.from, place, lane: None }, &along_row)?;
            self.line(&format!("row_[i_] = {value};"));
            self.end(&row);
        }
        let by = self.expression(&rotation.by, &Domain::default())?;
        self.line(&format!("synth::turn<{most}>(row_, {by});"));
        if rotation.scatter {
            let mut place = step.place.clone();
            place[rotation.at] = Expr::name("i_");
            self.begin(&row);
            self.write(step.to, &place, &along_row, "row_[i_]")?;
            self.end(&row);
        } else {
            self.begin(inner);
            self.write(step.to, &step.place, &loops, &format!("row_[{register}]"))?;
            self.end(inner);
        }
        self.end(outer);
        Ok(())
    }

    /// The value of an empty fold; unspecified for min and max.
    fn nothing(&self, op: Fold) -> &'static str {
        let zero = planted!(Bug::CudaNothingBegins);
        if op == Fold::And && !zero { "~T()" } else { "T()" }
    }

    /// Whether a fold begins with a value: where the first one is always there, or no number is below all others.
    fn begins(&self, op: Fold, parts: &[Part]) -> bool {
        let begins = matches!(op, Fold::Min | Fold::Max)
            || parts.first().is_none_or(|part| part.when.is_none());
        begins && !planted!(Bug::CudaNothingBegins)
    }

    /// The name of what says that the fold of an array has begun.
    fn begun(&self, step: &Step) -> String {
        format!("{}_begun_", self.kernel.arrays[step.to].name)
    }

    /// In front of a group's loop: its sums, of nothing yet. Says whether they begin with a value.
    fn begin_sums(&mut self, step: &Step, op: Fold, parts: &[Part]) -> Result<bool, String> {
        let begins = self.begins(op, parts);
        if begins {
            let extents = step.loops.axes.iter().map(|axis| format!("[{}]", axis.1));
            let extents: String = extents.collect();
            let start = if extents.is_empty() { "false" } else { "{}" };
            self.line(&format!("bool {}{extents} = {start};", self.begun(step)));
        }
        self.begin(&step.loops);
        self.write(step.to, &step.place, &step.loops, self.nothing(op))?;
        self.end(&step.loops);
        Ok(begins)
    }

    /// Puts products to a sum: `sum_`, or in a group the register that the sum is for.
    fn add(&mut self, step: &Step, op: Fold, parts: &[Part]) -> Result<(), String> {
        let begins = self.begins(op, parts);
        let (sum, begun) = match self.group {
            None => ("sum_".to_owned(), "begun_".to_owned()),
            Some(_) => {
                let place = step.place.iter().map(|index| self.expression(index, &step.loops));
                let sum = self.element(step.to, &place.collect::<Result<Vec<_>, _>>()?);
                let loops = step.loops.axes.iter().map(|axis| format!("[{}]", named(&axis.0)));
                (sum, format!("{}{}", self.begun(step), loops.collect::<String>()))
            }
        };
        let operation = match op {
            Fold::Sum => format!("{sum} + value_"),
            Fold::Xor => format!("{sum} ^ value_"),
            Fold::Or => format!("{sum} | value_"),
            Fold::And => format!("{sum} & value_"),
            Fold::Min => format!("value_ < {sum} ? value_ : {sum}"),
            Fold::Max => format!("{sum} < value_ ? value_ : {sum}"),
            Fold::List => return Err("a list has no instruction".to_owned()),
        };
        for part in parts {
            let loops = Domain::of(step.loops.axes.iter().chain(&part.loops.axes));
            let inner = self.others(&part.loops);
            self.begin(&inner);
            if let Some(when) = &part.when {
                let when = match planted!(Bug::CudaConditionLost) {
                    true => "true".to_owned(),
                    false => self.expression(when, &loops)?,
                };
                self.open(&format!("if ({when}) {{"));
            }
            let mut value = String::new();
            for (number, factor) in part.factors.iter().enumerate() {
                if let Read::Register { lane: Some(_), .. } = factor
                    && part.when.is_some()
                {
                    return Err("a fold under a condition reads other lanes".to_owned());
                }
                let factor = self.read(factor, &loops)?;
                value = if number == 0 { factor } else { format!("product({value}, {factor})") };
            }
            self.line(&format!("const T value_ = {value};"));
            if begins {
                self.line(&format!("{sum} = {begun} ? ({operation}) : value_;"));
                self.line(&format!("{begun} = true;"));
            } else {
                self.line(&format!("{sum} = {operation};"));
            }
            if part.when.is_some() {
                self.close();
            }
            self.end(&inner);
        }
        Ok(())
    }
}
