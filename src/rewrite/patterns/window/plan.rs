//! The part of a plan for rows of taps: their text, and the multiversioned statements.

use super::rows::StencilGroup;
use super::shape::{Cell, Value};
use std::ops::Range;

use super::emit;
use super::taps::{Beyond, Window, WindowTap, WindowValue};
use crate::cfg::InstId;
use crate::isa::Qualifier;
use crate::patterns::text::without_type;
use crate::reuse::Element;
use crate::rewrite::{Checks, Draft, KernelPlan, Mode, Part, Planner, WarpTest};

/// The rows of one function.
#[derive(Debug)]
struct Windows(Vec<Window>);

impl Part for Windows {
    fn linear_lanes(&self, _mode: Mode) -> bool {
        self.0.iter().any(|window| window.linear_lanes)
    }

    fn needs_order(&self, place: InstId) -> bool {
        self.0.iter().any(|window| window.place == place && window.needs_order())
    }

    fn left_out(&self) -> Vec<Range<usize>> {
        let taps = self.0.iter().flat_map(|window| &window.taps);
        let from_others = |tap: &&WindowTap| tap.values.iter().any(|value| value.distance != 0);
        taps.filter(from_others).map(|tap| tap.span.clone()).collect()
    }

    fn edits(
        &self,
        _plan: &KernelPlan<'_>,
        checks: &mut Checks<'_>,
        _mode: Mode,
        edits: &mut Vec<Draft>,
    ) {
        for window in &self.0 {
            emit::replace(window, checks, edits);
        }
    }
}

/// Plans rows that have been chosen.
pub(super) fn plan(
    rows: &[&StencilGroup],
    planner: &mut Planner<'_, '_, '_, '_>,
) -> Option<Box<dyn Part>> {
    let (windows, global): (Vec<_>, Vec<_>) = rows.iter().map(|row| window(planner, row)).unzip();
    planner.add_warp_tests(rows.iter().zip(global).map(|(row, global)| {
        let last = row.taps.last().map_or(row.place, |tap| tap.load.inst);
        let (no_wrap, multiples) = (row.no_wrap.clone(), row.multiples.to_vec());
        let (block, place) = (row.block, row.place);
        (last, WarpTest { block, place, no_wrap, multiples, global })
    }));
    (!windows.is_empty()).then(|| Box::new(Windows(windows)) as Box<dyn Part>)
}

/// A row's code, and the addresses that have to be global for it.
fn window(planner: &Planner<'_, '_, '_, '_>, row: &StencilGroup) -> (Window, Vec<(String, i64)>) {
    let first = &row.taps[0].load;
    let inst = &planner.flow.insts[first.inst];
    let (kind, ty) = (without_type(inst.ast.opcode.text), first.elements[0].ty);
    let opcode = |cells: usize| match cells {
        1 => format!("{kind}{ty}"),
        several => format!("{kind}.v{several}{ty}"),
    };
    let (base, offset) = planner.address_behind(first.inst, row.offset);
    let lanes = 32 - i64::from(planted!(Bug::RowEnd));
    let mut beyond = Vec::new();
    for (cells, count) in alike(&row.cells, |cell| cell.ahead) {
        let bytes = lanes * row.stride + row.cells[cells.start].offset;
        let opcode = opcode(cells.len());
        beyond.push(Beyond { opcode, bytes, cells, lanes: count as i32 });
    }
    let before = match planted!(Bug::RowBefore) {
        true => 31,
        false => 32,
    };
    for (cells, count) in alike(&row.cells, |cell| cell.behind) {
        let bytes = row.cells[cells.start].offset - before * row.stride;
        let opcode = opcode(cells.len());
        beyond.push(Beyond { opcode, bytes, cells, lanes: -(count as i32) });
    }
    let mut global = Vec::new();
    if first.generic && !planted!(Bug::RowNotGlobal) {
        let own = row.cells.iter().map(|cell| cell.offset);
        let others = beyond.iter().flat_map(|one| {
            let from = row.cells[one.cells.start].offset;
            row.cells[one.cells.clone()].iter().map(move |cell| one.bytes + cell.offset - from)
        });
        global.extend(own.chain(others).map(|bytes| (base.clone(), offset.wrapping_add(bytes))));
    }
    let wrong = usize::from(planted!(Bug::RowOtherCell));
    let value = |(value, element): (&Value, &Element)| WindowValue {
        register: planner.name(element.register),
        cell: (value.cell + wrong) % row.cells.len(),
        distance: value.distance,
    };
    let taps = row.taps.iter().map(|tap| WindowTap {
        span: planner.flow.insts[tap.load.inst].ast.span.range(),
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
