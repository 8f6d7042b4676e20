//! The text of a header while it is written: lines, loops and names.

use std::fmt::Write as _;

use crate::synth::emit::domain::Domain;
use crate::synth::emit::fuse::Group;
use crate::synth::emit::kernel::Kernel;

/// The name of the lane's number in each function.
pub(super) const LANE: &str = "lane_of_warp";

/// Words that are no names in C++, as far as sketches could use them.
const WORDS: [&str; 24] = [
    "and", "auto", "bool", "break", "case", "char", "class", "do", "double", "else", "float",
    "for", "goto", "if", "int", "long", "new", "not", "or", "short", "this", "union", "void",
    "xor",
];

/// A name as C++ may have it.
pub(super) fn named(name: &str) -> String {
    if WORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// Writes functions.
pub(super) struct Writer<'k> {
    pub kernel: &'k Kernel,
    pub text: String,
    pub indent: usize,
    /// The steps that are being written, if they run along an axis together.
    pub group: Option<&'k Group<'k>>,
}

impl Writer<'_> {
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = self.indent * 4);
    }

    pub(super) fn open(&mut self, line: &str) {
        self.line(line);
        self.indent += 1;
    }

    pub(super) fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    /// Opens loops; [`Writer::end`] closes as many.
    pub(super) fn begin(&mut self, loops: &Domain) {
        if loops.axes.is_empty() {
            self.open("{");
        }
        for (name, extent) in &loops.axes {
            let _ = writeln!(self.text, "#pragma unroll");
            let name = named(name);
            self.open(&format!("for (int {name} = 0; {name} < {extent}; ++{name}) {{"));
        }
    }

    pub(super) fn end(&mut self, loops: &Domain) {
        (0..loops.axes.len().max(1)).for_each(|_| self.close());
    }
}
