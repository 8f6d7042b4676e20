//! The part of a plan for loads that take their values from registers of other loads.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::emit;
use crate::bytes::{ByteRange, Separation};
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::isa::ScalarType;
use crate::ptx::write::{Code, op, statement};
use crate::reuse::{self, LaneClaim, LegalReuse, NoAliasCheck, NoWrap};
use crate::rewrite::{
    Assembly, CheckedRegister, Checks, Draft, KernelPlan, Mode, Part, Planner, Replacement,
    Transfer, line_end,
};

/// The state that a lane keeps for a source: its instruction; the block at whose end the memory of its execution is
/// cleared; and the stores that must not have written its bytes.
type Remembered = (InstId, Option<BlockId>, Vec<NoAliasCheck>);

/// Loads that take their values from other loads' registers, in program order.
#[derive(Debug)]
struct Pairs(Vec<Replacement>);

impl Part for Pairs {
    fn leads(&self) -> bool {
        true
    }

    /// Where the load for corner cases is left out, nothing is asked about received values.
    fn no_wrap(&self, mode: Mode) -> Vec<(BlockId, &[NoWrap])> {
        let loads = self.0.iter().filter(|_| mode == Mode::Full);
        loads.map(|load| (load.block, &load.covered.guards.no_wrap[..])).collect()
    }

    fn linear_lanes(&self, mode: Mode) -> bool {
        mode == Mode::Full && self.0.iter().any(|load| load.covered.guards.linear_lanes)
    }

    fn left_out(&self) -> Vec<Range<usize>> {
        self.0.iter().map(|replacement| replacement.span.clone()).collect()
    }

    fn edits(
        &self,
        _plan: &KernelPlan<'_>,
        checks: &mut Checks<'_>,
        mode: Mode,
        edits: &mut Vec<Draft>,
    ) {
        match mode {
            Mode::NoCorner => emit::without_corners(&self.0, checks, edits),
            _ => self.0.iter().for_each(|load| emit::replace(load, checks, edits)),
        }
    }
}

/// Plans loads that are replaced, each an instruction in a block with its legal reuse, in program order.
pub(super) fn plan(
    loads: &[(InstId, &LegalReuse)],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let blocks: FxHashMap<InstId, BlockId> =
        planner.trace.accesses.iter().map(|access| (access.inst, access.block)).collect();
    let (executed, runtime_checked) = Default::default();
    let mut pairs = PairPlanner { planner, executed, runtime_checked };
    let known = loads.iter().filter_map(|&(at, covered)| Some((at, *blocks.get(&at)?, covered)));
    let planned: Vec<_> =
        known.map(|(at, block, covered)| pairs.replacement(at, block, covered)).collect();
    (!planned.is_empty()).then(|| Box::new(Pairs(planned)) as Box<dyn Part>)
}

/// Plans pairs, and remembers the code added for them.
struct PairPlanner<'q, 'p, 'a, 'm, 's> {
    planner: &'q mut Planner<'p, 'a, 'm, 's>,
    /// The predicates that say of a lane whether a source's value is still there.
    executed: FxHashMap<Remembered, String>,
    /// Copies of registers that lanes are asked about, by the place at which they are made.
    runtime_checked: FxHashMap<(RegisterId, BlockId, Option<InstId>), String>,
}

