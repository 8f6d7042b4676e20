//! What the real assembler makes of the graphs.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::listing::Listing;
use crate::meets::{arrivals, meets, targets_follow};
use crate::postdominators::{Ends, Graph};
use crate::assembler::Assembler;
use crate::graph::emit::{Marks, text};
use crate::graph::kernel::{BlockId, Kernel};
use rayon::prelude::*;

/// The disassembled machine code of a text.
fn disassemble(assembler: &Assembler, text: &str, target: &str) -> Result<Listing, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let (input, cubin) = (folder.path().join("graph.ptx"), folder.path().join("graph.cubin"));
    std::fs::write(&input, text).map_err(|e| e.to_string())?;
    let run = |program: &std::path::Path, arguments: &[&str], file: &std::path::Path| {
        let output = Command::new(program).args(arguments).arg(file).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let name = cubin.display().to_string();
    run(&assembler.ptxas, &["-lineinfo", "-arch", target, "-o", &name], &input)?;
    let nvdisasm = assembler.ptxas.with_file_name("nvdisasm");
    let listing = run(&nvdisasm, &["-c", "-gp"], &cubin)?;
    Listing::read(&listing).map_err(|e| format!("{e}\n{listing}"))
}

/// The block of each line, from 1; and the block that a line marks.
fn lines(text: &str) -> (Vec<Option<BlockId>>, BTreeMap<usize, BlockId>) {
    let (mut blocks, mut marks, mut block) = (vec![None], BTreeMap::new(), None);
    for (index, line) in text.lines().enumerate() {
        if let Some(number) = line.strip_prefix("$B").and_then(|l| l.strip_suffix(':')) {
            block = number.parse().ok();
        }
        if let Some(number) = line.trim().strip_prefix("st.volatile.shared.u32 [marks], ") {
            marks.extend(number.trim_end_matches(';').parse().ok().map(|block| (index + 1, block)));
        }
        blocks.push(block);
    }
    (blocks, marks)
}

/// The marks that are come to first.
fn first_marks(listing: &Listing, from: usize, marks: &BTreeMap<usize, BlockId>) -> BTreeSet<BlockId> {
    let (mut seen, mut work, mut found) = (BTreeSet::new(), vec![from], BTreeSet::new());
    while let Some(at) = work.pop() {
        if !seen.insert(at) {
            continue;
        }
        let instruction = &listing.instructions[at];
        match marks.get(&instruction.line).filter(|_| instruction.base() == "STS") {
            Some(block) => {
                found.insert(*block);
            }
            None => work.extend(&instruction.next),
        }
    }
    found
}

fn classify(graph: &Graph, branch: BlockId, at: BlockId) -> &'static str {
    use Ends::{All, Beyond, Last};
    let immediately = |ends| graph.immediately(at, branch, ends);
    if immediately(All) {
        "immediate postdominator"
    } else if immediately(Last) {
        "immediate postdominator, ends before the last ignored"
    } else if immediately(Beyond) {
        "immediate postdominator, ends that it does not lead to ignored"
    } else if graph.postdominates(at, branch, Beyond) {
        "a later postdominator (of these kinds)"
    } else if at == branch {
        "NO postdominator: the branch's own block"
    } else if graph.is_header(at) && graph.reaches(at, branch) {
        "NO postdominator: header of a natural loop around the branch"
    } else if graph.reaches(at, branch) {
        "NO postdominator: in a cycle with the branch"
    } else {
        "NO postdominator: behind all cycles with the branch"
    }
}

