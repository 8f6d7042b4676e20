//! Warp-wide instructions, and calls of holes.

use super::hole::{self, Called, Kind, Use};
use super::node::{Id, Node, UNDEFINED};
use super::warp::{Done, LANES, Warp};
use crate::cfg::{Arg, Base, Inst, InstId};
use crate::isa::{Qualifier as Q, ScalarType};

impl<'s> Warp<'_, '_, 's> {
    /// `shfl.sync`
    pub(super) fn shuffle(&mut self, inst: &Inst<'_, 's>, lanes: &[usize]) -> Done {
        let form = &inst.ast.form;
        let mode = form.qualifiers().find(|q| matches!(q, Q::Idx | Q::Up | Q::Down | Q::Bfly));
        let (Some(mode), true) = (mode, form.has(Q::Sync)) else { return Err(self.unknown(inst)) };
        let [to, value, by, clamp, members] = &inst.args[..] else {
            return Err(self.unknown(inst));
        };
        let (to, ok) = match to {
            Arg::Register(to) => (*to, None),
            Arg::Pair(pair) => match **pair {
                [Arg::Register(to), Arg::Register(ok)] => (to, Some(ok)),
                [Arg::Register(to), Arg::Sink] => (to, None),
                _ => return Err(self.unknown(inst)),
            },
            _ => return Err(self.unknown(inst)),
        };
        let present = lanes.iter().fold(0u64, |set, &lane| set | 1 << lane);
        let mut values = [UNDEFINED; LANES];
        for &lane in lanes {
            values[lane] = self.read(inst, value, lane, ScalarType::B32)?;
        }
        let mut results = Vec::new();
        for &lane in lanes {
            let members = self.read(inst, members, lane, ScalarType::B32)?;
            if self.nodes.value(members) != Some(present) {
                let message = "not all lanes that this shuffle names execute it together";
                return Err(self.error(inst, message));
            }
            let by = self.read(inst, by, lane, ScalarType::B32)?;
            let clamp = self.read(inst, clamp, lane, ScalarType::B32)?;
            let Some(clamp) = self.nodes.value(clamp) else { return Err(self.unknown(inst)) };
            let source = |by: u64| source_lane(mode, lane as u64, by, clamp);
            results.push(match self.nodes.node(by).clone() {
                Node::Number(by) => {
                    let (source, within) = source(by);
                    (values[source], self.nodes.number(u64::from(within)))
                }
                Node::Choice(point, options) => {
                    self.out.holes.used(point, Use::Shuffle);
                    let numbers = options.iter().map(|&option| self.nodes.value(option));
                    let Some(numbers) = numbers.collect::<Option<Vec<u64>>>() else {
                        let message = "the source lane of this shuffle depends on several holes";
                        return Err(self.error(inst, message));
                    };
                    let (from, within): (Vec<Id>, Vec<Id>) = numbers
                        .into_iter()
                        .map(|by| {
                            let (source, within) = source(by);
                            (values[source], self.nodes.number(u64::from(within)))
                        })
                        .unzip();
                    (self.nodes.choice(point, &from), self.nodes.choice(point, &within))
                }
                _ => {
                    let message = "the source lane of this shuffle depends on loaded data";
                    return Err(self.error(inst, message));
                }
            });
        }
        for (&lane, (value, within)) in lanes.iter().zip(results) {
            self.write(inst, to, lane, value, None)?;
            if let Some(ok) = ok {
                self.write(inst, ok, lane, within, None)?;
            }
        }
        Ok(())
    }