impl PairPlanner<'_, '_, '_, '_, '_> {
    fn replacement(&mut self, at: InstId, block: BlockId, covered: &LegalReuse) -> Replacement {
        let inst = &self.planner.flow.insts[at];
        let (mut transfers, mut assembly) = (Vec::new(), Assembly::default());
        for piece in &covered.pieces {
            let mut sent = |part: &reuse::Part| {
                self.planner.sent(part.source, part.from.register, part.from.register_bits, &[at])
            };
            match piece.whole() {
                Some(_) => transfers.push(Transfer {
                    sent: sent(&piece.parts[0]),
                    destination: self.planner.name(piece.to.register),
                    bits: piece.to.register_bits,
                }),
                None => {
                    let parts: Vec<_> =
                        piece.parts.iter().map(|part| (sent(part), *part)).collect();
                    let destination = self.planner.name(piece.to.register);
                    assembly.add(destination, &piece.to, &parts);
                }
            }
        }
        let guards = &covered.guards;
        let checked = guards.no_wrap.iter().map(|check| check.register);
        for register in checked.chain(guards.source_active.map(|(register, _)| register)) {
            let name = self.planner.name(register);
            self.planner.plan.registers.insert(register, name);
        }
        let compared = guards.address_delta.map(|bytes| self.compared(covered, at, bytes));
        let executed = self.remembered(covered);
        let same_index =
            guards.same_index.iter().map(|claim| self.runtime_checked(claim, at)).collect();
        let guard = inst.guard.filter(|_| !planted!(Bug::OwnGuard));
        let guard = guard.map(|guard| self.planner.signed(guard));
        Replacement {
            span: inst.ast.span.range(),
            opcode: inst.ast.opcode.span.start as usize,
            behind: line_end(self.planner.source.text(), inst.ast.span.end as usize),
            block,
            guard,
            address: self.planner.address(at),
            transfers,
            assembly,
            covered: covered.clone(),
            compared,
            executed,
            same_index,
        }
    }

    /// A register with the value that a claim means, at `at`.
    fn runtime_checked(&mut self, claim: &LaneClaim, at: InstId) -> CheckedRegister {
        let &LaneClaim { register, bits, low, stride_one, .. } = claim;
        let visible = self.planner.flow.visible(register, at) || planted!(Bug::ClaimNotAsked);
        let name = match claim.settled && visible {
            true => self.planner.name(register),
            false => self.copy_of(claim),
        };
        CheckedRegister { name, bits, low, stride_one }
    }

    /// A copy of a register, made where it has got the value that a claim means.
    fn copy_of(&mut self, claim: &LaneClaim) -> String {
        let place = (claim.register, claim.block, claim.inst);
        if let Some(known) = self.runtime_checked.get(&place) {
            return known.clone();
        }
        let copy = String::from(self.planner.plan.fresh.bits(u32::from(claim.bits)));
        let ty = ScalarType::b(claim.bits.into());
        let code = statement(op!(Mov.(ty)), &[&copy, &self.planner.name(claim.register)]);
        let flow = self.planner.flow;
        let text = self.planner.source.text();
        self.planner.plan.copies.push(match claim.inst {
            Some(inst) => {
                let end = flow.insts[inst].ast.span.end as usize;
                (line_end(text, end), format!("\n\t{code}"))
            }
            None => {
                let first = &flow.insts[flow.block(claim.block).first];
                (first.front, format!("{code}\n\t"))
            }
        });
        self.runtime_checked.insert(place, copy.clone());
        copy
    }

    /// The predicate that the value of a source load is there: cleared at the end of the block since which it
    /// has to be executed, set behind it, and cleared by a store to one of its bytes.
    fn remembered(&mut self, covered: &LegalReuse) -> Option<String> {
        let (source, guards) = (covered.source, &covered.guards);
        if guards.source_executed.is_none() && guards.no_alias_checks.is_empty() {
            return None;
        }
        let key = (source, guards.source_executed, guards.no_alias_checks.clone());
        if let Some(known) = self.executed.get(&key) {
            return Some(known.clone());
        }
        let made = String::from(self.planner.plan.fresh.predicate());
        self.executed.insert(key, made.clone());
        let (text, flow) = (self.planner.source.text(), self.planner.flow);
        let inst = &flow.insts[source];
        let behind = |at: InstId| line_end(text, flow.insts[at].ast.span.end as usize);
        let set = statement(op!(Setp.Eq.U32), &[&made, &0, &0]);
        let set = match (inst.guard, guards.source_executed) {
            (None, _) => format!("\n\t{set}"),
            (Some(guard), Some(_)) => format!("\n\t@{} {set}", self.planner.signed(guard)),
            // Nothing has cleared it before.
            (Some((register, negated)), None) => {
                let op = if negated { op!(Not.Pred) } else { op!(Mov.Pred) };
                format!("\n\t{}", statement(op, &[&made, &self.planner.name(register)]))
            }
        };
        self.planner.plan.copies.push((behind(source), set));
        if let Some(since) = guards.source_executed {
            let clear = statement(op!(Setp.Ne.U32), &[&made, &0, &0]);
            self.planner.plan.copies.push(match planted!(Bug::NotCleared) {
                true => (self.planner.plan.body, format!("\n\t{clear}")),
                false => {
                    let last = &flow.insts[flow.block(since).end.before()];
                    (last.ast.span.start as usize, format!("{clear}\n\t"))
                }
            });
        }
        if guards.no_alias_checks.is_empty() || planted!(Bug::StoreNotAsked) {
            return Some(made);
        }
        let (base, _) = self.planner.address(source);
        let (copy, ahead) = (self.planner.plan.fresh.bits(64), self.planner.plan.fresh.bits(64));
        let copied = statement(op!(Mov.B64), &[&copy, &base]);
        self.planner.plan.copies.push((behind(source), format!("\n\t{copied}")));
        let accesses = &self.planner.trace.accesses;
        let bytes = |at: InstId| {
            let access = accesses.iter().find(|access| access.inst == at);
            access.map_or(0, |access| access.bytes())
        };
        for &NoAliasCheck { inst: store, margin } in &guards.no_alias_checks {
            // A margin on each side: other lanes' bytes.
            let (own, _) = self.planner.address(store);
            let read = self.planner.bytes_at(source, bytes(source));
            let read = ByteRange::new(read.start(), read.length() + 2 * margin.unsigned_abs());
            let written = self.planner.bytes_at(store, bytes(store));
            let Separation { more, both } = written.separation(read.moved(-margin));
            let mut code = Code::behind();
            code.put(op!(Sub.S64), &[&ahead, &own, &copy]);
            code.put(op!(Add.S64), &[&ahead, &ahead, &more]);
            code.put(op!(Setp.Ge.And.U64), &[&made, &ahead, &both, &made]);
            self.planner.plan.copies.push((behind(store), code.text));
        }
        Some(made)
    }

    /// A copy of the register that the source load is addressed by, made behind it, and how far above it
    /// the register of the load at `at` must be for that load's address to be `bytes` above the source's.
    fn compared(&mut self, covered: &LegalReuse, at: InstId, bytes: i64) -> (String, i64) {
        let (base, offset) = self.planner.address(covered.source);
        let (_, own_offset) = self.planner.address(at);
        let source = &self.planner.flow.insts[covered.source];
        let copy = self.planner.plan.fresh.bits(64);
        let behind = line_end(self.planner.source.text(), source.ast.span.end as usize);
        let copied = statement(op!(Mov.B64), &[&copy, &base]);
        self.planner.plan.copies.push((behind, format!("\n\t{copied}")));
        let bytes = match planted!(Bug::AddressOfOwnLane) {
            true => 0,
            false => bytes,
        };
        (copy.into(), bytes.wrapping_add(offset).wrapping_sub(own_offset))
    }
}
