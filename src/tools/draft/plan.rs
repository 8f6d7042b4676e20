//! The launch that is drafted, and its text.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::json;

use super::bounds::{Chosen, Shape};
use super::known::Known;
use super::parameters::Parameter;
use super::pointers::{Part, Use};
use crate::launch::Type;

/// A buffer of the draft.
#[derive(Clone, Debug)]
pub struct BufferPlan {
    /// Its name: that of the parameter, with the offset where the pointer stands in a struct.
    pub name: String,
    /// The type of its elements.
    pub ty: Type,
    /// Bytes in front of the pointer.
    pub front: u64,
    /// Bytes from the pointer on.
    pub bytes: u64,
    /// How the length came about.
    pub length: Length,
    /// Whether addresses depend on its contents.
    pub indexes: bool,
    /// Whether its integers begin again after some elements.
    pub repeats: bool,
}

/// How a buffer's length came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// From the bounds of the addresses.
    Bounds,
    /// An element for each thread; addresses that cannot be evaluated never left that.
    Guess,
    /// The interpreter asked for as much when it tried the launch.
    Trial,
}

/// A launch with how it came about.
#[derive(Clone, Debug)]
pub struct Plan {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    chosen: Chosen,
    dynamic_shared: u64,
    most_shared: u64,
    /// Whether dynamic shared memory has grown in a trial.
    shared_from_trial: bool,
    /// The buffers.
    pub buffers: Vec<BufferPlan>,
    /// Each parameter: its short name, its size, its parts.
    args: Vec<(String, u64, Made)>,
    /// How the integers were chosen.
    sizes: Sizes,
    untraced: Option<String>,
}

/// The parts of a parameter.
#[derive(Clone, Debug)]
enum Made {
    /// One part.
    Single(Slot),
    /// Parts by their offset, and bytes between them.
    Compound(BTreeMap<u64, Slot>),
}

/// One part of a parameter.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// A pointer to the buffer of this number.
    Buffer(usize),
    /// A number of some type, as bits.
    Number(Type, u64),
}

/// How the integers of a launch are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sizes {
    /// Fewer than the threads along an axis, so that the last block is partial.
    Partial,
    /// The threads along the longest axis.
    Whole,
    /// A small number.
    Small(u64),
}

impl Sizes {
    /// The bits of each parameter's part that does not begin an address.
    pub(super) fn values(self, known: &Known<'_>, shape: &Shape) -> BTreeMap<Part, u64> {
        let mut values = BTreeMap::new();
        for (index, parameter) in known.parameters.iter().enumerate() {
            for (&at, part) in &parameter.parts {
                if !known.pointers.found.contains_key(&(index, at)) {
                    values.insert(
                        (index, at),
                        value(part.ty, self.number(known, shape, (index, at))),
                    );
                }
            }
        }
        values
    }

    /// The number that an integer is given.
    fn number(self, known: &Known<'_>, shape: &Shape, part: Part) -> u64 {
        match self {
            Sizes::Partial => match known.guards.get(&part) {
                Some(&axis) => shape.partial(axis),
                None => shape.partial(shape.longest_axis()),
            },
            Sizes::Whole => shape.longest(),
            Sizes::Small(number) => number,
        }
    }
}

/// The number that a part of some type gets, as bits; `number` is that of integers. Small types are
/// often flags.
fn value(ty: Type, number: u64) -> u64 {
    match ty {
        _ if ty.is_float() => ty.round(1.0),
        _ if ty.bytes() == 1 => 1,
        _ => number,
    }
}

