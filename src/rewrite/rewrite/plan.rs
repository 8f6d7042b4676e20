//! The changes of one function, before their code is put together.

use crate::loops::WholeLoop;
use std::fmt::Debug;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::checks::Checks;
use super::condition::{Condition, Version, WarpTest, strongest};
use super::edit::Edit;
use super::mention::{self, Draft, Misplaced, OtherWords};
use super::mode::Mode;
use super::names::Names;
use crate::bytes::ByteRange;
use crate::cfg::{
    Base, BlockId, DeclaredNames, Flow, InstId, InstRange, NameMeaning, RegisterId, Scopes,
};
use crate::emulate::KernelTrace;
use crate::isa::ScalarType;
use crate::planted::Bug;
use crate::ptx::Operand;
use crate::ptx::write::{Code, Fresh, Reg, op};
use crate::reuse::{Multiple, NoWrap};
use crate::source::SourceFile;
use crate::verify::Kind;

/// The code that one pattern adds to a function, for all of its groups there.
pub trait Part: Debug {
    /// Whether its code comes in front of copies of registers that go to the same place.
    fn leads(&self) -> bool {
        false
    }

    /// Indices that the code asks about whether they wrap around, by the blocks where it does.
    fn no_wrap(&self, _mode: Mode) -> Vec<(BlockId, &[NoWrap])> {
        Vec::new()
    }

    /// Whether the code asks if lanes are consecutive in `tid.x`.
    fn linear_lanes(&self, _mode: Mode) -> bool {
        false
    }

    /// Whether the lanes of a warp have to wait for each other behind the test at a [place](WarpTest::place), and
    /// at the end of the code that it guards: they access bytes that only another lane accesses in the original.
    fn needs_order(&self, _place: InstId) -> bool {
        false
    }

    /// Code that the function executes once, where it starts.
    fn at_start(&self) -> &str {
        ""
    }

    /// The statements that [`Mode::NoLoad`] leaves out.
    fn left_out(&self) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Adds the code.
    fn edits(
        &self,
        plan: &KernelPlan<'_>,
        checks: &mut Checks<'_>,
        mode: Mode,
        edits: &mut Vec<Draft>,
    );
}

/// Code that needs no checks, as it was planned.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The code at its places.
    pub drafts: Vec<Draft>,
    /// Code that the function executes once, where it starts.
    pub at_start: String,
    /// The statements that [`Mode::NoLoad`] leaves out.
    pub left_out: Vec<Range<usize>>,
}

impl Prepared {
    /// A part, if there is code.
    pub fn part(self) -> Option<Box<dyn Part>> {
        (!self.drafts.is_empty()).then(|| Box::new(self) as Box<dyn Part>)
    }
}

impl Part for Prepared {
    fn at_start(&self) -> &str {
        &self.at_start
    }

    fn left_out(&self) -> Vec<Range<usize>> {
        self.left_out.clone()
    }

    fn edits(
        &self,
        _plan: &KernelPlan<'_>,
        _checks: &mut Checks<'_>,
        _mode: Mode,
        edits: &mut Vec<Draft>,
    ) {
        edits.extend(self.drafts.iter().cloned());
    }
}

/// All changes of one function.
#[derive(Debug)]
pub struct KernelPlan<'a> {
    /// The byte behind the body's opening brace.
    pub body: usize,
    /// The patterns' code, in the order in which it is written.
    pub parts: Vec<Box<dyn Part>>,
    /// Multiversioned code: as rewritten and as it was.
    pub versions: Vec<Version>,
    /// Whether the target has `nanosleep`.
    pub has_nanosleep: bool,
    /// Where copies of source registers go, and the copies.
    pub copies: Vec<(usize, String)>,
    /// New registers; the copies have theirs.
    pub fresh: Fresh,
    /// Names of the registers that checks read.
    pub registers: FxHashMap<RegisterId, String>,
    /// The text and its scopes.
    original: Original<'a>,
}

/// The text that a plan changes, and the meaning of names in it.
#[derive(Clone, Debug)]
struct Original<'a> {
    source: &'a SourceFile,
    scopes: &'a Scopes<'a>,
    declared: DeclaredNames<'a>,
    others: OtherWords,
}

