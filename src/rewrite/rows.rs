//! The part of a plan for rows of taps: their text, and which statements stand twice.

use std::ops::Range;

use super::plan::{Condition, Planner, Version, line_end};
use super::taps::{WarpTest, Window, WindowTap};
use crate::planted::Bug;
use crate::reuse::{Element, Row};
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
            let window = self.window(row);
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
                }
                _ => {
                    let test = WarpTest {
                        block: row.block,
                        place: row.place,
                        no_wrap: row.no_wrap.clone(),
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

    fn window(&self, row: &Row) -> Window {
        let first = &row.taps[0].load;
        let (base, offset) = self.address(first.inst);
        let by_offset = |elements: &[Element]| {
            let mut elements = elements.to_vec();
            elements.sort_by_key(|element| element.offset);
            elements
        };
        let taps = row.taps.iter().map(|tap| WindowTap {
            span: self.flow.insts[tap.load.inst as usize].ast.span.range(),
            registers: by_offset(&tap.load.elements)
                .iter()
                .map(|element| self.name(element.register))
                .collect(),
            distance: tap.distance,
        });
        let lanes = 32 - i64::from(self.plan.planted.has(Bug::RowEnd));
        Window {
            opcode: self.flow.insts[first.inst as usize].ast.opcode.text.to_owned(),
            address: (base, offset + row.offset),
            beyond: lanes * row.stride,
            span: row.span,
            widths: by_offset(&first.elements).iter().map(|e| e.register_bits).collect(),
            taps: taps.collect(),
            place: row.place,
            linear_lanes: row.linear_lanes,
        }
    }
}
