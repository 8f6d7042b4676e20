//! Putting ptxasw in front of an assembler, and taking it away again.
//!
//! In: a folder, a name, and the file that is to stand there. Out: the real assembler under
//! `NAME.real` and ptxasw under `NAME`; or everything as it was, and the reason.
//!
//! - [`place`]: the folder, and the names of the files in it.
//! - [`state`]: the files there: none, the real one, a stand-in, another one.
//! - [`disk`]: the few operations that change anything, behind an interface that tests let fail.
//! - [`toolkit`]: a folder of links that mirrors a toolkit which one may not change.
//! - [`python`]: the assemblers of a Python environment's packages.
//! - [`doctor`]: checks an installation from end to end.
//!
//! **Invariant:** at no moment is there no real assembler: it gets its second name before it loses
//! its first, and each change is one operation that the file system does wholly or not at all. A
//! program that runs the assembler meanwhile gets the real one or the stand-in, never nothing.
//!
//! **Invariant:** if an installation is cut off, installing again completes it, and uninstalling takes
//! it back.
//!
//! This module neither prints nor reads the environment.

pub mod disk;
pub mod doctor;
pub mod place;
pub mod python;
mod refusal;
pub mod state;
pub mod toolkit;

use crate::ptxas::trial::{self, Question};
use disk::Disk;
use place::Place;
use state::{Entry, State, Twins};
use std::io;
use std::path::Path;

pub use refusal::Refusal;

/// The program to put in front of an assembler.
#[derive(Clone, Copy, Debug)]
pub struct StandIn<'s> {
    /// The file of ptxasw.
    pub executable: &'s Path,
    /// Whether to put a symbolic link there instead of a copy.
    pub link: bool,
}

/// In what form ptxasw stands in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A file of its own.
    Copy,
    /// A symbolic link to the executable.
    Link,
}

/// The outcome for a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// ptxasw was put in front.
    Installed(Form),
    /// An older ptxasw in front, or a broken one, was replaced.
    Updated(Form),
    /// This very ptxasw is in front.
    Already,
    /// The real assembler has its name again.
    Uninstalled,
    /// Nothing was in front of the assembler.
    NotInstalled,
}

/// Puts ptxasw in front of the assembler of a place. An older ptxasw in front is replaced; an
/// installation that was cut off is completed.
///
/// # Errors
/// The reason why nothing was done; then the assembler is there as it was.
pub fn install(
    place: &Place,
    stand_in: StandIn<'_>,
    disk: &mut dyn Disk,
) -> Result<Outcome, Refusal> {
    let _lock = place.lock();
    let state = State::of(place, Some(stand_in.executable))?;
    let (front, real) = (place.front(), place.real());
    let new_front = match (&state.front, &state.real) {
        (Entry::Program, Entry::Missing) => true,
        (Entry::Program, Entry::Program) if state.twins == Twins::Tangled => {
            return Err(state.unsuitable(place));
        }
        (Entry::Program, Entry::Program) if state.twins != Twins::Different => true,
        (Entry::Program, Entry::Program) => return Err(two_assemblers(place)),
        (Entry::Ours { .. } | Entry::Missing | Entry::Dangling, Entry::Program) => false,
        _ => return Err(state.unsuitable(place)),
    };
    let original = if state.real == Entry::Program { &real } else { &front };
    trial::version(original, place.dialect())
        .map_err(|why| Refusal::new(format!("{}: {why}", original.display())))?;
    if let Entry::Ours { current: true, link } = state.front
        && (link || !stand_in.link)
    {
        remove_leftovers(place, disk);
        return Ok(Outcome::Already);
    }
    let form = prepare(place, stand_in, disk)?;
    let done = put_in_front(place, state.real == Entry::Missing, disk);
    remove_leftovers(place, disk);
    match done {
        Ok(()) if new_front => Ok(Outcome::Installed(form)),
        Ok(()) => Ok(Outcome::Updated(form)),
        Err(error) => Err(Refusal::io(place.folder.display(), &error)),
    }
}

/// Gives the real assembler its name back.
///
/// # Errors
/// The reason why nothing was done; then nothing is changed.
pub fn uninstall(place: &Place, disk: &mut dyn Disk) -> Result<Outcome, Refusal> {
    let _lock = place.lock();
    let state = State::of(place, None)?;
    let (front, real) = (place.front(), place.real());
    let failed = |error: io::Error| Refusal::io(place.folder.display(), &error);
    let outcome = match (&state.front, &state.real) {
        (Entry::Program, Entry::Missing) => Outcome::NotInstalled,
        (Entry::Program, Entry::Program) if state.twins == Twins::Separate => {
            // An installation that was cut off: the first name never changed.
            disk.remove(&real).map_err(failed)?;
            Outcome::Uninstalled
        }
        (Entry::Program, Entry::Program) if state.twins == Twins::FrontIsLink => {
            disk.rename(&real, &front).map_err(failed)?;
            Outcome::Uninstalled
        }
        (Entry::Program, Entry::Program) if state.twins == Twins::Tangled => {
            return Err(state.unsuitable(place));
        }
        (Entry::Program, Entry::Program) => return Err(two_assemblers(place)),
        (Entry::Ours { .. } | Entry::Missing | Entry::Dangling, Entry::Program) => {
            disk.rename(&real, &front).map_err(failed)?;
            Outcome::Uninstalled
        }
        _ => return Err(state.unsuitable(place)),
    };
    remove_leftovers(place, disk);
    disk.sync(&place.folder).map_err(failed)?;
    Ok(outcome)
}

