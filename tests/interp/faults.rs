//! Each forbidden action of a kernel is reported, with the place and the thread; allowed ones are not.

use super::bed::Bed;
use ptxasw::interp::FaultKind;

fn faults(body: &str, length: usize) -> (FaultKind, String) {
    let (fault, shown) = Bed::body(body).buffer("p", &vec![7_u32; length]).limit(1 << 20).fault();
    (fault.kind, shown)
}

fn passes(body: &str) -> Vec<u32> {
    Bed::body(body).buffer("p", &[7_u32; 32]).limit(1 << 20).good().get("p")
}

#[test]
fn the_last_byte_of_a_buffer_is_inside_and_the_next_is_not() {
    assert_eq!(passes("ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd1], %r1; ret;"), [7; 32]);
    let (kind, message) = faults("ld.global.u32 %r1, [%rd1]; ret;", 31);
    assert_eq!(kind, FaultKind::OutOfBounds);
    assert!(
        message.contains("4 bytes, directly behind the end of `p`, which has 124 bytes"),
        "{message}"
    );
    assert!(message.contains("thread (31, 0, 0) of block (0, 0, 0)"), "{message}");
    assert!(message.starts_with("body.ptx:8:1: error: access of"), "{message}");
    assert_eq!(faults("st.global.u32 [%rd1+-4], %r1; ret;", 32).0, FaultKind::OutOfBounds);
    assert_eq!(
        faults("ld.global.v2.u32 {%r1, %r2}, [%rd0+124]; ret;", 32).0,
        FaultKind::OutOfBounds
    );
    // 2^32 + 4 is another buffer's address on no machine.
    assert_eq!(faults("ld.global.u32 %r1, [%rd1+4294967300]; ret;", 32).0, FaultKind::OutOfBounds);
}

#[test]
fn an_access_under_a_false_guard_is_none() {
    let body = "setp.lt.u32 %p1, %r0, 31; @%p1 ld.global.u32 %r1, [%rd1]; ret;";
    Bed::body(body).buffer("p", &[7_u32; 31]).good();
    let body = "setp.lt.u32 %p1, %r0, 31; @!%p1 ld.global.u32 %r1, [%rd1]; ret;";
    assert_eq!(faults(body, 31).0, FaultKind::OutOfBounds);
}

#[test]
fn null_and_truncated_pointers_fault() {
    assert_eq!(
        faults("mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2]; ret;", 32).0,
        FaultKind::OutOfBounds
    );
    let body = "cvt.u32.u64 %r2, %rd1; cvt.u64.u32 %rd2, %r2; ld.u32 %r1, [%rd2]; ret;";
    assert_eq!(faults(body, 32).0, FaultKind::OutOfBounds);
}

#[test]
fn misaligned_accesses_fault() {
    assert_eq!(faults("ld.global.u32 %r1, [%rd1+2]; ret;", 40).0, FaultKind::Misaligned);
    assert_eq!(faults("ld.global.v2.u32 {%r1, %r2}, [%rd1]; ret;", 40).0, FaultKind::Misaligned);
    passes("ld.global.u16 %h1, [%rd0+2]; ret;");
}

#[test]
fn state_spaces_are_kept_apart() {
    let shared = ".shared .align 4 .b8 s[8]; mov.u64 %rd2, s;";
    let body = format!("{shared} ld.shared.u32 %r1, [%rd2+8]; ret;");
    assert_eq!(faults(&body, 32).0, FaultKind::OutOfBounds);
    // The shared address is not a generic address.
    assert_eq!(
        faults(&format!("{shared} ld.u32 %r1, [%rd2+4]; ret;"), 32).0,
        FaultKind::OutOfBounds
    );
    let body = format!(
        "{shared} cvta.shared.u64 %rd3, %rd2; mov.u32 %r2, 31; st.u32 [%rd3+4], %r2;
         ld.shared.u32 %r1, [s+4]; st.global.u32 [%rd1], %r1; ret;"
    );
    assert_eq!(faults(&body, 32).0, FaultKind::Race);
    let body = body.replace("ld.shared", "bar.warp.sync -1; ld.shared");
    assert_eq!(passes(&body), [31; 32]);
    assert_eq!(faults("ld.const.u32 %r1, [%rd1]; ret;", 32).0, FaultKind::OutOfBounds);
}

