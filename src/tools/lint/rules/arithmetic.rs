//! `double-promotion`, `slow-division`.

use std::collections::BTreeSet;

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::{Arg, InstId};
use crate::isa::{Opcode, Qualifier, ScalarType};

/// Operations between the conversions that are followed.
const MAX_OPERATIONS: usize = 64;

/// Arithmetic in double precision between floats or small integers that are widened and a result that is narrowed again or
/// compared, with a constant.
pub(super) fn promotions(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, inst) in subject.flow.insts.iter_enumerated() {
        let form = &inst.ast.form;
        let is_narrowed = match form.types()[..] {
            [to, ScalarType::F64] => form.opcode == Opcode::Cvt && to.bits() <= 32,
            [ScalarType::F64] => form.opcode == Opcode::Setp,
            _ => false,
        };
        let compares = form.opcode == Opcode::Setp;
        let roots = if compares { 1..3 } else { 1..2 };
        let Some(roots) = inst.args.get(roots).filter(|_| is_narrowed) else { continue };
        let Some(tree) = tree(subject, roots) else { continue };
        let operations = tree.operations + usize::from(compares);
        if operations == 0 || tree.narrow == 0 || tree.constants == 0 {
            continue;
        }
        let what = if tree.floats { "floats" } else { "small integers" };
        let back = if compares { "" } else { " and back" };
        found.push(Found {
            rule: Rule::DoublePromotion,
            level: Level::Warning,
            inst: tree.last.unwrap_or(at),
            message: match operations {
                1 => format!("{what} are converted to double precision for one operation{back}"),
                _ => format!(
                    "{what} are converted to double precision for {operations} operations{back}"
                ),
            },
            label: Some("a constant of the expression is a double".to_owned()),
            help: "write the constant as a float (`0.5f` instead of `0.5`)".to_owned(),
            waste: 0,
        });
    }
    found
}

/// The operations of an expression in double precision.
#[derive(Default)]
struct Tree {
    operations: usize,
    /// Floats, and integers that a float holds.
    narrow: usize,
    /// Whether there is a float among them.
    floats: bool,
    constants: usize,
    /// The operation whose result is the expression's.
    last: Option<InstId>,
}

/// The expression of some operands, if all its leaves are floats or small integers that were widened, or constants.
fn tree(subject: &Subject<'_, '_, '_>, roots: &[Arg<'_>]) -> Option<Tree> {
    let mut tree = Tree::default();
    let mut open = roots.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(arg) = open.pop() {
        if matches!(arg, Arg::Constant(_)) {
            tree.constants += 1;
            continue;
        }
        let at = subject.definition_of(&arg)?;
        if !seen.insert(at) {
            continue;
        }
        let inst = subject.inst(at);
        let form = &inst.ast.form;
        let double = form.last_type() == Some(ScalarType::F64);
        match form.opcode {
            Opcode::Cvt if double_of_narrow(subject, at) => {
                tree.narrow += 1;
                tree.floats |= form.types().last().is_some_and(|ty| ty.is_float());
            }
            Opcode::Mov if matches!(inst.args.get(1), Some(Arg::Constant(_))) => {
                tree.constants += 1
            }
            opcode if double && operands(opcode).is_some() => {
                tree.operations += 1;
                tree.last.get_or_insert(at);
                if tree.operations > MAX_OPERATIONS {
                    return None;
                }
                open.extend(inst.args[1..].iter().take(operands(opcode)?).cloned());
            }
            _ => return None,
        }
    }
    Some(tree)
}

/// Whether a conversion to double precision has an operand that a float holds: a float, or an integer of at most 16 bits.
fn double_of_narrow(subject: &Subject<'_, '_, '_>, at: InstId) -> bool {
    let inst = subject.inst(at);
    let [ScalarType::F64, from] = inst.ast.form.types()[..] else { return false };
    let of_load = || {
        let made = inst.args.get(1).and_then(|arg| subject.definition_of(arg));
        let form = made.map(|made| &subject.inst(made).ast.form);
        form.is_some_and(|form| {
            form.opcode == Opcode::Ld && form.last_type().is_some_and(|ty| ty.bits() <= 16)
        })
    };
    match from.is_float() {
        true => from.bits() <= 32,
        false => from.bits() <= 16 || of_load(),
    }
}

/// How many operands of an operation in double precision are numbers; `None` of operations that are not followed.
fn operands(opcode: Opcode) -> Option<usize> {
    match opcode {
        Opcode::Neg | Opcode::Abs | Opcode::Sqrt | Opcode::Rsqrt | Opcode::Rcp => Some(1),
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Div
        | Opcode::Min
        | Opcode::Max
        | Opcode::Selp => Some(2),
        Opcode::Fma => Some(3),
        _ => None,
    }
}

/// Divisions and remainders in a loop by a value that is not constant and that the loop does not change.
pub(super) fn divisions(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, inst) in subject.flow.insts.iter_enumerated() {
        let form = &inst.ast.form;
        let slow = matches!(form.opcode, Opcode::Div | Opcode::Rem)
            && form.last_type().is_some_and(|ty| !ty.is_float() && ty.bits() >= 32)
            && !form.has(Qualifier::Approx);
        let (true, Some(Arg::Register(by))) = (slow, inst.args.get(2)) else { continue };
        let (Some(around), Some(made)) = (subject.loop_of(at), subject.definition(*by)) else {
            continue;
        };
        let constant = matches!(subject.inst(made).args.get(1), Some(Arg::Constant(_)));
        let outside =
            subject.block_of(made).is_some_and(|block| !subject.flow.loops.contains(around, block));
        let ty = form.last_type();
        if constant || !outside {
            continue;
        }
        let bits = ty.map_or(32, ScalarType::bits);
        let word = if form.opcode == Opcode::Div { "division" } else { "remainder" };
        found.push(Found {
            rule: Rule::SlowDivision,
            level: if bits == 64 { Level::Warning } else { Level::Note },
            inst: at,
            message: format!(
                "a {bits}-bit integer {word} in a loop takes {} instructions; its divisor does not change in the loop",
                if bits == 64 { "some 70" } else { "some 20" }
            ),
            label: None,
            help: match bits {
                64 => "use 32-bit indices where they suffice; step quotient and remainder along with the loop, or \
                       multiply by a precomputed reciprocal (`cutlass::FastDivmod`)"
                    .to_owned(),
                _ => "step quotient and remainder along with the loop, make the divisor a template parameter, or \
                      multiply by a precomputed reciprocal (`cutlass::FastDivmod`)"
                    .to_owned(),
            },
            waste: 0,
        });
    }
    found
}
