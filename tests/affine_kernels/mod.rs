//! A generator of kernels whose right rewrites are known by construction.

pub mod emit;
pub mod environments;
pub mod evaluate;
pub mod expect;
pub mod guards;
pub mod kernel;
pub mod machine;
