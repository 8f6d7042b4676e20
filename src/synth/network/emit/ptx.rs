//! A network of at most one warp as a PTX kernel, for a given operator.

use std::fmt::Write as _;

use super::{Operator, Shuffle, borders, machine, steps};
use crate::synth::emit::index::Lines;
use crate::synth::expr::{Cmp, Expr};
use crate::synth::network::outcome::Solution;
use crate::synth::network::problem::Network;

/// A PTX kernel of one warp: `input` has the registers of lane 0's element, then lane 1's; `output` likewise; with
/// segments `borders` has for each lane what the network reads of them.
///
/// # Errors
/// There are more lanes than a warp has, or an expression has no code.
pub fn ptx(
    network: &Network,
    solution: &Solution,
    name: &str,
    operator: Operator,
    comment: &str,
) -> Result<String, String> {
    let (initial, steps) = steps(network, solution, None)?;
    let borders = borders(&initial, &steps);
    let mut lines = Lines::default();
    let lane = lines.register();
    let registers = operator.registers();
    lines.line(&format!("mov.u32 {lane}, %tid.x;"));
    lines.line("ld.param.u64 %rd0, [input];");
    lines.line("ld.param.u64 %rd1, [output];");
    let address = |lines: &mut Lines, base: u32, each: usize| {
        lines.line(&format!("mad.wide.u32 %rd{}, {lane}, {each}, %rd{base};", base + 3));
    };
    address(&mut lines, 0, 4 * registers);
    address(&mut lines, 1, 4 * registers);
    // Lanes beyond the network take part in shuffles alone.
    let inside = lines.condition(
        &Expr::Compare(
            Cmp::Lt,
            Expr::name(&network.lane).into(),
            Expr::Number(network.lanes as i64).into(),
        ),
        &[(&network.lane, &lane)],
    )?;
    let mut values = loaded(&mut lines, &inside, "%rd3", registers);
    let mut names: Vec<(&str, String)> = vec![(&network.lane, lane.clone())];
    if !borders.is_empty() {
        lines.line("ld.param.u64 %rd2, [borders];");
        address(&mut lines, 2, 4 * borders.len());
        let registers = loaded(&mut lines, &inside, "%rd5", borders.len());
        names.extend(borders.iter().copied().zip(registers));
    }
    let names: Vec<(&str, &str)> = names.iter().map(|(n, r)| (*n, r.as_str())).collect();
    let shuffled = |lines: &mut Lines, values: &[String], source: &Expr| {
        let shuffle = Shuffle::of(network, source)?;
        let (instruction, operands) = shuffle.code(|index| lines.value(index, &names))?;
        let one = |value: &String| {
            let register = lines.register();
            lines.line(&format!("{instruction} {register}, {value}, {operands};"));
            register
        };
        Ok::<Vec<String>, String>(values.iter().map(one).collect())
    };
    if initial != Expr::name(&network.lane) && !planted!(Bug::OwnElementFirst) {
        values = shuffled(&mut lines, &values, &initial)?;
    }
    for step in &steps {
        let other = shuffled(&mut lines, &values, &step.source)?;
        let (a, b) = if step.behind { (&values, &other) } else { (&other, &values) };
        let new = operator.code(&mut lines, a, b);
        let guards = step.guards.iter().map(|guard| machine(network, guard));
        let guards: Vec<Expr> = guards.collect::<Result<_, _>>()?;
        values = guarded(&mut lines, &guards, &names, new, values)?;
    }
    for (number, value) in values.iter().enumerate() {
        lines.line(&format!("@{inside} st.global.b32 [%rd4+{}], {value};", 4 * number));
    }
    let mut text = String::new();
    comment.lines().for_each(|line| _ = writeln!(text, "{}", format!("// {line}").trim_end()));
    let more = if borders.is_empty() { "" } else { ",\n    .param .u64 borders" };
    let _ = write!(
        text,
        ".version 7.0\n.target sm_70\n.address_size 64\n\n.visible .entry {name}_kernel(\n    \
         .param .u64 input,\n    .param .u64 output{more}\n)\n{{\n    .reg .b64 %rd<6>;\n"
    );
    text.push_str(&lines.declarations());
    text.push_str(&lines.text);
    text.push_str("    ret;\n}\n");
    Ok(text)
}

/// Consecutive words from an address on; 0 in the lanes that are not inside.
fn loaded(lines: &mut Lines, inside: &str, address: &str, count: usize) -> Vec<String> {
    let word = |number: usize| {
        let register = lines.register();
        lines.line(&format!("mov.b32 {register}, 0;"));
        lines.line(&format!("@{inside} ld.global.b32 {register}, [{address}+{}];", 4 * number));
        register
    };
    (0..count).map(word).collect()
}

/// New values where all conditions hold, and the old ones elsewhere.
fn guarded(
    lines: &mut Lines,
    guards: &[Expr],
    names: &[(&str, &str)],
    new: Vec<String>,
    old: Vec<String>,
) -> Result<Vec<String>, String> {
    let mut predicates = Vec::new();
    for guard in guards {
        predicates.push(lines.condition(guard, names)?);
    }
    let all = predicates.into_iter().reduce(|a, b| {
        let both = lines.predicate();
        lines.line(&format!("and.pred {both}, {a}, {b};"));
        both
    });
    let Some(all) = all else { return Ok(new) };
    let chosen = |(new, old): (&String, &String)| {
        let register = lines.register();
        lines.line(&format!("selp.b32 {register}, {new}, {old}, {all};"));
        register
    };
    Ok(new.iter().zip(&old).map(chosen).collect())
}
