//! What each integer instruction computes: every form in `instructions/*.txt` becomes a tiny kernel,
//! which is emulated once; the term that it stores is then evaluated for many operands, by our own
//! evaluator and (for a few of them) by z3, and compared with plain arithmetic written from the
//! manual (`instructions/reference`).

mod check;
mod corpus;
mod folded;
mod form;
mod interpreted;
mod operands;
mod reachable;
mod reference;
mod templates;

use crate::common::missing::not_run;
use crate::common::{assembler, share};
use crate::turns::has_turn;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use self::check::{HEADER, check, stored, with_instructions};
use self::folded::Folded;
use self::form::{Form, forms};
use self::reachable::{Case, Values, destinations, with_literals};
use assembler::Assembler;
use ptxasw::emulate::{Effect, Meaning, SymbolKind, effect, meaning};
use ptxasw::expr::Node;
use ptxasw::pipeline;
use ptxasw::source::SourceFile;
use rayon::prelude::*;

const TABLES: &[&str] = &[
    include_str!("instructions/arithmetic.txt"),
    include_str!("instructions/bits.txt"),
    include_str!("instructions/convert.txt"),
    include_str!("instructions/video.txt"),
];

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn all_forms() -> Vec<Form> {
    TABLES.iter().flat_map(|table| forms(table)).collect()
}

fn report(failures: &[String]) {
    let shown = failures.iter().take(40).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "\n{shown}\n\n{} failure(s)", failures.len());
}

#[test]
fn every_form_computes_what_the_manual_says() {
    let failures: Vec<String> =
        all_forms().par_iter().filter_map(|form| check(form).err()).collect();
    report(&failures);
}

#[test]
fn the_interpreter_computes_what_the_manual_says() {
    let results: Vec<(Form, Result<bool, String>)> = all_forms()
        .into_par_iter()
        .map(|form| {
            let result = interpreted::check(&form);
            (form, result)
        })
        .collect();
    let mut skipped: BTreeMap<&str, usize> = BTreeMap::new();
    for (form, _) in results.iter().filter(|(_, result)| *result == Ok(false)) {
        *skipped.entry(form.mnemonic()).or_default() += 1;
    }
    assert!(skipped.is_empty(), "the interpreter models no {skipped:?}");
    report(&results.into_iter().filter_map(|(_, result)| result.err()).collect::<Vec<_>>());
}

