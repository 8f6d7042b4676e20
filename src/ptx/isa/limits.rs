//! Sizes that the hardware bounds (CUDA C++ Programming Guide, "Compute Capabilities"), the same for
//! every compute capability so far.

/// Lanes of a warp.
pub const WARP_SIZE: u32 = 32;

/// Most bytes of shared memory that a kernel declares; beyond that the memory has to be dynamic.
pub const MAX_STATIC_SHARED: u64 = 48 << 10;

/// More bytes of shared memory than a block has, dynamic ones included.
pub const MAX_SHARED: u64 = 256 << 10;

/// Most threads of a block in each dimension, `%ntid.x` to `%ntid.z`.
pub const MAX_BLOCK: [u64; 3] = [1024, 1024, 64];

/// Most blocks of a grid in each dimension, `%nctaid.x` to `%nctaid.z`.
pub const MAX_GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];
