//! Compares a loop that keeps values in registers with one that keeps them in memory.

use rustc_hash::{FxHashMap, FxHashSet};

use super::body::Body;
use super::edits::{Edits, Site};
use super::iterations::{Iterations, place};
use super::uniform::named;
use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, Inst, InstId, InstRange, RegisterId};
use crate::isa::{Modifier, Opcode, Qualifier, ScalarType};
use crate::program::{Role, depends_on_convergence, results, role};
use crate::ptx::StateSpace;

/// Two loops that one branch leads to.
struct Twins {
    /// The block that ends with the branch.
    entry: BlockId,
    /// The loop with values in registers, and the code in front of it and behind.
    fast: Body,
    front: InstRange,
    behind: InstRange,
    /// The code to which each branch out of the former leads, one behind the other.
    stubs: Vec<InstRange>,
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
    /// The accesses to it in the loop with values in memory, which the other loop does not have: all, and those that store.
    insts: Vec<InstId>,
    stores: Vec<InstId>,
    /// The register that is 1 once the value was stored, and how often it is set.
    flag: Option<RegisterId>,
    marks: usize,
}

impl Kept {
    /// Whether the first access is a load.
    fn is_read_first(&self) -> bool {
        !self.stores.contains(&self.insts[0])
    }
}

/// Leaves out loops with values in registers that are equivalent to those beside them, each with the branch that leads to it
/// or past it.
pub(super) fn promotions(site: &Site<'_, '_, '_>) -> Edits {
    let (flow, mut edits) = (site.flow, Edits::default());
    // A branch more may change which lanes are together.
    if flow.insts.iter().any(depends_on_convergence) {
        return edits;
    }
    let at: FxHashMap<InstId, BlockId> =
        flow.block_ids().map(|id| (flow.block(id).first, id)).collect();
    let promotion = |entry: BlockId| {
        let twins = Twins::behind(flow, entry, &at)?;
        let kept = twins.kept(flow)?;
        let is_proved = twins.is_closed(flow, &kept) && twins.are_apart(flow, &kept);
        let row = flow.block(entry).end.before().to(twins.end());
        let mut edits = Edits::default();
        is_proved.then_some(())?;
        edits.remove_row(site, &row).map(|()| edits)
    };
    flow.block_ids().filter_map(promotion).for_each(|one| edits.join(one));
    edits
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
            && front.end == fast.range.start
            && !exit.leaves;
        let behind = exit.instructions();
        let mut stubs = Vec::new();
        let mut end = exit.end;
        while end < taken && stubs.len() < fast.exits.len() {
            let block = flow.block(at(end)?);
            let is_stub = matches!(block.successors[..], [edge] if edge.condition == EdgeCondition::Always)
                && block.predecessors.len() == 1
                && !block.leaves;
            if !is_stub {
                return None;
            }
            stubs.push(block.instructions());
            end = block.end;
        }
        let is_shaped = is_shaped && end == taken && stubs.len() == fast.exits.len();
        is_shaped.then_some(Twins { entry, fast, front, behind, stubs, slow, condition })
    }

    /// The end of the code that may be left out.
    fn end(&self) -> InstId {
        self.stubs.last().unwrap_or(&self.behind).end
    }

    /// The places that the one loop keeps in registers, if both have the same instructions otherwise.
    fn kept(&self, flow: &Flow<'_, '_>) -> Option<Vec<Kept>> {
        let mut kept: Vec<Kept> = Vec::new();
        let mut pairs: FxHashMap<InstId, InstId> = FxHashMap::default();
        let mut within = Vec::new();
        let mut new = self.fast.range.start;
        for old in self.slow.range.clone() {
            if !self.fast.range.contains(&new) {
                return None;
            }
            let (of_new, of_old) = (&flow.insts[new], &flow.insts[old]);
            if of_new.pragma || of_old.pragma || of_new.guard != of_old.guard {
                return None;
            }
            pairs.insert(old, new);
            let at = new;
            new = new.next();
            if is_branch(of_old) {
                let ([to], [own]) = (&of_old.targets[..], &of_new.targets[..]) else { return None };
                if !is_branch(of_new) {
                    return None;
                }
                match (self.slow.range.contains(to), self.fast.range.contains(own)) {
                    (true, true) => within.push((*to, *own)),
                    (false, false) => self.stub(flow, *own, *to)?,
                    _ => return None,
                }
                continue;
            }
            if is_equal(of_new, of_old)
                && matches!(role(of_old), Role::Pure | Role::Load | Role::Store)
            {
                continue;
            }
            let number = self.add(flow, (at, old), &mut kept)?;
            let one = &mut kept[number];
            let is_new = one.stores.last() == Some(&old)
                && !is_equal(&flow.insts[new], &flow.insts[old.next()]);
            let mark = Some(&flow.insts[new]).filter(|_| is_new);
            if let Some(flag) = mark.and_then(|mark| set_to(mark, 1)).filter(|flag| {
                flow.insts[new].guard == of_old.guard && one.flag.is_none_or(|own| own == *flag)
            }) {
                (one.flag, one.marks) = (Some(flag), one.marks + 1);
                new = new.next();
            }
        }
        // Both lead to the same places of their own loops.
        let is_same = |(to, own): &(InstId, InstId)| pairs.get(to) == Some(own);
        let is_whole = new == self.fast.range.end && within.iter().all(is_same);
        (is_whole && kept.iter().all(|one| self.is_defined(flow, one))).then_some(kept)
    }

    /// The code to which a branch out of the one loop leads, if it leads on to where the same branch of the other one leads.
    fn stub(&self, flow: &Flow<'_, '_>, own: InstId, to: InstId) -> Option<()> {
        let stub = self.stubs.iter().find(|stub| stub.start == own)?;
        let last = &flow.insts[stub.end.before()];
        (is_branch(last) && last.guard.is_none() && last.targets[..] == [to]).then_some(())
    }

    /// Whether the register has the value wherever that is read.
    fn is_defined(&self, flow: &Flow<'_, '_>, one: &Kept) -> bool {
        let is_marked = one.flag.is_none() || one.marks == one.stores.len();
        let is_stored = |load: &InstId| {
            one.stores.iter().any(|store| self.slow.comes_before(flow, *store, *load))
        };
        let mut loads = one.insts.iter().filter(|at| !one.stores.contains(at));
        // A load in front of the loop is one that the first iteration performs, whatever way it goes.
        let is_known = match one.is_read_first() {
            true => self.slow.is_sure(flow, one.insts[0]),
            false => loads.all(is_stored),
        };
        is_marked && is_known
    }

    /// Adds the place of an access that a copy between registers stands for; gives its number.
    fn add(
        &self,
        flow: &Flow<'_, '_>,
        (new, old): (InstId, InstId),
        kept: &mut Vec<Kept>,
    ) -> Option<usize> {
        let (of_new, of_old) = (&flow.insts[new], &flow.insts[old]);
        let (register, is_load) = moved(flow, (of_new, of_old))?;
        let (place, bits) = (place(of_old)?, of_old.ast.form.first_type()?.bits());
        let is_own = |one: &Kept| (one.place, one.bits) == (place, bits);
        if kept.iter().any(|one| is_own(one) != (one.register == register)) {
            return None;
        }
        let number = kept.iter().position(is_own).unwrap_or(kept.len());
        if number == kept.len() {
            let (insts, stores) = (Vec::new(), Vec::new());
            kept.push(Kept { place, bits, register, insts, stores, flag: None, marks: 0 });
        }
        kept[number].insts.push(old);
        if !is_load {
            kept[number].stores.push(old);
        }
        Some(number)
    }

    /// Whether the values are loaded in front of the loop and stored where it is left, and their registers used nowhere
    /// else.
    fn is_closed(&self, flow: &Flow<'_, '_>, kept: &[Kept]) -> bool {
        let mut unread: FxHashMap<RegisterId, &Kept> =
            kept.iter().filter(|one| one.is_read_first()).map(|one| (one.register, one)).collect();
        let mut unset: FxHashSet<RegisterId> = kept.iter().filter_map(|one| one.flag).collect();
        let mut own: FxHashSet<RegisterId> =
            kept.iter().flat_map(|one| [Some(one.register), one.flag]).flatten().collect();
        if own.len() != kept.len() + unset.len() {
            return false;
        }
        for at in self.front.clone() {
            let inst = &flow.insts[at];
            if set_to(inst, 0).is_some_and(|flag| inst.guard.is_none() && unset.remove(&flag)) {
                continue;
            }
            let [Arg::Register(register), _] = inst.args[..] else { return false };
            let known = unread.remove(&register);
            let is_load = |one: &Kept| is_access(flow, inst, (Opcode::Ld, register), one);
            if inst.guard.is_some() || !known.is_some_and(is_load) {
                return false;
            }
        }
        let last = self.slow.range.end.before();
        let exits = self.fast.exits.iter().zip(&self.slow.exits);
        let mut ends = vec![(self.behind.clone(), last)];
        for (of_fast, of_slow) in exits {
            let stub = flow.insts[*of_fast].targets.first().copied();
            let Some(stub) = self.stubs.iter().find(|one| Some(one.start) == stub) else {
                return false;
            };
            ends.push((stub.clone(), *of_slow));
        }
        if !ends.into_iter().all(|(code, exit)| self.stores_all(flow, kept, (code, exit), &mut own))
        {
            return false;
        }
        let range = self.front.start.to(self.end());
        let others = flow.insts.iter_enumerated().filter(|(at, _)| !range.contains(at));
        let mut used = others.flat_map(|(_, inst)| {
            let guard = inst.guard.map(|guard| guard.0);
            inst.args.iter().flat_map(named).chain(guard)
        });
        let is_own = !used.any(|register| own.contains(&register));
        unread.is_empty() && unset.is_empty() && is_own && !kept.is_empty()
    }

    /// Whether code behind an exit of the loop stores each value that was stored in the loop, and does nothing else. Adds the
    /// predicates that it writes.
    fn stores_all(
        &self,
        flow: &Flow<'_, '_>,
        kept: &[Kept],
        (code, exit): (InstRange, InstId),
        own: &mut FxHashSet<RegisterId>,
    ) -> bool {
        let mut unwritten: FxHashMap<RegisterId, &Kept> = kept
            .iter()
            .filter(|one| !one.stores.is_empty())
            .map(|one| (one.register, one))
            .collect();
        // The predicate that holds if this register is not 0.
        let mut asked: Option<(RegisterId, RegisterId)> = None;
        let end = code.end.before();
        for at in code.start.to(end) {
            let inst = &flow.insts[at];
            if let Some((predicate, flag)) = is_not_0(inst) {
                own.insert(predicate);
                asked = Some((predicate, flag));
                continue;
            }
            let [_, Arg::Register(register)] = inst.args[..] else { return false };
            let Some(one) = unwritten.remove(&register) else { return false };
            let always = one.stores.iter().any(|store| self.slow.comes_before(flow, *store, exit));
            let is_asked = match (inst.guard, asked, one.flag) {
                (None, ..) => always,
                (Some((guard, false)), Some((predicate, of)), Some(flag)) => {
                    guard == predicate && of == flag
                }
                _ => false,
            };
            if !is_asked || !is_access(flow, inst, (Opcode::St, register), one) {
                return false;
            }
        }
        let is_stored = planted!(Bug::UndoneUnstored) || unwritten.is_empty();
        is_stored && is_branch(&flow.insts[end]) && flow.insts[end].guard.is_none()
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

pub(super) fn is_branch(inst: &Inst<'_, '_>) -> bool {
    inst.ast.form.opcode == Opcode::Bra
}

/// Whether two instructions do the same with the same registers.
pub(super) fn is_equal(a: &Inst<'_, '_>, b: &Inst<'_, '_>) -> bool {
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

/// The register of 32 bits that an instruction sets to a number.
fn set_to(inst: &Inst<'_, '_>, number: i64) -> Option<RegisterId> {
    let form = &inst.ast.form;
    let is_plain =
        form.opcode == Opcode::Mov && form.modifiers() == [Modifier::Type(ScalarType::B32)];
    match &inst.args[..] {
        [Arg::Register(register), Arg::Constant(value)] if is_plain && !inst.pragma => {
            (value.as_integer() == Some(number)).then_some(*register)
        }
        _ => None,
    }
}

/// The predicate that an instruction sets to whether a register of 32 bits is not 0, and that register.
fn is_not_0(inst: &Inst<'_, '_>) -> Option<(RegisterId, RegisterId)> {
    let form = &inst.ast.form;
    let words = [Modifier::Qualifier(Qualifier::Ne), Modifier::Type(ScalarType::B32)];
    let is_plain = form.opcode == Opcode::Setp
        && form.modifiers() == words
        && inst.guard.is_none()
        && !inst.pragma;
    match &inst.args[..] {
        [Arg::Register(predicate), Arg::Register(register), Arg::Constant(value)] if is_plain => {
            (value.as_integer() == Some(0)).then_some((*predicate, *register))
        }
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
