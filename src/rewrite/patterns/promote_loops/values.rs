//! Values that a loop keeps in memory although a register could hold them: `out[i] += a[k] * b[k]`.
//!
//! In: the trace of one function. Out: [`ScalarPromotion`]s, one for each loop that stores at an address that does not
//! change. Nothing in the loop publishes or orders accesses. So the value may stay in a register over the
//! iterations, and be stored once behind the loop, if no other access of the loop touches its bytes in the lane. Where
//! that is not proved, it is tested once in front of the loop, with the untouched loop on the other side: the addresses
//! of the other access, which change by the same number of bytes in each iteration, lie in an interval that is computed
//! from the number of iterations. An index of 32 bits that the loop widens must not wrap around before that.

use crate::loops::TripCount;
use crate::loops::{Held, Index, LoopCode, LoopShape, MAX_STEP, Step, Sum, step, take_indices};
use crate::reuse::{Legality, OWN_REGISTERS, Refusal};
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::cfg::{Arg, Base, BlockId, InstId, LoopId, RegisterId};
use crate::emulate::{Access, Effect, KernelTrace, definitions, effect};
use crate::isa::{Modifier, Opcode};
use crate::ptx::{ScalarType, StateSpace};

/// The most values of one loop.
const MAX_VALUES: usize = 32;

/// The most accesses of a loop that are looked at.
const MAX_ACCESSES: usize = 256;

/// The most intervals that are tested in front of one loop.
const MAX_TESTS: usize = 16;

/// The most registers that an interval's end is made of.
const MAX_PARTS: usize = 6;

/// The largest constant of an address.
const MAX_CONSTANT: i64 = 1 << 30;

/// The most bytes between addresses that one test covers together.
const MAX_GAP: i64 = 256;

/// A loop and the values that it keeps in memory.
#[derive(Clone, Debug)]
pub(super) struct ScalarPromotion {
    /// The loop's code, unless its shape is the reason why they stay.
    pub code: Option<LoopCode>,
    /// The values.
    pub values: Vec<PromotedValue>,
    /// The number of iterations, if a test needs it.
    pub count: Option<TripCount>,
    /// The indices of 32 bits that the loop widens.
    pub indices: Vec<Index>,
    /// The intervals that must not meet the values.
    pub tests: Vec<IntervalTest>,
    /// Why the values stay in memory, if they have to.
    pub refusal: Option<Refusal>,
}

/// How a value is stored where a loop is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AtExit {
    /// It is: each way there leads past a store.
    Stored,
    /// If some store was executed, which a register tells.
    IfWritten,
}

/// A value at an address that does not change in the loop.
#[derive(Clone, Debug)]
pub(super) struct PromotedValue {
    /// The base of the address, and the bytes added to it.
    pub place: (RegisterId, i64),
    /// Bits of the value.
    pub bits: u32,
    /// The loads and stores in program order.
    pub loads: Vec<InstId>,
    /// The stores in program order; at least one.
    pub stores: Vec<InstId>,
    /// How it is stored at each of the loop's exits, and behind its last instruction.
    pub at_exits: Vec<AtExit>,
}

impl PromotedValue {
    /// Whether each iteration loads the value before it stores one.
    pub(super) fn is_read_first(&self) -> bool {
        self.loads.first().is_some_and(|load| *load < self.stores[0])
    }

    /// Whether a register has to tell if some store was executed.
    pub(super) fn is_flagged(&self) -> bool {
        self.at_exits.contains(&AtExit::IfWritten)
    }
}

/// A condition on the distance from another access to a value: it must be at least `length` bytes and, if the access
/// moves, as many more as it moves over all iterations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct IntervalTest {
    /// The distance in the first iteration: summands with their factors.
    pub parts: Vec<(Term, i64)>,
    /// The constant of the distance.
    pub constant: i64,
    /// Bytes by which the access moves in each iteration.
    pub step: Step,
    /// The number of distances at which bytes meet.
    pub length: i64,
}

/// A summand of a distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// A register of 64 bits.
    Register(RegisterId),
    /// One of the indices, as a number with a sign.
    Index(usize),
}

/// An access to global memory other than those to the values.
struct Other {
    inst: InstId,
    /// The address in the first iteration without the widened indices.
    address: Sum,
    /// These, by number, with their factors.
    indices: Vec<(usize, i64)>,
    step: Step,
    bytes: i64,
}

