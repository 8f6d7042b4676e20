//! Loops around shuffles with a constant number of iterations: the text of a file with them unrolled.
//!
//! In: a file, and the names of functions. Out: its text with those loops unrolled. That is the same program: a loop's number
//! of iterations is computed from constants that reach it on the only way there. So a loop that one of two files has can be
//! compared with straight code in the other.
//!
//! Uses `program` and, for the results of instructions, `bypass`. Each file uses only those before it:
//! - `constants`: registers that hold constants along a path
//! - `text`: the text with the loops unrolled

mod constants;
mod text;

pub(crate) use text::unrolled;
