//! A network of at most one warp as a PTX kernel, for a given operator.

use super::{Operator, Shuffle, borders, machine, steps};
use crate::ptx::write::{Block, Fresh, HEAD, Reg, comment, op};
use crate::synth::emit::index::{Scope, condition, value};
use crate::synth::expr::Expr;
use crate::synth::network::outcome::Solution;
use crate::synth::network::problem::Network;

/// A PTX kernel of one warp: `input` has the registers of lane 0's element, then lane 1's; `output` likewise; with
/// segments `borders` has for each lane the values of the borders that the network reads.
///
/// # Errors
/// There are more lanes than a warp has, or an expression has no code.
pub fn ptx(
    network: &Network,
    solution: &Solution,
    name: &str,
    operator: Operator,
    head: &str,
) -> Result<String, String> {
    let (initial, steps) = steps(network, solution, None)?;
    let borders = borders(&initial, &steps);
    let block = &mut Block::new(Fresh::new("%"), "    ");
    let lane = block.word(op!(Mov.U32), &[&"%tid.x"]);
    let registers = operator.registers();
    block.put(op!(Ld.Param.U64), &[&"%rd0", &"[input]"]);
    block.put(op!(Ld.Param.U64), &[&"%rd1", &"[output]"]);
    let address = |block: &mut Block, base: u32, each: usize| {
        let [to, base] = [base + 3, base].map(|number| format!("%rd{number}"));
        block.put(op!(Mad.Wide.U32), &[&to, &lane, &each, &base]);
    };
    address(block, 0, 4 * registers);
    address(block, 1, 4 * registers);
    // Lanes beyond the network take part in shuffles alone.
    let inside = block.test(op!(Setp.Lt.S32), &[&lane, &network.lanes]);
    let mut values = loaded(block, &inside, "%rd3", registers);
    let mut names: Vec<(&str, Reg)> = vec![(&network.lane, lane.clone())];
    if !borders.is_empty() {
        block.put(op!(Ld.Param.U64), &[&"%rd2", &"[borders]"]);
        address(block, 2, 4 * borders.len());
        let registers = loaded(block, &inside, "%rd5", borders.len());
        names.extend(borders.iter().copied().zip(registers));
    }
    let scope = Scope::of(&names);
    let shuffled = |block: &mut Block, values: &[Reg], source: &Expr| {
        let shuffle = Shuffle::of(network, source)?;
        let (instruction, operands) = shuffle.code(|index| value(block, index, scope))?;
        let one = |value: &Reg| block.word(instruction, &[value, &operands]);
        Ok::<Vec<Reg>, String>(values.iter().map(one).collect())
    };
    if initial != Expr::name(&network.lane) && !planted!(Bug::OwnElementFirst) {
        values = shuffled(block, &values, &initial)?;
    }
    for step in &steps {
        let other = shuffled(block, &values, &step.source)?;
        let (a, b) = if step.behind { (&values, &other) } else { (&other, &values) };
        let new = operator.code(block, a, b);
        let guards =
            step.guards.iter().map(|guard| condition(block, &machine(network, guard)?, scope));
        let guards: Vec<Reg> = guards.collect::<Result<_, String>>()?;
        let all = guards.into_iter().reduce(|a, b| block.test(op!(And.Pred), &[&a, &b]));
        values = match all {
            None => new,
            Some(all) => {
                let pairs = new.iter().zip(&values);
                pairs.map(|(a, b)| block.word(op!(Selp.B32), &[a, b, &all])).collect()
            }
        };
    }
    for (number, value) in values.iter().enumerate() {
        let place = format!("[%rd4+{}]", 4 * number);
        block.put_if(&format!("@{inside} "), op!(St.Global.B32), &[&place, value]);
    }
    let more = if borders.is_empty() { "" } else { ",\n    .param .u64 borders" };
    Ok(format!(
        "{}{HEAD}\n.visible .entry {name}_kernel(\n    .param .u64 input,\n    .param .u64 output{more}\n)\n{{\n    \
         .reg .b64 %rd<6>;\n{}    ret;\n}}\n",
        comment(head),
        block.text()
    ))
}

/// Consecutive words from an address on; 0 in the lanes that are not inside.
fn loaded(block: &mut Block, inside: &Reg, address: &str, count: usize) -> Vec<Reg> {
    let word = |number: usize| {
        let register = block.word(op!(Mov.B32), &[&0]);
        let place = format!("[{address}+{}]", 4 * number);
        block.put_if(&format!("@{inside} "), op!(Ld.Global.B32), &[&register, &place]);
        register
    };
    (0..count).map(word).collect()
}
