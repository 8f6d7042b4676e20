//! Numbers and conditions over the lanes as instructions.

use super::writer::Writer;
use crate::isa::ScalarType::B32;
use crate::ptx::write::{Reg, Value, op};
use crate::synth::emit::domain::at;
use crate::synth::emit::index::{self, Scope};
use crate::synth::expr::Expr;

impl Writer<'_> {
    /// The lane's number and the coordinates of its axes.
    pub(super) fn coordinates(&mut self) {
        let (count, block) = (self.lanes.places(), &mut self.block);
        let mut lane = block.word(op!(Ld.Param.B32), &[&"[lane_]"]);
        if count.is_power_of_two() && count < 32 {
            lane = block.once(B32, op!(And.B32), &[&lane, &(count - 1)]);
        } else if count < 32 {
            // Lanes beyond the last one act as the last one.
            lane = block.once(B32, op!(Min.U32), &[&lane, &(count - 1)]);
        }
        let mut axes: Vec<&(String, usize)> = self.lanes.axes.iter().collect();
        if planted!(Bug::AxesSwapped) {
            axes.reverse();
        }
        for (number, (name, extent)) in axes.iter().enumerate() {
            let below: usize = axes[number + 1..].iter().map(|axis| axis.1).product();
            let mut value = lane.clone();
            if below > 1 {
                value = block.once(B32, op!(Div.U32), &[&value, &below]);
            }
            if number > 0 {
                value = block.once(B32, op!(Rem.U32), &[&value, extent]);
            }
            self.coordinates.push((name, value));
        }
    }

    /// An expression over the lanes as a register or an immediate number.
    pub(super) fn number(&mut self, expr: &Expr) -> Result<Value, String> {
        index::value(&mut self.block, expr, Scope { names: &self.coordinates, literal: true })
    }

    /// A condition over the lanes.
    pub(super) fn predicate(&mut self, expr: &Expr) -> Result<Reg, String> {
        index::condition(&mut self.block, expr, Scope { names: &self.coordinates, literal: true })
    }

    /// An expression with a loop's place put in, as machines compute it.
    pub(super) fn over_lanes(&self, expr: &Expr, place: &[(String, i64)]) -> Result<Expr, String> {
        let expr = at(expr, place);
        match self.lanes.constant(&expr) {
            Some(number) => Ok(Expr::Number(number)),
            None if planted!(Bug::NegativeDividends) => Ok(expr),
            None => self.lanes.machine(&expr),
        }
    }
}
