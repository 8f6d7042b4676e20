//! The addresses that the lanes of a warp access in an array.
//!
//! An address is known if it is a function of the lane, of values that are the same for the warp, and of how often
//! loops have gone round; no memory that it was read from. What it is in a few warps and iterations decides which
//! layout is chosen, and never whether one is right.

use super::array::{ArrayAccess, SharedArray};
use crate::cfg::{Arg, Base, Flow, InstId, RegisterId};
use crate::emulate::{Access, Effect, KernelTrace, SymbolKind};
use crate::expr::{Node, SymbolId, TermId, Valuation};
use crate::isa::{Axis, Special};
use crate::ptx::Function;
use crate::reuse::eligible::OWN_REGISTERS;
use crate::reuse::refusal::Refusal;
use crate::source::SourceFile;

/// How many warps are looked at where they differ, each with other values of what is the same for its lanes.
pub(super) const SAMPLES: u64 = 4;

/// Lanes of a warp.
const LANES: u64 = 32;

/// Shapes that blocks usually have, for which a layout is compared where the text does not name the shape.
const USUAL_SHAPES: [[u64; 3]; 4] = [[32, 1, 1], [16, 16, 1], [32, 8, 1], [8, 8, 1]];

/// An access to an array with its addresses, in blocks of the shape that the text names, else of shape `block`.
pub(super) fn access(
    (source, block): (&SourceFile, Option<[u64; 3]>),
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    array: &SharedArray,
    inst: InstId,
) -> Result<ArrayAccess, Refusal> {
    let ast = flow.insts[inst].ast;
    let line = source.line(ast.span.start);
    let unknown = Refusal::ArrayUnknown(line);
    let found = trace.accesses.iter().find(|access| access.inst == inst).cloned();
    // No way leads there: the access is moved with the others, and counts for nothing.
    let Some(found) = found else { return Err(unknown) };
    if found.strong.is_some() {
        return Err(Refusal::ArrayEscapes(ast.opcode.text.to_owned(), line));
    }
    let bytes = found.bytes();
    let whole = bytes.is_power_of_two() && u64::from(bytes) <= array.align;
    let (Some(offset), true) = (offset(trace, array, &found), whole) else { return Err(unknown) };
    let place = usize::from(found.effect == Effect::Load);
    let Some(Arg::Memory { base, offset: displacement, .. }) = flow.insts[inst].args.get(place)
    else {
        return Err(unknown);
    };
    let register = match base {
        Base::Register(register) => Some(*register),
        _ => None,
    };
    let name = |register: RegisterId| flow.registers[register].name;
    if register.is_some_and(|register| name(register).starts_with(OWN_REGISTERS)) {
        return Err(Refusal::ArrayLaidOut);
    }
    let exact = shape(function).or(block);
    let of_any_shape = exact.is_none().then_some(offset);
    let offsets = offsets(exact, trace, offset).ok_or(unknown)?;
    let width = trace.arena.width(offset);
    let start = trace.arena.add_constant(offset, displacement.wrapping_neg() as u64);
    let range = trace.arena.range(start);
    let depth = flow.loops.depth(flow.loops.innermost(found.block));
    let threads = exact.map_or(LANES, |[x, y, z]| x * y * z);
    Ok(ArrayAccess {
        inst,
        bytes,
        depth,
        base: (register, *displacement),
        width,
        // Within 1 << 20 nothing wraps around.
        bits: (range.umax < 1 << 20).then_some(!range.zeros & ((1 << 20) - 1)),
        offsets,
        of_any_shape,
        lanes: if threads >= LANES { u32::MAX } else { (1 << threads) - 1 },
    })
}

/// The bytes from the array's start to an address, as a term.
fn offset(trace: &mut KernelTrace, array: &SharedArray, access: &Access) -> Option<TermId> {
    let address = access.address?;
    let width = trace.arena.width(address);
    // As `emulate` names the address of a variable in the body's outermost braces.
    let start = SymbolKind::Address(format!("1.{}:{width}", array.name));
    let is_address =
        |symbol: SymbolId| matches!(trace.symbols.info(symbol).kind, SymbolKind::Address(_));
    let named = |term: TermId| match *trace.arena.node(term) {
        Node::Symbol(symbol) => trace.symbols.info(symbol).kind == start,
        _ => false,
    };
    let (_, addends) = trace.arena.linear_parts(address);
    let &(base, _) = addends.iter().find(|(term, factor)| *factor == 1 && named(*term))?;
    let offset = trace.arena.sub(address, base);
    let valuation = Valuation::new(&trace.arena, [offset].into_iter());
    let others = valuation.symbols().any(|(_, symbol)| is_address(symbol));
    (!others).then_some(offset)
}

