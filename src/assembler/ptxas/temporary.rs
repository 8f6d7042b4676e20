//! The folders for rewritten texts: made for a call, locked while it lives, removed with it.
//!
//! A call that is killed (SIGKILL, a machine that goes down) leaves its folder behind, and a build
//! machine kills many. So a call that makes a folder also removes the folders that killed calls have
//! left beside it, on a thread of its own that it does not wait for: folders with names like ours, of
//! the same user and for that user alone, whose lock is free and that are at least [`STALE_SECONDS`]
//! old. The age covers the moment between making and locking a folder, a ptxas that has outlived its
//! killed caller and still reads its input, and file systems whose locks are known to one machine
//! only.
//!
//! **Invariant:** no folder is removed that was not made here. Folders are opened without following
//! links, looked at and emptied through that descriptor. A folder that holds anything but files of the
//! kinds that calls put there stays as it is.
//!
//! The lock is on the folder itself, where systemd-tmpfiles looks for one before it cleans up.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat,
    openat, statat, unlinkat,
};
use rustix::process::geteuid;
use std::ffi::CStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// How the names of the folders begin.
pub const PREFIX: &str = "ptxasw-call-";

/// Where temporary files go if the environment does not say.
const USUAL: &str = "/tmp";

/// How many random letters and digits follow.
const CHANCE: usize = 6;

/// How many seconds older than a new folder a folder without a lock has to be to be removed: an hour.
pub const STALE_SECONDS: i64 = 3600;

/// How many names in the folder for temporary files a call looks at, and how many folders it removes:
/// bounds for a thread that takes a processor from the build.
const MOST_NAMES: usize = 20_000;
const MOST_REMOVED: usize = 64;

/// A folder of a call that lives. Dropping it removes it.
#[derive(Debug)]
pub struct Temporary {
    folder: TempDir,
    /// The lock, held until the process ends or the folder is gone; `None` if the file system has no
    /// locks on folders. No other process gets one there either, so no folder counts as stale.
    lock: Option<OwnedFd>,
}

impl Temporary {
    /// Makes a folder, readable by this user only, in the folder for temporary files.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new() -> io::Result<Temporary> {
        let make = |place: &Path| {
            tempfile::Builder::new()
                .prefix(PREFIX)
                .rand_bytes(CHANCE)
                .permissions(Permissions::from_mode(Mode::RWXU.as_raw_mode()))
                .tempdir_in(place)
        };
        // Without a name, as with `TMPDIR=`, it would be the user's working directory; and ptxas does
        // without a folder of that name, so a wrong one must not matter.
        let named = std::env::temp_dir();
        let usual = Path::new(USUAL);
        let folder = match named.as_os_str().is_empty() || named == usual {
            true => make(usual)?,
            false => make(&named).or_else(|_| make(usual))?,
        };
        let lock = open_folder(CWD, folder.path())
            .and_then(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).map(|()| lock))
            .inspect_err(|error| log::debug!("cannot lock a temporary folder: {error}"))
            .ok();
        Ok(Temporary { folder, lock })
    }

    /// The folder in which ptxas makes its temporary files by itself.
    pub fn usual() -> PathBuf {
        let named = std::env::temp_dir();
        if named.as_os_str().is_empty() { PathBuf::from(USUAL) } else { named }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the folder.
    ///
    /// # Errors
    /// The folder cannot be removed, and stays.
    pub fn close(self) -> io::Result<()> {
        let Temporary { folder, lock } = self;
        // Where no descriptor is left to be had, this one does. The lock is released after the folder
        // is removed.
        let is_removed = lock
            .and_then(|lock| Dir::new(lock).ok())
            .is_some_and(|mut entries| remove_folder(&mut entries, folder.path()).is_ok());
        if !is_removed {
            return folder.close();
        }
        // (Nothing is to be removed when this is dropped.)
        let _path = folder.keep();
        Ok(())
    }

    /// Begins to remove the folders that killed calls have left beside this one. The call does not
    /// wait for the end of it: if the process ends first, the next call goes on.
    pub fn sweep(&self) {
        let Some(parent) = self.path().parent().map(Path::to_owned) else { return };
        // This folder is new: its time is the time of that file system.
        let now = match self.lock.as_ref().map(fstat) {
            Some(Ok(own)) => own.st_mtime,
            _ => return,
        };
        let sweep = move || {
            if let Err(error) = remove_stale(&parent, now) {
                log::debug!("cannot look for stale folders in {}: {error}", parent.display());
            }
        };
        if let Err(error) = std::thread::Builder::new().name("sweep".into()).spawn(sweep) {
            log::debug!("stale folders are not looked for: {error}");
        }
    }
}