#[test]
fn traps_end_the_run() {
    let (kind, message) = faults("setp.eq.u32 %p1, %r0, 5; @%p1 trap; ret;", 32);
    assert_eq!(kind, FaultKind::Trap);
    assert!(message.contains("thread (5, 0, 0)"), "{message}");
    passes("setp.eq.u32 %p1, %r0, 99; @%p1 trap; ret;");
}

#[test]
fn an_instruction_that_is_not_modelled_is_named_when_it_is_executed() {
    let unknown = "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [t, {%r0}];";
    let (kind, message) = faults(&format!("{unknown} ret;"), 32);
    assert_eq!(kind, FaultKind::Unsupported);
    assert!(message.contains("`tex.1d.v4.f32.s32` is not modelled"), "{message}");
    assert!(message.contains(":8:1:"), "{message}");
    passes(&format!("bra.uni L; {unknown} L: ret;"));
    let (kind, message) = faults("add.sat.u32 %r1, %r0, %r0; ret;", 32);
    assert_eq!(kind, FaultKind::Unsupported);
    assert!(message.contains("`add.sat.u32`"), "{message}");
}

#[test]
fn a_barrier_that_some_never_reach_is_a_deadlock() {
    // Lanes that wait for the others behind the branch cannot come to a barrier inside of it.
    let body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra L; barrier.sync 0; L: barrier.sync 1; ret;";
    let (kind, message) = faults(body, 32);
    assert_eq!(kind, FaultKind::Deadlock);
    assert!(message.contains("wait at barrier 0"), "{message}");
    // Lanes that have ended need not come; both sides of a branch may have a barrier each.
    passes("setp.lt.u32 %p1, %r0, 16; @%p1 exit; bar.sync 0; ret;");
    passes(
        "setp.lt.u32 %p1, %r0, 16; @%p1 bra L; barrier.sync 0; bra M; L: barrier.sync 0; M: ret;",
    );
}

/// Threads that wait for arrivals which never come, and such that arrive in two phases at once.
#[test]
fn a_phase_that_never_ends_is_a_deadlock() {
    let body = |arrivals: &str| {
        format!(
            ".shared .align 8 .b8 s[8];
             setp.ne.u32 %p1, %r0, 0; @!%p1 mbarrier.init.shared.b64 [s], 32; bar.sync 0;
             mov.u64 %rd8, 0; {arrivals}
             W: mbarrier.try_wait.shared.b64 %p2, [s], %rd8; @!%p2 bra W; st.global.u32 [%rd1], %r0; ret;"
        )
    };
    let arrive = "mbarrier.arrive.shared.b64 %rd8, [s];";
    passes(&body(arrive));
    for arrivals in
        [format!("@%p1 {arrive}"), format!("{arrive} mbarrier.arrive.shared.b64 %rd9, [s];")]
    {
        let (fault, shown) =
            Bed::body(&body(&arrivals)).buffer("p", &[7_u32; 32]).limit(1 << 30).fault();
        assert_eq!(fault.kind, FaultKind::Deadlock, "{shown}");
        assert!(shown.contains("wait for a phase of an mbarrier object"), "{shown}");
        assert!(shown.contains("mbarrier.try_wait"), "{shown}");
    }
}

