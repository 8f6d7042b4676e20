//! Words that several parts of the page write.

/// A number of things, with their name: `1 load`, `2 loads`.
pub(super) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}
