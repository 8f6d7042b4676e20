//! Stores that the original performs in another lane of the warp: each lane of a whole warp stores words that
//! others store in the original, so that every word is stored once, as it is there.
//!
//! In: the exchanges that the evaluation has taken for granted (`warp_exchange`). Proved is, for each: the whole warp
//! is there, and all its lanes perform the original's stores; within a lane these are of different bytes; and
//! lane by lane each store of the rewritten program is a part of a store of some lane, another one for each. Lanes'
//! stores do not overlap, as the original is free of data races; and all the warp's lanes wait before the first
//! store and behind the last, so that a lane's own accesses come before or after all of them.

use rustc_hash::FxHashSet;

use super::comparison::Comparison;
use crate::cfg::InstId;
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::oracle::WarpExchange;
use crate::proof::{Proof, by_lane};
use crate::ptx::StateSpace;
use crate::record::{Event, Place, Reach, Reconverged};
use crate::terms::{conditions, wrap};

/// The most pairs of words that are proved for one exchange.
const MAX_CLAIMS: u32 = 4096;

/// A word of a store of the original.
struct Word {
    address: TermId,
    value: TermId,
    /// Whether the value is that of memory at the first barrier.
    current: bool,
}

/// The data that the stores of an exchange are compared with.
struct Search<'p> {
    place: &'p Place,
    reconverged: Reconverged,
    /// The condition under which the rewritten program's stores are performed.
    condition: TermId,
    words: &'p [Word],
    claims: u32,
}

const NOT_FOUND: &str = "a store for another lane is not shown to be one of the original's";

impl Comparison<'_, '_> {
    /// Checks that the stores of every exchange are those of the original.
    pub(super) fn warp_exchanges(&mut self) {
        for exchange in self.warp.exchanges.clone() {
            if let Err(reason) = self.exchange(&exchange) {
                let first = exchange.stores.first().copied().unwrap_or_default();
                self.unknown(first, exchange.replaced.first().copied(), reason.to_owned());
            }
        }
    }

