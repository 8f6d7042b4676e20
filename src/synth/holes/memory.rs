//! Loads and stores of a warp over nodes.

use super::hole::Use;
use super::node::{Buffer, Id, Node, Nodes, UNDEFINED};
use super::warp::{LANES, Warp};
use crate::cfg::{Arg, Base, Inst};
use crate::isa::{Qualifier as Q, ScalarType, StateSpace};
use crate::source::Diagnostic;

type Done<T = ()> = Result<T, Diagnostic>;

impl<'s> Warp<'_, '_, 's> {
    /// The address of an access in a lane.
    fn address(
        &mut self,
        inst: &Inst<'_, 's>,
        base: Base<'s>,
        offset: i64,
        lane: usize,
    ) -> Done<Id> {
        let base = match base {
            Base::Register(register) => self.register(register, lane),
            Base::Symbol { name, local } => {
                let buffer = self.variable(name, local.is_some(), lane);
                self.nodes.pointer(buffer, 0)
            }
            Base::Absolute => return Err(self.unknown(inst)),
        };
        Ok(self.nodes.shifted(base, offset))
    }

    /// The registers of an access, one for each element.
    fn elements<'i>(inst: &Inst<'_, 's>, arg: &'i Arg<'s>) -> Option<Vec<&'i Arg<'s>>> {
        match arg {
            Arg::Vector(elements) => Some(elements.iter().collect()),
            _ if inst.ast.form.elements().is_some() => None,
            other => Some(vec![other]),
        }
    }

    /// The value at an address.
    fn stands(&mut self, inst: &Inst<'_, 's>, address: Id, bytes: u8, own: bool) -> Done<Id> {
        match self.nodes.node(address).clone() {
            Node::Pointer(buffer, offset) => {
                if let Some(&(stored, value)) = self.out.memory.get(&(buffer, offset))
                    && stored == bytes
                {
                    return Ok(value);
                }
                if self.overlaps(buffer, offset, bytes) {
                    let message = "this load reads parts of what was stored before";
                    return Err(self.error(inst, message));
                }
                Ok(if own { UNDEFINED } else { self.nodes.load(buffer, offset, bytes) })
            }
            Node::Choice(point, options) => {
                self.out.holes.used(point, Use::Address);
                let mut values = Vec::with_capacity(options.len());
                for &option in &options {
                    values.push(self.stands(inst, option, bytes, own)?);
                }
                Ok(self.nodes.choice(point, &values))
            }
            Node::Undefined => Ok(UNDEFINED),
            _ => Err(self.error(inst, "this address depends on loaded data")),
        }
    }

    fn overlaps(&self, buffer: Buffer, offset: i64, bytes: u8) -> bool {
        let end = offset + i64::from(bytes);
        let near = self.out.memory.range((buffer, offset - 16)..(buffer, end));
        near.into_iter().any(|(&(_, start), &(length, _))| start + i64::from(length) > offset)
    }

    /// `ld`
    pub(super) fn load(
        &mut self,
        inst: &Inst<'_, 's>,
        lanes: &[usize],
        guards: &[Option<Id>],
    ) -> Done {
        let form = &inst.ast.form;
        let Some(ty) = form.last_type().filter(|ty| ty.bits() <= 64) else {
            return Err(self.unknown(inst));
        };
        let bytes = (ty.bits() / 8) as u8;
        let [to, Arg::Memory { base, offset, rest }] = &inst.args[..] else {
            return Err(self.unknown(inst));
        };
        if !rest.is_empty() || form.has_any(&[Q::Volatile, Q::Acquire, Q::Relaxed]) {
            return Err(self.unknown(inst));
        }
        let Some(to) = Self::elements(inst, to) else { return Err(self.unknown(inst)) };
        for &lane in lanes {
            let mut values = Vec::new();
            for number in 0..to.len() {
                let offset = offset + number as i64 * i64::from(bytes);
                let value = if Self::is_param(form) {
                    self.of_parameter(inst, *base, offset, ty, lane)?
                } else {
                    let own = matches!(form.space(), StateSpace::Shared | StateSpace::Local);
                    let address = self.address(inst, *base, offset, lane)?;
                    self.stands(inst, address, bytes, own)?
                };
                values.push(self.nodes.extended(value, ty));
            }
            for (to, value) in to.iter().zip(values) {
                match to {
                    Arg::Register(to) => self.write(inst, *to, lane, value, guards[lane])?,
                    Arg::Sink => {}
                    _ => return Err(self.unknown(inst)),
                }
            }
        }
        Ok(())
    }

    /// The value of a parameter: of a call, or of the kernel.
    fn of_parameter(
        &mut self,
        inst: &Inst<'_, 's>,
        base: Base<'s>,
        offset: i64,
        ty: ScalarType,
        lane: usize,
    ) -> Done<Id> {
        if let Some(values) = self.parameter(base, offset) {
            return Ok(values[lane]);
        }
        let Base::Symbol { name, .. } = base else { return Err(self.unknown(inst)) };
        let params = self.function.params.iter();
        let mut names = params.flat_map(|variable| &variable.names);
        let Some(number) = names.position(|own| own.name.text == name) else {
            return Err(self.unknown(inst));
        };
        let buffer = self.nodes.buffer(&format!("parameter {number}"));
        Ok(match (ty.bits(), offset) {
            (64, 0) => self.nodes.pointer(buffer, 0),
            (bits, offset) => self.nodes.load(buffer, offset, (bits / 8) as u8),
        })
    }

    /// `st`
    pub(super) fn store(&mut self, inst: &Inst<'_, 's>, lanes: &[usize]) -> Done {
        let form = &inst.ast.form;
        let Some(ty) = form.last_type().filter(|ty| ty.bits() <= 64) else {
            return Err(self.unknown(inst));
        };
        let bytes = (ty.bits() / 8) as u8;
        let [Arg::Memory { base, offset, rest }, from] = &inst.args[..] else {
            return Err(self.unknown(inst));
        };
        if !rest.is_empty() || form.has_any(&[Q::Volatile, Q::Release, Q::Relaxed]) {
            return Err(self.unknown(inst));
        }
        let Some(from) = Self::elements(inst, from) else { return Err(self.unknown(inst)) };
        for &lane in lanes {
            for (number, from) in from.iter().enumerate() {
                let offset = offset + number as i64 * i64::from(bytes);
                let value = self.read(inst, from, lane, ty)?;
                let value = self.nodes.narrowed(value, ty);
                if Self::is_param(form) {
                    let Some(slot) = self.parameter(*base, offset) else {
                        return Err(self.unknown(inst));
                    };
                    slot[lane] = value;
                    continue;
                }
                let address = self.address(inst, *base, offset, lane)?;
                match *self.nodes.node(address) {
                    Node::Pointer(buffer, offset) => {
                        let known = self.out.memory.get(&(buffer, offset));
                        if known.is_none_or(|(own, _)| *own != bytes)
                            && self.overlaps(buffer, offset, bytes)
                        {
                            let message = "this store covers parts of what was stored before";
                            return Err(self.error(inst, message));
                        }
                        if matches!(form.space(), StateSpace::Shared | StateSpace::Local) {
                            self.out.private.insert(buffer);
                        }
                        self.out.memory.insert((buffer, offset), (bytes, value));
                    }
                    Node::Choice(..) => {
                        let message = "where this store goes depends on a hole";
                        let hint = "let the hole say which value is stored";
                        return Err(self.error(inst, message).with_hint(hint));
                    }
                    _ => return Err(self.error(inst, "this address depends on loaded data")),
                }
            }
        }
        debug_assert!(lanes.len() <= LANES, "lanes of one warp");
        Ok(())
    }
}

