//! Kernels whose addresses are made of a far base and a far offset, which together are the same modulo 2^64: each case that is
//! rewritten, with its offsets moved to where sums of 32 or 64 bits wrap around. What the rewritten kernel computes is the
//! same to the bit.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use ptxasw::cfg::{self, Arg, Base};
use ptxasw::interp;
use ptxasw::pipeline::rewrite;
use ptxasw::ptx::{self, Depth, FunctionKind, Operand, StateSpace};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

use crate::common::header;
use crate::common::share;
use crate::differential::{FOLDER, launch};

/// Where offsets are moved to.
const FAR: [i64; 5] = [1 << 31, -(1 << 31), 1 << 32, 1 << 62, i64::MIN];
/// Around these, in bytes.
const AROUND: [i64; 7] = [-16, -12, -8, -4, 0, 4, 16];
/// Launches: the threads of a block and the number that 32-bit parameters have.
const LAUNCHES: [(u32, i32); 2] = [(64, 26), (32, 3)];

/// The text with the global accesses of all kernels at `by` bytes from bases that lie as far the other way; of every second
/// base alone, if `alternate` says so.
fn moved(source: &SourceFile, by: i64, alternate: bool) -> Option<String> {
    let module = ptx::parse(source, Depth::All).ok()?;
    let mut edits: Vec<(usize, usize, String)> = Vec::new();
    for function in module.functions() {
        let Ok(flow) = cfg::build(source, function) else { continue };
        let mut count = 0;
        for inst in &flow.insts {
            let space = inst.ast.form.space();
            for (at, arg) in inst.args.iter().enumerate() {
                let Arg::Memory { base: Base::Register(base), offset, rest } = arg else {
                    continue;
                };
                let is_even = usize::from(*base).is_multiple_of(2);
                if !matches!(space, StateSpace::Global | StateSpace::Generic)
                    || !rest.is_empty()
                    || flow.registers[*base].ty.bits() != 64
                    || alternate && is_even
                {
                    continue;
                }
                let Some(Operand::Address(address)) = inst.ast.operands.get(at) else { continue };
                let own = flow.registers[*base].name;
                let start = inst.ast.span.start as usize;
                let far = format!("%far{count}");
                count += 1;
                edits.push((
                    start,
                    start,
                    format!("add.s64 {far}, {own}, {};\n\t", by.wrapping_neg()),
                ));
                let (from, to) = (address.span.start as usize, address.span.end as usize);
                edits.push((from, to, format!("[{far}+{}]", offset.wrapping_add(by))));
            }
        }
        let range = function.span.range();
        let body = range.start + source.text()[range].find('{')? + 1;
        edits.push((body, body, format!("\n\t.reg .b64 %far<{}>;", count + 1)));
    }
    edits.sort_by_key(|(start, end, _)| (*start, *end));
    let (text, mut out, mut done) = (source.text(), String::new(), 0);
    for (start, end, by) in edits {
        let _ = write!(out, "{}{by}", &text[done..start]);
        done = end;
    }
    Some(out + &text[done..])
}

/// The faults of a file with far offsets, and the number of launches of changed kernels without any.
fn check(file: &Path, number: usize) -> (Vec<String>, usize) {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let name = file.display().to_string();
    let near = SourceFile::new(&name, &text);
    let options = header::options_of(&text);
    let (mut wrong, mut right) = (Vec::new(), 0);
    let all = FAR.iter().flat_map(|far| AROUND.iter().map(move |around| far.wrapping_add(*around)));
    let all: Vec<i64> = all.collect();
    let count = share(all.len() as u64) as usize;
    for step in 0..count {
        let by = all[(number * count + step) % all.len()];
        let Some(text) = moved(&near, by, step % 2 == 1) else { continue };
        let source = SourceFile::new(&name, text);
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        let rewritten = match std::panic::catch_unwind(|| rewrite(&source, &options)) {
            Ok(Ok(rewritten)) => rewritten,
            Err(_) => {
                wrong.push(format!("{name} {by:#x}: panics"));
                continue;
            }
            Ok(Err(error)) => {
                wrong.push(format!("{name} {by}: {error}"));
                continue;
            }
        };
        if rewritten.text == source.text() {
            continue;
        }
        let result = SourceFile::new(&name, &rewritten.text);
        let after = ptx::parse(&result, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        for function in module.functions().filter(|one| one.kind == FunctionKind::Entry) {
            for (threads, number) in LAUNCHES {
                let Some(mut launch) = launch(&source, function, [threads, 1, 1], number) else {
                    continue;
                };
                let Ok(expected) = interp::run(&module, &launch) else { continue };
                launch.limit *= 20;
                let same = match interp::run(&after, &launch) {
                    Ok(outcome) if outcome.buffers == expected.buffers => {
                        right += 1;
                        continue;
                    }
                    Ok(_) => "the buffers differ".to_owned(),
                    Err(fault) => fault.to_string(),
                };
                wrong.push(format!("{name}: {} with {by:#x}: {same}", function.name.text));
            }
        }
    }
    (wrong, right)
}

#[test]
fn offsets_at_the_ends_of_addresses() {
    let mut files: Vec<_> = std::fs::read_dir(FOLDER)
        .unwrap_or_else(|e| panic!("{FOLDER}: {e}"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|one| one == "ptx"))
        .collect();
    files.sort();
    let found: Vec<_> =
        files.par_iter().enumerate().map(|(number, file)| check(file, number)).collect();
    let wrong: Vec<String> = found.iter().flat_map(|(wrong, _)| wrong.clone()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Each strategy has changed something.
    let mut strategies: BTreeMap<String, usize> = BTreeMap::new();
    for (file, (_, right)) in files.iter().zip(&found) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let named = text.lines().find_map(|line| line.strip_prefix("// strategy: "));
        for name in named.unwrap_or("paper").split(',') {
            *strategies.entry(name.trim().to_owned()).or_default() += right;
        }
    }
    let unchanged: Vec<_> = strategies.iter().filter(|(_, right)| **right == 0).collect();
    assert!(unchanged.is_empty(), "nothing was changed by {unchanged:?}");
}
