//! The command line: the only stage that prints or reads the environment.

pub mod env;
pub mod keep;
pub mod wrapper;
