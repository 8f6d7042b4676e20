//! `ptxasw report`: what is recognised, which rows are found, and what a reader finds on the page.

#![expect(clippy::disallowed_methods, reason = "ptxasw is a process")]

#[path = "page/report.rs"]
mod report;
#[path = "page/rows.rs"]
mod rows;
