//! Compares two functions: what each does is evaluated, matched and proved equal.
//!
//! The argument is an induction over the iterations of the loops. At each header, registers of one
//! name are assumed to hold the same value in both programs; what goes in and what comes round must
//! then be equal, and each must go round as often as the other. Registers for which that fails get
//! values of their own, and everything is evaluated again. Given that, every event of the original
//! must be an event of the rewritten program under the same condition with the same operands, and
//! there must be no others.

use rustc_hash::FxHashMap;

use super::Options;
use super::align::{Alignment, align};
use super::concrete::Seen;
use super::counterexample;
use super::cuts::Cut;
use super::evaluate::{Event, Execution, Reference, evaluate};
use super::execute::Pair;
use super::induction::Induction;
use super::instructions::Role;
use super::lanes::Lanes;
use super::program::Program;
use super::prove::{Place, Proof, Prover};
use super::symbols::Terms;
use super::verdict::{Counterexample, FunctionReport, Problem, Verdict};
use super::warp::Warp;
use crate::cfg::{Apart, BlockId, LoopId, RegisterId};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::solver::Solver;

/// How often loop registers may be taken apart before giving up.
const MAX_ROUNDS: u32 = 16;

/// Compares two functions of one name, whose texts differ.
pub(super) fn compare<'s>(
    original: &Program<'_, 's>,
    rewritten: &Program<'_, 's>,
    modules: Pair<'_, '_>,
    options: &Options,
) -> FunctionReport {
    let name = original.function.name.text.to_owned();
    if let Some(reason) = shape_differs(original, rewritten, options) {
        return FunctionReport::unknown(name, reason);
    }
    let mut terms = Terms::within(options.steps);
    let mut units = options.solver_budget;
    let alignment = align(original, rewritten);
    let execution = evaluate(original, &mut terms, None, None);
    let mut split: Vec<(LoopId, RegisterId)> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let reference = Reference {
            execution: &execution,
            program: original,
            matched: &alignment.matched,
            gaps: &alignment.gaps,
            split: &split,
        };
        let solver = Solver::new(options.solver_limit, options.dump_queries.clone())
            .with_queries(options.queries)
            .with_budget(units);
        let lanes = Lanes::new(original, &execution, newly_apart(original, rewritten, &alignment));
        let originals = execution.definitions.values().copied().collect();
        let induction = Induction::new(&mut terms, &execution);
        let prover = Prover::new(solver, execution.stores.clone(), induction);
        let mut warp = Warp::new(lanes, prover, originals);
        let result = evaluate(rewritten, &mut terms, Some(&reference), Some(&mut warp));
        let mut comparison = Comparison {
            original,
            rewritten,
            before: &execution,
            after: &result,
            alignment: &alignment,
            terms: &mut terms,
            warp,
            partners: Vec::new(),
            missing: Vec::new(),
            roots: Default::default(),
            pairs_up: true,
            problems: Vec::new(),
            seen: Vec::new(),
        };
        comparison.pair_up();
        comparison.warp.prover.deciding = true;
        let apart = match original.irreducible {
            true => comparison.cuts(),
            false => comparison.loops(),
        };
        if !apart.is_empty() {
            units = comparison.warp.prover.solver.units_left();
            split.extend(apart);
            continue;
        }
        comparison.events();
        comparison.loads();
        comparison.branches();
        comparison.convergence();
        comparison.run(modules);
        return comparison.report(name);
    }
    FunctionReport::unknown(name, "the loops' registers could not be matched".to_owned())
}

/// The reason why two functions cannot be compared at all, if there is one.
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

