//! The two versions of a text that are assembled, measured and proved against each other.
//!
//! In: a text and its rewriting. Out: [`Versions`]: both texts whole, or with the rewritten kernels alone: where most of a
//! text is other kernels, these need not be assembled twice.

use std::ops::Range;

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

/// The share of a text up to which its only rewritten kernel is compared alone: two runs of ptxas on it and one on the whole
/// text then take less than two on the whole text, and hardly longer if the runs of a pair go on at once.
const MAX_SHARE: f64 = 1.0 / 3.0;

/// The share of rewritten kernels that a build keeps, about. If it keeps some of a text and not others, the whole text is
/// assembled a third time where both whole texts were compared.
const KEPT: f64 = 0.5;

/// The bytes of PTX that ptxas assembles in about the time that it takes to start.
const START_IN_BYTES: f64 = 8192.0;

impl Versions {
    /// The whole texts.
    pub fn whole(source: &SourceFile, rewritten: &Rewritten) -> Versions {
        Versions {
            original: SourceFile::new(source.name(), source.text()),
            rewritten: SourceFile::new(source.name(), rewritten.text.as_str()),
        }
    }

    /// The texts without the kernels that are not rewritten; `None` where functions are rewritten that kernels call.
    pub fn alone(source: &SourceFile, rewritten: &Rewritten) -> Option<Versions> {
        Parts::of(source, rewritten)?.versions(source, rewritten)
    }

    /// The same, if assembling these beside the whole rewritten text takes less than assembling both whole texts.
    pub fn to_compare(source: &SourceFile, rewritten: &Rewritten) -> Option<Versions> {
        let parts = Parts::of(source, rewritten)?;
        parts.pays_alone().then(|| parts.versions(source, rewritten)).flatten()
    }
}

/// The kernels of a text.
struct Parts {
    /// Bytes of those that are rewritten, and how many there are.
    rewritten: usize,
    count: i32,
    /// The places of the others.
    others: Vec<Range<usize>>,
}

impl Parts {
    fn of(source: &SourceFile, rewritten: &Rewritten) -> Option<Parts> {
        let module = ptx::parse(source, Depth::Named(&[])).ok()?;
        let is_rewritten = |name: &str| rewritten.edits.iter().any(|(edited, _)| edited == name);
        let mut parts = Parts { rewritten: 0, count: 0, others: Vec::new() };
        for function in module.functions() {
            let Function { kind, name, span, .. } = function;
            let range = span.start as usize..span.end as usize;
            match (kind, is_rewritten(name.text)) {
                (FunctionKind::Entry, true) => {
                    parts.rewritten += range.len();
                    parts.count += 1;
                }
                (FunctionKind::Entry, false) => parts.others.push(range),
                (FunctionKind::Func, true) => return None,
                (FunctionKind::Func, false) => {}
            }
        }
        Some(parts)
    }

    /// Whether two runs on the rewritten kernels and one on the whole text take less than two, or three, on the whole text.
    fn pays_alone(&self) -> bool {
        let others: usize = self.others.iter().map(ExactSizeIterator::len).sum();
        let (alone, all) = (self.rewritten as f64, (self.rewritten + others) as f64);
        if self.count == 1 {
            return alone + START_IN_BYTES <= MAX_SHARE * all;
        }
        let again = 1.0 - KEPT.powi(self.count - 1);
        3.0 * START_IN_BYTES + all + 2.0 * alone <= (2.0 + again) * (START_IN_BYTES + all)
    }

    fn versions(&self, source: &SourceFile, rewritten: &Rewritten) -> Option<Versions> {
        let with = |edits: Vec<Edit>| {
            let others = self.others.iter().cloned();
            let others = others.map(|range| Edit::new(range, String::new()));
            let edits = Edits::new(edits.into_iter().chain(others).collect()).ok()?;
            Some(SourceFile::new(source.name(), edits.apply(source.text()).0))
        };
        let edits = rewritten.edits.iter().flat_map(|(_, edits)| edits).cloned().collect();
        Some(Versions { original: with(Vec::new())?, rewritten: with(edits)? })
    }
}
