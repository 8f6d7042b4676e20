//! Multiversioned code: statements, or a loop, as rewritten where a test holds, and as they were where it fails.
//!
//! The alignment of parameters is tested once for each set of conditions, at the head of the kernel; the test of a warp
//! stands in front of the statements. Either has the same outcome in all threads that meet there. Whether accesses are apart
//! each lane asks for itself.
//!
//! ptxas would execute short versions one behind the other, under predicates. There a load of the version that is not
//! executed waits for that of the other version, if both write one register, and the gain is lost. It does not predicate
//! [`NOT_PREDICATED`], so the branch stays.

use crate::loops::WholeLoop;
use std::collections::BTreeMap;

use super::checks::Checks;
use super::condition::{Condition, Version, WarpTest, strongest};
use super::mention::{self, Draft};
use super::plan::KernelPlan;
use crate::isa::ScalarType;
use crate::ptx::write::{Code, Fresh, Reg, memory, op};
use crate::reuse::Multiple;

/// Stands in front of the untouched statements and takes no time there (PTX ISA, "nanosleep": between none and twice the
/// number of nanoseconds). Both ptxas 12.9 and 13.5 keep the branch around it.
pub const NOT_PREDICATED: &str = "nanosleep.u32 0;\n\t";

/// Adds the edits for all versions; returns the code of the tests that goes to the head of the body.
pub(super) fn edits(
    plan: &KernelPlan<'_>,
    checks: &mut Checks<'_>,
    edits: &mut Vec<Draft>,
) -> String {
    let mut tests = Tests { code: Code::behind(), known: BTreeMap::new() };
    for version in &plan.versions {
        let (setup, holds) = match &version.condition {
            Condition::Multiples(_) if planted!(Bug::NoAlignmentTest) => continue,
            Condition::Multiples(multiples) => {
                (String::new(), tests.test(multiples, &mut checks.fresh).into())
            }
            Condition::NoAlias { setup, holds, multiples } => {
                let aligned = match multiples.is_empty() || planted!(Bug::NoAlignmentTest) {
                    true => String::new(),
                    false => {
                        let aligned = tests.test(&strongest(multiples), &mut checks.fresh);
                        format!("and.pred {holds}, {holds}, {aligned};\n\t")
                    }
                };
                (setup.clone() + &aligned, holds.clone())
            }
            Condition::Warp(test) if test.multiples.is_empty() => warp(test, None, checks),
            Condition::Warp(test) if planted!(Bug::NoAlignmentTest) => warp(test, None, checks),
            Condition::Warp(test) => {
                let aligned = tests.test(&strongest(&test.multiples), &mut checks.fresh);
                warp(test, Some(&aligned), checks)
            }
        };
        let [old, join] = checks.fresh.labels();
        if let Some(text) = &version.of_loop {
            edits.push(Draft::insert(text.front, format!("\t{setup}@!{holds} bra {old};\n")));
            let untouched = copied_loop(plan, version, text, (&old, &mut checks.fresh));
            let behind = format!("\n\tbra.uni {join};\n{old}:\n\t{untouched}\n{join}:");
            edits.push(Draft::insert(version.behind, behind));
            continue;
        }
        let wait = match &version.condition {
            Condition::Warp(test) => wait(test, plan, checks),
            Condition::Multiples(_) | Condition::NoAlias { .. } => String::new(),
        };
        let branch = format!("{setup}@!{holds} bra {old};\n\t{wait}");
        edits.push(Draft::insert(version.range.start, branch));
        let untouched =
            version.untouched.clone().unwrap_or_else(|| with_copies(plan, version, |_| None));
        let stays = if plan.has_nanosleep { NOT_PREDICATED } else { "" };
        let behind = format!("\n\t{wait}bra.uni {join};\n{old}:\n\t{stays}{untouched}\n{join}:");
        edits.push(Draft::insert(version.behind, behind));
    }
    tests.code.text
}

/// The code of a test, and the predicate with its outcome, which is one for the warp; `aligned` is a predicate
/// that is part of it.
fn warp(test: &WarpTest, aligned: Option<&Reg>, checks: &mut Checks<'_>) -> (String, String) {
    let mut code = Code::in_front();
    let predicate = checks.of_warp(test, aligned, &mut code);
    (code.text, predicate.into())
}

/// The warp's barrier in front of the code that a test guards and behind it, for patterns that need one.
fn wait(test: &WarpTest, plan: &KernelPlan<'_>, checks: &Checks<'_>) -> String {
    let waits = plan.parts.iter().any(|part| part.needs_order(test.place));
    match waits && !planted!(Bug::RowUnordered) {
        true => format!("bar.warp.sync {};\n\t", checks.mask_of_row(test.place)),
        false => String::new(),
    }
}

/// The text of an untouched loop with a label at its head, and others for the labels within it.
fn copied_loop(
    plan: &KernelPlan<'_>,
    version: &Version,
    text: &WholeLoop,
    (head, fresh): (&str, &mut Fresh),
) -> String {
    let mut names: BTreeMap<usize, String> = BTreeMap::from([(0, head.to_owned())]);
    for number in text.labels.values() {
        names.entry(*number).or_insert_with(|| fresh.loop_label().to_string());
    }
    with_copies(plan, version, |at| names.get(text.labels.get(&at)?).cloned())
}

/// The untouched statements, with the copies that other loads need of their registers, and with the names at some bytes
/// replaced.
fn with_copies(
    plan: &KernelPlan<'_>,
    version: &Version,
    replaced: impl Fn(usize) -> Option<String>,
) -> String {
    let range = version.range.clone();
    let mut copies: Vec<&(usize, String)> =
        plan.copies.iter().filter(|(at, _)| range.start < *at && *at <= version.behind).collect();
    copies.sort_by_key(|(at, _)| *at);
    let (mut out, mut done) = (String::new(), range.start);
    for (at, code) in copies {
        let at = (*at).min(range.end).max(done);
        out += &plan.copied_with(done..at, |at, _| replaced(at));
        out += code;
        done = at;
    }
    out + &plan.copied_with(done..range.end, |at, _| replaced(at))
}

/// The tests of a kernel, each made once.
struct Tests {
    code: Code,
    /// For each set of conditions, the predicate that holds the outcome of their test.
    known: BTreeMap<Vec<Multiple>, Reg>,
}

impl Tests {
    /// The predicate that all parameters are multiples of their numbers.
    fn test(&mut self, multiples: &[Multiple], fresh: &mut Fresh) -> Reg {
        if let Some(known) = self.known.get(multiples) {
            return known.clone();
        }
        let (predicate, code) = (fresh.predicate(), &mut self.code);
        for (index, multiple) in multiples.iter().enumerate() {
            let Multiple { parameter, offset, bits, of } = multiple;
            let (bytes, number) = (ScalarType::b((*bits).into()), ScalarType::u((*bits).into()));
            let at = memory(&mention::variable(parameter, None), *offset);
            let value = code.set(fresh.of(bytes), op!(Ld.Param.(bytes)), &[&at]);
            code.put(op!(And.(bytes)), &[&value, &value, &(of - 1)]);
            match index {
                0 => code.put(op!(Setp.Eq.(number)), &[&predicate, &value, &0]),
                _ => code.put(op!(Setp.Eq.And.(number)), &[&predicate, &value, &0, &predicate]),
            }
        }
        self.known.insert(multiples.to_vec(), predicate.clone());
        predicate
    }
}
