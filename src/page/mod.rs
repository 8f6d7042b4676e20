//! One HTML page from what the other subcommands say in JSON.
//!
//! In: [`Inputs`], the texts of JSON files and of the PTX files they speak of. Out: a page that needs
//! nothing else, no network, no script. It promises: every load of a `candidates` file is on it with
//! its decision and reason; what was not in the inputs is not guessed but left away, and said where a
//! drawing had to assume something.
//!
//! - [`input`]: which file is what; [`model`]: what belongs to one kernel.
//! - [`rows`]: which loads form a row, and which lines of memory they touch. Pure numbers.
//! - `lanes`, `bars`: drawings of rows and of times; `listing`: the source.
//! - `html`: the page around them, with `style.css`.

mod bars;
mod html;
pub mod input;
mod lanes;
mod listing;
pub mod model;
pub mod rows;

pub use input::Inputs;

/// A number of things, each named so.
fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// Makes the page.
pub fn page(inputs: &Inputs) -> String {
    html::page(&model::kernels(inputs), inputs)
}
