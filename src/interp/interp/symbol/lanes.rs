//! Warp-wide operations on symbols, lane by lane, by their meaning.

use super::tried::run_once;
use super::value::{Kind, Value};
use super::world::{Chosen, State};
use super::{Symbols, integers, moved};
use crate::algebra::{Algebra, Format, Meaning, Mode, Real, Term, Truth, mix, number, rounded};
use crate::interp::poison::{Poison, whole};
use crate::interp::program::rare::{Cell, Scalar};
use crate::interp::registers::{File, Mask, Registers, Slots, WarpOp, lanes};

/// What becomes of a lane's result.
enum Outcome {
    /// The machine's result counts.
    Kept,
    /// Another value.
    Value(Value),
    /// A number of the format of the operation.
    Number(Term),
    /// Nothing is known of it.
    Lost,
}

impl Poison {
    /// Computes the results of an operation in lanes whose sources hold symbols, or numbers that rounding would change.
    /// Returns the lanes whose result is not known.
    pub(super) fn symbols_of_lanes(
        &mut self,
        (op, slots): (&WarpOp, &Slots),
        mask: Mask,
        registers: &Registers,
        state: &mut State,
    ) -> Mask {
        let sources = op.s.iter().zip(slots.s).filter_map(|(file, slot)| Some(((*file)?, slot)));
        let mut cells = [(File::Pred, slots.s[0]); 4];
        let mut count = 0;
        for cell in sources {
            cells[count] = cell;
            count += 1;
        }
        let cells = &cells[..count];
        let poisoned = cells.iter().fold(0, |all, &cell| all | self.lanes(cell)) & mask;
        let rounds = may_round(&op.meaning) && matches!(state.algebra, Algebra::Reals(_));
        let candidates = if rounds { mask } else { poisoned };
        let mut lost = 0;
        let Some(symbols) = &mut self.symbols else { return poisoned };
        let mut results = std::mem::take(&mut symbols.results);
        let mut numbers = std::mem::take(&mut symbols.numbers);
        let (Some(file), one_result) = (op.d[0], op.d[1].is_none()) else { return poisoned };
        let d: Cell = (file, slots.d[0]);
        let format = match op.meaning {
            Meaning::Real(_, format, _) | Meaning::Convert { to: format, .. } => Some(format),
            _ => None,
        };
        let fills = one_result && format.is_some_and(|format| fills(file, format));
        for lane in lanes(candidates) {
            let is_poisoned = poisoned >> lane & 1 != 0;
            let who = (lane, is_poisoned);
            let outcome = match op.meaning {
                Meaning::Real(real, format, mode) => {
                    self.real((real, format, mode), cells, who, registers, state)
                }
                Meaning::Convert { from, to, mode } => {
                    match self.number(cells[0], lane, from, registers, state) {
                        Some(term) => convert((from, to, mode), term, is_poisoned, state),
                        None => Outcome::Lost,
                    }
                }
                _ => self.general(op, cells, who, registers, state),
            };
            let outcome = match (outcome, format) {
                (Outcome::Number(Term::Element(element)), Some(format)) if fills => {
                    numbers.push((d, lane, (format, element)));
                    continue;
                }
                (Outcome::Number(term), Some(format)) => {
                    Outcome::Value(Value::number(format, term))
                }
                (outcome, _) => outcome,
            };
            let outcome = match outcome {
                Outcome::Lost if is_poisoned && one_result => {
                    self.moved(op, cells, lane, registers, state)
                }
                outcome => outcome,
            };
            match outcome {
                Outcome::Kept => {}
                Outcome::Value(value) if one_result => results.push((d, lane, value)),
                Outcome::Value(_) | Outcome::Number(_) | Outcome::Lost => lost |= 1 << lane,
            }
        }
        if let Some(symbols) = &mut self.symbols {
            symbols.results = results;
            symbols.numbers = numbers;
        }
        lost
    }

