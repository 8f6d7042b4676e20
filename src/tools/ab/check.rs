//! The interpreter against a device: the same launch on both, their buffers bit by bit.

use serde::Serialize;

use super::compare::{self, Difference};
use super::device::{Device, Error, Program};
use super::experiment::Candidate;
use crate::interp;
use crate::launch::Launch;
use crate::ptx::{self, Depth};

/// The outcome of the comparison of all variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The device's name.
    pub device: String,
    /// The kernel.
    pub kernel: String,
    /// One entry for each variant.
    pub variants: Vec<VariantCheck>,
}

/// The outcome of the comparison of one variant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariantCheck {
    /// `original`, a mode, strategies, or the name of a file.
    pub name: String,
    /// Whether all buffers are the same to the bit.
    pub equal: bool,
    /// Where the device's buffers differ from the interpreter's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

impl Check {
    /// Whether all variants agree.
    pub fn is_equal(&self) -> bool {
        self.variants.iter().all(|variant| variant.equal)
    }
}

/// Runs each variant on the device and in the interpreter.
///
/// # Errors
/// The device or the interpreter cannot run the kernel.
pub fn check(
    device: &mut dyn Device,
    candidates: &[Candidate],
    launch: &Launch,
    kernel: &str,
) -> Result<Check, Error> {
    device.prepare(launch)?;
    let mut variants = Vec::new();
    for Candidate { name, source, cubin } in candidates {
        let module =
            ptx::parse(source, Depth::All).map_err(|error| Error::Rejected(error.to_string()))?;
        let expected = interp::run(&module, launch)
            .map_err(|fault| Error::Rejected(format!("{name}: the interpreter says: {fault}")))?;
        let (id, _) = device.load(&Program { source, cubin, kernel })?;
        device.reset()?;
        device.launch(id)?;
        let mut differences = Vec::new();
        for (buffer, expected) in &expected.buffers {
            differences.extend(compare::compare(buffer, expected, &device.read(buffer)?));
        }
        let equal = differences.is_empty();
        variants.push(VariantCheck { name: name.clone(), equal, differences });
    }
    let device = device.properties().name.clone();
    Ok(Check { device, kernel: kernel.to_owned(), variants })
}