impl Plan {
    /// The plan where integers are chosen by `sizes`, and addresses reach as far as `reached` says. With
    /// `wide_are_pointers` each part of 64 bits is taken for a pointer.
    pub(super) fn new(
        known: &Known<'_>,
        shape: Shape,
        sizes: Sizes,
        reached: &[(Part, (i64, i64))],
        wide_are_pointers: bool,
    ) -> Plan {
        let mut plan = Plan {
            kernel: known.kernel.to_owned(),
            grid: shape.grid,
            block: shape.block,
            chosen: shape.chosen,
            dynamic_shared: known.dynamic_shared,
            most_shared: known.most_shared,
            shared_from_trial: false,
            buffers: Vec::new(),
            args: Vec::new(),
            sizes,
            untraced: known.untraced.clone(),
        };
        let threads = shape.longest();
        let values = sizes.values(known, &shape);
        for (index, parameter) in known.parameters.iter().enumerate() {
            let mut slots = BTreeMap::new();
            let mut end = 0;
            for (&at, part) in &parameter.parts {
                let bytes = part.ty.bytes() as u64;
                if at < end || !at.is_multiple_of(bytes) || at + bytes > parameter.size {
                    continue;
                }
                end = at + bytes;
                let uses = known.pointers.found.get(&(index, at));
                let wide = wide_are_pointers && bytes == 8 && !part.ty.is_float();
                let slot = if bytes == 8 && (uses.is_some() || wide) {
                    let uses = uses.cloned().unwrap_or_default();
                    let reach = reached.iter().find(|(part, _)| *part == (index, at));
                    let reach = reach.map(|(_, reach)| *reach);
                    let buffer = buffer(parameter, (index, at), &uses, reach, threads);
                    plan.buffers.push(BufferPlan { repeats: known.repeats, ..buffer });
                    Slot::Buffer(plan.buffers.len() - 1)
                } else {
                    let unknown = || value(part.ty, shape.longest());
                    Slot::Number(part.ty, values.get(&(index, at)).copied().unwrap_or_else(unknown))
                };
                slots.insert(at, slot);
            }
            let made = match slots.get(&0) {
                Some(&slot) if !parameter.compound => Made::Single(slot),
                _ => Made::Compound(slots),
            };
            plan.args.push((parameter.short.clone(), parameter.size, made));
        }
        plan
    }

    /// The kernel's name.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// Makes room for an access that needs `more` bytes of shared memory; returns whether there may be that much.
    pub fn grow_shared(&mut self, more: u64) -> bool {
        let need = self.dynamic_shared.saturating_add(more);
        if self.dynamic_shared == 0 || need > self.most_shared {
            return false;
        }
        self.dynamic_shared = need.next_power_of_two().min(self.most_shared);
        self.shared_from_trial = true;
        true
    }

