//! `ptxasw report`: the recognised inputs, the rows, and the contents of the page.

#![expect(clippy::disallowed_methods, reason = "ptxasw is a process")]

mod report;
mod rows;
