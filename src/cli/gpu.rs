//! What the subcommands that use a GPU have in common: versions of a kernel, read, checked and assembled.
//!
//! In: texts and a way to open a device. Out: the device, and the versions assembled for it, or a
//! [`Failure`]. Input is read and checked before a device is asked for, and the device before ptxas.

use clap::ValueEnum;

use super::env::Settings;
use super::exit::{Failure, Status};
use super::wrapper;
use crate::ab::assemble::{architecture, assemble};
use crate::ab::cuda::Cuda;
use crate::ab::device::{Device, Error};
use crate::ab::experiment::Candidate;
use crate::ab::kernel;
use crate::launch::Launch;
use crate::pipeline::{self, Options};
use crate::ptx::{self, Depth};
use crate::ptxas::invoke::Tool;
use crate::ptxas::signals::Watch;
use crate::rewrite::Mode;
use crate::source::SourceFile;

/// Opens the device of a number.
pub type Open<'o> = dyn Fn(u32) -> Result<Box<dyn Device>, Error> + 'o;

/// Finds the real ptxas.
pub type FindTool<'f> = dyn Fn() -> Result<Tool, Failure> + 'f;

/// What the program has outside itself.
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
    /// The versions to make of the original.
    pub modes: &'r [Mode],
    /// Other files to compare the original with.
    pub against: &'r [SourceFile],
    /// How decisions are made.
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
    variants: Vec<(String, SourceFile)>,
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
        let mut variants = vec![(name_of(Mode::Original), original.clone())];
        for &mode in request.modes {
            if mode == Mode::Original || variants.iter().any(|(name, _)| *name == name_of(mode)) {
                continue;
            }
            let options = Options { mode, ..request.options.clone() };
            let rewritten = pipeline::rewrite(original, &options)?;
            variants.push((name_of(mode), SourceFile::new(original.name(), rewritten.text)));
        }
        for other in request.against {
            if kernel(other)?.0 != name {
                let message = format!("its kernel is not `{name}`");
                return Err(Failure::about(other.name(), message));
            }
            variants.push((other.name().to_owned(), other.clone()));
        }
        launch.kernel = Some(name.clone());
        Ok(Ready { launch, kernel: name, target, variants, original })
    }

    /// Opens the device and assembles the versions for it.
    ///
    /// # Errors
    /// There is no GPU to use, or no real ptxas, or ptxas refuses a version.
    pub fn assemble(
        &self,
        request: &Request<'_>,
        world: &World<'_>,
    ) -> Result<(Box<dyn Device>, Vec<Candidate>), Failure> {
        let device = (world.open)(request.device).map_err(|error| failed(self.original, &error))?;
        let tool = (world.tool)()?;
        let target: Vec<&str> = self.target.iter().map(String::as_str).collect();
        let architecture = architecture(&target, device.properties().capability);
        let mut candidates = Vec::new();
        for (name, source) in &self.variants {
            let assembled = assemble(&tool, world.watch, &architecture, name, source.clone());
            candidates.push(assembled.map_err(|error| failed(self.original, &error))?);
        }
        Ok((device, candidates))
    }
}

/// A mode as the command line spells it.
fn name_of(mode: Mode) -> String {
    mode.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The failure for an error of a device, about a file.
pub fn failed(about: &SourceFile, error: &Error) -> Failure {
    match error {
        Error::Unusable(_) => Failure::about("ptxasw", error).with_status(Status::NO_GPU),
        Error::Fault(_) => Failure::about(about.name(), error).with_status(Status::FAULTED),
        Error::Rejected(_) => Failure::about(about.name(), error),
    }
}
