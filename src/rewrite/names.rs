//! Names for new registers that cannot collide with any in the module.

/// A stem that occurs nowhere in the text; new registers are numbered from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names {
    stem: String,
}

impl Names {
    /// Chooses the stem for a text: deterministic, and absent even from comments and strings.
    pub fn for_text(text: &str) -> Names {
        let mut stem = "%ptxasw".to_owned();
        while memchr::memmem::find(text.as_bytes(), stem.as_bytes()).is_some() {
            stem.push('_');
        }
        Names { stem }
    }

    /// A predicate register.
    pub fn predicate(&self, number: u32) -> String {
        format!("{}_p{number}", self.stem)
    }

    /// A 32-bit register.
    pub fn word(&self, number: u32) -> String {
        format!("{}_r{number}", self.stem)
    }

    /// Declarations of so many of each; nothing for none.
    pub fn declare(&self, predicates: u32, words: u32) -> String {
        let mut text = String::new();
        if predicates > 0 {
            text += &format!("\n\t.reg .pred {}_p<{predicates}>;", self.stem);
        }
        if words > 0 {
            text += &format!("\n\t.reg .b32 {}_r<{words}>;", self.stem);
        }
        text
    }
}
