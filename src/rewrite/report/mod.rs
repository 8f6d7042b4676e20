//! The decision about every global load: the data behind `candidates --format json`.
//!
//! The field names are a contract with programs that read them; fields may be added, not renamed.

mod array;
mod build;
mod collective;
mod cost;
mod file;
mod kernel;
mod load;
mod measure;
mod origins;
mod sentence;
mod stores;

pub use crate::sass::Resources;
pub use crate::strategies::Decision;
pub use crate::traffic::Request;
pub use array::{ArrayAccessReport, ArrayReport, Wavefronts};
pub use build::{Kept, ProofReport, ProvedBy, StepName, StepReport, Why};
pub use collective::{CollectiveReport, CollectiveStep};
pub use cost::Cost;
pub use file::{HoleReport, Report};
pub use kernel::{FUNCTION_LEFT, KernelReport};
pub use load::LoadReport;
pub use measure::{MeasureReport, ResourcesReport};
pub use origins::{Call, Origin, Origins};
pub use stores::Stores;
