//! Warps that execute one stream of instructions beside each other on a multiprocessor, in simulated cycles.
//!
//! In: the [`Step`]s of a warp, and what its accesses take ([`Requests`]). Out: cycles of the multiprocessor for each warp
//! of a launch. An instruction is issued when the one before it allows it, when the scoreboards that it waits for have
//! been released, and when its scheduler and its unit are free. Loads and stores queue for the load/store unit, what misses
//! the first-level cache for the bytes of the second, and what misses that one for the bytes of memory. A block is started
//! when one has ended. All warps take the same path; which of their accesses miss a cache follows from the shares in
//! [`Request`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::access::{Access, Request, Requests};
use super::encoding::SCOREBOARDS;
use super::opcodes::{Latency, Pipe, Role};
use super::schedule::SCHEDULERS;
use super::stream::Step;
use super::timing::{Level, Timing};

/// Warps that are started on a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Warps that are resident at once.
    pub resident: u32,
    /// All warps.
    pub warps: u32,
    /// Warps of a block.
    pub block: u32,
}

/// Parts of a cycle in which times are counted.
const PARTS: f64 = 256.0;

/// Bits of a warp's number in a [`Turn`].
const SLOT_BITS: u32 = 12;

/// The largest number of a warp.
const MAX_SLOT: u64 = (1 << SLOT_BITS) - 1;

/// When a warp goes on, and its number: the earliest first, and of those the smallest number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn(Reverse<u64>);

/// The golden ratio's fraction: multiples of it are spread evenly between 0 and 1.
const SPREAD: f64 = 0.618_033_988_749_895;

/// Cycles of the multiprocessor for each warp of a launch.
pub fn cycles_per_warp(
    steps: &[Step],
    timing: &Timing,
    requests: &Requests,
    launch: Launch,
) -> f64 {
    let mut machine = Machine::new(steps, timing, requests, launch);
    machine.run() / f64::from(machine.launch.warps)
}

/// Units that a scheduler has for itself.
const OWN: [Pipe; 4] = [Pipe::Alu, Pipe::Fma, Pipe::Fp64, Pipe::Xu];

/// A step and its use of units.
#[derive(Clone, Copy)]
struct Timed {
    step: Step,
    /// Its unit's place in [`OWN`], and how long it keeps that busy.
    own: Option<(usize, f64)>,
    /// The kind of its access.
    kind: Option<usize>,
}

/// A warp.
#[derive(Clone)]
struct Warp {
    /// Its next step.
    at: usize,
    scoreboards: [f64; SCOREBOARDS],
    /// When the last sector that it has missed is there.
    arrives: f64,
    /// For each kind of access, the shares that have added up: of those that are executed, that miss the first-level
    /// cache, that miss the second.
    shares: Vec<[f64; 3]>,
}

/// A kind of accesses.
#[derive(Clone, Copy, Debug)]
struct Kind {
    request: Request,
    /// Those of a warp that miss the first-level cache, and that miss the second: means.
    misses: f64,
    memory_misses: f64,
    /// Bytes of one that misses, and of one that misses both.
    from_l2: f64,
    from_memory: f64,
}

/// The share of accesses that come from memory, of those that miss the first-level cache.
fn ratio(request: Request) -> f64 {
    request.memory_misses / request.misses.max(f64::MIN_POSITIVE)
}

impl Kind {
    /// `count`: accesses on the path.
    fn new(request: Request, count: usize) -> Kind {
        let executed = count as f64 * request.executed;
        let misses = executed * request.misses;
        let memory_misses = executed * request.memory_misses;
        // How many fall, where the first one does: so that all bytes are counted.
        let falling = |of: f64, share: f64| match of * share < 1.0 {
            true => of * share,
            false => ((of - 1.0) * share + 1.0 + 1e-9).floor(),
        };
        let missing = falling(executed, request.misses);
        let missing_both = falling(missing, ratio(request));
        let each = |bytes: f64, falling: f64| match falling > 0.0 {
            true => executed * bytes / falling,
            false => 0.0,
        };
        Kind {
            request,
            misses,
            memory_misses,
            from_l2: each(request.from_l2, missing),
            from_memory: each(request.from_memory, missing_both),
        }
    }
}

