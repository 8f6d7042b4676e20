//! The lexical scan: cuts a module into pieces before anything is parsed, so that the cost of parsing
//! depends on the bodies that can be rewritten, and so that no piece is large.
//!
//! In: the text. Out, in order: pieces that end with a semicolon at module level, and pieces that end
//! with a body in braces. The scan knows comments, strings, brackets and semicolons, and how a load
//! from global memory begins. It promises that every byte of the text lies in a piece, that braces
//! match in the pieces, and that brackets are nested at most [`MAX_NESTING`] deep. It judges nothing
//! else.

use super::fault::Fault;
use crate::source::Span;
use crate::source::comments::{Comment, line_length};

/// How deep brackets of any kind, and choices (`? :`) of one statement, may be nested. Compilers
/// stay far below ten; later stages walk nested scopes recursively and rely on the limit.
pub(super) const MAX_NESTING: usize = 100;

/// About how many bytes of a body are parsed at once.
const CHUNK: usize = 16 * 1024;

/// A piece that the scan cuts out of a module.
#[derive(Debug)]
pub(super) struct Piece {
    /// Up to the semicolon, included, or up to the body.
    pub head: Span,
    /// The body in braces, if there is one.
    pub body: Option<ScannedBody>,
}

/// A body in braces.
#[derive(Debug)]
pub(super) struct ScannedBody {
    /// From brace to brace, both included.
    pub span: Span,
    /// How many statements look like loads from global or generic memory.
    pub global_loads: usize,
    /// How many semicolons there are.
    pub semicolons: usize,
    /// Where the inside may be cut between two statements, in ascending order.
    cuts: Vec<u32>,
}

impl ScannedBody {
    /// The inside of the braces in runs of whole statements.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Span> + '_ {
        let end = self.span.end - 1;
        (0..=self.cuts.len()).map(move |index| Span {
            start: if index == 0 { self.span.start + 1 } else { self.cuts[index - 1] },
            end: self.cuts.get(index).copied().unwrap_or(end),
        })
    }
}

/// The meaning of a byte to the scan; most bytes mean nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Dull,
    Quote,
    Slash,
    Hash,
    Open,
    Close,
    OpenBrace,
    CloseBrace,
    Semicolon,
    Question,
    Equals,
    Dot,
    LetterL,
}

const fn classes(body: bool) -> [Class; 256] {
    let mut table = [Class::Dull; 256];
    table[b'"' as usize] = Class::Quote;
    table[b'/' as usize] = Class::Slash;
    table[b'#' as usize] = Class::Hash;
    table[b'(' as usize] = Class::Open;
    table[b'[' as usize] = Class::Open;
    table[b')' as usize] = Class::Close;
    table[b']' as usize] = Class::Close;
    table[b'{' as usize] = Class::OpenBrace;
    table[b'}' as usize] = Class::CloseBrace;
    table[b';' as usize] = Class::Semicolon;
    table[b'?' as usize] = Class::Question;
    if body {
        table[b'l' as usize] = Class::LetterL;
    } else {
        table[b'=' as usize] = Class::Equals;
        table[b'.' as usize] = Class::Dot;
    }
    table
}

static HEAD_CLASSES: [Class; 256] = classes(false);
static BODY_CLASSES: [Class; 256] = classes(true);

/// Cuts a text into pieces, up to the first mistake that the scan sees: comments, strings and braces
/// that are never closed, braces that close nothing, and nesting beyond [`MAX_NESTING`]. The pieces
/// before that place may have mistakes of their own, which come first.
pub(super) fn pieces(text: &str) -> (Vec<Piece>, Result<(), Fault>) {
    let mut scanner = Scanner { text, bytes: text.as_bytes(), at: 0, open: Vec::new(), choices: 0 };
    let mut pieces = Vec::new();
    loop {
        match scanner.piece() {
            Ok(Some(piece)) => pieces.push(piece),
            Ok(None) => return (pieces, Ok(())),
            Err(fault) => return (pieces, Err(fault)),
        }
    }
}

struct Scanner<'s> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    /// The places of the brackets that are open.
    open: Vec<u32>,
    /// How many `?` this statement has.
    choices: usize,
}

