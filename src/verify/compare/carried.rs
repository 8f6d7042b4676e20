//! Registers that only the rewritten program has and that bring a value from one iteration to the next.
//!
//! In: both programs, evaluated. Out: the value of such a register at the loop's header, as a term of the original at
//! that header. It is guessed from the value of the back edge: a term of the original that, evaluated one iteration
//! later, equals the register's value at the loop's end. The guess is an assumption of the next evaluation. It is
//! proved by induction over the iterations, at the loop's entry and at its back edges ([`Comparison::loops`]), or it is
//! withdrawn.
//!
//! Such a register may also hold the value only where another one, its flag, is true: the flag is false at the loop's
//! entry, and at the back edge it may be the result of comparing two addresses. (All possible flags are kept: the use
//! of the value shows which of them guards it.)

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::comparison::Comparison;
use super::counted::counted;
use crate::cfg::{Arg, Inst, InstId, LoopId, RegisterId};
use crate::expr::{FunctionId, Node, Substitution, SymbolId, TermId};
use crate::isa::Opcode;
use crate::record::{
    Assumed, HeaderRegister, LoopRecord, LoopValue, StoreRecord, at_entry, before_stores,
    is_of_header, values_of,
};
use crate::terms::{Kind, Side, Terms, conditions, wrap};

/// Guesses that are assumed, and those that have been withdrawn.
#[derive(Default)]
pub(super) struct LoopCarriedRegisters {
    /// By loop and register of the rewritten program.
    pub values: FxHashMap<HeaderRegister, Assumed>,
    withdrawn: FxHashSet<HeaderRegister>,
    /// The loops with a register that counts in another way than the original's.
    pub counting: BTreeSet<LoopId>,
}

/// The most values of the original that are tried for one register.
const MAX_TRIED: usize = 4096;

/// The most iterations after which the original's loads are compared.
const MAX_LATER: usize = 4;

/// The most flags that are tried for one register.
const MAX_FLAGS: usize = 16;

impl LoopCarriedRegisters {
    /// Guesses for the registers that have none yet. True if there is a new guess.
    pub(super) fn guess(&mut self, comparison: &mut Comparison<'_, '_>) -> bool {
        let known = self.values.len();
        let used = used(comparison);
        for id in comparison.after.loops.keys() {
            let (Some(before), Some(after)) =
                (&comparison.before.loops[id], &comparison.after.loops[id])
            else {
                continue;
            };
            // A register that each iteration writes before it reads it brings nothing along.
            let is_read = |loop_value: &&LoopValue| used.contains(&loop_value.symbol);
            let own = after.values.iter().filter(|loop_value| is_own(comparison.terms, loop_value));
            let own: Vec<&LoopValue> = own.filter(is_read).collect();
            let is_flag =
                |loop_value: &&&LoopValue| comparison.terms.arena.width(loop_value.symbol) == 1;
            let flags: Vec<&LoopValue> =
                own.iter().filter(is_flag).take(MAX_FLAGS).copied().collect();
            let mut later = None;
            // The guess for one register tells the value that the next of a chain gets from it.
            let mut told: FxHashMap<SymbolId, TermId> = FxHashMap::default();
            let mut open = own;
            loop {
                let mut left = Vec::new();
                for loop_value in open.iter().copied() {
                    let Some(register) = loop_value.register else { continue };
                    let key = HeaderRegister { id, register };
                    if self.values.contains_key(&key) || self.withdrawn.contains(&key) {
                        continue;
                    }
                    let latch = with_guesses(comparison.terms, &told, loop_value.latch);
                    let found = guess(comparison, id, before, (loop_value.initial, latch))
                        .map(|value| Assumed { value, when: Vec::new() });
                    let found = found.or_else(|| {
                        let value = counted(comparison.terms, before, loop_value)?;
                        self.counting.insert(id);
                        Some(Assumed { value, when: Vec::new() })
                    });
                    let found = found.or_else(|| {
                        if flags.is_empty() || comparison.terms.arena.width(latch) == 1 {
                            return None;
                        }
                        let later =
                            later.get_or_insert_with(|| loads_later(comparison, id, before));
                        // The flag of its use comes first: others may have another meaning.
                        let used = flag_of(comparison, &after.values, register, MAX_LATER);
                        let mut flags = flags.clone();
                        flags.sort_by_key(|flag| flag.register != used);
                        guess_under(comparison, later, &flags, latch)
                    });
                    let Some(assumed) = found else {
                        left.push(loop_value);
                        continue;
                    };
                    let told_by =
                        assumed.at_header(comparison.terms, loop_value.symbol, &after.values);
                    let symbol = comparison.terms.as_symbol(loop_value.symbol);
                    told.extend(symbol.map(|symbol| (symbol, told_by)));
                    self.values.insert(key, assumed);
                }
                if left.is_empty() || left.len() == open.len() {
                    break;
                }
                open = left;
            }
        }
        self.values.len() > known
    }

