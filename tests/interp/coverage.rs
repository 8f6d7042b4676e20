//! `coverage.txt`: every instruction of the ISA is either executed, or refused with its name and
//! place; and ptxas agrees that the lines are instructions.

use super::assembler::Assembler;
use super::bed::{Bed, path};
use ptxasw::interp::FaultKind;

/// What becomes of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Modelled,
    Refused,
    Traps,
}

struct Form<'t> {
    line: usize,
    target: &'t str,
    text: &'t str,
    fate: Fate,
}

fn forms(text: &str) -> Vec<Form<'_>> {
    let mut target = "";
    let mut forms = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("target ") {
            target = name;
            continue;
        }
        let (text, fate) = match (line.strip_suffix(" -"), line.strip_suffix(" !")) {
            (Some(text), _) => (text, Fate::Refused),
            (_, Some(text)) => (text, Fate::Traps),
            _ => (line, Fate::Modelled),
        };
        forms.push(Form { line: number + 1, target, text, fate });
    }
    forms
}

fn header(target: &str) -> String {
    format!(
        ".version 8.8\n.target {target}\n.address_size 64\n.global .texref texture;\n\
         .global .surfref surface;\n\
         .func (.reg .b32 a) function(.reg .b32 b) {{ mov.b32 a, b; ret; }}\n"
    )
}

/// A kernel that performs the form in a warp.
fn kernel(form: &Form<'_>, name: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 p) {{ .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>;
         .reg .b64 %x<9>; .reg .b128 %q<3>; .reg .b32 r; .shared .align 128 .b8 s[4096]; .shared .b64 m;
         .reg .b32 t; mov.u32 t, %tid.x; ld.param.u64 %x1, [p]; mad.wide.u32 %x1, t, 64, %x1;
         cvta.to.global.u64 %x0, %x1; mov.u32 %r2, s; mov.u32 r, 5; mov.u64 %x2, 0;
         setp.eq.u32 %p1, t, 0; @%p1 mbarrier.init.shared.b64 [m], 64; bar.sync 0;
         {} \n ret; }}\n",
        form.text
    )
}

#[test]
fn every_instruction_is_modelled_or_refused_by_name() {
    let text = std::fs::read_to_string(path("tests/interp/coverage.txt")).expect("the list");
    let mut wrong = Vec::new();
    for form in forms(&text) {
        let module = header(form.target) + &kernel(&form, "k");
        let place = format!("coverage.txt:{}: {}", form.line, form.text);
        let bed = Bed::text("form.ptx", module, "k").without_races().ignoring_uninitialized();
        let fault = bed.buffer("p", &[0_u32; 512]).run().err();
        let kind = fault.as_ref().map(|fault| fault.kind);
        let right = match form.fate {
            Fate::Modelled => kind.is_none(),
            Fate::Traps => kind == Some(FaultKind::Trap),
            Fate::Refused => {
                let mnemonic = form.text.split(['.', ' ', ';']).next().unwrap_or_default();
                let named = |fault: &ptxasw::interp::Fault| {
                    fault.span.is_some() && fault.message.contains(mnemonic)
                };
                kind == Some(FaultKind::Unsupported) && fault.as_ref().is_some_and(named)
            }
        };
        if !right {
            wrong.push(format!("{place}: {fault:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn ptxas_takes_every_line_for_an_instruction() {
    let Some(assembler) = Assembler::find() else { return };
    let text = std::fs::read_to_string(path("tests/interp/coverage.txt")).expect("the list");
    let forms = forms(&text);
    for group in forms.chunk_by(|a, b| a.target == b.target) {
        let mut module = header(group[0].target);
        for (number, form) in group.iter().enumerate() {
            module += &kernel(form, &format!("k{number}"));
        }
        let folder = tempfile::tempdir().expect("a folder");
        let cubin = folder.path().join("out.cubin");
        let said = assembler.assemble(&module, &cubin).err();
        // It has remarks on stack sizes, but no objection.
        assert!(cubin.exists(), "{}: {said:?}", group[0].target);
    }
}
