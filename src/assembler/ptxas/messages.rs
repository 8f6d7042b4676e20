//! ptxas's messages, from the rewritten text's names and lines back to the user's.
//!
//! ptxas writes `ptxas FILE, line N; error   : ...` and, in some warnings, `... in line N` without a
//! file. In: the bytes ptxas wrote. Out: the same bytes with temporary names replaced and with the
//! lines of rewritten inputs translated; all other bytes are untouched, text that is not UTF-8
//! included.
//!
//! Where ptxas has said the same of the original, as it does when both are assembled, [`agree`] takes the
//! places from there: they need no translation, and nothing can be taken for a place that is none.

use crate::ptxas::complaints::kind;
use crate::source::LineMap;
use std::ops::Range;

/// The name under which ptxas speaks of an input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shown {
    /// These bytes.
    Literal(Vec<u8>),
    /// The copy that ptxas makes of standard input for `-`, `/tmp/tmpxft_..._stdin`.
    StdinCopy,
}

/// One input whose text ptxas got in another form than the user wrote it.
#[derive(Clone, Debug)]
pub struct Renamed<'a> {
    /// How ptxas names it.
    pub shown: Shown,
    /// How the user named it; `None` leaves the name as it is.
    pub user: Option<Vec<u8>>,
    /// The map of its lines.
    pub lines: &'a LineMap,
}

/// The name that ptxas gives to the text of `--input-as-string`.
pub const TEXT_NAME: &[u8] = b"application ptx input";

/// The messages about the rewritten text, `translated`, with the places named in those about the original. A line that
/// is the same but for its numbers, and names a line number, is taken from the original; other numbers count registers
/// and bytes of the assembled text and stay. If the two differ otherwise, the result is `translated`.
pub fn agree(original: &[u8], translated: Vec<u8>) -> Vec<u8> {
    let lines = |text| -> Vec<(&[u8], String)> {
        let lines = <[u8]>::split_inclusive(text, |&byte| byte == b'\n');
        lines.map(|line| (line, kind(&String::from_utf8_lossy(line)))).collect()
    };
    let (theirs, ours) = (lines(original), lines(&translated));
    let is_same = theirs.len() == ours.len() && theirs.iter().zip(&ours).all(|(a, b)| a.1 == b.1);
    if !is_same {
        return translated;
    }
    let agreed = theirs
        .iter()
        .zip(&ours)
        .map(|(theirs, ours)| if theirs.1.contains("line #") { theirs.0 } else { ours.0 });
    agreed.collect::<Vec<_>>().concat()
}

/// Translates all that ptxas wrote to one stream. `only` is the line map of the call's only input, for
/// messages that name no file.
pub fn translate(output: &[u8], renamed: &[Renamed<'_>], only: Option<&LineMap>) -> Vec<u8> {
    let mut translated = Vec::with_capacity(output.len());
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        translate_line(line, renamed, only, &mut translated);
    }
    translated
}

fn translate_line(
    mut rest: &[u8],
    renamed: &[Renamed<'_>],
    only: Option<&LineMap>,
    out: &mut Vec<u8>,
) {
    while let Some((file, place)) = renamed
        .iter()
        .filter_map(|file| Some((file, find(&file.shown, rest)?)))
        .min_by_key(|(_, place)| (place.start, std::cmp::Reverse(place.end)))
    {
        translate_unnamed(&rest[..place.start], only, out);
        out.extend_from_slice(file.user.as_deref().unwrap_or(&rest[place.clone()]));
        rest = &rest[place.end..];
        if let Some(tail) = rest.strip_prefix(b", line ") {
            out.extend_from_slice(b", line ");
            rest = number(tail, file.lines, out);
        }
    }
    translate_unnamed(rest, only, out);
}

/// Translates the first line number of a stretch of text that names no file. Quoted text is the user's and stays.
fn translate_unnamed(mut text: &[u8], only: Option<&LineMap>, out: &mut Vec<u8>) {
    let is_quoted = |at: usize| text[..at].iter().filter(|&&byte| byte == b'\'').count() % 2 == 1;
    let lead = |lead: &&[u8]| {
        let found = memchr::memmem::find_iter(text, lead).find(|&at| !is_quoted(at))?;
        Some(found + lead.len())
    };
    let leads = [&b" in line "[..], b" on line ", b" around line ", b" at line ", b", line "];
    if let Some((lines, end)) = only.zip(leads.iter().find_map(lead)) {
        out.extend_from_slice(&text[..end]);
        text = number(&text[end..], lines, out);
    }
    out.extend_from_slice(text);
}

/// Translates the number that `text` begins with, if it does; returns the rest.
fn number<'t>(text: &'t [u8], lines: &LineMap, out: &mut Vec<u8>) -> &'t [u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let parsed: Option<u32> =
        std::str::from_utf8(&text[..digits]).ok().and_then(|number| number.parse().ok());
    match parsed {
        Some(line) => {
            out.extend_from_slice(lines.original(line).to_string().as_bytes());
            &text[digits..]
        }
        None => text,
    }
}

