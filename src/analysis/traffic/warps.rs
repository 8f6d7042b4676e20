//! The warps of a block: values of terms in them, and the lanes that execute a place together as far as conditions on
//! the lane say.

use rustc_hash::FxHashMap;

use crate::cfg::{BlockId, Flow, LoopId};
use crate::emulate::{Access, SymbolKind};
use crate::expr::{Comparison, Facts, Node, TermId};
use crate::isa::Axis;
use crate::lanes::{
    Aligned, BlockShape, Context, Evaluator, LANES, Value, Warp, first_lanes, lanes_of,
};

/// A predicate, and the value that it has.
pub(super) type Literal = (TermId, bool);

/// The warps of a function's blocks.
pub(super) struct Warps<'a, 'm, 's> {
    /// The function.
    pub flow: &'a Flow<'m, 's>,
    /// Its trace, and the uniform terms in it.
    pub context: Context<'a>,
    aligned: &'a Aligned,
    most_threads: u64,
    evaluators: FxHashMap<(Warp, Option<LoopId>), Evaluator<'a>>,
    /// How many lanes may be together in a block.
    together: FxHashMap<BlockId, u32>,
}

impl<'a, 'm, 's> Warps<'a, 'm, 's> {
    /// The warps of blocks of at most `most_threads` threads.
    pub(super) fn new(
        flow: &'a Flow<'m, 's>,
        context: Context<'a>,
        aligned: &'a Aligned,
        most_threads: u64,
    ) -> Warps<'a, 'm, 's> {
        let (evaluators, together) = (FxHashMap::default(), FxHashMap::default());
        Warps { flow, context, aligned, most_threads, evaluators, together }
    }

    /// The shape of blocks.
    pub(super) fn shape(&self) -> BlockShape {
        self.context.shape
    }

    /// All warps one by one.
    pub(super) fn each(&self) -> Vec<Warp> {
        self.shape().each_warp(self.most_threads)
    }

    /// The full ones of [`Warps::each`].
    pub(super) fn full(&self) -> Vec<Warp> {
        let shape = self.shape();
        let mut warps = self.each();
        warps.retain(|&warp| shape.lanes_of(warp) == shape.lanes());
        warps
    }

    /// Those of [`Warps::each`] that every block has. Where the shape is not known, the first alone, and none if the block
    /// has fewer threads or the function asks for the other dimensions: then a row may be shorter than a warp.
    pub(super) fn certain(&self) -> Vec<Warp> {
        let mut warps = self.each();
        if self.shape() == BlockShape::Rows {
            let symbols = &self.context.trace.symbols;
            let is_flat = symbols
                .iter()
                .all(|(_, info)| !matches!(info.kind, SymbolKind::Tid(Axis::Y | Axis::Z)));
            let is_whole = self.most_threads >= LANES as u64;
            warps.truncate(usize::from(is_flat && is_whole));
        }
        warps
    }

    /// The value of a term in a warp.
    pub(super) fn value(&mut self, warp: Warp, block: BlockId, term: TermId) -> Value {
        self.evaluator(warp, block).value(term)
    }

    /// What evaluates terms in a warp.
    pub(super) fn evaluator(&mut self, warp: Warp, block: BlockId) -> &mut Evaluator<'a> {
        let place = self.flow.loops.innermost(block);
        let (context, aligned) = (self.context, self.aligned);
        self.evaluators
            .entry((warp, place))
            .or_insert_with(|| Evaluator::new(context, warp, place, aligned))
    }

    /// The facts that hold in a block.
    pub(super) fn facts(&self, block: BlockId) -> Facts {
        self.context.trace.facts(self.flow, block)
    }

    /// How many lanes execute an access together: those for which the conditions on the way hold that are known in each
    /// lane, in the warp in which they are most.
    pub(super) fn together(&mut self, access: &Access, facts: &Facts) -> u32 {
        let known = self.together.get(&access.block).copied();
        let in_block = match known {
            Some(lanes) => lanes,
            None => {
                let literals: Vec<Literal> = facts.literals(&self.context.trace.arena).collect();
                let lanes = self.most(access.block, &literals);
                self.together.insert(access.block, lanes);
                lanes
            }
        };
        match access.guard {
            Some(guard) if in_block > 1 => in_block.min(self.most(access.block, &[(guard, true)])),
            _ => in_block,
        }
    }

    /// The literals that may differ between the lanes of a warp and do not depend on data.
    fn differing(&mut self, block: BlockId, literals: &[Literal]) -> Vec<Literal> {
        let warp = self.shape().warps()[0];
        let differs = |value: &Value| match value {
            Value::Known(value) => !value.is_uniform() || value.known().is_some(),
            Value::Data => false,
            Value::OneOf(_) | Value::Unknown => true,
        };
        let literals = literals.iter().copied();
        literals.filter(|&(term, _)| differs(&self.value(warp, block, term))).collect()
    }

    fn most(&mut self, block: BlockId, literals: &[Literal]) -> u32 {
        let all = self.shape().lanes();
        let open = self.differing(block, literals);
        if open.is_empty() {
            return all as u32;
        }
        let mut most = 0;
        for warp in self.each() {
            let lanes = self.holding(warp, block, &open) & first_lanes(all);
            most = most.max(lanes.count_ones());
            if most == all as u32 {
                break;
            }
        }
        most
    }

    /// The lanes of a warp for which literals hold, as far as they are known in each lane: a bit for each.
    pub(super) fn holding(&mut self, warp: Warp, block: BlockId, literals: &[Literal]) -> u32 {
        let mut together = first_lanes(self.shape().lanes_of(warp));
        for &(term, holds) in literals {
            let Value::Known(value) = self.value(warp, block, term) else { continue };
            let Some(lanes) = value.known() else { continue };
            let holding = (0..LANES).filter(|&lane| (lanes[lane] & 1 != 0) == holds);
            together &= holding.fold(0, |bits, lane| bits | 1 << lane);
        }
        together
    }

    /// The most lanes of a set for which a literal can hold together: of an equality of a uniform term and one that has other
    /// values in the lanes, as many as have the same value.
    pub(super) fn most_equal(
        &mut self,
        warp: Warp,
        block: BlockId,
        (term, holds): Literal,
        set: u32,
    ) -> u32 {
        let all = set.count_ones();
        let Node::Compare(Comparison::Equal, a, b) = *self.context.trace.arena.node(term) else {
            return all;
        };
        let (Value::Known(mut difference), Value::Known(other)) =
            (self.value(warp, block, a), self.value(warp, block, b))
        else {
            return all;
        };
        let (varying, base) = match difference.add(&other, -1) {
            true => difference.split(),
            false => return all,
        };
        let Some(numbers) = varying.known().filter(|_| holds && base.is_uniform()) else {
            return all;
        };
        let alike = |lane: usize| lanes_of(set).filter(|&at| numbers[at] == numbers[lane]).count();
        lanes_of(set).map(alike).max().unwrap_or(0) as u32
    }

    /// Whether literals are known in each lane of a warp, or have one value for the warp.
    pub(super) fn are_decided(&mut self, warp: Warp, block: BlockId, literals: &[Literal]) -> bool {
        literals.iter().all(|&(term, _)| match self.value(warp, block, term) {
            Value::Known(value) => value.is_uniform() || value.known().is_some(),
            _ => false,
        })
    }
}
