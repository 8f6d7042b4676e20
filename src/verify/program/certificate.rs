//! Certificates: the ranges of a function that a rewriter has changed, with the kind of each change, and their check.
//!
//! In: a [`Certificate`], which nobody has to trust, and two prepared programs. Out: their [`Alignment`], or why the
//! certificate is not one of these two. A certificate proves nothing: it says where to look, and every claim is then proved
//! as without it.

use std::ops::Range;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::align::{Aligner, Alignment};
use super::instructions::{Role, results, role};
use super::prepared::Program;
use crate::cfg::{self, Flow, InstId, InstRange};
use crate::ptx::{self, Depth, Function};
use crate::source::{Diagnostic, SourceFile};

/// The version of the format.
const VERSION: u32 = 1;

/// The changes of a file's functions, as a rewriter describes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The version of the format: 1.
    pub version: u32,
    /// The functions that were changed.
    pub functions: Vec<FunctionCertificate>,
}

/// The changes of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionCertificate {
    /// Its name.
    pub name: String,
    /// The changes, in the order of the text.
    pub changes: Vec<Change>,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Its kind.
    pub kind: Kind,
    /// The statement on which the change rests. The judge checks it.
    pub lemma: Lemma,
    /// The lines of the original that were replaced.
    pub original: Lines,
    /// The lines that stand there instead.
    pub rewritten: Lines,
    /// The original's registers that the new lines write.
    pub registers: Vec<String>,
}

/// The kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// New code beside the original's: tests, copies of registers.
    Fresh,
    /// Statements in the place of others.
    #[default]
    Values,
    /// Two versions of statements under a test.
    Versions,
}

impl Kind {
    /// The lemma of a change of this kind.
    pub fn lemma(self) -> Lemma {
        match self {
            Kind::Fresh => Lemma::NewRegistersOnly,
            Kind::Values => Lemma::RegistersAgree,
            Kind::Versions => Lemma::VersionsAgree,
        }
    }
}

/// The statements on which changes rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lemma {
    /// The new lines write registers that the original does not have, and nothing else.
    NewRegistersOnly,
    /// Behind both ranges the listed registers have the same values in both programs, wherever they are read.
    RegistersAgree,
    /// Both versions do the same.
    VersionsAgree,
}

/// Lines of a function, counted from the line of its name, which is the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// The first one.
    pub first: u32,
    /// How many; with none, the place in front of `first`.
    pub count: u32,
}

impl Lines {
    fn end(self) -> u32 {
        self.first.saturating_add(self.count)
    }
}

/// An edit of the original's text.
#[derive(Clone, Debug)]
pub struct Replaced<'t> {
    /// The bytes that were replaced.
    pub range: Range<usize>,
    /// The text that stands there instead.
    pub text: &'t str,
    /// The kind of the change.
    pub kind: Kind,
}

