//! The words that the threads of a block access, by their addresses, thread by thread.
//!
//! In: addresses as terms, in blocks of known shape whose rows are whole warps. Out: for a load and the stores in front of
//! it the lane of the same warp that has stored the word, for each lane. An address is a sum of parts that all threads of
//! a row have alike, such as the start of a variable, and a number that the thread decides.

use rustc_hash::FxHashMap;

use super::by_lane;
use crate::bytes::ByteRange;
use crate::expr::{Node, Substitution, TermId, to_signed};
use crate::isa::Axis;
use crate::isa::limits::WARP_SIZE;
use crate::terms::{Kind, Terms};

/// A store that all lanes of a warp perform.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub address: TermId,
    pub value: TermId,
    /// The bytes of the value.
    pub bytes: u32,
}

/// An address in the threads of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    /// The parts that all threads have alike, each with its factor.
    parts: Vec<(TermId, u64)>,
    /// By thread, the bytes beside them.
    bytes: Vec<i64>,
}

/// The addresses of a block's threads.
pub(super) struct Words {
    /// The threads of a row.
    row: u64,
    known: FxHashMap<TermId, Option<Row>>,
}

impl Words {
    /// In blocks of a shape; `None` if rows are not whole warps.
    pub(super) fn of(block: [u64; 3]) -> Option<Words> {
        let [row, ..] = block;
        has_whole_rows(block).then(|| Words { row, known: FxHashMap::default() })
    }

    /// For each lane the value that it loads, of `bytes` bytes, and the lane that has stored it: the last store to any
    /// byte of the load counts. All warps of a row have the same lanes.
    pub(super) fn sources(
        &mut self,
        terms: &mut Terms,
        (address, bytes): (TermId, u32),
        stores: &[Store],
    ) -> Vec<Option<(TermId, u32)>> {
        let Some(loaded) = self.row_of(terms, address) else { return Vec::new() };
        let mut stored = Vec::new();
        for store in stores {
            match self.row_of(terms, store.address).filter(|row| row.parts == loaded.parts) {
                Some(row) => stored.push((*store, row.bytes)),
                // (Stores in front of it may have been overwritten.)
                None => break,
            }
        }
        let lanes = WARP_SIZE as usize;
        let of_thread = |thread: usize| {
            stored.iter().find_map(|(store, at)| {
                let warp = thread / lanes * lanes;
                source((loaded.bytes[thread], bytes), store, &at[warp..warp + lanes])
            })
        };
        let of_lane = |lane: u32| {
            let warps = (lane as usize..self.row as usize).step_by(lanes);
            let mut found = warps.map(|thread| of_thread(thread).and_then(Result::ok));
            let first = found.next().flatten();
            first.filter(|_| found.all(|other| other == first))
        };
        by_lane::all().map(of_lane).collect()
    }

    fn row_of(&mut self, terms: &mut Terms, address: TermId) -> Option<Row> {
        if !self.known.contains_key(&address) {
            let found = row(terms, self.row, address);
            self.known.insert(address, found);
        }
        self.known[&address].clone()
    }
}

/// Whether the rows of a block are whole warps.
pub(super) fn has_whole_rows([row, ..]: [u64; 3]) -> bool {
    row.is_multiple_of(u64::from(WARP_SIZE))
}

/// The value and the lane of a warp that a load reads some bytes of, if there is one: an error if that is not one whole
/// word of one lane.
fn source(
    (at, bytes): (i64, u32),
    store: &Store,
    stored: &[i64],
) -> Option<Result<(TermId, u32), ()>> {
    let read = ByteRange::new(at, bytes);
    let meets = |other: &i64| ByteRange::new(*other, store.bytes).meets(read);
    let mut sources = (0..).zip(stored).filter(|(_, other)| meets(other));
    let (lane, other) = sources.next()?;
    let is_one = sources.next().is_none() && *other == at && store.bytes == bytes;
    Some(is_one.then_some((store.value, lane)).ok_or(()))
}

/// An address in the threads of a row of `count` threads.
fn row(terms: &mut Terms, count: u64, address: TermId) -> Option<Row> {
    if !is_alike(terms, address) {
        return None;
    }
    let symbol = |terms: &Terms, kind: &Kind| terms.symbols.find(kind);
    let (thread, lane) = (symbol(terms, &Kind::Tid(Axis::X)), symbol(terms, &Kind::LaneId));
    let mut found: Option<Row> = None;
    for number in 0..count {
        let arena = &mut terms.arena;
        let there = Substitution::new().transform(arena, address, &mut |arena, next| {
            let Node::Symbol(symbol) = *arena.node(next) else { return None };
            let value = match Some(symbol) {
                own if own == thread => number,
                own if own == lane => number % u64::from(WARP_SIZE),
                _ => return None,
            };
            Some(arena.constant(value, arena.width(next)))
        });
        let width = terms.arena.width(there);
        let (constant, addends) = terms.arena.linear_parts(there);
        let mut parts: Vec<(TermId, u64)> = Vec::new();
        for (term, factor) in addends {
            parts.push((start(terms, term), factor));
        }
        parts.sort_unstable();
        let bytes = to_signed(constant, width);
        match &mut found {
            None => found = Some(Row { parts, bytes: vec![bytes] }),
            Some(row) if row.parts == parts => row.bytes.push(bytes),
            Some(_) => return None,
        }
    }
    found
}

/// The start of a variable, whose address has zeros above its 32 low bits, in any width; other terms as they are.
fn start(terms: &mut Terms, term: TermId) -> TermId {
    let mut inner = term;
    while let Node::ZeroExtend(part) | Node::Extract(part, 0) = *terms.arena.node(inner) {
        inner = part;
    }
    let is_start = terms
        .as_symbol(inner)
        .is_some_and(|symbol| matches!(terms.symbols.info(symbol).kind, Kind::Address(_)));
    if is_start && terms.arena.width(term) >= 32 { inner } else { term }
}

/// Whether an address depends on nothing that differs between the threads of a row but on their numbers.
fn is_alike(terms: &Terms, address: TermId) -> bool {
    let mut work = vec![address];
    while let Some(next) = work.pop() {
        terms.arena.charge(1);
        match *terms.arena.node(next) {
            Node::Apply(..) => return false,
            Node::Symbol(symbol) => match terms.symbols.info(symbol).kind {
                Kind::Tid(_) | Kind::LaneId | Kind::Uniform(_) | Kind::Address(_) => {}
                Kind::Parameter { .. } => {}
                _ => return false,
            },
            _ => work.extend(terms.arena.operands(next)),
        }
    }
    true
}
