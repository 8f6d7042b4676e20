//! A kernel as PTX: a function of one warp, every loop unrolled, and an entry that calls it for a single warp.
//!
//! Nothing that comes from memory is part of an address, a predicate or a lane's number: those are computed from
//! `%laneid` alone.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::domain::{Domain, at};
use super::kernel::{Kernel, Part, Read, Step, What};
use super::turn::{Turn, rounds};
use crate::planted::Bug;
use crate::synth::expr::{Cmp, Expr, Op};
use crate::synth::term::Fold;

/// The width of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
}

impl Width {
    /// In bits.
    pub fn bits(self) -> usize {
        match self {
            Width::B32 => 32,
            Width::B64 => 64,
        }
    }

    /// In bytes.
    pub fn bytes(self) -> usize {
        self.bits() / 8
    }
}

/// A register's name.
type Value = String;

struct Writer<'k> {
    kernel: &'k Kernel,
    width: Width,
    /// Lanes that have coordinates of their own.
    lanes: &'k Domain,
    body: String,
    /// How many registers there are of each kind: elements, numbers, predicates, addresses.
    counts: [usize; 4],
    /// What was computed already.
    known: FxHashMap<String, Value>,
    /// What each register of each array holds; none is undefined.
    arrays: Vec<Vec<Option<Value>>>,
}

/// Writes a kernel. `comment` goes in front of the function, line by line.
///
/// # Errors
/// An expression or an operator has no instruction.
pub fn ptx(kernel: &Kernel, comment: &str, width: Width) -> Result<String, String> {
    let arrays = kernel.arrays.iter().map(|array| vec![None; array.count()]).collect();
    let (body, counts, known) = (String::new(), [0; 4], FxHashMap::default());
    let lanes = &kernel.lanes;
    let mut writer = Writer { kernel, width, lanes, body, counts, known, arrays };
    writer.coordinates();
    for step in &kernel.steps {
        writer.step(step)?;
    }
    writer.results();
    let Writer { body, counts, .. } = writer;
    let (name, bits, bytes) = (&kernel.name, width.bits(), width.bytes());
    let size = kernel.results() * bytes;
    let mut text = String::from(".version 7.0\n.target sm_70\n.address_size 64\n\n");
    comment.lines().for_each(|line| _ = writeln!(text, "{}", format!("// {line}").trim_end()));
    let inputs = kernel.inputs.iter().map(|(name, _)| format!(".param .b64 {name}_, "));
    let inputs: String = inputs.collect();
    let _ = write!(
        text,
        ".func (.param .align {bytes} .b8 result_[{size}]) {name}({inputs}.param .b32 lane_)\n{{\n"
    );
    for (kind, count) in [format!("b{bits} %v"), "b32 %i".into(), "pred %p".into(), "b64 %a".into()]
        .into_iter()
        .zip(counts)
    {
        if count > 0 {
            let _ = writeln!(text, "\t.reg .{kind}<{count}>;");
        }
    }
    let _ = write!(text, "{body}\tret;\n}}\n\n");
    text.push_str(&entry(kernel, width));
    Ok(text)
}