/// What every access asks of [`Timing`].
#[derive(Clone, Copy)]
struct Rates {
    /// Cycles of the load/store unit for an instruction that accesses no memory.
    lsu: f64,
    /// Cycles up to the read of a store's operands, to the result of an access that the first-level cache serves, and to that of
    /// one that the second serves.
    store: f64,
    local: f64,
    l2: f64,
    /// Bytes a cycle of the second-level cache and of memory; infinite if not known.
    l2_bytes: f64,
    memory_bytes: f64,
}

impl Rates {
    fn new(timing: &Timing) -> Rates {
        let latency = |of: Latency| f64::from(timing.latency(of));
        let bytes = |of: Level| timing.bytes(of).unwrap_or(f64::INFINITY);
        Rates {
            lsu: timing.busy(Pipe::Lsu).unwrap_or(1.0),
            store: latency(Latency::Store),
            local: latency(Latency::Local),
            l2: latency(Latency::L2),
            l2_bytes: bytes(Level::L2),
            memory_bytes: bytes(Level::Memory),
        }
    }
}

struct Machine {
    steps: Vec<Timed>,
    rates: Rates,
    launch: Launch,
    warps: Vec<Warp>,
    /// When each is free.
    schedulers: Vec<f64>,
    own: Vec<[f64; OWN.len()]>,
    lsu: f64,
    /// The ways from and to the second-level cache, and from memory.
    from_l2: f64,
    to_l2: f64,
    memory: f64,
    /// The kinds of accesses.
    kinds: Vec<Kind>,
    started: u32,
}

impl Machine {
    fn new(steps: &[Step], timing: &Timing, requests: &Requests, launch: Launch) -> Machine {
        let mut known: Vec<(Access, usize)> = Vec::new();
        let schedulers = SCHEDULERS as usize;
        let timed = steps.iter().map(|&step| {
            let own = OWN.iter().position(|pipe| *pipe == step.pipe);
            let busy = timing.busy(step.pipe).unwrap_or(0.0) * SCHEDULERS;
            let kind = step.access.map(|access| {
                let at = known.iter().position(|(other, _)| *other == access);
                let at = at.unwrap_or_else(|| {
                    known.push((access, 0));
                    known.len() - 1
                });
                known[at].1 += 1;
                at
            });
            Timed { step, own: own.map(|own| (own, busy)), kind }
        });
        let steps = timed.collect();
        let kinds = known.into_iter().map(|(access, count)| Kind::new(requests.of(access), count));
        let kinds = kinds.collect();
        let block = launch.block.max(1);
        let resident = launch.resident.next_multiple_of(block);
        let warps = launch.warps.next_multiple_of(block).max(resident);
        Machine {
            steps,
            rates: Rates::new(timing),
            launch: Launch { resident, warps, block },
            warps: Vec::new(),
            schedulers: vec![0.0; schedulers],
            own: vec![[0.0; OWN.len()]; schedulers],
            lsu: 0.0,
            from_l2: 0.0,
            to_l2: 0.0,
            memory: 0.0,
            kinds,
            started: 0,
        }
    }

    /// A warp that begins.
    fn warp(&mut self) -> Warp {
        let number = f64::from(self.started);
        self.started += 1;
        let spread = (number * SPREAD).fract();
        // What a warp accesses first, it has not accessed before; of what comes to less than one, some warps have one.
        let begin = |expected: f64, share: f64| match expected >= 1.0 || spread < expected {
            true => 1.0 - share,
            false => f64::NEG_INFINITY,
        };
        let shares = self.kinds.iter().map(|kind| {
            let Request { misses, .. } = kind.request;
            let ratio = ratio(kind.request);
            [spread, begin(kind.misses, misses), begin(kind.memory_misses, ratio)]
        });
        let shares = shares.collect();
        Warp { at: 0, scoreboards: [0.0; SCOREBOARDS], arrives: 0.0, shares }
    }

