//! `mbarrier` objects: 8 bytes in shared memory that count arrivals and bytes of asynchronous
//! copies, in phases.
//!
//! The manual leaves the format of the object open. Here: pending arrivals in bits 0 to 19,
//! expected arrivals in bits 20 to 39, the transaction count in bits 40 to 61 (two's complement),
//! bit 62 marks an initialised object, and bit 63 is the parity of the current phase.

use super::access::{AccessFault, Intent, Spaces};
use super::watch::{Lacks, Watch};
use crate::interp::counters::Counters;
use crate::interp::fault::FaultKind;
use crate::interp::memory::Kind;
use crate::interp::program::transaction::{MBarrier, MBarrierKind};
use crate::interp::program::{Order, Place, Scope};
use crate::interp::registers::{LANES, Mask, Registers, Slot, lanes};

/// The largest arrival count.
const MAX_COUNT: u64 = (1 << 20) - 1;

/// The largest magnitude of a transaction count.
const MAX_TX: i64 = (1 << 20) - 1;

/// An object, decoded.
#[derive(Clone, Copy)]
struct Object {
    pending: u64,
    expected: u64,
    tx: i64,
    parity: bool,
}

/// The number of pending arrivals in a state that `arrive` has returned.
pub(crate) fn pending_count(state: u64) -> u64 {
    state & MAX_COUNT
}

fn decode(word: u64) -> Result<Object, &'static str> {
    if word >> 62 & 1 == 0 {
        return Err("no mbarrier object has been initialised here");
    }
    Ok(Object {
        pending: word & MAX_COUNT,
        expected: word >> 20 & MAX_COUNT,
        tx: (word << 2) as i64 >> 42,
        parity: word >> 63 != 0,
    })
}

impl Object {
    fn new(count: u64) -> Result<Object, &'static str> {
        match count {
            1..=MAX_COUNT => Ok(Object { pending: count, expected: count, tx: 0, parity: false }),
            _ => Err("an mbarrier object expects 1 to 2^20-1 arrivals"),
        }
    }

    fn encode(self) -> u64 {
        self.pending
            | self.expected << 20
            | (self.tx as u64 & 0x3f_ffff) << 40
            | 1 << 62
            | u64::from(self.parity) << 63
    }

    fn transact(&mut self, bytes: i64) -> Result<(), &'static str> {
        self.tx += bytes;
        if self.tx.abs() > MAX_TX {
            return Err("the transaction count of the mbarrier object leaves its range");
        }
        Ok(())
    }

    fn arrive(&mut self, count: u64, drop: bool) -> Result<(), &'static str> {
        if count == 0 || count > self.pending {
            return Err("more threads arrive at the mbarrier object than its phase expects");
        }
        self.pending -= count;
        if drop {
            self.expected -= count.min(self.expected);
        }
        Ok(())
    }

    /// Ends the phase if all have arrived and all bytes have come.
    fn complete(&mut self) {
        if self.pending == 0 && self.tx == 0 {
            self.pending = self.expected;
            self.parity = !self.parity;
        }
    }
}

