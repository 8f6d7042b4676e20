//! The results of operations that only move bits.

use super::moves::{Key, MOST, Move, parts_of};
use super::value::{Kind, Symbol, Value};
use super::world::State;
use crate::algebra::{Format, Mode, Real, Term};
use crate::interp::registers::{Dependence, File, WarpOp};

/// The result of an operation that moves bits; none if it is another operation, or the result is more than moved symbols.
pub(super) fn moved(op: &WarpOp, sources: &[Value; 4], state: &mut State) -> Option<Value> {
    let Dependence::Bits(data) = op.dependence else { return None };
    let file = op.d[0]?;
    if op.d[1].is_some() || file == File::Pred || usize::from(data) > MOST {
        return None;
    }
    let mut key: Key = (std::ptr::from_ref(op) as usize, [0; 4], 0);
    for (at, source) in sources.iter().enumerate() {
        let Some(source_file) = op.s[at] else { continue };
        if source.is_known() {
            key.1[at] = source.bits;
            continue;
        }
        if source.lost || at >= usize::from(data) || source_file == File::Pred {
            return None;
        }
        key.1[at] = source.bits & !source.symbolic(source_file);
        for part in 0..parts_of(source_file) {
            key.2 |= u16::from(source.parts[part].is_some()) << (4 * at + part);
        }
    }
    let moves = match state.moves.known.get(&key) {
        Some(moves) => *moves,
        None => {
            let moves = state.moves.tried(op, &key, file);
            state.moves.known.insert(key, moves);
            moves
        }
    };
    assembled(&moves[..parts_of(file)], sources, state)
}

/// The value made of moved parts.
fn assembled(moves: &[Move], sources: &[Value; 4], state: &mut State) -> Option<Value> {
    let mut value = Value::known(0);
    for (at, found) in moves.iter().enumerate() {
        match *found {
            Move::Known(bits) => value.bits |= u64::from(bits) << (16 * at),
            Move::Part(source, part) => value.parts[at] = sources[source].parts[part],
            Move::Mixed => return None,
            Move::Inverted(source, part) | Move::Cleared(source, part) => {
                let op = if matches!(found, Move::Cleared(..)) { Real::Abs } else { Real::Neg };
                let symbol = sources[source].parts[part];
                let number = signed(symbol, op, state)?;
                let first = (at + 1).checked_sub(number.len())?;
                // The lower parts have to be those of the same number, as they are.
                let lower = symbol.part as usize;
                for below in 0..lower {
                    if !value.parts[first + below].is_part_of(&symbol, below) {
                        return None;
                    }
                }
                value.parts[first..=at].copy_from_slice(&number);
            }
        }
    }
    Some(value)
}

/// The parts of a number with another sign; its top part is given.
fn signed(symbol: Symbol, op: Real, state: &mut State) -> Option<Vec<Symbol>> {
    let Kind::Number(format) = symbol.kind else { return None };
    if usize::from(symbol.part) + 1 != format.parts() || format == Format::Tf32 {
        return None;
    }
    let operands = [Term::Element(symbol.element())];
    let term = state.algebra.apply((op, format, Mode::EVEN), &operands)?;
    let value = Value::number(format, term);
    matches!(term, Term::Element(_)).then(|| value.parts[..format.parts()].to_vec())
}