    /// A function of numbers.
    fn real(
        &self,
        (real, format, mode): (Real, Format, Mode),
        cells: &[Cell],
        (lane, is_poisoned): (usize, bool),
        registers: &Registers,
        state: &mut State,
    ) -> Outcome {
        let mut terms = [Term::Number(0); 3];
        let count = real.operands();
        for (term, &cell) in terms.iter_mut().zip(&cells[..count]) {
            match self.number(cell, lane, format, registers, state) {
                Some(found) => *term = found,
                None => return Outcome::Lost,
            }
        }
        apply((real, format, mode), &terms[..count], is_poisoned, state)
    }

    /// The number in a lane's register.
    #[inline]
    fn number(
        &self,
        cell: Cell,
        lane: usize,
        format: Format,
        registers: &Registers,
        state: &mut State,
    ) -> Option<Term> {
        let bits = registers.get(cell.0, cell.1, lane);
        if self.lanes(cell) >> lane & 1 == 0 {
            return Some(Term::Number(bits & u64::MAX >> (64 - 16 * format.parts())));
        }
        let symbols: &Symbols = self.symbols.as_deref()?;
        if fills(cell.0, format)
            && self.bits(cell, lane) == whole(cell.0)
            && let Some(element) = symbols.number(cell, lane, format)
        {
            return Some(Term::Element(element));
        }
        if format.parts() == 1
            && let first = symbols.part(cell, lane, 0)
            && (first.kind, first.part) == (Kind::Number(format), 0)
            && self.bits(cell, lane) & 0xffff == 0xffff
        {
            return Some(Term::Element(first.element()));
        }
        state.number(&self.value(cell, lane, registers), format)
    }

    /// An operation with another meaning.
    fn general(
        &self,
        op: &WarpOp,
        cells: &[Cell],
        (lane, is_poisoned): (usize, bool),
        registers: &Registers,
        state: &mut State,
    ) -> Outcome {
        let mut values = [Value::known(0); 4];
        for (value, &cell) in values.iter_mut().zip(cells) {
            *value = self.value(cell, lane, registers);
        }
        match op.meaning {
            Meaning::Halves(real, format, mode) => halves(op, (real, format, mode), &values, state),
            Meaning::FromInteger(format, signed) => {
                from_integer((format, signed, cells[0].0), values[0], is_poisoned, state)
            }
            Meaning::ToInteger(format) if is_poisoned => {
                let Some(term) = state.number(&values[0], format) else { return Outcome::Lost };
                match state.algebra.apply((Real::Trunc, format, Mode::EVEN), &[term]) {
                    Some(term) => Outcome::Value(Value::number(Format::S32, term)),
                    None => Outcome::Lost,
                }
            }
            Meaning::Compare(comparison, format, mode) => {
                let terms = [state.number(&values[0], format), state.number(&values[1], format)];
                let [Some(a), Some(b)] = terms else { return Outcome::Lost };
                match state.algebra.compare((comparison, format, mode), [a, b]) {
                    Some(truth) => Outcome::Value(Value::truth(truth)),
                    None => Outcome::Lost,
                }
            }
            Meaning::Select => {
                let file = cells[0].0;
                match values[2].as_truth() {
                    Some(Truth::Known(holds)) => {
                        let value = values[usize::from(!holds)];
                        if value.lost { Outcome::Lost } else { Outcome::Value(value) }
                    }
                    Some(Truth::Open(predicate)) => {
                        let value = state.choice_of(file, predicate, [values[0], values[1]]);
                        if value.lost { Outcome::Lost } else { Outcome::Value(value) }
                    }
                    None => Outcome::Lost,
                }
            }
            Meaning::ShiftLeft if is_poisoned => match state.number(&values[0], Format::F32) {
                Some(Term::Element(sum)) if values[1].is_known() && values[1].bits == 23 => {
                    match state.algebra.power_of_magic(sum) {
                        Some(power) => {
                            Outcome::Value(Value::number(Format::F32, Term::Element(power)))
                        }
                        None => Outcome::Lost,
                    }
                }
                _ => Outcome::Lost,
            },
            Meaning::Unknown if op.d[0] == Some(File::Pred) => logic(op, cells, &values, state),
            _ => Outcome::Lost,
        }
    }

