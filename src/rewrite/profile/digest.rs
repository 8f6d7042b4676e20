//! The hash of a kernel's text: a measurement of the kernel holds for it.
//!
//! In: a module and a kernel of it. Out: SHA-256 of the kernel's words, of the words of every declaration of the module
//! that they name, directly or through others (variables, functions that are called), and of the directives of the
//! module that concern all of its code. Comments, blanks and the places in the source (`.loc`, `.file`) change nothing;
//! nor do `.version`, the architecture of `.target`, or another kernel.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use sha2::{Digest, Sha256};

use crate::ptx::{Directive, Function, Item, Module};
use crate::source::SourceFile;
use crate::source::comments::{gap_length, line_length};

/// The declarations of one module by their names.
pub struct Digests<'m> {
    source: &'m SourceFile,
    /// The text of every declaration of a name, in source order; for a second name of a function the
    /// first one.
    declared: FxHashMap<&'m str, Vec<&'m str>>,
    /// The declarations of the whole module, in source order.
    common: Vec<&'m str>,
}

impl<'m> Digests<'m> {
    /// Looks through a module's declarations.
    pub fn new(source: &'m SourceFile, module: &Module<'m>) -> Digests<'m> {
        let mut declared: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        let is_architecture = |word: &str| word.starts_with("sm_") || word.starts_with("compute_");
        let mut common: Vec<&str> =
            module.target.iter().copied().filter(|word| !is_architecture(word)).collect();
        common.push(if module.address_size == Some(64) { "64" } else { "32" });
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    let text = source.slice(function.span);
                    declared.entry(function.name.text).or_default().push(text);
                }
                Item::Variable(variable) => {
                    for declarator in &variable.names {
                        let text = source.slice(variable.span);
                        declared.entry(declarator.name.text).or_default().push(text);
                    }
                }
                Item::Directive(Directive::Pragma { span, .. }) => common.push(source.slice(*span)),
                Item::Directive(_) => {}
            }
        }
        for [new, old] in &module.aliases {
            declared.entry(new.text).or_default().push(old.text);
        }
        Digests { source, declared, common }
    }

    /// The hash of a function, as 64 hexadecimal digits.
    pub fn of(&self, function: &Function<'_>) -> String {
        let own = self.source.slice(function.span);
        let named = self.named_by(own, function.name.text);
        let others = named.iter().flat_map(|name| &self.declared[name]);
        let mut hasher = Sha256::new();
        for text in self.common.iter().chain([&own]).chain(others) {
            for word in Words::of(text) {
                hasher.update(word);
                // No word holds these two bytes, so other words are other bytes.
                hasher.update([0]);
            }
            hasher.update([1]);
        }
        hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The names that a text depends on, without its own.
    fn named_by(&self, text: &'m str, own: &str) -> BTreeSet<&'m str> {
        let mut named = BTreeSet::new();
        let mut texts = vec![text];
        while let Some(text) = texts.pop() {
            for word in Words::of(text) {
                if let Some((&name, declarations)) = self.declared.get_key_value(word)
                    && name != own
                    && named.insert(name)
                {
                    texts.extend(declarations);
                }
            }
        }
        named
    }
}

/// The words of a piece of PTX without blanks, comments and places in the source: names with all that is
/// joined to them by dots, numbers, strings, and single characters.
#[derive(Clone, Copy)]
struct Words<'t> {
    rest: &'t str,
}

