//! `ptxasw lint`: the costs of every kernel's memory accesses, by source line, with advice.
//!
//! In: a PTX text. Out: a [`LintFile`]: for each function its accesses with the cost of a warp's request
//! ([`crate::traffic`]), and findings: facts with numbers, each with advice. A rule reports facts that are certain
//! under the assumptions of [`crate::traffic`], and is silent otherwise.
//!
//! From the ground up: `rule`: the rules by name; `report`: the data; `subject`:
//! one function as rules see it; `rules`: the rules; `run`: a file's way through them; `baseline`: known findings;
//! `excerpt`: lines of sources; `text`, `sarif`, `github`: the report in these forms.

mod baseline;
mod excerpt;
mod github;
mod report;
mod rule;
mod rules;
mod run;
mod sarif;
mod subject;
mod text;

pub use baseline::Baseline;
pub use excerpt::Sources;
pub use github::github;
pub use report::LintFile;
pub use rule::{Level, Rule};
pub use run::{Options, lint};
pub use sarif::sarif;
pub use text::text;
