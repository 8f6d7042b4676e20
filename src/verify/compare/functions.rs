//! Compares two functions: both are evaluated, and their events are matched and proved equal.
//!
//! The argument is an induction over the iterations of the loops. At each header, paired registers (by name, or by
//! value: `congruence`) are assumed to hold the same value in both programs; the values that enter the loop and those
//! of the back edges must then be equal, and both loops must iterate equally often. Registers for which that fails get
//! values of their own, and everything is evaluated again. Given that, every event of the original must be an event of
//! the rewritten program under the same condition with the same operands, and the rewritten program must have no
//! others.

use super::carried::LoopCarriedRegisters;
use super::comparison::Comparison;
use super::unread::unread;
use crate::Options;
use crate::cfg::LoopId;
use crate::expr::within;
use crate::isa::Opcode;
use crate::lane::{Paired, evaluate, names_fit, pair, renames};
use crate::oracle::Warp;
use crate::program::arrays::observed;
use crate::program::split::Split;
use crate::program::{
    Alignment, Both, FunctionCertificate, Program, align, by_events, new_divergence, one_to_one,
    split,
};
use crate::proof::{Claims, Exchanges, Flags, Lanes, Prover};
use crate::ptx::{FunctionKind, Module};
use crate::record::layouts::Layouts;
use crate::record::{HeaderRegister, Reference, layouts};
use crate::solver::{Answer, Solver};
use crate::terms::{Terms, TextNames, assume};
use crate::witness::{CertificateOutcome, FunctionReport, Verdict};

/// How often registers are given values of their own.
const MAX_REFINEMENTS: u32 = 16;

/// After that many attempts.
const UNMATCHED: &str =
    "the loop-carried registers could not be matched: each attempt left some that differ";

/// Compares two functions, whose texts differ: with the loop-carried registers paired by their names, and, where that
/// shows nothing or names do not fit, by their values. `resized` says that arrays in shared memory are declared in
/// other sizes.
pub(super) fn compare<'s>(
    original: &Program<'_, 's>,
    rewritten: &mut Program<'_, 's>,
    modules: Both<&Module<'_>>,
    resized: bool,
    options: &Options,
) -> FunctionReport {
    let name = original.function.name.text.to_owned();
    if let Some(reason) = incomparable(original, rewritten, modules, resized, options) {
        return FunctionReport::unknown(name, reason);
    }
    let by_place = rewritten.pair_by_place(original);
    let named = by_place || names_fit(original, rewritten);
    let mut paired = None;
    let mut first = None;
    for by_name in [named, !named] {
        let pairs = match by_name {
            true => None,
            false if original.irreducible => continue,
            false => {
                let pairs = paired.get_or_insert_with(|| pair(original, rewritten, options.steps));
                if named && !renames(original, rewritten, pairs) {
                    continue;
                }
                Some(&*pairs)
            }
        };
        let mut alignment = match (pairs, by_place) {
            (Some(_), false) => by_events(original, rewritten),
            (None, false) => align(original, rewritten),
            (_, true) => one_to_one(rewritten),
        };
        let splits = split::find(original, rewritten, &mut alignment);
        for splits in groups(&splits) {
            let is_brief = options.is_brief;
            let matching = Matching { alignment: &alignment, splits, paired: pairs, is_brief };
            let attempt =
                within(|| attempt(original, rewritten, &matching, modules, resized, options));
            let report = attempt.unwrap_or_else(|_| {
                let reason = format!("budget: the terms take more than {} steps", options.steps);
                FunctionReport::unknown(name.clone(), reason)
            });
            if report.verdict != Verdict::Unknown {
                return report;
            }
            // A fault of a group is more informative than missing stores.
            match splits.is_empty() {
                true => _ = first.get_or_insert(report),
                false => first = Some(report),
            }
        }
    }
    first.unwrap_or_else(|| FunctionReport::unknown(name, "nothing was compared".to_owned()))
}

