//! The rewriter's part in the check of an assembled call: takes kernels back, measures them, and tries parts.
//!
//! In: the rewriter and the options of a call. Out: its [`Judges`] for [`crate::ptxas::check`], which remember the
//! measures of kernels for the report.

use std::cell::{Cell, RefCell};

use super::holes::Rewriter;
use super::large_stack::on_large_stack;
use super::slower::Judge;
use crate::kernels::demangled;
use crate::pipeline::{Options, Part, Rewritten};
use crate::ptxas::assemble::one_line;
use crate::ptxas::examine::Examined;
use crate::ptxas::judges::Judges;
use crate::ptxas::losses::Loss;
use crate::select::Half;
use crate::source::SourceFile;

/// Rewrites one input. Whatever goes wrong, a panic included, is a message of one line.
pub(super) fn rewrite(
    source: &SourceFile,
    options: &Options,
    rewriter: &Rewriter,
) -> Result<Rewritten, String> {
    match on_large_stack(|| rewriter(source, options)) {
        Ok(Ok(Ok(rewritten))) => Ok(rewritten),
        Ok(Ok(Err(diagnostic))) => Err(one_line(&diagnostic)),
        Ok(Err(panic)) => {
            let message = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .and_then(|message| message.lines().next())
                .unwrap_or("no message");
            Err(format!("{}: internal error: {message}", source.name()))
        }
        Err(error) => Err(format!("{}: cannot start a thread: {error}", source.name())),
    }
}

/// The judges of one call.
pub(super) struct Judging<'r> {
    rewriter: &'r Rewriter,
    options: &'r Options,
    /// Measures kernels; `None` where costs have not chosen their rewrites.
    judge: Option<Judge>,
    /// One for each of the parts tried last.
    of_parts: RefCell<Vec<Judge>>,
    /// Whether a rewrite was taken back.
    taken_back: Cell<bool>,
}

impl<'r> Judging<'r> {
    /// Those of a call with these texts, which begin to look at them.
    pub(super) fn new(
        rewriter: &'r Rewriter,
        options: &'r Options,
        examined: &[Examined<Rewritten>],
    ) -> Judging<'r> {
        let is_weighed = options.select.strategies.are_weighed();
        let changed = || examined.iter().filter_map(Examined::changed);
        Judging {
            rewriter,
            options,
            judge: is_weighed.then(|| Judge::new(changed(), options)),
            of_parts: RefCell::default(),
            taken_back: Cell::new(false),
        }
    }

    /// The measures of kernels.
    pub(super) fn judge(&self) -> Option<&Judge> {
        self.judge.as_ref()
    }

    /// Whether a rewrite was taken back.
    pub(super) fn has_taken_back(&self) -> bool {
        self.taken_back.get()
    }

    /// The rewrite of some kernels alone with a part of their changes, if there is any.
    fn part(&self, source: &SourceFile, lost: &[Loss], half: Half) -> Option<Rewritten> {
        let part = Part { lost: lost.iter().cloned().collect(), half };
        let options = Options { part: Some(part), ..self.options.clone() };
        let rewritten = rewrite(source, &options, self.rewriter).ok()?;
        let changed = rewritten.report.kernels.iter().filter(|kernel| kernel.is_rewritten());
        let names: Vec<String> = changed.map(|kernel| kernel.name.clone()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        (!names.is_empty()).then(|| rewritten.of_kernels_alone(source, &names).ok()).flatten()
    }
}

impl Judges<Rewritten> for Judging<'_> {
    fn without(&self, source: &SourceFile, rewritten: &Rewritten, lost: &[Loss]) -> Rewritten {
        self.taken_back.set(true);
        let taken = |what: &str| format!("taken back: {what}");
        let reasons: Vec<Loss> =
            lost.iter().map(|(name, what)| (name.clone(), taken(what))).collect();
        for (name, what) in lost {
            log::info!("{}: {} taken back: {what}", source.name(), demangled(name));
        }
        rewritten.clone().without(source, &reasons)
    }

    fn slower(
        &self,
        source: &SourceFile,
        rewritten: &Rewritten,
        cubins: [&[u8]; 2],
        lost: &[Loss],
    ) -> Vec<Loss> {
        let judge = self.judge.as_ref();
        judge.map_or_else(Vec::new, |judge| judge.slower(source, rewritten, cubins, lost))
    }

    fn parts(&self, source: &SourceFile, lost: &[Loss]) -> Vec<Rewritten> {
        if self.judge.is_none() {
            return Vec::new();
        }
        let halves = [Half::First, Half::Second].into_iter();
        let parts: Vec<Rewritten> =
            halves.filter_map(|half| self.part(source, lost, half)).collect();
        let judges = parts.iter().map(|part| Judge::new([(source, part)], self.options));
        *self.of_parts.borrow_mut() = judges.collect();
        parts
    }

    fn slower_part(
        &self,
        part: usize,
        source: &SourceFile,
        rewritten: &Rewritten,
        cubins: [&[u8]; 2],
        lost: &[Loss],
    ) -> Vec<Loss> {
        self.of_parts.borrow()[part].slower(source, rewritten, cubins, lost)
    }

    fn with_parts(
        &self,
        source: &SourceFile,
        rewritten: &Rewritten,
        parts: &[(Rewritten, Vec<String>)],
        lost: &[Loss],
    ) -> Rewritten {
        self.taken_back.set(true);
        let judges = self.of_parts.borrow();
        let ratio = |part: usize, name: &str| judges[part].ratio(source, name).unwrap_or(1.0);
        let mut names: Vec<&String> = parts.iter().flat_map(|(_, names)| names).collect();
        names.sort_unstable();
        names.dedup();
        let mut changed = rewritten.clone();
        for name in names {
            let with = (0..parts.len()).filter(|&part| parts[part].1.contains(name));
            let best = with.min_by(|&a, &b| ratio(a, name).total_cmp(&ratio(b, name)));
            let Some(part) = best else { continue };
            changed = changed.with(source, &parts[part].0, std::slice::from_ref(name));
            if let Some(judge) = &self.judge {
                judge.leave_to(&judges[part], source, name);
            }
            let what = lost.iter().find(|(of, _)| of == name).map_or("", |(_, what)| what);
            let (file, shown) = (source.name(), demangled(name));
            log::info!("{file}: {shown}: a part of its changes is taken back: {what}");
        }
        changed
    }
}
