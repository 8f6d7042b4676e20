//! Names in code that a plan writes: references to registers and labels, until the code's place is known.
//!
//! In: the registers and variables that code names, and ranges of the text that it copies. Out: code in which each such
//! name is a *mention*: the name, followed by its meaning. Only [`Draft::placed`] turns code into text. It checks the
//! meaning of each mention's name at the code's place, because braces may declare a name anew (PTX ISA, "Instruction
//! Statements"): the same text can mean another register at a latch, at a join, or in front of a loop. A name of the
//! body that is not a mention is refused, so code with an unchecked name is never placed.

use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::edit::Edit;
use crate::cfg::{DeclaredNames, Flow, NameMeaning, RegisterId, Scopes};
use crate::isa::Opcode;
use crate::ptx::Operand;

/// Stands between a mention's name and its meaning, and sorts before every character of a name.
const MEANS: char = '\u{2}';
/// The meaning of a name that is declared there.
const DECLARED: &str = "d";
/// The meaning of a label, in front of a scope's number.
const LABEL: char = 'l';
/// Ends a mention.
const END: char = '\u{1}';

/// A register in code.
pub(super) fn register(flow: &Flow<'_, '_>, register: RegisterId) -> String {
    let named = &flow.registers[register];
    let component = named.component.map(|component| format!(".{component}")).unwrap_or_default();
    let meaning = NameMeaning::Register(flow.vector(register));
    self::name(named.name, Some(meaning)) + &component
}

/// A variable in code, by the scope of the body that declares it; `None` for one of the module or a parameter.
pub(super) fn variable(name: &str, scope: Option<u32>) -> String {
    self::name(name, scope.map(NameMeaning::DeclaredIn))
}

/// The name that a declaration in code declares.
pub fn declaration(name: &str) -> String {
    format!("{name}{MEANS}{DECLARED}{END}")
}

/// A label in code, by the scope in which a branch names it: names of labels mean the same within one scope.
pub(super) fn label(name: &str, scope: Option<usize>) -> String {
    let scope = scope.map_or_else(String::new, |scope| scope.to_string());
    format!("{name}{MEANS}{LABEL}{scope}{END}")
}

/// A name in code, and its meaning there.
pub fn name(name: &str, meaning: Option<NameMeaning>) -> String {
    match meaning {
        Some(NameMeaning::Register(RegisterId(id))) => format!("{name}{MEANS}r{id}{END}"),
        Some(NameMeaning::DeclaredIn(scope)) => format!("{name}{MEANS}s{scope}{END}"),
        None => format!("{name}{MEANS}{END}"),
    }
}

/// The words of a text that are no names of registers or variables, by the bytes at which they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct OtherWords {
    opcodes: FxHashSet<usize>,
    targets: FxHashSet<usize>,
}

impl OtherWords {
    /// The opcodes of a function, and the labels that its branches name.
    pub(super) fn of(flow: &Flow<'_, '_>) -> OtherWords {
        let mut words = OtherWords::default();
        for inst in &flow.insts {
            words.opcodes.insert(inst.ast.opcode.span.start as usize);
            if let (false, Some(Operand::Name(label))) =
                (inst.targets.is_empty(), inst.ast.operands.last())
            {
                words.targets.insert(label.span.start as usize);
            }
        }
        words
    }
}

/// A copy of some bytes of the text as code. Each name has its meaning at its place in the text; `replaced` gives the
/// code that stands for the name at a byte instead.
pub(super) fn copied(
    (scopes, declared, others): (&Scopes<'_>, &DeclaredNames<'_>, &OtherWords),
    text: &str,
    range: Range<usize>,
    replaced: impl Fn(usize, &str) -> Option<String>,
) -> String {
    let mut out = String::with_capacity(range.len());
    for piece in Pieces::of(&text[range.clone()]) {
        match piece {
            Piece::Name { at, name, .. } => match (range.start + at, name) {
                (at, _) if others.opcodes.contains(&at) => out.push_str(name),
                (at, _) if let Some(other) = replaced(at, name) => out.push_str(&other),
                (at, _) if others.targets.contains(&at) => {
                    out.push_str(&label(name, scopes.scope_at(at)));
                }
                (at, _) if declared.contains(name) => {
                    out.push_str(&self::name(name, scopes.meaning_at(name, at)));
                }
                _ => out.push_str(name),
            },
            Piece::Other(other) => out.extend(other.chars().filter(|c| ![MEANS, END].contains(c))),
        }
    }
    out
}