/// The reason why a loop of the original is taken apart that corresponds to `apart`, which is one
/// of the rewritten program; `None` if the original has no such reason.
fn same_apart(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
    apart: &Apart,
) -> Option<Apart> {
    let mut all = original.flow.taken_apart.iter().filter(|other| other.of == apart.of).copied();
    let Some(branch) = apart.branch else { return all.find(|other| other.branch.is_none()) };
    let matched = alignment.matched[rewritten.flow.block(branch).end as usize - 1]?;
    all.find(|other| {
        other
            .branch
            .is_some_and(|block| original.flow.block(block).end.checked_sub(1) == Some(matched))
    })
}

/// For each loop, whether something in the rewritten program may take lanes into different iterations,
/// where nothing in the original does.
fn newly_apart(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
) -> Vec<bool> {
    let mut newly = vec![false; original.flow.loops.loops.len()];
    for apart in &rewritten.flow.taken_apart {
        newly[apart.of.0 as usize] |= same_apart(original, rewritten, alignment, apart).is_none();
    }
    newly
}

/// The places where ways meet, numbered.
fn numbered(cuts: &[Cut]) -> FxHashMap<BlockId, usize> {
    cuts.iter().enumerate().map(|(number, cut)| (cut.block, number)).collect()
}

/// Which of the places where ways meet an event is relative to.
fn root_number(
    execution: &Execution,
    numbers: &FxHashMap<BlockId, usize>,
    event: &Event,
) -> Option<usize> {
    numbers.get(&execution.root[event.block.index()]).copied()
}

/// The comparison of two functions that have both been evaluated: `before` is the outcome of the original,
/// `after` that of the rewritten function.
pub(super) struct Comparison<'c, 's> {
    pub original: &'c Program<'c, 's>,
    pub rewritten: &'c Program<'c, 's>,
    pub before: &'c Execution,
    pub after: &'c Execution,
    pub alignment: &'c Alignment,
    pub terms: &'c mut Terms,
    pub warp: Warp<'c, 's>,
    /// For each event of the rewritten program, the original's that it is matched with.
    pub partners: Vec<Option<usize>>,
    /// For each event of the original, whether none is matched with it.
    pub missing: Vec<bool>,
    /// The number of each cut's block, in the original and in the rewritten function.
    roots: (FxHashMap<BlockId, usize>, FxHashMap<BlockId, usize>),
    /// Whether each event of the one is matched with one of the other. Where not, that something
    /// differs says little: another event may make up for it.
    pub pairs_up: bool,
    pub problems: Vec<Problem>,
    /// For each problem with a counterexample the state in which it was seen.
    pub seen: Vec<(usize, Seen)>,
}

impl Comparison<'_, '_> {
    /// A block of the rewritten program with all that is known to hold there.
    pub fn place(&mut self, block: BlockId) -> Place {
        let entries =
            |id: LoopId| self.after.loops[id.0 as usize].as_ref().map(|record| record.entry);
        let global: &[_] = match self.before.generic || self.after.generic {
            true => &self.before.global,
            false => &[],
        };
        let facts = (&self.warp.reaches[..], &self.warp.votes[..], global);
        Place::new(self.terms, self.rewritten, self.after, &entries, block, facts)
    }

    pub fn prove(
        &mut self,
        place: &Place,
        original: TermId,
        rewritten: TermId,
        known: &[TermId],
    ) -> Proof {
        if self.terms.arena.width(original) != self.terms.arena.width(rewritten) {
            return Proof::Unknown;
        }
        let Warp { prover, lanes, .. } = &mut self.warp;
        prover.equal(self.terms, lanes, place, (original, rewritten), known)
    }