/// Removes a folder with the files in it.
fn remove_folder(entries: &mut Dir, path: &Path) -> rustix::io::Result<()> {
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            unlinkat(entries.fd()?, entry.file_name(), AtFlags::empty())?;
        }
    }
    rustix::fs::rmdir(path)
}

/// Removes the stale folders in `parent`, as many as one call may. `now` is in seconds.
fn remove_stale(parent: &Path, now: i64) -> rustix::io::Result<()> {
    let parent = openat(CWD, parent, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let ours = |entry: rustix::io::Result<DirEntry>| entry.ok().filter(is_candidate);
    let candidates = Dir::read_from(&parent)?.take(MOST_NAMES).filter_map(ours);
    for entry in candidates.take(MOST_REMOVED) {
        if let Err(error) = remove_if_stale(&parent, entry.file_name(), now) {
            log::debug!("{} stays: {error}", entry.file_name().to_string_lossy());
        }
    }
    Ok(())
}

/// Whether an entry may be a folder of ours, by its name.
fn is_candidate(entry: &DirEntry) -> bool {
    let chance = entry.file_name().to_bytes().strip_prefix(PREFIX.as_bytes());
    chance.is_some_and(|name| name.len() == CHANCE && name.iter().all(u8::is_ascii_alphanumeric))
        && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
}

/// Whether an entry may be a file that a call has put into its folder.
fn is_content(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_bytes();
    // (ptxas puts a copy of standard input there.)
    let is_ours = name.ends_with(b".ptx") || name.ends_with(b".cubin");
    (is_ours || name.starts_with(b"tmpxft_"))
        && matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown)
}

