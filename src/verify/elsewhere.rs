//! Loads that the original does not perform in the same lane, but in another one of the warp: where
//! the rewritten program has the whole warp at one place, a lane may load what a lane some lanes up
//! loads in the original, since the bytes are read there and the address is aligned there.

use super::comparison::Comparison;
use super::conditions;
use super::execution::Load;
use super::place::{Gathered, Place, Reach};
use super::proof::Proof;
use super::wrap;
use crate::expr::{Arena, Comparison as Compare, TermId};

/// The most pairs of loads and distances that are tried for one load.
const MAX_CLAIMS: u32 = 32;

impl Comparison<'_, '_> {
    /// Whether some other lane reads in the original the bytes that a load of the rewritten program
    /// reads, and is at that place whenever the load is performed: by one load, or by several of one size
    /// if the address is aligned as the whole.
    pub(super) fn is_read_elsewhere(&mut self, load: &Load) -> bool {
        if self.is_loaded_elsewhere(load, (load.address, load.bytes)) {
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
                    self.is_loaded_elsewhere(load, part)
                })
                && {
                    let place = self.place(load.block);
                    self.is_aligned(&place, load)
                }
        })
    }

    /// Whether some other lane performs, in the original, a load of so many bytes at an address that `load`
    /// reads, and is at that place whenever `load` is performed.
    fn is_loaded_elsewhere(&mut self, load: &Load, (address, bytes): (TermId, u32)) -> bool {
        let around = self.rewritten.loop_of(load.block);
        let gathered: Vec<Gathered> =
            self.warp.gathered.iter().filter(|one| one.block == load.block).copied().collect();
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
        for gathered in &gathered {
            let place = self.place(load.block);
            for n in &distances {
                let there = self.with_lane(&place, gathered, *n);
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
                    // Whether the other lane is there is asked once.
                    let is_there =
                        *is_there.get_or_insert_with(|| self.holds(&there, reach.condition, load));
                    if is_there
                        && self.holds(&there, condition, load)
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

    /// A place with the facts about the lane `n` up, for a whole warp of which that lane is a part.
    fn with_lane(&mut self, place: &Place, gathered: &Gathered, n: i32) -> Place {
        let Gathered { block, together, lane } = *gathered;
        let arena = &mut self.terms.arena;
        let in_range = match n > 0 {
            true => {
                let end = arena.constant(32 - n as u64, 32);
                arena.compare(Compare::UnsignedLess, lane, end)
            }
            false => {
                let least = arena.constant(u64::from(n.unsigned_abs()), 32);
                arena.compare(Compare::UnsignedLessEqual, least, lane)
            }
        };
        let condition = arena.and(together, in_range);
        let mut there = place.clone();
        there.reaches.push(Reach { block, condition, n });
        there
    }

    /// Whether a condition holds whenever a load is performed.
    fn holds(&mut self, place: &Place, condition: TermId, load: &Load) -> bool {
        let known = conditions::literals(&mut self.terms.arena, load.condition);
        let needed = conditions::literals(&mut self.terms.arena, condition);
        let always = self.terms.arena.boolean(true);
        conditions::hold(&self.terms.arena, &needed, &known)
            || needed.iter().all(|&literal| {
                self.prove(place, literal, always, &[load.condition]) == Proof::Equal
            })
    }
}
