//! Random networks of shuffles, rewritten, executed, proved and assembled: in any order of their steps, with registers that
//! are written again, predicates from shuffles, results that are sent once more, and steps that are missing.

use std::fmt::Write;

use fastrand::Rng;
use ptxasw::interp;
use ptxasw::launch::{Launch, Meet};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, verify};
use rayon::prelude::*;

use crate::common::assembler::Assembler;
use crate::common::share;

/// Kernels of a full run.
const KERNELS: u64 = 1200;
/// The period of the kernels that are proved and assembled.
const PROVED: u64 = 4;
/// Blocks: whole warps, an incomplete one, lanes that are not consecutive in `%tid.x`.
pub const BLOCKS: [[u32; 3]; 5] = [[32, 1, 1], [64, 1, 1], [40, 1, 1], [8, 4, 1], [24, 2, 1]];
/// Operators with their types; the numbers of single precision among them have orders of their own.
const OPERATORS: [&str; 14] = [
    "add.s32",
    "min.s32",
    "min.u32",
    "max.s32",
    "max.u32",
    "and.b32",
    "or.b32",
    "xor.b32",
    "min.f32",
    "max.f32",
    "min.ftz.f32",
    "max.ftz.f32",
    "min.NaN.f32",
    "max.NaN.f32",
];
/// Numbers of single precision with rules of their own, by their bits, and ends of integers.
const WORDS: [u32; 12] = [
    0,
    1,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0x007f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffff_ffff,
    0x3f80_0000,
    0xbf80_0000,
];