fn study(assembler: &Assembler, kernel: &Kernel, target: &str, tally: &mut BTreeMap<String, usize>) -> Result<(), String> {
    let text = text(kernel, Marks::Blocks);
    let listing = disassemble(assembler, &text, target)?;
    let (blocks, marks) = lines(&text);
    let graph = Graph::new(kernel);
    let ptx: Vec<&str> = text.lines().collect();
    let kind = format!("{:?}", kernel.kind);
    let mut count = |what: String| *tally.entry(what).or_default() += 1;
    if !targets_follow(&listing) {
        count(format!("{target} BSSY TARGET NOT BEHIND BSYNC"));
    }
    for i in &listing.instructions {
        if ["WARPSYNC", "YIELD", "BMOV"].contains(&i.base()) || ["BRA.CONV", "BRA.DIV"].iter().any(|o| i.opcode.starts_with(o)) {
            let word = ptx.get(i.line.wrapping_sub(1)).map_or("", |l| l.trim()).split(' ').find(|w| !w.starts_with('@')).unwrap_or("");
            let word: String = word.chars().filter(|c| !c.is_ascii_digit()).collect();
            if i.base() != "YIELD" && i.base() != "BMOV" {
                count(format!("{target} op {} from {word}", i.opcode.split(' ').next().unwrap()));
            } else { count(format!("{target} op {}", i.opcode)); }
        }
    }
    let heads = graph.heads();
    let marked = |instruction: usize, block: BlockId| {
        let i = &listing.instructions[instruction];
        i.base() == "STS" && marks.get(&i.line) == Some(&block)
    };
    for (branch, targets) in meets(&listing, &|_| false)? {
        let i = &listing.instructions[branch];
        let source = ptx.get(i.line.wrapping_sub(1)).map_or("", |l| l.trim());
        let is_branch = ["bra ", "brx.idx", "exit", "ret", "trap"].iter().any(|w| source.contains(w));
        let (true, Some(block)) = (is_branch, blocks.get(i.line).copied().flatten()) else {
            count(format!("{target} {kind} branch of no PTX branch"));
            continue;
        };
        let brx = if i.base() == "BRX" { "brx " } else { "" };
        if targets.values().all(|ways| ways.len() < 2) {
            count(format!("{target} {kind} {brx}never meet"));
        }
        for (at, ways) in targets {
            if ways.len() < 2 { continue; }
            let here = first_marks(&listing, at, &marks);
            if here.len() != 1 {
                count(format!("{target} {kind} {brx}ambiguous"));
                continue;
            }
            let here = *here.first().unwrap();
            let class = classify(&graph, block, here);
            count(format!("{target} {kind} {brx}{class}"));
            // Round what heads of cycles some lanes have gone and others not.
            let around = |&&head: &&BlockId| {
                head != here && graph.is_inside(here, head) && graph.is_inside(block, head)
            };
            for &head in heads.iter().filter(around) {
                let without = arrivals(&listing, branch, &|i| marked(i, head))?;
                let without = without.get(&at).cloned().unwrap_or_default();
                // Some way only by the head (or also by it), another without.
                let by = ways.iter().filter(|w| !without.contains(w)).count();
                if by > 0 && !without.is_empty() {
                    let natural = if graph.is_header(head) { "natural" } else { "other" };
                    count(format!("{target} {kind} {brx}OTHER ITERATION of a {natural} head: {class}"));
                    println!("seed {} {target} {kind} {brx}OTHER ITERATION of {head} ({natural}): branch {block} meet {here} {class}", kernel.seed);
                    break;
                }
            }
        }
    }
    Ok(())
}

#[test]
#[ignore = "prints statistics"]
fn meeting_points_of_the_assembler() {
    let Some(assembler) = Assembler::find() else { return };
    let first = crate::number("PTXASW_GRAPHS_SEED").unwrap_or_default();
    let count = crate::number("PTXASW_GRAPHS_COUNT").unwrap_or(50);
    let tallies: Vec<BTreeMap<String, usize>> = (first..first + count).into_par_iter().map(|seed| {
        let mut tally = BTreeMap::new();
        for target in ["sm_75", "sm_80", "sm_90", "sm_120"] {
            let kernel = crate::graph::kernel(seed);
            if let Err(e) = study(&assembler, &kernel, target, &mut tally) {
                println!("seed {seed} {target}: {e}");
                *tally.entry(format!("{target} ERROR")).or_default() += 1;
            }
        }
        tally
    }).collect();
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for (what, n) in tallies.into_iter().flatten() { *all.entry(what).or_default() += n; }
    for (what, n) in all { println!("{n:6} {what}"); }
}

