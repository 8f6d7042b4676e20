//! Starting the real ptxas.
//!
//! This is the only place of the wrapper that starts it. Arguments are passed as they are given, and
//! so is everything that a process inherits (environment, descriptors such as make's job server,
//! limits). Two variables are added: [`DEPTH`] and [`child::TUNABLES`].

use crate::ptxas::child::{self, Work};
use crate::ptxas::leash::Leash;
use crate::ptxas::signals::Watch;
use crate::ptxas::temporary::Temporary;
use rustix::fs::{FileType, MemfdFlags, fstat, memfd_create};
use rustix::process::Pid;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The variable that counts how many stand-ins have already called each other.
pub const DEPTH: &str = "PTXASW_DEPTH";

/// The real ptxas.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tool {
    /// Its path.
    pub path: PathBuf,
    /// How many stand-ins stand before it, this one included; handed down as [`DEPTH`], so that
    /// another stand-in that was taken for the real one neither rewrites again nor calls in a circle.
    pub depth: u32,
    /// Whether its allocator is to take huge pages: nobody else has set it up.
    pub huge_pages: bool,
}

/// Where a stream goes that the real ptxas writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// It goes where ours goes.
    Inherit,
    /// It is kept in memory.
    Capture,
}

/// Where the real ptxas reads its standard input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stdin<'b> {
    /// From ours.
    #[default]
    Inherit,
    /// These bytes.
    Bytes(&'b [u8]),
    /// These bytes, which were read from ours, and then the rest of ours.
    Begun(&'b [u8]),
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// The arguments.
    pub arguments: &'r [OsString],
    /// Standard input.
    pub stdin: Stdin<'r>,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// What bounds its work, if something does.
    pub leash: Option<&'r Leash>,
    /// Its folder for temporary files, if not the usual one: a run that is ended leaves them behind. (Captured output
    /// names the usual one.)
    pub temporary: Option<&'r Path>,
}

impl<'r> Run<'r> {
    /// A run that nothing bounds, with the usual standard input.
    pub fn new(arguments: &'r [OsString], stdout: Stream, stderr: Stream) -> Run<'r> {
        Run { arguments, stdin: Stdin::Inherit, stdout, stderr, leash: None, temporary: None }
    }
}

/// How often the work of a run on a leash is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output, if captured.
    pub stdout: Vec<u8>,
    /// Standard error, if captured.
    pub stderr: Vec<u8>,
    /// Its time and memory.
    pub work: Work,
    /// Why it was ended on its leash, if it was.
    pub stopped: Option<String>,
    /// The signal that somebody sent to this process and that was passed on, if one was.
    pub passed_on: Option<i32>,
}

impl Finished {
    /// The signal with which somebody ended the run. `None` for all others: faults of the program, and signals of a
    /// limit on resources, among them the KILL of a system without memory. Those depend on the text, and another text
    /// may not cause them.
    pub fn interrupted(&self) -> Option<i32> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        let meant = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
        let by = self.status.signal();
        by.filter(|signal| meant.contains(signal) || self.passed_on == Some(*signal))
    }

    /// The signal with which a limit on resources ended the run, if one did.
    pub fn ended_by_limit(&self) -> Option<i32> {
        use signal_hook::consts::{SIGKILL, SIGXCPU, SIGXFSZ};
        self.status.signal().filter(|signal| [SIGKILL, SIGXCPU, SIGXFSZ].contains(signal))
    }
}

impl Tool {
    #[expect(clippy::disallowed_methods, reason = "this module is where ptxas is started")]
    fn command(&self, program: &Path, arguments: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env(DEPTH, self.depth.to_string());
        child::keep_sigpipe(&mut command);
        if self.huge_pages {
            child::ask_for_huge_pages(&mut command);
        }
        command
    }

    /// Replaces this process by the real ptxas. Returns only if that fails, with the reason.
    pub fn exec(&self, arguments: &[OsString]) -> io::Error {
        let reason = self.command(&self.path, arguments).exec();
        match self.uninstalled(&reason) {
            Some(path) => self.command(&path, arguments).exec(),
            None => reason,
        }
    }

    /// Where the real ptxas is, if it has vanished since it was found because uninstalling gave it its
    /// own name back.
    fn uninstalled(&self, reason: &io::Error) -> Option<PathBuf> {
        let kept = self.path.extension().is_some_and(|extension| extension == "real");
        (reason.kind() == io::ErrorKind::NotFound && kept).then(|| self.path.with_extension(""))
    }

