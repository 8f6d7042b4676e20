//! Whether a launch fits the kernel it is meant for: which kernel that is, and whether shape and
//! arguments fit.
//!
//! The interpreter and the device take the same launches. The driver reads as many bytes of an argument
//! as the machine code's parameter has, so nothing is started before this has been checked.

use super::{Argument, Launch};
use crate::kernels::{listed_shortly, meant};
use crate::ptx::{Function, FunctionKind, Module};
use crate::source::listed;

/// The kernel called `name`, or the only one with a body.
///
/// # Errors
/// There is no such kernel, or there are several and none is named.
pub fn find_kernel<'m, 's>(
    module: &'m Module<'s>,
    name: Option<&str>,
) -> Result<&'m Function<'s>, String> {
    let kernels: Vec<&Function<'_>> = module
        .functions()
        .filter(|f| f.kind == FunctionKind::Entry && f.statements().is_some())
        .collect();
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.text).collect();
    match (name, &kernels[..]) {
        (_, []) => Err("the module defines no kernel".to_owned()),
        (Some(name), _) => {
            let meant = meant(&names, name);
            let mut found = kernels.iter().filter(|kernel| meant.contains(&kernel.name.text));
            match (found.next(), meant.len()) {
                (Some(one), 1) => Ok(one),
                (Some(_), _) => {
                    let all = listed(meant);
                    Err(format!("`{name}` is the name of several kernels: {all}"))
                }
                (None, _) => {
                    let all = listed_shortly(&names);
                    Err(format!("the module defines no kernel `{name}`; it defines {all}"))
                }
            }
        }
        (None, [only]) => Ok(only),
        (None, _) => Err(format!(
            "the module defines several kernels; choose one with `--kernel`: {}",
            listed_shortly(&names)
        )),
    }
}

/// Checks a launch against the directives of its kernel (PTX ISA, "Performance-Tuning Directives" and
/// "Cluster Dimension Directives").
///
/// # Errors
/// The blocks or the grid have another shape than the directives demand.
pub fn check_shape(kernel: &Function<'_>, launch: &Launch) -> Result<(), String> {
    launch.check()?;
    let block = launch.block.map(u64::from);
    if let Some(required) = kernel.extents("reqntid")
        && block != required
    {
        return Err(format!("the kernel demands blocks of {required:?} threads"));
    }
    if let Some(most) = kernel.extents("maxntid")
        && block.iter().product::<u64>() > most.iter().fold(1, |all, &n| all.saturating_mul(n))
    {
        return Err(format!("the kernel takes blocks of at most {most:?} threads"));
    }
    let cluster = cluster(kernel);
    let whole = launch.grid.iter().zip(cluster).all(|(&n, per)| u64::from(n).is_multiple_of(per));
    if !whole {
        return Err(format!(
            "the grid is not a multiple of the kernel's clusters of {cluster:?} blocks"
        ));
    }
    Ok(())
}

/// Blocks of a cluster in each dimension, by `.reqnctapercluster`.
pub fn cluster(kernel: &Function<'_>) -> [u64; 3] {
    kernel.extents("reqnctapercluster").map_or([1; 3], |extents| extents.map(|n| n.max(1)))
}

/// The kernel's parameters by name, each with its size in bytes.
pub fn parameters<'m>(kernel: &'m Function<'_>) -> Vec<(&'m str, u64)> {
    let declared =
        kernel.params.iter().flat_map(|variable| variable.names.iter().map(move |n| (variable, n)));
    declared
        .map(|(variable, declarator)| {
            // Opaque parameters, `.texref` and the like, are handles of 64 bits.
            let bits = variable.ty.map_or(64, |ty| ty.bits());
            let element = u64::from(bits / 8) * u64::from(variable.vector);
            let sizes = declarator.dimensions.iter().map(|size| size.unwrap_or(0));
            (declarator.name.text, sizes.fold(element, u64::saturating_mul))
        })
        .collect()
}

/// Checks that a launch's arguments are as many and as long as these parameters, which have a name and
/// a size in bytes.
///
/// # Errors
/// They differ in number or size, or an argument names a buffer that the launch does not have.
pub fn check_arguments(parameters: &[(&str, u64)], launch: &Launch) -> Result<(), String> {
    let (wanted, given) = (parameters.len(), launch.args.len());
    if wanted != given {
        return Err(format!("the kernel has {wanted} parameters, not {given}"));
    }
    for (&(name, bytes), argument) in parameters.iter().zip(&launch.args) {
        let missing = argument.buffers().into_iter().find(|&b| !launch.buffers.contains_key(b));
        if let Some(buffer) = missing {
            return Err(format!("parameter `{name}`: no buffer `{buffer}`"));
        }
        let given = match argument {
            Argument::Pointer { .. } => bytes.min(8),
            Argument::Value(value) | Argument::Struct { bytes: value, .. } => value.len() as u64,
        };
        if given != bytes {
            return Err(format!("parameter `{name}` has {bytes} bytes, its argument {given}"));
        }
    }
    Ok(())
}
