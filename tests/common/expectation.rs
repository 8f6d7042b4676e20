//! Expectations that stand in a case file, behind the load they are about:
//!
//! ```text
//! ld.global.f32 %f2, [%rd6+4];   // keep
//! ld.global.f32 %f2, [%rd6+4];   // keep: barrier
//! ld.global.f32 %f2, [%rd6+4];   // shuffle: +1
//! ld.global.f32 %f2, [%rd6+4];   // shuffle: +1 from %f1 guards: linear-lanes, whole-warp
//! ld.global.f32 %f2, [%rd6+4];   // shuffle: +1 compared
//! ld.global.f32 %f2, [%rd6+4];   // wide: %f1
//! .shared .align 4 .b8 t[1024];   // bank: padding
//! add.s32 %r20, %r18, %r19;   // collective: redux.sync
//! ```
//!
//! The text behind `keep:` must occur in the reason. `from` names a register of the source load;
//! `guards:` lists all run-time checks in any order. Where they are left out, anything is right, but for one
//! thing: `compared` stands where addresses are compared at run time, and only there. Behind the
//! name of another strategy (`reuse:`, `wide:`, `window:`, `aos:`) stands a register of the load that serves it, if
//! there is another one.

use std::collections::BTreeSet;
use std::fmt;

use ptxasw::report::{ArrayReport, CollectiveReport, Decision, LoadReport};
use ptxasw::select::StrategyName;
use strum::IntoEnumIterator;

/// The expectation of one load, or its outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// The load stays.
    Keep {
        /// A part of the reason; may be empty.
        reason: String,
    },
    /// The load is served by another strategy.
    Served {
        /// The strategy.
        by: &'static str,
        /// The destination operand of the load that serves it, or a register in it.
        from: Option<String>,
    },
    /// The load is replaced.
    Shuffle {
        /// The delta.
        delta: i32,
        /// The source's destination operand, or a register in it.
        from: Option<String>,
        /// Whether addresses are compared at run time.
        compared: bool,
        /// All run-time checks.
        guards: Option<Vec<String>>,
    },
}

/// How the check begins that compares addresses.
const COMPARED: &str = "bytes-apart";

/// Splits a line into its statement and the expectation behind it.
///
/// # Errors
/// An expectation that cannot be read.
pub fn split(line: &str) -> Result<(&str, Option<Expectation>), String> {
    let Some((statement, comment)) = line.split_once("//") else { return Ok((line, None)) };
    let words = comment.trim();
    let (kind, rest) = words.split_once(':').unwrap_or((words, ""));
    let parsed = match kind.trim_end() {
        _ if statement.trim().is_empty() => None,
        "keep" => Some(Expectation::Keep { reason: rest.trim().to_owned() }),
        "shuffle" => Some(parse_shuffle(rest).ok_or(format!("cannot read `{words}`"))?),
        word => StrategyName::iter().map(|name| name.facts().decision).find(|by| *by == word).map(
            |by| {
                let from = Some(rest.trim().to_owned()).filter(|from| !from.is_empty());
                Expectation::Served { by, from }
            },
        ),
    };
    Ok(if parsed.is_some() { (statement.trim_end(), parsed) } else { (line, None) })
}

fn parse_shuffle(text: &str) -> Option<Expectation> {
    let (head, guards) = match text.split_once("guards:") {
        Some((head, list)) => (head, Some(guards(list))),
        None => (text, None),
    };
    let mut words = head.split_whitespace();
    let delta = words.next()?.parse().ok()?;
    let mut next = words.next();
    let mut from = None;
    if next == Some("from") {
        from = Some(words.next()?.to_owned());
        next = words.next();
    }
    let compared = next == Some("compared");
    if compared {
        next = words.next();
    }
    next.is_none().then_some(Expectation::Shuffle { delta, from, compared, guards })
}

/// The names in a list with commas; none in an empty one.
fn guards(list: &str) -> Vec<String> {
    let named = list.split(',').map(str::trim).filter(|guard| !guard.is_empty());
    named.map(str::to_owned).collect()
}

impl Expectation {
    /// What became of a load, in full. `source` is the report of its source load.
    pub fn of(load: &LoadReport, source: Option<&LoadReport>) -> Expectation {
        match load.decision {
            Decision::Keep => Expectation::Keep { reason: load.reason.clone().unwrap_or_default() },
            Decision::By(StrategyName::Paper) => Expectation::Shuffle {
                delta: load.delta.unwrap_or(i32::MAX),
                from: source.map(|s| s.register.clone()),
                compared: load.guards.iter().flatten().any(|guard| guard.starts_with(COMPARED)),
                guards: Some(load.guards.clone().unwrap_or_default()),
            },
            Decision::By(_) => Expectation::Served {
                by: load.decision.word(),
                from: source.map(|source| source.register.clone()),
            },
        }
    }

    /// What became of an array in shared memory; nothing, if nobody asked for it.
    pub fn of_array(array: &ArrayReport) -> Option<Expectation> {
        match (&array.layout, &array.reason) {
            (Some(layout), _) => {
                Some(Expectation::Served { by: "bank", from: Some(layout.clone()) })
            }
            (None, reason) => Some(Expectation::Keep { reason: reason.clone()? }),
        }
    }

    /// What became of a collective.
    pub fn of_collective(collective: &CollectiveReport) -> Expectation {
        match collective.decision {
            Decision::Keep => {
                Expectation::Keep { reason: collective.reason.clone().unwrap_or_default() }
            }
            Decision::By(_) => {
                Expectation::Served { by: "collective", from: collective.becomes.clone() }
            }
        }
    }

