//! `xform`: Swizzle Inventor's transformation, a grouped rotation of a fan:
//! `i / gs * gs + (cf * ii + r) % gs` with `ii = i % gs` and `r = ii / df + k * cr + k / dr + c`, where `r` may be
//! reduced modulo `gs / df` ("wrap"); `gs` divides `n`, `df` divides `gs`, `gs / df` divides `cf`, and `dr` divides
//! the number of places of `k`.
//!
//! The second coordinate enters only by the *offset* `k * cr + k / dr + c`. So a structure (`gs`, `df`, `cf`, wrap)
//! has one row of values for each offset, and the masks allow one set of offsets for each `k`, as bits.
//! The constants `c` that go with a sequence of offsets are then the intersection of rotated sets.

use rustc_hash::FxHashSet;

use super::formula::{Names, add, div, mul, rem, scaled};
use super::request::{Parameters, Recipe, Request, Visit, Wanted};
use crate::synth::expr::Expr;

#[derive(Clone, Debug)]
struct Structure {
    gs: usize,
    df: usize,
    cf: usize,
    wrap: bool,
    /// Offsets are equal modulo this number.
    modulus: usize,
    /// The row of each offset, one after the other.
    rows: Vec<u8>,
    /// The offsets whose rows hold no value twice.
    injective: u64,
}

/// `k * cr + k / dr` for each `k`, modulo the modulus.
#[derive(Clone, Debug)]
struct Sequence {
    cr: usize,
    dr: usize,
    offsets: Vec<u8>,
    distinct: bool,
}

/// The family.
#[derive(Clone, Debug)]
pub(super) struct XForm {
    first: usize,
    second: usize,
    values: usize,
    structures: Vec<Structure>,
    /// For each modulus.
    sequences: Vec<Vec<Sequence>>,
}

fn divisors(n: usize) -> impl DoubleEndedIterator<Item = usize> {
    (1..=n).filter(move |d| n.is_multiple_of(*d))
}

/// A row of `modulus` bits, turned right.
fn turned(set: u64, by: u32, modulus: usize) -> u64 {
    if by == 0 {
        return set;
    }
    let all = if modulus == 64 { u64::MAX } else { (1 << modulus) - 1 };
    (set >> by | set << (modulus as u32 - by)) & all
}

impl XForm {
    /// The family for a hole.
    pub(super) fn new(request: &Request<'_>) -> XForm {
        let Request { extents: [first, second], values: n, space, .. } = *request;
        let mut structures = Vec::new();
        for gs in divisors(n).rev().filter(|&gs| space == 3 || gs == n) {
            if gs != n && planted!(Bug::NoGroups) {
                continue;
            }
            for df in divisors(gs).rev().filter(|&df| space == 3 || df == gs) {
                if df != gs && planted!(Bug::NoFans) {
                    continue;
                }
                for cf in (0..df).map(|m| m * (gs / df)) {
                    // Without a change, the other value of `wrap` gives the same rows.
                    let wraps = space == 3 && df != gs && df != 1 && !planted!(Bug::NoWraps);
                    for wrap in [false, true] {
                        if !wrap || wraps {
                            structures.extend(Structure::new(first, n, (gs, df, cf, wrap)));
                        }
                    }
                }
            }
        }
        structures.sort_by_key(|s| s.rank(n));
        let mut sequences = vec![Vec::new(); n + 1];
        for modulus in divisors(n) {
            let space = if planted!(Bug::NoQuotients) { 2 } else { space };
            sequences[modulus] = Self::sequences(modulus, second, space);
        }
        XForm { first, second, values: n, structures, sequences }
    }

    fn sequences(modulus: usize, second: usize, space: u8) -> Vec<Sequence> {
        let mut found: Vec<Sequence> = Vec::new();
        let mut known = FxHashSet::default();
        let quotients = (2..second).filter(|d| second.is_multiple_of(*d));
        let quotients = quotients.filter(|_| space == 3);
        for dr in std::iter::once(0).chain(quotients) {
            let rates = (0..modulus).map(|r| if r % 2 == 0 { r / 2 } else { r / 2 + 1 });
            let rates = rates
                .enumerate()
                .map(|(n, r)| if n % 2 == 0 { (modulus - r) % modulus } else { r });
            for cr in rates {
                let offset = |k: usize| (k * cr + k.checked_div(dr).unwrap_or(0)) % modulus;
                let offsets: Vec<u8> = (0..second).map(|k| offset(k) as u8).collect();
                if known.insert(offsets.clone()) {
                    let mut seen = 0u64;
                    offsets.iter().for_each(|&o| seen |= 1 << o);
                    let distinct = seen.count_ones() as usize == second;
                    found.push(Sequence { cr, dr, offsets, distinct });
                }
            }
        }
        found
    }

