//! By how many bytes the arrays of a function may grow, and the restrictions on that.
//!
//! In: the syntax tree of a module. Out: for each function the shared variables that it and the functions it calls
//! reach, the bytes that are left of the static shared memory of a block, and the [`Restriction`] that forbids growth,
//! if there is one. A callee that cannot be followed, with a body elsewhere or called through a register, is a
//! restriction.

use rustc_hash::{FxHashMap, FxHashSet};

use super::sharers::Sharers;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::resolved::Resolved;
use crate::ptx::{
    AddressBase, Body, Function, FunctionKind, Instruction, Item, Module, Operand, StateSpace,
    Statement, Variable,
};
use crate::reuse::restriction::{MOST_STATIC, Restriction};
use crate::reuse::sharing::Sharing;
use crate::source::{SourceFile, Span};

/// By how much the arrays of a function may grow together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    /// The bytes that are left of the static shared memory of a block.
    pub left: u64,
    /// Why the arrays may not take them.
    pub restriction: Option<Restriction>,
}

/// The shared variables of a module, and which functions use them.
#[derive(Debug)]
pub struct Surroundings<'a, 's> {
    source: &'a SourceFile,
    functions: FxHashMap<&'s str, &'a Function<'s>>,
    variables: FxHashMap<&'s str, &'a Variable<'s>>,
    /// Who may access the variables.
    sharers: Sharers<'s>,
    /// Whether `%dynamic_smem_size` is there (PTX ISA 4.1).
    has_dynamic_size: bool,
    /// The threads of a block along x, y and z, where a function does not name them.
    pub(super) block: Option<[u64; 3]>,
}

impl<'a, 's> Surroundings<'a, 's> {
    /// Looks at a module; where [`Surroundings::need_bodies`], all its bodies should have been parsed.
    pub fn new(source: &'a SourceFile, module: &'a Module<'s>) -> Surroundings<'a, 's> {
        let mut functions: FxHashMap<&'s str, &'a Function<'s>> = FxHashMap::default();
        for function in module.functions() {
            let known = functions.entry(function.name.text).or_insert(function);
            if matches!(known.body, Body::Absent) {
                *known = function;
            }
        }
        for [alias, name] in &module.aliases {
            if let Some(&function) = functions.get(name.text) {
                functions.insert(alias.text, function);
            }
        }
        let shared = module.items.iter().filter_map(|item| match item {
            Item::Variable(variable) if variable.space == StateSpace::Shared => Some(variable),
            _ => None,
        });
        let named = |one: &'a Variable<'s>| one.names.iter().map(move |name| (name.name.text, one));
        let variables = shared.flat_map(named).collect();
        let has_dynamic_size = module.version.is_some_and(|version| version >= (4, 1));
        let sharers = Sharers::default();
        let mut around =
            Surroundings { source, functions, variables, sharers, has_dynamic_size, block: None };
        around.sharers = Sharers::new(source, module, |function| {
            let mut reach = Reach::default();
            around.visit(function, &mut reach);
            reach.variables.into_iter().map(|(name, _)| name).collect()
        });
        around
    }

    /// The same module, launched in blocks of this shape where `.reqntid` names none. It decides which layout of an array is
    /// chosen, and never whether one is right.
    pub fn in_blocks(self, block: Option<[u64; 3]>) -> Self {
        Surroundings { block, ..self }
    }

    /// Whether a function that declares or names arrays in shared memory calls one whose body was not parsed, or such a
    /// body may name an array of the module, too.
    pub fn need_bodies(&self) -> bool {
        if self.sharers.need_bodies() {
            return true;
        }
        let declaring = self.functions.values().filter(|function| {
            let statements = function.statements().unwrap_or_default();
            let mut reach = Reach::default();
            self.visit(function, &mut reach);
            statements.iter().any(|one| own_array(one).is_some()) || !reach.variables.is_empty()
        });
        let callees = declaring.flat_map(|function| self.reach(function).functions);
        let bodies = callees.filter_map(|name| self.functions.get(name));
        bodies.into_iter().any(|function| matches!(function.body, Body::Unparsed { .. }))
    }

    /// The variables at module level in shared memory that a function names itself, in the order of the file.
    pub(super) fn named(&self, function: &str) -> Vec<&'a Variable<'s>> {
        let mut reach = Reach::default();
        self.functions.get(function).iter().for_each(|function| self.visit(function, &mut reach));
        let mut named: Vec<&'a Variable<'s>> = reach
            .variables
            .iter()
            .filter_map(|(name, _)| self.variables.get(name))
            .copied()
            .collect();
        named.sort_by_key(|variable| variable.span.start);
        named.dedup_by_key(|variable| variable.span.start);
        named
    }

    /// Who else than the kernel may access a variable of the module.
    pub(super) fn sharing(&self, variable: &Variable<'_>, kernel: &str) -> Option<Sharing> {
        self.sharers.of(self.source, variable, kernel)
    }

