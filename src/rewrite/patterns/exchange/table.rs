//! The words that the threads of a block access, and the lanes that have stored them.
//!
//! In: addresses as terms, and the block's shape. Out: each address as a part that has one value for the warp, and the
//! bytes beside it in each thread; and for a load with a store the source lane of each lane.

use std::fmt;

use rustc_hash::FxHashMap;

use super::obstacle::Obstacle;
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{Evaluator, Node, TermId};
use crate::isa::Axis;
use crate::isa::limits::WARP_SIZE;

/// Addresses of more terms are not looked at.
const MAX_TERMS: usize = 256;

/// The lanes of a warp.
const LANES: usize = WARP_SIZE as usize;

/// The source lane as a function of the own lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The own lane.
    Own,
    /// One lane for all.
    Lane(u32),
    /// `lane ^ mask`
    Xor(u32),
    /// `factor * lane + offset`, modulo 32.
    Affine { factor: u32, offset: u32 },
}

impl Source {
    /// The source lane of a lane.
    pub(super) fn of(self, lane: u32) -> u32 {
        match self {
            Source::Own => lane,
            Source::Lane(source) => source,
            Source::Xor(mask) => lane ^ mask,
            Source::Affine { factor, offset } => (factor * lane + offset) % WARP_SIZE,
        }
    }

    /// The source lanes of all lanes.
    pub(super) fn lanes(self) -> [u8; LANES] {
        std::array::from_fn(|lane| self.of(lane as u32) as u8)
    }

    /// The simplest function with these values.
    fn fit(lanes: &[u32; LANES]) -> Option<Source> {
        let (first, second) = (lanes[0], lanes[1]);
        let factor = (second + WARP_SIZE - first) % WARP_SIZE;
        let forms = [
            Source::Own,
            Source::Lane(first),
            Source::Xor(first),
            Source::Affine { factor, offset: first },
        ];
        let fits = |form: &Source| (0..WARP_SIZE).zip(lanes).all(|(own, at)| form.of(own) == *at);
        forms.into_iter().find(fits)
    }

    /// The instructions that compute the lane.
    pub(super) fn instructions(self) -> u32 {
        match self {
            Source::Own | Source::Lane(_) | Source::Xor(_) => 0,
            Source::Affine { .. } => 2,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Own => write!(f, "lane"),
            Source::Lane(lane) => write!(f, "{lane}"),
            Source::Xor(31) => write!(f, "31 - lane"),
            Source::Xor(mask) => write!(f, "lane ^ {mask}"),
            Source::Affine { factor: 1, offset } => write!(f, "(lane + {offset}) % 32"),
            Source::Affine { factor, offset } => write!(f, "({factor} * lane + {offset}) % 32"),
        }
    }
}

/// An address in the threads of a block, beside the start of the variable in shared memory.
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// What all lanes of a warp have alike, if that is not nothing.
    rest: Option<TermId>,
    /// By thread, the bytes beside it, modulo the 32 bits that reach all shared memory.
    bytes: Vec<u64>,
}

impl Addresses {
    /// An address in blocks of a shape; `None` if it is not such a sum.
    pub(super) fn of(
        trace: &mut KernelTrace,
        (loops, place): (&LoopForest, Option<LoopId>),
        [x, y, z]: [u64; 3],
        address: TermId,
    ) -> Option<Addresses> {
        let mut address = address;
        while let Node::ZeroExtend(inner) | Node::SignExtend(inner) = *trace.arena.node(address) {
            address = inner;
        }
        if trace.arena.are_larger_than([address], MAX_TERMS) {
            return None;
        }
        let width = trace.arena.width(address);
        let (constant, addends) = trace.arena.linear_parts(address);
        let mut of_thread = trace.arena.constant(constant, width);
        let mut of_warp = trace.arena.constant(0, width);
        for (term, factor) in addends {
            if factor == 1 && is_start(trace, term) {
                continue;
            }
            match thread_only(trace, term) {
                Some(true) => {
                    let addend = trace.arena.scale(term, factor);
                    of_thread = trace.arena.add(of_thread, addend);
                }
                Some(false) => {
                    let addend = trace.arena.scale(term, factor);
                    of_warp = trace.arena.add(of_warp, addend);
                }
                None => return None,
            }
        }
        let rest = (trace.arena.constant_value(of_warp) != Some(0)).then_some(of_warp);
        if !trace.is_uniform_term(loops, of_warp, place) {
            return None;
        }
        let bytes = (0..x * y * z).map(|thread| {
            let value = |symbol, _| match trace.symbols.info(symbol).kind {
                SymbolKind::Tid(Axis::X) => thread % x,
                SymbolKind::Tid(Axis::Y) => thread / x % y,
                SymbolKind::Tid(Axis::Z) => thread / (x * y),
                SymbolKind::LaneId => thread % u64::from(WARP_SIZE),
                _ => 0,
            };
            Evaluator::new(&trace.arena, value).value(of_thread) & u64::from(u32::MAX)
        });
        let bytes = bytes.collect();
        Some(Addresses { rest, bytes })
    }

