//! Kernels by seed: rewritten, executed wherever lanes may meet, some of them proved.

use std::collections::BTreeMap;

use ptxasw::pipeline::Options;
use rayon::prelude::*;

use super::assembler::Assembler;
use super::files;
use crate::common::share;
use crate::graph::emit::{Marks, emit, text};
use crate::graph::kernel;
use crate::graph::kernel::Kernel;
use crate::graph::reduce::reduce;
use crate::random::check::{
    Complaint, Interpreter, Judge, Panel, Schedules, Verdict, Verifier, check,
};

/// Kernels in a test run.
const COUNT: u64 = 1500;
/// Every so-manieth rewrite is proved, or assembled.
const PROVED: u64 = 20;
const ASSEMBLED: u64 = 25;
/// Seeds that choose where lanes meet, for each kernel.
const MEETINGS: u64 = 4;
/// Kernels that fail and are reduced; of the others only the seeds are told.
const REDUCED: usize = 6;

/// Who is asked about a seed.
fn panel(seed: u64) -> Panel {
    let mut judges: Vec<Box<dyn Judge>> =
        vec![Box::new(Interpreter), Box::new(Schedules { seeds: MEETINGS })];
    if seed.is_multiple_of(PROVED) {
        judges.push(Box::new(Verifier::hurried()));
    }
    Panel { judges, repeat: false }
}

/// The smallest kernel that the same judge complains about.
fn smallest(kernel: &Kernel, panel: &Panel, complaint: &Complaint) -> Kernel {
    reduce(kernel, &mut |smaller| match check(&emit(smaller), &Options::paper(), panel) {
        Verdict::Broken(other) => other.judge == complaint.judge,
        _ => false,
    })
}

/// What became of the seeds.
#[derive(Default)]
struct Tally {
    /// By kind of graph and outcome.
    outcomes: BTreeMap<String, usize>,
    kernels: usize,
    invalid: usize,
    rewritten: usize,
    equal: usize,
    unsure: usize,
    failures: Vec<String>,
    /// Rewrites to assemble.
    texts: Vec<String>,
}

impl Tally {
    fn add(&mut self, graph: &Kernel, verdict: Verdict) {
        let seed = graph.seed;
        self.kernels += 1;
        let outcome = match verdict {
            // Too many rounds, mostly, or a row behind the last.
            Verdict::Invalid(_) => {
                self.invalid += 1;
                "no kernel"
            }
            Verdict::Fine(rewrite) => {
                self.rewritten += usize::from(rewrite.shuffles > 0);
                if seed.is_multiple_of(PROVED) {
                    self.unsure += usize::from(!rewrite.unsure.is_empty());
                    self.equal += usize::from(rewrite.unsure.is_empty());
                }
                if seed.is_multiple_of(ASSEMBLED) {
                    self.texts.push(rewrite.text);
                }
                if rewrite.shuffles > 0 { "rewritten" } else { "left as it is" }
            }
            Verdict::Broken(complaint) => {
                self.fail(graph, &complaint);
                "wrong"
            }
        };
        *self.outcomes.entry(format!("{:?}, {outcome}", graph.kind)).or_default() += 1;
    }

    fn fail(&mut self, graph: &Kernel, complaint: &Complaint) {
        let seed = graph.seed;
        let comment = format!("graph {seed}, {}: {}", complaint.judge, complaint.message);
        if self.failures.len() >= REDUCED {
            self.failures.push(comment);
            return;
        }
        let small = smallest(graph, &panel(seed), complaint);
        let name = format!("graph_{seed}");
        files::write(&files::folder("found"), &name, &comment, &emit(&small));
        self.failures.push(format!("{comment}\n(kept as tests/fuzz/found/{name}.ptx)"));
    }

    fn print(&self) {
        for (outcome, count) in &self.outcomes {
            println!("{count:6} {outcome}");
        }
        println!("{} proved equal, {} unknown", self.equal, self.unsure);
    }
}

fn try_seeds(first: u64, count: u64) -> Tally {
    let options = Options::paper();
    let judged = |seed| {
        let graph = kernel(seed);
        let verdict = check(&emit(&graph), &options, &panel(seed));
        (graph, verdict)
    };
    let verdicts: Vec<(Kernel, Verdict)> =
        (first..first + count).into_par_iter().map(judged).collect();
    let mut tally = Tally::default();
    verdicts.into_iter().for_each(|(graph, verdict)| tally.add(&graph, verdict));
    tally
}

/// All rewrites in one module through the real ptxas.
fn assemble(texts: &[String]) {
    let Some(assembler) = Assembler::find() else { return };
    let header = ".version 7.8\n.target sm_75\n.address_size 64\n";
    let bodies = texts.iter().map(|text| text.split_once("64\n").map_or(text.as_str(), |(_, b)| b));
    let module = bodies.fold(header.to_owned(), |module, body| module + body);
    let folder = tempfile::tempdir().expect("a folder");
    let complaint = assembler.assemble(&module, &folder.path().join("graphs.cubin"));
    assert_eq!(complaint, Ok(()), "ptxas does not like a rewritten kernel");
}

#[test]
fn graphs_compute_the_same() {
    let first = super::number("PTXASW_GRAPHS_SEED").unwrap_or_default();
    let count = super::number("PTXASW_GRAPHS_COUNT").unwrap_or_else(|| share(COUNT));
    let tally = try_seeds(first, count);
    tally.print();
    assert!(tally.failures.is_empty(), "\n{}", tally.failures.join("\n"));
    if count >= share(COUNT) {
        assert!(25 * tally.invalid < tally.kernels, "too many seeds make no kernel");
        assert!(5 * tally.rewritten > 4 * tally.kernels, "too few kernels are rewritten");
    }
    assemble(&tally.texts);
}

/// `PTXASW_GRAPHS_SEED=7 cargo test --test execute graphs::prints_a_seed -- --ignored --nocapture`
#[test]
#[ignore = "prints a kernel, its launch, and the kernel with marks"]
fn prints_a_seed() {
    let kernel = kernel(super::number("PTXASW_GRAPHS_SEED").unwrap_or_default());
    let case = emit(&kernel);
    println!("{:?}\n{}\n{}\n{}", kernel.kind, case.ptx, case.launch, text(&kernel, Marks::Blocks));
}
