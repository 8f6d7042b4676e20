//! Variants of a kernel, assembled by the real ptxas for the device that is measured.

use super::device::Error;
use super::experiment::Candidate;
use crate::ptxas::invoke::{Run, Stream, Tool};
use crate::ptxas::signals::Watch;
use crate::source::SourceFile;

/// The target to assemble for: that of the device, with the letter of the module's own `.target`
/// (`a`, `f`) where the module is made for just this device.
pub fn architecture(target: &[&str], capability: (u32, u32)) -> String {
    let device = format!("sm_{}{}", capability.0, capability.1);
    let special = target.iter().find(|word| {
        word.strip_prefix(device.as_str()).is_some_and(|letter| matches!(letter, "a" | "f"))
    });
    special.map_or(device, |word| (*word).to_owned())
}

/// Assembles one variant. `watch` takes care of the temporary files when the program is interrupted.
///
/// # Errors
/// ptxas cannot be run, or refuses the text; the error then holds ptxas's own message.
pub fn assemble(
    tool: &Tool,
    watch: &Watch,
    architecture: &str,
    name: &str,
    source: SourceFile,
) -> Result<Candidate, Error> {
    let failed = |what: String| Error::Rejected(format!("{name}: {what}"));
    let started =
        |error: std::io::Error| failed(format!("cannot run {}: {error}", tool.path.display()));
    let folder = watch.folder().map_err(started)?;
    let input = folder.write("variant.ptx", source.text().as_bytes()).map_err(started)?;
    let output = input.with_file_name("variant.cubin");
    let words = [format!("-arch={architecture}").into(), "-o".into(), output.clone(), input];
    let words = words.map(std::path::PathBuf::into_os_string);
    let run = Run::new(&words, Stream::Capture, Stream::Capture);
    let finished = tool.run(run, watch).map_err(started)?;
    if !finished.status.success() {
        let said = [finished.stdout, finished.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        return Err(failed(format!("ptxas refuses it:\n{}", said.trim_end())));
    }
    let cubin = std::fs::read(&output).map_err(started)?;
    Ok(Candidate { name: name.to_owned(), source, cubin })
}