impl KernelPlan<'_> {
    /// A copy of some bytes of the text as code.
    pub fn copied(&self, range: Range<usize>) -> String {
        self.copied_with(range, |_, _| None)
    }

    /// A copy of some bytes of the text as code, in which some registers are replaced.
    pub fn copied_with_registers(
        &self,
        range: Range<usize>,
        replaced: &FxHashMap<RegisterId, String>,
    ) -> String {
        let scopes = self.original.scopes;
        self.copied_with(range, |at, name| match scopes.meaning_at(name, at)? {
            NameMeaning::Register(register) => replaced.get(&register).cloned(),
            NameMeaning::DeclaredIn(_) => None,
        })
    }

    /// A copy of some bytes of the text as code, in which the names at some bytes are replaced.
    pub(super) fn copied_with(
        &self,
        range: Range<usize>,
        replaced: impl Fn(usize, &str) -> Option<String>,
    ) -> String {
        let Original { source, scopes, declared, others } = &self.original;
        mention::copied((scopes, declared, others), source.text(), range, replaced)
    }

    /// The texts of code at its places.
    ///
    /// # Errors
    /// A name that means something else where code names it.
    pub fn placed(&self, drafts: &[(Kind, Draft)]) -> Result<Vec<Edit>, Misplaced> {
        let Original { scopes, declared, .. } = &self.original;
        let placed = drafts.iter().map(|(kind, draft)| match draft.placed(scopes, declared) {
            (_, Some(misplaced)) if !Bug::is_about_names_here() => Err(misplaced),
            (edit, _) => Ok(Edit { kind: *kind, ..edit }),
        });
        placed.collect()
    }

    /// Whether the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The checks that the code of a mode makes: those of the patterns, and those in front of multiversioned code.
    pub fn checks(&self, mode: Mode) -> Checks<'_> {
        let tests = self.versions.iter().filter_map(|version| match &version.condition {
            Condition::Warp(test) => Some((test.block, &test.no_wrap[..])),
            Condition::Multiples(_) | Condition::NoAlias { .. } => None,
        });
        let parts = self.parts.iter().flat_map(|part| part.no_wrap(mode));
        let no_wraps: Vec<_> = parts.chain(tests).collect();
        let linear = self.parts.iter().any(|part| part.linear_lanes(mode));
        Checks::new(&self.registers, self.fresh.clone(), &no_wraps, linear)
    }
}

/// Collects a plan, and remembers which registers have got a copy.
#[derive(Debug)]
pub struct Planner<'p, 'a, 'm, 's> {
    /// The text.
    pub source: &'p SourceFile,
    /// The function's control flow.
    pub flow: &'p Flow<'m, 's>,
    /// The function's memory trace.
    pub trace: &'p KernelTrace,
    copied: FxHashMap<(InstId, RegisterId), String>,
    /// Loops that get two versions as a whole.
    lifted: Vec<Lifted>,
    /// The plan so far.
    pub plan: KernelPlan<'a>,
}

/// A loop that gets two versions as a whole, and the test in front of it.
#[derive(Debug)]
struct Lifted {
    of: WholeLoop,
    /// The code of the tests of distances, and their outcome.
    setup: Code,
    known: Option<Reg>,
    /// Conditions on parameters, each to be a multiple of a number.
    multiples: Vec<Multiple>,
}

impl<'p, 'a, 'm, 's> Planner<'p, 'a, 'm, 's>
where
    'p: 'a,
{
    /// Plans for a function with a body; `body` is the offset of the byte behind the opening brace.
    pub fn new(
        source: &'p SourceFile,
        flow: &'p Flow<'m, 's>,
        trace: &'p KernelTrace,
        body: usize,
        names: &Names,
    ) -> Self {
        Planner {
            source,
            flow,
            trace,
            copied: FxHashMap::default(),
            lifted: Vec::new(),
            plan: KernelPlan {
                body,
                parts: Vec::new(),
                versions: Vec::new(),
                has_nanosleep: false,
                copies: Vec::new(),
                fresh: names.fresh(),
                registers: FxHashMap::default(),
                original: Original {
                    source,
                    scopes: &flow.scopes,
                    declared: flow.scopes.declared(),
                    others: OtherWords::of(flow),
                },
            },
        }
    }
}

