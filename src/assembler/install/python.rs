//! The assemblers that the packages of a Python environment have brought.
//!
//! In: an interpreter. Out: each file called `ptxas`, or `ptxas-` and more, that an installed distribution
//! lists as its own (`RECORD`, "Recording installed projects" of the Python Packaging User Guide), with that
//! distribution's name and version: those of `nvidia-cuda-nvcc`, Triton, JAX, whatever they are called.

use super::disk::Disk;
use super::place::Place;
use super::state::{Entry, State, Twins};
use super::{Outcome, Refusal, StandIn};
use crate::ptxas::trial::Question;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An assembler that a package has brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembler {
    /// The distribution's name.
    pub package: String,
    /// Its version.
    pub version: String,
    /// Where it lies.
    pub place: Place,
}

/// The kind of file under an assembler's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// ptxasw.
    Ours,
    /// The package's own.
    Plain,
    /// The package's own, and beside it the one of an earlier version that ptxasw once stood before.
    Upgraded,
    /// Something else, or nothing.
    Broken,
}

/// The prefix of the answer: warnings of the interpreter may be around it.
const MARK: &str = "ptxasw: ";

/// Prints a list of `[name, version, path]`.
const SCRIPT: &str = r#"
import importlib.metadata, json, os
found = {}
for package in importlib.metadata.distributions():
    for file in package.files or ():
        if file.name == "ptxas" or file.name.startswith("ptxas-") and not file.suffix:
            path = os.path.abspath(package.locate_file(file))
            found.setdefault(path, [package.metadata["Name"], package.version, path])
print("ptxasw: " + json.dumps(sorted(found.values())))
"#;

/// The assemblers of the environment that an interpreter belongs to, by package.
///
/// # Errors
/// The interpreter does not answer.
pub fn assemblers(interpreter: &Path) -> Result<Vec<Assembler>, Refusal> {
    let arguments = [OsString::from("-c"), SCRIPT.into()];
    let shown = interpreter.display();
    let answer = Question { program: interpreter, arguments: &arguments, environment: &[] }
        .ask()
        .map_err(|error| Refusal::io(&shown, &error))?;
    let line = answer.text.lines().find_map(|line| line.strip_prefix(MARK));
    let listed: Option<Vec<(String, String, PathBuf)>> =
        line.and_then(|line| serde_json::from_str(line).ok());
    let Some(listed) = listed.filter(|_| answer.status.success()) else {
        let said = answer.text.lines().next_back().unwrap_or("it says nothing").to_owned();
        return Err(Refusal::new(format!("{shown} does not list its packages: {said}"))
            .with_help("Python 3.8 or newer is needed"));
    };
    let place = |path: PathBuf| {
        let place = Place { folder: path.parent()?.to_owned(), name: path.file_name()?.to_owned() };
        let there = |path: PathBuf| path.symlink_metadata().is_ok();
        (there(place.front()) || there(place.real())).then_some(place)
    };
    let found = listed.into_iter().filter_map(|(package, version, path)| {
        Some(Assembler { package, version, place: place(path)? })
    });
    Ok(found.collect())
}

impl Assembler {
    /// The kind of file under its name.
    pub fn standing(&self) -> Standing {
        let Ok(state) = State::of(&self.place, None) else { return Standing::Broken };
        match (state.front, state.real) {
            (Entry::Ours { .. }, Entry::Program) => Standing::Ours,
            (Entry::Program, Entry::Program) if state.twins == Twins::Different => {
                Standing::Upgraded
            }
            (Entry::Program, _) => Standing::Plain,
            _ => Standing::Broken,
        }
    }

    /// Whether it is meant by a word: its package's name, however that is spelled, its file, or a folder
    /// around it.
    pub fn is_meant_by(&self, word: &Path) -> bool {
        // "Names and normalization" of the Python Packaging User Guide.
        let normal = |name: &str| {
            let words = name.split(['-', '_', '.']).filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join("-").to_lowercase()
        };
        let by_name = word.to_str().is_some_and(|word| normal(word) == normal(&self.package));
        by_name || self.place.front().starts_with(super::place::absolute(word))
    }

    /// Puts ptxasw in front of it. If the package has been upgraded since the last time, the assembler of the
    /// earlier version goes: no package knows it.
    ///
    /// # Errors
    /// As [`super::install`].
    pub fn install(&self, stand_in: StandIn<'_>, disk: &mut dyn Disk) -> Result<Outcome, Refusal> {
        if self.standing() == Standing::Upgraded {
            let real = self.place.real();
            disk.remove(&real).map_err(|error| Refusal::io(real.display(), &error))?;
        }
        super::install(&self.place, stand_in, disk)
    }
}
