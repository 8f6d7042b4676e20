//! Kernels kept as pairs of files, `NAME.ptx` and its launch `NAME.json`.

use std::path::{Path, PathBuf};

use super::Case;

/// A folder below `tests/fuzz`.
pub fn folder(name: &str) -> PathBuf {
    crate::common::root().join("tests/fuzz").join(name)
}

/// All kernels in a folder with their names, in order.
pub fn read(folder: &Path) -> Vec<(String, Case)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut texts: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    texts.sort();
    let text = |path: &Path| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    texts
        .iter()
        .map(|path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, Case { ptx: text(path), launch: text(&path.with_extension("json")) })
        })
        .collect()
}

/// Keeps a kernel, with a comment in front.
pub fn write(folder: &Path, name: &str, comment: &str, case: &Case) {
    std::fs::create_dir_all(folder).expect("a folder for what was found");
    let comment: String = comment.lines().map(|line| format!("// {line}\n")).collect();
    let path = folder.join(name);
    std::fs::write(path.with_extension("ptx"), comment + &case.ptx).expect("a file of PTX");
    std::fs::write(path.with_extension("json"), &case.launch).expect("a launch file");
}
