//! Sets of ids, each id one bit.

use std::marker::PhantomData;

/// A set of ids of one kind, as bits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Bits<K> {
    words: Vec<u64>,
    of: PhantomData<K>,
}

impl<K: Copy + From<usize> + Into<usize>> Bits<K> {
    /// The empty set, with room for the first `count` ids.
    pub(super) fn new(count: usize) -> Bits<K> {
        Bits { words: vec![0; count.div_ceil(64)], of: PhantomData }
    }

    /// Adds an id. There must be room for it.
    pub(super) fn insert(&mut self, id: K) {
        let at: usize = id.into();
        self.words[at / 64] |= 1 << (at % 64);
    }

    /// Removes an id.
    pub(super) fn remove(&mut self, id: K) {
        let at: usize = id.into();
        self.words[at / 64] &= !(1 << (at % 64));
    }

    /// Whether the set has an id.
    pub(super) fn has(&self, id: K) -> bool {
        let at: usize = id.into();
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// The ids, in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = K> {
        self.words.iter().enumerate().flat_map(|(word, &bits)| {
            let mut rest = bits;
            std::iter::from_fn(move || {
                (rest != 0).then(|| {
                    let bit = rest.trailing_zeros();
                    rest &= rest - 1;
                    K::from(word * 64 + bit as usize)
                })
            })
        })
    }
}
