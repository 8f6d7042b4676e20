//! Asking a program something once: which assembler it is, or whether it works at all.
//!
//! In: a path that may name anything. Out: the text it printed and how it ended, or why there is no
//! answer. A question cannot hang: a program that does not end is killed together with the processes
//! it has started. The wrapper itself does not use this; it runs ptxas by
//! [`crate::ptxas::invoke::Tool`].

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::ptxas::role::Dialect;

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a program that "is being written" is tried: another thread that is just starting a
/// process holds the program's descriptor for an instant.
const BUSY_TRIES: u32 = 50;

/// A question to a program.
#[derive(Debug)]
pub struct Question<'q> {
    /// The program.
    pub program: &'q Path,
    /// Its arguments.
    pub arguments: &'q [OsString],
    /// Variables set beside those of this process.
    pub environment: &'q [(&'q str, &'q OsStr)],
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// How the program ended.
    pub status: ExitStatus,
    /// Its output on both streams.
    pub text: String,
}

impl Question<'_> {
    /// Runs the program to its end, with nothing on its standard input.
    ///
    /// # Errors
    /// The program cannot be started, or has not ended after a minute.
    pub fn ask(&self) -> io::Result<Answer> {
        // A file instead of a pipe: a process that the program leaves running may hold the pipe's
        // other end for ever.
        let mut output = File::from(memfd_create("answer", MemfdFlags::CLOEXEC)?);
        let mut child = self.start(&output)?;
        if let Err(error) = wait(&child) {
            if let Err(kept) = kill_process_group(Pid::from_child(&child), Signal::KILL) {
                log::debug!("cannot end {}: {kept}", self.program.display());
            }
            child.wait()?;
            return Err(error);
        }
        let status = child.wait()?;
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        Ok(Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    #[expect(clippy::disallowed_methods, reason = "this module is where programs are tried")]
    fn start(&self, output: &File) -> io::Result<Child> {
        let mut tries = 0;
        loop {
            let mut command = Command::new(self.program);
            command
                .args(self.arguments)
                .envs(self.environment.iter().copied())
                .stdin(Stdio::null())
                .stdout(output.try_clone()?)
                .stderr(output.try_clone()?)
                .process_group(0);
            match command.spawn() {
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY_TRIES =>
                {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                result => return result,
            }
        }
    }
}

/// Waits for a child's end without reaping it.
fn wait(child: &Child) -> io::Result<()> {
    let id = WaitId::Pid(Pid::from_child(child));
    let (ended, end) = mpsc::channel();
    let watch = move || {
        while let Err(rustix::io::Errno::INTR) =
            waitid(id.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        // If time has run out, nobody listens any more.
        ended.send(()).is_ok()
    };
    std::thread::Builder::new().spawn(watch)?;
    end.recv_timeout(PATIENCE).map_err(|_| {
        io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {PATIENCE:?}"))
    })
}

/// The version an assembler gives itself, in one line: `release 13.5, V13.5.37`.
///
/// # Errors
/// Why the program is not an assembler of this dialect.
pub fn version(program: &Path, dialect: Dialect) -> Result<String, String> {
    let arguments = [OsString::from("--version")];
    let answer = Question { program, arguments: &arguments, environment: &[] }
        .ask()
        .map_err(|error| format!("it cannot be run: {error}"))?;
    if !answer.status.success() {
        return Err(format!("`--version` fails ({})", answer.status));
    }
    let said = |wanted: &str| answer.text.lines().find(|line| line.contains(wanted));
    let line = match dialect {
        Dialect::Ptxas => said("Ptx optimizing assembler")
            .and_then(|title| said("release ").or(Some(title)))
            .map(|line| line.split_once("tools, ").map_or(line, |(_, release)| release)),
        Dialect::NvptxAs => said("nvptx"),
    };
    let what = match dialect {
        Dialect::Ptxas => "NVIDIA's ptxas",
        Dialect::NvptxAs => "GCC's assembler for nvptx",
    };
    line.map(|line| line.trim().to_owned())
        .ok_or_else(|| format!("it does not answer `--version` like {what}"))
}
