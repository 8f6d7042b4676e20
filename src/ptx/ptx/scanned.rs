//! Bodies before they are parsed, for callers that want only some of them.
//!
//! In: a body's text. Out: whether something seems to stand there. What stands in a comment counts as well: then the body is
//! parsed for nothing.

use memchr::memmem;

/// A body as the lexical scan saw it.
#[derive(Clone, Copy, Debug)]
pub struct Scanned<'t> {
    pub(super) text: &'t str,
    /// How many loads from global memory it has, those from generic addresses included.
    pub global_loads: usize,
}

impl Scanned<'_> {
    /// Whether a text stands somewhere in the body.
    pub fn has(&self, text: &str) -> bool {
        memmem::find(self.text.as_bytes(), text.as_bytes()).is_some()
    }

    /// Whether a variable in shared memory seems to be declared: `.shared` stands there by itself.
    fn declares_shared(&self) -> bool {
        memmem::find_iter(self.text.as_bytes(), ".shared").any(|at| {
            let before = self.text.as_bytes()[..at].last();
            before
                .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b';' | b'{' | b'/'))
        })
    }

    /// Whether there seem to be at least a number of stores outside of shared, local and parameter memory.
    pub fn has_stores(&self, least: usize) -> bool {
        let spaces: [&[u8]; 3] = [b"shared", b"local", b"param"];
        let stores = memmem::find_iter(self.text.as_bytes(), "st.").filter(|at| {
            let (before, behind) = self.text.as_bytes().split_at(*at);
            let begins = before.last().is_none_or(|byte| {
                byte.is_ascii_whitespace() || matches!(byte, b';' | b'{' | b'}' | b':' | b'/')
            });
            begins && !spaces.iter().any(|space| behind[3..].starts_with(space))
        });
        stores.take(least).count() == least
    }

    /// Whether there seems to be a store that a loop may repeat: one outside of shared, local and parameter memory, and a
    /// branch.
    pub fn repeats_stores(&self) -> bool {
        self.has("bra") && self.has_stores(1)
    }

    /// Whether an array in shared memory seems to be used: one that is declared here, or one between barriers.
    pub fn uses_shared(&self) -> bool {
        self.declares_shared() || self.has("bar") && self.has(".shared")
    }
}
