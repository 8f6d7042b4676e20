//! One measurement from beginning to end, on whatever [`Device`] it is given.
//!
//! Every variant first runs once from the buffers' first contents, and its output is compared with the original's; then
//! all are warmed up, and timed in rounds ([`schedule`]). The order of calls is a function of the arguments and of the
//! device's answers.

use super::compare::{self, Difference};
use super::device::{Device, Error, KernelId, L2, Program, Usage};
use super::measurement::{Against, Measurement, Variant};
use super::schedule;
use super::stats::{median, ratio_interval};
use super::throttle::{self, Clock};
use super::verdict;
use crate::launch::{Buffer, Launch};
use crate::source::SourceFile;
use std::collections::BTreeMap;

/// How to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Rounds: samples of each variant.
    pub samples: usize,
    /// The least time that a sample takes, in microseconds; the kernel is launched often enough for
    /// it.
    pub sample_us: f64,
    /// Launches in a sample; if given, `sample_us` has no effect.
    pub scale: Option<u32>,
    /// How long to run before anything counts, in microseconds.
    pub warm_up_us: f64,
    /// The seed of all random choices.
    pub seed: u64,
    /// The state of the L2 cache before a launch.
    pub l2: L2,
    /// The smallest difference that counts, as a part of 1.
    pub threshold: f64,
    /// The confidence of intervals.
    pub confidence: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            samples: 50,
            sample_us: 1000.0,
            scale: None,
            warm_up_us: 300_000.0,
            seed: 1,
            l2: L2::Keep,
            threshold: 0.01,
            confidence: 0.99,
        }
    }
}

/// A variant, assembled for the device. The first one is the original.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// `original`, a mode, strategies, or the name of a file.
    pub name: String,
    /// Its PTX.
    pub source: SourceFile,
    /// Its machine code.
    pub cubin: Vec<u8>,
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The variants, the original first.
    pub candidates: &'a [Candidate],
    /// The launch.
    pub launch: &'a Launch,
    /// The launch file's name.
    pub launch_name: &'a str,
    /// The kernel.
    pub kernel: &'a str,
}

/// Loads, compares and times the variants. `progress` is called with the number of rounds that are
/// done and the number of all rounds.
///
/// # Errors
/// The device's error, with the name of the variant that it concerns.
pub fn measure(
    device: &mut dyn Device,
    subject: &Subject<'_>,
    settings: &Settings,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Measurement, Error> {
    let Subject { candidates, launch, launch_name, kernel } = *subject;
    let original =
        candidates.first().ok_or_else(|| Error::Rejected("there is no original".to_owned()))?;
    let mut notes = Vec::new();
    device.prepare(launch)?;
    let loaded = load(device, candidates, kernel)?;
    let ids: Vec<KernelId> = loaded.iter().map(|(id, _)| *id).collect();
    let outputs = Outputs::find(device, launch, &ids, candidates, &mut notes)?;
    let launches = warm_up(device, &ids, settings)?;
    if !outputs.idempotent {
        notes.push(CHANGES_ITS_OUTPUT.to_owned());
    }

    let timed = Rounds { candidates, ids: &ids, launches, reset: !outputs.idempotent };
    let (times, clocks) = timed.run(device, settings, progress)?;
    let (throttling, rounds) = throttle::judge(&clocks, &times[0]);
    let counting =
        |at: usize| -> Vec<f64> { rounds.iter().map(|&round| times[at][round]).collect() };
    let of_original = counting(0);
    let variants = candidates.iter().enumerate().map(|(at, candidate)| {
        let of_variant = counting(at);
        let against = (at > 0).then(|| {
            compared(&of_original, &of_variant, outputs.differences[at].clone(), settings)
        });
        Variant {
            name: candidate.name.clone(),
            median_us: median(&of_variant).unwrap_or_default(),
            samples: of_variant.len(),
            usage: loaded[at].1,
            times_us: of_variant,
            against,
        }
    });
    let variants = variants.collect();
    if median(&times[0]).is_some_and(|time| time < SHORTEST_US) {
        notes.push(format!(
            "a launch takes less than {SHORTEST_US} us: the time is mostly that of launching, use a \
             larger launch"
        ));
    }
    let properties = device.properties();
    let blocks: u64 = launch.grid.iter().map(|&extent| u64::from(extent)).product();
    if blocks < u64::from(properties.multiprocessors) {
        notes.push(format!(
            "the launch has {blocks} block{}, and the GPU {} multiprocessors: some of them are idle; `ptxasw launch \
             --for ab` drafts a launch that fills them",
            if blocks == 1 { "" } else { "s" },
            properties.multiprocessors
        ));
    }
    let (major, minor) = properties.capability;
    Ok(Measurement {
        device: properties.name.clone(),
        architecture: format!("sm_{major}{minor}"),
        driver: properties.driver.clone(),
        file: original.source.name().to_owned(),
        launch: launch_name.to_owned(),
        kernel: kernel.to_owned(),
        grid: launch.grid,
        block: launch.block,
        l2: settings.l2,
        launches_per_sample: launches,
        confidence: settings.confidence,
        threshold: settings.threshold,
        seed: settings.seed,
        throttling,
        variants,
        notes,
    })
}

/// Loads the variants of a kernel.
fn load(
    device: &mut dyn Device,
    candidates: &[Candidate],
    kernel: &str,
) -> Result<Vec<(KernelId, Usage)>, Error> {
    let programs = candidates.iter().map(|candidate| {
        let program = Program { source: &candidate.source, cubin: &candidate.cubin, kernel };
        device.load(&program).map_err(|error| named(error, &candidate.name))
    });
    programs.collect()
}

/// The timed variants, loaded, in rounds of one sample each.
struct Rounds<'r> {
    candidates: &'r [Candidate],
    ids: &'r [KernelId],
    /// Launches in a sample.
    launches: u32,
    /// Whether the buffers get their first contents again before each sample.
    reset: bool,
}

