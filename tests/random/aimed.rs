//! One seed, one kernel, aimed at the strategies: taps of other iterations of a loop, groups of
//! consecutive loads, and rows.
//!
//! Around and between them stand, now and then, what forbids a rewrite or makes it hard: stores to
//! what a later iteration reads, barriers, several ways round a loop and into it, lanes with other
//! trip counts, predicated loads, pointers that are multiples of 4 or 8 only, and an input that ends
//! with the last byte that may be read.

use fastrand::Rng;

use super::generate::{BLOCKS, Generator, Place, uniform};
use super::kernel::{
    Access, Array, Barrier, Condition, Destination, Fence, Field, Kernel, Load, Loop, MAX_BEYOND,
    MAX_TRIPS, Moving, Spelling, Stmt, Sum, Test, Trips, Var,
};

/// The most iterations between two loads of one address.
const DISTANCES: i32 = 4;
/// Larger blocks would have columns of more than a megabyte.
const MAX_COLUMN_THREADS: u32 = 96;

/// The kernel of a seed.
pub fn aimed(seed: u64) -> Kernel {
    // Other kernels than `generate` makes of the same numbers.
    let mut rng = Rng::with_seed(seed ^ 0x5eed_a13e_d000_0000);
    let mut kernel = Kernel {
        grid: [rng.u32(1..=2), 1, 1],
        block: match rng.u8(..8) {
            0 => [rng.u32(1..=80), rng.u32(1..=3), 1],
            1..=3 => [[32, 1, 1], [64, 1, 1], [64, 2, 1]][rng.usize(..3)],
            _ => BLOCKS[rng.usize(..BLOCKS.len())],
        },
        required: rng.u8(..6) == 0,
        n: rng.u32(0..=MAX_TRIPS),
        far: 0,
        seed,
        shift: [0, 0, 4, 8, 12][rng.usize(..5)],
        declared: rng.u8(..4) == 0,
        target: if rng.u8(..4) == 0 { 100 } else { 80 },
        body: Vec::new(),
    };
    let place = Place { uniform: true, depth: 0, loops: 0, may_break: false };
    let mut generator = Generator { rng: &mut rng, kernel: &kernel, budget: 4 };
    let mut body = Vec::new();
    for _ in 0..generator.rng.u32(1..=2) {
        match generator.rng.u8(..12) {
            0..=4 => generator.ring(place, &mut body),
            5..=7 => generator.group(place, &mut body),
            8..=10 => generator.taps(place, &mut body),
            _ => generator.statement(place, &mut body),
        }
    }
    kernel.body = body;
    if seed.is_multiple_of(3) {
        add_structs(&mut kernel);
    }
    if seed % 4 == 1 {
        add_sums(&mut kernel);
    }
    if seed % 4 == 3 && kernel.threads() <= MAX_COLUMN_THREADS {
        add_sum_of_loop(&mut kernel);
    }
    kernel
}

/// Adds a loop that sums up in memory, with a generator of its own, so that the rest of the kernel does not change.
fn add_sum_of_loop(kernel: &mut Kernel) {
    let mut rng = Rng::with_seed(kernel.seed ^ 0x1009_5d3a);
    let bytes = rng.u8(..4) == 0;
    let unit = if bytes { 1 } else { 4 };
    let sum = Sum {
        trips: if rng.bool() { Trips::N } else { Trips::Constant(rng.u32(1..=MAX_TRIPS)) },
        from: unit * rng.i32(-5..=5),
        step: unit * rng.i32(-2..=2),
        bytes,
        read: rng.bool(),
        second: if rng.u8(..4) == 0 { Some(rng.i32(1..=3)) } else { None },
        guarded: rng.u8(..12) == 0,
        fenced: rng.u8(..12) == 0,
    };
    let at = rng.usize(0..=kernel.body.len());
    kernel.body.insert(at, Stmt::Sum(sum));
}

