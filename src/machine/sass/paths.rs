//! How often the blocks of a kernel are executed, where only the machine code is known.
//!
//! In: the blocks, and the cost of an execution of each. Out: the path of a warp from the entry to the end
//! ([`Followed`]). A loop is executed [`LOOP_ITERATIONS`] times, along one path from its header back to it; a loop around
//! others [`OUTER_ITERATIONS`] times. At a branch with two sides,
//!
//! - a side with instructions is followed if the other side is empty, unless it calls a function: ptxas inlines all
//!   calls but those of rare cases, such as the slow path of a division. `nanosleep` counts as a call: code that waits does
//!   it, and the version of a region that a rewriting has left as it was;
//! - if one side alone calls a function, the other one is followed, for the same reason;
//! - a side without memory accesses is an early exit, and the other side is followed;
//! - if the sides do different arithmetic, the longer one is followed;
//! - if they do the same arithmetic, they are two versions of one region. If the kernel is a rewriting of another one that
//!   is given, the version is followed that makes it differ more from that one: the other version is the original's. If it
//!   is the original and its rewriting is given, the version that makes it differ less from that one: the kernel may have had
//!   two versions before. Otherwise, or if both differ alike, the shorter one is followed.
//!
//! If the kernel is a rewriting of another one that has no shuffles, a side with shuffles is followed. Where a loop is left
//! towards such a side only by another way than the usual one, the shuffles do its last `SHUFFLED_ITERATIONS`.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

pub use super::regions::{Blocks, Histogram, SHUFFLES, Work};
use super::regions::{Component, Inside, Region, Regions};

/// Iterations of a loop whose trip count is not known.
pub const LOOP_ITERATIONS: u32 = 8;

/// The same of a loop around other loops: so that nested loops do not make a path of millions of instructions.
pub const OUTER_ITERATIONS: u32 = 2;

/// Kinds of instructions from here on are accesses to memory, and waits for their results.
pub const ACCESSES: u32 = 1 << 9;

/// Calls on the path that are followed, one in the other.
const MAX_CALLS: usize = 4;

/// A part of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A block, executed once.
    Block(usize),
    /// The iterations of a loop, and the parts of one of them.
    Loop(u32, Vec<Part>),
}

/// The path of a warp through a kernel and the functions that it calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Followed {
    /// Its parts, one behind the other.
    pub parts: Vec<Part>,
}

impl Followed {
    /// Executions of each of `count` blocks for each execution of the kernel by a warp.
    pub fn executions(&self, count: usize) -> Vec<f64> {
        let mut found = vec![0.0; count];
        let mut open: Vec<(&[Part], f64)> = vec![(&self.parts, 1.0)];
        while let Some((parts, times)) = open.pop() {
            for part in parts {
                match part {
                    Part::Block(at) => found[*at] += times,
                    Part::Loop(each, inner) => open.push((inner, times * f64::from(*each))),
                }
            }
        }
        found
    }
}

