//! How the program ends: every exit status there is, and what ends a subcommand early.
//!
//! A subcommand returns a [`Status`], or a [`Failure`] whose message nobody has printed yet. Called as
//! ptxas the program ends as the real ptxas did, unless there is none ([`Status::UNUSABLE`]).

use std::fmt;
use std::process::ExitCode;

/// An exit status. Programs that call ours rely on what each number means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status(u8);

impl Status {
    /// 0: what was asked for is done. `verify`: the two programs are equal. `ab --check`: the GPU and the
    /// interpreter compute the same bits. `doctor`: everything works.
    pub const SUCCESS: Status = Status(0);
    /// 1: the two programs of `verify`, or the buffers of `ab --check`, are different; a kernel lost what
    /// `compare --fail-on` names.
    pub const DIFFERENT: Status = Status(1);
    /// 1: buffers do not hold what the launch file of `run` expects.
    pub const UNEXPECTED: Status = Status(1);
    /// 1: `lint` has found what `--deny` names.
    pub const DENIED: Status = Status(1);
    /// 1: no choice completes the sketch of `synth`.
    pub const EMPTY: Status = Status(1);
    /// 2: an input cannot be read, parsed or used, an output cannot be written, nothing was installed,
    /// there is no real ptxas. `doctor`: something does not work.
    pub const UNUSABLE: Status = Status(2);
    /// 3: the kernel faulted (`run`, `ab`, `tune`): out of bounds, misaligned, trap, deadlock, race found,
    /// an undetermined value that reaches an effect.
    pub const FAULTED: Status = Status(3);
    /// 3: `verify` neither proved that the two programs are equal nor found a difference.
    /// `asm`: the machine code of the architecture is not known.
    pub const UNKNOWN: Status = Status(3);
    /// 3: a bound or a signal ended the search of `synth`.
    pub const BUDGET: Status = Status(3);
    /// 4: there is no GPU that can be used (`ab`, `tune`, `run --on gpu`).
    pub const NO_GPU: Status = Status(4);

    /// 255: called as ptxas, a hole of a kernel cannot be filled, or `PTXASW_LINT=error` has found something. It is what ptxas ends with where it refuses a text.
    pub const REFUSED: Status = Status(255);

    /// The number.
    pub fn code(self) -> u8 {
        self.0
    }

    /// The status of another process, from the code that it ended with.
    pub fn of_process(code: i32) -> Status {
        Status(code as u8)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.0)
    }
}

/// What ends a subcommand early: a message for standard error, and the exit status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The exit status.
    pub status: Status,
    /// The whole message, without the end of its last line.
    pub message: String,
    /// What standard output receives all the same: the fault of a kernel as JSON, the outcome of a test.
    pub output: Option<Box<str>>,
}

impl Failure {
    /// Something cannot be used; the whole message.
    pub fn unusable(message: impl Into<String>) -> Failure {
        Failure { status: Status::UNUSABLE, message: message.into(), output: None }
    }

    /// A file, or another thing of this name, cannot be used, and why.
    pub fn about(name: impl fmt::Display, why: impl fmt::Display) -> Failure {
        Failure::unusable(format!("{name}: error: {why}"))
    }

    /// The same failure with what standard output receives all the same.
    pub fn with_output(self, output: String) -> Failure {
        Failure { output: Some(output.into()), ..self }
    }

    /// The same failure with another exit status.
    pub fn with_status(self, status: Status) -> Failure {
        Failure { status, ..self }
    }
}

/// Errors whose messages are complete, such as a [`crate::source::Diagnostic`].
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::unusable(error.to_string())
    }
}
