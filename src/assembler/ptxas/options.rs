//! ptxas's own options: the spelling of each, whether it takes a value, and its meaning to ptxasw.
//!
//! The list is taken from `ptxas --help` of CUDA 11.8, 12.9 and 13.5, and tried on all three. The list
//! of 13.5 contains the other two; an option that several have takes its value the same way in all.
//!
//! Long names follow two dashes and short names one; no name may be abbreviated. A value stands in the
//! next word or after `=`. `-O` alone takes its value only in the same word (`-O3`, `-O=3`); in `-O 3`
//! ptxas takes the 3 for an input. `-m` allows `-m64` besides the usual two.

use self::{Arity::*, Role::*};

/// How an option takes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arity {
    /// The option takes no value.
    Flag,
    /// The value is the next word or follows `=`.
    Value,
    /// The value follows the name directly or after `=`, and is never the next word.
    Attached,
    /// The value follows the name directly or after `=`, or is the next word.
    Either,
}

/// The meaning of an option for a program that stands in for ptxas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The option means nothing here: it is passed on.
    Plain,
    /// The option makes ptxas print something and assemble nothing.
    Query,
    /// The value names the output file.
    Output,
    /// The value names the architecture, real (`sm_80`) or virtual (`compute_80`, `lto_80`).
    Architecture,
    /// The option asks for code to be debugged; ptxas then writes its command line into the output.
    Debug,
    /// The value is PTX.
    Text,
    /// The value names files that hold more options, separated by commas.
    OptionsFile,
}

/// One option.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The long name without its two dashes.
    pub long: &'static str,
    /// The short name without its dash.
    pub short: &'static str,
    /// How the long spelling takes a value.
    pub long_arity: Arity,
    /// How the short spelling takes a value.
    pub short_arity: Arity,
    /// The meaning of the option for ptxasw.
    pub role: Role,
}

const fn spec(long: &'static str, short: &'static str, arity: Arity, role: Role) -> Spec {
    Spec { long, short, long_arity: arity, short_arity: arity, role }
}

/// A flag without a meaning for ptxasw.
const fn flag(long: &'static str, short: &'static str) -> Spec {
    spec(long, short, Flag, Plain)
}

/// An option with a value, without a meaning for ptxasw.
const fn value(long: &'static str, short: &'static str) -> Spec {
    spec(long, short, Value, Plain)
}

/// Every documented option, by its long name; and `regAllocOptLevel`, which Triton passes and `--help` of 12.9 and 13.5
/// does not list.
pub const OPTIONS: &[Spec] = &[
    value("Ofast-compile", "Ofc"),
    value("allow-expensive-optimizations", "allow-expensive-optimizations"),
    value("apply-controls", "apply-controls"),
    flag("compile-as-tools-patch", "astoolspatch"),
    flag("compile-only", "c"),
    flag("compiler-annotations", "annotate"),
    value("def-load-cache", "dlcm"),
    value("def-store-cache", "dscm"),
    spec("device-debug", "g", Flag, Debug),
    value("device-function-maxrregcount", "func-maxrregcount"),
    value("device-stack-protector", "device-stack-protector"),
    flag("disable-optimizer-constants", "disable-optimizer-consts"),
    flag("disable-warnings", "w"),
    flag("dont-merge-basicblocks", "no-bb-merge"),
    value("enable-func-clone-sc", "enable-func-clone-sc"),
    value("entry", "e"),
    flag("extensible-whole-program", "ewp"),
    value("fmad", "fmad"),
    value("force-load-cache", "flcm"),
    value("force-store-cache", "fscm"),
    flag("g-tensor-memory-access-check", "g-tmem-access-check"),
    flag("generate-line-info", "lineinfo"),
    flag("gno-fabric-access-check", "gno-fabric-access-check"),
    flag("gno-tensor-memory-access-check", "gno-tmem-access-check"),
    spec("gpu-name", "arch", Value, Architecture),
    spec("help", "h", Flag, Query),
    spec("input-as-string", "ias", Value, Text),
    flag("jobserver", "jobserver"),
    flag("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior"),
    spec("list-arch", "arch-ls", Flag, Query),
    spec("list-version", "version-ls", Flag, Query),
    Spec { short_arity: Either, ..value("machine", "m") },
    flag("make-errors-visible-at-exit", "make-errors-visible-at-exit"),
    value("maxntid", "maxntid"),
    value("maxrregcount", "maxrregcount"),
    value("minnctapersm", "minnctapersm"),
    Spec { short_arity: Attached, ..value("opt-level", "O") },
    flag("optimize-float-atomics", "opt-fp-atomics"),
    spec("options-file", "optf", Value, OptionsFile),
    spec("output-file", "o", Value, Output),
    flag("override-directive-values", "override-directive-values"),
    value("position-independent-code", "pic"),
    flag("preserve-relocs", "preserve-relocs"),
    value("regAllocOptLevel", "regAllocOptLevel"),
    value("register-usage-level", "regUsageLevel"),
    flag("return-at-end", "ret-end"),
    value("sanitize", "sanitize"),
    flag("sp-bounds-check", "sp-bounds-check"),
    value("split-compile", "split-compile"),
    flag(
        "suppress-async-bulk-multicast-advisory-warning",
        "suppress-async-bulk-multicast-advisory-warning",
    ),
    flag("suppress-debug-info", "suppress-debug-info"),
    flag("suppress-double-demote-warning", "suppress-double-demote-warning"),
    flag(
        "suppress-position-independent-code-warning",
        "suppress-position-independent-code-warning",
    ),
    flag("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info"),
    flag("suppress-stack-size-warning", "suppress-stack-size-warning"),
    flag("verbose", "v"),
    flag("verbose2", "v2"),
    spec("version", "V", Flag, Query),
    flag("warn-on-double-precision-use", "warn-double-usage"),
    flag("warn-on-local-memory-usage", "warn-lmem-usage"),
    flag("warn-on-spills", "warn-spills"),
    flag("warning-as-error", "Werror"),
];

