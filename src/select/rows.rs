//! Whether a row of taps pays: its loads, and a shuffle for each tap of another lane, against the taps' own
//! loads.
//!
//! In: the loads of one function, and what loads cost. Out: the rows that pay.

use rustc_hash::FxHashSet;

use super::StrategyName;
use super::weighed::{Weighed, Weigher};
use crate::cfg::BlockId;
use crate::cost::{Costs, Request};
use crate::emulate::KernelTrace;
use crate::isa::Qualifier;
use crate::reuse::{Carried, Cell, Form, Limit, Load, Row, Tap};

/// Instructions of the test of the warp and of the branch on it; a few more if indices are checked.
const TEST: u32 = 3;

/// The values of a row are held in registers from its first tap to its last one, and the code between them stands
/// twice. Where that were 519 instructions (`curvilinear`) rows made the simulated kernel 1.27 times as long on a
/// Kepler-like machine, with 142 registers for 114; up to 108 they gained (`openacc-bench/results/strategies.md`).
const MOST_APART: u32 = 128;

/// Rows of elements of two words pay only if they are predicted to take at most this share: three taps of
/// doubles take 1.03 times as long on an H100-like machine where 0.72 is predicted, and 0.54 to 0.66 on V100-like ones
/// where 0.53 is (`openacc-bench/results/strategies.md`).
const SHARE_OF_WIDE: f64 = 0.6;

impl Weigher<'_, '_, '_, '_> {
    /// The rows that are chosen in blocks in which there are some whose lanes hold vectors.
    pub(super) fn broad_rows(
        &mut self,
        trace: &mut KernelTrace,
        loads: &[usize],
        carried: &[Carried],
    ) -> Vec<Row> {
        if !self.options.strategies.allow(StrategyName::Window) {
            return Vec::new();
        }
        let free = self.free_loads(trace, loads, carried);
        let (options, flow) = (self.options, self.opportunities.flow());
        let wanted = |broad: &Form, narrow: &[Form]| {
            let first = &broad.taps[0].load;
            let form = &flow.insts[first.inst as usize].ast.form;
            let request = Request {
                stride: Some(broad.stride),
                bytes: (first.bytes / first.elements.len() as i64) as u32,
                lanes: 32,
                past_l1: form.has(Qualifier::Cg) || form.has(Qualifier::Cv),
            };
            !options.strategies.are_weighed()
                || options.costs.allow_shuffles(&request)
                    && is_better(&options.costs, broad, narrow, &request)
        };
        let rows = self.opportunities.rows(trace, &free, self.limits(), wanted);
        let broad = |row: &&Row| row.taps.iter().any(|tap| row.cells.len() != tap.values.len());
        let blocks: FxHashSet<BlockId> = rows.iter().filter(broad).map(|row| row.block).collect();
        let mut taken = Vec::new();
        self.take(trace, rows.into_iter().filter(|row| blocks.contains(&row.block)), &mut taken);
        taken
    }

    /// Adds the rows that are chosen elsewhere: none in blocks with vector loads, which may stand twice as
    /// well.
    pub(super) fn narrow_rows(
        &mut self,
        trace: &mut KernelTrace,
        loads: &[usize],
        carried: &[Carried],
        taken: &mut Vec<Row>,
    ) {
        if !self.options.strategies.allow(StrategyName::Window) {
            return;
        }
        let mut free = self.free_loads(trace, loads, carried);
        let block = |load: &Load| trace.accesses[load.access].block;
        let in_vector = |load: &&Load| matches!(self.in_vector.get(&load.inst), Some(Ok(_)));
        let others: FxHashSet<BlockId> = free.iter().filter(in_vector).map(block).collect();
        free.retain(|load| {
            let block = block(load);
            !others.contains(&block) && taken.iter().all(|row| row.block != block)
        });
        let rows = self.opportunities.rows(trace, &free, self.limits(), |_, _| false);
        self.take(trace, rows.into_iter(), taken);
    }

    /// The most lanes that a row reaches, and the most instructions from its first tap to its last one.
    fn limits(&self) -> (u32, u32) {
        let apart = match self.options.strategies.are_weighed() {
            true => MOST_APART,
            false => u32::MAX,
        };
        (self.options.max_delta, apart)
    }

    /// The loads that may be in rows: none in blocks with structs, or that get code for values that go round loops.
    fn free_loads(
        &mut self,
        trace: &mut KernelTrace,
        loads: &[usize],
        carried: &[Carried],
    ) -> Vec<Load> {
        let mut legal: Vec<Load> =
            loads.iter().filter_map(|&at| self.opportunities.load(trace, at).ok()).collect();
        let mut with_others = self.blocks_of(carried);
        with_others.extend(&self.with_structs);
        legal.retain(|load| !with_others.contains(&trace.accesses[load.access].block));
        legal
    }

    /// Takes those rows that pay: those of one place, of which some may not, must pay for its test
    /// together.
    fn take(
        &mut self,
        trace: &mut KernelTrace,
        rows: impl Iterator<Item = Row>,
        taken: &mut Vec<Row>,
    ) {
        let rows: Vec<Row> = rows.collect();
        for together in rows.chunk_by(|a, b| a.place == b.place) {
            let weighed: Vec<Weighed> =
                together.iter().map(|row| self.weigh_row(trace, row)).collect();
            let saved: f64 = weighed.iter().map(Weighed::saved).sum();
            let paid =
                saved > self.options.costs.version_cycles || !self.options.strategies.are_weighed();
            for (row, weighed) in together.iter().zip(weighed) {
                if self.replaced + row.taps.len() > self.options.most {
                    continue;
                }
                let weighed = weighed.limited((!paid).then_some(Limit::Test));
                self.take_row(row, weighed, taken);
            }
        }
    }

