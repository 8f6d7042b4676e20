//! Why ptxasw cannot be put in front of an assembler, and what can be done about it.

use std::fmt;
use std::io;

/// Why a folder is left as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The obstacle.
    pub reason: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Refusal {
    /// For a reason, without advice.
    pub fn new(reason: impl Into<String>) -> Refusal {
        Refusal { reason: reason.into(), help: None }
    }

    /// The same with what to do about it.
    pub fn with_help(mut self, help: impl Into<String>) -> Refusal {
        self.help = Some(help.into());
        self
    }

    /// For a failure of the file system about something.
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Refusal {
        Refusal::new(format!("{what}: {error}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason)?;
        self.help.iter().try_for_each(|help| write!(f, "\n  help: {help}"))
    }
}

impl std::error::Error for Refusal {}