/// The loops that keep values in memory, in program order, refused ones as well. Where a loop may be left, or may end,
/// without a store, a register tells whether there was one.
pub(super) fn scalar_promotions(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
) -> Vec<ScalarPromotion> {
    if legality.options.strict || legality.observes_lanes || legality.is_irreducible() {
        return Vec::new();
    }
    let at: FxHashMap<InstId, usize> =
        trace.accesses.iter().enumerate().map(|(index, one)| (one.inst, index)).collect();
    let mut found = Vec::new();
    for id in legality.flow().loops.loops.keys() {
        let header = legality.flow().loops.get(id).header;
        if !trace.reachable[header] || legality.is_version(header) {
            continue;
        }
        if trace.arena.is_nearly_spent() {
            break;
        }
        let values = values_in_memory(legality, trace, id, &at);
        if values.is_empty() {
            continue;
        }
        let mut group = ScalarPromotion {
            code: None,
            values,
            count: None,
            indices: Vec::new(),
            tests: Vec::new(),
            refusal: None,
        };
        group.refusal = fill(legality, trace, id, &mut group, &at).err();
        found.push(group);
    }
    found
}

/// Finds the code of a loop and the tests in front of it.
fn fill(
    legality: &Legality<'_, '_, '_>,
    trace: &KernelTrace,
    id: LoopId,
    group: &mut ScalarPromotion,
    at: &FxHashMap<InstId, usize>,
) -> Result<(), Refusal> {
    let code = LoopCode::of(legality.flow(), id).map_err(Refusal::LoopShape)?;
    let members: Vec<InstId> = group.members().collect();
    for value in &mut group.values {
        is_held(legality, &code, value).map_err(|inst| in_loop(legality, inst))?;
        let stored = |exit: InstId| {
            let mut stores = value.stores.iter();
            match stores.any(|store| code.comes_before(legality.flow(), *store, exit)) {
                true => AtExit::Stored,
                false => AtExit::IfWritten,
            }
        };
        let last = code.range.end.before();
        value.at_exits = code.exits.iter().copied().chain([last]).map(stored).collect();
    }
    let others = other_accesses(legality, trace, &code, &members, at, &mut group.indices)?;
    separate(legality, group, &code, others)?;
    group.code = Some(code);
    Ok(())
}

/// Whether a register has the value wherever it is read.
///
/// # Errors
/// An access that may be executed where no other one was.
fn is_held(
    legality: &Legality<'_, '_, '_>,
    code: &LoopCode,
    value: &PromotedValue,
) -> Result<(), InstId> {
    let flow = legality.flow();
    match (value.is_read_first(), value.loads.first()) {
        // The load in front of the loop is one that the first iteration performs.
        (true, Some(&first)) if !code.is_sure(flow, first) => Err(first),
        (true, _) | (false, None) => Ok(()),
        (false, Some(&load)) => {
            let mut stores = value.stores.iter();
            let is_stored = stores.any(|store| code.comes_before(flow, *store, load));
            let rest = value.loads.iter().all(|other| {
                value.stores.iter().any(|store| code.comes_before(flow, *store, *other))
            });
            if is_stored && rest { Ok(()) } else { Err(load) }
        }
    }
}

/// The values that a loop stores at addresses that it does not change.
fn values_in_memory(
    legality: &Legality<'_, '_, '_>,
    trace: &KernelTrace,
    id: LoopId,
    at: &FxHashMap<InstId, usize>,
) -> Vec<PromotedValue> {
    let flow = legality.flow();
    let of_loop = || flow.block_ids().filter(|block| flow.loops.contains(id, *block));
    let insts = |block: BlockId| flow.block(block).instructions();
    let plain = |inst: InstId| {
        let known = at.get(&inst).map(|&index| &trace.accesses[index]);
        known.and_then(|access| plain(legality, access))
    };
    trace.arena.charge(flow.blocks.len() as u64);
    let mut found: Vec<PromotedValue> = Vec::new();
    for block in of_loop().filter(|block| flow.loops.innermost(*block) == Some(id)) {
        trace.arena.charge(insts(block).len() as u64);
        for inst in insts(block) {
            let Some((place, bits)) = plain(inst) else { continue };
            if effect(&flow.insts[inst]) == Effect::Store
                && !found.iter().any(|one| one.place == place && one.bits == bits)
                && found.len() < MAX_VALUES
            {
                let (loads, stores, at_exits) = (Vec::new(), Vec::new(), Vec::new());
                found.push(PromotedValue { place, bits, loads, stores, at_exits });
            }
        }
    }
    if found.is_empty() {
        return found;
    }
    for inst in of_loop().flat_map(insts) {
        let written = definitions(&flow.insts[inst]);
        found.retain(|one| !written.contains(&one.place.0));
    }
    for inst in of_loop().flat_map(insts) {
        let Some((place, bits)) = plain(inst) else { continue };
        let one = found.iter_mut().find(|one| one.place == place && one.bits == bits);
        let Some(one) = one else { continue };
        match effect(&flow.insts[inst]) {
            Effect::Store => one.stores.push(inst),
            _ => one.loads.push(inst),
        }
    }
    for one in &mut found {
        one.loads.sort_unstable();
        one.stores.sort_unstable();
    }
    found
}

