//! One HTML page from the JSON that other subcommands write.
//!
//! In: [`Inputs`], the texts of JSON files and of the PTX files that they name. Out: a page that needs
//! nothing else, no network and no script. Promised: every load of a `candidates` file is on the page
//! with its decision and reason; nothing that the inputs lack is guessed, except where a drawing has
//! to assume something and says so.
//!
//! - [`input`]: the kinds of files; [`model`]: the data of one kernel.
//! - [`rows`]: which loads form a row, and which lines of memory they touch. Pure numbers.
//! - `lanes`, `exchange`, `bars`, `decision`: drawings of rows, of collectives, of times and of a build's decision; `drawing`: shared parts; `listing`: the
//!   source; `traffic`: the costs of its accesses.
//! - `html`: the page around them, with `style.css`.

mod bars;
mod decision;
mod drawing;
mod exchange;
mod html;
pub mod input;
mod lanes;
mod listing;
pub mod model;
pub mod rows;
mod traffic;
mod words;

pub use input::Inputs;

/// Makes the page.
pub fn page(inputs: &Inputs) -> String {
    html::page(&model::kernels(inputs), inputs)
}