/// Compares two functions along their certificate. It may be wrong, so this finds no counterexamples.
pub(super) fn certified<'s>(
    original: &Program<'_, 's>,
    rewritten: &mut Program<'_, 's>,
    modules: Both<&Module<'_>>,
    (certificate, resized): (&FunctionCertificate, bool),
    options: &Options,
) -> FunctionReport {
    let name = || original.function.name.text.to_owned();
    let unproved = |reason: String, outcome: fn(String) -> CertificateOutcome| {
        let certificate = Some(outcome(reason.clone()));
        FunctionReport { certificate, ..FunctionReport::unknown(name(), reason) }
    };
    let mut alignment = match certificate.alignment(original, rewritten) {
        Ok(alignment) => alignment,
        Err(reason) => return unproved(reason, CertificateOutcome::Wrong),
    };
    if let Some(reason) = incomparable(original, rewritten, modules, resized, options) {
        return unproved(reason, CertificateOutcome::Unproved);
    }
    let splits = split::find(original, rewritten, &mut alignment);
    let mut reason = None;
    for splits in groups(&splits) {
        let matching = Matching { alignment: &alignment, splits, paired: None, is_brief: true };
        let report = attempt(original, rewritten, &matching, modules, resized, options);
        if report.verdict == Verdict::Equal {
            return FunctionReport { certificate: Some(CertificateOutcome::Proved), ..report };
        }
        reason = report.problems.into_iter().next().map(|problem| problem.reason);
    }
    unproved(reason.unwrap_or_default(), CertificateOutcome::Unproved)
}

/// The groups of stores with which two functions are compared, one attempt after the other. Stores of other lanes' values
/// are vectors as well, and no groups: the first attempt is without groups, unless a vector has copies of its parts
/// beside it.
fn groups(splits: &[Split]) -> impl Iterator<Item = &[Split]> {
    let mut attempts = [&[][..], splits];
    if splits.iter().any(|split| !split.copies.is_empty()) {
        attempts.reverse();
    }
    attempts.into_iter().take(if splits.is_empty() { 1 } else { 2 })
}

/// The matched parts of the two functions.
struct Matching<'m> {
    alignment: &'m Alignment,
    splits: &'m [Split],
    /// The registers of loops; without it those of one name.
    paired: Option<&'m Paired>,
    /// [`Comparison::is_brief`].
    is_brief: bool,
}

/// Compares two functions whose instructions, stores and loop registers are matched.
fn attempt<'s>(
    original: &Program<'_, 's>,
    rewritten: &mut Program<'_, 's>,
    &Matching { alignment, splits, paired, is_brief }: &Matching<'_>,
    modules: Both<&Module<'_>>,
    resized: bool,
    options: &Options,
) -> FunctionReport {
    let name = original.function.name.text.to_owned();
    let mut terms = match terms(original, rewritten, options) {
        Ok(terms) => terms,
        Err(reason) => return FunctionReport::unknown(name, reason),
    };
    let mut claims = Claims::new(solver(options));
    rewritten.leave_out_own_barriers(&alignment.matched);
    let rewritten = &*rewritten;
    let execution = evaluate(original, &mut terms, None, None, None);
    let mut split: Vec<HeaderRegister> = Vec::new();
    let mut carried = LoopCarriedRegisters::default();
    let mut laid_out: Option<Option<Layouts>> = None;
    let mut doubtful = false;
    for _ in 0..MAX_REFINEMENTS {
        let reference = Reference {
            execution: &execution,
            program: original,
            matched: &alignment.matched,
            gaps: &alignment.gaps,
            splits,
            paired,
            split: &split,
            carried: &carried.values,
        };
        let mut lanes =
            Lanes::new(original, &execution, new_divergence(original, rewritten, alignment));
        let loops = &original.flow.loops;
        let mut prover = Prover::new(claims, &mut terms, loops, &execution);
        prover.exchanges = Exchanges::of_original(original, &execution, &mut terms, &mut lanes);
        let mut warp = Warp::new(lanes, prover, &execution.definitions);
        let layouts = laid_out.as_ref().and_then(Option::as_ref);
        let result = evaluate(rewritten, &mut terms, Some(&reference), layouts, Some(&mut warp));
        let programs = Both { original, rewritten };
        let executions = Both { original: &execution, rewritten: &result };
        if laid_out.is_none() {
            let found = layouts::find(&mut terms, programs, modules, executions);
            if let (Err(reason), true) = (&found, resized) {
                return FunctionReport::unknown(name, reason.clone());
            }
            // Where the layouts are not known, the addresses are compared as they are.
            doubtful = found.is_err();
            let found = laid_out.insert(found.unwrap_or_default());
            if found.is_some() {
                claims = warp.prover.claims;
                continue;
            }
        }
        let mut comparison =
            Comparison::new(programs, executions, alignment, splits, &mut terms, warp);
        (comparison.doubtful, comparison.is_brief) = (doubtful, is_brief);
        comparison.unread = unread(programs, modules);
        comparison.pair_up();
        if carried.guess(&mut comparison) {
            claims = comparison.warp.prover.claims;
            continue;
        }
        let differ = comparison.loop_carried(&carried);
        if !differ.is_empty() {
            let differ = comparison.causes(carried.withdraw(differ).collect());
            claims = comparison.warp.prover.claims;
            split.extend(differ);
            continue;
        }
        if let Some(&astray) = result.astray.first() {
            return FunctionReport::unknown(name, not_laid_out(rewritten.line(astray)));
        }
        comparison.effects(modules);
        let described = laid_out.flatten().map(|layouts| layouts.described).unwrap_or_default();
        return FunctionReport { layouts: described, ..comparison.report(name) };
    }
    FunctionReport::unknown(name, UNMATCHED.to_owned())
}

