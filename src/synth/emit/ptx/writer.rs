//! The body of a function while it is written: its lines, its registers and the values that are known already.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;

use super::Width;
use crate::synth::emit::domain::Domain;
use crate::synth::emit::kernel::Kernel;

/// A register's name.
pub(super) type Value = String;

/// Writes instructions.
pub(super) struct Writer<'k> {
    pub kernel: &'k Kernel,
    pub width: Width,
    /// Lanes that have coordinates of their own.
    pub lanes: &'k Domain,
    pub body: String,
    /// How many registers there are of each kind: elements, numbers, predicates, addresses.
    pub counts: [usize; 4],
    /// What was computed already.
    pub known: FxHashMap<String, Value>,
    /// What each register of each array holds; none is undefined.
    pub arrays: Vec<Vec<Option<Value>>>,
}

impl Writer<'_> {
    pub(super) fn line(&mut self, line: &str) {
        let _ = writeln!(self.body, "\t{line};");
    }

    pub(super) fn fresh(&mut self, kind: usize) -> Value {
        let number = self.counts[kind];
        self.counts[kind] += 1;
        format!("%{}{number}", ["v", "i", "p", "a"][kind])
    }

    /// The result of an instruction, unless it is known.
    pub(super) fn once(&mut self, kind: usize, operation: &str, operands: &str) -> Value {
        let key = format!("{operation} {operands}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let value = self.fresh(kind);
        self.line(&format!("{operation} {value}, {operands}"));
        self.known.insert(key, value.clone());
        value
    }
}
