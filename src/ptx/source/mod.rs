//! The text of one input file, positions in it, and messages that point into it.
//!
//! Every later stage speaks about the input in [`Span`]s (byte ranges) and leaves it to this module
//! to turn them into lines and columns for people. Nothing here knows PTX.

pub mod comments;
mod lines;
mod replacement;

use std::fmt;
use std::sync::OnceLock;

pub use lines::LineMap;
pub use replacement::Replacement;

/// A half-open byte range `start..end` in a [`SourceFile`]. 32 bits each: a PTX file over 4 GiB is
/// refused when it is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The smallest range that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The same range for slicing.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// One input: its name as the user wrote it, and its text.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<u32>>,
}

/// A place for people: 1-based line and column (in characters).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, counted in characters.
    pub column: u32,
}

impl SourceFile {
    /// Wraps a text that is already in memory under the name that messages shall use.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> SourceFile {
        SourceFile { name: name.into(), text: text.into(), line_starts: OnceLock::new() }
    }

    /// Takes bytes as they were read.
    ///
    /// # Errors
    /// Text that is not UTF-8, or that is 4 GiB or longer, is refused with the offending place.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<SourceFile, Diagnostic> {
        let name = name.into();
        let plain = |message: &str, hint: &str| Diagnostic {
            file: name.clone(),
            position: None,
            line_text: String::new(),
            width: 0,
            message: message.to_owned(),
            more: None,
            hint: Some(hint.to_owned()),
        };
        if bytes.len() >= u32::MAX as usize {
            return Err(plain("the file is 4 GiB or longer", "split the module"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(SourceFile::new(name, text)),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                let head = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
                let file = SourceFile::new(name, head);
                Err(file
                    .diagnostic(Span::new(good, good), "this byte is not UTF-8 text")
                    .with_hint("a text file is expected here; is this a binary file?"))
            }
        }
    }

    /// The name of the file in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text under a span.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    fn line_starts(&self) -> &[u32] {
        self.line_starts.get_or_init(|| {
            std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', self.text.as_bytes()).map(|at| at as u32 + 1))
                .collect()
        })
    }

    /// The 1-based line that holds a byte.
    pub fn line(&self, offset: u32) -> u32 {
        self.line_starts().partition_point(|&start| start <= offset) as u32
    }

    /// The 1-based line and column of a byte.
    pub fn position(&self, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.line_starts()[line as usize - 1] as usize;
        let end = (offset as usize).min(self.text.len());
        let column = self.text.get(start..end).map_or(end - start, |t| t.chars().count());
        Position { line, column: column as u32 + 1 }
    }

    /// The text of a 1-based line, without its line end.
    pub fn line_text(&self, line: u32) -> &str {
        let starts = self.line_starts();
        let start = starts[line as usize - 1] as usize;
        let end = starts.get(line as usize).map_or(self.text.len(), |&next| next as usize);
        self.text[start..end].trim_end_matches(['\n', '\r'])
    }

    /// A message about a place in this file.
    pub fn diagnostic(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        let position = self.position(span.start);
        Diagnostic {
            file: self.name.clone(),
            position: Some(position),
            line_text: self.line_text(position.line).to_owned(),
            width: (span.end.saturating_sub(span.start)).max(1),
            message: message.into(),
            more: None,
            hint: None,
        }
    }
}

/// The maximum number of names in one message.
const MOST_NAMES: usize = 8;

/// Names of the input as a message lists them: "`a`, `b`", and how many more there are.
pub fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> =
        names.by_ref().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A message about a place in an input file: the error, its place, and the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as the user named it.
    pub file: String,
    /// The place, unless the message is about the file as a whole.
    pub position: Option<Position>,
    line_text: String,
    width: u32,
    /// The error.
    pub message: String,
    /// What few messages have; boxed, since errors are returned by value.
    more: Option<Box<More>>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// More places of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct More {
    /// The place in the sources that the message's place was compiled from, as it is shown.
    origin: Option<String>,
    /// A second place that has to do with the first, itself a message.
    note: Option<Diagnostic>,
}

impl Diagnostic {
    /// The same message with advice added.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Diagnostic {
        self.hint = Some(hint.into());
        self
    }

    /// The same message with a second place, and how that place is connected with the first.
    pub fn with_note(
        mut self,
        source: &SourceFile,
        span: Span,
        message: impl Into<String>,
    ) -> Diagnostic {
        self.more.get_or_insert_default().note = Some(source.diagnostic(span, message));
        self
    }

    /// The same message with the places in the sources that its own place and its note's were compiled from. They are
    /// shown first, in front of the places in this file.
    pub fn with_origins(mut self, own: Option<String>, of_note: Option<String>) -> Diagnostic {
        let more = self.more.get_or_insert_default();
        more.origin = own;
        if let Some(note) = &mut more.note {
            note.more.get_or_insert_default().origin = of_note;
        }
        self
    }

    /// Writes the place and the line with a mark under the span; `severity` is `error` or `note`.
    fn excerpt(
        &self,
        f: &mut fmt::Formatter<'_>,
        position: Position,
        severity: &str,
    ) -> fmt::Result {
        let Position { line, column } = position;
        match self.more.as_ref().and_then(|more| more.origin.as_ref()) {
            Some(origin) => {
                writeln!(f, "{origin}: {severity}: {}", self.message)?;
                writeln!(f, "{}:{line}:{column}: note: in the PTX", self.file)?;
            }
            None => writeln!(f, "{}:{line}:{column}: {severity}: {}", self.file, self.message)?,
        }
        let skip = (column as usize - 1).saturating_sub(SHOWN_COLUMNS / 2);
        let shown: String = self
            .line_text
            .chars()
            .skip(skip)
            .take(SHOWN_COLUMNS)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let number = line.to_string();
        let at = column as usize - 1 - skip;
        let carets = (self.width as usize).min(shown.chars().count().saturating_sub(at)).max(1);
        writeln!(f, "{number} | {shown}")?;
        write!(f, "{:w$} | {:at$}{:^<carets$}", "", "", "", w = number.len())
    }
}

/// Longer lines are shown as a window around the place, so that a minified file stays readable.
const SHOWN_COLUMNS: usize = 160;

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            None => write!(f, "{}: error: {}", self.file, self.message)?,
            Some(position) => self.excerpt(f, position, "error")?,
        }
        let note = self.more.as_ref().and_then(|more| more.note.as_ref());
        if let Some((note, position)) = note.and_then(|note| Some((note, note.position?))) {
            writeln!(f)?;
            note.excerpt(f, position, "note")?;
        }
        self.hint.iter().try_for_each(|hint| write!(f, "\n  help: {hint}"))
    }
}

impl std::error::Error for Diagnostic {}
