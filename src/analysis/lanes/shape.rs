//! Which threads of a block are the lanes of a warp (PTX ISA, "Thread Hierarchy"): 32 after the other, `x` first.

use crate::emulate::SymbolKind;
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Special};
use crate::ptx::Function;

/// Lanes of a warp.
pub const LANES: usize = WARP_SIZE as usize;

/// The first lanes of a warp, a bit for each.
pub(crate) fn first_lanes(count: usize) -> u32 {
    ((1u64 << count.min(LANES)) - 1) as u32
}

/// The lanes of a set with a bit for each, ascending.
pub(crate) fn lanes_of(set: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| set >> lane & 1 != 0)
}

/// The value of a symbol that the number of a thread in a block of some shape decides.
pub fn of_thread(kind: &SymbolKind, thread: u64, shape: [u64; 3]) -> Option<u64> {
    Some(match kind {
        SymbolKind::LaneId => thread % LANES as u64,
        SymbolKind::Tid(axis) => index(thread, shape, *axis),
        SymbolKind::WarpUniform(Special::Ntid(axis)) => shape[axis.index()],
        _ => return None,
    })
}

/// The index of a thread along an axis.
fn index(thread: u64, [x, y, _]: [u64; 3], axis: Axis) -> u64 {
    let (x, y) = (x.max(1), y.max(1));
    match axis {
        Axis::X => thread % x,
        Axis::Y => thread / x % y,
        Axis::Z => thread / x / y,
    }
}

/// The assumptions.
#[derive(Clone, Copy, Debug)]
pub struct Assumed {
    /// The shape of blocks where the text has no `.reqntid`.
    pub block: Option<[u64; 3]>,
    /// Bytes that every pointer parameter is a multiple of, a power of two.
    pub pointer_bytes: u64,
}

impl Default for Assumed {
    fn default() -> Assumed {
        Assumed { block: None, pointer_bytes: 256 }
    }
}

/// The shape of the blocks of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockShape {
    /// Not known. Assumed: rows are a multiple of 32 threads, so a warp's lanes are consecutive in `tid.x`.
    Rows,
    /// Threads along each axis.
    Known([u64; 3]),
}

/// One warp, as far as it is known which.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Warp {
    /// Lanes consecutive in `tid.x` from an unknown multiple of 32 on; `tid.y` and `tid.z` are uniform.
    Row,
    /// The same from a known `tid.x` on.
    From(u64),
    /// The warp of this number in its block.
    Numbered(u64),
}

impl Warp {
    /// Its number in its block, if that is known.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Warp::Row => None,
            Warp::From(first) => Some(first / LANES as u64),
            Warp::Numbered(number) => Some(number),
        }
    }
}

impl BlockShape {
    /// The shape that `.reqntid` demands, else the one that is given.
    pub fn of(function: &Function<'_>, given: Option<[u64; 3]>) -> BlockShape {
        match function.extents("reqntid").or(given) {
            Some(sizes) => BlockShape::Known(sizes.map(|size| size.clamp(1, 1024))),
            None => BlockShape::Rows,
        }
    }

    /// Whether the lanes of each warp are consecutive in `tid.x`.
    pub fn is_linear(self) -> bool {
        match self {
            BlockShape::Rows => true,
            BlockShape::Known([x, y, z]) => x.is_multiple_of(32) || y * z == 1,
        }
    }

    /// Lanes of a full warp: fewer than 32 only where the whole block has fewer threads.
    pub fn lanes(self) -> usize {
        match self {
            BlockShape::Rows => LANES,
            BlockShape::Known([x, y, z]) => (x * y * z).min(LANES as u64) as usize,
        }
    }

    /// The number of threads along an axis, if it is known.
    pub fn extent(self, axis: Axis) -> Option<u64> {
        match self {
            BlockShape::Rows => None,
            BlockShape::Known(sizes) => Some(sizes[axis.index()]),
        }
    }

    /// The full warps of a block; one that stands for all where their lanes are consecutive in `tid.x`.
    pub(crate) fn warps(self) -> Vec<Warp> {
        match self {
            _ if self.is_linear() && self.lanes() == LANES => vec![Warp::Row],
            BlockShape::Rows => vec![Warp::Row],
            BlockShape::Known([x, y, z]) => (0..full(x * y * z)).map(Warp::Numbered).collect(),
        }
    }

    /// The warps one by one. Where the shape is known, the last one may have fewer lanes ([`BlockShape::lanes_of`]).
    pub(crate) fn each_warp(self, most_threads: u64) -> Vec<Warp> {
        let rows = |warps: u64| (0..warps).map(|warp| Warp::From(32 * warp)).collect();
        let all = |threads: u64| threads.min(1024).div_ceil(LANES as u64);
        match self {
            BlockShape::Rows => rows(full(most_threads)),
            BlockShape::Known([x, ..]) if self.is_linear() => rows(all(x)),
            BlockShape::Known([x, y, z]) => (0..all(x * y * z)).map(Warp::Numbered).collect(),
        }
    }

    /// Lanes of a warp: fewer than 32 in the last warp of a block whose threads are no multiple of 32.
    pub(crate) fn lanes_of(self, warp: Warp) -> usize {
        let first = LANES as u64 * warp.number().unwrap_or(0);
        match self {
            BlockShape::Rows => LANES,
            BlockShape::Known([x, y, z]) => {
                (x * y * z).saturating_sub(first).min(LANES as u64) as usize
            }
        }
    }

    /// The index of a lane's thread along an axis, in a warp of a known number.
    pub(crate) fn index(self, warp: u64, lane: usize, axis: Axis) -> i64 {
        let shape = match self {
            BlockShape::Rows => [u64::MAX, 1, 1],
            BlockShape::Known(sizes) => sizes,
        };
        index(32 * warp + lane as u64, shape, axis) as i64
    }
}

/// How many full warps some threads are; one where they are fewer than a warp.
fn full(threads: u64) -> u64 {
    (threads.min(1024) / LANES as u64).max(1)
}
