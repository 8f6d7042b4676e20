//! How an address changes from one lane to the next, for people: the accesses of a warp are cheap or not by that.
//!
//! In: the address of an access. Out: its derivative in the lane's number, a sum of products of uniform terms, where the
//! address is affine in the lane; or why it is not. Widening and narrowing count as the identity, so the stride holds as
//! long as no index wraps around: nothing may be proved by it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::shift::{Motion, Shifter};
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence};
use crate::expr::{Node, SymbolId, TermId, to_signed};

/// The most summands of a stride.
const MAX_SUMMANDS: usize = 8;

/// The most terms that are looked at for a kernel.
const MAX_TERMS: usize = 200_000;

/// The most terms that are looked at to tell whether a symbol was made from loaded data.
const MAX_SOURCES: usize = 2_000;

/// The bytes from one lane's address to the next one's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stride {
    /// A sum of products: each an integer and uniform terms.
    Affine(Vec<(i64, Vec<TermId>)>),
    /// The address depends on loaded values.
    Loaded,
    /// The address is not affine in the lane's number, or the work is too large.
    Unknown,
}

/// The most nested terms that are looked at.
const MAX_DEPTH: u32 = 256;

type Derivative = Result<Vec<(i64, Vec<TermId>)>, Stride>;

/// The strides of a kernel's accesses.
pub struct Strides<'a> {
    trace: &'a KernelTrace,
    loops: &'a LoopForest,
    /// The innermost loop around the access.
    place: Option<LoopId>,
    shifter: Shifter,
    known: FxHashMap<(Option<LoopId>, TermId), Derivative>,
}

