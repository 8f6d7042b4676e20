//! The folders of `PTXASW_KEEP`, `PTXASW_REPORT` and `PTXASW_REMARKS`.
//!
//! In: an input, its outcome, and a folder. Out: files named after the input with a number that
//! depends on its path and text alone, so that parallel builds do not collide and a repeated build
//! repeats the names. Each file appears whole or not at all.

use crate::pipeline::Rewritten;
use crate::remarks;
use crate::report::{Report, ResourcesReport};
use crate::sass::{self, Resources};
use crate::source::SourceFile;
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Stores `NAME.original.ptx` and, if there is one, `NAME.rewritten.ptx`.
///
/// # Errors
/// The folder or a file cannot be written.
pub fn store_texts(
    folder: &Path,
    source: &SourceFile,
    rewritten: Option<&Rewritten>,
) -> io::Result<()> {
    let name = unique_name(source);
    store(folder, &format!("{name}.original.ptx"), source.text().as_bytes())?;
    match rewritten {
        Some(rewritten) => {
            store(folder, &format!("{name}.rewritten.ptx"), rewritten.text.as_bytes())
        }
        None => Ok(()),
    }
}

/// Stores the decisions as `NAME.json`.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn store_report(folder: &Path, source: &SourceFile, report: &Report) -> io::Result<()> {
    let mut json = serde_json::to_vec_pretty(report)?;
    json.push(b'\n');
    store(folder, &format!("{}.json", unique_name(source)), &json)
}

/// Stores the decisions as `NAME.opt.yaml`, which LLVM's tools look for.
///
/// # Errors
/// The folder or the file cannot be written.
pub fn store_remarks(folder: &Path, source: &SourceFile, report: &Report) -> io::Result<()> {
    let name = format!("{}.opt.yaml", unique_name(source));
    store(folder, &name, remarks::yaml(source, report).as_bytes())
}

/// The report of a file whose rewritten text was not used: no load is replaced.
pub fn unused(report: &Report, reason: &str) -> Report {
    let kernels = report.kernels.iter().map(|kernel| kernel.unused(reason)).collect();
    Report { kernels, ..report.clone() }
}

/// The resources of the kernels of a cubin; none of one that is not known or cannot be read.
pub fn resources(bytes: &[u8]) -> BTreeMap<String, Resources> {
    sass::resources::resources(bytes).map(|(_, kernels)| kernels).unwrap_or_default()
}

/// A report with the resources of its kernels by ptxas: of the originals, and of the rewritten texts.
pub fn with_resources(mut report: Report, made: &[BTreeMap<String, Resources>; 2]) -> Report {
    for kernel in &mut report.kernels {
        let [original, rewritten] = [&made[0], &made[1]].map(|of| of.get(&kernel.name).copied());
        let rewritten = rewritten.filter(|_| kernel.is_rewritten());
        if original.or(rewritten).is_some() {
            kernel.resources = Some(ResourcesReport { original, rewritten });
        }
    }
    report
}

/// The input's file name without `.ptx`, made harmless, and 16 digits.
fn unique_name(source: &SourceFile) -> String {
    let path = Path::new(source.name());
    let stem = match path.extension() {
        Some(extension) if extension == "ptx" => path.file_stem(),
        _ => path.file_name(),
    };
    let stem = stem.map_or_else(|| "input".into(), |stem| stem.to_string_lossy());
    let harmless = |c: char| if c.is_alphanumeric() || "._-+".contains(c) { c } else { '_' };
    let stem: String = stem.chars().map(harmless).take(100).collect();
    let mut hasher = FxHasher::default();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    hasher.write(absolute.as_os_str().as_encoded_bytes());
    hasher.write_u8(0);
    hasher.write(source.text().as_bytes());
    format!("{stem}-{:016x}", hasher.finish())
}

fn store(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(folder.join(name))?;
    Ok(())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::report::{Cost, LoadReport};
    use crate::report::{Decision, KernelReport};

    crate::unit_tests!(
        names_depend_on_path_and_text_alone,
        the_report_of_an_unused_text_claims_nothing
    );

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    fn names_depend_on_path_and_text_alone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("made/on/demand");
        for (name, text) in [("x/k.ptx", "a"), ("x/k.ptx", "a"), ("y/k.ptx", "a"), ("x/k.ptx", "b")]
        {
            store_texts(&folder, &SourceFile::new(name, text), None).unwrap();
        }
        let names = names(&folder);
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.iter().all(|n| n.starts_with("k-") && n.ends_with(".original.ptx")));
        let strange = unique_name(&SourceFile::new("-", ""));
        assert!(strange.starts_with("--"), "{strange}");
        assert!(!unique_name(&SourceFile::new("a b/\u{7}c d", "")).contains([' ', '/', '\u{7}']));
    }

    fn the_report_of_an_unused_text_claims_nothing() {
        let load = LoadReport {
            bytes: 4,
            decision: Decision::By(crate::strategies::StrategyName::Paper),
            source_line: Some(2),
            delta: Some(1),
            guards: Some(vec!["whole-warp".into()]),
            iterations: Some(1),
            cost: Some(Cost { strategy: 1.0, load: 2.0 }),
            ..LoadReport::new(3, "%f1".into())
        };
        let kernel = KernelReport {
            name: "k".into(),
            global_loads: 2,
            shuffles: 1,
            average_delta: Some(1.0),
            loads: vec![load],
            ..KernelReport::default()
        };
        let report = Report {
            file: "k.ptx".into(),
            strategy: "paper".into(),
            kernels: vec![kernel],
            ..Report::default()
        };
        let report = unused(&report, "refused");
        let kernel = &report.kernels[0];
        assert_eq!((kernel.shuffles, kernel.average_delta), (0, None));
        assert_eq!(kernel.loads[0].decision, Decision::Keep);
        assert!(kernel.loads[0].reason.is_some() && kernel.loads[0].delta.is_none());
        assert!(kernel.loads[0].iterations.is_none() && kernel.loads[0].cost.is_none());
        assert_eq!(report.summary(), "1 function, 2 global loads, 0 replaced");
    }
}
