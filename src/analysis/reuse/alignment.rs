//! The remainder of an address modulo a power of two, given that parameters of the kernel are
//! multiples of some power of two.
//!
//! In: an address term and a modulus. Out: the remainder, the same in every lane, and its conditions: parameters, each
//! with a number that it has to be a multiple of. One test in front of the kernel can check all of them. Only the low
//! bits of each part matter; extensions and the wrap-around of 32-bit indices do not change these.

use smallvec::SmallVec;

use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{BinaryOp, Node, TermId};

/// Bytes of the widest vector load that every target has (PTX ISA, "ld").
pub const MAX_VECTOR: i64 = 16;

/// Bytes of the widest vector load from `sm_100` on, of elements of 4 or 8 bytes (PTX ISA 8.8, "ld").
pub const MAX_VECTOR_SM_100: i64 = 32;

/// A kernel parameter that has to be a multiple of a power of two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Multiple {
    /// The parameter's name.
    pub parameter: String,
    /// Bytes from the parameter's start to the part that is meant.
    pub offset: i64,
    /// Width of that part in bits: 32 or 64.
    pub bits: u8,
    /// The required divisor: 2 to 32.
    pub of: u64,
}

/// The remainder of a term modulo a power of two, and the conditions under which it is that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remainder {
    pub value: u64,
    pub multiples: SmallVec<[Multiple; 2]>,
}

/// No remainder is known of deeper terms.
const MAX_DEPTH: u32 = 32;

/// The remainder of a term modulo `modulus`, a power of two of at most 32; `None` if it may differ
/// between lanes or is not known.
pub(super) fn remainder(trace: &KernelTrace, term: TermId, modulus: u64) -> Option<Remainder> {
    debug_assert!(modulus.is_power_of_two());
    let mut multiples = SmallVec::new();
    let value = of_term(trace, term, modulus, &mut multiples, MAX_DEPTH)?;
    // Of several conditions on one parameter the strongest implies the others.
    multiples.sort();
    multiples.reverse();
    multiples.dedup_by(|a, b| (&a.parameter, a.offset, a.bits) == (&b.parameter, b.offset, b.bits));
    Some(Remainder { value, multiples })
}

fn of_term(
    trace: &KernelTrace,
    term: TermId,
    modulus: u64,
    multiples: &mut SmallVec<[Multiple; 2]>,
    depth: u32,
) -> Option<u64> {
    let arena = &trace.arena;
    arena.charge(1);
    if modulus <= 1 {
        return Some(0);
    }
    if depth == 0 || 1u64.checked_shl(u32::from(arena.width(term))).is_some_and(|all| all < modulus)
    {
        return None;
    }
    let (constant, addends) = arena.linear_parts(term);
    if let [(only, 1)] = addends[..]
        && only == term
    {
        return of_part(trace, term, modulus, multiples, depth - 1);
    }
    let mut total = constant;
    for (part, coefficient) in addends {
        let power = 1 << coefficient.trailing_zeros().min(63);
        if power >= modulus {
            continue;
        }
        let left = of_term(trace, part, modulus / power, multiples, depth - 1)?;
        total = total.wrapping_add(coefficient.wrapping_mul(left));
    }
    Some(total % modulus)
}

/// The remainder of a term that is not a sum.
fn of_part(
    trace: &KernelTrace,
    term: TermId,
    modulus: u64,
    multiples: &mut SmallVec<[Multiple; 2]>,
    depth: u32,
) -> Option<u64> {
    let arena = &trace.arena;
    match arena.node(term) {
        Node::Constant(value) => Some(value % modulus),
        Node::Symbol(symbol) => {
            let SymbolKind::Parameter { name, offset, bits: bits @ (32 | 64) } =
                &trace.symbols.info(*symbol).kind
            else {
                return None;
            };
            trace.uniformity.in_iteration(*symbol).then(|| {
                let parameter = name.clone();
                multiples.push(Multiple { parameter, offset: *offset, bits: *bits, of: modulus });
                0
            })
        }
        Node::ZeroExtend(inner) | Node::SignExtend(inner) | Node::Extract(inner, 0) => {
            of_term(trace, *inner, modulus, multiples, depth)
        }
        // One factor whose remainder is 0 is enough; the first one is taken for which parameters can
        // be asked.
        Node::Product(factors) => factors.iter().find_map(|(factor, _)| {
            let mut conditions = SmallVec::new();
            let value = of_term(trace, *factor, modulus, &mut conditions, depth)?;
            (value == 0).then(|| {
                multiples.extend(conditions);
                0
            })
        }),
        Node::Binary(BinaryOp::And, a, b) => [a, b].into_iter().find_map(|side| {
            let mask = arena.constant_value(*side)?;
            (mask % modulus == 0).then_some(0)
        }),
        _ => None,
    }
}
