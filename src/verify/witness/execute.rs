//! Runs both kernels in the interpreter where a difference was found: the interpreter has the last
//! word.
//!
//! In: the two modules, the state in which they were found to differ, and which parameters are
//! pointers. Out: whether the buffers differ behind some launch, in none, or whether no launch
//! could be made (device functions, parameters that are not numbers, instructions that the interpreter
//! does not model, loads beyond any buffer). The interpreter shares syntax and graph with the
//! validator, but neither terms nor solver nor the meaning of any instruction.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::concrete::Seen;
use super::verdict::Counterexample;
use crate::expr::{Node, TermId};
use crate::interp;
use crate::launch::{Argument, Buffer, Launch, Meet, Type};
use crate::program::Both;
use crate::ptx::{Function, FunctionKind, Module, StateSpace, Variable};
use crate::record::Execution;
use crate::terms::{Kind, Terms};

/// Bytes of each buffer; pointers point to its middle.
const BYTES: usize = 1 << 17;

/// The most warp-wide instructions of one launch.
const LIMIT: u64 = 100_000;

/// Shapes of blocks and numbers for the parameters that are not pointers.
const SHAPES: [[u32; 3]; 5] = [[32, 2, 2], [31, 1, 1], [64, 1, 1], [16, 4, 1], [33, 1, 1]];
const NUMBERS: [u64; 5] = [3, 77, 1, 1000, 0xffff_ffd5];

/// The outcome of running both kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ran {
    /// Some launch left other buffers.
    Different,
    /// Launches with the counterexample's numbers left the same buffers.
    Equal,
    /// No launch with these numbers could be run, and no other one differed.
    NotRun,
}

/// Runs both kernels; `required` is the shape of their blocks, if they are taken to have one.
pub(crate) fn run(
    modules: Both<&Module<'_>>,
    (function, required): (&Function<'_>, Option<[u32; 3]>),
    pointers: &FxHashSet<String>,
    found: &Counterexample,
    seen: &Seen,
) -> Ran {
    if function.kind != FunctionKind::Entry {
        return Ran::NotRun;
    }
    // The state that was found comes first; it is also tried in blocks of other shapes, since in a
    // shape with several rows threads may disturb each other.
    let mut equal = false;
    let own = found.block.map(|extent| extent.clamp(1, 1024) as u32);
    let shapes = match required {
        Some(required) => vec![required],
        None => std::iter::once(own).chain(SHAPES).collect(),
    };
    for (shape, fill) in shapes.into_iter().flat_map(|shape| (0..3).map(move |fill| (shape, fill)))
    {
        let Some(launch) = launch(function, pointers, shape, fill, |name, at| {
            seen.parameters.get(&(name.to_owned(), at)).copied()
        }) else {
            return Ran::NotRun;
        };
        let launch = with_memory(launch, function, seen);
        match differs(modules, &launch) {
            Some(true) => return Ran::Different,
            Some(false) => equal = true,
            None => {}
        }
    }
    for (turn, number) in NUMBERS.into_iter().enumerate() {
        for (index, shape) in SHAPES.into_iter().enumerate() {
            if required.is_some() && index > 0 {
                break;
            }
            let shape = required.unwrap_or(shape);
            let byte = |_: &str, at: i64| Some((number >> (8 * at.clamp(0, 7))) as u8);
            let launch = launch(function, pointers, shape, (turn + index) % 3, byte);
            if launch.and_then(|launch| differs(modules, &launch)) == Some(true) {
                return Ran::Different;
            }
        }
    }
    if equal { Ran::Equal } else { Ran::NotRun }
}

/// Whether the two kernels leave different buffers. `None` if the original does not run; or if the buffers are the
/// same, but only the rewritten kernel has a race or lets an undetermined value reach an effect: the bytes of the race
/// may be overwritten, or differ in another run, and a value that the interpreter takes for undetermined may be the
/// original's.
fn differs(modules: Both<&Module<'_>>, launch: &Launch) -> Option<bool> {
    let expected = interp::try_run(modules.original, launch).ok()?;
    let other = |found: &interp::Outcome| {
        found.buffers != expected.buffers || found.printed != expected.printed
    };
    match interp::try_run(modules.rewritten, launch) {
        Ok(found) => Some(other(&found)),
        // An instruction that is not modelled says nothing.
        Err(fault) if fault.kind == interp::FaultKind::Unsupported => None,
        Err(fault) if decides_nothing(fault.kind) => {
            let launch = Launch { races: false, uninitialized: false, ..launch.clone() };
            match interp::try_run(modules.rewritten, &launch) {
                Ok(found) => other(&found).then_some(true),
                Err(fault) if decides_nothing(fault.kind) => None,
                Err(_) => Some(true),
            }
        }
        Err(_) => Some(true),
    }
}

/// Whether a fault of the rewritten kernel alone does not count as a difference.
fn decides_nothing(kind: interp::FaultKind) -> bool {
    use interp::FaultKind::{Race, Uninitialized, Unpredictable};
    matches!(kind, Race | Uninitialized | Unpredictable)
}

/// A launch of one block; `byte` returns the bytes of parameters that are not pointers.
fn launch(
    function: &Function<'_>,
    pointers: &FxHashSet<String>,
    block: [u32; 3],
    fill: usize,
    byte: impl Fn(&str, i64) -> Option<u8>,
) -> Option<Launch> {
    let mut buffers = BTreeMap::new();
    let mut args = Vec::new();
    for parameter in &function.params {
        let (name, size) = (parameter.names.first()?.name.text, bytes_of(parameter)?);
        if pointers.contains(name) && size == 8 {
            let bytes = filled(fill, args.len() as u32);
            buffers.insert(name.to_owned(), Buffer { ty: Type::U8, bytes });
            args.push(Argument::Pointer { buffer: name.to_owned(), offset: (BYTES / 2) as i64 });
        } else {
            let bytes = (0..size as i64).map(|at| byte(name, at).unwrap_or(0));
            args.push(Argument::Value(bytes.collect()));
        }
    }
    let (kernel, grid) = (Some(function.name.text.to_owned()), [1; 3]);
    let (dynamic_shared, limit, races) = (16 << 10, LIMIT, true);
    let (uninitialized, meet) = (true, Meet::default());
    let launch = Launch {
        kernel,
        grid,
        block,
        dynamic_shared,
        buffers,
        pointers: BTreeMap::new(),
        args,
        limit,
        races,
        uninitialized,
        store_conflicts: true,
        meet,
        values: BTreeMap::new(),
        variables: None,
        symbolic_args: BTreeMap::new(),
    };
    Some(launch)
}

/// The bytes of a parameter.
fn bytes_of(parameter: &Variable<'_>) -> Option<usize> {
    if parameter.space == StateSpace::Reg || parameter.vector != 1 {
        return None;
    }
    let mut bytes = parameter.ty?.bits() as usize / 8;
    for dimension in &parameter.names.first()?.dimensions {
        bytes = bytes.checked_mul(usize::try_from((*dimension)?).ok()?)?;
    }
    (bytes <= 4096).then_some(bytes)
}

/// Contents of a buffer: any bits, small numbers, or floating-point numbers near 1.
fn filled(fill: usize, salt: u32) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32.wrapping_mul(salt + 1) | 1;
    let words = (0..BYTES / 4).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let word = match fill {
            0 => state,
            1 => state % 32,
            _ => 0x3f00_0000 | state >> 8,
        };
        word.to_le_bytes()
    });
    words.collect()
}

