//! Some lanes of an access in one window of memory, and why an access fails.

use crate::interp::fault::{FaultKind, Outside};
use crate::interp::memory::Window;
use crate::interp::poison::{Place, Source};
use crate::interp::registers::{LANES, Mask, lanes};

/// Some lanes of an access, all in one window.
pub(super) struct Part<'a> {
    /// The window.
    pub window: Window<'a>,
    /// Each lane's offset in it; 0 of other lanes.
    pub offsets: [u64; LANES],
    /// The lanes.
    pub lanes: Mask,
}

impl<'a> Part<'a> {
    /// Those of some lanes whose access of `bytes` bytes lies in a window.
    #[inline(always)]
    pub(super) fn of(
        window: Window<'a>,
        addresses: &[u64; LANES],
        mask: Mask,
        bytes: u32,
    ) -> Part<'a> {
        let mut part = Part { window, offsets: [0; LANES], lanes: 0 };
        let Some(last) = window.len.checked_sub(bytes.into()) else { return part };
        for (lane, address) in addresses.iter().enumerate() {
            let offset = address.wrapping_sub(window.base);
            let is_inside = offset <= last && mask >> lane & 1 != 0;
            part.offsets[lane] = if is_inside { offset } else { 0 };
            part.lanes |= Mask::from(is_inside) << lane;
        }
        part
    }

    /// The first lane whose offset is not a multiple of a power of two.
    #[inline(always)]
    pub(super) fn misaligned(&self, bytes: u32) -> Option<usize> {
        let rest = u64::from(bytes - 1);
        let any = self.offsets.iter().fold(0, |any, offset| any | offset);
        let is_wrong = |lane: &usize| self.offsets[*lane] & rest != 0;
        if any & rest == 0 { None } else { lanes(self.lanes).find(is_wrong) }
    }
}

impl Part<'_> {
    /// Of the lanes that access the same place the last one each.
    pub(super) fn last(&self) -> Mask {
        let is_last = |&lane: &usize| {
            lanes(self.lanes & !(Mask::MAX >> (LANES - 1 - lane)))
                .all(|later| self.offsets[later] != self.offsets[lane])
        };
        lanes(self.lanes).filter(is_last).fold(0, |mask, lane| mask | 1 << lane)
    }

    /// Marks bytes that a lane has written.
    pub(super) fn written(&self, lane: usize, skip: u64, bytes: u32) {
        let Some(marks) = self.window.marks() else { return };
        let at = self.offsets[lane] + skip;
        let step = bytes.min(4);
        for skip in (0..bytes).step_by(step as usize) {
            marks.write(at + u64::from(skip), lane, step, 0);
        }
    }
}

/// Why an access failed.
#[derive(Debug)]
pub(crate) struct AccessFault {
    /// The first lane that failed.
    pub lane: usize,
    /// The kind of failure.
    pub kind: FaultKind,
    /// The whole sentence.
    pub message: String,
    /// Where it is beside a buffer, if the access lies outside of all of them.
    pub outside: Option<Box<Outside>>,
    /// The address and the bytes of an access that is out of bounds or misaligned.
    pub access: Option<(u64, u32)>,
    /// How many bytes of shared memory more the access needs, if it lies behind their end.
    pub more_shared: Option<u64>,
    /// Where the value was read that nobody has determined, if that is what failed.
    pub poison: Option<Source>,
}

impl AccessFault {
    /// A fault of a lane.
    pub(crate) fn new(lane: usize, kind: FaultKind, message: String) -> AccessFault {
        AccessFault {
            lane,
            kind,
            message,
            outside: None,
            access: None,
            more_shared: None,
            poison: None,
        }
    }

    /// A value that nobody has determined reaches an effect.
    #[cold]
    pub(crate) fn poisoned(lane: usize, what: &str, source: Source) -> AccessFault {
        let kind = match source.place() {
            Place::Shuffle { .. } => FaultKind::Unpredictable,
            Place::Memory { .. } | Place::Register(_) => FaultKind::Uninitialized,
            Place::Symbol => FaultKind::Symbolic,
        };
        AccessFault { poison: Some(source), ..AccessFault::new(lane, kind, what.to_owned()) }
    }
}