/// The instructions that the other version of a kernel executes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Counterpart<'h> {
    /// There is none.
    None,
    /// The kernel is the rewriting of this one.
    Original(&'h Histogram),
    /// The kernel is the original of this one.
    Rewriting(&'h Histogram),
}

/// For the name of a kernel, its other version.
pub type Counterparts<'h> = dyn Fn(&str) -> Counterpart<'h> + Sync + 'h;

/// Forks at which both paths are tried.
const MAX_FORKS: usize = 16;

/// The path through some blocks.
pub fn follow(blocks: &Blocks, counterpart: Counterpart<'_>) -> Followed {
    let shuffles_are_new =
        matches!(counterpart, Counterpart::Original(kinds) if !kinds.contains_key(&SHUFFLES));
    let (turned, functions) = (FxHashSet::default(), RefCell::default());
    let regions = Regions { blocks, shuffles_are_new };
    let mut paths = Paths { regions, turned, functions };
    let (mut found, mut forks) = paths.all();
    let (other, is_rewritten) = match counterpart {
        Counterpart::None => return found,
        Counterpart::Original(other) => (other, true),
        Counterpart::Rewriting(other) => (other, false),
    };
    let differs =
        |path: &Followed| distance(&executed(blocks, &path.executions(blocks.next.len())), other);
    let mut distance = differs(&found);
    let mut tried = FxHashSet::default();
    while let Some(&fork) = forks.iter().find(|fork| !tried.contains(*fork))
        && tried.len() < MAX_FORKS
    {
        tried.insert(fork);
        paths.turned.insert(fork);
        let (other, other_forks) = paths.all();
        let new = differs(&other);
        let is_better = if is_rewritten { new > distance } else { new < distance };
        if is_better {
            (found, forks, distance) = (other, other_forks, new);
        } else {
            paths.turned.remove(&fork);
        }
    }
    found
}

/// The instructions that a kernel executes, by kind.
pub fn executed(blocks: &Blocks, executions: &[f64]) -> Histogram {
    let mut sums = Histogram::new();
    for (kinds, times) in blocks.kinds.iter().zip(executions) {
        for (kind, count) in kinds {
            *sums.entry(*kind).or_default() += count * times;
        }
    }
    sums
}

/// By how many accesses to memory two histograms differ, the waits for their results among them, and by how many
/// instructions. (ptxas computes the addresses of both versions anew, so of two that differ in their accesses either may have
/// more of the original's arithmetic.)
fn distance(a: &Histogram, b: &Histogram) -> (f64, f64) {
    let of = |histogram: &Histogram, kind: &u32| histogram.get(kind).copied().unwrap_or(0.0);
    let only_b = b.keys().filter(|kind| !a.contains_key(kind));
    let all = a.keys().chain(only_b).filter(|kind| **kind != SHUFFLES);
    let differences = all.map(|kind| (*kind, (of(a, kind) - of(b, kind)).abs()));
    differences.fold((0.0, 0.0), |(accesses, all), (kind, difference)| match kind >= ACCESSES {
        true => (accesses + difference, all + difference),
        false => (accesses, all + difference),
    })
}

/// The paths through the blocks.
struct Paths<'w> {
    regions: Regions<'w>,
    /// The forks at which the longer one of two versions is followed.
    turned: FxHashSet<usize>,
    /// The functions that were met, by their first block.
    functions: RefCell<FxHashMap<usize, Rc<Region<Known>>>>,
}

/// A path through a region, and the turned forks among its members: nothing else changes it.
type Known = (Vec<usize>, Path);

/// The path that is followed through a part of the code.
#[derive(Clone, Default)]
struct Path {
    /// The blocks on it behind which two versions of one piece of code stand.
    forks: Vec<usize>,
    /// Its cycles.
    work: Work,
    /// Its parts.
    parts: Vec<Part>,
}

/// A block, or a loop with all of its blocks, on the path to the end of a part of the code.
struct Step {
    /// The path through it.
    own: Path,
    /// Its cycles from its beginning to the end of the part.
    rest: Work,
    /// The step that follows; `None` at the end.
    next: Option<usize>,
    /// Its last block in the text.
    last: usize,
    /// Whether two versions of one piece of code follow.
    is_fork: bool,
    /// The nearest step that all paths from here to the end go through; `None` if that is the end.
    join: Option<usize>,
    /// The length of the chain of joins from here: the join, its join, and so on.
    height: u32,
}

