//! Loops that can get two versions as a whole, under one test in front of them. With a branch in each iteration instead, an
//! assembler does not unroll the loop.
//!
//! In: a loop without another one in it. Out: the [`WholeLoop`], if a copy of its text does the same.

use std::collections::BTreeMap;

use super::code::LoopCode;
use crate::cfg::{Flow, InstId, LoopId};
use crate::emulate::{Effect, effect};
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
            is_known && !inst.pragma && !inst.args.iter().any(super::code::is_observed)
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
