//! Movements within a thread that rotate a row of registers by a number of places that depends on the lane.
//!
//! Where a step reads (or writes) the register `(g + h) % n`, with `g` of the loops and `h` of the lanes alone, the
//! row is turned by `h` in one round of selects for each bit of it, and `g` is a name that the compiler knows. One
//! select for each register that could be meant would be `n - 1` for each of `n` registers.

use super::domain::{Domain, at};
use crate::synth::expr::{Expr, Op};

/// A rotation of rows.
#[derive(Clone, Debug)]
pub struct Rotation {
    /// The array that is read.
    pub from: usize,
    /// The loops outside of a row, and those of its registers.
    pub outer: Domain,
    /// See [`Rotation::outer`].
    pub inner: Domain,
    /// Where rows are read: the index number `at` is replaced by the register's number, unless the rotation is a scatter.
    pub place: Vec<Expr>,
    /// Which index goes along the row: of the array that is read, or of the one that a scatter writes.
    pub at: usize,
    /// Registers of a row.
    pub n: usize,
    /// By how many places the row is rotated: register `i` gets the value of `(i + by) % n`.
    pub by: Expr,
    /// The most that `by` is.
    pub most: usize,
    /// The register of the row that is read after the rotation (gather) or written before it (scatter).
    pub register: Expr,
    /// Whether the step says where registers go.
    pub scatter: bool,
}

/// A register's number as a sum.
struct Sum {
    /// Of the loops.
    register: Expr,
    /// Of the lanes.
    by: Expr,
    /// The values of `by`.
    turns: Vec<i64>,
}

/// The rounds of a rotation by at most `most` places.
pub(super) fn rounds(most: usize) -> usize {
    (usize::BITS - most.leading_zeros()) as usize
}

/// Splits a register's number into one of the loops and one of the lanes.
fn split(index: &Expr, n: usize, loops: &Domain, lanes: &Domain, back: bool) -> Option<Sum> {
    let both = Domain::of(loops.axes.iter().chain(&lanes.axes));
    let values = both.values(index)?;
    let count = lanes.places();
    let n = n as i64;
    let fits = values.chunks(count).all(|row| {
        let pairs = row.iter().zip(&values);
        pairs.into_iter().all(|(a, b)| (a - b - row[0] + values[0]).rem_euclid(n) == 0)
    });
    if !fits {
        return None;
    }
    let register = loops.simplified(at(index, &lanes.place(0)));
    let first = at(index, &loops.place(0));
    let (first, constant) = (first, Expr::Number(values[0]));
    let by = match back != planted!(Bug::TurnBack) {
        false => Expr::binary(Op::Sub, first, constant),
        true => Expr::binary(Op::Sub, constant, first),
    };
    let by = lanes.simplified(Expr::binary(Op::Rem, by, Expr::Number(n)));
    let turns = lanes.values(&by)?;
    turns.iter().any(|turn| *turn != 0).then_some(Sum { register, by, turns })
}

/// The loops whose names stand in an expression, and the others.
fn parted(loops: &Domain, register: &Expr) -> (Domain, Domain) {
    let stands = |axis: &str| {
        let mut found = false;
        register.names(&mut |name| found |= name == axis);
        found
    };
    let (inner, outer) = loops.axes.iter().cloned().partition(|axis| stands(&axis.0));
    (Domain { axes: outer }, Domain { axes: inner })
}

/// Whether indices depend neither on lanes nor on the loops of a row.
fn apart<'e>(indices: impl IntoIterator<Item = &'e Expr>, outer: &Domain) -> bool {
    indices.into_iter().all(|index| {
        let mut known = true;
        index.names(&mut |name| known &= outer.axes.iter().any(|axis| axis.0 == name));
        known
    })
}

/// A gather as a rotation, if it is one and fewer selects do it.
pub(super) fn gather(
    from: usize,
    place: &[Expr],
    extents: &[usize],
    loops: &Domain,
    lanes: &Domain,
) -> Option<Rotation> {
    (0..place.len()).find_map(|along| {
        let n = extents[along];
        let sum = split(&place[along], n, loops, lanes, false)?;
        let (outer, inner) = parted(loops, &sum.register);
        let others = place.iter().enumerate().filter(|(at, _)| *at != along);
        if !apart(others.map(|(_, index)| index), &outer) {
            return None;
        }
        let most = sum.turns.iter().copied().max()? as usize;
        let mut values = sum.turns;
        values.sort_unstable();
        values.dedup();
        if n * rounds(most) >= inner.places() * (values.len() - 1) {
            return None;
        }
        let (place, by, register) = (place.to_vec(), sum.by, sum.register);
        Some(Rotation {
            from,
            outer,
            inner,
            place,
            at: along,
            n,
            by,
            most,
            register,
            scatter: false,
        })
    })
}

/// A scatter as a rotation, if it is one: `(at, n, index, coordinate)` of the index of the target.
pub(super) fn scatter(
    from: usize,
    place: &[Expr],
    to: &[Expr],
    (along, n, index, coordinate): (usize, usize, &Expr, &Expr),
    loops: &Domain,
    lanes: &Domain,
) -> Option<Rotation> {
    let sum = split(index, n, loops, lanes, true)?;
    let (outer, inner) = parted(loops, &sum.register);
    // Every register of the row is written, and by one place of its loops.
    let mut written = inner.values(&sum.register)?;
    written.sort_unstable();
    if written != (0..n as i64).collect::<Vec<_>>() {
        return None;
    }
    let others = to.iter().enumerate().filter(|(at, _)| *at != along).map(|(_, index)| index);
    let own = [coordinate];
    if !apart(others, &outer) || apart(own, &outer) {
        return None;
    }
    let most = sum.turns.iter().copied().max()? as usize;
    let (place, by, register) = (place.to_vec(), sum.by, sum.register);
    Some(Rotation { from, outer, inner, place, at: along, n, by, most, register, scatter: true })
}