impl Spaces<'_> {
    /// Executes an `mbarrier` instruction, one lane after the other. Returns whether a lane has found its phase unfinished,
    /// so that other threads had better run.
    ///
    /// # Errors
    /// There is no initialised object at the address, or it is used against its rules.
    pub(super) fn mbarrier(
        &self,
        registers: &mut Registers,
        mbarrier: &MBarrier,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<bool, AccessFault> {
        let addresses = self.addresses(registers, &mbarrier.place);
        counters.barriers += 1;
        let mut unfinished = false;
        for lane in lanes(mask) {
            self.object(&mbarrier.place, &addresses, lane, |word| {
                if step(registers, mbarrier.kind, lane, word)? {
                    unfinished = true;
                    let Object { pending, tx, parity, .. } = decode(*word)?;
                    let address = addresses[lane];
                    watch.lacks = Some(Lacks { address, parity, arrivals: pending, bytes: tx });
                }
                Ok(())
            })?;
            watch.arrived |= !matches!(mbarrier.kind, MBarrierKind::Test { .. });
            // Arrivals release and tests acquire, in the block, unless they are relaxed (PTX ISA, "mbarrier.arrive",
            // "mbarrier.test_wait").
            let strict = !mbarrier.relaxed;
            let order = |acquires: bool, releases: bool| Order {
                scope: Scope::Block,
                acquires: acquires && strict,
                releases: releases && strict,
                polls: false,
            };
            let what = match mbarrier.kind {
                MBarrierKind::Init(_) | MBarrierKind::Invalidate => {
                    (order(false, false), false, Some(true))
                }
                MBarrierKind::Test { .. } => (order(true, false), true, None),
                _ => (order(false, true), true, Some(false)),
            };
            // Setting up and tearing down are weak: something has to order them.
            let of_block = Some(order(false, false).of_atomic());
            let (kind, strong) = match mbarrier.kind {
                MBarrierKind::Init(_) | MBarrierKind::Invalidate => {
                    (Kind::Write { changes: true }, None)
                }
                MBarrierKind::Test { .. } => (Kind::Read, of_block),
                _ => (Kind::Write { changes: true }, of_block),
            };
            let space = (mbarrier.place.space, 8, Intent::Write);
            self.parts(space, &addresses, 1 << lane, |part, home| {
                watch.note(part, home, lane, 0, 8, kind, strong)?;
                watch.strong(part, home, lane, what);
                Ok(())
            })?;
        }
        Ok(unfinished)
    }

    /// Counts bytes of a copy as completed.
    ///
    /// # Errors
    /// There is no initialised object at the address, or it is used against its rules.
    pub(super) fn complete_transaction(
        &self,
        registers: &Registers,
        place: &Place,
        lane: usize,
        bytes: u32,
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, place);
        self.object(place, &addresses, lane, |word| {
            let mut object = decode(*word)?;
            object.transact(-i64::from(bytes))?;
            object.complete();
            *word = object.encode();
            Ok(())
        })
    }

    /// Applies a function to the object at a lane's address.
    fn object(
        &self,
        place: &Place,
        addresses: &[u64; LANES],
        lane: usize,
        mut change: impl FnMut(&mut u64) -> Result<(), &'static str>,
    ) -> Result<(), AccessFault> {
        self.parts((place.space, 8, Intent::Write), addresses, 1 << lane, |part, _| {
            let mut word = part.window.read(part.offsets[lane], lane, 8);
            // Bytes that nobody has written are no object, whatever they hold.
            if let Some(marks) = part.window.marks()
                && marks.read(part.offsets[lane], lane, 8) != 0
            {
                word = 0;
            }
            part.written(lane, 0, 8);
            change(&mut word).map_err(|message| {
                AccessFault::new(lane, FaultKind::Undefined, message.to_owned())
            })?;
            part.window.write(part.offsets[lane], lane, 8, word);
            Ok(())
        })
    }
}

/// Executes an operation of one lane on an object.
fn step(
    registers: &mut Registers,
    kind: MBarrierKind,
    lane: usize,
    word: &mut u64,
) -> Result<bool, &'static str> {
    let narrow = |slot: Slot| registers.w32[slot][lane];
    match kind {
        MBarrierKind::Init(count) => *word = Object::new(u64::from(narrow(count)))?.encode(),
        MBarrierKind::Invalidate => {
            decode(*word)?;
            *word = 0;
        }
        MBarrierKind::ExpectTx(bytes) => {
            let mut object = decode(*word)?;
            object.transact(i64::from(narrow(bytes)))?;
            *word = object.encode();
        }
        MBarrierKind::CompleteTx(bytes) => {
            let mut object = decode(*word)?;
            object.transact(-i64::from(narrow(bytes)))?;
            object.complete();
            *word = object.encode();
        }
        MBarrierKind::Arrive { count, expect, drop, no_complete, state } => {
            let mut object = decode(*word)?;
            let before = *word;
            if let Some(bytes) = expect {
                object.transact(i64::from(narrow(bytes)))?;
            }
            object.arrive(u64::from(narrow(count)), drop)?;
            if no_complete && object.pending == 0 {
                return Err("an arrival with `.noComplete` would end the phase");
            }
            object.complete();
            *word = object.encode();
            if let Some(state) = state {
                registers.w64[state][lane] = before;
            }
        }
        MBarrierKind::Test { done, phase: (file, slot) } => {
            let object = decode(*word)?;
            let phase = registers.get(file, slot, lane);
            let parity = match file {
                crate::interp::registers::File::W64 => phase >> 63 != 0,
                _ => phase & 1 != 0,
            };
            let over = object.parity != parity;
            registers.set(crate::interp::registers::File::Pred, done, lane, u64::from(over));
            return Ok(!over);
        }
    }
    Ok(false)
}
