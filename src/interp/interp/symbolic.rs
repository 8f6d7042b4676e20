//! Runs of a kernel whose floating-point inputs are symbols, and the comparison of what two of them leave.
//!
//! In: launches, and which of their buffers and arguments are symbols. Out: where two runs leave different elements, or write
//! different bytes; or the fault that stopped one. All runs of a [`Symbolic`] have the same inputs: buffers and arguments are
//! known by name and number.

use std::collections::BTreeMap;

use super::alike::{Apart, Classes, Divisors, Trace};
use super::counters::Counters;
use super::fault::Fault;
use super::kernel::Kernel;
use super::memory::Region;
use super::symbol::{Input, Memory, Owner, PAGE, Pages, Spot, State, Symbol, Value, World};
use crate::algebra::{Algebra, Domain, Format, Reading, Term, mix};
use crate::launch::{Buffer, Launch, Type};
use crate::ptx::Module;

/// Which blocks of a launch are executed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Blocks {
    /// All of them.
    #[default]
    All,
    /// These, by number, x first.
    Some(Vec<u64>),
}

/// Runs with the same symbols.
#[derive(Debug)]
pub struct Symbolic {
    world: World,
    /// Whether races are looked for, if the launch asks for that.
    looks_for_races: bool,
}

/// The buffers that a run has left.
#[derive(Debug)]
pub struct Left {
    memory: Memory,
    buffers: BTreeMap<String, LeftBuffer>,
    /// The number of blocks that were executed.
    pub blocks: u64,
    /// The number of blocks of the launch.
    pub of: u64,
    /// Warp-wide instructions that were executed.
    pub steps: u64,
}

/// A buffer that a run has left.
#[derive(Debug)]
struct LeftBuffer {
    /// Its number among the regions.
    index: usize,
    ty: Type,
    /// Its length in elements.
    len: usize,
    /// Its memory, if something was written there.
    region: Option<Region<'static>>,
}

/// Where two runs differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The buffer.
    pub buffer: String,
    /// The element.
    pub index: u64,
    /// How.
    pub kind: DifferenceKind,
}

/// How two runs differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DifferenceKind {
    /// Only the first one writes the element.
    OnlyFirst,
    /// Only the second one writes it.
    OnlySecond,
    /// The elements are not the same.
    Values,
    /// Only one of the launches has the buffer, or it is of another type or length.
    Buffer,
}

/// The comparison of two runs.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The elements that both have written.
    pub elements: u64,
    /// Where they differ, up to a few.
    pub differences: Vec<Difference>,
    /// A bound of the probability that elements which differ were taken for the same.
    pub bound: f64,
    /// Something that has no value, such as a division by zero, which a run has met.
    pub trouble: Option<&'static str>,
}

/// The most blocks that are executed without being named.
pub const MOST_BLOCKS: u64 = 1 << 24;

/// How often blocks are executed anew with the numbers that were seen in registers.
const MOST_RESTARTS: usize = 4;

/// The most differences that are told.
const MOST: usize = 16;

impl Symbolic {
    /// No run yet; the symbols are random by the seed.
    pub fn new(domain: Domain, seed: u64) -> Symbolic {
        Symbolic { world: World::new(Algebra::new(domain, seed)), looks_for_races: true }
    }

    /// The same without a search for races: another run of the launch has looked, and its lanes take the same ways.
    pub fn without_races(self) -> Symbolic {
        Symbolic { looks_for_races: false, ..self }
    }

    /// Runs some blocks of a launch.
    ///
    /// # Errors
    /// As [`super::run`]; and symbolic data decide something that the algebra does not describe.
    pub fn run(
        &mut self,
        module: &Module<'_>,
        launch: &Launch,
        blocks: &Blocks,
    ) -> Result<Left, Fault> {
        Ok(self.observe(module, launch, (blocks, None))?.0)
    }

