//! Registers, labels and lines of the text that is being written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::kernel::{Array, Condition, Kernel};

/// Kinds of registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Predicate,
    Half,
    Word,
    Double,
    Float,
    DoubleFloat,
}

impl Kind {
    const ALL: [Kind; 6] =
        [Kind::Predicate, Kind::Half, Kind::Word, Kind::Double, Kind::Float, Kind::DoubleFloat];

    fn letter(self) -> &'static str {
        ["p", "h", "r", "d", "f", "g"][self as usize]
    }

    fn ty(self) -> &'static str {
        [".pred", ".b16", ".b32", ".b64", ".f32", ".f64"][self as usize]
    }
}

/// Registers in use, numbered from 1 in each kind.
#[derive(Clone, Default)]
pub struct Registers([u32; Kind::ALL.len()]);

impl Registers {
    fn take(&mut self, prefix: &str, kind: Kind) -> String {
        self.0[kind as usize] += 1;
        format!("%{prefix}{}{}", kind.letter(), self.0[kind as usize])
    }

    /// Declares them all.
    fn declare(&self, prefix: &str) -> String {
        let mut text = String::new();
        for (kind, count) in Kind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0) {
            let (ty, letter) = (kind.ty(), kind.letter());
            let _ = writeln!(text, "\t.reg {ty} %{prefix}{letter}<{}>;", count + 1);
        }
        text
    }
}

/// What the way back of a loop does.
#[derive(Clone)]
pub struct Round {
    pub counter: String,
    pub step: u32,
    /// The operand that the counter ends at.
    pub end: String,
    pub carried: String,
    /// An address that moves, and by how many bytes.
    pub moving: Option<(String, i64)>,
    pub bottom: bool,
    pub head: String,
    pub done: String,
}

/// What surrounds a statement.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Counters of the loops around, outermost first.
    pub counters: Vec<String>,
    /// The value that the innermost loop carries.
    pub carried: Option<String>,
    /// The address that the innermost loop moves.
    pub moving: Option<(Array, String)>,
    /// Where a `Break` goes.
    pub end: Option<String>,
    /// What a `Continue` does.
    pub round: Option<Round>,
    /// Predicates that hold the outcome of a condition for good.
    pub guards: Vec<(Condition, String)>,
    /// The counter of the loop left last.
    pub after: Option<String>,
    /// See [`super::kernel::Var`].
    pub defined: Option<String>,
    pub loaded: Option<String>,
}

/// Values that are computed once at the entry.
pub type Entry = BTreeMap<&'static str, String>;

/// The text of one kernel in the making.
pub struct Writer<'k> {
    pub kernel: &'k Kernel,
    /// Statements of the present scope.
    pub body: String,
    /// Statements at the entry.
    pub prologue: String,
    /// Declarations of tables, local and shared memory.
    pub variables: String,
    /// Parameters used.
    pub parameters: BTreeSet<&'static str>,
    /// Device functions used.
    pub functions: BTreeSet<&'static str>,
    /// Bytes on each side of each buffer's pointer that are in use.
    pub extents: BTreeMap<&'static str, u64>,
    /// The first byte of [`Array::Tight`] that is in use and the one behind the last, from its pointer.
    pub tight: (i64, i64),
    /// What surrounds the next statement.
    pub around: Surroundings,
    /// Registers that are seen everywhere (`%e`).
    lasting: Registers,
    /// Registers of the present scope (`%v`): inner scopes use the same names.
    temporary: Registers,
    /// Registers that many loads write (`%q`).
    pool: Registers,
    entry: Entry,
    labels: u32,
}

impl<'k> Writer<'k> {
    pub fn new(kernel: &'k Kernel) -> Writer<'k> {
        Writer {
            kernel,
            body: String::new(),
            prologue: String::new(),
            variables: String::new(),
            parameters: BTreeSet::new(),
            functions: BTreeSet::new(),
            extents: BTreeMap::new(),
            tight: (0, 4),
            around: Surroundings::default(),
            lasting: Registers::default(),
            temporary: Registers::default(),
            pool: Registers::default(),
            entry: BTreeMap::new(),
            labels: 0,
        }
    }

    /// A statement.
    pub fn line(&mut self, text: &str) {
        let _ = writeln!(self.body, "\t{text};");
    }

    /// A statement at the entry.
    pub fn first(&mut self, text: &str) {
        let _ = writeln!(self.prologue, "\t{text};");
    }

    /// A new label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Puts a label here.
    pub fn place(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
    }

    /// A register of the present scope.
    pub fn temporary(&mut self, kind: Kind) -> String {
        self.temporary.take("v", kind)
    }

    /// A register that is seen in every scope.
    pub fn lasting(&mut self, kind: Kind) -> String {
        self.lasting.take("e", kind)
    }

    /// The registers that all loads of a kind share.
    pub fn pooled(&mut self, kind: Kind, index: u32) -> String {
        let used = &mut self.pool.0[kind as usize];
        *used = (*used).max(index + 1);
        format!("%q{}{}", kind.letter(), index + 1)
    }

    /// `opcode new, operands`
    pub fn make(&mut self, kind: Kind, opcode: &str, operands: &[&str]) -> String {
        let result = self.temporary(kind);
        self.line(&format!("{opcode} {result}, {}", operands.join(", ")));
        result
    }

    /// A value that is computed once at the entry, by `code` after its first use.
    pub fn at_entry(
        &mut self,
        name: &'static str,
        kind: Kind,
        code: impl FnOnce(&mut Self, &str),
    ) -> String {
        if let Some(known) = self.entry.get(name) {
            return known.clone();
        }
        let register = self.lasting(kind);
        self.entry.insert(name, register.clone());
        code(self, &register);
        register
    }

    /// Writes what `inner` writes as an inner scope with registers of its own.
    pub fn scope(&mut self, inner: impl FnOnce(&mut Self)) {
        let outside = std::mem::take(&mut self.body);
        let registers = std::mem::take(&mut self.temporary);
        inner(self);
        let inside = std::mem::replace(&mut self.body, outside);
        let declared = std::mem::replace(&mut self.temporary, registers).declare("v");
        let _ = write!(self.body, "\t{{\n{declared}{inside}\t}}\n");
    }

    /// All declarations of the function.
    pub fn declarations(&self) -> String {
        self.lasting.declare("e")
            + &self.temporary.declare("v")
            + &self.pool.declare("q")
            + &self.variables
    }

    /// Notes that a buffer is used up to `bytes` bytes to each side of its pointer.
    pub fn extend(&mut self, buffer: &'static str, bytes: u64) {
        let extent = self.extents.entry(buffer).or_default();
        *extent = (*extent).max(bytes);
    }
}
