//! The algebra, and the symbols in memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::moves::MoveCache;
use super::value::{Kind, Symbol, Value};
use crate::algebra::{Algebra, Element, Format, Predicate, Term, mix};

/// Who owns memory: a region, a block, a lane of a block, or the parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Owner {
    /// A buffer or a module variable, by its index.
    Region(usize),
    /// The shared memory of a block.
    Shared(u64),
    /// The local memory of a lane: the block and the lane's number in it.
    Local(u64, u32),
    /// The kernel's parameters.
    Params,
}

/// Symbols of memory, by word of 32 bits.
type Words = FxHashMap<u64, [Symbol; 2]>;

/// A region that holds symbols before the launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    /// The format of its elements.
    pub format: Format,
    /// The buffer's name as a number.
    pub name: u64,
}

/// The symbols of memory, and what was written.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    words: FxHashMap<Owner, Words>,
    /// The regions that hold symbols before the launch, and the words of the parameters that do.
    pub inputs: FxHashMap<usize, Input>,
    /// The bytes of each region that were written, a bit each, by word.
    pub written: FxHashMap<usize, Vec<u8>>,
}

impl Memory {
    /// The symbols of a word.
    pub(crate) fn word(&self, algebra: &Algebra, owner: Owner, word: u64) -> [Symbol; 2] {
        if let Some(symbols) = self.words.get(&owner).and_then(|words| words.get(&word)) {
            return *symbols;
        }
        let Owner::Region(region) = owner else { return [Symbol::NONE; 2] };
        match self.inputs.get(&region) {
            Some(input) => input.word(algebra, word),
            None => [Symbol::NONE; 2],
        }
    }

    /// Sets the symbols of a word.
    pub(crate) fn set_word(&mut self, owner: Owner, word: u64, symbols: [Symbol; 2]) {
        self.words.entry(owner).or_default().insert(word, symbols);
    }

    /// Notes that bytes of a region were written.
    pub(crate) fn write(&mut self, region: usize, offset: u64, bytes: u32) {
        let written = self.written.entry(region).or_default();
        for byte in offset..offset + u64::from(bytes) {
            let word = (byte / 4) as usize;
            if written.len() <= word {
                written.resize(word + 1, 0);
            }
            written[word] |= 1 << (byte % 4);
        }
    }

    /// Forgets words of the local memory of some lanes of a block.
    pub(crate) fn forget_local(&mut self, block: u64, lanes: Range<u32>, words: Range<u64>) {
        for lane in lanes {
            if let Some(all) = self.words.get_mut(&Owner::Local(block, lane)) {
                all.retain(|word, _| !words.contains(word));
            }
        }
    }

    /// Forgets the memory of a block that has ended.
    pub(crate) fn end_block(&mut self, block: u64) {
        self.words.retain(|owner, _| match *owner {
            Owner::Shared(other) | Owner::Local(other, _) => other != block,
            Owner::Region(_) | Owner::Params => true,
        });
    }
}

impl Input {
    /// The symbols of a word.
    fn word(self, algebra: &Algebra, word: u64) -> [Symbol; 2] {
        let count = self.format.parts() as u64;
        [0, 1].map(|half| {
            let place = 2 * word + half;
            Symbol {
                element: algebra.input(self.name, place / count),
                kind: Kind::Number(self.format),
                part: (place % count) as u8,
            }
        })
    }
}

/// What a run with symbols knows.
#[derive(Debug)]
pub(crate) struct State {
    /// The algebra.
    pub algebra: Algebra,
    /// Memory.
    pub memory: Memory,
    /// Choices between two patterns, by name.
    choices: FxHashMap<u64, (Predicate, [u32; 2])>,
    /// What operations that only move bits do.
    pub(super) moves: MoveCache,
}

impl State {
    /// The choice between two patterns of 32 bits.
    pub(super) fn choice(&mut self, predicate: Predicate, patterns: [u32; 2]) -> Value {
        let [a, b] = patterns;
        let (predicate, [a, b]) =
            if predicate.negated { (predicate.not(), [b, a]) } else { (predicate, [a, b]) };
        let name = mix(mix(predicate.name, 0x6368_6f69), u64::from(a) << 32 | u64::from(b));
        self.choices.insert(name, (predicate, [a, b]));
        let element = Element { p: name, q: name.rotate_left(32), ..Element::default() };
        let mut value = Value::known(0);
        for part in 0..2 {
            value.parts[part] = Symbol { element, kind: Kind::Choice, part: part as u8 };
        }
        value
    }

    /// A choice between two patterns as a single.
    pub(super) fn chosen_number(&mut self, choice: Element) -> Option<Term> {
        let &(predicate, [a, b]) = self.choices.get(&choice.p)?;
        let terms = [a, b].map(|bits| Term::Number(bits.into()));
        self.algebra.choose(predicate, Format::F32, terms)
    }
}

/// The state of a run with symbols, which all blocks share. They run one after the other.
#[derive(Debug)]
pub(crate) struct World(Mutex<State>);

impl World {
    /// Memory without symbols.
    pub(crate) fn new(algebra: Algebra) -> World {
        let (memory, choices) = (Memory::default(), FxHashMap::default());
        World(Mutex::new(State { algebra, memory, choices, moves: MoveCache::default() }))
    }

    /// The state.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
