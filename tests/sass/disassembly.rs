//! What `nvdisasm` prints of a cubin.

#![allow(clippy::disallowed_methods, reason = "a test runs the disassembler")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

/// An instruction.
pub struct Line {
    /// All of it, without its guard.
    pub text: String,
    /// Its name without modifiers.
    pub mnemonic: String,
    /// Its registers, uniform ones with `true`, without those that read as 0.
    pub registers: BTreeSet<(bool, u8)>,
    /// Where it goes, in bytes from the beginning of its function.
    pub target: Option<u32>,
    /// Whether nothing stands in front of the target.
    pub is_plain: bool,
}

/// The instructions of a function by their offsets.
pub type Listing = BTreeMap<u32, Line>;

static INSTRUCTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[ \t]+/\*([0-9a-f]{4,})\*/[ \t]+(.*?)[ \t]*;").unwrap());
static GUARD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[{ ]*(@!?U?P[0-9T]+ +)?").unwrap());
static REGISTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(^|[^A-Za-z0-9_.$])(U?)R([0-9]+)(?-u:\b)").unwrap());
static TARGET: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"`\(([^)]+)\)").unwrap());

/// The functions of a cubin by name.
pub fn of(nvdisasm: &Path, cubin: &Path) -> BTreeMap<String, Listing> {
    let output = Command::new(nvdisasm).arg("-c").arg(cubin).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (mut found, mut labels) = (BTreeMap::<String, Listing>::new(), BTreeMap::new());
    let (mut name, mut waiting, mut goals) = (String::new(), Vec::new(), Vec::new());
    for row in text.lines() {
        if let Some(section) = row.strip_prefix(".text.").and_then(|rest| rest.strip_suffix(':')) {
            name = section.to_owned();
            found.entry(name.clone()).or_default();
            waiting = vec![name.clone()];
        } else if let Some(instruction) = INSTRUCTION.captures(row) {
            let offset = u32::from_str_radix(&instruction[1], 16).unwrap();
            for label in waiting.drain(..) {
                labels.insert((name.clone(), label), offset);
            }
            let text = GUARD.replace(&instruction[2], "").into_owned();
            if let Some(label) = TARGET.captures(&text) {
                goals.push((name.clone(), offset, label[1].to_owned()));
            }
            found.entry(name.clone()).or_default().insert(offset, line(text));
        } else if let Some(label) = row.trim().strip_suffix(':') {
            waiting.push(label.to_owned());
        }
    }
    for (name, offset, label) in goals {
        let target = labels.get(&(name.clone(), label)).copied();
        found.get_mut(&name).unwrap().get_mut(&offset).unwrap().target = target;
    }
    found
}

fn line(text: String) -> Line {
    let (word, operands) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
    let mnemonic = word.split('.').next().unwrap_or_default().to_owned();
    let number = |found: regex::Captures<'_>| (!found[2].is_empty(), found[3].parse().unwrap());
    let registers = REGISTER.captures_iter(operands).map(number).collect();
    let asks = word.contains(".DIV") || word.contains(".CONV");
    let is_plain = operands.trim_start().starts_with('`') && !asks;
    Line { mnemonic, registers, target: None, is_plain, text }
}