impl Certificate {
    /// The certificate of a rewrite by edits: for each of some functions those within it, in the order of the text.
    ///
    /// # Errors
    /// A syntax error in either text.
    pub fn of(
        original: &SourceFile,
        rewritten: &SourceFile,
        functions: &[(&str, Vec<Replaced<'_>>)],
    ) -> Result<Certificate, Diagnostic> {
        let names: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
        let before = ptx::parse(original, Depth::Named(&names))?;
        let after = ptx::parse(rewritten, Depth::Named(&names))?;
        let certified = functions.iter().filter_map(|(name, edits)| {
            let of = |module: &ptx::Module<'_>| {
                module
                    .functions()
                    .position(|one| one.name.text == *name && one.statements().is_some())
            };
            let old = before.functions().nth(of(&before)?)?;
            let new = after.functions().nth(of(&after)?)?;
            let mut changes = changes(original, old, edits);
            let flows = (cfg::build(original, old).ok()?, cfg::build(rewritten, new).ok()?);
            let known = names_of(&flows.0);
            let lines = |of: fn(&Change) -> Lines| changes.iter().map(of).collect::<Vec<_>>();
            let (olds, news) = (lines(|one| one.original), lines(|one| one.rewritten));
            let olds = ranges(&flows.0, |at| own_line(original, old, &flows.0, at), &olds).ok()?;
            let news = ranges(&flows.1, |at| own_line(rewritten, new, &flows.1, at), &news).ok()?;
            for (change, (before, after)) in changes.iter_mut().zip(olds.into_iter().zip(news)) {
                // Statements of the original stand on its lines.
                if change.kind == Kind::Fresh && before.start != before.end {
                    change.kind = Kind::Values;
                }
                if after.clone().any(|at| role(&flows.1.insts[at]) == Role::Branch) {
                    change.kind = Kind::Versions;
                }
                change.lemma = change.kind.lemma();
                let written = written(&flows.1, after).into_iter();
                change.registers = written.filter(|one| known.contains(one)).collect();
                change.registers.sort_unstable();
            }
            Some(FunctionCertificate { name: (*name).to_owned(), changes })
        });
        Ok(Certificate { version: VERSION, functions: certified.collect() })
    }

    /// Whether the format is the one of this version.
    ///
    /// # Errors
    /// It is another one.
    pub fn check(&self) -> Result<(), String> {
        match self.version {
            VERSION => Ok(()),
            other => {
                Err(format!("the certificate has version {other}; this ptxasw reads {VERSION}"))
            }
        }
    }

    pub(crate) fn function(&self, name: &str) -> Option<&FunctionCertificate> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// Whether some function has two versions of statements.
    pub(crate) fn has_versions(&self) -> bool {
        self.functions.iter().any(FunctionCertificate::has_versions)
    }
}

/// The changes of the lines of a function; those of one line become one.
fn changes(source: &SourceFile, function: &Function<'_>, edits: &[Replaced<'_>]) -> Vec<Change> {
    let base = source.line(function.name.span.start) - 1;
    let line = |at: usize| source.line(at as u32) - base;
    let is_start = |at: usize| at == 0 || source.text().as_bytes()[at - 1] == b'\n';
    let mut all: Vec<Change> = Vec::new();
    // Lines that are there now more than in the original, or fewer.
    let mut added: i64 = 0;
    let within = function.span.start as usize..function.span.end as usize;
    // Whether the edits are within two versions.
    let mut is_open = false;
    for edit in edits.iter().filter(|edit| within.contains(&edit.range.start)) {
        let Range { start, end } = edit.range;
        let text = edit.text.matches('\n').count() as u32;
        let is_whole =
            is_start(start) && is_start(end) && (edit.text.is_empty() || edit.text.ends_with('\n'));
        let (first, partial) = (line(start), u32::from(!is_whole));
        let old = Lines { first, count: line(end) + partial - first };
        let new = Lines { first: (i64::from(first) + added) as u32, count: text + partial };
        added += i64::from(new.count) - i64::from(old.count);
        let lemma = edit.kind.lemma();
        let (kind, registers) = (edit.kind, Vec::new());
        let is_within = is_open;
        if kind == Kind::Versions {
            // One edit stands in front of the versions, and one behind them.
            is_open = !is_open;
        }
        match all.last_mut().filter(|last| is_within || old.first < last.original.end()) {
            // Both change that line, or stand in the same versions.
            Some(last) => {
                last.kind = last.kind.max(kind);
                last.lemma = last.kind.lemma();
                let end = old.end().max(last.original.end());
                last.original.count = end - last.original.first;
                last.rewritten.count += new.end() - last.rewritten.end();
            }
            None => all.push(Change { kind, lemma, original: old, rewritten: new, registers }),
        }
    }
    all
}

/// The line of an instruction in its function, from 1.
fn own_line(source: &SourceFile, function: &Function<'_>, flow: &Flow<'_, '_>, at: InstId) -> u32 {
    let base = source.line(function.name.span.start);
    source.line(flow.insts[at].ast.span.start).saturating_sub(base) + 1
}

