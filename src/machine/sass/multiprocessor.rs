//! Warps that execute one stream of instructions beside each other on a multiprocessor, in simulated cycles.
//!
//! In: the [`Step`]s of a warp, and the requests of its accesses ([`Requests`]). Out: cycles of the multiprocessor for
//! each warp of a launch. An instruction is issued when the one before it allows it, when the scoreboards that it waits
//! for have been released, and when its scheduler and its unit are free. Loads and stores queue for the load/store
//! unit, misses of the first-level cache for the bandwidth of the second, and misses of that one for the bandwidth of
//! memory. A block is started when one has ended. All warps take the same path; which of their accesses miss a cache
//! follows from the shares in [`Request`].

use super::access::{Access, Request, Requests};
use super::encoding::SCOREBOARDS;
use super::opcodes::{Latency, Pipe, Role};
use super::schedule::SCHEDULERS;
use super::stream::Step;
use super::timing::{Level, Timing};

/// Warps that are started on a multiprocessor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// Warps that are resident at once: at most 128.
    pub resident: u32,
    /// All warps.
    pub warps: u32,
    /// Warps of a block.
    pub block: u32,
}

/// A time or a duration, in parts of a cycle.
type Time = u64;

/// Parts of a cycle in which times are counted: units are busy for fractions of one.
const PARTS: Time = 1 << 16;

/// Cycles as a time.
fn time(cycles: f64) -> Time {
    (cycles * PARTS as f64).round() as Time
}

/// The golden ratio's fraction: multiples of it are spread evenly between 0 and 1.
const SPREAD: f64 = 0.618_033_988_749_895;

/// Cycles of the multiprocessor for each warp of a launch.
pub fn cycles_per_warp(
    steps: &[Step],
    timing: &Timing,
    requests: &Requests,
    launch: Launch,
) -> f64 {
    let (mut machine, steps) = Machine::new(steps, timing, requests, launch);
    machine.run(&steps) as f64 / PARTS as f64 / f64::from(machine.launch.warps)
}

/// Units that a scheduler has for itself.
const OWN: [Pipe; 4] = [Pipe::Alu, Pipe::Fma, Pipe::Fp64, Pipe::Xu];

/// A step as it is executed.
#[derive(Clone, Copy)]
struct Timed {
    /// Until the warp's next instruction may be issued, and until the result is there.
    stall: Time,
    latency: Time,
    /// How long it keeps its unit busy.
    busy: Time,
    unit: Unit,
    /// The scoreboards that it waits for, one bit each; the places of those that it sets, or [`NO_SCOREBOARD`].
    waits: u8,
    writes: u8,
    reads: u8,
    is_barrier: bool,
}

/// The place of a scoreboard that nobody waits for.
const NO_SCOREBOARD: u8 = SCOREBOARDS as u8;

/// The unit that executes a step.
#[derive(Clone, Copy)]
enum Unit {
    /// One of its scheduler, by its place in [`OWN`]; behind those is one for all steps that keep none busy.
    Own(u8),
    /// The load/store unit, for an access of this kind.
    Access(u32),
    /// The load/store unit, without an access to memory.
    Exchange,
}

/// A warp.
#[derive(Clone)]
struct Warp {
    /// Its next step.
    at: usize,
    /// When each is released. The encoding has room for two more than there are.
    scoreboards: [Time; SCOREBOARDS + 2],
    /// When the last sector that it has missed is there.
    arrives: Time,
    /// For each kind of access, the shares that have added up: of those that are executed, that miss the first-level
    /// cache, that miss the second.
    shares: Vec<[f64; 3]>,
}

/// A kind of accesses.
#[derive(Clone, Copy, Debug)]
struct Kind {
    target: Target,
    /// Of its accesses, those that are executed; of those, those that miss the first-level cache; of those, those that
    /// miss the second.
    shares: [f64; 3],
    /// Those of a warp that miss the first-level cache, and that miss the second: means.
    misses: f64,
    memory_misses: f64,
    /// How long one occupies the load/store unit, and one whose bytes are missing, or still on their way; the way to the second-level cache, from it, and from memory.
    lsu: Time,
    lsu_of_fetch: Time,
    to_l2: Time,
    from_l2: Time,
    from_memory: Time,
}