    /// The cycles of a row, and those of its own loads.
    fn weigh_row(&mut self, trace: &mut KernelTrace, row: &Row) -> Weighed {
        let first = &row.taps[0].load;
        let bytes = (first.bytes / first.elements.len() as i64) as u32;
        let request = Request { bytes, ..self.request(trace, first) };
        let shared = !self.options.costs.allow_shuffles(&request);
        costs(&self.options.costs, row, &request).limited(shared.then_some(Limit::SharedPipe))
    }

    fn take_row(&mut self, row: &Row, weighed: Weighed, taken: &mut Vec<Row>) {
        let paid = match self.options.strategies.are_weighed() {
            false => Ok(()),
            true => {
                // Each tap has a share of the row's cost.
                let members: Vec<u32> = row.taps.iter().map(|tap| tap.load.inst).collect();
                self.pays(StrategyName::Window, &members, weighed.each(row.taps.len()))
            }
        };
        let decided = paid.map(|()| taken.len());
        self.in_row.extend(row.taps.iter().map(|tap| (tap.load.inst, decided)));
        if decided.is_ok() {
            self.replaced += row.taps.len();
            self.in_parts.insert(row.block);
            taken.push(row.clone());
        }
    }
}

/// What a row of taps consists of.
struct Shape<'r> {
    taps: &'r [Tap],
    cells: &'r [Cell],
}

/// The cycles of a row, and those of its own loads, of which `request` is one but for the bytes that a lane
/// reads.
pub(super) fn costs(costs: &Costs, row: &Row, request: &Request) -> Weighed {
    let shape = Shape { taps: &row.taps, cells: &row.cells };
    // (What one index must not be is asked once, however many taps ask it.)
    let mut checked: Vec<_> =
        row.no_wrap.iter().map(|check| (check.register, check.widened)).collect();
    checked.sort_unstable();
    checked.dedup();
    let test = match checked.len() as u32 {
        0 => TEST,
        checks => TEST + 2 * checks + 1,
    };
    let generic = if row.start().load.generic { 3 * row.cells.len() as u32 } else { 0 };
    shape.costs(costs, request, test + generic)
}

/// Whether a form with a vector in each lane takes fewer cycles than one vector load and the loads of other
/// lanes, and than the narrow forms that could stand for it.
pub(super) fn is_better(costs: &Costs, broad: &Form, narrow: &[Form], request: &Request) -> bool {
    let of = |form: &Form| {
        let shape = Shape { taps: &form.taps, cells: &form.cells };
        shape.costs(costs, request, TEST)
    };
    let broad_form = of(broad);
    let saved: f64 = narrow.iter().map(|form| of(form).saved()).sum();
    let own = |tap: &&Tap| tap.values.iter().all(|value| value.distance == 0);
    let inside: f64 = broad.taps.iter().filter(own).map(|tap| load(costs, tap, request)).sum();
    let vector = costs.load(&bytes_of(&broad.cells, request)) + costs.instructions(1);
    let least = (broad_form.kept - saved).min(broad_form.kept - inside + vector);
    broad_form.instead < least && (broad_form.limit.is_none() || broad_form.kept < least)
}

/// The cycles of a tap's own load.
fn load(costs: &Costs, tap: &Tap, request: &Request) -> f64 {
    let bytes = u32::try_from(tap.load.bytes).unwrap_or(u32::MAX);
    costs.load(&Request { bytes, ..*request }) + costs.instructions(1)
}

/// The load of some cells by a warp.
fn bytes_of(cells: &[Cell], request: &Request) -> Request {
    let size = match cells {
        [first, second, ..] => second.offset - first.offset,
        _ => i64::from(request.bytes),
    };
    let bytes = u32::try_from(size * cells.len() as i64).unwrap_or(u32::MAX);
    Request { bytes, ..*request }
}

impl Shape<'_> {
    fn costs(&self, costs: &Costs, request: &Request, test: u32) -> Weighed {
        let kept: f64 = self.taps.iter().map(|tap| load(costs, tap, request)).sum();
        let whole = bytes_of(self.cells, request);
        let mut loads = costs.load(&whole) + costs.instructions(1);
        // (Cells of one number are loaded together; that they lie apart is not seen here.)
        for number in [|cell: &Cell| cell.ahead, |cell: &Cell| cell.behind] {
            let mut numbers: Vec<u32> = self.cells.iter().map(number).filter(|n| *n > 0).collect();
            numbers.sort_unstable();
            for same in numbers.chunk_by(|a, b| a == b) {
                let bytes = whole.bytes / self.cells.len() as u32 * same.len() as u32;
                let beyond = Request { lanes: same[0], bytes, ..*request };
                loads += costs.load(&beyond) + costs.instructions(1);
            }
        }
        // A selection and a shuffle for each word; the index and the bound are shared by all rows.
        let mut moved = 0.0;
        for value in self.taps.iter().flat_map(|tap| &tap.values).filter(|v| v.distance != 0) {
            let words = self.cells[value.cell].register_bits.div_ceil(32);
            moved += costs.shuffle(32 * words) + costs.instructions(2 * words);
        }
        let instead = loads + moved + costs.instructions(test);
        let words = |tap: &Tap| -> u32 {
            tap.values.iter().map(|v| self.cells[v.cell].register_bits.div_ceil(32)).sum()
        };
        let wide = self
            .taps
            .iter()
            .any(|tap| words(tap) > 1 && tap.values.iter().any(|value| value.distance != 0));
        let limit = (wide && instead > kept * SHARE_OF_WIDE)
            .then_some(Limit::WideShare((100.0 * SHARE_OF_WIDE) as u32));
        Weighed::new(instead, kept).limited(limit)
    }
}
