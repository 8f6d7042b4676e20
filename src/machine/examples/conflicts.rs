//! Wavefronts of a column of 32 numbers in shared memory, and the load/store unit's cycles for a warp's load of
//! global memory, as `cargo run -p ptxasw-machine --example conflicts`:
//!
//!     a column of float[32][32]: 32 wavefronts
//!     a column of float[32][33]: 1 wavefronts
//!     stride 0: 1 cycles on sm_80
//!     stride 4: 1 cycles on sm_80
//!     stride 16: 4 cycles on sm_80
//!     stride 128: 32 cycles on sm_80

use ptxasw_machine::cost::{Costs, Request, banks};

/// The lines of the head.
pub(crate) fn text() -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for columns in [32, 33] {
        let addresses: Vec<u64> = (0..32).map(|row| row * columns * 4).collect();
        let wavefronts = banks::wavefronts(&addresses, u32::MAX, 4);
        out += &format!("a column of float[32][{columns}]: {wavefronts} wavefronts\n");
    }
    let costs = Costs::of(80);
    for stride in [0, 4, 16, 128] {
        let request = Request { stride: Some(stride), bytes: 4, lanes: 32, past_l1: false };
        out += &format!("stride {stride}: {} cycles on sm_80\n", costs.load(&request));
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), std::fmt::Error> {
    print!("{}", text()?);
    Ok(())
}
