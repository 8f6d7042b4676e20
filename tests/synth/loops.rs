//! Code of every operator that is found: PTX and, where there is an nvcc, CUDA compiled by it, both executed beside the
//! serial loop on lists of many lengths in blocks of many sizes, and PTX accepted by the real ptxas.

use std::fmt::Write as _;

use ptxasw::synth::scan::emit::check::{check, few};
use ptxasw::synth::scan::emit::sweep::sweep;
use ptxasw::synth::scan::emit::{Code, Networks, cuda, cuda_entries, ptx};

use super::emitted::{compiled, nvcc};
use super::operators::solved;
use crate::common::assembler::Assembler;
use crate::turns::has_turn;

#[test]
fn ptx_of_operators_does_what_their_loops_do_and_the_real_ptxas_accepts_it() {
    let networks = Networks::solve().expect("the networks of a warp");
    let mut all = String::from(".version 7.0\n.target sm_70\n.address_size 64\n");
    let (mut operators, mut compared, mut failures) = (0, 0, Vec::new());
    let (mut reduced, mut voted, mut balloted) = (0, 0, 0);
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
        // What `redux` is there for.
        let newer = code.clone().for_architecture(80);
        let with_redux = ptx(&newer, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        if with_redux.contains("redux.sync") {
            reduced += 1;
            assert!(!text.contains("redux.sync"), "{name}");
            if let Err(why) = check(&newer, &with_redux, &few()) {
                failures.push(format!("{name} by redux: {why}"));
            }
        }
        voted += usize::from(with_redux.contains("vote.sync.any"));
        balloted += usize::from(text.contains("vote.sync.ballot"));
        // A width that is asked for.
        let wide = Code::new(found, &format!("{name}_wide"), Some(64));
        let text = ptx(&wide, &networks, "").unwrap_or_else(|why| panic!("{name}: {why}"));
        if let Err(why) = check(&wide, &text, &few()[4..6]) {
            failures.push(format!("{name} in 64 bits: {why}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(reduced >= 3 && voted >= 2 && balloted >= 1, "{reduced} {voted} {balloted}");
    assert!(operators >= 26 && compared > 50_000, "{operators} operators, {compared} results");
    if let Some(assembler) = Assembler::find() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        assembler.assemble(&all, &folder.path().join("all.cubin")).expect("ptxas accepts it");
    }
}

#[test]
fn cuda_of_operators_does_what_their_loops_do() {
    let Some(nvcc) = nvcc().filter(|_| has_turn(1, 3)) else { return };
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

/// (`scripts/tables sweep` does it with a thousand lists of each length up to 2,048.)
#[test]
fn lists_of_every_length() {
    let networks = Networks::solve().expect("the networks of a warp");
    for wanted in ["loopsum", "loopmss", "loopsecond", "loopsorted", "loopsmoothing"] {
        let all = solved(wanted);
        let found = all[0].2.found.as_ref().expect("an operator");
        let code = Code::new(found, wanted, None);
        let text = ptx(&code, &networks, "").expect("code");
        let swept = sweep(&code, &text, 3, 150).unwrap_or_else(|why| panic!("{wanted}: {why}"));
        assert_eq!(swept.lists, 450, "{wanted}");
        assert!(swept.results > 10_000, "{wanted}: {swept:?}");

        // One step of the warp's scan leaves out a lane.
        let wrong = text.replacen("setp.ge.s32 %p1, %r2, 1", "setp.ge.s32 %p1, %r2, 2", 1);
        if wanted == "loopsum" {
            assert_ne!(wrong, text);
            let why = sweep(&code, &wrong, 3, 150).expect_err("a wrong sum");
            assert!(why.contains("elements") && why.contains("is right"), "{why}");
            assert_eq!(sweep(&code, &wrong, 3, 150), Err(why));
        }
    }
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
