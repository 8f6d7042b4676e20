//! The algebra, and the symbols in memory.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use super::moves::MoveCache;
use super::plane::Plane;
use super::tried::Tried;
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

/// Words of 32 bits in a page.
pub(crate) const PAGE: usize = 64;

/// The symbols of the words of a page.
#[derive(Debug)]
pub(crate) struct Page {
    symbols: Plane<PAGE>,
    /// The words whose symbols were set, a bit each.
    set: u64,
    /// The bytes that were written, a bit each, by word.
    pub written: [u8; PAGE],
}

impl Default for Page {
    fn default() -> Page {
        Page { symbols: Plane::new(2), set: 0, written: [0; PAGE] }
    }
}

/// The symbols of an owner's memory.
#[derive(Debug, Default)]
pub(crate) struct Pages(Vec<Option<Box<Page>>>);

impl Pages {
    /// A page, if a word of it was set or written.
    pub(crate) fn get(&self, page: usize) -> Option<&Page> {
        self.0.get(page)?.as_deref()
    }

    /// The number behind that of the last page.
    pub(crate) fn end(&self) -> usize {
        self.0.len()
    }

    fn page(&mut self, word: u64) -> &mut Page {
        let page = word as usize / PAGE;
        if self.0.len() <= page {
            self.0.resize_with(page + 1, || None);
        }
        self.0[page].get_or_insert_default()
    }

    /// The symbols of the page of a word, which is set now.
    #[inline]
    fn set(&mut self, word: u64) -> (&mut Plane<PAGE>, usize) {
        let (page, at) = (self.page(word), word as usize % PAGE);
        page.set |= 1 << at;
        (&mut page.symbols, at)
    }

    /// The symbols of the page of a word that was set.
    #[inline]
    fn word(&self, word: u64) -> Option<(&Plane<PAGE>, usize)> {
        let at = word as usize % PAGE;
        let page = self.get(word as usize / PAGE)?;
        (page.set >> at & 1 != 0).then_some((&page.symbols, at))
    }

    /// Whether something was written.
    pub(crate) fn is_written(&self) -> bool {
        self.0.iter().flatten().any(|page| page.written.iter().any(|&bytes| bytes != 0))
    }
}

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
    owners: FxHashMap<Owner, Pages>,
    /// The regions that hold symbols before the launch.
    pub inputs: FxHashMap<usize, Input>,
}

impl Memory {
    /// The symbols of a word.
    #[inline]
    pub(crate) fn word(&self, algebra: &Algebra, owner: Owner, word: u64) -> [Symbol; 2] {
        self.of(owner).word(algebra, word)
    }

    /// The symbols of an owner's words.
    #[inline]
    pub(crate) fn of(&self, owner: Owner) -> Words<'_> {
        let input = match owner {
            Owner::Region(region) => self.inputs.get(&region).copied(),
            _ => None,
        };
        Words { pages: self.owners.get(&owner), input }
    }

    /// Sets the symbols of a word.
    #[inline]
    pub(crate) fn set_word(&mut self, owner: Owner, word: u64, symbols: [Symbol; 2]) {
        let (symbols_there, at) = self.owners.entry(owner).or_default().set(word);
        symbols_there.set(at, 0, &symbols);
    }

    /// Sets the number that a word is.
    #[inline]
    pub(crate) fn set_number(&mut self, owner: Owner, word: u64, number: (Format, Element)) {
        let (symbols, at) = self.owners.entry(owner).or_default().set(word);
        symbols.set_number(at, number.0, number.1);
    }

    /// Notes that bytes of a region were written.
    pub(crate) fn write(&mut self, region: usize, offset: u64, bytes: u32) {
        let pages = self.owners.entry(Owner::Region(region)).or_default();
        for at in (offset..offset + u64::from(bytes)).step_by(bytes.min(4) as usize) {
            let bytes = 0xf >> (4 - bytes.min(4)) << (at % 4);
            pages.page(at / 4).written[at as usize / 4 % PAGE] |= bytes;
        }
    }

    /// The symbols of a region, if some were set, or something was written there.
    pub(crate) fn region(&self, region: usize) -> Option<&Pages> {
        self.owners.get(&Owner::Region(region))
    }

    /// The regions with symbols that were set, or where something was written.
    pub(crate) fn regions(&self) -> impl Iterator<Item = (usize, &Pages)> {
        self.owners.iter().filter_map(|(owner, pages)| match *owner {
            Owner::Region(region) => Some((region, pages)),
            _ => None,
        })
    }

    /// Forgets words of the local memory of some lanes of a block.
    pub(crate) fn forget_local(&mut self, block: u64, lanes: Range<u32>, words: Range<u64>) {
        for lane in lanes {
            let Some(pages) = self.owners.get_mut(&Owner::Local(block, lane)) else { continue };
            for word in words.start..words.end.min((pages.0.len() * PAGE) as u64) {
                pages.page(word).set &= !(1 << (word as usize % PAGE));
            }
        }
    }

    /// Forgets the memory of a block that has ended.
    pub(crate) fn end_block(&mut self, block: u64) {
        self.owners.retain(|owner, _| match *owner {
            Owner::Shared(other) | Owner::Local(other, _) => other != block,
            Owner::Region(_) | Owner::Params => true,
        });
    }
}

