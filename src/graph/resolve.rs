//! Flattens nested scopes and resolves names to registers.
//!
//! Braced scopes declare registers of their own, so the same name inside and outside is two
//! registers (PTX ISA, "Grouping Instructions"). Registers of a vector (`.reg .v4 .f32 %v`) become
//! one register per element.

use std::cell::OnceCell;
use std::ops::Range;

use smallvec::SmallVec;
use typed_index_collections::TiVec;

use super::inst::InstId;
use super::register::{COMPONENTS, Register, RegisterId};
use super::scopes::{Declared, DeclaredNames, Family, Meaning, Scope, Scopes};
use crate::isa::{Opcode, Selector, Special, SpecialName, special};
use crate::ptx::family::Row;
use crate::ptx::{
    self, Address, AddressBase, Depth, Directive, Function, Instruction, Name, Operand, ScalarType,
    StateSpace, Statement, Value, Variable,
};
use crate::source::{Diagnostic, SourceFile, Span};

/// An operand with its names resolved.
#[derive(Clone, Debug)]
pub enum Arg<'s> {
    /// A register.
    Register(RegisterId),
    /// `!%p`
    Not(RegisterId),
    /// A part of a register or its negative (`%r1.b0`, `-%r1`), as video instructions take it;
    /// never just the register's value.
    Modified(RegisterId),
    /// A register's value plus a constant, `%r1+4`, modulo 2 to the register's width.
    Sum(RegisterId, i64),
    /// A special register.
    Special(Special),
    /// A constant.
    Constant(Value),
    /// The address of a variable or function, plus bytes; `local` if declared in this body.
    Symbol {
        /// The variable's name.
        name: &'s str,
        /// Bytes added, or elements if it is indexed.
        offset: i64,
        /// Whether it is an element of an array, `name[2]`.
        indexed: bool,
        /// Declared inside the body (a call's parameter, a `.local` or `.shared` array): the scope.
        /// Two scopes may each have a variable of one name.
        local: Option<u32>,
    },
    /// `{a, b}` or `(a, b)`.
    Vector(Vec<Arg<'s>>),
    /// `a|b`
    Pair(Box<[Arg<'s>; 2]>),
    /// `_`
    Sink,
    /// `[base + offset]`, with further operands of tensor and texture addresses.
    Memory {
        /// The base of the address.
        base: Base<'s>,
        /// Signed bytes added.
        offset: i64,
        /// Further operands.
        rest: Vec<Arg<'s>>,
    },
}

/// The base of an address.
#[derive(Clone, Copy, Debug)]
pub enum Base<'s> {
    /// A register.
    Register(RegisterId),
    /// A variable.
    Symbol {
        /// The variable's name.
        name: &'s str,
        /// Declared inside the body: the scope.
        local: Option<u32>,
    },
    /// Nothing: the offset is the address.
    Absolute,
}

/// An instruction in the flattened body.
#[derive(Debug)]
pub struct Inst<'m, 's> {
    /// The instruction as parsed.
    pub ast: &'m Instruction<'s>,
    /// Its guard predicate, and whether that is negated.
    pub guard: Option<(RegisterId, bool)>,
    /// Its operands.
    pub args: SmallVec<[Arg<'s>; 4]>,
    /// The places that it may jump to.
    pub targets: Vec<InstId>,
    /// A `.pragma "used_bytes_mask ..."` stands right before it and applies to it: nothing may come
    /// between (PTX ISA, "Pragma Strings").
    pub pragma: bool,
    /// The byte at which it begins, with such a pragma: code in front of it stands in front of both.
    pub front: usize,
    /// The scope it stands in.
    scope: u32,
}

/// A flattened body.
#[derive(Debug, Default)]
pub(super) struct Flat<'m, 's> {
    pub registers: TiVec<RegisterId, Register<'s>>,
    pub insts: TiVec<InstId, Inst<'m, 's>>,
    pub scopes: Scopes<'s>,
}

/// The most edges that all branches of a body may have together: a short list of labels that many branches share gives
/// a graph much larger than its text.
const MAX_TARGETS: usize = 1 << 20;

/// Resolves one body: its instructions so far, and the scopes that are open.
struct Resolver<'m, 's> {
    source: &'m SourceFile,
    flat: Flat<'m, 's>,
    scopes: Vec<Scope<'s>>,
    /// The function whose body it is.
    function: &'m Function<'s>,
    /// The names that the module declares outside of bodies, once they are needed.
    outside: OnceCell<DeclaredNames<'m>>,
    /// Where a pragma begins whose instruction has not come yet.
    pragma: Option<usize>,
    /// The scope in force at each instruction that names labels.
    jumps: Vec<(InstId, usize, Name<'s>)>,
}

/// Flattens a body.
///
/// # Errors
/// A register that is not declared, a label that does not exist.
pub(super) fn flatten<'m, 's>(
    source: &'m SourceFile,
    function: &'m Function<'s>,
) -> Result<Flat<'m, 's>, Diagnostic> {
    let mut resolver = Resolver {
        source,
        flat: Flat::default(),
        scopes: Vec::new(),
        function,
        outside: OnceCell::new(),
        pragma: None,
        jumps: Vec::new(),
    };
    let statements = function.statements().unwrap_or_default();
    resolver.flat.insts.reserve(statements.len());
    // Parameters of old device functions may be registers.
    resolver.scopes.push(Scope::default());
    for variable in function.returns.iter().chain(&function.params) {
        if variable.space == StateSpace::Reg {
            resolver.declare(0, variable);
        }
    }
    resolver.scope(statements, Some(0), None)?;
    resolver.link()?;
    resolver.flat.scopes = Scopes::new(resolver.scopes);
    Ok(resolver.flat)
}

impl<'m, 's> Resolver<'m, 's> {
    fn scope(
        &mut self,
        statements: &'m [Statement<'s>],
        parent: Option<usize>,
        bytes: Option<Range<usize>>,
    ) -> Result<(), Diagnostic> {
        let scope = self.scopes.len();
        self.scopes.push(Scope { parent, bytes, ..Scope::default() });
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    let at = self.flat.insts.next_key();
                    let label = Declared { from: name.span.start as usize, meaning: at };
                    self.scopes[scope].labels.insert(name.text, label);
                }
                Statement::Variable(variable) => self.declare(scope, variable),
                Statement::Block { statements, span } => {
                    self.scope(statements, Some(scope), Some(span.range()))?;
                }
                Statement::Instruction(instruction) => self.instruction(scope, instruction)?,
                Statement::Directive(Directive::Targets { label, targets, .. }) => {
                    let names = targets.iter().flat_map(|t| expand(t.text)).collect();
                    self.scopes[scope].target_lists.insert(label.text, names);
                }
                Statement::Directive(Directive::Pragma { strings, span }) => {
                    if strings.iter().any(|s| s.starts_with("used_bytes_mask")) {
                        self.pragma.get_or_insert(span.start as usize);
                    }
                }
                Statement::Directive(Directive::Prototype { label, .. }) => {
                    self.scopes[scope].prototypes.insert(label.text);
                }
                Statement::Directive(_) => {}
            }
        }
        Ok(())
    }

    fn declare(&mut self, scope: usize, variable: &'m Variable<'s>) {
        for declared in &variable.names {
            let name = declared.name.text;
            let from = declared.name.span.start as usize;
            match (variable.space, variable.ty, declared.count) {
                (StateSpace::Reg, Some(ty), Some(count)) => {
                    let meaning = Family::Registers(ty, variable.vector);
                    let family = Declared { from, meaning };
                    self.scopes[scope].families.insert(name, (count, family));
                }
                (StateSpace::Reg, Some(ty), None) => {
                    self.allocate(scope, (name, from), ty, variable.vector);
                }
                (_, _, Some(count)) => {
                    let family = Declared { from, meaning: Family::Variables };
                    self.scopes[scope].families.insert(name, (count, family));
                }
                (_, _, None) => {
                    let variable = Declared { from, meaning: Meaning::Variable(scope as u32) };
                    self.scopes[scope].names.insert(name, variable);
                }
            }
        }
    }

    fn allocate(
        &mut self,
        scope: usize,
        (name, from): (&'s str, usize),
        ty: ScalarType,
        elements: u8,
    ) -> Meaning {
        let first = RegisterId(self.flat.registers.len() as u32);
        for index in 0..elements.max(1) {
            let component = if elements > 1 { COMPONENTS.chars().nth(index.into()) } else { None };
            self.flat.registers.push(Register { name, component, ty });
        }
        let meaning = Meaning::Registers(first, elements.max(1));
        self.scopes[scope].names.insert(name, Declared { from, meaning });
        meaning
    }

    fn lookup(&mut self, scope: usize, name: &'s str) -> Option<Meaning> {
        let mut next = Some(scope);
        while let Some(at) = next {
            if let Some(declared) = self.scopes[at].names.get(name) {
                return Some(declared.meaning);
            }
            if let Some(Declared { from, meaning }) = self.scopes[at].family_member(name) {
                return Some(match meaning {
                    Family::Registers(ty, elements) => {
                        self.allocate(at, (name, from), ty, elements)
                    }
                    Family::Variables => Meaning::Variable(at as u32),
                });
            }
            next = self.scopes[at].parent;
        }
        None
    }

    fn instruction(
        &mut self,
        scope: usize,
        instruction: &'m Instruction<'s>,
    ) -> Result<(), Diagnostic> {
        let at = self.flat.insts.next_key();
        let guard = match instruction.guard {
            None => None,
            Some(guard) => Some((self.register(scope, guard.register)?, guard.negated)),
        };
        let jumps = matches!(instruction.form.opcode, Opcode::Bra | Opcode::Brx);
        let mut args = SmallVec::new();
        for (index, operand) in instruction.operands.iter().enumerate() {
            if let (true, Operand::Name(name)) = (jumps, operand)
                && index + 1 == instruction.operands.len()
            {
                self.jumps.push((at, scope, *name));
                continue;
            }
            args.push(self.operand(scope, operand)?);
        }
        if let Some(index) = unbracketed(instruction, &args) {
            let span = instruction.operands[index].span();
            return Err(self
                .source
                .diagnostic(span, "an address without brackets is not modelled")
                .with_hint("write the offset in bytes, `[name+8]`"));
        }
        let scope = scope as u32;
        let pragma = self.pragma.take();
        self.flat.insts.push(Inst {
            ast: instruction,
            guard,
            args,
            targets: Vec::new(),
            pragma: pragma.is_some(),
            front: pragma.unwrap_or(instruction.span.start as usize),
            scope,
        });
        Ok(())
    }

    fn register(&mut self, scope: usize, name: Name<'s>) -> Result<RegisterId, Diagnostic> {
        match self.lookup(scope, name.text) {
            Some(Meaning::Registers(register, 1)) => Ok(register),
            _ => Err(self.undeclared(name)),
        }
    }

    /// Whether a register holds an integer or untyped bits of at most 64.
    fn is_integer(&self, register: RegisterId) -> bool {
        let ty = self.flat.registers[register].ty;
        !ty.is_float() && (8..=64).contains(&ty.bits())
    }

    fn undeclared(&self, name: Name<'s>) -> Diagnostic {
        self.source
            .diagnostic(name.span, format!("`{}` is not declared as a register here", name.text))
            .with_hint("declare it with `.reg` in this scope or one around it")
    }

    fn name(&mut self, scope: usize, name: Name<'s>) -> Result<Arg<'s>, Diagnostic> {
        let symbol = |local| Arg::Symbol { name: name.text, offset: 0, indexed: false, local };
        match self.lookup(scope, name.text) {
            Some(Meaning::Registers(register, 1)) => return Ok(Arg::Register(register)),
            Some(Meaning::Registers(first, elements)) => {
                let all = (0..u32::from(elements)).map(|i| Arg::Register(RegisterId(first.0 + i)));
                return Ok(Arg::Vector(all.collect()));
            }
            Some(Meaning::Variable(scope)) => return Ok(symbol(Some(scope))),
            None => {}
        }
        if let Some((base, component)) = name.text.rsplit_once('.')
            && let Some(Meaning::Registers(first, elements)) = self.lookup(scope, base)
        {
            if elements == 1 && Selector::parse(component).is_some() {
                return Ok(Arg::Modified(first));
            }
            let index = "xyzw".find(component).or_else(|| "rgba".find(component));
            return match index {
                Some(i) if i < usize::from(elements) && component.len() == 1 => {
                    Ok(Arg::Register(RegisterId(first.0 + i as u32)))
                }
                _ => Err(self.undeclared(name)),
            };
        }
        if let Some(special) = special(name.text) {
            return Ok(special_arg(special));
        }
        if name.text.starts_with('%')
            && self.find(scope, |s| s.is_label(name.text).then_some(())).is_none()
            && !self.is_declared_outside(name.text)
        {
            return Err(self.undeclared(name));
        }
        Ok(symbol(None))
    }

    /// Whether a name like a register's is that of a parameter (GCC's: `.entry f(.param .u64 %in_ar0)`), or of a function
    /// or variable of the module.
    fn is_declared_outside(&self, name: &str) -> bool {
        let mut parameters = self.function.returns.iter().chain(&self.function.params);
        let of_module = || {
            let module = ptx::parse(self.source, Depth::Named(&[])).ok();
            module.map(|module| DeclaredNames::of_module(&module)).unwrap_or_default()
        };
        parameters.any(|p| p.names.iter().any(|one| one.name.text == name))
            || self.outside.get_or_init(of_module).contains(name)
    }

    fn operand(&mut self, scope: usize, operand: &'m Operand<'s>) -> Result<Arg<'s>, Diagnostic> {
        Ok(match operand {
            Operand::Name(name) => self.name(scope, *name)?,
            Operand::Not(name) => Arg::Not(self.register(scope, *name)?),
            Operand::Negated(name) => match self.name(scope, *name)? {
                Arg::Register(register) | Arg::Modified(register) => Arg::Modified(register),
                _ => return Err(self.undeclared(*name)),
            },
            Operand::Immediate(immediate) => Arg::Constant(immediate.value),
            Operand::Sink(_) => Arg::Sink,
            Operand::Pair(pair) => {
                let [a, b] = &**pair;
                Arg::Pair(Box::new([self.operand(scope, a)?, self.operand(scope, b)?]))
            }
            Operand::Vector(elements, _) | Operand::List(elements, _) => {
                Arg::Vector(self.operands(scope, elements)?)
            }
            &Operand::Offset { name, offset, indexed } => match self.name(scope, name)? {
                Arg::Symbol { name, local, .. } => Arg::Symbol { name, offset, indexed, local },
                // The real assembler adds in integer registers of any width, and fails on others.
                Arg::Register(register) if !indexed && self.is_integer(register) => {
                    Arg::Sum(register, offset)
                }
                _ => {
                    let hint = "only a variable or an integer register has an offset";
                    return Err(self.undeclared(name).with_hint(hint));
                }
            },
            Operand::Address(address) => self.address(scope, address)?,
        })
    }

    fn operands(
        &mut self,
        scope: usize,
        operands: &'m [Operand<'s>],
    ) -> Result<Vec<Arg<'s>>, Diagnostic> {
        operands.iter().map(|operand| self.operand(scope, operand)).collect()
    }

    fn address(&mut self, scope: usize, address: &'m Address<'s>) -> Result<Arg<'s>, Diagnostic> {
        let base = match address.base {
            AddressBase::Absolute => Base::Absolute,
            AddressBase::Name(name) => match self.name(scope, name)? {
                Arg::Register(register) => Base::Register(register),
                Arg::Symbol { name, local, .. } => Base::Symbol { name, local },
                _ => return Err(self.undeclared(name)),
            },
        };
        let rest = self.operands(scope, &address.rest)?;
        Ok(Arg::Memory { base, offset: address.offset, rest })
    }

    /// Gives each jump the indices of its labels.
    fn link(&mut self) -> Result<(), Diagnostic> {
        let mut total = 0;
        for (at, scope, name) in std::mem::take(&mut self.jumps) {
            let labels = match self.find(scope, |s| s.target_lists.get(name.text).cloned()) {
                Some(list) => list,
                None => vec![name.text.to_owned()],
            };
            total += labels.len();
            if total > MAX_TARGETS {
                return Err(self
                    .source
                    .diagnostic(name.span, format!("more than {MAX_TARGETS} ways of branches"))
                    .with_hint("each `brx.idx` counts all labels of its list"));
            }
            for label in labels {
                let Some(Declared { meaning: target, .. }) =
                    self.find(scope, |s| s.labels.get(&*label).copied())
                else {
                    return Err(missing_label(self.source, name.span, &label));
                };
                self.flat.insts[at].targets.push(target);
            }
        }
        for inst in &self.flat.insts {
            if inst.ast.form.opcode == Opcode::Unknown
                && let Some(label) = inst.args.iter().find_map(|arg| self.label(inst.scope, arg))
            {
                let opcode = inst.ast.opcode;
                let message = format!("`{}` is not known, and may jump to `{label}`", opcode.text);
                return Err(self
                    .source
                    .diagnostic(opcode.span, message)
                    .with_hint("update ptxasw; a build leaves the function as it is"));
            }
            if inst.ast.form.opcode == Opcode::Bra && inst.targets.len() != 1 {
                let span = inst.ast.span;
                return Err(self
                    .source
                    .diagnostic(span, "this branch does not name one label")
                    .with_hint("write `bra LABEL;`; `brx.idx` takes a list of labels"));
            }
        }
        Ok(())
    }

    /// The label that an operand names.
    fn label(&self, scope: u32, arg: &Arg<'s>) -> Option<&'s str> {
        let Arg::Symbol { name, .. } = arg else { return None };
        let names = |s: &Scope<'s>| {
            (s.labels.contains_key(name) || s.target_lists.contains_key(name)).then_some(*name)
        };
        self.find(scope as usize, names)
    }

    fn find<T>(&self, scope: usize, what: impl Fn(&Scope<'s>) -> Option<T>) -> Option<T> {
        let mut next = Some(scope);
        while let Some(at) = next {
            if let Some(found) = what(&self.scopes[at]) {
                return Some(found);
            }
            next = self.scopes[at].parent;
        }
        None
    }
}

