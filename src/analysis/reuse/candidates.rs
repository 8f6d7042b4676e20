//! Which of the offered sources may hold a load's value: by the base addresses of their addresses, or, where that
//! decides nothing, by evaluating both. This file proves nothing.

use super::distance::{BaseAddress, base_address};
use super::eligible::Load;
use super::legality::Legality;
use super::pieces::displacements;
use super::sources::{Candidate, Offers, Source};
use crate::cfg::InstId;
use crate::emulate::KernelTrace;
use crate::lanes::distances;

/// Bytes of the longest load; no element is further from the load's address.
const MAX_BYTES: i64 = 64;

impl Offers {
    /// Offers a load as a source for those that come behind it.
    pub fn offer(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        load: Load,
    ) {
        let bits = load.elements[0].ty.bits();
        self.narrowest = Some(self.narrowest.map_or(bits, |narrowest| narrowest.min(bits)));
        let at = base_address(&mut trace.arena, load.address);
        let place = legality.place(trace, &load);
        let loops = &legality.prover.flow.loops;
        let next = legality.prover.shifter.shift(trace, loops, load.address, 1, place);
        let next = base_address(&mut trace.arena, next);
        let stride = (next.key == at.key).then(|| next.constant.wrapping_sub(at.constant));
        let group = self.groups.entry(at.key).or_default();
        group.by_constant.entry(at.constant).or_default().push(self.sources.len());
        let reach = stride.unwrap_or(0).saturating_abs().saturating_mul(31);
        // (In rows lanes mostly read elements that lie one after the other.)
        let reach = if stride.is_none() { 31 * MAX_BYTES } else { reach };
        group.reach = group.reach.max(reach.saturating_add(2 * MAX_BYTES));
        self.sources.push(Source { load, base_address: at, stride, rows: None, fingerprint: None });
    }

    /// The sources that may hold a load's value, nearest lane first. Nothing is proved yet.
    pub fn candidates(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        load: &Load,
    ) -> Vec<Candidate> {
        let at = base_address(&mut trace.arena, load.address);
        let mut candidates = self.by_base_address(legality, trace, at, load);
        if candidates.is_empty() {
            candidates = self.by_sampling(legality, trace, load);
        }
        candidates.sort_by_key(|candidate| (candidate.delta.unsigned_abs(), candidate.index));
        candidates
    }

    /// The instruction of the load that a candidate is.
    pub fn source_of(&self, candidate: Candidate) -> InstId {
        self.sources[candidate.index].load.inst
    }

    /// Whether a source has an element of fewer bits.
    pub(super) fn has_narrower(&self, bits: u32) -> bool {
        self.narrowest.is_some_and(|narrowest| narrowest < bits)
    }

    /// Sources of the same base address at a whole number of lanes, element by element.
    fn by_base_address(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        at: BaseAddress,
        load: &Load,
    ) -> Vec<Candidate> {
        let Some(group) = self.groups.get(&at.key) else { return Vec::new() };
        let mut found = Vec::new();
        let place = legality.place(trace, load);
        let (low, high) =
            (at.constant.saturating_sub(group.reach), at.constant.saturating_add(group.reach));
        for &index in group.by_constant.range(low..=high).flat_map(|(_, sources)| sources) {
            trace.arena.charge(2);
            let source = &mut self.sources[index];
            for displacement in displacements(&source.load, load) {
                let bytes = at
                    .constant
                    .wrapping_sub(source.base_address.constant)
                    .wrapping_sub(displacement);
                let in_rows = bytes != 0 && source.stride.is_none();
                let stride = match source.stride {
                    None if in_rows => {
                        let prover = &mut legality.prover;
                        let rows = source
                            .rows
                            .get_or_insert_with(|| prover.rows(trace, source.load.address, place));
                        rows.as_ref().map(|(_, stride)| *stride)
                    }
                    stride => stride,
                };
                let delta = match stride {
                    _ if bytes == 0 => 0,
                    Some(stride) if bytes.checked_rem(stride) == Some(0) => bytes / stride,
                    _ => continue,
                };
                if (-31..=31).contains(&delta) {
                    let delta = delta as i32;
                    found.push(Candidate { index, delta, displacement, in_rows });
                }
            }
        }
        found
    }

    /// Sources whose addresses agree at some distance when they are evaluated. Tried only while it is
    /// cheap.
    fn by_sampling(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        load: &Load,
    ) -> Vec<Candidate> {
        const MAX_SOURCES: usize = 64;
        if self.sources.len() > MAX_SOURCES || trace.arena.is_nearly_spent() {
            return Vec::new();
        }
        let place = legality.place(trace, load);
        let (loops, shifter) = (&legality.prover.flow.loops, &legality.prover.shifter);
        let fingerprints = &mut legality.fingerprints;
        let own = fingerprints.number(trace, load.address, place);
        let mut found = Vec::new();
        for (index, source) in self.sources.iter_mut().enumerate() {
            let address = source.load.address;
            let other = *source
                .fingerprint
                .get_or_insert_with(|| fingerprints.number(trace, address, place));
            fingerprints.compare([other, own], |other, own| {
                for displacement in displacements(&source.load, load) {
                    let both = (&mut *other, &mut *own);
                    let agree = distances(trace, loops, shifter, both, displacement);
                    found.extend(agree.first().map(|&delta| Candidate {
                        index,
                        delta,
                        displacement,
                        in_rows: false,
                    }));
                }
            });
        }
        found
    }
}
