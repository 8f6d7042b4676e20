//! Operand values: the edges of every width, amounts around the widths, and random bits.

use super::form::Form;

/// A small generator of random bits (SplitMix64), so that every run tests the same values.
pub struct Random(u64);

impl Random {
    /// A sequence of its own for each name.
    pub fn new(name: &str) -> Random {
        Random(name.bytes().fold(0x9e37_79b9, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_01b3)))
    }

    /// One of some values.
    pub fn choose(&mut self, values: &[u64]) -> u64 {
        values[(self.next() % values.len() as u64) as usize]
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

const EDGES: &[u64] = &[
    0,
    1,
    2,
    7,
    8,
    15,
    16,
    31,
    32,
    33,
    63,
    64,
    65,
    127,
    128,
    255,
    256,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
    u64::MAX - 1,
    0x8080_8080_8080_8080,
    0x7f7f_7f7f_7f7f_7f7f,
    0xfedc_ba98_7654_3210,
];

/// Values for the sources of a form, each cut to its register; constants keep theirs.
pub fn values(form: &Form, random: &mut Random) -> Vec<u64> {
    form.sources
        .iter()
        .map(|leaf| match leaf.constant {
            Some(value) => value,
            None => value(random) & (u64::MAX >> (64 - leaf.bits())),
        })
        .collect()
}

/// The carry flag before the instruction.
pub fn carry(random: &mut Random) -> u64 {
    random.next() & 1
}

fn value(random: &mut Random) -> u64 {
    let bits = random.next();
    match random.next() % 8 {
        0 | 1 => EDGES[(bits % EDGES.len() as u64) as usize],
        2 => bits % 70,
        3 => (bits % 70).wrapping_neg(),
        6 => bits & 0xff,
        // Few ones, few zeros.
        4 => bits & random.next() & random.next(),
        5 => bits | random.next() | random.next(),
        _ => bits,
    }
}
