//! Powers of two that divide uniform terms.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::shape::{Assumed, BlockShape};
use super::sum::{Factor, LaneSum};
use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{BinaryOp, Node, SymbolId, TermId};
use crate::isa::{Axis, Special};
use crate::ptx::{Function, FunctionKind, Item, Module, StateSpace, Statement, Variable};

/// Deeper terms are not looked into.
const MAX_DEPTH: u32 = 48;

/// Known and assumed alignments of symbols.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aligned {
    /// Low bits that are zero in the addresses of variables, by the names of their symbols.
    pub variables: FxHashMap<String, u32>,
    /// The state spaces of variables, by the names of their symbols.
    pub spaces: FxHashMap<String, StateSpace>,
    /// The parameters that are taken for pointers.
    pub pointers: FxHashSet<SymbolId>,
    /// Low bits that are zero in a pointer.
    pub pointer_zeros: u32,
}

impl Aligned {
    /// The alignment of variables, and which parameters are pointers.
    pub(crate) fn of(
        module: &Module<'_>,
        function: &Function<'_>,
        trace: &KernelTrace,
        assumed: &Assumed,
    ) -> Aligned {
        let note = |variable: &Variable<'_>, names: &mut BTreeMap<String, (u32, StateSpace)>| {
            let natural = variable.ty.map_or(1, |ty| u64::from(ty.bits() / 8).max(1));
            let natural = natural * u64::from(variable.vector.max(1));
            let bits = variable.align.unwrap_or(natural).max(1).trailing_zeros();
            for name in &variable.names {
                let text = name.name.text.to_owned();
                let known = names.entry(text).or_insert((bits, variable.space));
                known.0 = bits.min(known.0);
            }
        };
        let mut names = BTreeMap::new();
        for item in &module.items {
            if let Item::Variable(variable) = item {
                note(variable, &mut names);
            }
        }
        let mut open: Vec<&Statement<'_>> =
            function.statements().unwrap_or_default().iter().collect();
        while let Some(statement) = open.pop() {
            match statement {
                Statement::Variable(variable) => note(variable, &mut names),
                Statement::Block { statements, .. } => open.extend(statements),
                _ => {}
            }
        }
        let (mut variables, mut spaces) = (FxHashMap::default(), FxHashMap::default());
        for (_, info) in trace.symbols.iter() {
            if let SymbolKind::Address(name) = &info.kind {
                // (A scope's number and a dot, the name, a colon, the width.)
                let bare = name.rsplit_once(':').map_or(name.as_str(), |(name, _)| name);
                let bare = bare.split_once('.').map_or(bare, |(_, name)| name);
                if let Some(&(bits, space)) = names.get(bare) {
                    variables.insert(name.clone(), bits);
                    spaces.insert(name.clone(), space);
                }
            }
        }
        let pointers = match function.kind {
            FunctionKind::Entry => pointers(trace),
            FunctionKind::Func => FxHashSet::default(),
        };
        let pointer_zeros = assumed.pointer_bytes.max(1).trailing_zeros();
        Aligned { variables, spaces, pointers, pointer_zeros }
    }
}

/// The parameters that are pointers: one that alone among parameters is a summand of some address.
fn pointers(trace: &KernelTrace) -> FxHashSet<SymbolId> {
    let mut found = FxHashSet::default();
    for access in trace.accesses.iter().chain(&trace.moved) {
        let Some(address) = access.address else { continue };
        if !matches!(access.space, StateSpace::Global | StateSpace::Generic) {
            continue;
        }
        let (_, addends) = trace.arena.linear_parts(address);
        let parameter = |&(term, times): &(TermId, u64)| match *trace.arena.node(term) {
            Node::Symbol(symbol) if times == 1 && trace.arena.width(term) == 64 => {
                let kind = &trace.symbols.info(symbol).kind;
                matches!(kind, SymbolKind::Parameter { .. }).then_some(symbol)
            }
            _ => None,
        };
        let all: SmallVec<[SymbolId; 2]> = addends.iter().filter_map(parameter).collect();
        if let [pointer] = all[..] {
            found.insert(pointer);
        }
    }
    found
}

