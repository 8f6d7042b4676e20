//! The PTX texts and the cubins of a file that a user names: the file itself, or the parts of an object, a library, an
//! executable or a fat binary.

use std::path::{Path, PathBuf};

use super::env::Settings;
use super::exit::Failure;
use super::{io, wrapper};
use crate::ptxas::embedded::{self, Code};
use crate::sass::cubin;
use crate::source::SourceFile;

/// The PTX of a file.
///
/// # Errors
/// The file cannot be read, there is no `cuobjdump` to take it apart, or it holds no PTX.
pub(super) fn texts(path: &Path) -> Result<Vec<SourceFile>, Failure> {
    let (name, bytes) = io::read_bytes(path)?;
    if !embedded::may_hold_code(&bytes) {
        return Ok(vec![SourceFile::from_bytes(name, bytes)?]);
    }
    let program = cuobjdump(&name, "PTX is")?;
    let found = embedded::code_in(&program, path, Code::Ptx);
    let found = found.map_err(|why| Failure::about(&name, why))?;
    if found.is_empty() {
        let why = "there is no PTX in it; compile with `-gencode arch=compute_80,code=[compute_80,sm_80]`";
        return Err(Failure::about(&name, why));
    }
    let each = found
        .into_iter()
        .map(|(part, bytes)| Ok(SourceFile::from_bytes(format!("{name}({part})"), bytes)?));
    each.collect()
}

/// The cubins of a file that was read, with their names; `None` if it cannot hold any, since it is a text.
///
/// # Errors
/// The bytes are not those of an ELF file, there is no `cuobjdump` to take the file apart, or it holds no cubin.
pub(super) fn cubins(
    path: &Path,
    (name, bytes): (&str, &[u8]),
) -> Result<Option<Vec<Cubin>>, Failure> {
    let about = |why: String| Failure::about(name, why);
    if !embedded::may_hold_code(bytes) {
        return Ok(None);
    }
    let is_elf = bytes.starts_with(ELF);
    let not_one = |why| about(format!("this is not a cubin that can be read: {why}"));
    if is_elf && cubin::is_for_gpu(bytes).map_err(not_one)? {
        return Ok(Some(vec![(name.to_owned(), bytes.to_vec())]));
    }
    let program = cuobjdump(name, "cubins are")?;
    let found = embedded::code_in(&program, path, Code::Cubin).map_err(about)?;
    if found.is_empty() {
        let why = "there is no machine code of a GPU in it; compile with `-gencode arch=compute_80,code=sm_80`";
        return Err(about(why.to_owned()));
    }
    Ok(Some(found.into_iter().map(|(part, bytes)| (format!("{name}({part})"), bytes)).collect()))
}

/// A cubin's name and its bytes.
pub(super) type Cubin = (String, Vec<u8>);

/// How a cubin begins.
const ELF: &[u8] = b"\x7fELF";

/// The program that takes files apart; `what` is read with it.
fn cuobjdump(name: &str, what: &str) -> Result<PathBuf, Failure> {
    let settings = Settings::of_process();
    let ptxas = wrapper::real_ptxas(&settings).ok();
    let beside = ptxas.as_ref().map(|tool| tool.path.as_path());
    embedded::cuobjdump(beside, settings.path.as_deref()).ok_or_else(|| {
        Failure::about(
            name,
            format!("{what} read from such a file by cuobjdump, which is neither beside ptxas nor in PATH"),
        )
    })
}
