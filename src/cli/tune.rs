//! `ptxasw tune`: the strategies, timed on a GPU; the fastest goes into a profile that builds obey.
//!
//! [`tune`] takes texts and a way to open a device, and gives back an entry; reading and writing is left to
//! [`Tune::run`].

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::Failure;
use super::gpu::{Ready, Request, World, failed, on_this_machine};
use super::options::{Launched, Output};
use super::timing::{Timing, with_bar};
use super::variants::Variant;
use super::{io, objects};
use crate::ab::experiment::{Settings, Subject, measure};
use crate::ab::measurement::Measurement;
use crate::ab::tuned::{self, Tried};
use crate::pipeline::{Options, REWRITABLE};
use crate::profile::digest::Digests;
use crate::profile::{Entry, Profile, word_for};
use crate::ptx;
use crate::rewrite::Mode;
use crate::select::Strategies;
use crate::source::SourceFile;

/// The default of `--variants`: what makes the same text as one before it costs no time.
const TRIED: &str = "reuse,wide,window,paper,aos,bank,reuse+wide,reuse+window,reuse+paper,auto";

/// `tune`
#[derive(Debug, Args)]
pub struct Tune {
    /// The PTX file
    #[arg(value_name = "FILE.ptx")]
    original: PathBuf,
    /// How the kernel is launched.
    #[command(flatten)]
    launched: Launched,
    /// Where the profile goes; what a file there says of other kernels stays
    #[command(flatten)]
    output: Output,
    /// The strategies to try, each as --strategy takes it, with `+` in the place of commas; the original is
    /// always one of them
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", default_value = TRIED)]
    variants: Vec<Variant>,
    /// How they are timed.
    #[command(flatten)]
    timing: Timing,
}

impl Tune {
    /// Writes the profile; with `--output` it prints the measurement.
    ///
    /// # Errors
    /// As [`tune`], or the profile that is there cannot be read or written.
    pub fn run(&self) -> Result<(), Failure> {
        let (launch, kernel) = (io::read(&self.launched.launch)?, self.launched.kernel.as_deref());
        let original = objects::text_for(&self.original, kernel, &launch)?;
        let strategies = strategies(&self.variants)?;
        // Before a measurement that could not be kept.
        let mut profile = self.output.output.as_deref().map_or(Ok(Profile::default()), known)?;
        let request = Request {
            original: &original,
            launch: &launch,
            kernel,
            variants: &[],
            against: &[],
            options: &Options::default(),
            device: self.timing.device,
        };
        let settings = self.timing.settings();
        let (entry, measured) = with_bar(settings.samples, |progress| {
            on_this_machine(|world| tune(&request, &strategies, &settings, world, progress))
        })?;
        if self.output.output.is_some() {
            let same = entry.variants.iter().filter_map(|timing| {
                Some(format!("{} has the text of {}\n", timing.strategy, timing.same_as.as_ref()?))
            });
            let (same, chosen) = (same.collect::<String>(), word_for(entry.strategy));
            let architecture = &measured.architecture;
            io::print(&format!("{measured}{same}chosen for {architecture}: {chosen}\n"))?;
        }
        profile.set(entry);
        let text = io::json(&profile)?;
        match &self.output.output {
            // A build may read it meanwhile.
            Some(path) => io::replace(path, &text),
            None => io::print(&text),
        }
    }
}

/// The strategies that variants stand for.
fn strategies(variants: &[Variant]) -> Result<Vec<Strategies>, Failure> {
    let strategies = variants.iter().map(|variant| match variant {
        Variant::Strategies(strategies) => Ok(*strategies),
        Variant::Mode(Mode::Original) => Ok(Strategies::NONE),
        Variant::Mode(_) => {
            let what = "only strategies are tried, which builds may then use";
            Err(Failure::about(format!("--variants {}", variant.name()), what))
        }
    });
    strategies.collect()
}

/// The profile that stands in a file; an empty one where there is none.
fn known(path: &Path) -> Result<Profile, Failure> {
    let name = path.display().to_string();
    match io::read_text_within(path, io::LARGEST_TABLE) {
        Ok(text) if text.trim().is_empty() => Ok(Profile::default()),
        Ok(text) => Profile::read(&text, &name)
            .map_err(|why| Failure::about(&name, format!("nothing can be added to it: {why}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Profile::default()),
        Err(error) => Err(Failure::about(&name, format!("cannot read the file: {error}"))),
    }
}

/// Times the original and its rewrites by some strategies, each on the kernel alone, and chooses.
///
/// # Errors
/// Input cannot be used, the kernel faults, there is no GPU.
pub fn tune(
    request: &Request<'_>,
    strategies: &[Strategies],
    settings: &Settings,
    world: &World<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Entry, Measurement), Failure> {
    let ready = Ready::new(request)?;
    let mut device = ready.open(request, world)?;
    let options = Options {
        kernel: Some(ready.kernel.clone()),
        ..ready.options_for(request, device.as_ref())
    };
    let mut tried: Vec<Tried> = Vec::new();
    let mut texts = Vec::new();
    for strategies in [Strategies::NONE].iter().chain(strategies) {
        let name = word_for(*strategies);
        if tried.iter().any(|one| one.name == name) {
            continue;
        }
        let text = Variant::Strategies(*strategies).make(request.original, &options)?;
        let same =
            texts.iter().find(|(_, known): &&(String, SourceFile)| known.text() == text.text());
        let same_as = same.map(|(name, _)| name.clone());
        if same_as.is_none() {
            texts.push((name.clone(), text));
        }
        tried.push(Tried { strategies: *strategies, name, same_as });
    }
    let candidates = ready.assemble(world, device.as_ref(), texts)?;
    let subject = Subject {
        candidates: &candidates,
        launch: &ready.launch,
        launch_name: request.launch.name(),
        kernel: &ready.kernel,
    };
    let measured = measure(device.as_mut(), &subject, settings, progress)
        .map_err(|error| failed(request.launch, &error))?;
    let module = ptx::parse(request.original, REWRITABLE)?;
    let kernel = module.functions().find(|function| {
        function.name.text == ready.kernel && !matches!(function.body, ptx::Body::Absent)
    });
    let kernel = kernel.ok_or_else(|| Failure::about(request.original.name(), "no such kernel"))?;
    let hash = Digests::new(request.original, &module).of(kernel);
    Ok((tuned::entry(&measured, &tried, hash), measured))
}