impl Paths<'_> {
    /// The path from the entry, and the forks that are met.
    fn all(&self) -> (Followed, Vec<usize>) {
        let mut forks = Vec::new();
        let parts = self.function(0, &mut Vec::new(), &mut forks);
        (Followed { parts }, forks)
    }

    /// The path through a function and its callees.
    fn function(&self, entry: usize, around: &mut Vec<usize>, forks: &mut Vec<usize>) -> Vec<Part> {
        if entry >= self.regions.blocks.next.len()
            || around.contains(&entry)
            || around.len() > MAX_CALLS
        {
            return Vec::new();
        }
        around.push(entry);
        let known = self.functions.borrow().get(&entry).cloned();
        let region = known.unwrap_or_else(|| {
            let region = Rc::new(self.regions.of_function(entry));
            self.functions.borrow_mut().insert(entry, Rc::clone(&region));
            region
        });
        let path = self.through(&region);
        let parts = self.with_calls(path.parts, around, forks);
        around.pop();
        forks.extend(path.forks);
        parts
    }

    fn with_calls(
        &self,
        parts: Vec<Part>,
        around: &mut Vec<usize>,
        forks: &mut Vec<usize>,
    ) -> Vec<Part> {
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Part::Block(at) => {
                    found.push(Part::Block(at));
                    for &(_, to) in self.regions.blocks.calls.iter().filter(|(from, _)| *from == at)
                    {
                        found.extend(self.function(to, around, forks));
                    }
                }
                Part::Loop(times, inner) => {
                    found.push(Part::Loop(times, self.with_calls(inner, around, forks)));
                }
            }
        }
        found
    }

    /// The path through a region from its entry.
    fn through(&self, region: &Region<Known>) -> Path {
        let mut turned: Vec<usize> = self.turned.intersection(&region.members).copied().collect();
        turned.sort_unstable();
        if let Some((of, path)) = &*region.known.borrow()
            && *of == turned
        {
            return path.clone();
        }
        let mut steps: Vec<Option<Step>> = Vec::with_capacity(region.components.len());
        for Component { part, next, last } in &region.components {
            let is_turned = match part {
                Inside::Block(at) => turned.contains(at),
                Inside::Loop(region, _) => turned.iter().any(|at| region.members.contains(at)),
            };
            let step =
                || Step { last: *last, ..Step::new(self.own(part), next, &steps, is_turned) };
            let step = (!next.is_empty()).then(step);
            steps.push(step);
        }
        let mut path = Path::default();
        let mut at = region.entry;
        while let Some(step) = at.and_then(|at| steps[at].as_mut()) {
            let own = std::mem::take(&mut step.own);
            path.work = path.work.plus(own.work, 1.0);
            path.forks.extend(own.forks);
            if step.is_fork {
                path.forks.push(step.last);
            }
            path.parts.extend(own.parts);
            at = step.next;
        }
        *region.known.borrow_mut() = Some((turned, path.clone()));
        path
    }

    /// The path through a block, or through all iterations of a loop.
    fn own(&self, part: &Inside<Known>) -> Path {
        let (region, shuffled) = match part {
            Inside::Block(at) => {
                let shuffles = self.regions.shuffles(*at);
                let work = Work { shuffles, ..self.regions.blocks.work[*at] };
                return Path { work, parts: vec![Part::Block(*at)], forks: Vec::new() };
            }
            Inside::Loop(region, shuffled) => (region, shuffled),
        };
        let Path { forks, work, parts } = self.through(region);
        let has_loops = parts.iter().any(|part| matches!(part, Part::Loop(..)));
        let times = if has_loops { OUTER_ITERATIONS } else { LOOP_ITERATIONS - shuffled };
        let work = Work::default().plus(work, f64::from(times));
        Path { forks, work, parts: vec![Part::Loop(times, parts)] }
    }
}

