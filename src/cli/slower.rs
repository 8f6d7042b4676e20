//! Which rewritten kernels take more cycles than before, by the measure of their machine code.
//!
//! In: a text, its rewriting, and the bytes that the assembler made of both. Out: the kernels that are to be taken back,
//! with the cycles of both versions, which also go into the report.

use std::collections::BTreeMap;

use super::large_stack::on_large_stack;
use crate::kernels::demangled;
use crate::pipeline::{self, Built, Compared, Options, Rewritten};
use crate::ptxas::examine::Examined;
use crate::ptxas::losses::Loss;
use crate::report::{KernelReport, MeasureReport};
use crate::source::SourceFile;

/// The measures of kernels, by the names of their files and their own.
pub(super) type Measures = BTreeMap<(String, String), MeasureReport>;

/// Puts the measures of kernels into their reports.
pub(super) fn report_measures(examined: &mut [Examined<Rewritten>], measures: &Measures) {
    for one in examined {
        if let Some((source, Ok(rewritten))) = &mut one.outcome {
            for kernel in &mut rewritten.report.kernels {
                let key = (source.name().to_owned(), kernel.name.clone());
                kernel.measure = measures.get(&key).cloned();
            }
        }
    }
}

/// A rewritten kernel that takes this many times the cycles of the original, or more, is taken back.
const MOST_CYCLES: f64 = 1.005;

/// So is one that takes more than this many times the cycles with some number of resident warps, whatever it gains with
/// others.
const MOST_CYCLES_ANYWHERE: f64 = 1.02;

/// A kernel that gains by waiting less alone is also taken back if it takes more than this many times the cycles with all
/// warps resident that fit: other warps use the time that one waits, and the simulator that the measure is held against says
/// nothing about smaller differences.
const MOST_CYCLES_OF_WAITING: f64 = 0.95;

/// The kernels of a text that take more cycles than before, if costs decide. Also notes the measurements. The rewrites
/// of kernels that have `lost` something are undone anyway.
pub(super) fn slower(
    source: &SourceFile,
    rewritten: &Rewritten,
    [original, cubin]: [&[u8]; 2],
    options: &Options,
    lost: &[Loss],
    measures: &mut Measures,
) -> Vec<Loss> {
    if !options.select.strategies.are_weighed() {
        return Vec::new();
    }
    let key = |kernel: &str| (source.name().to_owned(), kernel.to_owned());
    let kernels = rewritten.report.kernels.iter();
    let open: Vec<&str> = kernels
        .filter(|kernel| kernel.is_rewritten() && kernel.strategy.is_none())
        .map(|kernel| kernel.name.as_str())
        .filter(|kernel| !measures.contains_key(&key(kernel)))
        .filter(|kernel| lost.iter().all(|(known, _)| known != kernel))
        .collect();
    if open.is_empty() {
        return Vec::new();
    }
    let text = SourceFile::new(source.name(), rewritten.text.as_str());
    let before = Built { source, cubin: original };
    let after = Built { source: &text, cubin };
    let found = on_large_stack(|| pipeline::measured(before, after, options, &open));
    let found = match found {
        Ok(Ok(Ok(found))) => found,
        Ok(Ok(Err(reason))) => {
            log::info!("{}: not measured: {reason}", source.name());
            BTreeMap::new()
        }
        Ok(Err(_)) | Err(_) => BTreeMap::new(),
    };
    // An array's new layout is used only where it is known to be faster.
    let unknown = |kernel: &&KernelReport| {
        kernel.laid_out() > 0
            && open.contains(&kernel.name.as_str())
            && !found.contains_key(&kernel.name)
    };
    let mut lost: Vec<Loss> = rewritten
        .report
        .kernels
        .iter()
        .filter(unknown)
        .map(|kernel| {
            (kernel.name.clone(), "the cycles of the new layout are not known".to_owned())
        })
        .collect();
    for (name, Compared { report: measure, waits_less }) in found {
        let mut kernels = rewritten.report.kernels.iter();
        let has_layout = kernels.any(|kernel| kernel.name == name && kernel.laid_out() > 0);
        let (Some(ratio), Some(worst)) = (measure.ratio(), measure.worst()) else { continue };
        // The model knows little about layouts: they may be slower for no number of warps.
        let is_slower = match has_layout {
            true => worst >= MOST_CYCLES,
            false => {
                ratio >= MOST_CYCLES
                    || worst > MOST_CYCLES_ANYWHERE
                    || waits_less
                        && measure.with_most().is_none_or(|full| full > MOST_CYCLES_OF_WAITING)
            }
        };
        if is_slower {
            lost.push((name.clone(), measure.to_string()));
        }
        // (That a kernel is taken back, and for which cycles, is said by itself.)
        let level = if is_slower { log::Level::Debug } else { log::Level::Info };
        let shown = demangled(&name);
        log::log!(level, "{}: {shown} takes {ratio:.2} times the cycles: {measure}", source.name());
        measures.insert(key(&name), measure);
    }
    lost
}
