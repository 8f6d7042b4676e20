//! Installing and uninstalling, cut off at every operation: between any two the assembler can be
//! called, and afterwards both complete what was begun or take it back.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use ptxasw::install::disk::{Disk, System};
use ptxasw::install::state::MARK;
use ptxasw::install::{Outcome, Refusal, StandIn, install, uninstall};

use crate::folder::{Folder, REAL};

/// How the file system lets us down.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    /// One operation fails, the others work.
    Once,
    /// Nothing works any more: the process was killed, or the disk is full.
    Dead,
}

/// A file system that looks, before each operation, whether the assembler can be called.
struct Faulty<'f> {
    folder: &'f Folder,
    /// Whether somebody relies on it already.
    works: bool,
    /// Operations left before the fault.
    left: usize,
    fault: Fault,
    hard_links: bool,
    faults: usize,
}

impl Faulty<'_> {
    /// Looks, and says whether the operation may happen.
    fn step(&mut self) -> io::Result<()> {
        if self.works {
            callable(self.folder);
        }
        if self.left > 0 {
            self.left -= 1;
            return Ok(());
        }
        self.faults += 1;
        if self.fault == Fault::Once {
            self.left = usize::MAX;
        }
        Err(io::Error::other("fault"))
    }
}

impl Disk for Faulty<'_> {
    fn copy(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step().inspect_err(|_| {
            // A copy that was cut off leaves a part behind.
            let bytes = fs::read(from).unwrap();
            fs::write(to, &bytes[..bytes.len() / 2]).unwrap();
        })?;
        System.copy(from, to)
    }

    fn hard_link(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        if !self.hard_links {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        System.hard_link(from, to)
    }

    fn symlink(&mut self, target: &Path, link: &Path) -> io::Result<()> {
        self.step()?;
        System.symlink(target, link)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        System.rename(from, to)
    }

    fn exchange(&mut self, a: &Path, b: &Path) -> io::Result<()> {
        self.step()?;
        System.exchange(a, b)
    }

    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        self.step()?;
        System.make_folder(path)
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.step()?;
        System.remove(path)
    }

    fn sync(&mut self, folder: &Path) -> io::Result<()> {
        self.step()?;
        System.sync(folder)
    }
}

/// The front is the real assembler, or a stand-in with the real one beside it.
fn callable(folder: &Folder) {
    let front = fs::read(folder.path("bin/ptxas"));
    let front = front.unwrap_or_else(|error| panic!("{error}: {:?}", folder.names()));
    let real = if ours(&front) { fs::read(folder.path("bin/ptxas.real")).unwrap() } else { front };
    assert!(real == REAL.as_bytes(), "{:?}", folder.names());
}

fn ours(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, MARK).is_some()
}

/// A small ptxasw: a script that says so.
fn small(folder: &Folder, name: &str, version: &str) -> std::path::PathBuf {
    let mark = String::from_utf8_lossy(MARK);
    folder.quick_script(name, &format!("#!/bin/sh\n# {mark}\necho ptxasw {version}\n"))
}

/// The state of a folder before.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Before {
    Plain,
    /// The assembler is a link into another folder.
    Linked,
    Installed,
    /// An older stand-in is there.
    Outdated,
    /// The stand-in is a link to something that is gone.
    Broken,
    /// Somebody has removed the stand-in.
    Removed,
}

const ALL: [Before; 6] = [
    Before::Plain,
    Before::Linked,
    Before::Installed,
    Before::Outdated,
    Before::Broken,
    Before::Removed,
];

fn prepare(before: Before) -> Folder {
    let folder = Folder::empty();
    small(&folder, "ptxasw", "2");
    match before {
        Before::Plain => drop(folder.quick_script("bin/ptxas", REAL)),
        Before::Linked => {
            folder.quick_script("elsewhere", REAL);
            symlink("../elsewhere", folder.path("bin/ptxas")).unwrap();
        }
        Before::Installed => {
            folder.quick_script("bin/ptxas.real", REAL);
            small(&folder, "bin/ptxas", "2");
        }
        Before::Outdated => {
            folder.quick_script("bin/ptxas.real", REAL);
            small(&folder, "bin/ptxas", "1");
        }
        Before::Broken => {
            folder.quick_script("bin/ptxas.real", REAL);
            symlink("gone", folder.path("bin/ptxas")).unwrap();
        }
        Before::Removed => drop(folder.quick_script("bin/ptxas.real", REAL)),
    }
    folder
}

/// One of the two, on some disk.
fn act(folder: &Folder, installs: bool, disk: &mut dyn Disk) -> Result<Outcome, Refusal> {
    let executable = folder.path("ptxasw");
    let stand_in = StandIn { executable: &executable, link: false };
    if installs {
        install(&folder.place(), stand_in, disk)
    } else {
        uninstall(&folder.place(), disk)
    }
}

