//! Operators of loops: each that is found, executed against its loop on random lists that are cut into many parts, in
//! any order of combining neighbours; and the loops for which there is none.

use std::fs;

use ptxasw::source::SourceFile;
use ptxasw::synth::parse;
use ptxasw::synth::scan::{self, Loop, Outcome};

use super::sketches;

/// Every sketch of a loop whose name begins so, with what was found.
pub fn solved(wanted: &str) -> Vec<(String, Loop, Outcome)> {
    let mut solved = Vec::new();
    for path in sketches() {
        let text = fs::read_to_string(&path).expect("the sketch can be read");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = SourceFile::new(name.clone(), text);
        // (Sketches that cannot be read are among them.)
        let Ok(tree) = parse(&source) else { continue };
        if scan::is_loop(&tree) && name.starts_with(wanted) {
            let subject = scan::read(&source, &tree, &[]).expect("the loop can be read");
            let outcome = scan::solve(&subject);
            solved.push((name, subject, outcome));
        }
    }
    solved
}

/// A random element, of small numbers or of any that the type has.
fn element(random: &mut fastrand::Rng, subject: &Loop, large: bool) -> Vec<i64> {
    let reads = subject.inputs.iter();
    reads
        .map(|read| match read.range() {
            Some((low, high)) if large => random.i64(low.max(-1 << 40)..=high.min(1 << 40)),
            Some((low, high)) => random.i64(-4..=4).clamp(low, high),
            None => random.i64(0..=1),
        })
        .collect()
}

#[test]
fn operators_compute_what_their_loops_do() {
    let (mut proved, mut compared) = (0, 0);
    for (name, _, outcome) in solved("loop") {
        let Some(found) = outcome.found else { continue };
        proved += u32::from(found.unproved.is_empty());
        let subject = &found.subject;
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..200 {
            let givens: Vec<i64> = subject.givens.iter().map(|_| random.i64(-3..=3)).collect();
            let length = random.usize(0..40);
            let list: Vec<Vec<i64>> =
                (0..length).map(|_| element(&mut random, subject, round % 2 == 1)).collect();
            let Some(whole) = subject.run(&givens, &list) else { continue };
            // Parts of up to three elements; empty ones among them.
            let mut states = Vec::new();
            let mut rest = &list[..];
            while !rest.is_empty() {
                let (part, behind) = rest.split_at(random.usize(0..=3.min(rest.len())));
                states.push(subject.run(&givens, part));
                rest = behind;
            }
            states.push(subject.run(&givens, &[]));
            while states.len() > 1 {
                let at = random.usize(0..states.len() - 1);
                let right = states.remove(at + 1);
                let both = states[at].clone().zip(right);
                states[at] = both.and_then(|(left, right)| found.combine(&givens, &left, &right));
            }
            // A number that is too large for the interpreter of terms says nothing.
            if let Some(Some(combined)) = states.pop() {
                assert_eq!(combined, whole, "{name}: {list:?} with {givens:?}");
                compared += 1;
            }
        }
    }
    assert!(proved >= 26 && compared > 2000, "{proved} operators, {compared} comparisons");
}

#[test]
fn operators_are_not_commutative_by_chance() {
    // The comparison above would notice operands in the wrong order.
    let all = solved("loopatoi");
    let (_, subject, outcome) = all.iter().find(|(name, ..)| name == "loopatoi").expect("atoi");
    let found = outcome.found.as_ref().expect("an operator");
    let state = |list: &[Vec<i64>]| found.subject.run(&[], list).expect("small numbers");
    let (left, right) = (state(&[vec![1], vec![2]]), state(&[vec![3]]));
    assert_eq!(found.combine(&[], &left, &right).expect("small numbers")[0], 123);
    assert_eq!(found.combine(&[], &right, &left).expect("small numbers")[0], 312);
    assert_eq!(subject.run(&[], &[vec![7]]), Some(vec![7]));
}