/// The place and width of a weak access of one value to global memory, if a copy between registers can stand for it.
fn plain(legality: &Legality<'_, '_, '_>, access: &Access) -> Option<((RegisterId, i64), u32)> {
    let inst = &legality.flow().insts[access.inst];
    let form = &inst.ast.form;
    let [Modifier::Space(StateSpace::Global), Modifier::Type(ty)] = form.modifiers() else {
        return None;
    };
    let (memory, value) = match (form.opcode, &inst.args[..]) {
        (Opcode::Ld, [value, memory]) | (Opcode::St, [memory, value]) => (memory, value),
        _ => return None,
    };
    let (Arg::Register(value), Arg::Memory { base: Base::Register(base), offset, rest }) =
        (value, memory)
    else {
        return None;
    };
    let registers = &legality.flow().registers;
    let is_plain = !inst.pragma
        && rest.is_empty()
        && access.strong.is_none()
        && matches!(ty.bits(), 32 | 64)
        && registers[*value].ty.bits() == ty.bits()
        && registers[*base].ty.bits() == 64
        && offset.unsigned_abs() < MAX_CONSTANT as u64
        && ![value, base].iter().any(|one| registers[**one].name.starts_with(OWN_REGISTERS));
    is_plain.then_some(((*base, *offset), ty.bits()))
}

/// The accesses of a loop that may touch the values' bytes, with their addresses.
fn other_accesses(
    legality: &Legality<'_, '_, '_>,
    trace: &KernelTrace,
    code: &LoopCode,
    members: &[InstId],
    at: &FxHashMap<InstId, usize>,
    indices: &mut Vec<Index>,
) -> Result<Vec<Other>, Refusal> {
    let flow = legality.flow();
    let (mut sums, mut words) = (code.sums(flow), code.sums(flow).of_words());
    let mut others = Vec::new();
    trace.arena.charge(4 * code.range.len() as u64);
    for inst in code.range.clone() {
        let one = &flow.insts[inst];
        let refuse = || Err(in_loop(legality, inst));
        if one.pragma || one.args.iter().any(crate::loops::is_observed) {
            return refuse();
        }
        match effect(one) {
            Effect::Pure => continue,
            Effect::Control if one.ast.form.opcode == Opcode::Bra => continue,
            Effect::Load | Effect::Store => {}
            Effect::Barrier if planted!(Bug::PromotedOverFence) => continue,
            _ => return refuse(),
        }
        let access = at.get(&inst).map(|&index| &trace.accesses[index]);
        let Some(access) = access.filter(|access| access.strong.is_none()) else {
            return refuse();
        };
        match one.ast.form.space() {
            StateSpace::Shared | StateSpace::Local | StateSpace::Const | StateSpace::Param => {
                continue;
            }
            StateSpace::Global if members.contains(&inst) || access.read_only => continue,
            StateSpace::Global => {}
            _ => return refuse(),
        }
        let memory = one.args.iter().find_map(|arg| match arg {
            Arg::Memory { base: Base::Register(base), offset, rest } if rest.is_empty() => {
                Some((*base, *offset))
            }
            _ => None,
        });
        let Some((base, offset)) = memory else { return refuse() };
        let wide = flow.registers[base].ty.bits() == 64;
        let mut address = sums.of(base, inst);
        address.constant = address.constant.wrapping_add(offset);
        let indexed = take_indices(flow, code, &mut words, &mut address, indices);
        let moved = indexed.zip(step(&mut sums, &address, code, flow));
        let moved = moved.and_then(|(own, step)| Some((step.indexed(&own, indices)?, own)));
        let Some((step, own)) = moved.filter(|_| wide && others.len() < MAX_ACCESSES) else {
            return refuse();
        };
        let bytes = i64::from(access.bytes());
        if bytes == 0 {
            return refuse();
        }
        others.push(Other { inst, address, indices: own, step, bytes });
    }
    Ok(others)
}

