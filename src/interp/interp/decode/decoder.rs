//! What decoding a function knows so far, and how instructions add micro-operations and registers to it.

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use super::scope::{Found, LabelId, Register, Scopes, Symbol};
use super::unit::Unit;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Function, Guard, LaunchInvariant, MicroOp, Op, Origin, Pc};
use crate::interp::registers::{File, LANES, Slot, Slots, WarpFn};
use crate::ptx::{Name, ScalarType};
use crate::source::Span;

/// The state of decoding one function.
pub(crate) struct Decoder<'u, 'm, 's> {
    /// The module.
    pub unit: &'u mut Unit<'m, 's>,
    pub(super) scopes: Scopes<'s>,
    pub(super) function: Function,
    /// Where each label stands.
    pub(super) labels: TiVec<LabelId, Pc>,
    /// `.branchtargets` lists.
    pub(super) targets: Vec<Vec<LabelId>>,
    pub(super) immediates: FxHashMap<(File, u64), Slot>,
    pub(super) specials: FxHashMap<LaunchInvariant, Slot>,
    pub(super) carry: Option<Slot>,
    /// The registers that have a name.
    pub(super) names: Vec<(Cell, String)>,
    pub(super) guard: Guard,
    pub(super) first: bool,
    pub(super) span: Span,
    pub(super) origin: Option<Origin>,
}

impl<'u, 'm, 's> Decoder<'u, 'm, 's> {
    /// A decoder for one function of the module.
    pub(crate) fn new(unit: &'u mut Unit<'m, 's>) -> Self {
        Decoder {
            unit,
            scopes: Scopes::default(),
            function: Function::default(),
            labels: TiVec::new(),
            targets: Vec::new(),
            immediates: FxHashMap::default(),
            specials: FxHashMap::default(),
            carry: None,
            names: Vec::new(),
            guard: Guard::Always,
            first: true,
            span: Span::default(),
            origin: None,
        }
    }

    /// An error about a place in the body.
    pub(crate) fn error(&self, span: Span, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Unsupported, message).at(span)
    }

    /// The labels of a `.branchtargets` list.
    pub(crate) fn branch_targets(&self, list: usize) -> &[LabelId] {
        &self.targets[list]
    }

    /// Allocates a register, or the elements of a vector register.
    pub(super) fn new_symbol(&mut self, name: &str, ty: ScalarType, elements: u8) -> Symbol {
        if elements <= 1 {
            return Symbol::Register(self.new_register(name, ty));
        }
        let first = self.new_register(&format!("{name}.0"), ty);
        for index in 1..elements {
            self.new_register(&format!("{name}.{index}"), ty);
        }
        Symbol::Vector(first, elements)
    }

    /// Allocates a register. Until the program writes it, it holds garbage that depends on the name
    /// and the lane alone, so that two versions of a kernel start out alike.
    fn new_register(&mut self, name: &str, ty: ScalarType) -> Register {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        let garbage = |lane: usize| {
            let mixed = hash.wrapping_add(lane as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ mixed >> 29
        };
        let frame = &mut self.function.frame;
        let bits = ty.bits();
        let (file, slot) = match bits {
            1 => {
                let slot = frame.preds.push_and_get_key(garbage(0) as u32);
                (File::Pred, slot)
            }
            2..=32 => {
                let mask = u32::MAX >> (32 - bits);
                let row = std::array::from_fn(|lane| garbage(lane) as u32 & mask);
                (File::W32, frame.w32.push_and_get_key(row))
            }
            _ => {
                let slot = frame.w64.next_key();
                for half in 0..bits / 64 {
                    frame
                        .w64
                        .push(std::array::from_fn(|lane| garbage(lane + LANES * half as usize)));
                }
                (File::W64, slot)
            }
        };
        if !name.is_empty() {
            self.names
                .extend((0..bits.div_ceil(64)).map(|at| ((file, slot.plus(at)), name.to_owned())));
        }
        Register { file, slot, bits, float: ty.is_float() }
    }

    /// The meaning of a name in the current scope.
    ///
    /// # Errors The name is not declared.
    pub(crate) fn lookup(&mut self, name: Name<'s>) -> Result<Symbol, Fault> {
        match self.scopes.find(name.text) {
            Some(Found::Symbol(symbol)) => Ok(symbol),
            Some(Found::Member(depth, ty, elements)) => {
                let symbol = self.new_symbol(name.text, ty, elements);
                self.scopes.declare_at(depth, name.text, symbol);
                Ok(symbol)
            }
            None => self
                .component(name)
                .or_else(|| self.unit.resolve(name.text))
                .ok_or_else(|| self.error(name.span, format!("nothing declares `{}`", name.text))),
        }
    }

    /// An element of a vector register, `v.x` or `v.r` (PTX ISA, "Vectors as Operands").
    fn component(&mut self, name: Name<'s>) -> Option<Symbol> {
        let (text, component) = name.text.rsplit_once('.')?;
        let index = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        match self.lookup(Name { text, ..name }).ok()? {
            Symbol::Vector(first, count) if index < count => {
                Some(Symbol::Register(first.element(index)))
            }
            _ => None,
        }
    }

    /// Appends a micro-operation to the current instruction.
    pub(crate) fn emit(&mut self, op: Op) {
        self.function.code.push(MicroOp { guard: self.guard, first: self.first, op });
        self.function.spans.push(self.span);
        self.function.origins.push(self.origin);
        self.first = false;
    }

    /// Appends a pure operation.
    pub(crate) fn emit_lanes(&mut self, run: WarpFn, d: &[Slot], s: &[Slot]) {
        let mut slots = Slots::default();
        slots.d[..d.len()].copy_from_slice(d);
        slots.s[..s.len()].copy_from_slice(s);
        self.emit(Op::Lanes(run, slots));
    }

    /// Allocates a register that no name refers to.
    pub(crate) fn scratch(&mut self, file: File) -> Slot {
        let ty = match file {
            File::Pred => ScalarType::Pred,
            File::W32 => ScalarType::B32,
            File::W64 => ScalarType::B64,
        };
        self.new_register("", ty).slot
    }

    /// A slot that holds a constant in all lanes.
    pub(crate) fn immediate(&mut self, file: File, bits: u64) -> Slot {
        if let Some(&slot) = self.immediates.get(&(file, bits)) {
            return slot;
        }
        let slot = self.scratch(file);
        let frame = &mut self.function.frame;
        match file {
            File::Pred => frame.preds[slot] = if bits == 0 { 0 } else { !0 },
            File::W32 => frame.w32[slot] = [bits as u32; LANES],
            File::W64 => frame.w64[slot] = [bits; LANES],
        }
        self.immediates.insert((file, bits), slot);
        slot
    }

    /// The predicate that holds the carry bit.
    pub(crate) fn carry_flag(&mut self) -> Slot {
        match self.carry {
            Some(slot) => slot,
            None => {
                let slot = self.scratch(File::Pred);
                self.carry = Some(slot);
                slot
            }
        }
    }

    /// A narrow slot that holds a special register.
    pub(crate) fn steady(&mut self, special: LaunchInvariant) -> Slot {
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.scratch(File::W32);
        self.function.frame.specials.push((special, slot));
        self.specials.insert(special, slot);
        slot
    }
}
