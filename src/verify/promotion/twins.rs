//! Compares a loop that keeps values in registers with one that keeps them in memory.

use rustc_hash::{FxHashMap, FxHashSet};

use super::body::Body;
use super::iterations::{Iterations, named, place};
use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, Inst, InstId, InstRange, RegisterId};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::StateSpace;
use crate::verify::program::{Role, depends_on_convergence, results, role};

/// The instructions that may be left out: from the branch that leads to them or past them.
pub(super) struct Promotion {
    pub insts: InstRange,
}

/// Two loops that one branch leads to.
struct Twins {
    /// The block that ends with the branch.
    entry: BlockId,
    /// The loop with values in registers, and the code in front of it and behind.
    fast: Body,
    front: InstRange,
    behind: InstRange,
    /// The loop with values in memory.
    slow: Body,
    /// The outcome of the branch's predicate that leads to the former.
    condition: (RegisterId, bool),
}

/// A place in memory that one loop keeps in a register.
struct Kept {
    place: (RegisterId, i64),
    bits: u32,
    register: RegisterId,
    /// The accesses to it in the loop with values in memory, which the other loop does not have.
    insts: Vec<InstId>,
    /// Whether the first access there is a load.
    is_read_first: bool,
    /// Whether some iteration stores there, and whether each one does.
    is_written: bool,
    is_always_written: bool,
}

/// The first loop with values in registers that is equivalent to the one beside it.
pub(super) fn promotion(flow: &Flow<'_, '_>) -> Option<Promotion> {
    // A branch more may change which lanes are together.
    if flow.insts.iter().any(depends_on_convergence) {
        return None;
    }
    let at: FxHashMap<InstId, BlockId> =
        flow.block_ids().map(|id| (flow.block(id).first, id)).collect();
    flow.block_ids().find_map(|entry| {
        let twins = Twins::behind(flow, entry, &at)?;
        let kept = twins.kept(flow)?;
        let is_proved = twins.is_closed(flow, &kept) && twins.are_apart(flow, &kept);
        let start = flow.block(entry).end.before();
        is_proved.then(|| Promotion { insts: start.to(twins.behind.end) })
    })
}

impl Twins {
    /// The loops that the branch at the end of a block leads to: one with straight code in front of it and behind, and
    /// then in the text the other one.
    fn behind(
        flow: &Flow<'_, '_>,
        entry: BlockId,
        at: &FxHashMap<InstId, BlockId>,
    ) -> Option<Twins> {
        let start = flow.block(entry).end;
        let branch = flow.block(entry).instructions().next_back().map(|at| &flow.insts[at])?;
        let condition = branch.guard.filter(|_| is_branch(branch))?;
        let [taken] = branch.targets[..] else { return None };
        let at = |inst: InstId| at.get(&inst).copied();
        let slow = Body::of(flow, at(taken)?)?;
        let first = at(start)?;
        let is_loop = flow.loops.headed_by(first).is_some();
        let fast = Body::of(flow, if is_loop { first } else { at(flow.block(first).end)? })?;
        let exit = flow.block(fast.exit);
        let (front, before) = match is_loop {
            true => (start.to(start), entry),
            false => (flow.block(first).instructions(), first),
        };
        // The blocks outside of a loop, or all, that lead to a block.
        let sources = |id: BlockId, body: Option<&Body>| -> FxHashSet<BlockId> {
            let edges = flow.block(id).predecessors.iter().map(|edge| edge.from);
            edges
                .filter(|from| {
                    body.is_none_or(|body| !body.range.contains(&flow.block(*from).first))
                })
                .collect()
        };
        let from = |id: BlockId| FxHashSet::from_iter([id]);
        let is_straight = is_loop
            || matches!(flow.block(first).successors[..], [edge] if edge.to == fast.header && edge.condition == EdgeCondition::Always)
                && sources(first, None) == from(entry);
        let last = flow.insts[fast.range.end.before()].targets.first();
        let is_shaped = is_straight
            && last == Some(&fast.range.start)
            && sources(fast.header, Some(&fast)) == from(before)
            && sources(slow.header, Some(&slow)) == from(entry)
            && exit.predecessors.len() == 1
            && matches!(exit.successors[..], [edge] if edge.to == slow.exit)
            && taken == exit.end
            && front.end == fast.range.start
            && !exit.leaves;
        let behind = exit.instructions();
        is_shaped.then_some(Twins { entry, fast, front, behind, slow, condition })
    }