/// A loop around `test_wait` is the same deadlock; the message names the object, its phase, what that lacks, and the line.
#[test]
fn a_test_that_never_succeeds_is_a_deadlock() {
    let body = |tests: &str| {
        format!(
            ".shared .align 8 .b64 full[2];
             setp.ne.u32 %p1, %r0, 0; @!%p1 mbarrier.init.shared.b64 [full+8], 33; bar.sync 0;
             mbarrier.arrive.shared.b64 %rd8, [full+8];
             {tests} st.global.u32 [%rd1], %r0; ret;"
        )
    };
    let test = "mbarrier.test_wait.shared.b64 %p2, [full+8], %rd8; @!%p2 bra W;";
    let lacks = "the phase of parity 0 of the object `full+8` lacks 1 arrivals";
    let bed = |tests: &str| Bed::body(&body(tests)).buffer("p", &[7_u32; 32]).limit(1 << 30);
    let (fault, shown) = bed(&format!("W: {test}")).fault();
    assert_eq!(fault.kind, FaultKind::Deadlock, "{shown}");
    assert!(shown.contains(lacks) && shown.contains("mbarrier.test_wait"), "{shown}");
    // The loop does something else as well, so that it might end: only the limit ends it.
    let counting = format!(
        "@!%p1 st.shared.u32 [full], 0; bar.warp.sync -1; W: atom.shared.add.u32 %r4, [full], 1; {test}"
    );
    let (fault, shown) = bed(&counting).limit(1 << 16).fault();
    assert_eq!(fault.kind, FaultKind::Limit, "{shown}");
    assert!(shown.contains(lacks), "{shown}");
}

/// A sum of a register and an offset wraps around in shared and local memory, as compilers rely on; beyond the array it is out
/// of bounds all the same.
#[test]
fn addresses_of_shared_memory_have_32_bits() {
    let body = |space: &str, offset: i32| {
        format!(
            ".{space} .align 4 .b8 s[128]; mov.u32 %r2, s; sub.u32 %r2, %r2, 64;
             add.u32 %r3, %r0, 5; st.{space}.u32 [%r2+{offset}], %r3; ld.{space}.u32 %r4, [%r2+{offset}];
             setp.ne.u32 %p1, %r0, 0; @%p1 exit; st.global.u32 [%rd1], %r4; ret;"
        )
    };
    for space in ["shared", "local"] {
        let bed =
            |offset| Bed::body(&body(space, offset)).buffer("p", &[7_u32; 32]).without_races();
        bed(68).good();
        for offset in [60, 192] {
            let (fault, shown) = bed(offset).fault();
            assert_eq!(fault.kind, FaultKind::OutOfBounds, "{shown}");
        }
    }
}

/// The number of threads of a barrier is one of whole warps.
#[test]
fn a_barrier_counts_whole_warps() {
    let body = |count: u32| format!("bar.sync 1, {count}; st.global.u32 [%rd1], %r0; ret;");
    passes(&body(32));
    for count in [33, 16] {
        let (fault, shown) = Bed::body(&body(count)).buffer("p", &[7_u32; 32]).fault();
        assert_eq!(fault.kind, FaultKind::Undefined, "{shown}");
        assert!(shown.contains("multiple of 32"), "{shown}");
    }
}

/// The message names the bytes that were announced and have not come; the search for races is not needed for it.
#[test]
fn a_phase_that_expects_more_bytes_than_come_is_named() {
    let body = |bytes: u32| {
        format!(
            ".shared .align 8 .b8 s[8]; setp.ne.u32 %p1, %r0, 0; @%p1 exit;
             mbarrier.init.shared.b64 [s], 1; mbarrier.arrive.expect_tx.shared.b64 %rd8, [s], 96;
             mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [s], {bytes};
             W: mbarrier.try_wait.shared.b64 %p2, [s], %rd8; @!%p2 bra W; st.global.u32 [%rd1], %r0; ret;"
        )
    };
    passes(&body(96));
    let bed = || Bed::body(&body(64)).buffer("p", &[7_u32; 32]).limit(1 << 30);
    for bed in [bed(), bed().without_races()] {
        let (fault, shown) = bed.fault();
        assert_eq!(fault.kind, FaultKind::Deadlock, "{shown}");
        assert!(
            shown.contains("0 arrivals and 32 bytes that `expect_tx` has announced"),
            "{shown}"
        );
    }
}

