//! The mnemonic, the class and the register operands of each opcode, from data files.
//!
//! `data/sm_*.txt` list the opcodes of a generation as `nvdisasm` names them; `BLESS=1` with the test
//! `sass::` adds those that they lack. `data/classes.txt` has the class of each mnemonic.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use strum::EnumString;

use super::encoding::{Instruction, Operand, Slot};

/// The opcodes of a generation, by the first of its compute capabilities, the oldest generation first.
const GENERATIONS: [(u32, &str); 6] = [
    (70, include_str!("data/sm_70.txt")),
    (75, include_str!("data/sm_75.txt")),
    (80, include_str!("data/sm_80.txt")),
    (90, include_str!("data/sm_90.txt")),
    (100, include_str!("data/sm_100.txt")),
    (120, include_str!("data/sm_120.txt")),
];

const CLASSES: &str = include_str!("data/classes.txt");

/// The newest compute capability whose encoding has been compared.
const NEWEST: u32 = 121;

/// The role of an instruction for the schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum Role {
    /// It loads from global memory, or from shared, local or global memory by a generic address.
    LoadGlobal,
    /// It loads by a generic address.
    LoadGeneric,
    /// It loads from shared memory.
    LoadShared,
    /// It loads from local memory: the thread's stack and spilled registers.
    LoadLocal,
    /// It loads from constant memory.
    LoadConstant,
    /// It loads through the texture units.
    LoadTexture,
    /// It copies from global to shared memory, or back, without a register between.
    Copy,
    /// It stores to global memory.
    StoreGlobal,
    /// It stores by a generic address.
    StoreGeneric,
    /// It stores to shared memory.
    StoreShared,
    /// It stores to local memory.
    StoreLocal,
    /// It reads, changes and writes memory.
    Atomic,
    /// It exchanges registers between lanes.
    Shuffle,
    /// It waits until a scoreboard lacks at most a number of releases.
    PartialWait,
    /// It goes to a place that stands in the instruction.
    Branch,
    /// It goes to a place that stands in a register.
    Indirect,
    /// It calls a function.
    Call,
    /// It returns from a function.
    Return,
    /// It ends the thread.
    Exit,
    /// It waits for other warps.
    Barrier,
    /// It does nothing.
    Nop,
    /// It reports an error of memory that a fence has met.
    Error,
    /// All others.
    Other,
}

impl Role {
    /// Whether the instruction loads from memory that may take hundreds of cycles.
    pub fn is_global_load(self) -> bool {
        matches!(self, Role::LoadGlobal | Role::LoadGeneric)
    }

    /// Whether the instruction accesses global, shared or local memory.
    pub fn accesses_memory(self) -> bool {
        match self {
            Role::LoadGlobal | Role::LoadGeneric | Role::LoadShared | Role::LoadLocal => true,
            Role::StoreGlobal | Role::StoreGeneric | Role::StoreShared | Role::StoreLocal => true,
            Role::LoadTexture | Role::Copy | Role::Atomic => true,
            Role::LoadConstant | Role::Shuffle | Role::PartialWait | Role::Branch => false,
            Role::Indirect | Role::Call | Role::Return | Role::Exit | Role::Barrier => false,
            Role::Nop | Role::Error | Role::Other => false,
        }
    }
}

/// The unit of a multiprocessor that executes an instruction.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Pipe {
    /// Integers, logic, comparisons.
    Alu,
    /// 32- and 16-bit floating point, integer products.
    Fma,
    /// 64-bit floating point.
    Fp64,
    /// Transcendental functions and conversions.
    Xu,
    /// Memory accesses and shuffles.
    Lsu,
    /// Textures.
    Tex,
    /// Matrix products.
    Tensor,
    /// Values that all lanes of a warp share.
    Uniform,
    /// Branches and barriers.
    Control,
    /// None.
    None,
}

/// Which latency a result takes that a scoreboard tells of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumString, strum::EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub enum Latency {
    /// A load from global memory.
    Global,
    /// A load from global memory that hits the second-level cache.
    L2,
    /// A load from shared memory.
    Shared,
    /// A load from local memory.
    Local,
    /// A load from constant memory.
    Constant,
    /// An atomic operation with a result.
    Atomic,
    /// A shuffle.
    Shuffle,
    /// A texture.
    Texture,
    /// A transcendental function or a conversion.
    Transcendental,
    /// 64-bit floating point.
    Double,
    /// A matrix product.
    Tensor,
    /// Special registers and all others.
    Special,
    /// Until the operands of a store have been read.
    Store,
}

/// The class of a mnemonic, with its latency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Class {
    /// Its class.
    pub role: Role,
    /// Where it is executed.
    pub pipe: Pipe,
    /// The latency of its result if a scoreboard tracks it; `None` if its latency is fixed.
    pub latency: Option<Latency>,
}

