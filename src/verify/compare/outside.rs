//! The text outside of function bodies: all of it must be the same in both files, in the same order, or the answer is
//! unknown at best.
//!
//! It consists of `.version`, `.target`, `.address_size`; variables with linkage, attributes,
//! alignment, size and initialisers; heads of functions that are declared only; which functions are
//! defined, and how often; `.alias`, `.pragma` and every directive that is not known. Heads and bodies
//! of defined functions are compared one by one (see `module`), and with them alignment and size of arrays in
//! shared memory that one kernel alone can access.
//!
//! Text that no instruction can read is free to differ: comments, blanks, and the debugger's
//! directives (`.file`, `.loc`, `@@dwarf`, sections named `.debug...`).

use rustc_hash::FxHashMap;

use crate::program::{Both, ModuleArrays, without_size};
use crate::ptx::{Body, Directive, Function, Item, Module};
use crate::source::SourceFile;
use crate::source::comments::Comment;
use crate::witness::Problem;

/// One construct at module level.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Variable(String),
    Declared(String),
    Defined(String),
    Directive(String),
}

/// From this version of PTX on, no version has given an instruction of an older one another meaning.
const SAME_MEANING: (u32, u32) = (7, 0);

/// Why one version of PTX may not replace the other, if so: assemblers accept text that was valid in an older version,
/// and not the reverse.
fn version_differs(before: Option<(u32, u32)>, after: Option<(u32, u32)>) -> Option<String> {
    let (old, new) = match (before, after) {
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) => (old, new),
        _ if before == after => return None,
        _ => return Some("only one of the two says its version of PTX".to_owned()),
    };
    let said = format!("{}.{} against {}.{}", old.0, old.1, new.0, new.1);
    if old.min(new) < SAME_MEANING {
        Some(format!(
            "the two are of different versions of PTX, {said}: compile both for one version"
        ))
    } else if new < old {
        Some(format!(
            "the rewritten file is of an older version of PTX, {said}, which may lack an instruction: give it the \
             original's `.version`, or compare the two the other way round"
        ))
    } else {
        None
    }
}

/// The differences between two files outside of function bodies.
pub(super) fn outside(
    original: &SourceFile,
    before: &Module<'_>,
    rewritten: &SourceFile,
    after: &Module<'_>,
    arrays: Both<&ModuleArrays<'_>>,
) -> Vec<Problem> {
    let mut reasons: Vec<String> = Vec::new();
    let mut differ = |differs: bool, reason: &str| {
        if differs {
            reasons.push(reason.to_owned());
        }
    };
    if let Some(reason) = version_differs(before.version, after.version) {
        differ(true, &reason);
    }
    differ(before.address_size != after.address_size, "the two have different address sizes");
    let (old, new) = (pieces(original, before, arrays), pieces(rewritten, after, arrays));
    differ(
        only(&old, |piece| matches!(piece, Piece::Variable(_)))
            != only(&new, |piece| matches!(piece, Piece::Variable(_))),
        "the variables of the two modules differ",
    );
    differ(before.target != after.target, "the two are for different targets");
    differ(
        only(&old, |piece| matches!(piece, Piece::Declared(_)))
            != only(&new, |piece| matches!(piece, Piece::Declared(_))),
        "the two declare different functions",
    );
    let directives = |piece: &Piece| matches!(piece, Piece::Directive(_));
    for (a, b) in zip_longest(&only(&old, directives), &only(&new, directives)) {
        if a != b {
            let text = |piece: Option<&Piece>| match piece {
                Some(Piece::Directive(text)) => format!("`{}`", shortened(text)),
                _ => "nothing".to_owned(),
            };
            reasons.push(format!("outside of functions: {} against {}", text(a), text(b)));
            break;
        }
    }
    let (before, after) = (defined(&old), defined(&new));
    for piece in &new {
        let Piece::Defined(name) = piece else { continue };
        let count = |all: &FxHashMap<&str, u32>| all.get(name.as_str()).copied().unwrap_or(0);
        match (count(&before), count(&after)) {
            (0, _) => reasons.push(format!("only the rewritten file defines `{name}`")),
            (1, 1) => {}
            _ => reasons.push(format!("`{name}` is defined more than once")),
        }
    }
    if reasons.is_empty() && old != new && old.len() == new.len() {
        reasons.push("what stands outside of functions comes in another order".to_owned());
    }
    reasons.dedup();
    reasons.into_iter().map(|reason| Problem { reason, ..Problem::default() }).collect()
}