/// `bar.sync` is `barrier.sync.aligned`: all lanes of a warp execute the same one together.
#[test]
fn an_aligned_barrier_is_for_whole_warps() {
    let half = "setp.lt.u32 %p1, %r0, 16;";
    let store = "st.global.u32 [%rd1], %r0;";
    for (body, part) in [
        ("@%p1 bra L; bar.sync 0; L:", "0x0000ffff have branched past it"),
        ("@%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M:", "wait at another one"),
        (
            "@%p1 bra L; barrier.sync.aligned 0; bra M; L: barrier.sync.aligned 0; M:",
            "wait at another one",
        ),
        ("@%p1 bar.sync 0;", "leaves out the lanes 0xffff0000"),
        // A loop with another number of turns in half of the lanes.
        (
            "mov.u32 %r1, 0; selp.b32 %r2, 2, 3, %p1; T: bar.sync 0; add.u32 %r1, %r1, 1;
             setp.lt.u32 %p2, %r1, %r2; @%p2 bra T;",
            "0x0000ffff have branched past it",
        ),
    ] {
        let body = format!("{half} {body} {store} ret;");
        let (kind, message) = faults(&body, 32);
        assert_eq!(kind, FaultKind::Undefined, "{message}");
        assert!(
            message.contains("all lanes of a warp must execute this barrier together"),
            "{message}"
        );
        assert!(message.contains(part), "{part}: {message}");
    }
    // Whole warps may go other ways, lanes that end are not waited for, and others need not be aligned.
    for body in [
        "@%p1 bra L; bar.sync 0; L: ret;",
        "@%p1 bra L; bar.sync 0; st.global.u32 [%rd1], %r0; L: ret;",
        "@%p1 barrier.sync 0; st.global.u32 [%rd1], %r0; ret;",
        "@%p1 bra L; barrier.sync 0; L: st.global.u32 [%rd1], %r0; ret;",
    ] {
        passes(&format!("{half} {body}"));
    }
    let warps = "setp.lt.u32 %p1, %r0, 32; @%p1 bra L; bar.sync 0; bra M; L: bar.sync 0; M: ret;";
    Bed::body(warps).block([64, 1, 1]).buffer("p", &[7_u32; 64]).good();
}

#[test]
fn barriers_count_threads() {
    // One warp arrives and goes on, the other waits for it.
    let body = "shr.u32 %r1, %r0, 5; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;
        .shared .align 4 .b8 s[4]; mov.u32 %r2, 42; st.shared.u32 [s], %r2; bar.arrive 3, 64; ret;
        L: bar.sync 3, 64; ld.shared.u32 %r3, [s]; st.global.u32 [%rd1], %r3; ret;";
    let done = Bed::body(body).block([64, 1, 1]).buffer("p", &[7_u32; 32]).good();
    assert_eq!(done.get::<u32>("p"), [42; 32]);
    assert_eq!(faults("bar.sync 3, 64; ret;", 32).0, FaultKind::Deadlock);
    assert_eq!(faults("bar.sync 16; ret;", 32).0, FaultKind::Undefined);
}

