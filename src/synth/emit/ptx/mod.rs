//! A kernel as PTX: a function of one warp, every loop unrolled, and an entry that calls it for a single warp.
//!
//! Nothing that comes from memory is part of an address, a predicate or a lane's number: those are computed from
//! `%laneid` alone.

mod entry;
mod numbers;
mod steps;
mod width;
mod writer;

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::domain::at;
use super::fuse;
use super::kernel::{Kernel, Read, Step};
use crate::synth::expr::{Expr, Op};
use writer::{Value, Writer};

pub use width::Width;

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
    for group in fuse::groups(kernel, &kernel.steps.iter().collect::<Vec<_>>()) {
        writer.group(&group)?;
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
    text.push_str(&entry::entry(kernel, width));
    Ok(text)
}

impl Writer<'_> {
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
                    Some(_) if planted!(Bug::LoadUnguarded) => {
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
        if planted!(Bug::PickedBefore) && registers.len() > 1 {
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
                let half_only = planted!(Bug::HalfShuffled);
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

    fn results(&mut self) {
        let (bits, bytes) = (self.width.bits(), self.width.bytes());
        let mut offset = 0;
        for &goal in &self.kernel.goals {
            for register in 0..self.kernel.arrays[goal].count() {
                let value = self.value(goal, register);
                self.line(&format!("st.param.b{bits} [result_+{offset}], {value}"));
                offset += bytes * if planted!(Bug::ResultsMoved) { 0 } else { 1 };
            }
        }
    }
}
