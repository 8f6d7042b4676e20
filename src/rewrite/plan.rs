//! The changes of one function, before any code is chosen.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::bytes::Assembly;
use super::edit::Edit;
use super::fields::{StoredPlan, StructPlan};
use super::mention::{self, Draft, Misplaced};
use super::names::{Fresh, Names};
use super::taps::{WarpTest, Window};
use crate::cfg::{Base, BlockId, DeclaredNames, Flow, RegisterId, Scopes};
use crate::emulate::KernelTrace;
use crate::planted::{Bug, Planted};
use crate::reuse::{LaneClaim, Multiple, Opportunity, Part, StoreApart};
use crate::select::{Choice, Verdict};
use crate::source::SourceFile;

/// One register that is filled from another one, in this or another lane.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The register that is sent: the source load's own, or a copy of it.
    pub sent: String,
    /// The register that the covered load writes.
    pub destination: String,
    /// Width of both in bits: 16, 32 or 64.
    pub bits: u32,
}

/// A covered load and its place in the text.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// Where its opcode starts, behind the guard predicate.
    pub opcode: usize,
    /// The byte at which code that follows the load goes: behind a comment that ends the load's line.
    pub behind: usize,
    /// The basic block it stands in.
    pub block: BlockId,
    /// Its guard predicate as written (`%p1`, `!%p1`), if it has one.
    pub guard: Option<String>,
    /// Its address: base as written and bytes added.
    pub address: (String, i64),
    /// The registers that are filled from one register each.
    pub transfers: Vec<Transfer>,
    /// Those that are put together from bytes.
    pub assembly: Assembly,
    /// The opportunity that covers it: the source load, the distance and the guards.
    pub covered: Opportunity,
    /// If addresses are compared: the copy of the register that the source is addressed by, and what
    /// the register of the load's address must be above it.
    pub compared: Option<(String, i64)>,
    /// The predicate that the source's value is there, if the lane has to be asked: it may not have executed
    /// the source, or have stored to its bytes since.
    pub executed: Option<String>,
    /// The registers about which the lane that sends is asked.
    pub same_row: Vec<AskedRegister>,
}

/// A register about which the lane that sends is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskedRegister {
    /// Its name, or that of a copy made where it got its value.
    pub name: String,
    /// Its width in bits, 32 or 64.
    pub bits: u8,
    /// Whether only its lower 32 bits count.
    pub low: bool,
    /// Whether the other lane's value must be larger by the distance in lanes, not the same.
    pub grows: bool,
}

/// A vector load and the loads that it stands for.
#[derive(Clone, Debug)]
pub struct VectorLoad {
    /// The statement in whose place it stands.
    pub span: Range<usize>,
    /// The vector load.
    pub code: String,
    /// Each other load's statement, and the text in its place: moves, if its registers could not be
    /// written earlier.
    pub others: Vec<(Range<usize>, String)>,
}

/// A load whose value comes from an iteration before.
#[derive(Clone, Debug)]
pub struct CarriedLoad {
    /// The load's statement.
    pub span: Range<usize>,
    /// The text in its place.
    pub moves: String,
    /// The place in front of the loop, and the code there.
    pub entry: (usize, String),
    /// Where values are passed on to the next iteration, and the code.
    pub latches: Vec<(usize, String)>,
}

/// Statements of one block that are executed as they were if a test fails.
#[derive(Clone, Debug)]
pub struct Version {
    /// From the first statement's first byte to behind the last one's semicolon.
    pub range: Range<usize>,
    /// Where the rewritten version ends: behind a comment that ends the last statement's line.
    pub behind: usize,
    /// The test for the rewritten version.
    pub condition: Condition,
}

/// The test in front of statements that stand twice.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Parameters are multiples of some numbers.
    Multiples(Vec<Multiple>),
    /// The lanes of a warp are there, and no index wraps around.
    Warp(WarpTest),
}

/// All changes of one function.
#[derive(Clone, Debug)]
pub struct KernelPlan<'a> {
    /// The byte behind the body's opening brace.
    pub body: usize,
    /// Covered loads in program order.
    pub replacements: Vec<Replacement>,
    /// Vector loads that stand for others.
    pub vectors: Vec<VectorLoad>,
    /// Rows of taps that two loads stand for.
    pub windows: Vec<Window>,
    /// Loads of structs that loads of consecutive words stand for.
    pub structs: Vec<StructPlan>,
    /// Stores of structs that stores of consecutive words stand for.
    pub stores: Vec<StoredPlan>,
    /// Values that go round loops.
    pub carried: Vec<CarriedLoad>,
    /// Declarations and addresses of arrays that are laid out anew: a place in the text, and what stands there.
    pub arrays: Vec<(Range<usize>, String)>,
    /// Code that stands twice: as rewritten and as it was.
    pub versions: Vec<Version>,
    /// Where copies of source registers go, and the copies.
    pub copies: Vec<(usize, String)>,
    /// New registers; the copies have theirs.
    pub fresh: Fresh<'a>,
    /// Names of the registers that checks read.
    pub registers: FxHashMap<RegisterId, String>,
    /// The text and its scopes.
    pub(super) original: Original<'a>,
    /// A mistake that a test wants to see noticed.
    pub planted: Planted,
}

