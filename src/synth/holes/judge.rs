//! Whether a filled kernel is equivalent to its specification.
//!
//! In: the filled text. Two judges that share nothing but the syntax: both kernels over nodes, which have to be equal
//! for all inputs, the order of floating-point operations included; and both in the interpreter, on pairwise distinct
//! inputs where values are only moved, on random ones otherwise.

use std::collections::BTreeMap;

use super::node::{Node, Nodes};
use super::spec::Pair;
use super::warp;
use super::warp::{LANES, Outcome};
use crate::cfg;
use crate::interp;
use crate::launch::{Argument, Buffer, Launch, Type};
use crate::ptx::{self, Depth, Function, Module, ScalarType};
use crate::source::{Diagnostic, SourceFile};
use crate::synth::emit::taint;

/// How often kernels that compute are executed, each time on other numbers.
const ROUNDS: u64 = 3;

/// Judges a filled text.
///
/// # Errors
/// A kernel does something else than its specification.
pub(super) fn judge(
    source: &SourceFile,
    pairs: &[Pair<'_, '_>],
    text: &str,
) -> Result<(), Diagnostic> {
    let filled = SourceFile::new(source.name(), text);
    let module = ptx::parse(&filled, Depth::All)?;
    for pair in pairs {
        let name = pair.kernel.name;
        let wrong = |why: String| {
            let message = format!("`{}` filled is not its specification: {why}", name.text);
            source.diagnostic(name.span, message)
        };
        let body = |name: &str| {
            let mut named = module.functions().filter(|function| function.name.text == name);
            named.find(|function| function.statements().is_some())
        };
        let both = body(name.text).zip(body(pair.spec.name.text));
        let Some((kernel, spec)) = both else { return Err(wrong("it is gone".to_owned())) };
        let mut nodes = Nodes::default();
        let mut run = |function| {
            let flow = cfg::build(&filled, function)?;
            warp::execute(&filled, function, &flow, &mut nodes)
        };
        let (wanted, found) = (run(spec)?, run(kernel)?);
        equal(&nodes, &wanted, &found).map_err(&wrong)?;
        executed(&module, kernel, spec, &nodes, &wanted).map_err(&wrong)?;
    }
    Ok(())
}

/// Whether two kernels store the same nodes.
fn equal(nodes: &Nodes, wanted: &Outcome, found: &Outcome) -> Result<(), String> {
    for ((buffer, offset), (bytes, node)) in wanted.results() {
        let place = || nodes.place(buffer, offset, bytes);
        let Some(&(own, value)) = found.memory.get(&(buffer, offset)) else {
            return Err(format!("it does not store {}", place()));
        };
        if own != bytes || value != node {
            let floats = [node, value].iter().all(|&id| nodes.is_float(id));
            let why = if floats {
                ": floating-point numbers are put together in another order, or by other operations"
            } else {
                ""
            };
            return Err(format!("{} differs{why}", place()));
        }
    }
    let own = |outcome: &Outcome| outcome.results().count();
    if own(wanted) == own(found) { Ok(()) } else { Err("it stores more".to_owned()) }
}

/// Runs both kernels in the interpreter and compares the buffers. Kernels for several warps, or with parameters that
/// are not words, are not executed: the meaning of such parameters is unknown.
fn executed(
    module: &Module<'_>,
    kernel: &Function<'_>,
    spec: &Function<'_>,
    nodes: &Nodes,
    wanted: &Outcome,
) -> Result<(), String> {
    let one_warp = |function: &Function<'_>| {
        let shape = function.extents("reqntid");
        shape.is_none_or(|shape| shape.iter().product::<u64>() == LANES as u64)
    };
    let Some(words) = words(kernel).filter(|own| Some(own) == words(spec).as_ref()) else {
        log::info!("{}: its parameters are no words; it is not executed", kernel.name.text);
        return Ok(());
    };
    if !one_warp(kernel) || !one_warp(spec) {
        log::info!("{}: it is for several warps; it is not executed", kernel.name.text);
        return Ok(());
    }
    let moves =
        |(_, (_, id)): (_, (u8, u32))| matches!(nodes.node(id), Node::Load(..) | Node::Number(_));
    let movement =
        wanted.results().all(moves) && taint::check(module, kernel.name.text, true).is_ok();
    for round in 0..if movement { 1 } else { ROUNDS } {
        let run = |function: &Function<'_>| {
            let launch = launch(function, &words, nodes, round, movement);
            interp::run(module, &launch)
                .map(|outcome| outcome.buffers)
                .map_err(|fault| format!("executed, {}: {fault}", function.name.text))
        };
        let (wanted, found) = (run(spec)?, run(kernel)?);
        if let Some(name) = wanted.keys().find(|name| wanted.get(*name) != found.get(*name)) {
            return Err(format!("executed, it leaves something else in {name}"));
        }
    }
    Ok(())
}

