//! Why the bytes of an array at module level may be accessed by others than one kernel.

/// Who else may access an array that a module declares outside of functions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Sharing {
    /// The declaration says how the name is linked: other files may name it (PTX ISA, "Linking Directives").
    #[error("other files may name an array at module level that is `{0}`")]
    Linked(String),
    /// Another function names the array.
    #[error("the function `{0}` names the array at module level, too")]
    Function(String),
    /// The function that names the array is called: its callers may be in other files.
    #[error("a function that is called names the array at module level")]
    Called,
    /// This line declares the name as well.
    #[error("line {0} declares the name of the array at module level again")]
    Declared(u32),
    /// An initial value or a directive on this line names the array.
    #[error("no instruction, but line {0} names the array at module level")]
    Mentioned(u32),
    /// The declaration is not one array of numbers of a known size.
    #[error("the module does not declare one array of numbers of a known size")]
    Form,
}
