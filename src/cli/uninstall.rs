//! `ptxasw uninstall`: takes this program away from the front of an assembler.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::io;
use crate::install::disk::System;
use crate::install::place::Place;
use crate::install::{self, Outcome, Refusal};

/// `uninstall`
#[derive(Debug, Args)]
pub struct Uninstall {
    /// The toolkit's folder
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The assembler's name
    #[arg(long = "as", value_name = "NAME", default_value = "ptxas")]
    name: OsString,
}

impl Uninstall {
    /// Gives the real assembler its name back and prints what was done.
    ///
    /// # Errors
    /// The reason why nothing was changed.
    pub fn run(&self) -> Result<(), Failure> {
        let done = self.uninstall().map_err(|refusal| Failure::about("ptxasw", refusal))?;
        io::print(&done)
    }

    fn uninstall(&self) -> Result<String, Refusal> {
        let place = Place::find(&self.directory, &self.name)?;
        let outcome = install::uninstall(&place, &mut System)?;
        let front = place.front();
        Ok(match outcome {
            Outcome::Uninstalled => format!("{} is the real one again\n", front.display()),
            _ => format!("{} is the real one; there was nothing to do\n", front.display()),
        })
    }
}