impl<'a> Strides<'a> {
    /// Nothing is known yet.
    pub fn new(loops: &'a LoopForest, trace: &'a KernelTrace) -> Strides<'a> {
        let shifter = Shifter::new();
        Strides { trace, loops, place: None, shifter, known: FxHashMap::default() }
    }

    /// The stride of an access, by its index in the trace; none if it has no address.
    pub fn of(&mut self, index: usize) -> Option<Stride> {
        let access = &self.trace.accesses[index];
        let address = access.address?;
        self.place = self.loops.innermost(access.block);
        Some(match self.derivative(address, 0) {
            Ok(summands) => Stride::Affine(summands),
            Err(other) => other,
        })
    }

    fn derivative(&mut self, term: TermId, depth: u32) -> Derivative {
        let key = (self.place, term);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if depth > MAX_DEPTH || self.known.len() > MAX_TERMS {
            return Err(Stride::Unknown);
        }
        let found = self.of_node(term, depth + 1);
        self.known.insert(key, found.clone());
        found
    }

    fn of_node(&mut self, term: TermId, depth: u32) -> Derivative {
        let arena = &self.trace.arena;
        let width = arena.width(term);
        match arena.node(term) {
            Node::Constant(_) => Ok(Vec::new()),
            Node::Symbol(symbol) => self.of_symbol(*symbol),
            Node::Sum { addends, .. } => {
                let mut sum = Vec::new();
                for &(addend, coefficient) in addends {
                    let summands = self.derivative(addend, depth)?;
                    add(&mut sum, summands, to_signed(coefficient, width), &[])?;
                }
                Ok(sum)
            }
            Node::Product(powers) => {
                let mut changing = None;
                for &(factor, exponent) in powers {
                    let summands = self.derivative(factor, depth)?;
                    if summands.is_empty() {
                        continue;
                    }
                    if exponent != 1 || changing.is_some() {
                        return Err(Stride::Unknown);
                    }
                    changing = Some((factor, summands));
                }
                let Some((factor, summands)) = changing else { return Ok(Vec::new()) };
                let mut others = Vec::new();
                for &(other, exponent) in powers.iter().filter(|(other, _)| *other != factor) {
                    let copies = usize::try_from(exponent).unwrap_or(usize::MAX);
                    if others.len().saturating_add(copies) > MAX_SUMMANDS {
                        return Err(Stride::Unknown);
                    }
                    others.extend(std::iter::repeat_n(plain(self.trace, other), copies));
                }
                let mut sum = Vec::new();
                add(&mut sum, summands, 1, &others)?;
                Ok(sum)
            }
            Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) => {
                self.derivative(*inner, depth)
            }
            Node::Unary(_, inner) | Node::Extract(inner, _) => self.uniform(&[*inner], depth),
            Node::Binary(_, a, b) | Node::Compare(_, a, b) | Node::Concatenate(a, b) => {
                self.uniform(&[*a, *b], depth)
            }
            Node::IfThenElse(c, a, b) => self.uniform(&[*c, *a, *b], depth),
            Node::Apply(function, arguments) => {
                let loads = self.trace.symbols.is_load(*function);
                let found = self.uniform(arguments, depth);
                if loads { found.map_err(|_| Stride::Loaded) } else { found }
            }
        }
    }

    /// A term of parts that are not affine: its derivative is known if it has none.
    fn uniform(&mut self, parts: &[TermId], depth: u32) -> Derivative {
        let mut why = None;
        for &part in parts {
            match self.derivative(part, depth) {
                Ok(summands) if summands.is_empty() => {}
                Ok(_) => _ = why.get_or_insert(Stride::Unknown),
                Err(Stride::Loaded) => why = Some(Stride::Loaded),
                Err(other) => _ = why.get_or_insert(other),
            }
        }
        why.map_or_else(|| Ok(Vec::new()), Err)
    }

    fn of_symbol(&self, symbol: SymbolId) -> Derivative {
        match self.shifter.motion(self.trace, self.loops, symbol, self.place) {
            Motion::Same => Ok(Vec::new()),
            Motion::Consecutive => Ok(vec![(1, Vec::new())]),
            Motion::Other if self.is_loaded(symbol) => Err(Stride::Loaded),
            Motion::Other => Err(Stride::Unknown),
        }
    }

    /// Whether a symbol was made from something that was loaded.
    fn is_loaded(&self, symbol: SymbolId) -> bool {
        let KernelTrace { arena, symbols, .. } = self.trace;
        let fed = |symbol: SymbolId| match &symbols.info(symbol).dependence {
            LaneDependence::DependsOn(terms) => terms.clone(),
            _ => Vec::new(),
        };
        let mut seen = FxHashSet::default();
        let mut next = fed(symbol);
        while let Some(term) = next.pop() {
            if !seen.insert(term) || seen.len() > MAX_SOURCES {
                continue;
            }
            match arena.node(term) {
                Node::Apply(function, _) if symbols.is_load(*function) => return true,
                Node::Symbol(symbol) => next.extend(fed(*symbol)),
                _ => next.extend(arena.operands(term)),
            }
        }
        false
    }
}

/// A term without widening and narrowing around it.
fn plain(trace: &KernelTrace, term: TermId) -> TermId {
    match trace.arena.node(term) {
        Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) => {
            plain(trace, *inner)
        }
        _ => term,
    }
}

/// Adds summands, each times an integer and more factors.
fn add(
    sum: &mut Vec<(i64, Vec<TermId>)>,
    summands: Vec<(i64, Vec<TermId>)>,
    times: i64,
    more: &[TermId],
) -> Result<(), Stride> {
    for (coefficient, mut factors) in summands {
        factors.extend_from_slice(more);
        factors.sort_unstable();
        let coefficient = coefficient.checked_mul(times).ok_or(Stride::Unknown)?;
        match sum.iter_mut().find(|(_, known)| *known == factors) {
            Some((known, _)) => *known = known.checked_add(coefficient).ok_or(Stride::Unknown)?,
            None => sum.push((coefficient, factors)),
        }
    }
    sum.retain(|(coefficient, _)| *coefficient != 0);
    if sum.len() > MAX_SUMMANDS { Err(Stride::Unknown) } else { Ok(()) }
}
