//! Values and conditions as C++ expressions.

use std::fmt::Write as _;

use super::writer::{Writer, named};
use crate::synth::emit::domain::{self, Domain};
use crate::synth::emit::kernel::Read;
use crate::synth::expr::Expr;

impl Writer<'_> {
    /// An expression over loops and lanes.
    pub(super) fn expression(&self, expr: &Expr, loops: &Domain) -> Result<String, String> {
        let domain = self.domain(loops);
        let expr = domain.machine(&domain.simplified(expr.clone()))?;
        let put = |name: &str| (named(name) != name).then(|| Expr::name(&named(name)));
        Ok(domain::replaced(&expr, &put).to_string())
    }

    pub(super) fn domain(&self, loops: &Domain) -> Domain {
        Domain::of(loops.axes.iter().chain(&self.kernel.lanes.axes))
    }

    /// Whether an expression does not depend on the lane.
    pub(super) fn uniform(&self, expr: &Expr) -> bool {
        let mut found = true;
        expr.names(&mut |name| {
            found &= self.kernel.lanes.axes.iter().all(|lane| lane.0 != name);
        });
        found
    }

    pub(super) fn element(&self, array: usize, place: &[String]) -> String {
        // An array that holds one place of the group's axis has no index along it.
        let dropped = self.group.and_then(|group| group.local.get(&array));
        let place = place.iter().enumerate().filter(|(at, _)| dropped != Some(at));
        let place: String = place.map(|(_, index)| format!("[{index}]")).collect();
        format!("{}{place}", named(&self.kernel.arrays[array].name))
    }

    /// A value as an expression; where a register depends on the lane, lines that pick it come first.
    pub(super) fn read(&mut self, read: &Read, loops: &Domain) -> Result<String, String> {
        match read {
            Read::Input { input, index, guard } => {
                let name = named(&self.kernel.inputs[*input].0);
                let index = self.expression(index, loops)?;
                Ok(match guard {
                    None => format!("{name}[{index}]"),
                    Some(_) if planted!(Bug::CudaLoadUnguarded) => {
                        format!("{name}[{index}]")
                    }
                    Some(guard) => {
                        let guard = self.expression(guard, loops)?;
                        format!("({guard} ? {name}[{index}] : T())")
                    }
                })
            }
            Read::Register { array, place, lane } => {
                let same = lane.as_ref().map(|lane| self.same(lane, loops));
                let lane = lane.as_ref().map(|lane| self.expression(lane, loops)).transpose()?;
                let lanes = self.kernel.lanes.places();
                let group = if lanes.is_power_of_two() { lanes } else { 32 };
                let shuffled = |value: String| match (&lane, &same) {
                    (None, _) => value,
                    (Some(lane), Some(Some(same))) if planted!(Bug::CudaSameSwapped) => {
                        format!("({same} ? synth::shuffle<{group}>({value}, {lane}) : {value})")
                    }
                    (Some(lane), Some(Some(same))) => {
                        format!("({same} ? {value} : synth::shuffle<{group}>({value}, {lane}))")
                    }
                    (Some(lane), _) => format!("synth::shuffle<{group}>({value}, {lane})"),
                };
                let mut indices = Vec::new();
                let mut open = None;
                for (at, index) in place.iter().enumerate() {
                    if self.uniform(index) {
                        indices.push(self.expression(index, loops)?);
                    } else if open.replace(at).is_some() {
                        return Err("two indices of registers depend on the lane".to_owned());
                    } else {
                        indices.push(String::new());
                    }
                }
                let Some(at) = open else { return Ok(shuffled(self.element(*array, &indices))) };
                let index = self.domain(loops).simplified(place[at].clone());
                let element = |index: String| {
                    let mut indices = indices.clone();
                    indices[at] = index;
                    shuffled(self.element(*array, &indices))
                };
                if let Some(chosen) = self.chosen(&index, loops, &element)? {
                    return Ok(chosen);
                }
                let before = usize::from(planted!(Bug::CudaPickedBefore));
                let n = self.kernel.arrays[*array].extents[at] - before;
                let index = self.expression(&index, loops)?;
                let (first, other) = (element("0".to_owned()), element("i_".to_owned()));
                self.line(&format!("const int at_ = {index};"));
                self.line(&format!("T picked_ = {first};"));
                let _ = writeln!(self.text, "#pragma unroll");
                self.open(&format!("for (int i_ = 1; i_ < {n}; ++i_)"));
                self.line(&format!("picked_ = at_ == i_ ? {other} : picked_;"));
                self.indent -= 1;
                Ok("picked_".to_owned())
            }
        }
    }

    /// A register that conditions choose.
    pub(super) fn chosen(
        &self,
        index: &Expr,
        loops: &Domain,
        element: &dyn Fn(String) -> String,
    ) -> Result<Option<String>, String> {
        match index {
            index if self.uniform(index) => Ok(Some(element(self.expression(index, loops)?))),
            Expr::Choose(condition, a, b) => {
                let condition = self.expression(condition, loops)?;
                let (mut a, mut b) =
                    (self.chosen(a, loops, element)?, self.chosen(b, loops, element)?);
                if planted!(Bug::CudaChosenSwapped) {
                    std::mem::swap(&mut a, &mut b);
                }
                Ok(a.zip(b).map(|(a, b)| format!("({condition} ? {a} : {b})")))
            }
            _ => Ok(None),
        }
    }

    /// The places of loops where a lane is its own source, as a condition.
    pub(super) fn same(&self, lane: &Expr, loops: &Domain) -> Option<String> {
        let own = self.kernel.own_lane();
        let mut axes = loops.axes.clone();
        axes.retain(|(axis, _)| {
            let mut stands = false;
            lane.names(&mut |name| stands |= name == axis);
            stands
        });
        let loops = &Domain { axes };
        let domain = self.domain(loops);
        let (values, own) = (domain.values(lane)?, domain.values(&own)?);
        let count = self.kernel.lanes.places();
        let rows = values.chunks(count).zip(own.chunks(count)).enumerate();
        let same: Vec<usize> = rows.filter(|(_, (a, b))| a == b).map(|(row, _)| row).collect();
        if same.is_empty() || same.len() > 8 {
            return None;
        }
        let places = same.into_iter().map(|number| {
            let place = loops.place(number).into_iter();
            let place: Vec<String> =
                place.map(|(name, at)| format!("{} == {at}", named(&name))).collect();
            place.join(" && ")
        });
        Some(places.collect::<Vec<_>>().join(" || "))
    }

    pub(super) fn write(
        &mut self,
        to: usize,
        place: &[Expr],
        loops: &Domain,
        value: &str,
    ) -> Result<(), String> {
        let place: Result<Vec<String>, String> =
            place.iter().map(|index| self.expression(index, loops)).collect();
        let element = self.element(to, &place?);
        self.line(&format!("{element} = {value};"));
        Ok(())
    }
}
