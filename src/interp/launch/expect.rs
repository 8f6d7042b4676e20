//! The expected contents of buffers by a launch file, and the comparison with them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Buffer, Type};

/// How far an element of a floating-point buffer may be from the expected value: `absolute + relative * |expected|`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// In units of the element.
    #[serde(default)]
    pub absolute: f64,
    /// As a fraction of the expected value.
    #[serde(default)]
    pub relative: f64,
}

/// The expected contents of buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// The contents, by buffer, of the buffer's type.
    pub buffers: BTreeMap<String, Buffer>,
    /// How exactly they have to be met.
    pub tolerance: Tolerance,
}

/// An element that differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The buffer.
    pub buffer: String,
    /// The element's type.
    pub ty: Type,
    /// The index of the element.
    pub index: usize,
    /// The bits that are there.
    pub found: u64,
    /// The bits that are expected.
    pub expected: u64,
}

impl Tolerance {
    /// Whether an element has the expected value: the same bits, or numbers that are near enough. A NaN matches any
    /// NaN, an infinity only itself, a zero a zero of either sign.
    pub fn meets(self, ty: Type, found: u64, expected: u64) -> bool {
        if found == expected {
            return true;
        }
        if ty.is_float() {
            let (found, expected) = (ty.widen(found), ty.widen(expected));
            return found == expected
                || found.is_nan() && expected.is_nan()
                || (found.is_finite() && expected.is_finite())
                    && (found - expected).abs() <= self.allows(expected.abs());
        }
        let unused = 64 - 8 * ty.bytes() as u32;
        let integer = |bits: u64| match ty.is_signed() {
            true => i128::from((bits << unused) as i64 >> unused),
            false => i128::from(bits),
        };
        let (found, expected) = (integer(found), integer(expected));
        (found - expected).unsigned_abs() as f64 <= self.allows(expected.unsigned_abs() as f64)
    }

    fn allows(self, magnitude: f64) -> f64 {
        self.absolute + self.relative * magnitude
    }
}

impl Expectation {
    /// The elements that differ from the expected ones, in the order of buffers' names and of elements.
    pub fn differences(&self, buffers: &BTreeMap<String, Buffer>) -> Vec<Difference> {
        let mut all = Vec::new();
        for (name, expected) in &self.buffers {
            let Some(found) = buffers.get(name) else { continue };
            for (index, (found, wanted)) in found.elements().zip(expected.elements()).enumerate() {
                if !self.tolerance.meets(expected.ty, found, wanted) {
                    let (buffer, ty) = (name.clone(), expected.ty);
                    all.push(Difference { buffer, ty, index, found, expected: wanted });
                }
            }
        }
        all
    }
}
