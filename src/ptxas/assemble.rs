//! One call with inputs to rewrite: examine, run, fall back.
//!
//! In: a [`CommandLine`] that is not to be handed over, and the rewriter as a function. Out: how the
//! real ptxas ended, its messages in the user's names and lines, and warnings about failures of
//! ptxasw. If the real ptxas refuses the call, its messages about the originals are shown, and no
//! warning. The machine code made of a rewritten text is looked at by [`crate::ptxas::check`].

use crate::ptxas::check::{self, Again};
use crate::ptxas::command_line::{CommandLine, Input, Kind};
use crate::ptxas::invoke::{Finished, Stream, Tool};
use crate::ptxas::messages::{Renamed, Shown, TEXT_NAME, translate};
use crate::ptxas::signals::{Folder, Watch};
use crate::source::comments::gap_length;
use crate::source::{Diagnostic, LineMap, SourceFile};
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
    /// Whether a kernel stays rewritten whatever it takes: it was measured to be faster so.
    fn is_measured(&self, kernel: &str) -> bool;
}

/// The rewriter, as this module sees it.
pub type Rewriter<'r, R> = dyn Fn(&SourceFile) -> Result<R, String> + 'r;

/// Inputs of more bytes are not examined: 64 MiB of kernels take about 15 seconds and 1 GiB.
pub const LARGEST_INPUT: u64 = 64 << 20;

/// One input after the rewriter has seen it.
#[derive(Debug)]
pub struct Examined<R> {
    /// Which input.
    pub input: Input,
    /// Its bytes, if they can be read only once (standard input).
    stdin: Option<Vec<u8>>,
    /// The text and the rewriter's result; `None` if the input is no PTX text.
    pub outcome: Option<(SourceFile, Result<R, String>)>,
}

impl<R: Replacement> Examined<R> {
    /// The input's bytes, if they can be read only once.
    pub(super) fn stdin(&self) -> Option<&[u8]> {
        self.stdin.as_deref()
    }

    /// The text and its rewriting, if the rewriting changes something.
    pub(super) fn changed(&self) -> Option<(&SourceFile, &R)> {
        match &self.outcome {
            Some((source, Ok(rewritten))) if rewritten.text() != source.text() => {
                Some((source, rewritten))
            }
            _ => None,
        }
    }
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
}

/// Reads the inputs and shows each to the rewriter. `stdin` reads standard input to its end; it is
/// called only if an input is there, and at most once.
pub fn examine<R>(
    line: &CommandLine,
    stdin: impl FnOnce() -> io::Result<Vec<u8>>,
    rewrite: &Rewriter<'_, R>,
) -> Vec<Examined<R>> {
    let mut stdin = Some(stdin);
    let examine_one = |input: &Input| {
        let value = line.value(input);
        let mut once = None;
        let bytes = match input.kind {
            Kind::Text => value.as_bytes().to_vec(),
            Kind::File => read_file(Path::new(value)),
            Kind::Stdin => {
                let bytes = stdin.take().and_then(|read| read().ok()).unwrap_or_default();
                once = Some(bytes.clone());
                bytes
            }
        };
        let name = match input.kind {
            Kind::Text => String::from_utf8_lossy(TEXT_NAME),
            Kind::File | Kind::Stdin => value.to_string_lossy(),
        };
        if bytes.len() as u64 > LARGEST_INPUT {
            log::info!("{name}: over {LARGEST_INPUT} bytes, so it is left as it is");
            return Examined { input: input.clone(), stdin: once, outcome: None };
        }
        let outcome = ptx_text(&name, bytes).map(|source| {
            let result = rewrite(&source);
            (source, result)
        });
        Examined { input: input.clone(), stdin: once, outcome }
    };
    line.inputs.iter().map(examine_one).collect()
}

/// The bytes of a regular file; nothing if it is none or cannot be read, which ptxas will say. A pipe
/// can be read only once and is left to ptxas. Of a file that is too large, one byte too many is read.
fn read_file(path: &Path) -> Vec<u8> {
    let read = || {
        let mut bytes = Vec::new();
        // (Opening a pipe would be noticed at its other end.)
        if std::fs::metadata(path)?.is_file() {
            let file = std::fs::File::open(path)?;
            file.take(LARGEST_INPUT + 1).read_to_end(&mut bytes)?;
        }
        io::Result::Ok(bytes)
    };
    read().unwrap_or_default()
}

/// The text, if it looks like PTX: it is UTF-8, and `.version` comes first (PTX ISA, "PTX Module
/// Directives"). Object files and values of unknown options do not.
fn ptx_text(name: &str, bytes: Vec<u8>) -> Option<SourceFile> {
    let source = SourceFile::from_bytes(name, bytes).ok()?;
    let first = gap_length(source.text().as_bytes());
    source.text()[first..].starts_with(".version").then_some(source)
}