    /// Whether threads of the block have one word in common: words are `size` bytes.
    pub(super) fn meet(&self, size: u64) -> bool {
        let mut sorted = self.bytes.clone();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[1] - pair[0] < size)
    }

    /// For each thread the thread whose stored word it loads; words are `size` bytes. `None` if no thread loads a byte
    /// that is stored.
    ///
    /// # Errors
    /// The reason why that is not known, or not a thread of the warp.
    pub(super) fn sources(
        &self,
        stored: &Addresses,
        size: u64,
        line: u32,
    ) -> Result<Option<Source>, Obstacle> {
        if self.rest != stored.rest {
            return Err(Obstacle::Address(line));
        }
        let words: FxHashMap<u64, usize> =
            stored.bytes.iter().enumerate().map(|(thread, at)| (*at, thread)).collect();
        let near = |at: u64| {
            let mut others = (1..size).flat_map(|by| [at.wrapping_add(by), at.wrapping_sub(by)]);
            others.any(|other| words.contains_key(&(other & u64::from(u32::MAX))))
        };
        let mut found: Vec<Option<usize>> = Vec::new();
        for at in &self.bytes {
            if near(*at) {
                return Err(Obstacle::Unstored(line));
            }
            found.push(words.get(at).copied());
        }
        if found.iter().all(Option::is_none) {
            return Ok(None);
        }
        let found: Option<Vec<usize>> = found.into_iter().collect();
        let found = found.ok_or(Obstacle::Unstored(line))?;
        let mut lanes: Option<[u32; LANES]> = None;
        for (warp, sources) in found.chunks(LANES).enumerate() {
            if sources.iter().any(|source| source / LANES != warp) {
                return Err(Obstacle::OtherWarp(line));
            }
            let of_warp: [u32; LANES] =
                std::array::from_fn(|lane| sources.get(lane).map_or(0, |at| (at % LANES) as u32));
            if lanes.is_some_and(|lanes| lanes != of_warp) {
                return Err(Obstacle::Lanes(line));
            }
            lanes = Some(of_warp);
        }
        let lanes = lanes.ok_or(Obstacle::Unstored(line))?;
        Source::fit(&lanes).map(Some).ok_or(Obstacle::Lanes(line))
    }
}

/// Whether a term is the start of a variable, in any width.
pub(super) fn is_start(trace: &KernelTrace, term: TermId) -> bool {
    match trace.arena.node(trace.plain(term)) {
        Node::Symbol(symbol) => {
            matches!(trace.symbols.info(*symbol).kind, SymbolKind::Address(_))
        }
        _ => false,
    }
}

/// Whether a term depends on nothing but the thread's number; `None` if it depends on that and on more.
fn thread_only(trace: &KernelTrace, term: TermId) -> Option<bool> {
    let (mut of_thread, mut of_others) = (false, false);
    let mut open = vec![term];
    while let Some(next) = open.pop() {
        trace.arena.charge(1);
        match trace.arena.node(next) {
            Node::Symbol(symbol) => match trace.symbols.info(*symbol).kind {
                SymbolKind::Tid(_) | SymbolKind::LaneId => of_thread = true,
                _ => of_others = true,
            },
            Node::Apply(..) => of_others = true,
            _ => {}
        }
        open.extend(trace.arena.operands(next));
    }
    (!(of_thread && of_others)).then_some(of_thread)
}
