//! The syntax tree of a PTX module: everything that the grammar found, each with its place.
//!
//! Names borrow from the source text. The tree is for analysis only: the program is never printed from
//! it (edits go into the original text), so comments and blanks are not kept. An instruction that the
//! analysis does not know has the same shape as any other: an opcode and operands.

use smallvec::SmallVec;

use crate::isa::{Form, ScalarType, StateSpace};
use crate::source::Span;

/// A whole translation unit (PTX ISA, "PTX Module Directives").
#[derive(Debug, Default)]
pub struct Module<'s> {
    /// `.version major.minor`.
    pub version: Option<(u32, u32)>,
    /// The words of `.target`: `sm_80`, `debug`, `map_f64_to_f32`, ...
    pub target: SmallVec<[&'s str; 2]>,
    /// `.address_size`, 32 or 64 bits; 32 where the module does not say.
    pub address_size: Option<u32>,
    /// The functions that `.alias` gives a second name: the new name, then the old one. The directives
    /// themselves are among the items, too.
    pub aliases: Vec<[Name<'s>; 2]>,
    /// All functions, variables and other directives, in source order.
    pub items: Vec<Item<'s>>,
}

impl<'s> Module<'s> {
    /// The functions and kernels, declarations included.
    pub fn functions(&self) -> impl Iterator<Item = &Function<'s>> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            _ => None,
        })
    }
}

/// A function, variable or directive at module level.
#[derive(Debug)]
pub enum Item<'s> {
    /// `.entry` or `.func`, with or without a body.
    Function(Function<'s>),
    /// A variable in `.global`, `.const`, `.shared` or `.tex`, or an `.extern` one.
    Variable(Variable<'s>),
    /// Any other directive.
    Directive(Directive<'s>),
}

impl Item<'_> {
    /// Where all of it stands.
    pub fn span(&self) -> Span {
        match self {
            Item::Function(function) => function.span,
            Item::Variable(variable) => variable.span,
            Item::Directive(directive) => directive.span(),
        }
    }
}

/// `.entry` (a kernel) or `.func` (a device function).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionKind {
    /// Launched from the host.
    Entry,
    /// Called from the device.
    Func,
}

/// A kernel or a device function.
#[derive(Debug)]
pub struct Function<'s> {
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// Its name.
    pub name: Name<'s>,
    /// From the first linkage directive to the closing brace or semicolon.
    pub span: Span,
    /// `.visible`, `.extern`, `.weak`, `.common` and `.attribute` texts.
    pub linkage: SmallVec<[&'s str; 1]>,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable<'s>>,
    /// Parameters.
    pub params: Vec<Variable<'s>>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.pragma`, `.noreturn`, ...
    pub directives: Vec<Directive<'s>>,
    /// The body.
    pub body: Body<'s>,
}

impl<'s> Function<'s> {
    /// The operands of a performance directive such as `.reqntid` along x, y and z, if the function has it: 1 where there
    /// are fewer (PTX ISA, "Performance-Tuning Directives").
    pub fn extents(&self, name: &str) -> Option<[u64; 3]> {
        let found = self.directives.iter().find_map(|directive| match directive {
            Directive::Performance { name: n, values, .. } if *n == name => Some(values),
            _ => None,
        });
        found.map(|values| [0, 1, 2].map(|axis| values.get(axis).copied().unwrap_or(1)))
    }

    /// The most threads that a block of the kernel may have, where `.maxntid` says so. It bounds
    /// their number, so each extent, but not the shape (PTX ISA, ".maxntid").
    pub fn most_threads(&self) -> Option<u64> {
        let extents = self.extents("maxntid")?;
        Some(extents.iter().fold(1, |product, &extent| product.saturating_mul(extent.max(1))))
    }

    /// The statements, where the body was parsed in full.
    pub fn statements(&self) -> Option<&[Statement<'s>]> {
        match &self.body {
            Body::Parsed { statements, .. } => Some(statements),
            _ => None,
        }
    }
}