    /// What was guessed, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(why) = &self.untraced {
            let why = why.lines().next().unwrap_or_default();
            notes.push(format!("There is no trace of this kernel ({why}): pointers are what the text makes global addresses."));
        }
        let block = match self.chosen {
            Chosen::Demanded => "is what the kernel demands",
            Chosen::Asked => "is that of `--block`",
            Chosen::Guessed => "is a guess",
        };
        notes.push(format!("The block {block}, and the grid is a guess."));
        if self.dynamic_shared > 0 {
            notes.push(match self.shared_from_trial {
                true => "`dynamic_shared` is what a trial in the interpreter asked for.".to_owned(),
                false => "`dynamic_shared` is a guess.".to_owned(),
            });
        }
        for (length, how) in [
            (Length::Bounds, "follows from the addresses of the trace"),
            (Length::Guess, "is a guess: an element for each thread along the longest axis"),
            (Length::Trial, "is what a trial in the interpreter asked for, in powers of two"),
        ] {
            let names: Vec<String> = self
                .buffers
                .iter()
                .filter(|buffer| buffer.length == length)
                .map(|buffer| format!("`{}`", buffer.name))
                .collect();
            if !names.is_empty() {
                notes.push(format!("The length of {} {how}.", names.join(", ")));
            }
        }
        let indexes: Vec<&BufferPlan> = self.buffers.iter().filter(|b| b.indexes).collect();
        for buffer in indexes {
            notes.push(format!(
                "What `{}` holds leads to other addresses: here 0, 1, 2, ...{}",
                buffer.name,
                if buffer.repeats { " and again" } else { "" }
            ));
        }
        let numbers = self.args.iter().filter(|(_, _, made)| match made {
            Made::Single(Slot::Number(..)) => true,
            Made::Compound(slots) => slots.values().any(|slot| matches!(slot, Slot::Number(..))),
            Made::Single(Slot::Buffer(_)) => false,
        });
        let numbers: Vec<String> = numbers.map(|(name, ..)| format!("`{name}`")).collect();
        if !numbers.is_empty() {
            notes.push(format!("The numbers in {} are guesses.", numbers.join(", ")));
            notes.extend(self.about_sizes().map(str::to_owned));
        }
        notes
    }

    /// How the integers of the launch were chosen, and what that hides.
    fn about_sizes(&self) -> Option<&'static str> {
        match self.sizes {
            _ if !self.has_integers() => None,
            Sizes::Partial => Some(
                "Integers end within the last block (and within a warp, if it is that long), so that a guard that is missing or wrong shows.",
            ),
            Sizes::Whole => Some(
                "Integers are multiples of the block: guards against a partial block are not tested.",
            ),
            Sizes::Small(_) => Some(
                "Integers are small, since larger ones stop the kernel: races and wrong guards can stay hidden.",
            ),
        }
    }

    /// Whether integers are smaller than the launch, so that few threads may do anything.
    pub fn is_small(&self) -> bool {
        matches!(self.sizes, Sizes::Small(_)) && self.has_integers()
    }

    /// The integers among the arguments, with the names of their parameters (and the offset in a struct).
    pub fn integers(&self) -> Vec<(String, u64)> {
        let mut found = Vec::new();
        for (name, _, made) in &self.args {
            match made {
                Made::Single(Slot::Number(ty, bits)) if !ty.is_float() => {
                    found.push((name.clone(), *bits));
                }
                Made::Single(_) => {}
                Made::Compound(slots) => found.extend(slots.iter().filter_map(|(at, slot)| {
                    let Slot::Number(ty, bits) = slot else { return None };
                    (!ty.is_float()).then(|| (format!("{name}+{at}"), *bits))
                })),
            }
        }
        found
    }

    /// Whether an argument is an integer of more than a byte.
    fn has_integers(&self) -> bool {
        let integer =
            |slot: &Slot| matches!(slot, Slot::Number(ty, _) if !ty.is_float() && ty.bytes() > 1);
        self.args.iter().any(|(_, _, made)| match made {
            Made::Single(slot) => integer(slot),
            Made::Compound(slots) => slots.values().any(integer),
        })
    }

    /// The launch file; `outcome` is one more sentence for its comment.
    pub fn text(&self, outcome: &str) -> String {
        let mut notes = self.notes();
        if !outcome.is_empty() {
            notes.push(outcome.to_owned());
        }
        let quoted: Vec<String> = notes.iter().map(|note| json!(note).to_string()).collect();
        let mut text = format!("{{\"comment\": [{}],\n", quoted.join(",\n             "));
        let _ = write!(
            text,
            " \"kernel\": {},\n \"grid\": {:?}, \"block\": {:?}, \"dynamic_shared\": {},\n",
            json!(self.kernel),
            self.grid,
            self.block,
            self.dynamic_shared
        );
        let buffers: Vec<String> =
            self.buffers.iter().enumerate().map(|(seed, buffer)| buffer.text(seed)).collect();
        let _ = writeln!(text, " \"buffers\": {{{}}},", buffers.join(",\n             "));
        let args: Vec<String> = self.args.iter().map(|arg| self.argument(arg)).collect();
        let _ = writeln!(text, " \"args\": [{}]}}", args.join(",\n          "));
        text
    }

    fn argument(&self, (_, size, made): &(String, u64, Made)) -> String {
        let slots = match made {
            Made::Single(slot) => return self.slot(*slot),
            Made::Compound(slots) => slots,
        };
        let zeros = |count: u64| format!("{{\"bytes\": \"{}\"}}", "00".repeat(count as usize));
        if slots.is_empty() {
            return zeros(*size);
        }
        let (mut members, mut end) = (Vec::new(), 0);
        for (&at, &slot) in slots {
            if at > end {
                members.push(zeros(at - end));
            }
            members.push(self.slot(slot));
            end = at
                + match slot {
                    Slot::Buffer(_) => 8,
                    Slot::Number(ty, _) => ty.bytes() as u64,
                };
        }
        if *size > end {
            members.push(zeros(size - end));
        }
        format!("{{\"struct\": [{}]}}", members.join(", "))
    }

    fn slot(&self, slot: Slot) -> String {
        match slot {
            Slot::Buffer(index) => {
                let buffer = &self.buffers[index];
                match buffer.front {
                    0 => format!("{{\"buffer\": {}}}", json!(buffer.name)),
                    front => format!("{{\"buffer\": {}, \"offset\": {front}}}", json!(buffer.name)),
                }
            }
            Slot::Number(ty, _) if ty.is_float() => {
                format!("{{\"type\": \"{}\", \"value\": 1.0}}", ty.name())
            }
            Slot::Number(ty, bits) => {
                format!("{{\"type\": \"{}\", \"value\": {bits}}}", ty.name())
            }
        }
    }
}

