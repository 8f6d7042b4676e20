//! The part of a plan for rows of taps: their text, and which statements stand twice.

use std::ops::Range;

use super::plan::{Condition, Planner, Version, line_end};
use super::taps::{Beyond, WarpTest, Window, WindowTap, WindowValue};
use super::vectors::without_type;
use crate::isa::Qualifier;
use crate::planted::Bug;
use crate::reuse::{Cell, Element, Row, Value};
use crate::select::{Choice, Verdict};

impl Planner<'_, '_, '_, '_> {
    /// Plans the rows that have been chosen.
    pub(super) fn rows(&mut self, choice: &Choice) {
        let wanted = choice.chosen(|verdict| match verdict {
            Verdict::Window(row) => Some(*row),
            _ => None,
        });
        // Rows tested for at one place follow each other.
        let mut open: Option<(Range<u32>, WarpTest)> = None;
        for at in wanted {
            let row = &choice.rows[at];
            let (window, global) = self.window(row);
            self.plan.windows.push(window);
            for check in &row.no_wrap {
                let name = self.name(check.register);
                self.plan.registers.insert(check.register, name);
            }
            let last = row.taps.last().map_or(row.place, |tap| tap.load.inst);
            match &mut open {
                Some((range, test)) if range.start == row.place => {
                    range.end = range.end.max(last + 1);
                    test.no_wrap.extend(&row.no_wrap);
                    test.multiples.extend(row.multiples.iter().cloned());
                    test.global.extend(global);
                }
                _ => {
                    let test = WarpTest {
                        block: row.block,
                        place: row.place,
                        no_wrap: row.no_wrap.clone(),
                        multiples: row.multiples.to_vec(),
                        global,
                    };
                    let before = open.replace((row.place..last + 1, test));
                    self.add_version(before);
                }
            }
        }
        self.add_version(open);
    }

    pub(super) fn add_version(&mut self, found: Option<(Range<u32>, WarpTest)>) {
        let Some((range, test)) = found else { return };
        let span = |inst: u32| self.flow.insts[inst as usize].ast.span.range();
        let end = span(range.end - 1).end;
        self.plan.versions.push(Version {
            range: span(range.start).start..end,
            behind: line_end(self.source.text(), end),
            condition: Condition::Warp(test),
        });
    }

    /// A row's code, and the addresses that have to be global for it.
    fn window(&self, row: &Row) -> (Window, Vec<(String, i64)>) {
        let first = &row.taps[0].load;
        let inst = &self.flow.insts[first.inst as usize];
        let (kind, ty) = (without_type(inst.ast.opcode.text), first.elements[0].ty);
        let opcode = |cells: usize| match cells {
            1 => format!("{kind}{ty}"),
            several => format!("{kind}.v{several}{ty}"),
        };
        let (base, offset) = self.address(first.inst);
        let offset = offset + row.offset;
        let lanes = 32 - i64::from(self.plan.planted.has(Bug::RowEnd));
        let mut beyond = Vec::new();
        for (cells, count) in alike(&row.cells, |cell| cell.ahead) {
            let bytes = lanes * row.stride + row.cells[cells.start].offset;
            let opcode = opcode(cells.len());
            beyond.push(Beyond { opcode, bytes, cells, lanes: count as i32 });
        }
        let before = match self.plan.planted.has(Bug::RowBefore) {
            true => 31,
            false => 32,
        };
        for (cells, count) in alike(&row.cells, |cell| cell.behind) {
            let bytes = row.cells[cells.start].offset - before * row.stride;
            let opcode = opcode(cells.len());
            beyond.push(Beyond { opcode, bytes, cells, lanes: -(count as i32) });
        }
        let mut global = Vec::new();
        if first.generic && !self.plan.planted.has(Bug::RowNotGlobal) {
            let own = row.cells.iter().map(|cell| cell.offset);
            let others = beyond.iter().flat_map(|one| {
                let from = row.cells[one.cells.start].offset;
                row.cells[one.cells.clone()].iter().map(move |cell| one.bytes + cell.offset - from)
            });
            global.extend(own.chain(others).map(|bytes| (base.clone(), offset + bytes)));
        }
        let wrong = usize::from(self.plan.planted.has(Bug::RowOtherCell));
        let value = |(value, element): (&Value, &Element)| WindowValue {
            register: self.name(element.register),
            cell: (value.cell + wrong) % row.cells.len(),
            distance: value.distance,
        };
        let taps = row.taps.iter().map(|tap| WindowTap {
            span: self.flow.insts[tap.load.inst as usize].ast.span.range(),
            values: tap.values.iter().zip(&tap.load.elements).map(value).collect(),
        });
        let window = Window {
            opcode: opcode(row.cells.len()),
            address: (base, offset),
            widths: row.cells.iter().map(|cell| cell.register_bits).collect(),
            beyond,
            taps: taps.collect(),
            place: row.place,
            linear_lanes: row.linear_lanes,
            read_only: inst.ast.form.has(Qualifier::Nc),
        };
        (window, global)
    }
}

/// The cells for which one load can stand, with the number that they have in common: as many as are
/// aligned together; those of number 0 need none.
fn alike(cells: &[Cell], number: impl Fn(&Cell) -> u32 + Copy) -> Vec<(Range<usize>, u32)> {
    fn add(range: Range<usize>, numbers: &[u32], found: &mut Vec<(Range<usize>, u32)>) {
        let first = numbers[range.start];
        if numbers[range.clone()].iter().all(|number| *number == first) {
            if first > 0 {
                found.push((range, first));
            }
            return;
        }
        let middle = range.start + range.len() / 2;
        add(range.start..middle, numbers, found);
        add(middle..range.end, numbers, found);
    }
    let numbers: Vec<u32> = cells.iter().map(number).collect();
    let mut found = Vec::new();
    if !numbers.is_empty() {
        add(0..numbers.len(), &numbers, &mut found);
    }
    found
}