impl Nodes {
    /// An address some bytes farther.
    fn shifted(&mut self, id: Id, by: i64) -> Id {
        match self.node(id).clone() {
            Node::Pointer(buffer, offset) => self.pointer(buffer, offset.wrapping_add(by)),
            Node::Choice(point, options) => {
                let options: Vec<Id> = options.iter().map(|&o| self.shifted(o, by)).collect();
                self.choice(point, &options)
            }
            _ => id,
        }
    }

    /// The register after a load of a narrow type.
    fn extended(&mut self, id: Id, ty: ScalarType) -> Id {
        let narrow = ty.is_signed() && ty.bits() < 32;
        if narrow && id != UNDEFINED { self.tree(&format!("extended{ty}"), &[id]) } else { id }
    }

    /// The part of a register that a store of a narrow type writes.
    fn narrowed(&mut self, id: Id, ty: ScalarType) -> Id {
        match self.node(id) {
            Node::Number(number) => {
                let number = super::node::cut(*number, ty);
                self.number(number)
            }
            Node::Load(_, _, bytes) if u32::from(*bytes) * 8 <= ty.bits() => id,
            _ if ty.bits() < 32 && id != UNDEFINED => {
                self.tree(&format!("cut .b{}", ty.bits()), &[id])
            }
            _ => id,
        }
    }

    /// Part `number` of the `count` equal parts of a register of `bits` bits.
    pub(super) fn part(&mut self, whole: Id, number: usize, count: usize, bits: u32) -> Id {
        let own = bits / count.max(1) as u32;
        match self.node(whole).clone() {
            Node::Undefined => UNDEFINED,
            Node::Number(value) => {
                let mask = if own >= 64 { u64::MAX } else { (1 << own) - 1 };
                self.number(value >> (own * number as u32) & mask)
            }
            Node::Choice(point, options) => {
                let parts: Vec<Id> =
                    options.iter().map(|&o| self.part(o, number, count, bits)).collect();
                self.choice(point, &parts)
            }
            Node::Tree(text, parts)
                if parts.len() == count && self.text(text) == format!("joined{bits}") =>
            {
                parts[number]
            }
            _ => self.tree(&format!("part {number} of {count}"), &[whole]),
        }
    }

    /// A register made of parts.
    pub(super) fn joined(&mut self, parts: &[Id], bits: u32) -> Id {
        let own = bits / parts.len().max(1) as u32;
        let values: Option<Vec<u64>> = parts.iter().map(|&part| self.value(part)).collect();
        if let Some(values) = values {
            let shifted = values.iter().enumerate();
            let whole = shifted.fold(0, |whole, (at, value)| whole | value << (own * at as u32));
            return self.number(whole);
        }
        if parts.contains(&UNDEFINED) {
            return UNDEFINED;
        }
        // All parts of one value in their order are that value.
        let of = |at: usize| match self.node(parts[at]) {
            Node::Tree(text, whole)
                if self.text(*text) == format!("part {at} of {}", parts.len()) =>
            {
                Some(whole[0])
            }
            _ => None,
        };
        let first = of(0);
        if first.is_some() && (1..parts.len()).all(|at| of(at) == first) {
            return first.unwrap_or(UNDEFINED);
        }
        // The same choice in all parts is a choice between joined registers.
        let point = parts.iter().find_map(|&part| match self.node(part) {
            Node::Choice(point, options) => Some((*point, options.len())),
            _ => None,
        });
        match point {
            Some((point, count)) => {
                let mut options = Vec::new();
                for value in 0..count {
                    let own: Vec<Id> = parts.iter().map(|&p| self.under(p, point, value)).collect();
                    options.push(self.joined(&own, bits));
                }
                self.choice(point, &options)
            }
            None => self.tree(&format!("joined{bits}"), parts),
        }
    }
}
