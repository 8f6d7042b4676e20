//! Variants of a kernel, assembled by the real ptxas for the device that is measured.

use super::device::Error;
use super::experiment::Candidate;
use crate::ptxas::invoke::Tool;
use crate::ptxas::once;
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
    let options = [format!("-arch={architecture}").into()];
    match once::assemble(tool, watch, &options, source.text()) {
        Ok(assembled) => Ok(Candidate { name: name.to_owned(), source, cubin: assembled.cubin }),
        Err(what) => Err(Error::Rejected(format!("{name}: {what}"))),
    }
}
