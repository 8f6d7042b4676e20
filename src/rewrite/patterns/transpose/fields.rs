//! Loads and stores of structs as a plan holds them: the fields, and how words are moved.

use crate::reuse::transposition::Entry;
use std::ops::Range;

use crate::cfg::InstId;
use crate::rewrite::WarpTest;

/// The loads of a struct by each lane, and the code in their place.
#[derive(Clone, Debug)]
pub(super) struct StructPlan {
    /// The opcode of the loads, without vector and type.
    pub opcode: String,
    /// The address of the lane's struct: base as written and bytes added.
    pub address: (String, i64),
    /// Bits of a word, 32 or 64.
    pub word_bits: u32,
    /// Whether the kernel never writes the loaded bytes (`.nc`).
    pub read_only: bool,
    /// The loads in program order; all words are loaded in the place of the first.
    pub fields: Vec<FieldPlan>,
    /// The [place](WarpTest::place) of their test.
    pub place: InstId,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// How words are moved.
    pub entry: &'static Entry,
}

/// A load of some words of a struct.
#[derive(Clone, Debug)]
pub(super) struct FieldPlan {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// The registers that it fills, each with the number of the word.
    pub registers: Vec<(String, u32)>,
}

/// The stores of a struct by each lane, and the code in their place.
#[derive(Clone, Debug)]
pub(super) struct StoredPlan {
    /// The opcode of the stores, without vector and type.
    pub opcode: String,
    /// The address of the lane's struct at the last store: base as written and bytes added.
    pub address: (String, i64),
    /// Bits of a word, 32 or 64.
    pub word_bits: u32,
    /// The stores in program order; all words are stored behind the last.
    pub fields: Vec<StoredFieldPlan>,
    /// The test in front of the first.
    pub test: WarpTest,
    /// Whether it has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// How words are moved.
    pub entry: &'static Entry,
}

/// A store of some words of a struct.
#[derive(Clone, Debug)]
pub(super) struct StoredFieldPlan {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// The number of the first word, and the values stored from there on, as operands of a move.
    pub values: (u32, Vec<String>),
}
