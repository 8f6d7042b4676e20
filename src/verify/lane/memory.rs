//! Loads and stores: the value of a load is a function of a version of memory and the address.
//!
//! A version is made by each instruction that may change a window (see `versions`, where it is shown
//! why freedom from data races is enough for two lanes to read the same). A load reads from the oldest
//! version that is certain to hold the same bytes: stores that certainly write other bytes are stepped
//! over.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::opaque::of_opcode;
use super::state::Evaluation;
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, Inst};
use crate::expr::{Node, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::program::{Window, written};
use crate::ptx::{FunctionKind, ScalarType, StateSpace};
use crate::record::{Accessed, GlobalFact, Load, Promise, Reference, StoreRecord, at_entry};
use crate::terms::conditions::Literals;
use crate::terms::{Function, Kind, Origin, conditions};

/// The most selections between versions, one within another, that are looked into: a chain of guarded
/// stores may be as long as the function.
const MAX_NESTED: u32 = 256;

impl<'s> Evaluation<'_, 's> {
    /// Evaluates a weak load.
    pub(crate) fn load(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let ast = inst.ast;
        let (Some(&ty), Some(Arg::Memory { base, offset: displacement, .. })) =
            (ast.form.types().last(), inst.args.get(1))
        else {
            return self.unknown_results(inst, guard);
        };
        let address = self.accessed(ast.form.space(), *base, *displacement);
        let elements: Vec<&Arg<'s>> = match inst.args.first() {
            Some(Arg::Vector(elements)) => elements.iter().collect(),
            Some(single) => vec![single],
            None => Vec::new(),
        };
        let bytes = ty.bits() / 8;
        if self.may_fault(ast.form.space()) {
            let condition = self.condition(guard);
            let whole = bytes * elements.len() as u32;
            let (at, block) = (self.at, self.block);
            let (space, bytes) = (ast.form.space(), whole);
            self.out.loads.push(Load { inst: at, block, condition, space, address, bytes });
        }
        // The pragma says that some bytes of the result are not wanted.
        if ty.bits() > 64 || inst.pragma {
            return self.unknown_results(inst, guard);
        }
        if ast.form.space() == StateSpace::Global {
            self.note_global(address, guard);
        }
        // All addresses are computed before any register is written.
        let values: Vec<TermId> = (0..elements.len() as u64)
            .map(|index| {
                let offset = index * u64::from(bytes);
                let at = self.terms.arena.add_constant(address, offset);
                match self.parameter(inst, *base, displacement.wrapping_add(offset as i64), ty) {
                    Some(value) => value,
                    None if read_only(inst) && ast.form.space() == StateSpace::Global => {
                        self.loaded_read_only(at, ty.bits() as u8, guard)
                    }
                    None => self.loaded(ast.form.space(), at, ty),
                }
            })
            .collect();
        for (element, value) in elements.into_iter().zip(values) {
            self.set(element, value, ty.is_signed(), guard);
        }
    }

    /// Notes that an address is global, since it is used as a global one.
    fn note_global(&mut self, address: TermId, guard: Option<TermId>) {
        let condition = self.condition(guard);
        let is_global = self.terms.is_global(address);
        let here = self.here();
        self.out.global.push(GlobalFact { condition, around: here, is_global });
    }

    fn may_fault(&self, space: StateSpace) -> bool {
        space != StateSpace::Param
    }

    /// The results of a load whose form is not modelled: some function of the memory that it may read,
    /// of this thread, and of its operands.
    fn unknown_results(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let mut operands = SmallVec::new();
        inst.args.iter().skip(1).for_each(|arg| self.natural(arg, &mut operands));
        operands.extend(self.memory);
        operands.push(self.terms.symbol(Kind::Thread, 64, None));
        let operands = operands.to_vec();
        self.write_functions(inst, &of_opcode(inst), &operands, guard);
    }

    /// The value of a parameter of the function itself.
    fn parameter(
        &mut self,
        inst: &Inst<'_, 's>,
        base: Base<'s>,
        offset: i64,
        ty: ScalarType,
    ) -> Option<TermId> {
        if inst.ast.form.space() != StateSpace::Param {
            return None;
        }
        let function = self.program.function;
        let declares = |all: &[crate::ptx::Variable<'_>], name: &str| {
            all.iter().flat_map(|variable| &variable.names).any(|one| one.name.text == name)
        };
        let (name, offset) = match base {
            Base::Symbol { name, local: None } => (name.to_owned(), offset),
            // The address of a kernel's parameter may have been moved to a register.
            Base::Register(register) if function.kind == FunctionKind::Entry => {
                let base = self.read(register);
                let (name, start) = self.variable_at(base)?;
                declares(&function.params, &name).then_some((name, start.wrapping_add(offset)))?
            }
            _ => return None,
        };
        // A parameter, not the place for a result.
        if declares(&function.returns, &name) {
            return None;
        }
        let bits = ty.bits() as u8;
        let kind = Kind::Parameter { name, offset, bits };
        Some(self.terms.symbol(kind, bits, None))
    }

    /// The value that a load of one element delivers.
    fn loaded(&mut self, space: StateSpace, address: TermId, ty: ScalarType) -> TermId {
        let bits = ty.bits() as u8;
        let window = match space {
            StateSpace::Global => Window::Global,
            StateSpace::Shared => Window::Shared,
            StateSpace::Local => Window::Local,
            StateSpace::Param => Window::Param,
            StateSpace::Const => {
                return self.terms.apply(Function::load(space, bits), &[address], bits);
            }
            _ => return self.loaded_generic(address, bits),
        };
        let version = self.oldest(self.memory[window as usize], address, u32::from(bits) / 8);
        let mut operands = vec![version, address];
        if matches!(window, Window::Local | Window::Param) {
            operands.push(self.terms.symbol(Kind::Thread, 64, None));
        }
        self.terms.apply(Function::load(space, bits), &operands, bits)
    }

    /// The value that `ld.global.nc` delivers: it comes from memory that does not change while the
    /// kernel runs, so it is of no version. That the memory does not change is the original's promise,
    /// if it makes such a load; a load that only the rewritten program makes promises nothing.
    fn loaded_read_only(&mut self, address: TermId, bits: u8, guard: Option<TermId>) -> TermId {
        let never = self.terms.arena.constant(0, 32);
        let global = Function::load(StateSpace::Global, bits);
        let value = self.terms.apply(global.clone(), &[never, address], bits);
        let (condition, here) = (self.condition(guard), self.here());
        let Some(reference) = self.reference else {
            let promise = Promise { condition, around: here };
            self.out.read_only.entry(value).or_default().push(promise);
            return value;
        };
        let known = conditions::literals(&mut self.terms.arena, condition);
        let promises = reference.execution.read_only.get(&value).map_or(&[][..], Vec::as_slice);
        let promised = promises.iter().any(|&Promise { condition, around }| {
            let needed = conditions::literals(&mut self.terms.arena, condition);
            around == here && conditions::hold(&self.terms.arena, &needed, &known)
        });
        if promised || self.is_promised_behind(reference, value, &known) {
            return value;
        }
        let kind = Kind::Memory(Window::Global, Origin::RewrittenOnly(self.at));
        let some = self.terms.symbol(kind, 32, here);
        self.terms.apply(global, &[some, address], bits)
    }

    /// Whether the original makes a read-only load of that value in the first iteration of a loop that is
    /// entered under a condition which holds here.
    fn is_promised_behind(
        &mut self,
        reference: &Reference<'_, '_>,
        value: TermId,
        known: &Literals,
    ) -> bool {
        let here = self.here();
        let execution = reference.execution;
        for (id, record) in execution.loops.iter_enumerated() {
            let Some(record) = record else { continue };
            if reference.program.flow.loops.get(id).parent != here {
                continue;
            }
            let entered = conditions::literals(&mut self.terms.arena, record.entry);
            if !conditions::hold(&self.terms.arena, &entered, known) {
                continue;
            }
            let inside = execution.read_only.iter().flat_map(|(value, promises)| {
                let here = promises.iter().filter(|promise| promise.around == Some(id));
                here.map(|promise| (*value, promise.condition))
            });
            let mut inside: Vec<(TermId, TermId)> = inside.collect();
            inside.sort_unstable();
            for (promise, condition) in inside {
                self.terms.arena.charge(8);
                if at_entry(self.terms, record, promise) != value {
                    continue;
                }
                let first = at_entry(self.terms, record, condition);
                let needed = conditions::literals(&mut self.terms.arena, first);
                if conditions::hold(&self.terms.arena, &needed, known) {
                    return true;
                }
            }
        }
        false
    }

    /// The value at a generic address: in the global window the contents of memory, otherwise a value of this thread.
    fn loaded_generic(&mut self, address: TermId, bits: u8) -> TermId {
        self.out.generic = true;
        let bytes = u32::from(bits) / 8;
        let global = self.oldest(self.memory[Window::Global as usize], address, bytes);
        let load = |space| Function::load(space, bits);
        let in_global = self.terms.apply(load(StateSpace::Global), &[global, address], bits);
        let thread = self.terms.symbol(Kind::Thread, 64, None);
        let [shared, local] = [Window::Shared, Window::Local].map(|window| {
            let mut version = self.memory[window as usize];
            let loaded = Accessed { address, bytes, is_generic: true };
            while let Some(&record) = self.out.generic_stores.get(&version)
                && self.does_not_alias(record, loaded)
            {
                version = record.before;
            }
            version
        });
        let operands = [shared, local, address, thread];
        let elsewhere = self.terms.apply(load(StateSpace::Generic), &operands, bits);
        let is_global = self.terms.is_global(address);
        self.terms.arena.if_then_else(is_global, in_global, elsewhere)
    }

    /// The oldest version that holds the same bytes at an address.
    fn oldest(&mut self, version: TermId, address: TermId, bytes: u32) -> TermId {
        self.oldest_of(
            version,
            Accessed { address, bytes, is_generic: false },
            &mut FxHashMap::default(),
            MAX_NESTED,
        )
    }

    /// The same; `known` are versions that were looked at already, since the paths to one double with
    /// each store that has a guard predicate.
    fn oldest_of(
        &mut self,
        start: TermId,
        loaded: Accessed,
        known: &mut FxHashMap<TermId, TermId>,
        depth: u32,
    ) -> TermId {
        if let Some(&found) = known.get(&start) {
            return found;
        }
        let Some(depth) = depth.checked_sub(1) else { return start };
        let mut version = start;
        let found = loop {
            self.terms.arena.charge(2);
            if let Some(&record) = self.out.stores.get(&version) {
                if !self.does_not_alias(record, loaded) {
                    break version;
                }
                version = record.before;
                continue;
            }
            let Node::IfThenElse(condition, a, b) = *self.terms.arena.node(version) else {
                break version;
            };
            let a = self.oldest_of(a, loaded, known, depth);
            let b = self.oldest_of(b, loaded, known, depth);
            let older = self.terms.arena.if_then_else(condition, a, b);
            if older == version {
                break version;
            }
            version = older;
        };
        known.insert(start, found);
        found
    }

    /// Whether a store certainly leaves some bytes alone.
    fn does_not_alias(&mut self, record: StoreRecord, loaded: Accessed) -> bool {
        let Accessed { address, bytes, .. } = loaded;
        let difference = self.terms.arena.constant_difference(address, record.address);
        let stored = ByteRange::new(0, record.bytes);
        difference.is_some_and(|ahead| !stored.meets(ByteRange::new(ahead, bytes)))
    }

    /// Evaluates a weak store: the windows that it may change get new versions.
    pub(crate) fn store(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let ast = inst.ast;
        let address = match inst.args.first() {
            Some(Arg::Memory { base, offset, .. }) => {
                Some(self.accessed(ast.form.space(), *base, *offset))
            }
            _ => None,
        };
        let elements = match inst.args.get(1) {
            Some(Arg::Vector(elements)) => elements.len() as u32,
            _ => 1,
        };
        let bytes = ast.form.types().last().map_or(16, |ty| ty.bits() / 8) * elements;
        if let (StateSpace::Global, Some(address)) = (ast.form.space(), address) {
            self.note_global(address, guard);
        }
        for &window in written(ast.form.space()) {
            let (mut before, version) = self.change(window, guard);
            // The version exists only where the store is performed.
            if let Some(guard) = guard {
                before = conditions::under(&mut self.terms.arena, before, guard, true);
            }
            // A generic address cannot be compared with addresses of the other windows, but with generic ones.
            let comparable = window == Window::Global || ast.form.space() != StateSpace::Generic;
            if let Some(address) = address {
                let record = StoreRecord { inst: self.at, before, address, bytes };
                match comparable {
                    true => self.out.stores.insert(version, record),
                    false => self.out.generic_stores.insert(version, record),
                };
            }
        }
    }
}

/// Whether a load promises that no thread writes its bytes while the kernel runs.
pub(crate) fn read_only(inst: &Inst<'_, '_>) -> bool {
    inst.ast.form.opcode == Opcode::Ldu || inst.ast.form.has(Qualifier::Nc)
}