    /// Whether what became of a load is what was expected.
    pub fn admits(&self, actual: &Expectation) -> bool {
        use Expectation::{Keep, Served, Shuffle};
        match (self, actual) {
            (Keep { reason }, Keep { reason: actual }) => actual.contains(reason.as_str()),
            (Served { by, from }, Served { by: actual, from: other }) => {
                by == actual
                    && from.as_ref().is_none_or(|register| {
                        other.iter().any(|operand| names(operand).any(|name| name == register))
                    })
            }
            (
                Shuffle { delta, from, compared, guards },
                Shuffle {
                    delta: actual_delta,
                    from: actual_from,
                    compared: actual_compared,
                    guards: actual_guards,
                },
            ) => {
                delta == actual_delta
                    && compared == actual_compared
                    && from.as_ref().is_none_or(|r| {
                        actual_from.as_ref().is_some_and(|operand| names(operand).any(|n| n == r))
                    })
                    && guards.as_ref().is_none_or(|g| {
                        let actual = actual_guards.iter().flatten().collect::<BTreeSet<_>>();
                        g.iter().collect::<BTreeSet<_>>() == actual
                    })
            }
            _ => false,
        }
    }

    /// The expectation that says as much as an old one did and agrees with what became of the load.
    pub fn blessed(old: Option<&Expectation>, actual: &Expectation) -> Expectation {
        use Expectation::Shuffle;
        let mut new = actual.clone();
        match (old, &mut new) {
            (Some(old), _) if old.admits(actual) => return old.clone(),
            (
                Some(Shuffle { from: old_from, guards: old_guards, .. }),
                Shuffle { from, guards, .. },
            ) => {
                *from = from.take().filter(|_| old_from.is_some());
                *guards = guards.take().filter(|_| old_guards.is_some());
            }
            (_, Shuffle { guards, .. }) => *guards = None,
            _ => {}
        }
        new
    }
}

/// The names in an operand such as `{%f1, %f2}`.
fn names(operand: &str) -> impl Iterator<Item = &str> {
    operand.split(|c: char| "{}, ".contains(c)).filter(|name| !name.is_empty())
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expectation::Keep { reason } if reason.is_empty() => write!(f, "keep"),
            Expectation::Keep { reason } => write!(f, "keep: {reason}"),
            Expectation::Served { by, from } => {
                write!(f, "{by}")?;
                match from.as_ref().and_then(|from| names(from).next()) {
                    Some(name) => write!(f, ": {name}"),
                    None => Ok(()),
                }
            }
            Expectation::Shuffle { delta, from, compared, guards } => {
                match delta {
                    0 => write!(f, "shuffle: 0")?,
                    delta => write!(f, "shuffle: {delta:+}")?,
                }
                // A vector's first register stands for all of them.
                if let Some(name) = from.as_ref().and_then(|from| names(from).next()) {
                    write!(f, " from {name}")?;
                }
                if *compared {
                    write!(f, " compared")?;
                }
                guards.iter().try_for_each(|guards| {
                    write!(f, " guards:")?;
                    guards.iter().enumerate().try_for_each(|(index, guard)| {
                        write!(f, "{} {guard}", if index > 0 { "," } else { "" })
                    })
                })
            }
        }
    }
}

#[test]
fn expectations_are_read_as_they_are_written() {
    for text in [
        "keep",
        "keep: may-alias store",
        "shuffle: 0",
        "shuffle: -3 from %f1",
        "shuffle: 0 compared",
        "shuffle: +2 from %f1 compared guards: whole-warp",
        "shuffle: +1 guards: linear-lanes, no-wrap %r13",
        "shuffle: 0 from %f1 guards:",
        "wide",
        "reuse: %f1",
    ] {
        let line = format!("\tld.global.f32 %f2, [%rd6];   // {text}");
        let (statement, expectation) = split(&line).expect(text);
        assert_eq!(statement, "\tld.global.f32 %f2, [%rd6];");
        assert_eq!(expectation.expect(text).to_string(), text);
    }
    assert_eq!(split("// keep: prose").expect("prose"), ("// keep: prose", None));
    assert_eq!(split("add; // keep it").expect("prose"), ("add; // keep it", None));
    assert!(split("ld; // shuffle: one").is_err());
    assert!(split("ld; // shuffle: 1 to %f1").is_err());
}

#[test]
fn an_expectation_refuses_what_differs() {
    let read = |text: &str| split(&format!("ld; // {text}")).expect(text).1.expect(text);
    let actual = read("shuffle: +1 from %f1 guards: whole-warp, linear-lanes");
    for right in
        ["shuffle: +1", "shuffle: +1 from %f1", "shuffle: 1 guards: linear-lanes, whole-warp"]
    {
        assert!(read(right).admits(&actual), "{right}");
    }
    for wrong in [
        "keep",
        "shuffle: -1",
        "shuffle: +1 compared",
        "shuffle: +1 from %f",
        "shuffle: +1 guards: whole-warp",
    ] {
        assert!(!read(wrong).admits(&actual), "{wrong}");
    }
    let kept = read("keep: may-alias store at line 3");
    assert!(read("keep: may-alias store").admits(&kept));
    assert!(!read("keep: barrier").admits(&kept));
    assert_eq!(Expectation::blessed(Some(&read("shuffle: 0")), &actual), read("shuffle: +1"));
    assert_eq!(Expectation::blessed(Some(&read("keep: barrier")), &kept), kept);
}