    /// Withdraws guesses that were not confirmed; returns the registers that had none.
    pub(super) fn withdraw(
        &mut self,
        differ: Vec<HeaderRegister>,
    ) -> impl Iterator<Item = HeaderRegister> + use<> {
        let (mine, others): (Vec<_>, Vec<_>) =
            differ.into_iter().partition(|key| self.values.contains_key(key));
        for key in mine {
            self.values.remove(&key);
            self.withdrawn.insert(key);
        }
        others.into_iter()
    }
}

/// The terms that the behaviour of the rewritten program depends on: its events, loads and branches, and the
/// loop-carried values of these.
fn used(comparison: &Comparison<'_, '_>) -> FxHashSet<TermId> {
    let after = comparison.after;
    let records = || after.loops.iter().flatten();
    let values: FxHashMap<TermId, &LoopValue> = records()
        .flat_map(|record| &record.values)
        .map(|loop_value| (loop_value.symbol, loop_value))
        .collect();
    let events = after
        .events
        .iter()
        .flat_map(|event| event.operands.iter().copied().chain(std::iter::once(event.condition)));
    let loads = after.loads.iter().flat_map(|load| [load.address, load.condition]);
    let ends = records().flat_map(|record| [record.entry, record.again]);
    let branches = after.branches.iter().flatten().copied();
    let mut work: Vec<TermId> = events.chain(loads).chain(ends).chain(branches).collect();
    let mut seen = FxHashSet::default();
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        comparison.terms.arena.charge(1);
        if let Some(loop_value) = values.get(&next) {
            work.extend([loop_value.initial, loop_value.latch]);
        }
        work.extend(comparison.terms.arena.operands(next));
    }
    seen
}

/// Whether a symbol at a loop's header is that of a register which only the rewritten program has.
fn is_own(terms: &Terms, loop_value: &LoopValue) -> bool {
    terms.as_symbol(loop_value.symbol).is_some_and(|symbol| {
        matches!(terms.symbols.info(symbol).kind, Kind::Phi(Side::Rewritten, ..))
    })
}

/// The values that the original's instructions of a loop compute, each once.
fn values(comparison: &Comparison<'_, '_>, id: LoopId) -> Vec<TermId> {
    let original = comparison.original;
    let of_loop = |inst: InstId| {
        let loops = &original.flow.loops;
        (0..original.flow.blocks.len() as u32).map(crate::cfg::BlockId).any(|block| {
            loops.innermost(block) == Some(id)
                && original.flow.block(block).instructions().contains(&inst)
        })
    };
    let definitions = comparison.before.definitions.iter();
    let mut values: Vec<(InstId, TermId)> = definitions
        .filter(|((inst, _), _)| of_loop(*inst))
        .map(|((inst, _), value)| (*inst, *value))
        .collect();
    values.sort_unstable();
    values.dedup_by_key(|(_, value)| *value);
    values.into_iter().map(|(_, value)| value).collect()
}

/// The original's stores in a loop: a load of the loop may deliver the value of an iteration before.
fn stores_of(comparison: &Comparison<'_, '_>, id: LoopId) -> FxHashMap<TermId, StoreRecord> {
    let original = comparison.original;
    let of_loop: FxHashSet<InstId> = original
        .flow
        .block_ids()
        .filter(|&block| original.flow.loops.nested(original.loop_of(block), id))
        .flat_map(|block| original.flow.block(block).instructions())
        .collect();
    comparison.terms.arena.charge(of_loop.len() as u64);
    let all = comparison.warp.prover.stores.iter();
    all.filter(|(_, record)| of_loop.contains(&record.inst))
        .map(|(version, record)| (*version, *record))
        .collect()
}

