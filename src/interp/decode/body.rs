//! A function's body: scopes, declarations, labels, and the list of micro-operations.

use rustc_hash::FxHashMap;

use super::inst::Inst;
use super::scope::{Family, Found, Home, Register, Scopes, Symbol, Variable as Place};
use super::unit::{Unit, align_of, align_up, element_size, size_of};
use super::{control, reconverge};
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::Named;
use crate::interp::ops;
use crate::interp::poison::unwritten;
use crate::interp::program::rare::Cell;
use crate::interp::program::{
    Formal, Function, Guard, MicroOp, Op, Origin, ParamPlace, Pc, Steady,
};
use crate::interp::registers::{File, LANES, Slot, Slots, WarpFn, warp};
use crate::ptx::family::Row;
use crate::ptx::{
    self, Directive, Instruction, Name, Operand, ScalarType, StateSpace, Statement, Variable,
};
use crate::source::Span;

/// The state of decoding one function.
pub struct Decoder<'u, 'm, 's> {
    /// The module.
    pub unit: &'u mut Unit<'m, 's>,
    scopes: Scopes<'s>,
    function: Function,
    /// Where each label stands, by number.
    labels: Vec<Pc>,
    /// `.branchtargets` lists, as label numbers.
    targets: Vec<Vec<usize>>,
    immediates: FxHashMap<(File, u64), Slot>,
    specials: FxHashMap<Steady, Slot>,
    carry: Option<Slot>,
    /// The registers that have a name.
    names: Vec<(Cell, String)>,
    guard: Guard,
    first: bool,
    span: Span,
    origin: Option<Origin>,
}

impl<'u, 'm, 's> Decoder<'u, 'm, 's> {
    /// A decoder for one function of the module.
    pub fn new(unit: &'u mut Unit<'m, 's>) -> Self {
        Decoder {
            unit,
            scopes: Scopes::default(),
            function: Function::default(),
            labels: Vec::new(),
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

    /// Decodes a function. For the kernel, `params` says where its parameters lie.
    ///
    /// # Errors
    /// A declaration that cannot be laid out. An instruction never makes this fail: see [`super`].
    pub fn function(
        mut self,
        function: &'m ptx::Function<'s>,
        params: Option<&[ParamPlace]>,
    ) -> Result<Function, Fault> {
        self.function.name = function.name.text.to_owned();
        self.scopes.push();
        match params {
            Some(params) => self.kernel_params(function, params),
            None => {
                self.function.returns = self.formals(&function.returns)?;
                self.function.params = self.formals(&function.params)?;
            }
        }
        match function.statements() {
            Some(statements) => {
                self.scope(statements)?;
                self.guard = Guard::Always;
                self.span = Span::new(function.span.end as usize, function.span.end as usize);
                self.emit(Op::Return);
                control::patch(&mut self.function.code, &self.labels);
                reconverge::annotate(&mut self.function.code);
                self.function.unwritten = unwritten(&self.function, self.names);
            }
            None => self.function.external = true,
        }
        self.function.local_bytes = align_up(self.function.local_bytes, 16);
        Ok(self.function)
    }

    fn kernel_params(&mut self, function: &'m ptx::Function<'s>, places: &[ParamPlace]) {
        let params = function.params.iter();
        let names = params.flat_map(|variable| variable.names.iter().map(move |n| (variable, n)));
        for ((variable, declarator), place) in names.zip(places) {
            let home = Home::Absolute(place.offset);
            let (size, element) = (place.size, element_size(variable));
            let place = Place { space: StateSpace::Param, home, size, element };
            self.scopes.declare(declarator.name.text, Symbol::Variable(place));
        }
    }

    fn formals(&mut self, variables: &'m [Variable<'s>]) -> Result<Vec<Formal>, Fault> {
        let mut formals = Vec::new();
        for variable in variables {
            self.declare(variable)?;
            for declarator in &variable.names {
                formals.extend(self.formal(declarator.name)?);
            }
        }
        Ok(formals)
    }

    /// The places of a name that crosses a call; a vector register has one for each of its elements.
    ///
    /// # Errors
    /// The name is neither a register nor a variable of the frame.
    pub fn formal(&mut self, name: Name<'s>) -> Result<Vec<Formal>, Fault> {
        match self.lookup(name)? {
            Symbol::Register(r) => Ok(vec![Formal::Register(r.file, r.slot)]),
            Symbol::Vector(first, count) => {
                let elements = (0..count).map(|index| first.element(index));
                Ok(elements.map(|r| Formal::Register(r.file, r.slot)).collect())
            }
            Symbol::Variable(Place { home: Home::Frame(offset), size, .. }) => {
                Ok(vec![Formal::Memory { offset, size }])
            }
            _ => Err(self.error(name.span, format!("`{}` cannot be passed", name.text))),
        }
    }

    /// An error about a place in the body.
    pub fn error(&self, span: Span, message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Unsupported, message).at(span)
    }