/// Alignments of the terms of one function.
pub(crate) struct Alignments<'a> {
    trace: &'a KernelTrace,
    shape: BlockShape,
    aligned: &'a Aligned,
    known: FxHashMap<TermId, u32>,
    /// Terms that stand for the value of lane 0.
    bases: FxHashMap<TermId, u32>,
}

impl<'a> Alignments<'a> {
    /// Nothing was asked yet.
    pub(crate) fn new(
        trace: &'a KernelTrace,
        shape: BlockShape,
        aligned: &'a Aligned,
    ) -> Alignments<'a> {
        let (known, bases) = (FxHashMap::default(), FxHashMap::default());
        Alignments { trace, shape, aligned, known, bases }
    }

    /// Sets how many low bits are zero in the value that a term stands for, where this is not the term's own value.
    pub(crate) fn set_base(&mut self, term: TermId, zeros: u32) {
        self.bases.insert(term, zeros);
    }

    /// How many low bits are zero in all values of a factor.
    pub(crate) fn of_factor(&mut self, factor: &Factor) -> u32 {
        factor.iter().map(|&term| self.of(term, 0)).sum::<u32>().min(63)
    }

    /// How many low bits are zero in all lanes; numbers without a factor left out if `factors_only`.
    pub(crate) fn of_sum(&mut self, sum: &LaneSum, factors_only: bool) -> u32 {
        let each = sum.parts().iter().filter(|(factor, _)| !(factors_only && factor.is_empty()));
        each.map(|(factor, lanes)| (self.of_factor(factor) + lanes.zeros()).min(63))
            .min()
            .unwrap_or(63)
    }

    fn of(&mut self, term: TermId, depth: u32) -> u32 {
        if let Some(&base) = self.bases.get(&term) {
            return base;
        }
        if let Some(&known) = self.known.get(&term) {
            return known;
        }
        let by_range = (!self.trace.arena.range(term).zeros).trailing_zeros();
        let by_form = if depth < MAX_DEPTH { self.of_node(term, depth + 1) } else { 0 };
        let found = by_range.max(by_form).min(63);
        self.known.insert(term, found);
        found
    }

    fn of_node(&mut self, term: TermId, depth: u32) -> u32 {
        let arena = &self.trace.arena;
        match arena.node(term) {
            Node::Constant(value) => value.trailing_zeros(),
            Node::Symbol(symbol) => self.of_symbol(*symbol),
            Node::Sum { constant, addends } => {
                let each = |(addend, factor): &(TermId, u64)| {
                    self.of(*addend, depth) + factor.trailing_zeros()
                };
                addends.iter().map(each).min().unwrap_or(64).min(constant.trailing_zeros())
            }
            Node::Product(powers) => powers
                .iter()
                .map(|(factor, power)| self.of(*factor, depth) * (*power).min(63) as u32)
                .sum(),
            Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) => {
                self.of(*inner, depth)
            }
            Node::IfThenElse(_, a, b) => self.of(*a, depth).min(self.of(*b, depth)),
            Node::Binary(BinaryOp::And, a, b) => self.of(*a, depth).max(self.of(*b, depth)),
            Node::Binary(BinaryOp::Or | BinaryOp::Xor | BinaryOp::Add, a, b) => {
                self.of(*a, depth).min(self.of(*b, depth))
            }
            Node::Binary(BinaryOp::Multiply, a, b) => self.of(*a, depth) + self.of(*b, depth),
            Node::Binary(BinaryOp::ShiftLeft, a, _) => self.of(*a, depth),
            _ => 0,
        }
    }

    fn of_symbol(&self, symbol: SymbolId) -> u32 {
        match &self.trace.symbols.info(symbol).kind {
            SymbolKind::Address(name) => self.aligned.variables.get(name).copied().unwrap_or(0),
            SymbolKind::Parameter { .. } if self.aligned.pointers.contains(&symbol) => {
                self.aligned.pointer_zeros
            }
            // Of the first lane: where lanes are consecutive, a warp begins at a multiple of 32.
            SymbolKind::Tid(Axis::X) if self.shape.is_linear() => 5,
            SymbolKind::WarpUniform(Special::Ntid(axis)) => match self.shape {
                BlockShape::Rows if *axis == Axis::X => 5,
                BlockShape::Rows => 0,
                BlockShape::Known(sizes) => sizes[axis.index()].trailing_zeros(),
            },
            _ => 0,
        }
    }
}
