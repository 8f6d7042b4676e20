//! Copies of instructions that compute addresses, at an earlier place.

use crate::loops::AddressStep;
use rustc_hash::FxHashMap;

use super::plan::Planner;
use crate::cfg::{InstId, RegisterId};
use crate::emulate::definitions;
use crate::ptx::write::Code;

impl Planner<'_, '_, '_, '_> {
    /// Copies of instructions that compute addresses; gives the register with each one's result.
    pub fn copied_steps(&mut self, steps: &[AddressStep], setup: &mut Code) -> Vec<String> {
        let mut results: Vec<String> = Vec::new();
        for step in steps {
            let named =
                |(register, step): &(RegisterId, usize)| (*register, results[*step].clone());
            let uses: Vec<(RegisterId, String)> = step.uses.iter().map(named).collect();
            results.push(self.copied_inst(step.inst, &uses, setup));
        }
        results
    }

    /// A copy of an instruction that writes a register of ours and reads others where it names some; gives the former.
    pub fn copied_inst(
        &mut self,
        at: InstId,
        uses: &[(RegisterId, String)],
        code: &mut Code,
    ) -> String {
        let inst = &self.flow.insts[at];
        let written = definitions(inst)[0];
        let fresh = self.plan.fresh.bits(self.flow.registers[written].ty.bits());
        let (destination, sources) = inst.ast.operands.split_at(1);
        let start = destination[0].span().end as usize;
        let end = sources.last().map_or(start, |operand| operand.span().end as usize);
        let uses: FxHashMap<RegisterId, String> = uses.iter().cloned().collect();
        let rest = self.plan.copied_with_registers(start..end, &uses);
        code.line(&format!("{} {fresh}{rest};", inst.ast.opcode.text));
        fresh.into()
    }
}