impl Planner<'_, '_, '_, '_> {
    /// A register's name, for code of the plan.
    pub fn name(&self, register: RegisterId) -> String {
        mention::register(self.flow, register)
    }

    /// The label that a branch names, for code of the plan.
    pub fn label(&self, branch: InstId) -> Option<String> {
        let ast = self.flow.insts[branch].ast;
        let Some(Operand::Name(label)) = ast.operands.first() else { return None };
        let scope = self.flow.scopes.scope_at(ast.span.start as usize);
        Some(mention::label(label.text, scope))
    }

    /// A predicate as written in front of an instruction.
    pub fn signed(&self, (register, negated): (RegisterId, bool)) -> String {
        format!("{}{}", if negated { "!" } else { "" }, self.name(register))
    }

    /// An instruction's guard predicate as a prefix.
    pub fn guard(&self, guard: Option<(RegisterId, bool)>) -> String {
        guard.map(|guard| format!("@{} ", self.signed(guard))).unwrap_or_default()
    }

    /// The whole statement's bytes in the text, with a pragma about it.
    pub fn span(&self, inst: InstId) -> Range<usize> {
        let inst = &self.flow.insts[inst];
        inst.front..inst.ast.span.end as usize
    }

    /// Plans that loops get two versions as a whole. The tests of versions in them, planned later, are made in front.
    pub fn lift(&mut self, loops: Vec<WholeLoop>) {
        let lifted = |of| {
            let (setup, known, multiples) = (Code::in_front(), None, Vec::new());
            Lifted { of, setup, known, multiples }
        };
        self.lifted = loops.into_iter().map(lifted).collect();
    }

    /// The loop around an instruction that gets two versions as a whole.
    fn lifted(&mut self, inst: InstId) -> Option<&mut Lifted> {
        self.lifted.iter_mut().find(|one| one.of.code.range.contains(&inst))
    }

    /// Adds a test, with conditions on parameters, in front of the loop around an instruction, if that loop gets two versions
    /// as a whole; says whether it does. `test` writes the code, and gives the outcome of this test and those before it.
    pub fn test_in_front(
        &mut self,
        inst: InstId,
        multiples: &[Multiple],
        test: impl FnOnce(&mut Self, Option<Reg>, &mut Code) -> Option<Reg>,
    ) -> bool {
        let Some(at) = self.lifted.iter().position(|one| one.of.code.range.contains(&inst)) else {
            return false;
        };
        let mut setup = std::mem::replace(&mut self.lifted[at].setup, Code::in_front());
        let known = self.lifted[at].known.take();
        let known = test(self, known, &mut setup);
        let lifted = &mut self.lifted[at];
        (lifted.setup, lifted.known) = (setup, known);
        lifted.multiples.extend_from_slice(multiples);
        true
    }

    /// Plans the versions of whole loops.
    pub fn add_lifted(&mut self) {
        let mut lifted = std::mem::take(&mut self.lifted);
        lifted.sort_by_key(|one| one.of.code.range.start);
        for Lifted { of, setup, known, multiples } in lifted {
            let condition = match known {
                Some(holds) => {
                    Condition::NoAlias { setup: setup.text, holds: holds.into(), multiples }
                }
                None if multiples.is_empty() => continue,
                None => Condition::Multiples(strongest(&multiples)),
            };
            self.push_version(of.code.range.clone(), condition, None);
            if let Some(version) = self.plan.versions.last_mut() {
                version.of_loop = Some(of);
            }
        }
    }

    /// Plans that some instructions of one block are executed as they were if a test fails.
    pub fn add_version(&mut self, range: InstRange, condition: Condition) {
        self.push_version(range, condition, None);
    }

    /// Plans that some instructions of one block are executed as they were where parameters are not multiples of numbers.
    pub fn add_aligned_version(&mut self, range: InstRange, multiples: Vec<Multiple>) {
        match self.lifted(range.start) {
            Some(lifted) => lifted.multiples.extend(multiples),
            None => self.add_version(range, Condition::Multiples(multiples)),
        }
    }

