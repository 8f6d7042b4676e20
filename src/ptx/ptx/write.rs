//! PTX as it is written: instructions, the registers that are handed out for them, and their text.
//!
//! An instruction is made of the words of [`crate::isa`], so a misspelt one does not compile; whether an opcode takes
//! its modifiers is for the assembler to say.

use std::fmt::{self, Display, Write as _};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bytes::Separation;
use crate::isa::{Modifier, Opcode, Qualifier, ScalarType};

/// The head of our own modules.
pub const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// The same for modules with `redux.sync`.
pub const HEAD_OF_REDUX: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

/// Lines as a comment of C++ and PTX.
pub fn comment(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", format!("// {line}").trim_end())).collect()
}

/// Operands between braces if there are several.
pub fn vector<T: Display>(operands: &[T]) -> String {
    let operands: Vec<String> = operands.iter().map(T::to_string).collect();
    if operands.len() == 1 { operands.concat() } else { format!("{{{}}}", operands.join(", ")) }
}

/// The operand for memory at an address and some bytes added.
pub fn memory(base: &str, offset: i64) -> String {
    if offset == 0 { format!("[{base}]") } else { format!("[{base}+{offset}]") }
}

/// An instruction by itself.
pub fn statement(op: Op, operands: &[&dyn Display]) -> String {
    let mut code = Code { text: String::new(), before: "", after: "" };
    code.put(op, operands);
    code.text
}

/// An opcode with its modifiers; the macro `op!` makes one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Op {
    opcode: Opcode,
    modifiers: [Option<Modifier>; 4],
}

impl Op {
    /// An opcode with up to four modifiers.
    pub fn new<const N: usize>(opcode: Opcode, words: [Modifier; N]) -> Op {
        const { assert!(N <= 4) };
        let mut modifiers = [None; 4];
        modifiers.iter_mut().zip(words).for_each(|(to, word)| *to = Some(word));
        Op { opcode, modifiers }
    }

    /// The same with one more modifier; a fifth one is lost.
    pub fn with(mut self, word: impl Into<Modifier>) -> Op {
        if let Some(place) = self.modifiers.iter_mut().find(|place| place.is_none()) {
            *place = Some(word.into());
        }
        self
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name())?;
        self.modifiers.iter().flatten().try_for_each(|modifier| write!(f, ".{}", modifier.name()))
    }
}

/// The words of instructions by their names.
pub mod words {
    pub use crate::isa::Qualifier::*;
    pub use crate::isa::ScalarType::*;
    pub use crate::isa::StateSpace::*;
}

/// An instruction as the manual writes it, in the case of [`crate::isa`]: `op!(Setp.Lt.And.S32)`. A word in parentheses is
/// an expression: `op!(Mov.(ty))`.
#[macro_export]
macro_rules! op {
    (@ ($word:expr)) => { $word };
    (@ $word:ident) => { $crate::ptx::write::words::$word };
    ($opcode:ident $(. $word:tt)*) => {
        $crate::ptx::write::Op::new(
            $crate::isa::Opcode::$opcode,
            [$($crate::isa::Modifier::from($crate::ptx::write::op!(@ $word))),*],
        )
    };
}
pub use op;

/// A register with its type, `.pred` or bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reg {
    /// The type that declares it.
    pub ty: ScalarType,
    name: Arc<str>,
}

impl Reg {
    /// A register that somebody else has declared.
    pub fn named(ty: ScalarType, name: &str) -> Reg {
        Reg { ty, name: name.into() }
    }
}

impl Display for Reg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Deref for Reg {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl From<Reg> for String {
    fn from(register: Reg) -> String {
        register.to_string()
    }
}

/// An operand: a register or a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A register.
    Reg(Reg),
    /// A whole number.
    Number(i64),
    /// Another literal as it is written.
    Literal(String),
}

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Reg(register) => register.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Literal(text) => f.write_str(text),
        }
    }
}

impl From<Reg> for Value {
    fn from(register: Reg) -> Value {
        Value::Reg(register)
    }
}

