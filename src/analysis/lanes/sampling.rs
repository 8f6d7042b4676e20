//! Guesses distances by evaluating addresses, for addresses whose forms show none.
//!
//! A fingerprint of an address is its value in 32 neighbouring lanes under a few fixed assignments
//! of the other symbols. Distances at which two fingerprints agree are worth a proof.

use rustc_hash::{FxHashMap, FxHashSet};

use super::shift::{Motion, Shifter};
use crate::cfg::{LoopForest, LoopId};
use crate::emulate::{KernelTrace, LaneDependence, SymbolInfo, SymbolKind};
use crate::expr::{Arena, Column, Node, Substitution, SymbolId, Table, TermId, value_at};
use crate::isa::{Axis, Special};

/// How many joins may lie behind one another on the way to an address.
const MAX_JOINS: usize = 4;
/// Assignments tried.
const ROUNDS: usize = 3;
/// The lower lane's `tid.x` and `laneid` in a fingerprint.
const START: u64 = 64;
/// The largest lane distance within a warp.
const REACH: i32 = 31;
/// The lanes of a fingerprint.
const LANES: std::ops::RangeInclusive<u64> = 0..=REACH as u64;

/// Terms with their most likely values: at joins that of the first path, and in loops that of the first iteration.
/// Caches rewritten terms.
#[derive(Default)]
struct Likely {
    /// One substitution for each join that lies behind another.
    passes: [Substitution; MAX_JOINS],
}

impl Likely {
    /// A term as it is most likely.
    fn of(&mut self, trace: &mut KernelTrace, term: TermId) -> TermId {
        let mut likely = term;
        for pass in &mut self.passes {
            let KernelTrace { arena, symbols, .. } = &mut *trace;
            let mut by_first = |_: &mut Arena, symbol, term| {
                let info: &SymbolInfo = symbols.info(symbol);
                match (&info.kind, &info.dependence) {
                    (
                        SymbolKind::JoinValue(..) | SymbolKind::LoopValue(..),
                        LaneDependence::DependsOn(ways),
                    ) => ways[0],
                    _ => term,
                }
            };
            let before = likely;
            likely = pass.apply(arena, before, &mut by_first);
            if likely == before {
                break;
            }
        }
        likely
    }
}

/// Fingerprints of addresses as they are most likely ([`Likely`]), each made once.
#[derive(Default)]
pub(crate) struct Fingerprints {
    likely: Likely,
    numbers: FxHashMap<(TermId, Option<LoopId>), usize>,
    made: Vec<Fingerprint>,
}

impl Fingerprints {
    /// The number of an address's fingerprint; `place` is the innermost loop around the load.
    pub(crate) fn number(
        &mut self,
        trace: &mut KernelTrace,
        address: TermId,
        place: Option<LoopId>,
    ) -> usize {
        let likely = self.likely.of(trace, address);
        *self.numbers.entry((likely, place)).or_insert_with(|| {
            self.made.push(Fingerprint::new(likely, place));
            self.made.len() - 1
        })
    }

    /// Compares two fingerprints, by their numbers.
    pub(crate) fn compare<R>(
        &mut self,
        [a, b]: [usize; 2],
        compare: impl FnOnce(&mut Fingerprint, &mut Fingerprint) -> R,
    ) -> R {
        if let Ok([a, b]) = self.made.get_disjoint_mut([a, b]) {
            return compare(a, b);
        }
        let mut same = self.made[a].clone();
        compare(&mut self.made[a], &mut same)
    }
}

/// The values of an address in lanes 0 to 31 further up; a round is computed when it is first asked
/// for.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint {
    address: TermId,
    place: Option<LoopId>,
    /// The symbols of 64 bits below the address, in order: pointers for the most part.
    pointers: Option<Vec<SymbolId>>,
    rounds: Vec<Vec<u64>>,
}

impl Fingerprint {
    /// The fingerprint of an address; `place` is the innermost loop around its load.
    pub(crate) fn new(address: TermId, place: Option<LoopId>) -> Fingerprint {
        Fingerprint { address, place, pointers: None, rounds: Vec::new() }
    }

    /// The symbols of 64 bits below the address: at other assignments of one of them the address is another one, but for
    /// chance.
    fn pointers(&mut self, trace: &KernelTrace) -> &[SymbolId] {
        self.pointers.get_or_insert_with(|| {
            let arena = &trace.arena;
            let mut seen: FxHashSet<TermId> = FxHashSet::default();
            let (mut found, mut open) = (Vec::new(), vec![self.address]);
            while let Some(term) = open.pop() {
                if !seen.insert(term) {
                    continue;
                }
                match arena.node(term) {
                    Node::Symbol(symbol) if arena.width(term) == 64 => found.push(*symbol),
                    _ => open.extend(arena.operands(term)),
                }
            }
            arena.charge(seen.len() as u64);
            found.sort_unstable();
            found
        })
    }

    fn round(
        &mut self,
        trace: &KernelTrace,
        loops: &LoopForest,
        shifter: &Shifter,
        round: usize,
    ) -> &[u64] {
        while self.rounds.len() <= round {
            let values = self.values(trace, loops, shifter, self.rounds.len() as u64);
            self.rounds.push(values);
        }
        &self.rounds[round]
    }