    /// Runs blocks of a launch, one by one, until no other block would take another way.
    ///
    /// # Errors
    /// As [`Symbolic::run`]; or a few blocks do not stand for all.
    pub fn classes(
        &mut self,
        module: &Module<'_>,
        launch: &Launch,
    ) -> Result<Result<Classes, Apart>, Fault> {
        let (mut classes, mut divisors) = (Classes::default(), Divisors::default());
        let mut restarts = 0;
        while let Some(block) = classes.next() {
            let blocks = Blocks::Some(vec![block]);
            let (_, trace) = self.observe(module, launch, (&blocks, Some(&divisors)))?;
            let trace = trace.unwrap_or_default();
            // With these numbers more can be said, and of all blocks: the axes are others.
            let is_new = |register: &_| !divisors.contains_key(register);
            if restarts < MOST_RESTARTS && trace.divisors.keys().any(is_new) {
                divisors.extend(trace.divisors);
                (classes, restarts) = (Classes::default(), restarts + 1);
                continue;
            }
            if let Err(apart) = classes.add(block, trace) {
                return Ok(Err(apart));
            }
        }
        Ok(Ok(classes))
    }

    fn observe(
        &mut self,
        module: &Module<'_>,
        launch: &Launch,
        (blocks, divisors): (&Blocks, Option<&Divisors>),
    ) -> Result<(Left, Option<Trace>), Fault> {
        let kernel = Kernel::new(module, launch, false)?.without_explanations();
        let statics = kernel.program.layout.statics.len();
        self.world.state().memory = Memory::default();
        let mut formats = Vec::new();
        for (index, (name, buffer)) in launch.buffers.iter().enumerate() {
            let format = format_of(buffer.ty);
            let symbolic = launch.is_symbolic(name);
            if let (true, Some(format)) = (symbolic, format) {
                let input = Input { format, name: name_of(name) };
                self.world.state().memory.inputs.insert(statics + index, input);
            }
            formats.push((statics + index, symbolic && format.is_some()));
        }
        self.argue(&kernel, launch);
        let all: u64 = launch.grid.iter().map(|&n| u64::from(n)).product();
        let numbers: Vec<u64> = match blocks {
            Blocks::All if all > MOST_BLOCKS => {
                let message = format!("{all} blocks: at most {MOST_BLOCKS} are executed");
                return Err(Fault::launch(message));
            }
            Blocks::All => (0..all).collect(),
            Blocks::Some(some) => some.iter().copied().filter(|&block| block < all).collect(),
        };
        let races = launch.races && self.looks_for_races;
        let (inputs, what) = ((&self.world, &formats[..], races), (&numbers[..], divisors));
        let (left, executed, trace) =
            kernel.execute_with_symbols::<Counters>(launch, inputs, what)?;
        let memory = std::mem::take(&mut self.world.state().memory);
        let buffers = launch.buffers.iter().zip(left.into_iter().skip(statics)).enumerate();
        let buffers = buffers.map(|(index, ((name, buffer), region))| {
            let index = statics + index;
            let wrote = memory.region(index).is_some_and(Pages::is_written);
            let (ty, len) = (buffer.ty, buffer.bytes.len() / buffer.ty.bytes());
            (name.clone(), LeftBuffer { index, ty, len, region: wrote.then_some(region) })
        });
        let buffers = buffers.collect();
        let blocks = numbers.len() as u64;
        Ok((Left { memory, buffers, blocks, of: all, steps: executed }, trace))
    }

    /// Sets the symbols of arguments.
    fn argue(&self, kernel: &Kernel<'_, '_>, launch: &Launch) {
        let mut state = self.world.state();
        let State { algebra, memory, .. } = &mut *state;
        for (&index, &ty) in &launch.symbolic_args {
            let (Some(place), Some(format)) = (kernel.program.params.get(index), format_of(ty))
            else {
                continue;
            };
            let element = algebra.input(mix(0x6172_6773, index as u64), 0);
            let value = Value::number(format, Term::Element(element));
            for part in 0..format.parts() {
                let at = place.offset + 2 * part as u64;
                let mut word = memory.word(algebra, Owner::Params, at / 4);
                word[(at / 2 % 2) as usize] = value.parts[part];
                memory.set_word(Owner::Params, at / 4, word);
            }
        }
    }

