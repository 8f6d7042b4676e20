//! The predicted requests of a full warp (`traffic`) against the interpreter's counts, for samples and cases with
//! drafted launches: every count lies within the span, and equals it where the span is one number. A run takes a
//! quarter of the files, a nightly one all.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{root, some};
use ptxasw::cfg::Flow;
use ptxasw::draft::{Wishes, draft};
use ptxasw::interp::{self, InstructionProfile, RequestCosts};
use ptxasw::launch::{Argument, Launch};
use ptxasw::pipeline::{self, Options};
use ptxasw::ptx::{self, Depth, Function, FunctionKind, Module, StateSpace};
use ptxasw::source::SourceFile;
use ptxasw::traffic::{AccessTraffic, Assumed, Span, Spread, Traffic};
use rayon::prelude::*;

/// What became of the accesses that were executed.
#[derive(Default, Debug)]
struct Tally {
    exact: usize,
    /// Exact counts of blocks that have fewer threads than a warp.
    narrow: usize,
    /// Counts of some lanes of a warp.
    some: usize,
    /// Counts of the lanes that conditions leave.
    fewer: usize,
    ranges: usize,
    bounds: usize,
    irregular: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn add(mut self, other: Tally) -> Tally {
        self.exact += other.exact;
        self.narrow += other.narrow;
        self.some += other.some;
        self.fewer += other.fewer;
        self.ranges += other.ranges;
        self.bounds += other.bounds;
        self.irregular += other.irregular;
        self.wrong.extend(other.wrong);
        self
    }

    fn compare_all(
        &mut self,
        title: &str,
        (source, flow): (&SourceFile, &Flow<'_, '_>),
        traffic: &Traffic,
        profile: &[InstructionProfile],
    ) {
        for access in traffic.all() {
            let span = flow.insts[access.inst].ast.span;
            if let Some(ran) = profile.iter().find(|ran| ran.span == span) {
                self.compare(title, source.line(span.start), access, ran);
            }
        }
    }

    fn compare(&mut self, name: &str, line: u32, access: &AccessTraffic, ran: &InstructionProfile) {
        let copies = ran.counters.single_copies;
        let of_copy = copies.most_lanes > 0 && access.space == StateSpace::Shared;
        let ran = if of_copy { copies } else { ran.counters.single };
        let mut wrong = ran.most_lanes > access.lanes;
        let all = u32::MAX >> (32 - access.warp_lanes);
        let full = if all == u32::MAX { ran.full } else { ran.some };
        if full.requests > 0 && (all == u32::MAX || ran.lanes == all) {
            match (access.spread, access.spread.span()) {
                (_, None) => self.irregular += 1,
                (Spread::Any(_), _) => self.bounds += 1,
                (_, Some(span)) if span.min < span.max => self.ranges += 1,
                _ if all == u32::MAX => self.exact += 1,
                _ => self.narrow += 1,
            }
            wrong |= access.spread.span().is_some_and(|span| !is_within(span, &full));
        }
        // Of fewer lanes, as far as it is known that others do not take part.
        if let Some(span) = access.request.filter(|_| access.lanes < access.warp_lanes) {
            self.fewer += u64::from(ran.some.requests > 0) as usize;
            wrong |= ran.some.requests > 0 && !is_within(span, &ran.some);
        }
        if let Some(active) = access.active {
            // (Of a warp that is named, others may have other lanes.)
            wrong |= active.warp.is_none() && ran.any & !active.lanes != 0;
            if ran.some.requests > 0 && ran.lanes == active.lanes {
                self.some += 1;
                wrong |= !is_within(active.span, &ran.some);
            }
        }
        if wrong {
            self.wrong.push(format!("{name}:{line}: counted {ran:?}, {access:?}"));
        }
    }
}

/// Whether all requests cost what the span says.
fn is_within(span: Span, counted: &RequestCosts) -> bool {
    u64::from(span.min) <= counted.fewest && counted.most <= u64::from(span.max)
}

