//! Layouts of an array in shared memory: where the byte that had one address is in the rewritten program.
//!
//! A layout is a function of addresses. The rewritten program is equivalent to the original if, for each array, all its
//! accesses go through one layout that is injective, stays within the array, and leaves the bytes of each access
//! together ([`Layout::keeps`] counts this out, for all places at which the array may be).

use super::symbols::Terms;
use crate::expr::{BinaryOp, TermId};

/// A function from the original's addresses within an array to the rewritten program's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// All bytes where they were.
    Same,
    /// `bits` bits of the address, from bit `from` on, are added to those from bit `to` on, without carry.
    Swizzle { from: u8, bits: u8, to: u8 },
    /// As [`Layout::Swizzle`] where the array begins at a multiple of `1 << start` and its size, which each launch gives, is
    /// one of `1 << block` and not 0; elsewhere all bytes where they were.
    Guarded { from: u8, bits: u8, to: u8, start: u8, block: u8 },
    /// A gap of `bytes` behind each `1 << every` bytes.
    Gaps { every: u8, bytes: u64 },
    /// Rows of `1 << every` bytes from the array's start on: `bits` bits of a row's number are added to those of the offset
    /// in it from bit `to` on, without carry, and a gap of `bytes` is behind each row. So people write it by hand.
    Rows { every: u8, bits: u8, to: u8, bytes: u64 },
}

/// An array before and after: its bytes, and the alignment of its address afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub before: u64,
    pub after: u64,
    pub align: u64,
    /// Whether each launch gives the bytes, which then are 0 here.
    pub is_dynamic: bool,
}

/// Where an array is: its first byte, and its size if each launch gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region<T> {
    pub base: T,
    pub size: T,
}

/// The largest array in bytes that is counted out: what shared memory holds at most, and some more.
const LARGEST: u64 = 1 << 18;

impl Layout {
    /// Every layout that is looked for, those with the fewest changes first.
    pub(crate) fn all() -> impl Iterator<Item = Layout> {
        let swizzles = (3..16u8).flat_map(|from| {
            (2..from.min(8)).flat_map(move |to| {
                (1..=(from - to).min(6)).map(move |bits| Layout::Swizzle { from, bits, to })
            })
        });
        let gaps = (2..16u8).flat_map(|every| {
            (1..=16u64).map(move |words| Layout::Gaps { every, bytes: 4 * words })
        });
        let rows = (3..16u8).flat_map(|every| {
            (2..every.min(8)).flat_map(move |to| {
                (1..=(every - to).min(6)).flat_map(move |bits| {
                    (0..=16u64).map(move |words| Layout::Rows { every, bits, to, bytes: 4 * words })
                })
            })
        });
        std::iter::once(Layout::Same).chain(swizzles).chain(gaps).chain(rows)
    }

    /// Every layout that is looked for where each launch gives the size.
    pub(crate) fn guarded() -> impl Iterator<Item = Layout> {
        let swizzles = (3..13u8).flat_map(|from| {
            (2..from.min(8))
                .flat_map(move |to| (1..=(from - to).min(6)).map(move |bits| (from, bits, to)))
        });
        swizzles.flat_map(|(from, bits, to)| {
            (to + bits..13).flat_map(move |start| {
                (to + bits..=start).map(move |block| Layout::Guarded {
                    from,
                    bits,
                    to,
                    start,
                    block,
                })
            })
        })
    }

    /// The swizzle of a layout that asks where the array is.
    fn unguarded(self) -> Layout {
        match self {
            Layout::Guarded { from, bits, to, .. } => Layout::Swizzle { from, bits, to },
            other => other,
        }
    }