    fn values(
        &self,
        trace: &KernelTrace,
        loops: &LoopForest,
        shifter: &Shifter,
        round: u64,
    ) -> Vec<u64> {
        let arena = &trace.arena;
        let mut column = |_, id| -> Column {
            let info = trace.symbols.info(id);
            match shifter.motion(trace, loops, id, self.place) {
                Motion::Same => [sample(round, id, 0, info)].into(),
                Motion::Consecutive => {
                    LANES.map(|lane| (START + lane) & crate::expr::mask(info.width)).collect()
                }
                Motion::Other => LANES.map(|lane| sample(round, id, lane, info)).collect(),
            }
        };
        let mut pay = |work: usize| {
            arena.charge(2 + work as u64 / 2);
            Some(())
        };
        let mut table = Table::default();
        let values = table.fill(arena, self.address, &mut column, &mut pay);
        LANES.map(|lane| values.map_or(0, |values| value_at(values, lane as usize))).collect()
    }
}

/// A number that looks drawn.
pub fn mixed(round: u64, symbol: SymbolId, lane: u64) -> u64 {
    let mixed = (u64::from(symbol.0) + 1 + (lane << 32))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(round.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// Values as real launches have them, so that bounds checks on the path mostly hold: small blocks and
/// grids, sizes far above them, pointers far apart. `lane` is 0 for a value that all lanes share.
fn sample(round: u64, symbol: SymbolId, lane: u64, info: &SymbolInfo) -> u64 {
    let mixed = mixed(round, symbol, lane);
    let value = match &info.kind {
        // Another lane's value has nothing in common with this lane's.
        _ if lane > 0 && info.width < 64 => mixed & 0xfff,
        _ if lane > 0 => mixed & 0xff_ffff_ffff,
        SymbolKind::WarpUniform(Special::Ntid(Axis::X)) => 128 << round,
        SymbolKind::WarpUniform(_) | SymbolKind::Tid(_) | SymbolKind::Iteration(_) => mixed & 7,
        _ if info.width == 64 => mixed & 0xff_ffff_ff00,
        SymbolKind::Parameter { .. } => (1 << 20) + (mixed & 0xffff),
        _ => mixed & 0xfff,
    };
    value & crate::expr::mask(info.width)
}

/// Whether `A(L + n) + displacement = B(L)` for nearly all lanes `L` that have a lane `L + n`, in every
/// round: a comparison at run time that most lanes do not pass gains nothing.
pub(crate) fn agree_mostly(
    trace: &KernelTrace,
    loops: &LoopForest,
    shifter: &Shifter,
    (a, b): (&mut Fingerprint, &mut Fingerprint),
    (n, displacement): (i32, i64),
) -> bool {
    (0..ROUNDS).all(|round| {
        let a = a.round(trace, loops, shifter, round);
        let b = b.round(trace, loops, shifter, round);
        let (up, down) = (n.max(0) as usize, (-n).max(0) as usize);
        let pairs = a[up..].iter().zip(&b[down..]);
        let all = pairs.len();
        let same = pairs.filter(|(a, b)| a.wrapping_add(displacement as u64) == **b).count();
        same * 8 >= all * 7
    })
}

/// Whether a value that each term of `ways` computes on another path is larger by 1 in each next lane, in most lanes; false if
/// it is the same. `None` if it is neither of the two in most lanes of some round, or if the terms disagree.
pub(crate) fn grows_by_one(
    trace: &KernelTrace,
    loops: &LoopForest,
    shifter: &Shifter,
    ways: &[TermId],
    place: Option<LoopId>,
) -> Option<bool> {
    let (&first, others) = ways.split_first()?;
    let mut values = Fingerprint::new(first, place);
    for &other in others {
        let mut other = Fingerprint::new(other, place);
        let mut agree = |round| {
            values.round(trace, loops, shifter, round) == other.round(trace, loops, shifter, round)
        };
        if !(0..ROUNDS).all(&mut agree) {
            return None;
        }
    }
    let mask = crate::expr::mask(trace.arena.width(first));
    let mut mostly = |by: u64| {
        (0..ROUNDS).all(|round| {
            let values = values.round(trace, loops, shifter, round);
            let so = values.windows(2).filter(|two| two[1].wrapping_sub(two[0]) & mask == by);
            so.count() * 8 >= (values.len() - 1) * 7
        })
    };
    [0, 1].into_iter().find(|&by| mostly(by)).map(|by| by == 1)
}

/// The distances `n` at which `A(L + n) + displacement = B(L)` in every round, smallest |n| first.
pub(crate) fn distances(
    trace: &KernelTrace,
    loops: &LoopForest,
    shifter: &Shifter,
    (a, b): (&mut Fingerprint, &mut Fingerprint),
    displacement: i64,
) -> Vec<i32> {
    // Addresses in different arrays need not be evaluated.
    let (of_a, of_b) = (a.pointers(trace), b.pointers(trace));
    if !of_a.is_empty() && !of_b.is_empty() && of_a.iter().all(|one| !of_b.contains(one)) {
        return Vec::new();
    }
    let mut found: Vec<i32> = (-REACH..=REACH).collect();
    for round in 0..ROUNDS {
        let a = a.round(trace, loops, shifter, round);
        let b = b.round(trace, loops, shifter, round);
        found.retain(|&n| {
            let (up, down) = (n.max(0) as usize, (-n).max(0) as usize);
            a[up].wrapping_add(displacement as u64) == b[down]
        });
        if found.is_empty() {
            break;
        }
    }
    found.sort_by_key(|n| (n.abs(), *n));
    found
}
