//! Standing in for ptxas: from its command line to its exit status and messages.
//!
//! - [`options`]: ptxas's own options as a table, and how each takes its value.
//! - [`command_line`]: which words of a call are inputs, and whether there is anything to rewrite.
//! - [`options_file`]: the words of an `--options-file`.
//! - [`role`]: which assembler the program is to be, by the name it was called by.
//! - [`nvptx_as`]: the command line of GCC's assembler, which checks PTX text and passes it on.
//! - [`locate`]: where the real ptxas is.
//! - [`examine`]: read the inputs, and show each to the rewriter.
//! - [`rewritten`]: run the real ptxas on rewritten inputs.
//! - [`assemble`]: a whole call, which falls back to the originals.
//! - [`check`]: assemble both texts and compare the results: their [`outcome`] has the functions that lose;
//!   [`losses`] compares resources, and [`complaints`] finds messages about one text alone.
//! - [`invoke`]: the one place that starts the real ptxas, as a [`child`] that does not outlive us, on a
//!   [`leash`] where its work is bounded; [`signals`] keeps it and the temporary files from outliving an
//!   interrupted call.
//! - [`embedded`]: the PTX texts in objects and executables.
//! - [`once`]: one text, assembled outside of a build.
//! - [`temporary`]: the folders for rewritten texts, and the leftovers of killed calls.
//! - [`trial`]: asks a program which assembler it is, and whether it works.
//! - [`messages`]: file names and lines of the rewritten text back to the user's.
//!
//! **Invariant:** a call that ptxas accepts is accepted. Any failure of ptxasw leads to the original
//! input, and for a call that ptxas refuses ptxas's own messages about that original are shown.
//!
//! **Invariant:** no code here prints, reads the environment, or knows how PTX is rewritten; the
//! rewriter is handed in as a function.

pub mod assemble;
pub mod check;
pub mod child;
pub mod command_line;
pub mod complaints;
pub mod embedded;
pub mod examine;
pub mod invoke;
pub mod leash;
pub mod locate;
pub mod losses;
pub mod messages;
pub mod nvptx_as;
pub mod once;
pub mod options;
pub mod options_file;
pub mod outcome;
pub mod rewritten;
pub mod role;
pub mod search;
pub mod signals;
pub mod temporary;
pub mod trial;