    /// Executes all warps; the cycle in which the last one ends.
    fn run(&mut self) -> f64 {
        let Launch { resident, warps, block } = self.launch;
        let mut queue = BinaryHeap::new();
        for slot in 0..resident as usize {
            let warp = self.warp();
            self.warps.push(warp);
            queue.push(self.turn(slot, 0.0));
        }
        let blocks = (resident / block) as usize;
        // The warps of each block that have come to a barrier, or to the end.
        let mut arrived = vec![0; blocks];
        let mut end = 0.0;
        while let Some(&Turn(Reverse(key))) = queue.peek() {
            let (now, slot) = ((key >> SLOT_BITS) as f64 / PARTS, (key & MAX_SLOT) as usize);
            let step = self.steps.get(self.warps[slot].at).map(|timed| timed.step);
            let mut next = now;
            if let Some(step) = step {
                next = self.issue(slot, now);
                self.warps[slot].at += 1;
                if !step.is_barrier
                    && let Some(mut first) = queue.peek_mut()
                {
                    // In the place of the turn that is over, so that the heap is sorted once.
                    *first = self.turn(slot, next);
                    continue;
                }
            } else {
                end = f64::max(end, now);
            }
            queue.pop();
            let own_block = slot / block as usize;
            arrived[own_block] += 1;
            if arrived[own_block] < block {
                continue;
            }
            arrived[own_block] = 0;
            if step.is_none() && self.started >= warps {
                continue;
            }
            for member in own_block * block as usize..(own_block + 1) * block as usize {
                if step.is_none() {
                    self.warps[member] = self.warp();
                }
                queue.push(self.turn(member, next));
            }
        }
        // What has been stored is on its way until then.
        [self.lsu, self.from_l2, self.to_l2, self.memory].into_iter().fold(end, f64::max)
    }

    /// The next turn of a warp: from a cycle on, once the scoreboards are released for which its next step waits. (No other
    /// warp sets them.)
    fn turn(&self, slot: usize, from: f64) -> Turn {
        let step = self.steps.get(self.warps[slot].at).map(|timed| timed.step);
        let ready = step.map_or(from, |step| self.ready(slot, step, from));
        Turn(Reverse((((ready * PARTS).ceil() as u64) << SLOT_BITS) | slot as u64))
    }

    /// When the scoreboards are released that a step waits for.
    fn ready(&self, slot: usize, step: Step, now: f64) -> f64 {
        let scoreboards = self.warps[slot].scoreboards.iter().enumerate();
        let waited = scoreboards.filter(|(at, _)| step.waits >> at & 1 != 0);
        waited.map(|(_, released)| *released).fold(now, f64::max)
    }

    /// Issues a step; the cycle in which the warp's next one may be.
    fn issue(&mut self, slot: usize, now: f64) -> f64 {
        let Timed { step, own, kind } = self.steps[self.warps[slot].at];
        let scheduler = slot % self.schedulers.len();
        let mut start = now.max(self.schedulers[scheduler]);
        self.schedulers[scheduler] = start + 1.0;
        if let Some((at, busy)) = own {
            let unit = &mut self.own[scheduler][at];
            start = start.max(*unit);
            *unit = start + busy;
        }
        let next = start + f64::from(step.stall);
        let done = match kind {
            Some(kind) => self.access(slot, step, kind, start),
            None if step.pipe == Pipe::Lsu => {
                let served = self.serve(start, self.rates.lsu);
                served + f64::from(step.latency)
            }
            None => start + f64::from(step.latency),
        };
        let warp = &mut self.warps[slot];
        if let Some(at) = step.writes {
            let released = &mut warp.scoreboards[usize::from(at)];
            *released = released.max(done);
        }
        if let Some(at) = step.reads {
            let read = start.max(self.lsu) + self.rates.store;
            let released = &mut warp.scoreboards[usize::from(at)];
            *released = released.max(read);
        }
        next
    }

    /// Lets something through the load/store unit; the cycle in which it begins.
    fn serve(&mut self, now: f64, cycles: f64) -> f64 {
        let start = now.max(self.lsu);
        self.lsu = start + cycles;
        start
    }