/// The symbols of an owner's words.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    pages: Option<&'a Pages>,
    input: Option<Input>,
}

impl Words<'_> {
    /// The symbols of a word.
    #[inline]
    pub(crate) fn word(self, algebra: &Algebra, word: u64) -> [Symbol; 2] {
        if let Some((plane, at)) = self.pages.and_then(|pages| pages.word(word)) {
            let [low, high, ..] = plane.parts(at);
            return [low, high];
        }
        self.input.map_or([Symbol::NONE; 2], |input| input.word(algebra, word))
    }

    /// The number that a word is, if it is one, with its format.
    #[inline]
    pub(crate) fn number(self, algebra: &Algebra, word: u64) -> Option<(Format, Element)> {
        match self.pages.and_then(|pages| pages.word(word)) {
            Some((plane, at)) => plane.number(at),
            None => {
                let input = self.input.filter(|input| input.format.parts() == 2)?;
                Some((input.format, algebra.input(input.name, word)))
            }
        }
    }
}

impl Input {
    /// The symbols of a word.
    fn word(self, algebra: &Algebra, word: u64) -> [Symbol; 2] {
        let count = self.format.parts() as u64;
        if count > 1 {
            let element = algebra.input(self.name, 2 * word / count);
            let first = (2 * word % count) as u8;
            return [0, 1]
                .map(|half| Symbol::new(element, Kind::Number(self.format), first + half));
        }
        [0, 1].map(|half| {
            let place = 2 * word + half;
            let element = algebra.input(self.name, place / count);
            Symbol::new(element, Kind::Number(self.format), (place % count) as u8)
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
    choices: FxHashMap<u64, (Predicate, [Chosen; 2])>,
    /// The bits of singles plus constants, by name.
    pub(super) biased: FxHashMap<u64, (Element, u32)>,
    /// The masks of integers whose other bits are 0, by the residue modulo `P`.
    pub(super) bits: FxHashMap<u64, u64>,
    /// What operations that only move bits do.
    pub(super) moves: MoveCache,
    /// What operations on integers do.
    pub(super) tried: FxHashMap<usize, Tried>,
}

impl State {
    /// The choice between two patterns of 32 bits.
    pub(super) fn choice(&mut self, predicate: Predicate, [a, b]: [Chosen; 2]) -> Value {
        let (predicate, [a, b]) =
            if predicate.negated { (predicate.not(), [b, a]) } else { (predicate, [a, b]) };
        let start = mix(predicate.name, 0x6368_6f69);
        let name = [a, b].into_iter().fold(start, |name, chosen| match chosen {
            Chosen::Bits(bits) => mix(name, bits.into()),
            Chosen::Choice(choice) => mix(mix(name, 1 << 32), choice),
        });
        self.choices.insert(name, (predicate, [a, b]));
        let element = Element { p: name, q: name.rotate_left(32), ..Element::default() };
        let mut value = Value::known(0);
        for part in 0..2 {
            value.parts[part] = Symbol::new(element, Kind::Choice, part as u8);
        }
        value
    }

    /// A choice between patterns as a number.
    pub(super) fn chosen_number(&mut self, format: Format, chosen: Chosen) -> Option<Term> {
        let choice = match chosen {
            Chosen::Bits(bits) => return Some(Term::Number(bits.into())),
            Chosen::Choice(choice) => choice,
        };
        let &(predicate, [a, b]) = self.choices.get(&choice)?;
        let terms = [self.chosen_number(format, a)?, self.chosen_number(format, b)?];
        self.algebra.choose(predicate, format, terms)
    }
}

/// What a choice between patterns of 32 bits chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Chosen {
    /// A pattern.
    Bits(u32),
    /// Another choice, by its name.
    Choice(u64),
}

/// The state of a run with symbols, which all blocks share. They run one after the other.
#[derive(Debug)]
pub(crate) struct World(Mutex<State>);

impl World {
    /// Memory without symbols.
    pub(crate) fn new(algebra: Algebra) -> World {
        World(Mutex::new(State {
            algebra,
            memory: Memory::default(),
            choices: FxHashMap::default(),
            biased: FxHashMap::default(),
            bits: FxHashMap::default(),
            moves: MoveCache::default(),
            tried: FxHashMap::default(),
        }))
    }

    /// The state.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