#[test]
fn a_shuffle_reads_garbage_from_lanes_that_take_no_part() {
    // Lane 31 is predicated off; lane 30 would like its value.
    let body = "setp.lt.u32 %p1, %r0, 31; mov.u32 %r2, 5;
        @%p1 shfl.sync.down.b32 %r2|%p2, %r0, 1, 31, -1; st.global.u32 [%rd1], %r2; ret;";
    let ignored = |body: &str| -> Vec<u32> {
        let bed = Bed::body(body).ignoring_uninitialized();
        bed.buffer("p", &[7_u32; 32]).good().get("p")
    };
    let got = ignored(body);
    let expected: Vec<u32> = (1..31).collect();
    assert_eq!(got[..30], expected);
    assert_ne!(got[30], 31);
    assert_eq!(got[31], 5);
    let (kind, shown) = faults(body, 32);
    assert_eq!(kind, FaultKind::Unpredictable);
    assert!(shown.contains("the register of lane 31, which takes no part"), "{shown}");
    assert!(shown.contains("@%p1 shfl.sync.down.b32"), "{shown}");
    passes(&body.replace("down.b32 %r2|%p2, %r0, 1, 31", "up.b32 %r2|%p2, %r0, 1, 0"));
    // The same for a lane that has ended.
    let body = "setp.eq.u32 %p1, %r0, 31; @%p1 exit; mov.u32 %r2, 5;
        shfl.sync.down.b32 %r2|%p2, %r0, 1, 31, -1; st.global.u32 [%rd1], %r2; ret;";
    let got = ignored(body);
    assert_eq!(got[..30], expected);
    assert_ne!(got[30], 31);
    assert_eq!(faults(body, 32).0, FaultKind::Unpredictable);
}

#[test]
fn a_shuffle_waits_for_its_members() {
    // Its members sit behind the branch, at a barrier, and cannot come.
    let body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra L;
        shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; L: bar.sync 1; ret;";
    assert_eq!(faults(body, 32).0, FaultKind::Deadlock);
    // They go on behind the branch and end: those that have ended need not come.
    let body = "mov.u32 %r1, 9; setp.ge.u32 %p1, %r0, 16; @%p1 bra L;
        shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1; L: st.global.u32 [%rd1], %r1; ret;";
    let expected: Vec<u32> = (0..32).map(|lane| if lane < 16 { lane ^ 1 } else { 9 }).collect();
    assert_eq!(passes(body), expected);
    let body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra L;
        shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffff0000; L: ret;";
    passes(body);
    // Who executes it must be a member.
    let (kind, message) = faults("shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0x7fffffff; ret;", 32);
    assert_eq!(kind, FaultKind::Undefined);
    assert!(message.contains("lane 31 is not in its own member mask"), "{message}");
}

#[test]
fn activemask_tells_who_is_converged() {
    let body = "setp.lt.u32 %p1, %r0, 20; @!%p1 bra L; activemask.b32 %r1; bra M;
        L: activemask.b32 %r1; M: activemask.b32 %r2; xor.b32 %r3, %r1, %r2;
        st.global.u32 [%rd1], %r3; ret;";
    let expected: Vec<u32> = (0..32).map(|t| if t < 20 { 0xfff0_0000 } else { 0xf_ffff }).collect();
    assert_eq!(passes(body), expected);
}

#[test]
fn an_endless_loop_hits_the_limit() {
    assert_eq!(faults("L: bra L;", 32).0, FaultKind::Limit);
    // Every turn splits the lanes and joins them again.
    let split = "setp.lt.u32 %p1, %r0, 9; L: @%p1 bra M; add.u32 %r1, %r1, 1; M: bra L;";
    assert_eq!(faults(split, 32).0, FaultKind::Limit);
    // Lanes chase each other through a loop of two entries.
    let irreducible = "setp.lt.u32 %p1, %r0, 9; @%p1 bra B;
        A: add.u32 %r1, %r1, 1; B: add.u32 %r2, %r2, 1; @%p1 bra A; bra B;";
    assert_eq!(faults(irreducible, 32).0, FaultKind::Limit);
    let swapping = "setp.lt.u32 %p1, %r0, 9; @%p1 bra B;
        A: not.b32 %r1, %r1; @%p1 bra C; B: not.b32 %r2, %r2; @%p1 bra A; C: @!%p1 bra A; bra B;";
    assert_eq!(faults(swapping, 32).0, FaultKind::Limit);
    // Some lanes leave and wait for the others, which never come.
    assert_eq!(faults("setp.lt.u32 %p1, %r0, 9; L: @%p1 bra L; ret;", 32).0, FaultKind::Limit);
    assert_eq!(
        faults("setp.lt.u32 %p1, %r0, 9; L: @%p1 bra L; bar.sync 0; ret;", 64).0,
        FaultKind::Limit
    );
}