/// A function's body.
#[derive(Debug)]
pub enum Body<'s> {
    /// A declaration: `;` instead of a body.
    Absent,
    /// A body that the lexical scan has only delimited, since no load in it can be rewritten.
    Unparsed {
        /// From brace to brace, both included.
        span: Span,
        /// How many statements the scan took for loads from global or generic memory.
        global_loads: usize,
    },
    /// A body that was parsed in full.
    Parsed {
        /// From brace to brace, both included.
        span: Span,
        /// The statements between them.
        statements: Vec<Statement<'s>>,
    },
}

/// A statement of a body.
#[derive(Debug)]
pub enum Statement<'s> {
    /// `name:`
    Label(Name<'s>),
    /// An instruction with its semicolon.
    Instruction(Instruction<'s>),
    /// `.reg`, `.local`, `.shared`, `.param`, ... declarations.
    Variable(Box<Variable<'s>>),
    /// `{ ... }`: a scope of its own for names.
    Block {
        /// From brace to brace, both included.
        span: Span,
        /// The statements between them.
        statements: Vec<Statement<'s>>,
    },
    /// `.loc`, `.pragma`, `.branchtargets`, `.callprototype`, ...
    Directive(Directive<'s>),
}

/// A name and its place. Names of special registers keep their component: `%tid.x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Name<'s> {
    /// The name as written.
    pub text: &'s str,
    /// Where the name stands.
    pub span: Span,
}

/// One instruction (PTX ISA, "Instruction Statements").
#[derive(Debug)]
pub struct Instruction<'s> {
    /// From the guard predicate or opcode to the semicolon, included.
    pub span: Span,
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard<'s>>,
    /// The opcode with all its modifiers as written: `ld.global.nc.f32`.
    pub opcode: Name<'s>,
    /// The opcode with all its modifiers, decoded.
    pub form: Form,
    /// The operands in order, destinations first.
    pub operands: SmallVec<[Operand<'s>; 4]>,
}

impl<'s> Instruction<'s> {
    /// The names in its guard predicate and operands, in order.
    pub fn names(&self) -> SmallVec<[Name<'s>; 8]> {
        fn add<'s>(operand: &Operand<'s>, found: &mut SmallVec<[Name<'s>; 8]>) {
            match operand {
                Operand::Name(name)
                | Operand::Not(name)
                | Operand::Negated(name)
                | Operand::Offset { name, .. } => found.push(*name),
                Operand::Pair(pair) => pair.iter().for_each(|one| add(one, found)),
                Operand::Vector(all, _) | Operand::List(all, _) => {
                    all.iter().for_each(|one| add(one, found));
                }
                Operand::Address(address) => {
                    if let AddressBase::Name(name) = address.base {
                        found.push(name);
                    }
                    address.rest.iter().for_each(|one| add(one, found));
                }
                Operand::Immediate(_) | Operand::Sink(_) => {}
            }
        }
        let mut found: SmallVec<[Name<'s>; 8]> =
            self.guard.iter().map(|guard| guard.register).collect();
        self.operands.iter().for_each(|operand| add(operand, &mut found));
        found
    }
}

/// A guard predicate (PTX ISA, "Predicated Execution").
#[derive(Clone, Copy, Debug)]
pub struct Guard<'s> {
    /// The predicate register.
    pub register: Name<'s>,
    /// Whether it was written with `!`.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug)]
pub enum Operand<'s> {
    /// A register, special register, variable, function or label.
    Name(Name<'s>),
    /// `!%p`.
    Not(Name<'s>),
    /// `-%r1`, which only video instructions take.
    Negated(Name<'s>),
    /// A literal or constant expression.
    Immediate(Immediate),
    /// `_`: the result is not wanted.
    Sink(Span),
    /// `a|b`: two destinations.
    Pair(Box<[Operand<'s>; 2]>),
    /// `{a, b, c, d}`.
    Vector(Vec<Operand<'s>>, Span),
    /// `(a, b)`: the parameters or results of a call.
    List(Vec<Operand<'s>>, Span),
    /// `variable+8`, or an element of an array variable, `variable[2]`.
    Offset {
        /// The variable.
        name: Name<'s>,
        /// The offset: bytes, or with an index elements of the variable's type.
        offset: i64,
        /// Whether it was written as an index.
        indexed: bool,
    },
    /// `[...]`.
    Address(Box<Address<'s>>),
}

impl Operand<'_> {
    /// The operand's place; of an offset or a pair, that of its first name.
    pub fn span(&self) -> Span {
        match self {
            Operand::Name(name)
            | Operand::Not(name)
            | Operand::Negated(name)
            | Operand::Offset { name, .. } => name.span,
            Operand::Immediate(immediate) => immediate.span,
            Operand::Sink(span) | Operand::Vector(_, span) | Operand::List(_, span) => *span,
            Operand::Pair(pair) => pair[0].span(),
            Operand::Address(address) => address.span,
        }
    }
}

/// A memory operand.
#[derive(Clone, Debug)]
pub struct Address<'s> {
    /// From bracket to bracket, both included.
    pub span: Span,
    /// The base of the address.
    pub base: AddressBase<'s>,
    /// Signed bytes added to it.
    pub offset: i64,
    /// Further operands of `[tensor, {x, y}]` and of texture addresses; empty otherwise.
    pub rest: Vec<Operand<'s>>,
}

/// The base of an address.
#[derive(Clone, Copy, Debug)]
pub enum AddressBase<'s> {
    /// A register or a variable.
    Name(Name<'s>),
    /// An absolute address; it stands in [`Address::offset`].
    Absolute,
}

/// A constant operand, evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Immediate {
    /// The operand's place.
    pub span: Span,
    /// The operand's value.
    pub value: Value,
}

/// The value of a constant (PTX ISA, "Constants"): integers are 64 bits wide, floating-point
/// literals are doubles unless written as `0f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A signed 64-bit integer constant.
    Signed(i64),
    /// An unsigned 64-bit integer constant.
    Unsigned(u64),
    /// `0fXXXXXXXX`: the bits of a single-precision number.
    F32(u32),
    /// `0dXXXXXXXXXXXXXXXX` or a decimal literal: the bits of a double.
    F64(u64),
}

impl Value {
    /// The 64 bits of an integer constant; `None` for floating-point ones.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            Value::Signed(value) => Some(value),
            Value::Unsigned(value) => Some(value as i64),
            Value::F32(_) | Value::F64(_) => None,
        }
    }
}

/// A declaration of one or more names of one type (PTX ISA, "Variables").
#[derive(Debug)]
pub struct Variable<'s> {
    /// From the first directive to the semicolon (parameters: without comma).
    pub span: Span,
    /// `.visible`, `.extern`, `.weak`, `.common` and `.attribute` texts.
    pub linkage: SmallVec<[&'s str; 1]>,
    /// The state space.
    pub space: StateSpace,
    /// The sub-space or bank, as written behind the space (`.const[2]`), if any.
    pub bank: Option<u64>,
    /// `.align`, in bytes.
    pub align: Option<u64>,
    /// `.v2`, `.v4`, `.v8`: number of elements; 1 for a scalar.
    pub vector: u8,
    /// The type, `None` for the opaque ones (`.texref`, `.samplerref`, `.surfref`).
    pub ty: Option<ScalarType>,
    /// `.ptr` with its operands, on kernel parameters.
    pub pointer: Option<PointerAttribute>,
    /// The names declared.
    pub names: SmallVec<[Declarator<'s>; 1]>,
}

/// `.ptr .global .align 16` on a kernel parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerAttribute {
    /// The space pointed into; generic where not said.
    pub space: StateSpace,
    /// Alignment in bytes of the memory pointed to, if the attribute names one.
    pub align: Option<u64>,
}

impl Function<'_> {
    /// For each parameter of a kernel that points into global memory, the alignment of the pointer in bytes, if it is
    /// stated and is a power of two (PTX ISA, "Kernel Parameter Attribute: .ptr").
    pub fn aligned_pointers(&self) -> impl Iterator<Item = (&str, u64)> {
        let params = self.params.iter().filter(|_| self.kind == FunctionKind::Entry);
        params.filter_map(|param| {
            let PointerAttribute { space, align } = param.pointer?;
            let points = matches!(space, StateSpace::Global | StateSpace::Generic);
            let align = align.filter(|align| points && align.is_power_of_two())?;
            Some((param.names.first()?.name.text, align))
        })
    }
}

/// One declared name.
#[derive(Debug)]
pub struct Declarator<'s> {
    /// The name, without the `<100>` of a parameterised one.
    pub name: Name<'s>,
    /// `%r<100>` declares `%r0` to `%r99`.
    pub count: Option<u32>,
    /// Array dimensions from the left; `None` is `[]`.
    pub dimensions: SmallVec<[Option<u64>; 1]>,
    /// The initial value.
    pub initializer: Option<Initializer<'s>>,
}

/// An initial value.
#[derive(Clone, Debug)]
pub enum Initializer<'s> {
    /// A constant.
    Value(Immediate),
    /// `{ ... }`.
    List(Vec<Initializer<'s>>),
    /// The address of a variable or function.
    Symbol {
        /// The variable or function whose address it is.
        name: Name<'s>,
        /// Bytes added.
        offset: i64,
        /// Whether it was written as `generic(name)`.
        generic: bool,
        /// The mask, if it was written as `mask(name)`: which bits of the address are taken (e.g.
        /// `0xff00`).
        mask: Option<u64>,
    },
    /// A field of a sampler, texture or surface: `filter_mode = nearest`.
    Property {
        /// The field.
        name: Name<'s>,
        /// Its value as written, a word or a number.
        value: &'s str,
    },
}

/// A directive that declares no variable.
#[derive(Debug)]
pub enum Directive<'s> {
    /// `.loc file line column[, function_name label, inlined_at file line column]`.
    Loc(Location),
    /// `.file index "name"`.
    File {
        /// The index that `.loc` refers to.
        index: u32,
        /// The name without quotes.
        name: &'s str,
        /// Where the whole directive stands.
        span: Span,
    },
    /// A directive with a list of numbers: `.maxntid 512, 1, 1`; the name is without its dot.
    Performance {
        /// The name without its dot.
        name: &'s str,
        /// The numbers of the list.
        values: SmallVec<[u64; 3]>,
        /// Where the whole directive stands.
        span: Span,
    },
    /// `label: .branchtargets a, b;`, `label: .calltargets f, g;`.
    Targets {
        /// The label in front.
        label: Name<'s>,
        /// `branchtargets` or `calltargets`.
        name: &'s str,
        /// The labels or functions; a row of them is kept as written, `L<4>` for `L0` to `L3`.
        targets: Vec<Name<'s>>,
        /// Where the whole directive stands.
        span: Span,
    },
    /// `label: .callprototype (...) _ (...) ...;`.
    Prototype {
        /// The label in front.
        label: Name<'s>,
        /// Return parameters.
        returns: Vec<Variable<'s>>,
        /// Parameters.
        params: Vec<Variable<'s>>,
        /// Where the whole directive stands.
        span: Span,
    },
    /// `.pragma "text", "text";`.
    Pragma {
        /// The strings without quotes.
        strings: SmallVec<[&'s str; 1]>,
        /// Where the whole directive stands.
        span: Span,
    },
    /// Any other directive: `.section`, `@@dwarf`, `.alias`, `.explicitcluster`, ...
    Other {
        /// The first word without its dot.
        name: &'s str,
        /// Where the whole directive stands.
        span: Span,
    },
}

impl Directive<'_> {
    /// Where all of it stands.
    pub fn span(&self) -> Span {
        match self {
            Directive::Loc(location) => location.span,
            Directive::File { span, .. }
            | Directive::Performance { span, .. }
            | Directive::Targets { span, .. }
            | Directive::Prototype { span, .. }
            | Directive::Pragma { span, .. }
            | Directive::Other { span, .. } => *span,
        }
    }
}

/// A source location (PTX ISA, "Debugging Directives: .loc").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Index of a `.file`.
    pub file: u32,
    /// 1-based line.
    pub line: u32,
    /// 1-based column, or 0.
    pub column: u32,
    /// The whole directive.
    pub span: Span,
}
