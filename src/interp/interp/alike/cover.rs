//! Which blocks of two kernels have to be compared, so that all others are equal, too.
//!
//! In: the [`Classes`] of both launches. Out: blocks of both. The blocks that write the same bytes belong together, however the
//! kernels share the work: a *component* is all blocks of both kernels that are connected by common bytes. If a component is
//! compared and equal, then so is another one whose blocks are alike and whose accesses to each buffer have moved by the
//! same distance in both kernels.

use std::collections::BTreeMap;

use rangemap::RangeSet;
use rustc_hash::FxHashSet;

use super::classes::{Apart, Classes, Owners, WORTH, shifted};

/// The blocks of two launches that have to be compared.
#[derive(Debug)]
pub struct Cover {
    /// Those of each launch.
    pub blocks: [Vec<u64>; 2],
}

/// A block of one of two launches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Node {
    side: usize,
    block: u64,
}

/// How a block of a component was found.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Link {
    /// By the number of another block of the component, whose place in the list is given, if all blocks add to a buffer.
    Number(usize),
    /// By a byte of a buffer that it shares with another block of the component, whose place in the list is given.
    Byte(usize, String, u64),
}

/// Blocks that are connected by common bytes, each with how it was found.
type Component = Vec<(Node, Option<Link>)>;

struct Pairing<'a> {
    classes: [&'a Classes; 2],
    owners: [Owners; 2],
    /// Whether blocks with the same number belong together.
    by_number: bool,
}

impl Cover {
    /// The blocks that have to be compared. `same_grids`: whether blocks with one number have the same place.
    ///
    /// # Errors
    /// They would be too many, or blocks meet in memory.
    pub fn new(classes: [&Classes; 2], same_grids: bool) -> Result<Cover, Apart> {
        let owners = [classes[0].owners()?, classes[1].owners()?];
        let sum = owners.iter().flat_map(|owners| &owners.sums).next();
        if let (Some(sum), false) = (sum, same_grids) {
            return Err(Apart::Shared(sum.clone(), None));
        }
        let pairing = Pairing { classes, by_number: sum.is_some(), owners };
        let mut covered = classes.map(|classes| vec![false; classes.blocks() as usize]);
        let mut blocks = [Vec::new(), Vec::new()];
        let all = classes[0].blocks() + classes[1].blocks();
        for side in [0, 1] {
            for block in 0..classes[side].blocks() {
                if covered[side][block as usize] {
                    continue;
                }
                let component = pairing.component(Node { side, block }, all / WORTH)?;
                for (node, _) in &component {
                    covered[node.side][node.block as usize] = true;
                    blocks[node.side].push(node.block);
                }
                let compared = (blocks[0].len() + blocks[1].len()) as u64;
                if compared > all / WORTH {
                    return Err(Apart::Few(None));
                }
                let class = classes[side].class(block);
                for other in block + 1..classes[side].blocks() {
                    if covered[side][other as usize] || classes[side].class(other) != class {
                        continue;
                    }
                    for node in pairing.moved(&component, other).unwrap_or_default() {
                        covered[node.side][node.block as usize] = true;
                    }
                }
            }
        }
        blocks.iter_mut().for_each(|blocks| blocks.sort_unstable());
        Ok(Cover { blocks })
    }
}

