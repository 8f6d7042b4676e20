//! The real assembler's arithmetic: it folds many instructions on constants, and the machine code shows the outcome of
//! a folded branch.
//!
//! A kernel stores a mark where a result differs from the interpreter's. If the assembler folds the result to the
//! same, no store is left; if it folds it to another one, the store stands there without a condition; else the store
//! depends on a predicate or a branch, and nothing is known.

use std::path::Path;
use std::process::Command;

use super::assembler::Assembler;
use super::reachable::Case;
use super::templates::TARGET;

/// Kernels in a module.
const CHUNK: usize = 128;

/// The byte at which the mark is stored, as machine code spells it.
const MARK: &str = "+0x7654]";

/// What the assembler makes of a form on constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Folded {
    /// The same result.
    Same,
    /// Another result.
    Other,
    /// It does not compute the result.
    Not,
}

/// What the assembler makes of some forms, each with the results that the interpreter computes.
pub fn folded(assembler: &Assembler, cases: &[(Case<'_>, Vec<u64>)]) -> Vec<Folded> {
    cases.chunks(CHUNK).flat_map(|chunk| of_module(assembler, chunk)).collect()
}

#[expect(clippy::disallowed_methods, reason = "starts the real ptxas and the disassembler")]
fn of_module(assembler: &Assembler, cases: &[(Case<'_>, Vec<u64>)]) -> Vec<Folded> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [input, output] = ["forms.ptx", "forms.cubin"].map(|name| folder.path().join(name));
    let mut module = String::new();
    for (at, (case, results)) in cases.iter().enumerate() {
        let text = case.marking(results);
        let kernel = text.find(".visible").expect("a kernel");
        module += if at == 0 { &text[..kernel] } else { "" };
        module += &text[kernel..].replacen(".entry k(", &format!(".entry k{at}("), 1);
    }
    std::fs::write(&input, &module).expect("written");
    let mut call = Command::new(&assembler.ptxas);
    call.arg(format!("-arch={TARGET}")).arg(&input).arg("-o").arg(&output);
    let said = call.output().expect("ptxas starts");
    if !said.status.success() {
        // A form that the assembler refuses beside others must not hide these.
        let (first, rest) = cases.split_at(cases.len() / 2);
        return match first {
            [] => vec![Folded::Not],
            _ => [of_module(assembler, first), of_module(assembler, rest)].concat(),
        };
    }
    let disassembler = assembler.ptxas.with_file_name("nvdisasm");
    let code = Command::new(disassembler).arg("-c").arg(&output).output().expect("nvdisasm starts");
    let code = String::from_utf8_lossy(&code.stdout).into_owned();
    let sections: Vec<(usize, &str)> = code
        .split(".text.k")
        .filter_map(|section| {
            let number = section.split(|c: char| !c.is_ascii_digit()).next()?;
            Some((number.parse().ok()?, section))
        })
        .collect();
    (0..cases.len())
        .map(|at| {
            let own = sections.iter().filter(|(number, _)| *number == at);
            let own: Vec<&str> = own.flat_map(|(_, section)| section.lines()).collect();
            assert!(!own.is_empty(), "no machine code of k{at}:\n{code}");
            let marks = own.iter().any(|line| line.contains(MARK));
            let depends = own
                .iter()
                .any(|line| line.contains("@P") || line.contains("@!P") || line.contains("@UP"));
            match (marks, depends) {
                (false, _) => Folded::Same,
                (true, true) => Folded::Not,
                (true, false) => Folded::Other,
            }
        })
        .collect()
}

/// Whether there is a disassembler beside the assembler.
pub fn has_disassembler(assembler: &Assembler) -> bool {
    let beside: &Path = &assembler.ptxas.with_file_name("nvdisasm");
    beside.exists()
}