/// Collects what the findings of one function ask for; `body` is the byte behind its opening brace.
pub fn plan<'a>(
    source: &'a SourceFile,
    flow: &'a Flow<'_, '_>,
    trace: &KernelTrace,
    choice: &Choice,
    body: usize,
    names: &'a Names,
    planted: Planted,
) -> KernelPlan<'a> {
    let mut planner = Planner {
        source,
        flow,
        trace,
        copied: FxHashMap::default(),
        executed: FxHashMap::default(),
        asked: FxHashMap::default(),
        plan: KernelPlan {
            body,
            replacements: Vec::new(),
            vectors: Vec::new(),
            windows: Vec::new(),
            structs: Vec::new(),
            stores: Vec::new(),
            carried: Vec::new(),
            arrays: Vec::new(),
            versions: Vec::new(),
            copies: Vec::new(),
            fresh: Fresh::new(names),
            registers: FxHashMap::default(),
            original: Original { source, scopes: &flow.scopes, declared: flow.scopes.declared() },
            planted,
        },
    };
    let blocks: FxHashMap<u32, BlockId> =
        trace.accesses.iter().map(|access| (access.inst, access.block)).collect();
    for finding in &choice.findings {
        if let (Verdict::Covered(_, covered), Some(&block)) =
            (&finding.verdict, blocks.get(&finding.inst))
        {
            planner.replacement(finding.inst, block, covered);
        }
    }
    planner.vectors(choice);
    planner.rows(choice);
    planner.structs(choice);
    planner.stores(choice);
    planner.carried(choice);
    planner.arrays(choice);
    planner.plan
}

/// The text that a plan changes, and what names mean in it.
#[derive(Clone, Debug)]
pub(super) struct Original<'a> {
    pub source: &'a SourceFile,
    pub scopes: &'a Scopes<'a>,
    pub declared: DeclaredNames<'a>,
}

impl Original<'_> {
    /// A copy of some bytes of the text as code, in which some names are replaced.
    pub fn copied(&self, range: Range<usize>, replaced: impl Fn(&str) -> Option<String>) -> String {
        mention::copied((self.scopes, &self.declared), self.source.text(), range, replaced)
    }
}

impl KernelPlan<'_> {
    /// A copy of some bytes of the text as code.
    pub(super) fn copied(&self, range: Range<usize>) -> String {
        self.original.copied(range, |_| None)
    }

    /// The texts of code at its places.
    ///
    /// # Errors
    /// A name that means something else where code names it.
    pub fn placed(&self, drafts: &[Draft]) -> Result<Vec<Edit>, Misplaced> {
        let Original { scopes, declared, .. } = &self.original;
        let placed = drafts.iter().map(|draft| match draft.placed(scopes, declared) {
            (_, Some(misplaced)) if !self.planted.is_about_names() => Err(misplaced),
            (edit, _) => Ok(edit),
        });
        placed.collect()
    }

    /// Whether the plan changes nothing.
    pub fn is_empty(&self) -> bool {
        self.replacements.is_empty()
            && self.vectors.is_empty()
            && self.windows.is_empty()
            && self.structs.is_empty()
            && self.stores.is_empty()
            && self.carried.is_empty()
            && self.arrays.is_empty()
    }
}

/// What a lane remembers of a source: its instruction, the block since the end of which the lane has executed
/// it, and the stores that have not been to its bytes.
type Remembered = (u32, Option<BlockId>, Vec<StoreApart>);

/// Collects a plan, and remembers which registers have got a copy.
pub(super) struct Planner<'p, 'a, 'm, 's> {
    pub(super) source: &'p SourceFile,
    pub(super) flow: &'p Flow<'m, 's>,
    trace: &'p KernelTrace,
    copied: FxHashMap<(u32, RegisterId), String>,
    /// The predicates that say of a lane whether a source's value is still there.
    executed: FxHashMap<Remembered, String>,
    /// Copies of registers that lanes are asked about, by the place at which they are made.
    asked: FxHashMap<(RegisterId, BlockId, Option<u32>), String>,
    pub(super) plan: KernelPlan<'a>,
}