/// A kernel that is being written.
struct Writer {
    rng: Rng,
    text: String,
    registers: u32,
    predicates: u32,
    stored: u32,
    labels: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "\t{line}");
    }

    fn word(&mut self) -> String {
        self.registers += 1;
        format!("%w{}", self.registers)
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        format!("%q{}", self.predicates)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(0..100) < percent
    }

    fn one_of<'o>(&mut self, all: &[&'o str]) -> &'o str {
        all[self.rng.usize(0..all.len())]
    }

    /// A word of this lane.
    fn loaded(&mut self) -> String {
        let (word, offset) = (self.word(), 4 * self.rng.u32(0..6));
        self.line(&format!("ld.global.u32 {word}, [%rd5+{offset}];"));
        word
    }

    /// A condition that differs between lanes.
    fn condition(&mut self) -> String {
        let predicate = self.predicate();
        if self.chance(30) {
            let (sent, word) = (self.loaded(), self.word());
            let way = self.one_of(&["up", "down", "bfly"]);
            let (by, bound) = (self.rng.u32(0..20), self.one_of(&["0", "31"]));
            self.line(&format!(
                "shfl.sync.{way}.b32 {word}|{predicate}, {sent}, {by}, {bound}, -1;"
            ));
            return predicate;
        }
        let comparison = self.one_of(&["lt.s32", "gt.u32", "eq.s32", "ne.b32"]);
        let word = if self.chance(50) { self.loaded() } else { "%r4".to_owned() };
        let bound = self.one_of(&["0", "1", "16", "31", "100"]);
        self.line(&format!("setp.{comparison} {predicate}, {word}, {bound};"));
        predicate
    }

    fn store(&mut self, word: &str) {
        let at = 4 * self.stored;
        self.stored += 1;
        self.line(&format!("st.global.u32 [%rd6+{at}], {word};"));
    }

    /// Two words combined in a register.
    fn combine(&mut self, operator: &str, result: &str, (a, b): (&str, &str), guard: &str) {
        if !operator.ends_with("f32") {
            let (a, b) = if self.chance(50) { (a, b) } else { (b, a) };
            return self.line(&format!("{guard}{operator} {result}, {a}, {b};"));
        }
        self.line(&format!("mov.b32 %f1, {a};"));
        self.line(&format!("mov.b32 %f2, {b};"));
        self.line(&format!("{operator} %f3, %f1, %f2;"));
        self.line(&format!("{guard}mov.b32 {result}, %f3;"));
    }

    /// A network, whose result is used by all lanes or by some.
    fn network(&mut self) {
        let operator = OPERATORS[self.rng.usize(0..OPERATORS.len())];
        let mut held = self.loaded();
        if !operator.ends_with("f32") && self.chance(40) {
            let condition = self.condition();
            let (one, zero) = [("1", "0"), ("0", "1"), ("1", "-1")][self.rng.usize(0..3)];
            self.line(&format!("selp.b32 {held}, {one}, {zero}, {condition};"));
            if self.chance(15) {
                self.line(&format!("setp.gt.s32 {condition}, %r4, 9;"));
            }
        }
        let source = held.clone();
        let way = self.one_of(&["bfly", "bfly", "down", "up"]);
        let mut steps = [16, 8, 4, 2, 1];
        if way == "up" {
            steps.reverse();
        }
        if self.chance(40) {
            self.rng.shuffle(&mut steps);
        }
        let in_place = self.chance(40);
        let kept = if self.chance(15) { 4 } else { 5 };
        for step in &steps[..kept] {
            let (word, inside) = (self.word(), self.predicate());
            let bound = if way == "up" { 0 } else { 31 };
            self.line(&format!(
                "shfl.sync.{way}.b32 {word}|{inside}, {held}, {step}, {bound}, -1;"
            ));
            let result = if in_place { held.clone() } else { self.word() };
            if way == "up" {
                if !in_place {
                    self.line(&format!("mov.b32 {result}, {held};"));
                }
                self.combine(operator, &result, (&held, &word), &format!("@{inside} "));
            } else {
                self.combine(operator, &result, (&held, &word), "");
            }
            held = result;
            if self.chance(6) && !in_place {
                self.line(&format!("add.s32 {source}, %r4, 1;"));
            }
            if self.chance(4) {
                self.store(&held.clone());
            }
            if self.chance(4) {
                self.line("bar.warp.sync -1;");
            }
        }
        if self.chance(35) {
            let (word, way, by) =
                (self.word(), self.one_of(&["idx", "bfly", "down"]), self.rng.u32(0..32));
            self.line(&format!("shfl.sync.{way}.b32 {word}, {held}, {by}, 31, -1;"));
            self.store(&word);
        }
        match self.rng.u32(0..4) {
            0 => {
                self.line("setp.eq.s32 %p1, %r4, 0;");
                self.line(&format!("selp.b32 {held}, {held}, 0, %p1;"));
                self.store(&held);
            }
            1 => {
                let at = 4 * self.stored;
                self.stored += 1;
                self.line("and.b32 %r5, %r3, 31;");
                self.line("setp.eq.s32 %p2, %r5, 0;");
                self.line(&format!("@%p2 st.global.u32 [%rd6+{at}], {held};"));
            }
            _ => self.store(&held),
        }
    }

    /// A network that combines what the iteration before has loaded.
    fn loaded_before(&mut self) {
        let (source, label) = (self.word(), self.labels);
        self.labels += 1;
        let stored = self.stored;
        self.stored += 4;
        self.line("mov.u32 %r6, 0;");
        self.line("mov.b64 %rd7, %rd6;");
        let _ = writeln!(self.text, "$LOOP{label}:");
        let (mut held, loads) = (source.clone(), self.rng.usize(0..5));
        for step in 0..5_usize {
            let (word, result) = (self.word(), self.word());
            self.line(&format!("shfl.sync.bfly.b32 {word}, {held}, {}, 31, -1;", 16 >> step));
            self.line(&format!("max.s32 {result}, {held}, {word};"));
            if step == loads {
                self.line(&format!("ld.global.u32 {source}, [%rd5+{}];", 4 * step));
            }
            held = result;
        }
        self.line("setp.ne.s32 %p3, %r6, 0;");
        self.line(&format!("@%p3 st.global.u32 [%rd7+{}], {held};", 4 * stored));
        self.line("add.s64 %rd5, %rd5, 4;");
        self.line("add.s64 %rd7, %rd7, 4;");
        self.line("add.s32 %r6, %r6, 1;");
        self.line("setp.lt.s32 %p4, %r6, 4;");
        self.line(&format!("@%p4 bra $LOOP{label};"));
    }
}