#[test]
fn ptxas_takes_every_form_for_an_instruction() {
    let Some(assembler) = Assembler::find() else { return };
    let mut text = HEADER.to_owned();
    for (index, form) in all_forms().iter().enumerate() {
        text.push_str(&form.kernel(&format!("k{index}")));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    if let Err(message) = assembler.assemble(&text, &folder.path().join("forms.cubin")) {
        let lines: Vec<&str> = text.lines().collect();
        let place = |line: &str| {
            let number = line.split("line ").nth(1)?.split(';').next()?.parse::<usize>().ok()?;
            Some(format!("{line}\n    {}", lines.get(number - 1)?))
        };
        let failures: Vec<String> =
            message.lines().map(|line| place(line).unwrap_or_else(|| line.to_owned())).collect();
        report(&failures);
    }
}

#[test]
fn whoever_reads_the_carry_flag_knows_who_wrote_it() {
    // What a form computes is compared in `check`, behind an addition; here with every writer.
    for write in
        ["add.cc.u32 %r1, %r2, %r3;", "sub.cc.u32 %r1, %r2, %r3;", "subc.cc.u32 %r1, %r2, %r3;"]
    {
        for read in [
            "addc.u32 %r1, %r2, %r3;",
            "subc.u32 %r1, %r2, %r3;",
            "madc.lo.u32 %r1, %r2, %r3, %r2;",
        ] {
            let body =
                format!("sub.cc.u32 %r1, %r3, %r2; {write} {read} st.global.u32 [%rd1], %r1;");
            assert_eq!(outcome(&body), Outcome::Known, "{body}");
        }
    }
}

#[test]
fn the_carry_flag_is_unknown_after_what_may_write_it() {
    let set = "add.cc.u32 %r1, %r2, %r3;";
    let read = "addc.u32 %r1, %r2, %r3; st.global.u32 [%rd1], %r1;";
    assert_eq!(outcome(&format!("{set} {read}")), Outcome::Known);
    assert_eq!(outcome(&format!("{set} mul.lo.u32 %r4, %r2, %r3; {read}")), Outcome::Known);
    assert_eq!(outcome(&format!("{set} frobnicate.b32 %r4; {read}")), Outcome::Unknown);
    assert_eq!(outcome(&format!("{set} @%p1 {set} {read}")), Outcome::Unknown);
    assert_eq!(outcome(&format!("{set} add.cc.f32 %r4, %r2, %r3; {read}")), Outcome::Unknown);
    assert_eq!(outcome(read), Outcome::Unknown);
}

#[test]
fn what_the_manual_leaves_open_is_not_made_up() {
    for body in [
        "vadd.u32.u32.u32.min %r1, %r2, %r3, %r2; st.global.u32 [%rd1], %r1;",
        "vshl.s32.s32.u32.sat.clamp %r1, %r2, %r3; st.global.u32 [%rd1], %r1;",
        "vmad.s32.u32.u32.sat %r1, -%r2, %r3, %r2; st.global.u32 [%rd1], %r1;",
    ] {
        assert_ne!(outcome(body), Outcome::Known, "{body}");
    }
    for body in [
        "div.u32 %r1, %r2, 0; st.global.u32 [%rd1], %r1;",
        "rem.s32 %r1, %r2, 0; st.global.u32 [%rd1], %r1;",
        "fns.b32 %r1, %r2, 32, 1; st.global.u32 [%rd1], %r1;",
        "bfe.u64 %rd2, %rd1, 256, 8; st.global.u64 [%rd1], %rd2;",
        "bfi.b64 %rd2, %rd1, %rd1, 8, 300; st.global.u64 [%rd1], %rd2;",
    ] {
        assert_eq!(outcome(body), Outcome::Function, "{body}");
    }
}

#[test]
fn a_modifier_that_is_not_in_the_table_makes_a_function_of_the_operands() {
    for body in [
        "add.frobbed.u32 %r1, %r2, %r3; st.global.u32 [%rd1], %r1;",
        "add.u32 %r1, %r2, %r3, %r2; st.global.u32 [%rd1], %r1;",
        "fma.rn.f32 %r1, %r2, %r3, %r2; st.global.u32 [%rd1], %r1;",
        "cvt.rn.f32.s32 %r1, %r2; st.global.u32 [%rd1], %r1;",
        "mapa.u32 %r1, %r2, %r3; st.global.u32 [%rd1], %r1;",
    ] {
        assert_eq!(outcome(body), Outcome::Function, "{body}");
    }
}

#[test]
fn a_part_of_a_register_means_nothing_to_other_instructions() {
    let body = "add.u32 %r1, %r2.b0, %r3; st.global.u32 [%rd1], %r1;";
    assert_eq!(outcome(body), Outcome::Unknown);
    let body = "mov.u32 %r1, 1; add.u32 %r1.b0, %r2, %r3; st.global.u32 [%rd1], %r1;";
    assert_eq!(outcome(body), Outcome::Unknown);
}

#[test]
fn vectors_that_do_not_divide_a_register_are_refused() {
    let body = "mov.b64 {%r1, %r2, %r3}, %rd1; st.global.u32 [%rd1], %r1;";
    assert_eq!(outcome(body), Outcome::Unknown);
    let body = "mov.b32 %r1, {%r2, %r3, %r2}; st.global.u32 [%rd1], %r1;";
    assert_eq!(outcome(body), Outcome::Function);
}

/// The emulator's result for the first value that a body stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// A term over the parameters.
    Known,
    /// An uninterpreted function at the top.
    Function,
    /// A symbol that stands for anything.
    Unknown,
}

fn outcome(body: &str) -> Outcome {
    let (trace, values) = stored(&kernel(body)).expect("a kernel that can be emulated");
    let term = values[0].expect("a stored value");
    match *trace.arena.node(term) {
        Node::Apply(..) => Outcome::Function,
        Node::Symbol(symbol)
            if matches!(trace.symbols.info(symbol).kind, SymbolKind::Unknown(_)) =>
        {
            Outcome::Unknown
        }
        _ => Outcome::Known,
    }
}

fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 a, .param .u32 x, .param .u32 y)\n{{\n\
         .reg .u32 %r<9>; .reg .u64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<9>;\n\
         ld.param.u64 %rd1, [a]; cvta.to.global.u64 %rd1, %rd1;\n\
         ld.param.u32 %r2, [x]; ld.param.u32 %r3, [y]; setp.lt.u32 %p1, %r2, %r3;\n\
         {body}\nret;\n}}\n"
    )
}

