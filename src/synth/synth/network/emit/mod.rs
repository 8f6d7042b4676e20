//! A network of at most one warp as code: a CUDA header with a device function over the element and the operator, and
//! a PTX kernel of one warp for a given operator. Each step is a shuffle and, in the lanes that combine, an operation.

mod ptx;

use std::fmt::Write as _;

use super::outcome::Solution;
use super::problem::{Network, SEGMENT, Slot};
use super::run::filled;
use crate::ptx::write::{self, Block, Op as Instruction, Reg, Value, op};
use crate::synth::emit::domain::{Domain, at};
use crate::synth::expr::{Expr, Op};
pub use ptx::ptx;

/// What headers of networks begin with; several of them may stand in one file.
pub const HELPERS: &str = include_str!("helpers.cuh");

/// The most lanes of a warp.
pub const WARP: usize = 32;

/// An operator in PTX; the number of its 32-bit registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    /// The sum of integers.
    Sum,
    /// Affine functions, one after the other: associative, and nothing else.
    Affine,
    /// The first's first, the second's second, the greatest third: associative and idempotent, and nothing else.
    Band,
}

impl Operator {
    /// How many registers a value takes.
    pub fn registers(self) -> usize {
        match self {
            Operator::Sum => 1,
            Operator::Affine => 2,
            Operator::Band => 3,
        }
    }

    /// The result for two values.
    pub fn apply(self, a: &[u32], b: &[u32]) -> Vec<u32> {
        match self {
            Operator::Sum => vec![a[0].wrapping_add(b[0])],
            Operator::Affine => {
                vec![a[0].wrapping_mul(b[0]), b[0].wrapping_mul(a[1]).wrapping_add(b[1])]
            }
            Operator::Band => vec![a[0], b[1], a[2].max(b[2])],
        }
    }

    /// Puts `a * b` into new registers.
    fn code(self, block: &mut Block, a: &[Reg], b: &[Reg]) -> Vec<Reg> {
        match self {
            Operator::Sum => vec![block.word(op!(Add.U32), &[&a[0], &b[0]])],
            Operator::Affine => vec![
                block.word(op!(Mul.Lo.U32), &[&a[0], &b[0]]),
                block.word(op!(Mad.Lo.U32), &[&b[0], &a[1], &b[1]]),
            ],
            Operator::Band => {
                vec![a[0].clone(), b[1].clone(), block.word(op!(Max.U32), &[&a[2], &b[2]])]
            }
        }
    }
}

/// One step with the numbers of its round put in.
#[derive(Debug)]
pub struct Step {
    /// The lane that the value is of.
    pub source: Expr,
    /// Conditions that all have to hold.
    pub guards: Vec<Expr>,
    /// Whether the value goes behind the lane's own.
    pub behind: bool,
}

/// How a value comes from another lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shuffle {
    /// From a lane in front, the distance in lanes; without such a lane, a lane has its own.
    Up(i64),
    /// From a lane behind, the distance in lanes.
    Down(i64),
    /// From the lane of this number.
    Index(Expr),
}

impl Shuffle {
    /// The shuffle that brings the value of another lane of a network; values from beyond the network's lanes are never
    /// used.
    ///
    /// # Errors
    /// The expression has no code.
    pub fn of(network: &Network, source: &Expr) -> Result<Shuffle, String> {
        let own = Expr::name(&network.lane);
        Ok(match source {
            Expr::Binary(op @ (Op::Add | Op::Sub), a, b) if **a == own => match (op, &**b) {
                (Op::Sub, Expr::Number(by @ 1..32)) => Shuffle::Up(*by),
                (Op::Add, Expr::Number(by @ 1..32)) => Shuffle::Down(*by),
                _ => Shuffle::Index(machine(network, source)?),
            },
            _ => Shuffle::Index(machine(network, source)?),
        })
    }

    /// The instruction, and its operands behind the value; `index` gives the value of an expression.
    ///
    /// # Errors
    /// `index` fails.
    pub fn code(
        &self,
        index: impl FnOnce(&Expr) -> Result<Value, String>,
    ) -> Result<(Instruction, String), String> {
        Ok(match self {
            Shuffle::Up(by) => (op!(Shfl.Sync.Up.B32), format!("{by}, 0, -1")),
            Shuffle::Down(by) => (op!(Shfl.Sync.Down.B32), format!("{by}, 31, -1")),
            Shuffle::Index(expr) => (op!(Shfl.Sync.Idx.B32), format!("{}, 31, -1", index(expr)?)),
        })
    }
}

/// Whether an expression is of the lane alone.
fn is_of_lane(network: &Network, expr: &Expr) -> bool {
    let mut of_lane = true;
    expr.names(&mut |name| of_lane &= name == network.lane);
    of_lane
}

/// What machines compute for an expression of the lane; others divide nothing.
///
/// # Errors
/// It has no code.
pub fn machine(network: &Network, expr: &Expr) -> Result<Expr, String> {
    match is_of_lane(network, expr) {
        true => Domain::of([&(network.lane.clone(), network.lanes)]).machine(expr),
        false => Ok(expr.clone()),
    }
}

