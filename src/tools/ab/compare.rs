//! Comparison of buffers, bit by bit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::launch::{Buffer, Type, show};

/// How a buffer differs from the expected one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The buffer's name.
    pub buffer: String,
    /// Elements that differ.
    pub elements: usize,
    /// Elements in all.
    pub of: usize,
    /// Index of the first element that differs.
    pub first: usize,
    /// The value that this element should have.
    pub expected: String,
    /// The value that it has.
    pub found: String,
    /// The largest distance of two floating-point numbers, in units of the last place; `None` for
    /// integers, and where one of a pair is not a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ulps: Option<u64>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { buffer, elements, of, first, expected, found, ulps } = self;
        write!(f, "{buffer}: {elements} of {of} elements differ")?;
        if let Some(ulps) = ulps {
            write!(f, " by up to {ulps} ulp")?;
        }
        write!(f, ", first [{first}]: {found} instead of {expected}")
    }
}

/// Compares the bytes of a buffer with the expected ones; `None` if they are the same. Bytes
/// that one of the two lacks count as zeros.
pub fn compare(name: &str, expected: &Buffer, found: &[u8]) -> Option<Difference> {
    if expected.bytes == found {
        return None;
    }
    let ty = expected.ty;
    let found = Buffer { ty, bytes: found.to_vec() };
    let of = expected.elements().count().max(found.elements().count());
    let pad = std::iter::repeat(0);
    let pairs = expected.elements().chain(pad.clone()).zip(found.elements().chain(pad)).take(of);
    let mut differing = pairs.enumerate().filter(|(_, (a, b))| a != b).peekable();
    let (first, shown) = *differing.peek()?;
    let mut elements = 0;
    let mut ulps = ty.is_float().then_some(0);
    for (_, (a, b)) in differing {
        elements += 1;
        ulps = ulps.zip(distance(ty, a, b)).map(|(most, distance)| most.max(distance));
    }
    let (expected, found) = (show(ty, shown.0), show(ty, shown.1));
    Some(Difference { buffer: name.to_owned(), elements, of, first, expected, found, ulps })
}

/// How many numbers of the type lie between two, plus one.
fn distance(ty: Type, a: u64, b: u64) -> Option<u64> {
    if ty.widen(a).is_nan() || ty.widen(b).is_nan() {
        return None;
    }
    // Sign and magnitude as an integer that grows with the number.
    let sign = 1_u64 << (8 * ty.bytes() - 1);
    let ordered = |bits: u64| {
        let magnitude = (bits & !sign) as i128;
        if bits & sign == 0 { magnitude } else { -magnitude }
    };
    u64::try_from((ordered(a) - ordered(b)).abs()).ok()
}