    /// An operation that moves bits, or writes one of two known patterns by a predicate.
    fn moved(
        &self,
        op: &WarpOp,
        cells: &[Cell],
        lane: usize,
        registers: &Registers,
        state: &mut State,
    ) -> Outcome {
        let mut values = [Value::known(0); 4];
        for (value, &cell) in values.iter_mut().zip(cells) {
            *value = self.value(cell, lane, registers);
            if value.lost {
                return Outcome::Lost;
            }
        }
        if let ([(File::Pred, _)], Some(Truth::Open(predicate)), Some(File::W32)) =
            (cells, values[0].as_truth(), op.d[0])
        {
            let patterns = [1, 0].map(|holds| Chosen::Bits(run_once(op, &[holds]) as u32));
            return Outcome::Value(state.choice(predicate, patterns));
        }
        let value = moved::moved(op, &values, state)
            .or_else(|| integers::result(op, cells, &values[..cells.len()], state));
        match value {
            Some(value) => Outcome::Value(value),
            None => opaque(op, cells, &values, state),
        }
    }

    /// The result of an operation that is performed lane by lane. Returns the lanes whose result is not known.
    pub(super) fn symbols_of_scalar(
        &mut self,
        scalar: &Scalar,
        mask: Mask,
        registers: &Registers,
        state: &mut State,
    ) -> Mask {
        let poisoned = scalar.s.iter().fold(0, |all, &cell| all | self.lanes(cell)) & mask;
        let Meaning::Pack { from, to, mode } = scalar.meaning else { return poisoned };
        let mut lost = 0;
        for lane in lanes(mask) {
            let mut result = Value::known(0);
            let mut kept = true;
            for (part, source) in [(1, scalar.s[0]), (0, scalar.s[1])] {
                let value = self.value(source, lane, registers);
                let is_open = !value.is_known();
                let term = state.number(&value, from);
                let outcome = term.map(|term| convert((from, to, mode), term, is_open, state));
                match outcome.unwrap_or(Outcome::Lost) {
                    Outcome::Number(term) => {
                        let value = Value::number(to, term);
                        kept = false;
                        result.bits |= (value.bits & 0xffff) << (16 * part);
                        result.parts[part] = value.parts[0];
                    }
                    Outcome::Kept => {
                        let bits = rounded(to, number(from, value.bits));
                        result.bits |= bits << (16 * part);
                    }
                    Outcome::Value(_) | Outcome::Lost => {
                        lost |= 1 << lane;
                        break;
                    }
                }
            }
            if lost >> lane & 1 == 0
                && !kept
                && let Some(symbols) = &mut self.symbols
            {
                symbols.results.push((scalar.d, lane, result));
            }
        }
        lost
    }
}

/// A function of both halves.
fn halves(
    op: &WarpOp,
    (real, format, mode): (Real, Format, Mode),
    values: &[Value; 4],
    state: &mut State,
) -> Outcome {
    let mut result = Value::known(0);
    let mut kept = true;
    for part in 0..2 {
        let mut terms = [Term::Number(0); 3];
        for (term, value) in terms.iter_mut().zip(&values[..real.operands()]) {
            match state.number(&value.half(part), format) {
                Some(found) => *term = found,
                None => return Outcome::Lost,
            }
        }
        let terms = &terms[..real.operands()];
        let known = terms.iter().all(|term| matches!(term, Term::Number(_)));
        match apply((real, format, mode), terms, !known, state) {
            Outcome::Number(term) => {
                let value = Value::number(format, term);
                kept = false;
                result.bits |= (value.bits & 0xffff) << (16 * part);
                result.parts[part] = value.parts[0];
            }
            // The machine's result, again.
            Outcome::Kept => {
                let bits = terms.iter().map(|term| match *term {
                    Term::Number(bits) => bits,
                    Term::Element(_) => 0,
                });
                let bits = bits.collect::<Vec<u64>>();
                match again(op, &bits, part) {
                    Some(bits) => result.bits |= bits << (16 * part),
                    None => return Outcome::Lost,
                }
            }
            Outcome::Value(_) | Outcome::Lost => return Outcome::Lost,
        }
    }
    if kept { Outcome::Kept } else { Outcome::Value(result) }
}

