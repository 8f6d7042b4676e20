//! Kernels in folders, with their launches in the line above and the expected places as words behind their instructions.

use std::ops::Range;

use super::assembler::Assembler;
use super::bed::Bed;
use super::root;
use ptxasw::interp::Fault;
use ptxasw::ptx::{self, Depth, FunctionKind};
use ptxasw::source::{SourceFile, Span};

/// Elements of the buffer that each kernel gets.
pub const ELEMENTS: usize = 256;

/// A kernel of a folder.
pub struct Marked<'t> {
    /// Its file and its name.
    pub place: String,
    file: &'t str,
    name: &'t str,
    source: &'t SourceFile,
    lines: Range<u32>,
    shape: (u32, u32),
}

impl Marked<'_> {
    /// The 1-based line that bears a word: `// first`, `// first, second`.
    pub fn line(&self, word: &str) -> Option<u32> {
        let bears = |line: &u32| match self.source.line_text(*line).rsplit_once("// ") {
            Some((_, comment)) => comment.split(", ").any(|one| one == word),
            None => false,
        };
        self.lines.clone().find(bears)
    }

    /// Its launch: `// grid 2, block 64` stands in the line above.
    pub fn bed(&self) -> Bed {
        let (grid, block) = self.shape;
        Bed::text(self.file, self.source.text(), self.name)
            .grid([grid, 1, 1])
            .block([block, 1, 1])
            .buffer("p", &[7_u32; ELEMENTS])
    }

    /// The lines of a fault: of what came first, and of the instruction itself.
    pub fn found(&self, fault: &Fault) -> (Option<u32>, Option<u32>) {
        let line = |span: Span| self.source.line(span.start);
        (fault.earlier.as_ref().map(|other| line(other.span)), fault.span.map(line))
    }

    /// A fault, for people.
    pub fn shown(&self, fault: &Fault) -> String {
        format!("{}: {}", self.place, fault.diagnostic(self.source))
    }
}

fn shape(line: &str) -> Option<(u32, u32)> {
    let (grid, block) = line.strip_prefix("// grid ")?.split_once(", block ")?;
    Some((grid.parse().ok()?, block.parse().ok()?))
}

/// Asks about each kernel of a folder in `tests/interp`; all its files are to be what the real ptxas accepts. Returns the complaints.
pub fn each(folder: &str, ask: &mut dyn FnMut(&Marked<'_>) -> Vec<String>) -> Vec<String> {
    let assembler = Assembler::find();
    let cubin = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut wrong = Vec::new();
    let folder = root().join("tests/interp").join(folder);
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let source = SourceFile::new(&*file, text.as_str());
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        for function in module.functions().filter(|f| f.kind == FunctionKind::Entry) {
            let lines = source.line(function.span.start)..source.line(function.span.end) + 1;
            let shape = shape(source.line_text(lines.start - 1))
                .unwrap_or_else(|| panic!("{file}:{}: no launch above", lines.start));
            let name = function.name.text;
            let place = format!("{file}: {name}");
            wrong.extend(ask(&Marked { place, file: &file, name, source: &source, lines, shape }));
        }
        let assembled = assembler.as_ref().map(|a| a.assemble(&text, cubin.path()));
        if let Some(Err(message)) = assembled {
            wrong.push(format!("{file}: {message}"));
        }
    }
    wrong
}
