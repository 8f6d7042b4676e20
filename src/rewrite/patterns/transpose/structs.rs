//! Loads of structs: every lane loads all words of a struct of its own, one struct behind the other, so that
//! the warp's lanes could as well load consecutive words and give them to each other.
//!
//! In: loads of one block that may take part. Out: [`TransposeLoads`]. Let a lane's struct begin at the address `X(L)`.
//! It is proved, up to checks at run time, that `X(L + n)` is n structs further on, for every n by which two lanes of a
//! warp can be apart. So the structs of a warp are one piece of memory, and every byte of it is read. Which lane reads
//! which byte does not matter if the warp is full: that is tested.

use crate::cfg::{BlockId, InstId, InstRange};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::reuse::{
    Hindrance, Legality, Load, NoWrap, Refusal, Region, STRUCT_WORDS, base_address,
};

/// A load of some words of a struct.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The load; each of its elements is a word.
    pub load: Load,
    /// The number of its first word in the struct.
    pub word: u32,
}

/// The loads of all words of a struct by each lane.
#[derive(Clone, Debug)]
pub(super) struct TransposeLoads {
    /// The loads in program order; all words are loaded in the place of the first.
    pub fields: Vec<Field>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The test whether the warp is full stands in front of this instruction; from there on the code is duplicated.
    pub place: InstId,
    /// Words of a struct, within [`STRUCT_WORDS`].
    pub words: u32,
    /// Bits of a word, 32 or 64.
    pub word_bits: u32,
    /// Bytes from the first load's address to the beginning of the lane's struct.
    pub offset: i64,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// Indices that must not wrap around, in any lane; their registers hold them at `place`.
    pub no_wrap: Vec<NoWrap>,
}

/// Accesses that may become a struct.
pub(super) struct Run {
    pub block: BlockId,
    /// The base address, and the bytes from lane to lane.
    pub form: (TermId, i64),
    /// Bytes of a word.
    pub word: i64,
    /// The accesses in program order.
    pub members: Vec<Member>,
}

/// An access to some words of a candidate struct.
#[derive(Clone)]
pub(super) struct Member {
    /// A load, or a store, which has no elements here.
    pub load: Load,
    /// The distance of its first word from that of the run's first access, in words.
    pub at: i64,
    /// How many words are accessed.
    pub count: i64,
}

impl Run {
    pub(super) fn words(&self) -> i64 {
        self.form.1 / self.word
    }

    /// The first word that is accessed and the one behind the last, counted from the first access's.
    pub(super) fn ends(&self) -> (i64, i64) {
        let first = self.members.iter().map(|member| member.at).min().unwrap_or(0);
        let end = self.members.iter().map(|member| member.at + member.count).max();
        (first, end.unwrap_or(0))
    }

    /// Whether every word of a struct is accessed, none of them twice, and not by one vector alone.
    pub(super) fn is_whole(&self) -> bool {
        let count: i64 = self.members.iter().map(|member| member.count).sum();
        let (first, end) = self.ends();
        self.members.len() > 1 && count == self.words() && end - first == self.words()
    }

    /// Whether `count` words, `at` words from the first access's, can be another part of the same struct.
    pub(super) fn takes(&self, at: i64, count: i64) -> bool {
        let (first, end) = self.ends();
        let apart = |other: &Member| at + count <= other.at || other.at + other.count <= at;
        end.max(at + count) - first.min(at) <= self.words() && self.members.iter().all(apart)
    }

    pub(super) fn range(&self) -> InstRange {
        let last = self.members.last().map_or(InstId(0), |member| member.load.inst);
        self.members[0].load.inst.to(last.next())
    }
}

/// The structs that some loads, in program order, read. A load reads one struct at most. Structs of
/// one `place` are tested for together.
pub(super) fn structs(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[Load],
) -> Vec<TransposeLoads> {
    let mut runs: Vec<Run> = Vec::new();
    if legality.linear != Some(false) && !legality.narrow && !legality.observes_lanes {
        for load in loads {
            if trace.arena.is_nearly_spent() {
                break;
            }
            add_to_struct(legality, trace, &mut runs, load);
        }
    }
    runs.retain(|run| {
        let read: i64 = run.members.iter().map(|member| member.count).sum();
        let is_whole = run.is_whole();
        if !is_whole && run.members.len() > 1 {
            // An instruction that separates one of them from the rest separates all of them.
            let insts = run.members.iter().map(|member| member.load.inst);
            let apart = insts.clone().find_map(|inst| legality.not_joined.get(&inst).cloned());
            let (read, words, bytes) = (read as u32, run.words() as u32, run.form.1 as u32);
            let refusal = apart.unwrap_or(Refusal::StructNotWhole(read, words, bytes));
            legality.not_joined.extend(insts.map(|inst| (inst, refusal.clone())));
        }
        is_whole
    });
    runs.sort_by_key(|run| run.range().start);
    let mut found: Vec<TransposeLoads> = Vec::new();
    let mut region = Region::default();
    for run in runs {
        let make = |legality: &mut Legality<'_, '_, '_>, trace: &mut KernelTrace, place| {
            whole_struct(legality, trace, &run, place)
        };
        found.extend(legality.standing_twice(trace, &mut region, (run.block, run.range()), make));
    }
    found
}

