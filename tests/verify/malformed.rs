//! Text that no assembler takes is equal to nothing: instructions whose results nobody reads, changed at every
//! place and added to a kernel. Whatever the validator calls equal then, the real ptxas must take.

use ptxasw::verify::Verdict;
use rayon::prelude::*;

use super::{common, validate};
use crate::common::assembler::Assembler;
use crate::turns::has_turn;

/// A kernel with registers of every type; `{TARGET}` and `{BODY}` are filled in.
const KERNEL: &str = include_str!("malformed/kernel.ptx");

/// Instructions that ptxas takes in the kernel.
const SEEDS: &str = include_str!("malformed/seeds.txt");

/// What may stand in an operand's place.
const OPERANDS: &[&str] = &[
    "%r5",
    "%f5",
    "%rd5",
    "%fd5",
    "%rs5",
    "%p5",
    "%s5",
    "%u5",
    "%h5",
    "%hh5",
    "%ud5",
    "%q1",
    "1",
    "-1",
    "1.5",
    "0f3f800000",
    "0d3ff0000000000000",
    "_",
    "%nowhere",
    "%tid.x",
    "%clock64",
    "sh",
    "p",
    "k",
    "L",
    "nowhere",
    "[%rd5]",
    "[%r5]",
    "[sh]",
    "[nowhere]",
    "[p]",
    "{%r5}",
    "{%r5, %r6}",
    "{%f5, %f6, %f7, %f8}",
    "{%rd5, %rd6}",
    "{%r5, %r6, %r7}",
    "(%r5, %r6)",
    "!%p5",
    "-%r5",
    "%r5|%p5",
    "%p5|%p6",
    "%r5+4",
    "%r5.b0",
    "sh+4",
    "%r5, %r6",
];

/// What may stand among an opcode's modifiers.
const MODIFIERS: &[&str] = &[
    "foo",
    "sat",
    "ftz",
    "rn",
    "rz",
    "rni",
    "v2",
    "v4",
    "v8",
    "nc",
    "volatile",
    "weak",
    "cc",
    "wide",
    "lo",
    "hi",
    "global",
    "shared",
    "local",
    "const",
    "param",
    "b8",
    "b16",
    "b32",
    "b64",
    "b128",
    "u8",
    "u16",
    "u32",
    "u64",
    "s16",
    "s32",
    "s64",
    "f16",
    "f32",
    "f64",
    "pred",
    "f16x2",
    "relu",
    "uni",
    "sync",
    "ca",
    "cg",
    "wb",
    "L1::evict_last",
    "L2::128B",
    "approx",
    "full",
    "to",
    "and",
    "or",
    "eq",
    "lt",
    "ltu",
    "up",
    "idx",
    "all",
    "NaN",
    "pack",
    "noftz",
    "relaxed",
    "gpu",
    "shared::cta",
    "clamp",
    "shiftamt",
];

