//! Stores of one program that replace several stores of the other one: `st.v4` for four scalar stores, or of words for
//! eight halves, or the reverse; and one store for several to the same bytes.
//!
//! In: two programs with the instructions that are matched already. Out: groups, each one vector store and the
//! stores with its elements. This is only a guess by the texts; `stores` proves it: each element is stored at the
//! same address, under the same condition and with the same value. The order within a group does not matter,
//! since the elements do not overlap, and no other event is between the parts in either program. The rewritten program
//! may perform the parts themselves where it does not perform the vector: then copies of the parts stand next to the
//! vector, in another block. Stores that stand unchanged in both of two such blocks are groups of one part each.

use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

use super::align::Alignment;
use super::instructions::{Role, role};
use super::prepared::Program;
use crate::cfg::{BlockId, InstId};
use crate::isa::{Modifier, Opcode, Words};

/// One vector store and the stores that it replaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Split {
    /// Whether the vector store is in the rewritten program.
    pub joined: bool,
    pub vector: InstId,
    /// The other program's stores with the elements, in the order of its text.
    pub parts: Vec<InstId>,
    /// The rewritten program's own stores that are matched with the parts, if it has any: it performs either the
    /// vector or these.
    pub copies: Vec<InstId>,
    /// Whether each part writes the same bytes as the next one: then `vector` stands for the last.
    pub overwritten: bool,
}

impl Split {
    /// The instruction of the rewritten program after which memory equals the original's after its last store of the
    /// group, and that store.
    pub(crate) fn ends(&self) -> Option<(InstId, InstId)> {
        let last = *self.parts.last()?;
        Some(if self.joined { (self.vector, last) } else { (last, self.vector) })
    }

    /// Whether an instruction of the rewritten program, or of the original, belongs to the group. (Copies of the parts
    /// are compared with these as other events are.)
    pub(crate) fn has(&self, inst: InstId, of_rewritten: bool) -> bool {
        match of_rewritten == self.joined {
            true => inst == self.vector,
            false => self.parts.contains(&inst),
        }
    }
}

/// An event in the order of the blocks: the instruction, its block, and its opcode's words.
struct One<'s> {
    inst: InstId,
    block: BlockId,
    matched: bool,
    /// The kind of a store; `None` for other events.
    store: Option<Stored<'s>>,
}

/// The kind of a store.
#[derive(PartialEq, Eq)]
struct Stored<'s> {
    /// The words of its opcode but for its type and `.vN`.
    words: Vec<&'s str>,
    /// Whether it stores several elements.
    is_vector: bool,
    /// Bits of all its elements.
    bits: u32,
}

/// The events of a program; `matched` says of an instruction whether it has a partner.
fn events<'s>(program: &Program<'_, 's>, matched: impl Fn(InstId) -> bool) -> Vec<One<'s>> {
    let mut found = Vec::new();
    for block in program.flow.block_ids() {
        for at in program.flow.block(block).instructions() {
            let inst = &program.flow.insts[at];
            let kind = role(inst);
            // (A wait comes between no stores.)
            let waits = inst.ast.form.opcode == Opcode::NanoSleep;
            if waits || matches!(kind, Role::Pure | Role::Load | Role::Branch) {
                continue;
            }
            let store = (kind == Role::Store).then(|| {
                let words = Words::of(inst.ast.opcode.text);
                let words = words
                    .filter(|word| !matches!(Modifier::of(word), Modifier::Type(_)))
                    .filter(|word| !matches!(*word, "v2" | "v4" | "v8"))
                    .collect();
                let elements = u32::from(inst.ast.form.elements().unwrap_or(1));
                let bits = inst.ast.form.types().last().map_or(0, |ty| ty.bits()) * elements;
                Stored { words, is_vector: elements > 1, bits }
            });
            found.push(One { inst: at, block, matched: matched(at), store });
        }
    }
    found
}

