//! What `cfg` says about a text: where lanes may meet, and which loops' iterations come apart.

use std::collections::{BTreeMap, BTreeSet};

use ptxasw::cfg::{self, BlockId, InstId, LoopId, meeting_places};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

use crate::graph::kernel;

/// Facts by the numbers and lines of the text's own blocks.
pub struct Belief {
    /// For each line with a branch, the blocks where its lanes may meet; none where that is anywhere.
    places: BTreeMap<usize, Option<BTreeSet<kernel::BlockId>>>,
    /// For each block that is a loop's header, the lines of branches that take the loop apart.
    apart: BTreeMap<kernel::BlockId, Vec<Told>>,
    /// Blocks that are a natural loop's header.
    headers: BTreeSet<kernel::BlockId>,
}

/// Why a loop's iterations may come apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Told {
    /// By the branch that was asked about.
    ThisBranch,
    /// By another one.
    Branch(usize),
    /// Whatever branches do, or because it is not a natural loop.
    Anyway,
}

impl Belief {
    /// The result of the analysis for a text.
    pub fn new(text: &str) -> Result<Belief, String> {
        let source = SourceFile::new("graph.ptx", text);
        let module = ptx::parse(&source, Depth::All).map_err(|e| e.to_string())?;
        let function = module.functions().next().ok_or("no kernel")?;
        let flow = cfg::build(&source, function).map_err(|e| e.to_string())?;
        let line = |inst: InstId| source.line(flow.insts[inst].ast.span.start) as usize;
        let labels: Vec<(usize, kernel::BlockId)> = text
            .lines()
            .enumerate()
            .filter_map(|(index, line)| {
                let number = line.strip_prefix("$B")?.strip_suffix(':')?;
                Some((index + 1, number.parse().ok()?))
            })
            .collect();
        // The text's block that a block of the graph begins.
        let begins = |id: BlockId| {
            let block = flow.block(id);
            let first = line(block.first);
            let (label, number) = labels.iter().rev().find(|(label, _)| *label < first)?;
            let earlier = (block.first > InstId(0)).then(|| line(block.first.before()));
            earlier.is_none_or(|earlier| earlier < *label).then_some(*number)
        };
        let last = |id: BlockId| line(flow.block(id).end.before());
        let mut belief =
            Belief { places: BTreeMap::new(), apart: BTreeMap::new(), headers: BTreeSet::new() };
        for id in flow.block_ids().filter(|&id| flow.block(id).successors.len() > 1) {
            let places = meeting_places(&flow, id);
            let places = places.map(|places| places.into_iter().filter_map(begins).collect());
            belief.places.insert(last(id), places);
        }
        for (index, lp) in flow.loops.loops.iter().enumerate() {
            let Some(header) = begins(lp.header) else { continue };
            belief.headers.insert(header);
            let of = LoopId(index as u32);
            let told = flow.temporal_divergence.iter().filter(|apart| apart.of == of);
            let told =
                told.map(|apart| apart.branch.map_or(Told::Anyway, |id| Told::Branch(last(id))));
            belief.apart.insert(header, told.collect());
        }
        Ok(belief)
    }

    /// Whether the lanes of the branch in a line may meet at a block.
    pub fn is_meeting_place(&self, line: usize, at: kernel::BlockId) -> bool {
        match self.places.get(&line) {
            Some(Some(places)) => places.contains(&at),
            _ => true,
        }
    }

    /// Why lanes that part in a line may meet in different iterations of a loop; `None` if they may
    /// not.
    pub fn takes_apart(&self, header: kernel::BlockId, line: usize) -> Option<Told> {
        if !self.headers.contains(&header) {
            return Some(Told::Anyway);
        }
        let told = self.apart.get(&header)?;
        let this = told.contains(&Told::Branch(line)).then_some(Told::ThisBranch);
        // (Lanes that meet at a later place have met, or could have, at an earlier one; where they part
        // again, another branch stands.)
        this.or(told.iter().max().copied())
    }
}