/// Drafts a launch of a kernel and compares all accesses, also in blocks of other shapes, one of them less than a warp.
fn kernel(source: &SourceFile, module: &Module<'_>, function: &Function<'_>) -> Tally {
    let name = function.name.text;
    let mut tally = Tally::default();
    // (Sizes that end within a block execute fewer whole warps.)
    let wishes =
        Wishes { kernel: Some(name), threads: Some(256), whole_blocks: true, ..Wishes::default() };
    let Ok(Ok(draft)) = draft(source, &wishes) else { return tally };
    let drafted = Launch::from_json(&draft.plan.text("")).expect("the draft can be read");
    let drafted = Launch { races: false, uninitialized: false, limit: 1 << 20, ..drafted };
    let Ok((flow, trace)) = pipeline::emulated(source, function, &Options::default()) else {
        return tally;
    };
    let inside = |argument: &Argument| matches!(argument, Argument::Pointer { offset, .. } if offset % 256 != 0);
    let pointer_bytes = if drafted.args.iter().any(inside) { 1 } else { 256 };
    let threads: u32 = drafted.block.iter().product();
    let others =
        [[16, threads / 16, 1], [8, 4, threads / 32], [threads / 4, 4, 1], [24, 4, 1], [64, 2, 1]];
    let narrow = [[16, 1, 1], [8, 2, 1], [20, 1, 1], [4, 2, 3], [2, 1, 1]];
    // Other shapes for each next kernel.
    let at = name.bytes().map(usize::from).sum::<usize>();
    for block in [drafted.block, others[at % others.len()], narrow[at % narrow.len()]] {
        let launch = Launch { block, ..drafted.clone() };
        // A shape that was not drafted may lead out of a buffer.
        let Ok((_, profile)) = interp::profile(module, &launch) else { continue };
        let known = Assumed { block: Some(block.map(u64::from)), pointer_bytes };
        let rows = Assumed { block: None, pointer_bytes };
        let whole = block[0] % 32 == 0;
        for assumed in [known, rows].into_iter().take(if whole { 2 } else { 1 }) {
            let traffic = Traffic::of(module, function, &flow, &trace, &assumed);
            let title = format!("{} {name} {assumed:?}", source.name());
            tally.compare_all(&title, (source, &flow), &traffic, &profile);
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
    entries.fold(Tally::default(), |tally, one| tally.add(kernel(&source, &module, one)))
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
    below("tests/lint", ".ptx", &mut files);
    files.sort();
    let files = some(files, 3);
    let tally = files.par_iter().map(|path| file(path)).reduce(Tally::default, Tally::add);
    let Tally { exact, narrow, some, ranges, bounds, irregular, wrong, fewer } = &tally;
    println!(
        "{exact} exact, {narrow} of narrow blocks, {some} of some lanes, {ranges} ranges, {bounds} bounds, \
         {irregular} irregular"
    );
    assert!(
        wrong.is_empty(),
        "{} of {exact} exact, {ranges} ranges, {bounds} bounds:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(*exact > 300 && *ranges > 10 && *narrow > 100 && *some > 0 && *fewer > 0, "{tally:?}");
}

/// Each `wmma.load` and `wmma.store` of global memory is one request for a whole matrix.
#[test]
fn matrices_cost_what_the_interpreter_counts() {
    let Tally { exact, ranges, bounds, irregular, wrong, .. } =
        file(&root().join("tests/lint/matrices.ptx"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts = (exact, ranges, bounds, irregular);
    assert!(exact >= 6 && ranges >= 1 && bounds == 0 && irregular == 0, "{counts:?}");
}

/// The files of `tests/traffic`, each with a launch of its own: many blocks, so that the numbers which the text leaves open
/// have many values.
#[test]
fn counts_hold_for_all_values_of_the_unknowns() {
    let mut files = Vec::new();
    below("tests/traffic", ".ptx", &mut files);
    let mut tally = Tally::default();
    for path in &files {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = fs::read_to_string(path).expect("the file can be read");
        let source = SourceFile::new(name, text);
        let launch = fs::read_to_string(path.with_extension("json")).expect("a launch beside it");
        let launch = Launch::from_json(&launch).expect("the launch can be read");
        let module = ptx::parse(&source, Depth::All).expect("it can be parsed");
        let wanted = launch.kernel.as_deref();
        let function = module.functions().find(|one| Some(one.name.text) == wanted).expect("k");
        let (flow, trace) = pipeline::emulated(&source, function, &Options::default()).expect("k");
        let (_, profile) = interp::profile(&module, &launch).expect("it runs");
        let assumed = Assumed { block: Some(launch.block.map(u64::from)), pointer_bytes: 256 };
        let traffic = Traffic::of(&module, function, &flow, &trace, &assumed);
        tally.compare_all(source.name(), (&source, &flow), &traffic, &profile);
    }
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    // Bounds that hold for any request would hold, too.
    assert!(tally.exact + tally.ranges >= 10 && tally.ranges > 0 && tally.bounds == 0, "{tally:?}");
}

/// The same for the files of a folder of one's own.
#[test]
#[ignore = "needs PTXASW_TEST_TRAFFIC, a folder of PTX"]
#[expect(clippy::disallowed_methods, reason = "the variable names the files of the test")]
fn requests_of_other_files_cost_what_the_interpreter_counts() {
    let folder = std::env::var_os("PTXASW_TEST_TRAFFIC").expect("PTXASW_TEST_TRAFFIC is a folder");
    let mut files = Vec::new();
    below(&folder.to_string_lossy(), ".ptx", &mut files);
    files.sort();
    let tally = files.par_iter().map(|path| file(path)).reduce(Tally::default, Tally::add);
    let wrong = tally.wrong.len();
    println!("{tally:#?}");
    assert_eq!(wrong, 0);
}
