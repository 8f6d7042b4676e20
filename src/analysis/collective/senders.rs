//! The lanes that each lane has a value from, by the shuffles of a chain: where a lane is absent, a shuffle from it delivers
//! any value (PTX ISA, "shfl.sync").

use rustc_hash::FxHashMap;

use super::chain::Chain;
use super::evaluate::Sources;
use super::value::LANES;
use crate::cfg::{Arg, Flow, Inst, InstId, RegisterId};
use crate::emulate::definitions;
use crate::isa::Opcode;

/// The lanes that a value comes from, by bits.
#[derive(Clone, Copy, Default, Debug)]
struct Senders {
    /// All that it may come from.
    any: u32,
    /// Those that must all be there for it to be defined.
    needed: u32,
}

/// The senders of each result of a chain, lane by lane.
#[derive(Debug, Default)]
pub(super) struct Origins {
    of: FxHashMap<(RegisterId, InstId), [Senders; LANES]>,
}

impl Origins {
    /// Those of a chain.
    pub(super) fn new(flow: &Flow<'_, '_>, chain: &Chain) -> Origins {
        let mut origins = Origins::default();
        let sources: FxHashMap<InstId, Sources> = chain.shuffles.iter().copied().collect();
        for &at in &chain.insts {
            let inst = &flow.insts[at];
            for register in definitions(inst) {
                let old = inst.guard.and_then(|_| chain.written_before(at, register));
                let found = std::array::from_fn(|lane| {
                    let new = match second(inst) == Some(register) {
                        // (Whether a source is in range depends on the lane alone.)
                        true => Senders::default(),
                        false => origins.result(chain, (inst, at), sources.get(&at), lane),
                    };
                    match inst.guard {
                        Some(_) => {
                            let old = origins.at(register, old, lane);
                            Senders { any: new.any | old.any, needed: new.needed & old.needed }
                        }
                        None => new,
                    }
                });
                origins.of.insert((register, at), found);
            }
        }
        origins
    }

    /// The senders of a register as an instruction of the chain has written it.
    fn at(&self, register: RegisterId, from: Option<InstId>, lane: usize) -> Senders {
        let known = from.and_then(|from| self.of.get(&(register, from)));
        known.map_or(Senders::default(), |each| each[lane])
    }

    fn result(
        &self,
        chain: &Chain,
        (inst, at): (&Inst<'_, '_>, InstId),
        sources: Option<&Sources>,
        lane: usize,
    ) -> Senders {
        let reads = &chain.steps[&at].reads;
        let of = |register: RegisterId, lane: usize| {
            let from = reads.iter().find(|(read, _)| *read == register).and_then(|(_, from)| *from);
            self.at(register, from, lane)
        };
        if let (Some(sources), Some(Arg::Register(sent))) = (sources, inst.args.get(1)) {
            let from = usize::from(sources[lane]);
            let sender = if from == lane { 0 } else { 1 << from };
            let there = of(*sent, from);
            return Senders { any: there.any | sender, needed: there.needed | sender };
        }
        if super::is_exchange(inst) {
            return Senders { any: u32::MAX, needed: 0 };
        }
        let each = || reads.iter().map(|(register, _)| of(*register, lane));
        let any = each().fold(0, |all, one| all | one.any);
        let is_sum = matches!(inst.ast.form.opcode, Opcode::Add | Opcode::Sub | Opcode::Xor);
        let constants = inst.args.iter().skip(1).any(|arg| !matches!(arg, Arg::Register(_)));
        let needed = match is_sum {
            // (One that both operands depend on may cancel.)
            true => each().fold(0, |all, one| all ^ one.needed),
            false if constants => 0,
            false => each().map(|one| one.needed).reduce(|a, b| a & b).unwrap_or(0),
        };
        Senders { any, needed }
    }

    /// Whether one result is defined in each lane in which another one is.
    pub(super) fn are_defined_alike(
        &self,
        (result, at): (RegisterId, InstId),
        (instead, writer): (RegisterId, InstId),
    ) -> bool {
        (0..LANES).all(|lane| {
            let before = self.at(result, Some(at), lane);
            let after = self.at(instead, Some(writer), lane);
            after.any & !before.needed == 0
        })
    }
}

/// The predicate that a shuffle writes.
fn second(inst: &Inst<'_, '_>) -> Option<RegisterId> {
    match inst.args.first() {
        Some(Arg::Pair(pair)) if inst.ast.form.opcode == Opcode::Shfl => match pair[1] {
            Arg::Register(register) => Some(register),
            _ => None,
        },
        _ => None,
    }
}