/// The part of a line that names an input.
fn find(shown: &Shown, line: &[u8]) -> Option<Range<usize>> {
    match shown {
        Shown::Literal(name) => {
            memchr::memmem::find(line, name).map(|start| start..start + name.len())
        }
        Shown::StdinCopy => {
            const SUFFIX: &[u8] = b"_stdin";
            let mark = memchr::memmem::find(line, b"tmpxft_")?;
            let end = mark + memchr::memmem::find(&line[mark..], SUFFIX)? + SUFFIX.len();
            let starts_name = |&byte: &u8| byte == b' ' || byte == b'\'';
            let start = line[..mark].iter().rposition(starts_name).map_or(0, |at| at + 1);
            Some(start..end)
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        names_and_lines_become_the_users,
        places_are_those_that_were_named_of_the_original,
        everything_else_stays,
        standard_input_keeps_the_name_that_ptxas_gives_it
    );

    /// Lines 1 to 4 as they were, 3 inserted ones for line 5, and so on.
    fn shifted() -> LineMap {
        LineMap::from_runs(vec![(1, 1), (5, 5), (6, 5), (7, 5), (8, 5)])
    }

    fn renamed(lines: &LineMap) -> Vec<Renamed<'_>> {
        let file = |shown: &[u8], user: &[u8]| Renamed {
            shown: Shown::Literal(shown.to_vec()),
            user: Some(user.to_vec()),
            lines,
        };
        vec![file(b"/tmp/p/1.ptx", b"sub/my file.ptx"), file(b"/tmp/p/11.ptx", b"b.ptx")]
    }

    fn check(input: &str, expected: &str) {
        let lines = shifted();
        let output = translate(input.as_bytes(), &renamed(&lines), Some(&lines));
        assert_eq!(String::from_utf8_lossy(&output), expected);
    }

    fn names_and_lines_become_the_users() {
        check(
            "ptxas /tmp/p/1.ptx, line 12; error   : Unknown symbol '%f9'\nptxas fatal   : aborted\n",
            "ptxas sub/my file.ptx, line 9; error   : Unknown symbol '%f9'\nptxas fatal   : aborted\n",
        );
        check(
            "ptxas /tmp/p/11.ptx, line 1; fatal   : Missing .version at start of file '/tmp/p/11.ptx'",
            "ptxas b.ptx, line 1; fatal   : Missing .version at start of file 'b.ptx'",
        );
        check(
            "info : loss in the function 'k' in line 10\n",
            "info : loss in the function 'k' in line 7\n",
        );
        check(
            "info : wait_group is injected in around line 10 by compiler in function 'k'\n",
            "info : wait_group is injected in around line 7 by compiler in function 'k'\n",
        );
        check(
            "info : it is at line 10 in function 'k'\n",
            "info : it is at line 7 in function 'k'\n",
        );
    }

    fn places_are_those_that_were_named_of_the_original() {
        let agreed = |original: &str, rewritten: &str| {
            let agreed = agree(original.as_bytes(), rewritten.as_bytes().to_vec());
            String::from_utf8(agreed).unwrap()
        };
        let original = "info : around line 7\ninfo : Used 8 registers\n\n";
        let expected = "info : around line 7\ninfo : Used 10 registers\n\n";
        assert_eq!(
            agreed(original, "info : around line 10\ninfo : Used 10 registers\n\n"),
            expected
        );
        for other in
            ["info : around line 10\n", "", "info : over line 7\ninfo : Used 8 registers\n\n"]
        {
            assert_eq!(agreed(original, other), other);
        }
        let split = "in the copy /tmp/tmpxft_00ab_000-0_stdin, line 3; warning\n";
        assert_eq!(agreed(split, &split.replace("00ab", "1111").replace('3', "5")), split);
    }

    fn everything_else_stays() {
        for text in [
            "ptxas info    : Used 8 registers, used 0 barriers, 360 bytes cmem[0]\n",
            "ptxas /tmp/p/2.ptx: nothing\r\n\n",
            "ptxas c.ptx, line x; error\n",
            "no newline at the end",
            "in line 99999999999999999999\n",
            "ptxas warning : Pragma 'foo in line 120' unsupported\n",
        ] {
            check(text, text);
        }
        let bytes = b"\xff /tmp/p/1.ptx \xfe\n";
        let lines = shifted();
        assert_eq!(translate(bytes, &renamed(&lines), None), b"\xff sub/my file.ptx \xfe\n");
        let unnamed = b"ptxas warning : on line 10\n";
        assert_eq!(translate(unnamed, &renamed(&lines), None), unnamed);
    }

    fn standard_input_keeps_the_name_that_ptxas_gives_it() {
        let lines = shifted();
        let stdin = [Renamed { shown: Shown::StdinCopy, user: None, lines: &lines }];
        let text = b"ptxas /tmp/tmpxft_00002bc3_00000000-0_stdin, line 10; error   : x\n";
        let expected = b"ptxas /tmp/tmpxft_00002bc3_00000000-0_stdin, line 7; error   : x\n";
        assert_eq!(translate(text, &stdin, None), expected);
    }
}