    /// Proves what goes into loops and comes round; gives the registers for which that fails.
    fn loops(&mut self) -> Vec<(LoopId, RegisterId)> {
        let mut apart = Vec::new();
        for index in 0..self.before.loops.len() {
            let id = LoopId(index as u32);
            let header = self.rewritten.flow.loops.get(id).header;
            let inst = self.rewritten.flow.block(header).first;
            let (before, after) = match (&self.before.loops[index], &self.after.loops[index]) {
                (None, None) => continue,
                (Some(before), Some(after)) => (before, after),
                _ => {
                    self.unknown(
                        inst,
                        None,
                        "a loop that only one of the two can reach".to_owned(),
                    );
                    continue;
                }
            };
            let outside = self.iteration(self.rewritten.flow.loops.get(id).parent);
            let inside = self.place(header);
            for (what, place, pair) in [
                ("a loop is entered", &outside, (before.entry, after.entry)),
                ("a loop goes on", &inside, (before.again, after.again)),
            ] {
                let proof = self.prove(place, pair.0, pair.1, &[]);
                self.check((proof, pair), inst, None, place, || {
                    format!("the condition under which {what}")
                });
            }
            for round in &after.rounds {
                self.terms.arena.charge(1 + before.rounds.len() as u64 / 8);
                let Some(partner) = before.rounds.iter().find(|one| one.symbol == round.symbol)
                else {
                    continue;
                };
                let known = [after.entry];
                let entered = self.prove(&outside, partner.initial, round.initial, &known);
                let came_round = match entered {
                    Proof::Equal => self.prove(&inside, partner.latch, round.latch, &[after.again]),
                    other => other,
                };
                match (came_round, round.register) {
                    (Proof::Equal, _) => {}
                    (_, Some(register)) => apart.push((id, register)),
                    (_, None) => {
                        self.unknown(inst, None, "memory differs at the head of a loop".to_owned());
                    }
                }
            }
        }
        apart
    }

