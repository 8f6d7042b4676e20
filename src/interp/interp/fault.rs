//! Why a run stopped: the one error type of the interpreter.

use std::fmt;

use crate::source::{Diagnostic, SourceFile, Span};

/// The kind of what went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The launch does not fit the kernel: an unknown name, a missing argument, an empty block.
    Launch,
    /// An instruction, modifier or operand that is not modelled.
    Unsupported,
    /// An access outside of every buffer, or to a space that it may not touch.
    OutOfBounds,
    /// An address that is not a multiple of the access's size.
    Misaligned,
    /// `trap`, or a failed device assertion.
    Trap,
    /// Lanes or warps wait for each other for ever.
    Deadlock,
    /// Two threads touch the same bytes, at least one writes, and nothing orders them.
    Race,
    /// Lanes break a rule that makes the result undefined, such as a shuffle whose member mask
    /// leaves out the executing lane.
    Undefined,
    /// A value that a shuffle has read from a lane which takes no part reaches an effect.
    Unpredictable,
    /// A value that was read from shared or local memory which no thread has written, or from a register that no instruction
    /// has written, reaches an effect.
    Uninitialized,
    /// The launch ran longer than its instruction limit.
    Limit,
    /// Symbolic data decide an effect that the algebra does not describe.
    Symbolic,
}

impl FaultKind {
    /// Whether the kernel misbehaved, as opposed to an input that cannot be run at all.
    pub fn is_kernel_fault(self) -> bool {
        !matches!(self, FaultKind::Launch | FaultKind::Unsupported | FaultKind::Symbolic)
    }

    /// A short name for programs.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Launch => "launch",
            FaultKind::Unsupported => "unsupported",
            FaultKind::OutOfBounds => "out-of-bounds",
            FaultKind::Misaligned => "misaligned",
            FaultKind::Trap => "trap",
            FaultKind::Deadlock => "deadlock",
            FaultKind::Race => "race",
            FaultKind::Undefined => "undefined",
            FaultKind::Unpredictable => "unpredictable",
            FaultKind::Uninitialized => "uninitialized",
            FaultKind::Limit => "limit",
            FaultKind::Symbolic => "symbolic",
        }
    }
}

/// The instruction that came first: the other access of a race, or the one that has read an undetermined value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// The instruction.
    pub span: Span,
    /// Its action.
    pub what: &'static str,
    /// Advice.
    pub remedy: String,
    /// Where the array is declared whose unwritten bytes were read.
    pub declared: Option<Span>,
    /// The operation of 32 bits, in words, that has wrapped around here in the index of an access.
    pub wrapped: Option<&'static str>,
}

impl Earlier {
    /// An instruction with its action and advice.
    pub(super) fn new(span: Span, what: &'static str, remedy: String) -> Option<Box<Earlier>> {
        Some(Box::new(Earlier { span, what, remedy, declared: None, wrapped: None }))
    }
}

/// Where an access lies that belongs to no buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// The buffer or module variable that begins nearest to it.
    pub buffer: String,
    /// Bytes from that beginning to the access.
    pub offset: i64,
    /// How many bytes are accessed.
    pub bytes: u32,
}

/// Why a run stopped, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The whole sentence.
    pub message: String,
    /// The instruction, if one is to blame.
    pub span: Option<Span>,
    /// The block, if one was running.
    pub block: Option<[u32; 3]>,
    /// The thread within its block, if one is to blame.
    pub thread: Option<[u32; 3]>,
    /// The other access of a race, or where an undetermined value was read.
    pub earlier: Option<Box<Earlier>>,
    /// How many bytes of shared memory more an access needs that lies behind their end; 0 for all others.
    pub more_shared: u64,
    /// The offset in shared memory of the unwritten byte that an undetermined value was read from.
    pub unwritten: Option<u64>,
    /// Where an access beside the buffers lies.
    pub outside: Option<Box<Outside>>,
    /// Instructions of warps that were executed before.
    pub steps: u64,
}

impl Fault {
    /// A fault without a place.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault {
            kind,
            message: message.into(),
            span: None,
            block: None,
            thread: None,
            earlier: None,
            more_shared: 0,
            unwritten: None,
            outside: None,
            steps: 0,
        }
    }

    /// A fault of a launch that does not fit the kernel.
    pub fn launch(message: impl Into<String>) -> Fault {
        Fault::new(FaultKind::Launch, message)
    }

    /// The same fault at an instruction, unless it already has a place.
    pub fn at(mut self, span: Span) -> Fault {
        self.span.get_or_insert(span);
        self
    }

    /// The same fault, whose message also names the line of an index that has wrapped around.
    pub fn located(&self, source: &SourceFile) -> Fault {
        let mut fault = self.clone();
        if let Some(earlier) = &mut fault.earlier
            && let Some(wrapped) = earlier.wrapped.take()
        {
            let line = source.line(earlier.span.start);
            fault.message += &format!("; the index wrapped: 32-bit {wrapped} at line {line}");
        }
        fault
    }

    /// The fault as a message that points into the source.
    pub fn diagnostic(&self, source: &SourceFile) -> Diagnostic {
        let message = self.located(source).to_string();
        let diagnostic = source.diagnostic(self.span.unwrap_or_default(), message);
        match &self.earlier {
            Some(earlier) => {
                let Earlier { span, what, remedy, .. } = &**earlier;
                diagnostic.with_note(source, *span, *what).with_hint(remedy)
            }
            None => diagnostic,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x}, {y}, {z})")?;
        }
        if let Some([x, y, z]) = self.block {
            write!(f, " of block ({x}, {y}, {z})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
