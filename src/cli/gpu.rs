//! Shared code of the subcommands that use a GPU: versions of a kernel, read, checked and assembled.
//!
//! In: texts and a way to open a device. Out: the device, and the versions assembled for it, or a
//! [`Failure`]. Input is read and checked before a device is asked for, and the device before ptxas.

use super::env::Settings;
use super::exit::{Failure, Status};
use super::variants::Variant;
use super::wrapper;
use crate::ab::assemble::{architecture, assemble};
use crate::ab::cuda::Cuda;
use crate::ab::device::{Device, Error};
use crate::ab::experiment::Candidate;
use crate::ab::kernel;
use crate::launch::Launch;
use crate::pipeline::Options;
use crate::ptx::{self, Depth};
use crate::ptxas::invoke::Tool;
use crate::ptxas::signals::Watch;
use crate::source::SourceFile;

/// Opens the device of a number.
pub type Open<'o> = dyn Fn(u32) -> Result<Box<dyn Device>, Error> + 'o;

/// Finds the real ptxas.
pub type FindTool<'f> = dyn Fn() -> Result<Tool, Failure> + 'f;

/// The program's access to the outside.
pub struct World<'w> {
    /// Opens a device.
    pub open: &'w Open<'w>,
    /// Finds the real ptxas.
    pub tool: &'w FindTool<'w>,
    /// Takes care of the temporary files when the program is interrupted.
    pub watch: &'w Watch,
}

/// What to compare.
pub struct Request<'r> {
    /// The original's PTX.
    pub original: &'r SourceFile,
    /// Name and text of the launch file.
    pub launch: &'r SourceFile,
    /// The kernel, instead of the one that the launch file names.
    pub kernel: Option<&'r str>,
    /// The variants to make of the original.
    pub variants: &'r [Variant],
    /// Other files to compare with.
    pub against: &'r [SourceFile],
    /// How decisions are made; by the costs of the device's architecture where they name none.
    pub options: &'r Options,
    /// The number of the device.
    pub device: u32,
}

/// Calls a function with the GPUs and the real ptxas of this machine.
///
/// # Errors
/// Those of the function.
pub fn on_this_machine<T>(
    work: impl FnOnce(&World<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let watch = Watch::start();
    work(&World {
        open: &|ordinal| Ok(Box::new(Cuda::open(ordinal)?) as Box<dyn Device>),
        tool: &|| wrapper::real_ptxas(&Settings::of_process()),
        watch: &watch,
    })
}

/// Everything about a request that needs no device.
pub struct Ready<'r> {
    /// The launch.
    pub launch: Launch,
    /// The kernel's name.
    pub kernel: String,
    target: Vec<String>,
    original: &'r SourceFile,
}

impl<'r> Ready<'r> {
    /// Reads and checks the launch and the texts.
    ///
    /// # Errors
    /// Input cannot be used.
    pub fn new(request: &Request<'r>) -> Result<Ready<'r>, Failure> {
        let original = request.original;
        let mut launch = Launch::from_json(request.launch.text())
            .map_err(|message| Failure::about(request.launch.name(), message))?;
        if let Some(kernel) = request.kernel {
            launch.kernel = Some(kernel.to_owned());
        }
        let kernel = |source: &SourceFile| {
            let module = ptx::parse(source, Depth::All)?;
            let kernel = kernel::find(&module, &launch)
                .map_err(|error| Failure::about(source.name(), error))?;
            let target = module.target.iter().map(|&word| word.to_owned()).collect();
            Ok::<_, Failure>((kernel.to_owned(), target))
        };
        let (name, target) = kernel(original)?;
        for other in request.against {
            if kernel(other)?.0 != name {
                let message = format!("its kernel is not `{name}`");
                return Err(Failure::about(other.name(), message));
            }
        }
        if let Some(buffer) = launch.pointers.keys().next() {
            let why = format!("buffer `{buffer}`: `pointers` are possible on the CPU alone");
            return Err(Failure::about(request.launch.name(), why));
        }
        if launch.variables.is_some() {
            let why = "`variables` are possible on the CPU alone";
            return Err(Failure::about(request.launch.name(), why));
        }
        launch.kernel = Some(name.clone());
        Ok(Ready { launch, kernel: name, target, original })
    }

    /// Opens the device.
    ///
    /// # Errors
    /// There is no GPU to use.
    pub fn open(
        &self,
        request: &Request<'_>,
        world: &World<'_>,
    ) -> Result<Box<dyn Device>, Failure> {
        (world.open)(request.device).map_err(|error| failed(self.original, &error))
    }

    /// How decisions are made on a device.
    pub fn options_for(&self, request: &Request<'_>, device: &dyn Device) -> Options {
        let (major, minor) = device.properties().capability;
        let architecture = request.options.architecture.or(Some(10 * major + minor));
        Options { architecture, ..request.options.clone() }
    }

    /// The variants that a request asks for, by their names, the original first.
    ///
    /// # Errors
    /// The original cannot be parsed.
    pub fn variants(
        &self,
        request: &Request<'_>,
        device: &dyn Device,
    ) -> Result<Vec<(String, SourceFile)>, Failure> {
        let options = self.options_for(request, device);
        let mut variants = vec![(Variant::ORIGINAL.name(), self.original.clone())];
        for variant in request.variants {
            if variants.iter().all(|(name, _)| *name != variant.name()) {
                variants.push((variant.name(), variant.make(self.original, &options)?));
            }
        }
        let others = request.against.iter().map(|other| (other.name().to_owned(), other.clone()));
        variants.extend(others);
        Ok(variants)
    }

    /// Assembles texts for a device.
    ///
    /// # Errors
    /// There is no real ptxas, or it refuses one of them.
    pub fn assemble(
        &self,
        world: &World<'_>,
        device: &dyn Device,
        texts: Vec<(String, SourceFile)>,
    ) -> Result<Vec<Candidate>, Failure> {
        let tool = (world.tool)()?;
        let target: Vec<&str> = self.target.iter().map(String::as_str).collect();
        let architecture = architecture(&target, device.properties().capability);
        let assembled = texts.into_iter().map(|(name, source)| {
            assemble(&tool, world.watch, &architecture, &name, source)
                .map_err(|error| failed(self.original, &error))
        });
        assembled.collect()
    }

    /// Opens the device and assembles what a request asks for.
    ///
    /// # Errors
    /// There is no GPU to use, or no real ptxas, or it refuses a variant.
    pub fn on_device(
        &self,
        request: &Request<'_>,
        world: &World<'_>,
    ) -> Result<(Box<dyn Device>, Vec<Candidate>), Failure> {
        let device = self.open(request, world)?;
        let variants = self.variants(request, device.as_ref())?;
        let candidates = self.assemble(world, device.as_ref(), variants)?;
        Ok((device, candidates))
    }
}

/// An error of a device as a failure about a file.
pub fn failed(about: &SourceFile, error: &Error) -> Failure {
    match error {
        Error::Unusable(_) => Failure::about("ptxasw", error).with_status(Status::NO_GPU),
        Error::Fault(_) => Failure::about(about.name(), error).with_status(Status::FAULTED),
        Error::Rejected(_) => Failure::about(about.name(), error),
    }
}
