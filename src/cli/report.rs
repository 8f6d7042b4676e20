//! `ptxasw report`: the files of a folder in, one HTML page out.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::Failure;
use super::options::{Output, warn};
use crate::page::{self, Inputs};
use crate::ptxas::examine::LARGEST_INPUT;
use crate::source::{SourceFile, listed};

/// `report`
#[derive(Debug, Args)]
pub struct Report {
    /// Folder with JSON of `candidates`, `lint`, `trace`, `run --profile` and `ab`, and with the PTX files and sources
    folder: PathBuf,
    /// Where the page goes.
    #[command(flatten)]
    output: Output,
}

impl Report {
    /// Writes the page.
    ///
    /// # Errors
    /// As [`report`], or the page cannot be written.
    pub fn run(&self) -> Result<(), Failure> {
        let made = report(&self.folder)?;
        for warning in &made.warnings {
            warn(warning);
        }
        self.output.write(&made.html)
    }
}

/// A finished page.
#[derive(Debug)]
pub struct Made {
    /// The page.
    pub html: String,
    /// One line for each file that cannot be used.
    pub warnings: Vec<String>,
}

/// Reads the JSON files of a folder, finds the PTX that they speak of, and makes the page.
///
/// # Errors
/// The folder or a file cannot be read, a file is not JSON, or none is of a known kind.
pub fn report(folder: &Path) -> Result<Made, Failure> {
    let mut inputs = Inputs::default();
    let mut warnings = Vec::new();
    let mut kept = Vec::new();
    for path in json_files(folder)? {
        let text = super::io::read_text_within(&path, LARGEST_INPUT)
            .map_err(|error| cannot_read("file", &path, &error))?;
        let name = path.display().to_string();
        kept.extend(original(&path, &text));
        if !inputs.add(&name, &text).map_err(Failure::unusable)? {
            warnings.push(format!(
                "{name} is not JSON of candidates, lint, trace, run --profile or ab"
            ));
        }
    }
    if inputs.is_empty() {
        let why = "no JSON file of candidates, lint, trace, run --profile or ab";
        return Err(Failure::about(folder.display(), why));
    }
    let mut missing = Vec::new();
    for file in inputs.files_named() {
        let at = kept.iter().position(|source: &SourceFile| source.name() == file);
        match at.map(|at| kept.swap_remove(at)).or_else(|| source(folder, &file)) {
            Some(source) => inputs.add_source(&file, source),
            None => missing.push(file),
        }
    }
    let help = "set PTXASW_KEEP to the folder of PTXASW_REPORT, and build again";
    match &missing[..] {
        [] => {}
        [file] => warnings.push(format!("{file} is not found: its text is not shown; {help}")),
        all => {
            let names = listed(all.iter().map(String::as_str));
            let count = all.len();
            warnings.push(format!(
                "{count} files are not found, and their texts are not shown: {names}; {help}"
            ));
        }
    }
    for file in inputs.sources_named() {
        if let Some(source) = source(folder, &file) {
            inputs.add_source(&file, source);
        }
    }
    Ok(Made { html: page::page(&inputs), warnings })
}

/// The text that `PTXASW_KEEP` has put beside a report of `PTXASW_REPORT`: `NAME.original.ptx` beside `NAME.json`, under
/// the name that the report gives it.
fn original(report: &Path, json: &str) -> Option<SourceFile> {
    let bytes =
        super::io::read_within(&report.with_extension("original.ptx"), LARGEST_INPUT).ok()?;
    let report: serde_json::Value = serde_json::from_str(json).ok()?;
    SourceFile::from_bytes(report.get("file")?.as_str()?, bytes).ok()
}

/// The JSON files of a folder, sorted by name.
fn json_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| cannot_read("folder", folder, &error);
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

fn cannot_read(what: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::about(path.display(), format!("cannot read the {what}: {error}"))
}

/// The file called `name`: looked for in the folder, then at that path, then at that path from the
/// folder.
fn source(folder: &Path, name: &str) -> Option<SourceFile> {
    let path = Path::new(name);
    let in_folder = path.file_name().map(|last| folder.join(last));
    let places = in_folder.into_iter().chain([path.to_owned(), folder.join(path)]);
    places.filter(|place| place.is_file()).find_map(|place| {
        let bytes = super::io::read_within(&place, LARGEST_INPUT).ok()?;
        SourceFile::from_bytes(name, bytes).ok()
    })
}
