//! The instructions of the functions of a cubin.

use std::collections::BTreeMap;

use object::elf::EM_CUDA;
use object::read::elf::{FileHeader, SectionHeader};

use super::cubin::{self, ENDIAN, Header};
use super::encoding::{BYTES, Instruction};

/// The opcodes that pad code, the same in all generations.
const NOP: u16 = 0x918;
const BRANCH: u16 = 0x947;

/// A function of a cubin.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name, mangled.
    pub name: String,
    /// Its instructions, in the order of their offsets.
    pub instructions: Vec<Instruction>,
    /// Where branches to a place in a register go, in bytes from the beginning of the function, by their offsets.
    pub jumps: BTreeMap<u32, Vec<u32>>,
}

impl Function {
    /// Bytes of the code, with what pads it to whole lines of the instruction cache.
    pub fn code_bytes(&self) -> u32 {
        self.instructions.len() as u32 * BYTES
    }

    /// A hash of the machine code, the same on every machine (FNV-1a).
    pub fn hash(&self) -> u64 {
        let bytes =
            self.instructions.iter().flat_map(|instruction| instruction.word().to_le_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// The number of instructions without the padding: a branch to itself and the `NOP`s behind it.
    pub fn count(&self) -> usize {
        let pads = |instruction: &Instruction| instruction.opcode() == NOP;
        let used = self.instructions.iter().rposition(|instruction| !pads(instruction));
        let Some(last) = used else { return 0 };
        let trap = self.instructions[last];
        match trap.opcode() == BRANCH && last > 0 && trap.is_trap() {
            true => last,
            false => last + 1,
        }
    }
}

/// The functions of a cubin, in the order of its sections.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn functions(bytes: &[u8]) -> Result<Vec<Function>, String> {
    parse(bytes).map_err(|error| error.to_string())
}

fn parse(bytes: &[u8]) -> object::read::Result<Vec<Function>> {
    let header = Header::parse(bytes)?;
    header.endian()?;
    if header.e_machine(ENDIAN) != EM_CUDA {
        return Ok(Vec::new());
    }
    let sections = header.sections(ENDIAN, bytes)?;
    let mut found = Vec::new();
    for section in sections.iter() {
        let name = sections.section_name(ENDIAN, section)?;
        let Some(name) = name.strip_prefix(b".text.") else { continue };
        let info = [b".nv.info.", name].concat();
        let jumps = match sections.section_by_name(ENDIAN, &info) {
            Some((_, info)) => cubin::jumps(info.data(ENDIAN, bytes)?),
            None => BTreeMap::new(),
        };
        found.push(Function {
            jumps,
            name: String::from_utf8_lossy(name).into_owned(),
            instructions: instructions(section.data(ENDIAN, bytes)?),
        });
    }
    Ok(found)
}

fn instructions(code: &[u8]) -> Vec<Instruction> {
    let (words, _) = code.as_chunks::<{ BYTES as usize }>();
    let at = |(at, word): (usize, &[u8; BYTES as usize])| {
        Instruction::new(at as u32 * BYTES, u128::from_le_bytes(*word))
    };
    words.iter().enumerate().map(at).collect()
}