/// Adds a load to the struct that it may be a part of.
fn add_to_struct(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    runs: &mut Vec<Run>,
    load: &Load,
) {
    let inst = &legality.flow().insts[load.inst];
    let element = load.elements[0];
    let is_word = matches!(element.ty.bits(), 32 | 64)
        && load.elements.iter().all(|one| one.register_bits == one.ty.bits());
    if !is_word || inst.guard.is_some() || load.guard.is_some() {
        return;
    }
    // (An unused word is not an element: that nobody reads it is a reason not to load it.)
    if !legality.is_simple(load) || trace.arena.width(load.address) != 64 {
        return;
    }
    let word = i64::from(element.ty.bits() / 8);
    let Some(stride) = struct_stride(legality, trace, load, word) else { return };
    if legality.never_whole(trace, load) {
        return;
    }
    let block = trace.accesses[load.access].block;
    let count = load.elements.len() as i64;
    let at = base_address(&mut trace.arena, load.address);
    let form = (at.key, stride);
    for run in runs.iter_mut().rev().filter(|run| (run.block, run.form) == (block, form)) {
        trace.arena.charge(2);
        let first = run.members[0].load.clone();
        let from = base_address(&mut trace.arena, first.address);
        let Some(bytes) = at.constant.checked_sub(from.constant) else { continue };
        let fits = bytes % word == 0
            && run.word == word
            && first.generic == load.generic
            && run.takes(bytes / word, count);
        if !fits || !legality.same_kind(&first, load) {
            continue;
        }
        if legality.may_move(trace, &first, load) {
            run.members.push(Member { load: load.clone(), at: bytes / word, count });
            return;
        }
        let last = run.members.last().map_or(first.inst, |member| member.load.inst);
        let read_only = trace.accesses[load.access].read_only;
        if let Some(refusal) = apart(legality, last, load.inst, read_only) {
            legality.not_joined.entry(first.inst).or_insert_with(|| refusal.clone());
            legality.not_joined.insert(load.inst, refusal);
        }
    }
    let members = vec![Member { load: load.clone(), at: 0, count }];
    runs.push(Run { block, form, word, members });
}

/// An instruction between two loads of a struct that must not be duplicated.
fn apart(
    legality: &Legality<'_, '_, '_>,
    from: InstId,
    to: InstId,
    read_only: bool,
) -> Option<Refusal> {
    let between = &legality.flow().insts[from.next()..to.max(from.next())];
    let noticed = between
        .iter()
        .find(|inst| !matches!(effect(inst), Effect::Pure | Effect::Load | Effect::Hint))?;
    let line = legality.source.line(noticed.ast.span.start);
    let hindrance = match effect(noticed) {
        Effect::Store if read_only => Hindrance::Duplication,
        _ => Hindrance::Order,
    };
    Some(Refusal::StructApart(noticed.ast.opcode.text.to_owned(), line, hindrance))
}

/// The lane stride in bytes, if it is a possible size of structs of words of `word` bytes.
pub(super) fn struct_stride(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    word: i64,
) -> Option<i64> {
    let is_struct = |stride: &i64| {
        stride % word == 0
            && u32::try_from(stride / word).is_ok_and(|words| STRUCT_WORDS.contains(&words))
    };
    legality.lane_stride(trace, load).filter(is_struct)
}

/// A run as a struct, if everything said in the module's head is proved of it, up to checks in front
/// of the instruction `place`.
fn whole_struct(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    place: InstId,
) -> Option<TransposeLoads> {
    let first = &run.members[0].load;
    if !legality.has_address(first, place) {
        return None;
    }
    let no_wrap = contiguous(legality, trace, run, place).ok()?;
    let (begin, _) = run.ends();
    let fields = run
        .members
        .iter()
        .map(|member| Field { load: member.load.clone(), word: (member.at - begin) as u32 });
    Some(TransposeLoads {
        fields: fields.collect(),
        block: run.block,
        place,
        words: run.words() as u32,
        word_bits: 8 * run.word as u32,
        offset: begin * run.word,
        linear_lanes: legality.linear.is_none(),
        no_wrap,
    })
}

/// Proves that the accesses of a run are to one struct, and that the structs of a warp's lanes follow each
/// other; gives the checks in front of the instruction `place` up to which that is proved.
///
/// # Errors
/// Why it cannot be proved.
pub(super) fn contiguous(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    place: InstId,
) -> Result<Vec<NoWrap>, Refusal> {
    let stride = run.form.1;
    let first = &run.members[0].load;
    let mut no_wrap = Vec::new();
    let own_lane = run.members[1..].iter().map(|member| (&member.load, 0, member.at * run.word));
    // For all pairs of lanes; the proof may use either of the accesses.
    let others = (1..WARP_SIZE as i32).flat_map(|n| [n, -n]);
    let others = others.map(|n| (first, n, -i64::from(n) * stride));
    for (load, n, displacement) in own_lane.chain(others) {
        let pair = (first, load);
        let proof = legality.prover.prove_checked_at(trace, pair, n, displacement, place)?;
        no_wrap.extend(proof.checks);
    }
    if planted!(Bug::StructWraps) {
        no_wrap.clear();
    }
    no_wrap.sort_unstable();
    no_wrap.dedup();
    Ok(no_wrap)
}
