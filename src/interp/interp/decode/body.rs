//! A function's body: scopes, declarations, labels and instructions, in the order of the text.

use super::decoder::Decoder;
use super::inst::Inst;
use super::scope::{Family, Found, Home, LabelId, Register, Symbol, Variable as Place};
use super::unit::{align_of, align_up, element_size, size_of};
use super::{polling, reconverge};
use crate::interp::fault::Fault;
use crate::interp::memory::Named;
use crate::interp::ops;
use crate::interp::poison::unwritten;
use crate::interp::program::{Formal, Function, Guard, MicroOp, Op, Origin, ParamPlace, Pc};
use crate::interp::registers::{File, Slot, warp};
use crate::ptx::family::Row;
use crate::ptx::{self, Directive, Instruction, Name, Operand, StateSpace, Statement, Variable};
use crate::source::Span;
use typed_index_collections::TiSlice;

/// Turns label numbers into those of micro-operations, once all labels are known.
fn patch(code: &mut TiSlice<Pc, MicroOp>, labels: &TiSlice<LabelId, Pc>) {
    let place = |target: Pc| labels[LabelId::of(target)];
    for micro in code {
        match &mut micro.op {
            Op::Branch { target, .. } => *target = place(*target),
            Op::IndexedBranch(branch) => {
                branch.targets.iter_mut().for_each(|target| *target = place(*target));
            }
            _ => {}
        }
    }
}

impl<'m, 's> Decoder<'_, 'm, 's> {
    /// Decodes a function. For the kernel, `params` says where its parameters lie.
    ///
    /// # Errors
    /// A declaration that cannot be laid out. An instruction never makes this fail: see [`super`].
    pub(crate) fn function(
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
                patch(&mut self.function.code, &self.labels);
                reconverge::annotate(&mut self.function.code);
                polling::mark(&mut self.function.code);
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
    pub(crate) fn formal(&mut self, name: Name<'s>) -> Result<Vec<Formal>, Fault> {
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

    fn scope(&mut self, statements: &'m [Statement<'s>]) -> Result<(), Fault> {
        self.scopes.push();
        for statement in statements {
            if let Statement::Label(name) = statement {
                self.scopes.declare(name.text, Symbol::Label(self.labels.next_key()));
                self.labels.push(Pc(u32::MAX));
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if let Some(Found::Symbol(Symbol::Label(label))) = self.scopes.find(name.text) {
                        self.labels[label] = self.function.code.next_key();
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
                    let space = format!("{space:?}").to_lowercase();
                    let message =
                        format!("a `.{space}` variable inside a function is not modelled");
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
            // The operand at fault, if it is known.
            self.span = fault.span.unwrap_or(self.span);
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

    /// An instruction with two destinations becomes several micro-operations, and the first one may overwrite the
    /// guard: such a guard is copied beforehand.
    fn stable_guard(&mut self, instruction: &Instruction<'s>, slot: Slot) -> Slot {
        if !matches!(instruction.operands.first(), Some(Operand::Pair(_))) {
            return slot;
        }
        let copy = self.scratch(File::Pred);
        self.emit_lanes(warp!(bits 1; |a: bool| -> bool { a }), &[copy], &[slot]);
        copy
    }
}
