//! Rewritten kernels stay if their machine code takes fewer cycles, by the measure.

use crate::support::{Bench, PTXASW, real_ptxas, run, stderr};
use ptxasw::report::{Report, StepName, Why};
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("fewer_cycles_stay", fewer_cycles_stay),
    ("as_many_cycles_are_taken_back", as_many_cycles_are_taken_back),
    ("what_waits_less_alone_is_taken_back", what_waits_less_alone_is_taken_back),
    ("vectors_behind_a_test_are_tried", vectors_behind_a_test_are_tried),
    ("what_can_gain_nothing_is_not_tried", what_can_gain_nothing_is_not_tried),
    ("what_goes_another_way_is_taken_back", what_goes_another_way_is_taken_back),
    ("arrays_are_laid_out_where_that_takes_fewer_cycles", arrays_are_laid_out),
];

/// What the stand-in makes of a file by the strategies that pay: the report, and whether the output is the original's.
fn by_auto(ptxas: &Path, (file, arch): (&str, &str), check: &str) -> (Report, bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    by_auto_of(ptxas, (&std::fs::read_to_string(path).unwrap(), arch), check)
}

/// The same of a text.
fn by_auto_of(ptxas: &Path, of: (&str, &str), check: &str) -> (Report, bool) {
    let (report, [original, made]) = built(ptxas, of, check);
    (report, made == original)
}

/// The report on a text, and the output for the original and for the text.
fn built(ptxas: &Path, (text, arch): (&str, &str), check: &str) -> (Report, [Vec<u8>; 2]) {
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    std::fs::write(bench.path("work/k.ptx"), text).unwrap();
    let assemble = |settings: &[(&str, &str)]| {
        let mut call = bench.call(&link, &[&format!("-arch={arch}"), "k.ptx", "-o", "out"]);
        call.env("PTXASW_PTXAS", ptxas).envs(settings.iter().copied());
        let output = run(call);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        std::fs::read(bench.path("work/out")).unwrap()
    };
    let original = assemble(&[("PTXASW", "off")]);
    let folder = bench.path("report");
    let settings = [("PTXASW_REPORT", folder.to_str().unwrap()), ("PTXASW_CHECK", check)];
    let made = assemble(&settings);
    let report = std::fs::read(folder.join(&bench.names("report")[0])).unwrap();
    (serde_json::from_slice(&report).unwrap(), [original, made])
}

fn fewer_cycles_stay() {
    let Some(ptxas) = real_ptxas() else { return };
    let measured = |arch: &str, name: &str| {
        let file = format!("ptx-samples/pastl1/pastl1.{arch}.ptx");
        let (report, is_original) = by_auto(&ptxas, (&file, arch), "on");
        let mut kernels = report.kernels.iter();
        let kernel = kernels.find(|kernel| kernel.name == name).expect("the kernel is reported");
        let measure = kernel.measure.as_ref().expect("both are measured");
        let is_slower = measure.ratio() >= Some(1.0) || measure.worst() > Some(1.02);
        assert_eq!(kernel.is_rewritten(), !is_slower, "{name}: {measure}");
        (kernel.is_rewritten(), measure.ratio(), is_original)
    };
    // Ten of 25 loads past the first-level cache are left, and six of nine.
    let (stays, _, is_original) = measured("sm_80", "pastl1_5");
    assert!(stays && !is_original);
    let _ = measured("sm_80", "pastl1_3");
    // Fewer cycles in the mean, and more with a full multiprocessor.
    let (stays, ratio, _) = measured("sm_90", "pastl1_3");
    assert!(!stays && ratio < Some(1.0));
}

/// A kernel for sm_80 that executes `body` for each thread `i`. `%rd5` leads to its place in one array, `stride` bytes from that of
/// the next thread, and `%rd6` to `4 * i` bytes in another.
fn elementwise(stride: u32, body: &str) -> String {
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 from, .param .u64 to)\n{{\n\
         .reg .b32 %r<5>; .reg .f32 %f<20>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to];\n\
         cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r4, %r2, %r3, %r1;\n\
         mul.wide.u32 %rd7, %r4, {stride}; add.s64 %rd5, %rd3, %rd7;\n\
         mul.wide.u32 %rd7, %r4, 4; add.s64 %rd6, %rd4, %rd7;\n{body}ret;\n}}\n"
    )
}

