//! `ptxasw uninstall`: takes this program away from the front of an assembler.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::{io, python};
use crate::install::disk::System;
use crate::install::place::Place;
use crate::install::python::Standing;
use crate::install::{self, Outcome, Refusal};

/// `uninstall`
#[derive(Debug, Args)]
pub(super) struct Uninstall {
    /// The toolkit's folder. With `--python`, packages, folders or files
    #[arg(value_name = "DIR", required_unless_present = "python")]
    folders: Vec<PathBuf>,
    /// The assembler's name
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    name: OsString,
    /// Give packages of the current Python environment their ptxas back: those that are named, else all
    #[arg(long, conflicts_with = "name")]
    python: bool,
}

impl Uninstall {
    /// Gives the real assembler its name back and prints what was done.
    ///
    /// # Errors
    /// The reason why nothing was changed.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let about = |refusal: Refusal| Failure::about("ptxasw", refusal);
        if !self.python {
            let place =
                python::one_folder(&self.folders).and_then(|at| Place::find(at, &self.name));
            return io::print(&place.and_then(|place| uninstall(&place)).map_err(about)?);
        }
        let mut meant = python::all().map_err(about)?;
        if self.folders.is_empty() {
            meant.retain(|one| one.standing() != Standing::Plain);
        } else {
            meant = python::named(&meant, &self.folders).map_err(about)?;
        }
        match python::each(&meant, |one| uninstall(&one.place)) {
            Ok(done) if done.is_empty() => {
                io::print("ptxasw is in front of no package's ptxas; there was nothing to do\n")
            }
            Ok(done) => io::print(&done),
            Err((done, failure)) => io::print(&done).and(Err(failure)),
        }
    }
}

fn uninstall(place: &Place) -> Result<String, Refusal> {
    let outcome = install::uninstall(place, &mut System)?;
    let front = place.front();
    Ok(match outcome {
        Outcome::Uninstalled => format!("{} is the real one again\n", front.display()),
        _ => format!("{} is the real one; there was nothing to do\n", front.display()),
    })
}
