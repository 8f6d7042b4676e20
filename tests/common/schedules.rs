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
const CERTAIN: u64 = 64;

/// What was found about one launch.
#[derive(Debug, Default)]
pub struct Found {
    /// Where the rewrite computes something else, and what.
    pub differences: Vec<(Meet, String)>,
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
    /// Compares the two where lanes never meet, and under some seeds. `expected` is what the original
    /// computes where they meet as the assembler makes them.
    pub fn compare(&self, launch: &Launch, expected: &Outcome, seeds: &[u64]) -> Found {
        let mut found = Found::default();
        // Lanes that never meet part by the same branches in both.
        if let Ok(never) = run(self.original, launch, Meet::Never, self.limits.0) {
            found.compare(
                Meet::Never,
                &never,
                run(self.rewritten, launch, Meet::Never, self.limits.1),
            );
            found.depends = !same(&never, expected);
        } else {
            found.depends = true;
        }
        for seed in seeds {
            if found.depends {
                break;
            }
            let meet = Meet::Random(*seed);
            found.depends = self.departs(launch, expected, meet);
            if !found.depends {
                let before = found.differences.len();
                found.compare(meet, expected, run(self.rewritten, launch, meet, self.limits.1));
                if found.differences.len() > before
                    && (0..CERTAIN).any(|s| self.departs(launch, expected, Meet::Random(s)))
                {
                    found.differences.truncate(before);
                    found.depends = true;
                }
            }
        }
        found
    }

    /// Whether the original computes something else under a choice.
    fn departs(&self, launch: &Launch, expected: &Outcome, meet: Meet) -> bool {
        !run(self.original, launch, meet, self.limits.0).is_ok_and(|other| same(expected, &other))
    }
}

impl Found {
    fn compare(&mut self, meet: Meet, expected: &Outcome, actual: Result<Outcome, Fault>) {
        self.compared += 1;
        let difference = match actual {
            Err(fault) => fault.to_string(),
            Ok(outcome) if !same(expected, &outcome) => "the buffers differ".to_owned(),
            Ok(_) => return,
        };
        self.differences.push((meet, difference));
    }
}

fn same(one: &Outcome, other: &Outcome) -> bool {
    one.buffers == other.buffers && one.printed == other.printed
}

fn run(module: &Module<'_>, launch: &Launch, meet: Meet, limit: u64) -> Result<Outcome, Fault> {
    interp::run(module, &Launch { meet, limit, ..launch.clone() })
}