impl Planner<'_, '_, '_, '_> {
    /// A register's name, for code of the plan.
    pub(super) fn name(&self, register: RegisterId) -> String {
        mention::register(self.flow, register)
    }

    fn replacement(&mut self, at: u32, block: BlockId, covered: &Opportunity) {
        let inst = &self.flow.insts[at as usize];
        let (mut transfers, mut assembly) = (Vec::new(), Assembly::default());
        for piece in &covered.pieces {
            let mut sent = |part: &Part| {
                self.sent(part.source, part.from.register, part.from.register_bits, &[at])
            };
            match piece.whole() {
                Some(_) => transfers.push(Transfer {
                    sent: sent(&piece.parts[0]),
                    destination: self.name(piece.to.register),
                    bits: piece.to.register_bits,
                }),
                None => {
                    let parts: Vec<_> =
                        piece.parts.iter().map(|part| (sent(part), *part)).collect();
                    let destination = self.name(piece.to.register);
                    assembly.add(destination, &piece.to, &parts, self.plan.planted);
                }
            }
        }
        let guards = &covered.guards;
        let checked = guards.no_wrap.iter().map(|check| check.register);
        for register in checked.chain(guards.source_active.map(|(register, _)| register)) {
            let name = self.name(register);
            self.plan.registers.insert(register, name);
        }
        let compared = guards.bytes_apart.map(|bytes| self.compared(covered, at, bytes));
        let executed = self.remembered(covered);
        let same_row = guards.same_row.iter().map(|claim| self.asked(claim, at)).collect();
        let guard = inst.guard.filter(|_| !self.plan.planted.has(Bug::OwnGuard));
        let guard = guard.map(|guard| self.signed(guard));
        self.plan.replacements.push(Replacement {
            span: inst.ast.span.range(),
            opcode: inst.ast.opcode.span.start as usize,
            behind: line_end(self.source.text(), inst.ast.span.end as usize),
            block,
            guard,
            address: self.address(at),
            transfers,
            assembly,
            covered: covered.clone(),
            compared,
            executed,
            same_row,
        });
    }

    /// A register with the value that a claim means, at `at`.
    fn asked(&mut self, claim: &LaneClaim, at: u32) -> AskedRegister {
        let &LaneClaim { register, bits, low, grows, .. } = claim;
        let visible = self.flow.visible(register, at) || self.plan.planted.has(Bug::ClaimNotAsked);
        let name = match claim.settled && visible {
            true => self.name(register),
            false => self.copy_of(claim),
        };
        AskedRegister { name, bits, low, grows }
    }

    /// A copy of a register, made where it has got the value that a claim means.
    fn copy_of(&mut self, claim: &LaneClaim) -> String {
        let place = (claim.register, claim.block, claim.inst);
        if let Some(known) = self.asked.get(&place) {
            return known.clone();
        }
        let copy = self.plan.fresh.bits(u32::from(claim.bits));
        let code = format!("mov.b{} {copy}, {};", claim.bits, self.name(claim.register));
        let flow = self.flow;
        let text = self.source.text();
        self.plan.copies.push(match claim.inst {
            Some(inst) => {
                let end = flow.insts[inst as usize].ast.span.end as usize;
                (line_end(text, end), format!("\n\t{code}"))
            }
            None => {
                let first = &flow.insts[flow.block(claim.block).first as usize];
                (first.ast.span.start as usize, format!("{code}\n\t"))
            }
        });
        self.asked.insert(place, copy.clone());
        copy
    }

    /// A predicate as written in front of an instruction.
    fn signed(&self, (register, negated): (RegisterId, bool)) -> String {
        format!("{}{}", if negated { "!" } else { "" }, self.name(register))
    }

