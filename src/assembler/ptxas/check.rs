//! Two versions of a call's texts, assembled at the same time and compared.
//!
//! In: a call, and texts for ptxas in the place of its inputs. Out: an [`Outcome`]: what ptxas made of the rewritten texts,
//! and which functions lose by them ([`losses`](crate::ptxas::losses), [`complaints`](crate::ptxas::complaints)). Both
//! runs write into a temporary folder; [`Comparison::deliver`] puts the result that is chosen into the user's output
//! file, which is not written before. Who chooses is not decided here.
//!
//! Results that cannot be read or compared count as good, but for one that is cut off. Where the original is refused or
//! does not come to its end, nothing is compared: the call is made as it came.

use crate::ptxas::command_line::OutputPlace;
use crate::ptxas::examine::{Examined, Replacement, is_too_long, stdin, writes_to_stdout};
use crate::ptxas::invoke::{Finished, Run, Stream};
use crate::ptxas::leash::Leash;
use crate::ptxas::outcome::{Original, Outcome, parse, read};
use crate::ptxas::rewritten::{Call, How, run_rewritten};
use crate::ptxas::signals::Folder;
use crate::ptxas::temporary::Temporary;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

/// The output file of ptxas if the call names none.
const DEFAULT_OUTPUT: &str = "elf.o";

/// What came of a check.
#[derive(Debug, Default)]
pub struct Checked {
    /// How the run ended whose result is the user's; without one, the call is to be made as it came.
    pub finished: Option<Finished>,
    /// Why the output is made from the originals, if it is.
    pub unused: Option<String>,
    /// The run on the rewritten text, if ptxas refused a text that it should have taken.
    pub refused: Option<Finished>,
    /// The cubins of the texts.
    pub cubins: Cubins,
}

/// The cubins of the two texts of a call; empty where they are unknown.
#[derive(Clone, Debug, Default)]
pub struct Cubins {
    /// Of the originals.
    pub original: Vec<u8>,
    /// Of the rewritten texts; empty where the originals are used, too.
    pub rewritten: Vec<u8>,
}

impl Checked {
    /// The originals are to be assembled.
    pub fn unused(reason: impl Into<String>) -> Checked {
        Checked { unused: Some(reason.into()), ..Checked::default() }
    }

    /// The same with the cubin of the originals.
    #[must_use]
    pub fn of(self, original: Vec<u8>) -> Checked {
        Checked { cubins: Cubins { original, rewritten: Vec::new() }, ..self }
    }

    /// A run on the rewritten texts that nothing is compared with.
    pub fn alone(finished: Finished) -> Checked {
        if finished.status.success() || finished.interrupted().is_some() {
            return Checked { finished: Some(finished), ..Checked::default() };
        }
        let Outcome::Bad { unused, refused } = Outcome::of_failure(finished) else {
            return Checked::default();
        };
        Checked { unused: Some(unused), refused, ..Checked::default() }
    }
}

/// The runs of a call that are compared, and their temporary folder.
pub struct Comparison<'c> {
    call: Call<'c>,
    folder: Folder<'c>,
    leash: Leash,
    /// The output file of runs on rewritten texts.
    beside: PathBuf,
}

impl<'c> Comparison<'c> {
    /// Prepares the runs; the reason if the results of this call cannot be looked at before they are used.
    ///
    /// # Errors
    /// No folder for temporary files can be made.
    pub fn new(call: Call<'c>) -> io::Result<Result<Comparison<'c>, &'static str>> {
        if call.line.output_place == OutputPlace::Unclear || writes_to_stdout(Some(output(&call))) {
            return Ok(Err("the output cannot be looked at before it is used"));
        }
        let folder = call.watch.folder()?;
        let beside = folder.place("rewritten.cubin")?;
        Ok(Ok(Comparison { call, folder, leash: Leash::default(), beside }))
    }

