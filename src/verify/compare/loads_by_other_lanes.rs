//! Loads that the original does not perform in the same lane, but in another one of the warp: where the rewritten
//! program has the full warp at one place, a lane may load the bytes that a lane some lanes up loads in the original,
//! since they are read there and the address is aligned there.

use super::comparison::Comparison;
use crate::cfg::{Inst, InstId, LoopId};
use crate::expr::{Arena, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Opcode, Qualifier};
use crate::lane::read_only;
use crate::program::{Role, role};
use crate::proof::Proof;
use crate::proof::by_lane::{self, InLane};
use crate::record::{Load, Place, Reach, Reconverged};
use crate::terms::{conditions, wrap};

/// The most pairs of loads and distances that are proved for one load lane by lane.
const MAX_CLAIMS_BY_LANE: u32 = 32 * MAX_CLAIMS;

/// The most pairs of loads and distances that are tried for one load.
const MAX_CLAIMS: u32 = 32;

/// A search for the lanes that read a load's bytes.
struct ByLane<'p> {
    place: &'p Place,
    reconverged: &'p Reconverged,
    around: Option<LoopId>,
    /// For a condition and a distance, whether the lane so far up is known to fulfil it.
    performed: Vec<((TermId, i32), bool)>,
}

impl Comparison<'_, '_> {
    /// Whether some other lane reads in the original the bytes that a load of the rewritten program
    /// reads, and is at that place whenever the load is performed: by one load, or by several of one size
    /// if the address is aligned as the whole.
    pub(super) fn is_read_at_an_offset(&mut self, load: &Load) -> bool {
        if self.is_loaded_at_an_offset(load, (load.address, load.bytes)) {
            return true;
        }
        let parts = load.bytes.trailing_zeros();
        let alike = |bytes: u32| move |one: &Load| one.space == load.space && one.bytes == bytes;
        let before = self.before;
        (0..parts).rev().map(|power| 1 << power).any(|bytes: u32| {
            let part =
                |at: u32, arena: &mut Arena| (arena.add_constant(load.address, at.into()), bytes);
            before.loads.iter().any(alike(bytes))
                && (0..load.bytes).step_by(bytes as usize).all(|at| {
                    let part = part(at, &mut self.terms.arena);
                    self.is_loaded_at_an_offset(load, part)
                })
                && {
                    let place = self.place(load.block);
                    self.is_aligned(&place, load)
                }
        })
    }