/// The sum of eight words: two vectors keep the units as busy as eight loads. (Of sixteen words they do not.)
fn as_many_cycles_are_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let summed = |words: u32| {
        let add =
            |word| format!("ld.global.f32 %f1, [%rd5+{}];\nadd.f32 %f0, %f0, %f1;\n", 4 * word);
        let body: String = (0..words).map(add).collect();
        let text = format!("mov.f32 %f0, 0f00000000;\n{body}st.global.f32 [%rd6], %f0;\n");
        let (report, is_original) =
            by_auto_of(&ptxas, (&elementwise(4 * words, &text), "sm_80"), "on");
        let kernel = &report.kernels[0];
        assert_eq!(kernel.is_rewritten(), !is_original);
        (is_original, kernel.measure.as_ref().and_then(|measure| measure.ratio()))
    };
    let (is_original, ratio) = summed(8);
    assert!(is_original && ratio.is_none_or(|ratio| (1.0..1.005).contains(&ratio)), "{ratio:?}");
    let (is_original, ratio) = summed(16);
    assert!(!is_original && ratio < Some(0.9), "{ratio:?}");
}

/// Sixteen words are loaded as vectors, and thousands of products take the time.
fn what_can_gain_nothing_is_not_tried() {
    let Some(ptxas) = real_ptxas() else { return };
    let add = |word| format!("ld.global.f32 %f1, [%rd5+{}];\nadd.f32 %f0, %f0, %f1;\n", 4 * word);
    let sum: String = (0..16).map(add).collect();
    let decided = |products: usize| {
        let products = "fma.rn.f32 %f0, %f0, %f0, %f0;\n".repeat(products);
        let text = format!("mov.f32 %f0, 0f00000000;\n{sum}{products}st.global.f32 [%rd6], %f0;\n");
        let (report, is_original) = by_auto_of(&ptxas, (&elementwise(64, &text), "sm_80"), "on");
        let steps: Vec<StepName> = report.kernels[0].trace.iter().map(|step| step.step).collect();
        (report.kernels[0].why, is_original, steps)
    };
    let (why, is_original, steps) = decided(12_000);
    assert!(why == Some(Why::NotTried) && is_original, "{why:?}");
    assert_eq!(steps, [StepName::Considered]);
    let (why, is_original, steps) = decided(0);
    assert!(why.is_none() && !is_original, "{why:?}");
    let all = [StepName::Considered, StepName::Tried, StepName::Measured, StepName::Proved];
    assert_eq!(steps, all);
}

/// Three words a thread are copied, each load in front of all stores: with few warps that hides latency, with many warps
/// others do, and the tests are left.
fn what_waits_less_alone_is_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let copies: String = (0..3)
        .map(|row| {
            format!("ld.global.f32 %f1, [%rd5+{0}];\nst.global.f32 [%rd6+{0}], %f1;\n", 4096 * row)
        })
        .collect();
    let text = elementwise(4, &copies);
    let (report, is_original) = by_auto_of(&ptxas, (&text, "sm_86"), "on");
    let kernel = &report.kernels[0];
    let reason = kernel.skipped.as_deref().unwrap_or_default();
    assert!(is_original && reason.starts_with("taken back: "), "{reason}");
    let measure = kernel.measure.as_ref().expect("both are measured");
    assert!(measure.ratio() < Some(0.9) && measure.worst() < Some(1.02), "{measure}");
    assert!(measure.with_most() > Some(0.95), "{measure}");
    // It is for the wait alone.
    let (report, is_original) = by_auto_of(&ptxas, (&text, "sm_86"), "off");
    assert!(!is_original && report.kernels[0].is_rewritten());
    // On an H200 such kernels were measured: they lose nothing with all warps resident.
    let (report, is_original) = by_auto_of(&ptxas, (&text, "sm_90"), "on");
    let measure = report.kernels[0].measure.as_ref().expect("both are measured");
    assert!(!is_original && report.kernels[0].is_rewritten(), "{measure}");
    assert!(measure.with_most() > Some(0.95) && measure.worst() < Some(1.02), "{measure}");
}