impl Pairing<'_> {
    /// All blocks that are connected with one.
    ///
    /// # Errors
    /// They are too many.
    fn component(&self, first: Node, most: u64) -> Result<Component, Apart> {
        let mut component = vec![(first, None)];
        let mut known = FxHashSet::default();
        known.insert(first);
        let mut at = 0;
        while let Some(&(node, _)) = component.get(at) {
            let mut found = Vec::new();
            for (name, slope, touched) in self.classes[node.side].accesses(node.block) {
                let shift = self.classes[node.side].shift(slope, node.block);
                for range in touched.written.iter().map(|range| shifted(range, shift)) {
                    for (block, byte) in self.owners[1 - node.side].within(name, range) {
                        let other = Node { side: 1 - node.side, block };
                        found.push((other, Link::Byte(at, name.to_owned(), byte)));
                    }
                }
            }
            if self.by_number {
                found.push((Node { side: 1 - node.side, ..node }, Link::Number(at)));
            }
            for (other, link) in found {
                if known.insert(other) {
                    component.push((other, Some(link)));
                }
            }
            if component.len() as u64 > most {
                return Err(Apart::Few(None));
            }
            at += 1;
        }
        Ok(component)
    }

    /// The blocks of the component that begins with another block, if they do the same as those of `component`.
    fn moved(&self, component: &Component, first: u64) -> Option<Vec<Node>> {
        let mut blocks: Vec<Node> = Vec::with_capacity(component.len());
        for (node, link) in component {
            let block = match link {
                None => first,
                Some(Link::Number(parent)) => blocks[*parent].block,
                Some(Link::Byte(parent, name, byte)) => {
                    let (from, to) = (component[*parent].0, blocks[*parent]);
                    let distance = self.distance(name, from, to.block)?;
                    let byte = u64::try_from(i128::from(*byte) + distance).ok()?;
                    self.owners[node.side].at(name, byte)?
                }
            };
            let classes = self.classes[node.side];
            if classes.class(block) != classes.class(node.block) {
                return None;
            }
            blocks.push(Node { block, ..*node });
        }
        self.is_consistent(component, &blocks).then_some(blocks)
    }

    /// How far what a block writes to a buffer moves to another block.
    fn distance(&self, name: &str, from: Node, to: u64) -> Option<i128> {
        let classes = self.classes[from.side];
        let mut accesses = classes.accesses(from.block);
        let (_, slope, _) =
            accesses.find(|(own, _, touched)| *own == name && !touched.written.is_empty())?;
        Some(classes.distance(slope, from.block, to))
    }

    /// Whether elements that are one element in a component are one in the other: all accesses to a buffer move by the same
    /// distance, or those that move by different ones do not meet, and none of them writes.
    fn is_consistent(&self, component: &Component, blocks: &[Node]) -> bool {
        if planted!(Bug::DistancesIgnored) {
            return true;
        }
        let mut read: BTreeMap<&str, BTreeMap<i128, RangeSet<u64>>> = BTreeMap::new();
        let mut distances: BTreeMap<&str, (i128, bool, bool)> = BTreeMap::new();
        for ((from, _), to) in component.iter().zip(blocks) {
            let classes = self.classes[from.side];
            for (name, slope, touched) in classes.accesses(from.block) {
                let distance = classes.distance(slope, from.block, to.block);
                let changes = !touched.written.is_empty() || !touched.summed.is_empty();
                let known = distances.entry(name).or_insert((distance, false, true));
                known.1 |= changes;
                known.2 &= known.0 == distance;
            }
        }
        let several: Vec<(&str, bool)> = distances
            .into_iter()
            .filter(|(_, (_, _, is_one))| !is_one)
            .map(|(name, (_, changes, _))| (name, changes))
            .collect();
        if several.iter().any(|&(_, changes)| changes) {
            return false;
        }
        for ((from, _), to) in component.iter().zip(blocks) {
            let classes = self.classes[from.side];
            for (name, slope, touched) in classes.accesses(from.block) {
                if several.iter().any(|&(own, _)| own == name) {
                    let distance = classes.distance(slope, from.block, to.block);
                    let shift = classes.shift(slope, from.block);
                    let all = read.entry(name).or_default().entry(distance).or_default();
                    all.extend(touched.read.iter().map(|range| shifted(range, shift)));
                }
            }
        }
        read.values().all(|distances| {
            let all: Vec<&RangeSet<u64>> = distances.values().collect();
            (1..all.len()).all(|at| {
                let meets =
                    |other: &&RangeSet<u64>| all[at].iter().any(|range| other.overlaps(range));
                !all[..at].iter().any(meets)
            })
        })
    }
}
