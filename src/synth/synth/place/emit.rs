//! A kernel of one warp with the accesses of a sketch: the first access statement stores elements of the input, the
//! others load elements and write them to the output, each round after the other, lane by lane.

use super::problem::{Access, Placement};
use super::search::Outcome;
use crate::isa::Qualifier::{V2, V4};
use crate::isa::ScalarType::{B32, U8, U16};
use crate::ptx::write::{self, Block, Fresh, Op as Instruction, Reg, op};
use crate::synth::emit::domain::{at, replaced};
use crate::synth::emit::index::{Scope, value};
use crate::synth::expr::{Expr, Op};

/// An access to `bytes` bytes, and how many registers it takes.
fn typed(access: Instruction, bytes: u64) -> (Instruction, usize) {
    match bytes {
        1 => (access.with(U8), 1),
        2 => (access.with(U16), 1),
        4 => (access.with(B32), 1),
        8 => (access.with(V2).with(B32), 2),
        _ => (access.with(V4).with(B32), 4),
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
    let block = &mut Block::new(Fresh::new("%"), "    ");
    let lane = block.word(op!(Mov.U32), &[&"%tid.x"]);
    block.put(op!(Ld.Param.U64), &[&"%rd0", &"[input]"]);
    block.put(op!(Ld.Param.U64), &[&"%rd1", &"[output]"]);
    let base = block.word(op!(Mov.U32), &[&format!("{name}_tile")]);
    let mut written = 0;
    for (number, access) in placement.accesses.iter().enumerate() {
        if number == 1 {
            block.put(op!(Bar.Warp.Sync), &[&-1]);
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
            let names = [(&*access.lane, lane.clone())];
            let scope = Scope::of(&names);
            let [(load, count), (store, _)] = match number {
                0 => [op!(Ld.Global), op!(St.Shared)],
                _ => [op!(Ld.Shared), op!(St.Global)],
            }
            .map(|op| typed(op, access.bytes));
            let guard = taking_part(block, access.masks[round], &lane);
            let address = value(block, &scaled(address, placement.element), scope)?;
            let address = block.once(B32, op!(Add.U32), &[&base, &address]);
            let list = write::vector(&(0..count).map(|_| block.fresh.word()).collect::<Vec<Reg>>());
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
            let outside = value(block, &outside, scope)?;
            block.put(op!(Cvt.U64.U32), &[&"%rd2", &outside]);
            block.put(op!(Add.U64), &[&"%rd2", &format!("%rd{}", u8::from(number > 0)), &"%rd2"]);
            let (outside, inside) = ("[%rd2]".to_owned(), format!("[{address}]"));
            let [from, to] = if number == 0 { [outside, inside] } else { [inside, outside] };
            block.put_if(&guard, load, &[&list, &from]);
            block.put_if(&guard, store, &[&to, &list]);
        }
    }
    let bytes = outcome.cost.bytes;
    Ok(format!(
        "{}{}\n.visible .entry {name}_kernel(\n    .param .u64 input,\n    .param .u64 output\n)\n{{\n    \
         .shared .align 16 .b8 {name}_tile[{bytes}];\n    .reg .b64 %rd<3>;\n{}    ret;\n}}\n",
        write::comment(comment),
        write::HEAD,
        block.text()
    ))
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
fn taking_part(block: &mut Block, mask: u32, lane: &Reg) -> String {
    if mask == u32::MAX {
        return String::new();
    }
    let all = block.once(B32, op!(Mov.B32), &[&format!("{mask:#x}")]);
    let bit = block.once(B32, op!(Shr.U32), &[&all, lane]);
    let bit = block.once(B32, op!(And.B32), &[&bit, &1]);
    format!("@{} ", block.test(op!(Setp.Ne.U32), &[&bit, &0]))
}
