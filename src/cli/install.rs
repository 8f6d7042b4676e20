//! `ptxasw install`: puts this program in front of an assembler.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Linked;
use super::python;
use crate::install::disk::System;
use crate::install::place::Place;
use crate::install::{self, Form, Outcome, Refusal, StandIn};

/// `install`
#[derive(Debug, Args)]
pub(super) struct Install {
    /// The toolkit's folder; its `bin/ptxas`, or `ptxas` in it, becomes `ptxas.real`. With `--python`,
    /// packages, folders or files
    #[arg(value_name = "DIR", required_unless_present = "python")]
    folders: Vec<PathBuf>,
    /// Stand in for an assembler of another name, such as `nvptx-none-as`
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    name: OsString,
    /// Stand in for the ptxas of packages in the current Python environment (that of `VIRTUAL_ENV`, else
    /// the one that ptxasw is installed in, else that of `python3`): of those that are named, else of all,
    /// which are shown first
    #[arg(long, conflicts_with = "name")]
    python: bool,
    /// Do not ask before ptxasw is put in front of every ptxas of the environment
    #[arg(long, requires = "python")]
    yes: bool,
    /// How it is put there.
    #[command(flatten)]
    linked: Linked,
}

impl Install {
    /// Installs and prints what was done.
    ///
    /// # Errors
    /// The reason why nothing was changed.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let executable = io::executable()?;
        let stand_in = StandIn { executable: &executable, link: self.linked.link };
        if self.python {
            return self.install_in_packages(stand_in);
        }
        let place = python::one_folder(&self.folders).and_then(|at| Place::find(at, &self.name));
        let done = place.and_then(|place| {
            let outcome = install::install(&place, stand_in, &mut System)?;
            Ok(said(&place, outcome, stand_in))
        });
        io::print(&done.map_err(|refusal| Failure::about("ptxasw", refusal))?)
    }

    fn install_in_packages(&self, stand_in: StandIn<'_>) -> Result<(), Failure> {
        let about = |refusal: Refusal| Failure::about("ptxasw", refusal);
        let all = python::all().map_err(about)?;
        if all.is_empty() {
            return Err(about(Refusal {
                reason: "no package of this Python environment has brought a ptxas".to_owned(),
                help: Some("activate the environment whose packages are meant".to_owned()),
            }));
        }
        let meant = match self.folders.is_empty() {
            false => python::named(&all, &self.folders).map_err(about)?,
            true => {
                io::print(&python::table(&all))?;
                if !(self.yes || python::agreed("Put ptxasw in front of all of them?")) {
                    return Err(about(Refusal {
                        reason: "nothing was changed".to_owned(),
                        help: Some("name packages or files of the list, or add `--yes`".to_owned()),
                    }));
                }
                all
            }
        };
        let done = python::each(&meant, |one| {
            Ok(said(&one.place, one.install(stand_in, &mut System)?, stand_in))
        });
        match done {
            Ok(done) => io::print(&done),
            Err((done, failure)) => io::print(&done).and(Err(failure)),
        }
    }
}

/// The outcome, as a line.
fn said(place: &Place, outcome: Outcome, stand_in: StandIn<'_>) -> String {
    let (front, real) = (place.front(), place.real());
    let (front, real) = (front.display(), real.display());
    let form = |form| match form {
        Form::Copy => String::new(),
        Form::Link => format!(", as a link to {}", stand_in.executable.display()),
    };
    match outcome {
        Outcome::Installed(made) => {
            format!("{front} is ptxasw now{}; the real one is {real}\n", form(made))
        }
        Outcome::Updated(made) => format!("{front} was brought up to date{}\n", form(made)),
        _ => format!("{front} is this ptxasw already\n"),
    }
}
