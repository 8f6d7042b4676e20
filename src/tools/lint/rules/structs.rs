//! `partial-sectors`, `scalar-could-be-vector`: several accesses of a block to structs that lie one behind the other.

use rustc_hash::FxHashMap;

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use super::requests::counted;
use crate::cfg::InstId;
use crate::traffic::{AccessKind, SECTOR, Stride};

/// The widest vector access in bytes.
const WIDEST: i64 = 16;

/// Longer structs are not followed: their members lie in lines of their own.
const LONGEST: i64 = 128;

/// Accesses of one kind in one block, whose lanes lie `stride` bytes apart, to different members of one struct.
pub(super) struct Group {
    /// Verbs for them.
    kind: AccessKind,
    /// Bytes of a struct.
    stride: i64,
    /// Offset in the struct, bytes, instruction, index into the accesses; by offset.
    members: Vec<(i64, i64, InstId, usize)>,
}

impl Group {
    /// The accesses.
    pub(super) fn instructions(&self) -> impl Iterator<Item = InstId> {
        self.members.iter().map(|member| member.2)
    }

    /// Bytes of each struct that they access.
    fn used(&self) -> i64 {
        let mut members = self.members.clone();
        members.dedup_by_key(|member| member.0);
        members.iter().map(|member| member.1).sum()
    }
}

/// All groups of two accesses or more.
pub(super) fn groups(subject: &Subject<'_, '_, '_>) -> Vec<Group> {
    let arena = &subject.trace.arena;
    let mut groups: Vec<Group> = Vec::new();
    let mut known: FxHashMap<_, usize> = FxHashMap::default();
    for (index, traffic) in subject.traffic.accesses.iter().enumerate() {
        let access = subject.access(traffic);
        let (Some(_), Some(Stride::Constant(stride)), Some(address)) =
            (counted(traffic), &traffic.stride, access.address)
        else {
            continue;
        };
        let bytes = i64::from(traffic.bytes);
        if stride.abs() <= bytes || stride.abs() > LONGEST || access.strong.is_some() {
            continue;
        }
        let (constant, addends) = arena.linear_parts(address);
        let key = (access.block, access.guard, traffic.kind.word(), addends);
        let member = (constant as i64, bytes, traffic.inst, index);
        let at = *known.entry(key).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.members.push(member),
            None => groups.push(Group {
                kind: traffic.kind,
                stride: stride.abs(),
                members: vec![member],
            }),
        }
    }
    let mut found: Vec<Group> = Vec::new();
    for mut group in groups {
        group.members.sort_by_key(|member| (member.0, member.2));
        let distinct = group.members.windows(2).any(|two| two[0].0 != two[1].0);
        let first = group.members[0].0;
        let one_struct =
            group.members.iter().all(|member| member.0 + member.1 - first <= group.stride);
        if distinct && one_struct {
            found.push(group);
        }
    }
    found
}

/// Findings for groups: consecutive members that one vector access would move, and structs with bytes that no access
/// uses.
pub(super) fn partial(subject: &Subject<'_, '_, '_>, groups: &[Group]) -> Vec<Found> {
    let mut found = Vec::new();
    for group in groups {
        let vector = vector(subject, group);
        // (Also as one vector they use a part of their sectors, if most of each struct is not used.)
        if vector.is_none() || 2 * group.used() <= group.stride {
            found.extend(members(subject, group));
        }
        found.extend(vector);
    }
    found
}

/// All members are consecutive, and the first is aligned for a vector of them.
fn vector(subject: &Subject<'_, '_, '_>, group: &Group) -> Option<Found> {
    let mut members = group.members.clone();
    members.dedup_by_key(|member| member.0);
    let (first, bytes, inst, index) = members[0];
    let total = bytes * members.len() as i64;
    let consecutive = (0..).zip(&members).all(|(at, m)| m.0 == first + at * bytes && m.1 == bytes);
    let fits = total.count_ones() == 1 && total <= WIDEST && group.stride % total == 0;
    let (known, base) = subject.traffic.accesses[index].base?;
    let aligned = total.trailing_zeros() <= known && base % total == 0;
    if !(consecutive && fits && aligned) {
        return None;
    }
    let sectors: u32 =
        members.iter().filter_map(|m| counted(&subject.traffic.accesses[m.3])).map(|s| s.max).sum();
    let once = subject.traffic.accesses[index].spread.span()?.max;
    let (verb, noun) = words(group.kind);
    Some(Found {
        rule: Rule::ScalarCouldBeVector,
        level: Level::Warning,
        inst,
        message: format!(
            "{} {noun} of {bytes} consecutive bytes each request {sectors} sectors; one of {total} bytes would request {once}",
            members.len()
        ),
        label: Some(format!("the others are at {}", places(subject, &members[1..]))),
        help: format!(
            "{verb} the {} members with one vector access (`float4`, `int4`, or a struct with `__align__({total})`)",
            members.len()
        ),
        waste: sectors.saturating_sub(once),
    })
}

/// Some bytes of each struct are accessed, or all by several accesses.
fn members(subject: &Subject<'_, '_, '_>, group: &Group) -> Option<Found> {
    let mut members = group.members.clone();
    members.dedup_by_key(|member| member.0);
    let used = group.used();
    let (_, _, inst, index) = members[0];
    let traffic = &subject.traffic.accesses[index];
    let span = counted(traffic)?;
    let whole = used >= group.stride;
    let (verb, noun) = words(group.kind);
    let others = places(subject, &members[1..]);
    let of_sector = traffic.bytes.max(SECTOR as u32 * traffic.bytes / (group.stride as u32));
    Some(Found {
        rule: Rule::PartialSectors,
        level: if whole { Level::Note } else { Level::Warning },
        inst,
        message: format!(
            "each of {} {noun} uses {} of 32 bytes of a sector; together they use {used} of each struct's {} bytes",
            members.len(),
            of_sector.min(32),
            group.stride
        ),
        label: Some(format!("lanes are {} bytes apart; the other members are at {others}", group.stride)),
        help: match whole {
            true => format!(
                "{verb} the whole struct by vector accesses, or keep each member in an array of its own"
            ),
            false => "keep the members that are used together in arrays of their own, so that no sector is moved for \
                      bytes that nobody uses"
                .to_owned(),
        },
        waste: span.max - span.ideal,
    })
}

fn words(kind: AccessKind) -> (&'static str, &'static str) {
    match kind {
        AccessKind::Load => ("load", "loads"),
        _ => ("store", "stores"),
    }
}

fn places(subject: &Subject<'_, '_, '_>, members: &[(i64, i64, InstId, usize)]) -> String {
    let mut all: Vec<String> = Vec::new();
    for (_, _, inst, _) in members {
        let place = subject.place(*inst);
        if !all.contains(&place) {
            all.push(place);
        }
    }
    all.join(", ")
}
