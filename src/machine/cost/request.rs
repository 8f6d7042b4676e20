//! The cycles that a warp-wide load, a shuffle and other instructions take.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::Costs;

/// Lanes of a warp.
const LANES: i64 = 32;

/// Bytes of a line of the caches.
const LINE: i64 = 128;

/// Bytes of a sector of the caches.
pub const SECTOR: i64 = 32;

/// Bytes of a word of the first-level cache's 32 banks.
const WORD: i64 = 4;

/// The numbers of an architecture that the cycles of a load depend on, as bits, and the load.
type Key = ([u64; 4], Request);

thread_local! {
    /// The cycles of loads that have been asked about: the loads of a row ask the same again and again.
    static KNOWN: RefCell<FxHashMap<Key, f64>> = RefCell::default();
}

/// The most loads that are remembered.
const MOST_KNOWN: usize = 1 << 14;

/// A load by a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Request {
    /// Bytes from one lane's address to the next one's; `None` where that is not a constant.
    pub stride: Option<i64>,
    /// Bytes that each lane reads.
    pub bytes: u32,
    /// Lanes that take part.
    pub lanes: u32,
    /// Whether the load goes past the first-level cache (`.cg`, `.cv`).
    pub past_l1: bool,
}

/// The work of the load/store pipe for a load or store.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Pipe {
    /// Cycles, where the first-level cache has all bytes.
    pub cycles: f64,
    /// Lines that it looks up, in all passes.
    pub lines: f64,
}

impl Costs {
    /// Cycles of a load: those of the pipe, or of the way from the second-level cache if the load goes
    /// past the first. The result is the mean over all positions of the first lane's address within a
    /// line.
    pub fn load(&self, request: &Request) -> f64 {
        let numbers =
            [self.threads_in_pass, self.lines_in_cycle, self.loads_in_l1, self.l2_bytes_in_cycle];
        let key = (numbers.map(f64::to_bits), *request);
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            *known.entry(key).or_insert_with(|| self.mean_load(request))
        })
    }

    /// What [`Costs::load`] says, computed.
    fn mean_load(&self, request: &Request) -> f64 {
        // If an address moves by no constant, the best case is assumed: then replacing its load does
        // not pay.
        let stride = request.stride.unwrap_or(i64::from(request.bytes));
        let step = i64::from(request.bytes.max(1));
        let positions: Vec<i64> = (0..LINE).step_by(step.min(LINE) as usize).collect();
        let of = |at: i64| self.at_position(request, stride, at);
        positions.iter().map(|&at| of(at)).sum::<f64>() / positions.len() as f64
    }

    fn at_position(&self, request: &Request, stride: i64, first: i64) -> f64 {
        let bytes = i64::from(request.bytes.max(1));
        let all = Lanes { first, stride, count: i64::from(request.lanes).min(LANES), bytes };
        // Lanes that read 64 or 128 bits go in two or four groups; of those that read bytes or halves four
        // times or twice as many go together, as far as they are a warp's. (No document says so of Maxwell and Pascal:
        // it is the assumption by which fewer replacements pay.)
        let in_pass = ((self.threads_in_pass as i64) * WORD / bytes).clamp(1, LANES);
        let passes = (0..all.count).step_by(in_pass as usize);
        let pipe: f64 = passes.map(|at| self.pass(all.part(at, in_pass))).sum();
        let mut sectors = 0;
        all.each(SECTOR, |_| sectors += 1);
        let l2 = (sectors * SECTOR) as f64 / self.l2_bytes_in_cycle;
        if request.past_l1 || self.loads_in_l1 == 0.0 { pipe.max(l2) } else { pipe }
    }

    /// The work of the pipe for a load or store whose lanes have these addresses. Where a pass serves whole
    /// warps, different words of one bank conflict wherever their lanes are, and a word for all lanes is read once, as in
    /// the model from which `lines_in_cycle` is taken.
    pub fn pipe(&self, addresses: &[u64], bytes: u32) -> Pipe {
        let bytes = u64::from(bytes.max(1));
        let in_pass = match self.threads_in_pass as usize >= LANES as usize {
            true => LANES as usize,
            false => ((self.threads_in_pass as u64) * WORD as u64 / bytes).max(1) as usize,
        };
        let pieces = |lanes: &[u64], size: i64| {
            let size = size as u64;
            let of = |address: &u64| address / size..=(address + bytes - 1) / size;
            let mut found: Vec<u64> = lanes.iter().flat_map(of).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let pass = |all: Pipe, lanes: &[u64]| {
            let mut banks = [0u32; LANES as usize];
            pieces(lanes, WORD).iter().for_each(|word| banks[(word % LANES as u64) as usize] += 1);
            let lines = pieces(lanes, LINE).len() as u32;
            Pipe {
                cycles: all.cycles + self.looked_up(lines, banks),
                lines: all.lines + f64::from(lines),
            }
        };
        addresses.chunks(in_pass).fold(Pipe::default(), pass)
    }

    /// One pass through the first-level cache: `max(1, ceil((lines + 2) / lines_in_cycle), conflicts)`,
    /// conflicts being the most different words in one bank.
    fn pass(&self, lanes: Lanes) -> f64 {
        let mut lines = 0;
        lanes.each(LINE, |_| lines += 1);
        let mut banks = [0u32; LANES as usize];
        lanes.each(WORD, |word| banks[word.rem_euclid(LANES) as usize] += 1);
        self.looked_up(lines, banks)
    }

    /// Cycles of a pass that touches some lines, and of each bank some words.
    fn looked_up(&self, lines: u32, banks: [u32; LANES as usize]) -> f64 {
        // (Two tags come free on architectures that look up several in a cycle.)
        let free = if self.lines_in_cycle > 1.0 { 2.0 } else { 0.0 };
        let looked_up = ((f64::from(lines) + free) / self.lines_in_cycle).ceil();
        let conflicts = banks.into_iter().max().unwrap_or(0);
        looked_up.max(f64::from(conflicts)).max(1.0)
    }

    /// Whether a shuffle may stand for a load of this kind at all.
    pub fn allow_shuffles(&self, request: &Request) -> bool {
        self.shuffles_beside_l1 != 0.0 || request.past_l1 || self.loads_in_l1 == 0.0
    }

    /// Cycles of the load/store pipe that moving `bits` bits of each lane takes: 32 at a time.
    pub fn shuffle(&self, bits: u32) -> f64 {
        f64::from(bits.div_ceil(32)) * self.shuffle_cycles
    }

    /// Cycles in which some instructions are issued.
    pub fn instructions(&self, count: u32) -> f64 {
        f64::from(count) / self.instructions_in_cycle
    }
}

