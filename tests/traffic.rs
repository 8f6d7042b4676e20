//! What is said of a full warp's requests (`traffic`) is what the interpreter counts, for samples and cases with drafted
//! launches: every count lies within the span, and is the span where that is one number.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;
use ptxasw::draft::draft;
use ptxasw::interp::{self, InstructionProfile};
use ptxasw::launch::{Argument, Launch};
use ptxasw::pipeline::{self, Options};
use ptxasw::ptx::{self, Depth, FunctionKind, Module};
use ptxasw::source::SourceFile;
use ptxasw::traffic::{AccessTraffic, Assumed, Spread, Traffic};
use rayon::prelude::*;

/// What became of the accesses that full warps have executed.
#[derive(Default, Debug)]
struct Tally {
    exact: usize,
    ranges: usize,
    bounds: usize,
    irregular: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.exact += other.exact;
        self.ranges += other.ranges;
        self.bounds += other.bounds;
        self.irregular += other.irregular;
        self.wrong.extend(other.wrong);
        self
    }

    fn compare(&mut self, name: &str, line: u32, access: &AccessTraffic, ran: &InstructionProfile) {
        let full = ran.counters.full;
        if full.requests == 0 {
            return;
        }
        let Some(span) = access.spread.span() else { return self.irregular += 1 };
        match access.spread {
            Spread::Any(_) => self.bounds += 1,
            _ if span.min == span.max => self.exact += 1,
            _ => self.ranges += 1,
        }
        let within = u64::from(span.min) <= full.fewest && full.most <= u64::from(span.max);
        if !within || access.lanes < 32 {
            let found = format!("{name}:{line}: {span:?}, counted {full:?}, {access:?}");
            self.wrong.push(found);
        }
    }
}

/// Compares all accesses of a kernel in a launch.
fn compared(source: &SourceFile, module: &Module<'_>, launch: &Launch, assumed: Assumed) -> Tally {
    let mut tally = Tally::default();
    // A launch that does not fit, which happens for shapes that were not drafted.
    let Ok((outcome, profile)) = interp::profile(module, launch) else { return tally };
    let options = Options { kernel: Some(outcome.kernel.clone()), ..Options::default() };
    let name = format!("{} {} {:?} {assumed:?}", source.name(), outcome.kernel, launch.block);
    pipeline::for_each_trace(source, &options, &mut |function, traced| {
        let Ok((flow, trace)) = traced else { return };
        let traffic = Traffic::of(module, function, flow, trace, &assumed);
        for access in &traffic.accesses {
            let span = flow.insts[access.inst as usize].ast.span;
            let is_meant = |ran: &&InstructionProfile| ran.span == span;
            if let Some(ran) = profile.iter().find(is_meant) {
                tally.compare(&name, source.line(span.start), access, ran);
            }
        }
    })
    .expect("it parses");
    tally
}

/// Drafts a launch of a kernel and compares it, also in blocks of other shapes.
fn kernel(source: &SourceFile, module: &Module<'_>, name: &str) -> Tally {
    let Ok(Ok(draft)) = draft(source, Some(name), None) else { return Tally::default() };
    let launch = Launch::from_json(&draft.plan.text("")).expect("the draft can be read");
    let inside = |argument: &Argument| {
        matches!(argument, Argument::Pointer { offset, .. } if offset % 256 != 0)
    };
    let pointer_bytes = if launch.args.iter().any(inside) { 1 } else { 256 };
    let mut tally = Tally::default();
    let threads: u32 = launch.block.iter().product();
    let others =
        [[16, threads / 16, 1], [8, 4, threads / 32], [threads / 4, 4, 1], [24, 4, 1], [64, 2, 1]];
    // Another shape for each next kernel.
    let other = others[name.bytes().map(usize::from).sum::<usize>() % others.len()];
    for block in [launch.block, other] {
        if block.contains(&0) {
            continue;
        }
        let launch = Launch { block, ..launch.clone() };
        let known = Assumed { block: Some(block.map(u64::from)), pointer_bytes };
        tally = tally.add(compared(source, module, &launch, known));
        if block[0] % 32 == 0 {
            let rows = Assumed { block: None, pointer_bytes };
            tally = tally.add(compared(source, module, &launch, rows));
        }
    }
    tally
}

fn file(path: &Path) -> Tally {
    let text = fs::read_to_string(path).expect("the file can be read");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let source = SourceFile::new(name, text);
    let Ok(module) = ptx::parse(&source, Depth::All) else { return Tally::default() };
    let entries = module.functions().filter(|function| function.kind == FunctionKind::Entry);
    let names: Vec<&str> = entries.map(|function| function.name.text).collect();
    names.iter().fold(Tally::default(), |tally, name| tally.add(kernel(&source, &module, name)))
}

fn below(folder: &str, ending: &str, found: &mut Vec<PathBuf>) {
    let mut open = vec![root().join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.push(path);
            }
        }
    }
}

#[test]
fn requests_cost_what_the_interpreter_counts() {
    let mut files = Vec::new();
    below("ptx-samples", ".sm_80.ptx", &mut files);
    below("tests/cases", ".ptx", &mut files);
    below("openacc-bench", ".sm_80.ptx", &mut files);
    files.sort();
    let tally = files.par_iter().map(|path| file(path)).reduce(Tally::default, Tally::add);
    let Tally { exact, ranges, bounds, irregular, wrong } = &tally;
    println!("{exact} exact, {ranges} ranges, {bounds} bounds, {irregular} irregular");
    assert!(wrong.is_empty(), "{} of {exact} exact, {ranges} ranges, {bounds} bounds:\n{}", wrong.len(), wrong.join("\n"));
    assert!(*exact > 2000 && *ranges > 50, "{tally:?}");
}
