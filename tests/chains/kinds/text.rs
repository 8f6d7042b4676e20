//! The frame in which the generated chains stand: a kernel whose last two loads depend on the end of
//! the chain, so that nothing of it can be left out.

use std::fmt::Write;

/// A kernel with a chain in the middle. Before it `%r1` is the parameter `n`, `%r2` is `%tid.x`, `%r3`
/// the thread's index, `%rd1` and `%rd2` are buffers, `%rd3` is the thread's own element of the first;
/// registers from 10 on are the chain's. Behind it two neighbours are loaded whose index is `%r3`.
pub fn kernel(chain: &str) -> String {
    module(&format!(
        ".visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{\n{PROLOGUE}{chain}{EPILOGUE}}}\n"
    ))
}

/// A module with some functions.
pub fn module(functions: &str) -> String {
    format!(".version 7.8\n.target sm_80\n.address_size 64\n{functions}")
}

const PROLOGUE: &str = "\
.reg .pred %p<32>; .reg .b32 %r<64>; .reg .b64 %rd<64>; .reg .f32 %f<32>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r2, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x;
mad.lo.s32 %r3, %r4, %r5, %r2; mul.wide.s32 %rd3, %r3, 4; add.s64 %rd3, %rd1, %rd3;
mov.u32 %r10, %r3; mov.u32 %r11, 7; mov.u64 %rd10, %rd3; mov.f32 %f1, 0f00000000;
";

const EPILOGUE: &str = "
mul.wide.s32 %rd4, %r3, 4; add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4;
ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd5+4]; add.f32 %f1, %f1, %f2; add.f32 %f1, %f1, %f3;
st.global.f32 [%rd6], %f1;
ret;
";

/// `count` lines, each made from its number.
pub fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0..count {
        let _ = writeln!(text, "{}", line(number));
    }
    text
}