/// Where accesses go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// To shared or local memory.
    Near,
    /// Through to the second-level cache.
    Through,
    /// To the first-level cache, and on if they miss.
    Cached,
}

impl Target {
    fn of(role: Role) -> Target {
        match role {
            Role::LoadShared | Role::LoadLocal | Role::StoreShared | Role::StoreLocal => {
                Target::Near
            }
            Role::StoreGlobal | Role::StoreGeneric => Target::Through,
            _ => Target::Cached,
        }
    }
}

impl Kind {
    /// `count`: accesses on the path.
    fn new(role: Role, request: Request, count: usize, rates: &Rates) -> Kind {
        let executed = count as f64 * request.executed;
        let ratio = request.memory_misses / request.misses.max(f64::MIN_POSITIVE);
        // How many fall, where the first one does: so that all bytes are counted.
        let falling = |of: f64, share: f64| match of * share < 1.0 {
            true => of * share,
            false => ((of - 1.0) * share + 1.0 + 1e-9).floor(),
        };
        let missing = falling(executed, request.misses);
        let missing_both = falling(missing, ratio);
        let each = |bytes: f64, falling: f64| match falling > 0.0 {
            true => executed * bytes / falling,
            false => 0.0,
        };
        Kind {
            target: Target::of(role),
            shares: [request.executed, request.misses, ratio],
            misses: executed * request.misses,
            memory_misses: executed * request.memory_misses,
            lsu: time(request.cycles.max(1.0)),
            lsu_of_fetch: time(request.cycles_of_fetch(rates.fetched_lines).max(1.0)),
            to_l2: time(request.from_l2 / rates.l2_bytes),
            from_l2: time(each(request.from_l2, missing) / rates.l2_bytes),
            from_memory: time(each(request.from_memory, missing_both) / rates.memory_bytes),
        }
    }
}

/// The numbers of [`Timing`] that every access needs.
#[derive(Clone, Copy)]
struct Rates {
    /// The load/store unit's time for an instruction that accesses no memory.
    lsu: Time,
    /// Up to the read of a store's operands, to the result of an access that the first-level cache serves, and to that of
    /// one that the second serves.
    store: Time,
    local: Time,
    l2: Time,
    /// Bytes a cycle of the second-level cache and of memory; infinite if not known.
    l2_bytes: f64,
    memory_bytes: f64,
    /// [`Timing::fetched_lines`].
    fetched_lines: f64,
}

impl Rates {
    fn new(timing: &Timing) -> Rates {
        let latency = |of: Latency| Time::from(timing.latency(of)) * PARTS;
        let bytes = |of: Level| timing.bytes(of).unwrap_or(f64::INFINITY);
        Rates {
            lsu: time(timing.busy(Pipe::Lsu).unwrap_or(1.0)),
            store: latency(Latency::Store),
            local: latency(Latency::Local),
            l2: latency(Latency::L2),
            l2_bytes: bytes(Level::L2),
            memory_bytes: bytes(Level::Memory),
            fetched_lines: timing.fetched_lines,
        }
    }
}

/// When each warp goes on, as a tournament: every match is won by the earlier warp, and of two at the same time by the one
/// with the smaller number.
struct Turns {
    /// The final, its two semifinals, and so on, then the warps, from the place `warps` on. Each entry is a
    /// time and behind it the warp.
    entries: Box<[u64; Turns::ENTRIES]>,
    warps: usize,
}

impl Turns {
    /// Bits of a warp's number.
    const BITS: u32 = 12;

    /// Matches and warps: a power of two, so that a place is within bounds without a check.
    const ENTRIES: usize = 256;

    /// A warp that has no turn.
    const NEVER: u64 = u64::MAX;

    /// The turns of at most [`MOST_RESIDENT`] warps.
    fn new(warps: usize) -> Turns {
        let entries = Box::new([Turns::NEVER; Turns::ENTRIES]);
        Turns { entries, warps: warps.next_power_of_two() }
    }

    /// The next turn and the warp whose it is.
    fn next(&self) -> Option<(Time, usize)> {
        let entry = self.entries[1];
        let warp = entry & ((1 << Turns::BITS) - 1);
        (entry != Turns::NEVER).then_some((entry >> Turns::BITS, warp as usize))
    }