/// The instructions on some lines, which follow each other.
fn ranges(
    flow: &Flow<'_, '_>,
    line: impl Fn(InstId) -> u32,
    all: &[Lines],
) -> Result<Vec<InstRange>, String> {
    let lines: Vec<u32> = flow.insts.keys().map(line).collect();
    let mut last = 0;
    let ranges = all.iter().map(|range| {
        if range.first < last.max(1) {
            let first = range.first;
            return Err(format!(
                "its lines from {first} on are not behind those of the range before"
            ));
        }
        last = range.end();
        let place = |line: u32| InstId::from(lines.partition_point(|one| *one < line));
        Ok(place(range.first).to(place(range.end())))
    });
    ranges.collect()
}

/// The names of a function's registers.
fn names_of(flow: &Flow<'_, '_>) -> FxHashSet<String> {
    flow.registers.iter().map(|register| register.to_string()).collect()
}

/// The names of the registers that some instructions write.
fn written(flow: &Flow<'_, '_>, range: InstRange) -> FxHashSet<String> {
    let registers = range.flat_map(|at| results(&flow.insts[at]));
    registers.map(|register| flow.registers[register].to_string()).collect()
}

impl FunctionCertificate {
    fn has_versions(&self) -> bool {
        self.changes.iter().any(|change| change.kind == Kind::Versions)
    }

    /// The alignment of two programs, if this can be their certificate.
    ///
    /// # Errors
    /// It cannot.
    pub(crate) fn alignment<'m, 's>(
        &self,
        original: &Program<'m, 's>,
        rewritten: &Program<'m, 's>,
    ) -> Result<Alignment, String> {
        let of = |program: &Program<'_, '_>, lines: fn(&Change) -> Lines| {
            let all: Vec<Lines> = self.changes.iter().map(lines).collect();
            let Program { source, function, flow, .. } = program;
            ranges(flow, |at| own_line(source, function, flow, at), &all)
        };
        let olds = of(original, |change| change.original)?;
        let news = of(rewritten, |change| change.rewritten)?;
        let known = names_of(&original.flow);
        let mut aligner = Aligner::new(original, rewritten);
        for (change, (old, new)) in self.changes.iter().zip(olds.into_iter().zip(news)) {
            self.check(change, (original, old.clone()), (rewritten, new.clone()), &known)?;
            aligner.same_up_to(old.start, new.start)?;
            aligner.replaced(old, new);
        }
        let (old, new) = (original.flow.insts.next_key(), rewritten.flow.insts.next_key());
        aligner.same_up_to(old, new)?;
        Ok(aligner.finish())
    }

    /// Checks what can be read off a change.
    fn check(
        &self,
        change: &Change,
        (original, old): (&Program<'_, '_>, InstRange),
        (rewritten, new): (&Program<'_, '_>, InstRange),
        known: &FxHashSet<String>,
    ) -> Result<(), String> {
        let fault =
            |what: String| Err(format!("line {} of the function: {what}", change.rewritten.first));
        if change.lemma != change.kind.lemma() {
            return fault("its lemma is not the one of its kind".to_owned());
        }
        let overwritten = written(&original.flow, old.clone());
        let written = written(&rewritten.flow, new.clone());
        if let Some(name) =
            written.iter().find(|one| known.contains(*one) && !change.registers.contains(one))
        {
            return fault(format!("it writes `{name}`, which is not listed"));
        }
        // (Code of versions that do the same is left out by now.)
        let is_there = |name: &String| {
            self.has_versions() || written.contains(name) || overwritten.contains(name)
        };
        if let Some(name) =
            change.registers.iter().find(|one| !known.contains(*one) || !is_there(one))
        {
            return fault(format!("`{name}` is not a register of the original that it writes"));
        }
        let is_quiet = |at: InstId| {
            matches!(
                role(&rewritten.flow.insts[at]),
                Role::Pure | Role::Load | Role::Observe | Role::Collective
            )
        };
        if change.kind == Kind::Fresh
            && (!change.registers.is_empty() || old.start != old.end || !new.clone().all(is_quiet))
        {
            return fault("it does more than to write new registers".to_owned());
        }
        Ok(())
    }
}
