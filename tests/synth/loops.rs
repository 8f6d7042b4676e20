//! Code of every operator that is found: PTX and, where there is an nvcc, CUDA compiled by it, both executed beside the
//! serial loop on lists of many lengths in blocks of many sizes, and PTX accepted by the real ptxas.

use std::fmt::Write as _;

use ptxasw::launch::Meet;
use ptxasw::synth::scan::emit::check::{Trial, check, few};
use ptxasw::synth::scan::emit::{Code, Networks, cuda, cuda_entries, ptx};

use super::emitted::{compiled, nvcc};
use super::operators::solved;
use crate::common::assembler::Assembler;

#[test]
fn ptx_of_operators_does_what_their_loops_do_and_the_real_ptxas_accepts_it() {
    let networks = Networks::solve().expect("the networks of a warp");
    let mut all = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    let (mut operators, mut compared, mut failures) = (0, 0, Vec::new());
    for (name, _, outcome) in solved("loop") {
        let Some(found) = &outcome.found else { continue };
        let code = Code::new(found, &name, None);
        let text = ptx(&code, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        operators += 1;
        match check(&code, &text, &few()) {
            Ok(results) => compared += results,
            Err(why) => failures.push(format!("{name}: {why}")),
        }
        all.push_str(&text[text.find(".visible").expect("an entry")..]);
        // A width that is asked for.
        let wide = Code::new(found, &format!("{name}_wide"), Some(64));
        let text = ptx(&wide, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        if let Err(why) = check(&wide, &text, &few()[4..6]) {
            failures.push(format!("{name} in 64 bits: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(operators >= 26 && compared > 50_000, "{operators} operators, {compared} results");
    if let Some(assembler) = Assembler::find() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        assembler.assemble(&all, &folder.path().join("all.cubin")).expect("ptxas accepts it");
    }
}

#[test]
fn cuda_of_operators_does_what_their_loops_do() {
    let Some(nvcc) = nvcc() else { return };
    let networks = Networks::solve().expect("the networks of a warp");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let solved = solved("loop");
    let mut text = String::new();
    let mut codes = Vec::new();
    for (name, _, outcome) in &solved {
        let Some(found) = &outcome.found else { continue };
        let code = Code::new(found, name, None);
        let header = format!("{name}.cuh");
        let made = cuda(&code, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        std::fs::write(folder.path().join(&header), made).expect("a header can be written");
        let _ = writeln!(text, "{}", cuda_entries(&code, &header));
        codes.push(code);
    }
    let ptx = compiled(&nvcc, folder.path(), &text);
    let mut failures = Vec::new();
    for code in &codes {
        if let Err(why) = check(code, &ptx, &few()) {
            failures.push(format!("{}: {why}", code.name));
        }
    }
    assert!(failures.is_empty() && codes.len() >= 26, "{}", failures.join("\n"));
}

/// A thousand lists of each length up to 64, and some of each up to 2,048, for every operator.
#[test]
#[ignore = "takes half an hour"]
fn lists_of_every_length() {
    let networks = Networks::solve().expect("the networks of a warp");
    let (mut operators, mut compared, mut lists) = (0, 0, 0);
    for (name, _, outcome) in solved("loop") {
        let Some(found) = &outcome.found else { continue };
        let code = Code::new(found, &name, None);
        let text = ptx(&code, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut random = fastrand::Rng::with_seed(11);
        let mut trial = |length: usize, most: u32| Trial {
            length,
            threads: random.u32(1..=most),
            meet: [Meet::Assembler, Meet::Never, Meet::Random(random.u64(..))][random.usize(..3)],
            seed: random.u64(..),
        };
        for length in 1..=2048 {
            let (count, most) = if length <= 64 { (1000, 96) } else { (8, 1024) };
            let trials: Vec<Trial> = (0..count).map(|_| trial(length, most)).collect();
            lists += trials.len();
            compared += check(&code, &text, &trials).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        operators += 1;
    }
    println!("{operators} operators, {lists} lists, {compared} results");
}

#[test]
fn numbers_that_are_too_narrow_are_not_checked() {
    let networks = Networks::solve().expect("the networks of a warp");
    let all = solved("loopmss");
    let found = all[0].2.found.as_ref().expect("an operator");
    let code = Code::new(found, "narrow", Some(32));
    let text = ptx(&code, &networks, "").expect("code");
    let why = check(&code, &text, &few()).expect_err("sums may wrap around");
    assert!(why.contains("32 bits") && why.contains("needs 64"), "{why}");
}