    /// Whether the shared memory of a kernel is one `.extern .shared` array, so far as its text and that of the functions
    /// that it calls show, and the kernel alone names it.
    pub(super) fn is_all_dynamic(&self, kernel: &str) -> bool {
        let Some(function) = self.functions.get(kernel) else { return false };
        let reach = self.reach(function);
        let Some(&(name, _)) = reach.variables.first() else { return false };
        let is_only = reach.variables.iter().all(|&used| used == (name, kernel));
        let is_dynamic = self.variables.get(name).is_some_and(|variable| {
            variable.linkage.contains(&".extern")
                && variable.names.len() == 1
                && size(variable).is_none()
        });
        let own_arrays = |name: &&str| {
            let body = self.functions.get(name).and_then(|one| one.statements());
            arrays_inside(body.unwrap_or_default()) != Some(0)
        };
        self.has_dynamic_size
            && function.kind == FunctionKind::Entry
            && is_only
            && is_dynamic
            && reach.unknown.is_empty()
            && !reach.functions.iter().any(own_arrays)
    }

    /// By how much the arrays of a function may grow, which take `own` bytes.
    pub(super) fn growth(&self, function: &str, own: u64) -> Growth {
        let function = self.functions.get(function);
        let reach = function.map_or_else(Reach::default, |function| self.reach(function));
        let (name_of, kind) =
            function.map_or(("", FunctionKind::Func), |one| (one.name.text, one.kind));
        let line = |span: Span| self.source.line(span.start);
        let variables = reach.variables.iter().filter_map(|&(name, by)| {
            self.variables.get(name).map(|variable| (name, by, *variable))
        });
        let (mut restriction, mut taken, mut seen) = (None, own, FxHashSet::default());
        for (name, by, variable) in variables {
            let (bytes, external) = (size(variable), variable.linkage.contains(&".extern"));
            match bytes.filter(|_| !external) {
                Some(bytes) if seen.insert(name) => taken = taken.saturating_add(bytes),
                Some(_) => {}
                None => {
                    let by = (by != name_of).then(|| by.to_owned());
                    let (name, line) = (name.to_owned(), line(variable.span));
                    restriction.get_or_insert(Restriction::External { name, line, by });
                }
            }
        }
        // Arrays of functions that are called have places in the same block.
        for callee in reach.functions.iter().filter(|&&name| name != name_of) {
            let body = self.functions.get(callee).and_then(|callee| callee.statements());
            match arrays_inside(body.unwrap_or_default()) {
                Some(bytes) => taken = taken.saturating_add(bytes),
                None => _ = restriction.get_or_insert(Restriction::Variables),
            }
        }
        if kind == FunctionKind::Func {
            restriction.get_or_insert(Restriction::Called);
        }
        let first = reach
            .sizes
            .first()
            .map(|(name, span)| Restriction::Size((*name).to_owned(), line(*span)));
        let restriction =
            restriction.or(first).or(reach.unknown.first().map(|(name, span)| match name {
                Some(name) => Restriction::Elsewhere((*name).to_owned(), line(*span)),
                None => Restriction::Indirect(line(*span)),
            }));
        Growth { left: MOST_STATIC.saturating_sub(taken), restriction }
    }

    /// The line at which a function that a kernel may call addresses shared memory by a register or a number: which array
    /// that is, the kernel does not show.
    pub(super) fn addressed_in_callee(&self, kernel: &str) -> Option<u32> {
        let function = self.functions.get(kernel)?;
        let addressed = self.reach(function).addressed;
        let found = addressed.into_iter().find(|(name, _)| *name != kernel);
        found.map(|(_, span)| self.source.line(span.start))
    }

