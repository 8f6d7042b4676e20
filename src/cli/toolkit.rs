//! `ptxasw toolkit`: a mirror of a toolkit with this program as its ptxas.

use std::path::PathBuf;

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::Linked;
use crate::install::disk::System;
use crate::install::{StandIn, toolkit};

/// `toolkit`
#[derive(Debug, Args)]
pub(super) struct Toolkit {
    /// The toolkit, which stays as it is
    #[arg(value_name = "SRC")]
    source: PathBuf,
    /// The folder to make
    #[arg(value_name = "DEST")]
    destination: PathBuf,
    /// How this program is put there.
    #[command(flatten)]
    linked: Linked,
}

impl Toolkit {
    /// Makes the mirror and prints what was done.
    ///
    /// # Errors
    /// The reason why the mirror was not made.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let executable = io::executable()?;
        let stand_in = StandIn { executable: &executable, link: self.linked.link };
        let made = toolkit::mirror(&self.source, &self.destination, stand_in, &mut System)
            .map_err(|refusal| Failure::about("ptxasw", refusal))?;
        let (made, source) = (made.display(), self.source.display());
        io::print(&format!("{made} mirrors {source}, with ptxasw as its ptxas\n"))
    }
}