/// The terms of two programs, with what the user takes for granted.
///
/// # Errors
/// The preconditions contradict each other: they would prove anything.
fn terms<'s>(
    original: &Program<'_, 's>,
    rewritten: &Program<'_, 's>,
    options: &Options,
) -> Result<Terms, String> {
    let mut terms =
        Terms { assume_no_wrap: options.assume_no_wrap, ..Terms::within(options.steps) };
    terms.symbols.names = text_names(original, rewritten);
    // A function that is called may have other arguments under the same names.
    if original.function.kind == FunctionKind::Func {
        return Ok(terms);
    }
    for precondition in &options.preconditions {
        let found = precondition.terms(original.function, &mut terms);
        terms.assumed.extend(found.unwrap_or_default());
    }
    for name in &options.no_alias {
        let found = assume::parameter(original.function, name, &mut terms);
        terms.no_alias.extend(found);
    }
    let Terms { arena, symbols, assumed, .. } = &mut terms;
    let all = assumed.iter().fold(arena.boolean(true), |all, one| arena.and(all, *one));
    let never = (all, arena.boolean(false));
    if !assumed.is_empty()
        && solver(options).prove_equal(arena, symbols, never, &[]) == Answer::Proved
    {
        let reason = "no value of the parameters meets the preconditions: they are signed numbers of the declared width";
        return Err(reason.to_owned());
    }
    Ok(terms)
}

/// The reason where an access is not shown to go where the layout says.
fn not_laid_out(line: u32) -> String {
    format!("line {line}: the address is not shown to be that of the new layout")
}

/// How messages name the registers and instructions of both programs.
fn text_names<'s>(original: &Program<'_, 's>, rewritten: &Program<'_, 's>) -> TextNames {
    TextNames {
        registers: [&original.flow, &rewritten.flow]
            .map(|flow| flow.registers.iter().map(|register| register.to_string()).collect()),
        insts: [original.named_insts(), rewritten.named_insts()],
    }
}

/// The solver within the bounds of the options.
fn solver(options: &Options) -> Solver {
    Solver::new(options.solver_limit, options.dump_queries.clone())
        .with_queries(options.queries)
        .with_budget(options.solver_budget)
}

/// The reason why two functions cannot be compared at all, if there is one.
fn incomparable<'s>(
    original: &Program<'_, 's>,
    rewritten: &Program<'_, 's>,
    modules: Both<&Module<'_>>,
    resized: bool,
    options: &Options,
) -> Option<String> {
    shape_differs(original, rewritten, options).or_else(|| {
        let found = observed(original, modules.original);
        let found = found.or_else(|| observed(rewritten, modules.rewritten));
        found.filter(|_| resized).map(|reason| format!("arrays have other sizes: {reason}"))
    })
}

