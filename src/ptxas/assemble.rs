//! One call with inputs to rewrite: examine, run, fall back.
//!
//! In: a [`CommandLine`] that is not to be handed over, and the rewriter as a function. Out: how the
//! real ptxas ended, its messages in the user's names and lines, and warnings about failures of
//! ptxasw. If the real ptxas refuses the call, its messages about the originals are shown, and no
//! warning. The machine code made of a rewritten text is looked at by [`crate::ptxas::check`].

use crate::ptxas::check::{self, Checked, Cubins, Judges};
use crate::ptxas::command_line::{CommandLine, Input, Kind, text_to_file};
use crate::ptxas::invoke::{Finished, Run, Stdin, Stream, Tool, in_memory};
use crate::ptxas::leash::Leash;
use crate::ptxas::messages::{Renamed, Shown, TEXT_NAME, translate};
use crate::ptxas::signals::{Folder, Watch};
use crate::source::comments::gap_length;
use crate::source::{Diagnostic, LineMap, SourceFile};
use rustix::fs::{FileType, SeekFrom, fstat, seek, tell};
use rustix::stdio::dup2_stdin;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The result of a rewriter, as this module sees it.
pub trait Replacement {
    /// The new text; the old one if nothing is to change.
    fn text(&self) -> &str;
    /// Which line of the old text each line of the new one came from.
    fn lines(&self) -> &LineMap;
    /// Whether a function of this name was looked at.
    fn knows(&self, function: &str) -> bool;
    /// Whether a kernel stays rewritten whatever it takes: it was measured to be faster so.
    fn is_measured(&self, kernel: &str) -> bool;
}

/// The rewriter, as this module sees it.
pub type Rewriter<'r, R> = dyn Fn(&SourceFile) -> Result<R, String> + 'r;

/// Inputs of more bytes are not examined: 64 MiB of kernels take about 15 seconds and 1 GiB.
pub const LARGEST_INPUT: u64 = 64 << 20;

/// How much of standard input is read before it is looked at the first time.
const FIRST_LOOK: u64 = 64 << 10;

/// A longer text is handed over in a file: Linux takes no argument of more than 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

/// One input after the rewriter has seen it.
#[derive(Debug)]
pub struct Examined<R> {
    /// Which input.
    pub input: Input,
    /// What was read of standard input, which can be read only once.
    stdin: Option<Once>,
    /// The text and the rewriter's result; `None` if the input is not PTX text.
    pub outcome: Option<(SourceFile, Result<R, String>)>,
    /// The bytes behind the end of the text, which are handed over with the rewritten one.
    tail: Vec<u8>,
}

/// Bytes from standard input.
#[derive(Debug)]
struct Once {
    bytes: Vec<u8>,
    /// Whether that is all of it.
    whole: bool,
    /// Where it began, if it is a file, which can be read again.
    began: Option<u64>,
}

impl<R: Replacement> Examined<R> {
    /// The text and its rewriting, if the rewriting changes something.
    pub(super) fn changed(&self) -> Option<(&SourceFile, &R)> {
        match &self.outcome {
            Some((source, Ok(rewritten))) if rewritten.text() != source.text() => {
                Some((source, rewritten))
            }
            _ => None,
        }
    }

    /// What ptxas is to get in the place of the input, if that is not the original.
    fn new_bytes(&self) -> Option<Vec<u8>> {
        self.changed().map(|(_, rewritten)| [rewritten.text().as_bytes(), &self.tail].concat())
    }
}

/// The standard input of a run on the originals. Where it is a file, that is wound back, so only one
/// run at a time may have it.
pub(super) fn stdin<R>(examined: &[Examined<R>]) -> Stdin<'_> {
    let Some(once) = read_once(examined) else { return Stdin::Inherit };
    let wind_back = |at| seek(io::stdin(), SeekFrom::Start(at)).is_ok();
    match once.whole {
        _ if once.began.is_some_and(wind_back) => Stdin::Inherit,
        true => Stdin::Bytes(&once.bytes),
        false => Stdin::Begun(&once.bytes),
    }
}

/// Whether there is more of standard input than was read.
pub(super) fn is_too_long<R>(examined: &[Examined<R>]) -> bool {
    read_once(examined).is_some_and(|once| !once.whole)
}

fn read_once<R>(examined: &[Examined<R>]) -> Option<&Once> {
    examined.iter().find_map(|one| one.stdin.as_ref())
}

/// How a call ended.
#[derive(Debug)]
pub struct Assembled {
    /// How the last run of the real ptxas ended.
    pub finished: Finished,
    /// One line each; empty if the real ptxas refused the call.
    pub warnings: Vec<String>,
    /// Why the output was made from the originals, if the examined inputs do not say so.
    pub unused: Option<String>,
    /// What was made of the texts, as far as that is known.
    pub cubins: Cubins,
}