impl Scanner<'_> {
    /// The next piece; `None` at the end of the text.
    fn piece(&mut self) -> Result<Option<Piece>, Fault> {
        let start = self.at;
        if start == self.bytes.len() {
            return Ok(None);
        }
        let mut initialised = false;
        let mut function = false;
        let mut string_end = None;
        self.open.clear();
        while let Some(class) = self.advance(&HEAD_CLASSES)? {
            match class {
                Class::Equals => initialised = true,
                Class::Dot => function |= self.at_word(".func") || self.at_word(".entry"),
                Class::Quote => string_end = Some(self.at + 1),
                Class::OpenBrace if !initialised => {
                    let head = Span::new(start, self.at);
                    self.open.clear();
                    return Ok(Some(Piece { head, body: Some(self.body()?) }));
                }
                Class::OpenBrace | Class::Open => self.enter()?,
                Class::CloseBrace if self.open.is_empty() => {
                    return Err(Fault::new(
                        Span::new(self.at, self.at + 1),
                        "this `}` closes nothing",
                    )
                    .hint("remove it, or look for a `}` too many in the function before it"));
                }
                Class::CloseBrace | Class::Close => _ = self.open.pop(),
                Class::Semicolon => {
                    self.choices = 0;
                    // A pragma between a function's parameters and its body does not end the piece.
                    let pragma = string_end
                        .is_some_and(|end| self.text[end..self.at].trim_ascii().is_empty());
                    if !(function && pragma) {
                        self.at += 1;
                        return Ok(Some(Piece { head: Span::new(start, self.at), body: None }));
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        Ok(Some(Piece { head: Span::new(start, self.bytes.len()), body: None }))
    }

    /// Moves from the opening brace of a body to behind its closing one.
    fn body(&mut self) -> Result<ScannedBody, Fault> {
        let start = self.at;
        let (mut cuts, mut global_loads, mut semicolons) = (Vec::new(), 0, 0);
        // Braces alone decide where the body ends; a bracket forgotten in a statement is left to
        // the grammar, which can name the missing token.
        let mut braces = 0;
        let mut last_cut = start;
        while let Some(class) = self.advance(&BODY_CLASSES)? {
            match class {
                Class::OpenBrace => {
                    braces += 1;
                    self.enter()?;
                }
                Class::CloseBrace => {
                    braces -= 1;
                    self.open.truncate(braces);
                    if braces == 0 {
                        self.at += 1;
                        let span = Span::new(start, self.at);
                        return Ok(ScannedBody { span, global_loads, semicolons, cuts });
                    }
                }
                Class::Open => self.enter()?,
                Class::Close if self.open.len() > braces => _ = self.open.pop(),
                Class::Semicolon => {
                    self.open.truncate(braces);
                    self.choices = 0;
                    semicolons += 1;
                    if self.at - last_cut >= CHUNK {
                        last_cut = self.at + 1;
                        cuts.push(last_cut as u32);
                    }
                }
                Class::LetterL => global_loads += usize::from(self.at_global_load()),
                _ => {}
            }
            self.at += 1;
        }
        Err(super::read::statement::unclosed(self.text, start))
    }

    /// Moves to the next byte that means something, past comments, and leaves `at` on it; of a string,
    /// on its last byte.
    fn advance(&mut self, classes: &[Class; 256]) -> Result<Option<Class>, Fault> {
        loop {
            let rest = &self.bytes[self.at..];
            let Some(skip) = rest.iter().position(|&byte| classes[byte as usize] != Class::Dull)
            else {
                self.at = self.bytes.len();
                return Ok(None);
            };
            self.at += skip;
            let class = classes[self.bytes[self.at] as usize];
            match class {
                Class::Slash => self.comment()?,
                Class::Hash => self.at += line_length(&self.bytes[self.at..]),
                Class::Quote => {
                    self.string()?;
                    return Ok(Some(class));
                }
                Class::Question => {
                    self.choices += 1;
                    if self.choices > MAX_NESTING {
                        return Err(self.too_deep());
                    }
                    self.at += 1;
                }
                _ => return Ok(Some(class)),
            }
        }
    }

    fn enter(&mut self) -> Result<(), Fault> {
        if self.open.len() == MAX_NESTING {
            return Err(self.too_deep());
        }
        self.open.push(self.at as u32);
        Ok(())
    }

    fn too_deep(&self) -> Fault {
        let message = format!("nested more than {MAX_NESTING} deep");
        Fault::new(Span::new(self.at, self.at + 1), message).hint("no compiler nests so deep")
    }

    /// Moves behind a comment, or past the slash if no comment begins there.
    fn comment(&mut self) -> Result<(), Fault> {
        match Comment::at_start(&self.bytes[self.at..]) {
            Some(comment) if comment.closed => self.at += comment.length,
            Some(_) => {
                let span = Span::new(self.at, self.at + 2);
                return Err(Fault::new(span, "this comment is never closed")
                    .hint("look for a missing `*/`"));
            }
            None => self.at += 1,
        }
        Ok(())
    }

    /// Moves to the closing quote of a string. A backslash protects nothing.
    fn string(&mut self) -> Result<(), Fault> {
        let start = self.at;
        match memchr::memchr2(b'"', b'\n', &self.bytes[start + 1..]) {
            Some(length) if self.bytes[start + 1 + length] == b'"' => {
                self.at = start + 1 + length;
                Ok(())
            }
            _ => Err(Fault::new(Span::new(start, start + 1), "this string is never closed")
                .hint("a string ends with `\"` on the line it began on")),
        }
    }

    fn at_word(&self, word: &str) -> bool {
        let rest = &self.bytes[self.at..];
        rest.starts_with(word.as_bytes()) && !rest.get(word.len()).is_some_and(|&b| is_word(b))
    }

    /// Whether a load from global or generic memory begins here, where an `l` stands.
    fn at_global_load(&self) -> bool {
        let before = self.bytes[self.at - 1];
        if is_word(before) || matches!(before, b'.' | b'%') {
            return false;
        }
        let rest = &self.bytes[self.at..];
        let Some(rest) = rest.strip_prefix(b"ldu").or(rest.strip_prefix(b"ld")) else {
            return false;
        };
        // Where no modifier names a state space, the address is generic.
        let end = rest.iter().position(|&b| !(is_word(b) || is_gap(b))).unwrap_or(rest.len());
        let opcode = &rest[..end];
        opcode.iter().find(|&&b| !is_blank(b)) == Some(&b'.')
            && !opcode.split(|&b| b == b'.').any(|word| {
                let space = word.split(|&b| b == b':' || is_blank(b)).next().unwrap_or(word);
                matches!(space, b"local" | b"shared" | b"const" | b"param")
            })
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_gap(byte: u8) -> bool {
    is_blank(byte) || matches!(byte, b'.' | b':')
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        global_and_generic_loads_are_counted,
        other_statements_are_not,
        bodies_and_initial_values_are_told_apart,
        pieces_and_chunks_cover_the_text
    );

    fn bodies(text: &str) -> Vec<ScannedBody> {
        let (pieces, scanned) = pieces(text);
        scanned.expect("the scan finds nothing wrong");
        pieces.into_iter().filter_map(|piece| piece.body).collect()
    }

    fn loads(body: &str) -> usize {
        bodies(&format!(".entry f() {{ {body} }}"))[0].global_loads
    }

    fn global_and_generic_loads_are_counted() {
        for load in [
            "ld.global.f32 %f1, [%rd1];",
            "ld.f32 %f1, [%rd1];",
            "ld.f32\t%f1, [%rd1];",
            "ldu.global.u32 %r1, [%rd1];",
            "ld.volatile.global.u32 %r1, [%rd1];",
            "ld .global .u32 %r1, [%rd1];",
            "@%p1 ld.global.nc.L1::no_allocate.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];",
            "L:ld.u32 %r1,[%rd1];",
            "{ ld.u32 %r1, [%rd1]; }",
            "mov.u32 %r1, 5;ld.global.u32 %r1, [%rd1];",
        ] {
            assert_eq!(loads(load), 1, "{load}");
        }
    }

    fn other_statements_are_not() {
        for other in [
            "ld.shared.f32 %f1, [%r1];",
            "ld.shared::cluster.f32 %f1, [%r1];",
            "ld.param.u64 %rd1, [f_param_0];",
            "ld.const[2].u32 %r1, [bank];",
            "ld.volatile.local.u32 %r1, [%rd1];",
            "// ld.global.f32 %f1, [%rd1];\n",
            "/* ld.global.f32 %f1, [%rd1]; */",
            ".pragma \"ld.global.f32\";",
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];",
            "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];",
            "mov.u32 %ld, ld; bra field.ld;",
        ] {
            assert_eq!(loads(other), 0, "{other}");
        }
    }

    fn bodies_and_initial_values_are_told_apart() {
        let text = ".global .u32 x[2] = {1, 2};\n.func f() .pragma \"a;{\"; { ret; }\n\
                    .section .debug_str { .b8 1 } .entry g() { { } // }\n }";
        let spans: Vec<_> = bodies(text).iter().map(|body| &text[body.span.range()]).collect();
        assert_eq!(spans, ["{ ret; }", "{ .b8 1 }", "{ { } // }\n }"]);
    }

    fn pieces_and_chunks_cover_the_text() {
        let statement = "add.s32 %r1, %r2, 3; // ;\n";
        let text =
            format!(".entry f() {{{}}} // end", statement.repeat(4 * CHUNK / statement.len()));
        let (pieces, scanned) = pieces(&text);
        assert!(scanned.is_ok());
        let mut end = 0;
        for piece in &pieces {
            assert_eq!(piece.head.start, end);
            end = piece.body.as_ref().map_or(piece.head.end, |body| body.span.end);
        }
        assert_eq!(end as usize, text.len());
        let body = pieces[0].body.as_ref().expect("there is a body");
        let chunks: Vec<_> = body.chunks().collect();
        assert!(chunks.len() > 2);
        assert_eq!(chunks[0].start, body.span.start + 1);
        assert_eq!(chunks[chunks.len() - 1].end, body.span.end - 1);
        for pair in chunks.windows(2) {
            assert_eq!(pair[0].end, pair[1].start);
            assert!(text[pair[0].range()].ends_with(';'));
        }
    }
}
