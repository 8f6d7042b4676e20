//! Every case that is rewritten is executed, original against result, in blocks of many shapes:
//! whole and incomplete warps, rows shorter and longer than a warp, lanes that leave loops early;
//! and wherever lanes that parted may meet again: where the assembler makes them, never, and where
//! seeds say. What the buffers hold afterwards is the same to the bit.

use crate::common::header;
use crate::common::noticed::assert_noticed;
use crate::common::shapes;
use crate::common::{percent_of, share};
use crate::random::schedules;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use header::options_of;
use ptxasw::interp::{self, FaultKind};
use ptxasw::launch::{Launch, Meet};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::planted::{self, Bug, Set};
use ptxasw::ptx::{self, Depth, Function, FunctionKind};
use ptxasw::rewrite::Mode;
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, verify};
use rayon::prelude::*;
use schedules::Pair;

/// The kernels that are rewritten.
pub const FOLDER: &str = "tests/cases/accept";
/// Numbers for 32-bit parameters: few elements, most of a warp's, one, more than there are threads.
const COUNTS: [i32; 4] = [3, 26, 1, 5000];
/// Elements of each buffer, and the byte of it that its parameter points to.
const ELEMENTS: u32 = 1 << 15;
const MIDDLE: i64 = 1 << 14;
/// Different values of elements.
const VALUES: u32 = 1009;
/// What each buffer holds.
static BYTES: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..ELEMENTS).flat_map(|at| (at % VALUES).to_le_bytes()).collect());
/// Random shapes of blocks besides the fixed ones.
const RANDOM: usize = 3;
/// Instructions of a warp after which a launch of the original is given up.
const MAX_INSTRUCTIONS: u64 = 60_000;

/// In every so-manieth launch lanes never meet again; in the others a seed chooses where, another in
/// each.
const NEVER: u64 = 4;
/// How many times as long a kernel may take whose lanes have parted, and one that is rewritten.
const APART: u64 = 32;
const REWRITTEN: u64 = 20;

/// What was found about the launches of a file.
#[derive(Default)]
struct Found {
    /// Launches that went through.
    completed: usize,
    /// Launches in which lanes read values that are not sent.
    partial: usize,
    /// Those in which no threads race.
    free: usize,
    /// Those of them whose result does not depend on where lanes meet.
    steady: usize,
    /// Comparisons under other choices of that.
    schedules: usize,
    differences: Vec<String>,
    /// Kernels and blocks without a launch that goes through: nothing was compared there.
    uncompared: Vec<String>,
}