/// A call and everything that running it needs.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    /// The real ptxas.
    pub tool: &'c Tool,
    /// The arguments as they came.
    pub arguments: &'c [OsString],
    /// The same arguments, understood.
    pub line: &'c CommandLine,
    /// Ends ptxas and removes temporary files when the call is interrupted.
    pub watch: &'c Watch,
    /// Whether what ptxas makes of the texts is to be looked at, whichever they are.
    pub reports: bool,
}

/// Why the inputs of a call are not to be looked at, if they are not: one can be read only once, or is
/// named by a descriptor of this process, which another one for ptxas may be (`/dev/stdout`); it is ptxas
/// that has to read it. No input is opened for this.
pub fn only_for_ptxas(line: &CommandLine) -> Option<&'static str> {
    let is_passing = |input: &Input| {
        let name = line.value(input);
        let is_descriptor = writes_to_stdout(Some(name));
        let is_no_file = || std::fs::metadata(name).is_ok_and(|there| !there.is_file());
        input.kind == Kind::File && (is_descriptor || is_no_file())
    };
    line.inputs.iter().any(is_passing).then_some("an input is not a file and can be read only once")
}

/// Reads the inputs and shows each to the rewriter. `stdin` is read only if an input is there.
pub fn examine<R>(
    line: &CommandLine,
    mut stdin: impl Read,
    rewrite: &Rewriter<'_, R>,
) -> Vec<Examined<R>> {
    let mut examine_one = |input: &Input| {
        let value = line.value(input);
        let mut once = None;
        let bytes = match input.kind {
            Kind::Text => value.as_bytes().to_vec(),
            Kind::File => read_file(Path::new(value)),
            Kind::Stdin => {
                let began = position();
                let (bytes, whole) = read_while_ptx(&mut stdin);
                once = Some(Once { bytes: bytes.clone(), whole, began });
                if whole { bytes } else { Vec::new() }
            }
        };
        let name = match input.kind {
            Kind::Text => String::from_utf8_lossy(TEXT_NAME),
            Kind::File | Kind::Stdin => value.to_string_lossy(),
        };
        let mut examined =
            Examined { input: input.clone(), stdin: once, outcome: None, tail: Vec::new() };
        if bytes.len() as u64 > LARGEST_INPUT {
            log::info!("{name}: over {LARGEST_INPUT} bytes, so it is left as it is");
            return examined;
        }
        let mut text = bytes;
        examined.tail = text.split_off(text_length(&text));
        examined.outcome = ptx_text(&name, text).map(|source| {
            let result = rewrite(&source);
            (source, result)
        });
        examined
    };
    line.inputs.iter().map(&mut examine_one).collect()
}

/// How many bytes of an input are text. ptxas reads up to a NUL, with which texts of NVRTC end, and
/// overlooks a Ctrl-Z at the end.
fn text_length(bytes: &[u8]) -> usize {
    let end = memchr::memchr(0, bytes).unwrap_or(bytes.len());
    let is_text = |byte: &u8| !byte.is_ascii_whitespace() && *byte != CTRL_Z;
    let last = bytes[..end].iter().rposition(is_text).map_or(0, |at| at + 1);
    memchr::memchr(CTRL_Z, &bytes[last..end]).map_or(end, |at| last + at)
}

/// The end of a file under DOS.
const CTRL_Z: u8 = 0x1a;

/// Where standard input stands, if it is a file.
fn position() -> Option<u64> {
    let kind = FileType::from_raw_mode(fstat(io::stdin()).ok()?.st_mode);
    if kind == FileType::RegularFile { tell(io::stdin()).ok() } else { None }
}

/// Reads standard input as long as it may be a PTX text that is not too large; the second result says
/// whether that is all of it. What ptxas refuses at once must not be waited for.
fn read_while_ptx(stdin: &mut impl Read) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut goal = FIRST_LOOK;
    loop {
        let wanted = goal - bytes.len() as u64;
        let ended = match stdin.by_ref().take(wanted).read_to_end(&mut bytes) {
            Ok(count) => (count as u64) < wanted,
            Err(error) => {
                log::debug!("standard input ends early: {error}");
                true
            }
        };
        if ended {
            return (bytes, true);
        }
        if bytes.len() as u64 > LARGEST_INPUT || !may_be_ptx(&bytes) {
            return (bytes, false);
        }
        goal = (goal * 2).min(LARGEST_INPUT + 1);
    }
}

/// Whether a text that begins so may be PTX.
fn may_be_ptx(bytes: &[u8]) -> bool {
    let rest = &bytes[gap_length(bytes)..];
    rest.starts_with(VERSION) || VERSION.starts_with(rest)
}

/// What comes first in PTX (PTX ISA, "PTX Module Directives").
const VERSION: &[u8] = b".version";

