//! Why the bytes of an array at module level may be accessed by others than one kernel.

use std::fmt;

/// Who else may access an array that a module declares outside of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The declaration says how the name is linked: other files may name it (PTX ISA, "Linking Directives").
    Linked(String),
    /// Another function names the array.
    Function(String),
    /// The function that names the array is called: its callers may be in other files.
    Called,
    /// This line declares the name as well.
    Declared(u32),
    /// An initial value or a directive on this line names the array.
    Mentioned(u32),
    /// The declaration is not one array of numbers of a known size.
    Form,
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sharing::Linked(how) => {
                write!(f, "other files may name an array at module level that is `{how}`")
            }
            Sharing::Function(name) => {
                write!(f, "the function `{name}` names the array at module level, too")
            }
            Sharing::Called => {
                write!(f, "a function that is called names the array at module level")
            }
            Sharing::Declared(line) => {
                write!(f, "line {line} declares the name of the array at module level again")
            }
            Sharing::Mentioned(line) => {
                write!(f, "no instruction, but line {line} names the array at module level")
            }
            Sharing::Form => {
                write!(f, "the module does not declare one array of numbers of a known size")
            }
        }
    }
}
