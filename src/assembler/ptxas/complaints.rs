//! Messages of ptxas about a rewritten text that it does not print about the original.
//!
//! In: the messages of ptxas about both. Out: the complaints that are more frequent, and the counts that are larger: a
//! warning, a note about lost performance, bytes of spilled registers, of stack, of local memory. Each comes with the
//! function that ptxas names, if any. Registers are not compared here: their cost depends on the machine
//! ([`crate::ptxas::losses`]).
//!
//! Messages are compared by their kinds: a kind is the line without its numbers.

use std::collections::BTreeMap;

/// A complaint about the rewritten text alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Complaint {
    /// The function, if ptxas names one.
    pub function: Option<String>,
    /// The message of ptxas, for people.
    pub what: String,
}

/// What marks a complaint, in its kind.
const MARKS: [&str; 3] = ["warning", "Performance Loss", "(C#"];

/// The counts in ptxas's messages that cost time: `-v`, `-warn-spills` and `-warn-lmem-usage` print it.
const COUNTED: [&str; 5] = [
    "bytes stack frame",
    "bytes spill stores",
    "bytes spill loads",
    "bytes lmem",
    "bytes cumulative stack size",
];

/// The complaints about the rewritten text that the original does not bring, or fewer times or with
/// smaller numbers. The arguments are all that ptxas wrote in each run.
pub fn complaints(original: &str, rewritten: &str) -> Vec<Complaint> {
    let (before, after) = (Said::of(original), Said::of(rewritten));
    let more = after.kinds.iter().filter_map(|(kind, (count, line))| {
        let had = before.kinds.get(kind).map_or(0, |(count, _)| *count);
        (*count > had)
            .then(|| Complaint { function: function_in(line), what: format!("ptxas says: {line}") })
    });
    let larger = after.counts.iter().filter_map(|((function, what), &number)| {
        let had = before.counts.get(&(function.clone(), *what)).copied().unwrap_or(0);
        (number > had).then(|| Complaint {
            function: function.clone(),
            what: format!("{number} {what} instead of {had}"),
        })
    });
    more.chain(larger).collect()
}

/// All that ptxas said in a run.
#[derive(Default)]
struct Said<'t> {
    /// How often each kind of complaint comes, and the first of it.
    kinds: BTreeMap<String, (usize, &'t str)>,
    /// The sums of counts, by function.
    counts: BTreeMap<(Option<String>, &'static str), u64>,
}

impl<'t> Said<'t> {
    fn of(text: &'t str) -> Said<'t> {
        let mut said = Said::default();
        // With `-v` the numbers follow a line that names the function.
        let mut current = None;
        for line in text.lines().map(str::trim) {
            let named = function_in(line);
            current = named.clone().or(current);
            let kind = kind(line);
            if MARKS.iter().any(|mark| kind.contains(mark)) {
                said.kinds.entry(kind).or_insert((0, line)).0 += 1;
            }
            for what in COUNTED {
                if let Some(number) = number_before(line, what) {
                    *said.counts.entry((current.clone(), what)).or_default() += number;
                }
            }
        }
        said
    }
}

/// The line with each number made one sign.
pub fn kind(line: &str) -> String {
    let mut kind = String::with_capacity(line.len());
    for (index, part) in line.split("tmpxft_").enumerate() {
        // The copies that ptxas makes of standard input have a number in hexadecimal.
        let rest = if index == 0 {
            part
        } else {
            kind.push_str("tmpxft_");
            part.trim_start_matches(|c: char| c.is_ascii_hexdigit() || matches!(c, '_' | '-'))
        };
        for c in rest.chars() {
            match c {
                '0'..='9' if kind.ends_with('#') => {}
                '0'..='9' => kind.push('#'),
                _ => kind.push(c),
            }
        }
    }
    kind
}

/// The number that stands before some words.
fn number_before(line: &str, words: &str) -> Option<u64> {
    let before = line[..line.find(words)?].trim_end();
    let digits = before.len() - before.bytes().rev().take_while(u8::is_ascii_digit).count();
    before[digits..].parse().ok()
}

/// The function that a line names: `... function 'k' ...`, or `Function properties for k`.
fn function_in(line: &str) -> Option<String> {
    let quoted = || {
        let (_, rest) = line.split_once("unction '")?;
        rest.split_once('\'').map(|(name, _)| name)
    };
    let name = line.split_once("Function properties for ").map(|(_, name)| name).or_else(quoted)?;
    Some(name.trim().to_owned())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        a_new_warning_counts_and_a_moved_one_does_not,
        larger_numbers_count_for_their_function,
        copies_of_standard_input_are_one_kind
    );

    fn said(original: &str, rewritten: &str) -> Vec<(Option<String>, String)> {
        let all = complaints(original, rewritten);
        all.into_iter().map(|complaint| (complaint.function, complaint.what)).collect()
    }

    fn a_new_warning_counts_and_a_moved_one_does_not() {
        let one = "ptxas info    : (C7518) Potential Performance Loss: serialized in the function 'k' in line 97\n";
        let moved = one.replace("97", "120");
        assert_eq!(said(one, &moved), []);
        assert_eq!(said(&one.repeat(2), one), []);
        let found = said(one, &one.repeat(2));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0.as_deref(), Some("k"));
        assert!(found[0].1.starts_with("ptxas says: ptxas info    : (C7518)"), "{found:?}");
        assert_eq!(said("", "ptxas warning : something\n")[0].0, None);
    }

    fn larger_numbers_count_for_their_function() {
        let text = |spilled: u32| {
            format!(
                "ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
                 ptxas info    : Function properties for a\n    \
                 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
                 ptxas info    : Used 255 registers, 388 bytes cmem[0]\n\
                 ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
                 ptxas info    : Function properties for b\n    \
                 8 bytes stack frame, 8 bytes spill stores, {spilled} bytes spill loads\n"
            )
        };
        assert_eq!(said(&text(8), &text(8)), []);
        assert_eq!(said(&text(8), &text(4)), []);
        let expected = "12 bytes spill loads instead of 8".to_owned();
        assert_eq!(said(&text(8), &text(12)), [(Some("b".to_owned()), expected)]);
        let fewer = text(8).replace("255 registers", "24 registers");
        assert_eq!(said(&fewer, &text(8)), [], "registers are not for this");
    }

    fn copies_of_standard_input_are_one_kind() {
        assert_eq!(
            kind("ptxas /tmp/tmpxft_0001cbd_00000000-0_stdin, line 23; warning : x"),
            kind("ptxas /tmp/tmpxft_00ffe0a_00000000-0_stdin, line 7; warning : x")
        );
    }
}
