//! The kernel of a launch, and whether the launch's arguments fit it.
//!
//! The driver takes the size of each parameter from the machine code and reads that many bytes of
//! what it is given, so a launch is checked against the PTX before.

use super::device::Error;
use crate::launch::{Argument, Launch};
use crate::ptx::{Function, FunctionKind, Module};

/// Bytes of a pointer in global memory (`.address_size 64`).
const POINTER: u64 = 8;

/// The kernel that a launch names, or the only one with a body, after a check of the arguments.
///
/// # Errors
/// There is none, there are several, or arguments and parameters differ in number or size.
pub fn find<'m>(module: &'m Module<'_>, launch: &Launch) -> Result<&'m str, Error> {
    let mut kernels =
        module.functions().filter(|f| f.kind == FunctionKind::Entry && f.statements().is_some());
    let kernel = match &launch.kernel {
        Some(name) => kernels
            .find(|kernel| kernel.name.text == name)
            .ok_or_else(|| Error::Rejected(format!("the module defines no kernel `{name}`")))?,
        None => match (kernels.next(), kernels.next()) {
            (Some(only), None) => only,
            (None, _) => return Err(Error::Rejected("the module defines no kernel".to_owned())),
            _ => {
                let message = "the module defines several kernels: name one in the launch";
                return Err(Error::Rejected(message.to_owned()));
            }
        },
    };
    check(kernel, launch)?;
    Ok(kernel.name.text)
}

fn check(kernel: &Function<'_>, launch: &Launch) -> Result<(), Error> {
    let parameters: Vec<(&str, u64)> = kernel
        .params
        .iter()
        .flat_map(|variable| variable.names.iter().map(move |name| (variable, name)))
        .map(|(variable, declarator)| {
            let bits = variable.ty.map_or(8 * POINTER as u32, |ty| ty.bits());
            let element = u64::from(bits / 8) * u64::from(variable.vector);
            let sizes = declarator.dimensions.iter().map(|size| size.unwrap_or(0));
            (declarator.name.text, sizes.fold(element, u64::saturating_mul))
        })
        .collect();
    if parameters.len() != launch.args.len() {
        return Err(Error::Rejected(format!(
            "the kernel has {} parameters, not {}",
            parameters.len(),
            launch.args.len()
        )));
    }
    for ((name, bytes), argument) in parameters.into_iter().zip(&launch.args) {
        let given = match argument {
            Argument::Pointer { buffer, .. } if !launch.buffers.contains_key(buffer) => {
                let message = format!("parameter `{name}`: no buffer `{buffer}`");
                return Err(Error::Rejected(message));
            }
            Argument::Pointer { .. } => POINTER,
            Argument::Value(value) => value.len() as u64,
        };
        if given != bytes {
            let message = format!("parameter `{name}` has {bytes} bytes, its argument {given}");
            return Err(Error::Rejected(message));
        }
    }
    Ok(())
}