fn check_installed(folder: &Folder) {
    assert_eq!(folder.names(), ["ptxas", "ptxas.real"]);
    let front = fs::read(folder.path("bin/ptxas")).unwrap();
    assert!(front == fs::read(folder.path("ptxasw")).unwrap());
    let mode = folder.path("bin/ptxas").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    callable(folder);
}

fn check_plain(folder: &Folder, before: Before) {
    assert_eq!(folder.names(), ["ptxas"]);
    let front = folder.path("bin/ptxas");
    assert!(fs::read(&front).unwrap() == REAL.as_bytes());
    assert_eq!(front.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(front.is_symlink(), before == Before::Linked, "a link stays a link");
}

#[test]
fn cut_off_at_every_operation() {
    let mut cuts = 0;
    for before in ALL {
        for (fault, hard_links) in
            [(Fault::Once, true), (Fault::Dead, true), (Fault::Once, false), (Fault::Dead, false)]
        {
            for installs in [true, false] {
                for after in 0.. {
                    let run = || {
                        let folder = prepare(before);
                        let works = !matches!(before, Before::Broken | Before::Removed);
                        let mut disk = Faulty {
                            folder: &folder,
                            works,
                            left: after,
                            fault,
                            hard_links,
                            faults: 0,
                        };
                        let result = act(&folder, installs, &mut disk);
                        let faults = disk.faults;
                        if works {
                            callable(&folder);
                        }
                        (folder, result, faults)
                    };
                    let (folder, result, faults) = run();
                    if faults == 0 {
                        result.unwrap();
                        if installs {
                            check_installed(&folder);
                        } else {
                            check_plain(&folder, before);
                        }
                        break;
                    }
                    cuts += 1;
                    // Both ways out of where it was cut off.
                    act(&folder, true, &mut System).unwrap();
                    check_installed(&folder);
                    let (folder, ..) = run();
                    act(&folder, false, &mut System).unwrap();
                    check_plain(&folder, before);
                }
            }
        }
    }
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn each_does_nothing_the_second_time() {
    for before in ALL {
        let folder = prepare(before);
        act(&folder, true, &mut System).unwrap();
        let installed = folder.contents();
        assert_eq!(act(&folder, true, &mut System), Ok(Outcome::Already));
        assert!(folder.contents() == installed);
        assert_eq!(act(&folder, false, &mut System), Ok(Outcome::Uninstalled));
        check_plain(&folder, before);
        assert_eq!(act(&folder, false, &mut System), Ok(Outcome::NotInstalled));
        check_plain(&folder, before);
    }
}

#[test]
fn a_link_between_the_two_names_is_not_followed_into_a_loss() {
    // `ptxas` is a link to `ptxas.real`: the real one is there once, and stays.
    for installs in [true, false] {
        let folder = Folder::empty();
        small(&folder, "ptxasw", "2");
        folder.quick_script("bin/ptxas.real", REAL);
        symlink("ptxas.real", folder.path("bin/ptxas")).unwrap();
        act(&folder, installs, &mut System).unwrap();
        callable(&folder);
        act(&folder, false, &mut System).unwrap();
        check_plain(&folder, Before::Plain);
    }
    // `ptxas.real` is a link to `ptxas`: what we replaced would be gone.
    for installs in [true, false] {
        let folder = Folder::new();
        small(&folder, "ptxasw", "2");
        symlink("ptxas", folder.path("bin/ptxas.real")).unwrap();
        let before = folder.contents();
        let refusal = act(&folder, installs, &mut System).unwrap_err();
        assert!(refusal.reason.contains("ptxas.real: this is a link"), "{refusal}");
        assert!(folder.contents() == before);
    }
}

#[test]
fn a_copy_that_does_not_run_becomes_a_link_or_nothing() {
    // As a program whose libraries are found by its own place.
    let folder = Folder::new();
    let mark = String::from_utf8_lossy(MARK);
    let text = format!(
        "#!/bin/sh\n# {mark}\n[ -e \"$(dirname \"$(readlink -f \"$0\")\")/library\" ] || exit 1\n\
         echo ptxasw 2\n"
    );
    folder.quick_script("ptxasw", &text);
    let refusal = act(&folder, true, &mut System).unwrap_err();
    assert!(refusal.reason.contains("does not run"), "{refusal}");
    assert_eq!(folder.names(), ["ptxas"]);
    fs::write(folder.path("library"), "").unwrap();
    act(&folder, true, &mut System).unwrap();
    assert!(folder.path("bin/ptxas").is_symlink());
    callable(&folder);
}