    /// The predicate that the value of a source load is there: cleared at the end of the block since which it
    /// has to be executed, set behind it, and cleared by a store to one of its bytes.
    fn remembered(&mut self, covered: &Opportunity) -> Option<String> {
        let (source, guards) = (covered.source, &covered.guards);
        if guards.source_executed.is_none() && guards.stores_apart.is_empty() {
            return None;
        }
        let key = (source, guards.source_executed, guards.stores_apart.clone());
        if let Some(known) = self.executed.get(&key) {
            return Some(known.clone());
        }
        let made = self.plan.fresh.predicate();
        self.executed.insert(key, made.clone());
        let (planted, text, flow) = (self.plan.planted, self.source.text(), self.flow);
        let inst = &flow.insts[source as usize];
        let behind = |at: u32| line_end(text, flow.insts[at as usize].ast.span.end as usize);
        let set = match (inst.guard, guards.source_executed) {
            (None, _) => format!("\n\tsetp.eq.u32 {made}, 0, 0;"),
            (Some(guard), Some(_)) => {
                format!("\n\t@{} setp.eq.u32 {made}, 0, 0;", self.signed(guard))
            }
            // Nothing has cleared it before.
            (Some((register, negated)), None) => {
                let op = if negated { "not" } else { "mov" };
                format!("\n\t{op}.pred {made}, {};", self.name(register))
            }
        };
        self.plan.copies.push((behind(source), set));
        if let Some(since) = guards.source_executed {
            let clear = format!("setp.ne.u32 {made}, 0, 0;");
            self.plan.copies.push(match planted.has(Bug::NotCleared) {
                true => (self.plan.body, format!("\n\t{clear}")),
                false => {
                    let last = &flow.insts[flow.block(since).end as usize - 1];
                    (last.ast.span.start as usize, format!("{clear}\n\t"))
                }
            });
        }
        if guards.stores_apart.is_empty() || planted.has(Bug::StoreNotAsked) {
            return Some(made);
        }
        let (base, offset) = self.address(source);
        let (copy, ahead) = (self.plan.fresh.bits(64), self.plan.fresh.bits(64));
        self.plan.copies.push((behind(source), format!("\n\tmov.b64 {copy}, {base};")));
        let accesses = &self.trace.accesses;
        let bytes = |at: u32| {
            let access = accesses.iter().find(|access| access.inst == at);
            access.map_or(0, |access| i64::from(access.bytes()))
        };
        for &StoreApart { inst: store, margin } in &guards.stores_apart {
            // From the first place at which the store could meet those bytes, it is as far to the store as all
            // such places are, or further.
            let (own, its) = self.address(store);
            let (more, both) = (
                its - offset + bytes(store) - 1 + margin,
                bytes(store) + bytes(source) - 1 + 2 * margin,
            );
            let code = format!(
                "\n\tsub.s64 {ahead}, {own}, {copy};\n\tadd.s64 {ahead}, {ahead}, {more};\
                 \n\tsetp.ge.and.u64 {made}, {ahead}, {both}, {made};"
            );
            self.plan.copies.push((behind(store), code));
        }
        Some(made)
    }

    /// A copy of the register that the source load is addressed by, made behind it, and how far above it
    /// the register of the load at `at` must be for that load's address to be `bytes` above the source's.
    fn compared(&mut self, covered: &Opportunity, at: u32, bytes: i64) -> (String, i64) {
        let (base, offset) = self.address(covered.source);
        let (_, own_offset) = self.address(at);
        let source = &self.flow.insts[covered.source as usize];
        let copy = self.plan.fresh.bits(64);
        let behind = line_end(self.source.text(), source.ast.span.end as usize);
        self.plan.copies.push((behind, format!("\n\tmov.b64 {copy}, {base};")));
        let bytes = match self.plan.planted.has(Bug::AddressOfOwnLane) {
            true => 0,
            false => bytes,
        };
        (copy, bytes.wrapping_add(offset).wrapping_sub(own_offset))
    }

    /// The address operand as written.
    pub(super) fn address(&self, at: u32) -> (String, i64) {
        let inst = &self.flow.insts[at as usize];
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
    pub(super) fn sent(
        &mut self,
        source: u32,
        register: RegisterId,
        bits: u32,
        places: &[u32],
    ) -> String {
        let planted = self.plan.planted;
        let stable =
            self.trace.definitions[register.0 as usize] == 1 || planted.has(Bug::StaleRegister);
        let asked = if planted.has(Bug::FirstLatchAsked) { &places[..1] } else { places };
        let visible = self.flow.visible_everywhere(register, asked) || planted.has(Bug::InnerScope);
        if stable && visible {
            return self.name(register);
        }
        if let Some(copy) = self.copied.get(&(source, register)) {
            return copy.clone();
        }
        let copy = self.plan.fresh.bits(bits);
        let behind = self.flow.insts[source as usize].ast.span.end as usize;
        let behind = line_end(self.source.text(), behind);
        let code = format!("\n\tmov.b{bits} {copy}, {};", self.name(register));
        self.plan.copies.push((behind, code));
        self.copied.insert((source, register), copy.clone());
        copy
    }
}

/// The end of the line if only blanks and a comment follow on it, so that the comment stays with
/// its statement; `at` itself otherwise.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    // A carriage return by itself ends neither a line nor a comment.
    let line = rest.split('\n').next().unwrap_or(rest).trim_end_matches('\r');
    let code = line.trim_start();
    if code.is_empty() || code.starts_with("//") { at + line.len() } else { at }
}
