//! Values that nobody has determined, on the kernels of `tests/interp/uninitialized`: `// read` marks the instruction that
//! reads one and `// effect` the one that must be reported. A kernel without marks must not be reported. All are what the
//! real ptxas accepts.

use super::bed::Bed;
use super::marked::{self, ELEMENTS};
use ptxasw::interp::FaultKind;

#[test]
fn values_are_reported_where_they_reach_an_effect_and_nowhere_else() {
    let (mut reported, mut silent) = (0, 0);
    let wrong = marked::each("uninitialized", &mut |kernel| {
        let [read, effect] = ["read", "effect"].map(|word| kernel.line(word));
        let bed = || kernel.bed().without_races();
        let kind = match kernel.place.starts_with("shuffles.ptx") {
            true => FaultKind::Unpredictable,
            false => FaultKind::Uninitialized,
        };
        let mut wrong = Vec::new();
        match (bed().run(), effect) {
            (Ok(_), None) => silent += 1,
            (Ok(_), Some(line)) => {
                wrong.push(format!("{}: nothing said of line {line}", kernel.place));
            }
            (Err(fault), None) => wrong.push(kernel.shown(&fault)),
            (Err(fault), Some(_)) => {
                reported += 1;
                if fault.kind != kind || kernel.found(&fault) != (read, effect) {
                    wrong.push(kernel.shown(&fault));
                }
                if let Err(fault) = bed().ignoring_uninitialized().run() {
                    wrong.push(format!("ignored: {}", kernel.shown(&fault)));
                }
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    assert!(reported > 20 && silent > 15, "{reported} reported, {silent} not");
}

#[test]
fn unwritten_memory_holds_the_same_junk_in_every_run() {
    let body = ".shared .align 4 .b8 s[256]; mov.u64 %rd2, s; mad.wide.u32 %rd3, %r0, 4, %rd2;
        ld.shared.u32 %r1, [%rd3]; st.global.u32 [%rd1], %r1; ret;";
    let run = || -> Vec<u32> {
        let bed = Bed::body(body).ignoring_uninitialized();
        bed.buffer("p", &[7_u32; 32]).good().get("p")
    };
    let one = run();
    assert_eq!(one, run());
    assert!(one.iter().all(|&word| word != 0) && one[0] != one[1], "{one:?}");
}

#[test]
fn the_message_names_the_array_and_both_places() {
    let bed = Bed::file("tests/interp/uninitialized/shared.ptx", "kept_by_and");
    let (fault, shown) = bed.buffer("p", &[7_u32; ELEMENTS]).fault();
    for part in [
        "the value that this stores to global memory depends on bytes of shared memory that no thread has written",
        "thread (0, 0, 0) of block (0, 0, 0)",
        "note: the unwritten bytes are read here",
        "byte 0 of `tile`, at offset 0 of shared memory",
    ] {
        assert!(shown.contains(part), "`{part}` is not in\n{shown}");
    }
    assert!(fault.earlier.is_some_and(|earlier| earlier.declared.is_some()));
}

#[test]
fn a_value_crosses_a_call() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .func (.reg .b32 r) same(.reg .b32 a) { mov.b32 r, a; ret; }
        .func (.param .b32 r) through(.param .b32 a) {
            .reg .b32 %r<2>; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret;
        }
        .visible .entry k(.param .u64 p) {
            .shared .align 4 .b8 s[8]; .reg .b32 %r<6>; .reg .b64 %rd<3>;
            ld.param.u64 %rd0, [p];
            st.shared.u32 [s+4], 9;
            ld.shared.u32 %r1, [s+OFFSET];
            call (%r2), same, (%r1);
            { .param .b32 x; .param .b32 y; st.param.b32 [x], %r2;
              call (y), through, (x); ld.param.b32 %r3, [y]; }
            st.global.u32 [%rd0], %r3;
            ret;
        }";
    let bed = |offset: &str| {
        let text = text.replace("OFFSET", offset);
        Bed::text("call.ptx", text, "k").block([1, 1, 1]).buffer("p", &[0_u32; 1])
    };
    assert_eq!(bed("0").fault().0.kind, FaultKind::Uninitialized);
    assert_eq!(bed("4").good().get::<u32>("p"), [9]);
}
