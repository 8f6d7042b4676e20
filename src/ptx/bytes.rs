//! Ranges of bytes in an address space of 64 bits, where addresses wrap around.
//!
//! An address is a base and a distance modulo 2^64 (PTX ISA, "Addresses as Operands": all 64 bits are added). So the end of a
//! range may be a smaller number than its start, and ends cannot be compared: a range is its start and its length.

/// Consecutive bytes, by their distance from a base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteRange {
    start: i64,
    length: u64,
}

/// The test that two ranges, each at a base of its own, have no byte in common: `one - other + more >= both` without a sign,
/// modulo 2^64, where `one` and `other` are the bases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Separation {
    /// Bytes from the first position of `one` at which the ranges meet.
    pub more: i64,
    /// The number of positions at which they meet.
    pub both: i64,
}

impl ByteRange {
    /// The longest range that [`ByteRange::hull`] gives, in bytes.
    const MAX_HULL: u64 = i32::MAX as u64;

    /// `length` bytes from `start` on.
    pub fn new(start: i64, length: impl Into<u64>) -> ByteRange {
        ByteRange { start, length: length.into() }
    }

    /// The distance of the first byte from the base, in bytes modulo 2^64.
    pub fn start(self) -> i64 {
        self.start
    }

    /// The number of bytes.
    pub fn length(self) -> u64 {
        self.length
    }

    /// How far the start of another range of the same base lies behind this one's, in bytes modulo 2^64.
    pub fn ahead(self, other: ByteRange) -> u64 {
        other.start.wrapping_sub(self.start) as u64
    }

    /// The range, `bytes` further on.
    #[must_use]
    pub fn moved(self, bytes: i64) -> ByteRange {
        ByteRange { start: self.start.wrapping_add(bytes), ..self }
    }

    /// Whether two ranges of one base have a byte in common.
    pub fn meets(self, other: ByteRange) -> bool {
        self.ahead(other) < self.length || other.ahead(self) < other.length
    }

    /// Whether a range has all bytes of another one of the same base.
    pub fn covers(self, other: ByteRange) -> bool {
        let rest = self.length.checked_sub(self.ahead(other));
        rest.is_some_and(|rest| other.length <= rest)
    }

    /// The shortest range with the bytes of two ranges of one base; `None` if it is long.
    pub fn hull(self, other: ByteRange) -> Option<ByteRange> {
        let from = |first: ByteRange, second: ByteRange| {
            let end = first.ahead(second).checked_add(second.length)?;
            Some(ByteRange { length: first.length.max(end), ..first })
        };
        let hulls = [from(self, other), from(other, self)].into_iter().flatten();
        hulls.filter(|hull| hull.length <= Self::MAX_HULL).min_by_key(|hull| hull.length)
    }

    /// The test that this range has no byte in common with another one, whose base is another register.
    ///
    /// # Panics
    /// Ranges of 2^62 bytes.
    pub fn separation(self, other: ByteRange) -> Separation {
        let both = self.length + other.length - 1;
        let more = self.start.wrapping_sub(other.start).wrapping_add(self.length as i64 - 1);
        Separation { more, both: both as i64 }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(ranges_around_the_end_of_addresses);

    /// All pairs of short ranges around 0 and around 2^63, byte by byte.
    fn ranges_around_the_end_of_addresses() {
        let bytes = |range: ByteRange| -> Vec<i64> {
            (0..range.length()).map(|at| range.start().wrapping_add(at as i64)).collect()
        };
        for around in [0i64, i64::MIN, 1 << 32] {
            let ranges = || {
                let starts = (-5..5).map(move |start| around.wrapping_add(start));
                starts.flat_map(|start| (1u64..5).map(move |length| ByteRange::new(start, length)))
            };
            for (one, other) in ranges().flat_map(|one| ranges().map(move |other| (one, other))) {
                let (own, its) = (bytes(one), bytes(other));
                let meet = own.iter().any(|byte| its.contains(byte));
                assert_eq!(one.meets(other), meet, "{one:?} {other:?}");
                assert_eq!(one.covers(other), its.iter().all(|byte| own.contains(byte)));
                let Separation { more, both } = one.separation(other);
                for apart in -12..12 {
                    let are_apart = more.wrapping_add(apart) as u64 >= both as u64;
                    assert_eq!(are_apart, !one.moved(apart).meets(other), "{one:?} {other:?}");
                }
                let hull = one.hull(other).expect("short");
                assert!(hull.covers(one) && hull.covers(other));
                let ends = own.iter().chain(&its).map(|byte| byte.wrapping_sub(around));
                let (low, high) = (ends.clone().min(), ends.max());
                assert_eq!(
                    high.zip(low).map(|(high, low)| (high - low + 1) as u64),
                    Some(hull.length())
                );
            }
        }
        let far = ByteRange::new(0, 4u64).hull(ByteRange::new(i64::MIN, 4u64));
        assert_eq!(far, None);
    }
}