#[test]
fn waiting_for_what_never_comes_hits_the_limit() {
    // A flag that nobody sets, an exchange that never succeeds, a barrier passed for ever.
    let flag = "L: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 7; @%p1 bra L; ret;";
    assert_eq!(faults(flag, 32).0, FaultKind::Limit);
    let lock =
        "L: atom.global.cas.b32 %r1, [%rd0], 1, 2; setp.ne.u32 %p1, %r1, 1; @%p1 bra L; ret;";
    assert_eq!(faults(lock, 32).0, FaultKind::Limit);
    assert_eq!(faults("L: bar.sync 0; bra L;", 32).0, FaultKind::Limit);
    assert_eq!(faults("L: bar.warp.sync -1; bra L;", 32).0, FaultKind::Limit);
    assert_eq!(faults("L: shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; bra L;", 32).0, FaultKind::Limit);
    let branch = "mov.u32 %r1, 0; T: .branchtargets L; L: brx.idx %r1, T;";
    assert_eq!(faults(branch, 32).0, FaultKind::Limit);
}

#[test]
fn endless_calls_end() {
    let text = |body: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.func f();\n
             .func f() {{ {body} ret; }}\n.visible .entry k() {{ L: call f; bra L; }}\n"
        )
    };
    let fault = |body: &str| Bed::text("call.ptx", text(body), "k").limit(1 << 20).fault().0;
    assert_eq!(fault("").kind, FaultKind::Limit);
    assert_eq!(fault("call f;").kind, FaultKind::Limit);
    assert_eq!(fault("L: bra L;").kind, FaultKind::Limit);
}

#[test]
fn registers_that_nobody_wrote_hold_reproducible_garbage() {
    let holds = |body: &str| -> Vec<u32> {
        let bed = Bed::body(body).ignoring_uninitialized();
        bed.buffer("p", &[7_u32; 32]).good().get("p")
    };
    let one = holds("st.global.u32 [%rd1], %r5; ret;");
    let other = holds("mov.u32 %r9, 3; add.u32 %r8, %r9, 4; st.global.u32 [%rd1], %r5; ret;");
    assert_eq!(one, other);
    assert!(one.iter().any(|&value| value != one[0]));
}

#[test]
fn an_index_counts_elements() {
    let body = ".shared .align 8 .b64 table[9]; mov.u64 %rd2, table[4]; mov.u64 %rd3, table;
        sub.u64 %rd4, %rd2, %rd3; cvt.u32.u64 %r1, %rd4; st.global.u32 [%rd1], %r1; ret;";
    assert_eq!(passes(body), [32; 32]);
}

#[test]
fn a_row_of_labels_stands_for_each() {
    let body = "and.b32 %r1, %r0, 3; T: .branchtargets B, A<3>; brx.idx %r1, T;
        A0: mov.u32 %r2, 10; bra S; A1: mov.u32 %r2, 11; bra S; A2: mov.u32 %r2, 12; bra S;
        B: mov.u32 %r2, 20; S: st.global.u32 [%rd1], %r2; ret;";
    let expected: Vec<u32> = (0..32).map(|t| [20, 10, 11, 12][t % 4]).collect();
    assert_eq!(passes(body), expected);
}

#[test]
fn inner_scopes_hide_registers() {
    let body =
        "mov.u32 %r1, 1; { .reg .b32 %r1; mov.u32 %r1, 2; { .reg .b32 %r<5>; mov.u32 %r1, 3; } }
        st.global.u32 [%rd1], %r1; ret;";
    assert_eq!(passes(body), [1; 32]);
}

