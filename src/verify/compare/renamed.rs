//! A kernel under the names of another one: an optimised kernel commonly has a name of its own, and its parameters
//! and arrays are named after it.
//!
//! In: two files with a kernel of each. Out: the second file with that kernel, its parameters and its variables named
//! as those of the first one in the same places, and without other kernels. Every line stays where it is.

use std::ops::Range;

use std::collections::BTreeMap;

use crate::kernels;
use crate::ptx::{self, Depth, Function, FunctionKind, StateSpace, Statement};
use crate::source::SourceFile;

/// The file `rewritten` with the kernel `against` under the names of the kernel `kernel` of the file `original`.
///
/// # Errors
/// A file that cannot be parsed or does not have the kernel; other numbers of parameters; a name that means something
/// else already.
pub fn under_names(
    original: &SourceFile,
    kernel: &str,
    rewritten: &SourceFile,
    against: &str,
) -> Result<SourceFile, String> {
    let parse = |source| ptx::parse(source, Depth::All).map_err(|error| error.to_string());
    let (before, after) = (parse(original)?, parse(rewritten)?);
    let find = |module: &'_ ptx::Module<'_>, name: &str| {
        let names: Vec<&str> = module.functions().map(|function| function.name.text).collect();
        let found = kernels::find(&names, name);
        let at = found.map(|found| names.iter().position(|name| *name == found));
        at.map(Option::unwrap_or_default)
    };
    let old = find(&before, kernel)?;
    let new = find(&after, against)?;
    let (old, new) = (before.functions().nth(old), after.functions().nth(new));
    let (Some(old), Some(new)) = (old, new) else { return Err("no function".to_owned()) };
    let (theirs, mine) = (parameters(old), parameters(new));
    if theirs.len() != mine.len() {
        return Err(format!(
            "`{kernel}` has {} parameters, `{against}` {}",
            theirs.len(),
            mine.len()
        ));
    }
    let mut names: BTreeMap<&str, &str> = mine.into_iter().zip(theirs).collect();
    names.insert(new.name.text, old.name.text);
    let (theirs, mine) = (variables(old), variables(new));
    if theirs.len() == mine.len() {
        names.extend(mine.into_iter().zip(theirs));
    }
    names.retain(|from, to| from != to);
    let text = rewritten.text();
    let own = new.span.range();
    let words = || words(&text[own.clone()]);
    for (from, to) in &names {
        if !names.contains_key(to) && words().any(|(_, word)| word == *to) {
            return Err(format!("`{from}` cannot be named `{to}`, which means something else"));
        }
    }
    let mut edits: Vec<(Range<usize>, String)> = words()
        .filter_map(|(at, word)| {
            let start = own.start + at;
            names.get(word).map(|to| (start..start + word.len(), (*to).to_owned()))
        })
        .collect();
    let others = after.functions().filter(|f| f.kind == FunctionKind::Entry && f.span != new.span);
    edits.extend(others.map(|function| {
        let range = function.span.range();
        let lines = text[range.clone()].matches('\n').count();
        (range, "\n".repeat(lines))
    }));
    edits.sort_by_key(|(range, _)| range.start);
    let (mut renamed, mut copied) = (String::new(), 0);
    for (range, by) in edits {
        renamed.push_str(&text[copied..range.start]);
        renamed.push_str(&by);
        copied = range.end;
    }
    renamed.push_str(&text[copied..]);
    Ok(SourceFile::new(rewritten.name(), renamed))
}

fn parameters<'s>(function: &Function<'s>) -> Vec<&'s str> {
    let names = function.params.iter().flat_map(|variable| &variable.names);
    names.map(|declared| declared.name.text).collect()
}

/// The variables that a body declares, in order, without registers.
fn variables<'s>(function: &Function<'s>) -> Vec<&'s str> {
    fn collect<'s>(statements: &[Statement<'s>], all: &mut Vec<&'s str>) {
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => collect(statements, all),
                Statement::Variable(variable) if variable.space != StateSpace::Reg => {
                    all.extend(variable.names.iter().map(|declared| declared.name.text));
                }
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    collect(function.statements().unwrap_or_default(), &mut all);
    all
}

/// The words of a text, each with the byte that it begins at.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let part_of_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    text.split(move |c| !part_of_name(c))
        .map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
        .filter(|(_, word)| !word.is_empty())
}
