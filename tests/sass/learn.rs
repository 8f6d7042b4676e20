//! Opcodes that the tables lack, with their register operands, from code whose disassembly is known.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use super::disassembly::Listing;
use ptxasw::sass::encoding::{Instruction, Operand, Slot};
use ptxasw::sass::opcodes::Opcodes;

/// The known properties of an opcode.
struct Seen {
    mnemonic: String,
    /// The architecture whose code shows it.
    architecture: u32,
    /// For each place that may hold a register: how often it has held a register that is printed, and whether it
    /// has never held another one.
    places: Vec<(Operand, usize, bool)>,
}

/// The opcodes of each generation.
#[derive(Default)]
pub struct Learnt(BTreeMap<(u32, u16), Seen>);

fn places() -> Vec<(Operand, usize, bool)> {
    let both = |slot| [false, true].map(|uniform| (Operand { slot, uniform }, 0, true));
    Slot::ALL.into_iter().flat_map(both).collect()
}

impl Learnt {
    /// Notes the instructions of a function.
    pub fn note(&mut self, architecture: u32, code: &[Instruction], lines: &Listing) {
        let generation = Opcodes::generation(architecture).unwrap();
        for &instruction in code {
            let Some(line) = lines.get(&instruction.offset) else { continue };
            let seen = self.0.entry((generation, instruction.opcode())).or_insert_with(|| Seen {
                mnemonic: line.mnemonic.clone(),
                architecture,
                places: places(),
            });
            assert_eq!(seen.mnemonic, line.mnemonic, "one opcode, two names: {}", line.text);
            for (operand, held, always) in &mut seen.places {
                if let Some(number) = instruction.operand(*operand, architecture) {
                    let printed = line.registers.contains(&(operand.uniform, number));
                    *held += usize::from(printed);
                    *always &= printed;
                }
            }
        }
    }

    /// Adds those that the tables lack. An operand that was 0 wherever one generation was looked at, and is seen in
    /// another one, is one of both. An opcode that an older and a newer generation
    /// agree about is one of the generations between, too.
    pub fn write(&self, folder: &Path) {
        let path = |generation: u32| folder.join(format!("sm_{generation}.txt"));
        let mut tables: Vec<(u32, Table)> = GENERATIONS
            .iter()
            .map(|&first| (first, Table::read(&std::fs::read_to_string(path(first)).unwrap())))
            .collect();
        for (&(generation, opcode), seen) in &self.0 {
            let (_, table) = tables.iter_mut().find(|(first, _)| *first == generation).unwrap();
            let row = table.rows.entry(opcode).or_insert_with(|| Row {
                mnemonic: seen.mnemonic.clone(),
                operands: BTreeSet::new(),
                source: format!("sm_{}", seen.architecture),
            });
            let held = seen.places.iter().filter(|(_, held, always)| *always && *held > 0);
            row.operands.extend(held.map(|(operand, ..)| *operand));
        }
        let mut operands: BTreeMap<(u16, String), BTreeSet<Operand>> = BTreeMap::new();
        for (opcode, row) in tables.iter().flat_map(|(_, table)| &table.rows) {
            let all = operands.entry((*opcode, row.mnemonic.clone())).or_default();
            all.extend(row.operands.iter().copied());
        }
        for (&(generation, opcode), seen) in &self.0 {
            let (_, table) = tables.iter_mut().find(|(first, _)| *first == generation).unwrap();
            let Some(row) = table.rows.get_mut(&opcode) else { continue };
            let elsewhere = &operands[&(opcode, row.mnemonic.clone())];
            let open = seen.places.iter().filter(|(_, held, always)| *always && *held == 0);
            let open = open.map(|(operand, ..)| *operand);
            row.operands.extend(open.filter(|operand| elsewhere.contains(operand)));
            // What was the number of a register by chance before.
            let wrong = seen.places.iter().filter(|(.., always)| !*always);
            wrong.for_each(|(operand, ..)| {
                row.operands.remove(operand);
            });
        }
        for at in 0..tables.len() {
            for (opcode, mnemonic) in operands.keys() {
                let named = |(_, table): &(u32, Table)| {
                    table.rows.get(opcode).filter(|row| row.mnemonic == *mnemonic).cloned()
                };
                let older = tables[..at].iter().rev().find_map(named);
                let newer = tables[at + 1..].iter().find_map(named);
                if let (Some(older), Some(newer)) = (older, newer) {
                    let source = format!("{}, {}", older.source, newer.source);
                    let row = Row { source, ..older };
                    tables[at].1.rows.entry(*opcode).or_insert(row);
                }
            }
        }
        for (generation, table) in tables {
            std::fs::write(path(generation), table.text()).unwrap();
        }
    }
}

/// The first compute capability of each generation.
const GENERATIONS: [u32; 6] = [70, 75, 80, 90, 100, 120];

/// A line of a table.
#[derive(Clone)]
struct Row {
    mnemonic: String,
    operands: BTreeSet<Operand>,
    source: String,
}

/// The table of a generation.
struct Table {
    head: String,
    rows: BTreeMap<u16, Row>,
}

impl Table {
    fn read(text: &str) -> Table {
        let (head, rows): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with('#'));
        let row = |line: &&str| {
            let (known, source) = line.split_once(" # ").unwrap();
            let mut words = known.split(' ');
            let opcode = words.next().unwrap().strip_prefix("0x").unwrap();
            let opcode = u16::from_str_radix(opcode, 16).unwrap();
            let mnemonic = words.next().unwrap().to_owned();
            let operands = words.map(operand).collect();
            (opcode, Row { mnemonic, operands, source: source.to_owned() })
        };
        Table { head: head.join("\n"), rows: rows.iter().map(row).collect() }
    }

    fn text(&self) -> String {
        let mut text = self.head.clone() + "\n";
        for (opcode, Row { mnemonic, operands, source }) in &self.rows {
            write!(text, "{opcode:#05x} {mnemonic}").unwrap();
            for Operand { slot, uniform } in operands {
                write!(text, " {}{slot:?}", if *uniform { "u" } else { "" }).unwrap();
            }
            writeln!(text, " # {source}").unwrap();
        }
        text
    }
}

fn operand(word: &str) -> Operand {
    let named = |(operand, ..): &(Operand, usize, bool)| {
        let Operand { slot, uniform } = operand;
        format!("{}{slot:?}", if *uniform { "u" } else { "" }) == word
    };
    places().iter().find(|place| named(place)).unwrap().0
}