/// A launch of a kernel with buffers for its 64-bit parameters, each pointing well into its buffer,
/// and a number for the others. Elements within a few thousand bytes of each other differ, so a
/// wrong address shows, and all are small enough to be indices. Where
/// the kernel's own comment says `launch: a + 1024`, the parameter `a` points that much further; `shared: 4096` is the
/// dynamic shared memory in bytes.
pub fn launch(
    source: &SourceFile,
    function: &Function<'_>,
    block: [u32; 3],
    count: i32,
) -> Option<Launch> {
    let (mut buffers, mut arguments) = (Vec::new(), Vec::new());
    for (index, parameter) in function.params.iter().enumerate() {
        match parameter.ty?.bits() {
            64 => {
                buffers.push(format!(r#""b{index}": {{"type": "u32", "len": 1}}"#));
                let offset = MIDDLE + further(source, function, parameter.names[0].name.text);
                arguments.push(format!(r#"{{"buffer": "b{index}", "offset": {offset}}}"#));
            }
            32 => arguments.push(format!(r#"{{"type": "s32", "value": {count}}}"#)),
            _ => return None,
        }
    }
    let text = format!(
        r#"{{"kernel": "{}", "grid": [2, 1, 1], "block": {block:?}, "dynamic_shared": {},
            "buffers": {{{}}}, "args": [{}]}}"#,
        function.name.text,
        dynamic_shared(source, function),
        buffers.join(", "),
        arguments.join(", ")
    );
    let mut launch = Launch::from_json(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    launch.buffers.values_mut().for_each(|buffer| buffer.bytes.clone_from(&BYTES));
    // Some kernels never end for some numbers.
    launch.limit = MAX_INSTRUCTIONS;
    Some(launch)
}

/// The lines of the comment above a function.
fn comment<'a>(source: &'a SourceFile, function: &Function<'_>) -> impl Iterator<Item = &'a str> {
    let first = source.line(function.span.start);
    (1..first).rev().map_while(|line| source.line_text(line).strip_prefix("// "))
}

/// The bytes of shared memory that the comment above a function names.
fn dynamic_shared(source: &SourceFile, function: &Function<'_>) -> u64 {
    let told = comment(source, function).find_map(|line| line.strip_prefix("shared: "));
    told.map_or(0, |bytes| bytes.parse().expect("bytes"))
}

/// What the comment above a function adds to a parameter, in bytes.
fn further(source: &SourceFile, function: &Function<'_>, parameter: &str) -> i64 {
    let told = comment(source, function);
    let told = told.filter_map(|line| line.strip_prefix("launch: ")?.split_once(" + "));
    let told = told.filter(|(name, _)| *name == parameter);
    told.map(|(_, bytes)| bytes.parse::<i64>().expect("bytes")).sum()
}

/// The part of a file that is executed.
#[derive(Clone, Copy)]
enum Extent<'k> {
    All,
    /// One kernel.
    Kernel(&'k str),
    /// One kernel, up to the first block in which something differs.
    FirstDifference(&'k str),
}

/// Runs kernels of a file.
fn compare(file: &str, original: &str, result: &str, extent: Extent<'_>) -> Found {
    let (before, after) = (SourceFile::new(file, original), SourceFile::new(file, result));
    let parse = |source| ptx::parse(source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
    let (before_module, after_module) = (parse(&before), parse(&after));
    let mut tally = Found::default();
    let pair = Pair {
        original: &before_module,
        rewritten: &after_module,
        limits: (APART * MAX_INSTRUCTIONS, APART * REWRITTEN * MAX_INSTRUCTIONS),
    };
    let wanted = |function: &&Function<'_>| match extent {
        Extent::All => function.kind == FunctionKind::Entry,
        Extent::Kernel(name) | Extent::FirstDifference(name) => function.name.text == name,
    };
    for function in before_module.functions().filter(wanted) {
        let blocks = shapes::shapes(function, RANDOM, u64::from(function.span.start));
        for block in blocks {
            if matches!(extent, Extent::FirstDifference(_)) && !tally.differences.is_empty() {
                break;
            }
            let place = format!("{file}: {} {block:?}", function.name.text);
            let (completed_before, mut faults) = (tally.completed, Vec::new());
            // Differences where threads race, and how many launches are free of races.
            let (mut doubtful, mut free, mut unpredictable) = (Vec::new(), 0, 0);
            for count in COUNTS {
                let Some(mut launch) = launch(&before, function, block, count) else { continue };
                let mut expected = interp::run(&before_module, &launch);
                if matches!(&expected, Err(fault) if fault.kind == FaultKind::Race) {
                    // All rows of a block store to the same elements, say. The interpreter's order
                    // is the same each time.
                    launch.races = false;
                    expected = interp::run(&before_module, &launch);
                }
                let expected = match expected {
                    Ok(expected) => expected,
                    // So does a warp that is not whole, if lanes read what those would send that are not there.
                    Err(fault) if fault.kind == FaultKind::Unpredictable => {
                        tally.partial += 1;
                        unpredictable += 1;
                        continue;
                    }
                    // A number that does not suit the kernel says nothing about its rewrite.
                    Err(fault) => {
                        faults.push(format!("{place}, n = {count}: {fault}"));
                        continue;
                    }
                };
                tally.completed += 1;
                // The rewritten kernel executes more instructions.
                launch.limit *= REWRITTEN;
                free += usize::from(launch.races);
                let meet = match tally.completed as u64 {
                    number if number.is_multiple_of(NEVER) => Meet::Never,
                    number => Meet::Random(number),
                };
                // Where threads race, the order of groups tells in any kernel.
                if launch.races {
                    tally.free += 1;
                    let other = pair.compare(&launch, &expected, &[meet]);
                    tally.schedules += other.compared;
                    tally.steady += usize::from(!other.depends);
                    if let Some((meet, difference)) = other.difference {
                        let difference = format!("--meet {meet}: {difference}");
                        tally.differences.push(format!("{place}, n = {count}, {difference}"));
                    }
                }
                let difference = match interp::run(&after_module, &launch) {
                    Err(fault) => fault.to_string(),
                    Ok(outcome) if outcome.buffers != expected.buffers => {
                        "the buffers differ".to_owned()
                    }
                    Ok(_) => continue,
                };
                let found = if launch.races { &mut tally.differences } else { &mut doubtful };
                found.push(format!("{place}, n = {count}: {difference}"));
            }
            if free == 0 {
                tally.differences.append(&mut doubtful);
            }
            if tally.completed == completed_before && unpredictable == 0 {
                let none = || format!("{place}: its parameters are none that a launch is made for");
                tally.uncompared.push(faults.pop().unwrap_or_else(none));
            }
        }
    }
    tally
}

#[test]
fn rewritten_cases_compute_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER);
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a readable folder")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.sort();
    let results: Vec<Found> = files
        .par_iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let text = std::fs::read_to_string(path).expect("a readable case");
            let source = SourceFile::new(&*name, text.as_str());
            let result = rewrite(&source, &options_of(&text)).unwrap_or_else(|e| panic!("{e}"));
            match result.text == text {
                true => Found::default(),
                false => compare(&name, &text, &result.text, Extent::All),
            }
        })
        .collect();
    let count = |of: fn(&Found) -> usize| results.iter().map(of).sum::<usize>();
    let (completed, steady) = (count(|found| found.completed), count(|found| found.steady));
    let schedules = count(|found| found.schedules);
    let (free, partial) = (count(|found| found.free), count(|found| found.partial));
    println!(
        "{completed} launches, {free} without races; {steady} of them do not depend on where lanes \
         meet; {schedules} compared under another choice; in {partial} others lanes read values that are not sent"
    );
    assert!(completed as u64 > share(5000), "only {completed} launches went through");
    assert!(20 * steady > 19 * free, "only {steady} of {free} do not depend on a choice");
    assert!(4 * partial < completed, "in {partial} launches lanes read values that are not sent");
    assert!(schedules as u64 > share(5000), "only {schedules} comparisons under another choice");
    let differences: Vec<String> = results
        .into_iter()
        .flat_map(|found| [found.differences, found.uncompared].concat())
        .collect();
    assert!(
        differences.is_empty(),
        "\n{}\nRun both texts by hand: `ptxasw rewrite`, `ptxasw run`.",
        differences.join("\n")
    );
}

#[test]
fn a_wrong_rewrite_is_noticed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join("loop_carried.ptx");
    let text = std::fs::read_to_string(path).expect("a readable case");
    let source = SourceFile::new("loop_carried.ptx", text.as_str());
    // Without the loads for lanes that have no source lane the result is wrong by design.
    let options = Options { mode: Mode::NoCorner, ..Options::paper() };
    let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
    let found = compare("loop_carried.ptx", &text, &result.text, Extent::All);
    assert!(found.completed > 0 && !found.differences.is_empty());
}

/// A case in which a mistake of a strategy may show.
struct Subject {
    name: String,
    text: String,
    /// Rewritten without a mistake.
    right: String,
}

impl Subject {
    fn new(name: &str) -> Subject {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
        let path = folder.join(name).with_extension("ptx");
        let text = std::fs::read_to_string(path).expect("a readable case");
        let right = rewritten(name, &text);
        Subject { name: name.to_owned(), text, right }
    }

    /// Rewritten with a mistake, if that changes the text.
    fn wrong(&self, bug: Bug) -> Option<String> {
        let wrong = planted::with(bug, || rewritten(&self.name, &self.text));
        (wrong != self.right).then_some(wrong)
    }
}

fn rewritten(name: &str, text: &str) -> String {
    let source = SourceFile::new(name, text);
    rewrite(&source, &options_of(text)).unwrap_or_else(|error| panic!("{error}")).text
}

/// The cases of strategies with planted mistakes.
static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let loads = ["wide", "wide_in_turns", "carried", "carried_further", "carried_stores"];
    let stores = ["wide_stored", "wide_stored_between", "wide_stored_guards", "wide_stored_values"];
    let collectives = [
        "collective",
        "collective_extrema",
        "collective_groups",
        "collective_lanes",
        "collective_loops",
        "collective_members",
        "collective_moves",
        "collective_selected",
        "collective_votes",
        "collective_wide",
    ];
    let names = [
        &loads[..],
        &stores,
        &collectives,
        &[
            "batch",
            "batch_loop",
            "batch_whole_loops",
            "batch_vectors",
            "promote",
            "promote_exits",
            "promote_steps",
            "promote_indices",
            "promote_loop",
            "promote_loops",
            "tree",
        ],
        &["bank", "bank_dynamic", "bank_extern", "bank_module", "bank_rows"],
    ];
    let names = names.concat();
    let folders = ["accept", "refuse"].into_par_iter();
    let subject = |folder: &str, name: &&str| Subject::new(&format!("{folder}/{name}"));
    folders.flat_map_iter(|folder| names.iter().map(move |name| subject(folder, name))).collect()
});

