//! The lanes that a lane has a value from, by shuffles. A shuffle from an absent lane delivers any value (PTX ISA,
//! "shfl.sync").
//!
//! In: a claim that was evaluated lane by lane. Out: whether the rewritten program's value is undefined only where the
//! original's is: each lane that it may come from is one that the original's is undefined without. A sum is undefined
//! with any of its operands, another operator's result perhaps only with all of them: the greatest of any value and the
//! greatest number is a number.

use rustc_hash::FxHashMap;

use super::tables::Tables;
use super::way::Way;
use crate::expr::{BinaryOp, Node, TermId};
use crate::isa::Opcode;
use crate::terms::{Function, Terms};

/// Sets of lanes, by bits.
#[derive(Clone, Copy, Default)]
struct Senders {
    /// All lanes that the value may come from.
    any: u32,
    /// Those that must all be there for it to be defined.
    needed: u32,
}

/// The lanes that values come from, in one claim.
#[derive(Default)]
pub(super) struct Origins {
    done: FxHashMap<(TermId, u32), Senders>,
}

impl Origins {
    /// Whether the rewritten term is defined in a lane wherever the original one is. Both have been evaluated there.
    pub(super) fn are_defined_alike(
        &mut self,
        tables: &Tables<'_>,
        terms: &Terms,
        (original, rewritten): (TermId, TermId),
        lane: u32,
    ) -> bool {
        let [before, after] = [original, rewritten].map(|term| self.of(tables, terms, term, lane));
        before.zip(after).is_some_and(|(before, after)| after.any & !before.needed == 0)
    }

    /// Whether a term has nothing from other lanes in a lane. It has been evaluated there.
    pub(super) fn is_own(
        &mut self,
        tables: &Tables<'_>,
        terms: &Terms,
        term: TermId,
        lane: u32,
    ) -> bool {
        self.of(tables, terms, term, lane).is_some_and(|senders| senders.any == 0)
    }

    fn of(
        &mut self,
        tables: &Tables<'_>,
        terms: &Terms,
        term: TermId,
        lane: u32,
    ) -> Option<Senders> {
        let mut stack = vec![(term, lane)];
        while let Some(&(next, lane)) = stack.last() {
            if self.done.contains_key(&(next, lane)) {
                stack.pop();
                continue;
            }
            terms.arena.charge(1);
            let parts = tables.needed(terms, next, lane)?;
            let depth = stack.len();
            stack.extend(parts.iter().copied().filter(|one| !self.done.contains_key(one)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let found = self.combined(tables, terms, (next, lane), &parts);
            self.done.insert((next, lane), found);
        }
        self.done.get(&(term, lane)).copied()
    }

    fn combined(
        &self,
        tables: &Tables<'_>,
        terms: &Terms,
        (term, lane): (TermId, u32),
        parts: &[(TermId, u32)],
    ) -> Senders {
        let each = || parts.iter().map(|one| self.done[one]);
        let any = each().fold(0, |all, one| all | one.any);
        let union = || each().fold(0, |all, one| all | one.needed);
        match tables.ways.known.get(&term) {
            Some(Way::Shuffle(..)) => {
                // (The value that is sent comes last.)
                let from = parts.last().map_or(lane, |(_, from)| *from);
                let sender = if from == lane { 0 } else { 1 << from };
                Senders { any: any | sender, needed: union() | sender }
            }
            Some(Way::Sum(value) | Way::Xor(value)) => {
                Senders { any, needed: self.done[&(*value, lane)].needed }
            }
            Some(Way::InRange(..)) => Senders::default(),
            Some(_) => Senders { any, needed: 0 },
            None if is_strict(terms, term) => Senders { any, needed: union() },
            None => Senders {
                any,
                needed: each().map(|one| one.needed).reduce(|a, b| a & b).unwrap_or(0),
            },
        }
    }
}

/// Whether any operand's being undefined makes a result undefined.
fn is_strict(terms: &Terms, term: TermId) -> bool {
    let is_sum = |opcode: Opcode| matches!(opcode, Opcode::Add | Opcode::Sub | Opcode::Fma);
    match terms.arena.node(term) {
        Node::Sum { .. } | Node::Binary(BinaryOp::Add | BinaryOp::Xor, ..) => true,
        Node::Apply(..) => match terms.applied(term) {
            Some((Function::Exclusive, _)) => true,
            Some((Function::Opcode(operation, _), _)) => is_sum(operation.form.opcode),
            _ => false,
        },
        _ => false,
    }
}