    /// Compares what two runs have left in buffers of the same names: in all of them, or in some.
    pub fn compare(&self, first: &Left, second: &Left, only: &[String]) -> Comparison {
        let mut state = self.world.state();
        let mut comparison = Comparison::default();
        let names = first.buffers.keys().chain(second.buffers.keys());
        // Variables of the module are not compared, and so nobody may write them.
        if first.wrote_variables() || second.wrote_variables() {
            comparison.note("a variable of the module", 0, DifferenceKind::Buffer);
        }
        let mut names: Vec<&String> = names.collect();
        names.sort();
        names.dedup();
        for name in names.into_iter().filter(|name| only.is_empty() || only.contains(name)) {
            let buffers = (first.buffers.get(name), second.buffers.get(name));
            let (Some(one), Some(other)) = buffers else {
                let lone = match buffers {
                    (Some(buffer), _) | (_, Some(buffer)) => buffer.region.is_some(),
                    _ => false,
                };
                if lone {
                    comparison.note(name, 0, DifferenceKind::Buffer);
                }
                continue;
            };
            let size = one.ty.bytes();
            if (one.ty, one.len) != (other.ty, other.len) {
                if one.region.is_some() || other.region.is_some() {
                    comparison.note(name, 0, DifferenceKind::Buffer);
                }
                continue;
            }
            for index in touched((first, one), (second, other)) {
                let at = index * size;
                let wrote = [first.wrote_at(one, at), second.wrote_at(other, at)];
                let kind = match wrote {
                    [0, 0] => continue,
                    [0, _] | [_, 0] if planted!(Bug::FootprintsIgnored) => continue,
                    [one, 0] if one != 0 => Some(DifferenceKind::OnlyFirst),
                    [0, _] => Some(DifferenceKind::OnlySecond),
                    [one, other] if one != other => Some(DifferenceKind::OnlyFirst),
                    _ => {
                        let values = [
                            first.value(one, at, &state.algebra),
                            second.value(other, at, &state.algebra),
                        ];
                        let same = same(&mut state, one.ty, values);
                        (!same).then_some(DifferenceKind::Values)
                    }
                };
                comparison.elements += 1;
                if let Some(kind) = kind {
                    comparison.note(name, index as u64, kind);
                }
            }
        }
        comparison.bound = state.algebra.bound(comparison.elements);
        comparison.trouble = state.algebra.trouble();
        comparison
    }

    /// The constants that were taken for other numbers than their bits say.
    pub fn readings(&self) -> Vec<Reading> {
        self.world.state().algebra.readings()
    }

    /// A hash of each element of a buffer that a run has written, by the element's number.
    pub fn hashes(&self, left: &Left, buffer: &str) -> Vec<(u64, [u64; 2])> {
        let mut state = self.world.state();
        let Some(buffer) = left.buffers.get(buffer) else { return Vec::new() };
        let size = buffer.ty.bytes();
        let mut hashes = Vec::new();
        for index in touched((left, buffer), (left, buffer)) {
            if left.wrote_at(buffer, index * size) == 0 {
                continue;
            }
            let value = left.value(buffer, index * size, &state.algebra);
            hashes.push((index as u64, hash(&mut state, buffer.ty, value)));
        }
        hashes
    }
}

impl Comparison {
    fn note(&mut self, buffer: &str, index: u64, kind: DifferenceKind) {
        if self.differences.len() < MOST {
            self.differences.push(Difference { buffer: buffer.to_owned(), index, kind });
        }
    }
}

impl Left {
    /// The names of the buffers that were written.
    pub fn written(&self) -> Vec<&str> {
        let written = self.buffers.iter().filter(|(_, buffer)| buffer.region.is_some());
        written.map(|(name, _)| name.as_str()).collect()
    }

    /// Whether something outside of the buffers was written.
    fn wrote_variables(&self) -> bool {
        let regions: Vec<usize> = self.buffers.values().map(|buffer| buffer.index).collect();
        let mut others = self.memory.regions().filter(|(region, _)| !regions.contains(region));
        others.any(|(_, pages)| pages.is_written())
    }

    /// Which bytes of an element were written, a bit each.
    fn wrote_at(&self, buffer: &LeftBuffer, at: usize) -> u8 {
        let Some(pages) = self.memory.region(buffer.index) else { return 0 };
        (0..buffer.ty.bytes()).fold(0, |all, byte| {
            let word = (at + byte) / 4;
            let page = pages.get(word / PAGE);
            let bit = page.map_or(0, |page| page.written[word % PAGE] >> ((at + byte) % 4) & 1);
            all | bit << byte
        })
    }

