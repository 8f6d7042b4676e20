//! Why an array in shared memory may not take more bytes.

use std::fmt;

/// The static shared memory of a block that every device has (PTX ISA, "Shared State Space"; CUDA C++ Programming
/// Guide, "Compute Capabilities").
pub(super) const MOST_STATIC: u64 = 48 << 10;

/// Reasons why arrays of a function must not grow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// The function, or one that it calls (`by`), uses an `.extern .shared` array: its size comes from the launch or from
    /// another file, so the bytes that are left are not known.
    External {
        /// The array.
        name: String,
        /// 1-based line of its declaration.
        line: u32,
        /// The function that uses it, if it is a called one.
        by: Option<String>,
    },
    /// A special register with the size of shared memory is read on this line.
    Size(String, u32),
    /// On this line a function is called whose body is not in the file.
    Elsewhere(String, u32),
    /// On this line a function is called through a register.
    Indirect(u32),
    /// The address of an array is a value that this instruction takes, on this line, and would change.
    Address(String, u32),
    /// The function is called, so that its arrays lie beside those of its callers.
    Called,
    /// A shared variable that is not an array of numbers with a known size, one in inner braces, or one that other
    /// functions name would move.
    Variables,
    /// The function's arrays would need more than the static shared memory of a block.
    Static,
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Restriction::External { name, line, by } => {
                write!(f, "`.extern .shared` array `{name}` (line {line})")?;
                by.iter().try_for_each(|by| write!(f, ", used by the called function `{by}`"))
            }
            Restriction::Size(register, line) => write!(f, "`{register}` is read (line {line})"),
            Restriction::Elsewhere(callee, line) => {
                write!(f, "call of `{callee}` (line {line}), whose body is not in this file")
            }
            Restriction::Indirect(line) => write!(f, "indirect call (line {line})"),
            Restriction::Address(opcode, line) => {
                write!(f, "`{opcode}` (line {line}) takes the address of a shared array")
            }
            Restriction::Called => write!(f, "the function is called, not launched"),
            Restriction::Variables => {
                write!(f, "the function uses shared variables of other forms or functions")
            }
            Restriction::Static => {
                let kilobytes = MOST_STATIC >> 10;
                write!(f, "a block has {kilobytes} KiB of static shared memory")
            }
        }
    }
}
