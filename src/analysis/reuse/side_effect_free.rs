//! Which parts of a body may be duplicated, and so let a load be performed earlier: loads, arithmetic
//! and hints, with only blanks, comments and `.loc` between the statements.
//!
//! Counted once for a function, so that each question about two instructions is answered at once.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use crate::cfg::{Flow, InstId};
use crate::emulate::{Effect, effect};
use crate::source::SourceFile;
use crate::source::comments::gap_length;

/// For each instruction, how much in front of it may not be duplicated.
#[derive(Debug)]
pub struct SideEffectFree {
    /// For each instruction, how many instructions with effects come before it.
    effects: TiVec<InstId, u32>,
    /// The same without stores.
    beyond_stores: TiVec<InstId, u32>,
    /// For each instruction, how many gaps between the statements up to it hold something else.
    gaps: TiVec<InstId, u32>,
}

impl SideEffectFree {
    /// The counts of one function.
    pub fn new(source: &SourceFile, flow: &Flow<'_, '_>) -> SideEffectFree {
        let (mut effects, mut beyond_stores, mut gaps) = (ti_vec![0], ti_vec![0], TiVec::new());
        let (mut noticed, mut others, mut filled, mut end) = (0, 0, 0, None);
        for inst in &flow.insts {
            let span = inst.ast.span;
            let gap = end.map_or("", |end| &source.text()[end as usize..span.start as usize]);
            filled += u32::from(!is_plain(gap));
            gaps.push(filled);
            let effect = effect(inst);
            noticed += u32::from(!matches!(effect, Effect::Pure | Effect::Load | Effect::Hint));
            others += u32::from(!matches!(
                effect,
                Effect::Pure | Effect::Load | Effect::Hint | Effect::Store
            ));
            effects.push(noticed);
            beyond_stores.push(others);
            end = Some(span.end);
        }
        SideEffectFree { effects, beyond_stores, gaps }
    }

    /// Whether only such parts stand between two instructions, which are of one block then.
    pub fn between(&self, from: InstId, to: InstId) -> bool {
        self.holds(&self.effects, from, to)
    }

    /// Whether only such parts and stores stand between two instructions, which are of one block then.
    pub fn but_for_stores(&self, from: InstId, to: InstId) -> bool {
        self.holds(&self.beyond_stores, from, to)
    }

    /// Whether no label, scope or directive stands between two instructions.
    pub fn in_one_piece(&self, from: InstId, to: InstId) -> bool {
        self.gaps[from] == self.gaps[to]
    }

    fn holds(&self, counted: &TiSlice<InstId, u32>, from: InstId, to: InstId) -> bool {
        from >= to || counted[from.next()] == counted[to] && self.gaps[from] == self.gaps[to]
    }
}

/// Whether a text between two statements is blanks, comments and `.loc`: no label, scope or directive.
fn is_plain(mut gap: &str) -> bool {
    loop {
        gap = &gap[gap_length(gap.as_bytes())..];
        match gap.strip_prefix(".loc") {
            Some(rest) => gap = rest.split_once('\n').map_or("", |(_, behind)| behind),
            None => return gap.is_empty(),
        }
    }
}
