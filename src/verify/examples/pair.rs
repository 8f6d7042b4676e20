//! Proves that a rewrite does the same, and shows a difference, as `cargo run -p ptxasw-verify --example pair`:
//!
//!     %f2, %f1; as %f1, %f2;
//!     vecadd: equal (2 events, 0 shuffles, 0 solver queries)
//!     equal
//!     setp.ge.s32 as setp.gt.s32
//!     vecadd: different (2 events, 0 shuffles, 1 solver queries)
//!       the condition of `st.global.f32` differs (line 49, original line 49)
//!         in lane 17, thread (17, 1, 1) of a block of 32 x 2 x 2, vecadd_param_3 = 0x11
//!         original:  0x0
//!         rewritten: 0x1
//!       reads an address that the original is not shown to read: it may fault (line 44)
//!       reads an address that the original is not shown to read: it may fault (line 45)
//!     different

use std::error::Error;

use ptxasw_ptx::source::SourceFile;
use ptxasw_verify::{Options, verify};

const SAMPLE: &str = include_str!("../../../ptx-samples/vecadd/vecadd.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let original = SourceFile::new("vecadd.ptx", SAMPLE);
    let mut out = String::new();
    for (from, to) in [("%f2, %f1;", "%f1, %f2;"), ("setp.ge.s32", "setp.gt.s32")] {
        let rewritten = SourceFile::new("rewritten.ptx", SAMPLE.replace(from, to));
        let verification = verify(&original, &rewritten, &Options::default())?;
        out += &format!("{from} as {to}\n{verification}");
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