/// The groups among the stores that are not matched.
pub(crate) fn find(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &mut Alignment,
) -> Vec<Split> {
    if original.irreducible || rewritten.irreducible {
        return Vec::new();
    }
    let mut has_partner: TiVec<InstId, bool> = ti_vec![false; original.flow.insts.len()];
    for &old in alignment.matched.iter().flatten() {
        has_partner[old] = true;
    }
    let old = events(original, |at| has_partner[at]);
    let new = events(rewritten, |at| alignment.matched[at].is_some());
    let (mut new, mut old) = (new, old);
    let mut found = twice((original, &old), (rewritten, &new), alignment);
    unify(&found, &mut new, &mut old);
    found.extend(versions(rewritten, (&new, &old), alignment));
    let settled: Vec<InstId> = found.iter().flat_map(|split| split.parts.clone()).collect();
    found.extend(overwritten((original, &old), (rewritten, &new), &settled, alignment));
    unify(&found, &mut new, &mut old);
    found.extend(groups(&new, &old, true));
    found.extend(groups(&old, &new, false));
    found
}

/// Marks the events of groups as matched.
fn unify<'s>(found: &[Split], new: &mut [One<'s>], old: &mut [One<'s>]) {
    for split in found {
        let of_new = new
            .iter_mut()
            .filter(|one| one.inst == split.vector || split.copies.contains(&one.inst));
        let of_old = old.iter_mut().filter(|one| split.parts.contains(&one.inst));
        of_new.chain(of_old).for_each(|one| one.matched = true);
    }
}

