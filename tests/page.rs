//! `ptxasw report`: what is recognised, which rows are found, and what a reader finds on the page.

#![expect(clippy::disallowed_methods, reason = "ptxasw is a process")]

mod report;
mod rows;
