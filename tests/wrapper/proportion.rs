//! What assembling the rewritten text costs, and what ptxas says of it, stays in proportion to the
//! original.

use crate::check::scripted;
use crate::support::{Bench, PTXASW, is_of_release, real_ptxas, run, stderr, stdout};
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("work_beyond_the_leash_takes_the_original", work_beyond_the_leash_takes_the_original),
    ("a_refused_original_ends_the_other_run", a_refused_original_ends_the_other_run),
    ("many_loads_cost_in_proportion", many_loads_cost_in_proportion),
    ("more_warnings_take_the_original", more_warnings_take_the_original),
    ("what_ptxas_counts_takes_the_original", what_ptxas_counts_takes_the_original),
    ("warnings_as_errors_take_the_original", warnings_as_errors_take_the_original),
    ("no_kernel_gets_warnings_by_its_rewrite", no_kernel_gets_warnings_by_its_rewrite),
];

/// Why the rewritten text of the call was not used.
fn reason(bench: &Bench) -> String {
    let report = bench.path("report").join(&bench.names("report")[0]);
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    report["kernels"][0]["skipped"].as_str().unwrap_or_default().to_owned()
}

/// Calls a fake ptxas that makes "good" of the original and runs these lines for the rewritten text;
/// why the original was used.
fn taken_back(lines: &str) -> String {
    let bench = Bench::new();
    let script = format!("if [ -n \"$original\" ]; then echo good > $out; exit; fi\n{lines}");
    let mut call = scripted(&bench, &script);
    call.env("PTXASW_REPORT", bench.path("report"));
    let done = run(call);
    assert!(done.status.success(), "{done:?}");
    assert_eq!((stdout(&done), stderr(&done)), (String::new(), String::new()), "{lines}");
    assert_eq!(std::fs::read_to_string(bench.path("work/out")).unwrap(), "good\n", "{lines}");
    assert_eq!(bench.names("tmp"), [""; 0]);
    reason(&bench)
}

fn work_beyond_the_leash_takes_the_original() {
    assert!(taken_back("while :; do :; done").contains("times the processor time of the original"));
    // (900 MB in one process that then does nothing; a shell would take longer to fill them than the other limit allows.)
    let hold = "exec perl -e '$x = \"x\" x 900000000; sleep 60'";
    let why = taken_back(hold);
    assert!(why.contains("times the memory of the original"), "{why}");
}

/// Or the call would last a minute.
fn a_refused_original_ends_the_other_run() {
    let bench = Bench::new();
    // (And what the one that is ended has put into its temporary folder goes.)
    let lines = "if [ -n \"$original\" ]; then exit 3; fi\n\
                 if [ -n \"$rewritten\" ]; then echo x > $TMPDIR/tmpxft_1; exec sleep 60; fi\n\
                 echo plain > $out; exit 4";
    assert_eq!(run(scripted(&bench, lines)).status.code(), Some(4));
    assert_eq!(bench.names("tmp"), [""; 0]);
    assert_eq!(std::fs::read_to_string(bench.path("work/out")).unwrap(), "plain\n");
}

/// 2000 loads of one kernel at consecutive offsets: replacing all of them would cost ptxas ten times the memory.
fn many_loads_cost_in_proportion() {
    let Some(ptxas) = real_ptxas() else { return };
    const LOADS: usize = 2000;
    let bench = Bench::new();
    let loads: String = (0..LOADS)
        .map(|load| format!("ld.global.f32 %f1, [%rd6+{}];\nadd.f32 %f0, %f0, %f1;\n", 4 * load))
        .collect();
    let text = crate::check::taps(8);
    let (head, _) = text.split_once("ld.global").unwrap();
    let text =
        format!("{head}mov.f32 %f0, 0f00000000;\n{loads}st.global.f32 [%rd7], %f0;\nret;\n}}\n");
    std::fs::write(bench.path("work/a.ptx"), text).unwrap();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    let mut call = bench.call(&link, &["-arch=sm_80", "a.ptx", "-o", "out"]);
    call.env("PTXASW_PTXAS", ptxas).env("PTXASW_STRATEGY", "paper").env("PTXASW_CHECK", "off");
    call.env("PTXASW_REPORT", bench.path("report")).env("PTXASW_KEEP", bench.path("keep"));
    assert!(run(call).status.success());
    let kept = bench.names("keep").into_iter().map(|name| bench.path("keep").join(name));
    let sizes: Vec<u64> = kept.map(|path| std::fs::metadata(path).unwrap().len()).collect();
    assert!(sizes[1] > sizes[0], "something is rewritten");
    assert!(sizes[1] < 2 * sizes[0], "{sizes:?}");
}