/// Adds stores to one word somewhere, each overwriting the one before, with loads between them. They use a generator of
/// their own, so that the rest of the kernel does not change.
fn add_sums(kernel: &mut Kernel) {
    let mut rng = Rng::with_seed(kernel.seed ^ 0x50_3a7e);
    let (words, ..) = kernel.structs();
    let copy = kernel.clone();
    let mut generator = Generator { rng: &mut rng, kernel: &copy, budget: 4 };
    let guard = if generator.one_in(6) { Some(generator.steady()) } else { None };
    let word = generator.rng.u32(0..words);
    let stored = Field { word, count: 1, stored: true, guard };
    let mut list = vec![Stmt::Fields(vec![stored])];
    for _ in 0..generator.rng.u32(1..=3) {
        match generator.rng.u8(..8) {
            // The word itself, or another one of the lane's.
            0 | 1 => {
                let word = generator.rng.u32(0..words);
                list.push(Stmt::Fields(vec![Field { word, stored: false, guard: None, ..stored }]));
            }
            2 => {}
            _ => {
                let array = generator.pick(&[Array::A, Array::B, Array::Own]);
                list.push(Stmt::Load(generator.plain(array, vec![(1, Var::X)])));
            }
        }
        list.push(Stmt::Fields(vec![stored]));
    }
    let list = match generator.rng.u8(..4) {
        0 => vec![Stmt::Loop(Loop {
            trips: generator.pick(&[Trips::N, Trips::Constant(1), Trips::Of(Var::TidX)]),
            step: 1,
            bottom: generator.rng.bool(),
            entered: None,
            carried_from_tid: false,
            moving: None,
            body: list,
        })],
        _ => list,
    };
    let at = generator.rng.usize(0..=kernel.body.len());
    kernel.body.splice(at..at, list);
}

/// Adds stores of structs somewhere, between other statements or in a branch or loop; with a generator of its own,
/// so that all else is as it would be without.
fn add_structs(kernel: &mut Kernel) {
    let mut rng = Rng::with_seed(kernel.seed ^ 0x5707_0ed5);
    let (words, bits, _) = kernel.structs();
    let copy = kernel.clone();
    let mut generator = Generator { rng: &mut rng, kernel: &copy, budget: 4 };
    let mut fields = Vec::new();
    let mut word = 0;
    while word < words {
        // A struct of an odd number of words leaves no vector aligned.
        let two = words.is_multiple_of(2) && word.is_multiple_of(2) && bits == 32;
        let count = if two && generator.one_in(3) { 2 } else { 1 };
        fields.push(Field { word, count, stored: true, guard: None });
        word += count;
    }
    if generator.one_in(4) {
        generator.rng.shuffle(&mut fields);
    }
    match generator.rng.u8(..12) {
        // A word is missing, or stored twice, or loaded in between, or stored by some.
        0 => _ = fields.pop(),
        1 => fields.push(fields[0]),
        2 | 3 => {
            let at = generator.rng.usize(..fields.len());
            let loaded = fields[generator.rng.usize(..fields.len())];
            fields.insert(at, Field { stored: false, ..loaded });
        }
        4 => {
            let at = generator.rng.usize(..fields.len());
            fields[at].guard = Some(generator.steady());
        }
        _ => {}
    }
    let stored = Stmt::Fields(fields.clone());
    // The thread's own accesses before and behind see what was stored before.
    let loaded: Vec<Field> =
        fields.iter().map(|field| Field { stored: false, guard: None, ..*field }).collect();
    let mut list = Vec::new();
    if generator.one_in(3) {
        list.push(Stmt::Fields(loaded.clone()));
    }
    list.push(stored.clone());
    if generator.rng.bool() {
        list.push(Stmt::Fields(loaded));
    }
    if generator.one_in(4) {
        list.push(stored);
    }
    let list = match generator.rng.u8(..8) {
        0 => {
            let condition = generator.steady();
            vec![Stmt::If { condition, then: list, otherwise: Vec::new() }]
        }
        1 => vec![Stmt::Loop(Loop {
            trips: generator.pick(&[Trips::N, Trips::Constant(2), Trips::Of(Var::TidX)]),
            step: 1,
            bottom: generator.rng.bool(),
            entered: None,
            carried_from_tid: false,
            moving: None,
            body: list,
        })],
        _ => list,
    };
    let at = generator.rng.usize(0..=kernel.body.len());
    kernel.body.splice(at..at, list);
}

