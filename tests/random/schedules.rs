//! A kernel and its rewrite, executed wherever lanes may meet again.
//!
//! Where lanes meet is nobody's promise, so a rewrite must be right wherever it is. A rewritten
//! kernel has other branches than its original, and the same seed means another choice for it. So
//! the results under different seeds are compared, which says something only about originals that
//! compute the same under all of them: one that stores what `activemask` tells does not.

use ptxasw::interp::{self, Fault, Outcome};
use ptxasw::launch::{Launch, Meet};
use ptxasw::ptx::Module;

/// Seeds that have to agree about an original before its rewrite is called wrong.
const CERTAIN: u64 = 32;

/// What was found about one launch.
#[derive(Debug, Default)]
pub struct Found {
    /// A choice under which the rewrite computes something else, and what.
    pub difference: Option<(Meet, String)>,
    /// Choices under which the two were compared.
    pub compared: usize,
    /// Whether the original's own result is a matter of choice.
    pub depends: bool,
}

/// An original and its rewrite.
pub struct Pair<'a, 'o, 'r> {
    pub original: &'a Module<'o>,
    pub rewritten: &'a Module<'r>,
    /// Instructions after which the original, and the rewrite, are given up.
    pub limits: (u64, u64),
}

impl Pair<'_, '_, '_> {
    /// Compares the two under some choices, up to the first difference. `expected` is what the
    /// original computes where lanes meet as the assembler makes them.
    pub fn compare(&self, launch: &Launch, expected: &Outcome, choices: &[Meet]) -> Found {
        let mut found = Found::default();
        for &meet in choices {
            let original = run(self.original, launch, meet, self.limits.0);
            let steady = original.as_ref().is_ok_and(|outcome| same(expected, outcome));
            found.depends |= !steady;
            let expected = match (meet, &original) {
                // Lanes that never meet part by the same branches in both.
                (Meet::Never, Ok(original)) => original,
                _ if steady => expected,
                _ => continue,
            };
            found.compared += 1;
            let difference = match run(self.rewritten, launch, meet, self.limits.1) {
                Err(fault) => fault.to_string(),
                Ok(outcome) if !same(expected, &outcome) => "the buffers differ".to_owned(),
                Ok(_) => continue,
            };
            let mut seeds = (0..CERTAIN).map(Meet::Random);
            if meet != Meet::Never && seeds.any(|meet| self.departs(launch, expected, meet)) {
                found.depends = true;
            } else {
                found.difference = Some((meet, difference));
            }
            break;
        }
        found
    }

    /// Whether the original computes something else under a choice.
    fn departs(&self, launch: &Launch, expected: &Outcome, meet: Meet) -> bool {
        !run(self.original, launch, meet, self.limits.0).is_ok_and(|other| same(expected, &other))
    }
}

fn same(one: &Outcome, other: &Outcome) -> bool {
    one.buffers == other.buffers && one.printed == other.printed
}

fn run(module: &Module<'_>, launch: &Launch, meet: Meet, limit: u64) -> Result<Outcome, Fault> {
    interp::run(module, &Launch { meet, limit, ..launch.clone() })
}