    /// A call of a hole.
    pub(super) fn call(&mut self, at: InstId, inst: &Inst<'_, 's>, lanes: &[usize]) -> Done {
        let Some((result, name, arguments)) = called(inst) else { return Err(self.unknown(inst)) };
        let Some((family, kind)) = hole::function(name) else {
            let message = format!("a kernel with holes may not call `{name}`");
            return Err(self.error(inst, message));
        };
        if arguments.len() != kind.arguments() {
            let count = kind.arguments();
            return Err(self.error(inst, format!("`{name}` takes {count} arguments")));
        }
        let mut seen: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
        for &lane in lanes {
            let mut values = Vec::new();
            for argument in arguments {
                let id = self.argument(inst, argument, lane)?;
                let Some(value) = self.nodes.value(id) else {
                    let message = "an argument of this hole depends on loaded data or a hole";
                    return Err(self.error(inst, message));
                };
                values.push(value & 0xffff_ffff);
            }
            let called = match (kind, &values[..]) {
                (Kind::Index, &[id, i, n, k, m]) => {
                    Called { id, at: [i, k], extents: [n, m], values: n }
                }
                (Kind::Part, &[id, i, k, ways]) => {
                    Called { id, at: [i, k], extents: [0; 2], values: ways }
                }
                (Kind::Condition, &[id, i, k]) => {
                    Called { id, at: [i, k], extents: [0; 2], values: 2 }
                }
                _ => return Err(self.unknown(inst)),
            };
            let point = self.out.holes.call(at, inst.ast.span, (family, kind), called);
            let point = point.map_err(|message| self.error(inst, message))?;
            called.at.iter().zip(&mut seen).for_each(|(&at, seen)| {
                if !seen.contains(&at) {
                    seen.push(at);
                }
            });
            let options: Vec<Id> = (0..called.values).map(|v| self.nodes.number(v)).collect();
            let value = self.nodes.choice(point, &options);
            match result {
                Arg::Register(register) => self.write(inst, *register, lane, value, None)?,
                Arg::Symbol { name, local, .. } => {
                    let base = Base::Symbol { name, local: *local };
                    match self.parameter(base, 0) {
                        Some(slot) => slot[lane] = value,
                        None => return Err(self.unknown(inst)),
                    }
                }
                _ => return Err(self.unknown(inst)),
            }
        }
        if let Some(site) = self.out.holes.sites.get(&at) {
            let hole = &mut self.out.holes.holes[site.hole];
            for (lanes, seen) in hole.lanes.iter_mut().zip(&seen) {
                *lanes |= seen.len() > 1;
            }
        }
        Ok(())
    }

    pub(super) fn argument(&mut self, inst: &Inst<'_, 's>, arg: &Arg<'s>, lane: usize) -> Done<Id> {
        match arg {
            Arg::Symbol { name, local: Some(scope), .. } => {
                let base = Base::Symbol { name, local: Some(*scope) };
                let found = self.parameter(base, 0).map(|values| values[lane]);
                found.ok_or_else(|| self.unknown(inst))
            }
            _ => self.read(inst, arg, lane, ScalarType::B32),
        }
    }
}

/// The result, the name and the arguments of a call of a single result.
pub(super) fn called<'i, 's>(
    inst: &'i Inst<'_, 's>,
) -> Option<(&'i Arg<'s>, &'s str, &'i [Arg<'s>])> {
    let [Arg::Vector(results), Arg::Symbol { name, .. }, Arg::Vector(arguments), ..] =
        &inst.args[..]
    else {
        return None;
    };
    let [result] = &results[..] else { return None };
    Some((result, name, arguments))
}

/// The lane whose value a lane gets by a shuffle, and whether it is within the segment (PTX ISA, "shfl.sync").
fn source_lane(mode: Q, lane: u64, by: u64, clamp: u64) -> (usize, bool) {
    let (by, segment) = (by & 31, clamp >> 8 & 31);
    let most = lane & segment | clamp & 31 & !segment;
    let (source, within) = match mode {
        Q::Up => (lane.wrapping_sub(by), lane as i64 - by as i64 >= most as i64),
        Q::Down => (lane + by, lane + by <= most),
        Q::Bfly => (lane ^ by, lane ^ by <= most),
        _ => {
            let source = lane & segment | by & !segment;
            (source, source <= most)
        }
    };
    (if within { source as usize } else { lane as usize }, within)
}
