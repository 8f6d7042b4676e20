//! Copies of instructions that compute addresses, at an earlier place.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::plan::Planner;
use crate::cfg::RegisterId;
use crate::emulate::definitions;
use crate::reuse::AddressStep;

impl Planner<'_, '_, '_, '_> {
    /// Copies of instructions that compute addresses; gives the register with each one's result.
    pub fn copied_steps(&mut self, steps: &[AddressStep], setup: &mut String) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        for step in steps {
            let inst = &self.flow.insts[step.inst as usize];
            let written = definitions(inst)[0];
            let fresh = self.plan.fresh.bits(self.flow.registers[written.0 as usize].ty.bits());
            let named = |(register, step): &(RegisterId, usize)| {
                (self.flow.registers[register.0 as usize].name, results[*step].clone())
            };
            let names: FxHashMap<&str, String> = step.uses.iter().map(named).collect();
            let (destination, sources) = inst.ast.operands.split_at(1);
            let start = destination[0].span().end as usize;
            let end = sources.last().map_or(start, |operand| operand.span().end as usize);
            let rest = self.plan.copied_with(start..end, |name| names.get(name).cloned());
            let _ = write!(setup, "{} {fresh}{rest};\n\t", inst.ast.opcode.text);
            results.push(fresh);
        }
        results
    }
}