    /// Plans that other code is executed in the place of an instruction where parameters are not multiples of numbers.
    pub fn add_aligned_version_of(
        &mut self,
        inst: InstId,
        multiples: Vec<Multiple>,
        untouched: String,
    ) {
        match self.lifted(inst) {
            Some(lifted) => lifted.multiples.extend(multiples),
            None => {
                let condition = Condition::Multiples(multiples);
                self.push_version(inst.to(inst.next()), condition, Some(untouched));
            }
        }
    }

    fn push_version(&mut self, range: InstRange, condition: Condition, untouched: Option<String>) {
        let end = self.span(range.end.before()).end;
        self.plan.versions.push(Version {
            range: self.span(range.start).start..end,
            behind: line_end(self.source.text(), end),
            condition,
            untouched,
            of_loop: None,
        });
    }

    /// Adds the tests of groups, in the order of their places, each with the last instruction that it guards. Tests at
    /// one place are joined.
    pub fn add_warp_tests(&mut self, tests: impl IntoIterator<Item = (InstId, WarpTest)>) {
        let mut open: Option<(InstRange, WarpTest)> = None;
        for (last, test) in tests {
            for check in &test.no_wrap {
                let name = self.name(check.register);
                self.plan.registers.insert(check.register, name);
            }
            match &mut open {
                Some((range, known)) if range.start == test.place => {
                    range.end = range.end.max(last.next());
                    known.join(test);
                }
                _ => {
                    let before = open.replace((test.place.to(last.next()), test));
                    self.add_open(before);
                }
            }
        }
        self.add_open(open);
    }

    fn add_open(&mut self, open: Option<(InstRange, WarpTest)>) {
        if let Some((range, test)) = open {
            self.add_version(range, Condition::Warp(test));
        }
    }

    /// The address operand, `bytes` further on: a base, and an offset modulo 2^64.
    pub fn address_behind(&self, at: InstId, bytes: i64) -> (String, i64) {
        let (base, offset) = self.address(at);
        (base, offset.wrapping_add(bytes))
    }

    /// The bytes of an access of this length, from its base on.
    pub fn bytes_at(&self, at: InstId, length: u32) -> ByteRange {
        ByteRange::new(self.address(at).1, length)
    }

    /// The address operand as written.
    pub fn address(&self, at: InstId) -> (String, i64) {
        let inst = &self.flow.insts[at];
        let memory = inst.args.iter().find_map(|arg| match arg {
            crate::cfg::Arg::Memory { base, offset, .. } => Some((*base, *offset)),
            _ => None,
        });
        match memory {
            Some((Base::Register(register), offset)) => (self.name(register), offset),
            Some((Base::Symbol { name, local }, offset)) => {
                (mention::variable(name, local), offset)
            }
            Some((Base::Absolute, offset)) => ("0".to_owned(), offset),
            None => (String::new(), 0),
        }
    }

    /// The name of the register to send at some instructions: the source's own, or a copy made behind the source
    /// load if by then the register may hold something else or its name means another register at one of them.
    pub fn sent(
        &mut self,
        source: InstId,
        register: RegisterId,
        bits: u32,
        places: &[InstId],
    ) -> String {
        let stable = self.trace.definitions[register] == 1 || planted!(Bug::StaleRegister);
        let asked = if planted!(Bug::FirstLatchAsked) { &places[..1] } else { places };
        let visible = self.flow.visible_everywhere(register, asked) || planted!(Bug::InnerScope);
        if stable && visible {
            return self.name(register);
        }
        if let Some(copy) = self.copied.get(&(source, register)) {
            return copy.clone();
        }
        let copy = String::from(self.plan.fresh.bits(bits));
        let behind = self.flow.insts[source].ast.span.end as usize;
        let behind = line_end(self.source.text(), behind);
        let mut code = Code::behind();
        code.put(op!(Mov.(ScalarType::b(bits))), &[&copy, &self.name(register)]);
        self.plan.copies.push((behind, code.text));
        self.copied.insert((source, register), copy.clone());
        copy
    }
}

/// The end of the line if only blanks and a comment follow on it, so that the comment stays with
/// its statement; `at` itself otherwise.
pub fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    // A carriage return by itself ends neither a line nor a comment.
    let line = rest.split('\n').next().unwrap_or(rest).trim_end_matches('\r');
    let code = line.trim_start();
    if code.is_empty() || code.starts_with("//") { at + line.len() } else { at }
}