impl BufferPlan {
    /// Makes room for an access.
    pub fn grow(&mut self, offset: i64, bytes: u64) {
        self.length = Length::Trial;
        // The offset is that from the buffer's beginning.
        if offset < 0 {
            self.front = (self.front + offset.unsigned_abs()).next_power_of_two().max(8);
        } else {
            let end = (offset as u64).saturating_sub(self.front) + bytes;
            self.bytes = end.next_power_of_two().max(self.ty.bytes() as u64);
        }
    }

    fn text(&self, seed: usize) -> String {
        let bytes = (self.front + self.bytes).max(1);
        let len = bytes.div_ceil(self.ty.bytes() as u64);
        let fill = if self.ty.is_float() {
            format!("\"fill\": \"random\", \"seed\": {}", seed + 1)
        } else if self.repeats {
            format!("\"fill\": \"index\", \"period\": {PERIOD}")
        } else {
            "\"fill\": \"index\"".to_owned()
        };
        let (name, ty) = (json!(self.name), self.ty.name());
        format!("{name}: {{\"type\": \"{ty}\", \"len\": {len}, {fill}}}")
    }
}

/// Elements after which repeated integers begin again: fewer than the lanes of a warp, and coprime to the extents of blocks.
const PERIOD: u64 = 7;

/// The longest buffer that is drafted, in bytes.
pub const MOST_BYTES: u64 = 1 << 26;

fn buffer(
    parameter: &Parameter,
    part: Part,
    uses: &Use,
    reach: Option<(i64, i64)>,
    threads: u64,
) -> BufferPlan {
    let name = match part.1 {
        0 if !parameter.compound => parameter.short.clone(),
        at => format!("{}+{at}", parameter.short),
    };
    let (ty, indexes) = (uses.ty(), uses.indexes);
    let element = ty.bytes() as u64;
    let possible = |&(low, high): &(i64, i64)| {
        high > low && low.unsigned_abs() <= MOST_BYTES && high.unsigned_abs() <= MOST_BYTES
    };
    let (front, bytes, length) = match reach.filter(possible) {
        Some((low, high)) => {
            (low.unsigned_abs().next_multiple_of(16), high.max(1) as u64, Length::Bounds)
        }
        None => (0, threads * element, Length::Guess),
    };
    BufferPlan { name, ty, front, bytes, length, indexes, repeats: false }
}