/// The reason by the functions' loops and sizes.
fn shape_differs<'s>(
    original: &Program<'_, 's>,
    rewritten: &Program<'_, 's>,
    options: &Options,
) -> Option<String> {
    let instructions = original.flow.insts.len().max(rewritten.flow.insts.len());
    if instructions > options.instructions {
        return Some(format!("{instructions} instructions, the limit is {}", options.instructions));
    }
    let parents = |program: &Program<'_, '_>| -> Vec<Option<LoopId>> {
        program.flow.loops.loops.iter().map(|one| one.parent).collect()
    };
    if parents(original) != parents(rewritten) {
        return Some("the two have different loops".to_owned());
    }
    if original.irreducible != rewritten.irreducible {
        return Some("only one of the two has a cycle with several entries".to_owned());
    }
    for program in [original, rewritten] {
        let flow = &program.flow;
        let merged = program.carried.len() * flow.blocks.len();
        if merged > options.merges {
            return Some(format!("{merged} values to merge, the limit is {}", options.merges));
        }
    }
    None
}

impl Comparison<'_, '_> {
    /// Proves the loop-carried values equal; returns the registers for which that fails. From here on claims decide
    /// the verdict.
    fn loop_carried(&mut self, carried: &LoopCarriedRegisters) -> Vec<HeaderRegister> {
        let (forest, loops) = (&self.rewritten.flow.loops, &self.after.loops);
        let prover = &mut self.warp.prover;
        prover.deciding = true;
        prover.flags = Flags::new(self.terms, forest, loops);
        if self.original.irreducible {
            return self.cutpoints();
        }
        for &id in &carried.counting {
            let facts = self.header_facts(id);
            self.at_header.insert(id, facts);
        }
        self.loops(&carried.values)
    }

    /// Compares all that the two functions do, and executes the counterexamples.
    fn effects(&mut self, modules: Both<&Module<'_>>) {
        self.events();
        let others: [fn(&mut Self); 5] = [
            |it| it.warp_exchanges(),
            |it| it.splits(it.splits),
            |it| it.loads(),
            |it| it.branches(),
            |it| it.convergence(),
        ];
        for compare in others {
            if self.is_settled() {
                return;
            }
            compare(self);
        }
        self.run(modules);
    }

    /// Whether the verdict is certain.
    pub(super) fn is_settled(&self) -> bool {
        self.is_brief && !self.problems.is_empty()
    }

    /// The verdict on the function, with the problems that were found.
    fn report(self, name: String) -> FunctionReport {
        let insts = self.rewritten.flow.insts.iter().zip(&self.alignment.matched);
        let own = insts
            .filter(|(inst, partner)| inst.ast.form.opcode == Opcode::Shfl && partner.is_none());
        let own_shuffles = (own.count() as u32).max(self.warp.shuffles);
        let different = self.problems.iter().position(|one| one.counterexample.is_some());
        let verdict = match (different, self.problems.is_empty()) {
            (Some(_), _) => Verdict::Different,
            (None, true) => Verdict::Equal,
            (None, false) => Verdict::Unknown,
        };
        let mut problems = self.problems;
        if let Some(first) = different {
            problems.swap(0, first);
        }
        let unasked = self.warp.prover.claims.solver.unasked();
        if unasked > 0
            && verdict == Verdict::Unknown
            && let Some(first) = problems.first_mut()
        {
            first.reason += &format!(
                " (budget: {unasked} claims were not put to the solver, whose units for this \
                 function are used up)"
            );
        }
        FunctionReport {
            name,
            verdict,
            events: self.after.events.len(),
            shuffles: self.warp.shuffles,
            own_shuffles,
            queries: self.warp.prover.claims.solver.queries(),
            steps: self.terms.arena.spent(),
            problems,
            certificate: None,
            within_arrays: !self.unread.is_empty() && verdict == Verdict::Equal,
            layouts: Vec::new(),
            undone: Vec::new(),
        }
    }
}
