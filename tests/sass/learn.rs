//! Opcodes that the tables lack, with their register operands, from code whose disassembly is known.

use std::cmp::Reverse;
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
    instances: BTreeSet<Instance>,
}

/// An instruction: the register in each place, and the registers that are printed.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Instance {
    held: BTreeMap<Operand, u8>,
    printed: BTreeSet<(bool, u8)>,
}

impl Instance {
    /// Whether an operand is one of the instruction's, or reads as 0 there.
    fn agrees(&self, operand: Operand) -> bool {
        let held = self.held.get(&operand);
        held.is_none_or(|number| self.printed.contains(&(operand.uniform, *number)))
    }

    /// The registers that are printed and stand in none of these places.
    fn left(&self, operands: &BTreeSet<Operand>) -> BTreeSet<(bool, u8)> {
        let held = operands.iter().filter_map(|at| Some((at.uniform, *self.held.get(at)?)));
        let held: BTreeSet<(bool, u8)> = held.collect();
        self.printed.difference(&held).copied().collect()
    }
}

impl Seen {
    /// The operands that explain every instruction: those that are known already and those of other generations, as
    /// far as no instruction contradicts them, then those that explain the most of the rest. (A register may stand
    /// in another place by chance.) A place holds a register of one kind.
    fn operands(
        &self,
        known: &BTreeSet<Operand>,
        elsewhere: &BTreeSet<Operand>,
    ) -> BTreeSet<Operand> {
        let agrees = |operand: &Operand| self.instances.iter().all(|seen| seen.agrees(*operand));
        let is_free = |found: &BTreeSet<Operand>, operand: &Operand| {
            found.iter().all(|other| other.slot != operand.slot)
        };
        let mut found: BTreeSet<Operand> = known.iter().copied().filter(agrees).collect();
        for operand in elsewhere.iter().filter(|operand| agrees(operand)) {
            if is_free(&found, operand) {
                found.insert(*operand);
            }
        }
        let mut left: Vec<(&Instance, BTreeSet<(bool, u8)>)> =
            self.instances.iter().map(|seen| (seen, BTreeSet::new())).collect();
        loop {
            left.retain_mut(|(seen, left)| {
                *left = seen.left(&found);
                !left.is_empty()
            });
            let explained = |operand: &Operand| {
                let explains = |(seen, left): &&(&Instance, BTreeSet<(bool, u8)>)| {
                    let number = seen.held.get(operand);
                    number.is_some_and(|number| left.contains(&(operand.uniform, *number)))
                };
                left.iter().filter(explains).count()
            };
            let open = places().filter(|operand| is_free(&found, operand));
            let open = open.map(|operand| (explained(&operand), operand));
            let open = open.filter(|(count, operand)| *count > 0 && agrees(operand));
            // (Of several the first place.)
            let Some((_, best)) = open.max_by_key(|(count, at)| (*count, Reverse(*at))) else {
                break;
            };
            found.insert(best);
        }
        found
    }
}

/// The opcodes of each generation.
#[derive(Default)]
pub struct Learnt(BTreeMap<(u32, u16), Seen>);

fn places() -> impl Iterator<Item = Operand> {
    let both = |slot| [false, true].map(|uniform| Operand { slot, uniform });
    Slot::ALL.into_iter().flat_map(both)
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
                instances: BTreeSet::new(),
            });
            assert_eq!(seen.mnemonic, line.mnemonic, "one opcode, two names: {}", line.text);
            let number = |at: Operand| Some((at, instruction.operand(at, architecture)?));
            let held = places().filter_map(number).collect();
            seen.instances.insert(Instance { held, printed: line.registers.clone() });
        }
    }

    /// Adds those that the tables lack, and the operands that code contradicts or shows. An opcode that an older and
    /// a newer generation agree about is one of the generations between, too.
    pub fn write(&self, folder: &Path) {
        let path = |generation: u32| folder.join(format!("sm_{generation}.txt"));
        let mut tables: Vec<(u32, Table)> = GENERATIONS
            .iter()
            .map(|&first| (first, Table::read(&std::fs::read_to_string(path(first)).unwrap())))
            .collect();
        let mut operands: BTreeMap<(u16, String), BTreeSet<Operand>> = BTreeMap::new();
        for (opcode, row) in tables.iter().flat_map(|(_, table)| &table.rows) {
            let all = operands.entry((*opcode, row.mnemonic.clone())).or_default();
            all.extend(row.operands.iter().copied());
        }
        for (&(generation, opcode), seen) in &self.0 {
            let (_, table) = tables.iter_mut().find(|(first, _)| *first == generation).unwrap();
            let row = table.rows.entry(opcode).or_insert_with(|| Row {
                mnemonic: seen.mnemonic.clone(),
                operands: BTreeSet::new(),
                source: format!("sm_{}", seen.architecture),
            });
            let elsewhere = operands.entry((opcode, seen.mnemonic.clone())).or_default();
            row.operands = seen.operands(&row.operands, elsewhere);
            elsewhere.extend(row.operands.iter().copied());
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
    let named = |Operand { slot, uniform }: &Operand| {
        format!("{}{slot:?}", if *uniform { "u" } else { "" }) == word
    };
    places().find(named).unwrap()
}
