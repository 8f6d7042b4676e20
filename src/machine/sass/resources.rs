//! The resources of a multiprocessor that a kernel takes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::code::{self, Function};
use super::cubin::{self, Usage};
use crate::isa::multiprocessor::Multiprocessor;

/// The sizes of blocks, in threads, for which warps are counted where a kernel names none.
pub const USUAL_BLOCKS: [u32; 3] = [128, 256, 512];

/// The resources of a kernel by ptxas. An unknown number is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Resources {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of stack of a thread.
    pub stack: u32,
    /// Bytes of registers that a thread stores to its stack because there are too few: 0 without a stack, otherwise ptxas
    /// says so, and the cubin does not.
    pub spill_stores: Option<u32>,
    /// Bytes of such registers that it loads.
    pub spill_loads: Option<u32>,
    /// Bytes of static shared memory of a block.
    pub shared: u32,
    /// Bytes of code, with what pads it.
    pub code_bytes: u32,
    /// Instructions, without those that pad the code.
    pub instructions: u32,
    /// Warps that are resident on a multiprocessor: in blocks of the size that the kernel names, otherwise in the best of
    /// `USUAL_BLOCKS`.
    pub warps: Option<u32>,
    /// A hash of the machine code.
    #[serde(default, with = "hexadecimal", skip_serializing_if = "Option::is_none")]
    pub code_hash: Option<u64>,
}

impl Resources {
    /// Whether two kernels have the same machine code; `None` if that is not known.
    pub fn is_same_code(&self, other: &Resources) -> Option<bool> {
        let without = |of: &Resources| Resources {
            code_hash: None,
            warps: None,
            spill_stores: None,
            spill_loads: None,
            ..*of
        };
        match (self.code_hash, other.code_hash) {
            _ if without(self) != without(other) => Some(false),
            (Some(own), Some(other)) => Some(own == other),
            _ => None,
        }
    }
}

/// Numbers of 64 bits as texts, since numbers in JSON are often read as doubles.
mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(
        number: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", number.unwrap_or_default()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let number = text.map(|text| u64::from_str_radix(&text, 16));
        number.transpose().map_err(de::Error::custom)
    }
}

/// The resources of the kernels of a cubin by name, and the architecture, 80 for `sm_80`.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn resources(bytes: &[u8]) -> Result<(u32, BTreeMap<String, Resources>), String> {
    let cubin = cubin::read(bytes)?;
    let functions = code::functions(bytes)?;
    let of_kernel = |function: &Function| {
        let usage = cubin.kernels.get(&function.name)?;
        Some((function.name.clone(), of(function, usage, cubin.architecture)))
    };
    Ok((cubin.architecture, functions.iter().filter_map(of_kernel).collect()))
}

/// The resources of a kernel.
pub fn of(function: &Function, usage: &Usage, architecture: u32) -> Resources {
    let spills = (usage.stack == 0).then_some(0);
    Resources {
        registers: usage.registers,
        stack: usage.stack,
        spill_stores: spills,
        spill_loads: spills,
        shared: usage.shared,
        code_bytes: function.code_bytes(),
        instructions: function.count() as u32,
        warps: Multiprocessor::of(architecture).map(|on| resident(on, usage)),
        code_hash: Some(function.hash()),
    }
}

/// Warps that are resident on a multiprocessor: in blocks of the size that the kernel names, otherwise in the best of
/// [`USUAL_BLOCKS`].
pub fn resident(on: Multiprocessor, usage: &Usage) -> u32 {
    let own = usage.threads.map(|threads| [threads]);
    let blocks = own.as_ref().map_or(&USUAL_BLOCKS[..], |own| &own[..]);
    let warps = |&threads: &u32| on.resident_warps(threads, usage.registers, usage.shared);
    blocks.iter().map(warps).max().unwrap_or(0)
}
