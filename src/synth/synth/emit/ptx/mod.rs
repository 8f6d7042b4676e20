//! A kernel as PTX: a function of one warp, every loop unrolled, and an entry that calls it for a single warp.
//!
//! Nothing that comes from memory is part of an address, a predicate or a lane's number: those are computed from
//! `%laneid` alone.

mod entry;
mod numbers;
mod steps;
mod writer;

use std::fmt::Write as _;

use super::domain::at;
use super::fuse;
use super::kernel::{Kernel, Read, Step};
use crate::isa::ScalarType::{self, B32, B64, Pred};
use crate::ptx::write::{self, Block, Fresh, Reg, op};
use crate::synth::expr::{Expr, Op};
use crate::synth::term::InputId;
use writer::Writer;

/// Writes a kernel whose elements are `.b32` or `.b64`. `comment` goes in front of the function, line by line.
///
/// # Errors
/// An expression or an operator has no instruction.
pub fn ptx(kernel: &Kernel, comment: &str, element: ScalarType) -> Result<String, String> {
    let arrays = kernel.arrays.iter().map(|array| vec![None; array.count()]).collect();
    let kinds = [("v", element), ("i", B32), ("p", Pred), ("a", B64)];
    let block = Block::new(Fresh::with_kinds("%", kinds), "\t");
    let (lanes, coordinates, bytes) = (&kernel.lanes, Vec::new(), element.bits() as usize / 8);
    let mut writer = Writer { kernel, element, bytes, lanes, coordinates, block, arrays };
    writer.coordinates();
    for group in fuse::groups(kernel, &kernel.steps.iter().collect::<Vec<_>>()) {
        writer.group(&group)?;
    }
    writer.results();
    let name = &kernel.name;
    let size = kernel.results() * bytes;
    let mut text = format!("{}\n{}", write::HEAD, write::comment(comment));
    let inputs = kernel.inputs.iter().map(|(name, _)| format!(".param .b64 {name}_, "));
    let inputs: String = inputs.collect();
    let _ = write!(
        text,
        ".func (.param .align {bytes} .b8 result_[{size}]) {name}({inputs}.param .b32 lane_)\n{{\n\
         {}\tret;\n}}\n\n",
        writer.block.text()
    );
    text.push_str(&entry::entry(kernel, element));
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

    fn write(&mut self, step: &Step, to: &[Expr], loops: &[(String, i64)], value: Option<Reg>) {
        let flat = self.flat(step.to, to, loops);
        self.arrays[step.to][flat] = value;
    }

    /// A register that nobody has written is 0.
    fn value(&mut self, array: usize, register: usize) -> Reg {
        match &self.arrays[array][register] {
            Some(value) => value.clone(),
            None => self.constant(0),
        }
    }

    fn read(&mut self, read: &Read, loops: &[(String, i64)]) -> Result<Option<Reg>, String> {
        match read {
            Read::Input { input, index, guard } => {
                let index = self.over_lanes(index, loops)?;
                let guard =
                    guard.as_ref().map(|guard| self.over_lanes(guard, loops)).transpose()?;
                match guard {
                    Some(Expr::Number(0)) => Ok(None),
                    Some(_) if planted!(Bug::LoadUnguarded) => {
                        self.load(*input, &index, None).map(Some)
                    }
                    Some(Expr::Number(_)) | None => self.load(*input, &index, None).map(Some),
                    Some(guard) => self.load(*input, &index, Some(&guard)).map(Some),
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
    fn pick(&mut self, array: usize, flat: &Expr, lane: Option<&Expr>) -> Result<Reg, String> {
        let mut registers = self.lanes.values(flat).unwrap_or_default();
        registers.sort_unstable();
        registers.dedup();
        if let (Expr::Choose(condition, a, b), [_, _, ..]) = (flat, &*registers) {
            let (a, b) = (self.pick(array, a, lane)?, self.pick(array, b, lane)?);
            let predicate = self.predicate(condition)?;
            return Ok(self.select(&a, &b, &predicate));
        }
        let mut picked: Option<Reg> = None;
        if planted!(Bug::PickedBefore) && registers.len() > 1 {
            registers.pop();
        }
        for register in registers {
            let mut value = self.value(array, register as usize);
            if let Some(lane) = lane {
                value = self.shuffle(&value, lane)?;
            }
            picked = Some(match picked {
                None => value,
                Some(other) => {
                    let index = self.number(flat)?;
                    let same = self.block.once(Pred, op!(Setp.Eq.S32), &[&index, &register]);
                    self.select(&value, &other, &same)
                }
            });
        }
        picked.ok_or_else(|| "a register without number".to_owned())
    }

    /// A value of another lane.
    fn shuffle(&mut self, value: &Reg, lane: &Expr) -> Result<Reg, String> {
        let lane = self.number(lane)?;
        let count = self.lanes.places();
        let clamp = if count.is_power_of_two() { (32 - count) << 8 | 31 } else { 31 };
        let element = self.element;
        Ok(self.block.keep(format!("shuffle {value}, {lane}"), |block| {
            let result = block.fresh.of_kind(0);
            let shuffle = |block: &mut Block, to: &Reg, from: &Reg| {
                block.put(op!(Shfl.Sync.Idx.B32), &[to, from, &lane, &clamp, &"0xffffffff"]);
            };
            match element {
                B32 => shuffle(block, &result, value),
                _ => {
                    let halves = [block.fresh.word(), block.fresh.word()];
                    block.put(op!(Mov.B64), &[&write::vector(&halves), value]);
                    let half_only = planted!(Bug::HalfShuffled);
                    for half in halves.iter().take(if half_only { 1 } else { 2 }) {
                        shuffle(block, half, half);
                    }
                    block.put(op!(Mov.B64), &[&result, &write::vector(&halves)]);
                }
            }
            result
        }))
    }

    fn load(&mut self, input: InputId, index: &Expr, guard: Option<&Expr>) -> Result<Reg, String> {
        let name = &self.kernel.inputs[input].0;
        let (element, bytes) = (self.element, self.bytes);
        let base = self.block.once(B64, op!(Ld.Param.B64), &[&format!("[{name}_]")]);
        let base = self.block.once(B64, op!(Cvta.To.Global.U64), &[&base]);
        let address = match index {
            Expr::Number(number) => format!("[{base}+{}]", number * bytes as i64),
            index => {
                let index = self.number(index)?;
                let address = self.block.once(B64, op!(Mad.Wide.S32), &[&index, &bytes, &base]);
                format!("[{address}]")
            }
        };
        let Some(guard) = guard else {
            return Ok(self.element(op!(Ld.Global.(element)), &[&address]));
        };
        let predicate = self.predicate(guard)?;
        Ok(self.block.keep(format!("guarded {predicate} {address}"), |block| {
            let value = block.fresh.of_kind(0);
            block.put(op!(Mov.(element)), &[&value, &0]);
            block.put_if(&format!("@{predicate} "), op!(Ld.Global.(element)), &[&value, &address]);
            value
        }))
    }

    fn results(&mut self) {
        let bytes = self.bytes;
        let mut offset = 0;
        for &goal in &self.kernel.goals {
            for register in 0..self.kernel.arrays[goal].count() {
                let value = self.value(goal, register);
                let place = format!("[result_+{offset}]");
                self.block.put(op!(St.Param.(self.element)), &[&place, &value]);
                offset += bytes * if planted!(Bug::ResultsMoved) { 0 } else { 1 };
            }
        }
    }
}