    /// The new address of a byte, if the array is there, in registers of `width` bits.
    pub(crate) fn apply(self, address: u64, region: Region<u64>, width: u8) -> u64 {
        let Region { base, size } = region;
        let mask = u64::MAX >> (64 - width.min(64));
        let to = match self {
            Layout::Same => address,
            Layout::Swizzle { from, bits, to } => {
                address ^ ((address >> from & ((1 << bits) - 1)) << to)
            }
            Layout::Guarded { start, block, .. } => {
                let is_whole =
                    base.is_multiple_of(1 << start) && size.is_multiple_of(1 << block) && size != 0;
                let layout = if is_whole { self.unguarded() } else { Layout::Same };
                layout.apply(address, region, width)
            }
            // (An address in front of the array, which no valid program has, wraps around.)
            Layout::Gaps { every, bytes } => {
                let ahead = address.wrapping_sub(base) & mask;
                address.wrapping_add((ahead >> every).wrapping_mul(bytes))
            }
            Layout::Rows { every, bits, to, bytes } => {
                let ahead = address.wrapping_sub(base) & mask;
                let row = ahead >> every;
                let turned = ahead ^ ((row & ((1 << bits) - 1)) << to);
                base.wrapping_add(turned).wrapping_add(row.wrapping_mul(bytes))
            }
        };
        to & mask
    }

    /// The same for terms, in several spellings of one value.
    pub(crate) fn terms(
        self,
        terms: &mut Terms,
        address: TermId,
        region: Region<TermId>,
    ) -> Vec<TermId> {
        let Region { base, size } = region;
        if let Layout::Guarded { from, bits, to, start, block } = self {
            let turned = self.unguarded().terms(terms, address, region);
            let arena = &mut terms.arena;
            let none = arena.constant(0, arena.width(address));
            let [begins, whole] = [(base, start), (size, block)].map(|(term, bits)| {
                let low = arena.and_constant(term, (1 << bits) - 1);
                arena.equal(low, none)
            });
            let is_empty = arena.equal(size, none);
            let is_some = arena.not(is_empty);
            let is_whole = arena.and(whole, is_some);
            let is_whole = arena.and(begins, is_whole);
            // Either the whole address is chosen, or the bits that are turned in it.
            let width = arena.width(address);
            let [mask, by] = [((1 << bits) - 1) << to, u64::from(from - to)]
                .map(|number| arena.constant(number, width));
            let mask = arena.if_then_else(is_whole, mask, none);
            let shifted = arena.binary(BinaryOp::ShiftRight, address, by);
            let masked = arena.and(shifted, mask);
            let masked = arena.xor(address, masked);
            let chosen = turned.iter().map(|&term| arena.if_then_else(is_whole, term, address));
            return chosen.chain([masked]).collect();
        }
        let arena = &mut terms.arena;
        let width = arena.width(address);
        match self {
            Layout::Same | Layout::Guarded { .. } => vec![address],
            Layout::Swizzle { from, bits, to } => {
                let mask = (1u64 << bits) - 1;
                let [whole, less] = [from, from - to].map(|by| {
                    let by = arena.constant(u64::from(by), width);
                    arena.binary(BinaryOp::ShiftRight, address, by)
                });
                let low = arena.and_constant(whole, mask);
                let low = arena.scale(low, 1 << to);
                let high = arena.and_constant(less, mask << to);
                [low, high].map(|turned| arena.xor(address, turned)).to_vec()
            }
            Layout::Gaps { every, bytes } => {
                let ahead = arena.sub(address, base);
                let by = arena.constant(u64::from(every), width);
                let rows = arena.binary(BinaryOp::ShiftRight, ahead, by);
                let gaps = arena.scale(rows, bytes);
                vec![arena.add(address, gaps)]
            }
            Layout::Rows { every, bits, to, bytes } => {
                let ahead = arena.sub(address, base);
                let by = arena.constant(u64::from(every), width);
                let row = arena.binary(BinaryOp::ShiftRight, ahead, by);
                let low = arena.and_constant(row, (1 << bits) - 1);
                let low = arena.scale(low, 1 << to);
                let turned = arena.xor(ahead, low);
                let gaps = arena.scale(row, bytes);
                let place = arena.add(turned, gaps);
                vec![arena.add(base, place)]
            }
        }
    }

