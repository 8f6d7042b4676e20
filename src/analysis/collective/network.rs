//! Networks: joint computations of lanes, with their instructions.

use std::ops::RangeInclusive;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::chain::Chain;
use super::evaluate::Sources;
use super::form::Form;
use super::obstacle::Obstacle;
use super::senders::Origins;
use super::value::{Operator, Order, Table};
use crate::cfg::{Arg, BlockId, Flow, InstId, InstRange, RegisterId};
use crate::isa::Opcode;

/// The operation of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Computes {
    /// All lanes of a group combined.
    Reduction(Operator),
    /// In each lane the lanes up to it combined, itself included.
    Prefix(Operator),
    /// A value that a register holds already.
    Duplicate,
}

/// A joint computation of lanes.
#[derive(Clone, Debug)]
pub struct Collective {
    /// Its operation.
    pub computes: Computes,
    /// How many lanes are combined: 32, or those of a group.
    pub lanes: u32,
    /// The register that is combined.
    pub source: RegisterId,
    /// The instruction that sends it: there the register holds the combined value.
    pub sender: InstId,
    /// Of values of 64 bits the register with the upper half, and the instruction that sends it; the register that is
    /// combined is that with the lower half.
    pub upper: Option<(RegisterId, InstId)>,
    /// The instruction that writes the result.
    pub result: InstId,
    /// The register of the result.
    pub register: RegisterId,
    /// All instructions of the network in program order, the last one included.
    pub network: Vec<InstId>,
    /// Its shuffles as often as they are executed, where known with the lane that each lane has its value from.
    pub shuffles: Vec<(InstId, Sources)>,
    /// The lanes that hold the result, by bits.
    pub exact: u32,
    /// Whether the operand is 0 or 1 in each lane, by a predicate.
    pub of_predicates: bool,
    /// Whether lanes have to be consecutive in `%tid.x` for the result to be used by lanes alone that hold it, and that is
    /// not known from the kernel's directives.
    pub needs_consecutive: bool,
    /// The form that may compute it with fewer instructions.
    pub form: Result<Form, Obstacle>,
    /// The instructions that would be left out.
    pub removed: Vec<InstId>,
    /// The loop that it is done by, if that may be replaced as a whole.
    pub in_loop: Option<Box<InLoop>>,
}

/// A loop of straight code whose results are collectives and constants.
#[derive(Clone, Debug)]
pub struct InLoop {
    /// Its blocks.
    pub blocks: Vec<BlockId>,
    /// Its instructions, the branch included.
    pub insts: InstRange,
    /// How often it is executed.
    pub iterations: u32,
    /// Whether the instruction in front in the text leads to the loop by falling through.
    pub is_behind_entry: bool,
    /// The registers that hold a constant behind the loop and are read there.
    pub constants: Vec<(RegisterId, u32)>,
    /// Its other collectives.
    pub others: Vec<Collective>,
}

/// The most instructions of a network: several for each lane and each word of its value.
const MAX_INSTS: usize = 512;

/// The instructions that a result depends on and whose values may come from other lanes, in program order; `None` if they are
/// too many for one collective. `source` is the instruction that has written the combined value: neither it nor its
/// dependences are included.
pub(super) fn network_of(chain: &Chain, at: InstId, source: Option<InstId>) -> Option<Vec<InstId>> {
    let mut found: FxHashSet<InstId> = FxHashSet::default();
    let mut work = vec![at];
    while let Some(next) = work.pop() {
        if !found.insert(next) {
            continue;
        }
        if found.len() > MAX_INSTS || source.is_none() && chain.large.borrow().contains(&next) {
            if source.is_none() {
                chain.large.borrow_mut().insert(at);
            }
            return None;
        }
        let step = &chain.steps[&next];
        for (_, from) in &step.reads {
            let from = from.filter(|from| {
                Some(*from) != source && chain.steps.get(from).is_some_and(|step| step.crosses)
            });
            work.extend(from);
        }
    }
    let mut found: Vec<InstId> = found.into_iter().collect();
    found.sort_unstable();
    Some(found)
}

/// The shuffles of a network as often as the chain executes them, with where their lanes have their values from.
pub(super) fn shuffles_of(chain: &Chain, network: &[InstId]) -> Vec<(InstId, Sources)> {
    chain.shuffles.iter().filter(|(at, _)| network.contains(at)).copied().collect()
}

/// Whether a result of an instruction may come from other lanes. Where a warp lacks lanes, the values of two lanes
/// that have exchanged theirs may then differ, so a network behind is looked at for itself.
pub(super) fn crosses(chain: &Chain, writer: Option<InstId>) -> bool {
    let step = writer.and_then(|writer| chain.steps.get(&writer));
    step.is_some_and(|step| step.crosses)
}

