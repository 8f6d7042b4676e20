//! `ptxasw ab`: variants of a kernel, compared and timed on a GPU.
//!
//! [`ab`] and [`ab_check`] take texts and a way to open a device, and give back a text; reading and printing
//! is left to [`Ab::run`].

use std::path::PathBuf;

use clap::Args;

use super::exit::{Failure, Status};
use super::gpu::{Ready, Request, World, failed, on_this_machine};
use super::io;
use super::options::{Covering, Format, Launched, Shown};
use crate::ab::check::check;
use crate::ab::device::L2;
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
    /// The versions to compare; the original is always one of them [default: original,full, or
    /// original alone with --against]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODE,...")]
    variants: Option<Vec<Mode>>,
    /// Another PTX file with the same kernel; may be given several times
    #[arg(long, value_name = "OTHER.ptx")]
    against: Vec<PathBuf>,
    /// Compare the GPU's buffers with the interpreter's instead of timing; exit status 1: different
    #[arg(long)]
    check: bool,
    /// Rounds; each variant is measured once in a round
    #[arg(long, value_name = "N", default_value_t = Settings::default().samples)]
    samples: usize,
    /// The least time that a sample takes; the kernel is launched often enough for it
    #[arg(long, value_name = "MICROSECONDS", default_value_t = Settings::default().sample_us, value_parser = not_negative)]
    min_time: f64,
    /// Launches in a sample, instead of --min-time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    scale: Option<u32>,
    /// How long to run the variants before their times count
    #[arg(long, value_name = "MILLISECONDS", default_value_t = Settings::default().warm_up_us / 1000.0, value_parser = not_negative)]
    warm_up: f64,
    /// Whether a launch finds in the L2 cache what the launch before it left there
    #[arg(long, value_enum, default_value_t)]
    l2: L2,
    /// The smallest difference between two times that counts as one
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * Settings::default().threshold, value_parser = not_negative)]
    threshold: f64,
    /// The seed of the order of measurements and of the intervals
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed)]
    seed: u64,
    /// The number of the GPU, as the driver counts
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: u32,
    /// How versions are made.
    #[command(flatten)]
    covering: Covering,
}

impl Ab {
    /// Prints times, or with `--check` a comparison whose outcome is the exit status.
    ///
    /// # Errors
    /// As [`ab`].
    pub fn run(&self) -> Result<Status, Failure> {
        let (original, launch) = (io::read(&self.original)?, io::read(&self.launched.launch)?);
        let against =
            self.against.iter().map(|path| io::read(path)).collect::<Result<Vec<_>, _>>()?;
        let (modes, options, settings) = (self.modes(), self.covering.options(), self.settings());
        let request = Request {
            original: &original,
            launch: &launch,
            kernel: self.launched.kernel.as_deref(),
            modes: &modes,
            against: &against,
            options: &options,
            device: self.device,
        };
        let format = self.shown.format;
        let (text, status) = on_this_machine(|world| {
            if self.check {
                return ab_check(&request, world, format);
            }
            // Draws on a terminal only.
            let bar = indicatif::ProgressBar::new(settings.samples as u64);
            let mut show = |done, _| bar.set_position(done as u64);
            let text = ab(&request, &settings, world, format, &mut show);
            bar.finish_and_clear();
            Ok((text?, Status::SUCCESS))
        })?;
        io::print(&text)?;
        Ok(status)
    }

    /// How to measure.
    fn settings(&self) -> Settings {
        Settings {
            samples: self.samples,
            sample_us: self.min_time,
            scale: self.scale,
            warm_up_us: 1000.0 * self.warm_up,
            seed: self.seed,
            l2: self.l2,
            threshold: self.threshold / 100.0,
            ..Settings::default()
        }
    }

    /// The versions to compare.
    fn modes(&self) -> Vec<Mode> {
        match &self.variants {
            Some(modes) => modes.clone(),
            None if self.against.is_empty() => vec![Mode::Original, Mode::Full],
            None => vec![Mode::Original],
        }
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e12).contains(&number) => Ok(number),
        _ => Err("a number that is not negative is expected".to_owned()),
    }
}

/// Compares outputs and times. `progress` is called with the number of rounds that are done and the
/// number of all rounds.
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
    let (mut device, candidates) = ready.assemble(request, world)?;
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
    let (mut device, candidates) = ready.assemble(request, world)?;
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