#[test]
fn launches_that_do_not_fit_are_refused() {
    let body = "ret;";
    assert_eq!(Bed::body(body).fault().0.kind, FaultKind::Launch);
    let two = Bed::body(body).buffer("p", &[0_u32]).value(1_u32);
    assert_eq!(two.fault().0.kind, FaultKind::Launch);
    let narrow = Bed::body(body).value(1_u32);
    assert!(narrow.fault().0.message.contains("parameter `p` has 8 bytes, its argument 4"));
    let big = Bed::body(body).buffer("p", &[0_u32]).block([33, 32, 1]);
    assert_eq!(big.fault().0.kind, FaultKind::Launch);
}

#[test]
fn blocks_may_store_the_same_value() {
    let body = "mov.u32 %r1, 5; st.global.u32 [%rd1], %r1; ret;";
    let done = Bed::body(body).grid([9, 1, 1]).buffer("p", &[7_u32; 32]).good();
    assert_eq!(done.get::<u32>("p"), [5; 32]);
    let body = "mov.u32 %r1, %ctaid.x; st.global.u32 [%rd1], %r1; ret;";
    let two = Bed::body(body).grid([2, 1, 1]).buffer("p", &[7_u32; 32]);
    assert_eq!(two.fault().0.kind, FaultKind::Race);
}

#[test]
fn absurd_sizes_are_refused() {
    let huge = ".version 8.0\n.target sm_90\n.address_size 64\n";
    for (variable, body) in [
        (".global .b8 x[1152921504606846976];", ""),
        (".shared .b8 x[1152921504606846976];", ""),
        ("", ".local .b8 x[1152921504606846976];"),
        ("", ".shared .b64 x[4294967296][4294967296];"),
    ] {
        let text = format!("{huge}{variable}\n.visible .entry k() {{ {body} ret; }}\n");
        assert!(!Bed::text("huge.ptx", text, "k").fault().0.kind.is_kernel_fault());
    }
}

#[test]
fn families_of_variables_are_as_many_variables() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .func (.param .u32 r) minus(.param .u32 a, .param .u32 b) {
            .reg .b32 %r<4>;
            ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b];
            sub.u32 %r3, %r1, %r2; st.param.u32 [r], %r3; ret;
        }
        .visible .entry k(.param .u64 p) {
            .reg .b32 %r<9>; .reg .b64 %rd<3>;
            .local .align 8 .b32 L<3>; .shared .b32 S<2>;
            ld.param.u64 %rd0, [p];
            st.local.u32 [L0], 5; st.local.u32 [L2], 9; st.shared.u32 [S0], 70; st.shared.u32 [S1], 80;
            ld.local.u32 %r1, [L0]; ld.local.u32 %r2, [L2];
            { .param .u32 %r<3>;
              st.param.u32 [%r2], 100; st.param.u32 [%r0], 30;
              call (%r1), minus, (%r2, %r0); }
            { .param .u32 %P<3>;
              st.param.u32 [%P2], %r2; st.param.u32 [%P0], %r1;
              call (%P1), minus, (%P2, %P0);
              ld.param.u32 %r3, [%P1]; }
            ld.shared.u32 %r4, [S0]; ld.shared.u32 %r5, [S1];
            st.global.u32 [%rd0], %r3; st.global.u32 [%rd0+4], %r4; st.global.u32 [%rd0+8], %r5;
            ret;
        }";
    let bed = Bed::text("families.ptx", text, "k").block([1, 1, 1]).buffer("p", &[0_u32; 3]);
    assert_eq!(bed.good().get::<u32>("p"), [4, 70, 80]);
    // A member that is not declared is none.
    let text = text.replace("S<2>", "S<1>");
    let (fault, shown) = Bed::text("families.ptx", text, "k").buffer("p", &[0_u32; 3]).fault();
    assert!(shown.contains("nothing declares `S1`"), "{fault:?} {shown}");
}
