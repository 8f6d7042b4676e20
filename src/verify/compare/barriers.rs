//! One spelling for barriers that are the same.
//!
//! `bar{.cta}.sync` is `barrier{.cta}.sync.aligned` (PTX ISA, "bar, barrier"). Without `.aligned` the threads of a warp need
//! not execute the instruction together. Where all threads of a kernel come to it, once and under no condition, both may stand,
//! unless something asks which lanes are together: they need not be behind a barrier without `.aligned`.
//!
//! In: a text. Out: the text with `bar.sync` in the place of such barriers. Lines stay where they are.

use std::ops::Range;

use super::renamed::edited;
use crate::cfg::{self, BlockId, PostDominators};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::{self, Depth, FunctionKind, Statement};
use crate::source::SourceFile;

/// Two texts that are compared, each with one spelling; `None` for one that has it already.
pub(super) fn with_one_spelling(texts: [&SourceFile; 2]) -> [Option<SourceFile>; 2] {
    let has_other = |source: &&SourceFile| {
        ["barrier", "bar.cta"].iter().any(|word| source.text().contains(word))
    };
    if !texts.iter().any(has_other) {
        return [None, None];
    }
    let asks = texts.iter().any(|source| asks_for_lanes(source));
    texts.map(|source| respelled(source, asks))
}

/// Whether a text may ask which lanes are together: it has instructions of a warp, or calls.
fn asks_for_lanes(source: &SourceFile) -> bool {
    fn within(statements: &[Statement<'_>]) -> bool {
        statements.iter().any(|statement| match statement {
            Statement::Block { statements, .. } => within(statements),
            Statement::Instruction(inst) => match inst.form.opcode {
                Opcode::Bar | Opcode::Barrier => inst.opcode.text.contains("warp"),
                Opcode::ActiveMask | Opcode::Shfl | Opcode::Vote | Opcode::Match => true,
                Opcode::Call | Opcode::Unknown => true,
                _ => inst.form.has(Qualifier::Sync) || inst.form.has(Qualifier::Aligned),
            },
            _ => false,
        })
    }
    let module = ptx::parse(source, Depth::All);
    module.map_or(true, |module| {
        module.functions().any(|one| within(one.statements().unwrap_or_default()))
    })
}

/// The text with one spelling. `asks` says whether one of the compared texts may ask which lanes are together.
fn respelled(source: &SourceFile, asks: bool) -> Option<SourceFile> {
    let module = ptx::parse(source, Depth::All).ok()?;
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for function in module.functions().filter(|one| one.statements().is_some()) {
        let Ok(flow) = cfg::build(source, function) else { continue };
        // The blocks that each thread of a kernel executes once.
        let (behind, mut whole) = (PostDominators::of(&flow), Vec::new());
        let is_reducible = !flow.block_ids().any(|block| flow.loops.is_irreducible_entry(block));
        let is_whole = function.kind == FunctionKind::Entry && is_reducible;
        let mut next = is_whole.then_some(BlockId(0));
        while let Some(block) = next {
            whole.push(block);
            next = behind.immediate(block);
        }
        whole.retain(|block| flow.loops.innermost(*block).is_none());
        for block in flow.block_ids() {
            for at in flow.block(block).instructions() {
                let inst = &flow.insts[at];
                let words: String = inst.ast.opcode.text.split_whitespace().collect();
                let is_alike = match words.as_str() {
                    "barrier.sync.aligned" | "barrier.cta.sync.aligned" | "bar.cta.sync" => true,
                    "barrier.sync" | "barrier.cta.sync" => {
                        !asks && inst.guard.is_none() && whole.contains(&block)
                    }
                    _ => false,
                };
                if is_alike && matches!(inst.ast.form.opcode, Opcode::Bar | Opcode::Barrier) {
                    edits.push((inst.ast.opcode.span.range(), "bar.sync".to_owned()));
                }
            }
        }
    }
    (!edits.is_empty()).then(|| edited(source, edits))
}
