//! Loads of consecutive bytes by one lane, for which one vector load can stand.
//!
//! In: loads of one block that may take part. Out: [`VectorGroup`] groups, each with the conditions on
//! parameters under which the vector's address is aligned in every lane. All loads of a group run
//! whenever its first one does, so the vector reads no byte that the original does not; no instruction
//! between the first and another one of the group may change the bytes of that other one.

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::alignment::{MAX_VECTOR, Multiple, remainder};
use super::eligible::{Element, Load, OWN_REGISTERS};
use super::legality::Legality;
use super::refusal::Refusal;
use crate::cfg::{Arg, Base, BlockId, Edge, EdgeCondition, Inst, InstId, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions, effect};
use crate::expr::TermId;
use crate::isa::{Modifier, Qualifier};

/// Loads that one vector load can stand for.
#[derive(Clone, Debug)]
pub struct VectorGroup {
    /// The loads in program order; the vector stands in the place of the first.
    pub members: Vec<Load>,
    /// The elements that are loaded, by address; offsets count from the vector's first byte.
    pub elements: Vec<(Element, InstId)>,
    /// Bytes from the first member's address to the vector's.
    pub offset: i64,
    /// Bytes of the vector.
    pub bytes: i64,
    /// Conditions on parameters, each to be a multiple of a number; empty if alignment is proved.
    pub multiples: SmallVec<[Multiple; 2]>,
}

impl VectorGroup {
    /// Whether an instruction is one of the loads.
    pub fn has(&self, inst: InstId) -> bool {
        self.members.iter().any(|load| load.inst == inst)
    }
}

/// Loads that differ by constants, in program order, with their distances in bytes from the first one.
type Run = Vec<(Load, i64)>;

/// Loads that may be in one run: their block, their address without its constant, their guard predicate.
type Key = (BlockId, TermId, Option<(RegisterId, bool)>);

/// A map that remembers the order in which keys came.
type FxIndexMap<K, V> = indexmap::IndexMap<K, V, FxBuildHasher>;

/// The most runs that could hold a load and are looked at, the last ones first.
const MAX_KINDS: usize = 8;

/// The maximum distance in bytes of two loads of a run.
pub(super) const MAX_APART: i64 = 1 << 20;