/// Whether numbers that are known may become elements, over the reals.
pub(super) fn may_round(meaning: &Meaning) -> bool {
    match meaning {
        Meaning::Real(real, ..) | Meaning::Halves(real, ..) => !matches!(
            real,
            Real::Neg | Real::Abs | Real::Max | Real::Min | Real::Same | Real::Copysign
        ),
        Meaning::Convert { .. } | Meaning::FromInteger(..) => true,
        _ => false,
    }
}

fn apply(
    (real, format, mode): (Real, Format, Mode),
    terms: &[Term],
    is_poisoned: bool,
    state: &mut State,
) -> Outcome {
    if !is_poisoned {
        let mut bits = [0; 3];
        for (bits, term) in bits.iter_mut().zip(terms) {
            if let Term::Number(known) = term {
                *bits = *known;
            }
        }
        if state.algebra.keeps(real, format, &bits[..terms.len()]) {
            return Outcome::Kept;
        }
    }
    match state.algebra.apply((real, format, mode), terms) {
        Some(term) => Outcome::Number(term),
        None => Outcome::Lost,
    }
}

/// Whether a number of a format fills a register of a file.
pub(super) fn fills(file: File, format: Format) -> bool {
    match file {
        File::W32 => matches!(format, Format::F32 | Format::S32),
        File::W64 => format == Format::F64,
        File::Pred => false,
    }
}

fn convert(
    (from, to, mode): (Format, Format, Mode),
    term: Term,
    is_poisoned: bool,
    state: &mut State,
) -> Outcome {
    if !is_poisoned
        && let Term::Number(bits) = term
        && state.algebra.keeps_converted((from, to), bits)
    {
        return Outcome::Kept;
    }
    match state.algebra.convert((from, to, mode), term) {
        Some(term) => Outcome::Number(term),
        None => Outcome::Lost,
    }
}

fn from_integer(
    (format, signed, file): (Format, bool, File),
    value: Value,
    is_poisoned: bool,
    state: &mut State,
) -> Outcome {
    if is_poisoned {
        let term = if file == File::W32 { state.number(&value, Format::S32) } else { None };
        let converted = |term| state.algebra.convert((Format::S32, format, Mode::EVEN), term);
        return match term.and_then(converted) {
            Some(term) => Outcome::Value(Value::number(format, term)),
            None => Outcome::Lost,
        };
    }
    let integer = match (file, signed) {
        (File::W64, true) => i128::from(value.bits as i64),
        (File::W64, false) => i128::from(value.bits),
        (_, true) => i128::from(value.bits as u32 as i32),
        (_, false) => i128::from(value.bits as u32),
    };
    let nearest = number(format, rounded(format, integer as f64));
    if nearest as i128 == integer {
        return Outcome::Kept;
    }
    match state.algebra.integer(integer) {
        Some(element) => Outcome::Value(Value::number(format, Term::Element(element))),
        None => Outcome::Kept,
    }
}

/// The result of an operation on halves, of known halves in one place.
fn again(op: &WarpOp, halves: &[u64], _part: usize) -> Option<u64> {
    let mut sources = halves.to_vec();
    sources.resize(op.sources(), halves.first().copied()?);
    Some(run_once(op, &sources) & 0xffff)
}