/// The text of each kernel, by its name.
fn kernels(text: &str) -> BTreeMap<String, String> {
    let source = SourceFile::new("kernels.ptx", text);
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let entries = module.functions().filter(|function| function.kind == FunctionKind::Entry);
    let named = |function: &Function<'_>| {
        (function.name.text.to_owned(), source.slice(function.span).to_owned())
    };
    entries.map(named).collect()
}

/// A text without its kernels but one.
fn only(text: &str, kernel: &str) -> String {
    let source = SourceFile::new("kernels.ptx", text);
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let mut own = text.to_owned();
    let others = module
        .functions()
        .filter(|function| function.kind == FunctionKind::Entry && function.name.text != kernel);
    for function in others {
        let span = function.span.start as usize..function.span.end as usize;
        let blank = |c: char| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
        own.replace_range(span.clone(), &text[span].chars().map(blank).collect::<String>());
    }
    own
}

/// Mistakes that no launch of a case shows, since the order of a fence is not executed, or the launches that would show them
/// fault in the original. [`mistakes_that_no_launch_shows_are_not_proved`] is their test.
const UNSEEN: [Bug; 4] =
    [Bug::StoresOverFences, Bug::BatchOverFence, Bug::CollectiveOfSome, Bug::CollectiveElsewhere];

