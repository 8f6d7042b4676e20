//! Copies, in front of a loop, of the instructions that compute an address in it.
//!
//! A loop-invariant register has its value in front of the loop. A register that is written behind the instruction that
//! reads it has the value from in front of the loop in the first iteration. In a later iteration it has the value that
//! the previous one has written: the instructions that compute it are copied, too.

use crate::loops::{address_base, carries};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::carrying_loop::CarryingLoop;
use crate::cfg::{Arg, BlockId, Flow, InstId, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions, effect, mentions};

/// The maximum number of instructions that are copied for one address, or for the two of a test.
const MAX_STEPS: usize = 16;

/// A copy of an instruction, as it is executed in some iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// The instruction.
    pub inst: InstId,
    /// The iteration, from 0.
    pub iteration: u32,
    /// The registers that it reads and the steps that give their values; none: the registers themselves.
    pub uses: SmallVec<[(RegisterId, Option<usize>); 2]>,
}

/// Steps in an order in which each comes behind those that it uses.
pub(super) type Slice = Vec<Step>;

/// The test that a load's address some iterations later is the source's address now.
#[derive(Clone, Debug)]
pub(super) struct SameAddress {
    /// The instructions that compute the bases of both addresses.
    pub slice: Slice,
    /// The step whose result is the base of the load's address; none: the register that the load names.
    pub load: Option<usize>,
    /// The place of the test, and the base of the source's address there.
    pub source: Tested,
}

/// Where addresses are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tested {
    /// Once, in front of the loop: the address of the load in iteration `distance`, and that of the source in the
    /// first one, whose base is the result of a step, or the value of the source's address register there.
    Once(Option<usize>),
    /// At the end of every iteration: the address of the load `distance` iterations later, and that of the source in
    /// this one, whose base is this register.
    Always(RegisterId),
}

/// Finds the steps for addresses of one loop.
pub(super) struct Slicer<'r, 'a, 'm, 's> {
    flow: &'a Flow<'m, 's>,
    carrying_loop: &'r CarryingLoop,
    /// By register, the instructions of the loop that write it.
    writers: FxHashMap<RegisterId, SmallVec<[InstId; 2]>>,
}

/// The steps found so far for one purpose.
#[derive(Default)]
struct Found {
    steps: Slice,
    /// By instruction and iteration.
    known: FxHashMap<(InstId, u32), usize>,
    /// Steps begun.
    begun: usize,
}

impl<'r, 'a, 'm, 's> Slicer<'r, 'a, 'm, 's> {
    pub(super) fn new(flow: &'a Flow<'m, 's>, carrying_loop: &'r CarryingLoop) -> Self {
        let mut writers: FxHashMap<RegisterId, SmallVec<[InstId; 2]>> = FxHashMap::default();
        for &block in &carrying_loop.blocks {
            for at in flow.block(block).instructions() {
                for register in definitions(&flow.insts[at]) {
                    writers.entry(register).or_default().push(at);
                }
            }
        }
        Slicer { flow, carrying_loop, writers }
    }

    /// The instructions that compute the base of an instruction's address in some iteration, and the step whose result
    /// that is.
    pub(super) fn address(
        &self,
        trace: &KernelTrace,
        inst: InstId,
        iteration: u32,
    ) -> Option<(Slice, Option<usize>)> {
        let mut found = Found::default();
        let base =
            self.value(trace, &mut found, (address_base(self.flow, inst)?, inst, iteration))?;
        Some((found.steps, base))
    }

    /// The test that a load's address in some iteration is a source's in the first one.
    pub(super) fn same_address(
        &self,
        trace: &KernelTrace,
        (load, iteration): (InstId, u32),
        source: InstId,
    ) -> Option<SameAddress> {
        let mut found = Found::default();
        let a = self.value(trace, &mut found, (self.wide_base(load)?, load, iteration))?;
        let b = self.value(trace, &mut found, (self.wide_base(source)?, source, 0))?;
        Some(SameAddress { slice: found.steps, load: a, source: Tested::Once(b) })
    }

    /// The test at the end of each iteration that a load's address some iterations later is a source's in this one.
    pub(super) fn same_address_later(
        &self,
        trace: &KernelTrace,
        (load, distance): (InstId, u32),
        source: InstId,
    ) -> Option<SameAddress> {
        // The registers at the end of an iteration are those at the beginning of the next one.
        self.wide_base(load)?;
        let (slice, load) = self.address(trace, load, distance - 1)?;
        let base = self.wide_base(source)?;
        // (A copy would be made behind the source.)
        let kept = !definitions(&self.flow.insts[source]).contains(&base);
        kept.then_some(SameAddress { slice, load, source: Tested::Always(base) })
    }