/// A value that the original computes in the loop and that is, an iteration later, the back edge's.
fn guess(
    comparison: &mut Comparison<'_, '_>,
    id: LoopId,
    before: &LoopRecord,
    (initial, latch): (TermId, TermId),
) -> Option<TermId> {
    let width = comparison.terms.arena.width(latch);
    let stores = &stores_of(comparison, id);
    let mut values = values(comparison, id);
    values.retain(|value| comparison.terms.arena.width(*value) == width);
    let (terms, loops) = (&mut *comparison.terms, &comparison.original.flow.loops);
    let mut substitution = Substitution::new();
    let later = values_of(terms, before, |loop_value| loop_value.latch);
    let induction = &mut comparison.warp.prover.induction;
    let latch = induction.apply(terms, latch);
    // A store of the loop in between is looked for when the guess is proved.
    let reaches = before_own_stores(terms, stores, latch);
    let found = values.into_iter().take(MAX_TRIED).find(|&value| {
        let next = substitution.apply(&mut terms.arena, value, &mut |_, symbol, own| {
            later.get(&symbol).copied().unwrap_or(own)
        });
        // (A value that does not change tells nothing about the one that the register gets.)
        next != value
            && {
                let next = induction.apply(terms, next);
                next == latch
                    || before_own_stores(terms, stores, next) == reaches
                    || induction.are_equal(terms, (next, latch))
            }
            && {
                let value = before_own_stores(terms, stores, value);
                is_of_header(terms, loops, (id, before), value)
            }
    });
    let value = before_own_stores(terms, stores, found?);
    // Only worth an evaluation where it holds at the entry as well.
    let first = at_entry(terms, before, value);
    (first == initial).then_some(value)
}

/// The original's loads in a loop, each as a list: its value, the value one iteration later, and so on.
fn loads_later(
    comparison: &mut Comparison<'_, '_>,
    id: LoopId,
    before: &LoopRecord,
) -> Vec<Vec<TermId>> {
    let values = values(comparison, id);
    let stores = &stores_of(comparison, id);
    let (terms, loops) = (&mut *comparison.terms, &comparison.original.flow.loops);
    let later = values_of(terms, before, |loop_value| loop_value.latch);
    let mut substitution = Substitution::new();
    let mut found = Vec::new();
    for value in values {
        if load(terms, value).is_none() || found.len() == MAX_TRIED {
            continue;
        }
        let mut all = vec![before_own_stores(terms, stores, value)];
        for _ in 0..MAX_LATER {
            let last = all[all.len() - 1];
            if !is_of_header(terms, loops, (id, before), last) {
                break;
            }
            let next = substitution.apply(&mut terms.arena, last, &mut |_, symbol, own| {
                later.get(&symbol).copied().unwrap_or(own)
            });
            let next = before_own_stores(terms, stores, next);
            if next == last {
                break;
            }
            all.push(next);
        }
        found.push(all);
    }
    found
}

impl Assumed {
    /// The value of a register's symbol as the next evaluation will have it.
    fn at_header(&self, terms: &mut Terms, symbol: TermId, values: &[LoopValue]) -> TermId {
        if self.when.is_empty() {
            return self.value;
        }
        let is_flag = |one: &&LoopValue| one.register.is_some_and(|it| self.when.contains(&it));
        let never = terms.arena.boolean(false);
        let flags = values.iter().filter(is_flag);
        let known = flags.fold(never, |known, flag| terms.arena.or(known, flag.symbol));
        terms.arena.if_then_else(known, self.value, symbol)
    }
}

/// A value in which registers with a guess are replaced by it.
fn with_guesses(terms: &mut Terms, told: &FxHashMap<SymbolId, TermId>, value: TermId) -> TermId {
    if told.is_empty() {
        return value;
    }
    let arena = &mut terms.arena;
    let value = Substitution::new()
        .apply(arena, value, &mut |_, symbol, own| told.get(&symbol).copied().unwrap_or(own));
    let Node::IfThenElse(condition, a, b) = *arena.node(value) else { return value };
    let a = conditions::under(arena, a, condition, true);
    let b = conditions::under(arena, b, condition, false);
    arena.if_then_else(condition, a, b)
}

/// The value of a register where one of some flags is true: by the first flag that tells one, and all that tell the
/// same.
fn guess_under(
    comparison: &mut Comparison<'_, '_>,
    later: &[Vec<TermId>],
    flags: &[&LoopValue],
    latch: TermId,
) -> Option<Assumed> {
    let mut found: Option<Assumed> = None;
    for flag in flags {
        let value = guess_when(comparison, later, flag, latch);
        let (Some(value), Some(flag)) = (value, flag.register) else { continue };
        let assumed = found.get_or_insert_with(|| Assumed { value, when: Vec::new() });
        if assumed.value == value {
            assumed.when.push(flag);
        }
    }
    found
}

