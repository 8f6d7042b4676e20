//! `ptxasw ab`: variants of a kernel, compared and timed on a GPU.
//!
//! [`ab`] and [`ab_check`] take texts and a way to open a device, and give back a text; reading and printing
//! is left to [`Ab::run`].

use std::path::PathBuf;

use clap::Args;

use super::exit::{Failure, Status};
use super::gpu::{Ready, Request, World, failed, on_this_machine};
use super::options::{Covering, Format, Launched, Shown};
use super::timing::{Timing, with_bar};
use super::variants::Variant;
use super::{io, objects};
use crate::ab::check::check;
use crate::ab::experiment::{Settings, Subject, measure};
use crate::rewrite::Mode;

/// `ab`
#[derive(Debug, Args)]
pub struct Ab {
    /// The original PTX file
    original: PathBuf,
    /// How the kernel is launched.
    #[command(flatten)]
    launched: Launched,
    /// How to show the outcome.
    #[command(flatten)]
    shown: Shown,
    /// What to compare: `original`, `full`, `no-load`, `no-corner` (as --mode), and strategies whatever
    /// --strategy says: `auto`, `none`, `reuse`, `wide`, `window`, `paper`, `aos`, or some of these joined by `+`.
    /// The original is always one of them [default: original,full, or original alone with --against]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    variants: Option<Vec<Variant>>,
    /// Another PTX file with the same kernel; may be given several times
    #[arg(long, value_name = "OTHER.ptx")]
    against: Vec<PathBuf>,
    /// Compare the GPU's buffers with the interpreter's instead of timing; exit status 1: different
    #[arg(long)]
    check: bool,
    /// How they are timed.
    #[command(flatten)]
    timing: Timing,
    /// How variants are made.
    #[command(flatten)]
    covering: Covering,
}

impl Ab {
    /// Prints times, or with `--check` a comparison whose outcome is the exit status.
    ///
    /// # Errors
    /// As [`ab`].
    pub fn run(&self) -> Result<Status, Failure> {
        let (launch, kernel) = (io::read(&self.launched.launch)?, self.launched.kernel.as_deref());
        let original = objects::text_for(&self.original, kernel, &launch)?;
        let against = self.against.iter().map(|path| objects::text_for(path, kernel, &launch));
        let against = against.collect::<Result<Vec<_>, _>>()?;
        let (variants, options) = (self.variants(), self.covering.options());
        let settings = self.timing.settings();
        let request = Request {
            original: &original,
            launch: &launch,
            kernel,
            variants: &variants,
            against: &against,
            options: &options,
            device: self.timing.device,
        };
        let format = self.shown.format;
        let (text, status) = on_this_machine(|world| {
            if self.check {
                return ab_check(&request, world, format);
            }
            let text = with_bar(settings.samples, |progress| {
                ab(&request, &settings, world, format, progress)
            });
            Ok((text?, Status::SUCCESS))
        })?;
        io::print(&text)?;
        Ok(status)
    }

    /// What to compare.
    fn variants(&self) -> Vec<Variant> {
        match &self.variants {
            Some(variants) => variants.clone(),
            None if self.against.is_empty() => vec![Variant::Mode(Mode::Full)],
            None => Vec::new(),
        }
    }
}

/// Compares outputs and times. `progress` hears how many of how many rounds are done.
///
/// # Errors
/// Input cannot be used, the kernel faults, there is no GPU.
pub fn ab(
    request: &Request<'_>,
    settings: &Settings,
    world: &World<'_>,
    format: Format,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<String, Failure> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.on_device(request, world)?;
    let subject = Subject {
        candidates: &candidates,
        launch: &ready.launch,
        launch_name: request.launch.name(),
        kernel: &ready.kernel,
    };
    let measured = measure(device.as_mut(), &subject, settings, progress)
        .map_err(|error| failed(request.launch, &error))?;
    match format {
        Format::Json => io::json(&measured),
        Format::Text => Ok(measured.to_string()),
    }
}

/// Compares the device's buffers with the interpreter's. The status says whether they are equal.
///
/// # Errors
/// As [`ab`].
pub fn ab_check(
    request: &Request<'_>,
    world: &World<'_>,
    format: Format,
) -> Result<(String, Status), Failure> {
    let ready = Ready::new(request)?;
    let (mut device, candidates) = ready.on_device(request, world)?;
    let found = check(device.as_mut(), &candidates, &ready.launch, &ready.kernel)
        .map_err(|error| failed(request.launch, &error))?;
    let status = if found.is_equal() { Status::SUCCESS } else { Status::DIFFERENT };
    let text = match format {
        Format::Json => io::json(&found)?,
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