/// Each thread adds up a row of its own, four words in an iteration, whose length is a parameter: the pointers are tested for
/// alignment, which costs alone would not take on.
fn vectors_behind_a_test_are_tried() {
    let Some(ptxas) = real_ptxas() else { return };
    let words: String = (0..4)
        .map(|word| format!("ld.global.f32 %f1, [%rd5+{}];\nadd.f32 %f0, %f0, %f1;\n", 4 * word))
        .collect();
    let text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 from, .param .u64 to, .param .u32 length)\n{{\n\
         .reg .pred %p<3>; .reg .b32 %r<8>; .reg .f32 %f<2>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; ld.param.u32 %r5, [length];\n\
         cvta.to.global.u64 %rd3, %rd1; cvta.to.global.u64 %rd4, %rd2;\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;\n\
         mad.lo.s32 %r4, %r2, %r3, %r1; mul.lo.s32 %r6, %r4, %r5;\n\
         mul.wide.s32 %rd7, %r6, 4; add.s64 %rd5, %rd3, %rd7;\n\
         mul.wide.s32 %rd7, %r4, 4; add.s64 %rd6, %rd4, %rd7;\n\
         mov.f32 %f0, 0f00000000; mov.u32 %r7, 0;\n\
         loop:\n{words}\
         add.s64 %rd5, %rd5, 16; add.s32 %r7, %r7, 4; setp.lt.s32 %p1, %r7, %r5; @%p1 bra loop;\n\
         st.global.f32 [%rd6], %f0; ret;\n}}\n"
    );
    let (report, is_original) = by_auto_of(&ptxas, (&text, "sm_80"), "on");
    let kernel = &report.kernels[0];
    let measure = kernel.measure.as_ref().unwrap_or_else(|| panic!("{:?}", kernel.skipped));
    assert!(!is_original && measure.ratio() < Some(0.6), "{measure}");
    assert!(measure.worst() <= Some(1.0), "{measure}");
    let (_, is_original) = by_auto_of(&ptxas, (&text, "sm_80"), "off");
    assert!(is_original);
}

/// `for (row = threadIdx.x; row < m; row += blockDim.x) for (j = 0; j < n; j++) c += a[row * n + j] >= 0;`: of the original, whose
/// inner loop ptxas unrolls further, the tail is followed. (Braces in that loop keep it from getting two versions as a whole.)
fn what_goes_another_way_is_taken_back() {
    let Some(ptxas) = real_ptxas() else { return };
    let (report, is_original) = by_auto(&ptxas, ("tests/wrapper/rows.ptx", "sm_90"), "on");
    let kernel = &report.kernels[0];
    let reason = kernel.skipped.as_deref().unwrap_or_default();
    assert!(is_original && reason.ends_with("cannot be followed on the same way"), "{reason}");
    assert!(kernel.measure.as_ref().is_some_and(|measure| measure.ratio() < Some(0.125)));
}

fn arrays_are_laid_out() {
    let Some(ptxas) = real_ptxas() else { return };
    let file = "openacc-bench/bank/kernels.sm_80.ptx";
    let (report, _) = by_auto(&ptxas, (file, "sm_80"), "on");
    for kernel in &report.kernels {
        let measure = kernel.measure.as_ref().expect("both are measured");
        let is_slower = measure.ratio() >= Some(1.0) || measure.worst() > Some(1.005);
        assert_eq!(kernel.laid_out() == 0, is_slower, "{}: {measure}", kernel.name);
    }
    let is_laid_out = |name: &str| {
        report.kernels.iter().any(|kernel| kernel.name == name && kernel.laid_out() > 0)
    };
    assert!(is_laid_out("transposed") && is_laid_out("product"), "{report:#?}");
    // Nothing is compared: arrays are left alone.
    let (report, is_original) = by_auto(&ptxas, (file, "sm_80"), "off");
    assert!(is_original && report.kernels.iter().all(|kernel| kernel.laid_out() == 0));
}