/// The bytes of a file; nothing if it cannot be read, which ptxas will say. Of a file that is too large,
/// one byte too many is read.
fn read_file(path: &Path) -> Vec<u8> {
    let read = || {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path)?;
        file.take(LARGEST_INPUT + 1).read_to_end(&mut bytes)?;
        io::Result::Ok(bytes)
    };
    read().unwrap_or_default()
}

/// The text, if it looks like PTX: it is UTF-8, and `.version` comes first. Object files and values of
/// unknown options do not.
fn ptx_text(name: &str, bytes: Vec<u8>) -> Option<SourceFile> {
    let source = SourceFile::from_bytes(name, bytes).ok()?;
    let first = gap_length(source.text().as_bytes());
    source.text().as_bytes()[first..].starts_with(VERSION).then_some(source)
}

/// Whether the real ptxas can take over the process: nothing is rewritten, no input has been consumed,
/// and nothing is left to say afterwards.
pub fn is_untouched<R: Replacement>(examined: &[Examined<R>]) -> bool {
    let is_same =
        |one: &Examined<R>| one.changed().is_none() && !matches!(one.outcome, Some((_, Err(_))));
    examined.iter().all(|one| one.stdin.is_none()) && examined.iter().all(is_same)
}

/// Makes standard input what it was before it was read, so that the real ptxas can take over the process.
///
/// # Errors
/// There is more of it than was read, or no room.
pub fn unread<R>(examined: &[Examined<R>]) -> io::Result<()> {
    match stdin(examined) {
        Stdin::Inherit => Ok(()),
        Stdin::Bytes(bytes) => Ok(dup2_stdin(in_memory(bytes)?)?),
        Stdin::Begun(_) => Err(io::ErrorKind::FileTooLarge.into()),
    }
}

/// Runs the real ptxas on the rewritten inputs and, if it refuses them or they cannot be handed to it,
/// on the originals. With `judges` the result is checked, and kernels that lost by their rewrite are
/// rewritten no more; `examined` then says what was assembled. Warnings are appended to `warnings`.
///
/// # Errors
/// The real ptxas cannot be run at all.
pub fn assemble<R: Replacement>(
    call: Call<'_>,
    examined: &mut [Examined<R>],
    judges: Option<Judges<'_, R>>,
    mut warnings: Vec<String>,
) -> io::Result<Assembled> {
    for one in &*examined {
        if let Some((_, Err(message))) = &one.outcome {
            warnings.push(format!("{message}; the original is assembled"));
        }
    }
    let mut unused = None;
    if examined.iter().any(|one| one.changed().is_some()) {
        // (GCC's assembler writes no machine code that could be compared.)
        let checked = match judges.filter(|_| !call.line.foreign_lines) {
            Some(judges) => check::run(&call, examined, judges),
            None => run_rewritten(&call, examined, &mut None, How::default()).map(Checked::alone),
        };
        match checked {
            Ok(Checked { finished, unused: reason, refused, mut cubins }) => {
                warnings.extend(refused.map(|refused| refusal(examined, &refused)));
                unused = reason;
                if let Some(finished) = finished {
                    if !finished.status.success() {
                        warnings.clear();
                    } else if cubins.original.is_empty() && call.reports {
                        cubins.rewritten = check::written(&call);
                    }
                    return Ok(Assembled { finished, warnings, unused, cubins });
                }
            }
            Err(error) => warnings.push(format!(
                "the rewritten input cannot be handed to ptxas ({error}); the original is assembled"
            )),
        }
        unused.get_or_insert_with(|| "the original is assembled".to_owned());
    }
    let Call { tool, arguments, watch, .. } = call;
    let run = Run::new(arguments, Stream::Inherit, Stream::Inherit);
    let run = Run { stdin: stdin(examined), ..run };
    let finished = tool.run(run, watch)?;
    let mut cubins = Cubins::default();
    if !finished.status.success() {
        warnings.clear();
    } else if call.reports {
        cubins.original = check::written(&call);
    }
    Ok(Assembled { finished, warnings, unused, cubins })
}

/// The warning about rewritten inputs that the real ptxas refused, with its first message.
fn refusal<R: Replacement>(examined: &[Examined<R>], finished: &Finished) -> String {
    let names: Vec<&str> =
        examined.iter().filter_map(|one| one.changed()).map(|(source, _)| source.name()).collect();
    let said = String::from_utf8_lossy(&finished.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).map(str::trim);
    let how = first.map_or_else(|| finished.status.to_string(), str::to_owned);
    format!(
        "{}: ptxas refuses the rewritten text ({how}); the original is assembled",
        names.join(", ")
    )
}

/// How the rewritten inputs are to be assembled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct How<'h> {
    /// The output file, if not the user's.
    pub(super) output: Option<&'h OsStr>,
    /// What bounds the work.
    pub(super) leash: Option<&'h Leash>,
}