    /// The instructions that compute the bases of the addresses of some instructions, each in an iteration, and for
    /// each the step whose result that is.
    pub(super) fn bases(
        &self,
        trace: &KernelTrace,
        places: impl Iterator<Item = (InstId, u32)>,
    ) -> Option<(Slice, Vec<Option<usize>>)> {
        let mut found = Found::default();
        let mut bases = Vec::new();
        for (inst, iteration) in places {
            bases.push(self.value(trace, &mut found, (self.wide_base(inst)?, inst, iteration))?);
        }
        Some((found.steps, bases))
    }

    /// The base of an instruction's address, where it is a register of 64 bits.
    fn wide_base(&self, inst: InstId) -> Option<RegisterId> {
        let base = address_base(self.flow, inst)?;
        (self.flow.registers[base].ty.bits() == 64).then_some(base)
    }

    /// The step that gives the value of a register where an instruction reads it in some iteration; `Some(None)` if
    /// that is its value in front of the loop.
    fn value(
        &self,
        trace: &KernelTrace,
        found: &mut Found,
        (register, reader, iteration): (RegisterId, InstId, u32),
    ) -> Option<Option<usize>> {
        trace.arena.charge(2);
        // A copy stands in front of the loop, or at each of its latches.
        let (flow, carrying_loop) = (self.flow, self.carrying_loop);
        if !flow.visible(register, carrying_loop.entry) && !planted!(Bug::EntryNotAsked)
            || !flow.visible_everywhere(register, &carrying_loop.latches)
                && !planted!(Bug::LatchNotAsked)
        {
            return None;
        }
        let written = self.writers.get(&register).map_or(&[][..], SmallVec::as_slice);
        if written.iter().all(|&writer| self.comes_behind(reader, writer)) {
            return match (iteration.checked_sub(1), written) {
                (None, _) | (_, []) => Some(None),
                (Some(before), &[writer]) if self.always_runs(writer) => {
                    self.step(trace, found, writer, before).map(Some)
                }
                _ => None,
            };
        }
        match written {
            &[writer] if self.comes_before(writer, reader) => {
                self.step(trace, found, writer, iteration).map(Some)
            }
            _ => None,
        }
    }

    /// A copy of an instruction and its operands.
    fn step(
        &self,
        trace: &KernelTrace,
        found: &mut Found,
        inst: InstId,
        iteration: u32,
    ) -> Option<usize> {
        if let Some(&known) = found.known.get(&(inst, iteration)) {
            return Some(known);
        }
        found.begun += 1;
        if found.begun > MAX_STEPS {
            return None;
        }
        let here = &self.flow.insts[inst];
        let simple = effect(here) == Effect::Pure
            && here.guard.is_none()
            && matches!(here.args.first(), Some(Arg::Register(_)))
            && definitions(here).len() == 1
            && !carries(here)
            && definitions(here).iter().all(|one| self.flow.registers[*one].ty.bits() >= 16)
            && self.is_of_loop(inst);
        if !simple {
            return None;
        }
        let written = definitions(here)[0];
        let mut read = mentions(here);
        // The destination is the first of them, and may be read as well.
        if let Some(at) = read.iter().position(|&register| register == written) {
            read.remove(at);
        }
        read.sort_unstable();
        read.dedup();
        let mut uses = SmallVec::new();
        for register in read {
            uses.push((register, self.value(trace, found, (register, inst, iteration))?));
        }
        let number = found.steps.len();
        found.steps.push(Step { inst, iteration, uses });
        found.known.insert((inst, iteration), number);
        Some(number)
    }

    fn block_of(&self, at: InstId) -> Option<BlockId> {
        let holds = |&&block: &&BlockId| self.flow.block(block).instructions().contains(&at);
        self.carrying_loop.blocks.iter().find(holds).copied()
    }

    /// Whether an instruction belongs to the loop and to no inner one.
    fn is_of_loop(&self, at: InstId) -> bool {
        let innermost = |block| self.flow.loops.innermost(block);
        self.block_of(at).is_some_and(|block| innermost(block) == Some(self.carrying_loop.id))
    }

    /// Whether an instruction is executed in every iteration that is followed by another one.
    fn always_runs(&self, at: InstId) -> bool {
        let latches = &self.carrying_loop.latch_blocks;
        self.block_of(at).is_some_and(|block| {
            latches.iter().all(|&latch| self.flow.dominators.dominates(block, latch))
        })
    }

    /// Whether, within an iteration, a writer only runs when a reader has.
    fn comes_behind(&self, reader: InstId, writer: InstId) -> bool {
        match (self.block_of(reader), self.block_of(writer)) {
            (Some(a), Some(b)) if a == b => reader <= writer,
            (Some(a), Some(b)) => self.flow.dominators.dominates(a, b),
            _ => false,
        }
    }

    /// Whether a writer has run, in the same iteration, whenever a reader does.
    fn comes_before(&self, writer: InstId, reader: InstId) -> bool {
        match (self.block_of(writer), self.block_of(reader)) {
            (Some(a), Some(b)) if a == b => writer < reader,
            (Some(a), Some(b)) => self.flow.dominators.dominates(a, b),
            _ => false,
        }
    }
}
