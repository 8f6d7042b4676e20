//! The check after assembling: a kernel whose rewrite made it worse is assembled as it was.
//!
//! In: a call with one input that the rewriter changed, and the rewriter's function that takes kernels
//! out again. The rewritten text and the original are assembled at the same time, the first into the
//! user's output file, the second into a temporary folder. Where a kernel of the first is worse by
//! [`losses`], the text without its rewrite is assembled and looked at again, three times at
//! most. Where nothing of the rewrite is left, or something is worse even so, the original's result
//! becomes the user's, with its messages. A kernel that a profile has decided for stays as it is: it was
//! measured to be faster. Out: how the run ended whose result is in the output file.
//!
//! A result that cannot be read or compared counts as good: the check can take a rewrite back, and
//! fails no call.

use crate::ptxas::assemble::{Call, Examined, Replacement, run_rewritten, writes_to_stdout};
use crate::ptxas::command_line::OutputPlace;
use crate::ptxas::cubin::{self, Cubin};
use crate::ptxas::invoke::{Finished, Stream};
use crate::ptxas::losses::{Loss, losses};
use crate::ptxas::signals::Folder;
use crate::source::SourceFile;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Rewrites a text once more, without the kernels named. The arguments are the text, its rewriting so
/// far, and the kernels with what each lost.
pub type Again<'r, R> = dyn Fn(&SourceFile, &R, &[Loss]) -> Result<R, String> + 'r;

/// How often a text is assembled again after kernels were taken out. The registers and stack of a
/// kernel depend on its own text and on the functions that it calls, so the first time is nearly
/// always the last.
const MOST_ROUNDS: usize = 3;

/// Larger cubins are not read.
const LARGEST_CUBIN: u64 = 256 << 20;

/// The output file of ptxas if the call names none.
const DEFAULT_OUTPUT: &str = "elf.o";

/// Whether the output of the call is one cubin made of this input alone, in a file of its own.
pub fn can_check<R>(call: &Call<'_>, one: &Examined<R>) -> bool {
    let line = call.line;
    let output = output(call);
    if line.output_place == OutputPlace::Unclear || writes_to_stdout(Some(output)) {
        return false;
    }
    match std::fs::metadata(output) {
        // The original is read while the output is being written.
        Ok(there) => {
            let is_input =
                |file: std::fs::Metadata| (file.dev(), file.ino()) == (there.dev(), there.ino());
            there.is_file() && !std::fs::metadata(line.value(&one.input)).is_ok_and(is_input)
        }
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn output<'c>(call: &Call<'c>) -> &'c OsStr {
    call.line.output.as_deref().unwrap_or(OsStr::new(DEFAULT_OUTPUT))
}

/// Assembles and checks. The second result says why the output was made from the original although
/// `one` has a rewritten text.
///
/// # Errors
/// The rewritten text cannot be handed to ptxas.
pub fn run<R: Replacement>(
    call: &Call<'_>,
    one: &mut Examined<R>,
    again: &Again<'_, R>,
) -> io::Result<(Finished, Option<String>)> {
    let mut folder = Some(call.watch.folder()?);
    let (mut finished, original) = run_both(call, one, &mut folder)?;
    let Some(original) = original else { return Ok((finished, None)) };
    if call.watch.was_interrupted() && original.finished.interrupted().is_some() {
        return Ok((original.finished, None));
    }
    if let Some(signal) = finished.interrupted()
        && !call.watch.was_interrupted()
        && original.finished.status.success()
    {
        // ptxas may have run out of memory, say, of which the original needs less.
        let unused = format!("ptxas was ended by signal {signal} on the rewritten text");
        return Ok((deliver(call, one, original)?, Some(unused)));
    }
    let mut taken: Vec<Loss> = Vec::new();
    for round in 0..=MOST_ROUNDS {
        if !finished.status.success() {
            return Ok((finished, None));
        }
        let is_measured =
            |name: &str| one.changed().is_some_and(|(_, rewritten)| rewritten.is_measured(name));
        let mut lost = lost(&original, Path::new(output(call)));
        lost.retain(|(name, _)| !is_measured(name));
        if lost.is_empty() {
            return Ok((finished, None));
        }
        let is_new = |(name, _): &Loss| taken.iter().all(|(known, _)| known != name);
        let new: Vec<Loss> = lost.into_iter().filter(is_new).collect();
        if new.is_empty() || round == MOST_ROUNDS {
            break;
        }
        taken.extend(new);
        let Some((source, Ok(rewritten))) = &one.outcome else { break };
        match again(source, rewritten, &taken) {
            // The kernel's own text is not rewritten any more: a function that it calls made it lose.
            Ok(less) if less.text() == rewritten.text() => break,
            Ok(less) => one.outcome = one.outcome.take().map(|(source, _)| (source, Ok(less))),
            Err(message) => {
                log::info!("{message}");
                break;
            }
        }
        if one.changed().is_none() {
            break;
        }
        finished = run_rewritten(call, std::slice::from_ref(one), &mut folder)?;
    }
    let unused = one.changed().is_some().then(|| {
        let each = taken.iter().map(|(name, what)| format!("{name}: {what}"));
        format!("taken back: {}", each.collect::<Vec<_>>().join("; "))
    });
    Ok((deliver(call, one, original)?, unused))
}

