//! Loads whose bytes several other loads have read: a vector after its elements, a word after its bytes.
//!
//! In: a load that no single load can stand for. Out: an [`LegalReuse`] whose pieces come from several
//! loads, all at one distance in lanes, if each part of the load may be taken from one of them under guards
//! that are of the warp or of this lane's index.

use std::collections::BTreeSet;

use super::eligible::{Element, Load};
use super::legal_reuse::{Guards, LegalReuse};
use super::legality::Legality;
use super::pieces::{Part, Piece};
use super::refusal::Refusal;
use super::sources::{Candidate, Offers};
use crate::emulate::KernelTrace;
use crate::ptx::ScalarType;

/// The most parts that are looked for, each by itself.
const MAX_PARTS: usize = 8;

impl Offers {
    /// The legal reuse to put a load together from others that are at most `most` lanes away.
    ///
    /// # Errors
    /// Why the nearest loads that together have read its bytes may not stand for it.
    pub fn gathered(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        load: &Load,
        most: u32,
    ) -> Result<LegalReuse, Refusal> {
        let first = part_of(load, load.elements[0]);
        if load.elements.len() == 1 && halves(&first.elements[0]).is_none() {
            return Err(Refusal::NoPartner);
        }
        let mut lowest = first;
        while let Some([low, _]) = halves(&lowest.elements[0])
            && self.has_narrower(lowest.elements[0].ty.bits())
        {
            lowest = part_of(load, low);
        }
        let distances: BTreeSet<(u32, i32)> = self
            .candidates(legality, trace, &lowest)
            .iter()
            .map(|candidate| (candidate.delta.unsigned_abs(), candidate.delta))
            .filter(|&(distance, _)| distance <= most)
            .collect();
        let mut refusal = None;
        for (_, delta) in distances {
            let mut parts = Vec::new();
            let complete = load.elements.iter().all(|element| {
                self.split(legality, trace, part_of(load, *element), delta, &mut parts)
            });
            if complete && parts.len() > 1 && !trace.arena.is_nearly_spent() {
                match self.merged(legality, trace, load, &parts) {
                    Ok(merged) => return Ok(merged),
                    Err(reason) => refusal = refusal.or(Some(reason)),
                }
            }
        }
        Err(refusal.unwrap_or(Refusal::NoPartner))
    }

    /// Adds sources for a part at a distance, or for its halves if no source has all of its bytes; returns whether
    /// there is one for each.
    fn split(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        part: Load,
        delta: i32,
        parts: &mut Vec<(Load, Vec<Candidate>)>,
    ) -> bool {
        let mut candidates = self.candidates(legality, trace, &part);
        candidates.retain(|candidate| candidate.delta == delta);
        if !candidates.is_empty() {
            parts.push((part, candidates));
            return parts.len() <= MAX_PARTS;
        }
        let element = part.elements[0];
        match halves(&element) {
            Some(halves) if self.has_narrower(element.ty.bits()) => halves
                .into_iter()
                .all(|half| self.split(legality, trace, part_of(&part, half), delta, parts)),
            _ => false,
        }
    }

    /// All parts from the first candidates that may stand for them.
    fn merged(
        &mut self,
        legality: &mut Legality<'_, '_, '_>,
        trace: &mut KernelTrace,
        load: &Load,
        parts: &[(Load, Vec<Candidate>)],
    ) -> Result<LegalReuse, Refusal> {
        let mut merged: Option<LegalReuse> = None;
        let mut taken: Vec<Part> = Vec::new();
        for (part, candidates) in parts {
            let mut refusal = Refusal::NoPartner;
            let legal = candidates.iter().find_map(|&candidate| {
                let looked = self.look(legality, trace, candidate, part, false);
                looked.map_err(|reason| refusal = reason).ok().filter(|one| is_plain(&one.guards))
            });
            let legal = legal.ok_or(refusal)?;
            taken.extend(legal.pieces.iter().flat_map(|piece| &piece.parts));
            match &mut merged {
                None => merged = Some(legal),
                Some(all) => {
                    let (mine, its) = (&mut all.guards, legal.guards);
                    mine.linear_lanes |= its.linear_lanes;
                    mine.whole_warp |= its.whole_warp;
                    mine.global_address |= its.global_address;
                    mine.no_wrap.extend(its.no_wrap);
                    mine.no_wrap.sort_unstable();
                    mine.no_wrap.dedup();
                }
            }
        }
        let mut taken = taken.into_iter();
        let pieces = load.elements.iter().map(|element| {
            let (mut bytes, mut parts) = (0, smallvec::SmallVec::new());
            while bytes < element.ty.bits() / 8 {
                let part = taken.next()?;
                bytes += part.bytes;
                parts.push(part);
            }
            Some(Piece::new(*element, parts))
        });
        let pieces = pieces.collect::<Option<Vec<_>>>().ok_or(Refusal::NoPartner)?;
        merged.map(|all| LegalReuse { pieces, ..all }).ok_or(Refusal::NoPartner)
    }
}

/// One element of a load, or a part of one, as a load by itself.
fn part_of(load: &Load, element: Element) -> Load {
    Load { elements: [element].into_iter().collect(), ..load.clone() }
}

/// The lower and the upper half of an element's bytes.
fn halves(element: &Element) -> Option<[Element; 2]> {
    let ty = match element.ty.bits() {
        64 => ScalarType::U32,
        32 => ScalarType::U16,
        16 => ScalarType::U8,
        _ => return None,
    };
    let upper = element.offset + i64::from(ty.bits() / 8);
    Some([element.offset, upper].map(|offset| Element { offset, ty, ..*element }))
}

/// Whether guards hold for all lanes of a warp or speak of this lane alone.
fn is_plain(guards: &Guards) -> bool {
    let Guards { linear_lanes, whole_warp, no_wrap, global_address, .. } = guards;
    let plain = Guards {
        linear_lanes: *linear_lanes,
        whole_warp: *whole_warp,
        no_wrap: no_wrap.clone(),
        global_address: *global_address,
        ..Guards::default()
    };
    *guards == plain
}
