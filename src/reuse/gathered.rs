//! Loads whose bytes several other loads have read: a vector after its elements, a word after its bytes.
//!
//! In: a load that no single load can stand for. Out: an [`Opportunity`] whose pieces come from several
//! loads, all at one distance in lanes, if each part of the load may be taken from one of them under guards
//! that are of the warp or of this lane's index.

use std::collections::BTreeMap;

use super::eligible::{Element, Load};
use super::opportunities::{Candidate, Guards, Opportunities, Opportunity};
use super::pieces::{Part, Piece};
use crate::emulate::KernelTrace;
use crate::ptx::ScalarType;

/// The most parts that are looked for, each by itself.
const MAX_PARTS: usize = 8;

impl Opportunities<'_, '_, '_> {
    /// The opportunity to put a load together from others that are at most `most` lanes away.
    pub fn gathered(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        most: u32,
    ) -> Option<Opportunity> {
        let mut parts: Vec<Load> = Vec::new();
        for element in &load.elements {
            self.split(trace, load, *element, &mut parts);
        }
        if !(2..=MAX_PARTS).contains(&parts.len()) || trace.arena.is_nearly_spent() {
            return None;
        }
        // By distance: what may stand for each part.
        let mut found: BTreeMap<(u32, i32), Vec<Vec<Candidate>>> = BTreeMap::new();
        for (index, part) in parts.iter().enumerate() {
            for candidate in self.candidates(trace, part) {
                let distance = candidate.delta.unsigned_abs();
                if distance <= most {
                    let all = found.entry((distance, candidate.delta)).or_default();
                    all.resize(parts.len(), Vec::new());
                    all[index].push(candidate);
                }
            }
        }
        let complete = found.into_values().filter(|all| all.iter().all(|some| !some.is_empty()));
        complete.into_iter().find_map(|all| self.merged(trace, load, &parts, &all))
    }

    /// Adds an element as a load by itself, or its halves if nothing stands for it as a whole.
    fn split(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        element: Element,
        parts: &mut Vec<Load>,
    ) {
        let part = Load { elements: [element].into_iter().collect(), ..load.clone() };
        let half = match element.ty.bits() {
            64 => ScalarType::U32,
            32 => ScalarType::U16,
            16 => ScalarType::U8,
            _ => return parts.push(part),
        };
        let is_done = parts.len() >= MAX_PARTS || self.narrowest() >= element.ty.bits();
        if is_done || !self.candidates(trace, &part).is_empty() {
            return parts.push(part);
        }
        let ahead = i64::from(half.bits() / 8);
        for offset in [element.offset, element.offset + ahead] {
            self.split(trace, load, Element { offset, ty: half, ..element }, parts);
        }
    }

    /// All parts from the first candidates that may stand for them.
    fn merged(
        &mut self,
        trace: &mut KernelTrace,
        load: &Load,
        parts: &[Load],
        candidates: &[Vec<Candidate>],
    ) -> Option<Opportunity> {
        let mut merged: Option<Opportunity> = None;
        let mut taken: Vec<Part> = Vec::new();
        for (part, candidates) in parts.iter().zip(candidates) {
            let legal = candidates.iter().find_map(|&candidate| {
                self.look(trace, candidate, part, false).ok().filter(|one| is_plain(&one.guards))
            })?;
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
            Some(Piece::new(*element, parts, self.options.planted))
        });
        let pieces = pieces.collect::<Option<Vec<_>>>()?;
        merged.map(|all| Opportunity { pieces, ..all })
    }
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
