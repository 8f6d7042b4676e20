//! A text whose names are spelled like words of the language: opcodes, modifiers, types, special registers.

use std::collections::{BTreeMap, BTreeSet};

use ptxasw::isa::{Opcode, Qualifier};
use ptxasw::ptx::resolved::{Declared, Resolved};
use ptxasw::ptx::{self, Depth, FunctionKind};
use ptxasw::source::SourceFile;
use strum::IntoEnumIterator;

/// Types and special registers, whose spellings no list of the program has.
const MORE: &str = "b8 b16 b32 b64 s32 s64 u32 u64 f16 f32 f64 pred tid ntid laneid warpid nwarpid ctaid nctaid smid gridid \
    clock lanemask_eq reg param entry func align visible v2 v4 x y z w lo hi";

/// The words, each once, beginning with another one for each `turn`.
fn words(turn: usize) -> impl Iterator<Item = String> {
    let opcodes = Opcode::iter().map(|one| <&str>::from(one).to_owned());
    let modifiers = Qualifier::iter().map(|one| <&str>::from(one).to_owned());
    let all = opcodes.chain(modifiers).chain(MORE.split(' ').map(str::to_owned));
    let is_name = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && word != "unknown"
    };
    let mut words: Vec<String> = all.filter(is_name).collect();
    words.sort();
    words.dedup();
    let count = words.len();
    words.rotate_left(turn * 29 % count);
    let first = words.clone().into_iter();
    first.chain((0..).flat_map(move |number| {
        words.clone().into_iter().map(move |word| format!("{word}_{number}"))
    }))
}

/// Names in the place of others.
struct Names<W> {
    words: W,
    known: BTreeMap<(bool, String), String>,
}

impl<W: Iterator<Item = String>> Names<W> {
    /// The name in the place of a kernel's, or of anything else's.
    fn of(&mut self, is_kernel: bool, name: &str) -> String {
        let words = &mut self.words;
        let new = || words.next().expect("endless");
        self.known.entry((is_kernel, name.to_owned())).or_insert_with(new).clone()
    }
}

/// The texts with other names for kernels, parameters, registers, labels and variables, the same names in all of them.
/// `None` where a name stands in a row or in a directive that is kept as text.
pub fn respelled<const COUNT: usize>(texts: [&str; COUNT], turn: usize) -> Option<[String; COUNT]> {
    let mut names = Names { words: words(turn), known: BTreeMap::new() };
    let texts = texts.map(|text| respelled_one(text, &mut names));
    texts.iter().all(Option::is_some).then(|| texts.map(Option::unwrap_or_default))
}

fn respelled_one(text: &str, names: &mut Names<impl Iterator<Item = String>>) -> Option<String> {
    let source = SourceFile::new("respelled.ptx", text);
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    if !module.aliases.is_empty() || text.contains(".section") || text.contains("@@dwarf") {
        return None;
    }
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for function in module.functions() {
        let span = function.name.span;
        if function.kind == FunctionKind::Entry {
            let name = names.of(true, function.name.text);
            edits.push((span.start as usize, span.end as usize, name));
        }
        let resolved = Resolved::of(function);
        if resolved.has_rows {
            return None;
        }
        // Each member of a family that is named is declared by itself.
        let mut members: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        let mut declarations = Vec::new();
        for mention in &resolved.mentions {
            let Some(number) = mention.entity else { continue };
            let (start, mut end) = (mention.span.start as usize, mention.span.end as usize);
            let entity = &resolved.entities[number];
            if entity.is_family {
                let rest = &text[end..];
                if rest.trim_start().starts_with('<') {
                    declarations.push((number, start, end + rest.find('>')? + 1));
                    continue;
                }
                end += rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            }
            let name = names.of(false, &text[start..end]);
            if entity.is_family {
                members.entry(number).or_default().insert(name.clone());
            }
            edits.push((start, end, name));
        }
        for (number, start, end) in declarations {
            if resolved.entities[number].kind != Declared::Register {
                return None;
            }
            let own: Vec<String> = members.remove(&number).into_iter().flatten().collect();
            let unused = names.of(false, &text[start..end]);
            edits.push((start, end, if own.is_empty() { unused } else { own.join(", ") }));
        }
    }
    edits.sort();
    let (mut out, mut done) = (String::new(), 0);
    for (start, end, by) in edits {
        out += &text[done..start];
        out += &by;
        done = end;
    }
    Some(out + &text[done..])
}
