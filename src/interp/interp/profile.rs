//! A profile without a GPU: the events of a run, instruction by instruction.

use typed_index_collections::{TiVec, ti_vec};

use super::counters::{Counters, Tally, Total};
use super::program::{FunctionId, Origin, Pc, Program};
use crate::source::Span;

/// The events of each micro-operation of each function.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    functions: TiVec<FunctionId, TiVec<Pc, Counters>>,
}

/// The events of one instruction.
#[derive(Clone, Debug)]
pub struct InstructionProfile {
    /// The kernel or function that it stands in.
    pub function: String,
    /// The instruction in the PTX text.
    pub span: Span,
    /// The place in the sources that the instruction was compiled from, if a `.loc` says so.
    pub origin: Option<Origin>,
    /// The events of the instruction.
    pub counters: Counters,
}

impl Tally for Profile {
    #[inline(always)]
    fn at(&mut self, function: FunctionId, pc: Pc) -> &mut Counters {
        &mut self.functions[function][pc]
    }
}

impl Total for Profile {
    fn new(program: &Program) -> Profile {
        let functions = program.functions.iter();
        Profile {
            functions: functions.map(|f| ti_vec![Counters::default(); f.code.len()]).collect(),
        }
    }

    fn merge(&mut self, other: &Profile) {
        for (mine, theirs) in self.functions.iter_mut().zip(&other.functions) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.add(theirs));
        }
    }
}

impl Profile {
    /// All events in one sum.
    pub(super) fn total(&self) -> Counters {
        let mut total = Counters::default();
        self.functions.iter().flatten().for_each(|counters| total.add(counters));
        total
    }

    /// The instructions that were executed, in the order of the text within each function.
    pub(super) fn instructions(&self, program: &Program) -> Vec<InstructionProfile> {
        let mut found: Vec<InstructionProfile> = Vec::new();
        for (function, counters) in program.functions.iter().zip(&self.functions) {
            let mut current: Option<InstructionProfile> = None;
            for (pc, counters) in counters.iter_enumerated() {
                if function.code[pc].first {
                    found.extend(current.take());
                    current = Some(InstructionProfile {
                        function: function.name.clone(),
                        span: function.spans[pc],
                        origin: function.origins[pc],
                        counters: Counters::default(),
                    });
                }
                if let Some(current) = &mut current {
                    current.counters.add(counters);
                }
            }
            found.extend(current);
        }
        found.retain(|instruction| instruction.counters.instructions > 0);
        found
    }
}