#[test]
fn an_opcode_in_no_table_is_a_barrier() {
    let text = kernel("frobnicate.b32 %r4, %r2; st.global.v2.u32 [%rd1], {%r4, %r2};");
    let effects = with_instructions(&text, |inst| (inst.ast.opcode.text.to_owned(), effect(inst)));
    let effects = effects.expect("a kernel that can be read");
    assert!(effects.contains(&("frobnicate.b32".to_owned(), Effect::Opaque)));
    let (trace, values) = stored(&text).expect("a kernel that can be emulated");
    assert!(trace.accesses.iter().any(|access| access.effect == Effect::Opaque));
    // Not only its first operand: which registers it writes is not known.
    for value in values {
        let Node::Symbol(symbol) = *trace.arena.node(value.expect("a stored value")) else {
            panic!("the register kept a value")
        };
        assert!(matches!(trace.symbols.info(symbol).kind, SymbolKind::Unknown(_)));
    }
    // Of two loads of one address the second is replaced, unless such an opcode stands between.
    let shuffles = |between: &str| {
        let body = format!(
            "ld.global.f32 %f1, [%rd1];\n{between}\nld.global.f32 %f2, [%rd1];\n\
             add.f32 %f3, %f1, %f2;\nst.global.f32 [%rd1+64], %f3;"
        );
        let source = SourceFile::new("opaque.ptx", kernel(&body));
        let result = pipeline::rewrite(&source, &pipeline::Options::paper());
        result.expect("a kernel that can be read").report.kernels[0].shuffles
    };
    assert_eq!(shuffles("add.u32 %r4, %r2, %r3;"), 1);
    assert_eq!(shuffles("frobnicate.b32 %r4, %r2;"), 0);
}

/// Opcodes that stand in test inputs and are known not to be modelled.
const KNOWN_OPAQUE: &str = include_str!("instructions/opaque.txt");