/// An opcode of a generation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opcode {
    /// Its name without modifiers.
    pub mnemonic: &'static str,
    /// Its meaning.
    pub class: Class,
    /// Its register operands.
    pub operands: Vec<Operand>,
}

impl Opcode {
    /// Whether it computes floating-point numbers. (`HFMA2` does not count: ptxas writes it for moves, too.)
    pub fn is_arithmetic(&self) -> bool {
        matches!(
            self.mnemonic,
            "FADD"
                | "FMUL"
                | "FFMA"
                | "DADD"
                | "DMUL"
                | "DFMA"
                | "HADD2"
                | "HMUL2"
                | "MUFU"
                | "FADD2"
                | "FMUL2"
                | "FFMA2"
                | "HMMA"
                | "IMMA"
                | "DMMA"
                | "HGMMA"
        )
    }
}

/// The opcodes of a generation.
#[derive(Debug)]
pub struct Opcodes {
    by_number: FxHashMap<u16, Opcode>,
}

impl Opcodes {
    /// The first compute capability of the generation that `architecture` belongs to; `None` if its encoding is not
    /// known.
    pub fn generation(architecture: u32) -> Option<u32> {
        let known = GENERATIONS.iter().rev().map(|(first, _)| *first);
        known.filter(|_| architecture <= NEWEST).find(|first| *first <= architecture)
    }

    /// The opcodes of an architecture, 80 for `sm_80`; `None` if its encoding is not known.
    pub fn of(architecture: u32) -> Option<&'static Opcodes> {
        static TABLES: [OnceLock<Opcodes>; GENERATIONS.len()] =
            [const { OnceLock::new() }; GENERATIONS.len()];
        let first = Opcodes::generation(architecture)?;
        let at = GENERATIONS.iter().position(|(number, _)| *number == first)?;
        Some(TABLES[at].get_or_init(|| Opcodes::read(GENERATIONS[at].1)))
    }

    /// A line that cannot be read is left out, which makes its opcode unknown. (A test reads all.)
    fn read(text: &'static str) -> Opcodes {
        let classes: FxHashMap<&str, Class> = rows(CLASSES).filter_map(class).collect();
        let by_number = rows(text).filter_map(|row| opcode(row, &classes)).collect();
        Opcodes { by_number }
    }

    /// The opcode of an instruction, if it is known.
    pub fn get(&self, instruction: Instruction) -> Option<&Opcode> {
        self.by_number.get(&instruction.opcode())
    }
}

fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn class(row: &'static str) -> Option<(&'static str, Class)> {
    let mut words = row.split_whitespace();
    let [mnemonic, role, pipe, latency] =
        [words.next()?, words.next()?, words.next()?, words.next()?];
    let latency = match latency {
        "-" => None,
        word => Some(word.parse().ok()?),
    };
    Some((mnemonic, Class { role: role.parse().ok()?, pipe: pipe.parse().ok()?, latency }))
}

fn opcode(row: &'static str, classes: &FxHashMap<&str, Class>) -> Option<(u16, Opcode)> {
    let mut words = row.split_whitespace();
    let number = u16::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    let mnemonic = words.next()?;
    let class = *classes.get(mnemonic)?;
    let operands = words.take_while(|word| *word != "#").map(|word| {
        let (uniform, letter) = match word.strip_prefix('u') {
            Some(letter) => (true, letter),
            None => (false, word),
        };
        let slot = match letter {
            "D" => Slot::D,
            "A" => Slot::A,
            "B" => Slot::B,
            "C" => Slot::C,
            "T" => Slot::T,
            _ => return None,
        };
        Some(Operand { slot, uniform })
    });
    Some((number, Opcode { mnemonic, class, operands: operands.collect::<Option<_>>()? }))
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(every_line_of_the_tables_is_read);

    fn every_line_of_the_tables_is_read() {
        let classes: Vec<_> = rows(CLASSES).collect();
        let read: FxHashMap<&str, Class> = classes.iter().filter_map(|row| class(row)).collect();
        assert_eq!(read.len(), classes.len(), "a class is listed twice, or cannot be read");
        for (first, text) in GENERATIONS {
            for row in rows(text) {
                assert!(opcode(row, &read).is_some(), "sm_{first}.txt: {row}");
            }
            let table = Opcodes::of(first).unwrap();
            assert_eq!(
                table.by_number.len(),
                rows(text).count(),
                "sm_{first}.txt lists an opcode twice"
            );
            assert!(table.by_number.len() > 150, "sm_{first}.txt: {}", table.by_number.len());
        }
        assert!(Opcodes::of(61).is_none() && Opcodes::of(130).is_none());
    }
}
