//! Whether an assembler accepts a function's text: code that cannot be assembled has no behaviour, so it is not equal
//! to any other.
//!
//! In: a prepared function. Out: the first place that no assembler is known to take. An instruction is taken
//! if a row of `signatures` takes it, if it is a plain load, store or move, or if the original has an
//! instruction of the same shape: the same opcode with operands of the same kinds. The original is
//! assumed to be assembled as it is; only instructions that no PTX version accepts are refused in it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::both::Both;
use super::prepared::Program;
use super::signatures::{holds, is_constant_of, takes};
use crate::cfg::{Arg, Base, Inst};
use crate::isa::{Opcode, Qualifier, ScalarType, StateSpace, Words};
use crate::ptx::{Directive, Item, Module, Operand, Statement, Value, Variable, family};
use crate::source::{SourceFile, Span};

/// The meaning of a name in an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Variable(StateSpace),
    /// A parameter of the function: an input, which nobody may write, or a result.
    Input,
    Output,
    Function,
    /// Variables of different spaces have the name.
    Several,
}

/// A program with the meanings of its names.
struct Text<'p, 'm, 's> {
    program: &'p Program<'m, 's>,
    classes: FxHashMap<&'p str, Class>,
    /// The number of the architecture, 80 for `sm_80`; 0 if it is not known.
    architecture: u32,
    version: (u32, u32),
}

/// Why no assembler takes the text of one of two programs.
pub(crate) enum Refused {
    /// Every assembler refuses it.
    Impossible(String),
    /// No assembler is known to take it.
    NotKnown(String),
}

/// The first place of the two programs that no assembler takes, in words with its line.
pub(crate) fn refused(
    programs: Both<&Program<'_, '_>>,
    modules: Both<&Module<'_>>,
) -> Option<Refused> {
    let Both { original, rewritten } = programs;
    let old = Text::new(original, modules.original);
    let new = Text::new(rewritten, modules.rewritten);
    if let Some(reason) = old.impossible() {
        return Some(Refused::Impossible(format!("the original: {reason}")));
    }
    if let Some(reason) = new.impossible() {
        return Some(Refused::Impossible(reason));
    }
    let mut shapes: Option<FxHashSet<String>> = None;
    for inst in &rewritten.flow.insts {
        if new.is_known(inst) {
            continue;
        }
        let shapes = shapes
            .get_or_insert_with(|| original.flow.insts.iter().map(|one| old.shape(one)).collect());
        if !shapes.contains(&new.shape(inst)) {
            let what = "no assembler is known to take this instruction";
            return Some(Refused::NotKnown(new.says(inst, what)));
        }
    }
    None
}

