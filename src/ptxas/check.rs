//! The check after assembling: a kernel whose rewrite made it worse is assembled as it was.
//!
//! In: a call with inputs that the rewriter changed, and the rewriter's function that takes kernels out
//! again. The rewritten texts and the originals are assembled at the same time, both into a temporary
//! folder; the chosen result is then put into the user's output file, which is not written before.
//! Where a kernel is worse by [`losses`], takes more cycles by its machine code ([`Slower`]), or
//! ptxas has more [`complaints`], the text without its rewrite is assembled and looked at again, three times at most. Where nothing of the rewrite is left, something
//! is worse even so, or assembling the rewritten text takes too much ([`Leash`]), the original's result
//! becomes the user's, with its messages: it is there, whatever the other run does. A kernel that a
//! profile has decided for may take more: it was measured to be faster. Out: how the run ended
//! whose result is in the output file.
//!
//! Results that cannot be read or compared count as good, but for one that is cut off. Where the original
//! is refused or does not come to its end, nothing of this counts: the call is made as it came.

use crate::ptxas::command_line::OutputPlace;
use crate::ptxas::complaints::{Complaint, complaints};
use crate::ptxas::examine::{Examined, Replacement, is_too_long, stdin, writes_to_stdout};
use crate::ptxas::invoke::{Finished, Run, Stream};
use crate::ptxas::leash::Leash;
use crate::ptxas::losses::{Loss, losses};
use crate::ptxas::messages::agree;
use crate::ptxas::rewritten::{Call, How, run_rewritten};
use crate::ptxas::signals::Folder;
use crate::ptxas::temporary::Temporary;
use crate::sass::cubin::{self, Cubin};
use crate::source::SourceFile;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Rewrites a text once more, without the kernels named. The arguments are the text, its rewriting so
/// far, and the kernels with what each lost.
pub type Again<'r, R> = dyn Fn(&SourceFile, &R, &[Loss]) -> R + 'r;

/// The kernels of a text that take more cycles than before, with both numbers. The arguments are the text, its
/// rewriting, the bytes that were made of the two, and the kernels that have lost something anyway.
pub type Slower<'r, R> = dyn Fn(&SourceFile, &R, [&[u8]; 2], &[Loss]) -> Vec<Loss> + 'r;

/// The functions of the rewriter that a check calls.
pub struct Judges<'r, R> {
    /// For a text without the kernels that lost something.
    pub again: &'r Again<'r, R>,
    /// For the kernels that are slower.
    pub slower: &'r Slower<'r, R>,
}

impl<R> Clone for Judges<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Judges<'_, R> {}

impl<R> std::fmt::Debug for Judges<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Judges")
    }
}

/// How often a text is assembled again after kernels were taken out. The registers and stack of a
/// kernel depend on its own text and on the functions that it calls, so the first time is nearly
/// always the last.
const MOST_ROUNDS: usize = 3;

/// Larger cubins are not read.
const LARGEST_CUBIN: u64 = 256 << 20;

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
    fn unused(reason: impl Into<String>) -> Checked {
        Checked { unused: Some(reason.into()), ..Checked::default() }
    }

    /// The same with the cubin of the originals.
    fn of(self, original: Vec<u8>) -> Checked {
        Checked { cubins: Cubins { original, rewritten: Vec::new() }, ..self }
    }

    /// A run on the rewritten texts that nothing is compared with.
    pub(super) fn alone(finished: Finished) -> Checked {
        if finished.status.success() || finished.interrupted().is_some() {
            return Checked { finished: Some(finished), ..Checked::default() };
        }
        let Fate::Bad { unused, refused } = Fate::of_failure(finished) else {
            return Checked::default();
        };
        Checked { unused: Some(unused), refused, ..Checked::default() }
    }
}