/// How often each function is defined.
fn defined(pieces: &[Piece]) -> FxHashMap<&str, u32> {
    let mut counts = FxHashMap::default();
    for piece in pieces {
        if let Piece::Defined(name) = piece {
            *counts.entry(name.as_str()).or_insert(0) += 1;
        }
    }
    counts
}

fn only(pieces: &[Piece], wanted: impl Fn(&Piece) -> bool) -> Vec<Piece> {
    pieces.iter().filter(|piece| wanted(piece)).cloned().collect()
}

fn zip_longest<'p>(
    a: &'p [Piece],
    b: &'p [Piece],
) -> impl Iterator<Item = (Option<&'p Piece>, Option<&'p Piece>)> {
    (0..a.len().max(b.len())).map(|index| (a.get(index), b.get(index)))
}

/// The beginning of a text, for a message.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn pieces(source: &SourceFile, module: &Module<'_>, arrays: Both<&ModuleArrays<'_>>) -> Vec<Piece> {
    let text = |span| words(source.slice(span));
    let mut pieces = Vec::new();
    for item in &module.items {
        pieces.push(match item {
            // Where the array of a kernel goes, and how large it is, is compared with the kernel.
            Item::Variable(variable) => Piece::Variable(match without_size(arrays, variable) {
                Some(plain) => plain.to_owned(),
                None => text(variable.span),
            }),
            Item::Function(function) => match function.body {
                Body::Absent => Piece::Declared(text(function.span)),
                _ => Piece::Defined(defined_name(function)),
            },
            Item::Directive(Directive::Loc(_) | Directive::File { .. }) => continue,
            Item::Directive(
                Directive::Performance { span, .. }
                | Directive::Targets { span, .. }
                | Directive::Prototype { span, .. }
                | Directive::Pragma { span, .. }
                | Directive::Other { span, .. },
            ) => match text(*span) {
                debug if is_debug(&debug) => continue,
                other => Piece::Directive(other),
            },
        });
    }
    pieces
}

fn defined_name(function: &Function<'_>) -> String {
    function.name.text.to_owned()
}

/// Whether only a debugger reads a directive.
fn is_debug(text: &str) -> bool {
    let mut words = text.split_whitespace();
    match words.next() {
        Some(".section") => words.next().is_some_and(|name| name.starts_with(".debug")),
        Some(word) => word.to_ascii_lowercase().starts_with("@@dwarf"),
        None => false,
    }
}

/// A text without comments, each run of blanks outside of strings as one.
pub(super) fn words(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut blank = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        // Most bytes are neither.
        let plain = |b: &u8| b.is_ascii_graphic() && !matches!(b, b'/' | b'"');
        let run = rest.bytes().position(|b| !plain(&b)).unwrap_or(rest.len());
        if run > 0 {
            if std::mem::take(&mut blank) && !kept.is_empty() {
                kept.push(' ');
            }
            kept.push_str(&rest[..run]);
            rest = &rest[run..];
            continue;
        }
        let end = match rest.as_bytes() {
            bytes if let Some(comment) = Comment::at_start(bytes) => comment.length,
            _ if first.is_whitespace() => first.len_utf8(),
            bytes => {
                // Within a string no comment begins.
                let end = match bytes[0] {
                    b'"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                    _ => first.len_utf8(),
                };
                if std::mem::take(&mut blank) && !kept.is_empty() {
                    kept.push(' ');
                }
                kept.push_str(&rest[..end]);
                rest = &rest[end..];
                continue;
            }
        };
        blank = true;
        rest = &rest[end..];
    }
    kept
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        blanks_and_comments_do_not_count_but_strings_do,
        debug_sections_are_told_from_others
    );

    fn blanks_and_comments_do_not_count_but_strings_do() {
        assert_eq!(words(" a/* x */b // c\n\t d "), "a b d");
        assert_eq!(words(".pragma \"a  // b\" ;"), ".pragma \"a  // b\" ;");
        assert_ne!(words("\"a  b\""), words("\"a b\""));
        assert_eq!(words("a /* open"), "a");
        assert_eq!(words("\"open"), "\"open");
    }

    fn debug_sections_are_told_from_others() {
        assert!(is_debug(".section .debug_str { .b8 1 }"));
        assert!(is_debug("@@DWARF .4byte 0x0"));
        assert!(!is_debug(".section .nv.constant { .b8 1 }"));
        assert!(!is_debug(".alias f, g;"));
    }
}