impl Legality<'_, '_, '_> {
    /// The groups that some loads, in program order, fall into. A load is in one group at most.
    pub fn adjacent(&mut self, trace: &mut KernelTrace, loads: &[Load]) -> Vec<VectorGroup> {
        let mut runs: FxIndexMap<Key, Vec<Run>> = FxIndexMap::default();
        for load in loads {
            // (Stores of an earlier rewrite stood between loads in front of its test.)
            if !self.is_simple(load) || self.leads_to_version(trace.accesses[load.access].block) {
                continue;
            }
            trace.arena.charge(4);
            let constant = trace.arena.constant_part(load.address);
            let bare = trace.arena.add_constant(load.address, constant.wrapping_neg());
            let key = (trace.accesses[load.access].block, bare, load.guard);
            self.add_to_run(trace, runs.entry(key).or_default(), load);
        }
        let mut found = Vec::new();
        for run in runs.values().flatten().filter(|run| run.len() > 1) {
            if trace.arena.is_nearly_spent() {
                break;
            }
            self.split_run(trace, run, false, &mut found);
        }
        found.sort_by_key(|group: &VectorGroup| group.members[0].inst);
        found
    }

    /// Adds a load to the run of its kind with whose loads it may be performed.
    fn add_to_run(&mut self, trace: &mut KernelTrace, runs: &mut Vec<Run>, load: &Load) {
        // An instruction between ends all earlier runs alike, whatever their kinds.
        for run in runs.iter_mut().rev().take(MAX_KINDS) {
            trace.arena.charge(8);
            let first = run[0].0.clone();
            let Some(ahead) = trace.arena.near_difference(load.address, first.address) else {
                continue;
            };
            let close = ahead.abs() < MAX_APART && self.same_kind(&first, load);
            // Stores may stand between if no code is duplicated; `split_run` decides that.
            if close
                && self.side_effect_free(trace).but_for_stores(first.inst, load.inst)
                && self.is_available_at(trace, &first, load)
            {
                run.push((load.clone(), ahead));
                return;
            }
        }
        runs.push(vec![(load.clone(), 0)]);
    }

    /// Whether a load's opcode and operands are such that a vector load can be written for it.
    pub fn is_simple(&self, load: &Load) -> bool {
        let inst = &self.flow().insts[load.inst];
        let plain = |arg: &Arg<'_>| matches!(arg, Arg::Memory { base: Base::Register(_), rest, .. } if rest.is_empty());
        let hints = [Qualifier::L2CacheHint];
        let sinks = load.elements.len() as i64 * i64::from(load.elements[0].ty.bits() / 8);
        inst.args.len() == 2
            && plain(&inst.args[1])
            && !inst.ast.form.has_any(&hints)
            && sinks == load.bytes
            && !inst.ast.form.modifiers().contains(&Modifier::Unknown)
    }

    /// Whether a block belongs to a version of the code that an earlier rewrite has made: each way to it leads along one side
    /// of a branch on a predicate of that rewrite.
    pub fn is_version(&self, block: BlockId) -> bool {
        let (flow, mut block) = (self.flow(), block);
        loop {
            let is_entry = |edge: &&Edge| !flow.dominators.dominates(block, edge.from);
            let mut edges = flow.block(block).predecessors.iter().filter(is_entry);
            if let (Some(edge), None) = (edges.next(), edges.next())
                && let EdgeCondition::Predicate(register, _) = edge.condition
                && flow.registers[register].name.starts_with(OWN_REGISTERS)
            {
                return true;
            }
            let Some(above) = flow.dominators.immediate(block) else { return false };
            block = above;
        }
    }

    /// Whether a block ends with the test of an earlier rewrite.
    fn leads_to_version(&self, block: BlockId) -> bool {
        let flow = self.flow();
        flow.block(block).successors.iter().any(|edge| match edge.condition {
            EdgeCondition::Predicate(register, _) => {
                flow.registers[register].name.starts_with(OWN_REGISTERS)
            }
            _ => false,
        })
    }

    /// Whether two loads have the same modifiers but for the vector and the type, and elements of one
    /// size that are extended alike.
    pub fn same_kind(&self, a: &Load, b: &Load) -> bool {
        let (one, other) = (a.elements[0], b.elements[0]);
        let size = one.ty.bits() == other.ty.bits() && one.register_bits == other.register_bits;
        // An element that is extended needs its type; one that fills its register is just bits.
        let extended = one.ty.bits() < one.register_bits;
        size && (!extended || one.ty == other.ty) && self.same_modifiers(a, b)
    }

    /// Whether two accesses have the same modifiers but for the vector and the type.
    pub fn same_modifiers(&self, a: &Load, b: &Load) -> bool {
        let modifiers = |load: &Load| {
            let modifiers = self.flow().insts[load.inst].ast.form.modifiers();
            let kept = |modifier: &&Modifier| {
                !matches!(modifier, Modifier::Type(_))
                    && !matches!(
                        modifier,
                        Modifier::Qualifier(Qualifier::V2 | Qualifier::V4 | Qualifier::V8)
                    )
            };
            modifiers.iter().filter(kept).copied().collect::<SmallVec<[Modifier; 6]>>()
        };
        modifiers(a) == modifiers(b)
    }

    /// Whether a load may be performed where an earlier one of its block stands.
    pub fn may_move(&mut self, trace: &mut KernelTrace, first: &Load, load: &Load) -> bool {
        // The code is duplicated if alignment has to be tested: it may hold no instruction that others
        // would notice.
        self.side_effect_free(trace).between(first.inst, load.inst)
            && self.is_available_at(trace, first, load)
    }

    /// Whether a load would read the same bytes, under the same guard predicate, where an earlier one of its block
    /// stands.
    fn is_available_at(&mut self, trace: &mut KernelTrace, first: &Load, load: &Load) -> bool {
        let kept = load.guard.is_none_or(|(guard, _)| {
            let between = &self.flow().insts[first.inst.next()..load.inst];
            trace.arena.charge(between.len() as u64);
            between.iter().all(|inst| !definitions(inst).contains(&guard))
        });
        kept && self.check_available(trace, first, load).is_ok()
    }

    /// The remainder of an address modulo a power of two, and the necessary tests of parameters.
    pub fn remainder_of(
        &self,
        trace: &KernelTrace,
        address: TermId,
        modulus: i64,
    ) -> Option<(i64, SmallVec<[Multiple; 2]>)> {
        let mut base = remainder(trace, address, modulus as u64)?;
        // Alignment that the parameter's declaration states need not be tested.
        base.multiples.retain(|multiple| {
            let declared = self.aligned.get(&multiple.parameter).copied().unwrap_or(1);
            multiple.offset != 0 || multiple.bits != 64 || multiple.of > declared
        });
        Some((base.value as i64, base.multiples))
    }

    /// Whether the code from the first to the last load of some elements may be duplicated.
    fn may_stand_twice(
        &mut self,
        trace: &mut KernelTrace,
        run: &Run,
        elements: &[(i64, usize, Element)],
    ) -> bool {
        let insts = || elements.iter().map(|(_, at, _)| run[*at].0.inst);
        let (first, last) = (insts().min().unwrap_or_default(), insts().max().unwrap_or_default());
        self.side_effect_free(trace).between(first, last)
    }

    /// Notes for loads that would be a vector which store between them must not be duplicated.
    fn say_parted(&mut self, run: &Run, elements: &[(i64, usize, Element)]) {
        let mut insts: SmallVec<[InstId; 4]> =
            elements.iter().map(|(_, at, _)| run[*at].0.inst).collect();
        insts.sort_unstable();
        let (Some(&first), Some(&last)) = (insts.first(), insts.last()) else { return };
        let between = &self.flow().insts[first.next()..last];
        let is_noticed = |inst: &&Inst<'_, '_>| {
            !matches!(effect(inst), Effect::Pure | Effect::Load | Effect::Hint)
        };
        let Some(noticed) = between.iter().find(is_noticed) else { return };
        let opcode = noticed.ast.opcode.text.to_owned();
        let refusal = Refusal::LoadsParted(opcode, self.source.line(noticed.ast.span.start));
        for inst in insts {
            self.not_joined.entry(inst).or_insert_with(|| refusal.clone());
        }
    }

    /// Splits loads at constant distances into vectors that are aligned. Where code `has_versions` already, alignment is
    /// tested with what else these depend on.
    pub fn split_run(
        &mut self,
        trace: &mut KernelTrace,
        run: &Run,
        has_versions: bool,
        found: &mut Vec<VectorGroup>,
    ) {
        let first = &run[0].0;
        let size = i64::from(first.elements[0].ty.bits() / 8);
        // Elements by distance from the first load's address; of two at the same distance the first.
        let mut elements: Vec<(i64, usize, Element)> = run
            .iter()
            .enumerate()
            .flat_map(|(at, (load, ahead))| {
                load.elements.iter().map(move |element| (ahead + element.offset, at, *element))
            })
            .collect();
        elements.sort_by_key(|(ahead, at, _)| (*ahead, *at));
        elements.dedup_by_key(|(ahead, ..)| *ahead);
        let mut taken = vec![false; run.len()];
        let mut modulus = self.options.widest_vector;
        while modulus > size {
            let count = (modulus / size) as usize;
            let exists = vector_exists(count, size, first.elements[0].register_bits);
            if exists
                && let Some((base, multiples)) = self.remainder_of(trace, first.address, modulus)
            {
                let may_test = !self.observes_lanes || multiples.is_empty();
                for window in elements.windows(count) {
                    let start = window[0].0;
                    let aligned = (base + start).rem_euclid(modulus) == 0;
                    let whole = window[count - 1].0 - start == modulus - size;
                    let may_stand = multiples.is_empty()
                        || has_versions
                        || self.may_stand_twice(trace, run, window);
                    let members = whole_members(window, &taken, |at| run[at].0.elements.len());
                    let is_aligned = may_test && aligned && whole;
                    let Some(members) = members.filter(|_| is_aligned) else { continue };
                    if may_stand {
                        window.iter().for_each(|(_, at, _)| taken[*at] = true);
                        found.push(group(run, (window, &members), modulus, multiples.clone()));
                    } else {
                        self.say_parted(run, window);
                    }
                }
            }
            modulus /= 2;
        }
    }
}

