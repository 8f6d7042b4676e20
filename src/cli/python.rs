//! `install --python` and `uninstall --python`: the assemblers of the current Python environment.

use std::fmt::Write as _;
use std::io::{self as streams, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use super::env;
use super::exit::Failure;
use crate::install::Refusal;
use crate::install::python::{self, Assembler, Standing};

/// All assemblers of the environment.
///
/// # Errors
/// There is no interpreter, or it does not answer.
pub(super) fn all() -> Result<Vec<Assembler>, Refusal> {
    let interpreter = env::python().ok_or_else(|| Refusal {
        reason: "there is no Python: neither VIRTUAL_ENV nor PATH leads to one, nor is one beside ptxasw".to_owned(),
        help: Some("activate the environment whose packages are meant".to_owned()),
    })?;
    python::assemblers(&interpreter)
}

/// A table of assemblers: package, version, kind of the file, file.
pub(super) fn table(assemblers: &[Assembler]) -> String {
    let width = |of: fn(&Assembler) -> usize| assemblers.iter().map(of).max().unwrap_or(0);
    let (names, versions) = (width(|a| a.package.len()), width(|a| a.version.len()));
    let mut text = String::new();
    for one in assemblers {
        let what = match one.standing() {
            Standing::Ours => "ptxasw",
            Standing::Plain => "plain",
            Standing::Upgraded => "upgraded",
            Standing::Broken => "broken",
        };
        let (package, version, file) = (&one.package, &one.version, one.place.front());
        let _ = writeln!(
            text,
            "{package:names$}  {version:versions$}  {what:8}  {file}",
            file = file.display()
        );
    }
    text
}

/// Those that words name.
///
/// # Errors
/// A word names none.
pub(super) fn named(all: &[Assembler], words: &[PathBuf]) -> Result<Vec<Assembler>, Refusal> {
    for word in words {
        if !all.iter().any(|one| one.is_meant_by(word)) {
            return Err(Refusal {
                reason: format!("{}: no package or ptxas of this environment", word.display()),
                help: Some(format!("there are:\n{}", table(all).trim_end())),
            });
        }
    }
    let meant = |one: &&Assembler| words.iter().any(|word| one.is_meant_by(word));
    Ok(all.iter().filter(meant).cloned().collect())
}

/// Whether somebody at a terminal agrees.
pub(super) fn agreed(question: &str) -> bool {
    let (input, mut output) = (streams::stdin(), streams::stderr());
    if !(input.is_terminal() && output.is_terminal()) {
        return false;
    }
    let asked = write!(output, "{question} [y/N] ").and_then(|()| output.flush());
    let mut answer = String::new();
    let heard = asked.and_then(|()| input.read_line(&mut answer));
    heard.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Runs `act` for each assembler. Successes are printed even if it fails for another.
///
/// # Errors
/// All that failed.
pub(super) fn each(
    assemblers: &[Assembler],
    mut act: impl FnMut(&Assembler) -> Result<String, Refusal>,
) -> Result<String, (String, Failure)> {
    let mut done = String::new();
    let mut failed: Vec<String> = Vec::new();
    for one in assemblers {
        match act(one) {
            Ok(said) => done += &said,
            Err(refusal) => failed.push(refusal.to_string()),
        }
    }
    match failed.is_empty() {
        true => Ok(done),
        false => Err((done, Failure::about("ptxasw", failed.join("\n")))),
    }
}

/// One folder where none or several make no sense.
///
/// # Errors
/// A folder is missing, or there are too many.
pub(super) fn one_folder(folders: &[PathBuf]) -> Result<&Path, Refusal> {
    match folders {
        [folder] => Ok(folder),
        _ => Err(Refusal {
            reason: format!("{} folders are named; one is meant", folders.len()),
            help: Some("several packages are named behind `--python`".to_owned()),
        }),
    }
}
