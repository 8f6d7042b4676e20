//! The registers, stack and shared memory that the kernels of a cubin take.
//!
//! In: the bytes that ptxas wrote. Out: a [`Usage`] for each kernel. The layout is not documented; it was
//! found by comparing the cubins of ptxas 11.8, 12.9 and 13.5 for sm_35 to sm_121, linked and relocatable,
//! with what `ptxas -v` and `cuobjdump --dump-resource-usage` print of them, and `tests/cubins.rs` goes on
//! comparing:
//!
//! - `e_flags` hold the architecture: bits 0 to 7 where the header's OS/ABI is 0x33 (ABI version 7), bits
//!   8 to 15 where it is 0x41 (ABI version 8: CUDA 13, and from sm_100 on CUDA 12 too).
//! - `.nv.info` is a row of attributes: a byte for the format, a byte for the attribute, and two that
//!   hold a value, or for format 4 the number of bytes that follow. About functions there are, each
//!   with the symbol's index and a value in 32 bits: 0x2f registers of a thread, 0x11 bytes of the
//!   function's own stack frame, 0x12 bytes of stack with all that it calls (in linked cubins;
//!   0xffffffff where calls recur).
//! - `.nv.info.NAME` holds the same of one kernel: 0x10 the three sizes of a block by `.reqntid`, 0x05
//!   by `.maxntid`, each also by ptxas's options; 0x34 where the branches to a place in a register go: for each its
//!   offset, a 0, the number of targets, and the targets' offsets.
//! - `.text.NAME` is the code. The high byte of its `sh_info` repeats the registers up to sm_89; from sm_90
//!   on it is 0. The rest is the symbol's index.
//! - `.nv.shared.NAME` is as large as the shared memory of a block, of linked cubins from sm_90 on with
//!   the 1024 bytes that the system takes.
//! - Symbols of kernels have bit 4 of `st_other` set; those of device functions do not.
//!
//! No function here panics, whatever the bytes: a part that cannot be read is an error, or left out.

use object::elf::{EM_CUDA, ET_EXEC, FileHeader64, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{LittleEndian, SymbolIndex};
use std::collections::BTreeMap;

/// The kernels of a cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// The architecture: 80 for `sm_80`.
    pub architecture: u32,
    /// The kernels by name.
    pub kernels: BTreeMap<String, Usage>,
}

/// The resources that a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usage {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of stack of a thread: with the functions that it calls if that is known, otherwise its
    /// own frame.
    pub stack: u32,
    /// Bytes of static shared memory of a block, without the bytes that the system takes.
    pub shared: u32,
    /// Threads of the largest block, if the kernel names one.
    pub threads: Option<u32>,
}

/// The header of a cubin.
pub type Header = FileHeader64<LittleEndian>;
type Sections<'b> = SectionTable<'b, Header>;
type Symbols<'b> = SymbolTable<'b, Header>;

/// The order of bytes in a cubin.
pub const ENDIAN: LittleEndian = LittleEndian;

/// Attributes of `.nv.info`.
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;
const STACK: u8 = 0x12;
/// Attributes of `.nv.info.NAME`.
const JUMPS: u8 = 0x34;
const MOST_THREADS: u8 = 0x05;
const ALL_THREADS: u8 = 0x10;

/// The bit of `st_other` that kernels have.
const IS_KERNEL: u8 = 0x10;

/// The stack of functions that call themselves.
const UNBOUNDED: u32 = u32::MAX;

/// Shared memory of a block that the system takes.
const RESERVED: u64 = 1024;

/// Reads a cubin.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn read(bytes: &[u8]) -> Result<Cubin, String> {
    parse(bytes).map_err(|error| error.to_string())
}

/// Whether an ELF file is machine code of a GPU.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn is_for_gpu(bytes: &[u8]) -> Result<bool, String> {
    let header = Header::parse(bytes).and_then(|header| header.endian().map(|_| header));
    header.map(|header| header.e_machine(ENDIAN) == EM_CUDA).map_err(|error| error.to_string())
}

/// Whether bytes begin like an ELF file and do not hold all that its tables name, or are none at all.
pub fn is_cut_off(bytes: &[u8]) -> bool {
    bytes.is_empty() || bytes.starts_with(b"\x7fELF") && !is_whole(bytes).unwrap_or(false)
}

/// Whether all sections and segments lie within the bytes.
fn is_whole(bytes: &[u8]) -> object::read::Result<bool> {
    let header = Header::parse(bytes)?;
    header.endian()?;
    let length = bytes.len() as u64;
    let within = |range: Option<(u64, u64)>| {
        range.is_none_or(|(at, size)| at.checked_add(size).is_some_and(|end| end <= length))
    };
    let mut sections = header.section_headers(ENDIAN, bytes)?.iter();
    let mut segments = header.program_headers(ENDIAN, bytes)?.iter();
    Ok(sections.all(|section| within(section.file_range(ENDIAN)))
        && segments.all(|segment| within(Some(segment.file_range(ENDIAN)))))
}

