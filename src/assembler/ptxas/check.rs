//! The check after assembling: a kernel whose rewrite made it worse is assembled as it was.
//!
//! In: a call with inputs that the rewriter changed, and the functions of the rewriter that judge and change them
//! ([`Judges`]). The rewritten texts and the originals are assembled at the same time, both into a temporary
//! folder; the chosen result is then put into the user's output file, which is not written before.
//! Where a kernel is worse by its resources ([`losses`](crate::ptxas::losses)), takes more cycles by its machine code
//! ([`Judges::slower`]), or ptxas has more [`complaints`](crate::ptxas::complaints), the text with a part of its changes
//! (`parts`) or without any is assembled and looked at again, three times at most. Where nothing of the rewrite is left, something
//! is worse even so, or assembling the rewritten text takes too much ([`Leash`]), the original's result
//! becomes the user's, with its messages: it is there, whatever the other run does. A kernel that a
//! profile has decided for may take more: it was measured to be faster. Out: how the run ended
//! whose result is in the output file.
//!
//! Results that cannot be read or compared count as good, but for one that is cut off. Where the original
//! is refused or does not come to its end, nothing of this counts: the call is made as it came.

use crate::ptxas::command_line::OutputPlace;
use crate::ptxas::examine::{Examined, Replacement, is_too_long, stdin, writes_to_stdout};
use crate::ptxas::fate::{Fate, Original, fate, parse, read};
use crate::ptxas::invoke::{Finished, Run, Stream};
use crate::ptxas::judges::Judges;
use crate::ptxas::leash::Leash;
use crate::ptxas::losses::Loss;
use crate::ptxas::parts::keep_parts;
use crate::ptxas::rewritten::{Call, How, run_rewritten};
use crate::ptxas::signals::Folder;
use crate::ptxas::temporary::Temporary;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

/// How often a text is assembled again after kernels were taken out. The registers and stack of a
/// kernel depend on its own text and on the functions that it calls, so the first time is nearly
/// always the last.
const MOST_ROUNDS: usize = 3;

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
pub fn run<R: Replacement + Sync>(
    call: &Call<'_>,
    examined: &mut [Examined<R>],
    judges: &dyn Judges<R>,
) -> io::Result<Checked> {
    if call.line.output_place == OutputPlace::Unclear || writes_to_stdout(Some(output(call))) {
        return Ok(Checked::unused("the output cannot be looked at before it is used"));
    }
    let folder = call.watch.folder()?;
    let leash = Leash::default();
    let beside = folder.place("rewritten.cubin")?;
    let (original, mut finished) = run_both(call, examined, (&folder, &beside), &leash)?;
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
        let slower =
            |bytes: &[u8], lost: &[Loss]| slower(examined, judges, [&original.bytes, bytes], lost);
        let ended = (finished, beside.as_path());
        let new = match fate(&original, ended, &taken, is_measured, slower) {
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
        let mut parts = Vec::new();
        if round == 0 {
            let beside = (&original, &folder, &leash);
            parts = keep_parts(call, examined, judges, beside, &new);
        }
        taken.extend(new.into_iter().filter(|(name, _)| !parts.contains(name)));
        let is_less = take_out(examined, judges, &taken) || !parts.is_empty();
        if !is_less || examined.iter().all(|one| one.changed().is_none()) {
            break;
        }
        let how = How { output: Some(beside.as_os_str()), leash: Some(&leash) };
        finished =
            run_rewritten(call, examined, &mut |name, bytes| folder.write(name, bytes), how)?;
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
    judges: &dyn Judges<R>,
    cubins: [&[u8]; 2],
    lost: &[Loss],
) -> Vec<Loss> {
    let changed = examined.iter().filter_map(|one| one.changed());
    changed.flat_map(|(source, rewritten)| judges.slower(source, rewritten, cubins, lost)).collect()
}

fn is_measured<R: Replacement>(examined: &[Examined<R>], kernel: &str) -> bool {
    let mut changed = examined.iter().filter_map(|one| one.changed());
    changed.any(|(_, rewritten)| rewritten.is_measured(kernel))
}

/// Rewrites the texts again without the kernels that lost; returns whether that changed any text.
fn take_out<R: Replacement>(
    examined: &mut [Examined<R>],
    judges: &dyn Judges<R>,
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
        let less = judges.without(source, rewritten, &here);
        // Where the function's own text is not rewritten any more, one that it calls made it lose.
        if less.text() != rewritten.text() {
            any = true;
            one.outcome = one.outcome.take().map(|(source, _)| (source, Ok(less)));
        }
    }
    any
}

/// Assembles both at the same time.
fn run_both<R: Replacement>(
    call: &Call<'_>,
    examined: &[Examined<R>],
    (folder, beside): (&Folder<'_>, &Path),
    leash: &Leash,
) -> io::Result<(Option<Original>, Finished)> {
    let of_original = folder.place("original.cubin")?;
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
        let finished =
            run_rewritten(call, examined, &mut |name, bytes| folder.write(name, bytes), how);
        let original = original.and_then(|thread| thread.join().ok()).and_then(Result::ok);
        let original = original.map(|finished| {
            let bytes = if finished.status.success() { read(of_original) } else { Vec::new() };
            let cubin = parse(of_original, &bytes);
            Original { finished, bytes, cubin }
        });
        Ok((original, finished?))
    })
}

/// The bytes of a call's output file; nothing if it is not an ordinary file, or not known.
pub(super) fn written(call: &Call<'_>) -> Vec<u8> {
    let known = call.line.output_place != OutputPlace::Unclear;
    let path = Path::new(output(call));
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if known && is_file { read(path) } else { Vec::new() }
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
