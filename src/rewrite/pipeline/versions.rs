//! The two versions of a text that are assembled, measured and proved against each other.
//!
//! In: a text and its rewriting. Out: [`Versions`]: both texts whole, or with the rewritten kernels alone where most of the
//! text is other kernels: these need not be assembled twice.

use super::Rewritten;
use crate::ptx::{self, Depth, Function, FunctionKind};
use crate::rewrite::{Edit, Edits};
use crate::source::SourceFile;

/// Both versions of a text.
#[derive(Debug)]
pub struct Versions {
    /// The text as it was.
    pub original: SourceFile,
    /// The rewritten text.
    pub rewritten: SourceFile,
}

/// The least bytes of a text beside the rewritten kernels for each byte of these where they are compared alone: two runs of
/// ptxas on these kernels and one on the whole text then take less than two on the whole text, and hardly longer if both
/// runs of a pair go on at once.
const OTHERS_PER_BYTE: usize = 2;

/// The bytes of PTX that ptxas assembles in about the time that it takes to start.
const START_IN_BYTES: usize = 8 << 10;

impl Versions {
    /// The whole texts.
    pub fn whole(source: &SourceFile, rewritten: &Rewritten) -> Versions {
        Versions {
            original: SourceFile::new(source.name(), source.text()),
            rewritten: SourceFile::new(source.name(), rewritten.text.as_str()),
        }
    }
}

/// The texts without the kernels that are not rewritten; `None` if that saves nothing, or functions are rewritten that
/// kernels call.
pub fn versions(source: &SourceFile, rewritten: &Rewritten) -> Option<Versions> {
    let module = ptx::parse(source, Depth::Named(&[])).ok()?;
    let is_rewritten = |name: &str| rewritten.edits.iter().any(|(edited, _)| edited == name);
    let (mut kept, mut left) = (0, Vec::new());
    for function in module.functions() {
        let Function { kind, name, span, .. } = function;
        let range = span.start as usize..span.end as usize;
        match (kind, is_rewritten(name.text)) {
            (FunctionKind::Entry, true) => kept += range.len(),
            (FunctionKind::Entry, false) => left.push(range),
            (FunctionKind::Func, true) => return None,
            (FunctionKind::Func, false) => {}
        }
    }
    let others: usize = left.iter().map(ExactSizeIterator::len).sum();
    if others < OTHERS_PER_BYTE * kept + START_IN_BYTES {
        return None;
    }
    let without = |edits: Vec<Edit>| {
        let left = left.iter().map(|range| Edit { range: range.clone(), text: String::new() });
        let edits = Edits::new(edits.into_iter().chain(left).collect()).ok()?;
        Some(SourceFile::new(source.name(), edits.apply(source.text()).0))
    };
    let edits = rewritten.edits.iter().flat_map(|(_, edits)| edits).cloned().collect();
    Some(Versions { original: without(Vec::new())?, rewritten: without(edits)? })
}
