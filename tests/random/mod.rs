//! Random structured kernels: a generator, the checks that every rewrite has to pass, and a reducer
//! for those that do not.
//!
//! [`generate`] and, with the strategies in mind, [`aimed`] make a tree of one seed, [`emit`] spells the tree as PTX and [`launch`] as the JSON
//! of its launch, [`shadows`] adds scopes that declare names anew, [`check`] rewrites the text and asks the judges, [`reduce`] takes parts out of the
//! tree as long as the same judge complains. Nothing here depends on a clock or on the order of
//! threads: a seed is a kernel for ever (of one version of this code).

pub mod aimed;
pub mod check;
mod emit;
pub mod files;
mod generate;
mod kernel;
mod launch;
pub mod reduce;
pub mod schedules;
pub mod shadows;
mod statements;
mod together;
mod writer;

pub use emit::{Case, emit};
pub use generate::kernel;
pub use kernel::Kernel;