/// Assembles and checks. If rewrites of kernels were undone, `examined` holds the assembled texts.
///
/// # Errors
/// The rewritten text cannot be handed to ptxas.
pub fn run<R: Replacement>(
    call: &Call<'_>,
    examined: &mut [Examined<R>],
    judges: Judges<'_, R>,
) -> io::Result<Checked> {
    if call.line.output_place == OutputPlace::Unclear || writes_to_stdout(Some(output(call))) {
        return Ok(Checked::unused("the output cannot be looked at before it is used"));
    }
    let mut folder = Some(call.watch.folder()?);
    let leash = Leash::default();
    let (original, mut finished) = run_both(call, examined, &mut folder, &leash)?;
    let Some(original) = original else {
        return Ok(Checked::unused("the original cannot be assembled beside the rewritten text"));
    };
    if call.watch.passed_on().is_some() && original.finished.interrupted().is_some() {
        return Ok(Checked { finished: Some(original.finished), ..Checked::default() });
    }
    if !original.finished.status.success() {
        return Ok(Checked::unused("the assembler refuses the original, too"));
    }
    let mut taken: Vec<Loss> = Vec::new();
    for round in 0..=MOST_ROUNDS {
        let is_measured = |name: &str| is_measured(examined, name);
        let slower = |bytes: &[u8], lost: &[Loss]| {
            slower(examined, judges.slower, [&original.bytes, bytes], lost)
        };
        let new = match fate(&original, finished, &taken, is_measured, slower) {
            Fate::Good(finished, bytes) => {
                let delivered = deliver(call, *finished, &bytes, None);
                let cubins = Cubins { original: original.bytes, rewritten: bytes };
                return Ok(Checked { cubins, ..delivered });
            }
            Fate::Bad { unused, refused } => {
                let delivered = deliver(call, original.finished, &original.bytes, Some(unused));
                return Ok(Checked { refused, ..delivered }.of(original.bytes));
            }
            Fate::Interrupted(finished) => {
                return Ok(Checked { finished: Some(*finished), ..Checked::default() });
            }
            Fate::Lost(new) => new,
        };
        if new.is_empty() || round == MOST_ROUNDS {
            break;
        }
        taken.extend(new);
        if !take_out(examined, judges.again, &taken)
            || examined.iter().all(|one| one.changed().is_none())
        {
            break;
        }
        let how = How { output: Some(original.beside.as_os_str()), leash: Some(&leash) };
        finished = run_rewritten(call, examined, &mut folder, how)?;
    }
    let unused = examined.iter().any(|one| one.changed().is_some()).then(|| {
        let each = taken.iter().map(|(name, what)| format!("{name}: {what}"));
        format!("taken back: {}", each.collect::<Vec<_>>().join("; "))
    });
    Ok(deliver(call, original.finished, &original.bytes, unused).of(original.bytes))
}

fn output<'c>(call: &Call<'c>) -> &'c OsStr {
    call.line.output.as_deref().unwrap_or(OsStr::new(DEFAULT_OUTPUT))
}

/// The kernels that take more cycles than before.
fn slower<R: Replacement>(
    examined: &[Examined<R>],
    judge: &Slower<'_, R>,
    cubins: [&[u8]; 2],
    lost: &[Loss],
) -> Vec<Loss> {
    let changed = examined.iter().filter_map(|one| one.changed());
    changed.flat_map(|(source, rewritten)| judge(source, rewritten, cubins, lost)).collect()
}

fn is_measured<R: Replacement>(examined: &[Examined<R>], kernel: &str) -> bool {
    let mut changed = examined.iter().filter_map(|one| one.changed());
    changed.any(|(_, rewritten)| rewritten.is_measured(kernel))
}

/// Rewrites the texts again without the kernels that lost; returns whether that changed any text.
fn take_out<R: Replacement>(
    examined: &mut [Examined<R>],
    again: &Again<'_, R>,
    taken: &[Loss],
) -> bool {
    let mut any = false;
    for one in examined {
        let Some((source, rewritten)) = one.changed() else { continue };
        let here: Vec<Loss> =
            taken.iter().filter(|(name, _)| rewritten.knows(name)).cloned().collect();
        if here.is_empty() {
            continue;
        }
        let less = again(source, rewritten, &here);
        // Where the function's own text is not rewritten any more, one that it calls made it lose.
        if less.text() != rewritten.text() {
            any = true;
            one.outcome = one.outcome.take().map(|(source, _)| (source, Ok(less)));
        }
    }
    any
}

/// The outcome of assembling the original.
struct Original {
    finished: Finished,
    /// The bytes of its output file.
    bytes: Vec<u8>,
    /// Its kernels; `None` if the file cannot be read as a cubin.
    cubin: Option<Cubin>,
    /// The output file of the rewritten text.
    beside: PathBuf,
}