/// A special register as an operand; vectors have a fourth component, which is 0.
fn special_arg<'s>(name: SpecialName) -> Arg<'s> {
    let zero = Arg::Constant(Value::Unsigned(0));
    match name {
        SpecialName::Scalar(special) => Arg::Special(special),
        SpecialName::Vector(extents) => {
            Arg::Vector(extents.map(Arg::Special).into_iter().chain([zero]).collect())
        }
        SpecialName::Zero => zero,
    }
}

/// The labels that one entry of a list of branch targets stands for; an entry may be a row (`L<4>`).
fn expand(target: &str) -> Vec<String> {
    const MAX_TARGETS: u32 = 1 << 16;
    match Row::of(target).filter(|row| row.count <= MAX_TARGETS) {
        Some(row) => row.names().collect(),
        None => vec![target.to_owned()],
    }
}

/// The operand that is an address although it stands in no brackets: `ld.shared.u32 d, array[2]`.
fn unbracketed(instruction: &Instruction<'_>, args: &[Arg<'_>]) -> Option<usize> {
    let address = match instruction.form.opcode {
        Opcode::Ld | Opcode::Ldu | Opcode::Atom => 1,
        Opcode::St | Opcode::Red => 0,
        _ => return None,
    };
    let bare = |arg: &Arg<'_>| !matches!(arg, Arg::Memory { .. });
    args.get(address).is_some_and(bare).then_some(address)
}

fn missing_label(source: &SourceFile, span: Span, label: &str) -> Diagnostic {
    source
        .diagnostic(span, format!("there is no label `{label}` in this scope"))
        .with_hint("a branch reaches labels of its own scope and of those around it")
}