/// The refusal if there are two assemblers and neither is a stand-in: a new one was put there since the installation.
fn two_assemblers(place: &Place) -> Refusal {
    let (front, real) = (place.front(), place.real());
    Refusal::new(format!(
        "{} is not ptxasw, and {} is there as well",
        front.display(),
        real.display()
    ))
    .with_help(format!(
        "if an update of the toolkit brought a new {}, remove {} and install again",
        place.name.display(),
        real.display()
    ))
}

/// Makes the new front under a temporary name and checks that it runs.
fn prepare(place: &Place, stand_in: StandIn<'_>, disk: &mut dyn Disk) -> Result<Form, Refusal> {
    let new = place.new_front();
    let forms: &[Form] = if stand_in.link || brings_libraries(stand_in.executable) {
        &[Form::Link]
    } else {
        &[Form::Copy, Form::Link]
    };
    let mut trouble = None;
    for &form in forms {
        let made = remove_if_there(&new, disk).and_then(|()| match form {
            Form::Copy => disk.copy(stand_in.executable, &new),
            Form::Link => disk.symlink(stand_in.executable, &new),
        });
        if let Err(error) = made {
            remove_leftovers(place, disk);
            let reason = format!("cannot write in {}", place.folder.display());
            return Err(Refusal::io(reason, &error));
        }
        // A copy may find no libz3 where the executable does.
        match runs(&new) {
            Ok(()) => return Ok(form),
            Err(why) => trouble = Some(why),
        }
    }
    remove_leftovers(place, disk);
    let why = trouble.unwrap_or_default();
    Err(Refusal::new(format!("ptxasw does not run from {}: {why}", place.folder.display()))
        .with_help("is the file system mounted with `noexec`?"))
}

/// Where libraries may be, from the folder of the executable. The build script has the linker look there.
const LIBRARIES: &str = include_str!("libraries.txt");

/// Whether an executable has a libz3 of its own beside it, which a copy would not have.
fn brings_libraries(executable: &Path) -> bool {
    let folder = executable.parent().map(|folder| folder.join(LIBRARIES));
    folder.is_some_and(|folder| folder.is_dir())
}

/// Checks that a file is a ptxasw that runs.
fn runs(program: &Path) -> Result<(), String> {
    let arguments = ["-V".into()];
    let answer = Question { program, arguments: &arguments, environment: &[] }
        .ask()
        .map_err(|error| error.to_string())?;
    if answer.status.success() && answer.text.starts_with("ptxasw ") {
        return Ok(());
    }
    let line = answer.text.lines().next().unwrap_or("it says nothing").to_owned();
    Err(format!("{} ({line})", answer.status))
}

/// Lets the prepared front take the assembler's name. If `keep` is set, the assembler gets its second
/// name first.
fn put_in_front(place: &Place, keep: bool, disk: &mut dyn Disk) -> io::Result<()> {
    if keep {
        keep_real(place, disk)?;
    }
    disk.rename(&place.new_front(), &place.front())?;
    disk.sync(&place.folder)
}

/// Gives the real assembler its second name; it has the first one as well.
fn keep_real(place: &Place, disk: &mut dyn Disk) -> io::Result<()> {
    let (front, real, new) = (place.front(), place.real(), place.new_real());
    match disk.hard_link(&front, &real) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            log::info!("no hard link ({error}); the real assembler is copied");
            if let Ok(target) = front.read_link() {
                return disk.symlink(&target, &real);
            }
            remove_if_there(&new, disk)?;
            disk.copy(&front, &new)?;
            disk.rename(&new, &real)
        }
        result => result,
    }
}

fn remove_if_there(path: &Path, disk: &mut dyn Disk) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(_) => disk.remove(path),
        Err(_) => Ok(()),
    }
}

/// Removes temporary files. They do no harm, and the next call tries again.
fn remove_leftovers(place: &Place, disk: &mut dyn Disk) {
    for path in [place.new_front(), place.new_real()] {
        if let Err(error) = remove_if_there(&path, disk) {
            log::warn!("cannot remove {}: {error}", path.display());
        }
    }
}