impl Generator<'_> {
    /// A load without any trouble.
    fn plain(&mut self, array: Array, terms: Vec<(i32, Var)>) -> Load {
        Load {
            array,
            terms,
            offset: 0,
            unit: 4,
            field: 0,
            access: self.pick(&[Access::F32, Access::F32, Access::U32, Access::S32]),
            spelling: self.pick(&[Spelling::Immediate, Spelling::Immediate, Spelling::Chain]),
            signed: self.rng.bool(),
            read_only: self.rng.bool(),
            generic: false,
            volatile: false,
            past_l1: self.one_in(4),
            once: true,
            guard: None,
            destination: if self.one_in(8) { Destination::Pool } else { Destination::Fresh },
            keep: false,
        }
    }

    /// A condition on something that stays as it is.
    fn steady(&mut self) -> Condition {
        let var = self.pick(&[Var::TidX, Var::X, Var::Lane, Var::N, Var::CtaidX, Var::TidY]);
        let test = match self.rng.bool() {
            true => Test::Less(self.rng.u32(0..=self.kernel.most(var).min(40) + 1)),
            false => Test::Bit(self.rng.u32(..3)),
        };
        Condition { var, test, negated: self.rng.bool() }
    }

    /// A loop some of whose loads read what another one has read some iterations before; one time in
    /// four within another loop.
    fn ring(&mut self, place: Place, list: &mut Vec<Stmt>) {
        if place.loops == 0 && self.one_in(4) {
            let trips = self.pick(&[Trips::Constant(2), Trips::N, Trips::Of(Var::TidX)]);
            let agree = place.uniform && !matches!(trips, Trips::Of(_));
            let inside = Place { uniform: agree, depth: 1, loops: 1, ..place };
            let mut body = Vec::new();
            self.ring(inside, &mut body);
            list.push(Stmt::Loop(Loop {
                trips,
                step: 1,
                bottom: self.rng.bool(),
                entered: None,
                carried_from_tid: false,
                moving: None,
                body,
            }));
            return;
        }
        let trips = match self.rng.u8(..10) {
            0 => Trips::Constant(self.rng.u32(0..=MAX_TRIPS + MAX_BEYOND)),
            1 => Trips::N,
            2..=5 => Trips::Beyond(self.rng.u32(0..=MAX_BEYOND)),
            6 => Trips::Of(self.pick(&[Var::TidX, Var::Lane, Var::X])),
            _ => Trips::Eight(self.pick(&[Var::TidX, Var::Lane, Var::CtaidX])),
        };
        let agree = matches!(
            trips,
            Trips::Constant(_) | Trips::N | Trips::Beyond(_) | Trips::Eight(Var::CtaidX)
        );
        let (may_break, several_ways) = (self.one_in(8), self.one_in(5));
        let inside = Place {
            uniform: place.uniform && agree && !may_break && !several_ways,
            depth: place.depth + 1,
            loops: place.loops + 1,
            may_break,
        };
        let own = self.kernel.threads() <= MAX_COLUMN_THREADS && self.one_in(4);
        let array = match own {
            true => Array::Column,
            false => self.pick(&[Array::A, Array::A, Array::B]),
        };
        let terms = match own {
            true => Vec::new(),
            false => {
                let var = self.pick(&[Var::X, Var::X, Var::Linear, Var::TidX]);
                vec![(self.pick(&[1, 1, 1, 4, 32]), var)]
            }
        };
        let distance = self.rng.i32(1..=DISTANCES);
        let moves = self.rng.bool();
        let (step, mut first, by) = self.first_of_ring(array, terms.clone(), moves);
        if !own && self.one_in(3) {
            first.read_only = true;
        }
        let mut offsets = vec![0, distance * by];
        if distance < DISTANCES && self.rng.bool() {
            offsets.push((distance + self.rng.i32(0..=DISTANCES - distance)) * by);
        }
        if self.one_in(4) {
            offsets.push(self.rng.i32(-3..=3));
        }
        offsets.iter_mut().for_each(|offset| *offset -= first.offset.min(2));
        self.rng.shuffle(&mut offsets);
        let mut body = Vec::new();
        let troubled = self.one_in(2);
        for offset in offsets {
            if troubled && self.one_in(2) {
                body.push(self.trouble(inside, &first));
            }
            let load = Load { offset, ..first.clone() };
            body.push(self.perhaps_guarded(load));
        }
        if troubled && self.rng.bool() {
            body.push(self.trouble(inside, &first));
        }
        if several_ways {
            let at = self.rng.usize(0..=body.len());
            let condition = self.condition();
            body.insert(at, Stmt::Continue(condition));
        }
        let moving = moves.then_some(Moving { array, terms, step: by });
        list.push(Stmt::Loop(Loop {
            trips,
            step,
            bottom: self.rng.bool(),
            entered: if self.one_in(8) { Some(self.steady()) } else { None },
            carried_from_tid: false,
            moving,
            body,
        }));
    }

    /// The loop's step, a load of the loop, and how many units it goes on in an iteration: 1 to 3.
    fn first_of_ring(
        &mut self,
        array: Array,
        mut terms: Vec<(i32, Var)>,
        moves: bool,
    ) -> (u32, Load, i32) {
        if moves {
            let mut load = self.plain(array, terms);
            load.spelling = Spelling::Moving;
            load.unit = 16;
            load.access = self.pick(&[Access::F32, Access::U32, Access::F64, Access::V2F32]);
            load.field = self.pick(&[0, 0, 8]);
            let by = if array == Array::Column { 1 } else { self.rng.i32(1..=3) };
            return (1, load, by);
        }
        let step = self.pick(&[1, 1, 2]);
        terms.push((1, Var::Iteration));
        let mut load = self.plain(array, terms);
        if array != Array::Column && self.one_in(3) {
            load.unit = 8;
            load.access = self.pick(&[Access::F64, Access::U64, Access::V2U32, Access::F32]);
        }
        (step, load, step as i32)
    }

    /// A load, one time in eight predicated, and one time in eight on a branch.
    fn perhaps_guarded(&mut self, load: Load) -> Stmt {
        match self.rng.u8(..16) {
            0 | 1 => Stmt::Load(Load { guard: Some(self.steady()), ..load }),
            2 => Stmt::If {
                condition: self.steady(),
                then: vec![Stmt::Load(load)],
                otherwise: Vec::new(),
            },
            3 => Stmt::If {
                condition: self.condition(),
                then: vec![Stmt::Load(load)],
                otherwise: Vec::new(),
            },
            _ => Stmt::Load(load),
        }
    }

    /// A statement that may invalidate the facts about a loop's loads.
    fn trouble(&mut self, place: Place, load: &Load) -> Stmt {
        match self.rng.u8(..10) {
            0..=3 if load.array == Array::Column => {
                let guard = if self.one_in(3) { Some(self.steady()) } else { None };
                let (access, field) = (Access::U32, load.field / 4 * 4);
                let offset = self.rng.i32(-2..=6);
                Stmt::Put(Load { access, field, offset, guard, once: false, ..load.clone() })
            }
            4 if place.uniform => Stmt::Fence(self.pick(&[Fence::Block, Fence::Warp])),
            5 if place.uniform && self.kernel.threads() <= 32 => {
                Stmt::Publish(self.pick(&[Barrier::Block, Barrier::Warp]))
            }
            6 => Stmt::Fence(self.pick(&[Fence::Membar, Fence::AcquireRelease])),
            // A barrier must not stand behind the one or the other where all threads come by.
            7 if !place.uniform && place.loops > 0 => Stmt::Continue(self.condition()),
            8 if place.may_break => Stmt::Break(self.condition()),
            _ => self.detail(place, false),
        }
    }

    /// Consecutive loads of each lane.
    fn group(&mut self, place: Place, list: &mut Vec<Stmt>) {
        let shift = self.kernel.shift;
        let tight = self.rng.bool();
        let array = if tight { Array::Tight } else { self.pick(&[Array::A, Array::B]) };
        let unit = self.pick(&[8, 12, 16, 16, 16, 32]);
        let accesses: &[Access] = match (unit, tight && !shift.is_multiple_of(8)) {
            (12, _) | (_, true) => {
                &[Access::F32, Access::F32, Access::U32, Access::U16, Access::U8]
            }
            _ => &[Access::F32, Access::F32, Access::U32, Access::F64, Access::V2F32, Access::S16],
        };
        let access = self.pick(accesses);
        let var = self.pick(&[Var::X, Var::X, Var::Linear, Var::TidX]);
        let mut first = self.plain(array, vec![(1, var)]);
        (first.unit, first.access) = (unit, access);
        first.offset = self.rng.i32(-1..=1);
        if self.one_in(4) {
            first.guard = Some(self.steady());
        }
        let whole = unit / access.bytes();
        let count = match self.one_in(4) {
            true => self.rng.u32(1..=whole),
            false => whole,
        };
        let start = self.rng.u32(0..=whole - count);
        let mut fields: Vec<u32> = (start..start + count.min(8)).collect();
        if self.one_in(4) {
            self.rng.shuffle(&mut fields);
        }
        let troubled = self.one_in(6);
        for field in fields {
            if troubled && self.one_in(3) {
                list.push(self.detail(place, false));
            }
            let mut load = Load { field: field * access.bytes(), ..first.clone() };
            if self.one_in(24) {
                load.guard = Some(self.steady());
            }
            list.push(Stmt::Load(load));
        }
    }

    /// A row: loads at small distances from lane to lane.
    fn taps(&mut self, place: Place, list: &mut Vec<Stmt>) {
        let tight = self.one_in(3);
        let array = if tight { Array::Tight } else { self.pick(&[Array::A, Array::B]) };
        let unit = self.pick(&[4, 4, 4, 4, 2, 1, 8]);
        let access = match unit {
            1 => self.pick(&[Access::U8, Access::S8]),
            2 => self.pick(&[Access::U16, Access::S16Wide]),
            8 if !tight || self.kernel.shift.is_multiple_of(8) => {
                self.pick(&[Access::F64, Access::U64, Access::V2F32])
            }
            _ => self.pick(&[Access::F32, Access::F32, Access::U32]),
        };
        let pitch = self.rng.i32(1..60);
        let terms = match self.rng.u8(..8) {
            0..=4 => vec![(1, self.pick(&[Var::X, Var::X, Var::Linear, Var::TidX]))],
            5 | 6 => vec![(1, Var::TidX), (pitch, Var::TidY)],
            _ => vec![(self.pick(&[2, -1, 32]), Var::X)],
        };
        let step = terms[0].0;
        let mut first = self.plain(array, terms);
        (first.unit, first.access) = (unit, access);
        first.past_l1 = self.rng.bool();
        let looped = place.loops == 0 && self.one_in(5);
        if looped {
            first.terms.push((self.pick(&[1, 2, 32]), Var::Iteration));
        }
        let mut rows = Vec::new();
        let troubled = self.one_in(4);
        let agree = Place { uniform: place.uniform, depth: 1, loops: 1, may_break: false };
        for _ in 0..self.rng.u32(3..=5) {
            if troubled && self.one_in(3) {
                let inside = if looped { agree } else { place };
                rows.push(self.detail(inside, false));
            }
            let reach = if self.one_in(10) { 14 } else { 3 };
            let offset = self.rng.i32(-reach..=reach);
            let offset = if step.abs() == 2 { 2 * (offset / 2) } else { offset };
            let mut load = Load { offset, ..first.clone() };
            if self.one_in(20) {
                load.guard = Some(self.steady());
            }
            rows.push(Stmt::Load(load));
        }
        if looped {
            let trips = self.pick(&[Trips::N, Trips::Constant(3), Trips::Beyond(1)]);
            list.push(Stmt::Loop(Loop {
                trips,
                step: 1,
                bottom: self.rng.bool(),
                entered: None,
                carried_from_tid: false,
                moving: None,
                body: rows,
            }));
        } else if self.one_in(5) {
            let condition = self.steady();
            // What needs all threads may not stand behind a condition that some fail.
            let safe = place.uniform && uniform(condition);
            if !troubled || safe {
                list.push(Stmt::If { condition, then: rows, otherwise: Vec::new() });
            } else {
                list.append(&mut rows);
            }
        } else {
            list.append(&mut rows);
        }
    }
}