    /// The variables that a function and its callees use.
    fn reach(&self, function: &Function<'s>) -> Reach<'s> {
        let mut reach = Reach::default();
        reach.functions.push(function.name.text);
        self.visit(function, &mut reach);
        let mut next = 1;
        while let Some(&name) = reach.functions.get(next) {
            if let Some(callee) = self.functions.get(name) {
                self.visit(callee, &mut reach);
            }
            next += 1;
        }
        reach
    }

    /// Adds the variables that a function uses by itself.
    fn visit(&self, function: &Function<'s>, reach: &mut Reach<'s>) {
        let statements = function.statements().unwrap_or_default();
        let registers = Resolved::of(function).registers().map(|span| span.start).collect();
        let (function_name, local) = (function.name.text, Vec::new());
        let mut walk = Walk { around: self, function: function_name, local, registers, reach };
        walk.local.extend(function.params.iter().chain(&function.returns).flat_map(names));
        walk.statements(statements);
    }
}

/// The variables that a function and its callees use.
#[derive(Debug, Default)]
struct Reach<'s> {
    /// Functions whose bodies are in the file, each once.
    functions: Vec<&'s str>,
    /// Shared variables at module level, each with the function that names it.
    variables: Vec<(&'s str, &'s str)>,
    /// Special registers with the size of shared memory that are read.
    sizes: Vec<(&'s str, Span)>,
    /// Calls of functions whose bodies are not known, with the name if there is one.
    unknown: Vec<(Option<&'s str>, Span)>,
    /// For each function the first instruction that addresses shared memory by a register or a number.
    addressed: Vec<(&'s str, Span)>,
}

/// Goes through the statements of a function.
struct Walk<'w, 'a, 's> {
    around: &'w Surroundings<'a, 's>,
    function: &'s str,
    /// Names that are declared in the scopes around.
    local: Vec<&'s str>,
    /// The bytes at which registers are named.
    registers: FxHashSet<u32>,
    reach: &'w mut Reach<'s>,
}

impl<'s> Walk<'_, '_, 's> {
    fn statements(&mut self, statements: &[Statement<'s>]) {
        let outer = self.local.len();
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => self.statements(statements),
                Statement::Variable(variable) => self.local.extend(names(variable)),
                Statement::Instruction(instruction) => self.instruction(instruction),
                Statement::Label(_) | Statement::Directive(_) => {}
            }
        }
        self.local.truncate(outer);
    }

    fn instruction(&mut self, instruction: &Instruction<'s>) {
        if instruction.form.opcode == Opcode::Call {
            // The results, if there are any, stand in parentheses.
            let callee = instruction.operands.iter().find_map(|operand| match operand {
                Operand::Name(name) => Some(name.text),
                _ => None,
            });
            let callee = callee.filter(|name| !self.local.contains(name) && !name.starts_with('%'));
            let defined = callee.and_then(|name| self.around.functions.get(name));
            // Another file may replace a weak function.
            let is_here = |function: &&&Function<'s>| {
                !matches!(function.body, Body::Absent) && !function.linkage.contains(&".weak")
            };
            match defined.filter(is_here) {
                Some(function) if !self.reach.functions.contains(&function.name.text) => {
                    self.reach.functions.push(function.name.text);
                }
                Some(_) => {}
                None => self.reach.unknown.push((callee, instruction.span)),
            }
        }
        let form = &instruction.form;
        let by_number = match form.opcode {
            Opcode::Mapa => true,
            Opcode::Cvta if !form.has(Qualifier::To) => true,
            _ => instruction.operands.iter().any(|operand| match operand {
                Operand::Address(address) => match address.base {
                    AddressBase::Name(name) => self.registers.contains(&name.span.start),
                    AddressBase::Absolute => true,
                },
                _ => false,
            }),
        };
        let is_known = self.reach.addressed.last().is_some_and(|(name, _)| *name == self.function);
        if form.space() == StateSpace::Shared && by_number && !is_known {
            self.reach.addressed.push((self.function, instruction.span));
        }
        instruction.names().iter().for_each(|name| self.name(name.text, instruction.span));
    }

    fn name(&mut self, name: &'s str, span: Span) {
        if matches!(name, "%total_smem_size" | "%aggr_smem_size") {
            self.reach.sizes.push((name, span));
        } else if self.around.variables.contains_key(name) && !self.local.contains(&name) {
            self.reach.variables.push((name, self.function));
        }
    }
}

/// The names that a declaration declares.
fn names<'v, 's>(variable: &'v Variable<'s>) -> impl Iterator<Item = &'s str> + use<'v, 's> {
    variable.names.iter().map(|one| one.name.text)
}

/// The declaration of a variable in shared memory.
pub(super) fn own_array<'a, 's>(statement: &'a Statement<'s>) -> Option<&'a Variable<'s>> {
    match statement {
        Statement::Variable(variable) if variable.space == StateSpace::Shared => Some(variable),
        _ => None,
    }
}

/// The bytes of all variables that statements declare in shared memory; none if they are not known.
fn arrays_inside(statements: &[Statement<'_>]) -> Option<u64> {
    statements.iter().try_fold(0_u64, |sum, statement| {
        let bytes = match (statement, own_array(statement)) {
            (_, Some(variable)) => size(variable)?,
            (Statement::Block { statements, .. }, _) => arrays_inside(statements)?,
            _ => 0,
        };
        sum.checked_add(bytes)
    })
}

/// The bytes that a declaration takes at most; none if they are not known.
fn size(variable: &Variable<'_>) -> Option<u64> {
    let element = u64::from(variable.ty?.bits()).div_ceil(8) * u64::from(variable.vector.max(1));
    let align = variable.align.unwrap_or(element).max(1);
    variable.names.iter().try_fold(0_u64, |sum, one| {
        let copies = u64::from(one.count.unwrap_or(1));
        let of = |bytes: u64, dimension: &Option<u64>| bytes.checked_mul((*dimension)?);
        let bytes = one.dimensions.iter().try_fold(element, of)?;
        // The hole in front of an aligned variable may be as large as its alignment.
        sum.checked_add(bytes.checked_mul(copies)?.checked_add(align - 1)?)
    })
}
