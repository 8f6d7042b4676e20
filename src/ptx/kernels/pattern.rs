//! A name with `*` for any text and `?` for one character.

/// Whether a pattern matches a whole name. Takes time in proportion to the product of both lengths at most.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut place) = (0, 0);
    // Behind the last `*`, and the place in the name up to which that `*` reaches.
    let mut retry: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                retry = Some((at, place));
            }
            Some(&byte) if byte == b'?' || byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((behind, reached)) = retry else { return false };
                at = behind;
                place = reached + 1;
                retry = Some((behind, place));
            }
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(stars_and_question_marks, long_patterns_end);

    fn stars_and_question_marks() {
        for (pattern, name) in [
            ("", ""),
            ("*", ""),
            ("a", "a"),
            ("?", "a"),
            ("*", "abc"),
            ("a*c", "abbc"),
            ("*b*", "abc"),
            ("a*b*c", "aXbYbZc"),
            ("jacobi?", "jacobi5"),
            ("**", "x"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("", "a"),
            ("?", ""),
            ("a", "b"),
            ("a", "ab"),
            ("a*c", "abd"),
            ("a?", "a"),
            ("*b", "abc"),
        ] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    fn long_patterns_end() {
        let (pattern, name) = ("*a".repeat(2000), "a".repeat(4000) + "b");
        assert!(!matches(&pattern, &name));
    }
}
