//! The known properties of a kernel before values are guessed.

use std::collections::BTreeMap;

use super::bounds::Shape;
use super::parameters::Parameter;
use super::pointers::{Part, Pointers};

/// The known properties of a kernel before values are guessed.
pub(super) struct Known<'m> {
    /// The kernel's name.
    pub kernel: &'m str,
    /// How many threads it is launched with.
    pub shape: Shape,
    /// The facts of the text about each parameter.
    pub parameters: Vec<Parameter>,
    /// The parameters that addresses begin with.
    pub pointers: Pointers,
    /// The axis along which a thread's number is compared with a parameter.
    pub guards: BTreeMap<Part, usize>,
    /// Whether sizes are multiples of the block.
    pub whole_blocks: bool,
    /// Whether integers in buffers repeat.
    pub repeats: bool,
    /// Whether small sizes may avoid races and unwritten values.
    pub avoids_races: bool,
    /// The bytes of dynamic shared memory that it asks for.
    pub dynamic_shared: u64,
    /// The most bytes of dynamic shared memory that are tried.
    pub most_shared: u64,
    /// The most threads of a block.
    pub most_threads: u64,
    /// Why there is no trace, if there is none.
    pub untraced: Option<String>,
}