    /// Proves what comes together where ways meet; gives the registers for which that fails.
    fn cuts(&mut self) -> Vec<(LoopId, RegisterId)> {
        let (before, after) = (&self.before.cuts, &self.after.cuts);
        let mut apart = Vec::new();
        let entry = self.rewritten.flow.block(BlockId(0)).first;
        if before.len() != after.len() {
            self.unknown(entry, None, "ways meet at different places in the two".to_owned());
            return apart;
        }
        let (olds, news) = (numbered(before), numbered(after));
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let inst = self.rewritten.flow.block(new.block).first;
            let id = LoopId((self.original.flow.loops.loops.len() + index) as u32);
            let roots = |numbers: &FxHashMap<BlockId, usize>, cut: &Cut| -> Vec<Option<usize>> {
                cut.ways.iter().map(|(root, ..)| numbers.get(root).copied()).collect()
            };
            if roots(&olds, old) != roots(&news, new) {
                self.unknown(inst, None, "different ways lead here in the two".to_owned());
                continue;
            }
            for ((_, when, a), (root, condition, b)) in old.ways.iter().zip(&new.ways) {
                let place = self.place(*root);
                // The root's own facts hold on every way from there.
                let proof = self.prove(&place, *when, *condition, &[]);
                let what = || "the condition of a way here".to_owned();
                self.check((proof, (*when, *condition)), inst, None, &place, what);
                for (position, &(register, symbol)) in new.symbols.iter().enumerate() {
                    let Some(partner) = old.symbols.iter().position(|one| one.1 == symbol) else {
                        continue;
                    };
                    let proof = self.prove(&place, a[partner], b[position], &[*condition]);
                    match (proof, register) {
                        (Proof::Equal, _) => {}
                        (_, Some(register)) => apart.push((id, register)),
                        (_, None) => {
                            self.unknown(inst, None, "memory differs where ways meet".to_owned());
                        }
                    }
                }
            }
        }
        apart.sort_unstable();
        apart.dedup();
        apart
    }

    /// The header of a loop with all that is known to hold in an iteration that both programs have
    /// reached.
    fn iteration(&mut self, around: Option<LoopId>) -> Place {
        let mut place = Place { around, ..Place::default() };
        for around in self.rewritten.flow.loops.around(around) {
            if let Some(record) = &self.after.loops[around.0 as usize] {
                place.path.extend(super::conditions::literals(&mut self.terms.arena, record.entry));
            }
        }
        place
    }

    /// Matches the events of the two with each other.
    fn pair_up(&mut self) {
        let mut open: Vec<bool> = vec![true; self.before.events.len()];
        let mut numbers: FxHashMap<u32, usize> = FxHashMap::default();
        for (index, event) in self.before.events.iter().enumerate() {
            numbers.entry(event.inst).or_insert(index);
        }
        self.partners = self
            .after
            .events
            .iter()
            .map(|event| {
                let inst = self.alignment.matched[event.inst as usize]?;
                let index = *numbers.get(&inst)?;
                std::mem::take(&mut open[index]).then_some(index)
            })
            .collect();
        let acts = |event: &&Event| !matches!(event.role, Role::Observe | Role::Leave);
        let alone = self.after.events.iter().zip(&self.partners).filter(|(_, p)| p.is_none());
        let missing = self.before.events.iter().zip(&open).filter(|(_, open)| **open);
        let unpaired = alone.map(|(event, _)| event).filter(acts).count()
            + missing.map(|(event, _)| event).filter(acts).count();
        let both = self.before.events.iter().chain(&self.after.events);
        self.pairs_up = unpaired == 0 || both.filter(acts).count() == 1;
        self.missing = open;
    }

    /// Proves the events equal, one by one.
    fn events(&mut self) {
        let (partners, missing) =
            (std::mem::take(&mut self.partners), std::mem::take(&mut self.missing));
        self.roots = (numbered(&self.before.cuts), numbered(&self.after.cuts));
        let mut last = 0;
        for (event, partner) in self.after.events.iter().zip(partners) {
            match partner {
                None => self.only_one(event, true),
                Some(index) => {
                    if index < last {
                        let reason = "the order of what both do differs".to_owned();
                        self.unknown(event.inst, Some(self.before.events[index].inst), reason);
                    }
                    last = index;
                    let partner = &self.before.events[index];
                    self.event(partner, event);
                }
            }
        }
        for (event, missing) in self.before.events.iter().zip(missing) {
            if missing {
                self.only_one(event, false);
            }
        }
    }

    fn event(&mut self, before: &Event, after: &Event) {
        let (old, new) = (
            &self.original.flow.insts[before.inst as usize],
            &self.rewritten.flow.insts[after.inst as usize],
        );
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let places = (self.original.loop_of(before.block), self.rewritten.loop_of(after.block));
        if words(old.ast.opcode.text) != words(new.ast.opcode.text)
            || before.operands.len() != after.operands.len()
            || places.0 != places.1
            || root_number(self.before, &self.roots.0, before)
                != root_number(self.after, &self.roots.1, after)
        {
            let reason = "the two do different things here".to_owned();
            return self.unknown(after.inst, Some(before.inst), reason);
        }
        let place = self.place(after.block);
        let (a, b) = (before.condition, after.condition);
        let what = || format!("the condition of `{}`", old.ast.opcode.text);
        let there = self.prove(&place, a, b, &[]);
        let happens = there == Proof::Equal;
        self.check((there, (a, b)), after.inst, Some(before.inst), &place, what);
        if happens {
            // That was where the rewritten program gets to the place; now, whether it gets there.
            let iteration = self.iteration(places.1);
            let reached = self.prove(&iteration, a, b, &[a]);
            self.check((reached, (a, b)), after.inst, Some(before.inst), &iteration, what);
        }
        for (number, (&a, &b)) in before.operands.iter().zip(&after.operands).enumerate() {
            let proof = self.prove(&place, a, b, &[after.condition]);
            self.check((proof, (a, b)), after.inst, Some(before.inst), &place, || {
                match (before.role, number) {
                    (Role::Store, 0) => format!("the address of `{}`", old.ast.opcode.text),
                    (Role::Store, _) => format!("the value of `{}`", old.ast.opcode.text),
                    _ => format!("operand {number} of `{}`", old.ast.opcode.text),
                }
            });
        }
    }

    /// An event that only one of the two has is none if it cannot happen.
    fn only_one(&mut self, event: &Event, in_rewritten: bool) {
        let program = if in_rewritten { "the rewritten" } else { "the original" };
        let inst = match in_rewritten {
            true => &self.rewritten.flow.insts[event.inst as usize],
            false => &self.original.flow.insts[event.inst as usize],
        };
        let opcode = inst.ast.opcode.text.to_owned();
        let harmless = [
            Opcode::Prefetch,
            Opcode::Prefetchu,
            Opcode::NanoSleep,
            Opcode::PmEvent,
            Opcode::ApplyPriority,
        ];
        if event.role == Role::Observe
            && (!in_rewritten || harmless.contains(&inst.ast.form.opcode))
        {
            return;
        }
        let lines = match in_rewritten {
            true => (Some(event.inst), None),
            false => (None, Some(event.inst)),
        };
        let place = match in_rewritten {
            true => self.place(event.block),
            false => Place::default(),
        };
        let never = self.terms.arena.boolean(false);
        let (before, after) = match in_rewritten {
            true => (never, event.condition),
            false => (event.condition, never),
        };
        let proof = self.prove(&place, before, after, &[]);
        let what = format!("only {program} program has `{opcode}`");
        match proof {
            Proof::Equal => {}
            Proof::Differ(difference) if event.role == Role::Store => {
                let found = self.counterexample(&place, &difference, (before, after));
                self.problem(what, lines, found);
            }
            _ => self.problem(what, lines, None),
        }
    }

    /// Branches that may take lanes into different iterations must do it alike, or what was found of
    /// the original's lanes does not hold for the shuffles' ones.
    fn branches(&mut self) {
        if self.warp.shuffles == 0 {
            return;
        }
        for apart in &self.rewritten.flow.taken_apart {
            let partner = same_apart(self.original, self.rewritten, self.alignment, apart);
            let (Some(block), Some(partner)) = (apart.branch, partner.and_then(|p| p.branch))
            else {
                continue;
            };
            let inst = self.rewritten.flow.block(block).end - 1;
            let pair = (self.before.branches[partner.index()], self.after.branches[block.index()]);
            if pair.0 != pair.1 {
                self.unknown(inst, None, "the lanes of a warp may part in another way".to_owned());
            }
        }
    }

    fn check(
        &mut self,
        (proof, claim): (Proof, (TermId, TermId)),
        inst: u32,
        original: Option<u32>,
        place: &Place,
        what: impl FnOnce() -> String,
    ) {
        match proof {
            Proof::Equal => {}
            Proof::Unknown => {
                let reason = format!("{} was not shown to be equal", what());
                self.unknown(inst, original, reason);
            }
            Proof::Differ(difference) => {
                let found = self.counterexample(place, &difference, claim);
                let reason = match &found {
                    Some(_) => format!("{} differs", what()),
                    None => format!(
                        "{} may differ: {}",
                        what(),
                        counterexample::why(self.terms, &difference)
                    ),
                };
                self.problem(reason, (Some(inst), original), found);
            }
        }
    }

    pub fn unknown(&mut self, inst: u32, original: Option<u32>, reason: String) {
        self.problem(reason, (Some(inst), original), None);
    }

    fn problem(
        &mut self,
        reason: String,
        (rewritten, original): (Option<u32>, Option<u32>),
        found: Option<(Counterexample, Seen)>,
    ) {
        let (counterexample, seen) = found.unzip();
        self.seen.extend(seen.map(|seen| (self.problems.len(), seen)));
        self.problems.push(Problem {
            reason,
            line: rewritten.map(|inst| self.rewritten.line(inst)),
            original_line: original.map(|inst| self.original.line(inst)),
            counterexample,
        });
    }

    fn report(self, name: String) -> FunctionReport {
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
        let unasked = self.warp.prover.solver.unasked();
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
            queries: self.warp.prover.solver.queries(),
            problems,
        }
    }
}
