//! Registers about which lanes are asked: the quotient and the remainder of a flattened index, which no
//! proof relates between lanes, since a row may end between any two of them.
//!
//! In: an address that is not affine in the lane id. Out: the registers that keep it from being affine,
//! each with the claim to be checked at run time: that the register has the same value in both lanes, or
//! one that is larger by their distance. Under these claims the address is a line: in a copy of the term
//! with a symbol in the place of each such register ([`Alike::replaced`]).

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::cfg::{BlockId, Flow, InstId, LoopForest, LoopId, RegisterId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{Node, Range, Substitution, TermId};
use crate::lanes::{Shifter, grows_by_one};

/// Registers asked about for one address.
const MAX_REGISTERS: usize = 3;
/// Terms looked at in one address.
const MAX_TERMS: usize = 256;
/// Ways by which one value may have been computed.
const MAX_WAYS: usize = 8;

/// A claim about one register in two lanes, which is checked at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneClaim {
    /// The register.
    pub register: RegisterId,
    /// Its width in bits, 32 or 64.
    pub bits: u8,
    /// Whether only its lower 32 bits count.
    pub low: bool,
    /// Whether the source lane's value must be larger by the distance in lanes, not the same.
    pub stride_one: bool,
    /// The block in which the register has got the value that is meant.
    pub block: BlockId,
    /// The instruction that wrote it; without one it is the value from the block's start on.
    pub inst: Option<InstId>,
    /// Whether that is the register's only definition, so that it still has the value.
    pub settled: bool,
}

/// The registers that keep an address from being a line in the lane's number.
#[derive(Debug)]
pub(super) struct Alike {
    /// The claims, in the order of the registers.
    pub runtime_checked: Vec<LaneClaim>,
    terms: FxHashMap<TermId, TermId>,
    done: RefCell<Substitution>,
}

impl Alike {
    /// The registers that keep an address from being a line; `None` if the address is one, or if some
    /// part of it is in no register that lanes mostly agree about. `place` is the innermost loop around
    /// the load.
    pub(super) fn of(
        trace: &mut KernelTrace,
        flow: &Flow<'_, '_>,
        shifter: &mut Shifter,
        held: &mut Held,
        address: TermId,
        place: Option<LoopId>,
    ) -> Option<Alike> {
        let mut alike = Alike {
            runtime_checked: Vec::new(),
            terms: FxHashMap::default(),
            done: RefCell::default(),
        };
        let mut open: SmallVec<[TermId; 8]> = SmallVec::from_slice(&[address]);
        let mut looked = 0;
        while let Some(term) = open.pop() {
            looked += 1;
            if looked > MAX_TERMS {
                return None;
            }
            let next = shifter.shift(trace, &flow.loops, term, 1, place);
            if alike.terms.contains_key(&term)
                || trace.arena.constant_difference(next, term).is_some()
            {
                continue;
            }
            if let Some(runtime_checked) = held.of(trace, flow, term) {
                alike.ask(trace, &flow.loops, shifter, (term, runtime_checked), place)?;
                continue;
            }
            match trace.arena.node(term) {
                Node::Sum { addends, .. } => open.extend(addends.iter().map(|(term, _)| *term)),
                Node::Product(factors) => open.extend(factors.iter().map(|(term, _)| *term)),
                Node::SignExtend(inner) | Node::ZeroExtend(inner) => open.push(*inner),
                _ => return None,
            }
        }
        alike.runtime_checked.sort_unstable();
        (!alike.runtime_checked.is_empty()).then_some(alike)
    }

    /// Asks about a register that holds a term.
    fn ask(
        &mut self,
        trace: &mut KernelTrace,
        loops: &LoopForest,
        shifter: &Shifter,
        (term, runtime_checked): (TermId, LaneClaim),
        place: Option<LoopId>,
    ) -> Option<()> {
        if self.runtime_checked.len() == MAX_REGISTERS {
            return None;
        }
        let ways = ways(trace, term);
        let stride_one = grows_by_one(trace, loops, shifter, &ways, place)?;
        let width = trace.arena.width(term);
        let info = SymbolInfo {
            kind: SymbolKind::Alike(term, stride_one),
            width,
            dependence: match stride_one {
                true => LaneDependence::Consecutive,
                false => LaneDependence::Uniform,
            },
            created_in: None,
        };
        let range: Range = trace.arena.range(term);
        let symbol = trace.symbols.term(&mut trace.arena, info, range);
        self.terms.insert(term, symbol);
        self.runtime_checked.push(LaneClaim { stride_one, ..runtime_checked });
        Some(())
    }

    /// A term as it is where the claims hold.
    pub(super) fn replaced(&self, trace: &mut KernelTrace, term: TermId) -> TermId {
        let replace = &mut |_: &mut _, term| self.terms.get(&term).copied();
        self.done.borrow_mut().transform(&mut trace.arena, term, replace)
    }
}

/// The registers that hold terms.
#[derive(Default)]
pub(super) struct Held {
    registers: Option<FxHashMap<TermId, LaneClaim>>,
}

impl Held {
    /// The claim about a term to check across lanes, if a register holds it; of several registers the first.
    fn of(
        &mut self,
        trace: &mut KernelTrace,
        flow: &Flow<'_, '_>,
        term: TermId,
    ) -> Option<LaneClaim> {
        self.registers.get_or_insert_with(|| registers(trace, flow)).get(&term).copied()
    }
}

/// The registers that hold terms and can be copied where they get them: behind the instruction, or, for a value that
/// is merged at a join, in front of the join's first instruction, where braces may have declared the name anew.
fn registers(trace: &mut KernelTrace, flow: &Flow<'_, '_>) -> FxHashMap<TermId, LaneClaim> {
    let mut found: FxHashMap<TermId, LaneClaim> = FxHashMap::default();
    trace.arena.charge(2 * trace.held.len() as u64);
    for index in 0..trace.held.len() {
        let held = trace.held[index];
        if held.inst.is_none()
            && !flow.visible(held.register, flow.block(held.block).first)
            && !planted!(Bug::JoinNotAsked)
        {
            continue;
        }
        let bits = trace.arena.width(held.value);
        let runtime_checked = LaneClaim {
            register: held.register,
            bits,
            low: false,
            stride_one: false,
            block: held.block,
            inst: held.inst,
            settled: held.settled,
        };
        found.entry(held.value).or_insert(runtime_checked);
        if bits == 64 {
            let low = trace.arena.extract(held.value, 0, 32);
            found.entry(low).or_insert(LaneClaim { low: true, ..runtime_checked });
        }
    }
    found
}

/// The terms that a value may be: where several ways meet, one for each way, as far as that goes.
fn ways(trace: &mut KernelTrace, term: TermId) -> SmallVec<[TermId; 4]> {
    let mut found: SmallVec<[TermId; 4]> = SmallVec::from_slice(&[term]);
    let mut next = 0;
    while next < found.len() && found.len() <= MAX_WAYS {
        let KernelTrace { arena, symbols, .. } = &mut *trace;
        let merged = match *arena.node(found[next]) {
            Node::Symbol(symbol) => match symbols.info(symbol) {
                SymbolInfo {
                    kind: SymbolKind::JoinValue(..),
                    dependence: LaneDependence::DependsOn(feeds),
                    width,
                    ..
                } => Some(feeds.iter().copied().filter(|feed| arena.width(*feed) == *width)),
                _ => None,
            },
            _ => None,
        };
        match merged {
            Some(feeds) => {
                let feeds: SmallVec<[TermId; 4]> = feeds.collect();
                found.remove(next);
                found.extend(feeds);
            }
            None => next += 1,
        }
    }
    found
}