impl<'p, 'm, 's> Text<'p, 'm, 's> {
    fn new(program: &'p Program<'m, 's>, module: &'p Module<'_>) -> Self {
        let mut classes: FxHashMap<&'p str, Class> = FxHashMap::default();
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    classes.insert(function.name.text, Class::Function);
                }
                Item::Variable(variable) => {
                    for declared in &variable.names {
                        classes.insert(declared.name.text, Class::Variable(variable.space));
                    }
                }
                Item::Directive(_) => {}
            }
        }
        for [alias, _] in &module.aliases {
            classes.insert(alias.text, Class::Function);
        }
        let function = program.function;
        for (variables, class) in
            [(&function.returns, Class::Output), (&function.params, Class::Input)]
        {
            for declared in variables.iter().flat_map(|variable| &variable.names) {
                classes.insert(declared.name.text, class);
            }
        }
        let mut own: FxHashMap<&'p str, Class> = FxHashMap::default();
        variables(function.statements().unwrap_or_default(), &mut own);
        classes.extend(own);
        let architecture = module.target.iter().find_map(|word| {
            let digits = word.strip_prefix("sm_")?;
            digits.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok()
        });
        Text {
            program,
            classes,
            architecture: architecture.unwrap_or(0),
            version: module.version.unwrap_or((0, 0)),
        }
    }

    fn says(&self, inst: &Inst<'m, 's>, what: &str) -> String {
        let line = self.program.source.line(inst.ast.span.start);
        let text = self.program.text(inst);
        format!("line {line}: {what}: `{text}`")
    }

    /// A mistake that every assembler refuses.
    fn impossible(&self) -> Option<String> {
        let function = self.program.function;
        let mut names = Names::default();
        let heads = function.returns.iter().chain(&function.params);
        for variable in heads {
            if let Err(reason) = names.variable(variable, self.program.source) {
                return Some(reason);
            }
        }
        let statements = function.statements().unwrap_or_default();
        if let Err(reason) = declared(statements, names, self.program.source) {
            return Some(reason);
        }
        for inst in &self.program.flow.insts {
            if let Some((guard, _)) = inst.guard
                && self.program.flow.registers[guard].ty != ScalarType::Pred
            {
                return Some(self.says(inst, "the guard is not a predicate"));
            }
            let value = match inst.ast.form.opcode {
                Opcode::Ld | Opcode::Ldu => 0,
                Opcode::St => 1,
                _ => continue,
            };
            let elements = usize::from(inst.ast.form.elements().unwrap_or(1));
            let found = match inst.args.get(value) {
                Some(Arg::Vector(elements)) => elements.len(),
                Some(Arg::Memory { .. }) | None => 0,
                Some(_) if elements == 1 => 1,
                Some(_) => {
                    let what = format!("a vector of {elements} elements is expected");
                    return Some(self.says(inst, &what));
                }
            };
            if found != elements {
                let what = format!("a vector of {elements} elements is expected, not of {found}");
                return Some(self.says(inst, &what));
            }
        }
        None
    }

    /// Whether assemblers are known to take an instruction.
    fn is_known(&self, inst: &Inst<'m, 's>) -> bool {
        let form = &inst.ast.form;
        if !self.names_fit(inst) {
            return false;
        }
        match form.opcode {
            Opcode::Ld | Opcode::St => self.is_access(inst),
            Opcode::Mov if inst.args.iter().any(|arg| matches!(arg, Arg::Vector(_))) => {
                self.is_packing(inst)
            }
            _ => {
                let registers = &self.program.flow.registers;
                takes(inst.ast.opcode.text, &inst.args, inst.targets.len(), registers)
            }
        }
    }

    /// Whether an instruction may use each name in it.
    fn names_fit(&self, inst: &Inst<'m, 's>) -> bool {
        let space = inst.ast.form.space();
        inst.args.iter().all(|arg| match arg {
            Arg::Symbol { name, .. } => match (self.classes.get(name), inst.ast.form.opcode) {
                (None | Some(Class::Several), _) => false,
                (Some(class), Opcode::Cvta) => *class == Class::Variable(space),
                (Some(_), _) => true,
            },
            Arg::Memory { base: Base::Symbol { name, .. }, .. } => {
                let store = inst.ast.form.opcode != Opcode::Ld;
                match self.classes.get(name) {
                    Some(Class::Input) => space == StateSpace::Param && !store,
                    Some(Class::Output) => space == StateSpace::Param && store,
                    Some(Class::Variable(own)) => {
                        let generic = *own != StateSpace::Param && space == StateSpace::Generic;
                        *own == space || generic
                    }
                    Some(Class::Function | Class::Several) | None => false,
                }
            }
            Arg::Memory { base: Base::Register(register), .. } => {
                let ty = self.program.flow.registers[*register].ty;
                let near = matches!(
                    space,
                    StateSpace::Shared | StateSpace::Local | StateSpace::Const | StateSpace::Param
                );
                !ty.is_float() && (ty.bits() == 64 || (near && ty.bits() == 32))
            }
            Arg::Memory { base: Base::Absolute, .. } => false,
            _ => true,
        })
    }

    /// Whether an instruction is a load or store as every version of PTX has it, or one of 256 bits where the
    /// target has these (PTX ISA, "ld", "st").
    fn is_access(&self, inst: &Inst<'m, 's>) -> bool {
        use Qualifier as Q;
        let form = &inst.ast.form;
        let loads = form.opcode == Opcode::Ld;
        let (value, address) = if loads { (0, 1) } else { (1, 0) };
        let space = form.space();
        let words: Vec<&str> = Words::of(inst.ast.opcode.text).skip(1).collect();
        let types = form.types();
        let near = words.iter().filter(|word| StateSpace::of(word).is_some()).count();
        let caches: &[Q] = match loads {
            true => &[Q::Ca, Q::Cg, Q::Cs, Q::Lu],
            false => &[Q::Wb, Q::Cg, Q::Cs, Q::Wt],
        };
        let priorities = [
            Q::L1EvictNormal,
            Q::L1EvictUnchanged,
            Q::L1EvictFirst,
            Q::L1EvictLast,
            Q::L1NoAllocate,
        ];
        let ahead = [Q::L2Bytes64, Q::L2Bytes128, Q::L2Bytes256];
        let far = matches!(space, StateSpace::Global | StateSpace::Generic);
        let count = |of: &[Q]| form.qualifiers().filter(|one| of.contains(one)).count();
        let policy = count(caches) + count(&priorities) + count(&[Q::Volatile, Q::Weak]);
        let known = types.len()
            + near
            + policy
            + count(&ahead)
            + count(&[Q::Nc])
            + count(&[Q::V2, Q::V4, Q::V8]);
        let [ty] = types[..] else { return false };
        if known != words.len()
            || near > 1
            || policy > 1
            || count(&ahead) > 1
            || count(&[Q::Nc]) > 1
            || count(&[Q::V2, Q::V4, Q::V8]) > 1
            || (form.has(Q::Nc)
                && (!loads
                    || space != StateSpace::Global
                    || count(&[Q::Volatile, Q::Weak, Q::Lu]) > 0))
            || (count(&priorities) + count(&ahead) > 0 && !far)
            || (count(&ahead) > 0 && !loads)
            || (space == StateSpace::Const && !loads)
            || words.iter().any(|word| word.contains("::func") || word.contains("::cluster"))
        {
            return false;
        }
        if ty.is_float() && !matches!(ty, ScalarType::F32 | ScalarType::F64)
            || matches!(ty, ScalarType::Pred | ScalarType::B128)
        {
            return false;
        }
        let elements = form.elements().unwrap_or(1);
        let bits = u32::from(elements) * ty.bits();
        let wide = self.architecture >= 100 && self.version >= (8, 8) && far;
        if bits > 256 || (bits == 256 && !wide) || (elements == 8 && bits < 256) {
            return false;
        }
        let [_, _] = &inst.args[..] else { return false };
        let plain = matches!(&inst.args[address], Arg::Memory { rest, .. } if rest.is_empty());
        plain
            && match (&inst.args[value], elements) {
                (Arg::Vector(parts), 2..) => {
                    parts.len() == usize::from(elements) && self.alike(parts, ty, loads, true)
                }
                (Arg::Vector(_), _) => false,
                (arg, 1) => self.fits(arg, ty, loads, true),
                _ => false,
            }
    }

    /// Whether a move packs registers into a wider one or takes one apart (PTX ISA, "mov").
    fn is_packing(&self, inst: &Inst<'m, 's>) -> bool {
        let words: Vec<&str> = Words::of(inst.ast.opcode.text).skip(1).collect();
        let ty = match words[..] {
            ["b32"] => ScalarType::B32,
            ["b64"] => ScalarType::B64,
            _ => return false,
        };
        let part = |count: usize| match (ty.bits() as usize).checked_div(count) {
            Some(32) => Some(ScalarType::B32),
            Some(16) => Some(ScalarType::B16),
            _ => None,
        };
        match &inst.args[..] {
            [Arg::Vector(parts), other] if matches!(parts.len(), 2 | 4) => {
                let whole = matches!(other, Arg::Register(_)) && self.fits(other, ty, false, false);
                whole && part(parts.len()).is_some_and(|ty| self.alike(parts, ty, true, false))
            }
            [other, Arg::Vector(parts)] if matches!(parts.len(), 2 | 4) => {
                let whole = self.fits(other, ty, true, false);
                whole && part(parts.len()).is_some_and(|ty| self.alike(parts, ty, false, false))
            }
            _ => false,
        }
    }

    /// Whether elements are of a type, and the registers among them of one width.
    fn alike(&self, parts: &[Arg<'_>], ty: ScalarType, written: bool, wider: bool) -> bool {
        let mut widths = parts.iter().filter_map(|part| match part {
            Arg::Register(register) => Some(self.program.flow.registers[*register].ty.bits()),
            _ => None,
        });
        let Some(first) = widths.next() else {
            return !written && parts.iter().all(|part| self.fits(part, ty, written, wider));
        };
        // Beside a constant, ptxas takes the other registers for integers.
        let constant = !wider && parts.iter().any(|part| matches!(part, Arg::Constant(_)));
        let floats = parts.iter().any(|part| match part {
            Arg::Register(register) => self.program.flow.registers[*register].ty.is_float(),
            _ => false,
        });
        widths.all(|bits| bits == first)
            && !(constant && floats)
            && parts.iter().all(|part| match part {
                Arg::Sink => written,
                part => self.fits(part, ty, written, wider),
            })
    }

    fn fits(&self, arg: &Arg<'_>, ty: ScalarType, written: bool, wider: bool) -> bool {
        match arg {
            Arg::Register(register) => holds(self.program.flow.registers[*register].ty, ty, wider),
            Arg::Constant(value) => !written && is_constant_of(*value, ty),
            _ => false,
        }
    }

    /// The shape of an instruction: each register is replaced by its type, and each name by the kind of thing that it
    /// denotes.
    fn shape(&self, inst: &Inst<'m, 's>) -> String {
        let mut shape: String =
            Words::of(inst.ast.opcode.text).flat_map(|word| [word, "."]).collect();
        for (arg, operand) in inst.args.iter().zip(&inst.ast.operands) {
            self.kind(arg, Some(operand), &mut shape);
            shape.push(',');
        }
        if inst.ast.form.opcode == Opcode::Bra {
            shape += &inst.targets.len().to_string();
        }
        shape
    }

    fn kind(&self, arg: &Arg<'_>, operand: Option<&Operand<'_>>, shape: &mut String) {
        let ty = |register: &crate::cfg::RegisterId| {
            self.program.flow.registers[*register].ty.to_string()
        };
        let name = |name: &str| match self.classes.get(name) {
            Some(class) => format!("{class:?}"),
            // A label, or nothing: two programs may have it only by the same name.
            None => name.to_owned(),
        };
        match arg {
            Arg::Register(register) => *shape += &ty(register),
            Arg::Not(register) => *shape += &format!("!{}", ty(register)),
            Arg::Sum(register, _) => *shape += &format!("{}+", ty(register)),
            Arg::Modified(register) => {
                let (sign, selector) = match operand {
                    Some(Operand::Negated(name)) => ("-", name.text),
                    Some(Operand::Name(name)) => ("", name.text),
                    _ => ("?", ""),
                };
                let selector = selector.rsplit_once('.').map_or("", |(_, part)| part);
                *shape += &format!("{sign}{}.{selector}", ty(register));
            }
            Arg::Special(special) => *shape += &special.to_string(),
            Arg::Constant(value) => match value {
                // Some constants have a range.
                Value::Signed(value) => *shape += &value.to_string(),
                Value::Unsigned(value) => *shape += &value.to_string(),
                Value::F32(_) => *shape += "0f",
                Value::F64(_) => *shape += "0d",
            },
            Arg::Symbol { name: text, indexed, .. } => {
                *shape += &format!("{}{indexed}", name(text));
            }
            Arg::Sink => shape.push('_'),
            Arg::Vector(parts) => {
                *shape += if matches!(operand, Some(Operand::List(..))) { "(" } else { "{" };
                for part in parts {
                    self.kind(part, None, shape);
                    shape.push(' ');
                }
                shape.push('}');
            }
            Arg::Pair(pair) => {
                self.kind(&pair[0], None, shape);
                shape.push('|');
                self.kind(&pair[1], None, shape);
            }
            Arg::Memory { base, rest, .. } => {
                shape.push('[');
                match base {
                    Base::Register(register) => *shape += &ty(register),
                    Base::Symbol { name: text, .. } => *shape += &name(text),
                    Base::Absolute => *shape += "absolute",
                }
                for part in rest {
                    shape.push(' ');
                    self.kind(part, None, shape);
                }
                shape.push(']');
            }
        }
    }
}