    fn exchange(&mut self, exchange: &WarpExchange) -> Result<(), &'static str> {
        let (before, after) = (self.before, self.after);
        let of = |events: &'_ [Event], insts: &[InstId]| -> Vec<usize> {
            (0..events.len()).filter(|&at| insts.contains(&events[at].inst)).collect()
        };
        let stores = of(&after.events, &exchange.stores);
        let replaced = of(&before.events, &exchange.replaced);
        // (An exchange has stores.)
        let Some(&first) = stores.first() else { return Err(NOT_FOUND) };
        let condition = after.events[first].condition;
        let place = self.place(exchange.block);
        let reconverged: Vec<Reconverged> = self
            .warp
            .reconverged
            .iter()
            .filter(|one| one.block == exchange.block)
            .copied()
            .collect();
        let always = self.terms.arena.boolean(true);
        let together = reconverged
            .into_iter()
            .find(|one| self.prove(&place, one.together, always, &[condition]) == Proof::Equal);
        let Some(reconverged) = together else {
            return Err(
                "not the whole warp is shown to be where these stores are performed for other lanes",
            );
        };
        let bytes = self
            .word_bytes(exchange, &stores)
            .ok_or("these stores for other lanes have words of several sizes")?;
        let words = self
            .words(exchange, &replaced, bytes)
            .ok_or("these stores for other lanes have words of another size than the original's")?;
        self.are_disjoint(&words, bytes, (&place, condition))?;
        for &at in &replaced {
            self.performed_by_all(exchange, &before.events[at], (&place, reconverged, condition))?;
        }
        let mut search = Search { place: &place, reconverged, condition, words: &words, claims: 0 };
        self.each_word_once(&mut search, &stores)
    }

    /// Bytes of the words that are stored, if all have the same.
    fn word_bytes(&self, exchange: &WarpExchange, stores: &[usize]) -> Option<u32> {
        let bytes: FxHashSet<u32> = self
            .after
            .stores
            .values()
            .filter(|record| exchange.stores.contains(&record.inst))
            .map(|record| record.bytes)
            .collect();
        let single = stores.iter().all(|&at| self.after.events[at].operands.len() == 2);
        (single && bytes.len() == 1).then(|| bytes.into_iter().next()).flatten()
    }

    /// The words of the original's stores, if they are of `bytes` bytes.
    fn words(
        &mut self,
        exchange: &WarpExchange,
        replaced: &[usize],
        bytes: u32,
    ) -> Option<Vec<Word>> {
        let before = self.before;
        let mut words = Vec::new();
        for &at in replaced {
            let event = &before.events[at];
            let number = exchange.replaced.iter().position(|inst| *inst == event.inst)?;
            for (index, &value) in event.operands[1..].iter().enumerate() {
                let arena = &mut self.terms.arena;
                if u32::from(arena.width(value)) != 8 * bytes {
                    return None;
                }
                let address =
                    arena.add_constant(event.operands[0], index as u64 * u64::from(bytes));
                words.push(Word { address, value, current: exchange.current[number] });
            }
        }
        // In the order in which they are in memory, as it is most likely that they are looked for.
        let first = words.first()?.address;
        words.sort_by_key(|word| wrap::distance(&mut self.terms.arena, word.address, first));
        Some(words)
    }

    /// Whether all words of a lane are of different bytes wherever the exchange is performed: each is a constant
    /// distance from the first one, where no index wraps around.
    fn are_disjoint(
        &mut self,
        words: &[Word],
        bytes: u32,
        (place, condition): (&Place, TermId),
    ) -> Result<(), &'static str> {
        const NOT_SHOWN: &str =
            "the original's stores of one lane may overlap, so that their order matters";
        let first = words.first().ok_or(NOT_SHOWN)?.address;
        let mut distances = Vec::new();
        for word in words {
            let arena = &mut self.terms.arena;
            let ahead = wrap::distance(arena, word.address, first).ok_or(NOT_SHOWN)?;
            let expected = arena.add_constant(first, ahead as u64);
            if self.prove(place, word.address, expected, &[condition]) != Proof::Equal {
                return Err(NOT_SHOWN);
            }
            distances.push(ahead);
        }
        distances.sort_unstable();
        let apart = |pair: &[i64]| pair[0].abs_diff(pair[1]) >= u64::from(bytes);
        // Beyond half of all addresses the first word could meet the last one from the other side.
        let near = |ahead: &i64| ahead.unsigned_abs() < 1 << 32;
        let holds = distances.windows(2).all(apart) && distances.iter().all(near);
        holds.then_some(()).ok_or(NOT_SHOWN)
    }

    /// Whether each lane of the warp performs a store of the original wherever the exchange is performed, and to
    /// global memory.
    fn performed_by_all(
        &mut self,
        exchange: &WarpExchange,
        event: &Event,
        (place, reconverged, condition): (&Place, Reconverged, TermId),
    ) -> Result<(), &'static str> {
        let always = self.terms.arena.boolean(true);
        let around = self.rewritten.loop_of(exchange.block);
        let space = self.original.flow.insts[event.inst].ast.form.space();
        let is_global = self.terms.is_global(event.operands[0]);
        let lanes = WARP_SIZE as i32;
        let mut needed = conditions::literals(&mut self.terms.arena, event.condition).to_vec();
        needed.extend((space == StateSpace::Generic).then_some(is_global));
        // Facts at the place hold in each of the warp's lanes.
        needed.retain(|one| !conditions::hold(&self.terms.arena, &[*one], &place.path));
        for n in if needed.is_empty() { 0..0 } else { 1 - lanes..lanes } {
            let there = self.with_lane(place, &reconverged, n);
            let reach = there.reaches.last().map_or(always, |reach| reach.condition);
            for &needed in &needed {
                let needed = self.warp.lanes.shift(self.terms, needed, n, around);
                let known = conditions::literals(&mut self.terms.arena, condition);
                let literals = conditions::literals(&mut self.terms.arena, needed);
                if conditions::hold(&self.terms.arena, &literals, &known) {
                    continue;
                }
                for literal in literals {
                    let proof = self.prove(&there, literal, always, &[condition, reach]);
                    if proof != Proof::Equal {
                        return Err("not every lane is shown to perform the original's stores");
                    }
                }
            }
        }
        Ok(())
    }

    /// Lane by lane, a word of the original for each store, in some lane, and none for two.
    fn each_word_once(
        &mut self,
        search: &mut Search<'_>,
        stores: &[usize],
    ) -> Result<(), &'static str> {
        let after = self.after;
        let count = search.words.len();
        if stores.len() != count {
            return Err(NOT_FOUND);
        }
        let mut open = vec![true; count * WARP_SIZE as usize];
        let mut last = (0, 0);
        for own in by_lane::all() {
            for &store in stores {
                let mut candidates: Vec<(u32, usize)> = by_lane::all()
                    .flat_map(|lane| (0..count).map(move |word| (lane, word)))
                    .filter(|&(lane, word)| open[lane as usize * count + word])
                    .collect();
                // Consecutive lanes mostly store consecutive bytes.
                candidates.sort_by_key(|&(lane, word)| {
                    let at = (lane as usize * count + word) as i64;
                    ((at - last.0 as i64 - last.1 as i64).abs(), at)
                });
                let operands = &after.events[store].operands;
                let at = search.reconverged.lane;
                let address = self.in_lane((at, own), operands[0]);
                let stored = (own, address, operands[1]);
                let found = candidates
                    .into_iter()
                    .find(|&candidate| self.is_word(search, stored, candidate));
                let Some((lane, word)) = found else { return Err(NOT_FOUND) };
                let at = lane as usize * count + word;
                open[at] = false;
                last = (at, WARP_SIZE as usize);
                if stores.last() == Some(&store) {
                    // The next lane's first word follows this lane's first.
                    last = (at + 1, 0);
                    last.0 = last.0.saturating_sub(WARP_SIZE as usize * (count - 1));
                }
            }
        }
        Ok(())
    }

    /// Whether a store of the lane `own`, with its address there and its value, is that of a word of another lane.
    fn is_word(
        &mut self,
        search: &mut Search<'_>,
        (own, address, stored): (u32, TermId, TermId),
        (lane, word): (u32, usize),
    ) -> bool {
        let n = lane as i32 - own as i32;
        let (word, around) = (&search.words[word], search.place.around);
        let at = search.reconverged.lane;
        self.terms.arena.charge(4);
        let there = self.warp.lanes.shift(self.terms, word.address, n, around);
        let there = self.in_lane((at, own), there);
        if !wrap::may_be_equal(&mut self.terms.arena, (there, address)) {
            return false;
        }
        search.claims += 1;
        if search.claims > MAX_CLAIMS {
            return false;
        }
        let place = self.with_lane(search.place, &search.reconverged, n);
        let reach = place.reaches.last().map(|reach: &Reach| reach.condition);
        let arena = &mut self.terms.arena;
        let number = arena.constant(own.into(), arena.width(at));
        let mut known = vec![search.condition, arena.equal(at, number)];
        known.extend(reach);
        let place = self.warp.prover.by_lane.terms.place(arena, at, own, &place);
        if self.prove(&place, there, address, &known) != Proof::Equal {
            return false;
        }
        let value = self.in_lane((at, own), stored);
        if word.current {
            let there = self.warp.lanes.shift_current(self.terms, word.value, n, around);
            let there = self.in_lane((at, own), there);
            if self.prove(&place, there, value, &known) == Proof::Equal {
                return true;
            }
        }
        // The sent value may be compared with the stored value at the place where it is sent.
        let parts = self.terms.arena.width(word.value) / 32;
        let mut there: Option<TermId> = None;
        for part in 0..parts {
            let half = self.terms.arena.extract(word.value, 32 * part, 32);
            let half = {
                let by_lane = &mut self.warp.prover.by_lane.terms;
                by_lane.as_there(self.terms, at, lane, half, around)
            };
            there = Some(match there {
                None => half,
                Some(low) => self.terms.arena.concatenate(half, low),
            });
        }
        there.is_some_and(|there| self.prove(&place, there, value, &known) == Proof::Equal)
    }
}
