//! Lines of source files, as far as these can be read, and the words at a place in them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Larger files are not read.
const LARGEST: u64 = 16 << 20;

/// Longer lines are not shown.
pub(super) const LONGEST_LINE: usize = 400;

/// Source files that were read once.
#[derive(Debug, Default)]
pub struct Sources {
    /// Where relative names are looked for besides the working directory.
    folders: Vec<PathBuf>,
    files: BTreeMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Relative names are looked for in the working directory, then beside a file.
    pub fn beside(file: &str) -> Sources {
        let folders = Path::new(file).parent().map(Path::to_owned).into_iter().collect();
        Sources { folders, files: BTreeMap::new() }
    }

    /// A 1-based line of a file; none if there is none or the file cannot be read.
    pub fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        let lines = self.lines(file)?;
        let text = lines.get((line as usize).checked_sub(1)?)?;
        (text.len() <= LONGEST_LINE && !text.trim().is_empty()).then_some(text)
    }

    /// The lines of a file, if it can be read.
    pub fn lines(&mut self, file: &str) -> Option<&[String]> {
        if !self.files.contains_key(file) {
            let lines = self.read(file);
            self.files.insert(file.to_owned(), lines);
        }
        self.files.get(file)?.as_deref()
    }

    fn read(&self, file: &str) -> Option<Vec<String>> {
        let name = Path::new(file);
        let beside = self.folders.iter().map(|folder| folder.join(name));
        let candidates = std::iter::once(name.to_owned()).chain(beside);
        let mut readable = candidates.filter(|path| {
            let found = std::fs::metadata(path);
            found.is_ok_and(|found| found.is_file() && found.len() <= LARGEST)
        });
        let bytes = std::fs::read(readable.next()?).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.lines().map(|line| line.replace(['\t', '\r'], " ")).collect())
    }
}

/// The bytes of an expression that begins at a 1-based column: a name with its brackets, or one word.
pub(super) fn expression(line: &str, column: u32) -> Range<usize> {
    let start = line.char_indices().nth((column as usize).saturating_sub(1)).map(|(at, _)| at);
    let start = match start {
        Some(start) if column > 0 => start,
        _ => line.len() - line.trim_start().len(),
    };
    let rest = &line[start..];
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let name = rest.find(|c: char| !in_name(c)).unwrap_or(rest.len());
    let mut end = name;
    let mut open = 0;
    for (at, c) in rest[name..].char_indices() {
        match c {
            '[' | '(' => open += 1,
            ']' | ')' if open > 0 => open -= 1,
            _ if open == 0 => break,
            _ => {}
        }
        if open == 0 {
            end = name + at + c.len_utf8();
        }
    }
    let first = rest.chars().next().map_or(0, char::len_utf8);
    start..start + end.max(first)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(names_with_their_brackets);

    fn names_with_their_brackets() {
        let at = |line: &'static str, column| &line[expression(line, column)];
        assert_eq!(at("  t += a[i*m + k];", 8), "a[i*m + k]");
        assert_eq!(at("  t += p.x[f(i)][2] + 1;", 8), "p.x[f(i)][2]");
        assert_eq!(at("  *p = 1;", 3), "*");
        assert_eq!(at("  b = 1;", 0), "b");
        assert_eq!(at("x[", 1), "x");
        assert_eq!(at("ü[1]", 1), "ü[1]");
        assert_eq!(at("", 7), "");
    }
}