/// A function of predicates, by its table.
fn logic(op: &WarpOp, cells: &[Cell], values: &[Value; 4], state: &mut State) -> Outcome {
    if op.d[1].is_some() || cells.iter().any(|cell| cell.0 != File::Pred) {
        return opaque(op, cells, values, state);
    }
    let mut open = Vec::new();
    let mut inputs = [0; 4];
    for at in 0..cells.len() {
        match values[at].as_truth() {
            Some(Truth::Known(holds)) => inputs[at] = u64::from(holds),
            Some(Truth::Open(predicate)) => open.push((at, predicate)),
            None => return Outcome::Lost,
        }
    }
    let mut table = |assigned: &[bool]| {
        for (&(at, _), &holds) in open.iter().zip(assigned) {
            inputs[at] = u64::from(holds);
        }
        run_once(op, &inputs[..cells.len()]) != 0
    };
    let truth = match open[..] {
        [] => Truth::Known(table(&[])),
        [(_, one)] => match (table(&[false]), table(&[true])) {
            (false, true) => Truth::Open(one),
            (true, false) => Truth::Open(one.not()),
            (known, _) => Truth::Known(known),
        },
        [(_, one), (_, other)] => {
            let rows = [[false; 2], [false, true], [true, false], [true; 2]];
            let rows = rows.map(|row| table(&row));
            two(rows, one, other, &mut state.algebra)
        }
        _ => return Outcome::Lost,
    };
    Outcome::Value(Value::truth(truth))
}

/// A function of two predicates by its values for neither, the second, the first, both.
fn two(
    rows: [bool; 4],
    one: crate::algebra::Predicate,
    other: crate::algebra::Predicate,
    algebra: &mut Algebra,
) -> Truth {
    let with = |predicate: crate::algebra::Predicate, holds: bool| {
        if holds { predicate } else { predicate.not() }
    };
    let row = |at: usize| (with(one, at & 2 != 0), with(other, at & 1 != 0));
    let count = rows.iter().filter(|&&holds| holds).count();
    let position = |holds: bool| rows.iter().position(|&row| row == holds).unwrap_or(0);
    match count {
        0 => Truth::Known(false),
        4 => Truth::Known(true),
        1 => {
            let (one, other) = row(position(true));
            algebra.both(one, other)
        }
        3 => {
            let (one, other) = row(position(false));
            match algebra.both(one, other) {
                Truth::Known(holds) => Truth::Known(!holds),
                Truth::Open(both) => Truth::Open(both.not()),
            }
        }
        _ if rows[2] && rows[3] => Truth::Open(one),
        _ if rows[0] && rows[1] => Truth::Open(one.not()),
        _ if rows[1] && rows[3] => Truth::Open(other),
        _ if rows[0] && rows[2] => Truth::Open(other.not()),
        _ => {
            let differ = algebra.differ(one, other);
            match (differ, rows[0]) {
                (Truth::Known(holds), equal) => Truth::Known(holds != equal),
                (Truth::Open(differ), true) => Truth::Open(differ.not()),
                (Truth::Open(differ), false) => Truth::Open(differ),
            }
        }
    }
}

/// Over the bits any function is a tree of its operands.
fn opaque(op: &WarpOp, cells: &[Cell], values: &[Value; 4], state: &mut State) -> Outcome {
    if op.d[1].is_some() || matches!(state.algebra, Algebra::Reals(_)) {
        return Outcome::Lost;
    }
    let mut words = Vec::new();
    for value in &values[..cells.len()] {
        if value.lost {
            return Outcome::Lost;
        }
        words.push(value.bits);
        for (at, part) in value.parts.iter().enumerate().filter(|(_, part)| part.is_some()) {
            let place = (at as u64) << 8 | u64::from(part.part) << 4 | 1;
            let element = part.element();
            words.extend([element.p, element.q, place]);
        }
        words.push(u64::MAX);
    }
    let name = op.text.bytes().fold(0, |hash, byte| mix(hash, byte.into()));
    let Some(element) = state.algebra.opaque(name, &words) else { return Outcome::Lost };
    Outcome::Value(match op.d[0] {
        Some(File::Pred) => {
            let predicate = crate::algebra::Predicate { name: element.p, negated: false };
            Value::truth(Truth::Open(predicate))
        }
        Some(File::W32) => Value::number(Format::F32, Term::Element(element)),
        _ => Value::number(Format::F64, Term::Element(element)),
    })
}
