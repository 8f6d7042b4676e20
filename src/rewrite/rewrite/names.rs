//! Names for new registers that cannot collide with any in the module.

use crate::ptx::write::Fresh;

/// A stem that occurs nowhere in the text; new registers are numbered from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    stem: String,
}

impl Names {
    /// Chooses the stem for a text: deterministic, and absent even from comments and strings.
    pub fn for_text(text: &str) -> Names {
        let stem = crate::reuse::OWN_REGISTERS;
        // One underscore more than behind any such stem in the text, found in one pass. (Labels have
        // the word without the percent sign.)
        let word = stem.trim_start_matches('%');
        let found = memchr::memmem::find_iter(text.as_bytes(), word.as_bytes());
        let behind = |at: usize| {
            text.as_bytes()[at + word.len()..].iter().take_while(|&&byte| byte == b'_').count()
        };
        let underscores = found.map(|at| behind(at) + 1).max().unwrap_or(0);
        Names { stem: format!("{stem}{}_", "_".repeat(underscores)) }
    }

    /// The registers of a function in which none has been handed out yet.
    pub fn fresh(&self) -> Fresh {
        Fresh::new(&self.stem)
    }
}
