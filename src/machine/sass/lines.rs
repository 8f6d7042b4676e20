//! The source lines of machine code: the line programs that `-lineinfo` puts into cubins.
//!
//! `.debug_line` names lines of the source where the PTX has `.loc` directives; `.nv_debug_line_sass` names
//! lines of the PTX. Both are DWARF line programs (version 2) with an operation of NVIDIA's for inlined calls, which is
//! skipped: the line is that of the innermost function.

use std::collections::BTreeMap;

use gimli::{DebugLine, DebugLineOffset, EndianSlice};
use object::elf::{Rela64, SHT_SYMTAB, SectionHeader64};
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, Sym};
use object::{LittleEndian, SymbolIndex};

use super::cubin::{ENDIAN, Header};

/// A place in a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The file, as the compiler wrote it; empty for the PTX itself.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

/// The source lines of the functions of a cubin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lines {
    /// For each function the offsets where another line begins.
    functions: BTreeMap<String, BTreeMap<u32, Option<Line>>>,
}

type Section = SectionHeader64<LittleEndian>;

/// The bytes of a relocated address in a line program.
const ADDRESS: usize = 8;

impl Lines {
    /// Those of the source, or of the PTX where the source's are not known. Unreadable entries are left out.
    pub fn of(bytes: &[u8]) -> Lines {
        let of = |section| read(bytes, section).unwrap_or_default();
        match of(".debug_line") {
            lines if lines.functions.is_empty() => of(".nv_debug_line_sass"),
            lines => lines,
        }
    }

    /// The line of the instruction at an offset of a function.
    pub fn at(&self, function: &str, offset: u32) -> Option<&Line> {
        let (_, line) = self.functions.get(function)?.range(..=offset).next_back()?;
        line.as_ref()
    }
}

fn read(bytes: &[u8], wanted: &str) -> Option<Lines> {
    let header = Header::parse(bytes).ok()?;
    let sections = header.sections(ENDIAN, bytes).ok()?;
    let symbols = sections.symbols(ENDIAN, bytes, SHT_SYMTAB).ok()?;
    let (index, section) = sections.section_by_name(ENDIAN, wanted.as_bytes())?;
    let mut program = section.data(ENDIAN, bytes).ok()?.to_vec();
    // Each address is that of a function's section: its number goes into the upper half.
    for relocations in sections.iter().filter(|other| other.info_link(ENDIAN) == index) {
        for (offset, symbol, addend) in places(relocations, bytes) {
            let symbol = symbols.symbol(symbol?).ok()?;
            let at = usize::try_from(offset).ok()?;
            let place = program.get_mut(at..at.checked_add(ADDRESS)?)?;
            let here = u64::from_le_bytes(place.try_into().ok()?);
            let section = u64::from(symbol.st_shndx(ENDIAN).0);
            let address = symbol.st_value(ENDIAN).wrapping_add(addend.unwrap_or(here));
            place.copy_from_slice(&(section << 32 | address & u64::from(u32::MAX)).to_le_bytes());
        }
    }
    let name = |section: u64| {
        let section = sections.section(object::SectionIndex(section as usize)).ok()?;
        let name = sections.section_name(ENDIAN, section).ok()?.strip_prefix(b".text.")?;
        Some(String::from_utf8_lossy(name).into_owned())
    };
    let debug = DebugLine::new(&program, gimli::LittleEndian);
    let mut found = Lines::default();
    let mut at = 0;
    while at < program.len() {
        let unit = debug.program(DebugLineOffset(at), ADDRESS as u8, None, None).ok()?;
        let (mut files, length) = (Vec::new(), unit.header().unit_length());
        for file in unit.header().file_names() {
            files.push(text(file.path_name()));
        }
        let mut rows = unit.rows();
        while let Ok(Some((_, row))) = rows.next_row() {
            let Some(function) = name(row.address() >> 32) else { continue };
            let file = usize::try_from(row.file_index()).ok().and_then(|file| file.checked_sub(1));
            let file = file.and_then(|file| files.get(file)).cloned().unwrap_or_default();
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let line = line.filter(|_| !row.end_sequence()).map(|line| Line { file, line });
            let lines = found.functions.entry(function).or_default();
            lines.insert(row.address() as u32, line);
        }
        // (The length's own four bytes come in front.)
        at += length + 4;
    }
    Some(found)
}

/// The relocations of a section: the place, the symbol, and the addend, unless it stands in the place.
fn places(section: &Section, bytes: &[u8]) -> Vec<(u64, Option<SymbolIndex>, Option<u64>)> {
    if let Ok(Some((entries, _))) = section.rela(ENDIAN, bytes) {
        let place = |entry: &Rela64<LittleEndian>| {
            let addend = entry.r_addend(ENDIAN).cast_unsigned();
            (entry.r_offset(ENDIAN), entry.symbol(ENDIAN, false), Some(addend))
        };
        return entries.iter().map(place).collect();
    }
    match section.rel(ENDIAN, bytes) {
        Ok(Some((entries, _))) => {
            entries.iter().map(|it| (it.r_offset(ENDIAN), it.symbol(ENDIAN), None)).collect()
        }
        _ => Vec::new(),
    }
}

fn text(value: gimli::AttributeValue<EndianSlice<'_, gimli::LittleEndian>>) -> String {
    match value {
        gimli::AttributeValue::String(text) => text.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}
