//! Multiversioned statements, and the tests in front of them.

use crate::loops::WholeLoop;
use std::ops::Range;

use crate::cfg::{BlockId, InstId};
use crate::reuse::{Multiple, NoWrap};

/// Statements of one block, or a loop, that are executed as they were if a test fails.
#[derive(Clone, Debug)]
pub struct Version {
    /// From the first statement's first byte to behind the last one's semicolon.
    pub range: Range<usize>,
    /// Where the rewritten version ends: behind a comment that ends the last statement's line.
    pub behind: usize,
    /// The test for the rewritten version.
    pub condition: Condition,
    /// The text of the other version, if it is not the unchanged statements.
    pub untouched: Option<String>,
    /// The loop, if it is one.
    pub of_loop: Option<WholeLoop>,
}

/// The test in front of multiversioned statements.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Parameters are multiples of some numbers.
    Multiples(Vec<Multiple>),
    /// The lanes of a warp are there, and no index wraps around.
    Warp(WarpTest),
    /// Each lane's accesses are apart.
    NoAlias {
        /// The code of the test.
        setup: String,
        /// The predicate that holds where they are.
        holds: String,
        /// Conditions on parameters, each to be a multiple of a number.
        multiples: Vec<Multiple>,
    },
}

/// The test of a warp in front of rewritten statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpTest {
    /// The block in which it is tested.
    pub block: BlockId,
    /// The test stands in front of this instruction.
    pub place: InstId,
    /// Indices that must not wrap around in any lane.
    pub no_wrap: Vec<NoWrap>,
    /// Parameters, each with a number that it has to be a multiple of.
    pub multiples: Vec<Multiple>,
    /// Addresses that must be global in every lane: base as written and bytes added.
    pub global: Vec<(String, i64)>,
}

impl WarpTest {
    /// Adds the conditions of another test at its place.
    pub fn join(&mut self, other: WarpTest) {
        self.no_wrap.extend(other.no_wrap);
        self.multiples.extend(other.multiples);
        self.global.extend(other.global);
    }
}

/// Of several conditions on one parameter the strongest, which implies the others.
pub(super) fn strongest(multiples: &[Multiple]) -> Vec<Multiple> {
    let mut found = multiples.to_vec();
    found.sort();
    found.reverse();
    found.dedup_by(|a, b| (&a.parameter, a.offset, a.bits) == (&b.parameter, b.offset, b.bits));
    found
}