    /// Whether some other lane performs, in the original, a load of these bytes, which `load`
    /// reads, and is at that place whenever `load` is performed.
    fn is_loaded_at_an_offset(&mut self, load: &Load, (address, bytes): (TermId, u32)) -> bool {
        let around = self.rewritten.loop_of(load.block);
        let reconverged: Vec<Reconverged> =
            self.warp.reconverged.iter().filter(|one| one.block == load.block).copied().collect();
        // The distances over which shuffles bring values.
        let mut distances: Vec<i32> = self
            .warp
            .reaches
            .iter()
            .flat_map(|reach| [reach.n, -reach.n])
            // In the lane itself the addresses may be equal only because no sum wraps around.
            .chain([0])
            .collect();
        distances.sort_by_key(|n| (n.abs(), *n));
        distances.dedup();
        let before = self.before;
        let mut claims = 0;
        let ordered = self.is_ordered(load);
        for reconverged in &reconverged {
            let place = self.place(load.block);
            for n in &distances {
                // What only the other lane reads, that lane may write without telling anybody.
                if *n != 0 && !ordered {
                    continue;
                }
                let there = self.with_lane(&place, reconverged, *n);
                let Some(reach) = there.reaches.last().copied() else { continue };
                let mut is_there = None;
                for one in &before.loads {
                    self.terms.arena.charge(4);
                    let alike = one.space == load.space && one.bytes == bytes;
                    if !alike || self.original.loop_of(one.block) != around {
                        continue;
                    }
                    let at = self.warp.lanes.shift(self.terms, one.address, *n, around);
                    if !wrap::may_be_equal(&mut self.terms.arena, (at, address)) {
                        continue;
                    }
                    claims += 1;
                    if claims > MAX_CLAIMS {
                        return false;
                    }
                    let condition = self.warp.lanes.shift(self.terms, one.condition, *n, around);
                    // Whether the other lane is there is proved once.
                    let is_there = *is_there
                        .get_or_insert_with(|| self.holds(&there, reach.condition, load, &[]));
                    if is_there
                        && self.holds(&there, condition, load, &[])
                        && self.prove(&there, at, address, &[load.condition, reach.condition])
                            == Proof::Equal
                    {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The same for a load whose address depends on the lane's number: for each lane, some other lane reads the
    /// bytes.
    pub(super) fn is_read_by_other_lanes(&mut self, load: &Load) -> bool {
        let around = self.rewritten.loop_of(load.block);
        let Some(lane) = self.warp.prover.by_lane.lane else { return false };
        if !self.is_ordered(load) {
            return false;
        }
        let (before, place) = (self.before, self.place(load.block));
        // Also parts of a load: a part of an aligned access is aligned.
        let alike = |one: &&Load| {
            let holds = one.space == load.space && one.bytes.is_multiple_of(load.bytes);
            holds && self.original.loop_of(one.block) == around
        };
        let mut loads: Vec<&Load> = before.loads.iter().filter(alike).collect();
        // Those that are performed whenever this one is come first: of the others that has to be proved.
        let known = conditions::literals(&mut self.terms.arena, load.condition);
        loads.sort_by_cached_key(|one| {
            let needed = conditions::literals(&mut self.terms.arena, one.condition);
            !conditions::hold(&self.terms.arena, &needed, &known)
        });
        let certain = loads.iter().take_while(|one| {
            let needed = conditions::literals(&mut self.terms.arena, one.condition);
            conditions::hold(&self.terms.arena, &needed, &known)
        });
        let certain = certain.map(|one| (one.bytes / load.bytes) as usize).sum::<usize>();
        let alike: Vec<(&Load, u32)> = loads
            .into_iter()
            .flat_map(|one| (0..one.bytes).step_by(load.bytes as usize).map(move |at| (one, at)))
            .collect();
        let reconverged: Vec<Reconverged> = self.warp.reconverged.clone();
        reconverged.iter().filter(|one| one.block == load.block && one.lane == lane).any(
            |reconverged| {
                let mut search =
                    ByLane { place: &place, reconverged, around, performed: Vec::new() };
                let (mut last, mut claims) = ((0, 0), 0);
                by_lane::all().all(|own| {
                    let address = self.in_lane((lane, own), load.address);
                    // Consecutive lanes mostly read consecutive bytes.
                    let distances =
                        (-(own as i32)..WARP_SIZE as i32 - own as i32).collect::<Vec<_>>();
                    let mut pairs: Vec<(i32, usize)> = distances
                        .iter()
                        .flat_map(|n| (0..alike.len()).map(move |at| (*n, at)))
                        .collect();
                    pairs.sort_by_key(|&(n, at)| {
                        let next = usize::from(at != (last.1 + 1) % alike.len().max(1));
                        (at >= certain, (n - last.0).abs() > 1, next, n.abs(), n)
                    });
                    pairs.into_iter().any(|(n, at)| {
                        self.terms.arena.charge(4);
                        let (other, part) = alike[at];
                        let there = self.warp.lanes.shift(self.terms, other.address, n, around);
                        let there = self.terms.arena.add_constant(there, part.into());
                        let there = self.in_lane((lane, own), there);
                        if !wrap::may_be_equal(&mut self.terms.arena, (there, address)) {
                            return false;
                        }
                        claims += 1;
                        let found = claims <= MAX_CLAIMS_BY_LANE
                            && self.reads(&mut search, load, (other, n, own), (there, address));
                        if found {
                            last = (n, at);
                        }
                        found
                    })
                })
            },
        )
    }

    /// Whether no store of a lane of the warp can race with a load of another lane: nobody writes there, or the
    /// whole warp waits before and behind it, and nothing in between writes.
    fn is_ordered(&self, load: &Load) -> bool {
        let insts = &self.rewritten.flow.insts;
        if read_only(&insts[load.inst]) {
            return true;
        }
        let waits = |at: &InstId| self.warp.ordered.contains(&(load.block, *at));
        let changes_nothing = |at: &InstId| {
            let role = role(&insts[*at]);
            matches!(role, Role::Pure | Role::Load | Role::Observe | Role::Collective)
        };
        let side_effect_free = |at: &InstId| changes_nothing(at) || waits(at);
        let instructions = self.rewritten.flow.block(load.block).instructions();
        let (first, end) = (instructions.start, instructions.end);
        let before = first.to(load.inst).rev().take_while(side_effect_free).any(|at| waits(&at));
        before && load.inst.next().to(end).take_while(side_effect_free).any(|at| waits(&at))
    }

    /// Whether the text has no wait of the warp in front of a load or none behind it, though its order with writes of
    /// other lanes may matter.
    pub(super) fn lacks_wait(&self, load: &Load) -> bool {
        let insts = &self.rewritten.flow.insts;
        let waits = |inst: &Inst<'_, '_>| {
            let form = &inst.ast.form;
            form.opcode == Opcode::Bar && form.has(Qualifier::Warp)
        };
        let (before, behind) = insts.split_at(load.inst);
        let is_between = before.iter().any(waits) && behind.iter().any(waits);
        !is_between && !read_only(&insts[load.inst])
    }

    /// Whether, seen from the lane `own`, the lane `n` up performs a load of the original whenever `load` is
    /// performed, and its address is that of `load`.
    fn reads(
        &mut self,
        search: &mut ByLane<'_>,
        load: &Load,
        (other, n, own): (&Load, i32, u32),
        (there, address): (TermId, TermId),
    ) -> bool {
        let place = self.with_lane(search.place, search.reconverged, n);
        let Some(reach) = place.reaches.last().copied() else { return false };
        let key = (other.condition, n);
        let performed = match search.performed.iter().find(|(known, _)| *known == key) {
            Some((_, performed)) => *performed,
            None => {
                let condition =
                    self.warp.lanes.shift(self.terms, other.condition, n, search.around);
                // The lane is one of the warp: its number was chosen so.
                let together = search.reconverged.together;
                let performed = self.holds(&place, together, load, &[])
                    && self.holds(&place, condition, load, &[reach.condition]);
                search.performed.push((key, performed));
                performed
            }
        };
        let arena = &mut self.terms.arena;
        // (Where all lanes are together, they are consecutive.)
        let rows = self.warp.prover.by_lane.row_thread(arena, &[search.reconverged.together]);
        if let Some(thread) = rows.filter(|_| performed) {
            let [a, b] = [there, address].map(|one| InLane::in_row(arena, thread, own, one));
            if a == b {
                return true;
            }
        }
        let number = arena.constant(own.into(), arena.width(search.reconverged.lane));
        let here = arena.equal(search.reconverged.lane, number);
        let known = [load.condition, reach.condition, here];
        let place =
            self.warp.prover.by_lane.terms.place(arena, search.reconverged.lane, own, &place);
        performed && self.prove(&place, there, address, &known) == Proof::Equal
    }

    /// A place with the facts about the lane `n` up, for a whole warp that includes that lane.
    pub(super) fn with_lane(&mut self, place: &Place, reconverged: &Reconverged, n: i32) -> Place {
        let Reconverged { block, together, lane } = *reconverged;
        let arena = &mut self.terms.arena;
        let in_range = by_lane::has_lane(arena, lane, n);
        let condition = arena.and(together, in_range);
        let mut there = place.clone();
        there.reaches.push(Reach { block, condition, n });
        there
    }

    /// Whether a condition holds whenever a load is performed and `more` is true.
    fn holds(&mut self, place: &Place, condition: TermId, load: &Load, more: &[TermId]) -> bool {
        let all: Vec<TermId> =
            std::iter::once(load.condition).chain(more.iter().copied()).collect();
        let known = conditions::literals(&mut self.terms.arena, load.condition);
        let needed = conditions::literals(&mut self.terms.arena, condition);
        let always = self.terms.arena.boolean(true);
        conditions::hold(&self.terms.arena, &needed, &known)
            || needed
                .iter()
                .all(|&literal| self.prove(place, literal, always, &all) == Proof::Equal)
    }
}
