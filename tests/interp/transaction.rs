//! `mbarrier` objects, bulk copies, clusters of one block, the heap, and what stays an error.

use super::bed::{Bed, Done};
use ptxasw::interp::{Fault, FaultKind};

/// One thread works on an object `m` that expects two arrivals; `%r9` is stored as its result.
fn one(body: &str) -> Bed {
    let body = format!(
        ".shared .align 8 .b64 m; mov.u32 %r9, 0;
         setp.ne.u32 %p8, %r0, 0; @%p8 exit; mbarrier.init.shared.b64 [m], 2;
         {body}
         st.global.u32 [%rd1], %r9; ret;"
    );
    Bed::body(&body).buffer("p", &[77_u32; 32]).limit(1 << 16)
}

fn result(body: &str) -> u32 {
    one(body).good().get::<u32>("p")[0]
}

fn undefined(body: &str) -> String {
    let (fault, shown) = one(body).fault();
    assert_eq!(fault.kind, FaultKind::Undefined, "{shown}");
    shown
}

const ARRIVE: &str = "mbarrier.arrive.shared.b64 %rd5, [m];";
const DONE: &str = "selp.u32 %r9, 1, 0, %p1;";

#[test]
fn a_phase_ends_with_its_last_arrival() {
    let ask = "mbarrier.test_wait.shared.b64 %p1, [m], %rd5;";
    assert_eq!(result(&format!("{ARRIVE} {ask} {DONE}")), 0);
    // The state of the first arrival stands for the phase that the second one ends.
    assert_eq!(result(&format!("{ARRIVE} mbarrier.arrive.shared.b64 _, [m]; {ask} {DONE}")), 1);
    assert_eq!(result(&format!("mbarrier.arrive.shared.b64 %rd5, [m], 2; {ask} {DONE}")), 1);
    // The next phase expects two again.
    let twice = "mbarrier.arrive.shared.b64 _, [m], 2;";
    assert_eq!(result(&format!("{twice} {ARRIVE} {ask} {DONE}")), 0);
}

#[test]
fn parities_alternate() {
    let parity =
        |phase: u32| format!("mbarrier.test_wait.parity.shared.b64 %p1, [m], {phase}; {DONE}");
    let twice = "mbarrier.arrive.shared.b64 _, [m], 2;";
    // The phase before the first one counts as ended.
    assert_eq!(result(&parity(1)), 1);
    assert_eq!(result(&parity(0)), 0);
    assert_eq!(result(&format!("{twice} {}", parity(0))), 1);
    assert_eq!(result(&format!("{twice} {}", parity(1))), 0);
    assert_eq!(result(&format!("{twice} {twice} {}", parity(1))), 1);
}

#[test]
fn bytes_hold_a_phase_open() {
    let ask = format!("mbarrier.test_wait.parity.shared.b64 %p1, [m], 0; {DONE}");
    let arrivals =
        "mbarrier.arrive.expect_tx.shared.b64 _, [m], 96; mbarrier.arrive.shared.b64 _, [m];";
    let complete =
        |bytes: u32| format!("mbarrier.complete_tx.relaxed.cluster.shared::cta.b64 [m], {bytes};");
    assert_eq!(result(&format!("{arrivals} {ask}")), 0);
    assert_eq!(result(&format!("{arrivals} {} {ask}", complete(95))), 0);
    assert_eq!(result(&format!("{arrivals} {} {} {ask}", complete(32), complete(64))), 1);
    // Bytes may come before they are expected.
    assert_eq!(result(&format!("{} {arrivals} {ask}", complete(96))), 1);
    let expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [m], 4;";
    assert_eq!(result(&format!("{expect} {arrivals} {} {ask}", complete(96))), 0);
}

#[test]
fn objects_count_what_is_pending_and_dropped() {
    let pending = "mbarrier.pending_count.b64 %r9, %rd5;";
    assert_eq!(result(&format!("{ARRIVE} {pending}")), 2);
    assert_eq!(result(&format!("{ARRIVE} {ARRIVE} {pending}")), 1);
    // A thread that drops out is not expected any more.
    let drop = "mbarrier.arrive_drop.shared.b64 _, [m];";
    assert_eq!(result(&format!("{drop} {ARRIVE} {ARRIVE} {pending}")), 1);
    // An asynchronous copy's arrival that is not expected in advance.
    let copied = "cp.async.mbarrier.arrive.noinc.shared.b64 [m];";
    assert_eq!(result(&format!("{copied} {ARRIVE} {pending}")), 1);
    assert_eq!(result(&format!("{} {ARRIVE} {pending}", copied.replace(".noinc", ""))), 2);
}

