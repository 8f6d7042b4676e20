//! A run of the real ptxas on rewritten inputs, whose messages come back in the user's names and lines.

use crate::ptxas::command_line::{CommandLine, Input, Kind, text_to_file};
use crate::ptxas::examine::{Examined, Replacement, read_once, stdin, writes_to_stdout};
use crate::ptxas::invoke::{Finished, Run, Stdin, Stream, Tool};
use crate::ptxas::leash::Leash;
use crate::ptxas::messages::{Renamed, Shown, TEXT_NAME, translate};
use crate::ptxas::signals::Watch;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A longer text is handed over in a file: Linux takes no argument of more than 128 KiB.
const LONGEST_ARGUMENT: usize = 100 << 10;

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
    /// Whether ptxas's results for the texts are to be examined, whichever texts they are.
    pub reports: bool,
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
/// `write` writes a file for ptxas, and tells its path.
pub(super) fn run_rewritten<R: Replacement>(
    call: &Call<'_>,
    examined: &[Examined<R>],
    write: &mut dyn FnMut(&str, &[u8]) -> io::Result<PathBuf>,
    how: How<'_>,
) -> io::Result<Finished> {
    let Call { tool, line, watch, .. } = *call;
    let mut values: Vec<(&Input, OsString)> = Vec::new();
    let mut to_files: Vec<&Input> = Vec::new();
    let mut renamed: Vec<Renamed<'_>> = Vec::new();
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
        let is_file = one.input.kind == Kind::File;
        if is_file || one.input.kind == Kind::Text && bytes.len() > LONGEST_ARGUMENT {
            let path = write(&format!("{index}.ptx"), &bytes)?;
            let shown = Shown::Literal(path.as_os_str().as_bytes().to_vec());
            let user = if is_file { user.as_bytes() } else { TEXT_NAME };
            renamed.push(Renamed { shown, user: Some(user.to_vec()), lines });
            values.push((&one.input, path.into_os_string()));
            if !is_file {
                to_files.push(&one.input);
            }
            continue;
        }
        match one.input.kind {
            Kind::Stdin => {
                renamed.push(Renamed { shown: shown_for_stdin(user), user: None, lines });
            }
            Kind::File | Kind::Text => {
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
        words = line.exchange_output(words, output).ok_or(io::ErrorKind::InvalidInput)?;
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

/// How ptxas names its standard input in messages, by the name that the user gave it.
fn shown_for_stdin(user: &OsStr) -> Shown {
    match user.as_bytes() {
        b"-" => Shown::StdinCopy,
        name => Shown::Literal(name.to_vec()),
    }
}
