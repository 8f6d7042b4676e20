//! Paddings and xor swizzles, as expressions over the coordinates of an array.
//!
//! With `f` for the number of an element in row-major order these are `f`, `f + f / a * p`, and
//! `f ^ (f / a % m * g)`, which turns blocks of `g` elements within rows of `a`.

use std::sync::Arc;

use super::problem::{Family, Placement};
use crate::synth::expr::{Expr, Op};

/// The most elements that a padding adds to a row.
const MOST_PADDED: i64 = 64;

/// One placement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Member {
    /// Row by row.
    Plain,
    /// `f + f / a * p`
    Padded(i64, i64),
    /// `f ^ (f / a % m * g)`
    Swizzled(i64, i64, i64),
}

impl Member {
    /// Where an element is.
    pub(super) fn at(self, f: i64) -> i64 {
        match self {
            Member::Plain => f,
            Member::Padded(a, p) => f + f / a * p,
            Member::Swizzled(a, m, g) => f ^ (f / a % m * g),
        }
    }
}

/// The members of a family, those with few operators first.
pub(super) fn members(family: Family, cells: usize) -> Vec<Member> {
    let cells = cells as i64;
    let powers = |to: i64| (0..).map(|power| 1i64 << power).take_while(move |power| *power <= to);
    let mut found = vec![Member::Plain];
    if family != Family::Swizzle {
        for a in powers(cells / 2) {
            found.extend((1..=MOST_PADDED).map(|p| Member::Padded(a, p)));
        }
    }
    if family != Family::Padding {
        for a in powers(cells / 2) {
            for g in powers(a / 2) {
                // Within a row there are a / g blocks.
                found.extend(powers(a / g).skip(1).map(|m| Member::Swizzled(a, m, g)));
            }
        }
    }
    found
}

fn number(value: i64) -> Expr {
    Expr::Number(value)
}

/// The expression of a member, as short as it can be for this array.
pub(super) fn expression(placement: &Placement, member: Member) -> Expr {
    let width = placement.extents.last().copied().unwrap_or(1) as i64;
    let column = Expr::name(placement.axes.last().map_or("", String::as_str));
    let row = (placement.axes.len() == 2).then(|| Expr::name(&placement.axes[0]));
    let scaled = |a: Expr, times: i64| Expr::binary(Op::Mul, a, number(times));
    let add = |a: Expr, b: Expr| Expr::binary(Op::Add, a, b);
    let flat = match &row {
        Some(row) => add(scaled(row.clone(), width), column.clone()),
        None => column.clone(),
    };
    // The number of a row of `a` elements.
    let block = |a: i64| match &row {
        Some(row) if a % width == 0 => Expr::binary(Op::Div, row.clone(), number(a / width)),
        _ => Expr::binary(Op::Div, flat.clone(), number(a)),
    };
    let expr = match member {
        Member::Plain => flat.clone(),
        Member::Padded(a, p) => match &row {
            Some(row) if a == width => add(scaled(row.clone(), width + p), column.clone()),
            _ => add(flat.clone(), scaled(block(a), p)),
        },
        Member::Swizzled(a, m, g) => {
            let turn = scaled(Expr::binary(Op::Rem, block(a), number(m)), g);
            match &row {
                // Within a row the bits of the column alone change.
                Some(row) if a <= width || m * g <= width => {
                    let turned = Expr::Binary(Op::Xor, Arc::new(column.clone()), Arc::new(turn));
                    add(scaled(row.clone(), width), turned)
                }
                _ => Expr::Binary(Op::Xor, Arc::new(flat.clone()), Arc::new(turn)),
            }
        }
    };
    let cells = placement.cells();
    let same = |expr: &Expr| {
        (0..cells).all(|cell| placement.value(expr, cell) == Some(member.at(cell as i64)))
    };
    debug_assert!(same(&expr), "{expr} for {member:?}");
    expr.simplified(&same)
}
