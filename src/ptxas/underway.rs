//! The run of the real ptxas on the originals, which goes on while something else is done.
//!
//! In: a call. Out: how that run ends, with its messages and the bytes of its output. It begins with the user's own call
//! before it is known whether a text is rewritten, or else beside a run on the rewritten texts, into a temporary file.
//! Where a text is rewritten, both results are compared ([`crate::ptxas::check`]).

use crate::ptxas::check::{output, read};
use crate::ptxas::command_line::{Kind, OutputPlace};
use crate::ptxas::examine::writes_to_stdout;
use crate::ptxas::invoke::{Finished, Run, Stdin, Stream};
use crate::ptxas::leash::Leash;
use crate::ptxas::rewritten::Call;
use crate::ptxas::temporary::Temporary;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Such a run.
pub struct Underway<'s> {
    run: Option<ScopedJoinHandle<'s, io::Result<Finished>>>,
    /// Its output file.
    output: PathBuf,
    /// Whether that is the user's.
    is_own: bool,
    /// The bound of a run on the rewritten text, which the end of this one sets.
    pub(super) bound: Arc<Leash>,
}

/// The outcome of such a run.
pub(super) struct Ended {
    pub(super) finished: Finished,
    /// The output file.
    pub(super) output: PathBuf,
    /// Its bytes; none if the run failed.
    pub(super) bytes: Vec<u8>,
    /// Whether the output file is the user's.
    pub(super) is_own: bool,
}

impl<'s> Underway<'s> {
    /// Begins the call as it came. `None` if its inputs can be read only once, or its output is not a file of its own.
    pub fn early<'e>(scope: &'s Scope<'s, 'e>, call: Call<'e>) -> Option<Self> {
        let line = call.line;
        let output = Path::new(output(&call));
        let is_input = |value: &Path| {
            let both = [value, output].map(|path| path.canonicalize().ok());
            value == output || both[0].is_some() && both[0] == both[1]
        };
        let is_once = line
            .inputs
            .iter()
            .any(|input| input.kind == Kind::Stdin || is_input(Path::new(line.value(input))));
        let is_file = std::fs::metadata(output).map_or(true, |there| there.is_file());
        let is_clear =
            line.output_place != OutputPlace::Unclear && !writes_to_stdout(line.output.as_deref());
        let run = (call.arguments.to_vec(), Stdin::Inherit, None);
        (!is_once && is_file && is_clear)
            .then(|| Underway::start(scope, call, run, (output.to_owned(), true)))
            .flatten()
    }

    /// Begins a run into a file. `None` if the call cannot have another output file.
    pub(super) fn beside<'e>(
        scope: &'s Scope<'s, 'e>,
        call: Call<'e>,
        stdin: Stdin<'e>,
        output: PathBuf,
    ) -> Option<Self> {
        let words = call.line.with_output(output.as_os_str())?;
        // (Where the usual folder cannot be written to, ptxas is to say so.)
        let usual = Temporary::usual();
        let own = output.parent().map(PathBuf::from);
        let temporary = own.filter(|own| own.parent() == Some(usual.as_path()));
        Underway::start(scope, call, (words, stdin, temporary), (output, false))
    }

    fn start<'e>(
        scope: &'s Scope<'s, 'e>,
        call: Call<'e>,
        (words, stdin, temporary): (Vec<OsString>, Stdin<'e>, Option<PathBuf>),
        (output, is_own): (PathBuf, bool),
    ) -> Option<Self> {
        let bound = Arc::<Leash>::default();
        let sets = Arc::clone(&bound);
        let work = move || {
            let run = Run::new(&words, Stream::Capture, Stream::Capture);
            let run = Run { stdin, temporary: temporary.as_deref(), ..run };
            let finished = call.tool.run(run, call.watch);
            match &finished {
                Ok(finished) if finished.status.success() => sets.set(finished.work),
                _ => sets.end(),
            }
            finished
        };
        let run = Builder::new().spawn_scoped(scope, work).ok()?;
        Some(Underway { run: Some(run), output, is_own, bound })
    }

    /// Waits for its end. `None` if it could not be started.
    pub(super) fn end(&mut self) -> Option<Ended> {
        let finished = self.run.take()?.join().ok()?.ok()?;
        let bytes = if finished.status.success() { read(&self.output) } else { Vec::new() };
        Some(Ended { finished, output: self.output.clone(), bytes, is_own: self.is_own })
    }
}

impl Drop for Underway<'_> {
    /// Nothing else may write the user's output file until the run has ended.
    fn drop(&mut self) {
        self.end();
    }
}
