//! Random exchanges within a warp through shared memory, rewritten, executed, proved and assembled: with source lanes of
//! many forms, one behind the other or in a loop, and with what must keep them: another store in between, accesses under
//! predicates, words of other warps, lanes that do something else, barriers of some lanes.

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
const KERNELS: u64 = 900;
/// Kernels whose lanes wait at different barriers of their warp, in front of an exchange.
const DIVERGENT: [u64; 2] = [7006, 11053];
/// The period of the kernels that are proved and assembled.
const PROVED: u64 = 2;
/// Blocks of whole warps, and one that is not.
const BLOCKS: [[u32; 3]; 5] = [[32, 1, 1], [64, 1, 1], [32, 2, 1], [96, 1, 1], [48, 1, 1]];

/// A kernel that is being written.
struct Writer {
    rng: Rng,
    text: String,
    words: u32,
    stored: u32,
    labels: u32,
}

impl Writer {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "\t{line}");
    }

    fn word(&mut self) -> String {
        self.words += 1;
        format!("%w{}", self.words)
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

    fn store(&mut self, word: &str) {
        let at = 4 * self.stored;
        self.stored += 1;
        self.line(&format!("st.global.u32 [%rd6+{at}], {word};"));
    }

    /// The address of the word that a lane loads, mostly one of its warp's row.
    fn source(&mut self, row: u32) -> String {
        let (lane, address) = (self.word(), self.word());
        let by = self.rng.u32(0..32);
        match self.rng.u32(0..9) {
            0..=2 => self.line(&format!("xor.b32 {lane}, %r4, {by};")),
            3 => self.line(&format!("add.u32 {lane}, %r4, {by};")),
            4 => self.line(&format!("sub.u32 {lane}, {by}, %r4;")),
            5 => self.line(&format!("mov.u32 {lane}, {by};")),
            6 => {
                let factor = self.rng.u32(0..8);
                self.line(&format!("mad.lo.u32 {lane}, %r4, {factor}, {by};"));
            }
            7 => self.line(&format!("mul.lo.u32 {lane}, %r4, %r4;")),
            _ => {
                let word = self.loaded();
                self.line(&format!("add.u32 {lane}, {word}, {by};"));
            }
        }
        // (Without this the words of another row are loaded.)
        if self.chance(95) {
            self.line(&format!("and.b32 {lane}, {lane}, 31;"));
        }
        self.line(&format!("shl.b32 {address}, {lane}, 2;"));
        self.line(&format!("add.u32 {address}, {address}, %r7;"));
        if row != 0 {
            self.line(&format!("add.u32 {address}, {address}, {row};"));
        }
        address
    }

    fn barrier(&mut self) {
        let block = self.chance(40);
        let line = match block {
            true => "bar.sync 0;",
            false => self.one_of(&[
                "bar.warp.sync -1;",
                "bar.warp.sync -1;",
                "bar.warp.sync 0xffffffff;",
            ]),
        };
        self.line(line);
    }

    /// Stores to a row, a barrier, loads from it, and a barrier.
    fn exchange(&mut self) {
        let (value, row) = (self.loaded(), 1024 * self.rng.u32(0..3));
        if self.chance(10) {
            self.line(&format!("setp.gt.s32 %p1, {value}, 9;"));
            self.line(&format!("@%p1 st.shared.u32 [%r8+{row}], {value};"));
        } else {
            self.line(&format!("st.shared.u32 [%r8+{row}], {value};"));
        }
        if self.chance(20) {
            let other = self.loaded();
            let at = if self.chance(50) { row } else { 1024 * self.rng.u32(0..3) };
            self.line(&format!("st.shared.u32 [%r8+{at}], {other};"));
        }
        if self.chance(20) {
            self.line(&format!("add.u32 {value}, {value}, 1;"));
        }
        let mut loads: Vec<String> = (0..self.rng.u32(1..3)).map(|_| self.source(row)).collect();
        if self.chance(4) {
            self.line("bar.warp.sync 0xffff;");
        } else if self.chance(97) {
            self.barrier();
        }
        if self.chance(5) {
            self.line(&format!("st.shared.u32 [%r8+{row}], %r4;"));
        }
        let volatile = if self.chance(4) { ".volatile" } else { "" };
        for address in loads.drain(..) {
            let word = self.word();
            self.line(&format!("ld{volatile}.shared.u32 {word}, [{address}];"));
            self.store(&word);
        }
        self.barrier();
    }

    /// Exchanges in a loop, which some lanes leave earlier now and then.
    fn in_a_loop(&mut self) {
        let label = self.labels;
        self.labels += 1;
        self.line("mov.u32 %r6, 0;");
        let _ = writeln!(self.text, "$LOOP{label}:");
        self.exchange();
        self.line("add.s64 %rd5, %rd5, 4;");
        self.line("add.u32 %r6, %r6, 1;");
        let bound = if self.chance(10) { "%r4" } else { "3" };
        self.line(&format!("setp.lt.u32 %p4, %r6, {bound};"));
        self.line(&format!("@%p4 bra $LOOP{label};"));
    }
}

