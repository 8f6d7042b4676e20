//! Who touched which word last: finds races, and tells whether blocks that ran side by side could
//! have seen each other.
//!
//! For each word the last write and the last read are kept as stamps of block, warp and *epoch*,
//! the number of barriers that the block has passed. Two accesses race if they come from different
//! warps, one of them writes, and neither a barrier lies between them nor are both strong
//! (volatile, atomic, ...). The detector errs on the side of silence:
//!
//! - lanes of one warp are taken to run in step;
//! - any barrier of a block orders all that came before it;
//! - stores that leave a word as it was, and accesses to parts of a word, are never reported.

/// Stamps of a word: its last read and its last write.
type Cell = [u64; 2];

const VALID: u64 = 1 << 63;
const STRONG: u64 = 1 << 62;
const PART: u64 = 1 << 61;
/// Several warps have read in this epoch.
const MANY: u64 = 1 << 60;
const WARP_SHIFT: u32 = 55;
const BLOCK_SHIFT: u32 = 32;

/// Blocks beyond this number share one stamp, and races between them stay unseen.
const MAX_BLOCK: u64 = (1 << (WARP_SHIFT - BLOCK_SHIFT)) - 1;

/// Who accesses.
#[derive(Clone, Copy, Debug)]
pub struct Accessor {
    /// Number of the block in the grid.
    pub block: u64,
    /// Number of the warp in its block.
    pub warp: u32,
    /// Barriers that the block has passed.
    pub epoch: u32,
}

/// How.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Loads.
    Read,
    /// Stores, and whether that changes the word.
    Write {
        /// Whether the word is another afterwards.
        changes: bool,
    },
}

/// An earlier access that races with the present one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// Whether the earlier access was a write.
    pub wrote: bool,
    /// Its block.
    pub block: u64,
    /// Its warp.
    pub warp: u32,
}

/// The stamps of a launch, or of a part of its blocks.
#[derive(Debug, Default)]
pub struct Shadow {
    global: Vec<Vec<Cell>>,
    shared: Vec<Cell>,
    /// Whether races inside a block are reported.
    inside: bool,
    /// Whether races between blocks are reported.
    between: bool,
}

impl Shadow {
    /// Stamps for regions of so many bytes each, and for a block's shared memory.
    pub fn new(
        regions: impl Iterator<Item = u64>,
        shared: u64,
        inside: bool,
        between: bool,
    ) -> Shadow {
        let cells = |bytes: u64| vec![[0; 2]; bytes.div_ceil(4) as usize];
        Shadow { global: regions.map(cells).collect(), shared: cells(shared), inside, between }
    }

    /// Another block gets the shared memory.
    pub fn next_block(&mut self) {
        self.shared.fill([0; 2]);
    }

    /// Notes an access to a word of a region, or of shared memory.
    #[inline]
    pub fn access(
        &mut self,
        region: Option<usize>,
        word: usize,
        who: Accessor,
        (kind, strong, part): (Kind, bool, bool),
    ) -> Option<Race> {
        let cells = match region {
            Some(region) => &mut self.global[region],
            None => &mut self.shared,
        };
        let [read, write] = &mut cells[word];
        let me = VALID
            | if strong { STRONG } else { 0 }
            | if part { PART } else { 0 }
            | u64::from(who.warp) << WARP_SHIFT
            | who.block.min(MAX_BLOCK) << BLOCK_SHIFT
            | u64::from(who.epoch);
        let reports = (self.inside, self.between);
        match kind {
            Kind::Read => {
                let race = races(*write, me, reports, true);
                let same_time = same_block(*read, me) && *read as u32 == me as u32;
                let others = *read & VALID != 0 && same_time && warp(*read) != warp(me);
                let kept = if same_time { *read & (MANY | PART) } else { 0 };
                let strong = if same_time && *read & VALID != 0 { *read | !STRONG } else { !0 };
                *read = (me & strong) | kept | if others { MANY } else { 0 };
                race
            }
            Kind::Write { changes } => {
                let race = if changes {
                    races(*write, me, reports, true).or_else(|| races(*read, me, reports, false))
                } else {
                    None
                };
                *write = me;
                race
            }
        }
    }

    /// Whether these blocks and others, which ran at the same time on the same memory, touched the
    /// same word and one of them wrote it.
    pub fn meets(&self, other: &Shadow) -> bool {
        self.global.iter().zip(&other.global).any(|(mine, theirs)| {
            mine.iter().zip(theirs).any(|(mine, theirs)| {
                (mine[1] & (theirs[0] | theirs[1]) | theirs[1] & mine[0]) & VALID != 0
            })
        })
    }
}

fn warp(stamp: u64) -> u64 {
    stamp >> WARP_SHIFT & 31
}

fn block(stamp: u64) -> u64 {
    stamp >> BLOCK_SHIFT & MAX_BLOCK
}

fn same_block(a: u64, b: u64) -> bool {
    block(a) == block(b)
}

/// Whether an earlier access and the present one are unordered.
fn races(before: u64, me: u64, (inside, between): (bool, bool), wrote: bool) -> Option<Race> {
    if before & VALID == 0 || before & me & STRONG != 0 || (before | me) & PART != 0 {
        return None;
    }
    let unordered = if same_block(before, me) {
        let other_warp = warp(before) != warp(me) || before & MANY != 0;
        inside && before as u32 == me as u32 && other_warp
    } else {
        between
    };
    unordered.then(|| Race { wrote, block: block(before), warp: warp(before) as u32 })
}
