//! Why an array in shared memory may not take more bytes.

/// The static shared memory of a block that every device has (PTX ISA, "Shared State Space"; CUDA C++ Programming
/// Guide, "Compute Capabilities").
pub(super) const MOST_STATIC: u64 = 48 << 10;

/// Reasons why arrays of a function must not grow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Restriction {
    /// The function, or one that it calls (`by`), uses an `.extern .shared` array: its size comes from the launch or from
    /// another file, so the bytes that are left are not known.
    #[error("`.extern .shared` array `{name}` (line {line}){}", used_by(by.as_deref()))]
    External {
        /// The array.
        name: String,
        /// 1-based line of its declaration.
        line: u32,
        /// The function that uses it, if it is a called one.
        by: Option<String>,
    },
    /// A special register with the size of shared memory is read on this line.
    #[error("`{0}` is read (line {1})")]
    Size(String, u32),
    /// On this line a function is called whose body is not in the file.
    #[error("call of `{0}` (line {1}), whose body is not in this file")]
    Elsewhere(String, u32),
    /// On this line a function is called through a register.
    #[error("indirect call (line {0})")]
    Indirect(u32),
    /// The address of an array is a value that this instruction takes, on this line, and would change.
    #[error("`{0}` (line {1}) takes the address of a shared array")]
    Address(String, u32),
    /// The function is called, so that its arrays lie beside those of its callers.
    #[error("the function is called, not launched")]
    Called,
    /// A shared variable that is not an array of numbers with a known size, one in inner braces, or one that other
    /// functions name would move.
    #[error("the function uses shared variables of other forms or functions")]
    Variables,
    /// The function's arrays would need more than the static shared memory of a block.
    #[error("a block has {} KiB of static shared memory", MOST_STATIC >> 10)]
    Static,
}

fn used_by(function: Option<&str>) -> String {
    function.map_or_else(String::new, |name| format!(", used by the called function `{name}`"))
}
