//! `ptxasw install`, `uninstall` and `toolkit`: what was done, in a line or two.

use std::ffi::OsStr;
use std::path::Path;

use crate::install::disk::System;
use crate::install::place::Place;
use crate::install::{self, Form, Outcome, Refusal, StandIn, toolkit};

/// Puts `executable` in front of the assembler `name` of a toolkit.
///
/// # Errors
/// The reason why nothing was changed.
pub fn install(
    directory: &Path,
    name: &OsStr,
    executable: &Path,
    link: bool,
) -> Result<String, Refusal> {
    let place = Place::find(directory, name)?;
    let outcome = install::install(&place, StandIn { executable, link }, &mut System)?;
    let (front, real) = (place.front(), place.real());
    let (front, real) = (front.display(), real.display());
    let form = |form| match form {
        Form::Copy => String::new(),
        Form::Link => format!(", as a link to {}", executable.display()),
    };
    Ok(match outcome {
        Outcome::Installed(made) => {
            format!("{front} is ptxasw now{}; the real one is {real}\n", form(made))
        }
        Outcome::Updated(made) => format!("{front} was brought up to date{}\n", form(made)),
        _ => format!("{front} is this ptxasw already\n"),
    })
}

/// Gives the real assembler `name` of a toolkit its name back.
///
/// # Errors
/// The reason why nothing was changed.
pub fn uninstall(directory: &Path, name: &OsStr) -> Result<String, Refusal> {
    let place = Place::find(directory, name)?;
    let outcome = install::uninstall(&place, &mut System)?;
    let front = place.front();
    Ok(match outcome {
        Outcome::Uninstalled => format!("{} is the real one again\n", front.display()),
        _ => format!("{} is the real one; there was nothing to do\n", front.display()),
    })
}

/// Makes a mirror of a toolkit with `executable` in front of its ptxas.
///
/// # Errors
/// The reason why it was not made.
pub fn toolkit(
    source: &Path,
    destination: &Path,
    executable: &Path,
    link: bool,
) -> Result<String, Refusal> {
    let made = toolkit::mirror(source, destination, StandIn { executable, link }, &mut System)?;
    Ok(format!("{} mirrors {}, with ptxasw as its ptxas\n", made.display(), source.display()))
}