/// Puts the bytes that the counterexample read into each buffer in which they may have been.
fn with_memory(mut launch: Launch, function: &Function<'_>, seen: &Seen) -> Launch {
    let names = function.params.iter().filter_map(|parameter| parameter.names.first());
    for name in names.map(|one| one.name.text) {
        let Some(buffer) = launch.buffers.get_mut(name) else { continue };
        let mut start = [0; 8];
        for (at, byte) in start.iter_mut().enumerate() {
            *byte = seen.parameters.get(&(name.to_owned(), at as i64)).copied().unwrap_or(0);
        }
        let start = u64::from_le_bytes(start).wrapping_sub(BYTES as u64 / 2);
        #[expect(clippy::iter_over_hash_type, reason = "each byte has a place of its own")]
        for (&address, &byte) in &seen.memory {
            let at = usize::try_from(address.wrapping_sub(start)).unwrap_or(usize::MAX);
            if let Some(place) = buffer.bytes.get_mut(at) {
                *place = byte;
            }
        }
    }
    launch
}

/// The parameters from which addresses start.
pub(crate) fn pointers(terms: &Terms, executions: &[&Execution]) -> FxHashSet<String> {
    let (mut found, mut seen) = (FxHashSet::default(), FxHashSet::default());
    let mut note = |address: TermId| {
        let (_, addends) = terms.arena.linear_parts(address);
        let mut work: Vec<TermId> =
            addends.iter().filter(|(_, factor)| *factor == 1).map(|(term, _)| *term).collect();
        while let Some(term) = work.pop() {
            // (Selections share their sides.)
            if !seen.insert(term) {
                continue;
            }
            match terms.arena.node(term) {
                Node::Symbol(symbol) => {
                    if let Kind::Parameter { name, bits: 64, .. } =
                        &terms.symbols.info(*symbol).kind
                    {
                        found.insert(name.clone());
                    }
                }
                Node::IfThenElse(_, a, b) => {
                    for side in [*a, *b] {
                        let (_, addends) = terms.arena.linear_parts(side);
                        work.extend(addends.iter().map(|(term, _)| *term));
                    }
                }
                _ => {}
            }
        }
    };
    for execution in executions {
        execution.loads.iter().for_each(|load| note(load.address));
        let addressed = execution.events.iter().filter_map(|event| event.operands.first());
        addressed.for_each(|address| note(*address));
        let first = execution.loops.iter().flatten().flat_map(|record| &record.values);
        first.for_each(|round| note(round.initial));
    }
    found
}