/// The runs of the original's stores that stand in each of two blocks of the rewritten program that one branch leads to: one
/// by one in both, or some of them as vectors in one.
fn twice(
    (original, old): (&Program<'_, '_>, &[One<'_>]),
    (rewritten, new): (&Program<'_, '_>, &[One<'_>]),
    alignment: &mut Alignment,
) -> Vec<Split> {
    let runs: Vec<&[One<'_>]> = new.chunk_by(|a, b| a.block == b.block).collect();
    let (mut found, mut next) = (Vec::new(), 0);
    for pair in runs.windows(2) {
        let [a, b] = pair else { continue };
        if !are_versions(rewritten, a[0].block, b[0].block) {
            continue;
        }
        let is_matched = |run: &&[One<'_>]| run.iter().any(|one| one.matched);
        let ways: [(&[One<'_>], &[One<'_>]); 2] = match is_matched(a) && a.len() == b.len() {
            true => [(b, a), (a, b)],
            false => [(a, b), (b, a)],
        };
        let fits = |(short, long)| Some((lengths(rewritten, short, long)?, short, long));
        let Some((lengths, vectors, copies)) = ways.into_iter().find_map(fits) else { continue };
        let is_run = |from: &usize| {
            let run = old.get(*from..from + copies.len());
            run.is_some_and(|run| {
                let alike = |(old, new): (&One<'_>, &One<'_>)| {
                    old.block == run[0].block && text(original, old) == text(rewritten, new)
                };
                run.iter().zip(copies).all(alike)
            })
        };
        // (Another run of the original may have the same text.)
        let of_pair = |from: &usize| {
            let run = &old[*from..*from + copies.len()];
            let partners = a.iter().chain(*b).filter_map(|one| alignment.matched[one.inst]);
            partners.into_iter().any(|partner| run.iter().any(|one| one.inst == partner))
        };
        let runs = || (next..old.len()).filter(is_run);
        let Some(from) = runs().find(of_pair).or_else(|| runs().next()) else { continue };
        next = from + copies.len();
        let mut at = 0;
        for (vector, length) in vectors.iter().zip(lengths) {
            let parts: Vec<InstId> =
                old[from + at..from + at + length].iter().map(|one| one.inst).collect();
            let copies: Vec<InstId> = copies[at..at + length].iter().map(|one| one.inst).collect();
            at += length;
            for (&part, &copy) in parts.iter().zip(&copies) {
                for matched in &mut alignment.matched {
                    *matched = matched.filter(|other| *other != part);
                }
                alignment.matched[copy] = Some(part);
                alignment.gaps[copy] = part.to(part.next());
            }
            let overwritten = length == 1;
            found.push(Split { joined: true, vector: vector.inst, parts, copies, overwritten });
        }
    }
    found
}

fn text(program: &Program<'_, '_>, one: &One<'_>) -> String {
    program.text(&program.flow.insts[one.inst]).clone()
}

/// For each store of a version of some code, the number of stores of another version in whose place it stands: itself, or
/// those with the bits of a vector, one behind the other.
fn lengths(program: &Program<'_, '_>, short: &[One<'_>], long: &[One<'_>]) -> Option<Vec<usize>> {
    let (mut found, mut rest) = (Vec::new(), long);
    for one in short {
        let stored = one.store.as_ref()?;
        let mut bits = 0;
        let count = rest.iter().take_while(|part| {
            let goes_on = bits < stored.bits;
            bits += part.store.as_ref().map_or(0, |own| if goes_on { own.bits } else { 0 });
            goes_on
        });
        let count = count.count();
        let (parts, behind) = rest.split_at(count);
        let is_part =
            |part: &One<'_>| part.store.as_ref().is_some_and(|own| own.words == stored.words);
        let fits = match parts {
            [same] => text(program, same) == text(program, one),
            _ => bits == stored.bits && stored.is_vector && parts.iter().all(is_part),
        };
        if !fits {
            return None;
        }
        found.push(count);
        rest = behind;
    }
    rest.is_empty().then_some(found)
}

/// The vector stores of the rewritten program beside which the stores stand, in another block, that the vector
/// replaces. These copies are matched with the original's stores.
fn versions(
    rewritten: &Program<'_, '_>,
    (new, old): (&[One<'_>], &[One<'_>]),
    alignment: &mut Alignment,
) -> Vec<Split> {
    let mut partners: FxHashMap<InstId, InstId> = FxHashMap::default();
    for (copy, part) in alignment.matched.iter_enumerated() {
        partners.extend(part.map(|part| (part, copy)));
    }
    let (mut found, mut next) = (Vec::new(), 0);
    for (at, vector) in new.iter().enumerate().filter(|(_, one)| !one.matched) {
        let Some(copies) = copies(rewritten, at, new) else { continue };
        // The texts may pair a part with another copy of this group.
        let is_part = |(part, copy): (&One<'_>, &One<'_>)| {
            let partner = partners.get(&part.inst);
            part.store == copy.store
                && partner.is_none_or(|one| copies.iter().any(|copy| copy.inst == *one))
        };
        let is_run = |from: &usize| {
            let run = old.get(*from..from + copies.len());
            run.is_some_and(|run| {
                run.iter().all(|one| one.block == run[0].block)
                    && run.iter().zip(copies).all(is_part)
            })
        };
        let Some(from) = (next..old.len()).find(is_run) else { continue };
        next = from + copies.len();
        let parts: Vec<InstId> = old[from..next].iter().map(|one| one.inst).collect();
        let copies: Vec<InstId> = copies.iter().map(|one| one.inst).collect();
        for matched in &mut alignment.matched {
            *matched = matched.filter(|part| !parts.contains(part));
        }
        for (&part, &copy) in parts.iter().zip(&copies) {
            alignment.matched[copy] = Some(part);
            alignment.gaps[copy] = part.to(part.next());
        }
        found.push(Split { joined: true, vector: vector.inst, parts, copies, overwritten: false });
    }
    found
}

/// A store as text: its opcode and address, and all of it.
fn texts(program: &Program<'_, '_>, one: &One<'_>) -> Option<(String, String)> {
    one.store.as_ref()?;
    let text = program.text(&program.flow.insts[one.inst]);
    let (address, _) = text.split_once(',')?;
    Some((address.to_owned(), text.clone()))
}

/// How many of some events in a row are stores of one block with the same opcode and address as the first.
fn same_bytes(program: &Program<'_, '_>, events: &[One<'_>]) -> usize {
    let Some((address, _)) = events.first().and_then(|one| texts(program, one)) else { return 0 };
    let alike = |one: &&One<'_>| {
        one.block == events[0].block
            && texts(program, one).is_some_and(|(other, _)| other == address)
    };
    events.iter().take_while(alike).count()
}

/// Runs of the original's stores to the same bytes. The rewritten program performs only the last store of a run; or
/// only that one in one block, and copies of all of them in a neighbouring block. Stores that are `settled` belong to
/// other groups.
fn overwritten(
    (original, old): (&Program<'_, '_>, &[One<'_>]),
    (rewritten, new): (&Program<'_, '_>, &[One<'_>]),
    settled: &[InstId],
    alignment: &mut Alignment,
) -> Vec<Split> {
    let (mut found, mut from, mut next): (Vec<Split>, usize, usize) = (Vec::new(), 0, 0);
    while from < old.len() {
        let count = same_bytes(original, &old[from..]);
        let run = &old[from..from + count.max(1)];
        from += count.max(1);
        if count < 2 || run.iter().any(|one| settled.contains(&one.inst)) {
            continue;
        }
        let parts: Vec<String> =
            run.iter().filter_map(|one| Some(texts(original, one)?.1)).collect();
        let of_new = |at: usize| new.get(at).and_then(|one| texts(rewritten, one));
        let is_last = |at: &usize| of_new(*at).is_some_and(|(_, text)| Some(&text) == parts.last());
        let copied = |at: usize| {
            (0..count)
                .all(|number| of_new(at + number).is_some_and(|(_, text)| text == parts[number]))
                && same_bytes(rewritten, new.get(at..at + count).unwrap_or_default()) == count
        };
        // The last store alone, in front of the copies or behind them.
        let apart = |at: usize, copies: usize| {
            is_last(&at)
                && copied(copies)
                && are_versions(rewritten, new[at].block, new[copies].block)
        };
        let version = (next..new.len()).find_map(|at| match () {
            () if apart(at, at + 1) => Some((at, at + 1, at + 1 + count)),
            () if apart(at + count, at) => Some((at + count, at, at + 1 + count)),
            () => None,
        });
        let groups = match version {
            Some((at, copies, end)) => {
                next = end;
                vec![(at, Some(copies), run)]
            }
            None => replaced((original, run), (rewritten, new), alignment),
        };
        for (at, copies, run) in groups {
            let parts: Vec<InstId> = run.iter().map(|one| one.inst).collect();
            let copies = copies.map_or(&[][..], |copies| &new[copies..copies + count]);
            let copies: Vec<InstId> = copies.iter().map(|one| one.inst).collect();
            for matched in &mut alignment.matched {
                *matched = matched.filter(|part| !parts.contains(part));
            }
            for (&part, &copy) in parts.iter().zip(&copies) {
                alignment.matched[copy] = Some(part);
                alignment.gaps[copy] = part.to(part.next());
            }
            let vector = new[at].inst;
            found.push(Split { joined: true, vector, parts, copies, overwritten: true });
        }
    }
    found
}

/// A store of the rewritten program, its copies, and the original's stores that it replaces.
type Replaced<'o, 's> = (usize, Option<usize>, &'o [One<'s>]);

/// The parts of a run of stores to the same bytes that have one partner in the rewritten program, the last one's.
fn replaced<'o, 's>(
    (original, run): (&Program<'_, '_>, &'o [One<'s>]),
    (rewritten, new): (&Program<'_, '_>, &[One<'_>]),
    alignment: &Alignment,
) -> Vec<Replaced<'o, 's>> {
    let partner =
        |old: &One<'_>| new.iter().position(|one| alignment.matched[one.inst] == Some(old.inst));
    let mut kept: Vec<Option<usize>> = run.iter().map(partner).collect();
    let texts: Vec<String> = run.iter().map(|one| text(original, one)).collect();
    let mut own = kept.iter().zip(&texts);
    if own.any(|(at, own)| at.is_some_and(|at| text(rewritten, &new[at]) != *own)) {
        return Vec::new();
    }
    // Of stores with one text in a row, any may have been matched with the partner.
    for at in (0..run.len()).rev().filter(|&at| kept[at].is_some()).collect::<Vec<_>>() {
        let free = (at + 1..run.len()).take_while(|&other| kept[other].is_none());
        if let Some(last) = free.filter(|&other| texts[other] == texts[at]).last() {
            kept.swap(at, last);
        }
    }
    let (mut found, mut first) = (Vec::new(), 0);
    for (at, one) in kept.into_iter().enumerate() {
        let Some(one) = one else { continue };
        if at > first {
            found.push((one, None, &run[first..=at]));
        }
        first = at + 1;
    }
    found
}

/// Whether two blocks are those that one branch leads to.
pub(crate) fn are_versions(program: &Program<'_, '_>, a: BlockId, b: BlockId) -> bool {
    let from = |block: BlockId| match program.flow.block(block).predecessors[..] {
        [edge] => Some(edge.from),
        _ => None,
    };
    a != b && from(a).is_some() && from(a) == from(b)
}

/// The stores next to a vector store in the order of the blocks, in the block that the same branch leads to, that store
/// as many bits together.
fn copies<'o, 's>(
    rewritten: &Program<'_, '_>,
    at: usize,
    events: &'o [One<'s>],
) -> Option<&'o [One<'s>]> {
    let vector = &events[at];
    let stored = vector.store.as_ref().filter(|stored| stored.is_vector)?;
    let bits = |one: &One<'s>, block: BlockId| {
        let own = one.store.as_ref()?;
        let alike = own.words == stored.words && one.block == block;
        (alike && are_versions(rewritten, block, vector.block)).then_some(own.bits)
    };
    let length = |side: &mut dyn Iterator<Item = &'o One<'s>>| {
        let (mut block, mut sum) = (None, 0);
        for (number, one) in (1..).zip(side) {
            sum += bits(one, *block.get_or_insert(one.block))?;
            if sum >= stored.bits {
                return (sum == stored.bits && number > 1).then_some(number);
            }
        }
        None
    };
    let (before, behind) = (&events[..at], &events[at + 1..]);
    let found = length(&mut behind.iter()).map(|number: usize| &behind[..number]);
    let other = || length(&mut before.iter().rev()).map(|number: usize| &before[at - number..]);
    found.or_else(other)
}

/// Pairs each vector store among `vectors` with the first run of `parts` that is left.
fn groups(vectors: &[One<'_>], parts: &[One<'_>], joined: bool) -> Vec<Split> {
    let (mut found, mut next) = (Vec::new(), 0);
    for vector in vectors.iter().filter(|one| !one.matched) {
        let Some(stored) = vector.store.as_ref().filter(|stored| stored.is_vector) else {
            continue;
        };
        let fits = |one: &One<'_>| {
            let is_part = |own: &Stored<'_>| own.bits < stored.bits && own.words == stored.words;
            !one.matched && one.store.as_ref().is_some_and(is_part)
        };
        // The number of parts from one on that have as many bits together.
        let length = |from: usize| {
            let mut bits = 0;
            for (number, one) in (1..).zip(&parts[from..]) {
                if !fits(one) || one.block != parts[from].block {
                    return None;
                }
                bits += one.store.as_ref().map_or(0, |own| own.bits);
                if bits >= stored.bits {
                    return (bits == stored.bits).then_some(number);
                }
            }
            None
        };
        let run = (next..parts.len()).find_map(|from| Some((from, length(from)?)));
        let Some((from, length)) = run else { continue };
        next = from + length;
        let parts = parts[from..next].iter().map(|one| one.inst).collect();
        found.push(Split {
            joined,
            vector: vector.inst,
            parts,
            copies: Vec::new(),
            overwritten: false,
        });
    }
    found
}