/// The outcome of assembling the original.
struct Original {
    finished: Finished,
    /// The bytes of its output file.
    bytes: Vec<u8>,
    /// Its kernels; `None` if the file cannot be read as a cubin.
    cubin: Option<Cubin>,
}

/// Assembles both texts at the same time; the original only if that is possible.
fn run_both<'c, R: Replacement>(
    call: &Call<'c>,
    one: &Examined<R>,
    folder: &mut Option<Folder<'c>>,
) -> io::Result<(Finished, Option<Original>)> {
    let place = folder.as_ref().map(|folder| folder.place("original.cubin")).transpose()?;
    let words = place.as_ref().and_then(|place| call.line.with_output(place.as_os_str()));
    let Call { tool, watch, .. } = *call;
    let stdin = one.stdin();
    std::thread::scope(|scope| {
        let start = |words: Vec<OsString>| {
            let work = move || tool.run(&words, stdin, Stream::Capture, Stream::Capture, watch);
            std::thread::Builder::new().spawn_scoped(scope, work).ok()
        };
        let original = words.and_then(start);
        let finished = run_rewritten(call, std::slice::from_ref(one), folder);
        let original = original.and_then(|thread| thread.join().ok()).and_then(Result::ok);
        let original = original.zip(place).map(|(finished, place)| {
            let bytes = if finished.status.success() { read(&place) } else { Vec::new() };
            let cubin = parse(&place, &bytes);
            Original { finished, bytes, cubin }
        });
        Ok((finished?, original))
    })
}

/// The losses of the kernels in a file, compared with the original.
fn lost(original: &Original, output: &Path) -> Vec<Loss> {
    match (&original.cubin, parse(output, &read(output))) {
        (Some(before), Some(after)) => losses(before, &after),
        _ => Vec::new(),
    }
}

fn parse(path: &Path, bytes: &[u8]) -> Option<Cubin> {
    let unreadable = |error: &String| log::info!("{}: no cubin: {error}", path.display());
    cubin::read(bytes).inspect_err(unreadable).ok()
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

/// Puts the original's result where the user wants it, as ptxas does: into the existing file, or a new
/// one. If that fails, ptxas is called as the user called it.
fn deliver<R: Replacement>(
    call: &Call<'_>,
    one: &Examined<R>,
    original: Original,
) -> io::Result<Finished> {
    if !original.bytes.is_empty() {
        match std::fs::write(output(call), &original.bytes) {
            Ok(()) => return Ok(original.finished),
            Err(error) => log::info!("{}: {error}", output(call).display()),
        }
    }
    let Call { tool, arguments, watch, .. } = *call;
    tool.run(arguments, one.stdin(), Stream::Inherit, Stream::Inherit, watch)
}