/// Whether the real ptxas can take over the process: nothing is rewritten, no input has been consumed,
/// and nothing is left to say afterwards.
pub fn is_untouched<R: Replacement>(examined: &[Examined<R>]) -> bool {
    examined.iter().all(|one| {
        one.stdin.is_none() && one.changed().is_none() && !matches!(one.outcome, Some((_, Err(_))))
    })
}

/// Runs the real ptxas on the rewritten inputs and, if it refuses them or they cannot be handed to it,
/// on the originals. With `again` the result is checked, and kernels that lost by their rewrite are
/// rewritten no more; `examined` then says what was assembled. Warnings are appended to `warnings`.
///
/// # Errors
/// The real ptxas cannot be run at all.
pub fn assemble<R: Replacement>(
    call: Call<'_>,
    examined: &mut [Examined<R>],
    again: Option<&Again<'_, R>>,
    mut warnings: Vec<String>,
) -> io::Result<Assembled> {
    for one in &*examined {
        if let Some((_, Err(message))) = &one.outcome {
            warnings.push(format!("{message}; the original is assembled"));
        }
    }
    let mut unused = None;
    if examined.iter().any(|one| one.changed().is_some()) {
        let checked = match (&mut *examined, again) {
            ([one], Some(again)) if check::can_check(&call, one) => check::run(&call, one, again),
            _ => run_rewritten(&call, examined, &mut None).map(|finished| (finished, None)),
        };
        unused = Some("ptxas refuses the rewritten text".to_owned());
        match checked {
            Ok((finished, unused)) if finished.status.success() => {
                return Ok(Assembled { finished, warnings, unused });
            }
            Ok((finished, unused)) if finished.interrupted().is_some() => {
                return Ok(Assembled { finished, warnings: Vec::new(), unused });
            }
            Ok((finished, _)) => warnings.push(refusal(examined, &finished)),
            Err(error) => warnings.push(format!(
                "the rewritten input cannot be handed to ptxas ({error}); the original is assembled"
            )),
        }
    }
    let stdin = examined.iter().find_map(|one| one.stdin.as_deref());
    let Call { tool, arguments, watch, .. } = call;
    let finished = tool.run(arguments, stdin, Stream::Inherit, Stream::Inherit, watch)?;
    if !finished.status.success() {
        warnings.clear();
    }
    Ok(Assembled { finished, warnings, unused })
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

/// Runs the real ptxas on the rewritten inputs; its messages come back in the user's names and lines.
/// Files go into `folder`, which is made if a file is needed and the folder is not there yet.
pub(super) fn run_rewritten<'c, R: Replacement>(
    call: &Call<'c>,
    examined: &[Examined<R>],
    folder: &mut Option<Folder<'c>>,
) -> io::Result<Finished> {
    let Call { tool, line, watch, .. } = *call;
    let mut values: Vec<(&Input, OsString)> = Vec::new();
    let mut renamed: Vec<Renamed<'_>> = Vec::new();
    let mut stdin = examined.iter().find_map(|one| one.stdin.as_deref());
    let texts = line.inputs.iter().filter(|input| input.kind == Kind::Text).count();
    for (index, one) in examined.iter().enumerate() {
        let Some((_, rewritten)) = one.changed() else { continue };
        let lines = rewritten.lines();
        let user = line.value(&one.input);
        match one.input.kind {
            Kind::File => {
                let folder = match &mut *folder {
                    Some(folder) => folder,
                    none => none.insert(watch.folder()?),
                };
                let path = folder.write(&format!("{index}.ptx"), rewritten.text().as_bytes())?;
                let shown = Shown::Literal(path.as_os_str().as_bytes().to_vec());
                renamed.push(Renamed { shown, user: Some(user.as_bytes().to_vec()), lines });
                values.push((&one.input, path.into_os_string()));
            }
            Kind::Stdin => {
                stdin = Some(rewritten.text().as_bytes());
                let shown = match user.as_bytes() {
                    b"-" => Shown::StdinCopy,
                    name => Shown::Literal(name.to_vec()),
                };
                renamed.push(Renamed { shown, user: None, lines });
            }
            Kind::Text => {
                values.push((
                    &one.input,
                    OsString::from_vec(rewritten.text().to_owned().into_bytes()),
                ));
                // If there are several texts, ptxas does not say which one it means.
                if texts == 1 {
                    let shown = Shown::Literal(TEXT_NAME.to_vec());
                    renamed.push(Renamed { shown, user: None, lines });
                }
            }
        }
    }
    let words = line.with_values(values.iter().map(|(input, value)| (*input, value.as_os_str())));
    let stdout =
        if writes_to_stdout(line.output.as_deref()) { Stream::Inherit } else { Stream::Capture };
    let mut finished = tool.run(&words, stdin, stdout, Stream::Capture, watch)?;
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