#[test]
fn objects_have_rules() {
    let inval = "mbarrier.inval.shared.b64 [m];";
    assert!(undefined(&format!("{inval} {ARRIVE}")).contains("initialised"));
    assert!(undefined(&format!("{inval} {inval}")).contains("initialised"));
    assert!(undefined("mbarrier.arrive.shared.b64 _, [m], 3;").contains("more threads"));
    assert!(undefined("mbarrier.init.shared.b64 [m], 0;").contains("2^20-1"));
    let no_complete = "mbarrier.arrive.noComplete.shared.b64 %rd5, [m], 1;";
    assert_eq!(result(no_complete), 0);
    assert!(undefined(&format!("{no_complete} {no_complete}")).contains("noComplete"));
    // Waiting for a phase that never ends.
    let (fault, _) =
        one("L: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0; @!%p1 bra L;").fault();
    assert_eq!(fault.kind, FaultKind::Limit);
}

#[test]
fn lanes_of_one_warp_wait_for_each_other_at_an_object() {
    // The first lane spins until the last one, which waits behind the branch, has arrived.
    let body = ".shared .align 8 .b64 m; setp.eq.u32 %p1, %r0, 0;
        @%p1 mbarrier.init.shared.b64 [m], 32; bar.warp.sync -1;
        mbarrier.arrive.shared.b64 %rd5, [m];
        @%p1 bra W; bra S; W: mbarrier.try_wait.shared.b64 %p2, [m], %rd5; @!%p2 bra W;
        S: st.global.u32 [%rd1], %r0; ret;";
    let got = Bed::body(body).buffer("p", &[77_u32; 32]).good().get::<u32>("p");
    assert_eq!(got, (0..32).collect::<Vec<_>>());
}

fn bulk(copy: &str) -> Result<Done, Fault> {
    let body = format!(
        ".shared .align 16 .b8 s[128]; mov.u32 %r3, 5; mov.u32 %r4, s; mad.lo.u32 %r4, %r0, 4, %r4;
         st.shared.u32 [%r4], %r3; bar.warp.sync -1; setp.ne.u32 %p1, %r0, 0; @%p1 exit;
         {copy} ret;"
    );
    let data: Vec<u32> = (0..64).collect();
    Bed::body(&body).buffer("p", &data).run().map(Done)
}

#[test]
fn bulk_copies_reduce() {
    let add = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd0+64], [s], 128;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let expected: Vec<u32> =
        (0..64).map(|i| if (16..48).contains(&i) { i + 5 } else { i }).collect();
    assert_eq!(bulk(add).expect("runs").get::<u32>("p"), expected);
    let min = add.replace(".add.u32", ".min.s32");
    let expected: Vec<u32> =
        (0..64).map(|i: u32| if (16..48).contains(&i) { i.min(5) } else { i }).collect();
    assert_eq!(bulk(&min).expect("runs").get::<u32>("p"), expected);
}

#[test]
fn bulk_copies_are_checked() {
    let copy = |to: u32, bytes: u32| {
        bulk(&format!("cp.async.bulk.global.shared::cta.bulk_group [%rd0+{to}], [s], {bytes};"))
    };
    assert_eq!(copy(128, 128).expect("fits").get::<u32>("p")[32..], [5; 32]);
    let kind = |result: Result<Done, Fault>| result.err().map(|fault| fault.kind);
    assert_eq!(kind(copy(144, 128)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind(copy(0, 144)), Some(FaultKind::OutOfBounds));
    assert_eq!(kind(copy(8, 16)), Some(FaultKind::Misaligned));
    assert_eq!(kind(copy(0, 20)), Some(FaultKind::Misaligned));
}

#[test]
fn a_cluster_is_one_block() {
    let body = ".shared .align 4 .b8 s[256]; mov.u32 %r2, s; mapa.shared::cluster.u32 %r3, %r2, 0;
        mad.lo.u32 %r4, %r0, 4, %r3; st.shared::cluster.u32 [%r4], %r0;
        barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;
        xor.b32 %r5, %r0, 63; mad.lo.u32 %r4, %r5, 4, %r2; ld.shared.u32 %r6, [%r4];
        mov.u32 %r7, %cluster_nctarank; mad.lo.u32 %r6, %r6, %r7, %cluster_ctarank;
        st.global.u32 [%rd1], %r6; ret;";
    let got = Bed::body(body).block([64, 1, 1]).buffer("p", &[0_u32; 64]).good().get::<u32>("p");
    assert_eq!(got, (0..64).rev().collect::<Vec<_>>());
    let other = body.replace("%r2, 0;", "%r2, 1;");
    let (fault, _) = Bed::body(&other).block([64, 1, 1]).buffer("p", &[0_u32; 64]).fault();
    assert_eq!(fault.kind, FaultKind::Undefined);
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n
        .visible .entry k() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }\n";
    let (fault, shown) = Bed::text("cluster.ptx", text, "k").grid([2, 1, 1]).fault();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(shown.starts_with("cluster.ptx:5:"), "{shown}");
}

