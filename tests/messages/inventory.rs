//! Messages in the sources that no file of `tests/messages` shows. The list is there to become shorter: a message that is
//! neither shown nor listed is an error.

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

/// The texts of a file that are for people.
#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
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
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

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

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_message_is_shown_or_listed() {
    let shown = fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path());
    let shown = shown.filter(|path| {
        path.extension().is_some_and(|kind| kind == "txt") && !path.ends_with("unprovoked.txt")
    });
    // Errors of sketches have a file of the same kind.
    let shown = shown.chain([root().join("tests/synth/errors.txt")]);
    let shown: String = shown.map(|path| fs::read_to_string(path).expect("a text")).collect();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut paths = Vec::new();
    sources(&root().join("src"), &mut paths);
    paths.sort();
    let (mut found, mut missing) = (0, Vec::new());
    for path in paths {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        let file =
            syn::parse_file(&fs::read_to_string(&path).expect("a text")).expect("it is Rust");
        let mut texts = Texts::default();
        texts.visit_file(&file);
        for piece in texts.0.iter().filter_map(|text| piece(text)) {
            found += 1;
            if !shown.contains(&piece) {
                missing.push(format!("{name}: {piece}\n"));
            }
        }
    }
    missing.dedup();
    assert!(found > 500, "{found} messages");
    let head =
        format!("Messages that no file beside this one shows: {} of {found}.\n\n", missing.len());
    hold("unprovoked.txt", &(head + &missing.concat()));
}
