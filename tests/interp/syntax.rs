//! What the assembler takes besides what compilers write today. `syntax/NAME.ptx` has a kernel `k`
//! with one parameter, the address of 64 words `out`, which begin as `1000 + i`; it runs as one warp.
//! Header lines say what comes out: `// expect: 6 7 8` the first words of `out`, `// shared: 256` how
//! much dynamic shared memory there is. The words are worked out by hand from the PTX manual, or from
//! the machine code where the manual is silent.
//!
//! Each file must also assemble, and the rewritten text must compute the same.

use std::fs;

use super::assembler::Assembler;
use super::bed::{Bed, path};
use ptxasw::pipeline::{self, Options};
use ptxasw::source::SourceFile;

/// The words behind a header's key.
fn header(text: &str, key: &str) -> Option<Vec<u32>> {
    let mark = format!("// {key}:");
    let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix(&mark)).collect();
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).expect(word),
        None => word.parse().expect(word),
    };
    (!lines.is_empty()).then(|| lines.join(" ").split_whitespace().map(number).collect())
}

fn computed(name: &str, text: &str) -> Result<Vec<u32>, String> {
    let shared = header(text, "shared").map_or(0, |words| words[0]);
    let start: Vec<u32> = (1000..1064).collect();
    let bed = Bed::text(name, text, "k").buffer("out", &start).shared(shared.into());
    match bed.run() {
        Ok(outcome) => Ok(super::bed::Done(outcome).get("out")),
        Err(fault) => Err(fault.diagnostic(&SourceFile::new(name, text)).to_string()),
    }
}

fn check(name: &str, text: &str, assembler: Option<&Assembler>) -> Result<(), String> {
    let expected = header(text, "expect").ok_or("it does not say what to expect")?;
    let found = computed(name, text)?;
    if found[..expected.len()] != expected {
        return Err(format!("expected {expected:?}\n   found {:?}", &found[..expected.len()]));
    }
    let source = SourceFile::new(name, text);
    let rewritten = pipeline::rewrite(&source, &Options::paper()).map_err(|e| e.to_string())?;
    if computed(name, &rewritten.text)? != found {
        return Err("the rewritten kernel computes something else".to_owned());
    }
    let Some(assembler) = assembler else { return Ok(()) };
    let cubin = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
    assembler.assemble(text, cubin.path())?;
    assembler.assemble(&rewritten.text, cubin.path())
}

#[test]
fn what_the_assembler_takes_runs_as_it_assembles() {
    let assembler = Assembler::find();
    let mut names: Vec<_> = fs::read_dir(path("tests/interp/syntax"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    names.sort();
    assert!(names.len() > 10, "{names:?}");
    let failures: Vec<String> = names
        .iter()
        .filter_map(|file| {
            let text = fs::read_to_string(file).expect("a kernel");
            let name = file.file_name().expect("a name").to_string_lossy();
            check(&name, &text, assembler.as_ref()).err().map(|e| format!("{name}: {e}"))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
