//! Products of neighbouring inputs, and when two of them make a third.

/// The product of the inputs from the first to the last.
pub(super) type Interval = (i32, i32);

/// The value of a lane; none where no product is known.
pub(super) type Value = Option<Interval>;

/// Laws of an operator beside associativity.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Whether `a * a` is `a`.
    pub idempotent: bool,
}

/// `a * b`: they have to meet; if the operator is idempotent they may also overlap.
pub(super) fn product(a: Value, b: Value, law: Law) -> Value {
    let (a, b) = (a?, b?);
    let meet = a.1 + 1 == b.0;
    let overlap = law.idempotent && a.0 <= b.0 && b.0 <= a.1 + 1 && a.1 <= b.1;
    (meet || overlap || planted!(Bug::NothingMeets)).then_some((a.0, b.1))
}
