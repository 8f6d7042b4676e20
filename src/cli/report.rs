//! `ptxasw report`: the files of a folder in, one HTML page out.

use std::path::{Path, PathBuf};

use crate::page::{self, Inputs};
use crate::source::SourceFile;

/// A finished page.
#[derive(Debug)]
pub struct Made {
    /// The page.
    pub html: String,
    /// One line for each file that was of no use.
    pub warnings: Vec<String>,
}

/// Reads the JSON files of a folder, finds the PTX that they speak of, and makes the page.
///
/// # Errors
/// The folder or a file cannot be read, a file is no JSON, or none is of a known kind.
pub fn report(folder: &Path) -> Result<Made, String> {
    let mut inputs = Inputs::default();
    let mut warnings = Vec::new();
    for path in json_files(folder)? {
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: error: cannot read the file: {error}", path.display()))?;
        let name = path.display().to_string();
        if !inputs.add(&name, &text)? {
            warnings.push(format!("{name} is no JSON of candidates, trace, run --profile or ab"));
        }
    }
    if inputs.is_empty() {
        return Err(format!(
            "{}: error: no JSON file of candidates, trace, run --profile or ab",
            folder.display()
        ));
    }
    for file in inputs.files_named() {
        match source(folder, &file) {
            Some(source) => inputs.add_source(&file, source),
            None => warnings.push(format!("{file} is not found: its text is not shown")),
        }
    }
    Ok(Made { html: page::page(&inputs), warnings })
}

/// The JSON files of a folder, sorted by name.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("{}: error: cannot read the folder: {error}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The PTX file of a name: in the folder, else by its path as it stands, else by its path from the
/// folder.
fn source(folder: &Path, name: &str) -> Option<SourceFile> {
    let path = Path::new(name);
    let in_folder = path.file_name().map(|last| folder.join(last));
    let places = in_folder.into_iter().chain([path.to_owned(), folder.join(path)]);
    places.filter(|place| place.is_file()).find_map(|place| {
        let bytes = std::fs::read(&place).ok()?;
        SourceFile::from_bytes(name, bytes).ok()
    })
}
