//! Whether a filled kernel does what its specification does.

use super::node::Nodes;
use super::spec::Pair;
use super::{lower, warp};
use crate::cfg;
use crate::ptx::{self, Depth};
use crate::source::{Diagnostic, SourceFile};

/// Judges a filled text.
///
/// # Errors
/// A kernel does something else than its specification.
pub fn judge(source: &SourceFile, pairs: &[Pair<'_, '_>], text: &str) -> Result<(), Diagnostic> {
    let filled = SourceFile::new(source.name(), text);
    let module = ptx::parse(&filled, Depth::All)?;
    for pair in pairs {
        let wrong = |why: String| {
            let message =
                format!("`{}` filled is not its specification: {why}", pair.kernel.name.text);
            source.diagnostic(pair.kernel.name.span, message)
        };
        let body = |name: &str| {
            let mut named = module.functions().filter(|function| function.name.text == name);
            named.find(|function| function.statements().is_some())
        };
        let both = body(pair.kernel.name.text).zip(body(pair.spec.name.text));
        let Some((kernel, spec)) = both else { return Err(wrong("it is gone".to_owned())) };
        let mut nodes = Nodes::default();
        let mut run = |function| {
            let flow = cfg::build(&filled, function)?;
            warp::execute(&filled, function, &flow, &mut nodes)
        };
        let (wanted, found) = (run(spec)?, run(kernel)?);
        for ((buffer, offset), (bytes, node)) in wanted.results() {
            if found.memory.get(&(buffer, offset)) != Some(&(bytes, node)) {
                let place = lower::place(&nodes, buffer, offset, bytes);
                return Err(wrong(format!("{place} differs")));
            }
        }
        if found.results().count() != wanted.results().count() {
            return Err(wrong("it stores more".to_owned()));
        }
    }
    Ok(())
}
