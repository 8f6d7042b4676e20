//! The addresses that the lanes of a warp access in an array.
//!
//! An address is known if it is a function of the lane, of warp-uniform values, and of iteration numbers; it must not
//! depend on a loaded value. Its values in a few warps and iterations decide which layout is chosen, and never whether
//! one is right.

use super::array::{ArrayAccess, SharedArray};
use crate::cfg::{Arg, Base, Flow, InstId, RegisterId};
use crate::emulate::{Access, KernelTrace, SymbolKind};
use crate::expr::{Arena, LaneValuation, Node, Range, SymbolId, TermId, Valuation};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Opcode, Qualifier};
use crate::lanes::of_thread;
use crate::ptx::{Function, Instruction, StateSpace};
use crate::reuse::eligible::OWN_REGISTERS;
use crate::reuse::refusal::Refusal;
use crate::source::SourceFile;

/// How many warps are sampled if addresses differ between warps, each with other warp-uniform values.
pub(super) const SAMPLES: u64 = 4;

/// Lanes of a warp.
const LANES: u64 = WARP_SIZE as u64;

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
    let mut all = trace.moved.iter().chain(&trace.accesses);
    let is_it = |access: &&Access| access.inst == inst && access.space == StateSpace::Shared;
    let found = all.find(is_it).cloned();
    // No way leads there: the access is moved with the others, and counts for nothing.
    let Some(found) = found else { return Err(unknown) };
    let bytes = found.bytes();
    // Where the launch gives the array's size, whole blocks of addresses are laid out, wherever the array begins.
    let whole = bytes.is_power_of_two() && (u64::from(bytes) <= array.align || array.is_dynamic);
    let (Some(address), true) = (found.address, whole) else { return Err(unknown) };
    let memory = flow.insts[inst].args.iter().find_map(|arg| match arg {
        Arg::Memory { base, offset, .. } => Some((base, offset)),
        _ => None,
    });
    let Some((base, displacement)) = memory else { return Err(unknown) };
    let register = match base {
        Base::Register(register) => Some(*register),
        _ => None,
    };
    // By its name, dynamic memory is addressed in 32 bits, which reach all of it.
    let width = match register {
        None if array.is_dynamic => 32,
        _ => trace.arena.width(address),
    };
    // An address that comes from several places is one in the array all the same: it counts for nothing.
    let offset = offset(trace, array, address);
    let name = |register: RegisterId| flow.registers[register].name;
    if register.is_some_and(|register| name(register).starts_with(OWN_REGISTERS)) {
        return Err(Refusal::ArrayLaidOut);
    }
    let exact = function.extents("reqntid").or(block);
    let Lanes { offsets, spread } =
        offset.map(|offset| offsets(exact, trace, offset)).unwrap_or_default();
    let bits = offset.and_then(|offset| {
        let start = trace.arena.add_constant(offset, displacement.wrapping_neg() as u64);
        possible_bits(&mut trace.arena, start)
    });
    let depth = flow.loops.depth(flow.loops.innermost(found.block));
    let threads = exact.map_or(LANES, |[x, y, z]| x * y * z);
    Ok(ArrayAccess {
        inst,
        bytes,
        depth,
        base: (register, *displacement),
        width,
        bits,
        offsets,
        spread,
        of_any_shape: offset.filter(|_| exact.is_none()),
        lanes: match threads.min(with_address(ast)) {
            LANES => u32::MAX,
            count => (1 << count) - 1,
        },
    })
}

/// How many lanes give an address: 8 for each matrix (PTX ISA, "ldmatrix").
fn with_address(ast: &Instruction<'_>) -> u64 {
    let form = &ast.form;
    match form.opcode {
        Opcode::Ldmatrix | Opcode::Stmatrix if form.has(Qualifier::X1) => 8,
        Opcode::Ldmatrix | Opcode::Stmatrix if form.has(Qualifier::X2) => 16,
        _ => LANES,
    }
}

/// The bits that may be set in a number of bytes, if it is certainly less than 1 << 20, so that nothing wraps around.
fn possible_bits(arena: &mut Arena, bytes: TermId) -> Option<u64> {
    const MOST: u64 = 1 << 20;
    let bits = |range: Range| (range.umax < MOST).then_some(!range.zeros & (MOST - 1));
    let whole = bits(arena.range(bytes))?;
    let (constant, addends) = arena.linear_parts(bytes);
    // Addends without a common bit are added without carries.
    let apart = addends.iter().try_fold(constant, |known, &(term, factor)| {
        let addend = arena.scale(term, factor);
        bits(arena.range(addend))
            .filter(|own| known < MOST && known & own == 0)
            .map(|own| known | own)
    });
    Some(apart.map_or(whole, |apart| apart & whole))
}

