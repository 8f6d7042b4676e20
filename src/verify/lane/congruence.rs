//! Pairs the loop-carried registers of both programs by their values.
//!
//! In: two programs with the same loops, whose registers may have any names. Out: for each loop and register of the
//! rewritten one, the original's register with the same first value and the same update. This is value numbering by
//! partition refinement (Alpern, Wegman, Zadeck, "Detecting equality of variables in programs", 1988): at first all
//! registers of one width in one loop are congruent; registers whose first values or updates differ are told apart,
//! until nothing changes. Terms are compared by hashes, so like every pairing this is a guess: the values of the paired
//! registers are proved equal, iteration by iteration.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::evaluate::evaluate;
use crate::cfg::{InstId, LoopId, RegisterId};
use crate::expr::{BinaryOp, Comparison, Node, SymbolId, TermId, within};
use crate::program::Program;
use crate::record::{Execution, HeaderRegister};
use crate::terms::{Kind, Origin, Terms};

/// For a loop and a register of the rewritten program, the original's register that it is paired with.
pub(crate) type Paired = FxHashMap<HeaderRegister, RegisterId>;

/// The most refinements of the partition.
const MAX_REFINEMENTS: usize = 16;

/// Pairs the registers of all loops; empty if that takes more than `steps` steps.
pub(crate) fn pair(original: &Program<'_, '_>, rewritten: &Program<'_, '_>, steps: u64) -> Paired {
    let colours = within(|| {
        let (mut first, mut second) = (Terms::within(steps), Terms::within(steps));
        let executions = (
            evaluate(original, &mut first, None, None, None),
            evaluate(rewritten, &mut second, None, None, None),
        );
        let mut sides = (
            Colours::new(original, &first, &executions.0),
            Colours::new(rewritten, &second, &executions.1),
        );
        let mut classes = 0;
        for _ in 0..MAX_REFINEMENTS {
            sides.0.refine();
            sides.1.refine();
            let all: FxHashSet<u64> =
                sides.0.of.values().chain(sides.1.of.values()).copied().collect();
            if all.len() == classes {
                break;
            }
            classes = all.len();
        }
        (sides.0.of, sides.1.of)
    });
    let Ok((before, after)) = colours else { return Paired::default() };
    let mut paired = Paired::default();
    let (before, after) = (by_colour(&before), by_colour(&after));
    for (key, news) in &after {
        let olds = before.get(key).map_or(&[][..], Vec::as_slice);
        let id = key.0;
        let pairs = news.iter().zip(olds);
        paired.extend(pairs.map(|(&register, &old)| (HeaderRegister { id, register }, old)));
    }
    add_by_name(original, rewritten, &mut paired);
    paired
}

/// Pairs the registers of one name that have no other partner.
fn add_by_name(original: &Program<'_, '_>, rewritten: &Program<'_, '_>, paired: &mut Paired) {
    let taken: FxHashSet<HeaderRegister> =
        paired.iter().map(|(new, old)| HeaderRegister { id: new.id, register: *old }).collect();
    for ((id, old), new) in original.loops.iter_enumerated().zip(&rewritten.loops) {
        for &register in &new.registers {
            let key = &rewritten.keys[register];
            let partner = original.by_key.get(key).copied();
            let partner = partner.filter(|partner| old.registers.contains(partner));
            if let Some(partner) = partner
                .filter(|partner| !taken.contains(&HeaderRegister { id, register: *partner }))
            {
                paired.entry(HeaderRegister { id, register }).or_insert(partner);
            }
        }
    }
}

/// Whether some register of a loop is paired otherwise than by its name.
pub(crate) fn renames(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    paired: &Paired,
) -> bool {
    paired.iter().any(|(new, old)| original.keys[*old] != rewritten.keys[new.register])
}

/// Whether each loop-carried register of the original has one of its name in the rewritten program.
pub(crate) fn names_fit(original: &Program<'_, '_>, rewritten: &Program<'_, '_>) -> bool {
    original.loops.iter().zip(&rewritten.loops).all(|(old, new)| {
        old.registers.iter().all(|register| {
            let key = &original.keys[*register];
            rewritten.by_key.get(key).is_some_and(|partner| new.registers.contains(partner))
        })
    })
}

fn by_colour(of: &FxHashMap<HeaderRegister, u64>) -> BTreeMap<(LoopId, u64), Vec<RegisterId>> {
    let mut sorted: BTreeMap<(LoopId, u64), Vec<RegisterId>> = BTreeMap::new();
    let mut all: Vec<(&HeaderRegister, &u64)> = of.iter().collect();
    all.sort_unstable();
    for (&HeaderRegister { id, register }, &colour) in all {
        sorted.entry((id, colour)).or_default().push(register);
    }
    sorted
}

/// The classes of one program's registers.
struct Colours<'c> {
    terms: &'c Terms,
    execution: &'c Execution,
    /// For each event's instruction its opcode, and its number among the events of that opcode.
    events: FxHashMap<InstId, u64>,
    of: FxHashMap<HeaderRegister, u64>,
}