/// Times in microseconds by variant and round, and the clocks after each round.
type Timed = (Vec<Vec<f64>>, Vec<Clock>);

impl Rounds<'_> {
    fn run(
        &self,
        device: &mut dyn Device,
        settings: &Settings,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Timed, Error> {
        let mut times = vec![Vec::with_capacity(settings.samples); self.ids.len()];
        let mut clocks: Vec<Clock> = Vec::new();
        for round in 0..settings.samples {
            for at in schedule::order(round, self.ids.len(), settings.seed) {
                if self.reset {
                    device.reset()?;
                }
                let time = device.time(self.ids[at], self.launches, settings.l2);
                times[at].push(time.map_err(|error| named(error, &self.candidates[at].name))?);
            }
            clocks.extend(device.clock());
            progress(round + 1, settings.samples);
        }
        Ok((times, clocks))
    }
}

/// A variant's times against the original's; `differences` are those of its output.
fn compared(
    original: &[f64],
    variant: &[f64],
    differences: Vec<Difference>,
    settings: &Settings,
) -> Against {
    let identical_output = differences.is_empty();
    let interval = ratio_interval(original, variant, settings.confidence, settings.seed);
    Against {
        speedup: median(original).unwrap_or_default() / median(variant).unwrap_or_default(),
        interval,
        verdict: verdict::decide(interval, settings.threshold, identical_output),
        identical_output,
        differences,
    }
}

/// The outputs of the variants.
struct Outputs {
    /// For each variant, how its buffers differ from the original's.
    differences: Vec<Vec<Difference>>,
    /// Whether a second launch leaves the original's buffers as the first did.
    idempotent: bool,
}

impl Outputs {
    fn find(
        device: &mut dyn Device,
        launch: &Launch,
        ids: &[KernelId],
        candidates: &[Candidate],
        notes: &mut Vec<String>,
    ) -> Result<Outputs, Error> {
        let run = |device: &mut dyn Device, at: usize| {
            device.launch(ids[at]).map_err(|error| named(error, &candidates[at].name))
        };
        run(device, 0)?;
        let mut expected = BTreeMap::new();
        for (name, buffer) in &launch.buffers {
            expected.insert(name, Buffer { ty: buffer.ty, bytes: device.read(name)? });
        }
        let differs = |device: &mut dyn Device| -> Result<Vec<Difference>, Error> {
            let mut found = Vec::new();
            for (name, expected) in &expected {
                found.extend(compare::compare(name, expected, &device.read(name)?));
            }
            Ok(found)
        };
        run(device, 0)?;
        let idempotent = differs(device)?.is_empty();
        let mut differences = vec![Vec::new()];
        device.reset()?;
        run(device, 0)?;
        if !differs(device)?.is_empty() {
            let note = "the original's output differs from run to run, so that outputs say little";
            notes.push(note.to_owned());
        }
        for at in 1..ids.len() {
            device.reset()?;
            run(device, at)?;
            differences.push(differs(device)?);
        }
        device.reset()?;
        Ok(Outputs { differences, idempotent })
    }
}

/// Runs all variants until `settings.warm_up_us` have passed. Returns the number of launches in a
/// sample.
fn warm_up(device: &mut dyn Device, ids: &[KernelId], settings: &Settings) -> Result<u32, Error> {
    let mut spent = 0.0;
    let mut launches = 1;
    let mut rounds = 0;
    // The first launch pays for what later ones do not.
    while rounds < 2 || spent < settings.warm_up_us {
        for (at, &id) in ids.iter().enumerate() {
            let time = device.time(id, launches, settings.l2)?;
            spent += time * f64::from(launches);
            if at == 0 && settings.scale.is_none() {
                launches = schedule::launches(time, settings.sample_us);
            }
        }
        rounds += 1;
        if rounds >= MOST_WARM_UP_ROUNDS {
            break;
        }
    }
    Ok(settings.scale.unwrap_or(launches))
}

/// The note on a kernel that has to start from the same buffers each time.
const CHANGES_ITS_OUTPUT: &str = "a second launch changes the results of the first: buffers get their \
                                  first contents again before each sample";

/// In microseconds: a shorter launch ends before the host has issued the next one.
const SHORTEST_US: f64 = 5.0;

/// Rounds of warm-up at most, lest a device that reports no time keep us for ever.
const MOST_WARM_UP_ROUNDS: u32 = 10_000;

fn named(error: Error, variant: &str) -> Error {
    match error {
        Error::Fault(message) => Error::Fault(format!("{variant}: {message}")),
        Error::Rejected(message) => Error::Rejected(format!("{variant}: {message}")),
        Error::Unusable(_) => error,
    }
}
