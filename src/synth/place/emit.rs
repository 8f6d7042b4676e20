//! A kernel of one warp with the accesses of a sketch: the first access statement stores elements of the input, the
//! others load what lies there and write it to the output, each round after the other, lane by lane.

use std::fmt::Write as _;

use super::problem::{Access, Placement};
use super::search::Outcome;
use crate::synth::emit::domain::{at, replaced};
use crate::synth::emit::index::Lines;
use crate::synth::expr::{Expr, Op};

/// The instruction's type for `bytes` bytes, and how many registers it takes.
fn typed(bytes: u64) -> (&'static str, usize) {
    match bytes {
        1 => ("u8", 1),
        2 => ("u16", 1),
        4 => ("b32", 1),
        8 => ("v2.b32", 2),
        _ => ("v4.b32", 4),
    }
}

/// PTX of the accesses; the comment goes to its beginning.
///
/// # Errors
/// An expression has no code.
pub fn ptx(
    name: &str,
    placement: &Placement,
    outcome: &Outcome,
    comment: &str,
) -> Result<String, String> {
    let mut lines = Lines::default();
    let lane = lines.register();
    lines.line(&format!("mov.u32 {lane}, %tid.x;"));
    lines.line("ld.param.u64 %rd0, [input];");
    lines.line("ld.param.u64 %rd1, [output];");
    let base = lines.register();
    lines.line(&format!("mov.u32 {base}, {name}_tile;"));
    let mut written = 0;
    for (number, access) in placement.accesses.iter().enumerate() {
        if number == 1 {
            lines.line("bar.warp.sync -1;");
        }
        for round in 0..access.rounds.len() {
            let place = place(access, round);
            let indices: Vec<Expr> = access.indices.iter().map(|index| at(index, &place)).collect();
            let own = |name: &str| placement.axes.iter().position(|axis| axis == name);
            let plain = super::family::expression(placement, super::family::Member::Plain);
            let careless = number == 0 && planted!(Bug::StoredPlain);
            let expr = if careless { &plain } else { &outcome.expr };
            let address = replaced(expr, &|name| indices.get(own(name)?).cloned());
            let scaled = |expr: Expr, by: u64| Expr::binary(Op::Mul, expr, Expr::Number(by as i64));
            let (ty, count) = typed(access.bytes);
            let mask = access.masks[round];
            let guard = taking_part(&mut lines, mask, &lane);
            let address =
                lines.value(&scaled(address, placement.element), &[(&access.lane, &lane)])?;
            let address = lines.once("add.u32", &format!("{base}, {address}"));
            let registers: Vec<String> = (0..count).map(|_| lines.register()).collect();
            let list = match registers.as_slice() {
                [one] => one.clone(),
                several => format!("{{{}}}", several.join(", ")),
            };
            let outside = if number == 0 {
                let flat = indices.iter().zip(&placement.extents).fold(
                    Expr::Number(0),
                    |flat, (index, &extent)| {
                        let flat = Expr::binary(Op::Mul, flat, Expr::Number(extent as i64));
                        Expr::binary(Op::Add, flat, index.clone())
                    },
                );
                scaled(flat, placement.element)
            } else {
                let first = Expr::Number(written * access.bytes as i64);
                written += 32;
                Expr::binary(Op::Add, scaled(Expr::name(&access.lane), access.bytes), first)
            };
            let outside = lines.value(&outside, &[(&access.lane, &lane)])?;
            lines.line(&format!("cvt.u64.u32 %rd2, {outside};"));
            lines.line(&format!("add.u64 %rd2, %rd{}, %rd2;", u8::from(number > 0)));
            if number == 0 {
                lines.line(&format!("{guard}ld.global.{ty} {list}, [%rd2];"));
                lines.line(&format!("{guard}st.shared.{ty} [{address}], {list};"));
            } else {
                lines.line(&format!("{guard}ld.shared.{ty} {list}, [{address}];"));
                lines.line(&format!("{guard}st.global.{ty} [%rd2], {list};"));
            }
        }
    }
    let mut text = String::new();
    comment.lines().for_each(|line| _ = writeln!(text, "{}", format!("// {line}").trim_end()));
    let bytes = outcome.cost.bytes;
    let _ = write!(
        text,
        ".version 7.0\n.target sm_70\n.address_size 64\n\n.visible .entry {name}_kernel(\n    \
         .param .u64 input,\n    .param .u64 output\n)\n{{\n    .shared .align 16 .b8 \
         {name}_tile[{bytes}];\n    .reg .b64 %rd<3>;\n"
    );
    text.push_str(&lines.declarations());
    text.push_str(&lines.text);
    text.push_str("    ret;\n}\n");
    Ok(text)
}

/// The places of the axes in a round.
fn place(access: &Access, round: usize) -> Vec<(String, i64)> {
    let mut rest = round;
    let mut place = Vec::new();
    for (name, extent) in access.axes.iter().rev() {
        place.push((name.clone(), (rest % extent) as i64));
        rest /= extent;
    }
    place
}

/// The guard of instructions in which only some lanes take part.
fn taking_part(lines: &mut Lines, mask: u32, lane: &str) -> String {
    if mask == u32::MAX {
        return String::new();
    }
    let all = lines.once("mov.b32", &format!("{mask:#x}"));
    let bit = lines.once("shr.u32", &format!("{all}, {lane}"));
    let bit = lines.once("and.b32", &format!("{bit}, 1"));
    let predicate = lines.predicate();
    lines.line(&format!("setp.ne.u32 {predicate}, {bit}, 0;"));
    format!("@{predicate} ")
}
