//! What a run rests on: instructions whose results are open, and where approximate values go.

use ptxasw::interp::{Fidelity, Open, fidelity};
use ptxasw::launch::Launch;
use ptxasw::ptx::{Depth, parse};
use ptxasw::source::SourceFile;

/// What a kernel of 32 threads rests on that has these instructions; `%rd1` is the address of the thread's element of `x`, `%rd0`
/// that of the first one, `%f1` 1.5 times its number.
fn of(body: &str) -> Fidelity {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{{\n\
         .shared .align 4 .b32 tile[32];\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<5>;\n\
         ld.param.u64 %rd0, [x];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd0, %rd2;\n\
         cvt.rn.f32.u32 %f1, %r1;\nmul.rn.f32 %f1, %f1, 0f3FC00000;\n\
         mov.u32 %r2, tile;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r2, %r2, %r3;\n{body}\nret;\n}}"
    );
    let source = SourceFile::new("k.ptx", text);
    let module = parse(&source, Depth::All).expect("PTX");
    let launch = Launch::from_json(
        r#"{"grid": [1], "block": [32], "buffers": {"x": {"type": "u32", "len": 64}}, "args": [{"buffer": "x"}]}"#,
    );
    fidelity(&module, &launch.expect("a launch")).expect("it runs")
}

fn opened(body: &str) -> Vec<(String, Open, u64)> {
    of(body).open.into_iter().map(|one| (one.opcode, one.open, one.lanes)).collect()
}

fn reached(body: &str) -> Vec<&'static str> {
    of(body).reached.into_iter().map(|one| one.what).collect()
}

const BRANCH: &str = "whether this branch is taken";
const ADDRESS: &str = "the address of this access";

/// A branch behind which the kernel stores.
const BRANCHES: &str =
    "setp.gt.f32 %p1, %f3, 0f3F800000;\n@%p1 bra END;\nst.global.u32 [%rd1], 1;\nEND:";

#[test]
fn open_results_have_reasons() {
    let none: [(String, Open, u64); 0] = [];
    assert_eq!(
        opened("fma.rn.f32 %f2, %f1, %f1, %f1;\nsqrt.rn.f32 %f2, %f2;\nst.global.f32 [%rd1], %f2;"),
        none
    );
    for (body, opcode, open) in [
        ("ex2.approx.ftz.f32 %f2, %f1;", "ex2.approx.ftz.f32", Open::Approximate),
        ("div.full.f32 %f2, %f1, %f1;", "div.full.f32", Open::Approximate),
        ("red.global.add.f32 [%rd0], %f1;", "red.global.add.f32", Open::Sum),
        (
            "atom.global.add.u32 %r4, [%rd0], 1;\nst.global.u32 [%rd1+128], %r4;",
            "atom.global.add.u32",
            Open::OldValue,
        ),
        ("mul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;", "mul.f32", Open::Contraction),
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f2,%f3,%f4,%f5}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%f1,%f1,%f1,%f1};",
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            Open::Product,
        ),
    ] {
        assert_eq!(opened(body), [(opcode.to_owned(), open, 32)], "{body}");
    }
    for body in [
        "atom.global.add.u32 %r4, [%rd0], 1;",
        "red.global.max.u32 [%rd0], %r1;",
        "mul.rn.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;",
        "mul.f32 %f2, %f1, %f1;\nadd.rn.f32 %f3, %f2, %f1;",
        "mul.lo.u32 %r4, %r1, %r1;\nadd.u32 %r4, %r4, %r1;",
        // It is not executed.
        "bra END;\nex2.approx.f32 %f2, %f1;\nEND:",
    ] {
        assert_eq!(opened(body), none, "{body}");
    }
}

#[test]
fn approximate_values_are_followed() {
    let start = "ex2.approx.f32 %f2, %f1;\nmov.b32 %r4, %f2;\n";
    for (way, how) in [
        ("a register", "add.f32 %f3, %f2, %f2;"),
        ("shared memory", "st.shared.f32 [%r2], %f2;\nbar.sync 0;\nld.shared.f32 %f3, [tile];"),
        ("a shuffle", "shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1;\nmov.b32 %f3, %r5;"),
        ("global memory", "st.global.f32 [%rd1], %f2;\nld.global.f32 %f3, [%rd1];"),
        ("an exchange", "atom.global.exch.b32 %r5, [%rd1], %r4;\nld.global.f32 %f3, [%rd1];"),
        ("a sum", "red.global.add.f32 [%rd1], %f2;\nld.global.f32 %f3, [%rd1];"),
        ("an old value", "st.global.f32 [%rd1], %f2;\natom.global.add.f32 %f3, [%rd1], %f1;"),
        ("a choice", "setp.lt.f32 %p0, %f2, %f1;\nselp.f32 %f3, %f1, 0f00000000, %p0;"),
        (
            "a branch that computes",
            "mov.f32 %f3, %f1;\nsetp.lt.f32 %p0, %f2, %f1;\n@%p0 bra M;\nmov.f32 %f3, 0f00000000;\nM:",
        ),
    ] {
        let found = reached(&format!("{start}{how}\n{BRANCHES}"));
        assert_eq!(found.last(), Some(&BRANCH), "{way}");
        let other = reached(&format!("{start}{how}\nmov.f32 %f3, %f1;\n{BRANCHES}"));
        assert_eq!(other.len(), found.len() - 1, "{way}: the branch does not depend on it");
    }
    let index = "cvt.rzi.u32.f32 %r5, %f2;\nand.b32 %r5, %r5, MASK;\nmul.wide.u32 %rd3, %r5, 4;\nadd.s64 %rd3, %rd0, %rd3;\nld.global.u32 %r6, [%rd3];";
    assert_eq!(reached(&format!("{start}{}", index.replace("MASK", "3"))), [ADDRESS]);
    assert!(reached(&format!("{start}{}", index.replace("MASK", "0"))).is_empty(), "discarded");
    assert!(reached(&format!("{start}st.global.f32 [%rd1], %f2;")).is_empty(), "a result");
    let predicated = "setp.lt.f32 %p0, %f2, %f1;\n@%p0 st.global.u32 [%rd1], 1;";
    assert_eq!(reached(&format!("{start}{predicated}")), ["the predicate of this instruction"]);
}

#[test]
fn a_loop_until_an_approximation_is_good_ends() {
    let body = "mov.u32 %r4, 0;\nL:\nadd.u32 %r4, %r4, 1;\nrcp.approx.f32 %f2, %f1;\nadd.f32 %f1, %f1, 0f3F800000;\n\
                setp.gt.f32 %p0, %f2, 0f3A83126F;\n@%p0 bra L;\nst.global.u32 [%rd1], %r4;";
    let found = of(body);
    assert_eq!(found.reached.iter().map(|one| one.what).collect::<Vec<_>>(), [BRANCH]);
    assert!(found.open[0].lanes > 30 * 900, "{found:?}");
}
