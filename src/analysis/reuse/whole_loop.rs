//! Loops that can get two versions as a whole, under one test in front of them.
//!
//! In: a loop without another one in it, and the distances that code in it tests. Out: the [`WholeLoop`], and the same
//! tests over the values that registers have in front of the loop, where each of them has the same outcome in all
//! iterations: the distance changes by 0 bytes. With a branch in each iteration instead, an assembler does not unroll the
//! loop.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::batched::{Addend, Batched, Distance};
use super::legality::Legality;
use super::loop_code::LoopCode;
use super::loop_steps::{MAX_STEP, step};
use super::sums::Sum;
use crate::cfg::{Arg, Flow, InstId, LoopId, RegisterId};
use crate::emulate::{Effect, definitions, effect};
use crate::isa::Opcode;
use crate::source::SourceFile;
use crate::source::comments::gap_length;

/// The most instructions of a loop that are copied.
const MAX_INSTS: usize = 1024;

/// A loop whose code can be copied.
#[derive(Clone, Debug)]
pub struct WholeLoop {
    /// The code.
    pub code: LoopCode,
    /// The byte of the text in front of it, and in front of its labels.
    pub front: usize,
    /// The labels of its head, number 0, and within it: by the bytes at which they stand, or a branch of the loop names
    /// them, their numbers.
    pub labels: BTreeMap<usize, usize>,
}

impl WholeLoop {
    /// A loop, if a copy of its text does the same: nothing in it waits for other threads or asks which of them are together.
    pub fn of(source: &SourceFile, flow: &Flow<'_, '_>, id: LoopId) -> Option<WholeLoop> {
        let code = LoopCode::of(flow, id).ok()?;
        let (first, last) = (code.range.start, code.range.end.before());
        let is_copied = |at: InstId| {
            let inst = &flow.insts[at];
            let is_known = match effect(inst) {
                Effect::Pure | Effect::Hint | Effect::Load | Effect::Store | Effect::Atomic => true,
                Effect::Control => inst.ast.form.opcode == Opcode::Bra,
                _ => false,
            };
            is_known && !inst.pragma && !inst.args.iter().any(super::adjacent_stores::is_observed)
        };
        if code.range.len() > MAX_INSTS || !code.range.clone().all(is_copied) {
            return None;
        }
        let end = |at: InstId| flow.insts[at].ast.span.end as usize;
        let gap =
            |at: InstId| &source.text()[end(at)..flow.insts[at.next()].ast.span.start as usize];
        let front = end(first.before()) + *labels_in(gap(first.before()))?.first()?;
        let (mut labels, mut numbers) = (BTreeMap::new(), BTreeMap::from([(first, 0)]));
        for at in first.to(last) {
            for label in labels_in(gap(at))? {
                let number = labels.len() + 1;
                labels.insert(end(at) + label, number);
                numbers.entry(at.next()).or_insert(number);
            }
        }
        for at in code.range.clone() {
            let inst = &flow.insts[at];
            if let ([target], Some(label)) = (&inst.targets[..], inst.ast.operands.first())
                && let Some(number) = numbers.get(target)
            {
                labels.insert(label.span().start as usize, *number);
            }
        }
        Some(WholeLoop { code, front, labels })
    }
}

/// The places of the labels of a text between two statements, if there is nothing else but blanks, comments and `.loc`.
fn labels_in(text: &str) -> Option<Vec<usize>> {
    let (mut labels, mut gap) = (Vec::new(), text);
    loop {
        gap = &gap[gap_length(gap.as_bytes())..];
        if gap.is_empty() {
            return Some(labels);
        }
        gap = match gap.strip_prefix(".loc") {
            Some(rest) => rest.split_once('\n').map_or("", |(_, behind)| behind),
            None => {
                let in_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
                let end = gap.find(|c| !in_name(c)).filter(|end| *end > 0)?;
                labels.push(text.len() - gap.len());
                let rest = &gap[end..];
                rest[gap_length(rest.as_bytes())..].strip_prefix(':')?
            }
        };
    }
}

impl Legality<'_, '_, '_> {
    /// Finds out which distances are the same in all iterations of the innermost loop around a block.
    pub(super) fn find_invariant(&self, group: &mut Batched) {
        let flow = self.flow();
        let Some(around) = flow.loops.innermost(group.block) else { return };
        let inside = flow.block_ids().filter(|block| flow.loops.contains(around, *block));
        let insts = inside.flat_map(|block| &flow.insts[flow.block(block).instructions().range()]);
        let written: FxHashSet<RegisterId> = insts.flat_map(definitions).collect();
        for test in &mut group.tests {
            test.varies = test.parts.iter().any(|(part, _)| match part {
                Addend::Register(register) => written.contains(register),
                Addend::Step(_) => true,
            });
        }
        let whole = WholeLoop::of(self.source, flow, around);
        group.in_front = whole.and_then(|whole| in_front(flow, &whole.code, group));
    }
}

/// The tests of a group in front of a loop; `None` if the outcome of one may differ between iterations, or if it is known.
fn in_front(flow: &Flow<'_, '_>, code: &LoopCode, group: &Batched) -> Option<Vec<Distance>> {
    let mut sums = code.sums(flow);
    let mut moved = |test: &Distance| {
        let mut found = Sum::default();
        for (part, factor) in &test.parts {
            let (register, place) = match part {
                Addend::Register(register) => (*register, group.test),
                Addend::Step(step) => {
                    let at = group.measured[*step].inst;
                    match flow.insts[at].args[..] {
                        [Arg::Register(register), ..] => (register, at.next()),
                        _ => return None,
                    }
                }
            };
            found.add(&sums.of(register, place), *factor);
        }
        let each = step(&mut sums, &found, code, flow)?.known()?;
        let is_still = each == 0 || planted!(Bug::BatchTestedOnce);
        let is_small = found.parts.values().all(|factor| factor.unsigned_abs() <= MAX_STEP as u64);
        let parts: Vec<_> = found
            .parts
            .iter()
            .map(|(held, factor)| (Addend::Register(held.register), *factor))
            .collect();
        let least = test.least.wrapping_sub(found.constant);
        (is_still && is_small && !parts.is_empty()).then_some(Distance {
            parts,
            least,
            more: test.more,
            varies: false,
        })
    };
    group.tests.iter().map(&mut moved).collect()
}