fn more_warnings_take_the_original() {
    let new = taken_back("echo new > $out; echo 'ptxas warning : dear' >&2");
    assert_eq!(new, "taken back: ptxas says: ptxas warning : dear");
    let lost =
        taken_back("echo new > $out; echo 'ptxas info    : (C7518) Potential Performance Loss'");
    assert!(lost.contains("C7518"), "{lost}");
    // With the kernel it is another kernel's matter; this one has no other.
    let of_kernel = taken_back("echo new > $out; echo \"warning : function 'k' is slow\" >&2");
    assert!(of_kernel.starts_with("taken back: "), "{of_kernel}");
}

fn what_ptxas_counts_takes_the_original() {
    let bench = Bench::new();
    let script = "n=4; if [ -n \"$original\" ]; then n=0; fi\n\
                  echo \"ptxas info    : Function properties for k\" >&2\n\
                  echo \"    0 bytes stack frame, $n bytes spill stores, 0 bytes spill loads\" >&2\n\
                  echo \"made $n\" > $out";
    let mut call = scripted(&bench, script);
    call.env("PTXASW_REPORT", bench.path("report"));
    let done = run(call);
    assert!(stderr(&done).contains(" 0 bytes spill stores"), "{done:?}");
    assert_eq!(std::fs::read_to_string(bench.path("work/out")).unwrap(), "made 0\n");
    assert!(reason(&bench).contains("4 bytes spill stores instead of 0"), "{}", reason(&bench));
}

fn warnings_as_errors_take_the_original() {
    let why = taken_back("echo 'ptxas warning : dear' >&2; exit 1");
    assert_eq!(why, "taken back: ptxas says: ptxas warning : dear");
}

/// A kernel with a row of loads in a branch before a matrix product, which the rewrite's own branches
/// would make ptxas serialise: it says so.
fn no_kernel_gets_warnings_by_its_rewrite() {
    let Some(ptxas) = real_ptxas() else { return };
    if is_of_release(&ptxas, 12) {
        no_product_is_serialised(&ptxas);
    }
    // Registers that have no room are spilled, and ptxas says so.
    let bench = Bench::new();
    let text = crate::check::module(&[("k", "", 60)]);
    std::fs::write(bench.path("work/a.ptx"), text).unwrap();
    for option in ["-warn-spills", "-warn-lmem-usage"] {
        let words = ["-arch=sm_80", "-maxrregcount=32", option, "a.ptx", "-o", "out"];
        let plain = run(bench.call(&ptxas, &words));
        let done = run(bench.stand_in_around(&ptxas, &words));
        assert_eq!([stdout(&done), stderr(&done)], [stdout(&plain), stderr(&plain)]);
        let mut call = bench.stand_in_around(&ptxas, &words);
        call.env("PTXASW_CHECK", "off");
        assert!(stderr(&run(call)).contains("warning"), "the rewrite spills");
    }
}

fn no_product_is_serialised(ptxas: &Path) {
    let product = "st.global.f32 [%rd7], %f4;\nDONE:\n{\n.reg .f32 z<4>; .reg .b64 da, db;\n\
        wgmma.fence.sync.aligned;\n\
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {z0,z1,z2,z3}, da, db, 1,1,1,0,0;\n\
        wgmma.commit_group.sync.aligned;\nst.global.f32 [%rd7], z0;\n}";
    let branch = "\n.reg .pred %p;\nsetp.gt.u32 %p, %r1, 100;\n@%p bra DONE;\nld.global.f32 %f0,";
    let text = crate::check::taps(4)
        .replace("version 7.0", "version 8.0")
        .replace("sm_80", "sm_90a")
        .replace("\nld.global.f32 %f0,", branch)
        .replace("st.global.f32 [%rd7], %f4;", product);
    let bench = Bench::new();
    std::fs::write(bench.path("work/a.ptx"), &text).unwrap();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    let words = ["-arch=sm_90a", "a.ptx", "-o", "out"];
    let said = |settings: &[(&str, &str)]| {
        let mut call = bench.call(&link, &words);
        call.env("PTXASW_PTXAS", ptxas).env("PTXASW_STRATEGY", "paper");
        call.envs(settings.iter().copied());
        let done = run(call);
        assert!(done.status.success(), "{done:?}");
        [stdout(&done), stderr(&done)].concat()
    };
    let plain = said(&[("PTXASW", "off")]);
    assert!(said(&[("PTXASW_CHECK", "off")]).contains("Performance Loss"), "the rewrite costs");
    assert_eq!(said(&[]), plain);
}