    /// Calls `visit` for each member within the masks.
    pub(super) fn each(&self, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        let all = if self.values == 64 { u64::MAX } else { (1 << self.values) - 1 };
        let (first, second) = (self.first, self.second);
        let open: Vec<bool> = wanted
            .masks
            .chunks(first)
            .map(|row| row.iter().all(|mask| mask & all == all))
            .collect();
        let mut seen: FxHashSet<u128> = FxHashSet::default();
        let mut table = vec![0u8; first * second];
        let mut allowed = vec![0u64; second];
        for structure in &self.structures {
            let any = if structure.modulus == 64 { u64::MAX } else { (1 << structure.modulus) - 1 };
            let any = if wanted.first_differ { structure.injective } else { any };
            if any == 0 {
                continue;
            }
            let possible = (0..second).all(|k| {
                let row = &wanted.masks[k * first..][..first];
                allowed[k] = if open[k] { any } else { structure.within(row) & any };
                allowed[k] != 0
            });
            if !possible {
                continue;
            }
            for sequence in &self.sequences[structure.modulus] {
                if wanted.second_differ && !sequence.distinct {
                    continue;
                }
                let mut constants = u64::MAX;
                let farther = u32::from(planted!(Bug::TurnedSets));
                for (&set, &offset) in allowed.iter().zip(&sequence.offsets) {
                    let by = (u32::from(offset) + farther) % structure.modulus as u32;
                    constants &= turned(set, by, structure.modulus);
                    if constants == 0 {
                        break;
                    }
                }
                while constants != 0 {
                    let c = constants.trailing_zeros() as usize;
                    constants &= constants - 1;
                    for (k, &offset) in sequence.offsets.iter().enumerate() {
                        let row = (c + usize::from(offset)) % structure.modulus;
                        table[k * first..][..first].copy_from_slice(structure.row(row, first));
                    }
                    if seen.insert(fingerprint(&table)) || planted!(Bug::SeenTwice) {
                        let recipe = Recipe::XForm(structure.parameters(sequence, c));
                        if !visit(&table, recipe) {
                            return;
                        }
                    }
                }
            }
        }
    }

    /// The formula of a member.
    pub(super) fn formula(&self, p: &Parameters, names: &Names) -> Expr {
        let n = self.values as i64;
        let (gs, df, cf) = (i64::from(p.gs), i64::from(p.df), i64::from(p.cf));
        let (i, k) = (names.first(), names.second());
        let ii = if gs == n && self.first <= self.values { i.clone() } else { rem(i.clone(), gs) };
        // The summand beside the rotation; a rotation that is reduced first is a sum of its own.
        let fan = if cf == 0 { Expr::Number(0) } else { mul(ii.clone(), cf) };
        let mut sum = if p.wrap { Expr::Number(0) } else { fan.clone() };
        if df != gs && !planted!(Bug::FanFormula) {
            sum = add(sum, div(ii, df));
        }
        let modulus = if p.wrap { gs / df } else { gs };
        let near = |n: i64| if n * 2 > modulus { n - modulus } else { n };
        let rate = i64::from(p.cr) * if planted!(Bug::TurnFormula) { -1 } else { 1 };
        sum = match sum {
            // Nothing to subtract from.
            Expr::Number(0) => scaled(sum, k.clone(), rate),
            sum => scaled(sum, k.clone(), near(rate)),
        };
        if p.dr != 0 {
            sum = add(sum, div(k, i64::from(p.dr)));
        }
        sum = add(sum, Expr::Number(near(i64::from(p.c))));
        let fan = if p.wrap { add(fan, rem(sum, gs / df)) } else { sum };
        let inner = rem(fan, gs);
        let whole = gs == n || planted!(Bug::GroupFormula);
        if whole { inner } else { add(mul(div(i, gs), gs), inner) }
    }
}

impl Structure {
    fn new(
        first: usize,
        n: usize,
        (gs, df, cf, wrap): (usize, usize, usize, bool),
    ) -> Option<Structure> {
        let modulus = if wrap { gs / df } else { gs };
        let mut rows = Vec::with_capacity(modulus * first);
        let mut injective = 0;
        for offset in 0..modulus {
            let mut seen = 0u64;
            for i in 0..first {
                let ii = i % gs;
                let r = ii / df + offset;
                let r = if wrap { r % (gs / df) } else { r };
                let value = i / gs * gs + (cf * ii + r) % gs;
                if value >= n {
                    return None;
                }
                seen |= 1 << value;
                rows.push(value as u8);
            }
            if seen.count_ones() as usize == first {
                injective |= 1 << offset;
            }
        }
        Some(Structure { gs, df, cf, wrap, modulus, rows, injective })
    }

    /// The approximate cost of the structure: the number of operations.
    fn rank(&self, n: usize) -> (usize, usize) {
        let groups = if self.gs == n { 0 } else { 3 };
        let factor = usize::from(self.cf > 1);
        let fan = usize::from(self.df != self.gs && self.df != 1);
        (groups + factor + fan + usize::from(self.wrap), self.cf)
    }

    fn row(&self, offset: usize, first: usize) -> &[u8] {
        &self.rows[offset * first..][..first]
    }

    /// The offsets whose rows lie within masks.
    fn within(&self, masks: &[u64]) -> u64 {
        let mut set = 0;
        for (offset, row) in self.rows.chunks(masks.len()).enumerate() {
            if row.iter().zip(masks).all(|(value, mask)| mask >> value & 1 == 1) {
                set |= 1 << offset;
            }
        }
        set
    }

    fn parameters(&self, sequence: &Sequence, c: usize) -> Parameters {
        Parameters {
            gs: self.gs as u8,
            df: self.df as u8,
            cf: self.cf as u8,
            wrap: self.wrap,
            cr: sequence.cr as u8,
            dr: sequence.dr as u8,
            c: c as u8,
        }
    }
}

/// Two independent hashes of a table.
pub(super) fn fingerprint(table: &[u8]) -> u128 {
    let (mut a, mut b) = (0xcbf2_9ce4_8422_2325_u64, 0x9e37_79b9_7f4a_7c15_u64);
    for chunk in table.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        a = (a ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
        b = (b.rotate_left(23) ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        b ^= b >> 32;
    }
    u128::from(a) << 64 | u128::from(b)
}
