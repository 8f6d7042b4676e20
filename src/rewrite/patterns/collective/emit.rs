//! The code that takes the place of a collective.

use super::ordered::ordered;
use crate::cfg::{InstId, RegisterId};
use crate::collective::{Collective, Form, InLoop, Operator, Order, Predicate};
use crate::emulate::definitions;
use crate::isa::Qualifier::{self, PropagateNan};
use crate::isa::ScalarType::{self, F32, S32, U32};
use crate::isa::limits::WARP_SIZE;
use crate::ptx::write::{Code, Op, Reg, op};
use crate::rewrite::{Condition, Draft, NOT_PREDICATED, Planner, Prepared, line_end};

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a collective.
    pub(super) fn collective(&mut self, one: &Collective, prepared: &mut Prepared) {
        if let Some(in_loop) = &one.in_loop {
            return self.counted_loop(one, in_loop, prepared);
        }
        let mut code = Code::in_front();
        let result = self.name(one.register);
        let lower = (one.source, one.sender);
        match (&one.form, one.upper) {
            (Ok(Form::Wide(operator)), Some(upper)) => {
                let sources = [lower, upper].map(|half| self.sent_to(half, one, prepared));
                self.halves((*operator, one.lanes), &sources, &result, &mut code);
            }
            (Ok(Form::Redux(_) | Form::Ordered(_)), _) => {
                let source = self.sent_to(lower, one, prepared);
                self.form(one, &source, &result, &mut code);
            }
            _ => self.form(one, "", &result, &mut code),
        }
        let code = code.text.trim_end().to_owned();
        for &at in &one.removed {
            prepared.drafts.push(Draft { range: self.span(at), code: String::new() });
        }
        prepared.drafts.push(Draft { range: self.span(one.result), code });
        if one.needs_consecutive && !planted!(Bug::CollectiveUntested) {
            let (setup, holds) = self.consecutive();
            self.add_version(
                one.network[0].to(one.result.next()),
                Condition::NoAlias { setup, holds, multiples: Vec::new() },
            );
        }
    }

    /// Adds the code for a loop: in its place, or, behind a test, in front of it.
    fn counted_loop(&mut self, one: &Collective, in_loop: &InLoop, prepared: &mut Prepared) {
        let mut code = Code::in_front();
        let mut results: Vec<(RegisterId, String)> = Vec::new();
        for part in one.parts() {
            let source = self.name(part.source);
            // (One result may be written into the register that another collective combines.)
            let result = String::from(self.plan.fresh.word());
            self.form(part, &source, &result, &mut code);
            results.push((part.register, result));
        }
        for (register, result) in &results {
            code.put(op!(Mov.B32), &[&self.name(*register), result]);
        }
        for (register, value) in
            in_loop.constants.iter().filter(|_| !planted!(Bug::CollectiveCounter))
        {
            let name = self.name(*register);
            match self.flow.registers[*register].ty {
                ScalarType::Pred => code.put(op!(Setp.Ne.U32), &[&name, value, &0]),
                _ => code.put(op!(Mov.B32), &[&name, value]),
            }
        }
        let branch = in_loop.insts.end.before();
        if !one.needs_consecutive || planted!(Bug::CollectiveUntested) {
            for at in in_loop.insts.start.to(branch) {
                prepared.drafts.push(Draft { range: self.span(at), code: String::new() });
            }
            let code = code.text.trim_end().to_owned();
            prepared.drafts.push(Draft { range: self.span(branch), code });
            return;
        }
        let (setup, holds) = self.consecutive();
        let [old, join] = self.plan.fresh.labels();
        let stays = if self.plan.has_nanosleep { NOT_PREDICATED.trim_end() } else { "" };
        let code = format!(
            "\n\t{setup}@!{holds} bra {old};\n\t{}bra.uni {join};\n{old}:\n\t{stays}",
            code.text
        );
        let behind = |at: InstId| line_end(self.source.text(), self.span(at).end);
        prepared.drafts.push(Draft::insert(behind(in_loop.insts.start.before()), code));
        prepared.drafts.push(Draft::insert(behind(branch), format!("\n{join}:")));
    }

    /// The instructions that compute a collective of a source register.
    fn form(&mut self, one: &Collective, source: &str, result: &str, code: &mut Code) {
        let Ok(form) = one.form else { return };
        match form {
            Form::Move(from, _) => code.put(op!(Mov.B32), &[&result, &self.name(from)]),
            Form::Redux(operator) => {
                let members = self.members(one.lanes, code);
                code.put(reduction(operator), &[&result, &source, &members]);
            }
            // (The halves have sources of their own.)
            Form::Wide(_) => {}
            Form::Ordered(operator) => {
                let members = self.members(one.lanes, code);
                self.ordered(&ordered(operator), (source, result, &members), code);
            }
            Form::Count(predicate) => {
                let members = if planted!(Bug::CollectiveHalf) { "0xffff" } else { "-1" };
                let ballot = self.ballot(predicate, members, code);
                code.put(op!(Popc.B32), &[&result, &ballot]);
            }
            Form::PrefixCount(predicate) => {
                let ballot = self.ballot(predicate, "-1", code);
                let lanes = if planted!(Bug::CollectiveExclusive) { "lt" } else { "le" };
                let lanes = format!("%lanemask_{lanes}");
                let mask = code.set(self.plan.fresh.word(), op!(Mov.U32), &[&lanes]);
                code.put(op!(And.B32), &[&ballot, &ballot, &mask]);
                code.put(op!(Popc.B32), &[&result, &ballot]);
            }
            Form::Vote { predicate, all } => {
                let all = all != planted!(Bug::CollectiveAny);
                let vote = if all { op!(Vote.Sync.All.Pred) } else { op!(Vote.Sync.Any.Pred) };
                let counted = self.counted(predicate);
                let voted = code.set(self.plan.fresh.predicate(), vote, &[&counted, &-1]);
                code.put(op!(Selp.U32), &[&result, &1, &0, &voted]);
            }
        }
    }

    /// A reduction of 64 bits by its lower and upper half.
    fn halves(
        &mut self,
        (operator, lanes): (Operator, u32),
        sources: &[String; 2],
        result: &str,
        code: &mut Code,
    ) {
        let members = self.members(lanes, code);
        let [mut low, mut high] = sources.each_ref().map(|source| {
            code.set(self.plan.fresh.word(), reduction(operator), &[source, &members])
        });
        if planted!(Bug::CollectiveHalves) {
            std::mem::swap(&mut low, &mut high);
        }
        code.put(op!(Mov.B64), &[&result, &format!("{{{low}, {high}}}")]);
    }

    /// The member mask of the lane's group: the bits of `lanes` lanes in a row.
    fn members(&mut self, lanes: u32, code: &mut Code) -> String {
        if lanes == WARP_SIZE {
            return "-1".to_owned();
        }
        let lanes = if planted!(Bug::CollectiveGroupHalf) { lanes / 2 } else { lanes };
        let group = (1u64 << lanes) - 1;
        if planted!(Bug::CollectiveOneGroup) {
            return group.to_string();
        }
        let fresh = &mut self.plan.fresh;
        let first = code.set(fresh.word(), op!(Mov.U32), &[&"%laneid"]);
        code.put(op!(And.B32), &[&first, &first, &(WARP_SIZE - lanes)]);
        code.set(fresh.word(), op!(Shl.B32), &[&group, &first]).into()
    }

    /// The register with a bit for each lane where a predicate holds.
    fn ballot(&mut self, predicate: Predicate, members: &str, code: &mut Code) -> Reg {
        let counted = self.counted(predicate);
        code.set(self.plan.fresh.word(), op!(Vote.Sync.Ballot.B32), &[&counted, &members])
    }

    /// The predicate that is counted, as operand.
    fn counted(&self, predicate: Predicate) -> String {
        let negated = predicate.negated != planted!(Bug::CollectiveNegated);
        self.signed((predicate.register, negated))
    }

    /// The register that an instruction of a network sends, as its result's place names it: a copy that is made where the
    /// register is sent, if behind that the register may hold something else or be called otherwise.
    fn sent_to(
        &mut self,
        (source, sender): (RegisterId, InstId),
        one: &Collective,
        prepared: &mut Prepared,
    ) -> String {
        let result = one.result;
        let is_written = |at: InstId| {
            !one.removed.contains(&at) && definitions(&self.flow.insts[at]).contains(&source)
        };
        let mut behind = sender.next().to(result);
        let stays = !behind.any(is_written) || planted!(Bug::CollectiveStale);
        if stays && self.flow.visible(source, result) {
            return self.name(source);
        }
        let copy = self.plan.fresh.word();
        let mut code = Code::in_front();
        code.put(op!(Mov.B32), &[&copy, &self.name(source)]);
        let start = self.span(sender).start;
        prepared.drafts.push(Draft::insert(start, code.text));
        copy.into()
    }

    /// The test that the lanes of each warp are consecutive in `%tid.x` and begin with a multiple of 32: rows of whole
    /// warps, or one row.
    fn consecutive(&mut self) -> (String, String) {
        let (fresh, mut code) = (&mut self.plan.fresh, Code::in_front());
        let (x, y, z, holds) = (fresh.word(), fresh.word(), fresh.word(), fresh.predicate());
        code.put(op!(Mov.U32), &[&x, &"%ntid.x"]);
        code.put(op!(And.B32), &[&x, &x, &31]);
        code.put(op!(Mov.U32), &[&y, &"%ntid.y"]);
        code.put(op!(Mov.U32), &[&z, &"%ntid.z"]);
        code.put(op!(Mul.Lo.U32), &[&y, &y, &z]);
        code.put(op!(Setp.Eq.U32), &[&holds, &y, &1]);
        code.put(op!(Setp.Eq.Or.U32), &[&holds, &x, &0, &holds]);
        (code.text, holds.into())
    }
}

/// The instruction `redux.sync` for an operator.
fn reduction(operator: Operator) -> Op {
    let ty = |order: Order| {
        let signed = matches!(order, Order::Signed) != planted!(Bug::CollectiveUnsigned);
        if signed { S32 } else { U32 }
    };
    let redux = op!(Redux.Sync);
    let extremum = |which: Qualifier, order: Order| match order {
        Order::Float { propagates_nan: true, .. } => redux.with(which).with(PropagateNan).with(F32),
        Order::Float { .. } => redux.with(which).with(F32),
        order => redux.with(which).with(ty(order)),
    };
    match operator {
        Operator::Sum => op!(Redux.Sync.Add.U32),
        Operator::And => op!(Redux.Sync.And.B32),
        Operator::Or => op!(Redux.Sync.Or.B32),
        Operator::Xor => op!(Redux.Sync.Xor.B32),
        Operator::Min(order) => extremum(Qualifier::Min, order),
        Operator::Max(order) => extremum(Qualifier::Max, order),
    }
}