impl<'t> Words<'t> {
    fn of(text: &'t str) -> Words<'t> {
        Words { rest: text }
    }

    /// The next word, whatever it is.
    fn word(&mut self) -> Option<&'t str> {
        loop {
            self.rest = &self.rest[gap_length(self.rest.as_bytes())..];
            // A line of a preprocessor: `# 1 "a.cu"`.
            if !self.rest.starts_with('#') {
                break;
            }
            self.rest = &self.rest[line_length(self.rest.as_bytes())..];
        }
        let first = self.rest.chars().next()?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%' | '.');
        let length = match first {
            '"' => self.rest[1..].find('"').map_or(self.rest.len(), |end| end + 2),
            _ if is_part(first) => self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()),
            _ => first.len_utf8(),
        };
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some(word)
    }

    /// Passes a word of this kind, if it is the next one.
    fn pass(&mut self, is_meant: impl Fn(&str) -> bool) -> bool {
        let mut ahead = *self;
        let is_next = ahead.word().is_some_and(is_meant);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    fn pass_numbers(&mut self) {
        while self.pass(|word| word.starts_with(|c: char| c.is_ascii_digit())) {}
    }

    /// Passes `, WORD`, if that comes next.
    fn pass_clause(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let is_next = ahead.pass(|next| next == ",") && ahead.pass(|next| next == word);
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// Skips the operands of `.loc`: `1 12 3, function_name NAME+4, inlined_at 1 20 5`.
    fn pass_location(&mut self) {
        self.pass_numbers();
        if self.pass_clause("function_name") {
            self.word();
            if self.pass(|word| word == "+") {
                self.pass_numbers();
            }
        }
        if self.pass_clause("inlined_at") {
            self.pass_numbers();
        }
    }

    /// Skips the operands of `.file`: `1 "a.cu", 1700000000, 1234`.
    fn pass_file(&mut self) {
        self.pass_numbers();
        self.pass(|word| word.starts_with('"'));
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        loop {
            let mut ahead = *self;
            if !(ahead.pass(|word| word == ",") && ahead.pass(is_number)) {
                return;
            }
            *self = ahead;
        }
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            match self.word()? {
                ".loc" => self.pass_location(),
                ".file" => self.pass_file(),
                word => return Some(word),
            }
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::patterns::REWRITABLE;
    use crate::ptx::{self, Depth};

    crate::unit_tests!(what_means_nothing_changes_nothing, what_means_something_changes_the_hash);

    /// The hash of the kernel `k`.
    fn digest(text: &str) -> String {
        let source = SourceFile::new("k.ptx", text);
        let both = [Depth::All, REWRITABLE].map(|depth| {
            let module = ptx::parse(&source, depth).unwrap();
            let kernel = module.functions().find(|function| function.name.text == "k").unwrap();
            Digests::new(&source, &module).of(kernel)
        });
        assert_eq!(both[0], both[1], "it depends on how much was parsed");
        both[0].clone()
    }

    const TEXT: &str = ".version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 used = 1;
.global .align 4 .u32 unused = 1;
.const .u32 far = 7;
.func (.param .b32 r) deep(.param .b32 x);
.func (.param .b32 r) near(.param .b32 x) { .reg .b32 %r<2>; ld.const.u32 %r1, [far]; ret; }
.func (.param .b32 r) deep(.param .b32 x) { ret; }
.visible .entry other() { ret; }
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<4>; .param .b32 p; .param .b32 q;
ld.global.u32 %r1, [used+0];
call (q), near, (p);
@%p1 bra DONE;
DONE: ret;
}
";

    fn with(from: &str, to: &str) -> String {
        assert!(TEXT.contains(from), "{from}");
        digest(&TEXT.replacen(from, to, 1))
    }

    fn what_means_nothing_changes_nothing() {
        let own = digest(TEXT);
        assert_eq!(own.len(), 64);
        for (from, to) in [
            ("DONE: ret", "DONE:\n\t// the end\n\tret"),
            ("[used+0]", "[ used /* there */ + 0 ]"),
            ("call (q)", ".loc 1 3 5\ncall (q)"),
            ("call (q)", ".loc 1 3 5, function_name $L__info+24, inlined_at 1 8 2\ncall (q)"),
            ("call (q)", "\n# 3 \"a.cu\"\ncall (q)"),
            ("@%p1 bra", "@%p1   bra"),
            (".version 8.0", ".version 7.8"),
            ("sm_80", "sm_90a"),
            ("unused = 1", "unused = 2"),
            ("other() { ret; }", "other() { trap; }"),
            (".visible .entry other", ".file 1 \"a.cu\", 17, 12\n.visible .entry other"),
        ] {
            assert_eq!(with(from, to), own, "{from}: {to}");
        }
    }

    fn what_means_something_changes_the_hash() {
        let mut hashes = BTreeSet::from([digest(TEXT)]);
        for (from, to) in [
            ("[used+0]", "[used+4]"),
            ("ld.global.u32", "ld.global.nc.u32"),
            ("@%p1 bra", "@!%p1 bra"),
            (" used = 1", " used = 2"),
            ("far = 7", "far = 8"),
            ("(.param .u64 a)\n{", "(.param .u64 a)\n.maxntid 128, 1, 1\n{"),
            ("sm_80", "sm_80, texmode_independent"),
            ("%r1, [far]; ret;", "%r1, [far]; call (q), deep, (p); ret;"),
            ("call (q)", ".pragma \"nounroll\";\ncall (q)"),
            ("DONE: ret", "DONE: exit"),
        ] {
            assert!(hashes.insert(with(from, to)), "{from}: {to}");
        }
        // A function that is reached through two others.
        let deep = TEXT.replace("%r1, [far]; ret;", "%r1, [far]; call (q), deep, (p); ret;");
        assert!(!hashes.insert(digest(&deep)));
        assert!(hashes.insert(digest(&deep.replace("x) { ret; }", "x) { trap; ret; }"))));
    }
}
