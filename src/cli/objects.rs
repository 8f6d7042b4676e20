//! The PTX texts and the cubins of a file that a user names: the file itself, the parts of an object, a library, an executable
//! or a fat binary, or what `cuobjdump --dump-ptx` has printed.

use std::path::{Path, PathBuf};

use super::env::Settings;
use super::exit::Failure;
use super::{dumped, io, wrapper};
use crate::launch::{Launch, bind};
use crate::ptx::{self, Depth};
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
        return sources(name, bytes);
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

/// The PTX texts in the bytes of a text: one, or those that `cuobjdump --dump-ptx` has printed.
///
/// # Errors
/// The bytes are not text.
pub(super) fn sources(name: String, bytes: Vec<u8>) -> Result<Vec<SourceFile>, Failure> {
    let whole = SourceFile::from_bytes(name, bytes)?;
    let texts = dumped::texts(whole.text());
    let is_single = texts.len() == 1;
    let of_part = |(number, text): (usize, String)| match is_single {
        true => SourceFile::new(whole.name(), text),
        false => SourceFile::new(format!("{}({})", whole.name(), number + 1), text),
    };
    let found: Vec<SourceFile> = texts.into_iter().enumerate().map(of_part).collect();
    Ok(if found.is_empty() { vec![whole] } else { found })
}

/// The PTX of a file that has one text.
///
/// # Errors
/// As [`texts`], or there are several texts.
pub(super) fn text(path: &Path) -> Result<SourceFile, Failure> {
    single(path, texts(path)?)
}

/// The only one of a file's texts.
///
/// # Errors
/// There are several.
pub(super) fn single(path: &Path, mut found: Vec<SourceFile>) -> Result<SourceFile, Failure> {
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (_, others) => {
            let why = format!(
                "there are {} PTX texts in it; write each to a file of its own with `cuobjdump -xptx all`",
                others + 1
            );
            Err(Failure::about(path.display(), why))
        }
    }
}

/// The PTX of a file that has the kernel `kernel`, or else the one that a launch file names.
///
/// # Errors
/// As [`text_with`].
pub(super) fn text_for(
    path: &Path,
    kernel: Option<&str>,
    launch: &SourceFile,
) -> Result<SourceFile, Failure> {
    let named = || Launch::from_json(launch.text()).ok()?.kernel;
    text_with(path, kernel.map(str::to_owned).or_else(named).as_deref())
}

/// The PTX of a file that has the kernel of a launch: the only text, or the first one that has the kernel.
///
/// # Errors
/// As [`texts`], or no text has the kernel.
pub(super) fn text_with(path: &Path, kernel: Option<&str>) -> Result<SourceFile, Failure> {
    let mut found = texts(path)?;
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let kernel_of = |source: &SourceFile| {
        let module = ptx::parse(source, Depth::All).ok()?;
        bind::find_kernel(&module, kernel).ok().map(|found| found.name.text.to_owned())
    };
    let count = found.len();
    let names: Vec<Option<String>> = found.iter().map(kernel_of).collect();
    let first = names.iter().position(Option::is_some);
    // The same kernel may be there for several architectures.
    let is_single =
        names.iter().flatten().all(|name| Some(Some(name)) == first.map(|at| names[at].as_ref()));
    let why = match (first, kernel) {
        (Some(first), _) if is_single => return Ok(found.remove(first)),
        (None, Some(kernel)) => format!("none of its {count} PTX texts has the kernel `{kernel}`"),
        _ => format!("there are {count} PTX texts in it; name the kernel (`--kernel`)"),
    };
    Err(Failure::about(path.display(), why))
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
