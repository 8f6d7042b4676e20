//! Stores of structs: every lane stores all words of a struct of its own, one struct behind the other, so that
//! the warp's lanes could as well give each other the words and store consecutive ones.
//!
//! In: the trace of one function. Out: [`TransposeStores`]. The proof about the addresses is that of loads
//! ([`super::structs`]). Stores are moved to the place of the last of them, so no instruction between the first and the
//! last may observe them: only arithmetic and loads of other bytes stand there. And all words of a struct are stored,
//! since a word that the original does not store must not be written.

use super::structs::contiguous;
use super::structs::struct_stride;
use super::structs::{Member, Run};
use crate::cfg::{BlockId, InstId};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::ptx::StateSpace;
use crate::reuse::{
    Legality, Load, NoWrap, Options, PlainStore, Refusal, StoredValue, base_address,
};

/// A store of some words of a struct.
#[derive(Clone, Debug)]
pub(super) struct StoredField {
    /// The instruction.
    pub inst: InstId,
    /// The number of its first word in the struct.
    pub word: u32,
    /// The stored words.
    pub values: Vec<StoredValue>,
}

/// The stores of all words of a struct by each lane.
#[derive(Clone, Debug)]
pub(super) struct TransposeStores {
    /// The stores in program order; all words are stored behind the last.
    pub fields: Vec<StoredField>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The first store as a request of memory.
    pub request: Load,
    /// Words of a struct, within [`STRUCT_WORDS`](crate::reuse::STRUCT_WORDS).
    pub words: u32,
    /// Bits of a word, 32 or 64.
    pub word_bits: u32,
    /// Bytes from the last store's address to the beginning of the lane's struct.
    pub offset: i64,
    /// Bytes from the first store's address there.
    pub begin: i64,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// Indices that must not wrap around, in any lane; their registers hold them at the first store.
    pub no_wrap: Vec<NoWrap>,
    /// Why the stores stay, if they have to.
    pub refusal: Option<Refusal>,
}

/// The structs that the function's stores write, in program order.
pub(super) fn struct_stores(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
) -> Vec<TransposeStores> {
    let Options { strict, .. } = legality.options;
    if legality.linear == Some(false) || legality.narrow || legality.observes_lanes || *strict {
        return Vec::new();
    }
    let mut runs: Vec<(Run, Vec<PlainStore>)> = Vec::new();
    for store in legality.plain_stores(trace) {
        if trace.arena.is_nearly_spent() {
            break;
        }
        if is_of_words(legality, &store) {
            add_stored(legality, trace, &mut runs, store);
        }
    }
    let whole = runs.into_iter().filter(|(run, _)| run.is_whole());
    whole.map(|(run, stores)| whole_stored(legality, trace, &run, stores)).collect()
}

/// Whether a store writes whole words in any case.
fn is_of_words(legality: &Legality<'_, '_, '_>, store: &PlainStore) -> bool {
    let bits = store.ty.bits();
    let is_word = |value: &StoredValue| match value {
        StoredValue::Register(register) => legality.flow().registers[*register].ty.bits() == bits,
        StoredValue::Bits(_) => true,
    };
    store.access.guard.is_none() && matches!(bits, 32 | 64) && store.values.iter().all(is_word)
}

/// Adds a store to the struct that it may be a part of.
fn add_stored(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    runs: &mut Vec<(Run, Vec<PlainStore>)>,
    store: PlainStore,
) {
    let word = i64::from(store.ty.bits() / 8);
    let access = &store.access;
    let Some(stride) = struct_stride(legality, trace, access, word) else { return };
    let block = trace.accesses[access.access].block;
    let at = base_address(&mut trace.arena, access.address);
    let (form, count) = ((at.key, stride), store.values.len() as i64);
    // Only the last run can go on: another store stands between an earlier one and this.
    if let Some((run, stores)) = runs.last_mut()
        && (run.block, run.form, run.word) == (block, form, word)
    {
        trace.arena.charge(2);
        let first = &run.members[0].load;
        let from = base_address(&mut trace.arena, first.address);
        let bytes = at.constant.checked_sub(from.constant);
        if let Some(bytes) = bytes.filter(|bytes| bytes % word == 0)
            && run.takes(bytes / word, count)
            && legality.same_modifiers(first, access)
            && may_be_later(legality, trace, run, access)
        {
            run.members.push(Member { load: access.clone(), at: bytes / word, count });
            stores.push(store);
            return;
        }
    }
    let members = vec![Member { load: access.clone(), at: 0, count }];
    runs.push((Run { block, form, word, members }, vec![store]));
}

/// Whether the stores of a run may as well be performed where another store stands.
fn may_be_later(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    store: &Load,
) -> bool {
    let last = run.range().end;
    let flow = legality.flow();
    last.to(store.inst).all(|at| {
        trace.arena.charge(1);
        let inst = &flow.insts[at];
        match effect(inst) {
            Effect::Pure => true,
            Effect::Load if planted!(Bug::StoreOverLoads) => true,
            Effect::Load => reads_other_bytes(legality, trace, run, at),
            _ => false,
        }
    })
}

/// Whether a load certainly reads none of the bytes that the stores of a run write.
fn reads_other_bytes(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    at: InstId,
) -> bool {
    let space = legality.flow().insts[at].ast.form.space();
    match space {
        StateSpace::Global | StateSpace::Generic => {}
        // A generic address may be of shared or local memory.
        StateSpace::Shared | StateSpace::Local => return !run.members[0].load.generic,
        _ => return true,
    }
    let Some(index) = trace.accesses.iter().position(|access| access.inst == at) else {
        return false;
    };
    if trace.accesses[index].read_only {
        return true;
    }
    let Ok(load) = legality.load(trace, index) else { return false };
    run.members.iter().all(|member| {
        let Load { address, bytes, .. } = member.load;
        legality.prover.apart(trace, address, bytes, &load)
    })
}

/// A run as a struct; the reason if the conditions in the module's head cannot be proved of it.
fn whole_stored(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    stores: Vec<PlainStore>,
) -> TransposeStores {
    let range = run.range();
    let first = run.members[0].load.clone();
    let proved = match legality.never_whole(trace, &first) {
        true => Err(Refusal::NeverRuns),
        false => contiguous(legality, trace, run, range.start),
    };
    let (no_wrap, refusal) = match proved {
        Ok(_) if planted!(Bug::StoreWraps) => (Vec::new(), None),
        Ok(no_wrap) => (no_wrap, None),
        Err(refusal) => (Vec::new(), Some(refusal)),
    };
    let (begin, _) = run.ends();
    let last = run.members.last().map_or(0, |member| member.at);
    let fields = run.members.iter().zip(stores).map(|(member, store)| StoredField {
        inst: member.load.inst,
        word: (member.at - begin) as u32,
        values: store.values.to_vec(),
    });
    TransposeStores {
        fields: fields.collect(),
        block: run.block,
        request: first,
        words: run.words() as u32,
        word_bits: 8 * run.word as u32,
        offset: (begin - last) * run.word,
        begin: begin * run.word,
        linear_lanes: legality.linear.is_none(),
        no_wrap,
        refusal,
    }
}
