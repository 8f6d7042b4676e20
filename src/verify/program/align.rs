//! Matches instructions of the rewritten program with those of the original.
//!
//! The matching is only a guess that makes proofs short: whatever it says, every event of the one
//! program has to be shown equal to an event of the other. Instructions of the same text are matched
//! by a difference of the two texts; in the gaps between them, events of the same opcode are matched
//! in order.

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
pub(crate) fn align<'m, 's>(original: &Program<'m, 's>, rewritten: &Program<'m, 's>) -> Alignment {
    let all = |program: &Program<'_, '_>| InstId(0).to(program.flow.insts.next_key());
    let mut aligner = Aligner::new(original, rewritten);
    aligner.replaced(all(original), all(rewritten));
    aligner.finish()
}

/// Matches two programs range by range.
pub(super) struct Aligner<'p, 'm, 's> {
    programs: [&'p Program<'m, 's>; 2],
    /// Equal numbers for equal instructions.
    numbers: FxHashMap<String, u32>,
    /// Instructions in front of these are matched.
    at: [InstId; 2],
    alignment: Alignment,
}

impl<'p, 'm, 's> Aligner<'p, 'm, 's> {
    pub(super) fn new(original: &'p Program<'m, 's>, rewritten: &'p Program<'m, 's>) -> Self {
        let count = rewritten.flow.insts.len();
        let matched = ti_vec![None; count];
        let alignment = Alignment { matched, gaps: ti_vec![InstRange::default(); count] };
        let numbers = FxHashMap::default();
        Aligner { programs: [original, rewritten], numbers, at: [InstId(0); 2], alignment }
    }

    fn number(&mut self, program: &Program<'m, 's>, inst: InstId, is_exact: bool) -> u32 {
        let inst = &program.flow.insts[inst];
        let mut text = program.text(inst);
        // A load under another guard predicate is the same load.
        if let (Some((register, negated)), true) =
            (inst.guard, is_exact || role(inst) != Role::Load)
        {
            let name = &program.flow.registers[register];
            text = format!("@{negated}{name} {text}");
        }
        let next = self.numbers.len() as u32;
        *self.numbers.entry(text).or_insert(next)
    }

    fn pair(&mut self, old: InstId, new: InstId) {
        self.alignment.matched[new] = Some(old);
        self.alignment.gaps[new] = old.to(old.next());
    }

    /// Matches the instructions up to these, each with the one in the same place.
    ///
    /// # Errors
    /// Two of them differ.
    pub(super) fn same_up_to(&mut self, old: InstId, new: InstId) -> Result<(), String> {
        let [original, rewritten] = self.programs;
        let [olds, news] = [self.at[0].to(old), self.at[1].to(new)];
        let is_same = olds.len() == news.len()
            && olds.clone().zip(news.clone()).all(|(old, new)| {
                self.number(original, old, true) == self.number(rewritten, new, true)
            });
        if !is_same {
            let line = match news.clone().next() {
                Some(first) => rewritten.line(first),
                None => rewritten.source.line(rewritten.function.name.span.start),
            };
            return Err(format!(
                "the instructions from line {line} on are not those of the original"
            ));
        }
        olds.zip(news).for_each(|(old, new)| self.pair(old, new));
        self.at = [old, new];
        Ok(())
    }

    /// Matches ranges that stand in each other's place: common instructions, and in the gaps events of one opcode.
    pub(super) fn replaced(&mut self, olds: InstRange, news: InstRange) {
        let [original, rewritten] = self.programs;
        self.at = [olds.end, news.end];
        let a: Vec<u32> = olds.clone().map(|at| self.number(original, at, false)).collect();
        let b: Vec<u32> = news.clone().map(|at| self.number(rewritten, at, false)).collect();
        let place = |all: &InstRange, at: usize| InstId::from(usize::from(all.start) + at);
        let (mut old, mut new) = (olds.start, news.start);
        for (from, to) in equal_runs(&a, &b) {
            let (start, other) = (place(&olds, from.start), place(&news, to.start));
            fill_gap(original, rewritten, old.to(start), new.to(other), &mut self.alignment);
            (old, new) = (place(&olds, from.end), place(&news, to.end));
            start.to(old).zip(other.to(new)).for_each(|(old, new)| self.pair(old, new));
        }
        fill_gap(original, rewritten, old.to(olds.end), new.to(news.end), &mut self.alignment);
    }

    /// The alignment.
    pub(super) fn finish(mut self) -> Alignment {
        widen_gaps(&mut self.alignment, self.programs[0].flow.insts.next_key());
        self.alignment
    }
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