#[test]
fn every_opcode_seen_in_inputs_is_classified() {
    let known: Vec<&str> = KNOWN_OPAQUE.lines().filter(|line| !line.starts_with('#')).collect();
    let seen = corpus::opcodes();
    assert!(seen.len() > 50, "only {} opcodes found", seen.len());
    let failures: Vec<String> = seen
        .iter()
        .filter(|(opcode, seen)| {
            let listed = |start: &&str| {
                opcode
                    .strip_prefix(start)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            seen.meaning == Meaning::Opaque && !known.iter().any(listed)
        })
        .map(|(opcode, seen)| format!("`{opcode}` ({}) stands in no table", seen.example))
        .collect();
    report(&failures);
}

#[test]
fn every_form_of_the_tables_has_an_exact_meaning() {
    let failures: Vec<String> = all_forms()
        .iter()
        .filter_map(|form: &form::Form| {
            let text = format!("{HEADER}{}", form.kernel("k"));
            let found =
                with_instructions(&text, |inst| (inst.ast.opcode.text.to_owned(), meaning(inst)));
            let meanings = found.unwrap_or_default();
            let exact = meanings.contains(&(form.opcode.clone(), Meaning::Exact));
            (!exact).then(|| format!("`{}`: {meanings:?}", form.line))
        })
        .collect();
    report(&failures);
}

/// `cargo test --test execute instructions::coverage -- --nocapture` prints how much of each opcode is known.
#[test]
fn coverage() {
    let tested: BTreeMap<String, usize> =
        all_forms().iter().fold(BTreeMap::new(), |mut counts, form| {
            *counts.entry(form.mnemonic().to_owned()).or_default() += 1;
            counts
        });
    let mut rows: BTreeMap<Meaning, BTreeMap<String, usize>> = BTreeMap::new();
    for (opcode, seen) in corpus::opcodes() {
        let mnemonic = opcode.split('.').next().unwrap_or_default().to_owned();
        *rows.entry(seen.meaning).or_default().entry(mnemonic).or_default() += seen.count;
    }
    println!("exact, tested against the manual: {} forms", tested.values().sum::<usize>());
    println!("    {}", listed(&tested));
    for (meaning, row) in &rows {
        let total: usize = row.values().sum();
        println!("{meaning:?} in the inputs of the repository: {total} instructions");
        println!("    {}", listed(row));
    }
    assert!(rows.contains_key(&Meaning::Exact) && rows.contains_key(&Meaning::Uninterpreted));
}

fn listed(counts: &BTreeMap<String, usize>) -> String {
    let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
    parts.join(", ")
}

/// One of how many texts with literals is tried. `PTXASW_TEST_EVERY=1` tries all of them, which takes hours.
#[expect(
    clippy::disallowed_methods,
    reason = "how much a test tries is asked for by the environment"
)]
fn every() -> usize {
    std::env::var("PTXASW_TEST_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// The forms that have results, with registers and with constants in their places, and how many have registers.
static FORMS_WITH_RESULTS: LazyLock<(Vec<String>, usize)> = LazyLock::new(|| {
    let assembler = &Assembler::find().expect("an assembler");
    let mut forms = templates::existing(assembler, &templates::candidates());
    forms.retain(|form| !destinations(form).is_empty());
    let mut literals: Vec<String> = forms.iter().flat_map(|form| with_literals(form)).collect();
    literals.sort();
    literals.dedup();
    let literals: Vec<String> = literals.into_iter().step_by(every()).collect();
    let with_registers = forms.len();
    forms.extend(templates::existing(assembler, &literals));
    (forms, with_registers)
});

#[test]
fn the_assembler_folds_to_what_the_interpreter_computes() {
    let Some(assembler) = Assembler::find() else { return };
    if !folded::has_disassembler(&assembler) {
        not_run(&format!("instructions: nvdisasm is missing beside {}", assembler.ptxas.display()));
        return;
    }
    let mut forms = FORMS_WITH_RESULTS.0.clone();
    // What the manual leaves open: approximations, division by zero, fields longer than a byte says, and the sign bit
    // as a predicate.
    let left_open = [".approx", ".full", "0x8000000000000000", "rem.", "div.", "bfi.", "bfe."];
    forms.retain(|form| !left_open.iter().any(|word| form.contains(word)));
    let all = forms.len();
    let mut at = 0..;
    forms.retain(|_| at.next().is_some_and(|at| has_turn(at, 3)));
    let known: Vec<(Case<'_>, Vec<u64>)> = forms
        .par_iter()
        .filter_map(|form| {
            let case = Case::new(form, Values::Constants);
            let results = case.results()?;
            Some((case, results))
        })
        .collect();
    let found: Vec<Folded> =
        known.par_chunks(1024).flat_map_iter(|cases| folded::folded(&assembler, cases)).collect();
    let failures: Vec<String> = known
        .iter()
        .zip(&found)
        .filter(|(_, found)| **found == Folded::Other)
        .map(|((case, results), _)| {
            format!("{}: ptxas has another result than {results:x?}", case.name())
        })
        .collect();
    let same = found.iter().filter(|found| **found == Folded::Same).count();
    println!("{} forms: ptxas computes {same} of them, {} otherwise", known.len(), failures.len());
    report(&failures);
    assert!(same * all > 3000 * forms.len(), "ptxas folds {same} of {} forms only", forms.len());
}

/// (A short run tries a third of the forms, the next third tomorrow.)
#[test]
fn a_branch_that_a_result_takes_is_not_dead() {
    if Assembler::find().is_none() {
        return;
    }
    let (forms, with_registers) = &*FORMS_WITH_RESULTS;
    // The validator is asked about fewer of them, because it takes most of the time.
    let least = if share(100) < 100 { 40 } else { 12 };
    let judged = |at: usize| at.is_multiple_of(every().min(least));
    let (compared, failures): (Vec<usize>, Vec<Vec<String>>) = forms
        .par_iter()
        .enumerate()
        .filter(|(at, _)| has_turn(*at, 3))
        .map(|(at, form)| {
            let cases = [Values::Constants, Values::Parameters].map(|from| Case::new(form, from));
            let known: Vec<_> =
                cases.iter().filter_map(|case| Some((case, case.results()?))).collect();
            let failures = known
                .iter()
                .filter_map(|(case, results)| case.check(results, judged(at)).err())
                .collect();
            (known.len(), failures)
        })
        .unzip();
    report(&failures.concat());
    let compared: usize = compared.iter().sum();
    assert!(*with_registers > 5000 && compared > 3_000, "{with_registers} forms, {compared} cases");
}