/// Runs the real ptxas on the rewritten inputs; its messages come back in the user's names and lines.
/// Files go into `folder`, which is made if a file is needed and the folder is not there yet.
pub(super) fn run_rewritten<'c, R: Replacement>(
    call: &Call<'c>,
    examined: &[Examined<R>],
    folder: &mut Option<Folder<'c>>,
    how: How<'_>,
) -> io::Result<Finished> {
    let Call { tool, line, watch, .. } = *call;
    let mut values: Vec<(&Input, OsString)> = Vec::new();
    let mut to_files: Vec<&Input> = Vec::new();
    let mut renamed: Vec<Renamed<'_>> = Vec::new();
    let mut into_folder = |name: String, bytes: &[u8]| {
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(watch.folder()?),
        };
        folder.write(&name, bytes)
    };
    let from_stdin = examined.iter().find(|one| one.stdin.is_some());
    let new_bytes = from_stdin.and_then(Examined::new_bytes);
    // (A run on the originals may go on at the same time, and have standard input itself.)
    let stdin = match (&new_bytes, read_once(examined)) {
        (Some(bytes), _) => Stdin::Bytes(bytes),
        (None, Some(once)) if once.whole => Stdin::Bytes(&once.bytes),
        _ => stdin(examined),
    };
    let texts = line.inputs.iter().filter(|input| input.kind == Kind::Text).count();
    for (index, one) in examined.iter().enumerate() {
        let Some(((_, rewritten), bytes)) = one.changed().zip(one.new_bytes()) else { continue };
        let lines = rewritten.lines();
        let user = line.value(&one.input);
        match one.input.kind {
            Kind::File => {
                let path = into_folder(format!("{index}.ptx"), &bytes)?;
                let shown = Shown::Literal(path.as_os_str().as_bytes().to_vec());
                renamed.push(Renamed { shown, user: Some(user.as_bytes().to_vec()), lines });
                values.push((&one.input, path.into_os_string()));
            }
            Kind::Stdin => {
                let shown = match user.as_bytes() {
                    b"-" => Shown::StdinCopy,
                    name => Shown::Literal(name.to_vec()),
                };
                renamed.push(Renamed { shown, user: None, lines });
            }
            Kind::Text if bytes.len() > LONGEST_ARGUMENT => {
                let path = into_folder(format!("{index}.ptx"), &bytes)?;
                let shown = Shown::Literal(path.as_os_str().as_bytes().to_vec());
                renamed.push(Renamed { shown, user: Some(TEXT_NAME.to_vec()), lines });
                values.push((&one.input, path.into_os_string()));
                to_files.push(&one.input);
            }
            Kind::Text => {
                values.push((&one.input, OsString::from_vec(bytes)));
                // If there are several texts, ptxas does not say which one it means.
                if texts == 1 {
                    let shown = Shown::Literal(TEXT_NAME.to_vec());
                    renamed.push(Renamed { shown, user: None, lines });
                }
            }
        }
    }
    let values = values.iter().map(|(input, value)| (*input, value.as_os_str()));
    let mut words = line.with_values(values);
    if let Some(output) = how.output {
        let unclear = || io::Error::other("it is not clear where the output goes");
        words = line.exchange_output(words, output).ok_or_else(unclear)?;
    }
    to_files.iter().rev().for_each(|input| text_to_file(&mut words, input));
    let output = how.output.or(line.output.as_deref());
    let stdout = if writes_to_stdout(output) { Stream::Inherit } else { Stream::Capture };
    let stderr = Stream::Capture;
    let temporary = how.output.and_then(|output| Path::new(output).parent());
    let run = Run { arguments: &words, stdin, stdout, stderr, leash: how.leash, temporary };
    let mut finished = tool.run(run, watch)?;
    let only = match examined {
        [one] if !line.foreign_lines => one.changed().map(|(_, rewritten)| rewritten.lines()),
        _ => None,
    };
    finished.stdout = translate(&finished.stdout, &renamed, only);
    finished.stderr = translate(&finished.stderr, &renamed, only);
    Ok(finished)
}

/// Whether the output file is our own standard output, which then must not be captured.
pub(super) fn writes_to_stdout(output: Option<&OsStr>) -> bool {
    output.is_some_and(|path| {
        ["/dev/", "/proc/"].iter().any(|root| path.as_bytes().starts_with(root.as_bytes()))
            && path != "/dev/null"
    })
}

/// A diagnostic as one line, for a warning.
pub fn one_line(diagnostic: &Diagnostic) -> String {
    match diagnostic.position {
        Some(place) => {
            format!("{}:{}:{}: {}", diagnostic.file, place.line, place.column, diagnostic.message)
        }
        None => format!("{}: {}", diagnostic.file, diagnostic.message),
    }
}