    fn value(&self, buffer: &LeftBuffer, at: usize, algebra: &Algebra) -> Value {
        let Some(region) = &buffer.region else { return Value::lost() };
        let bytes = buffer.ty.bytes() as u32;
        let spot = Spot { owner: Owner::Region(buffer.index), offset: at as u64, bytes };
        let (bits, poisoned) = region.element(at as u64, bytes);
        self.memory.load(algebra, spot, bits, poisoned)
    }
}

/// The numbers of elements that one of two runs may have written in a buffer.
fn touched<'a>(
    (first, one): (&'a Left, &'a LeftBuffer),
    (second, other): (&'a Left, &'a LeftBuffer),
) -> impl Iterator<Item = usize> + 'a {
    let pages = [first.memory.region(one.index), second.memory.region(other.index)];
    let end = pages.iter().flatten().map(|pages| pages.end()).max().unwrap_or(0);
    let each = 4 * PAGE / one.ty.bytes();
    let touched =
        (0..end).filter(move |&page| pages.iter().flatten().any(|all| all.get(page).is_some()));
    touched.flat_map(move |page| page * each..((page + 1) * each).min(one.len))
}

/// Whether two values are the same number or the same bits.
fn same(state: &mut State, ty: Type, [one, other]: [Value; 2]) -> bool {
    if one.lost || other.lost {
        return false;
    }
    if one.is_known() && other.is_known() && one.bits == other.bits {
        return true;
    }
    if let Some(format) = format_of(ty) {
        let terms = [state.number(&one, format), state.number(&other, format)];
        let elements = terms.map(|term| match term? {
            Term::Element(element) => Some(element),
            Term::Number(bits) => state.algebra.constant(format, bits),
        });
        if let [Some(one), Some(other)] = elements {
            state.algebra.note_degree(one);
            state.algebra.note_degree(other);
            return state.algebra.same(one, other);
        }
    }
    let same_part = |one: &Symbol, other: &Symbol| {
        one.kind == other.kind
            && one.part == other.part
            && (!one.is_some() || state.algebra.same(one.element(), other.element()))
    };
    one.bits == other.bits && one.parts.iter().zip(&other.parts).all(|(a, b)| same_part(a, b))
}

/// A hash of a value.
fn hash(state: &mut State, ty: Type, value: Value) -> [u64; 2] {
    if let Some(format) = format_of(ty)
        && let Some(term) = state.number(&value, format)
    {
        let element = match term {
            Term::Element(element) => Some(element),
            Term::Number(bits) => state.algebra.constant(format, bits),
        };
        if let Some(element) = element {
            return [element.p, element.q];
        }
    }
    let parts = value.parts.iter().enumerate().filter(|(_, part)| part.is_some());
    parts.fold([mix(value.bits, 1), mix(value.bits, 2)], |[p, q], (at, part)| {
        let place = (at as u64) << 8 | u64::from(part.part);
        let element = part.element();
        [mix(mix(p, element.p), place), mix(mix(q, element.q), place)]
    })
}

/// Runs some blocks of a launch, and returns the buffers as they leave them, and how many instructions were executed.
///
/// # Errors
/// As [`super::run`].
pub fn run_some(
    module: &Module<'_>,
    launch: &Launch,
    blocks: &Blocks,
) -> Result<(BTreeMap<String, Buffer>, u64), Fault> {
    let kernel = Kernel::new(module, launch, false)?.without_explanations();
    match blocks {
        Blocks::All => {
            kernel.run(launch).map(|outcome| (outcome.buffers, outcome.counters.instructions))
        }
        Blocks::Some(blocks) => kernel.run_blocks(launch, blocks),
    }
}

/// The format of a buffer's elements, if they are floating-point numbers.
fn format_of(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F32 => Format::F32,
        Type::F64 => Format::F64,
        Type::F16 => Format::F16,
        Type::Bf16 => Format::Bf16,
        Type::S32 | Type::U32 => Format::S32,
        _ => return None,
    })
}

/// A buffer's name as a number.
fn name_of(name: &str) -> u64 {
    name.bytes().fold(0x6275_6666, |hash, byte| mix(hash, byte.into()))
}
