//! The PTX texts and cubins in an object, library, executable or fat binary, as NVIDIA's `cuobjdump` gives them.
//!
//! In: a file that is not text. Out: the texts or cubins with their names. The only use of `cuobjdump`: fat binaries may be compressed
//! in forms that no document describes.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What files begin with that may hold PTX and cubins: ELF, archives, and fat binaries.
const MAGIC: [&[u8]; 3] = [b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba"];

/// Whether a file's bytes are those of an object, a library, an executable, a cubin or a fat binary.
pub fn may_hold_code(bytes: &[u8]) -> bool {
    MAGIC.iter().any(|magic| bytes.starts_with(magic))
}

/// `cuobjdump` beside an assembler, else in `PATH`.
pub fn cuobjdump(ptxas: Option<&Path>, path: Option<&OsStr>) -> Option<PathBuf> {
    let beside = ptxas.and_then(Path::parent).map(|folder| folder.join("cuobjdump"));
    let found = beside.filter(|program| program.is_file());
    found.or_else(|| which::which_in("cuobjdump", path, ".").ok())
}

/// The kind of code that is taken out of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// PTX.
    Ptx,
    /// Machine code.
    Cubin,
}

impl Code {
    /// The option of `cuobjdump`, and how the names of its files end.
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Code::Ptx => ("-xptx", "ptx"),
            Code::Cubin => ("-xelf", "cubin"),
        }
    }
}

/// The texts or cubins in a file, by name.
///
/// # Errors
/// `cuobjdump` cannot be started or fails (with its message); a file cannot be read.
pub fn code_in(program: &Path, file: &Path, code: Code) -> Result<Vec<(String, Vec<u8>)>, String> {
    let said = |error: io::Error| format!("{}: {error}", program.display());
    let file = std::path::absolute(file).map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (option, ending) = code.facts();
    let output = command(program, (option, &file), folder.path()).output().map_err(said)?;
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(folder.path()).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|kind| kind == ending) {
            texts.push((name, std::fs::read(&path).map_err(|error| error.to_string())?));
        }
    }
    texts.sort();
    if texts.is_empty() && !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        let first = messages.lines().next().unwrap_or("it failed").to_owned();
        return Err(format!("{}: {first}", program.display()));
    }
    Ok(texts)
}

#[expect(clippy::disallowed_methods, reason = "this module is where cuobjdump is started")]
fn command(program: &Path, (option, file): (&str, &Path), folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.args([option, "all"]).arg(file).current_dir(folder).stdin(Stdio::null());
    command
}
