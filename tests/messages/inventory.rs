//! Messages in the sources that no test shows beside its input. The list is there to become shorter: a message that is
//! neither shown nor listed is an error. Those that no test can show stand at its end; the file `unshowable` gives
//! the reason for each.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;

use super::{folder, hold};
use crate::common::root;

/// Shorter pieces of text between placeholders are found anywhere.
const MIN_PIECE: usize = 12;

/// Macros and methods whose texts are for developers: panics, assertions, logs.
const FOR_DEVELOPERS: [&str; 14] = [
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "unreachable",
    "todo",
    "planted",
    "info",
    "debug",
    "warn",
    "trace",
    "unit_tests",
];

/// Files without messages, whose texts are words of C++ and forms of instructions.
const TABLES: [&str; 2] =
    ["src/synth/synth/scan/emit/names.rs", "src/verify/program/signatures.rs"];

/// The texts of a file that are for people.
#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn tokens(&mut self, tokens: TokenStream) {
        let mut attribute = false;
        for token in tokens {
            // `#[...]` and `#![...]` are documentation and reasons for exceptions.
            if let TokenTree::Punct(mark) = &token {
                attribute = mark.as_char() == '#' || attribute && mark.as_char() == '!';
                continue;
            }
            if std::mem::take(&mut attribute) {
                continue;
            }
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Ok(syn::Lit::Str(text)) = syn::parse_str(&literal.to_string()) {
                        self.0.push(text.value());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    /// Attributes are documentation and reasons for exceptions; but `error` has a message.
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta
            && list.path.is_ident("error")
        {
            self.tokens(list.tokens.clone());
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        // Unit tests beside the code.
        if module.ident != "tests" {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.visit_expr(&call.receiver);
        if call.method != "expect" {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = call.path.segments.last().map(|last| last.ident.to_string());
        if !name.is_some_and(|name| FOR_DEVELOPERS.contains(&name.as_str())) {
            self.tokens(call.tokens.clone());
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push(text.value());
    }
}

/// The longest piece of a text between placeholders, if the text is prose: several words, one of them such as sentences have.
fn piece(text: &str) -> Option<String> {
    const JOINTS: [&str; 16] = [
        "is", "are", "has", "have", "the", "of", "a", "an", "not", "no", "to", "in", "for", "and",
        "does", "cannot",
    ];
    // A comment or an expression of C++ in code that is written, not a message.
    if text.trim_start().starts_with("//") || text.contains(" ? ") {
        return None;
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let pieces = text.split(['{', '}']).step_by(2);
    let longest = pieces.max_by_key(|piece| piece.len())?.trim();
    let words: Vec<&str> = longest.split(' ').collect();
    let lower = |word: &&&str| word.chars().all(|c| c.is_ascii_lowercase());
    let is_prose = words.iter().filter(lower).count() >= 3
        && words.iter().any(|word| JOINTS.contains(word))
        && !longest.contains([';', '%', '='].as_slice())
        && longest.len() >= MIN_PIECE;
    is_prose.then(|| longest.to_owned())
}

/// The files of a kind in and below a folder.
fn files(folder: &Path, kind: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, kind, found);
        } else if path.extension().is_some_and(|own| own == kind) {
            found.push(path);
        }
    }
}

/// Everything that tests show beside its input, with single spaces.
fn shown() -> String {
    let mut paths = Vec::new();
    for (folder, kind) in [
        ("tests/messages", "txt"),
        ("tests/synth", "sketch"),
        ("tests/lint", "txt"),
        ("openacc-bench/synth", "cuh"),
    ] {
        files(&root().join(folder), kind, &mut paths);
    }
    // Errors of sketches have a file of the same kind.
    paths.push(root().join("tests/synth/errors.txt"));
    paths.retain(|path| !path.ends_with("unprovoked.txt"));
    let texts = paths.iter().map(|path| fs::read_to_string(path).expect("a text"));
    let texts: Vec<String> =
        texts.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    texts.join("\n")
}

/// The pieces of prose in the sources, each as `FILE: TEXT`.
fn messages() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    files(&root().join("src"), "rs", &mut paths);
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        if TABLES.contains(&name.as_str()) {
            continue;
        }
        let file =
            syn::parse_file(&fs::read_to_string(&path).expect("a text")).expect("it is Rust");
        let mut texts = Texts::default();
        texts.visit_file(&file);
        let pieces = texts.0.iter().filter_map(|text| piece(text));
        found.extend(pieces.map(|piece| (name.clone(), piece)));
    }
    found
}

#[test]
fn every_message_is_shown_or_listed() {
    let (shown, messages) = (shown(), messages());
    let found = messages.len();
    assert!(found > 500, "{found} messages");
    let missing = messages.into_iter().filter(|(_, piece)| !shown.contains(piece));
    let mut missing: Vec<String> =
        missing.map(|(name, piece)| format!("{name}: {piece}\n")).collect();
    missing.dedup();
    let reasons = fs::read_to_string(folder().join("unshowable")).expect("a text");
    let mut unshowable = String::new();
    let mut explained = 0;
    for line in reasons.lines() {
        let Some(place) = line.strip_prefix("- ") else {
            unshowable += &format!("{line}\n");
            continue;
        };
        let place = format!("src/{place}");
        let (here, others) = missing.into_iter().partition(|line| line.starts_with(&place));
        missing = others;
        let here: Vec<String> = here;
        assert!(!here.is_empty(), "`{place}` begins no message that is not shown");
        explained += here.len();
        unshowable += &here.concat();
    }
    let head = format!(
        "Messages that no test shows beside its input: {} of {found}, and {explained} below with the reason why.\n\n",
        missing.len()
    );
    hold("unprovoked.txt", &(head + &missing.concat() + "\n" + &unshowable));
}
