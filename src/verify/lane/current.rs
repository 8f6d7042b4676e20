//! Whether the value that a lane has loaded is that of memory now, so that another lane would read the same.

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::Evaluation;
use crate::expr::TermId;
use crate::program::Window;
use crate::ptx::StateSpace;
use crate::record::{StoreRecord, before_stores, before_stores_of, is_own};
use crate::terms::{Kind, Origin, Terms, conditions};

impl Evaluation<'_, '_> {
    /// Whether nothing was published or taken over since a value was loaded, by a barrier, fence, atomic or call of the
    /// thread: otherwise another lane's copy may be older than the value this lane would read.
    ///
    /// A value that was loaded before any of these is the same in all lanes, however long ago that is: a
    /// write that one lane reads and another one does not would be ordered with both reads, and the lane
    /// that reads it would have acquired it first.
    pub(crate) fn is_current(&mut self, value: TermId) -> bool {
        let (mut work, mut seen) = (vec![value], FxHashSet::default());
        let path = match self.path() {
            Some(path) => conditions::literals(&mut self.terms.arena, path).to_vec(),
            None => Vec::new(),
        };
        let [global, shared] = [Window::Global, Window::Shared].map(|window| {
            let base = self.before_stores(self.memory[window as usize]);
            conditions::simplify(&mut self.terms.arena, base, &path)
        });
        while let Some(term) = work.pop() {
            if !seen.insert(term) {
                continue;
            }
            self.terms.arena.charge(2);
            let window = self.terms.loaded(term).and_then(|(load, _)| match load.space {
                StateSpace::Global => Some(global),
                StateSpace::Shared => Some(shared),
                _ => None,
            });
            let mut operands = self.terms.arena.operands(term);
            if let (Some(now), Some(version)) = (window, operands.first_mut())
                && self.terms.arena.constant_value(*version).is_none()
                // That another lane has the same such version is not taken for granted.
                && !is_own(self.terms, *version)
            {
                // Which of its own stores the lane has made is decided by values that may be old. But
                // it does not matter: those stores leave alone the bytes that another lane reads, see
                // `Function::OtherLanesMemory`.
                let base = self.before_stores(*version);
                *version = conditions::simplify(&mut self.terms.arena, base, &path);
                if *version != now && !is_entry(self.terms, *version) {
                    return false;
                }
            }
            work.extend(operands);
        }
        true
    }

    /// The version of memory before the thread's own weak stores, which publish nothing.
    fn before_stores(&mut self, version: TermId) -> TermId {
        let Some(reference) = self.reference else {
            return before_stores(self.terms, &self.out.stores, version);
        };
        let both = Both { own: &self.out.stores, original: &reference.execution.stores };
        before_stores_of(self.terms, &|version| both.record(version), version)
    }
}

/// Whether a version is the memory in front of the first instruction.
fn is_entry(terms: &Terms, version: TermId) -> bool {
    terms.as_symbol(version).is_some_and(|symbol| {
        matches!(terms.symbols.info(symbol).kind, Kind::Memory(_, Origin::Entry))
    })
}

/// The stores of both programs, by the versions of memory that they made.
struct Both<'e> {
    own: &'e FxHashMap<TermId, StoreRecord>,
    original: &'e FxHashMap<TermId, StoreRecord>,
}

impl Both<'_> {
    fn record(&self, version: TermId) -> Option<StoreRecord> {
        self.own.get(&version).or_else(|| self.original.get(&version)).copied()
    }
}
