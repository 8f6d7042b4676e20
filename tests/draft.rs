//! Launch files that `ptxasw launch` drafts: every sample runs with its unchanged draft, and the known properties of
//! small kernels stand in theirs.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptxasw::draft::{Draft, Wishes, draft};
use ptxasw::interp::{self, FaultKind};
use ptxasw::launch::{Argument, Launch, Type};
use ptxasw::ptx::{self, Depth, FunctionKind};
use ptxasw::source::SourceFile;

fn source(text: &str) -> SourceFile {
    SourceFile::new("kernel.ptx", text.to_owned())
}

/// A kernel of this body, behind declarations of registers.
fn kernel(parameters: &str, directives: &str, body: &str) -> SourceFile {
    source(&format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k({parameters})\n{directives}\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>;\n{body}\nret;\n}}\n"
    ))
}

/// The draft of the only kernel, and its text read again.
fn drafted(source: &SourceFile) -> (Draft, Launch) {
    let draft = draft(source, &Wishes::default()).expect("it parses").expect("it has one kernel");
    let launch = Launch::from_json(&draft.plan.text("outcome")).expect("the draft can be read");
    (draft, launch)
}

fn samples() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-samples");
    let mut found = Vec::new();
    for sample in fs::read_dir(root).expect("the samples are there") {
        let folder = sample.expect("an entry").path();
        for file in
            folder.is_dir().then(|| fs::read_dir(&folder).expect("a folder")).into_iter().flatten()
        {
            let path = file.expect("an entry").path();
            if path.to_string_lossy().ends_with(".sm_80.ptx") {
                found.push(path);
            }
        }
    }
    found
}

#[test]
fn every_sample_runs_as_drafted() {
    let (mut tried, mut stopped) = (0, Vec::new());
    for path in samples() {
        let text = fs::read_to_string(&path).expect("the sample can be read");
        let source = SourceFile::new(path.to_string_lossy(), text);
        let module = ptx::parse(&source, Depth::All).expect("the sample parses");
        for function in module.functions().filter(|f| f.kind == FunctionKind::Entry) {
            let name = function.name.text;
            let named = Wishes { kernel: Some(name), ..Wishes::default() };
            let draft = draft(&source, &named).expect("it parses").expect("it is there");
            let launch = Launch::from_json(&draft.plan.text("")).expect("the draft can be read");
            tried += 1;
            if let Err(fault) = interp::run(&module, &launch) {
                stopped.push(format!("{} {name}: {fault}", path.display()));
            }
        }
    }
    assert!(tried >= 60, "{tried} kernels");
    assert!(stopped.is_empty(), "{}", stopped.join("\n"));
}