/// A load of the original that is, an iteration later, the back edge's value where the flag is true there.
fn guess_when(
    comparison: &mut Comparison<'_, '_>,
    later: &[Vec<TermId>],
    flag: &LoopValue,
    latch: TermId,
) -> Option<TermId> {
    let terms = &mut *comparison.terms;
    if terms.arena.constant_value(flag.initial) != Some(0) {
        return None;
    }
    let known = conditions::literals(&mut terms.arena, flag.latch);
    let latch = conditions::simplify(&mut terms.arena, latch, &known);
    let prover = &mut comparison.warp.prover;
    let (induction, stores) = (&mut prover.induction, &prover.stores);
    let known = induction.apply_all(terms, &known);
    let (read, address) = load(terms, latch)?;
    let base = before_stores(terms, stores, read.version);
    let address = induction.apply(terms, address);
    // Loads of the iteration itself come before those of a later one.
    let mut pairs =
        (0..MAX_LATER).flat_map(|at| later.iter().filter_map(move |all| all.get(at..at + 2)));
    pairs.find_map(|pair| {
        terms.arena.charge(4);
        let (other, next) = load(terms, pair[1])?;
        // A store of the loop in between is looked for when the guess is proved.
        let version = before_stores(terms, stores, other.version);
        if version != base || (Read { version: read.version, ..other }) != read {
            return None;
        }
        let next = induction.apply(terms, next);
        let equal =
            next == address || wrap::equal_as_known(&mut terms.arena, (next, address), &known);
        equal.then_some(pair[0])
    })
}

/// The value of a load from the memory before the lane's own stores of the loop; another term unchanged.
fn before_own_stores(
    terms: &mut Terms,
    stores: &FxHashMap<TermId, StoreRecord>,
    value: TermId,
) -> TermId {
    let Some((read, address)) = load(terms, value) else { return value };
    let base = before_stores(terms, stores, read.version);
    let loaded = terms.arena.apply(read.function, &[base, address], read.bits.0);
    match read.signed {
        true => terms.arena.sign_extend(loaded, read.bits.1),
        false => terms.arena.zero_extend(loaded, read.bits.1),
    }
}

/// The flag under which a register's value is used. It guards the instruction that fills the register the value is
/// moved to, where the value is not usable. Or, if the value passes through several registers, it is the value that the
/// next one's flag gets at the loop's end.
fn flag_of(
    comparison: &Comparison<'_, '_>,
    values: &[LoopValue],
    register: RegisterId,
    passes: usize,
) -> Option<RegisterId> {
    let loop_value =
        |register: RegisterId| values.iter().find(|one| one.register == Some(register));
    let is_flag = |register: RegisterId| {
        loop_value(register).is_some_and(|one| comparison.terms.arena.width(one.symbol) == 1)
    };
    let insts = &comparison.rewritten.flow.insts;
    comparison.terms.arena.charge(insts.len() as u64 / 8);
    let guard =
        |inst: &Inst<'_, '_>| inst.guard.map(|(flag, _)| flag).filter(|&flag| is_flag(flag));
    let moves = insts.iter().filter_map(|inst| match inst.args[..] {
        [Arg::Register(to), Arg::Register(from)]
            if from == register && inst.ast.form.opcode == Opcode::Mov =>
        {
            Some((to, guard(inst)))
        }
        _ => None,
    });
    for (to, guarded) in moves {
        let fills = |inst: &&Inst<'_, '_>| matches!(inst.args.first(), Some(Arg::Register(one)) if *one == to);
        let guards = || insts.iter().filter(fills).find_map(guard);
        let passed_on = || {
            loop_value(to).filter(|one| passes > 0 && is_own(comparison.terms, one))?;
            let next = flag_of(comparison, values, to, passes - 1)?;
            let latch = loop_value(next)?.latch;
            values.iter().find(|one| one.symbol == latch)?.register
        };
        let found = guarded.or_else(guards).or_else(passed_on);
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The key of a load without its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Read {
    function: FunctionId,
    /// The version of memory.
    version: TermId,
    /// The bits that are loaded, and those of the register.
    bits: (u8, u8),
    /// Whether the loaded ones are extended by their sign.
    signed: bool,
}

/// The key of a load without its address, and the address.
fn load(terms: &Terms, value: TermId) -> Option<(Read, TermId)> {
    let (loaded, signed) = match *terms.arena.node(value) {
        Node::ZeroExtend(loaded) => (loaded, false),
        Node::SignExtend(loaded) => (loaded, true),
        _ => (value, false),
    };
    match terms.arena.node(loaded) {
        Node::Apply(function, operands)
            if operands.len() == 2 && terms.loaded(loaded).is_some() =>
        {
            let bits = (terms.arena.width(loaded), terms.arena.width(value));
            Some((Read { function: *function, version: operands[0], bits, signed }, operands[1]))
        }
        _ => None,
    }
}
