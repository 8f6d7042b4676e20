//! A solution as code: a PTX function or a CUDA header.
//!
//! - `kernel`: the statements of a sketch over registers and lanes, with the found expressions; `build` makes it.
//!   `domain`: expressions over loops and lanes. `rotation`: rows of registers that are turned in rounds of selects.
//!   `fuse`: steps that run along an axis together.
//! - `ptx`, `cuda`: the texts. `index`: PTX of an expression over the lane, for the other subsystems. `check`, `taint`: the judges of both.

pub mod build;
pub mod check;
mod cuda;
pub mod domain;
mod fuse;
pub mod index;
pub mod kernel;
mod ptx;
mod rotation;
pub mod taint;

pub use cuda::{
    HELPERS as CUDA_HELPERS, Parts, cuda, entry as cuda_entry, functions as cuda_functions,
};
pub use ptx::ptx;

/// A name that C and PTX take, of a file's name.
pub fn identifier(file: &str) -> String {
    let stem = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let mut name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "warp_");
    }
    name
}
