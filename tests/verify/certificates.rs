//! Certificates: with its certificate every rewrite of ours is proved along the lines that it names, and a certificate that
//! lies proves nothing.

use std::sync::{Arc, LazyLock};

use ptxasw::pipeline::{Rewritten, certificate, rewrite};
use ptxasw::planted::{self, Bug, Set};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use ptxasw::verify::{
    Certificate, CertificateOutcome, Change, FunctionCertificate, FunctionReport, Kind, Lemma,
    Lines, Options as Effort, Verdict, Verification, verify,
};
use rayon::prelude::*;

use super::rewrites::files;
use super::{common, pairs};
use crate::turns::has_turn;

/// Functions that are proved without their certificate alone, each with the reason: `FILE: FUNCTION: reason`.
const UNPROVED: &str = include_str!("certificates.txt");

/// A text, and what our rewriter makes of it.
struct Rewrite {
    source: SourceFile,
    rewritten: Rewritten,
}

impl Rewrite {
    fn of(name: &str, text: &str) -> Rewrite {
        let source = SourceFile::new(name, text);
        let options = common::header::options_of(text);
        let rewritten = rewrite(&source, &options).unwrap_or_else(|error| panic!("{error}"));
        Rewrite { source, rewritten }
    }

    fn again(&self) -> Rewrite {
        Rewrite::of(self.source.name(), self.source.text())
    }

    fn certificate(&self) -> Certificate {
        certificate(&self.source, &self.rewritten).unwrap_or_else(|error| panic!("{error}"))
    }

    fn judged(&self, certificate: Option<Certificate>) -> Verification {
        judged(&self.source, &self.rewritten.text, certificate, &Effort::default())
    }
}

fn judged(
    source: &SourceFile,
    text: &str,
    certificate: Option<Certificate>,
    options: &Effort,
) -> Verification {
    let rewritten = SourceFile::new(source.name(), text);
    let options = Effort { certificate: certificate.map(Arc::new), ..options.clone() };
    verify(source, &rewritten, &options).unwrap_or_else(|error| panic!("{error}"))
}

/// The files whose rewriting changes something.
static REWRITES: LazyLock<Vec<Rewrite>> = LazyLock::new(|| {
    let all = files()
        .into_par_iter()
        .map(|file| Rewrite::of(&file.to_string_lossy(), &common::read(&file)));
    all.filter(|one| !one.rewritten.edits.is_empty()).collect()
});

#[test]
fn rewrites_are_proved_by_their_certificates() {
    let said = |one: &Rewrite| -> Vec<String> {
        let found = one.judged(Some(one.certificate()));
        let is_changed = |function: &&FunctionReport| function.certificate.is_some();
        let changed: Vec<&FunctionReport> = found.functions.iter().filter(is_changed).collect();
        assert_eq!(changed.len(), one.rewritten.edits.len(), "{}", one.source.name());
        let lines = changed.into_iter().filter_map(|function| {
            let why = match function.certificate.as_ref()? {
                CertificateOutcome::Proved => return None,
                CertificateOutcome::Wrong(why) => format!("wrong: {why}"),
                CertificateOutcome::Unproved(why) => format!("unproved: {why}"),
            };
            Some(format!("{}: {}: {why}", one.source.name(), function.name))
        });
        lines.collect()
    };
    let mut found: Vec<String> = REWRITES.par_iter().flat_map_iter(said).collect();
    found.sort();
    let known: Vec<&str> = UNPROVED.lines().collect();
    assert_eq!(found, known, "`tests/verify/certificates.txt` lists others");
}

