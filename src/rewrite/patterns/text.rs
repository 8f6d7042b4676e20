//! Pieces of PTX text that several patterns write.

use crate::isa::{Modifier, Qualifier, Words};

/// An opcode without its type and vector: `ld.global.nc` of `ld.global.nc.v2.f32`.
pub(super) fn without_type(opcode: &str) -> String {
    let kept = Words::of(opcode).filter(|word| match Modifier::of(word) {
        Modifier::Type(_) => false,
        Modifier::Qualifier(word) => !matches!(word, Qualifier::V2 | Qualifier::V4 | Qualifier::V8),
        _ => true,
    });
    kept.collect::<Vec<_>>().join(".")
}
