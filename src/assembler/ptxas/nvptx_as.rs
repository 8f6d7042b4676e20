//! The command line of `nvptx-none-as`, GCC's assembler for nvptx.
//!
//! This assembler assembles nothing: it checks PTX text, with ptxas too if there is one, and writes
//! the text out again with its declarations in order, by the comments `// BEGIN ...` that GCC puts in.
//! In: the words of a call. Out: a [`CommandLine`], as for calls of ptxas.
//!
//! Its options, tried with nvptx-tools of 2022: `-m TARGET`, `-o FILE`, `-v`, `--verify`,
//! `--no-verify`, `--help`, `--version`, read by getopt: flags may be run together, a value may follow
//! its letter directly, long names may be cut short, and `--` ends the options. Without an input it
//! reads standard input.

use crate::ptxas::command_line::{CommandLine, Input, Kind};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// A name by which standard input can be opened; only later versions know `-`.
const STDIN: &str = "/dev/stdin";

/// Understands the arguments of a call (the program's name not among them).
pub fn parse(arguments: &[OsString]) -> CommandLine {
    let mut line =
        CommandLine { words: arguments.to_vec(), foreign_lines: true, ..CommandLine::default() };
    let mut words = arguments.iter().enumerate();
    let mut options = true;
    while let Some((word, argument)) = words.next() {
        let bytes = argument.as_bytes();
        if options && bytes == b"--" {
            options = false;
        } else if options && bytes.starts_with(b"--") {
            if [&b"--h"[..], b"--vers"].iter().any(|query| bytes.starts_with(query)) {
                line.hand_over = Some("the assembler only prints something");
            }
        } else if options && bytes.len() > 1 && bytes.starts_with(b"-") {
            // The first letter that takes a value takes the rest of the word, or the next one.
            let takes_value = |byte: &u8| matches!(byte, b'm' | b'o');
            let Some(at) = bytes.iter().position(takes_value) else { continue };
            let rest = OsStr::from_bytes(&bytes[at + 1..]);
            let value = if rest.is_empty() {
                words.next().map(|(_, next)| next.as_os_str())
            } else {
                Some(rest)
            };
            if bytes[at] == b'o' {
                line.output = value.map(OsStr::to_owned);
            }
        } else {
            let stdin = ["-", STDIN].iter().any(|name| argument == name);
            let kind = if stdin { Kind::Stdin } else { Kind::File };
            line.inputs.push(Input { kind, word, at: 0 });
        }
    }
    match line.inputs.len() {
        0 => {
            line.inputs.push(Input { kind: Kind::Stdin, word: line.words.len(), at: 0 });
            line.words.push(STDIN.into());
        }
        1 => {}
        _ => line.hand_over = Some("several inputs, which the assembler refuses"),
    }
    // Without an output file the text goes to standard output, which must not be captured.
    line.output.get_or_insert_with(|| "/dev/stdout".into());
    line
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(the_input_is_told_from_values, the_output_and_questions);

    fn inputs(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let parsed = parse(&words);
        assert_eq!(parsed.words[..words.len()], words, "{line}");
        let value = |input| parsed.value(input).to_string_lossy().into_owned();
        parsed.inputs.iter().map(value).collect()
    }

    fn the_input_is_told_from_values() {
        for (line, expected) in [
            ("-m sm_35 -o x.o x.s", "x.s"),
            ("x.s -msm_35 -ox.o -v", "x.s"),
            ("-vo x.o --verify x.s --no-verify", "x.s"),
            ("-o x.o -- -m", "-m"),
            ("-o x.o -", "-"),
            ("-o x.o", STDIN),
            ("", STDIN),
        ] {
            assert_eq!(inputs(line), [expected], "{line}");
        }
    }

    fn the_output_and_questions() {
        let words = |line: &str| line.split_whitespace().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(parse(&words("-vox.o a.s")).output, Some("x.o".into()));
        assert_eq!(parse(&words("a.s -m")).output, Some("/dev/stdout".into()));
        for query in ["--help", "--hel a.s", "--version", "a.s b.s"] {
            assert!(parse(&words(query)).hand_over.is_some(), "{query}");
        }
        for call in ["a.s", "--verify a.s", "--ver a.s"] {
            assert!(parse(&words(call)).hand_over.is_none(), "{call}");
        }
    }
}
