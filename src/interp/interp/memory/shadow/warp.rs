//! Accesses of the lanes of a warp by one instruction.

use super::seen::Seen;
use super::stamp::Stamp;
use super::{Accessor, Conflict, Kind, Me, Race, Shadow};
use crate::interp::memory::Strength;
use crate::interp::registers::{LANES, Mask, lanes};

impl Shadow {
    /// Notes that some lanes read `bytes` bytes each, in ascending order; the first that races, with the earlier access.
    /// `read_only`: by `ld.global.nc`.
    pub(crate) fn read_all(
        &mut self,
        region: Option<usize>,
        (offsets, mask, bytes): (&[u64; LANES], Mask, u32),
        who: &Accessor,
        (strong, read_only): (Option<Strength>, bool),
    ) -> Option<(usize, Race)> {
        if region.is_none() && !self.copies.is_empty() {
            for lane in lanes(mask) {
                if let Some(race) = self.copied(region, (offsets[lane], bytes), who) {
                    return Some((lane, race));
                }
            }
        }
        let cells = match region {
            Some(region) => &mut self.global[region],
            None => &mut self.shared,
        };
        if bytes < 1 << cells.shift && !cells.refine(bytes) {
            return None;
        }
        cells.expect(strong.is_some());
        self.has_loose |= strong.is_some_and(|strong| strong.loose);
        let (shift, count) = (cells.shift, (bytes as usize) >> cells.shift);
        // What only barriers order, and where no access is strong, is for most lanes as for the one before.
        let mut seen = (self.orders.is_none() && cells.strong.is_none() && !read_only)
            .then(|| Seen::new(&self.phases, who));
        let mut me = Me {
            stamp: Stamp::NONE,
            before: who.before.clone(),
            phases: &self.phases,
            orders: self.orders.as_ref(),
            place: (region, 0),
        };
        let mut found = None;
        for lane in lanes(mask) {
            me.stamp = Stamp::new(who.phase, lane, who.site, strong);
            me.place.1 = offsets[lane];
            // (Accesses are aligned.)
            let first = (offsets[lane] >> shift) as usize;
            for at in first..first + count {
                let is_noted = seen
                    .as_mut()
                    .is_some_and(|seen| seen.note_read(cells.weak.get_mut(at), me.stamp));
                if !is_noted {
                    found = found.or(cells.note(at, &me, Kind::Read));
                }
            }
            if found.is_none() && !read_only {
                continue;
            }
            let wanted = self.reports.wants(region, (offsets[lane], bytes));
            if let Some((earlier, wrote)) = found.take().filter(|_| wanted) {
                let race = self.race(who, earlier, wrote);
                return Some((lane, Race { conflict: me.conflict(earlier), ..race }));
            }
            if read_only && wanted {
                let mut writes = (first..first + count).map(|at| cells.last_write(at));
                if let Some(write) = writes.find(|write| *write != Stamp::NONE) {
                    let race = self.race(who, write, true);
                    return Some((lane, Race { conflict: Conflict::ReadOnly, ..race }));
                }
            }
        }
        None
    }

    /// Notes that some lanes write `bytes` bytes each, `skip` bytes behind these offsets, in ascending order; the first that
    /// races, with the earlier access. `changes`: the lanes whose bytes differ afterwards.
    pub(crate) fn write_all(
        &mut self,
        region: Option<usize>,
        (offsets, mask, bytes): (&[u64; LANES], Mask, u32),
        changes: Mask,
        who: &Accessor,
        (skip, strong): (u64, Option<Strength>),
    ) -> Option<(usize, Race)> {
        let is_plain = strong.is_none() && self.orders.is_none();
        let rest = match is_plain && (region.is_some() || self.copies.is_empty()) {
            true => self.write_quietly(region, (offsets, mask, bytes), changes, (who, skip)),
            false => mask,
        };
        lanes(rest).find_map(|lane| {
            let kind = Kind::Write { changes: changes >> lane & 1 != 0 };
            let place = (offsets[lane] + skip, bytes);
            Some((lane, self.access(region, place, (who, lane), (kind, strong))?))
        })
    }

    /// Notes the same in the case of [`Seen::note_write`], up to the first lane of another case; that lane and those behind it.
    fn write_quietly(
        &mut self,
        region: Option<usize>,
        (offsets, mask, bytes): (&[u64; LANES], Mask, u32),
        changes: Mask,
        (who, skip): (&Accessor, u64),
    ) -> Mask {
        let cells = match region {
            Some(region) => &mut self.global[region],
            None => &mut self.shared,
        };
        let (shift, count) = (cells.shift, (bytes as usize) >> cells.shift);
        if count == 0 || cells.strong.is_some() {
            return mask;
        }
        let mut seen = Seen::new(&self.phases, who);
        let is_noisy = |lane: &usize| {
            let stamp = Stamp::new(who.phase, *lane, who.site, None);
            let first = ((offsets[*lane] + skip) >> shift) as usize;
            let changes = changes >> lane & 1 != 0;
            !(first..first + count)
                .all(|at| seen.note_write(cells.weak.get_mut(at), stamp, changes))
        };
        lanes(mask).find(is_noisy).map_or(0, |lane| mask & Mask::MAX << lane)
    }
}
