//! The real assembler as a witness: where the machine code of a graph lets lanes meet, and whether
//! `cfg` knows of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use ptxasw::planted::{self, Bug};
use rayon::prelude::*;

use super::assembler::Assembler;
use super::belief::{Belief, Told};
use super::listing::Listing;
use super::meets::{Arrivals, TOO_MANY, arrivals, targets_follow};
use super::postdominators::{Ends, Graph};
use crate::graph::emit::{Marks, text};
use crate::graph::kernel::{BlockId, Kernel};
use crate::graph::{early_end, kernel};

/// Graphs in a test run, and those of them that are little more than a loop in which some lanes leave the function;
/// each is assembled for one of the targets.
const COUNT: u64 = 64;
const EARLY_ENDS: u64 = 24;
const TARGETS: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_120"];

/// The disassembled machine code of a text.
fn disassemble(assembler: &Assembler, text: &str, target: &str) -> Result<Listing, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (input, cubin) = (folder.path().join("graph.ptx"), folder.path().join("graph.cubin"));
    std::fs::write(&input, text).map_err(|e| e.to_string())?;
    let run = |program: &Path, arguments: &[&str], file: &Path| {
        let output = Command::new(program).args(arguments).arg(file).output();
        let output = output.map_err(|e| format!("{}: {e}", program.display()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let name = cubin.display().to_string();
    // (The line table of the PTX itself needs no `.loc`.)
    run(&assembler.ptxas, &["-lineinfo", "-arch", target, "-o", &name], &input)?;
    let disassembler = assembler.ptxas.with_file_name("nvdisasm");
    Listing::read(&run(&disassembler, &["-c", "-gp"], &cubin)?)
}

/// A kernel, its text with marks, its machine code.
struct Witness<'k> {
    graph: Graph,
    belief: Belief,
    /// What `cfg` would say if it did not know what early ends do.
    mistaken: Belief,
    listing: Listing,
    /// The block of each line, from 1.
    blocks: Vec<Option<BlockId>>,
    /// The lines that mark a block.
    marks: BTreeMap<usize, BlockId>,
    lines: Vec<&'k str>,
}

impl<'k> Witness<'k> {
    fn new(kernel: &Kernel, text: &'k str, listing: Listing) -> Result<Witness<'k>, String> {
        let (mut blocks, mut marks, mut block) = (vec![None], BTreeMap::new(), None);
        for (index, line) in text.lines().enumerate() {
            if let Some(number) = line.strip_prefix("$B").and_then(|l| l.strip_suffix(':')) {
                block = number.parse().ok();
            }
            if line.contains("pmevent") {
                marks.extend(block.map(|block| (index + 1, block)));
            }
            blocks.push(block);
        }
        let belief = Belief::new(text)?;
        let mistaken = planted::with(Bug::EarlyExits, || Belief::new(text))?;
        let graph = Graph::new(kernel);
        Ok(Witness {
            graph,
            belief,
            mistaken,
            listing,
            blocks,
            marks,
            lines: text.lines().collect(),
        })
    }

    /// The block that an instruction marks.
    fn marked(&self, instruction: usize) -> Option<BlockId> {
        let instruction = &self.listing.instructions[instruction];
        self.marks.get(&instruction.line).copied().filter(|_| instruction.base() == "PMTRIG")
    }

    /// The block that control comes to first from an instruction on, if that is one.
    fn first_block(&self, from: usize) -> Option<BlockId> {
        let (mut seen, mut work, mut found) = (BTreeSet::new(), vec![from], BTreeSet::new());
        while let Some(at) = work.pop() {
            if seen.insert(at) {
                match self.marked(at) {
                    Some(block) => drop(found.insert(block)),
                    None => work.extend(&self.listing.instructions[at].next),
                }
            }
        }
        found.first().copied().filter(|_| found.len() == 1)
    }

    /// The block at whose end a machine branch stands, and its line; `None` for branches that the
    /// assembler made itself.
    fn branch(&self, instruction: usize) -> Option<(BlockId, usize)> {
        let line = self.listing.instructions[instruction].line;
        let source = self.lines.get(line.checked_sub(1)?)?;
        let branches = source.contains("bra ") || source.contains("brx.idx");
        self.blocks.get(line).copied().flatten().filter(|_| branches).map(|block| (block, line))
    }

    /// For each head of a cycle around a branch, the ways on which lanes arrive anywhere without going
    /// round.
    fn direct(&self, branch: usize, block: BlockId) -> Result<Vec<(BlockId, Arrivals)>, String> {
        let heads = self.graph.heads().into_iter();
        let around = heads.filter(|&head| self.graph.is_inside(block, head));
        let of = |head| {
            let closed = |instruction| self.marked(instruction) == Some(head);
            Ok((head, arrivals(&self.listing, branch, &closed)?))
        };
        around.map(of).collect()
    }

    /// Heads of cycles around branch and place round which some lanes have gone that meet there, and
    /// others not.
    fn apart(
        &self,
        direct: &[(BlockId, Arrivals)],
        at: BlockId,
        (place, ways): (usize, &BTreeSet<usize>),
    ) -> Vec<BlockId> {
        let differ = |head: BlockId, direct: &Arrivals| {
            // Who waits at the head has gone round once.
            let around = head != at && self.graph.is_inside(at, head);
            let direct = direct.get(&place).filter(|_| around);
            direct.is_some_and(|direct| ways.iter().any(|way| !direct.contains(way)))
        };
        direct
            .iter()
            .filter(|(head, direct)| differ(*head, direct))
            .map(|(head, _)| *head)
            .collect()
    }
}

/// What was seen, how often, and what nobody may do.
#[derive(Default)]
struct Findings {
    counts: BTreeMap<String, usize>,
    wrong: Vec<String>,
    /// What would be wrong if early ends kept lanes from meeting.
    mistaken: usize,
    left_out: usize,
}

impl Findings {
    fn count(&mut self, what: String) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn add(&mut self, other: Findings) {
        for (what, count) in other.counts {
            *self.counts.entry(what).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self.mistaken += other.mistaken;
        self.left_out += other.left_out;
    }
}

/// The relation of a place to a branch in the graph.
fn relation(graph: &Graph, branch: BlockId, at: BlockId) -> &'static str {
    use Ends::{All, Beyond, Last};
    let immediately = |ends| graph.immediately(at, branch, ends);
    match () {
        () if immediately(All) => "the immediate postdominator",
        () if immediately(Last) => "the immediate postdominator but for early ends",
        () if immediately(Beyond) => "the immediate postdominator but for ends elsewhere",
        () if graph.postdominates(at, branch, Beyond) => "a later postdominator",
        () if at == branch => "the branch's own block",
        () if graph.is_header(at) && graph.is_inside(branch, at) => "the header of a loop around",
        () if graph.reaches(at, branch) => "no postdominator, in a cycle with the branch",
        () => "no postdominator, ahead",
    }
}

/// Looks at one kernel for one target.
fn look(assembler: &Assembler, kernel: &Kernel, target: &str) -> Result<Findings, String> {
    let mut findings = Findings::default();
    let seed = kernel.seed;
    let text = text(kernel, Marks::Blocks);
    let listing = disassemble(assembler, &text, target)?;
    if !targets_follow(&listing) {
        return Err("a BSSY does not name what follows its BSYNC".to_owned());
    }
    let witness = Witness::new(kernel, &text, listing)?;
    for branch in 0..witness.listing.instructions.len() {
        if !witness.listing.instructions[branch].parts_lanes() {
            continue;
        }
        let Some((block, line)) = witness.branch(branch) else { continue };
        let found: Arrivals = arrivals(&witness.listing, branch, &|_| false)?;
        let several: Vec<_> = found.iter().filter(|(_, ways)| ways.len() > 1).collect();
        let direct = match several.is_empty() {
            true => Vec::new(),
            false => witness.direct(branch, block)?,
        };
        for (&place, ways) in several {
            let Some(at) = witness.first_block(place) else { continue };
            let relation = relation(&witness.graph, block, at);
            let known = match witness.belief.is_meeting_place(line, at) {
                true => "a meeting place",
                false => "no meeting place",
            };
            findings.count(format!("{target} {:?}: {relation}; {known}", kernel.kind));
            for head in witness.apart(&direct, at, (place, ways)) {
                let told = witness.belief.takes_apart(head, line);
                let mistaken = witness.mistaken.takes_apart(head, line);
                findings.mistaken += usize::from(mistaken.is_none());
                let by = match told {
                    Some(Told::ThisBranch) => "expected of this branch",
                    Some(Told::Branch(_)) => "expected of another branch",
                    Some(Told::Anyway) => "expected anyway",
                    None => "NOT EXPECTED",
                };
                let natural = if witness.graph.is_header(head) { "" } else { "ir" };
                findings.count(format!(
                    "{target} {:?}: {relation}; other iterations of a {natural}reducible cycle, {by}",
                    kernel.kind
                ));
                if told.is_none() {
                    findings.wrong.push(format!(
                        "seed {seed}, {target}: lanes that part in block {block} meet in block {at} in \
                         different iterations of the loop of block {head}, which cfg does not expect"
                    ));
                }
            }
        }
    }
    Ok(findings)
}

#[test]
fn lanes_meet_only_where_the_analysis_expects_it() {
    let Some(assembler) = Assembler::find() else { return };
    let first = super::number("PTXASW_GRAPHS_SEED").unwrap_or_default();
    let count = super::number("PTXASW_GRAPHS_COUNT").map_or(COUNT, |count| count.min(COUNT));
    // (Seeds of one target are four apart.)
    let kernels: Vec<Kernel> = (first..first + count)
        .map(|seed| if seed - first < EARLY_ENDS { early_end(seed) } else { kernel(seed) })
        .collect();
    let results: Vec<Findings> = kernels
        .par_iter()
        .map(|kernel| {
            let seed = kernel.seed;
            let target = TARGETS[seed as usize % TARGETS.len()];
            let found = look(&assembler, kernel, target);
            match found {
                Err(error) if error == TOO_MANY => Findings { left_out: 1, ..Findings::default() },
                found => found.unwrap_or_else(|error| panic!("seed {seed}, {target}: {error}")),
            }
        })
        .collect();
    let mut findings = Findings::default();
    results.into_iter().for_each(|found| findings.add(found));
    for (what, count) in &findings.counts {
        println!("{count:6} {what}");
    }
    assert!(findings.wrong.is_empty(), "\n{}", findings.wrong.join("\n"));
    println!("{} of {count} graphs left out", findings.left_out);
    if count >= COUNT {
        assert!(8 * findings.left_out as u64 <= count, "too many graphs are left out");
        println!("{} meetings that an analysis by late ends would not expect", findings.mistaken);
        assert!(
            findings.mistaken > 0,
            "the machine code shows no mistake of the analysis by late ends"
        );
        let meetings: usize = findings.counts.values().sum();
        assert!(meetings > 200, "only {meetings} meeting places were found");
    }
}