    /// The places that the one loop keeps in registers, if both have the same instructions otherwise.
    fn kept(&self, flow: &Flow<'_, '_>) -> Option<Vec<Kept>> {
        let (mine, others) = (self.fast.range.clone(), self.slow.range.clone());
        if mine.len() != others.len() {
            return None;
        }
        let mut kept: Vec<Kept> = Vec::new();
        for (new, old) in mine.zip(others) {
            let (of_new, of_old) = (&flow.insts[new], &flow.insts[old]);
            if of_new.pragma || of_old.pragma || of_new.guard != of_old.guard {
                return None;
            }
            if is_branch(of_old) {
                // Both lead to the same place of their own loop.
                let ([to], [own]) = (&of_old.targets[..], &of_new.targets[..]) else { return None };
                let (from, start) = (self.slow.range.start, self.fast.range.start);
                let is_same = is_branch(of_new)
                    && self.slow.range.contains(to)
                    && self.fast.range.contains(own)
                    && to.since(from) == own.since(start);
                if is_same {
                    continue;
                }
                return None;
            }
            if is_equal(of_new, of_old)
                && matches!(role(of_old), Role::Pure | Role::Load | Role::Store)
            {
                continue;
            }
            self.add(flow, (new, old), &mut kept)?;
        }
        let is_defined = |one: &Kept| {
            self.slow.always(one.insts[0]) && (one.is_always_written || !one.is_written)
        };
        kept.iter().all(is_defined).then_some(kept)
    }

    /// Adds the place of an access that a copy between registers stands for.
    fn add(
        &self,
        flow: &Flow<'_, '_>,
        (new, old): (InstId, InstId),
        kept: &mut Vec<Kept>,
    ) -> Option<()> {
        let (of_new, of_old) = (&flow.insts[new], &flow.insts[old]);
        let (register, is_load) = moved(flow, (of_new, of_old))?;
        let (place, bits) = (place(of_old)?, of_old.ast.form.first_type()?.bits());
        let is_own = |one: &Kept| (one.place, one.bits) == (place, bits);
        if kept.iter().any(|one| is_own(one) != (one.register == register)) {
            return None;
        }
        let is_always = !is_load && self.slow.always(old);
        match kept.iter_mut().find(|one| is_own(one)) {
            Some(one) => {
                one.is_written |= !is_load;
                one.is_always_written |= is_always;
                one.insts.push(old);
            }
            None => kept.push(Kept {
                place,
                bits,
                register,
                insts: vec![old],
                is_read_first: is_load,
                is_written: !is_load,
                is_always_written: is_always,
            }),
        }
        Some(())
    }

    /// Whether the values are loaded in front of the loop and stored behind it, and their registers used nowhere else.
    fn is_closed(&self, flow: &Flow<'_, '_>, kept: &[Kept]) -> bool {
        let mut unread: FxHashMap<RegisterId, &Kept> =
            kept.iter().filter(|one| one.is_read_first).map(|one| (one.register, one)).collect();
        let mut unwritten: FxHashMap<RegisterId, &Kept> =
            kept.iter().filter(|one| one.is_written).map(|one| (one.register, one)).collect();
        for at in self.front.clone() {
            let inst = &flow.insts[at];
            let [Arg::Register(register), _] = inst.args[..] else { return false };
            let known = unread.remove(&register);
            if !known.is_some_and(|one| is_access(flow, inst, (Opcode::Ld, register), one)) {
                return false;
            }
        }
        let end = self.behind.end.before();
        for at in self.behind.start.to(end) {
            let inst = &flow.insts[at];
            let [_, Arg::Register(register)] = inst.args[..] else { return false };
            let known = unwritten.remove(&register);
            if !known.is_some_and(|one| is_access(flow, inst, (Opcode::St, register), one)) {
                return false;
            }
        }
        let leaves = is_branch(&flow.insts[end]) && flow.insts[end].guard.is_none();
        let range = self.front.start.to(self.behind.end);
        let others = flow.insts.iter_enumerated().filter(|(at, _)| !range.contains(at));
        let mut used = others.flat_map(|(_, inst)| {
            let guard = inst.guard.map(|guard| guard.0);
            inst.args.iter().flat_map(named).chain(guard)
        });
        let is_own = !used.any(|register| kept.iter().any(|one| one.register == register));
        unread.is_empty() && unwritten.is_empty() && leaves && is_own && !kept.is_empty()
    }

