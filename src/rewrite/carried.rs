//! The part of a plan for values that go round loops: the load of the first iteration's value in front
//! of the loop, the move in place of the load, and the move at the loop's end.

use rustc_hash::FxHashMap;

use super::plan::{CarriedLoad, Planner, line_end};
use crate::cfg::{Arg, RegisterId};
use crate::emulate::definitions;
use crate::planted::Bug;
use crate::reuse::Carried;
use crate::select::{Choice, Verdict};

impl Planner<'_, '_, '_, '_> {
    /// Plans the links that have been chosen.
    pub(super) fn carried(&mut self, choice: &Choice) {
        let wanted = choice.chosen(|verdict| match verdict {
            Verdict::Carried(link) => Some(*link),
            _ => None,
        });
        for link in wanted.into_iter().map(|at| &choice.carried[at]) {
            let carried = self.link(link);
            self.plan.carried.push(carried);
        }
    }

    fn link(&mut self, link: &Carried) -> CarriedLoad {
        let (mut moves, mut passed, mut registers) = (Vec::new(), Vec::new(), Vec::new());
        for (from, to) in &link.pieces {
            let bits = to.register_bits;
            let round = self.plan.fresh.bits(bits);
            moves.push(format!("mov.b{bits} {}, {round};", self.name(to.register)));
            let sent = self.sent(link.source, from.register, from.register_bits, link.latch);
            passed.push(format!("mov.b{bits} {round}, {sent};\n\t"));
            registers.push((to.register, round));
        }
        let first = self.first(link, &registers);
        let span = |inst: u32| self.flow.insts[inst as usize].ast.span.range();
        let entry = match link.falls_in {
            false => {
                let lines: String = first.iter().map(|line| format!("{line}\n\t")).collect();
                (span(link.entry).start, lines)
            }
            true => {
                let lines: String = first.iter().map(|line| format!("\n\t{line}")).collect();
                (line_end(self.source.text(), span(link.entry).end), lines)
            }
        };
        if self.plan.planted.has(Bug::NothingPassedOn) {
            passed.clear();
        }
        CarriedLoad {
            span: span(link.load.inst),
            moves: moves.join("\n\t"),
            entry,
            latch: (span(link.latch).start, passed.concat()),
        }
    }

    /// The load of the first iteration's value, behind copies of the instructions that compute its
    /// address.
    fn first(&mut self, link: &Carried, registers: &[(RegisterId, String)]) -> Vec<String> {
        let mut names: FxHashMap<&str, String> = FxHashMap::default();
        let mut lines = Vec::new();
        let flow = self.flow;
        for &at in &link.slice {
            let inst = &flow.insts[at as usize];
            let Some(&written) = definitions(inst).first() else { continue };
            let described = &flow.registers[written.0 as usize];
            let fresh = self.plan.fresh.bits(described.ty.bits());
            let (destination, sources) = inst.ast.operands.split_at(1);
            let start = destination[0].span().end as usize;
            let rest = sources.iter().map(|operand| operand.span().end as usize).max();
            let rest = &self.source.text()[start..rest.unwrap_or(start)];
            let opcode = inst.ast.opcode.text;
            lines.push(format!("{opcode} {fresh}{};", renamed(rest, &names)));
            names.insert(described.name, fresh);
        }
        let inst = &flow.insts[link.load.inst as usize];
        let ast = inst.ast;
        let text = |from: u32, to: u32| &self.source.text()[from as usize..to as usize];
        // The names of the destinations, each with the register that goes round in its place.
        let rounds: FxHashMap<&str, String> = registers
            .iter()
            .map(|(own, round)| (flow.registers[own.0 as usize].name, round.clone()))
            .collect();
        let (to, address) = (ast.operands[0].span(), ast.operands[1].span());
        let mut address = renamed(text(address.start, address.end), &names);
        if self.plan.planted.has(Bug::FirstOfAnother) {
            let other = flow.insts[link.source as usize].ast.operands[1].span();
            address = renamed(text(other.start, other.end), &names);
        }
        let to = renamed(text(to.start, to.end), &rounds);
        debug_assert!(matches!(inst.args.get(1), Some(Arg::Memory { .. })));
        lines.push(format!("{} {to}, {address};", ast.opcode.text));
        lines
    }
}

/// A text with some names replaced by others.
fn renamed(text: &str, names: &FxHashMap<&str, String>) -> String {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|c| !part_of_name(c)).unwrap_or(rest.len());
        match length {
            0 => {
                let next = rest.find(part_of_name).unwrap_or(rest.len());
                out.push_str(&rest[..next]);
                rest = &rest[next..];
            }
            _ => {
                let word = &rest[..length];
                out.push_str(names.get(word).map_or(word, String::as_str));
                rest = &rest[length..];
            }
        }
    }
    out
}
