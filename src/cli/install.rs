//! `ptxasw install`: puts this program in front of an assembler.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Linked;
use crate::install::disk::System;
use crate::install::place::Place;
use crate::install::{self, Form, Outcome, Refusal, StandIn};

/// `install`
#[derive(Debug, Args)]
pub struct Install {
    /// The toolkit's folder; its `bin/ptxas`, or `ptxas` in it, becomes `ptxas.real`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Stand in for an assembler of another name, such as `nvptx-none-as`
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    name: OsString,
    /// How it is put there.
    #[command(flatten)]
    linked: Linked,
}

impl Install {
    /// Installs and prints what was done.
    ///
    /// # Errors
    /// The reason why nothing was changed.
    pub fn run(&self) -> Result<(), Failure> {
        let executable = io::executable()?;
        let stand_in = StandIn { executable: &executable, link: self.linked.link };
        let done = self.install(stand_in).map_err(|refusal| Failure::about("ptxasw", refusal))?;
        io::print(&done)
    }

    fn install(&self, stand_in: StandIn<'_>) -> Result<String, Refusal> {
        let place = Place::find(&self.directory, &self.name)?;
        let outcome = install::install(&place, stand_in, &mut System)?;
        let (front, real) = (place.front(), place.real());
        let (front, real) = (front.display(), real.display());
        let form = |form| match form {
            Form::Copy => String::new(),
            Form::Link => format!(", as a link to {}", stand_in.executable.display()),
        };
        Ok(match outcome {
            Outcome::Installed(made) => {
                format!("{front} is ptxasw now{}; the real one is {real}\n", form(made))
            }
            Outcome::Updated(made) => format!("{front} was brought up to date{}\n", form(made)),
            _ => format!("{front} is this ptxasw already\n"),
        })
    }
}
