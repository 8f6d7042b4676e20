//! What is chosen for a function as a whole.
//!
//! In: the loads in program order, every legal replacement, and the costs of the architecture. Out: the verdicts
//! about the loads, and the groups in which some are replaced: with rows, or without where that is predicted
//! to save more.

use rustc_hash::{FxHashMap, FxHashSet};

use super::weighed::Weigher;
use super::{Options, Price, StoreFinding, StrategyName, Verdict};
use crate::emulate::KernelTrace;
use crate::reuse::{Adjacent, Carried, Opportunities, Row, StructLoads};

/// The verdict about each of some loads, which come in program order, the vector loads, and the rows. Where
/// there are rows and it is weighed, what is chosen is compared with what would be chosen without them: a
/// row takes loads that could also be replaced one by one, and keeps others from being sources.
pub(super) fn verdicts(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[usize],
    options: &Options,
) -> (Vec<Verdict>, Groups) {
    let with_rows = options.strategies.allow(StrategyName::Window);
    let (verdicts, groups) = plan(opportunities, trace, loads, options, with_rows);
    if groups.rows.is_empty()
        || !options.strategies.are_weighed()
        || !options.strategies.allow(StrategyName::Paper)
    {
        return (verdicts, groups);
    }
    opportunities.take_back_offers();
    let (others, without) = plan(opportunities, trace, loads, options, false);
    let saved =
        |verdicts: &[Verdict], groups: &Groups| groups.saved(trace, loads, verdicts, options);
    match saved(&verdicts, &groups) >= saved(&others, &without) {
        true => (verdicts, groups),
        false => (others, without),
    }
}

fn plan(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[usize],
    options: &Options,
    with_rows: bool,
) -> (Vec<Verdict>, Groups) {
    let mut weigher = Weigher {
        opportunities,
        options,
        replaced: 0,
        in_vector: FxHashMap::default(),
        in_ring: FxHashMap::default(),
        passed_on: FxHashSet::default(),
        not_in_ring: FxHashMap::default(),
        in_row: FxHashMap::default(),
        in_struct: FxHashMap::default(),
        with_structs: FxHashSet::default(),
        in_parts: FxHashSet::default(),
        prices: FxHashMap::default(),
    };
    let carried = weigher.carried(trace, loads);
    let structs = weigher.structs(trace, loads, &carried);
    let stores = weigher.struct_stores(trace, &carried);
    // Rows whose lanes hold vectors come first: they have the vectors in them.
    let mut rows = match with_rows {
        true => weigher.broad_rows(trace, loads, &carried),
        false => Vec::new(),
    };
    let vectors = weigher.vectors(trace, loads);
    if with_rows {
        weigher.narrow_rows(trace, loads, &carried, &mut rows);
    }
    let mut verdicts: Vec<Verdict> =
        loads.iter().map(|&index| weigher.verdict(trace, index)).collect();
    weigher.asked(trace, loads, &mut verdicts);
    (verdicts, Groups { vectors, carried, rows, structs, stores, prices: weigher.prices })
}

/// Replacements that serve several loads at once, or a load in several iterations.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub vectors: Vec<Adjacent>,
    pub carried: Vec<Carried>,
    pub rows: Vec<Row>,
    pub structs: Vec<StructLoads>,
    pub stores: Vec<StoreFinding>,
    /// By instruction, what was weighed for the replacement that is chosen.
    pub prices: FxHashMap<u32, Price>,
}

impl Groups {
    /// The cycles that all that is chosen is predicted to save a warp.
    fn saved(
        &self,
        trace: &KernelTrace,
        loads: &[usize],
        verdicts: &[Verdict],
        options: &Options,
    ) -> f64 {
        let mut vectors = FxHashSet::default();
        let mut saved = 0.0;
        for (&index, verdict) in loads.iter().zip(verdicts) {
            let counts = match verdict {
                Verdict::Kept(_) => false,
                // A vector load is weighed against all that it stands for.
                Verdict::Wide(group) => vectors.insert(*group),
                Verdict::Covered(..)
                | Verdict::Carried(_)
                | Verdict::Window(_)
                | Verdict::Aos(_) => true,
            };
            let price = self.prices.get(&trace.accesses[index].inst);
            if let Some(price) = price.filter(|_| counts) {
                saved += (f64::from(price.kept) - f64::from(price.instead)) / 100.0;
            }
        }
        let places: FxHashSet<u32> = self.rows.iter().map(|row| row.place).collect();
        saved - places.len() as f64 * options.costs.version_cycles
    }
}
