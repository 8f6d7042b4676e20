//! The elements that two sequences have in common, in order: a difference whose cost is bounded by
//! count.
//!
//! Equal elements at the start and at the end of both sequences are common. In between, elements that
//! each sequence has just once are anchors: the longest run of them in the same order is common
//! (patience difference), and the stretches between two anchors are compared by themselves (Myers, "An
//! O(ND) difference algorithm", 1986) as long as they differ little. Stretches that differ more are
//! taken to have nothing in common.

use std::ops::Range;

use rustc_hash::FxHashMap;

/// The most steps of all comparisons between anchors together.
const MAX_STEPS: usize = 20_000_000;

/// The most elements to be removed and added between two anchors.
const MAX_EDITS: usize = 1_000;

/// The parts that are equal, as ranges of the same length in both, ascending.
pub(super) fn equal_runs(a: &[u32], b: &[u32]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut pairs = Vec::new();
    let mut steps = MAX_STEPS;
    let (mut old, mut new) = (0, 0);
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let end = a[start..].iter().rev().zip(b[start..].iter().rev());
    let end = end.take_while(|(a, b)| a == b).count();
    let anchors = anchors(&a[start..a.len() - end], &b[start..b.len() - end]);
    let anchors = (0..start)
        .map(|at| (at, at))
        .chain(anchors.into_iter().map(|(x, y)| (start + x, start + y)))
        .chain((0..end).map(|at| (a.len() - end + at, b.len() - end + at)))
        .chain([(a.len(), b.len())]);
    for (x, y) in anchors {
        let between = common(&a[old..x], &b[new..y], &mut steps);
        pairs.extend(between.into_iter().map(|(i, j)| (old + i, new + j)));
        if x < a.len() && y < b.len() {
            pairs.push((x, y));
        }
        (old, new) = (x + 1, y + 1);
    }
    let mut runs: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (x, y) in pairs {
        match runs.last_mut() {
            Some((olds, news)) if olds.end == x && news.end == y => {
                (olds.end, news.end) = (x + 1, y + 1);
            }
            _ => runs.push((x..x + 1, y..y + 1)),
        }
    }
    runs
}

/// The longest run of elements that each sequence has just once, in the order of both.
fn anchors(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    /// The place of each element; `None` if there is more than one.
    fn places(of: &[u32]) -> FxHashMap<u32, Option<usize>> {
        let mut places = FxHashMap::default();
        for (at, element) in of.iter().enumerate() {
            places.entry(*element).and_modify(|place| *place = None).or_insert(Some(at));
        }
        places
    }
    let (mine, theirs) = (places(a), places(b));
    let pairs: Vec<(usize, usize)> = a
        .iter()
        .enumerate()
        .filter(|(_, element)| mine[element].is_some())
        .filter_map(|(at, element)| Some((at, theirs.get(element).copied().flatten()?)))
        .collect();
    // The longest ascending subsequence: of each length the run whose last place comes first.
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, &(_, place)) in pairs.iter().enumerate() {
        let length = last.partition_point(|&other| pairs[other].1 < place);
        before.push(length.checked_sub(1).map(|shorter| last[shorter]));
        last.truncate(last.len().max(length + 1));
        match last.get_mut(length) {
            Some(at) => *at = index,
            None => last.push(index),
        }
    }
    let ends = std::iter::successors(last.last().copied(), |&index| before[index]);
    let mut found: Vec<(usize, usize)> = ends.map(|index| pairs[index]).collect();
    found.reverse();
    found
}

/// The longest common subsequence, if few edits lead from one sequence to the other; otherwise
/// nothing.
fn common(a: &[u32], b: &[u32], steps: &mut usize) -> Vec<(usize, usize)> {
    if a.is_empty() || b.is_empty() {
        return Vec::new();
    }
    // How far each diagonal `x - y` is reached, `at(diagonal)`, after each number of edits.
    let most = MAX_EDITS.min(a.len() + b.len());
    let at = |diagonal: isize| (diagonal + most as isize + 1) as usize;
    let mut reached = vec![0usize; 2 * most + 3];
    let mut history: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=most as isize {
        history.push(reached[at(-edits - 1)..=at(edits + 1)].to_vec());
        for diagonal in (-edits..=edits).step_by(2) {
            let mut x = from(&reached, at(0), diagonal, edits).0;
            let start = x;
            while let Some(y) = x.checked_add_signed(-diagonal)
                && x < a.len()
                && y < b.len()
                && a[x] == b[y]
            {
                x += 1;
            }
            reached[at(diagonal)] = x;
            if x >= a.len() && x as isize - diagonal >= b.len() as isize {
                return walk_back(&history, (a.len(), b.len()));
            }
            match steps.checked_sub(2 + x - start) {
                Some(left) => *steps = left,
                None => return Vec::new(),
            }
        }
    }
    Vec::new()
}