    fn scope(&mut self, statements: &'m [Statement<'s>]) -> Result<(), Fault> {
        self.scopes.push();
        for statement in statements {
            if let Statement::Label(name) = statement {
                self.scopes.declare(name.text, Symbol::Label(self.labels.len()));
                self.labels.push(Pc::MAX);
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if let Some(Found::Symbol(Symbol::Label(label))) = self.scopes.find(name.text) {
                        self.labels[label] = self.function.code.len() as Pc;
                    }
                }
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Variable(variable) => self.declare(variable)?,
                Statement::Block { statements, .. } => self.scope(statements)?,
                Statement::Directive(directive) => self.directive(directive),
            }
        }
        self.scopes.pop();
        Ok(())
    }

    fn directive(&mut self, directive: &'m Directive<'s>) {
        match directive {
            Directive::Loc(location) => {
                self.origin = Some(Origin { file: location.file, line: location.line });
            }
            Directive::Targets { label, name: "branchtargets", targets, .. } => {
                let find = |name: &str| match self.scopes.find(name) {
                    Some(Found::Symbol(Symbol::Label(label))) => Some(label),
                    _ => None,
                };
                let mut list = Vec::new();
                for target in targets {
                    match Row::of(target.text) {
                        Some(row) => list.extend(row.names().map_while(|name| find(&name))),
                        None => list.extend(find(target.text)),
                    }
                }
                self.scopes.declare(label.text, Symbol::Targets(self.targets.len()));
                self.targets.push(list);
            }
            Directive::Targets { label, .. } | Directive::Prototype { label, .. } => {
                self.scopes.declare(label.text, Symbol::Prototype);
            }
            _ => {}
        }
    }

    /// The labels of a `.branchtargets` list.
    pub fn branch_targets(&self, list: usize) -> &[usize] {
        &self.targets[list]
    }

    fn declare(&mut self, variable: &'m Variable<'s>) -> Result<(), Fault> {
        for declarator in &variable.names {
            let name = declarator.name.text;
            if variable.space == StateSpace::Reg {
                let Some(ty) = variable.ty else { continue };
                match declarator.count {
                    Some(count) => {
                        let family = Family::Registers(ty, variable.vector);
                        self.scopes.declare_family(name, count, family);
                    }
                    None => {
                        let symbol = self.new_symbol(name, ty, variable.vector);
                        self.scopes.declare(name, symbol);
                    }
                }
                continue;
            }
            let size = size_of(variable, declarator);
            // The members of a family (`.param .u64 %P<2>`) lie one behind the other.
            let stride = align_up(size, align_of(variable));
            let all = declarator.count.map_or(size, |count| stride.saturating_mul(count.into()));
            let place = match variable.space {
                StateSpace::Shared => Place { size, ..self.unit.shared(variable, declarator, all) },
                StateSpace::Local | StateSpace::Param => {
                    let offset = align_up(self.function.local_bytes, align_of(variable));
                    self.function.local_bytes = offset.saturating_add(all);
                    let (name, span) = (name.to_owned(), declarator.name.span);
                    self.function.locals.push(Named { name, offset, size: all, span });
                    let element = element_size(variable);
                    Place { space: StateSpace::Local, home: Home::Frame(offset), size, element }
                }
                // One variable for all calls of the function, visible from its first declaration to
                // the end.
                space @ (StateSpace::Global | StateSpace::Const) => {
                    let place = self.unit.new_static(variable, name, space, all)?;
                    let scopes = &self.scopes;
                    let inner = |name: &str| match scopes.find(name) {
                        Some(Found::Symbol(symbol)) => Some(symbol),
                        _ => None,
                    };
                    self.unit.initialize(variable, declarator, place, &inner)?;
                    Place { size, ..place }
                }
                space => {
                    let message = format!("a {space:?} variable inside a function is not modelled");
                    return Err(self.error(variable.span, message));
                }
            };
            match declarator.count {
                Some(count) => {
                    self.scopes.declare_family(name, count, Family::Variables(place, stride));
                }
                None => self.scopes.declare(name, Symbol::Variable(place)),
            }
        }
        Ok(())
    }

    /// Allocates a register, or the elements of a vector register.
    fn new_symbol(&mut self, name: &str, ty: ScalarType, elements: u8) -> Symbol {
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
                frame.preds.push(garbage(0) as u32);
                (File::Pred, frame.preds.len() - 1)
            }
            2..=32 => {
                let mask = u32::MAX >> (32 - bits);
                frame.w32.push(std::array::from_fn(|lane| garbage(lane) as u32 & mask));
                (File::W32, frame.w32.len() - 1)
            }
            _ => {
                for half in 0..bits / 64 {
                    frame
                        .w64
                        .push(std::array::from_fn(|lane| garbage(lane + LANES * half as usize)));
                }
                (File::W64, frame.w64.len() - (bits / 64) as usize)
            }
        };
        let slot = slot as Slot;
        if !name.is_empty() {
            self.names
                .extend((0..bits.div_ceil(64)).map(|at| ((file, slot + at), name.to_owned())));
        }
        Register { file, slot, bits, float: ty.is_float() }
    }

    /// What a name stands for in the current scope.
    ///
    /// # Errors
    /// Nothing declares the name.
    pub fn lookup(&mut self, name: Name<'s>) -> Result<Symbol, Fault> {
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

    fn instruction(&mut self, instruction: &'m Instruction<'s>) {
        self.span = instruction.span;
        self.first = true;
        let start = self.function.code.len();
        let decoded = self.guarded(instruction);
        if let Err(fault) = decoded {
            // Micro-operations that were already emitted for the instruction must not run without the
            // rest.
            self.function.code.truncate(start);
            self.function.spans.truncate(start);
            self.function.origins.truncate(start);
            self.first = true;
            self.emit(Op::Unsupported(fault.message.into()));
        } else if self.function.code.len() == start {
            self.emit(Op::Nothing);
        }
    }

    fn guarded(&mut self, instruction: &'m Instruction<'s>) -> Result<(), Fault> {
        self.guard = Guard::Always;
        if let Some(guard) = instruction.guard {
            let Symbol::Register(Register { file: File::Pred, slot, .. }) =
                self.lookup(guard.register)?
            else {
                let message =
                    format!("the guard `{}` is not a predicate register", guard.register.text);
                return Err(self.error(guard.register.span, message));
            };
            let slot = self.stable_guard(instruction, slot);
            self.guard = if guard.negated { Guard::Unless(slot) } else { Guard::If(slot) };
        }
        let mut inst = Inst::new(instruction);
        ops::decode(self, &mut inst)
    }

    /// An instruction with two destinations becomes several micro-operations, the first of which
    /// may overwrite the guard: such a guard is copied beforehand.
    fn stable_guard(&mut self, instruction: &Instruction<'s>, slot: Slot) -> Slot {
        if !matches!(instruction.operands.first(), Some(Operand::Pair(_))) {
            return slot;
        }
        let copy = self.scratch(File::Pred);
        self.emit_lanes(warp!(bits 1; |a: bool| -> bool { a }), &[copy], &[slot]);
        copy
    }

    /// Appends a micro-operation to the current instruction.
    pub fn emit(&mut self, op: Op) {
        self.function.code.push(MicroOp { guard: self.guard, first: self.first, op });
        self.function.spans.push(self.span);
        self.function.origins.push(self.origin);
        self.first = false;
    }

    /// Appends a pure operation.
    pub fn emit_lanes(&mut self, run: WarpFn, d: &[Slot], s: &[Slot]) {
        let mut slots = Slots::default();
        slots.d[..d.len()].copy_from_slice(d);
        slots.s[..s.len()].copy_from_slice(s);
        self.emit(Op::Lanes(run, slots));
    }

    /// Allocates a register that no name refers to.
    pub fn scratch(&mut self, file: File) -> Slot {
        let ty = match file {
            File::Pred => ScalarType::Pred,
            File::W32 => ScalarType::B32,
            File::W64 => ScalarType::B64,
        };
        self.new_register("", ty).slot
    }

    /// A slot that holds a constant in all lanes.
    pub fn immediate(&mut self, file: File, bits: u64) -> Slot {
        if let Some(&slot) = self.immediates.get(&(file, bits)) {
            return slot;
        }
        let slot = self.scratch(file);
        let frame = &mut self.function.frame;
        match file {
            File::Pred => frame.preds[slot as usize] = if bits == 0 { 0 } else { !0 },
            File::W32 => frame.w32[slot as usize] = [bits as u32; LANES],
            File::W64 => frame.w64[slot as usize] = [bits; LANES],
        }
        self.immediates.insert((file, bits), slot);
        slot
    }

    /// The predicate that holds the carry bit.
    pub fn carry_flag(&mut self) -> Slot {
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
    pub fn steady(&mut self, special: Steady) -> Slot {
        if let Some(&slot) = self.specials.get(&special) {
            return slot;
        }
        let slot = self.scratch(File::W32);
        self.function.frame.specials.push((special, slot));
        self.specials.insert(special, slot);
        slot
    }
}