/// The block's shape, if the text names it.
fn shape(function: &Function<'_>) -> Option<[u64; 3]> {
    let exact = function.directive("reqntid")?;
    Some([0, 1, 2].map(|axis| exact.get(axis).copied().unwrap_or(1)))
}

/// The bytes from the array's start of accesses in the lanes of some warps of blocks of each of the usual shapes, where
/// neither the text nor the user names one; by shape, access, warp and lane.
pub fn in_usual_shapes(trace: &KernelTrace, accesses: &[ArrayAccess]) -> Vec<Vec<Vec<Vec<u64>>>> {
    let of = |&shape| {
        accesses.iter().map(|one| offsets(Some(shape), trace, one.of_any_shape?)).collect()
    };
    USUAL_SHAPES.iter().filter_map(of).collect()
}

/// The values of a term in the lanes of some warps; `None` if they depend on unknown values. Where the block's
/// shape is not known, the lanes of a warp lie one after the other in `tid.x`.
fn offsets(shape: Option<[u64; 3]>, trace: &KernelTrace, term: TermId) -> Option<Vec<Vec<u64>>> {
    let mut valuation = Valuation::new(&trace.arena, [term].into_iter());
    let has_functions =
        valuation.terms().iter().any(|&term| matches!(trace.arena.node(term), Node::Apply(..)));
    let symbols: Vec<(TermId, SymbolId)> = valuation.symbols().collect();
    let uniform = |symbol: SymbolId| trace.uniform.get(symbol).copied().unwrap_or(false);
    let known = |&(_, symbol): &(TermId, SymbolId)| match trace.symbols.info(symbol).kind {
        SymbolKind::Tid(_) | SymbolKind::LaneId | SymbolKind::Iteration(_) => true,
        SymbolKind::Unknown(_) | SymbolKind::Memory(_) => false,
        _ => uniform(symbol),
    };
    if has_functions || !symbols.iter().all(known) {
        return None;
    }
    let warps = shape.map_or(1, |[x, y, z]| (x * y * z).div_ceil(LANES).max(1));
    let of_lane = |symbol: SymbolId| match &trace.symbols.info(symbol).kind {
        SymbolKind::LaneId | SymbolKind::WarpUniform(Special::Ntid(_)) => true,
        SymbolKind::Tid(axis) => shape.is_some() || *axis == Axis::X,
        _ => false,
    };
    // All warps access the same where nothing depends on the warp.
    let is_one = warps == 1 && symbols.iter().all(|&(_, symbol)| of_lane(symbol));
    let samples = (0..if is_one { 1 } else { SAMPLES }).map(|sample| {
        let first = (sample % warps) * LANES;
        let lanes = (0..LANES).map(|lane| {
            for (number, &(term, symbol)) in symbols.iter().enumerate() {
                let info = trace.symbols.info(symbol);
                let same = (sample * (2 * number as u64 + 1)) % 8;
                let thread = first + lane;
                let [x, y, _] = shape.unwrap_or([LANES, 1, 1]);
                let value = match &info.kind {
                    SymbolKind::LaneId => lane,
                    SymbolKind::Tid(axis) if shape.is_some() => match axis {
                        Axis::X => thread % x,
                        Axis::Y => thread / x % y.max(1),
                        Axis::Z => thread / (x * y.max(1)),
                    },
                    SymbolKind::Tid(Axis::X) => lane,
                    SymbolKind::WarpUniform(Special::Ntid(axis)) => match shape {
                        Some(shape) => shape[axis.index()],
                        None => LANES,
                    },
                    _ => same,
                };
                valuation.set(term, value & crate::expr::mask(info.width));
            }
            valuation.evaluate();
            valuation.value(term)
        });
        lanes.collect::<Vec<u64>>()
    });
    let samples: Vec<Vec<u64>> = samples.collect();
    Some(samples)
}