/// The place where a diagonal is entered by the next edit, and the diagonal it comes from, given how
/// far the diagonals were reached before (`zero` is the index of diagonal 0).
fn from(reached: &[usize], zero: usize, diagonal: isize, edits: isize) -> (usize, isize) {
    let at = |diagonal: isize| reached[zero.wrapping_add_signed(diagonal)];
    match edits {
        0 => (0, 0),
        _ if diagonal == -edits || diagonal != edits && at(diagonal - 1) < at(diagonal + 1) => {
            (at(diagonal + 1), diagonal + 1)
        }
        _ => (at(diagonal - 1) + 1, diagonal - 1),
    }
}

/// The matches on the path to `end`.
fn walk_back(history: &[Vec<usize>], end: (usize, usize)) -> Vec<(usize, usize)> {
    let (mut x, mut y) = end;
    let mut found = Vec::new();
    for (edits, reached) in history.iter().enumerate().rev() {
        let diagonal = x as isize - y as isize;
        let (entered, other) = from(reached, edits + 1, diagonal, edits as isize);
        while x > entered && y > 0 {
            (x, y) = (x - 1, y - 1);
            found.push((x, y));
        }
        if edits > 0 {
            x = if other == diagonal + 1 { entered } else { entered - 1 };
            y = (x as isize - other) as usize;
        }
    }
    found.reverse();
    found
}

#[cfg(feature = "internals")]
mod tests {
    use super::equal_runs;

    crate::unit_tests!(
        runs_are_equal_and_without_anchors_longest,
        long_sequences_that_differ_are_not_compared
    );

    /// The length of the longest common subsequence by the textbook's table.
    fn longest(a: &[u32], b: &[u32]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut corner = 0;
            for (at, y) in b.iter().enumerate() {
                let here = if x == y { corner + 1 } else { row[at].max(row[at + 1]) };
                corner = std::mem::replace(&mut row[at + 1], here);
            }
        }
        row[b.len()]
    }

    fn check(a: &[u32], b: &[u32]) -> usize {
        let runs = equal_runs(a, b);
        let (mut old, mut new) = (0, 0);
        for (olds, news) in &runs {
            assert!(old <= olds.start && new <= news.start && !olds.is_empty());
            assert_eq!(a[olds.clone()], b[news.clone()], "{a:?} {b:?}");
            (old, new) = (olds.end, news.end);
        }
        runs.iter().map(|(olds, _)| olds.len()).sum()
    }

    fn runs_are_equal_and_without_anchors_longest() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..3000 {
            let mut sequence = |kinds: u32| -> Vec<u32> {
                let length = random.usize(0..40);
                // Each is there twice at the end, so that nothing is an anchor.
                (0..length)
                    .map(|_| random.u32(0..kinds))
                    .chain((0..kinds).cycle().take(80))
                    .collect()
            };
            let (mut a, b) = (sequence(4), sequence(4));
            a.push(3);
            assert_eq!(check(&a, &b), longest(&a, &b), "{a:?} {b:?}");
            let (a, b) = (sequence(40), sequence(40));
            check(&a[..a.len() - 80], &b[..b.len() - 80]);
        }
        check(&[], &[1]);
        check(&[1, 2, 3], &[1, 3]);
    }

    /// Sequences that differ much have only their ends and anchors in common, however long they are.
    fn long_sequences_that_differ_are_not_compared() {
        let a: Vec<u32> = (0..100_000).collect();
        let swapped: Vec<u32> = (0..100_000).map(|at| at ^ 1).collect();
        assert!(check(&a, &swapped) >= 50_000);
        let other: Vec<u32> = (200_000..300_000).collect();
        assert_eq!(check(&a, &other), 0);
        let few = |seed| -> Vec<u32> {
            let mut random = fastrand::Rng::with_seed(seed);
            (0..100_000).map(|_| random.u32(0..5)).collect()
        };
        // (Without a bound these two take minutes.)
        check(&few(1), &few(2));
    }
}
