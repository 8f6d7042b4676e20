//! From a failed match to a message in words of PTX: where the text stopped making sense, what
//! stands there, and what could have stood there instead.

use pest::error::{ErrorVariant, InputLocation};

use super::fault::Fault;
use super::grammar::{Fragment, Rule};
use crate::source::Span;

/// Explains why an entry rule did not match a piece.
pub(super) fn explain(fragment: Fragment<'_>, entry: Rule) -> Fault {
    let Some(error) = fragment.attempts(entry) else {
        return Fault::new(Span::new(0, 0), "syntax error");
    };
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let span = Span { start: fragment.start + at as u32, end: fragment.start + at as u32 + 1 };
    match error.variant {
        ErrorVariant::ParsingError { positives, .. } => {
            Fault::new(span, format!("expected {positives:?}"))
        }
        ErrorVariant::CustomError { message } => Fault::new(span, message),
    }
}
