//! The type of the numbers that an operator's code accumulates.

use crate::synth::scan::search::Found;
use crate::synth::scan::subject::Kind;
use crate::synth::scan::term::{self, Op, Shared, Sort, Term};

/// A type for numbers of a sort that suffices for the operator as long as the loop's own numbers fit.
///
/// Identities of polynomials hold modulo any power of two: such an operator takes the width of its inputs, without a
/// sign, so that overflow is defined. Where numbers are only compared and passed on they stay as they are. Everything
/// else takes 64 bits: auxiliary values may leave 32 bits where the loop's own do not.
pub fn natural(found: &Found, sort: Sort) -> Kind {
    let subject = &found.subject;
    let reads = subject.inputs.iter().chain(&subject.givens);
    let reads = reads.filter(|read| read.sort() == sort);
    let kinds: Vec<Kind> = reads.map(|read| read.kind).collect();
    let widest = kinds.iter().map(|kind| kind.bits()).max().unwrap_or(0).max(32);
    if sort == Sort::Real {
        return Kind::Float(widest);
    }
    if found.is_polynomial() && subject.result.iter().all(term::is_polynomial) {
        return Kind::Unsigned(widest);
    }
    let steps = subject.accumulators.iter().map(|accumulator| &accumulator.step);
    let mut terms = steps.chain(&found.combine).chain(&subject.result);
    let integers = subject.accumulators.iter().filter(|own| own.sort != Sort::Real);
    let starts: Vec<i64> = integers.map(|own| own.start).collect();
    let fits = |number: i64| i32::try_from(number).is_ok();
    let careless = planted!(Bug::SumsTooNarrow);
    let narrow = terms.all(|term| careless || passes_on(term, &fits))
        && starts.into_iter().all(fits)
        && kinds.iter().all(|kind| kind.range().is_none_or(|(low, high)| fits(low) && fits(high)));
    Kind::Signed(if narrow { 32 } else { 64 })
}

/// Whether numbers are compared and chosen in a term, and nothing is computed; and all constants fit.
fn passes_on(term: &Shared, fits: &dyn Fn(i64) -> bool) -> bool {
    let mut passes = true;
    term::parts(term, &mut |part| {
        passes &= match &**part {
            Term::Number(number) => fits(*number),
            Term::Binary(op, ..) => !matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem),
            _ => true,
        };
    });
    passes
}

/// The same kind of number with other bits.
pub fn with_bits(kind: Kind, bits: u32) -> Kind {
    match kind {
        Kind::Boolean => Kind::Boolean,
        Kind::Signed(_) => Kind::Signed(bits),
        Kind::Unsigned(_) => Kind::Unsigned(bits),
        Kind::Float(_) => Kind::Float(bits),
    }
}
