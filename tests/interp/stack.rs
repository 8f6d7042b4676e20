//! Local memory that a function asks for while it runs.

use super::bed::Bed;
use ptxasw::interp::FaultKind;

/// Each lane fills as many words as its number, then a block behind them, and adds up the first.
#[test]
fn lanes_allocate_different_sizes() {
    let body = "add.u32 %r1, %r0, 1; mul.wide.u32 %rd2, %r1, 4;
        alloca.u64 %rd3, %rd2, 16; alloca.u64 %rd4, 128, 32;
        and.b64 %rd5, %rd3, 15; and.b64 %rd6, %rd4, 31; or.b64 %rd5, %rd5, %rd6;
        mov.u32 %r2, 0;
        fill: mad.wide.u32 %rd6, %r2, 4, %rd3; st.local.u32 [%rd6], %r2;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra fill;
        mov.u32 %r2, 0;
        clear: mad.wide.u32 %rd6, %r2, 4, %rd4; st.local.u32 [%rd6], -1;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 32; @%p1 bra clear;
        cvta.local.u64 %rd3, %rd3; cvt.u32.u64 %r3, %rd5; mov.u32 %r2, 0;
        sum: mad.wide.u32 %rd6, %r2, 4, %rd3; ld.u32 %r4, [%rd6]; add.u32 %r3, %r3, %r4;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra sum;
        st.global.u32 [%rd1], %r3; ret;";
    let got = Bed::body(body).buffer("p", &[0_u32; 32]).good().get::<u32>("p");
    let expected: Vec<u32> = (0..32).map(|lane| lane * (lane + 1) / 2).collect();
    assert_eq!(got, expected);
}

/// f(n) allocates, calls f(n - 1), and finds its own memory as it was.
#[test]
fn every_call_has_its_own() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64
        .func (.reg .u32 d) f(.reg .u32 n) {
          .reg .pred %p<2>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
          alloca.u64 %rd1, 64; st.local.u32 [%rd1+60], n; mov.u32 d, 0;
          setp.eq.u32 %p1, n, 0; @%p1 ret;
          sub.u32 %r1, n, 1; call.uni (%r2), f, (%r1);
          ld.local.u32 %r3, [%rd1+60]; add.u32 d, %r2, %r3; ret; }
        .visible .entry k(.param .u64 p) {
          .reg .b32 %r<9>; .reg .b64 %rd<9>;
          ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %rd1, %r1, 4, %rd1;
          call.uni (%r2), f, (%r1); st.global.u32 [%rd1], %r2; ret; }";
    let got = Bed::text("f.ptx", text, "k").buffer("p", &[0_u32; 32]).good().get::<u32>("p");
    let expected: Vec<u32> = (0..32).map(|lane| lane * (lane + 1) / 2).collect();
    assert_eq!(got, expected);
}

#[test]
fn what_is_given_back_is_there_again_and_what_is_not_runs_out() {
    let body = |restore: &str| {
        format!(
            "mov.u32 %r2, 0; st.global.u32 [%rd1], %r2;
             again: stacksave.u64 %rd2; alloca.u64 %rd3, 4096; st.local.u32 [%rd3+4092], %r2;
             {restore} add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 1000; @%p1 bra again;
             st.global.u32 [%rd1], %r2; ret;"
        )
    };
    let bed = |restore: &str| Bed::body(&body(restore)).buffer("p", &[0_u32; 32]);
    assert_eq!(bed("stackrestore.u64 %rd2;").good().get::<u32>("p"), [1000; 32]);
    let (fault, shown) = bed("").fault();
    assert_eq!(fault.kind, FaultKind::OutOfBounds);
    assert!(shown.contains("alloca.u64 %rd3, 4096;"), "{shown}");
}