    /// An access to memory; the cycle in which its result is there.
    fn access(&mut self, slot: usize, step: Step, kind: usize, now: f64) -> f64 {
        let Kind { request, from_l2, from_memory, .. } = self.kinds[kind];
        let shares = &mut self.warps[slot].shares[kind];
        let mut falls = |at: usize, share: f64| {
            shares[at] += share;
            let falls = shares[at] >= 1.0 - 1e-9;
            shares[at] -= f64::from(u8::from(falls));
            falls
        };
        if !falls(0, request.executed) {
            return now;
        }
        let missed = falls(1, request.misses);
        let missed_both = missed && falls(2, ratio(request));
        let start = self.serve(now, request.cycles.max(1.0));
        let served = start + request.cycles.max(1.0) - 1.0;
        let role = step.access.map_or(Role::Other, |access| access.role);
        let through = |way: &mut f64, from: f64, bytes: f64, each: f64| {
            *way = from.max(*way) + bytes / each;
            *way
        };
        let Rates { local, l2, l2_bytes, memory_bytes, .. } = self.rates;
        match role {
            Role::LoadShared | Role::LoadLocal | Role::StoreShared | Role::StoreLocal => {
                served + f64::from(step.latency)
            }
            Role::StoreGlobal | Role::StoreGeneric => {
                through(&mut self.to_l2, served, request.from_l2, l2_bytes)
            }
            _ if !missed => {
                let hit = served + local;
                hit.max(self.warps[slot].arrives)
            }
            _ => {
                let way = through(&mut self.from_l2, served, from_l2, l2_bytes);
                let mut done = way + l2;
                if missed_both {
                    let way = through(&mut self.memory, served, from_memory, memory_bytes);
                    done = done.max(way + f64::from(step.latency));
                }
                let arrives = &mut self.warps[slot].arrives;
                *arrives = arrives.max(done);
                done
            }
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        latencies_are_hidden_until_a_unit_is_busy,
        warps_of_a_block_wait_for_each_other,
        bytes_are_the_limit_of_loads
    );

    const PLAIN: Step = Step {
        stall: 4,
        waits: 0,
        writes: None,
        reads: None,
        pipe: Pipe::Alu,
        latency: 0,
        access: None,
        is_barrier: false,
    };

    const LOAD: Access = Access { role: Role::LoadGlobal, bytes: 4, guarded: false };

    fn volta() -> &'static Timing {
        Timing::of(70).unwrap()
    }

    fn cycles(steps: &[Step], request: Request, resident: u32, block: u32) -> f64 {
        let requests = Requests { by_kind: [(LOAD, request)].into(), ..Requests::default() };
        cycles_per_warp(steps, volta(), &requests, Launch { resident, warps: 256, block })
    }

    fn latencies_are_hidden_until_a_unit_is_busy() {
        let exchange = Step { pipe: Pipe::Lsu, latency: 23, writes: Some(0), ..PLAIN };
        let steps = [exchange, Step { waits: 1, ..PLAIN }].repeat(8);
        let at = |resident| cycles(&steps, Request::UNKNOWN, resident, 1);
        // One warp in 32 lanes of a cycle: eight shuffles.
        assert!(at(1) > 8.0 * 23.0 && at(4) < at(1) / 3.0 && at(64) >= 8.0 && at(64) < 12.0);
    }

    fn warps_of_a_block_wait_for_each_other() {
        let barrier = Step { is_barrier: true, ..PLAIN };
        // The last of four warps of one scheduler is as late as all of them.
        let steps = [vec![PLAIN; 16], vec![barrier], vec![PLAIN; 16]].concat();
        let [free, bound] = [1, 16].map(|block| cycles(&steps, Request::UNKNOWN, 16, block));
        assert!(bound >= free, "{bound} {free}");
        assert!(bound < 4.0 * free, "{bound} {free}");
    }

    fn bytes_are_the_limit_of_loads() {
        let load = Step { access: Some(LOAD), pipe: Pipe::Lsu, writes: Some(0), ..PLAIN };
        let load = Step { latency: volta().latency(Latency::Global), ..load };
        let steps = [load, Step { waits: 1, ..PLAIN }];
        let request = Request { from_l2: 128.0, from_memory: 128.0, ..Request::UNKNOWN };
        let limit = 128.0 / volta().bytes(Level::Memory).unwrap();
        let at = |resident| cycles(&steps, request, resident, 1);
        assert!(at(64) >= limit && at(64) < 1.3 * limit, "{} {limit}", at(64));
        assert!((at(1) - 400.0).abs() < 60.0, "{}", at(1));
        // A third of the loads, all of the bytes: those that hit wait for less.
        let third = Request { misses: 1.0 / 3.0, memory_misses: 1.0 / 3.0, ..request };
        assert!(cycles(&steps, third, 1, 1) < at(1) / 2.0);
    }
}