    /// Runs the real ptxas to its end.
    ///
    /// # Errors
    /// The real ptxas cannot be started or waited for.
    pub fn run(&self, run: Run<'_>, watch: &Watch) -> io::Result<Finished> {
        let start = |program: &Path| {
            let mut command = self.command(program, run.arguments);
            command.stdout(stdio(run.stdout)).stderr(stdio(run.stderr));
            match run.stdin {
                Stdin::Inherit => {}
                Stdin::Bytes(bytes) => drop(command.stdin(like_ours(bytes)?)),
                Stdin::Begun(_) => drop(command.stdin(Stdio::piped())),
            }
            if let Some(folder) = run.temporary {
                command.env("TMPDIR", folder);
            }
            child::tie(&mut command);
            watch.spawn(|| command.spawn())
        };
        let mut child = start(&self.path)
            .or_else(|reason| self.uninstalled(&reason).map_or(Err(reason), |path| start(&path)))?;
        let pid = Pid::from_child(&child);
        let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            if let Some(pipe) = input {
                feed(scope, pipe, run.stdin);
            }
            let (ended, end) = channel::<()>();
            let guard = run.leash.map(|leash| scope.spawn(move || hold(leash, &end, pid, watch)));
            let reader = scope.spawn(move || drain(err));
            let stdout = drain(out);
            let stderr = reader.join().unwrap_or_default();
            let waited = watch.wait(child);
            drop(ended);
            let stopped = guard.and_then(|guard| guard.join().ok()).flatten();
            let in_place = |said| match run.temporary {
                Some(folder) => in_usual_folder(said, folder),
                None => said,
            };
            let (stdout, stderr) = (in_place(stdout), in_place(stderr));
            let passed_on = watch.passed_on();
            waited.map(|(status, work)| Finished {
                status,
                stdout,
                stderr,
                work,
                stopped,
                passed_on,
            })
        })
    }
}

/// The messages, with the names of temporary files in `folder` replaced by the usual ones.
fn in_usual_folder(said: Vec<u8>, folder: &Path) -> Vec<u8> {
    let named = |folder: &Path| [folder.as_os_str().as_bytes(), b"/tmpxft_"].concat();
    let (own, usual) = (named(folder), named(&Temporary::usual()));
    let mut rest = &said[..];
    let mut shown = Vec::new();
    while let Some(at) = memchr::memmem::find(rest, &own) {
        shown.extend_from_slice(&rest[..at]);
        shown.extend_from_slice(&usual);
        rest = &rest[at + own.len()..];
    }
    shown.extend_from_slice(rest);
    shown
}

/// The bytes as the same kind of file as our standard input: ptxas can read a regular file a second time, as it does
/// for its debug information, but not a pipe.
fn like_ours(bytes: &[u8]) -> io::Result<Stdio> {
    let is_file = fstat(io::stdin())
        .is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::RegularFile);
    if !is_file {
        return Ok(Stdio::piped());
    }
    Ok(in_memory(bytes)?.into())
}

/// A file that lies nowhere and holds these bytes, to be read from its beginning.
///
/// # Errors
/// There is no room for it.
pub fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("stdin", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// Writes the input of ptxas. It may stop reading at an error; its exit status tells that, not the
/// broken pipe.
fn feed<'s, 'e>(scope: &'s std::thread::Scope<'s, 'e>, mut pipe: ChildStdin, stdin: Stdin<'e>) {
    match stdin {
        Stdin::Inherit => {}
        Stdin::Bytes(bytes) => drop(scope.spawn(move || pipe.write_all(bytes).is_ok())),
        // Nobody waits for this one: the rest may come late, or never, and ptxas may not want it.
        Stdin::Begun(bytes) => {
            let bytes = bytes.to_owned();
            let pass = move || {
                let all = pipe.write_all(&bytes).and_then(|()| {
                    let mut rest = io::stdin().lock();
                    io::copy(&mut rest, &mut pipe)
                });
                if let Err(error) = all {
                    log::debug!("standard input is not passed on to its end: {error}");
                }
            };
            if let Err(error) = std::thread::Builder::new().spawn(pass) {
                log::debug!("standard input is not passed on: {error}");
            }
        }
    }
}

/// Ends a run where it takes more than it may; returns why.
fn hold(leash: &Leash, end: &Receiver<()>, pid: Pid, watch: &Watch) -> Option<String> {
    while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        if let Some(reason) = leash.exceeded(|| child::so_far(pid)) {
            watch.kill(pid);
            return Some(reason);
        }
    }
    None
}

fn stdio(stream: Stream) -> Stdio {
    match stream {
        Stream::Inherit => Stdio::inherit(),
        Stream::Capture => Stdio::piped(),
    }
}

/// All bytes up to the end of the stream; those that arrived before an error count.
fn drain(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe
        && let Err(error) = pipe.read_to_end(&mut bytes)
    {
        log::debug!("ptxas's output ends early: {error}");
    }
    bytes
}