    /// Whether no two of the places have a byte in common, and no other access of the loop touches one of them.
    fn are_apart(&self, flow: &Flow<'_, '_>, kept: &[Kept]) -> bool {
        let found = Iterations::of(flow, self.entry, self.condition, &self.slow);
        let Some(mut iterations) = found else { return false };
        for at in self.slow.range.clone() {
            let inst = &flow.insts[at];
            let mut rest = kept.iter().filter(|one| !one.insts.contains(&at));
            let apart = match role(inst) {
                Role::Pure | Role::Branch => true,
                Role::Load | Role::Store => match inst.ast.form.space() {
                    StateSpace::Shared
                    | StateSpace::Local
                    | StateSpace::Const
                    | StateSpace::Param => true,
                    // Nobody writes what such a load reads.
                    StateSpace::Global if inst.ast.form.has(Qualifier::Nc) => true,
                    StateSpace::Global => {
                        let form = &inst.ast.form;
                        let elements = u32::from(form.elements().unwrap_or(1));
                        let bytes = form.last_type().map_or(0, |ty| ty.bits() / 8) * elements;
                        rest.all(|one| {
                            iterations.are_apart((one.insts[0], one.bits / 8), (at, bytes))
                        })
                    }
                    _ => false,
                },
                _ => false,
            };
            if !apart {
                return false;
            }
        }
        let written: FxHashSet<RegisterId> =
            self.slow.range.clone().flat_map(|at| results(&flow.insts[at])).collect();
        kept.iter().all(|one| !written.contains(&one.place.0))
    }
}

fn is_branch(inst: &Inst<'_, '_>) -> bool {
    inst.ast.form.opcode == Opcode::Bra
}

/// Whether two instructions do the same with the same registers.
fn is_equal(a: &Inst<'_, '_>, b: &Inst<'_, '_>) -> bool {
    let words = |inst: &Inst<'_, '_>| inst.ast.opcode.text.split_whitespace().collect::<String>();
    words(a) == words(b) && format!("{:?}", a.args) == format!("{:?}", b.args)
}

/// Whether an access is a weak one of one value in global memory, by a register's address, with no more said about it.
fn is_plain(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_known =
        matches!(form.modifiers(), [Modifier::Space(StateSpace::Global), Modifier::Type(_)]);
    is_known
        && matches!(form.opcode, Opcode::Ld | Opcode::St)
        && inst.guard.is_none()
        && !inst.pragma
        && inst.args.len() == 2
        && place(inst).is_some()
}

/// The register that holds the value of an access' place in the other loop, whose instruction is a copy from it or to
/// it; and whether the access is a load.
fn moved(
    flow: &Flow<'_, '_>,
    (new, old): (&Inst<'_, '_>, &Inst<'_, '_>),
) -> Option<(RegisterId, bool)> {
    let ty = old.ast.form.first_type()?;
    let [Modifier::Type(copied)] = new.ast.form.modifiers() else { return None };
    let [Arg::Register(to), Arg::Register(from)] = new.args[..] else { return None };
    let bits = |register: RegisterId| flow.registers[register].ty.bits();
    let is_copy = new.ast.form.opcode == Opcode::Mov
        && new.guard.is_none()
        && is_plain(old)
        && matches!(ty.bits(), 32 | 64)
        && copied.bits() == ty.bits()
        && bits(to) == ty.bits()
        && bits(from) == ty.bits();
    if !is_copy || to == from {
        return None;
    }
    match (old.ast.form.opcode, &old.args[..]) {
        (Opcode::Ld, [Arg::Register(loaded), _]) if *loaded == to => Some((from, true)),
        (Opcode::St, [_, Arg::Register(stored)]) if *stored == from => Some((to, false)),
        _ => None,
    }
}

/// Whether an instruction loads a register from a place, or stores it there.
fn is_access(
    flow: &Flow<'_, '_>,
    inst: &Inst<'_, '_>,
    (opcode, register): (Opcode, RegisterId),
    kept: &Kept,
) -> bool {
    let ty = inst.ast.form.first_type();
    is_plain(inst)
        && inst.ast.form.opcode == opcode
        && ty.is_some_and(|ty| ty.bits() == kept.bits)
        && flow.registers[register].ty.bits() == kept.bits
        && place(inst) == Some(kept.place)
        && kept.register == register
}
