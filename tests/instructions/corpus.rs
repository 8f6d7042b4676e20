//! The opcodes of all PTX files in the repository, and how much of their meaning is known.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ptxasw::cfg;
use ptxasw::emulate::{Meaning, meaning};
use ptxasw::isa::Words;
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

/// What was seen of an opcode.
pub struct Seen {
    /// How much of its meaning is known where least is.
    pub meaning: Meaning,
    /// How often it stands in the inputs.
    pub count: usize,
    /// A file that has it.
    pub example: String,
}

/// All opcodes with their modifiers.
///
/// # Panics
/// If a folder cannot be read.
pub fn opcodes() -> &'static BTreeMap<String, Seen> {
    static FOUND: OnceLock<BTreeMap<String, Seen>> = OnceLock::new();
    FOUND.get_or_init(read)
}

fn read() -> BTreeMap<String, Seen> {
    let mut files = Vec::new();
    for folder in ["ptx-samples", "tests"] {
        collect(&super::root().join(folder), &mut files);
    }
    files.sort();
    let all: Vec<BTreeMap<String, Seen>> = files.par_iter().map(|file| of_file(file)).collect();
    let mut found: BTreeMap<String, Seen> = BTreeMap::new();
    for (opcode, new) in all.into_iter().flatten() {
        match found.entry(opcode) {
            Entry::Vacant(entry) => _ = entry.insert(new),
            Entry::Occupied(mut entry) => {
                let seen = entry.get_mut();
                seen.meaning = seen.meaning.max(new.meaning);
                seen.count += new.count;
            }
        }
    }
    found
}

fn of_file(file: &Path) -> BTreeMap<String, Seen> {
    let mut found: BTreeMap<String, Seen> = BTreeMap::new();
    let Ok(text) = std::fs::read_to_string(file) else { return found };
    let name = file.strip_prefix(super::root()).unwrap_or(file).to_string_lossy();
    let source = SourceFile::new(name, text);
    // Some inputs are broken on purpose.
    let Ok(module) = ptx::parse(&source, Depth::All) else { return found };
    for function in module.functions() {
        let Ok(flow) = cfg::build(&source, function) else { continue };
        for inst in &flow.insts {
            let known = meaning(inst);
            let words: Vec<&str> = Words::of(inst.ast.opcode.text).collect();
            let seen = found.entry(words.join(".")).or_insert_with(|| Seen {
                meaning: known,
                count: 0,
                example: source.name().to_owned(),
            });
            seen.meaning = seen.meaning.max(known);
            seen.count += 1;
        }
    }
    found
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            files.push(path);
        }
    }
}
