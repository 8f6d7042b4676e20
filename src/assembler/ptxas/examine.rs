//! The inputs of a call, and the rewriter's result for each.
//!
//! In: a [`CommandLine`] and the rewriter as a function. Out: for each input its text and the rewriter's result. An
//! input that is not PTX text, or is too large, has none. Of standard input no more is read than that takes.

use crate::ptxas::command_line::{CommandLine, Input, Kind};
use crate::ptxas::invoke::Stdin;
use crate::ptxas::messages::TEXT_NAME;
pub use crate::source::Replacement;
use crate::source::SourceFile;
use crate::source::comments::gap_length;
use rustix::fs::{FileType, SeekFrom, fstat, seek, tell};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The rewriter, as this module sees it.
pub type Rewriter<'r, R> = dyn Fn(&SourceFile) -> Result<R, String> + 'r;

/// Inputs of more bytes are not examined: 64 MiB of kernels take about 15 seconds and 1 GiB.
pub const LARGEST_INPUT: u64 = 64 << 20;

/// How much of standard input is read before it is looked at the first time.
const FIRST_LOOK: u64 = 64 << 10;

/// One input after the rewriter has seen it.
#[derive(Debug)]
pub struct Examined<R> {
    /// Which input.
    pub input: Input,
    /// The bytes read from standard input, which can be read only once.
    pub(super) stdin: Option<Once>,
    /// The text and the rewriter's result; `None` if the input is not PTX text.
    pub outcome: Option<(SourceFile, Result<R, String>)>,
    /// The bytes behind the end of the text, which are handed over with the rewritten one.
    tail: Vec<u8>,
}

/// Bytes from standard input.
#[derive(Clone, Debug)]
pub(super) struct Once {
    pub(super) bytes: Vec<u8>,
    /// Whether that is all of it.
    pub(super) whole: bool,
    /// Where it began, if it is a file, which can be read again.
    began: Option<u64>,
}

impl<R: Replacement> Examined<R> {
    /// The text and its rewriting, if the rewriting changes something.
    pub fn changed(&self) -> Option<(&SourceFile, &R)> {
        match &self.outcome {
            Some((source, Ok(rewritten))) if rewritten.text() != source.text() => {
                Some((source, rewritten))
            }
            _ => None,
        }
    }

    /// The same input with another result.
    #[must_use]
    pub fn with(&self, rewritten: R) -> Examined<R> {
        let same = |(source, _): &(SourceFile, _)| {
            (SourceFile::new(source.name(), source.text()), Ok(rewritten))
        };
        Examined {
            input: self.input.clone(),
            stdin: self.stdin.clone(),
            outcome: self.outcome.as_ref().map(same),
            tail: self.tail.clone(),
        }
    }

    /// The bytes for ptxas in the place of the input, if they are not the original.
    pub(super) fn new_bytes(&self) -> Option<Vec<u8>> {
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

pub(super) fn read_once<R>(examined: &[Examined<R>]) -> Option<&Once> {
    examined.iter().find_map(|one| one.stdin.as_ref())
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
/// whether that is all of it. It must not wait for the rest of an input that ptxas refuses at once.
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

/// The first directive of PTX (PTX ISA, "PTX Module Directives").
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

/// Whether the output file is the process's own standard output, which then must not be captured.
pub(super) fn writes_to_stdout(output: Option<&OsStr>) -> bool {
    output.is_some_and(|path| {
        ["/dev/", "/proc/"].iter().any(|root| path.as_bytes().starts_with(root.as_bytes()))
            && path != "/dev/null"
    })
}
