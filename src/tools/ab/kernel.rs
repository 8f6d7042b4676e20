//! The kernel of a launch on a device.

use super::device::Error;
use crate::launch::{Launch, bind};
use crate::ptx::Module;

/// The kernel that a launch names, or the only one with a body, after a check of shape and arguments.
///
/// # Errors
/// There is no such kernel, there are several and the launch names none, or the kernel does not fit
/// the launch.
pub fn find<'m>(module: &'m Module<'_>, launch: &Launch) -> Result<&'m str, Error> {
    let fitting = || {
        let kernel = bind::find_kernel(module, launch.kernel.as_deref())?;
        bind::check_shape(kernel, launch)?;
        bind::check_arguments(&bind::parameters(kernel), launch)?;
        Ok(kernel.name.text)
    };
    fitting().map_err(Error::Rejected)
}