/// An instruction's opcode and operands, a vector as one operand.
fn split(text: &str) -> (Vec<String>, Vec<String>) {
    let text = text.trim_end_matches(';');
    let (opcode, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut depth = 0;
    let mut operands = vec![String::new()];
    for c in rest.chars() {
        depth += i32::from("{[(".contains(c)) - i32::from("}])".contains(c));
        match (c, depth, operands.last_mut()) {
            (',', 0, _) => operands.push(String::new()),
            (c, _, Some(last)) => last.push(c),
            _ => {}
        }
    }
    operands.retain(|operand| !operand.is_empty());
    (opcode.split('.').map(str::to_owned).collect(), operands)
}

fn join(words: &[String], operands: &[String]) -> String {
    format!("{} {};", words.join("."), operands.join(", "))
}

/// The mutants of an instruction: each changes one operand or one modifier.
fn mutants(text: &str) -> Vec<String> {
    let (words, operands) = split(text);
    let mut all = Vec::new();
    for at in 0..operands.len() {
        let mut fewer = operands.clone();
        fewer.remove(at);
        all.push(join(&words, &fewer));
        for other in OPERANDS {
            let mut changed = operands.clone();
            changed[at] = (*other).to_owned();
            all.push(join(&words, &changed));
        }
        let inner = operands[at].strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        if let Some(inner) = inner {
            let elements: Vec<&str> = inner.split(',').collect();
            for place in 0..elements.len() {
                for other in ["", "%r5", "%rd5", "%f5", "%p5", "%rs5", "1", "_", "%nowhere"] {
                    let mut changed = elements.clone();
                    changed[place] = other;
                    changed.retain(|element| !element.is_empty());
                    let mut with = operands.clone();
                    with[at] = format!("{{{}}}", changed.join(", "));
                    all.push(join(&words, &with));
                }
            }
            let mut with = operands.clone();
            with[at] = format!("{{{inner}, {inner}}}");
            all.push(join(&words, &with));
        }
    }
    for at in 1..words.len() {
        let mut fewer = words.clone();
        fewer.remove(at);
        all.push(join(&fewer, &operands));
    }
    for modifier in MODIFIERS {
        for at in 1..=words.len() {
            let mut more = words.clone();
            more.insert(at, (*modifier).to_owned());
            all.push(join(&more, &operands));
            let mut changed = words.clone();
            if at < changed.len() {
                changed[at] = (*modifier).to_owned();
                all.push(join(&changed, &operands));
            }
        }
    }
    all.extend(["@%r5", "@!%f5", "@%nowhere"].map(|guard| format!("{guard} {text}")));
    all
}

fn kernel(target: &str, body: &str) -> String {
    KERNEL.replace("{TARGET}", target).replace("{BODY}", body)
}

fn is_equal(original: &str, rewritten: &str) -> bool {
    let read = |text: &str| {
        let source = ptxasw::source::SourceFile::new("a.ptx", text);
        ptxasw::ptx::parse(&source, ptxasw::ptx::Depth::All).is_ok()
    };
    // What cannot be parsed is an error, no verdict.
    read(rewritten) && validate("a.ptx", original, rewritten).verdict == Verdict::Equal
}

/// How many mutants ptxas is given in one file: mostly it takes all of them, and starting it is most of its time.
const TOGETHER: usize = 32;

/// Judges every `stride`th mutant, added to a kernel with a body of its own, and hands those that are equal to
/// ptxas.
fn judge(target: &str, body: &str, stride: usize) {
    let Some(assembler) = Assembler::find() else { return };
    let original = kernel(target, body);
    let all = SEEDS.lines().flat_map(mutants).step_by(stride).enumerate();
    let all: Vec<String> =
        all.filter(|(at, _)| has_turn(*at, 2)).map(|(_, mutant)| mutant).collect();
    assert!(all.len() > 500);
    let with = |added: &str| kernel(target, &format!("{body}\n{added}"));
    let equal: Vec<String> =
        all.par_iter().filter(|mutant| is_equal(&original, &with(mutant))).cloned().collect();
    assert!(equal.len() > all.len() / 100, "only {} of {} are equal", equal.len(), all.len());
    let refusal = |added: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let cubin = folder.path().join("a.cubin");
        // With a cubin it had a warning to say.
        assembler.assemble(&with(added), &cubin).err().filter(|_| !cubin.exists())
    };
    let alone = |mutant: &String| {
        let error = refusal(mutant)?;
        let reason = error.lines().find(|line| line.contains("error")).unwrap_or(&error);
        Some(format!("{mutant}   {reason}"))
    };
    let refused: Vec<String> = equal
        .par_chunks(TOGETHER)
        .filter(|mutants| refusal(&mutants.join("\n")).is_some())
        .flat_map_iter(|mutants| mutants.iter().filter_map(alone))
        .collect();
    println!("{} mutants, {} equal, {} refused", all.len(), equal.len(), refused.len());
    common::report(&refused, "the validator must not call equal what ptxas refuses");
}

#[test]
fn what_ptxas_refuses_is_not_equal() {
    judge("sm_80", "", 7);
}

#[test]
fn forms_of_the_original_do_not_admit_what_ptxas_refuses() {
    let seeds: Vec<&str> = SEEDS.lines().collect();
    judge("sm_100", &seeds.join("\n"), 61);
}

/// Our table would be worth little if it knew only a few of the instructions that ptxas takes.
#[test]
fn instructions_that_ptxas_takes_may_be_added() {
    let original = kernel("sm_80", "");
    let refused: Vec<&str> =
        SEEDS.lines().filter(|seed| !is_equal(&original, &kernel("sm_80", seed))).collect();
    println!("{refused:#?}");
    assert!(refused.len() * 5 < SEEDS.lines().count(), "{refused:#?}");
}