    /// Assembles both versions at the same time: the call as it came, or some texts in the place of its inputs, and the
    /// rewritten texts. The original is missing if that run cannot be started.
    ///
    /// # Errors
    /// The texts cannot be handed to ptxas.
    pub fn both<R: Replacement + Sync>(
        &self,
        originals: Option<&[Examined<R>]>,
        rewritten: &[Examined<R>],
    ) -> io::Result<(Option<Original>, Finished)> {
        let of_original = self.folder.place("original.cubin")?;
        let words = self.call.line.with_output(of_original.as_os_str());
        let Call { tool, watch, .. } = self.call;
        if is_too_long(rewritten) {
            // Two cannot read it.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let stdin = stdin(rewritten);
        std::thread::scope(|scope| {
            let of_original = of_original.as_path();
            let as_it_came = move |words: Vec<OsString>| {
                let run = Run::new(&words, Stream::Capture, Stream::Capture);
                // (Where the usual folder cannot be written to, ptxas is to say so.)
                let usual = Temporary::usual();
                let temporary =
                    of_original.parent().filter(|own| own.parent() == Some(usual.as_path()));
                tool.run(Run { stdin, temporary, ..run }, watch)
            };
            let start = |words: Vec<OsString>| {
                let work = move || {
                    let finished = match originals {
                        None => as_it_came(words),
                        Some(texts) => self.run(texts, "original-", of_original.as_os_str(), None),
                    };
                    match &finished {
                        Ok(finished) if finished.status.success() => self.leash.set(finished.work),
                        _ => self.leash.end(),
                    }
                    finished
                };
                std::thread::Builder::new().spawn_scoped(scope, work).ok()
            };
            let original = words.and_then(start);
            let finished = self.run(rewritten, "", self.beside.as_os_str(), Some(&self.leash));
            let original = original.and_then(|thread| thread.join().ok()).and_then(Result::ok);
            let original = original.map(|finished| {
                let bytes = if finished.status.success() { read(of_original) } else { Vec::new() };
                let cubin = parse(of_original, &bytes);
                Original { finished, bytes, cubin }
            });
            Ok((original, finished?))
        })
    }

    /// Assembles rewritten texts after others have been compared. `bounded`: these may take no more than the others.
    ///
    /// # Errors
    /// The texts cannot be handed to ptxas.
    pub fn again<R: Replacement>(
        &self,
        rewritten: &[Examined<R>],
        bounded: bool,
    ) -> io::Result<Finished> {
        let leash = bounded.then_some(&self.leash);
        self.run(rewritten, "", self.beside.as_os_str(), leash)
    }

    /// Assembles texts that nothing is compared with, and delivers the result.
    ///
    /// # Errors
    /// The texts cannot be handed to ptxas.
    pub fn only<R: Replacement>(&self, texts: &[Examined<R>]) -> io::Result<Checked> {
        let finished = self.again(texts, false)?;
        match finished.status.success() {
            true => Ok(self.deliver(finished, &read(&self.beside), None)),
            false => Ok(Checked::alone(finished)),
        }
    }

    fn run<R: Replacement>(
        &self,
        texts: &[Examined<R>],
        prefix: &str,
        output: &OsStr,
        leash: Option<&Leash>,
    ) -> io::Result<Finished> {
        let mut write =
            |name: &str, bytes: &[u8]| self.folder.write(&format!("{prefix}{name}"), bytes);
        run_rewritten(&self.call, texts, &mut write, How { output: Some(output), leash })
    }

    /// The outcome of the last run on rewritten texts beside that on the originals. `same_functions`: both have the same
    /// functions, so that what ptxas says of them can be compared.
    pub fn outcome(
        &self,
        original: &Original,
        finished: Finished,
        same_functions: bool,
    ) -> Outcome {
        Outcome::new(original, (finished, &self.beside), same_functions)
    }

    /// Puts a result where the user wants it, as ptxas does: into the existing file, or a new one. If that fails, the call
    /// is to be made as it came. `unused`: why it is the original's result, if it is.
    pub fn deliver(&self, finished: Finished, bytes: &[u8], unused: Option<String>) -> Checked {
        let output = output(&self.call);
        if !bytes.is_empty() {
            match std::fs::write(output, bytes) {
                Ok(()) => {
                    return Checked { finished: Some(finished), unused, ..Checked::default() };
                }
                Err(error) => log::info!("{}: {error}", output.display()),
            }
        }
        Checked::unused(unused.unwrap_or_else(|| "the output file cannot be written".to_owned()))
    }
}

fn output<'c>(call: &Call<'c>) -> &'c OsStr {
    call.line.output.as_deref().unwrap_or(OsStr::new(DEFAULT_OUTPUT))
}

/// The bytes of a call's output file; nothing if it is not an ordinary file, or not known.
pub(super) fn written(call: &Call<'_>) -> Vec<u8> {
    let known = call.line.output_place != OutputPlace::Unclear;
    let path = std::path::Path::new(output(call));
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if known && is_file { read(path) } else { Vec::new() }
}
