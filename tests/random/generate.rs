//! One seed, one kernel.
//!
//! Two things are aimed at: neighbouring loads that a rewrite may exchange, and between and around
//! them the details that forbid it (stores, barriers, divergence, values that are not affine, ...).
//! Races cannot arise: a thread writes its own slot and its own output; words that others read are
//! written between two barriers, and only where all threads of the block come by.

use fastrand::Rng;

use super::kernel::{
    Access, Array, Barrier, Change, Collective, Condition, Definition, Destination, Fence, Kernel,
    Load, Loop, MAX_OFFSET, MAX_TRIPS, Moving, Own, Spelling, Stmt, Test, Trips, Var,
};

/// Block shapes that are tried more often than others.
pub const BLOCKS: [[u32; 3]; 10] = [
    [1, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [64, 1, 1],
    [96, 1, 1],
    [32, 2, 1],
    [16, 4, 1],
    [48, 3, 1],
    [8, 8, 4],
];
/// Loops inside each other.
const MAX_LOOPS: u32 = 2;
/// Lists of statements inside each other.
const MAX_DEPTH: u32 = 4;
/// Local memory is filled word by word; larger blocks would take too long.
const MAX_LOCAL_THREADS: u32 = 64;

/// What surrounds the statements that are being made.
#[derive(Clone, Copy)]
pub struct Place {
    /// All threads of the block that have not ended come by.
    pub uniform: bool,
    pub depth: u32,
    pub loops: u32,
    /// The innermost loop may be left by a `Break`.
    pub may_break: bool,
}

/// The kernel of a seed.
pub fn kernel(seed: u64) -> Kernel {
    let mut rng = Rng::with_seed(seed);
    let block = match rng.u8(..8) {
        0 => [rng.u32(1..=80), rng.u32(1..=3), 1],
        _ => BLOCKS[rng.usize(..BLOCKS.len())],
    };
    let mut kernel = Kernel {
        grid: [rng.u32(1..=2), rng.u32(1..=2), 1],
        block,
        required: rng.u8(..8) == 0,
        n: rng.u32(0..=MAX_TRIPS),
        far: rng.u32(0..48),
        seed,
        shift: 0,
        declared: false,
        target: 80,
        body: Vec::new(),
    };
    let place = Place { uniform: true, depth: 0, loops: 0, may_break: false };
    let mut generator = Generator { rng: &mut rng, kernel: &kernel, budget: 14 };
    kernel.body = generator.list(place);
    kernel
}

pub struct Generator<'a> {
    pub rng: &'a mut Rng,
    pub kernel: &'a Kernel,
    /// Statements that may still be made.
    pub budget: i32,
}