/// The error that a name means something else where code would name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The name.
    pub name: String,
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` means something else where the rewritten code would name it", self.name)
    }
}

impl std::error::Error for Misplaced {}

/// Code and the bytes of the text in whose place it goes; an empty range is an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The bytes replaced.
    pub range: Range<usize>,
    /// The code that stands there instead.
    pub code: String,
}

impl Draft {
    /// Inserts code before the byte `at`.
    pub fn insert(at: usize, code: impl Into<String>) -> Draft {
        Draft { range: at..at, code: code.into() }
    }

    /// The code as text, or the first name whose meaning at this place differs from that in the code. `declared`
    /// are the names of the body.
    pub fn placed(
        &self,
        scopes: &Scopes<'_>,
        declared: &DeclaredNames<'_>,
    ) -> (Edit, Option<Misplaced>) {
        let (mut text, mut misplaced) = (String::with_capacity(self.code.len()), None);
        for piece in Pieces::of(&self.code) {
            let Piece::Name { name, meaning, .. } = piece else {
                text.push_str(piece.text());
                continue;
            };
            text.push_str(name);
            let is_meant = match meaning {
                Some(DECLARED) => true,
                Some(meaning) if meaning.starts_with(LABEL) => {
                    label(name, scopes.scope_at(self.range.start))[name.len()..]
                        .trim_matches([MEANS, END])
                        == meaning
                }
                Some(meaning) => {
                    let here = self::name(name, scopes.meaning_at(name, self.range.start));
                    here[name.len()..].trim_matches([MEANS, END]) == meaning
                }
                None => Opcode::of(name) != Opcode::Unknown || !declared.contains(name),
            };
            if !is_meant && misplaced.is_none() {
                misplaced = Some(Misplaced { name: name.to_owned() });
            }
        }
        (Edit::new(self.range.clone(), text), misplaced)
    }
}

/// A part of code or text.
enum Piece<'t> {
    /// A word that may be a name, at this byte, and the meaning that a mention adds.
    Name { at: usize, name: &'t str, meaning: Option<&'t str> },
    /// The text between such words: modifiers, numbers, signs, comments.
    Other(&'t str),
}

impl<'t> Piece<'t> {
    fn text(&self) -> &'t str {
        match self {
            Piece::Name { name: text, .. } | Piece::Other(text) => text,
        }
    }
}

/// The parts of code or text in order.
struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Pieces<'t> {
    fn of(text: &'t str) -> Pieces<'t> {
        Pieces { text, at: 0 }
    }

    /// The length of what begins the rest and is not a name.
    fn other(rest: &str) -> usize {
        let until = |end: &str| rest[2..].find(end).map_or(rest.len(), |at| 2 + at + end.len());
        let word =
            |from: usize| from + rest[from..].find(|c| !in_name(c)).unwrap_or(rest.len() - from);
        match rest.as_bytes() {
            [b'/', b'/', ..] => until("\n"),
            [b'/', b'*', ..] => until("*/"),
            [b'"', ..] => rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            [b'.', ..] => word(1),
            [b'0'..=b'9', ..] => word(0),
            _ => rest.chars().next().map_or(0, char::len_utf8),
        }
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = Piece<'t>;

    fn next(&mut self) -> Option<Piece<'t>> {
        let (text, at) = (self.text, self.at);
        let rest = &text[at..];
        let first = rest.chars().next()?;
        if !in_name(first) || first.is_ascii_digit() {
            self.at += Pieces::other(rest);
            return Some(Piece::Other(&text[at..self.at]));
        }
        let end = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
        self.at += end;
        let meaning = rest[end..].strip_prefix(MEANS).and_then(|rest| rest.split_once(END));
        if let Some((meaning, _)) = meaning {
            self.at += MEANS.len_utf8() + meaning.len() + END.len_utf8();
        }
        Some(Piece::Name { at, name: &rest[..end], meaning: meaning.map(|(meaning, _)| meaning) })
    }
}

fn in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$%".contains(c)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::cfg;
    use crate::ptx::{Depth, parse};
    use crate::source::SourceFile;

    crate::unit_tests!(
        a_register_is_named_where_its_name_means_it,
        copies_mean_what_they_mean_where_they_stand,
        variables_are_asked_about_too,
        a_name_without_a_meaning_is_refused
    );

    const TEXT: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
	.reg .b32 %x, %y;
	.shared .b32 s;
	mov.u32 %x, %y;
	{
		add.u32 %y, %x, %x; // outer
		.reg .b32 %x;
		.shared .b32 s;
		mul.lo.u32 %y, %x, %x;
	}
	ret;
}
";

    /// The placed text of a draft behind the text `place`, or the name that has another meaning there.
    fn placed(place: &str, code: impl Fn(&Flow<'_, '_>) -> String) -> Result<String, String> {
        let source = SourceFile::new("k.ptx", TEXT);
        let module = parse(&source, Depth::All).expect("parses");
        let function = module.functions().next().expect("a kernel");
        let flow = cfg::build(&source, function).expect("resolves");
        let at = TEXT.find(place).expect("the place") + place.len();
        let declared = flow.scopes.declared();
        let (edit, misplaced) = Draft::insert(at, code(&flow)).placed(&flow.scopes, &declared);
        misplaced.map_or(Ok(edit.text), |misplaced| Err(misplaced.name))
    }

    const PLACES: [&str; 4] = ["%y;\n\t{", "// outer", ".shared .b32 s;\n\t\t", "%x, %x;\n\t}"];

    fn a_register_is_named_where_its_name_means_it() {
        let outer = |flow: &Flow<'_, '_>| format!("mov.u32 {}, 0;", register(flow, RegisterId(0)));
        for (place, is_placed) in PLACES.into_iter().zip([true, true, false, true]) {
            let expected = if is_placed { Ok("mov.u32 %x, 0;") } else { Err("%x") };
            assert_eq!(
                placed(place, outer).as_deref().map_err(String::as_str),
                expected,
                "{place}"
            );
        }
    }

    fn copies_mean_what_they_mean_where_they_stand() {
        let copy = |from: &'static str| {
            move |flow: &Flow<'_, '_>| {
                let at = TEXT.find(from).expect("the text");
                copied(
                    (&flow.scopes, &flow.scopes.declared(), &OtherWords::of(flow)),
                    TEXT,
                    at..at + from.len(),
                    |_, _| None,
                )
            }
        };
        let inner = copy("mul.lo.u32 %y, %x, %x;");
        let outer = copy("add.u32 %y, %x, %x; // outer");
        for (place, is_inner) in PLACES.into_iter().zip([false, false, true, false]) {
            assert_eq!(placed(place, inner).is_ok(), is_inner, "{place}");
            assert_eq!(placed(place, outer).is_ok(), !is_inner, "{place}");
        }
    }

    fn variables_are_asked_about_too() {
        let scope = |flow: &Flow<'_, '_>| {
            let at = TEXT.find("mov.u32").expect("the place");
            match flow.scopes.meaning_at("s", at) {
                Some(NameMeaning::DeclaredIn(scope)) => scope,
                _ => panic!("`s` is declared"),
            }
        };
        let outer = |flow: &Flow<'_, '_>| format!("[{}]", variable("s", Some(scope(flow))));
        let module = |_: &Flow<'_, '_>| format!("[{}]", variable("s", None));
        let none = |_: &Flow<'_, '_>| format!("[{}]", variable("a", None));
        assert_eq!(placed(PLACES[0], outer), Ok("[s]".to_owned()));
        assert_eq!(placed(PLACES[2], outer), Err("s".to_owned()));
        assert_eq!(placed(PLACES[0], module), Err("s".to_owned()));
        assert_eq!(placed(PLACES[2], none), Ok("[a]".to_owned()));
    }

    fn a_name_without_a_meaning_is_refused() {
        assert_eq!(placed(PLACES[0], |_| "mov.u32 %x, 0;".to_owned()), Err("%x".to_owned()));
        let own = "mov.u32 %own, %laneid; $own: .s.x // %x".to_owned();
        assert_eq!(placed(PLACES[0], |_| own.clone()), Ok(own.clone()));
    }
}
