//! PTX of expressions of one lane. No dividend is negative.

use crate::isa::Qualifier;
use crate::isa::ScalarType::{B32, Pred};
use crate::ptx::write::{Block, Op as Instruction, Reg, Value, op};
use crate::synth::expr::{Cmp, Expr, Op};

/// The meaning of an expression's names, and how it is written.
#[derive(Clone, Copy)]
pub struct Scope<'n> {
    /// The registers of names.
    pub names: &'n [(&'n str, Reg)],
    /// Each operator is its own instruction, and a condition that is needed again is computed once. Else products and
    /// quotients by powers of two are shifts, and each condition has a predicate of its own.
    pub literal: bool,
}

impl<'n> Scope<'n> {
    /// Names with shifts.
    pub fn of(names: &'n [(&'n str, Reg)]) -> Scope<'n> {
        Scope { names, literal: false }
    }
}

/// The instruction of an operator, on numbers that are not negative where it divides.
fn instruction(operator: Op) -> Option<Instruction> {
    Some(match operator {
        Op::Add => op!(Add.S32),
        Op::Sub => op!(Sub.S32),
        Op::Mul => op!(Mul.Lo.S32),
        Op::Div => op!(Div.U32),
        Op::Rem => op!(Rem.U32),
        Op::Xor => op!(Xor.B32),
        Op::And => op!(And.B32),
        Op::Shl => op!(Shl.B32),
        Op::Shr => op!(Shr.S32),
        Op::Pow | Op::Log => return None,
    })
}

/// A comparison as a modifier.
fn comparison(cmp: Cmp) -> Qualifier {
    match cmp {
        Cmp::Eq => Qualifier::Eq,
        Cmp::Ne => Qualifier::Ne,
        Cmp::Lt => Qualifier::Lt,
        Cmp::Le => Qualifier::Le,
        Cmp::Gt => Qualifier::Gt,
        Cmp::Ge => Qualifier::Ge,
    }
}

/// The value of an expression.
///
/// # Errors
/// Something in it has no code.
pub fn value(block: &mut Block, expr: &Expr, scope: Scope<'_>) -> Result<Value, String> {
    let (operator, a, b) = match expr {
        Expr::Number(number) => return Ok(Value::Number(*number)),
        Expr::Name(name) => {
            let found = scope.names.iter().find(|(own, _)| *own == &**name);
            let register = found.map(|(_, register)| register.clone().into());
            return register.ok_or_else(|| format!("`{name}` has no register"));
        }
        Expr::Compare(..) => {
            let holds = condition(block, expr, scope)?;
            return Ok(block.once(B32, op!(Selp.B32), &[&1, &0, &holds]).into());
        }
        Expr::Choose(chosen, a, b) => {
            let (a, b) = (value(block, a, scope)?, value(block, b, scope)?);
            let holds = condition(block, chosen, scope)?;
            return Ok(block.once(B32, op!(Selp.B32), &[&a, &b, &holds]).into());
        }
        Expr::Binary(op, a, b) => (*op, value(block, a, scope)?, value(block, b, scope)?),
    };
    let power = match b {
        Value::Number(n) if !scope.literal => u32::try_from(n).ok().filter(|n| n.is_power_of_two()),
        _ => None,
    };
    let (instruction, b) = match (operator, power) {
        (Op::Mul, Some(n)) => (op!(Shl.B32), Value::Number(n.trailing_zeros().into())),
        (Op::Div, Some(n)) => (op!(Shr.U32), Value::Number(n.trailing_zeros().into())),
        (Op::Rem, Some(n)) => (op!(And.B32), Value::Number((n - 1).into())),
        _ => (instruction(operator).ok_or_else(|| format!("`{expr}` has no code"))?, b),
    };
    Ok(block.once(B32, instruction, &[&a, &b]).into())
}

/// A predicate that an expression is not 0.
///
/// # Errors
/// Something in it has no code.
pub fn condition(block: &mut Block, expr: &Expr, scope: Scope<'_>) -> Result<Reg, String> {
    let (cmp, a, b) = match expr {
        Expr::Compare(cmp, a, b) => (*cmp, value(block, a, scope)?, value(block, b, scope)?),
        Expr::Binary(Op::And, a, b)
            if scope.literal && [a, b].iter().all(|part| matches!(***part, Expr::Compare(..))) =>
        {
            let (a, b) = (condition(block, a, scope)?, condition(block, b, scope)?);
            return Ok(block.once(Pred, op!(And.Pred), &[&a, &b]));
        }
        _ => (Cmp::Ne, value(block, expr, scope)?, Value::Number(0)),
    };
    let instruction = op!(Setp.(comparison(cmp)).S32);
    Ok(match scope.literal {
        true => block.once(Pred, instruction, &[&a, &b]),
        false => block.test(instruction, &[&a, &b]),
    })
}