impl Step {
    /// The step in front of others; `None` is the end. `turned`: whether the longer one of two versions is followed.
    fn new(own: Path, next: &[Option<usize>], steps: &[Option<Step>], turned: bool) -> Step {
        let step = |at: usize| steps[at].as_ref();
        let height = |at: Option<usize>| at.and_then(step).map_or(0, |step| step.height);
        let joined = |at: Option<usize>| at.and_then(step).and_then(|step| step.join);
        let meet = |mut a: Option<usize>, mut b: Option<usize>| {
            while a != b {
                let of_a = height(a) >= height(b);
                let higher = if of_a { &mut a } else { &mut b };
                *higher = joined(*higher);
            }
            a
        };
        let join = next.iter().copied().reduce(meet).flatten();
        let rest = |at: Option<usize>| at.and_then(step).map_or(Work::default(), |step| step.rest);
        // The cost of a path up to the join with the others.
        let until = |at: Option<usize>| rest(at).plus(rest(join), -1.0);
        let (mut chosen, mut is_fork): (Option<Option<usize>>, bool) = (None, false);
        for &at in next {
            let Some(than) = chosen else {
                chosen = Some(at);
                continue;
            };
            let (new, old) = (until(at), until(than));
            let better = if at == join || than == join {
                let other = if at == join { old } else { new };
                (at == join) == (other.calls > 0.0)
            } else if (new.shuffles > 0.0) != (old.shuffles > 0.0) {
                new.shuffles > 0.0
            } else if (new.calls > 0.0) != (old.calls > 0.0) {
                old.calls > 0.0
            } else if (new.accesses > 0.0) != (old.accesses > 0.0) {
                new.accesses > 0.0
            } else if new.arithmetic == old.arithmetic {
                is_fork = true;
                (new.cycles < old.cycles) != turned
            } else {
                new.cycles > old.cycles
            };
            if better {
                chosen = Some(at);
            }
        }
        let next = chosen.flatten();
        let rest = rest(next).plus(own.work, 1.0);
        Step { own, rest, next, last: 0, is_fork, join, height: height(join) + 1 }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::sass::regions::SHUFFLED_ITERATIONS;

    crate::unit_tests!(
        loops_count_and_early_exits_do_not,
        calls_are_rare_and_branches_are_taken,
        the_version_that_the_original_lacks_is_followed,
        accesses_tell_versions_apart_before_arithmetic,
        new_shuffles_do_the_last_iterations_of_a_loop,
        a_side_that_alone_calls_is_rare
    );

    fn executions(blocks: &Blocks, original: Option<&Histogram>) -> Vec<f64> {
        let counterpart = original.map_or(Counterpart::None, Counterpart::Original);
        follow(blocks, counterpart).executions(blocks.next.len())
    }

    /// Blocks with these successors; each with cycles, accesses, and an instruction of a kind.
    fn blocks(rows: &[(&[usize], f64, f64, u32)]) -> Blocks {
        let work = |row: &(&[usize], f64, f64, u32)| Work {
            cycles: row.1,
            accesses: row.2,
            ..Work::default()
        };
        Blocks {
            next: rows.iter().map(|row| row.0.to_vec()).collect(),
            calls: Vec::new(),
            work: rows.iter().map(work).collect(),
            kinds: rows.iter().map(|row| Histogram::from([(row.3, 1.0)])).collect(),
        }
    }

    fn loops_count_and_early_exits_do_not() {
        // 0 leaves by 1 or goes to the loop of 2, 3 and, inside, 4.
        let found = blocks(&[
            (&[1, 2], 1.0, 0.0, 0),
            (&[], 1.0, 0.0, 0),
            (&[4], 1.0, 1.0, 0),
            (&[2, 1], 1.0, 0.0, 0),
            (&[4, 3], 1.0, 1.0, 0),
        ]);
        let [inner, outer] = [LOOP_ITERATIONS, OUTER_ITERATIONS].map(f64::from);
        assert_eq!(executions(&found, None), [1.0, 1.0, outer, outer, outer * inner]);
    }

    fn calls_are_rare_and_branches_are_taken() {
        // 0 passes over 1, which calls 4; 2 passes over 3.
        let mut found = blocks(&[
            (&[1, 2], 1.0, 1.0, 0),
            (&[2], 9.0, 0.0, 0),
            (&[3, 5], 1.0, 1.0, 0),
            (&[5], 1.0, 0.0, 0),
            (&[], 9.0, 0.0, 0),
            (&[], 1.0, 0.0, 0),
        ]);
        assert_eq!(executions(&found, None), [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
        found.calls.push((1, 4));
        found.work[1].calls = 1.0;
        assert_eq!(executions(&found, None), [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]);
    }

    fn new_shuffles_do_the_last_iterations_of_a_loop() {
        // The loop of 1 is left to 3, or by way of 2 with its shuffles.
        let mut found = blocks(&[
            (&[1], 1.0, 0.0, 0),
            (&[2, 1, 3], 1.0, 1.0, 0),
            (&[3], 9.0, 1.0, 1),
            (&[], 1.0, 0.0, 0),
        ]);
        found.kinds[2].insert(SHUFFLES, 5.0);
        let original = Histogram::from([(0, 10.0)]);
        let fewer = f64::from(LOOP_ITERATIONS - SHUFFLED_ITERATIONS);
        assert_eq!(executions(&found, Some(&original)), [1.0, fewer, 1.0, 1.0]);
        // The original has some itself.
        let shuffling = Histogram::from([(0, 10.0), (SHUFFLES, 1.0)]);
        let all = f64::from(LOOP_ITERATIONS);
        assert_eq!(executions(&found, Some(&shuffling)), [1.0, all, 1.0, 1.0]);
        found.kinds[2].insert(SHUFFLES, 4.0);
        assert_eq!(executions(&found, Some(&original)), [1.0, all, 1.0, 1.0]);
    }

    fn a_side_that_alone_calls_is_rare() {
        // 1 and 2 do the same; 1 takes less, but calls 4.
        let mut found = blocks(&[
            (&[1, 2], 1.0, 0.0, 0),
            (&[3], 1.0, 1.0, 1),
            (&[3], 9.0, 1.0, 2),
            (&[], 1.0, 0.0, 0),
            (&[], 1.0, 0.0, 0),
        ]);
        assert_eq!(executions(&found, None), [1.0, 1.0, 0.0, 1.0, 0.0]);
        found.calls.push((1, 4));
        found.work[1].calls = 1.0;
        assert_eq!(executions(&found, None), [1.0, 0.0, 1.0, 1.0, 0.0]);
    }

    fn the_version_that_the_original_lacks_is_followed() {
        // Kind 1 is the original's, kind 2 new, and dearer.
        let found = blocks(&[
            (&[1, 2], 1.0, 0.0, 0),
            (&[3], 2.0, 1.0, 1),
            (&[3], 5.0, 1.0, 2),
            (&[], 1.0, 0.0, 0),
        ]);
        assert_eq!(executions(&found, None), [1.0, 1.0, 0.0, 1.0]);
        let original = Histogram::from([(0, 2.0), (1, 1.0)]);
        assert_eq!(executions(&found, Some(&original)), [1.0, 0.0, 1.0, 1.0]);
        let original = Histogram::from([(0, 2.0), (2, 1.0)]);
        assert_eq!(executions(&found, Some(&original)), [1.0, 1.0, 0.0, 1.0]);
        // An original that has both follows the version that was rewritten.
        let rewriting = |kind| Histogram::from([(0, 2.0), (3, 1.0), (kind, 1.0)]);
        let beside = |kind| {
            let rewriting = rewriting(kind);
            follow(&found, Counterpart::Rewriting(&rewriting)).executions(found.next.len())
        };
        assert_eq!(beside(1), [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(beside(2), [1.0, 0.0, 1.0, 1.0]);
    }

    fn accesses_tell_versions_apart_before_arithmetic() {
        // 1 has the original's access, but computes its address with kind 3; 2 has another one.
        let mut found = blocks(&[
            (&[1, 2], 1.0, 0.0, 0),
            (&[3], 2.0, 1.0, 1),
            (&[3], 5.0, 1.0, 1),
            (&[], 1.0, 0.0, 0),
        ]);
        let [old, new] = [ACCESSES, 2 * ACCESSES];
        found.kinds[1].extend([(old, 1.0), (3, 9.0)]);
        found.kinds[2].insert(new, 1.0);
        let original = Histogram::from([(0, 2.0), (1, 1.0), (old, 1.0)]);
        assert_eq!(executions(&found, Some(&original)), [1.0, 0.0, 1.0, 1.0]);
    }
}
