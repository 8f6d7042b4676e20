//! How an address changes from one lane to the next, for people: the accesses of a warp are cheap or not by that.
//!
//! In: a [`LaneSum`], or the address of an access. Out: the [`Stride`]: of a lane sum whose lanes lie at equal distances; of an
//! address its derivative in the lane, where the address is affine in the lane, or why it is not. For the derivative widening
//! and narrowing count as the identity, so it holds as long as no index wraps around: nothing may be proved by it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::shift::{Motion, Shifter};
use super::sum::{Coefficients, Factor, LaneSum};
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence};
use crate::expr::{Node, SymbolId, TermId, to_signed};

/// The most summands of a stride.
const MAX_SUMMANDS: usize = 8;

/// The most terms that are looked at for a kernel.
const MAX_TERMS: usize = 200_000;

/// The most terms that are looked at to tell whether a symbol was made from loaded data.
const MAX_SOURCES: usize = 2_000;

/// Bytes from each lane's address to the next lane's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stride {
    /// A number.
    Constant(i64),
    /// A sum of uniform factors, each times a number.
    Symbolic(Vec<(i64, Factor)>),
}

impl Stride {
    /// The stride of the first lanes' addresses, if they lie at equal distances.
    pub(crate) fn of(sum: &LaneSum, count: usize) -> Option<Stride> {
        let (varying, _) = sum.split();
        let mut parts = Vec::new();
        for (factor, coefficients) in varying.parts() {
            let all = coefficients.lanes();
            let lanes = &all[..count];
            let step = if count > 1 { lanes[1].wrapping_sub(lanes[0]) } else { 0 };
            if lanes.windows(2).any(|two| two[1].wrapping_sub(two[0]) != step) {
                return None;
            }
            if step != 0 {
                parts.push((step, factor.clone()));
            }
        }
        Some(Stride::from_parts(parts))
    }

    fn from_parts(parts: Vec<(i64, Factor)>) -> Stride {
        match &parts[..] {
            [] => Stride::Constant(0),
            [(step, factor)] if factor.is_empty() => Stride::Constant(*step),
            _ => Stride::Symbolic(parts),
        }
    }
}

/// A sum of products in infix; `name` names the terms.
pub fn sum_text<'p>(
    parts: impl IntoIterator<Item = &'p (i64, Factor)>,
    name: impl Fn(TermId) -> String,
) -> String {
    let mut text = String::new();
    for (times, factor) in parts {
        text += match (text.is_empty(), *times < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let mut words = Vec::new();
        if times.unsigned_abs() != 1 || factor.is_empty() {
            words.push(times.unsigned_abs().to_string());
        }
        words.extend(factor.iter().map(|&factor| factor_name(name(factor))));
        text += &words.join("*");
    }
    text
}

/// The name of a term as a factor: in brackets if it has several words.
pub fn factor_name(name: String) -> String {
    if name.contains(' ') { format!("({name})") } else { name }
}

/// Why an address has no stride.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotAffine {
    /// The address depends on loaded values.
    Loaded,
    /// The address is not affine in the lane's number, or the work is too large.
    Unknown,
}

/// The most nested terms that are looked at.
const MAX_DEPTH: u32 = 256;

/// The sum that each next lane adds, the same in all of them.
type Derivative = Result<LaneSum, NotAffine>;

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
    pub fn of(&mut self, index: usize) -> Option<Result<Stride, NotAffine>> {
        let access = &self.trace.accesses[index];
        let address = access.address?;
        self.place = self.loops.innermost(access.block);
        let part = |(factor, times): &(Factor, Coefficients)| (times.lanes()[0], factor.clone());
        let derivative = self.derivative(address, 0);
        Some(derivative.map(|sum| Stride::from_parts(sum.parts().iter().map(part).collect())))
    }

    fn derivative(&mut self, term: TermId, depth: u32) -> Derivative {
        let key = (self.place, term);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        if depth > MAX_DEPTH || self.known.len() > MAX_TERMS {
            return Err(NotAffine::Unknown);
        }
        let found = self.of_node(term, depth + 1);
        self.known.insert(key, found.clone());
        found
    }

    fn of_node(&mut self, term: TermId, depth: u32) -> Derivative {
        let arena = &self.trace.arena;
        let width = arena.width(term);
        match arena.node(term) {
            Node::Constant(_) => Ok(LaneSum::default()),
            Node::Symbol(symbol) => self.of_symbol(*symbol),
            Node::Sum { addends, .. } => {
                let mut sum = LaneSum::default();
                for &(addend, coefficient) in addends {
                    let summands = self.derivative(addend, depth)?;
                    let fits = sum.add(&summands, to_signed(coefficient, width));
                    if !fits || sum.parts().len() > MAX_SUMMANDS {
                        return Err(NotAffine::Unknown);
                    }
                }
                Ok(sum)
            }
            Node::Product(powers) => {
                let mut changing = None;
                for &(factor, exponent) in powers {
                    let summands = self.derivative(factor, depth)?;
                    if summands == LaneSum::default() {
                        continue;
                    }
                    if exponent != 1 || changing.is_some() {
                        return Err(NotAffine::Unknown);
                    }
                    changing = Some((factor, summands));
                }
                let Some((factor, summands)) = changing else { return Ok(LaneSum::default()) };
                let mut others = Factor::new();
                for &(other, exponent) in powers.iter().filter(|(other, _)| *other != factor) {
                    let copies = usize::try_from(exponent).unwrap_or(usize::MAX);
                    if others.len().saturating_add(copies) > MAX_SUMMANDS {
                        return Err(NotAffine::Unknown);
                    }
                    others.extend(std::iter::repeat_n(self.trace.plain(other), copies));
                }
                let others = LaneSum::scaled(others, Coefficients::Same(1));
                summands.times(&others).ok_or(NotAffine::Unknown)
            }
            Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) => {
                self.derivative(*inner, depth)
            }
            Node::Apply(function, _) if self.trace.symbols.is_load(*function) => {
                self.uniform(term, depth).map_err(|_| NotAffine::Loaded)
            }
            _ => self.uniform(term, depth),
        }
    }

    /// A term that is not affine in its operands: its derivative is known if they have none.
    fn uniform(&mut self, term: TermId, depth: u32) -> Derivative {
        let mut why = None;
        for operand in self.trace.arena.operands(term) {
            match self.derivative(operand, depth) {
                Ok(summands) if summands == LaneSum::default() => {}
                Ok(_) => _ = why.get_or_insert(NotAffine::Unknown),
                Err(NotAffine::Loaded) => why = Some(NotAffine::Loaded),
                Err(other) => _ = why.get_or_insert(other),
            }
        }
        why.map_or_else(|| Ok(LaneSum::default()), Err)
    }

    fn of_symbol(&self, symbol: SymbolId) -> Derivative {
        match self.shifter.motion(self.trace, self.loops, symbol, self.place) {
            Motion::Same => Ok(LaneSum::default()),
            Motion::Consecutive => Ok(LaneSum::constant(1)),
            Motion::Other if self.is_loaded(symbol) => Err(NotAffine::Loaded),
            Motion::Other => Err(NotAffine::Unknown),
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
