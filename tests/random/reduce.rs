//! Makes a kernel smaller as long as it still fails: first statements go, then the remaining ones become simpler, then
//! the launch becomes smaller; again, until nothing more can go.

use super::kernel::{
    Access, Array, Change, Condition, Destination, Kernel, Load, Loop, Own, Spelling, Stmt, Test,
    Trips, Var,
};

/// Kernels that are tried at most.
const MAX_TRIALS: usize = 4000;

/// The smallest kernel found that still fails.
pub fn reduce(kernel: &Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut reducer = Reducer { kernel: kernel.clone(), fails, trials: 0 };
    loop {
        let before = reducer.kernel.clone();
        reducer.statements();
        reducer.all_loads();
        reducer.details();
        reducer.shape();
        if reducer.kernel == before || reducer.trials >= MAX_TRIALS {
            return reducer.kernel;
        }
    }
}

struct Reducer<'f> {
    kernel: Kernel,
    fails: &'f mut dyn FnMut(&Kernel) -> bool,
    trials: usize,
}

impl Reducer<'_> {
    /// Takes a smaller kernel if it fails too.
    fn take(&mut self, smaller: Kernel) -> bool {
        self.trials += 1;
        let better = smaller != self.kernel && self.trials <= MAX_TRIALS && (self.fails)(&smaller);
        if better {
            self.kernel = smaller;
        }
        better
    }

    /// Takes out runs of statements, long ones first, and puts the parts of a statement in its place.
    fn statements(&mut self) {
        let mut list = 0;
        while list < lists(&mut self.kernel.body) {
            let mut run = length(&mut self.kernel.body, list);
            while run > 0 {
                let mut at = 0;
                while at + run <= length(&mut self.kernel.body, list) {
                    let mut smaller = self.kernel.clone();
                    edit(&mut smaller.body, list, &mut |list| {
                        list.drain(at..at + run);
                    });
                    if !self.take(smaller) {
                        at += 1;
                    }
                }
                run /= 2;
            }
            let mut at = 0;
            while at < length(&mut self.kernel.body, list) {
                if !self.unwrap(list, at) {
                    at += 1;
                }
            }
            list += 1;
        }
    }

    /// Puts a list inside a statement in its place.
    fn unwrap(&mut self, list: usize, at: usize) -> bool {
        let mut inner: Vec<Vec<Stmt>> = Vec::new();
        edit(&mut self.kernel.body, list, &mut |list| {
            inner = inside(&mut list[at]).into_iter().map(|part| part.clone()).collect();
        });
        inner.into_iter().any(|part| {
            let mut smaller = self.kernel.clone();
            edit(&mut smaller.body, list, &mut |list| {
                list.splice(at..=at, part.iter().cloned());
            });
            self.take(smaller)
        })
    }

    /// Makes all loads simpler in the same way: what two of them have in common often has to stay
    /// common.
    fn all_loads(&mut self) {
        let changes: [fn(&mut Load); 7] = [
            |load| load.spelling = Spelling::Immediate,
            |load| load.destination = Destination::Fresh,
            |load| load.generic = false,
            |load| load.read_only = false,
            |load| load.signed |= load.array != Array::Far,
            |load| load.terms = vec![(1, Var::TidX)],
            |load| {
                if matches!(load.array, Array::A | Array::B) {
                    (load.access, load.unit, load.field) = (Access::U32, 4, 0);
                }
            },
        ];
        for change in changes {
            let mut smaller = self.kernel.clone();
            visit(&mut smaller.body, &mut |list| {
                for statement in list {
                    if let Stmt::Load(load) = statement {
                        change(load);
                    }
                }
            });
            self.take(smaller);
        }
    }

    /// Makes single statements simpler.
    fn details(&mut self) {
        for list in 0..lists(&mut self.kernel.body) {
            for at in 0..length(&mut self.kernel.body, list) {
                let mut again = true;
                while again {
                    let mut simpler = Vec::new();
                    edit(&mut self.kernel.body, list, &mut |list| simpler = simplified(&list[at]));
                    again = simpler.into_iter().any(|statement| {
                        let mut smaller = self.kernel.clone();
                        edit(&mut smaller.body, list, &mut |list| list[at] = statement.clone());
                        self.take(smaller)
                    });
                }
            }
        }
    }

    /// Makes the launch smaller.
    fn shape(&mut self) {
        let kernel = self.kernel.clone();
        self.take(Kernel { grid: [1; 3], ..kernel });
        let [x, y, z] = self.kernel.block;
        for block in [
            [1, 1, 1],
            [32, 1, 1],
            [33, 1, 1],
            [x.min(64), 1, 1],
            [x, y, 1],
            [x, y.min(2), z.min(2)],
            [16.min(x), y, z],
            [x.div_ceil(2), y, z],
            [x - 1, y, z],
        ] {
            let smaller = block.iter().product::<u32>() < self.kernel.threads();
            if smaller && block.iter().all(|&size| size > 0) {
                let kernel = self.kernel.clone();
                self.take(Kernel { block, ..kernel });
            }
        }
        let kernel = self.kernel.clone();
        self.take(Kernel { required: false, ..kernel });
        for smaller in [0, self.kernel.n / 2, self.kernel.n.saturating_sub(1)] {
            let kernel = self.kernel.clone();
            self.take(Kernel { n: smaller, ..kernel });
        }
        for smaller in [
            Kernel { shift: 0, ..self.kernel.clone() },
            Kernel { declared: false, ..self.kernel.clone() },
            Kernel { target: 80, ..self.kernel.clone() },
        ] {
            self.take(smaller);
        }
        for smaller in [0, self.kernel.far / 2] {
            let kernel = self.kernel.clone();
            self.take(Kernel { far: smaller, ..kernel });
        }
        if self.kernel.seed > 1 {
            let kernel = self.kernel.clone();
            self.take(Kernel { seed: kernel.seed & 1, ..kernel });
        }
    }
}