/// The variables of a body besides registers.
fn variables<'p>(statements: &'p [Statement<'_>], classes: &mut FxHashMap<&'p str, Class>) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => variables(statements, classes),
            Statement::Variable(variable) if variable.space != StateSpace::Reg => {
                for declared in &variable.names {
                    let class = Class::Variable(variable.space);
                    classes
                        .entry(declared.name.text)
                        .and_modify(|known| {
                            if *known != class {
                                *known = Class::Several;
                            }
                        })
                        .or_insert(class);
                }
            }
            _ => {}
        }
    }
}

/// The names that a scope declares.
#[derive(Default)]
struct Names<'s> {
    variables: FxHashSet<&'s str>,
    /// `%r<100>`: prefix to count.
    rows: FxHashMap<&'s str, u32>,
    labels: FxHashSet<&'s str>,
}

impl<'s> Names<'s> {
    fn variable(&mut self, variable: &Variable<'s>, source: &SourceFile) -> Result<(), String> {
        let line = |span: Span| source.line(span.start);
        if variable.space == StateSpace::Reg {
            use ScalarType::*;
            let may = !matches!(
                variable.ty,
                None | Some(Bf16 | Bf16x2 | F32x2 | U16x2 | S16x2 | Tf32 | E4m3 | E5m2)
            );
            if !may || !matches!(variable.vector, 1 | 2 | 4) {
                let text = source.slice(variable.span);
                let line = line(variable.span);
                return Err(format!("line {line}: no register is of this type: `{text}`"));
            }
        }
        for declared in &variable.names {
            let name = declared.name.text;
            let twice = match declared.count {
                Some(count) => {
                    let single = self.variables.iter().any(|one| member(one, name, count));
                    single || self.rows.insert(name, count).is_some()
                }
                None => {
                    let in_row = self.rows.iter().any(|(row, count)| member(name, row, *count));
                    in_row || !self.variables.insert(name) || self.labels.contains(name)
                }
            };
            if twice {
                let line = line(declared.name.span);
                return Err(format!("line {line}: `{name}` is declared twice in its scope"));
            }
        }
        Ok(())
    }

    fn label(&mut self, name: &'s str, span: Span, source: &SourceFile) -> Result<(), String> {
        if self.labels.insert(name) && !self.variables.contains(name) {
            return Ok(());
        }
        Err(format!("line {}: `{name}` is declared twice in its scope", source.line(span.start)))
    }
}

/// Whether a name is one of a row's.
fn member(name: &str, row: &str, count: u32) -> bool {
    family::memberships(name).any(|(prefix, number)| prefix == row && number < count)
}

/// Checks that each scope declares each name once, and registers only of types that these may have.
fn declared<'s>(
    statements: &[Statement<'s>],
    mut names: Names<'s>,
    source: &SourceFile,
) -> Result<(), String> {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => declared(statements, Names::default(), source)?,
            Statement::Variable(variable) => names.variable(variable, source)?,
            Statement::Label(name) => names.label(name.text, name.span, source)?,
            Statement::Directive(
                Directive::Targets { label, .. } | Directive::Prototype { label, .. },
            ) => names.label(label.text, label.span, source)?,
            Statement::Directive(_) | Statement::Instruction(_) => {}
        }
    }
    Ok(())
}