/// A lie about one change of a certificate; whether there is something to lie about.
type Lie = (&'static str, fn(&mut Change) -> bool);

/// Lies that are noticed before anything is proved.
const NOTICED: &[Lie] = &[
    ("the original's lines one further", |change| {
        change.original.first += 1;
        change.original.count > 0
    }),
    ("the rewritten lines one further", |change| {
        change.rewritten.first += 1;
        true
    }),
    ("one rewritten line fewer", |change| {
        change.rewritten.count -= 1;
        true
    }),
    ("no registers", |change| !std::mem::take(&mut change.registers).is_empty()),
    ("another register", |change| {
        change.registers.push("%nobody".to_owned());
        true
    }),
    ("another lemma", |change| {
        change.lemma = match change.lemma {
            Lemma::NewRegistersOnly => Lemma::RegistersAgree,
            Lemma::RegistersAgree | Lemma::VersionsAgree => Lemma::NewRegistersOnly,
        };
        true
    }),
    ("only new registers", |change| {
        let is_lie = change.kind == Kind::Values && change.original.count > 0;
        (change.kind, change.lemma) = (Kind::Fresh, Lemma::NewRegistersOnly);
        change.registers.clear();
        is_lie
    }),
    ("lines in front of the function", |change| {
        change.original.first = 0;
        true
    }),
    ("lines behind all numbers", |change| {
        change.rewritten = Lines { first: u32::MAX, count: u32::MAX };
        true
    }),
];

#[test]
fn lies_are_noticed_and_prove_nothing() {
    let told = |(at, one): (usize, &Rewrite)| -> Vec<Result<bool, String>> {
        let honest = one.certificate();
        let lies = NOTICED
            .iter()
            .enumerate()
            .filter(|(number, _)| (at + number) % 4 == 0 && has_turn(at + number / 4, 3));
        let told = lies.filter_map(|(_, (what, lie))| {
            let mut certificate = honest.clone();
            let functions = certificate.functions.iter_mut();
            // (The first change often stands among declarations.)
            let mut changes = functions.flat_map(|one| one.changes.iter_mut().rev());
            let is_told = changes.find_map(|change| {
                let before = change.clone();
                let told = lie(change) && *change != before;
                if !told {
                    *change = before;
                }
                told.then_some(())
            });
            is_told?;
            let found = one.judged(Some(certificate));
            let is_noticed = found.functions.iter().any(|function| {
                !matches!(function.certificate, None | Some(CertificateOutcome::Proved))
            });
            // The rewrite is right all the same, and found to be by a search.
            match found.verdict {
                Verdict::Equal => Some(Ok(is_noticed)),
                other => Some(Err(format!("{}: {what}: {other}", one.source.name()))),
            }
        });
        told.collect()
    };
    let told: Vec<_> = REWRITES.par_iter().enumerate().flat_map_iter(told).collect();
    let noticed = told.iter().filter(|one| **one == Ok(true)).count();
    println!("{noticed} of {} lies were noticed", told.len());
    let failures: Vec<&String> = told.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    // A line may be blank, and a range larger than it has to be.
    assert!(10 * noticed >= 9 * told.len(), "only {noticed} of {} lies were noticed", told.len());
}

/// A certificate about two arbitrary programs: everything is replaced, or stands in two versions.
fn about_everything(original: &SourceFile, name: &str, kind: Kind) -> Certificate {
    let text = original.text();
    let registers = text.split(|c: char| !(c.is_alphanumeric() || "%_$.".contains(c)));
    let registers: Vec<String> =
        registers.filter(|word| word.starts_with('%')).map(str::to_owned).collect();
    let all = Lines { first: 1, count: 1 << 20 };
    let lemma = kind.lemma();
    let change = Change { kind, lemma, original: all, rewritten: all, registers };
    let changes = vec![change];
    let functions = vec![FunctionCertificate { name: name.to_owned(), changes }];
    Certificate { version: 1, functions }
}

#[test]
fn no_pair_is_equal_by_a_certificate_that_is_not_without() {
    let judged = |(name, original, rewritten): (String, String, String)| {
        let source = SourceFile::new(&name, original.as_str());
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
        let kinds = [Kind::Values, Kind::Versions].into_iter();
        let all = kinds.flat_map(|kind| module.functions().map(move |one| (one.name.text, kind)));
        let said = all.map(|(function, kind)| {
            let certificate = about_everything(&source, function, kind);
            let found =
                judged(&source, &rewritten, Some(certificate), &super::options_of(&original));
            format!("{name}: {}", found.verdict)
        });
        said.collect::<Vec<_>>()
    };
    let pairs = pairs::not_equal().into_iter().enumerate();
    let pairs: Vec<_> = pairs.filter(|(at, _)| has_turn(*at, 3)).map(|(_, pair)| pair).collect();
    let said: Vec<String> = pairs.into_par_iter().flat_map_iter(judged).collect();
    let equal: Vec<&String> = said.iter().filter(|one| one.ends_with(": equal")).collect();
    assert!(equal.is_empty(), "{equal:?}");
    assert!(said.len() > 60, "only {} were judged", said.len());
}

#[test]
fn wrong_rewrites_are_not_proved_by_their_certificates() {
    let some: Vec<&Rewrite> = common::some(REWRITES.iter().collect(), 0);
    let wrong = |one: &&Rewrite| -> Vec<Result<(), String>> {
        let bugs = Bug::of(Set::Strategies).into_iter().filter(|bug| has_turn(*bug as usize, 3));
        let made = bugs.filter_map(|bug| {
            let made = planted::with(bug, || one.again());
            let is_wrong = made.rewritten.text != one.rewritten.text;
            (is_wrong && !made.rewritten.edits.is_empty()).then_some((bug, made))
        });
        let judged = made.map(|(bug, wrong)| {
            let is_equal = |certificate| wrong.judged(certificate).verdict == Verdict::Equal;
            // (A mistake may change nothing that this kernel computes.)
            match is_equal(Some(wrong.certificate())) && !is_equal(None) {
                true => Err(format!("{}: {bug:?}", one.source.name())),
                false => Ok(()),
            }
        });
        judged.collect()
    };
    let found: Vec<Result<(), String>> = some.par_iter().flat_map_iter(wrong).collect();
    let failures: Vec<&String> = found.iter().filter_map(|one| one.as_ref().err()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    println!("{} wrong rewrites", found.len());
    assert!(found.len() as u64 >= common::share(60) / 3, "only {} wrong rewrites", found.len());
}