/// A kernel by its number, and the shape of its blocks.
pub fn kernel(seed: u64, target: &str) -> (String, [u32; 3]) {
    let rng = Rng::with_seed(seed);
    let mut writer = Writer { rng, text: String::new(), words: 0, stored: 0, labels: 0 };
    let shape = BLOCKS[writer.rng.usize(0..BLOCKS.len())];
    let [x, y, _] = shape;
    for _ in 0..writer.rng.u32(1..4) {
        match writer.chance(15) {
            true => writer.in_a_loop(),
            false => writer.exchange(),
        }
    }
    let leaves = match writer.chance(5) {
        true => "\tsetp.gt.u32 %p2, %r3, 20;\n\t@%p2 exit;\n",
        false => "",
    };
    let Writer { text, words, .. } = writer;
    let text = format!(
        ".version 8.6\n.target {target}\n.address_size 64\n\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n.reqntid {x}, {y}, 1\n{{\n\t.reg .pred %p<9>;\n\
         \t.reg .b32 %r<19>, %w<{}>;\n\t.reg .b64 %rd<9>;\n\t.shared .align 16 .b8 s[4096];\n\
         \tld.param.u64 %rd1, [a];\n\tld.param.u64 %rd2, [b];\n\
         \tmov.u32 %r1, %tid.y;\n\tmov.u32 %r2, %ntid.x;\n\tmov.u32 %r3, %tid.x;\n\tmad.lo.s32 %r1, %r1, %r2, %r3;\n\
         \tand.b32 %r4, %r3, 31;\n\tmul.wide.u32 %rd3, %r1, 4;\n\tmul.wide.u32 %rd4, %r1, 256;\n\
         \tadd.s64 %rd5, %rd1, %rd3;\n\tadd.s64 %rd6, %rd2, %rd4;\n\
         \tshr.u32 %r9, %r3, 5;\n\tmov.u32 %r10, %tid.y;\n\tadd.u32 %r9, %r9, %r10;\n\tshl.b32 %r9, %r9, 7;\n\
         \tmov.u32 %r7, s;\n\tadd.u32 %r7, %r7, %r9;\n\tshl.b32 %r8, %r4, 2;\n\tadd.u32 %r8, %r8, %r7;\n\
         {leaves}{text}\tret;\n}}\n",
        words + 1
    );
    (text, shape)
}

/// What became of a kernel.
#[derive(Default)]
struct Found {
    rewritten: usize,
    dropped: usize,
    launches: usize,
    proved: usize,
    unproved: Vec<String>,
    complaints: Vec<String>,
}

/// A launch of it.
pub fn launch(seed: u64, block: [u32; 3]) -> Launch {
    let text = format!(
        r#"{{"kernel": "k", "grid": [1, 1, 1], "block": {block:?}, "buffers": {{"a": {{"type": "u32", "len": 128}},
            "b": {{"type": "u32", "len": 8192}}}}, "args": [{{"buffer": "a"}}, {{"buffer": "b"}}]}}"#
    );
    let mut launch = Launch::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut rng = Rng::with_seed(seed);
    if let Some(buffer) = launch.buffers.get_mut("a") {
        buffer.bytes = (0..128).flat_map(|_| rng.u32(0..64).to_le_bytes()).collect();
    }
    launch.uninitialized = true;
    launch.races = true;
    launch
}

fn judge(seed: u64, assembler: Option<&Assembler>) -> Found {
    let mut found = Found::default();
    for (target, strategies) in [("sm_80", "collective"), ("sm_90", "auto")] {
        let (text, block) = kernel(seed, target);
        let mut options = Options::default();
        options.select.strategies = strategies.parse().unwrap_or_else(|error| panic!("{error}"));
        let source = SourceFile::new("exchange.ptx", text.as_str());
        let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if result.text == text {
            continue;
        }
        let stores = |text: &str| text.matches("st.shared").count();
        found.rewritten += 1;
        found.dropped += usize::from(stores(&result.text) < stores(&text));
        let output = SourceFile::new("rewritten.ptx", result.text.as_str());
        let parsed =
            |source| ptx::parse(source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let (before, after) = (parsed(&source), parsed(&output));
        let complain = |what: &str| format!("{seed}, {strategies}, {target}: {what}");
        let launch = launch(seed, block);
        // (Kernels that race, or read words that nobody has stored, do not come through.)
        if let Ok(expected) = interp::run(&before, &launch) {
            found.launches += 1;
            for meet in [Meet::Assembler, Meet::Random(seed), Meet::Random(seed + 1)] {
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
        if let Some(Err(message)) = assembler.map(assembled) {
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
fn random_exchanges_compute_the_same() {
    let assembler = Assembler::find();
    let results: Vec<Found> = (0..share(KERNELS))
        .chain(DIVERGENT)
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|seed| judge(seed, assembler.as_ref()))
        .collect();
    let count = |of: fn(&Found) -> usize| results.iter().map(of).sum::<usize>();
    let (rewritten, dropped) = (count(|one| one.rewritten), count(|one| one.dropped));
    let (launches, proved) = (count(|one| one.launches), count(|one| one.proved));
    let unproved: Vec<&String> = results.iter().flat_map(|one| &one.unproved).collect();
    println!(
        "{rewritten} texts, {dropped} without a store, {launches} launches; {proved} proved, {} not: {unproved:#?}",
        unproved.len()
    );
    let complaints: Vec<&String> = results.iter().flat_map(|one| &one.complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(2 * rewritten as u64 > share(KERNELS), "only {rewritten} texts were rewritten");
    assert!(8 * dropped > rewritten, "only {dropped} texts have lost a store");
    assert!(2 * launches > rewritten, "only {launches} launches went through");
    assert!(unproved.len() * 20 < proved, "{proved} are proved, not {unproved:#?}");
}
