//! Vector loads in place of loads of consecutive bytes.
//!
//! If alignment is proved, the vector load stands in the place of the first of the loads. If it is
//! not, one test of each parameter at the head of the kernel, the same for all threads, decides at
//! each such place between the rewritten statements and the untouched ones.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::window;
use crate::planted::Bug;
use crate::reuse::Multiple;
use crate::rewrite::checks::Checks;
use crate::rewrite::mention::{self, Draft};
use crate::rewrite::names::Fresh;
use crate::rewrite::plan::{Condition, KernelPlan, Version};

/// Adds the edits for vector loads; returns the code of the tests, which goes to the head of the body.
pub(super) fn edits(
    plan: &KernelPlan<'_>,
    checks: &mut Checks<'_, '_>,
    edits: &mut Vec<Draft>,
) -> String {
    for vector in &plan.vectors {
        edits.push(Draft { range: vector.span.clone(), code: vector.code.clone() });
        for (span, code) in &vector.others {
            edits.push(Draft { range: span.clone(), code: code.clone() });
        }
    }
    let mut tests = Tests { code: String::new(), known: BTreeMap::new() };
    for version in &plan.versions {
        let (setup, holds) = match &version.condition {
            Condition::Multiples(_) if plan.planted.has(Bug::NoAlignmentTest) => continue,
            Condition::Multiples(multiples) => {
                (String::new(), tests.test(multiples, &mut checks.fresh))
            }
            Condition::Warp(test) if test.multiples.is_empty() => window::test(test, None, checks),
            Condition::Warp(test) if plan.planted.has(Bug::NoAlignmentTest) => {
                window::test(test, None, checks)
            }
            Condition::Warp(test) => {
                let aligned = tests.test(&strongest(&test.multiples), &mut checks.fresh);
                window::test(test, Some(&aligned), checks)
            }
        };
        let [old, join] = checks.fresh.labels();
        let wait = match &version.condition {
            Condition::Warp(test) => window::wait(test, plan, checks),
            Condition::Multiples(_) => String::new(),
        };
        let branch = format!("{setup}@!{holds} bra {old};\n\t{wait}");
        edits.push(Draft::insert(version.range.start, branch));
        let untouched = with_copies(plan, version);
        let behind = format!("\n\t{wait}bra.uni {join};\n{old}:\n\t{untouched}\n{join}:");
        edits.push(Draft::insert(version.behind, behind));
    }
    tests.code
}

/// The untouched statements, with the copies that other loads need of their registers.
fn with_copies(plan: &KernelPlan<'_>, version: &Version) -> String {
    let range = version.range.clone();
    let mut copies: Vec<&(usize, String)> =
        plan.copies.iter().filter(|(at, _)| range.start < *at && *at <= version.behind).collect();
    copies.sort_by_key(|(at, _)| *at);
    let (mut out, mut done) = (String::new(), range.start);
    for (at, code) in copies {
        let at = (*at).min(range.end).max(done);
        out += &plan.copied(done..at);
        out += code;
        done = at;
    }
    out + &plan.copied(done..range.end)
}

/// Of several conditions on one parameter the strongest, which implies the others.
fn strongest(multiples: &[Multiple]) -> Vec<Multiple> {
    let mut found = multiples.to_vec();
    found.sort();
    found.reverse();
    found.dedup_by(|a, b| (&a.parameter, a.offset, a.bits) == (&b.parameter, b.offset, b.bits));
    found
}

/// The tests of a kernel, each made once.
struct Tests {
    code: String,
    /// For each set of conditions, the predicate that holds the outcome of their test.
    known: BTreeMap<Vec<Multiple>, String>,
}

impl Tests {
    /// The predicate that all parameters are multiples of their numbers.
    fn test(&mut self, multiples: &[Multiple], fresh: &mut Fresh<'_>) -> String {
        if let Some(known) = self.known.get(multiples) {
            return known.clone();
        }
        let predicate = fresh.predicate();
        for (index, multiple) in multiples.iter().enumerate() {
            let Multiple { parameter, offset, bits, of } = multiple;
            let value = fresh.bits(u32::from(*bits));
            let parameter = mention::variable(parameter, None);
            let at = if *offset == 0 { parameter } else { format!("{parameter}+{offset}") };
            let _ = write!(
                self.code,
                "\n\tld.param.b{bits} {value}, [{at}];\n\tand.b{bits} {value}, {value}, {};",
                of - 1
            );
            let _ = match index {
                0 => write!(self.code, "\n\tsetp.eq.u{bits} {predicate}, {value}, 0;"),
                _ => write!(
                    self.code,
                    "\n\tsetp.eq.and.u{bits} {predicate}, {value}, 0, {predicate};"
                ),
            };
        }
        self.known.insert(multiples.to_vec(), predicate.clone());
        predicate
    }
}
