//! Vector stores of one program that replace several stores of the other one: `st.v4` for four scalar stores,
//! or the reverse.
//!
//! In: two programs with the instructions that are matched already. Out: groups, each one vector store and the
//! stores with its elements. This is only a guess by the texts; `stores` proves it: each element is stored at the
//! same address, under the same condition and with the same value. The order within a group does not matter,
//! since the elements do not overlap, and no other event is between the parts in either program.

use super::align::Alignment;
use super::instructions::{Role, role};
use super::prepared::Program;
use crate::cfg::BlockId;
use crate::isa::Words;

/// One vector store and the stores that it replaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::verify) struct Split {
    /// Whether the vector store is in the rewritten program.
    pub joined: bool,
    pub vector: u32,
    /// The other program's stores of one element each, in the order of its text.
    pub parts: Vec<u32>,
}

impl Split {
    /// The instruction of the rewritten program behind which memory is what it is behind the original's last
    /// store of the group, and that store.
    pub fn ends(&self) -> Option<(u32, u32)> {
        let last = *self.parts.last()?;
        Some(if self.joined { (self.vector, last) } else { (last, self.vector) })
    }

    /// Whether an instruction of the rewritten program, or of the original, belongs to the group.
    pub fn has(&self, inst: u32, of_rewritten: bool) -> bool {
        match of_rewritten == self.joined {
            true => inst == self.vector,
            false => self.parts.contains(&inst),
        }
    }
}

/// An event in the order of the blocks: the instruction, its block, and its opcode's words.
struct One<'s> {
    inst: u32,
    block: BlockId,
    matched: bool,
    /// The words of a store's opcode without `.vN`, and N; `None` for other events and guarded stores.
    store: Option<(Vec<&'s str>, usize)>,
}

/// The events of a program; `matched` says of an instruction whether it has a partner.
fn events<'s>(program: &Program<'_, 's>, matched: impl Fn(u32) -> bool) -> Vec<One<'s>> {
    let mut found = Vec::new();
    for block in program.flow.block_ids() {
        for at in program.flow.block(block).instructions() {
            let inst = &program.flow.insts[at];
            let kind = role(inst);
            if matches!(kind, Role::Pure | Role::Load | Role::Branch) {
                continue;
            }
            let store = (kind == Role::Store && inst.guard.is_none()).then(|| {
                let words = Words::of(inst.ast.opcode.text);
                let words = words.filter(|word| !matches!(*word, "v2" | "v4" | "v8")).collect();
                (words, usize::from(inst.ast.form.elements().unwrap_or(1)))
            });
            found.push(One { inst: at as u32, block, matched: matched(at as u32), store });
        }
    }
    found
}

/// The groups among the stores that are not matched.
pub(in crate::verify) fn find(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
) -> Vec<Split> {
    if original.irreducible || rewritten.irreducible {
        return Vec::new();
    }
    let mut has_partner = vec![false; original.flow.insts.len()];
    for &old in alignment.matched.iter().flatten() {
        has_partner[old as usize] = true;
    }
    let old = events(original, |at| has_partner[at as usize]);
    let new = events(rewritten, |at| alignment.matched[at as usize].is_some());
    let mut found = groups(&new, &old, true);
    found.extend(groups(&old, &new, false));
    found
}

/// Pairs each vector store among `vectors` with the first run of `parts` that is left.
fn groups(vectors: &[One<'_>], parts: &[One<'_>], joined: bool) -> Vec<Split> {
    let (mut found, mut next) = (Vec::new(), 0);
    for vector in vectors.iter().filter(|one| !one.matched) {
        let Some((words, count)) = vector.store.as_ref().filter(|(_, count)| *count > 1) else {
            continue;
        };
        let fits = |one: &One<'_>| {
            let store = one.store.as_ref();
            !one.matched && store.is_some_and(|(own, elements)| *elements == 1 && own == words)
        };
        let run = (next..parts.len()).find(|&from| {
            let run = parts.get(from..from + count);
            run.is_some_and(|run| run.iter().all(|one| fits(one) && one.block == run[0].block))
        });
        let Some(from) = run else { continue };
        next = from + count;
        let parts = parts[from..next].iter().map(|one| one.inst).collect();
        found.push(Split { joined, vector: vector.inst, parts });
    }
    found
}