/// Each mistake of a strategy shows when a case of that strategy is executed.
#[test]
fn mistakes_of_strategies_are_noticed() {
    let places: Vec<(&Subject, String, OnceLock<String>)> = SUBJECTS
        .iter()
        .flat_map(|subject| {
            let kernels = kernels(&subject.text).into_keys();
            kernels.map(move |kernel| (subject, kernel, OnceLock::new()))
        })
        .collect();
    let names: Vec<String> =
        places.iter().map(|(subject, kernel, _)| format!("{}:{kernel}", subject.name)).collect();
    let mut bugs = Bug::of(Set::Strategies);
    bugs.retain(|bug| !UNSEEN.contains(bug));
    assert_noticed("strategies", &bugs, &names, |bug, place| {
        let (subject, kernel, right) = &places[place];
        // (The other kernels would be rewritten once more for each mistake.)
        let text = only(&subject.text, kernel);
        let wrong = planted::with(bug, || rewritten(&subject.name, &text));
        if *right.get_or_init(|| rewritten(&subject.name, &text)) == wrong {
            return false;
        }
        let extent = Extent::FirstDifference(kernel);
        !compare(&subject.name, &text, &wrong, extent).differences.is_empty()
    });
}

/// Such a mistake changes the rewrite of some kernel, and the judge proves none of these.
#[test]
fn mistakes_that_no_launch_shows_are_not_proved() {
    UNSEEN.into_par_iter().for_each(|bug| {
        let mut changed = 0;
        for subject in SUBJECTS.iter() {
            let Some(wrong) = subject.wrong(bug) else { continue };
            let (right, by_mistake) = (kernels(&subject.right), kernels(&wrong));
            let before = SourceFile::new(subject.name.as_str(), subject.text.as_str());
            let after = SourceFile::new(subject.name.as_str(), wrong.as_str());
            let judged = verify(&before, &after, &Effort::default());
            let judged = judged.unwrap_or_else(|error| panic!("{error}"));
            for kernel in &judged.functions {
                if right.get(&kernel.name) != by_mistake.get(&kernel.name) {
                    changed += 1;
                    let proved = format!("{bug:?}: {} of {} is proved", kernel.name, subject.name);
                    assert_ne!(kernel.verdict, Verdict::Equal, "{proved}");
                }
            }
        }
        assert_ne!(changed, 0, "{bug:?} changes no rewrite");
    });
}

/// No rewrite that a mistake of a strategy has changed is proved, unless it computes the same. (A short run asks about a
/// quarter of the cases, other ones for each mistake.)
#[test]
fn mistakes_of_strategies_are_not_proved() {
    let pairs: Vec<(Bug, &Subject)> = Bug::of(Set::Strategies)
        .into_iter()
        .flat_map(|bug| {
            let some = percent_of(share(100).clamp(25, 100), SUBJECTS.iter().collect(), bug as u64);
            some.into_iter().map(move |subject| (bug, subject))
        })
        .collect();
    // A wrong proof needs few queries.
    let effort = match share(100) < 100 {
        true => Effort { solver_limit: 20_000, queries: 8, ..Effort::default() },
        false => Effort::default(),
    };
    pairs.into_par_iter().for_each(|(bug, subject)| {
        let Some(wrong) = subject.wrong(bug) else { return };
        let name = &subject.name;
        let before = SourceFile::new(name.as_str(), subject.text.as_str());
        let after = SourceFile::new(name.as_str(), wrong.as_str());
        let judged = verify(&before, &after, &effort);
        let judged = judged.unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(judged.verdict, Verdict::Equal, "{bug:?}: the rewrite of {name} is proved");
        let (right, changed) = (kernels(&subject.right), kernels(&wrong));
        for kernel in judged.functions.iter().filter(|one| one.verdict == Verdict::Equal) {
            if right.get(&kernel.name) != changed.get(&kernel.name) {
                let found = compare(name, &subject.text, &wrong, Extent::Kernel(&kernel.name));
                let proved = format!("{bug:?}: the rewrite of {} is proved", kernel.name);
                let against = [found.differences, found.uncompared].concat();
                assert!(against.is_empty(), "{proved}\n{}", against.join("\n"));
            }
        }
    });
}