/// The element that lanes begin with, and the steps in which some lane combines. The param `open`, if there is one,
/// is known when the code runs.
///
/// # Errors
/// There are more lanes than a warp has.
pub fn steps(
    network: &Network,
    solution: &Solution,
    open: Option<&str>,
) -> Result<(Expr, Vec<Step>), String> {
    let lanes = network.lanes;
    if lanes > WARP {
        return Err(format!("code is for one warp, not for {lanes} lanes"));
    }
    let params = network.params(lanes);
    let rounds = network.rounds(&params).unwrap_or_default();
    let domain = Domain::of([&(network.lane.clone(), lanes)]);
    let known: Vec<(String, i64)> = {
        let mut known: Vec<_> =
            params.into_iter().filter(|(name, _)| Some(name.as_str()) != open).collect();
        known.sort();
        known
    };
    let put = |expr: &Expr, place: &[(String, i64)]| {
        let expr = at(expr, place);
        if is_of_lane(network, &expr) { domain.simplified(expr) } else { expr }
    };
    let initial = put(filled(&network.initial, &solution.choice), &known);
    let mut all = Vec::new();
    for (number, value) in rounds {
        let repeat = &network.repeats[number];
        let mut place = known.clone();
        place.push((repeat.variable.clone(), value));
        for stage in &repeat.stages {
            let source = match &stage.source {
                Slot::Fixed(expr) => expr,
                Slot::Hole(hole) => &solution.choice[*hole][0],
            };
            let found = stage.guard.map_or(&[][..], |hole| &solution.choice[hole]);
            let guards = stage.guards.iter().chain(found).map(|guard| put(guard, &place));
            let mut guards: Vec<Expr> = guards.filter(|guard| *guard != Expr::Number(1)).collect();
            if planted!(Bug::OneCondition) {
                guards.truncate(1);
            }
            if guards.contains(&Expr::Number(0)) {
                continue;
            }
            let turned = solution.turned && !planted!(Bug::TurnForgotten);
            let behind = stage.behind != turned;
            all.push(Step { source: put(source, &place), guards, behind });
        }
    }
    if planted!(Bug::LastStepLost) {
        all.pop();
    }
    Ok((initial, all))
}

/// The names of segments that a network reads.
fn borders(initial: &Expr, steps: &[Step]) -> Vec<&'static str> {
    let mut used = [false; 2];
    let exprs = steps.iter().flat_map(|step| step.guards.iter().chain([&step.source]));
    for expr in exprs.chain([initial]) {
        expr.names(&mut |name| {
            SEGMENT.iter().zip(&mut used).for_each(|(own, used)| *used |= *own == name);
        });
    }
    SEGMENT.into_iter().zip(used).filter(|(_, used)| *used).map(|(name, _)| name).collect()
}

/// A device function `name` over the element's type and the operator.
///
/// # Errors
/// There are more lanes than a warp has, or an expression has no code.
pub fn function(
    network: &Network,
    solution: &Solution,
    name: &str,
    open: Option<&str>,
) -> Result<String, String> {
    let (initial, steps) = steps(network, solution, open)?;
    let machine = |expr: &Expr| Ok::<_, String>(machine(network, expr)?.to_string());
    let lane = &network.lane;
    let names = borders(&initial, &steps).into_iter().chain(open);
    let params: String = names.map(|name| format!(", int {name}")).collect();
    let mut text = format!(
        "// All lanes of a warp call it together; `op(a, b)` is the product of a and b in this order.\n\
         template <typename T, typename Op>\n__device__ __forceinline__ T {name}(T value, Op op, int \
         {lane}{params})\n{{\n"
    );
    let shuffle = |source: &Expr| {
        Ok::<_, String>(match Shuffle::of(network, source)? {
            Shuffle::Up(by) => format!("synth::moved_up(value, {by})"),
            Shuffle::Down(by) => format!("synth::moved_down(value, {by})"),
            Shuffle::Index(source) => format!("synth::moved(value, {source})"),
        })
    };
    if initial != Expr::name(lane) {
        let _ = writeln!(text, "    value = {};", shuffle(&initial)?);
    }
    for step in &steps {
        let _ = writeln!(text, "    {{\n        const T other = {};", shuffle(&step.source)?);
        let guards: Result<Vec<String>, String> = step.guards.iter().map(machine).collect();
        let product = if step.behind { "op(value, other)" } else { "op(other, value)" };
        let product = match &guards?[..] {
            [] => product.to_owned(),
            [one] => format!("synth::chosen({one}, {product}, value)"),
            several => {
                let several: Vec<String> = several.iter().map(|one| format!("({one})")).collect();
                format!("synth::chosen({}, {product}, value)", several.join(" && "))
            }
        };
        let _ = writeln!(text, "        value = {product};\n    }}");
    }
    text.push_str("    return value;\n}\n");
    Ok(text)
}

/// A CUDA header with a device function `name` over the element's type and the operator.
///
/// # Errors
/// There are more lanes than a warp has, or an expression has no code.
pub fn cuda(
    network: &Network,
    solution: &Solution,
    name: &str,
    comment: &str,
) -> Result<String, String> {
    let mut text = write::comment(comment);
    let _ = write!(text, "#pragma once\n\n{HELPERS}\n{}", function(network, solution, name, None)?);
    let (initial, _) = steps(network, solution, None)?;
    if scans_a_warp(network, solution, &initial) {
        text.push_str(&BLOCK.replace("NAME", name));
    }
    Ok(text)
}

/// Whether a network is the inclusive scan of a whole warp, so that blocks can be made of it.
fn scans_a_warp(network: &Network, solution: &Solution, initial: &Expr) -> bool {
    let (goal, own) = (&network.goal, Expr::name(&network.lane));
    let inclusive = goal.input == own && *initial == own && goal.only.is_none();
    let forward = !goal.backward && !goal.segmented && !solution.turned;
    network.lanes == WARP && inclusive && forward
}

/// The scan of a block by scans of its warps.
const BLOCK: &str = include_str!("block.cuh");

/// Which borders of segments the kernel reads for each lane, in their order.
///
/// # Errors
/// There are more lanes than a warp has.
pub fn reads(network: &Network, solution: &Solution) -> Result<Vec<&'static str>, String> {
    let (initial, steps) = steps(network, solution, None)?;
    Ok(borders(&initial, &steps))
}