#[test]
fn lengths_follow_from_addresses() {
    // Elements 1 to n of `a`, for threads below n - 1.
    let source = kernel(
        ".param .u64 a, .param .u32 n",
        ".reqntid 64, 1, 1",
        "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %d1, %d1;\n\
         mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r2, %r3, 64, %r2;\n\
         setp.ge.u32 %p1, %r2, %r1; @%p1 bra END;\n\
         mul.wide.u32 %d2, %r2, 4; add.s64 %d2, %d1, %d2; st.global.f32 [%d2+4], 0f3f800000;\nEND:",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    assert_eq!((launch.block, launch.grid), ([64, 1, 1], [2, 1, 1]));
    let a = &launch.buffers["a"];
    // Of 2 blocks of 64 threads, those below 64 + 32 + 5.
    assert_eq!((a.ty, a.bytes.len()), (Type::F32, 102 * 4));
    assert_eq!(launch.args[1], Argument::Value(101_u32.to_le_bytes().to_vec()));
    let notes = draft.plan.notes().join("\n");
    assert!(notes.contains("The length of `a` follows from the addresses"), "{notes}");
    assert!(notes.contains("The numbers in `n` are guesses"), "{notes}");
}

#[test]
fn bytes_in_front_of_a_pointer() {
    let source = kernel(
        ".param .u64 a",
        "",
        "ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1; mov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %d2, %r1, 4; add.s64 %d2, %d1, %d2; ld.global.f32 %f1, [%d2+-4];",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    assert_eq!(launch.args, [Argument::Pointer { buffer: "a".to_owned(), offset: 16 }]);
}

#[test]
fn an_index_that_is_loaded() {
    // b[a[i] + 7]
    let source = kernel(
        ".param .u64 a, .param .u64 b",
        ".maxntid 32",
        "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x;\n\
         mul.wide.u32 %d3, %r1, 4; add.s64 %d3, %d1, %d3; ld.global.u32 %r2, [%d3];\n\
         mul.wide.u32 %d4, %r2, 4; add.s64 %d4, %d2, %d4; st.global.u32 [%d4+28], %r1;",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    assert_eq!(launch.buffers["a"].bytes.len(), 32 * 4);
    // Indices 7 to 38: as many bytes as that, up to a power of two.
    assert_eq!(launch.buffers["b"].bytes.len(), 256);
    let notes = draft.plan.notes().join("\n");
    assert!(notes.contains("What `a` holds leads to other addresses"), "{notes}");
    assert!(notes.contains("The length of `b` is what a trial"), "{notes}");
}

#[test]
fn a_pointer_within_a_struct() {
    let source = kernel(
        ".param .align 8 .b8 s[24]",
        "",
        "ld.param.u32 %r1, [s+4]; ld.param.u64 %d1, [s+8]; cvta.to.global.u64 %d1, %d1;\n\
         mov.u32 %r2, %tid.x; mul.wide.u32 %d2, %r2, 8; add.s64 %d2, %d1, %d2;\n\
         st.global.v2.u32 [%d2], {%r1, %r2};",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    let [Argument::Struct { bytes, pointers }] = &launch.args[..] else { panic!("{launch:?}") };
    assert_eq!((bytes.len(), pointers[0].at, &*pointers[0].buffer), (24, 8, "s+8"));
    let module = ptx::parse(&source, Depth::All).expect("it parses");
    let outcome = interp::run(&module, &launch).expect("it runs");
    let words: Vec<u64> = outcome.buffers["s+8"].elements().take(4).collect();
    assert_eq!(words, [69, 0, 69, 1]);
}

#[test]
fn what_no_guess_mends_is_said() {
    let trap = kernel(".param .u32 n", "", "trap;");
    let (draft, launch) = drafted(&trap);
    assert_eq!(draft.fault.map(|fault| fault.kind), Some(FaultKind::Trap));
    assert_eq!(launch.args.len(), 1);
}

#[test]
fn several_kernels_need_a_name() {
    let text =
        ".version 7.0\n.target sm_80\n.address_size 64\n.entry a() { ret; }\n.entry b() { ret; }\n";
    let why =
        draft(&source(text), &Wishes::default()).expect("it parses").expect_err("there are two");
    assert!(why.contains("`a`") && why.contains("`b`") && why.contains("--kernel"), "{why}");
}

#[test]
fn threads_as_asked() {
    let body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;";
    let source = kernel("", "", body);
    for (threads, block, grid) in [(20, 20, 1), (1000, 128, 8)] {
        let wishes = Wishes { threads: Some(threads), ..Wishes::default() };
        let draft = draft(&source, &wishes).expect("it parses").expect("one kernel");
        let launch = Launch::from_json(&draft.plan.text("")).expect("the draft can be read");
        assert_eq!((launch.block, launch.grid), ([block, 1, 1], [grid, 1, 1]));
    }
}

/// A transposition of `width` by `height` elements in blocks of 32 by 4 threads: `%r5 < width`, `%r6 < height`.
const GUARDED_PLANE: &str = "ld.param.u32 %r1, [width]; ld.param.u32 %r2, [height]; ld.param.u64 %d1, [a];
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r5, %r3, 32, %r4;
    mov.u32 %r3, %ctaid.y; mov.u32 %r4, %tid.y; mad.lo.s32 %r6, %r3, 4, %r4;
    setp.ge.s32 %p1, %r5, %r1; @%p1 bra END; setp.ge.s32 %p1, %r6, %r2; @%p1 bra END;
    mad.lo.s32 %r7, %r6, %r1, %r5; mul.wide.s32 %d2, %r7, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r7; END:";

#[test]
fn each_size_ends_within_a_block_of_its_axis() {
    let parameters = ".param .u64 a, .param .u32 height, .param .u32 width";
    let (draft, launch) = drafted(&kernel(parameters, "", GUARDED_PLANE));
    assert_eq!(draft.fault, None);
    assert_eq!((launch.grid, launch.block), ([2, 2, 1], [32, 4, 1]));
    let number = |n: u32| Argument::Value(n.to_le_bytes().to_vec());
    assert_eq!(launch.args[1..], [number(7), number(53)]);
    assert_eq!(launch.buffers["a"].bytes.len(), 7 * 53 * 4);
}

#[test]
fn blocks_as_asked() {
    let parameters = ".param .u64 a, .param .u32 height, .param .u32 width";
    let source = kernel(parameters, ".maxntid 256", GUARDED_PLANE);
    let asked = |block| draft(&source, &Wishes { block: Some(block), ..Wishes::default() });
    let found = asked([32, 8, 1]).expect("it parses").expect("the kernel allows it");
    let launch = Launch::from_json(&found.plan.text("")).expect("the draft can be read");
    assert_eq!(launch.block, [32, 8, 1]);
    let why = asked([32, 16, 1]).expect("it parses").expect_err("too many threads");
    assert!(why.contains("at most 256"), "{why}");
    let source = kernel("", ".reqntid 64", "");
    let asked = |block| draft(&source, &Wishes { block: Some(block), ..Wishes::default() });
    assert!(asked([64, 1, 1]).expect("it parses").is_ok());
    let why = asked([32, 2, 1]).expect("it parses").expect_err("another block");
    assert!(why.contains("`.reqntid` demands 64x1x1"), "{why}");
}

/// `s[tid] = tid; out[tid] = s[tid ^ 1]` without a barrier, for threads below n.
const RACE: &str = ".shared .b32 s[64]; ld.param.u64 %d1, [out]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1; @%p1 bra END; mov.u32 %r3, s; shl.b32 %r4, %r2, 2; add.u32 %r5, %r3, %r4;
    st.shared.u32 [%r5], %r2; xor.b32 %r6, %r2, 1; mad.lo.u32 %r6, %r6, 4, %r3; ld.shared.u32 %r7, [%r6];
    mul.wide.u32 %d2, %r2, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r7; END:";

#[test]
fn a_race_is_not_hidden_by_small_sizes() {
    let source = kernel(".param .u64 out, .param .u32 n", ".reqntid 64", RACE);
    let (found, launch) = drafted(&source);
    let kind = found.fault.map(|fault| fault.kind);
    assert!(matches!(kind, Some(FaultKind::Race | FaultKind::Uninitialized)), "{kind:?}");
    assert_ne!(launch.args[1], Argument::Value(1_u32.to_le_bytes().to_vec()));
    // Where two programs are compared, any launch that runs is better than none.
    let wishes = Wishes { avoids_races: true, ..Wishes::default() };
    let avoided = draft(&source, &wishes).expect("it parses").expect("it has one kernel");
    assert_eq!(avoided.fault, None);
}

/// A transposed tile of 32 x 32 elements: a guessed block of fewer rows reads elements that nobody has written.
#[test]
fn a_tile_gets_a_square_block() {
    let source = kernel(
        ".param .u64 out",
        "",
        ".shared .b32 t[1024]; ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, t; mad.lo.u32 %r4, %r2, 32, %r1;\n\
         mad.lo.u32 %r5, %r4, 4, %r3; st.shared.u32 [%r5], %r4; bar.sync 0;\n\
         mad.lo.u32 %r6, %r1, 32, %r2; mad.lo.u32 %r6, %r6, 4, %r3; ld.shared.u32 %r7, [%r6];\n\
         mul.wide.u32 %d2, %r4, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r7;",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    assert_eq!(draft.first_fault.map(|fault| fault.kind), Some(FaultKind::Uninitialized));
    assert_eq!(launch.block, [32, 32, 1]);
}

#[test]
fn sizes_that_a_kernel_does_not_take_are_reported() {
    // A trap unless n is a multiple of the block.
    let source = kernel(
        ".param .u32 n",
        ".reqntid 64",
        "ld.param.u32 %r1, [n]; and.b32 %r2, %r1, 63; setp.eq.u32 %p1, %r2, 0; @%p1 bra END; trap;\nEND:",
    );
    let (draft, launch) = drafted(&source);
    assert_eq!(draft.fault, None);
    assert_eq!(draft.first_fault.map(|fault| fault.kind), Some(FaultKind::Trap));
    assert_eq!(launch.args[0], Argument::Value(64_u32.to_le_bytes().to_vec()));
}

#[test]
fn run_and_verify_take_it_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let launch = folder.path().join("launch.json");
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx-samples/jacobi/jacobi.sm_80.ptx");
    let launch = launch.to_str().expect("a name");
    for call in [
        vec!["launch", sample, "-o", launch],
        vec!["run", sample, "--launch", launch],
        vec!["verify", sample, sample, "--launch", launch],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_ptxasw")).args(&call).output().expect("it runs");
        assert!(output.status.success(), "{call:?}: {output:?}");
    }
}

/// A kernel that reaches `offset` bytes into dynamic shared memory, behind what every block writes.
fn reaching(target: &str, offset: u64, body: &str) -> SourceFile {
    source(&format!(
        ".version 8.0\n.target {target}\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];
        .visible .entry k(.param .u64 out)
        .reqntid 128
        {{
        .reg .b32 %r<6>; .reg .b64 %d<4>;
        ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;
        mov.u32 %r1, %tid.x; {body}
        st.shared.u32 [%r3+{offset}], %r1;
        bar.sync 0;
        ld.shared.u32 %r4, [%r3+{offset}];
        mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r4;
        ret;
        }}\n"
    ))
}

const WITH_ARRAY: &str = "shl.b32 %r2, %r1, 2; mov.u32 %r3, dyn; add.s32 %r3, %r3, %r2;";

#[test]
fn dynamic_shared_memory_grows_up_to_what_a_block_may_have() {
    let (draft, launch) = drafted(&reaching("sm_80", 40960, WITH_ARRAY));
    assert!(draft.fault.is_none(), "{:?}", draft.fault);
    assert_eq!(launch.dynamic_shared, 64 << 10);
    assert!(
        draft.plan.notes().iter().any(|note| note.contains("trial")),
        "{:?}",
        draft.plan.notes()
    );
    // The limit is not a power of two: 163 KiB on sm_80, 99 KiB on sm_89.
    let (draft, launch) = drafted(&reaching("sm_80", 160 << 10, WITH_ARRAY));
    assert!(draft.fault.is_none(), "{:?}", draft.fault);
    assert_eq!(launch.dynamic_shared, 163 << 10);
    let (draft, launch) = drafted(&reaching("sm_89", 100 << 10, WITH_ARRAY));
    assert_eq!(draft.fault.map(|fault| fault.kind), Some(FaultKind::OutOfBounds));
    assert!(launch.dynamic_shared <= 99 << 10);
}

#[test]
fn a_kernel_that_does_not_name_the_dynamic_array_gets_none() {
    let (draft, launch) = drafted(&reaching(
        "sm_80",
        0,
        "mov.u32 %r3, 0; .shared .b8 s[512]; mov.u32 %r3, s; shl.b32 %r2, %r1, 2; add.s32 %r3, %r3, %r2;",
    ));
    assert!(draft.fault.is_none(), "{:?}", draft.fault);
    assert_eq!(launch.dynamic_shared, 0);
}
