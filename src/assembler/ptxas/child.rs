//! The real ptxas as a child process: its inheritance, its cost, and its end with ours.
//!
//! - A child of a stand-in that is killed is killed too (the parent-death signal of Linux), as the
//!   plain ptxas would be: it must not write its output later.
//! - Rust ignores SIGPIPE from its start on and sets it to its default in every program it starts. A caller that
//!   ignores it expects that of ptxas, too, so its disposition at the start is noted before `main` and restored.
//! - For a small file a third of ptxas's processor time is the system's, page faults above all. Its allocator is asked for huge
//!   pages.
//! - [`Work`] is the processor time and memory of a run, as the system counts them for that child alone: no wall-clock
//!   time, so a busy machine changes nothing.
//!
//! This is the one file of this room that holds `unsafe` code.
#![expect(
    unsafe_code,
    reason = "the actions of a child before it becomes ptxas have no safe interface"
)]

use libc::{SIG_IGN, SIGPIPE};
use rustix::process::{
    Pid, Resource, Signal, getpid, getppid, getrlimit, set_parent_process_death_signal,
};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Whether SIGPIPE was ignored when this process started.
static PIPE_WAS_IGNORED: AtomicBool = AtomicBool::new(false);

extern "C" fn note_sigpipe() {
    // SAFETY: all bits zero are a `sigaction`; the call only writes the present one.
    let ignored = unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(SIGPIPE, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == SIG_IGN
    };
    PIPE_WAS_IGNORED.store(ignored, Relaxed);
}

/// Called by the loader, before Rust's own start.
#[used]
// SAFETY: the loader calls the pointer in this section as a C function; it uses nothing of Rust's runtime.
#[unsafe(link_section = ".init_array")]
static NOTE_SIGPIPE: extern "C" fn() = note_sigpipe;

/// Whether the caller had SIGPIPE ignored.
pub fn pipe_was_ignored() -> bool {
    PIPE_WAS_IGNORED.load(Relaxed)
}

/// Gives SIGPIPE the meaning in the new program that it had at our start.
pub fn keep_sigpipe(command: &mut Command) {
    if pipe_was_ignored() {
        let ignore = || {
            // SAFETY: SIGPIPE may be ignored; the call is allowed between fork and exec.
            unsafe { libc::signal(SIGPIPE, SIG_IGN) };
            Ok(())
        };
        // SAFETY: the closure allocates nothing and takes no lock.
        unsafe { command.pre_exec(ignore) };
    }
}

/// The variable with which glibc's allocator is set up (the GNU C Library manual, "Tunables").
pub const TUNABLES: &str = "GLIBC_TUNABLES";

/// The heap consists of huge pages where the system gives them to programs that ask, and grows by 16 MiB at once, which
/// is about what a small kernel takes. Processor time of 8 public files of 24 to 500 ms, median: 0.90 of the time without
/// (0.93 with 4 MiB, 0.91 with 8, 0.90 with 32); resident memory grows by 2 to 5 MiB. Releases of glibc before 2.35 know
/// only the second one, and ignore the first.
const HUGE_PAGES: &str = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=16777216";

/// Has the allocator of the new program take huge pages, unless its memory is limited.
pub fn ask_for_huge_pages(command: &mut Command) {
    let limited =
        [Resource::As, Resource::Data].map(getrlimit).iter().any(|limit| limit.current.is_some());
    if !limited {
        command.env(TUNABLES, HUGE_PAGES);
    }
}

/// Has the new process killed when this one ends. (More exactly, when the thread ends that starts it,
/// which therefore has to wait for it.)
pub fn tie(command: &mut Command) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
    };
    // SAFETY: the closure makes two system calls, allocates nothing and takes no lock.
    unsafe { command.pre_exec(tie) };
}

/// The work of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// Time on processors, of all threads, in the program and in the system for it.
    pub processor: Duration,
    /// Bytes of memory at the highest.
    pub memory: u64,
}

/// Reaps a child that has ended.
///
/// # Errors
/// It is not a child of ours any more.
pub fn reap(child: Child) -> io::Result<(ExitStatus, Work)> {
    // (This function exists so that the child is dropped without waiting for it.)
    let pid = Pid::from_child(&child).as_raw_nonzero().get();
    let mut status = 0;
    // SAFETY: all bits zero are an `rusage`; both are written by the call before they are read.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        while libc::wait4(pid, &raw mut status, 0, &raw mut usage) != pid {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        usage
    };
    let time = |part: libc::timeval| {
        let micros = u64::try_from(part.tv_usec).unwrap_or(0);
        Duration::from_secs(u64::try_from(part.tv_sec).unwrap_or(0)) + Duration::from_micros(micros)
    };
    let work = Work {
        processor: time(usage.ru_utime) + time(usage.ru_stime),
        memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10,
    };
    Ok((ExitStatus::from_raw(status), work))
}

/// The work of a running child so far; `None` if the system does not tell.
pub fn so_far(pid: Pid) -> Option<Work> {
    let folder = format!("/proc/{}", pid.as_raw_nonzero());
    let stat = std::fs::read_to_string(format!("{folder}/stat")).ok()?;
    // The name, in parentheses, may hold anything; `utime`, `stime` and those of its children that have
    // ended are the fields 14 to 17.
    let fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let ticks: u64 = fields.skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum();
    let status = std::fs::read_to_string(format!("{folder}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let peak: u64 = peak.trim().trim_end_matches("kB").trim().parse().ok()?;
    let processor =
        Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64);
    Some(Work { processor, memory: peak << 10 })
}