/// Kinds of registers: the letter in their names, and the type that declares them.
type Kinds = [(&'static str, ScalarType); 4];

const KINDS: Kinds = [
    ("p", ScalarType::Pred),
    ("h", ScalarType::B16),
    ("r", ScalarType::B32),
    ("d", ScalarType::B64),
];

/// Hands out registers and declares them in the end.
#[derive(Clone, Debug)]
pub struct Fresh {
    stem: String,
    kinds: Kinds,
    counts: [u32; 4],
    labels: u32,
}

impl Fresh {
    /// Registers whose names begin with `stem`, the percent sign included.
    pub fn new(stem: &str) -> Fresh {
        Fresh::with_kinds(stem, KINDS)
    }

    /// Registers of other kinds.
    pub fn with_kinds(stem: &str, kinds: Kinds) -> Fresh {
        Fresh { stem: stem.to_owned(), kinds, counts: [0; 4], labels: 0 }
    }

    /// A register of the kind of this number.
    pub fn of_kind(&mut self, kind: usize) -> Reg {
        let (letter, ty) = self.kinds[kind];
        self.counts[kind] += 1;
        Reg { ty, name: format!("{}{letter}{}", self.stem, self.counts[kind] - 1).into() }
    }

    /// A register for values of a type: of the last kind that is as wide.
    pub fn of(&mut self, ty: ScalarType) -> Reg {
        let wide = |(_, own): &(&str, ScalarType)| own.bits() == ty.bits();
        self.of_kind(self.kinds.iter().rposition(wide).unwrap_or(self.kinds.len() - 1))
    }

    /// A predicate register.
    pub fn predicate(&mut self) -> Reg {
        self.of(ScalarType::Pred)
    }

    /// A register of 16, 32 or 64 bits.
    pub fn bits(&mut self, bits: u32) -> Reg {
        self.of(ScalarType::b(bits))
    }

    /// A 32-bit register.
    pub fn word(&mut self) -> Reg {
        self.of(ScalarType::B32)
    }

    /// The labels of code as it was, and of the place behind it and its new version.
    pub fn labels(&mut self) -> [String; 2] {
        let (number, word) = (self.labels, self.stem.trim_start_matches('%'));
        self.labels += 1;
        [format!("${word}old{number}"), format!("${word}join{number}")]
    }

    /// The label of a loop.
    pub fn loop_label(&mut self) -> String {
        let (number, word) = (self.labels, self.stem.trim_start_matches('%'));
        self.labels += 1;
        format!("${word}loop{number}")
    }

    /// The declarations of all registers that have been handed out.
    pub fn declarations(&self) -> Vec<String> {
        let declared = self.kinds.iter().zip(self.counts).filter(|(_, count)| *count > 0);
        let one = |((letter, ty), count): (&(&str, ScalarType), u32)| {
            format!(".reg {ty} {}{letter}<{count}>;", self.stem)
        };
        declared.map(one).collect()
    }
}

/// Instructions as text.
#[derive(Clone, Debug)]
pub struct Code {
    /// The text so far.
    pub text: String,
    before: &'static str,
    after: &'static str,
}

impl Code {
    /// Lines of their own, each behind an indent.
    pub fn lines(indent: &'static str) -> Code {
        Code { text: String::new(), before: indent, after: "\n" }
    }

    /// Code that goes in front of something that stands in a line.
    pub fn in_front() -> Code {
        Code { text: String::new(), before: "", after: "\n\t" }
    }

    /// Code that goes behind something that stands in a line.
    pub fn behind() -> Code {
        Code { text: String::new(), before: "\n\t", after: "" }
    }

    /// Adds a statement as it stands.
    pub fn line(&mut self, line: &str) {
        self.text.extend([self.before, line, self.after]);
    }

    /// Adds an instruction.
    pub fn put(&mut self, op: Op, operands: &[&dyn Display]) {
        self.put_if("", op, operands);
    }

    /// Adds an instruction behind a guard, `@%p ` or nothing.
    pub fn put_if(&mut self, guard: &str, op: Op, operands: &[&dyn Display]) {
        let _ = write!(self.text, "{}{guard}{op}", self.before);
        for (at, operand) in operands.iter().enumerate() {
            let _ = write!(self.text, "{} {operand}", if at == 0 { "" } else { "," });
        }
        let _ = write!(self.text, ";{}", self.after);
    }

    /// Adds an instruction that writes a register; gives the register.
    pub fn set(&mut self, to: Reg, op: Op, operands: &[&dyn Display]) -> Reg {
        let all: Vec<&dyn Display> =
            [&to as &dyn Display].into_iter().chain(operands.iter().copied()).collect();
        self.put(op, &all);
        to
    }

    /// The predicate that a comparison holds, and `before`, if there is one.
    pub fn compare(
        &mut self,
        fresh: &mut Fresh,
        (comparison, ty): (Qualifier, ScalarType),
        [a, b]: [&dyn Display; 2],
        before: Option<&str>,
    ) -> Reg {
        match before {
            None => self.set(fresh.predicate(), op!(Setp.(comparison).(ty)), &[a, b]),
            Some(before) => {
                self.set(fresh.predicate(), op!(Setp.(comparison).And.(ty)), &[a, b, &before])
            }
        }
    }

    /// The predicate that ranges of bytes at two bases are apart; and `before`, if there is one.
    pub fn apart(
        &mut self,
        fresh: &mut Fresh,
        [a, b]: [&str; 2],
        Separation { more, both }: Separation,
        before: Option<&str>,
    ) -> Reg {
        let ahead = self.set(fresh.bits(64), op!(Sub.S64), &[&a, &b]);
        self.put(op!(Add.S64), &[&ahead, &ahead, &more]);
        self.compare(fresh, (Qualifier::Ge, ScalarType::U64), [&ahead, &both], before)
    }

    /// The words of a value of 16 or 64 bits, the lowest first; beside 16 bits there are the same once more.
    pub fn split(&mut self, fresh: &mut Fresh, (value, bits): (&str, u32)) -> Vec<Reg> {
        if bits == 16 {
            return vec![self.set(fresh.word(), op!(Mov.B32), &[&vector(&[value, value])])];
        }
        let words = vec![fresh.word(), fresh.word()];
        self.put(op!(Mov.B64), &[&vector(&words), &value]);
        words
    }

    /// The words of a value of 16, 32 or 64 bits in another lane: `fetch` brings the word of a number, the lowest first.
    pub fn fetched(
        &mut self,
        fresh: &mut Fresh,
        (value, bits): (&str, u32),
        fetch: &mut dyn FnMut(&mut Code, &mut Fresh, &str, usize) -> Reg,
    ) -> Vec<Reg> {
        if bits == 32 {
            return vec![fetch(self, fresh, value, 0)];
        }
        let words = self.split(fresh, (value, bits));
        let words = words.iter().enumerate();
        words.map(|(number, word)| fetch(self, fresh, word, number)).collect()
    }

    /// A value of 32 or 64 bits that another lane has, by a shuffle with these operands behind the value.
    pub fn shuffle(
        &mut self,
        fresh: &mut Fresh,
        value: (&str, u32),
        (shuffle, operands): (Op, &str),
    ) -> Reg {
        let words = self.fetched(fresh, value, &mut |code, fresh, word, _| {
            code.set(fresh.word(), shuffle, &[&word, &operands])
        });
        match &words[..] {
            [word] => word.clone(),
            halves => self.set(fresh.bits(64), op!(Mov.B64), &[&vector(halves)]),
        }
    }

    /// Puts a value of 16, 32 or 64 bits together from its words, behind a guard.
    pub fn join<T: Display>(
        &mut self,
        fresh: &mut Fresh,
        guard: &str,
        (to, bits): (&str, u32),
        words: &[T],
    ) {
        let to = if bits == 16 { vector(&[to, &fresh.bits(16)]) } else { to.to_owned() };
        let ty = ScalarType::b(bits.max(32));
        self.put_if(guard, op!(Mov.(ty)), &[&to, &vector(words)]);
    }
}

/// Lines, their registers, and the values that these hold.
#[derive(Debug)]
pub struct Block {
    /// The registers.
    pub fresh: Fresh,
    code: Code,
    known: FxHashMap<String, Reg>,
}

impl Deref for Block {
    type Target = Code;

    fn deref(&self) -> &Code {
        &self.code
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut Code {
        &mut self.code
    }
}

impl Block {
    /// Lines behind an indent with registers of these names.
    pub fn new(fresh: Fresh, indent: &'static str) -> Block {
        Block { fresh, code: Code::lines(indent), known: FxHashMap::default() }
    }

    /// A register for values of a type with the result of an instruction.
    pub fn make(&mut self, ty: ScalarType, op: Op, operands: &[&dyn Display]) -> Reg {
        self.code.set(self.fresh.of(ty), op, operands)
    }

    /// The result of an instruction in a 32-bit register.
    pub fn word(&mut self, op: Op, operands: &[&dyn Display]) -> Reg {
        self.make(ScalarType::B32, op, operands)
    }

    /// The result of an instruction in a predicate.
    pub fn test(&mut self, op: Op, operands: &[&dyn Display]) -> Reg {
        self.make(ScalarType::Pred, op, operands)
    }

    /// The result of an instruction that is computed once.
    pub fn once(&mut self, ty: ScalarType, op: Op, operands: &[&dyn Display]) -> Reg {
        self.once_in(|fresh| fresh.of(ty), op, operands)
    }

    /// The result of an instruction that is computed once, in a register that is handed out for it.
    pub fn once_in(
        &mut self,
        register: impl FnOnce(&mut Fresh) -> Reg,
        op: Op,
        operands: &[&dyn Display],
    ) -> Reg {
        let operands: Vec<String> = operands.iter().map(|operand| operand.to_string()).collect();
        let operands = operands.join(", ");
        self.keep(format!("{op} {operands}"), |block| {
            block.code.set(register(&mut block.fresh), op, &[&operands])
        })
    }

    /// The register with the value of this key; `make` computes it the first time.
    pub fn keep(&mut self, key: String, make: impl FnOnce(&mut Block) -> Reg) -> Reg {
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made = make(self);
        self.known.insert(key, made.clone());
        made
    }

    /// The words of a value in another lane, as [`Code::fetched`].
    pub fn fetched(
        &mut self,
        value: (&str, u32),
        fetch: &mut dyn FnMut(&mut Code, &mut Fresh, &str, usize) -> Reg,
    ) -> Vec<Reg> {
        self.code.fetched(&mut self.fresh, value, fetch)
    }

    /// The declarations and the lines.
    pub fn text(&self) -> String {
        let mut all = Code { text: String::new(), ..self.code };
        self.fresh.declarations().iter().for_each(|declaration| all.line(declaration));
        all.text + &self.code.text
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(values_of_every_width_are_taken_apart_and_put_together);

    fn values_of_every_width_are_taken_apart_and_put_together() {
        let moved = |bits: u32| {
            let (mut code, mut fresh) = (Code::in_front(), Fresh::new("%x_"));
            let words = code.fetched(&mut fresh, ("%a", bits), &mut |code, fresh, word, _| {
                code.set(fresh.word(), op!(Shfl.Sync.Up.B32), &[&word, &1, &0, &-1])
            });
            code.join(&mut fresh, "@%p ", ("%b", bits), &words);
            code.text.replace(";\n\t", "; ")
        };
        assert_eq!(moved(32), "shfl.sync.up.b32 %x_r0, %a, 1, 0, -1; @%p mov.b32 %b, %x_r0; ");
        let narrow = "mov.b32 %x_r0, {%a, %a}; shfl.sync.up.b32 %x_r1, %x_r0, 1, 0, -1; \
                      @%p mov.b32 {%b, %x_h0}, %x_r1; ";
        assert_eq!(moved(16), narrow);
        let wide = "mov.b64 {%x_r0, %x_r1}, %a; shfl.sync.up.b32 %x_r2, %x_r0, 1, 0, -1; \
                    shfl.sync.up.b32 %x_r3, %x_r1, 1, 0, -1; @%p mov.b64 %b, {%x_r2, %x_r3}; ";
        assert_eq!(moved(64), wide);
    }
}
