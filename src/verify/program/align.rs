//! Matches instructions of the rewritten program with those of the original.
//!
//! The matching is only a guess that makes proofs short: whatever it says, every event of the one
//! program has to be shown equal to an event of the other. Instructions of the same text are matched
//! by a difference of the two texts; in the gaps between them, events of the same opcode are matched
//! in order.

use std::ops::Range;

use rustc_hash::FxHashMap;
use typed_index_collections::{TiVec, ti_vec};

use super::difference::equal_runs;
use super::instructions::{Role, role};
use super::prepared::Program;
use crate::cfg::{InstId, InstRange};

/// Matched instructions of two programs.
#[derive(Debug, Default)]
pub(crate) struct Alignment {
    /// For each instruction of the rewritten program, the one of the original.
    pub matched: TiVec<InstId, Option<InstId>>,
    /// For each instruction of the rewritten program, the unmatched ones of the original around it.
    pub gaps: TiVec<InstId, InstRange>,
}

/// Matches two programs.
pub(crate) fn align(original: &Program<'_, '_>, rewritten: &Program<'_, '_>) -> Alignment {
    let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
    let mut number = |program: &Program<'_, '_>| -> Vec<u32> {
        program
            .flow
            .insts
            .iter()
            .map(|inst| {
                let mut text = program.text(inst);
                // A load under another guard predicate is the same load.
                if let (Some((register, negated)), false) = (inst.guard, role(inst) == Role::Load) {
                    let name = &program.flow.registers[register];
                    text = format!("@{negated}{name} {text}");
                }
                let next = numbers.len() as u32;
                *numbers.entry(text).or_insert(next)
            })
            .collect()
    };
    let (a, b) = (number(original), number(rewritten));
    let mut alignment =
        Alignment { matched: ti_vec![None; b.len()], gaps: ti_vec![InstRange::default(); b.len()] };
    let range = |places: Range<usize>| InstId::from(places.start).to(InstId::from(places.end));
    let (mut old, mut new) = (0, 0);
    for (olds, news) in equal_runs(&a, &b) {
        fill_gap(
            original,
            rewritten,
            range(old..olds.start),
            range(new..news.start),
            &mut alignment,
        );
        (old, new) = (olds.end, news.end);
        for (old, new) in olds.zip(news) {
            let (old, new) = (InstId::from(old), InstId::from(new));
            alignment.matched[new] = Some(old);
            alignment.gaps[new] = old.to(old.next());
        }
    }
    fill_gap(original, rewritten, range(old..a.len()), range(new..b.len()), &mut alignment);
    widen_gaps(&mut alignment, original.flow.insts.next_key());
    alignment
}

/// Matches the events of two programs whose registers have different names: those of one opcode, in the order of the
/// blocks.
pub(crate) fn by_events(original: &Program<'_, '_>, rewritten: &Program<'_, '_>) -> Alignment {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    let (olds, news) = (events(original), events(rewritten));
    for (_, opcode) in olds.iter().chain(&news) {
        let next = numbers.len() as u32;
        numbers.entry(opcode).or_insert(next);
    }
    let number = |all: &[(InstId, &str)]| -> Vec<u32> {
        all.iter().map(|(_, opcode)| numbers[opcode]).collect()
    };
    let (a, b) = (number(&olds), number(&news));
    let count = rewritten.flow.insts.len();
    let mut alignment =
        Alignment { matched: ti_vec![None; count], gaps: ti_vec![InstRange::default(); count] };
    for (from, to) in equal_runs(&a, &b) {
        for (old, new) in from.zip(to) {
            let (old, new) = (olds[old].0, news[new].0);
            alignment.matched[new] = Some(old);
            alignment.gaps[new] = old.to(old.next());
        }
    }
    alignment
}

/// The instructions that are events, each with its opcode, in the order of the blocks.
fn events<'s>(program: &Program<'_, 's>) -> Vec<(InstId, &'s str)> {
    let insts = &program.flow.insts;
    let of_blocks = program.flow.block_ids().flat_map(|id| program.flow.block(id).instructions());
    of_blocks
        .filter(|at| !matches!(role(&insts[*at]), Role::Pure | Role::Load | Role::Branch))
        .map(|at| (at, insts[at].ast.opcode.text))
        .collect()
}

/// Matches each instruction with the one in the same place.
pub(crate) fn one_to_one(program: &Program<'_, '_>) -> Alignment {
    let places = program.flow.insts.keys();
    Alignment {
        matched: places.clone().map(Some).collect(),
        gaps: places.map(|at| at.to(at.next())).collect(),
    }
}

/// Matches events of one opcode, in order.
fn fill_gap(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    olds: InstRange,
    news: InstRange,
    alignment: &mut Alignment,
) {
    let is_event = |program: &Program<'_, '_>, at: InstId| {
        !matches!(role(&program.flow.insts[at]), Role::Pure | Role::Load | Role::Branch)
    };
    fn opcode<'s>(program: &Program<'_, 's>, at: InstId) -> &'s str {
        program.flow.insts[at].ast.opcode.text
    }
    let mut events: FxHashMap<&str, Vec<InstId>> = FxHashMap::default();
    for old in olds.clone().filter(|&old| is_event(original, old)) {
        events.entry(opcode(original, old)).or_default().push(old);
    }
    let mut next = olds.start;
    for new in news.filter(|&new| is_event(rewritten, new)) {
        let Some(same) = events.get(opcode(rewritten, new)) else { continue };
        if let Some(&old) = same.get(same.partition_point(|&old| old < next)) {
            alignment.matched[new] = Some(old);
            next = old.next();
        }
    }
}

/// An unmatched instruction may replace everything between its matched neighbours, the
/// neighbours included: the code that replaces a load may be before or behind it.
fn widen_gaps(alignment: &mut Alignment, end: InstId) {
    let mut before = InstId(0);
    let mut firsts: TiVec<InstId, InstId> = TiVec::with_capacity(alignment.matched.len());
    for matched in &alignment.matched {
        firsts.push(before);
        if let Some(old) = matched {
            before = *old;
        }
    }
    let mut behind = end;
    for new in alignment.matched.keys().rev() {
        match alignment.matched[new] {
            Some(old) => behind = old.next(),
            None => alignment.gaps[new] = firsts[new].min(behind).to(behind),
        }
    }
}
