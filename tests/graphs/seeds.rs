//! Kernels by seed.
use std::collections::BTreeMap;
use ptxasw::pipeline::Options;
use rayon::prelude::*;

use crate::graph::emit::{emit};
use crate::graph::reduce::reduce;
use crate::graph::kernel;
use crate::random::check::{Panel, Verdict, check};

#[test]
fn graphs_compute_the_same() {
    let first = crate::number("PTXASW_GRAPHS_SEED").unwrap_or_default();
    let count = crate::number("PTXASW_GRAPHS_COUNT").unwrap_or(1000);
    let options = Options::default();
    let panel = Panel::quick();
    let verdicts: Vec<_> = (first..first+count).into_par_iter().map(|seed| {
        (seed, check(&emit(&kernel(seed)), &options, &panel))
    }).collect();
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    for (seed, verdict) in verdicts {
        let kind = kernel(seed).kind;
        let what = match verdict {
            Verdict::Fine(rewrite) => { if rewrite.shuffles > 0 {"rewritten"} else if rewrite.refused>0 {"refused"} else {"nothing"} }.to_owned(),
            Verdict::Invalid(m) => format!("invalid {}", m.lines().next().unwrap_or("").chars().skip_while(|c| *c != ' ').filter(|c| !c.is_ascii_digit()).take(50).collect::<String>()),
            Verdict::Broken(c) => {
                println!("seed {seed} {kind:?} {}: {}", c.judge, c.message.lines().next().unwrap_or(""));
                let small = reduce(&kernel(seed), &mut |k| matches!(check(&emit(k), &options, &panel), Verdict::Broken(o) if o.judge == c.judge));
                let case = emit(&small);
                std::fs::create_dir_all("/tmp/gs/found").unwrap();
                std::fs::write(format!("/tmp/gs/found/{seed}.ptx"), &case.ptx).unwrap();
                std::fs::write(format!("/tmp/gs/found/{seed}.json"), &case.launch).unwrap();
                "BROKEN".to_owned() },
        };
        *tally.entry(format!("{kind:?} {what}")).or_default() += 1;
    }
    for (what, n) in tally { println!("{n:6} {what}"); }
}

/// `PTXASW_GRAPHS_SEED=7 cargo test --test graphs prints_a_seed -- --ignored --nocapture`
#[test]
#[ignore = "prints a kernel, without and with marks, and its launch"]
fn prints_a_seed() {
    let kernel = kernel(crate::number("PTXASW_GRAPHS_SEED").unwrap_or_default());
    let case = emit(&kernel);
    println!("{:?}", kernel.kind);
    println!("{}\n{}\n{}", case.ptx, case.launch, crate::graph::emit::text(&kernel, crate::graph::emit::Marks::Blocks));
}
