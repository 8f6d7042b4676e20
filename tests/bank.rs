//! The kernels of `openacc-bench/bank`, whose warps access shared memory with bank conflicts: strategy `bank` lays their arrays
//! out anew, which is proved, computes the same, and takes as many wavefronts as the model says.

use std::path::{Path, PathBuf};

use ptxasw::interp::{self, Outcome};
use ptxasw::launch::Launch;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth};
use ptxasw::report::ArrayReport;
use ptxasw::select::{Strategies, StrategyName};
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, verify};

/// The kernels, each with the most wavefronts that are left, in percent of those that the original takes.
const KERNELS: [(&str, u64); 4] =
    [("transposed", 7), ("reduced", 7), ("product", 7), ("vectors", 41)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("openacc-bench/bank")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn rewritten(strategies: Strategies) -> (SourceFile, SourceFile, ptxasw::report::Report) {
    let source = SourceFile::new("kernels.sm_80.ptx", read("kernels.sm_80.ptx"));
    let mut options = Options::default();
    options.select.strategies = strategies;
    let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
    (source, SourceFile::new("kernels.sm_80.ptx", result.text), result.report)
}

fn run(source: &SourceFile, kernel: &str) -> Outcome {
    let module = ptx::parse(source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    let launch = Launch::from_json(&read(&format!("{kernel}.json"))).expect("a launch file");
    interp::run(&module, &launch)
        .unwrap_or_else(|fault| panic!("{kernel}: {}", fault.diagnostic(source)))
}

#[test]
fn arrays_are_laid_out_anew_with_fewer_wavefronts() {
    let (before, after, report) = rewritten(Strategies::only(StrategyName::Bank));
    for (kernel, most) in KERNELS {
        let decided = report.kernels.iter().find(|one| one.name == kernel).expect("the kernel");
        assert_eq!(decided.laid_out(), 1, "{kernel}");
        let [old, new] = [&before, &after].map(|source| run(source, kernel));
        assert_eq!(old.buffers, new.buffers, "{kernel}");
        let [old, new] = [old, new].map(|outcome| outcome.counters);
        assert_eq!(old.shared_requests, new.shared_requests, "{kernel}");
        let percent = 100 * new.shared_wavefronts / old.shared_wavefronts;
        assert!(percent <= most, "{kernel}: {percent} % of the wavefronts are left");
        // Each access is executed equally often, but for that of arrays in inner loops.
        let sums = decided.arrays.iter().filter_map(|array| array.wavefronts);
        let model = sums.fold((0.0, 0.0), |sum, one| (sum.0 + one.before, sum.1 + one.after));
        let share = model.1 / model.0;
        let counted = new.shared_wavefronts as f64 / old.shared_wavefronts as f64;
        assert!(
            (share - counted).abs() < 0.01,
            "{kernel}: {share} by the model, {counted} counted"
        );
    }
}

#[test]
fn every_layout_is_proved() {
    let (before, after, _) = rewritten(Strategies::only(StrategyName::Bank));
    let found =
        verify(&before, &after, &Effort::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.verdict, Verdict::Equal, "{found}");
    assert_eq!(found.assumptions.len(), 3, "that accesses stay within arrays is said");
    assert!(found.functions.iter().all(|function| function.layouts.len() == 1), "{found}");
}

#[test]
fn nothing_is_done_where_nobody_asks() {
    for strategies in [Strategies::NONE, Strategies::PAPER] {
        let (before, after, report) = rewritten(strategies);
        assert_eq!(before.text(), after.text());
        // The wavefronts are shown all the same.
        let arrays = report.kernels.iter().flat_map(|kernel| &kernel.arrays);
        assert!(arrays.clone().all(|array| array.wavefronts.is_some() && array.rule.is_none()));
        assert_eq!(arrays.count(), 5);
    }
}

/// What `auto` leaves alone it names, with both costs.
#[test]
fn layouts_are_offered_by_name() {
    let (before, after, report) = rewritten(Strategies::AUTO);
    assert_eq!(before.text(), after.text());
    for (kernel, _) in KERNELS {
        let decided = report.kernels.iter().find(|one| one.name == kernel).expect("the kernel");
        let offered = |array: &&ArrayReport| array.rule.as_deref() == Some("by-name-only");
        let array = decided.arrays.iter().find(offered).expect("an offer");
        let cost = array.cost.expect("both costs");
        assert!(cost.strategy < cost.load, "{kernel}: {cost:?}");
        let reason = array.reason.as_deref().expect("a reason");
        let in_build =
            "a build that compares machine code tries `bank` and keeps it unless that is slower";
        assert!(reason.starts_with(in_build), "{kernel}: {reason}");
    }
}

/// A kernel whose lanes read words `apart` bytes from each other in shared memory, and that copies words of global memory one
/// after the other.
fn beside_copies(apart: u32, reads: u32) -> String {
    let read = |at: u32| format!("ld.shared.f32 %f{at}, [%r4+{}];\n", 4 * at);
    let sum = |at: u32| format!("add.f32 %f20, %f20, %f{at};\n");
    let copy = |at: u32| {
        let (from, place) = (40 + at, 4096 * at);
        format!(
            "ld.global.f32 %f{from}, [%rd6+{place}];\nst.global.f32 [%rd7+{place}], %f{from};\n"
        )
    };
    let reads: String = (0..reads).map(|at| read(at) + &sum(at)).collect();
    let copies: String = (1..5).map(copy).collect();
    format!(
        ".version 7.4\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 a, .param .u64 b)\n.reqntid 32, 1, 1\n{{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<60>;\n\
         .shared .align 4 .b8 tile[2048];\n\
         ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\n\
         cvta.to.global.u64 %rd3, %rd1;\ncvta.to.global.u64 %rd4, %rd2;\n\
         mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd5, %r1, 4;\n\
         add.s64 %rd6, %rd3, %rd5;\nadd.s64 %rd7, %rd4, %rd5;\n\
         mov.u32 %r2, tile;\nmad.lo.u32 %r4, %r1, {apart}, %r2;\n\
         mov.f32 %f20, 0f3F800000;\nst.shared.f32 [%r4], %f20;\nbar.sync 0;\n\
         {reads}{copies}st.global.f32 [%rd7], %f20;\nret;\n}}\n"
    )
}

/// Where the machine code is compared, `auto` takes a layout or all other replacements, whichever save more.
#[test]
fn a_layout_or_the_others() {
    let decided = |apart, reads| {
        let source = SourceFile::new("k.ptx", beside_copies(apart, reads));
        let mut options = Options::default();
        options.select.strategies = Strategies::AUTO;
        options.select.is_checked = true;
        let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
        let after = SourceFile::new("k.ptx", result.text);
        let found = verify(&source, &after, &Effort::default());
        let found = found.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.verdict, Verdict::Equal, "{found}");
        let kernel = result.report.kernels.into_iter().next().expect("a kernel");
        let rule = kernel.arrays[0].rule.clone();
        let replaces = kernel.loads.iter().any(|load| load.rule.is_none());
        (kernel.laid_out(), rule, replaces)
    };
    assert_eq!(decided(64, 8), (1, None, false));
    assert_eq!(decided(8, 1), (0, Some("array-beside-others".to_owned()), true));
}

/// What a file says of its one array, which the module declares.
fn kept(text: &str) -> String {
    let source = SourceFile::new("kernels.ptx", text);
    let mut options = Options::default();
    options.select.strategies = Strategies::only(StrategyName::Bank);
    let result = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.text, text);
    let arrays = result.report.kernels.iter().flat_map(|kernel| &kernel.arrays);
    arrays.filter_map(|array| array.reason.clone()).collect::<Vec<_>>().join("; ")
}

/// No assembler takes the address of shared memory as an initial value; so these are no cases.
#[test]
fn arrays_of_the_module_that_no_instruction_names_stay() {
    let pair = "tests/verify/equal/module_array_padded.ptx";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(pair);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{pair}: {error}"));
    let declaration = ".shared .align 4 .b8 tile[1024];\n";
    assert!(text.contains(declaration));
    for (more, reason) in [
        (".global .align 8 .u64 pointer = tile;", "no instruction, but line 6 names"),
        (".global .align 8 .u64 pointers[2] = { 0, tile+4 };", "no instruction, but line 6 names"),
        (".pragma \"tile\";", "no instruction, but line 6 names"),
        (".shared .align 4 .b8 tile[512];", "line 7 declares the name"),
        (".global .align 4 .b8 tile[512];", "line 7 declares the name"),
    ] {
        let found = kept(&text.replace(declaration, &format!("{more}\n{declaration}")));
        assert!(found.contains(reason), "{more}: {found}");
    }
}
