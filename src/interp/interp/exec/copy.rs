//! `cp.async` of a warp, performed at once. The race search knows which copies are not waited for.

use super::access::{AccessFault, Intent, Spaces};
use super::symbols::SymbolsOfCopy;
use super::tally::Tally;
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::memory::Kind;
use crate::interp::program::transaction::CopyGroup;
use crate::interp::program::{CopyAsync, CopyLimit};
use crate::interp::registers::{LANES, Mask, Registers, lanes};
use crate::ptx::StateSpace;

impl Spaces<'_> {
    /// `cp.async`.
    pub(super) fn copy(
        &self,
        registers: &Registers,
        copy: &CopyAsync,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        let bytes = copy.bytes;
        let read: [u32; LANES] = std::array::from_fn(|lane| match copy.limit {
            CopyLimit::All => bytes,
            CopyLimit::Bytes(slot) => registers.w32[slot][lane].min(bytes),
            CopyLimit::Ignore(slot) if registers.preds[slot] >> lane & 1 != 0 => 0,
            CopyLimit::Ignore(_) => bytes,
        });
        let sources = lanes(mask).filter(|&lane| read[lane] != 0).fold(0, |m, lane| m | 1 << lane);
        let mut data = [[0_u32; 4]; LANES];
        let mut symbols = SymbolsOfCopy::default();
        let mut tally = Tally::default();
        let from = self.addresses(registers, &copy.from);
        self.parts((copy.from.space, bytes, Intent::Read), &from, sources, |part, home| {
            tally.add(part, home);
            tally.add_banks(part, home, bytes);
            for lane in lanes(part.lanes) {
                watch.note(part, home, lane, 0, bytes, Kind::Read, None)?;
                for word in 0..bytes / 4 {
                    let offset = part.offsets[lane] + 4 * u64::from(word);
                    let left = read[lane].saturating_sub(4 * word);
                    let keep = if left >= 4 { u32::MAX } else { (1 << (8 * left)) - 1 };
                    data[lane][word as usize] = part.window.read32(offset, lane) & keep;
                    watch.read_word((part, home), offset, (lane, word), (left, &mut symbols))?;
                }
            }
            Ok(())
        })?;
        counters.global_load_requests += u64::from(tally.global);
        counters.global_load_wavefronts += tally.lines;
        counters.global_load_sectors += tally.sectors;
        if sources != 0 && tally.global {
            counters.single.note(sources, tally.sectors);
        }
        let read = tally.banks;
        let to = self.addresses(registers, &copy.to);
        self.parts((copy.to.space, bytes, Intent::Write), &to, mask, |part, home| {
            tally.add_banks(part, home, bytes);
            for lane in lanes(part.lanes) {
                let kind = Kind::Write { changes: true };
                watch.note(part, home, lane, 0, bytes, kind, None)?;
                if let (StateSpace::Shared, Some(shadow)) = (home, watch.shadow.as_deref_mut()) {
                    let place = (part.offsets[lane], bytes);
                    shadow.begin_copy((watch.warp, lane), place, &watch.who);
                }
                part.written(lane, 0, bytes);
                for word in 0..bytes / 4 {
                    let offset = part.offsets[lane] + 4 * u64::from(word);
                    part.window.write(offset, lane, 4, u64::from(data[lane][word as usize]));
                    watch.write_word((part, home), offset, (lane, word), &symbols);
                }
            }
            Ok(())
        })?;
        if mask != 0 {
            counters.single_copies.note(mask, tally.banks - read);
        }
        counters.shared_requests += 1;
        counters.shared_wavefronts += tally.banks;
        Ok(())
    }
}

impl Watch<'_> {
    /// Lanes make a group of their copies, or wait for some.
    pub(super) fn copies(&mut self, mask: Mask, group: CopyGroup) {
        let Some(shadow) = self.shadow.as_deref_mut() else { return };
        for lane in lanes(mask) {
            let owner = (self.warp, lane);
            match group {
                CopyGroup::Commit => shadow.commit_copies(owner),
                CopyGroup::Wait(keep) => shadow.wait_for_copies(owner, Some(keep), &self.who),
                CopyGroup::All => shadow.wait_for_copies(owner, None, &self.who),
            }
        }
    }
}