/// The register that a shuffle sends, its table, and the instruction of the chain that has written it.
pub(super) fn sent(
    flow: &Flow<'_, '_>,
    chain: &Chain,
    shuffle: InstId,
) -> Option<(RegisterId, Rc<Table>, Option<InstId>)> {
    let Some(Arg::Register(register)) = flow.insts[shuffle].args.get(1) else {
        return None;
    };
    let (_, from) = chain.steps[&shuffle].reads.iter().find(|(read, _)| read == register)?;
    let table = Rc::clone(chain.table(*register, *from)?);
    Some((*register, table, *from))
}

/// Where a chain recomputes a value that a register holds already.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    found: FxHashMap<InstId, (InstId, RegisterId)>,
}

impl Repeats {
    /// The repeats of shuffles of a chain.
    pub(super) fn new(flow: &Flow<'_, '_>, chain: &Chain) -> Self {
        let mut found = FxHashMap::default();
        // The last instruction that has written a register, and the words that came from other lanes, by their table.
        let mut holds: FxHashMap<RegisterId, InstId> = FxHashMap::default();
        let mut words: FxHashMap<Rc<Table>, Vec<(InstId, RegisterId)>> = FxHashMap::default();
        let mut origins: Option<Origins> = None;
        for &at in &chain.insts {
            let (step, inst) = (&chain.steps[&at], &flow.insts[at]);
            if inst.ast.form.opcode == Opcode::Shfl
                && let Some((result, table)) = step.results.first()
                && let Some(same) = words.get(table)
            {
                let held = |one: &&(InstId, RegisterId)| holds.get(&one.1) == Some(&one.0);
                let origins = origins.get_or_insert_with(|| Origins::new(flow, chain));
                let is_defined = |one: &&(InstId, RegisterId)| {
                    origins.are_defined_alike((*result, at), (one.1, one.0))
                        || planted!(Bug::CollectiveAbsent)
                };
                let same = same.iter().filter(held).filter(is_defined).max();
                found.extend(same.map(|one| (at, *one)));
            }
            for (register, table) in &step.results {
                holds.insert(*register, at);
                // (A predicate may stand for the same numbers.)
                let is_word = flow.registers[*register].ty.bits() == 32;
                if step.crosses && inst.guard.is_none() && is_word {
                    words.entry(Rc::clone(table)).or_default().push((at, *register));
                }
            }
        }
        Repeats { found }
    }

    /// The last earlier instruction of the chain that has computed the values of a shuffle, also where lanes are absent, if
    /// its register still holds them.
    pub(super) fn of(&self, at: InstId) -> Option<(InstId, RegisterId)> {
        self.found.get(&at).copied()
    }
}

impl Operator {
    /// The operator's word in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The type of the operand.
    pub fn ty(self) -> &'static str {
        match self {
            Operator::Sum => "u32",
            Operator::Min(order) | Operator::Max(order) => match order {
                Order::Signed => "s32",
                Order::Unsigned => "u32",
                Order::Float { .. } => "f32",
            },
            Operator::And | Operator::Or | Operator::Xor => "b32",
        }
    }
}

impl Collective {
    /// A network and its operation, before it is decided whether fewer instructions may compute it. `computes`: the
    /// operation, the number of its lanes, and the lanes that hold the result.
    pub(super) fn found(
        chain: &Chain,
        (computes, lanes, exact): (Computes, u32, u32),
        (source, sender): (RegisterId, InstId),
        (result, register): (InstId, RegisterId),
        network: Vec<InstId>,
    ) -> Collective {
        Collective {
            computes,
            lanes,
            source,
            sender,
            upper: None,
            result,
            register,
            shuffles: shuffles_of(chain, &network),
            network,
            exact,
            of_predicates: false,
            needs_consecutive: false,
            form: Err(Obstacle::NoInstruction("it")),
            removed: Vec::new(),
            in_loop: None,
        }
    }

    /// It and the other collectives of its loop.
    pub fn parts(&self) -> impl Iterator<Item = &Collective> {
        let others = self.in_loop.iter().flat_map(|in_loop| &in_loop.others);
        std::iter::once(self).chain(others)
    }

    /// The instructions from its first to its last one; those of its loop.
    pub fn range(&self) -> RangeInclusive<InstId> {
        match &self.in_loop {
            Some(in_loop) => in_loop.insts.start..=in_loop.insts.end.before(),
            None => self.network[0]..=self.result,
        }
    }

    /// Its operation, in one word.
    pub fn word(&self) -> &'static str {
        match (self.computes, self.of_predicates) {
            (Computes::Reduction(Operator::Sum), true) => "count",
            (Computes::Reduction(Operator::Or), true) => "any",
            (Computes::Reduction(Operator::And), true) => "all",
            (Computes::Reduction(operator), _) => operator.word(),
            (Computes::Prefix(_), _) => "prefix-count",
            (Computes::Duplicate, _) => "duplicate",
        }
    }

    /// The type of the operand.
    pub fn ty(&self) -> &'static str {
        match self.computes {
            Computes::Reduction(_) | Computes::Prefix(_) if self.of_predicates => "pred",
            Computes::Reduction(_) if self.upper.is_some() => "b64",
            Computes::Reduction(operator) | Computes::Prefix(operator) => operator.ty(),
            Computes::Duplicate => "b32",
        }
    }
}
