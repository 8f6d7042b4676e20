//! The cycles of both versions of a text's rewritten kernels, by their machine code.

use std::collections::BTreeMap;

use crate::cli::large_stack::on_large_stack;
use crate::pipeline::{self, Built, Compared, Options, Versions};
use crate::ptx::Depth;
use crate::requests::Facts;

/// The facts about some kernels of a text, in its two versions. They are found out while these are assembled.
pub(super) type BothFacts = [BTreeMap<String, Facts>; 2];

/// Finds the facts about some kernels.
pub(super) fn facts(versions: &Versions, names: &[&str], options: &Options) -> BothFacts {
    [&versions.original, &versions.rewritten].map(|text| {
        let found = on_large_stack(|| pipeline::facts(text, options, Depth::Named(names)));
        found.ok().and_then(Result::ok).and_then(Result::ok).unwrap_or_default()
    })
}

/// The cycles of some kernels, by their names, or why there are none.
pub(super) fn compared(
    [before, after]: &BothFacts,
    [original, rewritten]: [&[u8]; 2],
    names: &[&str],
) -> Result<BTreeMap<String, Compared>, String> {
    if !pipeline::is_measurable(original) {
        return Err("nothing is known of this architecture's timing".to_owned());
    }
    let before = Built { facts: before, cubin: original };
    let after = Built { facts: after, cubin: rewritten };
    pipeline::measured(before, after, names)
}
