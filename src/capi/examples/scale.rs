//! Executes a kernel on a vector of the caller, and another one that reads from address 0, as
//! `cargo run -p ptxasw-capi --example scale`:
//!
//!     0: [2.0, 4.0, 6.0, 8.0]
//!     3: [2.0, 4.0, 6.0, 8.0]

use std::error::Error;
use std::ffi::{CString, c_void};

use ptxasw_capi::ptx_run;

/// `x[tid.x] *= 2`, and 4 threads.
const SCALE: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f1, %f1, %f1;
    st.global.f32 [%rd3], %f1;
    ret;
}";

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = CString::new(SCALE)?;
    let mut x = [1.0_f32, 2.0, 3.0, 4.0];
    let mut out = String::new();
    for address in [x.as_mut_ptr().cast::<c_void>(), std::ptr::null_mut()] {
        let args = [address];
        // SAFETY: the text ends with a zero byte, there is one value, and 4 threads access `x`, or nothing.
        #[allow(unsafe_code, reason = "it is a C function")]
        let code = unsafe { ptx_run(source.as_ptr(), 1, args.as_ptr(), 4, 1, 1, 1, 1, 1, 0) };
        out += &format!("{code}: {x:?}\n");
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