/// Consecutive lanes, and the bytes that each reads.
#[derive(Clone, Copy)]
struct Lanes {
    /// The first one's address.
    first: i64,
    stride: i64,
    count: i64,
    bytes: i64,
}

impl Lanes {
    /// At most `count` of the lanes, from lane `at` on.
    fn part(self, at: i64, count: i64) -> Lanes {
        Lanes { first: self.first + at * self.stride, count: count.min(self.count - at), ..self }
    }

    /// Calls `visit` once with each piece of `size` bytes that the lanes touch.
    fn each(self, size: i64, mut visit: impl FnMut(i64)) {
        // Upwards, so that a piece that a lane touches again is the one that was visited last.
        let lowest = self.first + (self.count - 1) * self.stride.min(0);
        let mut next = i64::MIN;
        for lane in 0..self.count {
            let start = lowest + lane * self.stride.abs();
            let end = (start + self.bytes - 1).div_euclid(size);
            for piece in start.div_euclid(size).max(next)..=end {
                visit(piece);
            }
            next = next.max(end + 1);
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        rows_and_columns_on_volta,
        rows_on_older_ones,
        what_goes_past_l1_is_dear,
        addresses_take_what_their_stride_does
    );

    fn cycles(architecture: u32, stride: i64, bytes: u32) -> f64 {
        let request = Request { stride: Some(stride), bytes, lanes: 32, past_l1: false };
        Costs::of(architecture).load(&request)
    }

    fn rows_and_columns_on_volta() {
        // A row takes a cycle wherever it starts, a column of long rows one for each lane.
        assert_eq!(cycles(70, 4, 4), 1.0);
        assert_eq!(cycles(70, 128, 4), 32.0);
        assert_eq!(cycles(70, 0, 4), 1.0);
        // Four words of a struct of four: as long together as each alone.
        assert_eq!(cycles(70, 16, 4), 4.0);
        assert!(cycles(70, 16, 16) < 8.0, "{}", cycles(70, 16, 16));
    }

    fn rows_on_older_ones() {
        // Requests of eight threads.
        assert!(cycles(60, 4, 4) >= 4.0, "{}", cycles(60, 4, 4));
        // Bytes of a row are as many as a request has.
        assert!(cycles(60, 1, 1) < 2.0, "{}", cycles(60, 1, 1));
        // Kepler goes past L1.
        assert!(cycles(35, 4, 4) > 4.0, "{}", cycles(35, 4, 4));
    }

    fn what_goes_past_l1_is_dear() {
        let costs = Costs::of(70);
        let request = Request { stride: Some(4), bytes: 4, lanes: 32, past_l1: true };
        assert!(costs.load(&request) > 5.0 * costs.shuffle(32));
        let corner = Request { lanes: 1, ..request };
        assert!(costs.load(&corner) < 2.0);
    }

    fn addresses_take_what_their_stride_does() {
        let volta = Costs::of(70);
        let pipe = |stride: u64, bytes| {
            let addresses: Vec<u64> = (0..32).map(|lane| 4096 + lane * stride).collect();
            volta.pipe(&addresses, bytes).cycles
        };
        for stride in [0, 4, 8, 16, 128] {
            assert_eq!(pipe(stride, 4), cycles(70, stride as i64, 4), "{stride}");
        }
        // Four words for each lane, and the same four for all.
        assert_eq!([pipe(16, 16), pipe(0, 16)], [4.0, 1.0]);
    }
}
