//! `uncoalesced-load`, `uncoalesced-store`, `misaligned-row`: sectors of global memory.

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use super::requests::{LONGEST_STRIDE, counted, distance, fact, fact_of_some};
use super::structs::Group;
use crate::cfg::InstId;
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::ptx::StateSpace;
use crate::traffic::{AccessKind, AccessTraffic, Active, SECTOR, Span, Stride};

/// Lanes whose bytes lie in more sectors than they need.
pub(super) fn uncoalesced(subject: &Subject<'_, '_, '_>, groups: &[Group]) -> Vec<Found> {
    let mut found = Vec::new();
    let others = OnceCell::new();
    let members: FxHashSet<InstId> = groups.iter().flat_map(Group::instructions).collect();
    for traffic in subject.traffic.all() {
        // Of the lanes that execute it, where these are not all and no other access uses the rest of the sectors.
        let is_alone = |_: &Active| {
            let others = others.get_or_init(|| Outlines::of(subject));
            traffic.space != StateSpace::Shared && !others.has_another(traffic.inst)
        };
        let active = traffic.active.filter(is_alone);
        let of_some = active.map(|active| active.span);
        let Some(span) = counted(traffic).or(of_some) else { continue };
        // (Members of structs have a rule of their own.)
        if members.contains(&traffic.inst) {
            continue;
        }
        // (Lanes may lie together for small values of a factor, and for one that is 0 they do.)
        let least = span.apart.unwrap_or(span.min).max(span.min);
        if least < 2 * span.ideal {
            continue;
        }
        let short_rows = traffic.stride.is_none() && traffic.step == Some(traffic.bytes.into());
        let load = traffic.kind == AccessKind::Load;
        let is_matrix = subject.inst(traffic.inst).ast.form.opcode == Opcode::Wmma;
        found.push(Found {
            rule: if load { Rule::UncoalescedLoad } else { Rule::UncoalescedStore },
            // (An access by one warp of a block costs little.)
            level: match active {
                Some(Active { warp: Some(_), .. }) => Level::Note,
                _ => Level::Warning,
            },
            inst: traffic.inst,
            message: match &active {
                Some(active) => fact_of_some(traffic, active),
                None => fact(traffic, span),
            },
            label: Some(match is_matrix {
                true => "the matrix's rows use a part of their sectors".to_owned(),
                false if active.is_some() => {
                    format!("neighbouring {}", distance_from(subject, traffic, span))
                }
                false => distance_from(subject, traffic, span),
            }),
            help: match is_matrix {
                true => {
                    "store the rows of a tile one behind the other, or move the tile through shared memory"
                }
                false if short_rows => {
                    "make the block's rows longer, so that the threads of one row access all bytes of a sector or more"
                }
                false => {
                    "let neighbouring threads access neighbouring elements (another layout or order of loops), or move \
                     a tile together through shared memory"
                }
            }
            .to_owned(),
            waste: span.max - span.ideal,
        });
    }
    found
}

/// The summands of an address, without its number.
type Summands = Vec<(TermId, u64)>;

/// Addresses but for their numbers, with the first two accesses that have them.
struct Outlines {
    accesses: FxHashMap<Summands, Vec<InstId>>,
    of_global: FxHashMap<InstId, Summands>,
}

impl Outlines {
    fn of(subject: &Subject<'_, '_, '_>) -> Outlines {
        let trace = subject.trace;
        let mut found =
            Outlines { accesses: FxHashMap::default(), of_global: FxHashMap::default() };
        for access in trace.accesses.iter().chain(&trace.moved) {
            let Some(address) = access.address else { continue };
            let outline = trace.arena.linear_parts(address).1.to_vec();
            if access.space != StateSpace::Shared {
                found.of_global.entry(access.inst).or_insert_with(|| outline.clone());
            }
            let same = found.accesses.entry(outline).or_default();
            if !same.contains(&access.inst) && same.len() < 2 {
                same.push(access.inst);
            }
        }
        found
    }

    /// Whether another access of the function has the same address but for a number.
    fn has_another(&self, inst: InstId) -> bool {
        let own = self.of_global.get(&inst).and_then(|outline| self.accesses.get(outline));
        own.is_some_and(|all| all.iter().any(|other| *other != inst))
    }
}

/// How far lanes lie apart, and from which value of a parameter on that costs most.
fn distance_from(subject: &Subject<'_, '_, '_>, traffic: &AccessTraffic, span: Span) -> String {
    let apart = distance(subject, traffic);
    let is_shown = subject.stride(traffic).is_some_and(|stride| stride.len() <= LONGEST_STRIDE);
    let mut more = if is_shown { subject.parameters(traffic) } else { Vec::new() };
    if let (true, Some(Stride::Symbolic(parts)), Some(from)) =
        (is_shown, &traffic.stride, span.from)
    {
        let mut factors = parts.iter().filter(|(_, factor)| !factor.is_empty());
        if let (Some((_, factor)), None) = (factors.next(), factors.next())
            && from > 1
        {
            let names: Vec<String> = factor.iter().map(|&term| subject.term(term)).collect();
            more.push(format!("from {} = {from} on", names.join("*")));
        }
    }
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    format!("{apart}{more}")
}

/// Rows of consecutive elements that begin inside a sector in every warp, and that no other access of the block shares
/// sectors with.
pub(super) fn misaligned_rows(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let arena = &subject.trace.arena;
    let outline = |traffic: &AccessTraffic| {
        let access = subject.access(traffic);
        access.address.map(|address| arena.linear_parts(address).1)
    };
    let mut found = Vec::new();
    // How many accesses of a block have an address but for its number.
    let mut alike: FxHashMap<_, u32> = FxHashMap::default();
    for traffic in &subject.traffic.accesses {
        *alike.entry((subject.access(traffic).block, outline(traffic))).or_default() += 1;
    }
    for traffic in &subject.traffic.accesses {
        let Some(span) = counted(traffic) else { continue };
        let bytes = i64::from(traffic.bytes);
        let row = matches!(traffic.stride, Some(Stride::Constant(stride)) if stride.abs() == bytes);
        if !row || span.min != span.ideal + 1 || span.max != span.min {
            continue;
        }
        // (A stencil's neighbours use the sectors that are read.)
        let shared = alike[&(subject.access(traffic).block, outline(traffic))] > 1;
        if shared {
            continue;
        }
        let label = match traffic.base {
            Some((bits, base)) if 1 << bits >= SECTOR => {
                let offset = base.rem_euclid(SECTOR);
                format!("a warp's row begins {offset} bytes behind a sector's start")
            }
            _ => "no warp's row begins at a sector's start".to_owned(),
        };
        found.push(Found {
            rule: Rule::MisalignedRow,
            level: Level::Note,
            inst: traffic.inst,
            message: fact(traffic, span),
            label: Some(label),
            help: "let rows begin at a multiple of 32 bytes: pad them, or shift the index so that a warp's first \
                   thread has an aligned element"
                .to_owned(),
            waste: span.max - span.ideal,
        });
    }
    found
}
