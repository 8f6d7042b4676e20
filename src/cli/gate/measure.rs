//! The cycles of both versions of a text's rewritten kernels, by their machine code.

use std::collections::BTreeMap;

use crate::cli::large_stack::on_large_stack;
use crate::pipeline::{self, Compared, Followed, Options, Rewritten};
use crate::ptx::Depth;
use crate::source::SourceFile;

/// The facts about some kernels of a text in both versions, by the kernels' names. A rewriter that has not looked at the
/// original's accesses has them looked at here.
pub(super) fn followed(
    source: &SourceFile,
    rewritten: &Rewritten,
    kernels: &[&str],
    options: &Options,
) -> BTreeMap<String, Followed> {
    let text = SourceFile::new(source.name(), rewritten.text.as_str());
    let is_missing = |name: &&str| !rewritten.facts.contains_key(*name);
    let missing: Vec<&str> = kernels.iter().copied().filter(is_missing).collect();
    let found = on_large_stack(|| {
        let facts = |text, kernels| pipeline::facts(text, options, Depth::Named(kernels)).ok();
        let after = facts(&text, kernels)?;
        if missing.is_empty() {
            return Some(pipeline::followed(&rewritten.facts, &after));
        }
        let mut before = facts(source, &missing)?;
        before.extend(rewritten.facts.clone());
        Some(pipeline::followed(&before, &after))
    });
    found.ok().and_then(Result::ok).flatten().unwrap_or_default()
}

/// The cycles of some kernels, by their names, or why there are none.
pub(super) fn compared(
    followed: &BTreeMap<String, Followed>,
    cubins: [&[u8]; 2],
    names: &[&str],
) -> Result<BTreeMap<String, Compared>, String> {
    if !pipeline::is_measurable(cubins[0]) {
        return Err("nothing is known of this architecture's timing".to_owned());
    }
    pipeline::measured(cubins, followed, names)
}