impl Generator<'_> {
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }

    pub fn one_in(&mut self, n: u8) -> bool {
        self.rng.u8(..n) == 0
    }

    fn list(&mut self, place: Place) -> Vec<Stmt> {
        let mut list = Vec::new();
        let wanted = self.rng.u32(1..=if place.depth == 0 { 5 } else { 2 });
        for _ in 0..wanted {
            if self.budget > 0 {
                self.statement(place, &mut list);
            }
        }
        list
    }

    pub fn statement(&mut self, place: Place, list: &mut Vec<Stmt>) {
        self.budget -= 1;
        let nested = place.depth < MAX_DEPTH;
        let inner = Place { depth: place.depth + 1, ..place };
        match self.rng.u8(..24) {
            0..=11 => self.row(place, list, None),
            12..=14 if place.loops < MAX_LOOPS && nested => {
                let looping = self.looping(inner);
                list.push(Stmt::Loop(looping));
                if self.one_in(3) {
                    self.row(place, list, Some(Var::After));
                }
            }
            15..=17 if nested => {
                let condition = self.condition();
                let inside = Place { uniform: place.uniform && uniform(condition), ..inner };
                let then = self.list(inside);
                let otherwise = if self.rng.bool() { self.list(inside) } else { Vec::new() };
                list.push(Stmt::If { condition, then, otherwise });
            }
            18 if nested => list.push(Stmt::Scope(self.list(inner))),
            19 if nested => {
                let on = self.var();
                let inside = Place { uniform: false, ..inner };
                let cases = (0..self.rng.usize(2..=3)).map(|_| self.list(inside)).collect();
                list.push(Stmt::Switch { on, cases });
            }
            20 if self.rng.bool() => list.push(Stmt::Exit(self.condition())),
            _ => {
                let detail = self.detail(place, false);
                let defines = matches!(detail, Stmt::Define(_));
                list.push(detail);
                if defines && self.rng.bool() {
                    self.row(place, list, Some(Var::Defined));
                }
            }
        }
    }

    /// Loads that differ in their offsets, with something between some of them; now and then all
    /// but the first are in a loop. `with` becomes a part of the index.
    fn row(&mut self, place: Place, list: &mut Vec<Stmt>, with: Option<Var>) {
        let mut first = self.load();
        if let Some(var) = with {
            if !matches!(first.array, Array::A | Array::B | Array::Far) {
                first.array = Array::A;
            }
            first.terms.push((1, var));
        }
        let written = matches!(first.array, Array::Own | Array::Published);
        let previous = first.clone();
        list.push(Stmt::Load(first));
        let looped = place.loops < MAX_LOOPS && place.depth < MAX_DEPTH && self.one_in(10);
        if looped {
            let inside = Place { depth: place.depth + 1, loops: place.loops + 1, ..place };
            let mut looping = self.looping(inside);
            looping.body.clear();
            let uniform = place.uniform && !matches!(looping.trips, Trips::Of(_));
            let inside = Place { uniform, may_break: false, ..inside };
            self.rest_of_row(inside, &mut looping.body, previous, written);
            list.push(Stmt::Loop(looping));
        } else {
            self.rest_of_row(place, list, previous, written);
        }
    }

    fn rest_of_row(
        &mut self,
        place: Place,
        list: &mut Vec<Stmt>,
        mut previous: Load,
        written: bool,
    ) {
        let troubled = written || self.one_in(3);
        for _ in 0..self.rng.u32(1..=4) {
            if troubled && self.one_in(3) {
                let detail = self.detail(place, written);
                list.push(detail);
            }
            let mut next = previous.clone();
            self.vary(&mut next);
            list.push(match place.depth < MAX_DEPTH && self.one_in(16) {
                true => Stmt::Scope(vec![Stmt::Load(next.clone())]),
                false => Stmt::Load(next.clone()),
            });
            previous = next;
        }
        if written && self.rng.bool() {
            let detail = self.detail(place, true);
            list.push(detail);
        }
    }

    /// Another load of the same row.
    fn vary(&mut self, load: &mut Load) {
        let reach = if self.one_in(8) { MAX_OFFSET as i32 } else { 4 };
        load.offset = self.rng.i32(-reach..=reach);
        if self.one_in(3) {
            load.destination = self.destination();
        }
        if self.one_in(4) && load.spelling != Spelling::Moving {
            load.spelling = self.spelling();
        }
        match self.rng.u8(..20) {
            0 => load.guard = Some(self.condition()),
            1 => load.guard = None,
            // The unit of `Far` goes with the sign.
            2 if load.array != Array::Far => load.signed ^= true,
            3 => load.volatile = self.one_in(3),
            4 => load.read_only ^= true,
            5 => (load.access, load.field) = self.access(load.unit),
            6 if matches!(load.array, Array::A | Array::B | Array::Far) => {
                let var = self.pick(&[Var::TidX, Var::Loaded, Var::Iteration, Var::Defined]);
                load.terms.push((1, var));
            }
            7 => load.keep = true,
            _ => {}
        }
        if load.array == Array::Own {
            (load.access, load.field) = self.access(super::kernel::SLOT);
        }
    }

    pub fn load(&mut self) -> Load {
        let array = match self.rng.u8(..16) {
            0..=6 => Array::A,
            7..=9 => Array::B,
            10 | 11 => Array::Own,
            12 | 13 => Array::Published,
            14 => Array::Far,
            _ if self.kernel.threads() <= MAX_LOCAL_THREADS => Array::Either,
            _ => Array::A,
        };
        let signed = self.rng.bool();
        let unit = match array {
            Array::Own => super::kernel::SLOT,
            // What brings a wrapped index to the buffer next door, see `launch`.
            Array::Far => {
                if signed {
                    32
                } else {
                    16
                }
            }
            Array::Published | Array::Either => 4,
            _ => self.pick(&[1, 2, 4, 4, 4, 8, 8, 12, 16]),
        };
        let (access, field) = self.access(unit);
        let terms = match array {
            Array::Published => vec![(1, Var::Linear)],
            Array::Either => vec![(1, Var::TidX)],
            _ => self.terms(),
        };
        Load {
            array,
            terms,
            offset: self.rng.i32(-3..=3),
            unit,
            field,
            access,
            spelling: self.spelling(),
            signed,
            read_only: self.rng.bool(),
            generic: self.one_in(6),
            volatile: false,
            past_l1: false,
            once: false,
            guard: if self.one_in(6) { Some(self.condition()) } else { None },
            destination: self.destination(),
            keep: self.one_in(4),
        }
    }

    /// An access, and the byte of the unit at which it starts.
    fn access(&mut self, unit: u32) -> (Access, u32) {
        use Access::{
            F32, F64, S8, S16, S16Wide, S32, U8, U16, U32, U64, V2F32, V2F64, V2U32, V4F32, V4U8,
        };
        let access = match (unit, self.rng.u8(..8)) {
            (1, _) => self.pick(&[U8, U8, S8]),
            (2, _) => self.pick(&[U16, S16, S16Wide]),
            (4 | 12, 0) => self.pick(&[U8, U16, V4U8]),
            (4 | 12, _) => self.pick(&[F32, F32, U32, S32]),
            (8, _) => self.pick(&[F64, U64, V2F32, V2U32, F32, F32]),
            _ => self.pick(&[V4F32, V2F64, F32, F64, U64, V2U32, U8, S16Wide]),
        };
        let fields = unit / access.bytes();
        let field = self.rng.u32(..fields.max(1)) * access.bytes();
        (access, field)
    }

    fn terms(&mut self) -> Vec<(i32, Var)> {
        let pitch = self.rng.i32(1..60);
        let mut terms = match self.rng.u8(..10) {
            0..=2 => vec![(1, Var::X)],
            3 => vec![(1, Var::Place), (pitch, Var::Row)],
            4 | 5 => vec![(1, Var::TidX), (pitch, Var::TidY)],
            6 => vec![(1, Var::TidX), (pitch, Var::TidY), (64, Var::TidZ)],
            7 => vec![(1, Var::Linear)],
            8 => vec![(1, Var::TidX), (pitch, Var::CtaidY)],
            _ => vec![(1, Var::Lane)],
        };
        if self.one_in(5) {
            terms[0].0 = self.pick(&[2, 3, 4, -1, -2]);
        }
        if self.one_in(3) {
            let coefficient = self.pick(&[1, 1, 1, 2, 32, -1]);
            let var = self.pick(&[
                Var::Iteration,
                Var::Iteration,
                Var::Outer,
                Var::Carried,
                Var::After,
                Var::Defined,
                Var::Cursor,
                Var::Loaded,
                Var::N,
            ]);
            terms.push((coefficient, var));
        }
        terms
    }

    fn spelling(&mut self) -> Spelling {
        use Spelling::{Chain, Fused, Immediate, Moving, Wide};
        self.pick(&[Immediate, Immediate, Immediate, Chain, Chain, Fused, Wide, Moving])
    }

    fn destination(&mut self) -> Destination {
        use Destination::{Address, Fresh, Pool};
        self.pick(&[Fresh, Fresh, Fresh, Fresh, Pool, Address])
    }

    pub fn var(&mut self) -> Var {
        self.pick(&[
            Var::TidX,
            Var::TidX,
            Var::X,
            Var::TidY,
            Var::Lane,
            Var::N,
            Var::CtaidX,
            Var::Iteration,
            Var::Loaded,
            Var::Defined,
            Var::After,
        ])
    }

    pub fn condition(&mut self) -> Condition {
        let var = self.var();
        let test = match self.rng.bool() {
            true => Test::Less(self.rng.u32(0..=self.kernel.most(var).min(40) + 1)),
            false => Test::Bit(self.rng.u32(..3)),
        };
        Condition { var, test, negated: self.rng.bool() }
    }

    fn looping(&mut self, place: Place) -> Loop {
        let trips = match self.rng.u8(..4) {
            0 => Trips::Constant(self.rng.u32(0..=MAX_TRIPS)),
            1 => Trips::N,
            2 => Trips::Constant(self.rng.u32(2..=MAX_TRIPS)),
            _ => Trips::Of(self.var()),
        };
        let may_break = self.one_in(4);
        let uniform = place.uniform && !matches!(trips, Trips::Of(_)) && !may_break;
        let moving = self.rng.bool().then(|| {
            let array = self.pick(&[Array::A, Array::B]);
            Moving { array, terms: self.terms(), step: self.rng.i32(1..6) }
        });
        let inside = Place { uniform, loops: place.loops + 1, may_break, ..place };
        Loop {
            trips,
            step: self.pick(&[1, 1, 1, 2, 8]),
            bottom: self.rng.bool(),
            entered: None,
            carried_from_tid: self.rng.bool(),
            moving,
            body: self.list(inside),
        }
    }

    /// Something that may take away what an earlier load knew; where the array is `written`, often
    /// something that writes.
    pub fn detail(&mut self, place: Place, written: bool) -> Stmt {
        let guard = if self.one_in(3) { Some(self.condition()) } else { None };
        let kind = if written && self.rng.bool() { self.rng.u8(..6) } else { self.rng.u8(..16) };
        match kind {
            0..=3 => {
                let how = match self.rng.u8(..6) {
                    0 | 1 => Change::Store,
                    2 => Change::StoreByte(self.rng.u32(..4)),
                    3 => Change::StoreVector,
                    4 => Change::Atomic,
                    _ => Change::Reduction,
                };
                Stmt::Own(Own { how, word: self.rng.u32(..4), guard })
            }
            4 | 5 if place.uniform => Stmt::Publish(match self.kernel.threads() <= 32 {
                true => self.pick(&[Barrier::Block, Barrier::Warp]),
                false => Barrier::Block,
            }),
            6 if place.uniform => Stmt::Fence(self.pick(&[
                Fence::Membar,
                Fence::AcquireRelease,
                Fence::Block,
                Fence::Warp,
            ])),
            7 if place.uniform => Stmt::Exchange(self.rng.u32(1..8)),
            8 => Stmt::Fence(self.pick(&[Fence::Membar, Fence::AcquireRelease])),
            9 => Stmt::Advance(self.rng.i32(1..=3)),
            10 if place.may_break => Stmt::Break(self.condition()),
            11 => {
                let condition = self.condition();
                Stmt::Collective(match self.rng.u8(..3) {
                    0 => Collective::ActiveMask,
                    1 => Collective::Ballot(condition),
                    _ => Collective::Shuffle(self.rng.u32(1..16)),
                })
            }
            12 if self.rng.bool() => Stmt::Call,
            12 => Stmt::CallStencil,
            13 => Stmt::Output(self.rng.u32(1..8)),
            _ => Stmt::Define(self.definition()),
        }
    }

    fn definition(&mut self) -> Definition {
        let condition = self.condition();
        let var = self.var();
        let (one, other) = (self.rng.u32(..64), self.rng.u32(..64));
        match self.rng.u8(..13) {
            0 | 1 => Definition::Merge(condition, one, other),
            12 => Definition::Choose(var, one.min(8), one.min(8) + other.min(20)),
            2 => Definition::Select(condition, one, other),
            3 => Definition::Bumped(condition),
            4 => Definition::Lane,
            5 => Definition::Vote(condition),
            6 => Definition::Shuffle(var, 1 << self.rng.u32(..5)),
            7 => Definition::Extract(var),
            8 => Definition::Square(var),
            9 => Definition::Gather(var),
            10 => Definition::Call(var),
            _ => Definition::Copy(var),
        }
    }
}

/// Whether all threads of a block are sure to agree.
pub fn uniform(condition: Condition) -> bool {
    matches!(condition.var, Var::N | Var::CtaidX | Var::CtaidY)
}
