//! `ptxasw ab`: variants of a kernel, compared and timed on a GPU; and `ptxasw run --on gpu`.
//!
//! Takes texts and a way to open a device, gives back a text and an exit status; printing is left to
//! the caller. Input is read and checked before a device is asked for, and the device before ptxas.

use std::collections::BTreeMap;

use super::args::Format;
use super::run;
use crate::ab::assemble::{architecture, assemble};
use crate::ab::check::check;
use crate::ab::device::{Device, Error, Program};
use crate::ab::experiment::{Candidate, Settings, Subject, measure};
use crate::ab::kernel;
use crate::launch::{Buffer, Launch};
use crate::pipeline::{self, Options};
use crate::ptx::{self, Depth};
use crate::ptxas::invoke::Tool;
use crate::ptxas::signals::Watch;
use crate::rewrite::Mode;
use crate::source::SourceFile;
use clap::ValueEnum;

/// Exit status of a comparison that found a difference.
pub const DIFFERENT: u8 = 1;

/// Exit status where there is no GPU to use.
pub const NO_GPU: u8 = 4;

/// What ends a subcommand early: the exit status and the message for standard error.
pub type Failed = (u8, String);

/// Opens the device of a number.
pub type Open<'o> = dyn Fn(u32) -> Result<Box<dyn Device>, Error> + 'o;

/// Finds the real ptxas.
pub type FindTool<'f> = dyn Fn() -> Result<Tool, String> + 'f;

/// What the program has of the world.
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
    /// The kernel, instead of the launch file's.
    pub kernel: Option<&'r str>,
    /// The versions to make of the original.
    pub modes: &'r [Mode],
    /// Other files to compare with.
    pub against: &'r [SourceFile],
    /// How decisions are made.
    pub options: &'r Options,
    /// Which device.
    pub device: u32,
    /// How to show the outcome.
    pub format: Format,
}

/// Everything about a request that needs no device.
struct Ready<'r> {
    launch: Launch,
    kernel: String,
    target: Vec<String>,
    variants: Vec<(String, SourceFile)>,
    original: &'r SourceFile,
}

/// Compares outputs and times. `progress` hears how many of how many rounds are done.
///
/// # Errors
/// 2: input cannot be used; 3: the kernel faults; 4: no GPU.
pub fn ab(
    request: &Request<'_>,
    settings: &Settings,
    world: &World<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<String, Failed> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.assemble(request, world)?;
    let subject = Subject {
        candidates: &candidates,
        launch: &ready.launch,
        launch_name: request.launch.name(),
        kernel: &ready.kernel,
    };
    let measured = measure(device.as_mut(), &subject, settings, progress)
        .map_err(|error| failed(request.launch, &error))?;
    match request.format {
        Format::Json => json(&measured),
        Format::Text => Ok(measured.to_string()),
    }
}

/// Compares the device's buffers with the interpreter's. The status is 0 for equal, 1 for different.
///
/// # Errors
/// As [`ab`].
pub fn ab_check(request: &Request<'_>, world: &World<'_>) -> Result<(String, u8), Failed> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.assemble(request, world)?;
    let found = check(device.as_mut(), &candidates, &ready.launch, &ready.kernel)
        .map_err(|error| failed(request.launch, &error))?;
    let status = if found.is_equal() { 0 } else { DIFFERENT };
    let text = match request.format {
        Format::Json => json(&found)?,
        Format::Text => {
            let mut text =
                format!("{} on {} against the interpreter\n", found.kernel, found.device);
            for variant in &found.variants {
                let outcome = if variant.equal { "the same bits" } else { "different" };
                text += &format!("{}: {outcome}\n", variant.name);
                for difference in &variant.differences {
                    text += &format!("  {difference}\n");
                }
            }
            text
        }
    };
    Ok((text, status))
}

/// Executes a kernel on the device and shows its buffers.
///
/// # Errors
/// As [`ab`].
pub fn run_on_device(request: &Request<'_>, world: &World<'_>) -> Result<String, Failed> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.assemble(request, world)?;
    let buffers = execute(device.as_mut(), &candidates, &ready)
        .map_err(|error| failed(request.launch, &error))?;
    Ok(run::on_device(&ready.kernel, &buffers, device.properties(), request.format))
}

fn execute(
    device: &mut dyn Device,
    candidates: &[Candidate],
    ready: &Ready<'_>,
) -> Result<BTreeMap<String, Buffer>, Error> {
    device.prepare(&ready.launch)?;
    for Candidate { source, cubin, .. } in candidates {
        let (id, _) = device.load(&Program { source, cubin, kernel: &ready.kernel })?;
        device.launch(id)?;
    }
    let mut buffers = BTreeMap::new();
    for (name, buffer) in &ready.launch.buffers {
        buffers.insert(name.clone(), Buffer { ty: buffer.ty, bytes: device.read(name)? });
    }
    Ok(buffers)
}

impl<'r> Ready<'r> {
    fn new(request: &Request<'r>) -> Result<Ready<'r>, Failed> {
        let original = request.original;
        let bad = |message: String| (run::UNUSABLE, message);
        let in_launch =
            |message: String| bad(format!("{}: error: {message}", request.launch.name()));
        let mut launch = Launch::from_json(request.launch.text()).map_err(in_launch)?;
        if let Some(kernel) = request.kernel {
            launch.kernel = Some(kernel.to_owned());
        }
        let kernel = |source: &SourceFile| {
            let module = ptx::parse(source, Depth::All).map_err(|error| bad(error.to_string()))?;
            let kernel = kernel::find(&module, &launch)
                .map_err(|error| bad(format!("{}: error: {error}", source.name())))?;
            let target = module.target.iter().map(|&word| word.to_owned()).collect();
            Ok::<_, Failed>((kernel.to_owned(), target))
        };
        let (name, target) = kernel(original)?;
        let mut variants = vec![(name_of(Mode::Original), original.clone())];
        for &mode in request.modes {
            if mode == Mode::Original || variants.iter().any(|(name, _)| *name == name_of(mode)) {
                continue;
            }
            let options = Options { mode, ..request.options.clone() };
            let rewritten =
                pipeline::rewrite(original, &options).map_err(|error| bad(error.to_string()))?;
            variants.push((name_of(mode), SourceFile::new(original.name(), rewritten.text)));
        }
        for other in request.against {
            if kernel(other)?.0 != name {
                let message = format!("{}: error: its kernel is not `{name}`", other.name());
                return Err(bad(message));
            }
            variants.push((other.name().to_owned(), other.clone()));
        }
        launch.kernel = Some(name.clone());
        Ok(Ready { launch, kernel: name, target, variants, original })
    }

    /// Opens the device and assembles for it.
    fn assemble(
        &self,
        request: &Request<'_>,
        world: &World<'_>,
    ) -> Result<(Box<dyn Device>, Vec<Candidate>), Failed> {
        let device = (world.open)(request.device).map_err(|error| failed(self.original, &error))?;
        let tool = (world.tool)().map_err(|message| (run::UNUSABLE, message))?;
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

fn failed(about: &SourceFile, error: &Error) -> Failed {
    match error {
        Error::Unusable(_) => (NO_GPU, format!("ptxasw: error: {error}")),
        Error::Fault(_) => (run::FAULTED, format!("{}: error: {error}", about.name())),
        Error::Rejected(_) => (run::UNUSABLE, format!("{}: error: {error}", about.name())),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Failed> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| (run::UNUSABLE, format!("ab: error: {error}")))
}