fn parse(bytes: &[u8]) -> object::read::Result<Cubin> {
    let header = Header::parse(bytes)?;
    // The `Endian` is a constant, which the header has to agree with.
    header.endian()?;
    if header.e_machine(ENDIAN) != EM_CUDA {
        return Ok(Cubin { architecture: 0, kernels: BTreeMap::new() });
    }
    let sections = header.sections(ENDIAN, bytes)?;
    let symbols = sections.symbols(ENDIAN, bytes, SHT_SYMTAB)?;
    let architecture = architecture(header);
    let reserved = match header.e_type(ENDIAN) == ET_EXEC && architecture >= 90 {
        true => RESERVED,
        false => 0,
    };
    let mut functions = functions(bytes, &sections, &symbols)?;
    for section in sections.iter() {
        let name = String::from_utf8_lossy(sections.section_name(ENDIAN, section)?);
        if let Some(function) = of_function(&name, ".nv.info.", &mut functions) {
            for attribute in attributes(section.data(ENDIAN, bytes)?) {
                function.note_block(&attribute);
            }
        } else if let Some(function) = of_function(&name, ".nv.shared.", &mut functions) {
            let size: u64 = section.sh_size(ENDIAN);
            function.shared = size.saturating_sub(reserved);
        } else if let Some(function) = of_function(&name, ".text.", &mut functions) {
            function.repeated = section.sh_info(ENDIAN) >> 24;
        }
    }
    let kernels =
        functions.into_iter().filter_map(|(name, function)| Some((name, function.usage()?)));
    Ok(Cubin { architecture, kernels: kernels.collect() })
}

fn architecture(header: &Header) -> u32 {
    let flags = header.e_flags(ENDIAN).0;
    match header.e_ident().os_abi.0 {
        0x33 => flags & 0xff,
        0x41 => (flags >> 8) & 0xff,
        _ => 0,
    }
}

/// The numbers that the sections hold about one kernel.
#[derive(Default)]
struct Function {
    registers: Option<u32>,
    /// The number of registers if `.text` repeats it; otherwise 0.
    repeated: u32,
    frame: Option<u32>,
    stack: Option<u32>,
    shared: u64,
    required: Option<u32>,
    most: Option<u32>,
}

impl Function {
    fn note_block(&mut self, attribute: &Attribute<'_>) {
        let [x, y, z] = match *attribute.words().as_slice() {
            [x, y, z] => [x, y, z],
            _ => return,
        };
        let threads = x.saturating_mul(y).saturating_mul(z);
        match attribute.number {
            ALL_THREADS => self.required = Some(threads),
            MOST_THREADS => self.most = Some(threads),
            _ => {}
        }
    }

    /// The kernel's usage; `None` if a number is missing or the numbers contradict each other.
    fn usage(self) -> Option<Usage> {
        let registers = self.registers?;
        if self.repeated != 0 && self.repeated != registers {
            return None;
        }
        let with_calls = self.stack.filter(|&stack| stack != UNBOUNDED).unwrap_or(0);
        Some(Usage {
            registers,
            stack: self.frame?.max(with_calls),
            shared: u32::try_from(self.shared).ok()?,
            threads: self.required.or(self.most),
        })
    }
}

/// The kernels by name, with the numbers that `.nv.info` holds about each.
fn functions(
    bytes: &[u8],
    sections: &Sections<'_>,
    symbols: &Symbols<'_>,
) -> object::read::Result<BTreeMap<String, Function>> {
    let mut found: BTreeMap<String, Function> = BTreeMap::new();
    let Some((_, info)) = sections.section_by_name(ENDIAN, b".nv.info") else { return Ok(found) };
    for attribute in attributes(info.data(ENDIAN, bytes)?) {
        let [index, value] = match *attribute.words().as_slice() {
            [index, value] => [index, value],
            _ => continue,
        };
        if !matches!(attribute.number, REGISTERS | FRAME | STACK) {
            continue;
        }
        let symbol = symbols.symbol(SymbolIndex(index as usize))?;
        if !is_kernel(symbol) {
            continue;
        }
        let name = String::from_utf8_lossy(symbols.symbol_name(ENDIAN, symbol)?).into_owned();
        let function = found.entry(name).or_default();
        match attribute.number {
            REGISTERS => function.registers = Some(value),
            FRAME => function.frame = Some(value),
            _ => function.stack = Some(value),
        }
    }
    Ok(found)
}

/// Where branches to a place in a register go, by their offsets, from the bytes of `.nv.info.NAME`.
pub fn jumps(info: &[u8]) -> BTreeMap<u32, Vec<u32>> {
    let mut found = BTreeMap::new();
    for attribute in attributes(info).filter(|attribute| attribute.number == JUMPS) {
        let words = attribute.words();
        let mut rest = words.as_slice();
        while let [offset, _, count, tail @ ..] = rest {
            let Some((targets, tail)) = tail.split_at_checked(*count as usize) else { break };
            found.insert(*offset, targets.to_vec());
            rest = tail;
        }
    }
    found
}

/// Whether a symbol is that of a kernel.
pub fn is_kernel(symbol: &impl Sym) -> bool {
    symbol.st_other().0 & IS_KERNEL != 0
}

fn of_function<'f>(
    section: &str,
    prefix: &str,
    functions: &'f mut BTreeMap<String, Function>,
) -> Option<&'f mut Function> {
    functions.get_mut(section.strip_prefix(prefix)?)
}

/// One attribute of `.nv.info`.
struct Attribute<'b> {
    number: u8,
    value: &'b [u8],
}

impl Attribute<'_> {
    fn words(&self) -> Vec<u32> {
        let word = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).ok();
        self.value.chunks(4).map_while(word).collect()
    }
}

/// The attributes that hold more than two bytes, up to the first byte that makes no sense.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = Attribute<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        loop {
            let (&[format, number, low, high], tail) = rest.split_first_chunk::<4>()?;
            rest = tail;
            if format == 4 {
                let size = usize::from(u16::from_le_bytes([low, high]));
                let (value, tail) = rest.split_at_checked(size)?;
                rest = tail;
                return Some(Attribute { number, value });
            }
        }
    })
}