#[test]
fn block_shapes_that_a_kernel_forbids_are_refused() {
    let run = |directive: &str, block: [u32; 3]| {
        let text = format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() {directive} {{ ret; }}\n"
        );
        Bed::text("shape.ptx", text, "k").block(block).run().map_err(|fault| fault.kind).map(|_| ())
    };
    assert_eq!(run(".reqntid 16, 4", [16, 4, 1]), Ok(()));
    assert_eq!(run(".reqntid 16, 4", [64, 1, 1]), Err(FaultKind::Launch));
    assert_eq!(run(".maxntid 64, 2, 1", [16, 8, 1]), Ok(()));
    assert_eq!(run(".maxntid 64, 2, 1", [129, 1, 1]), Err(FaultKind::Launch));
}

/// A kernel that calls functions of the driver.
fn calls(declarations: &str, body: &str) -> Result<Done, Fault> {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{declarations}
         .visible .entry k(.param .u64 p) {{
         .reg .b64 %a, %b, %out; ld.param.u64 %out, [p]; {body} ret; }}\n"
    );
    Bed::text("calls.ptx", text, "k").block([1, 1, 1]).buffer("out", &[9_u64; 4]).run().map(Done)
}

const HEAP: &str = ".extern .func (.param .b64 r) malloc(.param .b64 n);
    .extern .func free(.param .b64 p);";

fn allocate(bytes: u64, into: &str) -> String {
    format!(
        "{{ .param .b64 n; .param .b64 r; st.param.b64 [n], {bytes}; call (r), malloc, (n);
            ld.param.b64 {into}, [r]; }}"
    )
}

fn release(what: &str) -> String {
    format!("{{ .param .b64 n; st.param.b64 [n], {what}; call free, (n); }}")
}

#[test]
fn the_heap_gives_out_what_it_has() {
    // More than there is; all of it; all of it again after it was given back.
    let body = [
        allocate(1 << 40, "%a"),
        "st.global.u64 [%out], %a;".to_owned(),
        allocate(8 << 20, "%a"),
        allocate(1, "%b"),
        "st.global.u64 [%out+8], %b; st.u8 [%a+8388607], 1;".to_owned(),
        release("%a"),
        release("0"),
        allocate(8 << 20, "%b"),
        "sub.u64 %b, %b, %a; st.global.u64 [%out+16], %b;".to_owned(),
    ];
    let done = calls(HEAP, &body.concat()).expect("runs");
    assert_eq!(done.get::<u64>("out"), [0, 0, 0, 9]);
    let kind = |body: &[String]| calls(HEAP, &body.concat()).err().map(|fault| fault.kind);
    let twice = [allocate(16, "%a"), release("%a"), release("%a")];
    assert_eq!(kind(&twice), Some(FaultKind::Undefined));
    assert_eq!(kind(&[release("%out")]), Some(FaultKind::Undefined));
    let behind = [allocate(8 << 20, "%a"), "st.u8 [%a+8388608], 1;".to_owned()];
    assert_eq!(kind(&behind), Some(FaultKind::OutOfBounds));
}

#[test]
fn launches_from_a_kernel_are_refused_by_name() {
    let declaration =
        ".extern .func (.param .b32 r) cudaLaunchDeviceV2(.param .b64 a, .param .b64 b);";
    let body =
        "{ .param .b64 x; .param .b64 y; .param .b32 r; call (r), cudaLaunchDeviceV2, (x, y); }";
    let fault = calls(declaration, body).err().expect("a fault");
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert!(fault.message.contains("`cudaLaunchDeviceV2`"), "{}", fault.message);
    assert!(fault.span.is_some());
}