impl<'c> Colours<'c> {
    /// All registers of one width in one loop are of one class.
    fn new(program: &Program<'_, '_>, terms: &'c Terms, execution: &'c Execution) -> Self {
        let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
        let mut events = FxHashMap::default();
        for event in &execution.events {
            let opcode = program.flow.insts[event.inst].ast.opcode.text;
            let number = numbers.entry(opcode).or_insert(0);
            *number += 1;
            events.entry(event.inst).or_insert(hash(&(opcode, *number)));
        }
        let mut of = FxHashMap::default();
        for (id, record) in execution.loops.iter_enumerated() {
            for loop_value in record.iter().flat_map(|record| &record.values) {
                let Some(register) = loop_value.register else { continue };
                let width = terms.arena.width(loop_value.symbol);
                let key = HeaderRegister { id, register };
                of.insert(key, hash(&(usize::from(id), width)));
            }
        }
        Colours { terms, execution, events, of }
    }

    /// Separates registers by their first values and updates.
    fn refine(&mut self) {
        let mut known = FxHashMap::default();
        let mut refined = FxHashMap::default();
        for (id, record) in self.execution.loops.iter_enumerated() {
            for loop_value in record.iter().flat_map(|record| &record.values) {
                let Some(register) = loop_value.register else { continue };
                let key = HeaderRegister { id, register };
                let values = (
                    self.of.get(&key),
                    self.term(loop_value.initial, &mut known),
                    self.term(loop_value.latch, &mut known),
                );
                refined.insert(key, hash(&values));
            }
        }
        self.of = refined;
    }

    /// A term's hash, given the classes of registers: the same for sums in any order.
    fn term(&self, term: TermId, known: &mut FxHashMap<TermId, u64>) -> u64 {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if known.contains_key(&next) {
                stack.pop();
                continue;
            }
            let operands = self.terms.arena.operands(next);
            self.terms.arena.charge(2 + operands.len() as u64);
            let depth = stack.len();
            stack.extend(operands.iter().filter(|operand| !known.contains_key(operand)));
            if stack.len() > depth {
                continue;
            }
            stack.pop();
            let own = self.node(next, &|operand| known[&operand]);
            known.insert(next, own);
        }
        known[&term]
    }

    fn node(&self, term: TermId, of: &dyn Fn(TermId) -> u64) -> u64 {
        let arena = &self.terms.arena;
        let width = arena.width(term);
        let all = |parts: &mut dyn Iterator<Item = (u64, u64)>| -> u64 {
            parts.fold(0, |sum: u64, part| sum.wrapping_add(hash(&part)))
        };
        let own = match arena.node(term) {
            Node::Constant(value) => hash(&("constant", value)),
            Node::Symbol(symbol) => self.symbol(*symbol),
            Node::Sum { constant, addends } => {
                let addends = all(&mut addends.iter().map(|(term, factor)| (of(*term), *factor)));
                hash(&("sum", constant, addends))
            }
            Node::Product(factors) => hash(&(
                "product",
                all(&mut factors.iter().map(|(term, power)| (of(*term), *power))),
            )),
            Node::Unary(op, a) => hash(&("unary", *op as u8, of(*a))),
            Node::Binary(op, a, b) if commutes(*op) => {
                hash(&("binary", *op as u8, all(&mut [*a, *b].iter().map(|term| (of(*term), 0)))))
            }
            Node::Binary(op, a, b) => hash(&("binary", *op as u8, of(*a), of(*b))),
            Node::Compare(Comparison::Equal, a, b) => {
                hash(&("equal", all(&mut [*a, *b].iter().map(|term| (of(*term), 0)))))
            }
            Node::Compare(op, a, b) => hash(&("compare", *op as u8, of(*a), of(*b))),
            Node::IfThenElse(condition, a, b) => hash(&("if", of(*condition), of(*a), of(*b))),
            Node::ZeroExtend(a) => hash(&("zero", of(*a))),
            Node::SignExtend(a) => hash(&("sign", of(*a))),
            Node::Extract(a, low) => hash(&("extract", of(*a), low)),
            Node::Concatenate(a, b) => hash(&("concatenate", of(*a), of(*b))),
            Node::Apply(function, operands) => {
                let function = self.terms.symbols.function_of(*function);
                let mut operands: Vec<u64> = operands.iter().map(|term| of(*term)).collect();
                if function.commutes() {
                    operands[..2].sort_unstable();
                }
                hash(&(function, operands))
            }
        };
        hash(&(own, width))
    }

    fn symbol(&self, symbol: SymbolId) -> u64 {
        let event = |inst: &InstId| self.events.get(inst);
        match &self.terms.symbols.info(symbol).kind {
            Kind::Phi(_, id, register) => hash(&(
                "carried",
                self.of.get(&HeaderRegister { id: *id, register: RegisterId(*register) }),
            )),
            Kind::Memory(window, Origin::Event(inst)) => {
                hash(&("memory", *window as u8, event(inst)))
            }
            Kind::Memory(window, Origin::Header(id)) => hash(&("header", *window as u8, id.0)),
            Kind::Event(inst, places) => hash(&("event", event(inst), places)),
            Kind::Parameter { name, offset, bits } => hash(&("parameter", name, offset, bits)),
            Kind::Volatile(_, _, name) => hash(&("unsteady", name)),
            Kind::Unwritten(..) => hash(&"unwritten"),
            Kind::Carry(..) => hash(&"carry"),
            other => hash(&format!("{other:?}")),
        }
    }
}

/// Whether an operation's operands may change places.
fn commutes(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Add | BinaryOp::Multiply)
}

fn hash<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    // (Sums of hashes are taken: the bits are mixed once more.)
    let mixed = hasher.finish();
    (mixed ^ mixed >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
