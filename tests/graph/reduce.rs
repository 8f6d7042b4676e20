//! Makes a kernel smaller as long as it still fails: ways go, then what blocks do, then conditions
//! and registers become simpler; again, until nothing more can go.

use super::emit::is_empty;
use super::kernel::{BlockId, Condition, End, Item, Kernel, Leave, Start, Test, Update};

/// Kernels that are tried at most.
const MAX_TRIALS: usize = 2000;

/// The smallest kernel found that still fails.
pub fn reduce(kernel: &Kernel, fails: &mut dyn FnMut(&Kernel) -> bool) -> Kernel {
    let mut best = kernel.clone();
    let mut trials = 0;
    loop {
        let before = best.clone();
        let mut at = 0;
        // Each step is tried on what the steps before it have left.
        loop {
            let steps = smaller(&best);
            let Some(next) = steps.get(at) else { break };
            trials += 1;
            if trials > MAX_TRIALS {
                return best;
            }
            if *next != best && fails(next) {
                best = next.clone();
            } else {
                at += 1;
            }
        }
        if best == before {
            return best;
        }
    }
}

/// Kernels with one part less.
fn smaller(kernel: &Kernel) -> Vec<Kernel> {
    let mut all = Vec::new();
    let reachable = kernel.reachable();
    for &block in &reachable {
        ways(kernel, block, &mut all);
    }
    for &block in &reachable {
        if kernel.blocks[block].items.len() > 1 {
            with(kernel, &mut all, |k| k.blocks[block].items.clear());
        }
    }
    for &block in &reachable {
        for item in 0..kernel.blocks[block].items.len() {
            items(kernel, block, item, &mut all);
        }
    }
    launch(kernel, &mut all);
    all
}

/// A change of a copy.
fn with(kernel: &Kernel, all: &mut Vec<Kernel>, change: impl FnOnce(&mut Kernel)) {
    let mut next = kernel.clone();
    change(&mut next);
    all.push(next);
}

fn ways(kernel: &Kernel, block: BlockId, all: &mut Vec<Kernel>) {
    let targets = kernel.blocks[block].targets();
    if targets.len() > 1 {
        for &to in &targets {
            with(kernel, all, |k| k.blocks[block].end = End::Jump(to));
        }
    }
    // Past blocks that only jump.
    for (side, &to) in targets.iter().enumerate() {
        if is_empty(kernel, to)
            && let [behind] = kernel.blocks[to].targets()[..]
            && behind != to
        {
            with(kernel, all, |k| {
                if let Some(target) = k.blocks[block].targets_mut().into_iter().nth(side) {
                    *target = behind;
                }
            });
        }
    }
    // A block that is entered from here alone becomes a part of this one.
    if let [to] = targets[..]
        && to != 0
        && to != block
        && kernel
            .blocks
            .iter()
            .map(|b| b.targets().iter().filter(|&&t| t == to).count())
            .sum::<usize>()
            == 1
    {
        with(kernel, all, |k| {
            let mut other = k.blocks[to].clone();
            k.blocks[block].items.append(&mut other.items);
            k.blocks[block].end = other.end;
            k.blocks[to].end = End::Leave(Leave::Trap);
        });
    }
    match &kernel.blocks[block].end {
        End::Branch { when, yes, no } => {
            let (yes, no) = (*yes, *no);
            for simpler in conditions(*when) {
                with(kernel, all, |k| k.blocks[block].end = End::Branch { when: simpler, yes, no });
            }
        }
        End::Index { by, to, .. } => {
            let by = *by;
            if to.len() > 2 {
                with(kernel, all, |k| {
                    k.blocks[block].end = End::Index { by, to: to[..2].to_vec(), limit: None };
                });
            }
            with(kernel, all, |k| {
                let when = Condition::of(by, false);
                k.blocks[block].end = End::Branch { when, yes: to[1], no: to[0] };
            });
        }
        End::Leave(leave) => {
            for other in [Leave::Exit { store: false }, Leave::Exit { store: true }] {
                if *leave != Leave::Last && *leave != other {
                    with(kernel, all, |k| k.blocks[block].end = End::Leave(other));
                }
            }
        }
        End::Jump(_) => {}
    }
}

/// Conditions that are simpler to read.
fn conditions(when: Condition) -> Vec<Condition> {
    let mut simpler = Vec::new();
    let rank = |test: Test| match test {
        Test::Always | Test::Never | Test::Spent => 0,
        Test::Thread(_) | Test::Parameter(_) => 1,
        Test::Mixed(..) | Test::Bits(..) => 2,
        _ => 3,
    };
    let mut tests = vec![Test::Always, Test::Never, Test::Parameter(3), Test::Thread(1)];
    if let Test::Sum(register, _) | Test::Mixed(register, _) = when.test {
        tests.push(Test::Mixed(register, 1));
    }
    for test in tests {
        if rank(test) < rank(when.test)
            || matches!((test, when.test), (Test::Mixed(..), Test::Mixed(..)))
        {
            simpler.push(Condition { test, ..when });
        }
    }
    if when.limit.is_some() {
        simpler.push(Condition { limit: None, ..when });
    }
    if when.negated {
        simpler.push(Condition { negated: false, ..when });
    }
    simpler
}

fn items(kernel: &Kernel, block: BlockId, item: usize, all: &mut Vec<Kernel>) {
    with(kernel, all, |k| {
        k.blocks[block].items.remove(item);
    });
    match &kernel.blocks[block].items[item] {
        Item::Load(load) => {
            for word in 0..load.words.len() {
                if load.words.len() > 1 {
                    with(kernel, all, |k| {
                        if let Item::Load(load) = &mut k.blocks[block].items[item] {
                            load.words.remove(word);
                        }
                    });
                }
            }
            if load.row.is_some() {
                with(kernel, all, |k| {
                    if let Item::Load(load) = &mut k.blocks[block].items[item] {
                        load.row = None;
                    }
                });
            }
        }
        Item::Step(register, update) if *update != Update::Add(1) => {
            with(kernel, all, |k| {
                k.blocks[block].items[item] = Item::Step(*register, Update::Add(1));
            });
        }
        _ => {}
    }
}

fn launch(kernel: &Kernel, all: &mut Vec<Kernel>) {
    with(kernel, all, |k| k.grid = 1);
    with(kernel, all, |k| k.threads = 32);
    for n in [1, 2, 3] {
        if kernel.n > n {
            with(kernel, all, |k| k.n = n);
        }
    }
    for register in 0..kernel.carried.len() {
        if kernel.carried[register] != Start::Number(0) {
            with(kernel, all, |k| k.carried[register] = Start::Number(0));
        }
    }
}
