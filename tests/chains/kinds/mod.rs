//! Kernels that are chains of one kind, as long as wanted: what costs more than its length is found by
//! them. See `tests/chains.rs`, and `scripts/bench chains` for times and memory.

mod arithmetic;
mod control;
mod memory;
mod shapes;
mod text;
mod traffic;

/// A kind of chain.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The text with about the given number of instructions.
    pub text: fn(usize) -> String,
}

/// All kinds.
pub fn kinds() -> Vec<Kind> {
    [arithmetic::KINDS, control::KINDS, memory::KINDS, shapes::KINDS, traffic::KINDS].concat()
}