/// The types of a kernel's parameters, if all of them are words.
fn words(function: &Function<'_>) -> Option<Vec<ScalarType>> {
    let params = function.params.iter();
    let word = |variable: &crate::ptx::Variable<'_>| {
        let [declarator] = &variable.names[..] else { return None };
        let plain = declarator.dimensions.is_empty() && variable.vector <= 1;
        variable.ty.filter(|ty| plain && matches!(ty.bits(), 32 | 64))
    };
    params.map(word).collect()
}

/// A launch of one warp on buffers that hold all read and written bytes.
fn launch(
    function: &Function<'_>,
    words: &[ScalarType],
    nodes: &Nodes,
    round: u64,
    movement: bool,
) -> Launch {
    let mut random = fastrand::Rng::with_seed(round);
    let mut number = 0u64;
    let float = nodes.has_floats();
    let mut element = |bytes: usize| -> Vec<u8> {
        number += 1;
        let bits = match (movement, float, bytes) {
            // Products with an odd number: no two are equal, in 32 bits as well.
            (true, _, _) => number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            (false, true, 4) => u64::from((random.f32() - 0.5).to_bits()),
            (false, true, _) => (random.f64() - 0.5).to_bits(),
            (false, false, _) => random.u64(..),
        };
        bits.to_le_bytes()[..bytes].to_vec()
    };
    let extents = nodes.extents();
    let mut launch = Launch::one_warp(function.name.text.to_owned());
    for (at, ty) in words.iter().enumerate() {
        let name = format!("parameter {at}");
        if ty.bits() == 64 {
            let (start, end, bytes) = extents.get(&name).copied().unwrap_or((0, 4, 4));
            let (start, bytes) = (start.min(0), usize::from(bytes.max(1)));
            let count = (end.max(1) - start) as usize;
            let content: Vec<u8> =
                (0..count.div_ceil(bytes)).flat_map(|_| element(bytes)).collect();
            let ty = if bytes == 8 { Type::U64 } else { Type::U32 };
            let padded = content.len().next_multiple_of(8);
            let mut content = content;
            content.resize(padded, 0);
            launch.point_into(name, Buffer { ty, bytes: content }, -start);
        } else {
            launch.args.push(Argument::Value(element(4)));
        }
    }
    launch
}

impl Nodes {
    /// Whether a node is an operation on floating-point numbers.
    fn is_float(&self, id: u32) -> bool {
        match self.node(id) {
            Node::Tree(text, _) => {
                let form = crate::isa::Form::of(self.text(*text));
                form.last_type().is_some_and(|ty| ty.is_float())
            }
            _ => false,
        }
    }

    fn has_floats(&self) -> bool {
        (0..self.count() as u32).any(|id| self.is_float(id))
    }

    /// For each buffer the first byte and the end of all loads and pointers, and the bytes of the first access.
    fn extents(&self) -> BTreeMap<String, (i64, i64, u8)> {
        let mut found: BTreeMap<String, (i64, i64, u8)> = BTreeMap::new();
        for id in 0..self.count() as u32 {
            let (buffer, offset, bytes) = match *self.node(id) {
                Node::Load(buffer, offset, bytes) => (buffer, offset, bytes),
                // Stores have no node but their pointer's; no access is longer than this.
                Node::Pointer(buffer, offset) => (buffer, offset, 0),
                _ => continue,
            };
            let reach = offset + i64::from(if bytes == 0 { 16 } else { bytes });
            let name = self.buffers[buffer as usize].clone();
            let own = found.entry(name).or_insert((offset, reach, bytes));
            let first = if own.2 == 0 { bytes } else { own.2 };
            *own = (own.0.min(offset), own.1.max(reach), first);
        }
        for own in found.values_mut().filter(|own| own.2 == 0) {
            own.2 = 4;
        }
        found
    }
}
