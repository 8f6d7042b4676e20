//! Starting the real ptxas.
//!
//! This is the only place of the wrapper that starts it. Arguments are passed as they are given, and
//! so is everything that a process inherits (environment, descriptors such as make's job server,
//! limits).

use crate::ptxas::signals::Watch;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

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
}

/// Where a stream goes that the real ptxas writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// It goes where ours goes.
    Inherit,
    /// It is kept in memory.
    Capture,
}

/// A run that has ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output, if captured.
    pub stdout: Vec<u8>,
    /// Standard error, if captured.
    pub stderr: Vec<u8>,
}

impl Finished {
    /// The signal with which somebody ended the run; `None` for a signal that a fault of the program
    /// raised.
    pub fn interrupted(&self) -> Option<i32> {
        use signal_hook::consts::{SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
        let faults = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP];
        self.status.signal().filter(|signal| !faults.contains(signal))
    }
}

impl Tool {
    #[expect(clippy::disallowed_methods, reason = "this module is where ptxas is started")]
    fn command(&self, program: &Path, arguments: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).env(DEPTH, self.depth.to_string());
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

    /// Runs the real ptxas to its end. It reads `stdin`, or without one the standard input of this
    /// process.
    ///
    /// # Errors
    /// The real ptxas cannot be started or waited for.
    pub fn run(
        &self,
        arguments: &[OsString],
        stdin: Option<&[u8]>,
        stdout: Stream,
        stderr: Stream,
        watch: &Watch,
    ) -> io::Result<Finished> {
        let start = |program: &Path| {
            let mut command = self.command(program, arguments);
            command.stdout(stdio(stdout)).stderr(stdio(stderr));
            if stdin.is_some() {
                command.stdin(Stdio::piped());
            }
            watch.spawn(|| command.spawn())
        };
        let mut child = start(&self.path)
            .or_else(|reason| self.uninstalled(&reason).map_or(Err(reason), |path| start(&path)))?;
        let (input, out, err) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (stdout, stderr) = std::thread::scope(|scope| {
            if let Some((mut pipe, text)) = input.zip(stdin) {
                // ptxas may stop reading at an error; its exit status tells that, not the broken pipe.
                scope.spawn(move || pipe.write_all(text).is_ok());
            }
            let reader = scope.spawn(move || drain(err));
            (drain(out), reader.join().unwrap_or_default())
        });
        let status = watch.wait(child)?;
        Ok(Finished { status, stdout, stderr })
    }
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