impl Writer {
    /// Lanes of a warp that part: a shuffle for some, in a branch or in a loop that is left one by one, with a barrier
    /// behind it or none.
    fn parted(&mut self) {
        self.labels += 1;
        let (label, source, word) = (self.labels, self.loaded(), self.word());
        let (part, held) = (self.one_of(&["1", "3", "16"]), self.word());
        self.line(&format!("and.b32 {held}, %r4, {part};"));
        if self.chance(50) {
            self.line(&format!("setp.eq.u32 %p5, {held}, 0;"));
            self.line(&format!("@%p5 bra $PARTED{label};"));
            self.line(&format!("shfl.sync.bfly.b32 {word}, {source}, 1, 31, -1;"));
            self.store(&word);
            self.line(&format!("$PARTED{label}:"));
        } else {
            let own = self.chance(70);
            self.line("mov.u32 %r8, 0;");
            self.line(&format!("$PARTED{label}:"));
            self.line(&format!("shfl.sync.bfly.b32 {word}, {source}, 1, 31, -1;"));
            self.line("add.u32 %r8, %r8, 1;");
            self.line(&format!("setp.le.u32 %p5, %r8, {};", if own { &held } else { part }));
            self.line(&format!("@%p5 bra $PARTED{label};"));
            self.store(&word);
        }
        if self.chance(40) {
            // (A launch of several blocks would leave it out in some.)
            let (guard, barrier) = (self.chance(30), self.one_of(&["bar.sync", "barrier.sync"]));
            if guard {
                self.line("mov.u32 %r8, %ctaid.x;");
                self.line("setp.gt.u32 %p5, %r8, 0;");
                self.line(&format!("@%p5 bra $WAITED{label};"));
            }
            self.line(&format!("{barrier} 0;"));
            if guard {
                self.line(&format!("$WAITED{label}:"));
            }
        }
    }
}

/// A kernel by its number.
pub fn kernel(seed: u64, target: &str) -> String {
    let rng = Rng::with_seed(seed);
    let text = String::new();
    let mut writer = Writer { rng, text, registers: 0, predicates: 0, stored: 0, labels: 0 };
    for _ in 0..writer.rng.u32(1..4) {
        if writer.chance(7) {
            writer.parted();
        }
        match writer.chance(15) {
            true => writer.loaded_before(),
            false => writer.network(),
        }
    }
    let Writer { text, registers, predicates, .. } = writer;
    format!(
        ".version 8.6\n.target {target}\n.address_size 64\n\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n\t.reg .pred %p<9>, %q<{}>;\n\t.reg .b32 %r<9>, %w<{}>;\n\
         \t.reg .b64 %rd<9>;\n\t.reg .f32 %f<4>;\n\tld.param.u64 %rd1, [a];\n\tld.param.u64 %rd2, [b];\n\
         \tmov.u32 %r1, %tid.y;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n\tmad.lo.s32 %r1, %r1, %r2, %r3;\n\
         \tmov.u32 %r4, %laneid;\n\tmul.wide.u32 %rd3, %r1, 4;\n\tmul.wide.u32 %rd4, %r1, 256;\n\
         \tadd.s64 %rd5, %rd1, %rd3;\n\tadd.s64 %rd6, %rd2, %rd4;\n{text}\tret;\n}}\n",
        predicates + 1,
        registers + 1
    )
}

/// What became of a kernel.
#[derive(Default)]
struct Found {
    rewritten: usize,
    launches: usize,
    proved: usize,
    unproved: Vec<String>,
    complaints: Vec<String>,
}