/// Whether there is a vector of `count` elements of `size` bytes, or as many of them are words of one
/// (PTX ISA, "ld": `.v8` is for elements of 4 bytes from `sm_100` on).
pub(super) fn vector_exists(count: usize, size: i64, register_bits: u32) -> bool {
    let bytes = count as i64 * size;
    match count {
        2 | 4 => bytes <= MAX_VECTOR || size >= 4,
        8 if size == 4 => true,
        8 | 16 => size < 4 && bytes <= MAX_VECTOR && register_bits <= 32,
        _ => false,
    }
}

/// The accesses that the elements of a window belong to, ascending, if these are two at least, none is in a vector already,
/// and each has all its elements there: `count` says how many.
pub(super) fn whole_members<T>(
    window: &[(i64, usize, T)],
    taken: &[bool],
    count: impl Fn(usize) -> usize,
) -> Option<SmallVec<[usize; 4]>> {
    let mut members: SmallVec<[usize; 4]> = window.iter().map(|(_, at, _)| *at).collect();
    members.sort_unstable();
    members.dedup();
    let here = |at: usize| window.iter().filter(|(_, of, _)| *of == at).count();
    let is_whole = |at: &usize| !taken[*at] && here(*at) == count(*at);
    (members.len() > 1 && members.iter().all(is_whole)).then_some(members)
}

fn group(
    run: &Run,
    (window, members): (&[(i64, usize, Element)], &[usize]),
    bytes: i64,
    multiples: SmallVec<[Multiple; 2]>,
) -> VectorGroup {
    let start = window[0].0;
    let elements = window
        .iter()
        .map(|(ahead, at, element)| {
            (Element { offset: ahead - start, ..*element }, run[*at].0.inst)
        })
        .collect();
    VectorGroup {
        offset: start - run[members[0]].1,
        members: members.iter().map(|&at| run[at].0.clone()).collect(),
        elements,
        bytes,
        multiples,
    }
}