    /// Whether an array can be laid out so: different bytes go to different bytes of the array, and the bytes of
    /// each access stay together and aligned. `accesses` are numbers of bytes; an access that is not aligned has no
    /// meaning in the original.
    pub(crate) fn keeps(self, extent: Extent, accesses: &[u32]) -> bool {
        let Extent { before, after, align, is_dynamic } = extent;
        if is_dynamic {
            // One block, with any address: the array consists of whole ones.
            let Layout::Guarded { to, bits, start, block, .. } = self else { return false };
            let block = 1 << block.min(start);
            let one = Extent { before: block, after: block, align: block, is_dynamic: false };
            return to + bits <= start && self.unguarded().keeps(one, accesses);
        }
        if after < before || before > LARGEST || after > LARGEST || !align.is_power_of_two() {
            return false;
        }
        let widest = accesses.iter().copied().max().unwrap_or(1);
        let pieces = accesses.iter().all(|bytes| bytes.is_power_of_two());
        if self == Layout::Same {
            return true;
        }
        if !pieces || u64::from(widest) > align {
            return false;
        }
        // The layout repeats itself where the array begins at the next multiple of this.
        let period = match self {
            Layout::Swizzle { from, bits, .. } => 1u64 << (from + bits),
            _ => 1,
        };
        (0..period).step_by(align as usize).all(|base| {
            let mut taken = vec![false; after as usize];
            let region = Region { base, size: before };
            let to = |byte: u64| self.apply(base + byte, region, 64).wrapping_sub(base);
            (0..before).all(|byte| {
                let place = to(byte);
                let fresh = taken
                    .get_mut(place as usize)
                    .is_some_and(|taken| !std::mem::replace(taken, true));
                fresh
                    && accesses.iter().all(|&bytes| {
                        let first = byte - byte % u64::from(bytes);
                        to(first) % u64::from(bytes) == 0 && place == to(first) + (byte - first)
                    })
            })
        })
    }

    /// The layout in words, of addresses `a` of an array that begins at `A`.
    pub(crate) fn describe(self) -> String {
        match self {
            Layout::Same => "a".to_owned(),
            Layout::Swizzle { from, bits, to } => {
                format!("a ^ (a >> {from} & {}) << {to}", (1u32 << bits) - 1)
            }
            Layout::Guarded { start, block, .. } => format!(
                "{} where A is a multiple of {} and %dynamic_smem_size of {}",
                self.unguarded().describe(),
                1u32 << start,
                1u32 << block
            ),
            Layout::Gaps { every, bytes } => format!("a + ((a - A) >> {every}) * {bytes}"),
            Layout::Rows { every, bits, to, bytes } => {
                let gaps = match bytes {
                    0 => String::new(),
                    _ => format!(" + (o >> {every}) * {bytes}"),
                };
                let mask = (1u32 << bits) - 1;
                format!("A + (o ^ (o >> {every} & {mask}) << {to}){gaps} with o = a - A")
            }
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        a_swizzle_within_rows_keeps_words_apart,
        gaps_need_room,
        all_layouts_are_functions_of_bytes_with_a_name
    );

    const ROWS: Extent = Extent { before: 4096, after: 4096, align: 128, is_dynamic: false };

    fn a_swizzle_within_rows_keeps_words_apart() {
        let layout = Layout::Swizzle { from: 7, bits: 5, to: 2 };
        assert!(layout.keeps(ROWS, &[4]));
        assert!(!layout.keeps(ROWS, &[4, 16]), "16 bytes would not stay together");
        assert!(Layout::Swizzle { from: 7, bits: 3, to: 4 }.keeps(ROWS, &[4, 8, 16]));
        let loose = Extent { align: 64, ..ROWS };
        assert!(!layout.keeps(loose, &[4]), "the array may begin in the middle of a row");
        let short = Extent { before: 4000, after: 4000, ..ROWS };
        assert!(!layout.keeps(short, &[4]), "the last row is not whole");
    }

    fn gaps_need_room() {
        let gaps = Layout::Gaps { every: 7, bytes: 4 };
        let roomy = Extent { after: 4096 + 31 * 4, align: 4, ..ROWS };
        assert!(gaps.keeps(roomy, &[4]));
        assert!(!gaps.keeps(Extent { after: roomy.after - 1, ..roomy }, &[4]));
        assert!(!gaps.keeps(Extent { align: 16, ..roomy }, &[16]), "not aligned any more");
    }

    fn all_layouts_are_functions_of_bytes_with_a_name() {
        let names: std::collections::BTreeSet<String> =
            Layout::all().map(Layout::describe).collect();
        assert_eq!(names.len(), Layout::all().count());
    }
}