    fn set(&mut self, warp: usize, turn: Option<Time>) {
        let mut earlier = turn.map_or(Turns::NEVER, |time| time << Turns::BITS | warp as u64);
        let mut at = (self.warps + warp) % Turns::ENTRIES;
        self.entries[at] = earlier;
        while at > 1 {
            earlier = earlier.min(self.entries[at ^ 1]);
            at /= 2;
            self.entries[at] = earlier;
        }
    }
}

/// The most warps that are resident.
const MOST_RESIDENT: u32 = Turns::ENTRIES as u32 / 2;

struct Machine {
    rates: Rates,
    launch: Launch,
    warps: Vec<Warp>,
    turns: Turns,
    /// When each is free.
    schedulers: [Time; SCHEDULERS as usize],
    own: [[Time; OWN.len() + 1]; SCHEDULERS as usize],
    lsu: Time,
    /// The ways from and to the second-level cache, and from memory.
    from_l2: Time,
    to_l2: Time,
    memory: Time,
    /// The kinds of accesses.
    kinds: Vec<Kind>,
    started: u32,
}

impl Machine {
    /// A machine before a launch, and the steps of its warps.
    fn new(
        steps: &[Step],
        timing: &Timing,
        requests: &Requests,
        launch: Launch,
    ) -> (Machine, Vec<Timed>) {
        let mut known: Vec<(Access, usize)> = Vec::new();
        let timed = steps.iter().map(|&step| {
            let own = OWN.iter().position(|pipe| *pipe == step.pipe);
            let kind = step.access.map(|access| {
                let at = known.iter().position(|(other, _)| *other == access);
                let at = at.unwrap_or_else(|| {
                    known.push((access, 0));
                    known.len() - 1
                });
                known[at].1 += 1;
                at
            });
            let unit = match (own, kind) {
                (_, Some(kind)) => Unit::Access(kind as u32),
                (None, None) if step.pipe == Pipe::Lsu => Unit::Exchange,
                (own, None) => Unit::Own(own.unwrap_or(OWN.len()) as u8),
            };
            // (The unit of steps that keep none busy is free whenever its scheduler is.)
            let busy = own.map_or(0.0, |_| timing.busy(step.pipe).unwrap_or(0.0) * SCHEDULERS);
            Timed {
                stall: Time::from(step.stall) * PARTS,
                latency: Time::from(step.latency) * PARTS,
                busy: time(busy),
                unit,
                waits: step.waits & ((1 << SCOREBOARDS) - 1),
                writes: step.writes.unwrap_or(NO_SCOREBOARD),
                reads: step.reads.unwrap_or(NO_SCOREBOARD),
                is_barrier: step.is_barrier,
            }
        });
        let steps: Vec<Timed> = timed.collect();
        let rates = Rates::new(timing);
        let kind = |(access, count): (Access, usize)| {
            Kind::new(access.role, requests.of(access), count, &rates)
        };
        let kinds = known.into_iter().map(kind).collect();
        let block = launch.block.clamp(1, MOST_RESIDENT);
        let resident = launch.resident.min(MOST_RESIDENT + 1 - block).next_multiple_of(block);
        let warps = launch.warps.next_multiple_of(block).max(resident);
        let machine = Machine {
            rates,
            launch: Launch { resident, warps, block },
            warps: Vec::new(),
            turns: Turns::new(resident as usize),
            schedulers: Default::default(),
            own: Default::default(),
            lsu: 0,
            from_l2: 0,
            to_l2: 0,
            memory: 0,
            kinds,
            started: 0,
        };
        (machine, steps)
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
            let [_, misses, ratio] = kind.shares;
            [spread, begin(kind.misses, misses), begin(kind.memory_misses, ratio)]
        });
        let shares = shares.collect();
        Warp { at: 0, scoreboards: [0; SCOREBOARDS + 2], arrives: 0, shares }
    }

    /// Executes all warps; when the last one ends.
    fn run(&mut self, steps: &[Timed]) -> Time {
        let Launch { resident, warps, block } = self.launch;
        for slot in 0..resident as usize {
            let warp = self.warp();
            self.warps.push(warp);
            self.set_turn(slot, steps.first(), 0);
        }
        let blocks = (resident / block) as usize;
        // The warps of each block that have come to a barrier, or to the end.
        let mut arrived = vec![0; blocks];
        let mut end = 0;
        while let Some((now, slot)) = self.turns.next() {
            let at = self.warps[slot].at;
            let step = steps.get(at);
            let mut next = now;
            if let Some(step) = step {
                next = self.issue(slot, step, now);
                self.warps[slot].at = at + 1;
                if !step.is_barrier {
                    self.set_turn(slot, steps.get(at + 1), next);
                    continue;
                }
            } else {
                end = end.max(now);
            }
            self.turns.set(slot, None);
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
                self.set_turn(member, steps.get(self.warps[member].at), next);
            }
        }
        // Stores are in flight until then.
        [self.lsu, self.from_l2, self.to_l2, self.memory].into_iter().fold(end, Time::max)
    }

    /// Sets the next turn of a warp: from a time on, once the scoreboards are released for which its next step waits. (No
    /// other warp sets them.)
    fn set_turn(&mut self, slot: usize, step: Option<&Timed>, from: Time) {
        let scoreboards = &self.warps[slot].scoreboards;
        let mut waits = step.map_or(0, |step| step.waits);
        let mut ready = from;
        while waits != 0 {
            ready = ready.max(scoreboards[waits.trailing_zeros() as usize]);
            waits &= waits - 1;
        }
        self.turns.set(slot, Some(ready));
    }

    /// Issues a step; when the warp's next one may be.
    fn issue(&mut self, slot: usize, step: &Timed, now: Time) -> Time {
        let scheduler = slot % self.schedulers.len();
        let mut start = now.max(self.schedulers[scheduler]);
        self.schedulers[scheduler] = start + PARTS;
        let done = match step.unit {
            Unit::Own(at) => {
                let free = &mut self.own[scheduler][usize::from(at)];
                start = start.max(*free);
                *free = start + step.busy;
                start + step.latency
            }
            Unit::Access(kind) => self.access(slot, step, kind as usize, start),
            Unit::Exchange => self.serve(start, self.rates.lsu) + step.latency,
        };
        let read = start.max(self.lsu) + self.rates.store;
        let scoreboards = &mut self.warps[slot].scoreboards;
        for (at, released) in [(step.writes, done), (step.reads, read)] {
            let scoreboard = &mut scoreboards[usize::from(at)];
            *scoreboard = released.max(*scoreboard);
        }
        start + step.stall
    }

    /// Lets something through the load/store unit; when it begins.
    fn serve(&mut self, now: Time, takes: Time) -> Time {
        let start = now.max(self.lsu);
        self.lsu = start + takes;
        start
    }

    /// An access to memory; when its result is there.
    fn access(&mut self, slot: usize, step: &Timed, kind: usize, now: Time) -> Time {
        let kind_of = self.kinds[kind];
        let shares = &mut self.warps[slot].shares[kind];
        let mut falls = |at: usize| {
            shares[at] += kind_of.shares[at];
            let falls = shares[at] >= 1.0 - 1e-9;
            shares[at] -= f64::from(u8::from(falls));
            falls
        };
        if !falls(0) {
            return now;
        }
        let missed = falls(1);
        let missed_both = missed && falls(2);
        // Loads of bytes that are still on their way are looked up like those that miss.
        let is_fetch = kind_of.target == Target::Cached
            && (missed || now.max(self.lsu) < self.warps[slot].arrives);
        let lsu = if is_fetch { kind_of.lsu_of_fetch } else { kind_of.lsu };
        let served = self.serve(now, lsu) + lsu - PARTS;
        let through = |way: &mut Time, takes: Time| {
            *way = served.max(*way) + takes;
            *way
        };
        match kind_of.target {
            Target::Near => served + step.latency,
            Target::Through => through(&mut self.to_l2, kind_of.to_l2),
            Target::Cached if !missed => {
                let hit = served + self.rates.local;
                hit.max(self.warps[slot].arrives)
            }
            Target::Cached => {
                let mut done = through(&mut self.from_l2, kind_of.from_l2) + self.rates.l2;
                if missed_both {
                    let way = through(&mut self.memory, kind_of.from_memory);
                    done = done.max(way + step.latency);
                }
                let arrives = &mut self.warps[slot].arrives;
                *arrives = done.max(*arrives);
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
