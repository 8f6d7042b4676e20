//! Where groups of a warp part and meet again.

use super::group::{Group, Join, JoinId, State, Then};
use super::machine::Machine;
use super::warp::Warp;
use crate::interp::program::{AT_RETURN, Guard, MicroOp, Op, Pc, Reconvergence};
use crate::interp::registers::Mask;

impl Warp {
    /// Splits a group into parts. An assembler would let them meet again at `meet`; whether they do is
    /// a matter of the launch's schedule.
    pub(super) fn diverge(
        &mut self,
        machine: &Machine<'_>,
        index: usize,
        meet: Pc,
        ways: &[(Mask, Pc)],
    ) {
        let group = self.groups[index].clone();
        let function = self.function(machine, index);
        let Reconvergence { at, within } = self.schedule.reconvergence(function, group.pc, meet);
        let meets_there = |id: JoinId| {
            self.joins[id].as_ref().is_some_and(|join| join.at == at && join.within == within)
        };
        let join = if at == AT_RETURN || group.join.is_some_and(meets_there) {
            group.join
        } else {
            Some(self.new_join(Join {
                at,
                within,
                expected: group.mask,
                arrived: 0,
                parent: group.join,
                frame: group.frame,
                then: Then::Continue,
            }))
        };
        self.groups.remove(index);
        for &(mask, pc) in ways {
            self.groups.push(Group { pc, mask, join, state: State::Ready, frame: group.frame });
        }
    }

    /// Makes a meeting point.
    pub(super) fn new_join(&mut self, join: Join) -> JoinId {
        match self.joins.iter().position(Option::is_none) {
            Some(free) => {
                self.joins[free] = Some(join);
                free
            }
            None => {
                self.joins.push(Some(join));
                self.joins.len() - 1
            }
        }
    }

    /// The meeting points of a group in its frame, the innermost first.
    pub(super) fn joins_of(&self, group: &Group) -> impl Iterator<Item = (JoinId, &Join)> {
        let find = |id: Option<JoinId>| id.and_then(|id| Some((id, self.joins[id].as_ref()?)));
        std::iter::successors(find(group.join), move |(_, join)| find(join.parent))
            .take_while(|(_, join)| matches!(join.then, Then::Continue))
    }

    /// Lets a group arrive that has come to one of its meeting points, or has left the loop of one. It
    /// no longer comes to the points whose loops it has left, nor to those of branches further in,
    /// which it has passed by.
    pub(super) fn arrive(&mut self, machine: &Machine<'_>, index: usize) {
        let loops = &self.function(machine, index).loops;
        let group = self.groups.remove(index);
        let has_left =
            |join: &Join| join.within.is_some_and(|within| !loops[within].contains(group.pc));
        let joins: Vec<(JoinId, bool, bool)> = self
            .joins_of(&group)
            .map(|(id, join)| (id, has_left(join), join.at == group.pc))
            .collect();
        let left = joins.iter().rposition(|&(_, left, _)| left).map_or(0, |last| last + 1);
        let here = joins[left..].iter().position(|&(.., here)| here);
        let passed: Vec<JoinId> =
            joins[..left + here.unwrap_or(0)].iter().map(|&(id, ..)| id).collect();
        let target = match passed.last() {
            Some(&id) => self.joins[id].as_ref().and_then(|join| join.parent),
            None => group.join,
        };
        for id in passed {
            self.withdraw(machine, id, group.mask);
        }
        let Some(id) = target.filter(|_| here.is_some()) else {
            self.groups.push(Group { join: target, ..group });
            return;
        };
        if let Some(join) = &mut self.joins[id] {
            join.arrived |= group.mask;
        }
        if self.schedule.once_in(16) {
            self.release(machine, id);
        } else {
            self.complete(machine, id);
        }
    }

    /// Takes lanes that will not come off the list of those that a meeting point expects.
    fn withdraw(&mut self, machine: &Machine<'_>, id: JoinId, lanes: Mask) {
        if let Some(join) = &mut self.joins[id] {
            join.expected &= !lanes;
        }
        self.complete(machine, id);
    }

    /// Lets the lanes at a meeting point go on if all expected ones have come.
    fn complete(&mut self, machine: &Machine<'_>, id: JoinId) {
        if self.joins[id].as_ref().is_some_and(|join| join.arrived == join.expected) {
            self.release(machine, id);
        }
    }

