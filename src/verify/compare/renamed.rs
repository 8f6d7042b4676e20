//! A kernel under the names of another one: an optimised kernel commonly has a name of its own, and its parameters
//! and arrays are named after it.
//!
//! In: two files with a kernel of each. Out: the second file with that kernel, its parameters and its variables named
//! as those of the first one in the same places, and without other kernels. A name is replaced where it names the thing,
//! and nowhere else; what else the kernel declares under a name that is needed gets another one. Every line stays where it
//! is.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::kernels;
use crate::ptx::resolved::{Declared, Resolved};
use crate::ptx::{self, Body, Depth, Function, FunctionKind, Item, Module};
use crate::source::SourceFile;

/// Edits of a text: the bytes that are replaced, and what stands there instead.
type Edits = Vec<(Range<usize>, String)>;

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
    let (old, new) = (find(&before, kernel)?, find(&after, against)?);
    let mut edits = renamed(old, (rewritten, new))?;
    let is_taken = |item: &Item<'_>| match item {
        Item::Function(one) => one.kind == FunctionKind::Func && one.name.text == old.name.text,
        Item::Variable(one) => one.names.iter().any(|name| name.name.text == old.name.text),
        Item::Directive(_) => false,
    };
    if after.items.iter().any(is_taken) {
        return Err(format!("`{against}` cannot be named `{kernel}`, which means something else"));
    }
    let text = rewritten.text();
    let others = after.functions().filter(|f| f.kind == FunctionKind::Entry && f.span != new.span);
    edits.extend(others.map(|function| {
        let range = function.span.range();
        let lines = text[range.clone()].matches('\n').count();
        (range, "\n".repeat(lines))
    }));
    Ok(edited(rewritten, edits))
}

/// The file `rewritten` with the parameters of each function that is in both files named as the original's in the same
/// places; `None` if they are. Launches and calls give arguments by place.
pub(super) fn under_parameters(
    (original, before): (&SourceFile, &Module<'_>),
    (rewritten, after): (&SourceFile, &Module<'_>),
) -> Option<SourceFile> {
    let mut edits = Edits::new();
    for new in after.functions() {
        let old = before.functions().find(|one| one.name.text == new.name.text);
        let is_other = |old: &&Function<'_>| {
            let absent = matches!((&old.body, &new.body), (Body::Absent, _) | (_, Body::Absent));
            !absent && original.slice(old.span) != rewritten.slice(new.span)
        };
        if let Some(old) = old.filter(is_other) {
            edits.extend(renamed(old, (rewritten, new)).unwrap_or_default());
        }
    }
    (!edits.is_empty()).then(|| edited(rewritten, edits))
}

/// The kernel of each file, if each has one and they have different names.
pub fn only_kernels(original: &SourceFile, rewritten: &SourceFile) -> Option<[String; 2]> {
    let only = |source: &SourceFile| {
        let module = ptx::parse(source, Depth::Named(&[])).ok()?;
        let mut kernels = module
            .functions()
            .filter(|one| one.kind == FunctionKind::Entry && !matches!(one.body, Body::Absent));
        let kernel = kernels.next()?.name.text.to_owned();
        kernels.next().is_none().then_some(kernel)
    };
    let [old, new] = [only(original)?, only(rewritten)?];
    (old != new).then_some([old, new])
}

fn find<'m, 's>(module: &'m Module<'s>, name: &str) -> Result<&'m Function<'s>, String> {
    let names: Vec<&str> = module.functions().map(|function| function.name.text).collect();
    let found = kernels::find(&names, name)?;
    let mut functions = module.functions();
    functions.find(|one| one.name.text == found).ok_or_else(|| "no function".to_owned())
}

/// The edits that give a function, its parameters and its variables the names of another one.
fn renamed(
    old: &Function<'_>,
    (source, new): (&SourceFile, &Function<'_>),
) -> Result<Edits, String> {
    let [theirs, mine] = [parameters(old), parameters(new)];
    if theirs.len() != mine.len() {
        return Err(format!(
            "`{}` has {} parameters, `{}` {}",
            old.name.text,
            theirs.len(),
            new.name.text,
            mine.len()
        ));
    }
    let (resolved_old, resolved) = (Resolved::of(old), Resolved::of(new));
    let of_kind = |all: &Resolved<'_>, kind| -> Vec<usize> {
        (0..all.entities.len()).filter(|number| all.entities[*number].kind == kind).collect()
    };
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    for kind in [Declared::Parameter, Declared::Variable] {
        let [from, to] = [&resolved, &resolved_old].map(|all| of_kind(all, kind));
        let name = |all: &Resolved<'_>, number: &usize| all.entities[*number].name.to_owned();
        let set = |all: &Resolved<'_>, numbers: &[usize]| -> BTreeSet<String> {
            numbers.iter().map(|number| name(all, number)).collect()
        };
        // Variables of the same names in another order are the same variables.
        let are_same =
            kind == Declared::Variable && set(&resolved, &from) == set(&resolved_old, &to);
        if from.len() == to.len() && !are_same {
            let pairs = from.iter().zip(&to);
            let pairs = pairs.map(|(from, to)| (*from, name(&resolved_old, to)));
            names.extend(pairs.filter(|(from, to)| *to != name(&resolved, from)));
        }
    }
    let own = (old.name.text != new.name.text).then(|| old.name.text.to_owned());
    let wanted: BTreeSet<String> = names.values().cloned().chain(own).collect();
    let text = source.text();
    let outside = resolved.mentions.iter().filter(|mention| mention.entity.is_none());
    let mut outside = outside.map(|mention| &text[mention.span.range()]);
    if let Some(name) = outside.find(|name| wanted.contains(*name) && *name != new.name.text) {
        return Err(format!(
            "what `{}` declares cannot be named `{name}`, which means something else",
            new.name.text
        ));
    }
    // Anything else of a wanted name, or of a family with such a member, gets a new one.
    for (number, entity) in resolved.entities.iter().enumerate() {
        let is_wanted = |name: &String| match entity.is_family {
            true => name.starts_with(entity.name),
            false => name == entity.name,
        };
        if names.contains_key(&number) || !wanted.iter().any(is_wanted) {
            continue;
        }
        if entity.kind == Declared::Label && resolved.has_rows {
            return Err(format!("the label `{}` is in a row of labels", entity.name));
        }
        let mut new = (0..).map(|more| format!("{}_other{more}_", entity.name));
        let new = new.find(|new| !text.contains(new.as_str()));
        names.extend(new.map(|new| (number, new)));
    }
    let mut edits: Edits = resolved
        .mentions
        .iter()
        .filter_map(|mention| {
            let name = match mention.entity {
                Some(number) => names.get(&number)?,
                None if text[mention.span.range()] == *new.name.text => old.name.text,
                None => return None,
            };
            Some((mention.span.range(), name.to_owned()))
        })
        .collect();
    edits.push((new.name.span.range(), old.name.text.to_owned()));
    edits.retain(|(range, by)| text[range.clone()] != **by);
    Ok(edits)
}

fn parameters<'s>(function: &Function<'s>) -> Vec<&'s str> {
    let names = function.params.iter().flat_map(|variable| &variable.names);
    names.map(|declared| declared.name.text).collect()
}

/// The file after some edits.
pub(super) fn edited(source: &SourceFile, mut edits: Edits) -> SourceFile {
    let text = source.text();
    edits.sort_by_key(|(range, _)| range.start);
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (range, by) in edits {
        out.push_str(&text[copied..range.start]);
        out.push_str(&by);
        copied = range.end;
    }
    out.push_str(&text[copied..]);
    SourceFile::new(source.name(), out)
}