/// The kind of one word of a command line.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// An input, `-` among them.
    Operand,
    /// An option whose value, if it takes one, begins at this byte of the word.
    Complete(&'static Spec, Option<usize>),
    /// An option whose value is the next word.
    Pending(&'static Spec),
    /// An option that the table does not hold. `true`: it carries a value after `=`; `false`: the
    /// next word may be its value or an input.
    Unknown(bool),
}

/// Classifies one word.
pub fn classify(word: &[u8]) -> Word {
    let Some(name) = word.strip_prefix(b"-").filter(|rest| !rest.is_empty()) else {
        return Word::Operand;
    };
    let (name, long) = name.strip_prefix(b"-").map_or((name, false), |rest| (rest, true));
    let equals = memchr::memchr(b'=', name);
    let bare = &name[..equals.unwrap_or(name.len())];
    let value = equals.map(|at| word.len() - name.len() + at + 1);
    let found = OPTIONS.iter().find(|o| bare == if long { o.long } else { o.short }.as_bytes());
    match found {
        Some(spec) => {
            let arity = if long { spec.long_arity } else { spec.short_arity };
            match arity {
                Value | Either if value.is_none() => Word::Pending(spec),
                _ => Word::Complete(spec, value),
            }
        }
        None => match attached(name).filter(|_| !long) {
            Some(spec) => Word::Complete(spec, Some(1 + spec.short.len())),
            None => Word::Unknown(equals.is_some()),
        },
    }
}

/// The option whose short name and number `name` runs together, as in `O3` and `m64`.
fn attached(name: &[u8]) -> Option<&'static Spec> {
    OPTIONS.iter().filter(|o| matches!(o.short_arity, Attached | Either)).find(|o| {
        name.strip_prefix(o.short.as_bytes())
            .is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        values_are_found_in_every_spelling,
        what_ptxas_does_not_know_is_unknown,
        names_are_unique_and_sorted
    );

    /// `(long name, what)` with what one of `operand`, `unknown`, `pending`, `complete`.
    fn shape(word: &str) -> (&'static str, String) {
        match classify(word.as_bytes()) {
            Word::Operand => ("", "operand".into()),
            Word::Unknown(has_value) => ("", format!("unknown {has_value}")),
            Word::Pending(spec) => (spec.long, "pending".into()),
            Word::Complete(spec, None) => (spec.long, "complete".into()),
            Word::Complete(spec, Some(at)) => (spec.long, format!("complete {}", &word[at..])),
        }
    }

    fn values_are_found_in_every_spelling() {
        for (word, long, what) in [
            ("--gpu-name", "gpu-name", "pending"),
            ("-arch", "gpu-name", "pending"),
            ("--gpu-name=sm_80", "gpu-name", "complete sm_80"),
            ("-arch=sm_80", "gpu-name", "complete sm_80"),
            ("-o=", "output-file", "complete "),
            ("-O", "opt-level", "complete"),
            ("-O3", "opt-level", "complete 3"),
            ("-O=3", "opt-level", "complete 3"),
            ("--opt-level", "opt-level", "pending"),
            ("-m", "machine", "pending"),
            ("-m64", "machine", "complete 64"),
            ("-m=64", "machine", "complete 64"),
            ("-maxrregcount", "maxrregcount", "pending"),
            ("-v", "verbose", "complete"),
            ("-v2", "verbose2", "complete"),
            ("-ias=a=b", "input-as-string", "complete a=b"),
        ] {
            assert_eq!(shape(word), (long, what.to_owned()), "{word}");
        }
    }

    fn what_ptxas_does_not_know_is_unknown() {
        // One dash with a long name, two with a short one, and abbreviations: ptxas refuses all.
        for word in ["-gpu-name", "--arch", "--output-fil", "-archsm_80", "-Ox", "--", "--O3"] {
            assert_eq!(shape(word).1, "unknown false", "{word}");
        }
        assert_eq!(shape("--new=1").1, "unknown true");
        for word in ["-", "", "a.ptx", "@file", "3"] {
            assert_eq!(shape(word).1, "operand", "{word}");
        }
    }

    fn names_are_unique_and_sorted() {
        assert!(OPTIONS.is_sorted_by(|a, b| a.long < b.long));
        let mut shorts: Vec<_> = OPTIONS.iter().map(|o| o.short).collect();
        shorts.sort_unstable();
        assert!(shorts.is_sorted_by(|a, b| a < b), "{shorts:?}");
    }
}
