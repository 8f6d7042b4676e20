//! A syntax error in the form that the stages of the parser hand to each other. It knows its place in
//! bytes only, so that functions can be parsed side by side; [`Fault::diagnose`] makes a message for
//! people of it.

use crate::source::{Diagnostic, SourceFile, Span};

/// A mistake at a place of the input.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// The place of the mistake.
    pub span: Span,
    /// The message about it.
    pub message: String,
    /// What to do, if there is advice.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without advice.
    pub(super) fn new(span: Span, message: impl Into<String>) -> Fault {
        Fault { span, message: message.into(), hint: None }
    }

    /// This fault, with advice on what to do.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// The message as the user sees it.
    pub(super) fn diagnose(self, source: &SourceFile) -> Diagnostic {
        if is_cuda(source.text()) {
            let message = "this is CUDA, not PTX";
            let advice = format!("compile it first: `nvcc -ptx {}`", source.name());
            return source.diagnostic(self.span, message).with_hint(advice);
        }
        let diagnostic = source.diagnostic(self.span, self.message);
        match self.hint {
            Some(hint) => diagnostic.with_hint(hint),
            None => diagnostic,
        }
    }
}

/// Whether a text that is not PTX is CUDA: it has words that CUDA alone has, and no `.version`, with which each module begins.
fn is_cuda(text: &str) -> bool {
    const WORDS: [&str; 4] = ["__global__", "__device__", "__host__", "#include"];
    !text.contains(".version") && WORDS.iter().any(|word| text.contains(word))
}