fn remove_if_stale(parent: &OwnedFd, name: &CStr, now: i64) -> rustix::io::Result<()> {
    // This is asked before a folder is opened: most folders of a busy build are young.
    let is_stale = |stat: &Stat| {
        FileType::from_raw_mode(stat.st_mode) == FileType::Directory
            && stat.st_uid == geteuid().as_raw()
            && Mode::from_raw_mode(stat.st_mode) == Mode::RWXU
            && now.saturating_sub(stat.st_mtime) >= STALE_SECONDS
    };
    if !is_stale(&statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?) {
        return Ok(());
    }
    let folder = open_folder(parent, name)?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(()),
        locked => locked?,
    }
    // Before the lock was ours, another call may have removed the folder and a third may have made a
    // new one.
    let (opened, named) = (fstat(&folder)?, statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?);
    if !is_stale(&opened) || (opened.st_dev, opened.st_ino) != (named.st_dev, named.st_ino) {
        return Ok(());
    }
    let entries = Dir::read_from(&folder)?.collect::<Result<Vec<_>, _>>()?;
    let is_entry = |entry: &&DirEntry| !matches!(entry.file_name().to_bytes(), b"." | b"..");
    if !entries.iter().filter(is_entry).all(is_content) {
        return Ok(());
    }
    for entry in entries.iter().filter(is_entry) {
        unlinkat(&folder, entry.file_name(), AtFlags::empty())?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Opens a folder; a link to one is an error.
fn open_folder(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use std::fs::{self, DirBuilder, File};
    use std::os::unix::fs::{DirBuilderExt, symlink};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    crate::unit_tests!(
        stale_folders_go_and_others_stay,
        links_are_not_followed,
        folders_with_what_no_call_makes_stay_as_they_are,
        a_living_call_holds_its_lock
    );

    const NOW: i64 = 2_000_000_000;

    /// A folder in `parent` with a file in it, `age` seconds old.
    fn left(parent: &Path, name: &str, age: i64) -> PathBuf {
        let folder = parent.join(name);
        DirBuilder::new().mode(0o700).create(&folder).unwrap();
        fs::write(folder.join("0.ptx"), "text").unwrap();
        set_age(&folder, age);
        folder
    }

    fn set_age(folder: &Path, age: i64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs((NOW - age).unsigned_abs());
        File::open(folder).unwrap().set_modified(time).unwrap();
    }

    fn stale_folders_go_and_others_stay() {
        let place = tempfile::tempdir().unwrap();
        let parent = place.path();
        let old = STALE_SECONDS;
        let stale =
            [left(parent, "ptxasw-call-aaaaaa", old), left(parent, "ptxasw-call-b0B9zZ", 99 * old)];
        let locked = left(parent, "ptxasw-call-locked", old);
        let lock = open_folder(CWD, &locked).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let public = left(parent, "ptxasw-call-public", old);
        fs::set_permissions(&public, Permissions::from_mode(0o755)).unwrap();
        let others = [
            left(parent, "ptxasw-call-young1", old - 1),
            left(parent, "ptxasw-call-future", -old),
            left(parent, "ptxasw-call-users-own", old),
            left(parent, "ptxasw-call-a.b.c.", old),
            left(parent, "other-call-aaaaaa", old),
            public,
        ];
        fs::write(parent.join("ptxasw-call-aafile"), "text").unwrap();
        remove_stale(parent, NOW).unwrap();
        assert!(stale.iter().all(|folder| !folder.exists()));
        for folder in others.iter().chain([&locked]) {
            assert!(folder.join("0.ptx").exists(), "{}", folder.display());
        }
        assert!(parent.join("ptxasw-call-aafile").exists());
        drop(lock);
        // (A process that another test starts just now has the lock, too, until it becomes another program.)
        for _ in 0..500 {
            remove_stale(parent, NOW).unwrap();
            if !locked.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!locked.exists());
    }

    fn links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let user = left(place.path(), "user", 9999);
        symlink(&user, place.path().join("ptxasw-call-aalink")).unwrap();
        remove_stale(place.path(), NOW).unwrap();
        assert!(user.join("0.ptx").exists());
        assert!(place.path().join("ptxasw-call-aalink").is_symlink());
    }

    fn folders_with_what_no_call_makes_stay_as_they_are() {
        let place = tempfile::tempdir().unwrap();
        let inside: [&dyn Fn(&Path); 3] = [
            &|folder| drop(left(folder, "project.ptx", 9999)),
            &|folder| symlink(place.path(), folder.join("link.ptx")).unwrap(),
            &|folder| fs::write(folder.join("notes.txt"), "text").unwrap(),
        ];
        for (number, put) in inside.iter().enumerate() {
            let folder = left(place.path(), &format!("ptxasw-call-users{number}"), 0);
            put(&folder);
            set_age(&folder, 9999);
            remove_stale(place.path(), NOW).unwrap();
            assert!(folder.join("0.ptx").exists(), "{number}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "{number}");
        }
    }

    fn a_living_call_holds_its_lock() {
        let living = Temporary::new().unwrap();
        let folder = open_folder(CWD, living.path()).unwrap();
        let try_lock = || flock(&folder, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(try_lock(), Err(rustix::io::Errno::WOULDBLOCK));
        let path = living.path().to_owned();
        living.close().unwrap();
        assert_eq!(try_lock(), Ok(()));
        assert!(!path.exists());
    }
}