/// The lists of statements right inside a statement.
fn inside(statement: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match statement {
        Stmt::If { then, otherwise, .. } => vec![then, otherwise],
        Stmt::Loop(looping) => vec![&mut looping.body],
        Stmt::Scope(body) => vec![body],
        Stmt::Switch { cases, .. } => cases.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// Visits a list and all lists inside of it, outer ones first.
fn visit(list: &mut Vec<Stmt>, look: &mut dyn FnMut(&mut Vec<Stmt>)) {
    look(list);
    for statement in list {
        for part in inside(statement) {
            visit(part, look);
        }
    }
}

/// How many lists there are.
fn lists(body: &mut Vec<Stmt>) -> usize {
    let mut count = 0;
    visit(body, &mut |_| count += 1);
    count
}

/// Changes the list of a number.
fn edit(body: &mut Vec<Stmt>, wanted: usize, change: &mut dyn FnMut(&mut Vec<Stmt>)) {
    let mut number = 0;
    visit(body, &mut |list| {
        if number == wanted {
            change(list);
        }
        number += 1;
    });
}

/// Statements in the list of a number.
fn length(body: &mut Vec<Stmt>, wanted: usize) -> usize {
    let mut length = 0;
    edit(body, wanted, &mut |list| length = list.len());
    length
}

/// Statements that are simpler in one detail.
fn simplified(statement: &Stmt) -> Vec<Stmt> {
    match statement {
        Stmt::Load(load) => loads(load).into_iter().map(Stmt::Load).collect(),
        Stmt::Own(own) => [
            Own { guard: None, ..*own },
            Own { how: Change::Store, ..*own },
            Own { word: 0, ..*own },
        ]
        .into_iter()
        .chain(own.guard.iter().flat_map(|guard| {
            conditions(*guard).into_iter().map(|guard| Own { guard: Some(guard), ..*own })
        }))
        .filter(|simpler| simpler != own)
        .map(Stmt::Own)
        .collect(),
        Stmt::If { condition, then, otherwise } => {
            let empty =
                Stmt::If { condition: *condition, then: then.clone(), otherwise: Vec::new() };
            let rest = conditions(*condition).into_iter().map(|condition| Stmt::If {
                condition,
                then: then.clone(),
                otherwise: otherwise.clone(),
            });
            std::iter::once(empty).chain(rest).filter(|simpler| simpler != statement).collect()
        }
        Stmt::Loop(looping) => loops(looping).into_iter().map(Stmt::Loop).collect(),
        Stmt::Exit(condition) => conditions(*condition).into_iter().map(Stmt::Exit).collect(),
        Stmt::Break(condition) => conditions(*condition).into_iter().map(Stmt::Break).collect(),
        Stmt::Continue(condition) => {
            conditions(*condition).into_iter().map(Stmt::Continue).collect()
        }
        Stmt::Put(load) => loads(load).into_iter().map(Stmt::Put).collect(),
        Stmt::Fields(fields) => (0..fields.len())
            .flat_map(|at| {
                let mut fewer = fields.clone();
                fewer.remove(at);
                let mut plain = fields.clone();
                plain[at].guard = None;
                [fewer, plain]
            })
            .filter(|simpler| simpler != fields)
            .map(Stmt::Fields)
            .collect(),
        _ => Vec::new(),
    }
}

fn conditions(condition: Condition) -> Vec<Condition> {
    let tests = match condition.test {
        Test::Less(bound) if bound > 1 => vec![Test::Less(1), Test::Less(bound / 2)],
        Test::Bit(bit) if bit > 0 => vec![Test::Bit(0)],
        _ => Vec::new(),
    };
    let plain = (condition.var != Var::TidX).then_some(Condition { var: Var::TidX, ..condition });
    let positive = condition.negated.then_some(Condition { negated: false, ..condition });
    tests
        .into_iter()
        .map(|test| Condition { test, ..condition })
        .chain(plain)
        .chain(positive)
        .collect()
}

fn loops(looping: &Loop) -> Vec<Loop> {
    let with = |change: &dyn Fn(&mut Loop)| {
        let mut simpler = looping.clone();
        change(&mut simpler);
        simpler
    };
    [
        with(&|l| l.moving = None),
        with(&|l| l.entered = None),
        with(&|l| l.step = 1),
        with(&|l| l.bottom = true),
        with(&|l| l.carried_from_tid = false),
        with(&|l| {
            if !matches!(l.trips, Trips::Constant(0..=2)) {
                l.trips = Trips::Constant(2);
            }
        }),
        with(&|l| {
            if l.trips != Trips::Constant(0) {
                l.trips = Trips::Constant(1);
            }
        }),
    ]
    .into_iter()
    .filter(|simpler| simpler != looping)
    .collect()
}

fn loads(load: &Load) -> Vec<Load> {
    let mut simpler = Vec::new();
    let mut with = |change: &dyn Fn(&mut Load)| {
        let mut one = load.clone();
        change(&mut one);
        if one != *load {
            simpler.push(one);
        }
    };
    with(&|l| l.guard = None);
    with(&|l| l.volatile = false);
    with(&|l| l.past_l1 = false);
    with(&|l| l.array = if l.array == Array::Tight { Array::A } else { l.array });
    with(&|l| l.generic = false);
    with(&|l| l.keep = false);
    with(&|l| l.destination = Destination::Fresh);
    with(&|l| l.spelling = Spelling::Immediate);
    with(&|l| l.signed |= l.array != Array::Far);
    for index in 0..load.terms.len() {
        with(&|l| {
            l.terms.remove(index);
        });
        with(&|l| l.terms[index].0 = 1);
        with(&|l| l.terms[index].1 = Var::TidX);
    }
    with(&|l| l.offset = 0);
    with(&|l| l.offset /= 2);
    with(&|l| l.offset = l.offset.signum());
    with(&|l| l.field = 0);
    with(&|l| {
        let resized = matches!(l.array, Array::A | Array::B);
        if l.access != Access::U32 && (resized || l.access.bytes() >= 4) {
            l.access = Access::U32;
            l.unit = if resized { 4 } else { l.unit };
            l.field = 0;
        }
    });
    with(&|l| l.array = if l.array == Array::B { Array::A } else { l.array });
    with(&|l| l.read_only = false);
    if let Some(guard) = load.guard {
        for condition in conditions(guard) {
            with(&|l| l.guard = Some(condition));
        }
    }
    simpler
}
