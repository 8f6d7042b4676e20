//! A launch: its shape, its buffers, its arguments.

use std::collections::BTreeMap;

use super::{Meet, Type};
use crate::isa::limits::{MAX_BLOCK, MAX_GRID, WARP_SIZE};

/// Instructions (per warp) after which a launch is given up, unless the file says otherwise.
pub const DEFAULT_LIMIT: u64 = 1 << 34;

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The kernel; may be left out where the module has one.
    pub kernel: Option<String>,
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// Buffers in global memory, by name.
    pub buffers: BTreeMap<String, Buffer>,
    /// The addresses of buffers that stand in buffers, by the name of the buffer that they stand in.
    pub pointers: BTreeMap<String, Vec<Pointer>>,
    /// The kernel's arguments in order.
    pub args: Vec<Argument>,
    /// Warp-wide instructions after which an interpreter gives up.
    pub limit: u64,
    /// Whether an interpreter reports races between threads.
    pub races: bool,
    /// Whether an interpreter reports values that nobody has determined (read from unwritten shared or local memory, or by
    /// a shuffle from a lane which takes no part) where they reach an effect.
    pub uninitialized: bool,
    /// Whether it is a race that lanes of a warp write different values to one place by one instruction. If not, the last lane
    /// wins.
    pub store_conflicts: bool,
    /// Where an interpreter lets lanes meet again that have parted.
    pub meet: Meet,
    /// The contents of module variables at the start, by name, instead of their initial values; if given, the outcome has those
    /// of all variables.
    pub variables: Option<BTreeMap<String, Vec<u8>>>,
    /// Whether the numbers of a buffer are symbols in a run with symbols, for those that say so.
    pub values: BTreeMap<String, bool>,
    /// The arguments that are symbols in a run with symbols, by number, and their types.
    pub symbolic_args: BTreeMap<usize, Type>,
}

impl Launch {
    /// A launch of one block of one warp, without arguments; races and values that nobody has determined are reported.
    pub fn one_warp(kernel: String) -> Launch {
        Launch {
            kernel: Some(kernel),
            grid: [1; 3],
            block: [WARP_SIZE, 1, 1],
            dynamic_shared: 0,
            buffers: BTreeMap::new(),
            pointers: BTreeMap::new(),
            args: Vec::new(),
            limit: DEFAULT_LIMIT,
            races: true,
            uninitialized: true,
            store_conflicts: true,
            meet: Meet::default(),
            variables: None,
            values: BTreeMap::new(),
            symbolic_args: BTreeMap::new(),
        }
    }

    /// The bytes of a buffer before the launch, where `address` tells the addresses of buffers.
    pub fn initial(&self, name: &str, address: impl Fn(&str) -> u64) -> Vec<u8> {
        let mut bytes =
            self.buffers.get(name).map(|buffer| buffer.bytes.clone()).unwrap_or_default();
        for Pointer { at, buffer, offset } in self.pointers.get(name).into_iter().flatten() {
            let value = address(buffer).wrapping_add_signed(*offset).to_le_bytes();
            bytes[*at..at + 8].copy_from_slice(&value);
        }
        bytes
    }

    /// Whether the numbers of a buffer are symbols in a run with symbols: floating-point ones are unless the launch says that
    /// they are not.
    pub fn is_symbolic(&self, name: &str) -> bool {
        let is_float = self.buffers.get(name).is_some_and(|buffer| buffer.ty.is_float());
        self.values.get(name).copied().unwrap_or(is_float)
    }

    /// Adds an argument that points `offset` bytes behind the start of a new buffer.
    pub fn point_into(&mut self, name: String, buffer: Buffer, offset: i64) {
        self.args.push(Argument::Pointer { buffer: name.clone(), offset });
        self.buffers.insert(name, buffer);
    }
}

/// A buffer in global memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The type of its elements.
    pub ty: Type,
    /// Its bytes, little-endian.
    pub bytes: Vec<u8>,
}

impl Buffer {
    /// The bits of each element.
    pub fn elements(&self) -> impl Iterator<Item = u64> {
        self.bytes.chunks(self.ty.bytes()).map(|chunk| {
            let mut raw = [0; 8];
            raw[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(raw)
        })
    }
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// The address of a buffer, some bytes in.
    Pointer {
        /// The buffer's name.
        buffer: String,
        /// Bytes from the buffer's beginning (which may lead outside of it).
        offset: i64,
    },
    /// Bytes passed as they are.
    Value(Vec<u8>),
    /// A struct with pointers in it.
    Struct {
        /// Its bytes, 0 where pointers stand.
        bytes: Vec<u8>,
        /// Its pointers.
        pointers: Vec<Pointer>,
    },
}

/// A pointer that is a member of a struct, or stands in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Bytes from the beginning of the struct or of the buffer that it stands in.
    pub at: usize,
    /// The name of the buffer that it points into.
    pub buffer: String,
    /// Bytes from the buffer's beginning.
    pub offset: i64,
}

impl Argument {
    /// The argument's bytes for a parameter of some size, where `address` tells the addresses of buffers.
    pub fn bytes(&self, size: usize, address: impl Fn(&str) -> u64) -> Vec<u8> {
        let pointer =
            |buffer: &str, offset: i64| address(buffer).wrapping_add_signed(offset).to_le_bytes();
        match self {
            Argument::Value(bytes) => bytes.clone(),
            Argument::Pointer { buffer, offset } => {
                pointer(buffer, *offset)[..size.min(8)].to_vec()
            }
            Argument::Struct { bytes, pointers } => {
                let mut bytes = bytes.clone();
                for Pointer { at, buffer, offset } in pointers {
                    bytes[*at..at + 8].copy_from_slice(&pointer(buffer, *offset));
                }
                bytes
            }
        }
    }

    /// The buffers that the argument names.
    pub fn buffers(&self) -> Vec<&str> {
        match self {
            Argument::Value(_) => Vec::new(),
            Argument::Pointer { buffer, .. } => vec![buffer],
            Argument::Struct { pointers, .. } => pointers.iter().map(|p| &*p.buffer).collect(),
        }
    }
}

impl Launch {
    /// Checks that the shape is one that a device would launch.
    ///
    /// # Errors The mistake in the shape.
    pub fn check(&self) -> Result<(), String> {
        if self.grid.contains(&0) || self.block.contains(&0) {
            return Err("grid and block need at least 1 in each dimension".to_owned());
        }
        let threads: u64 = self.block.iter().map(|&n| u64::from(n)).product();
        if threads > 1024 {
            return Err(format!("a block of {threads} threads; at most 1024 are possible"));
        }
        for (what, sizes, limits) in
            [("block", self.block, MAX_BLOCK), ("grid", self.grid, MAX_GRID)]
        {
            let each = sizes.into_iter().zip(limits).zip(["x", "y", "z"]);
            for ((size, limit), axis) in each {
                if u64::from(size) > limit {
                    let kind = if what == "block" { "threads" } else { "blocks" };
                    return Err(format!(
                        "a {what} of {size} {kind} along {axis}; at most {limit} are possible"
                    ));
                }
            }
        }
        if self.dynamic_shared > 1 << 20 {
            return Err("`dynamic_shared` is more than 1 MiB".to_owned());
        }
        Ok(())
    }
}