/// The kernel that calls the function for one warp and stores what it returns: register `r` of lane `l` of an
/// array is element `lanes * r + l`.
fn entry(kernel: &Kernel, width: Width) -> String {
    let (name, bits, bytes) = (&kernel.name, width.bits(), width.bytes());
    let (size, lanes) = (kernel.results() * bytes, kernel.lanes.places());
    let goals = kernel.goals.iter().map(|&goal| &kernel.arrays[goal]);
    let names = kernel.inputs.iter().map(|(name, _)| name.as_str());
    let params: Vec<String> = names
        .clone()
        .chain(goals.clone().map(|array| array.name.as_str()))
        .enumerate()
        .map(|(at, name)| format!("\t.param .u64 {name}_{at}"))
        .collect();
    let mut text = format!(".visible .entry {name}_kernel(\n{}\n)\n{{\n", params.join(",\n"));
    let inputs = kernel.inputs.len();
    let _ = write!(
        text,
        "\t.reg .b64 %a<{}>;\n\t.reg .b{bits} %v<{}>;\n\t.reg .b32 %lane;\n\t.reg .pred %p;\n\
         \t.param .align {bytes} .b8 result_[{size}];\n\tmov.u32 %lane, %laneid;\n",
        params.len() + 1,
        kernel.results(),
    );
    for (at, (name, _)) in kernel.inputs.iter().enumerate() {
        let _ = write!(text, "\tld.param.u64 %a{at}, [{name}_{at}];\n\t.param .b64 {name}_;\n");
        let _ = writeln!(text, "\tst.param.b64 [{name}_], %a{at};");
    }
    let arguments: String = names.map(|name| format!("{name}_, ")).collect();
    let _ = write!(
        text,
        "\t.param .b32 lane_;\n\tst.param.b32 [lane_], %lane;\n\
         \tcall.uni (result_), {name}, ({arguments}lane_);\n"
    );
    if lanes < 32 {
        let _ = write!(text, "\tsetp.ge.u32 %p, %lane, {lanes};\n\t@%p ret;\n");
    }
    let mut value = 0;
    for (number, array) in goals.enumerate() {
        let at = inputs + number;
        let _ = write!(
            text,
            "\tld.param.u64 %a{at}, [{}_{at}];\n\tcvta.to.global.u64 %a{at}, %a{at};\n\
             \tmad.wide.u32 %a{at}, %lane, {bytes}, %a{at};\n",
            array.name
        );
        for register in 0..array.count() {
            let (from, to) = (value * bytes, register * lanes * bytes);
            let _ = writeln!(text, "\tld.param.b{bits} %v{value}, [result_+{from}];");
            let _ = writeln!(text, "\tst.global.b{bits} [%a{at}+{to}], %v{value};");
            value += 1;
        }
    }
    text.push_str("\tret;\n}\n");
    text
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "\t{line};");
    }

    fn fresh(&mut self, kind: usize) -> Value {
        let number = self.counts[kind];
        self.counts[kind] += 1;
        format!("%{}{number}", ["v", "i", "p", "a"][kind])
    }

    /// The result of an instruction, unless it is known.
    fn once(&mut self, kind: usize, operation: &str, operands: &str) -> Value {
        let key = format!("{operation} {operands}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let value = self.fresh(kind);
        self.line(&format!("{operation} {value}, {operands}"));
        self.known.insert(key, value.clone());
        value
    }

    /// The lane's number and the coordinates of its axes.
    fn coordinates(&mut self) {
        let count = self.lanes.places();
        let mut lane = self.fresh(1);
        self.line(&format!("ld.param.b32 {lane}, [lane_]"));
        if count.is_power_of_two() && count < 32 {
            lane = self.once(1, "and.b32", &format!("{lane}, {}", count - 1));
        } else if count < 32 {
            // Lanes beyond the last do what it does.
            lane = self.once(1, "min.u32", &format!("{lane}, {}", count - 1));
        }
        let mut axes = self.lanes.axes.clone();
        if self.kernel.planted.has(Bug::AxesSwapped) {
            axes.reverse();
        }
        for (number, (name, extent)) in axes.iter().enumerate() {
            let below: usize = axes[number + 1..].iter().map(|axis| axis.1).product();
            let mut value = lane.clone();
            if below > 1 {
                value = self.once(1, "div.u32", &format!("{value}, {below}"));
            }
            if number > 0 {
                value = self.once(1, "rem.u32", &format!("{value}, {extent}"));
            }
            self.known.insert(format!("coordinate {name}"), value);
        }
    }

    /// An expression over the lanes as a register or an immediate number.
    fn number(&mut self, expr: &Expr) -> Value {
        let (op, a, b) = match expr {
            Expr::Number(number) => return number.to_string(),
            Expr::Name(name) => return self.known[&format!("coordinate {name}")].clone(),
            Expr::Compare(..) => {
                let predicate = self.predicate(expr);
                return self.once(1, "selp.b32", &format!("1, 0, {predicate}"));
            }
            Expr::Choose(c, a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                let predicate = self.predicate(c);
                return self.once(1, "selp.b32", &format!("{a}, {b}, {predicate}"));
            }
            Expr::Binary(op, a, b) => (op, self.number(a), self.number(b)),
        };
        let operation = match op {
            Op::Add => "add.s32",
            Op::Sub => "sub.s32",
            Op::Mul => "mul.lo.s32",
            Op::Div => "div.u32",
            Op::Rem => "rem.u32",
            Op::Xor => "xor.b32",
            Op::And => "and.b32",
            Op::Shl => "shl.b32",
            Op::Shr => "shr.s32",
            // Lowering has refused them; every assembler would.
            Op::Pow => "pow",
            Op::Log => "log",
        };
        self.once(1, operation, &format!("{a}, {b}"))
    }

    /// A condition over the lanes.
    fn predicate(&mut self, expr: &Expr) -> Value {
        let truth = |expr: &Expr| match expr {
            Expr::Compare(..) => true,
            Expr::Binary(Op::And, a, b) => {
                matches!(**a, Expr::Compare(..)) && matches!(**b, Expr::Compare(..))
            }
            _ => false,
        };
        match expr {
            Expr::Compare(cmp, a, b) => {
                let (a, b) = (self.number(a), self.number(b));
                let name = match cmp {
                    Cmp::Eq => "eq",
                    Cmp::Ne => "ne",
                    Cmp::Lt => "lt",
                    Cmp::Le => "le",
                    Cmp::Gt => "gt",
                    Cmp::Ge => "ge",
                };
                self.once(2, &format!("setp.{name}.s32"), &format!("{a}, {b}"))
            }
            Expr::Binary(Op::And, a, b) if truth(expr) => {
                let (a, b) = (self.predicate(a), self.predicate(b));
                self.once(2, "and.pred", &format!("{a}, {b}"))
            }
            _ => {
                let number = self.number(expr);
                self.once(2, "setp.ne.s32", &format!("{number}, 0"))
            }
        }
    }

    /// An expression with a loop's place put in, as machines compute it.
    fn over_lanes(&self, expr: &Expr, place: &[(String, i64)]) -> Result<Expr, String> {
        let expr = at(expr, place);
        match self.lanes.constant(&expr) {
            Some(number) => Ok(Expr::Number(number)),
            None if self.kernel.planted.has(Bug::NegativeDividends) => Ok(expr),
            None => self.lanes.machine(&expr),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match &step.what {
            What::Turn(turn) => return self.turn(step, turn),
            What::Read(read) => {
                for number in 0..step.loops.places() {
                    let place = step.loops.place(number);
                    let value = self.read(read, &place)?;
                    self.write(step, &step.place, &place, value);
                }
            }
            What::Fold(op, parts) => {
                for number in 0..step.loops.places() {
                    let place = step.loops.place(number);
                    let value = self.fold(*op, parts, &place)?;
                    self.write(step, &step.place, &place, Some(value));
                }
            }
        }
        Ok(())
    }

    /// The register at a place of an array: its number.
    fn flat(&self, array: usize, place: &[Expr], loops: &[(String, i64)]) -> usize {
        let extents = &self.kernel.arrays[array].extents;
        let numbers = place.iter().map(|index| match at(index, loops) {
            Expr::Number(number) => number as usize,
            other => self.lanes.constant(&other).unwrap_or_default() as usize,
        });
        numbers.zip(extents).fold(0, |flat, (index, extent)| flat * extent + index)
    }

    fn write(&mut self, step: &Step, to: &[Expr], loops: &[(String, i64)], value: Option<Value>) {
        let flat = self.flat(step.to, to, loops);
        self.arrays[step.to][flat] = value;
    }

    /// A register that nobody has written is 0.
    fn value(&mut self, array: usize, register: usize) -> Value {
        let bits = self.width.bits();
        match &self.arrays[array][register] {
            Some(value) => value.clone(),
            None => self.once(0, &format!("mov.b{bits}"), "0"),
        }
    }

    fn read(&mut self, read: &Read, loops: &[(String, i64)]) -> Result<Option<Value>, String> {
        match read {
            Read::Input { input, index, guard } => {
                let index = self.over_lanes(index, loops)?;
                let guard =
                    guard.as_ref().map(|guard| self.over_lanes(guard, loops)).transpose()?;
                match guard {
                    Some(Expr::Number(0)) => Ok(None),
                    Some(_) if self.kernel.planted.has(Bug::LoadUnguarded) => {
                        Ok(Some(self.load(*input, &index, None)))
                    }
                    Some(Expr::Number(_)) | None => Ok(Some(self.load(*input, &index, None))),
                    Some(guard) => Ok(Some(self.load(*input, &index, Some(&guard)))),
                }
            }
            Read::Register { array, place, lane } => {
                let extents = &self.kernel.arrays[*array].extents;
                let flat =
                    place.iter().zip(extents).fold(Expr::Number(0), |flat, (index, extent)| {
                        let times = Expr::binary(Op::Mul, flat, Expr::Number(*extent as i64));
                        Expr::binary(Op::Add, times, index.clone())
                    });
                let flat = self.over_lanes(&flat, loops)?;
                let lane = lane.as_ref().map(|lane| self.over_lanes(lane, loops)).transpose()?;
                let own = self.kernel.own_lane();
                let lane = lane.filter(|lane| self.lanes.values(lane) != self.lanes.values(&own));
                self.pick(*array, &flat, lane.as_ref()).map(Some)
            }
        }
    }

    /// A register whose number depends on the lane, of the own lane or of another one.
    fn pick(&mut self, array: usize, flat: &Expr, lane: Option<&Expr>) -> Result<Value, String> {
        let mut registers = self.lanes.values(flat).unwrap_or_default();
        registers.sort_unstable();
        registers.dedup();
        if let (Expr::Choose(condition, a, b), [_, _, ..]) = (flat, &*registers) {
            let (a, b) = (self.pick(array, a, lane)?, self.pick(array, b, lane)?);
            let predicate = self.predicate(condition);
            let bits = self.width.bits();
            return Ok(self.once(0, &format!("selp.b{bits}"), &format!("{a}, {b}, {predicate}")));
        }
        let mut picked: Option<Value> = None;
        if self.kernel.planted.has(Bug::PickedBefore) && registers.len() > 1 {
            registers.pop();
        }
        for register in registers {
            let mut value = self.value(array, register as usize);
            if let Some(lane) = lane {
                value = self.shuffle(&value, lane);
            }
            picked = Some(match picked {
                None => value,
                Some(other) => {
                    let index = self.number(flat);
                    let same = self.once(2, "setp.eq.s32", &format!("{index}, {register}"));
                    let bits = self.width.bits();
                    self.once(0, &format!("selp.b{bits}"), &format!("{value}, {other}, {same}"))
                }
            });
        }
        picked.ok_or_else(|| "a register without number".to_owned())
    }

    /// A value of another lane.
    fn shuffle(&mut self, value: &Value, lane: &Expr) -> Value {
        let lane = self.number(lane);
        let key = format!("shuffle {value}, {lane}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let count = self.lanes.places();
        let clamp = if count.is_power_of_two() { (32 - count) << 8 | 31 } else { 31 };
        let tail = format!("{lane}, {clamp}, 0xffffffff");
        let result = self.fresh(0);
        match self.width {
            Width::B32 => self.line(&format!("shfl.sync.idx.b32 {result}, {value}, {tail}")),
            Width::B64 => {
                let [low, high] = [self.fresh(1), self.fresh(1)];
                self.line(&format!("mov.b64 {{{low}, {high}}}, {value}"));
                let half_only = self.kernel.planted.has(Bug::HalfShuffled);
                for half in [&low, &high].into_iter().take(if half_only { 1 } else { 2 }) {
                    self.line(&format!("shfl.sync.idx.b32 {half}, {half}, {tail}"));
                }
                self.line(&format!("mov.b64 {result}, {{{low}, {high}}}"));
            }
        }
        self.known.insert(key, result.clone());
        result
    }

    fn load(&mut self, input: usize, index: &Expr, guard: Option<&Expr>) -> Value {
        let name = self.kernel.inputs[input].0.clone();
        let (bits, bytes) = (self.width.bits(), self.width.bytes());
        let base = self.once(3, "ld.param.b64", &format!("[{name}_]"));
        let base = self.once(3, "cvta.to.global.u64", &base);
        let address = match index {
            Expr::Number(number) => format!("[{base}+{}]", number * bytes as i64),
            index => {
                let index = self.number(index);
                let operands = format!("{index}, {bytes}, {base}");
                format!("[{}]", self.once(3, "mad.wide.s32", &operands))
            }
        };
        let Some(guard) = guard else {
            return self.once(0, &format!("ld.global.b{bits}"), &address);
        };
        let predicate = self.predicate(guard);
        let key = format!("guarded {predicate} {address}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let value = self.fresh(0);
        self.line(&format!("mov.b{bits} {value}, 0"));
        let _ = writeln!(self.body, "\t@{predicate} ld.global.b{bits} {value}, {address};");
        self.known.insert(key, value.clone());
        value
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
            let lost = usize::from(self.kernel.planted.has(Bug::RoundLost));
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

    fn fold(&mut self, op: Fold, parts: &[Part], loops: &[(String, i64)]) -> Result<Value, String> {
        let bits = self.width.bits();
        let least = if bits == 32 { i64::from(i32::MIN) } else { i64::MIN };
        // The operation, and what a fold of nothing is.
        let (operation, nothing) = match op {
            Fold::Sum => (format!("add.s{bits}"), 0),
            Fold::Xor => (format!("xor.b{bits}"), 0),
            Fold::Or => (format!("or.b{bits}"), 0),
            Fold::And => (format!("and.b{bits}"), -1),
            Fold::Min => (format!("min.s{bits}"), !least),
            Fold::Max => (format!("max.s{bits}"), least),
            Fold::List => return Err("a list has no instruction".to_owned()),
        };
        let nothing = if self.kernel.planted.has(Bug::NothingIsZero) { 0 } else { nothing };
        let mut sum: Option<Value> = None;
        for part in parts {
            for number in 0..part.loops.places() {
                let mut place = loops.to_vec();
                place.extend(part.loops.place(number));
                let when =
                    part.when.as_ref().map(|when| self.over_lanes(when, &place)).transpose()?;
                let when = when.filter(|when| *when != Expr::Number(1));
                if when == Some(Expr::Number(0)) {
                    continue;
                }
                let mut product: Option<Value> = None;
                for factor in &part.factors {
                    let value = match self.read(factor, &place)? {
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
                let Some(mut value) = product else { continue };
                if when.is_some() || sum.is_some() {
                    let before = match sum {
                        Some(sum) => {
                            value = self.once(0, &operation, &format!("{sum}, {value}"));
                            sum
                        }
                        None => self.once(0, &format!("mov.b{bits}"), &nothing.to_string()),
                    };
                    if let Some(when) = when {
                        let when = self.predicate(&when);
                        let operands = match self.kernel.planted.has(Bug::ConditionSwapped) {
                            true => format!("{before}, {value}, {when}"),
                            false => format!("{value}, {before}, {when}"),
                        };
                        value = self.once(0, &format!("selp.b{bits}"), &operands);
                    }
                }
                sum = Some(value);
            }
        }
        Ok(match sum {
            Some(sum) => sum,
            None => self.once(0, &format!("mov.b{bits}"), &nothing.to_string()),
        })
    }

    fn results(&mut self) {
        let (bits, bytes) = (self.width.bits(), self.width.bytes());
        let mut offset = 0;
        for &goal in &self.kernel.goals {
            for register in 0..self.kernel.arrays[goal].count() {
                let value = self.value(goal, register);
                self.line(&format!("st.param.b{bits} [result_+{offset}], {value}"));
                offset += bytes * if self.kernel.planted.has(Bug::ResultsMoved) { 0 } else { 1 };
            }
        }
    }
}
