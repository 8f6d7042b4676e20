//! The emitted kernel in the interpreter, against products that are computed one after the other: with an operator
//! that obeys no further law, so that nothing but the right elements in the right order passes.

use super::emit::{Operator, ptx, reads};
use super::execute::instances;
use super::outcome::Solution;
use super::problem::Network;
use super::run::{Instance, Names, goals};
use crate::interp;
use crate::launch::{Buffer, Launch, Type};
use crate::ptx::{self as text, Depth};
use crate::source::SourceFile;

/// How often a network is executed, each time on other elements.
const ROUNDS: u64 = 8;

/// How many divisions into segments are executed.
const MOST_DIVISIONS: usize = 64;

/// The operators with which a network is executed: one that obeys no further law than the sketch says, and what
/// `--emit ptx` writes.
pub fn operators(network: &Network) -> &'static [Operator] {
    if network.idempotent { &[Operator::Band] } else { &[Operator::Affine, Operator::Sum] }
}

/// Executes the code of a network and compares each lane.
///
/// # Errors
/// There is no code, it faults, or a lane holds something else than it has to.
pub fn check(network: &Network, solution: &Solution, name: &str) -> Result<(), String> {
    operators(network).iter().try_for_each(|&operator| {
        let code = ptx(network, solution, name, operator, "")?;
        check_code(network, solution, name, operator, &code)
    })
}

/// Executes a kernel `name_kernel` with the parameters of [`ptx`], and compares each lane.
///
/// # Errors
/// It cannot be parsed, it faults, or a lane holds something else than it has to.
pub fn check_code(
    network: &Network,
    solution: &Solution,
    name: &str,
    operator: Operator,
    code: &str,
) -> Result<(), String> {
    let source = SourceFile::new(name, code);
    let module = text::parse(&source, Depth::All).map_err(|error| error.to_string())?;
    let all = instances(network, network.lanes);
    let step = all.len().div_ceil(MOST_DIVISIONS);
    for round in 0..ROUNDS {
        for (number, instance) in all.iter().step_by(step).enumerate() {
            let mut random = fastrand::Rng::with_seed(round << 32 | number as u64);
            let elements: Vec<Vec<u32>> = (0..instance.lanes)
                .map(|_| (0..operator.registers()).map(|_| random.u32(..)).collect())
                .collect();
            let launch = launch(network, solution, name, instance, &elements)?;
            let done = interp::run(&module, &launch).map_err(|fault| fault.to_string())?;
            let output: Vec<u32> =
                done.buffers["output"].elements().map(|element| element as u32).collect();
            compare(network, instance, operator, &elements, &output)?;
        }
    }
    Ok(())
}

fn launch(
    network: &Network,
    solution: &Solution,
    name: &str,
    instance: &Instance,
    elements: &[Vec<u32>],
) -> Result<Launch, String> {
    let mut launch = Launch::one_warp(format!("{name}_kernel"));
    let mut add = |name: &str, words: Vec<u32>| {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        launch.point_into(name.to_owned(), Buffer { ty: Type::U32, bytes }, 0);
    };
    let input: Vec<u32> = elements.concat();
    let size = input.len();
    add("input", input);
    add("output", vec![0xa5a5_a5a5; size]);
    let borders = reads(network, solution)?;
    if !borders.is_empty() {
        let each = |lane: usize| {
            let (head, tail) = instance.segment(lane);
            borders.iter().map(move |border| if *border == "head" { head } else { tail } as u32)
        };
        add("borders", (0..instance.lanes).flat_map(each).collect());
    }
    Ok(launch)
}

fn compare(
    network: &Network,
    instance: &Instance,
    operator: Operator,
    elements: &[Vec<u32>],
    output: &[u32],
) -> Result<(), String> {
    let names = Names::new(network, instance);
    for (lane, goal) in goals(network, &names, instance).into_iter().enumerate() {
        let Some((first, last)) = goal else { continue };
        let own = &elements[first as usize + 1..=last as usize];
        let one_after_the_other =
            own.iter().fold(elements[first as usize].clone(), |a, b| operator.apply(&a, b));
        let registers = operator.registers();
        let found = &output[lane * registers..][..registers];
        if found != one_after_the_other {
            return Err(format!(
                "lane {lane} holds {found:x?}, and {one_after_the_other:x?} is right"
            ));
        }
    }
    Ok(())
}