/// The bytes from the array's start to an address, as a term.
fn offset(trace: &mut KernelTrace, array: &SharedArray, address: TermId) -> Option<TermId> {
    let width = trace.arena.width(address);
    // As `emulate` names the address of a variable of the module, or in the body's outermost braces.
    let scope = if array.is_of_module { "" } else { "1." };
    let start = SymbolKind::Address(format!("{scope}{}:{width}", array.name));
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

/// The bytes from the array's start of accesses in the lanes of some warps of blocks of each of the usual shapes, where
/// neither the text nor the user names one; by shape, access, warp and lane.
pub fn in_usual_shapes(trace: &KernelTrace, accesses: &[ArrayAccess]) -> Vec<Vec<Vec<Vec<u64>>>> {
    let of = |&shape| {
        let in_lanes = |one: &ArrayAccess| {
            one.of_any_shape.map(|offset| offsets(Some(shape), trace, offset).offsets)
        };
        accesses.iter().map(|one| in_lanes(one).unwrap_or_default()).collect()
    };
    USUAL_SHAPES.iter().map(of).collect()
}

/// Bytes from an array's start, by warp and lane: none if they are not known.
#[derive(Default)]
struct Lanes {
    /// Where a value from memory is the same for all lanes of a warp.
    offsets: Vec<Vec<u64>>,
    /// Where each lane has another one; empty if the address depends on none.
    spread: Vec<Vec<u64>>,
}

/// The values of a term in the lanes of some warps. Where the block's shape is not known, the lanes of a warp lie one after
/// the other in `tid.x`.
fn offsets(shape: Option<[u64; 3]>, trace: &KernelTrace, term: TermId) -> Lanes {
    let valuation = LaneValuation::new(&trace.arena, [term].into_iter());
    let has_functions =
        valuation.terms().iter().any(|&term| matches!(trace.arena.node(term), Node::Apply(..)));
    let symbols: Vec<SymbolId> = valuation.symbols().map(|(_, symbol)| symbol).collect();
    let is_known = |symbol: SymbolId| match trace.symbols.info(symbol).kind {
        SymbolKind::Tid(_) | SymbolKind::LaneId | SymbolKind::Iteration(_) => true,
        _ => trace.uniformity.in_iteration(symbol),
    };
    let mut all = Warps { shape, trace, term, valuation, symbols: &symbols };
    let spread = match symbols.iter().all(|&symbol| is_known(symbol)) && !has_functions {
        true => Vec::new(),
        false => all.sampled(|one| !is_known(one)),
    };
    // The values of an unknown function look drawn: a wavefront more or less means nothing.
    Lanes { offsets: if has_functions { Vec::new() } else { all.sampled(|_| false) }, spread }
}

/// Warps in which a term is evaluated.
struct Warps<'a> {
    shape: Option<[u64; 3]>,
    trace: &'a KernelTrace,
    term: TermId,
    valuation: LaneValuation<'a, { WARP_SIZE as usize }>,
    symbols: &'a [SymbolId],
}

impl Warps<'_> {
    /// The term by warp and lane. `differs` says which symbols differ from lane to lane in no known way.
    fn sampled(&mut self, differs: impl Fn(SymbolId) -> bool) -> Vec<Vec<u64>> {
        let Warps { shape, trace, term, symbols, .. } = *self;
        let warps = shape.map_or(1, |[x, y, z]| (x * y * z).div_ceil(LANES).max(1));
        let of_lane = |symbol: SymbolId, thread: u64| {
            let kind = &trace.symbols.info(symbol).kind;
            let is_row = !matches!(kind, SymbolKind::Tid(axis) if *axis != Axis::X);
            let is_known = shape.is_some() || is_row;
            is_known.then(|| of_thread(kind, thread, shape.unwrap_or([LANES; 3]))).flatten()
        };
        // All warps access the same where nothing depends on the warp.
        let is_one = warps == 1 && symbols.iter().all(|&symbol| of_lane(symbol, 0).is_some());
        let samples = (0..if is_one { 1 } else { SAMPLES }).map(|sample| {
            let first = (sample % warps) * LANES;
            let mut number = 0;
            self.valuation.assign_lanes(|symbol| {
                number += 1;
                let at = |lane| match of_lane(symbol, first + lane) {
                    Some(value) => value,
                    None if differs(symbol) => mixed(LANES * sample + lane, number - 1),
                    None => (sample * (2 * number - 1)) % 8,
                };
                std::array::from_fn(|lane| at(lane as u64))
            });
            self.valuation.lanes(term).to_vec()
        });
        samples.collect()
    }
}

/// A small number that looks drawn (the finaliser of MurmurHash3).
fn mixed(lane: u64, number: u64) -> u64 {
    let mixed = (lane << 8 | number).wrapping_add(1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed >> 33 & 0xff
}
