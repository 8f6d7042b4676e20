//! The words of a file named by `--options-file`.
//!
//! White space separates words and double quotes hold them together, anywhere in a word; `#` and
//! single quotes mean nothing. ptxas also unescapes backslashes, by rules that differ inside quotes
//! and are not documented: a text with a backslash is not split here, nor is one with unusual control
//! characters.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Splits an options file into words; `None` if ptxas might split it otherwise.
pub fn split(text: &[u8]) -> Option<Vec<OsString>> {
    if text.iter().any(|byte| matches!(byte, b'\\' | 0 | 0x0b | 0x0c)) {
        return None;
    }
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quoted = false;
    for &byte in text {
        match byte {
            b'"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            b' ' | b'\t' | b'\n' | b'\r' if !quoted => {
                words.extend(word.take().map(OsString::from_vec));
            }
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word.map(OsString::from_vec));
    (!quoted).then_some(words)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        white_space_separates_and_quotes_join,
        what_may_be_split_otherwise_is_not_split
    );

    fn white_space_separates_and_quotes_join() {
        let words =
            split(b" -arch=\"sm_80\" a\".ptx\"\r\n-v\t\"sp ace/a b.ptx\" \"\" # 'x'").unwrap();
        let expected = ["-arch=sm_80", "a.ptx", "-v", "sp ace/a b.ptx", "", "#", "'x'"];
        assert_eq!(words, expected);
        assert_eq!(split(b" \n").unwrap(), [""; 0]);
    }

    fn what_may_be_split_otherwise_is_not_split() {
        assert_eq!(split(b"sp\\ ace.ptx"), None);
        assert_eq!(split(b"\"open"), None);
        assert_eq!(split(b"a\0b"), None);
    }
}
