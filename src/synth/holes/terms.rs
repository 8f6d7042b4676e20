//! Nodes without choices as terms.

use super::lower::{Lowering, Reading};
use super::node::{Id, Node, UNDEFINED};
use crate::synth::term::{self, Fold, TermId};

impl Lowering<'_> {
    /// The term of a node without choices.
    pub(super) fn term(&mut self, id: Id) -> TermId {
        if let Some(&term) = self.terms.get(&id) {
            return term;
        }
        let term = if id == UNDEFINED {
            term::UNDEFINED
        } else if let Some([a, b, c]) = self.fused(id) {
            let (a, b) = (self.term(a), self.term(b));
            let product = self.program.terms.product(&[a, b]);
            if self.is_nothing(c) {
                product
            } else {
                let c = self.term(c);
                self.program.terms.fold(Fold::Sum, &[product, c])
            }
        } else {
            match self.reading(id) {
                Reading::Fold(op, args) => {
                    let args: Vec<Id> = args.into_iter().filter(|&a| !self.is_nothing(a)).collect();
                    let terms: Vec<TermId> = args.into_iter().map(|arg| self.term(arg)).collect();
                    self.program.terms.fold(op, &terms)
                }
                Reading::Product(args) => {
                    let terms: Vec<TermId> = args.into_iter().map(|arg| self.term(arg)).collect();
                    self.program.terms.product(&terms)
                }
                Reading::Other => self.atom(id),
            }
        };
        self.terms.insert(id, term);
        term
    }

    fn atom(&mut self, id: Id) -> TermId {
        let (name, index, bytes) = match *self.nodes.node(id) {
            Node::Load(buffer, offset, bytes) => {
                let name = self.nodes.buffers[buffer as usize].clone();
                (name, offset.div_euclid(i64::from(bytes.max(1))), bytes)
            }
            _ => {
                let next = self.others.len() as u32;
                let number = *self.others.entry(id).or_insert(next);
                ("value".to_owned(), i64::from(number), 0)
            }
        };
        // Loads of another size, or from before the beginning, are another input.
        let name = if index < 0 { format!("before {name}") } else { name };
        let known = self.inputs.get(&name).copied();
        let (input, name) = match known {
            Some((input, own)) if own == bytes => (input, None),
            Some(_) => {
                let name = format!("{name} by {bytes} bytes");
                match self.inputs.get(&name) {
                    Some(&(input, _)) => (input, None),
                    None => (self.program.inputs.next_key(), Some(name)),
                }
            }
            None => (self.program.inputs.next_key(), Some(name)),
        };
        if let Some(name) = name {
            self.inputs.insert(name.clone(), (input, bytes));
            self.program.inputs.push((name, vec![1]));
        }
        let index = index.unsigned_abs() as u32;
        let shape = &mut self.program.inputs[input].1;
        shape[0] = shape[0].max(index as usize + 1);
        self.program.terms.atom(input, index)
    }
}
