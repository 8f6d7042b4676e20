//! Interrupted calls: the real ptxas ends with ptxasw, and temporary files are removed.
//!
//! While a [`Watch`] exists, SIGINT, SIGTERM and all others that end a process are passed on to the running
//! children, whose end the caller then reports; with no child running they remove the temporary folder and
//! end this process as if they had not been caught. Signals that were ignored from the start (`nohup`)
//! stay ignored, for the child too.
//!
//! SIGXFSZ is caught to be nothing: where a limit on the size of files (`ulimit -f`) holds, writing a
//! temporary file fails then, and does not end the call. Caught signals have their default meaning in
//! the child.

use crate::ptxas::child::{self, Work};
use crate::ptxas::temporary::Temporary;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{
    SIGALRM, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU,
    SIGXFSZ,
};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::io;
use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Signals that end a process which does not expect them, and can be caught. (SIGPIPE is ignored by programs
/// in Rust; those about mistakes of the process itself are its own affair.)
const ENDING: [i32; 10] =
    [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU];

/// The processes and files that a signal has to end or remove.
#[derive(Default)]
struct State {
    children: Vec<Pid>,
    /// The signal that was passed on last.
    passed_on: Option<i32>,
    folder: Option<PathBuf>,
}

/// Signals are being watched for, from [`Watch::start`] to the end of the process.
pub struct Watch {
    state: Arc<Mutex<State>>,
}

impl Watch {
    /// Begins to watch. If the handlers cannot be set up, signals keep their default meaning: a call
    /// that is interrupted may then leave a temporary folder behind; other calls are not affected.
    pub fn start() -> Watch {
        let state = Arc::<Mutex<State>>::default();
        if let Err(error) = catch_signals(Arc::clone(&state)) {
            log::warn!("signals are not passed on: {error}");
        }
        Watch { state }
    }

    /// Makes a temporary folder that a signal removes.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn folder(&self) -> io::Result<Folder<'_>> {
        // Under the lock, lest a signal arrive after the folder is made and before it is noted.
        let mut state = lock(&self.state);
        let folder = Temporary::new()?;
        state.folder = Some(folder.path().to_owned());
        drop(state);
        folder.sweep();
        Ok(Folder { folder: Some(folder), watch: self })
    }

    /// The signal that was passed on to a child, if one was.
    pub fn passed_on(&self) -> Option<i32> {
        lock(&self.state).passed_on
    }

    /// Starts a child that signals are passed on to.
    ///
    /// # Errors
    /// The errors of `start`.
    pub fn spawn(&self, start: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
        let mut state = lock(&self.state);
        let child = start()?;
        state.children.push(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits for the child of [`Watch::spawn`].
    ///
    /// # Errors
    /// Errors of the system.
    pub fn wait(&self, child: Child) -> io::Result<(ExitStatus, Work)> {
        // First wait without reaping: until its number is forgotten here, the number must stay the
        // child's.
        let pid = Pid::from_child(&child);
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
        lock(&self.state).children.retain(|&other| other != pid);
        child::reap(child)
    }

    /// Ends a child of [`Watch::spawn`] that has not been waited for.
    pub fn kill(&self, pid: Pid) {
        let state = lock(&self.state);
        if state.children.contains(&pid)
            && let Err(error) = kill_process(pid, Signal::KILL)
        {
            log::debug!("cannot end ptxas: {error}");
        }
    }
}

/// A temporary folder; dropping it removes it.
pub struct Folder<'w> {
    folder: Option<Temporary>,
    watch: &'w Watch,
}

impl Folder<'_> {
    /// Writes a file into the folder.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.place(name)?;
        std::fs::write(&path, bytes)?;
        Ok(path)
    }

    /// The path of a file in the folder, for other programs to write.
    ///
    /// # Errors
    /// The folder is gone.
    pub fn place(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.folder.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(folder.path().join(name))
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        // Under the lock, lest a signal end the process half-way.
        let mut state = lock(&self.watch.state);
        if let Some(Err(error)) = self.folder.take().map(Temporary::close) {
            log::debug!("cannot remove the temporary folder: {error}");
        }
        state.folder = None;
    }
}

fn catch_signals(state: Arc<Mutex<State>>) -> io::Result<()> {
    let ignored = ignored_signals();
    let watched =
        ENDING.into_iter().chain([SIGXFSZ]).filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let mut signals = Signals::new(watched)?;
    let watch = move || signals.forever().for_each(|signal| on_signal(&mut lock(&state), signal));
    std::thread::Builder::new().name("signals".into()).spawn(watch).map(drop)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn on_signal(state: &mut State, signal: i32) {
    if signal == SIGXFSZ {
        return;
    }
    match (state.children.as_slice(), Signal::from_named_raw(signal)) {
        (children @ [_, ..], Some(signal)) => {
            state.passed_on = Some(signal.as_raw());
            for &child in children {
                if let Err(error) = kill_process(child, signal) {
                    log::debug!("cannot pass a signal on: {error}");
                }
            }
        }
        _ => {
            if let Some(folder) = &state.folder
                && let Err(error) = std::fs::remove_dir_all(folder)
            {
                log::debug!("cannot remove {}: {error}", folder.display());
            }
            end_by(signal);
        }
    }
}

/// Ends this process by a signal's default action, so that the caller sees the same status as from the
/// real ptxas. If the signal does not end it, it exits with the shell's number for the signal.
pub fn end_by(signal: i32) -> ! {
    if let Err(error) = emulate_default_handler(signal) {
        log::debug!("cannot end by signal {signal}: {error}");
    }
    std::process::exit(128 + signal)
}

/// A bit for each signal (bit 0 is signal 1) that this process was told to ignore. On systems other
/// than Linux it cannot be told, and no bit is set.
fn ignored_signals() -> u64 {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(mask.trim(), 16).ok()
        })
        .unwrap_or(0)
}