/// Assembles both at the same time.
fn run_both<'c, R: Replacement>(
    call: &Call<'c>,
    examined: &[Examined<R>],
    folder: &mut Option<Folder<'c>>,
    leash: &Leash,
) -> io::Result<(Option<Original>, Finished)> {
    let place = |name| folder.as_ref().map(|folder| folder.place(name)).transpose();
    let (of_original, beside) = (place("original.cubin")?, place("rewritten.cubin")?);
    let place = of_original.zip(beside).ok_or(io::ErrorKind::NotFound)?;
    let (of_original, beside) = place;
    let words = call.line.with_output(of_original.as_os_str());
    let Call { tool, watch, .. } = *call;
    if is_too_long(examined) {
        // Two cannot read it.
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let stdin = stdin(examined);
    std::thread::scope(|scope| {
        let of_original = of_original.as_path();
        let start = |words: Vec<OsString>| {
            let work = move || {
                let run = Run::new(&words, Stream::Capture, Stream::Capture);
                // (Where the usual folder cannot be written to, ptxas is to say so.)
                let usual = Temporary::usual();
                let temporary =
                    of_original.parent().filter(|own| own.parent() == Some(usual.as_path()));
                let finished = tool.run(Run { stdin, temporary, ..run }, watch);
                match &finished {
                    Ok(finished) if finished.status.success() => leash.set(finished.work),
                    _ => leash.end(),
                }
                finished
            };
            std::thread::Builder::new().spawn_scoped(scope, work).ok()
        };
        let original = words.and_then(start);
        let how = How { output: Some(beside.as_os_str()), leash: Some(leash) };
        let finished = run_rewritten(call, examined, folder, how);
        let original = original.and_then(|thread| thread.join().ok()).and_then(Result::ok);
        let original = original.map(|finished| {
            let bytes = if finished.status.success() { read(of_original) } else { Vec::new() };
            let cubin = parse(of_original, &bytes);
            Original { finished, bytes, cubin, beside: beside.clone() }
        });
        Ok((original, finished?))
    })
}

/// The fate of a run on the rewritten text.
enum Fate {
    /// Its result, these bytes, is used.
    Good(Box<Finished>, Vec<u8>),
    /// These functions, not known so far, are to be left as they were. With none, nothing helps.
    Lost(Vec<Loss>),
    /// The original is used; with the run if ptxas refused a text that it should have taken.
    Bad { unused: String, refused: Option<Finished> },
    /// Somebody ended it.
    Interrupted(Box<Finished>),
}

impl Fate {
    fn bad(unused: impl Into<String>) -> Fate {
        Fate::Bad { unused: unused.into(), refused: None }
    }

    /// The fate of a run that failed, and was not interrupted.
    fn of_failure(finished: Finished) -> Fate {
        if let Some(reason) = finished.stopped {
            return Fate::bad(reason);
        }
        match finished.ended_by_limit() {
            // ptxas may have run out of memory, say, and the original needs less.
            Some(signal) => {
                Fate::bad(format!("ptxas was ended by signal {signal} on the rewritten text"))
            }
            None => {
                let unused = "ptxas refuses the rewritten text".to_owned();
                Fate::Bad { unused, refused: Some(finished) }
            }
        }
    }
}

fn fate(
    original: &Original,
    mut finished: Finished,
    taken: &[Loss],
    is_measured: impl Fn(&str) -> bool,
    slower: impl FnOnce(&[u8], &[Loss]) -> Vec<Loss>,
) -> Fate {
    if finished.interrupted().is_some() {
        return Fate::Interrupted(Box::new(finished));
    }
    let text = |finished: &Finished| {
        String::from_utf8_lossy(&[&finished.stdout[..], b"\n", &finished.stderr].concat())
            .into_owned()
    };
    let said = complaints(&text(&original.finished), &text(&finished));
    if !finished.status.success() {
        // With `-Werror`, a new warning is an error.
        return match (Fate::of_failure(finished), said.first()) {
            (Fate::Bad { refused: Some(_), .. }, Some(Complaint { what, .. })) => {
                Fate::bad(format!("taken back: {what}"))
            }
            (fate, _) => fate,
        };
    }
    let bytes = read(&original.beside);
    if cubin::is_cut_off(&bytes) {
        return Fate::bad("what ptxas makes of the rewritten text is cut off");
    }
    let mut lost: Vec<Loss> = match (&original.cubin, parse(&original.beside, &bytes)) {
        (Some(before), Some(after)) => losses(before, &after),
        _ => Vec::new(),
    };
    lost.retain(|(name, _)| !is_measured(name));
    for Complaint { function, what } in said {
        match function {
            Some(name) if lost.iter().any(|(known, _)| *known == name) => {}
            Some(name) => lost.push((name, what)),
            None => return Fate::bad(format!("taken back: {what}")),
        }
    }
    for (name, what) in slower(&bytes, &lost) {
        if !is_measured(&name) && lost.iter().all(|(known, _)| *known != name) {
            lost.push((name, what));
        }
    }
    if lost.is_empty() {
        finished.stdout = agree(&original.finished.stdout, finished.stdout);
        finished.stderr = agree(&original.finished.stderr, finished.stderr);
        return Fate::Good(Box::new(finished), bytes);
    }
    lost.retain(|(name, _)| taken.iter().all(|(known, _)| known != name));
    Fate::Lost(lost)
}

fn parse(path: &Path, bytes: &[u8]) -> Option<Cubin> {
    let unreadable = |error: &String| log::info!("{}: no cubin: {error}", path.display());
    cubin::read(bytes).inspect_err(unreadable).ok()
}

/// The bytes of a call's output file; nothing if it is not an ordinary file, or not known.
pub(super) fn written(call: &Call<'_>) -> Vec<u8> {
    let known = call.line.output_place != OutputPlace::Unclear;
    let path = Path::new(output(call));
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if known && is_file { read(path) } else { Vec::new() }
}

/// The bytes of a file; nothing if it cannot be read or is too large.
fn read(path: &Path) -> Vec<u8> {
    let read = || {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(LARGEST_CUBIN + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    let mut bytes = read().unwrap_or_default();
    if bytes.len() as u64 > LARGEST_CUBIN {
        bytes.clear();
    }
    bytes
}

/// Puts a result where the user wants it, as ptxas does: into the existing file, or a new one. If that
/// fails, the call is to be made as it came.
fn deliver(call: &Call<'_>, finished: Finished, bytes: &[u8], unused: Option<String>) -> Checked {
    if !bytes.is_empty() {
        match std::fs::write(output(call), bytes) {
            Ok(()) => return Checked { finished: Some(finished), unused, ..Checked::default() },
            Err(error) => log::info!("{}: {error}", output(call).display()),
        }
    }
    Checked::unused(unused.unwrap_or_else(|| "the output file cannot be written".to_owned()))
}