/// Finds the tests in front of a loop which say that no other access touches the values.
fn separate(
    legality: &Legality<'_, '_, '_>,
    group: &mut ScalarPromotion,
    code: &LoopCode,
    others: Vec<Other>,
) -> Result<(), Refusal> {
    let flow = legality.flow();
    let as_other = |value: &PromotedValue| Other {
        inst: value.stores[0],
        address: Sum {
            parts: BTreeMap::from([(Held { register: value.place.0, by: None }, 1)]),
            constant: value.place.1,
        },
        indices: Vec::new(),
        step: Step::default(),
        bytes: i64::from(value.bits / 8),
    };
    let values: Vec<Other> = group.values.iter().map(as_other).collect();
    let moves = |other: &Other| {
        let mut own = other.indices.iter();
        !other.step.is_zero() || own.any(|(index, _)| group.indices[*index].step != 0)
    };
    let count = others.iter().any(&moves).then(|| TripCount::of(flow, code)).flatten();
    for (number, value) in values.iter().enumerate() {
        for other in others.iter().chain(&values[number + 1..]) {
            let ahead = value.address.minus(&other.address);
            let constant = ahead.constant.wrapping_add(value.bytes - 1);
            let both = value.bytes + other.bytes - 1;
            if moves(other) && count.is_none() {
                return Err(Refusal::LoopCount(
                    legality.source.line(flow.insts[other.inst].ast.span.start),
                ));
            }
            let registers = ahead.parts.iter();
            let registers =
                registers.map(|(held, factor)| (Term::Register(held.register), *factor));
            let indexed = other.indices.iter();
            let indexed = indexed.map(|(index, factor)| (Term::Index(*index), -factor));
            let parts: Vec<(Term, i64)> = registers.chain(indexed).collect();
            if parts.is_empty() {
                let most = |step| {
                    let factor = count.as_ref().map_or(0, |count| count.factor(step));
                    factor * i64::from(u32::MAX)
                };
                let is_apart = match other.step.known() {
                    // Without a sign, a negative number is further ahead than any loop gets.
                    Some(step @ 0..) => constant < 0 || constant >= both + most(step),
                    Some(_) => constant >= both,
                    None => false,
                };
                match is_apart {
                    true => continue,
                    false => return Err(in_loop(legality, other.inst)),
                }
            }
            let far = |factor: i64| factor.unsigned_abs() > MAX_STEP as u64;
            if parts.len() > MAX_PARTS
                || constant.unsigned_abs() > MAX_CONSTANT as u64
                || parts.iter().any(|(_, factor)| far(*factor))
            {
                return Err(in_loop(legality, other.inst));
            }
            let step = other.step.clone();
            let test = IntervalTest { parts, constant, step, length: both };
            add(&mut group.tests, test);
            if group.tests.len() > MAX_TESTS {
                return Err(in_loop(legality, other.inst));
            }
        }
    }
    group.count = count;
    if group.tests.is_empty() && group.count.as_ref().is_none_or(|count| !count.is_tested()) {
        return Err(Refusal::LoopShape(LoopShape::Untested));
    }
    Ok(())
}

fn in_loop(legality: &Legality<'_, '_, '_>, inst: InstId) -> Refusal {
    let ast = legality.flow().insts[inst].ast;
    let line = legality.source.line(ast.span.start);
    Refusal::LoopAccess(ast.opcode.text.to_owned(), line)
}

impl ScalarPromotion {
    /// The accesses that copies between registers stand for.
    pub(super) fn members(&self) -> impl Iterator<Item = InstId> {
        self.values.iter().flat_map(members_of)
    }
}

/// The accesses of a value.
fn members_of(value: &PromotedValue) -> impl Iterator<Item = InstId> {
    value.loads.iter().chain(&value.stores).copied()
}

/// Adds a test, or makes one stronger that is about the same registers and a constant nearby.
fn add(tests: &mut Vec<IntervalTest>, test: IntervalTest) {
    let alike = |one: &&mut IntervalTest| {
        (&one.parts, &one.step) == (&test.parts, &test.step)
            && (one.constant - test.constant).abs() <= MAX_GAP
    };
    match tests.iter_mut().find(alike) {
        None => tests.push(test),
        Some(one) => {
            let constant = one.constant.max(test.constant);
            let own = one.length + (constant - one.constant);
            one.length = own.max(test.length + (constant - test.constant));
            one.constant = constant;
        }
    }
}

impl PromotedValue {
    /// The type of a copy of the value.
    pub(super) fn ty(&self) -> ScalarType {
        ScalarType::b(self.bits)
    }
}