    /// Lets the lanes that have come to a meeting point go on. Returns whether there were any.
    fn release(&mut self, machine: &Machine<'_>, id: JoinId) -> bool {
        let Some(join) = &mut self.joins[id] else { return false };
        let mask = std::mem::take(&mut join.arrived);
        join.expected &= !mask;
        let join = join.clone();
        let last = join.expected == 0;
        if last {
            self.joins[id] = None;
        }
        let (frame, pc) = match join.then {
            Then::Continue => (join.frame, join.at),
            Then::Return { caller, call } => {
                self.hand_over(machine, join.frame, caller, call, mask);
                if last {
                    self.frames[join.frame].free = true;
                }
                (caller, call.next())
            }
        };
        if mask != 0 {
            self.groups.push(Group { pc, mask, frame, join: join.parent, state: State::Ready });
        }
        mask != 0
    }

    /// Whether lanes that go on at a meeting point end without doing anything else.
    pub(super) fn ends(&self, machine: &Machine<'_>, join: &Join) -> bool {
        let code = &machine.program.functions[self.frames[join.frame].function].code;
        let next = code[join.at.min(code.next_key())..].iter();
        let mut rest = next.skip_while(|micro| matches!(micro.op, Op::Nothing));
        let ends = |micro: &MicroOp| {
            micro.guard == Guard::Always && matches!(micro.op, Op::Return | Op::Exit)
        };
        matches!(join.then, Then::Continue) && rest.next().is_none_or(ends)
    }

    /// Lets all lanes go on that wait at meeting points for others, since the others may be waiting
    /// for them. Returns whether there were any.
    pub(super) fn release_waiting(&mut self, machine: &Machine<'_>) -> bool {
        let mut any = false;
        for id in 0..self.joins.len() {
            if self.joins[id].as_ref().is_some_and(|join| join.arrived != 0) {
                any |= self.release(machine, id);
            }
        }
        any
    }

    /// Makes one group of those that stand at one place and consist of lanes of `among`, unless the
    /// launch's schedule decides otherwise.
    pub(super) fn unite(&mut self, machine: &Machine<'_>, frame: usize, pc: Pc, among: Mask) {
        if !self.schedule.once_in(4) {
            self.merge(machine, frame, pc, among);
        }
    }

    /// Makes one group of those that stand at one place and consist of lanes of `among`. The new group
    /// comes only to the meeting points that all of them would have come to.
    pub(super) fn merge(&mut self, machine: &Machine<'_>, frame: usize, pc: Pc, among: Mask) {
        let is_part = |group: &Group| {
            let there = group.frame == frame && group.pc == pc;
            there && group.state == State::Ready && group.mask & !among == 0
        };
        if self.groups.iter().filter(|group| is_part(group)).count() < 2 {
            return;
        }
        let parts: Vec<Group> = self.groups.extract_if(.., |group| is_part(group)).collect();
        let chains: Vec<Vec<JoinId>> = parts.iter().map(|part| self.chain(part.join)).collect();
        let join = chains[0].iter().copied().find(|id| chains.iter().all(|c| c.contains(id)));
        let mask = parts.iter().fold(0, |mask, part| mask | part.mask);
        self.groups.push(Group { pc, mask, frame, join, state: State::Ready });
        for (part, chain) in parts.iter().zip(chains) {
            for id in chain.into_iter().take_while(|&id| Some(id) != join) {
                self.withdraw(machine, id, part.mask);
            }
        }
    }

    /// All meeting points ahead, from the given one on.
    fn chain(&self, from: Option<JoinId>) -> Vec<JoinId> {
        let parent = |&id: &JoinId| self.joins[id].as_ref().and_then(|join| join.parent);
        std::iter::successors(from, parent).collect()
    }

    /// Lets lanes return from their function, or end. The other lanes of the group go on.
    pub(super) fn leave(
        &mut self,
        machine: &Machine<'_>,
        index: usize,
        lanes: Mask,
        only_function: bool,
    ) {
        let Group { mask, join, .. } = self.groups[index];
        if mask == lanes {
            self.groups.remove(index);
        } else {
            self.groups[index].mask &= !lanes;
        }
        let mut next = join;
        while let Some(id) = next {
            let Some(join) = &mut self.joins[id] else { break };
            next = join.parent;
            if only_function && matches!(join.then, Then::Return { .. }) {
                join.arrived |= lanes;
                // Lanes that return need not wait for those that stay.
                if self.schedule.is_never() || self.schedule.once_in(4) {
                    self.release(machine, id);
                } else {
                    self.complete(machine, id);
                }
                return;
            }
            self.withdraw(machine, id, lanes);
        }
        self.live &= !lanes;
    }
}