/// A launch of it.
pub fn launch(seed: u64, block: [u32; 3]) -> Launch {
    let text = format!(
        r#"{{"kernel": "k", "grid": [1, 1, 1], "block": {block:?}, "buffers": {{"a": {{"type": "u32", "len": 128}},
            "b": {{"type": "u32", "len": 4096}}}}, "args": [{{"buffer": "a"}}, {{"buffer": "b"}}]}}"#
    );
    let mut launch = Launch::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut rng = Rng::with_seed(seed);
    let mut word = || match rng.u32(0..3) {
        0 => WORDS[rng.usize(0..WORDS.len())],
        1 => rng.u32(0..64),
        _ => rng.u32(..),
    };
    if let Some(buffer) = launch.buffers.get_mut("a") {
        buffer.bytes = (0..128).flat_map(|_| word().to_le_bytes()).collect();
    }
    launch.uninitialized = true;
    launch.races = true;
    launch
}

fn judge(seed: u64, assembler: Option<&Assembler>) -> Found {
    let mut found = Found::default();
    for (target, strategies) in [("sm_80", "collective"), ("sm_80", "auto"), ("sm_70", "auto")] {
        let text = kernel(seed, target);
        let mut options = Options::default();
        options.select.strategies = strategies.parse().unwrap_or_else(|error| panic!("{error}"));
        let source = SourceFile::new("network.ptx", text.as_str());
        let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if result.text == text {
            continue;
        }
        found.rewritten += 1;
        let output = SourceFile::new("rewritten.ptx", result.text.as_str());
        let parsed =
            |source| ptx::parse(source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let (before, after) = (parsed(&source), parsed(&output));
        let complain = |what: &str| format!("{seed}, {strategies}, {target}: {what}");
        for (number, block) in BLOCKS.into_iter().enumerate() {
            let launch = launch(seed, block);
            // Lanes read what nobody sends where a warp is not whole.
            let Ok(expected) = interp::run(&before, &launch) else { continue };
            found.launches += 1;
            for meet in [Meet::Assembler, Meet::Random(seed + number as u64)] {
                let launch = Launch { meet, ..launch.clone() };
                match interp::run(&after, &launch) {
                    Ok(actual) if actual.buffers == expected.buffers => {}
                    Ok(_) => found.complaints.push(complain(&format!("{block:?} differs"))),
                    Err(fault) => found.complaints.push(complain(&format!("{block:?}: {fault}"))),
                }
            }
        }
        if !seed.is_multiple_of(PROVED) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let assembled = |one: &Assembler| one.assemble(&result.text, &folder.path().join("cubin"));
        // (`.NaN` is not for older targets.)
        if let Some(Err(message)) = assembler.filter(|_| target == "sm_80").map(assembled) {
            found.complaints.push(complain(&message));
        }
        match verify(&source, &output, &Effort::default()) {
            Ok(one) if one.verdict == Verdict::Equal => found.proved += 1,
            Ok(one) if one.verdict == Verdict::Unknown => {
                let problems = one.functions.iter().flat_map(|function| &function.problems);
                let reasons: Vec<String> = problems.map(|one| one.reason.clone()).collect();
                found.unproved.push(complain(&reasons.join("; ")));
            }
            other => found.complaints.push(complain(&format!("{other:?}"))),
        }
    }
    found
}

#[test]
fn random_networks_compute_the_same() {
    let assembler = Assembler::find();
    let results: Vec<Found> =
        (0..share(KERNELS)).into_par_iter().map(|seed| judge(seed, assembler.as_ref())).collect();
    let count = |of: fn(&Found) -> usize| results.iter().map(of).sum::<usize>();
    let (rewritten, launches) = (count(|one| one.rewritten), count(|one| one.launches));
    let proved = count(|one| one.proved);
    let unproved: Vec<&String> = results.iter().flat_map(|one| &one.unproved).collect();
    println!(
        "{rewritten} texts, {launches} launches; {proved} proved, {} not: {unproved:#?}",
        unproved.len()
    );
    let complaints: Vec<&String> = results.iter().flat_map(|one| &one.complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(rewritten as u64 > share(KERNELS), "only {rewritten} texts were rewritten");
    assert!(launches > 2 * rewritten, "only {launches} launches went through");
    assert!(unproved.len() * 20 < proved, "{proved} are proved, not {unproved:#?}");
}
