//! Every environment variable that the program reads, and the one place that reads them.
//!
//! In: a way to look a variable up. Out: [`Settings`]. The values of variables that stand for options
//! are checked only where [`options`] needs them, so that a wrong value costs a warning and not a
//! build.

use super::io;
use super::values::{self, Words};
use crate::ab::cuda;
use crate::cost::Costs;
use crate::lint;
use crate::pipeline::Options;
use crate::profile::{Consulted, Profile};
use crate::ptxas::child::TUNABLES;
use crate::ptxas::invoke::DEPTH;
use crate::select::Strategies;
use crate::traffic::Assumed;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The path or name of the real ptxas.
pub const PTXAS: &str = "PTXASW_PTXAS";
/// `off` (or `0`, `false`, `no`): hand every call over untouched.
pub const SWITCH: &str = "PTXASW";
/// As `--mode`.
pub const MODE: &str = "PTXASW_MODE";
/// As `--max-delta`.
pub const MAX_DELTA: &str = "PTXASW_MAX_DELTA";
/// As `--select`: without effect.
pub const SELECT: &str = "PTXASW_SELECT";
/// As `--strategy`.
pub const STRATEGY: &str = "PTXASW_STRATEGY";
/// As `--kernels`.
pub const KERNELS: &str = "PTXASW_KERNELS";
/// As `--block`.
pub const BLOCK: &str = "PTXASW_BLOCK";
/// As `--costs`.
pub const COSTS: &str = "PTXASW_COSTS";
/// As `--profile`.
pub const PROFILE: &str = "PTXASW_PROFILE";
/// `1` allows the modes that compute wrong results.
pub const UNSAFE: &str = "PTXASW_UNSAFE";
/// `0` (or `off`, `false`, `no`): rewrites are used without a proof.
pub const VERIFY: &str = "PTXASW_VERIFY";
/// `off` (or `0`, `false`, `no`): the assembler's result is not checked for what the rewrite costs.
pub const CHECK: &str = "PTXASW_CHECK";
/// `full`: launches fill the machine, so only the cycles with all warps resident that fit decide.
pub const LAUNCH: &str = "PTXASW_LAUNCH";
/// A folder in which decisions about texts are noted, for later calls with the same texts.
pub const CACHE: &str = "PTXASW_CACHE";
/// A folder that receives each original and rewritten PTX.
pub const KEEP: &str = "PTXASW_KEEP";
/// A folder that receives one JSON report per assembled file.
pub const REPORT: &str = "PTXASW_REPORT";
/// A folder that receives LLVM's optimisation remarks for each assembled file.
pub const REMARKS: &str = "PTXASW_REMARKS";
/// `warn`: show the warnings of `lint` in a build; `error`: also fail the call if there are some.
pub const LINT: &str = "PTXASW_LINT";
/// Log filter, in env_logger's syntax.
pub const LOG: &str = "PTXASW_LOG";
/// Where programs are looked for.
pub const PATH: &str = "PATH";

/// The prefix of the names of our variables.
const PREFIX: &str = "PTXASW";

/// Every variable of ours.
const OURS: [&str; 23] = [
    PTXAS,
    SWITCH,
    MODE,
    MAX_DELTA,
    SELECT,
    STRATEGY,
    KERNELS,
    BLOCK,
    COSTS,
    PROFILE,
    UNSAFE,
    VERIFY,
    CHECK,
    LAUNCH,
    CACHE,
    KEEP,
    REPORT,
    REMARKS,
    LINT,
    LOG,
    DEPTH,
    RUN_CHECKS,
    REQUIRE_PTXAS,
];

/// Read by the shared library alone (`ptxasw-capi`).
const RUN_CHECKS: &str = "PTXASW_RUN_CHECKS";

/// Read by the tests alone: fail where there is no real ptxas.
const REQUIRE_PTXAS: &str = "PTXASW_REQUIRE_PTXAS";

/// The values of the environment, not validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// [`PTXAS`].
    pub ptxas: Option<OsString>,
    /// [`SWITCH`] is off.
    pub off: bool,
    /// [`MODE`].
    pub mode: Option<String>,
    /// [`MAX_DELTA`].
    pub max_delta: Option<String>,
    /// [`STRATEGY`].
    pub strategy: Option<String>,
    /// [`KERNELS`].
    pub kernels: Option<String>,
    /// [`BLOCK`].
    pub block: Option<String>,
    /// [`COSTS`].
    pub costs: Option<String>,
    /// [`PROFILE`].
    pub profile: Option<String>,
    /// [`UNSAFE`] is `1`.
    pub allow_unsafe: bool,
    /// [`VERIFY`] is off.
    pub unverified: bool,
    /// [`CHECK`] is off.
    pub unchecked: bool,
    /// [`LAUNCH`].
    pub launch: Option<String>,
    /// Switches that are neither on nor off, one line each.
    pub unclear: Vec<String>,
    /// [`CACHE`].
    pub cache: Option<PathBuf>,
    /// [`KEEP`].
    pub keep: Option<PathBuf>,
    /// [`REPORT`].
    pub report: Option<PathBuf>,
    /// [`REMARKS`].
    pub remarks: Option<PathBuf>,
    /// [`LINT`].
    pub lint: Option<String>,
    /// [`LOG`].
    pub log: Option<String>,
    /// [`PATH`].
    pub path: Option<OsString>,
    /// [`DEPTH`]: how many stand-ins have called each other before this one.
    pub depth: u32,
    /// Whether [`TUNABLES`] is set, to nothing perhaps.
    pub tunables: bool,
}

/// How findings of `lint` are treated in a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linting {
    /// They are shown.
    Warn,
    /// They are shown, and the call fails if there are some.
    Error,
}

impl Settings {
    /// The threads of a block along x, y and z, if [`BLOCK`] names them.
    ///
    /// # Errors
    /// It names no shape.
    pub fn shape_of_blocks(&self) -> Result<Option<[u64; 3]>, String> {
        let read = |shape| values::block(shape).map_err(|why| format!("{BLOCK}={shape}: {why}"));
        self.block.as_deref().map(read).transpose()
    }

    /// The options of [`LINT`]. A shape that is not allowed is reported where a text is rewritten.
    pub fn lint_options(&self) -> lint::Options {
        let block = self.shape_of_blocks().unwrap_or_default();
        let assumed = Assumed { block, ..Assumed::default() };
        lint::Options { level: lint::Level::Warning, assumed, kernel: None }
    }

    /// What [`LINT`] asks for.
    ///
    /// # Errors
    /// One line: the value is not known.
    pub fn linting(&self) -> Result<Option<Linting>, String> {
        match self.lint.as_deref() {
            None | Some("off" | "0" | "false" | "no") => Ok(None),
            Some("warn" | "1") => Ok(Some(Linting::Warn)),
            Some("error") => Ok(Some(Linting::Error)),
            Some(other) => Err(format!("{LINT}={other}: `warn` or `error` is expected")),
        }
    }

    /// The settings of this process.
    #[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
    pub fn of_process() -> Settings {
        Settings::from_lookup(|name| std::env::var_os(name))
    }

    /// Whether launches fill the machine.
    pub fn fills_machine(&self) -> bool {
        self.launch.as_deref() == Some("full")
    }

    /// Takes the settings from a lookup of variables; an empty variable counts as unset.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Settings {
        let get = |name| lookup(name).filter(|value| !value.is_empty());
        let text = |name| get(name).map(|value| value.to_string_lossy().into_owned());
        let lower = |name| text(name).map(|value| value.trim().to_ascii_lowercase());
        let is = |name, words: [&str; 4]| lower(name).is_some_and(|v| words.contains(&v.as_str()));
        let (is_on, is_off) = (|name| is(name, ON), |name| is(name, OFF));
        let unclear =
            [SWITCH, VERIFY, CHECK].into_iter().filter(|name| !is_on(name) && !is_off(name));
        let unclear = unclear
            .filter_map(|name| Some(format!("{name}={}: `1` or `0` is expected", text(name)?)));
        Settings {
            ptxas: get(PTXAS),
            off: is_off(SWITCH),
            mode: text(MODE),
            max_delta: text(MAX_DELTA),
            strategy: text(STRATEGY),
            kernels: text(KERNELS),
            block: text(BLOCK),
            costs: text(COSTS),
            profile: text(PROFILE),
            allow_unsafe: text(UNSAFE).is_some_and(|value| value == "1"),
            unverified: is_off(VERIFY),
            unchecked: is_off(CHECK),
            launch: lower(LAUNCH),
            unclear: unclear.collect(),
            cache: get(CACHE).map(PathBuf::from),
            keep: get(KEEP).map(PathBuf::from),
            report: get(REPORT).map(PathBuf::from),
            remarks: get(REMARKS).map(PathBuf::from),
            lint: lower(LINT),
            log: text(LOG),
            path: get(PATH),
            depth: text(DEPTH).and_then(|value| value.trim().parse().ok()).unwrap_or(0),
            tunables: lookup(TUNABLES).is_some(),
        }
    }
}

/// The names of the variables of this process.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn names_of_process() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).collect()
}

/// Names that are less alike, from 0 to 1 (Jaro similarity), are not taken for misspelt ones.
const LEAST_ALIKE: f64 = 0.7;

/// Faults of the variables: names that nobody reads, and values that are not allowed.
pub fn problems(names: &[OsString], settings: &Settings) -> Vec<String> {
    let mut problems: Vec<String> = names
        .iter()
        .filter_map(|name| name.to_str())
        .filter(|name| name.starts_with(PREFIX) && !OURS.contains(name))
        .map(|name| {
            let alike =
                |ours: &str| strsim::jaro(&name[PREFIX.len()..], ours.trim_start_matches(PREFIX));
            let near = OURS.into_iter().max_by(|a, b| alike(a).total_cmp(&alike(b)));
            let advice = match near.filter(|ours| alike(ours) >= LEAST_ALIKE) {
                Some(near) => format!("did you mean {near}?"),
                None => "docs/environment.md lists them".to_owned(),
            };
            format!("{name} is not a variable of ptxasw; {advice}")
        })
        .collect();
    problems.sort();
    if settings.depth > 0 {
        problems
            .push(format!("{DEPTH} is set, which only calls of ptxasw's own should do; unset it"));
    }
    problems.extend(options(settings).err());
    problems.extend(settings.linting().err());
    problems.extend(Taken::from(settings).warnings);
    problems
}

/// Settings that a call goes without where their values cannot be used.
#[derive(Clone, Debug, Default)]
struct Taken {
    strategies: Strategies,
    costs: Option<Costs>,
    profile: Option<Arc<Consulted>>,
    /// One line for each setting that cannot be used.
    warnings: Vec<String>,
}

impl Taken {
    fn from(settings: &Settings) -> Taken {
        let mut taken = Taken::default();
        if let Some(text) = &settings.strategy {
            match text.parse() {
                Ok(strategies) => taken.strategies = strategies,
                Err(error) => taken.warnings.push(format!(
                    "{STRATEGY}={text}: {error}; `{}` is taken",
                    Strategies::default()
                )),
            }
        }
        if let Some(path) = &settings.costs {
            match read_costs(path) {
                Ok(costs) => taken.costs = Some(costs),
                Err(error) => taken
                    .warnings
                    .push(format!("{COSTS}: {error}; the architecture's own are taken")),
            }
        }
        if let Some(other) = settings.launch.as_ref().filter(|_| !settings.fills_machine()) {
            taken
                .warnings
                .push(format!("{LAUNCH}={other}: `full` is expected; launches may be of any size"));
        }
        match profile(settings) {
            Ok(found) => taken.profile = found,
            Err(warning) => taken.warnings.push(warning),
        }
        taken
    }
}

fn read_table(path: &str) -> Result<String, String> {
    let read = io::read_text_within(Path::new(path), io::LARGEST_TABLE);
    read.map_err(|error| format!("{path}: {error}"))
}

/// A table of costs from a file.
///
/// # Errors
/// One line: why the file cannot be read, or its error.
pub fn read_costs(path: &str) -> Result<Costs, String> {
    let text = read_table(path)?;
    Costs::read_of_user(&text, path).map_err(|missing| missing.to_string())
}

/// A profile from a file, to be obeyed on this machine.
///
/// # Errors
/// One line: the file cannot be read, or its error.
pub fn read_profile(path: &str) -> Result<Arc<Consulted>, String> {
    let text = read_table(path)?;
    Ok(Arc::new(Consulted::new(Profile::read(&text, path)?, path, cuda::driver)))
}

/// The profile that is named, if one is.
///
/// # Errors
/// One line: why it cannot be used, and the fallback.
pub fn profile(settings: &Settings) -> Result<Option<Arc<Consulted>>, String> {
    let read = settings.profile.as_deref().map(read_profile).transpose();
    read.map_err(|error| format!("{PROFILE}: {error}; the costs decide"))
}

/// Settings that a call does without, and why, one line each.
pub fn warnings(settings: &Settings) -> Vec<String> {
    Taken::from(settings).warnings
}

/// The words that switch something on, and those that switch it off.
const ON: [&str; 4] = ["on", "1", "true", "yes"];
const OFF: [&str; 4] = ["off", "0", "false", "no"];

/// The modes that leave loads out, which is for measuring and computes wrong results.
const UNSAFE_MODES: [&str; 2] = ["no-load", "no-corner"];

/// The options of a rewrite in wrapper mode.
///
/// # Errors
/// A value that the option does not allow, or a mode that computes wrong results without [`UNSAFE`].
pub fn options(settings: &Settings) -> Result<Options, String> {
    if let Some(unclear) = settings.unclear.first() {
        return Err(unclear.clone());
    }
    if let Some(mode) = &settings.mode
        && UNSAFE_MODES.contains(&mode.as_str())
        && !settings.allow_unsafe
    {
        return Err(format!("{MODE}={mode} computes wrong results and needs {UNSAFE}=1 besides"));
    }
    let all_bodies = settings.report.is_some() || settings.remarks.is_some();
    let mut options = Options { all_bodies, ..Options::default() };
    if let Some(mode) = &settings.mode {
        options.mode = choice(MODE, mode)?;
    }
    if let Some(rules) = &settings.kernels {
        options.kernels = rules.parse().map_err(|why| format!("{KERNELS}={rules}: {why}"))?;
    }
    let Taken { strategies, costs, profile, .. } = Taken::from(settings);
    options.select.strategies = strategies;
    options.costs = costs;
    options.profile = profile;
    options.select.block = settings.shape_of_blocks()?;
    if let Some(delta) = &settings.max_delta {
        options.select.max_delta = match delta.parse() {
            Ok(number @ 0..=31) => number,
            _ => return Err(format!("{MAX_DELTA}={delta}: a number from 0 to 31 is expected")),
        };
    }
    Ok(options)
}

/// The value of a variable, spelled as the command-line option of the same meaning spells it.
fn choice<T: Words>(variable: &str, value: &str) -> Result<T, String> {
    T::read(value)
        .ok_or_else(|| format!("{variable}={value}: one of {} is expected", T::words().join(", ")))
}

/// The interpreter of the current Python environment: that of `VIRTUAL_ENV`, else that of the environment into
/// which this program was installed, for it is called by its path where none is activated, else `python3` in
/// `PATH`.
#[expect(clippy::disallowed_methods, reason = "this is where the environment is read")]
pub fn python() -> Option<PathBuf> {
    let activated = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let around = || {
        let program = std::env::current_exe().ok()?;
        let folder = program.parent()?.parent()?;
        folder.join("pyvenv.cfg").exists().then(|| folder.to_owned())
    };
    let of = |folder: PathBuf| Some(folder.join("bin/python")).filter(|python| python.exists());
    activated
        .and_then(of)
        .or_else(|| around().and_then(of))
        .or_else(|| which::which("python3").ok())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        nothing_set_is_the_default,
        the_switch_has_an_off_position_only,
        misspelt_names_and_bad_values_are_found,
        modes_that_compute_wrong_results_need_leave
    );

    fn settings(pairs: &[(&str, &str)]) -> Settings {
        let find = |name: &str| pairs.iter().find(|(key, _)| *key == name);
        Settings::from_lookup(|name| find(name).map(|(_, value)| value.into()))
    }

    fn nothing_set_is_the_default() {
        assert_eq!(settings(&[]), Settings::default());
        assert_eq!(settings(&[(KEEP, ""), (PTXAS, ""), (SWITCH, "")]), Settings::default());
    }

    fn the_switch_has_an_off_position_only() {
        assert!(settings(&[(SWITCH, "off")]).off);
        assert!(settings(&[(SWITCH, "OFF")]).off && settings(&[(SWITCH, " OFF ")]).off);
        assert!(!settings(&[(SWITCH, "on")]).off);
        assert!(settings(&[(CHECK, "off")]).unchecked && !settings(&[(CHECK, "on")]).unchecked);
    }

    fn misspelt_names_and_bad_values_are_found() {
        let names = ["HOME", "PTXASW_MAXDELTA", PTXAS, SWITCH].map(OsString::from);
        let found = problems(&names, &settings(&[(MODE, "fast")]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("PTXASW_MAXDELTA")
                && found[0].contains("did you mean PTXASW_MAX_DELTA?")
        );
        assert!(found[1].contains("PTXASW_MODE=fast"), "{found:?}");
        assert_eq!(problems(&OURS.map(OsString::from), &settings(&[])), [""; 0]);
    }

    fn modes_that_compute_wrong_results_need_leave() {
        assert!(options(&settings(&[(MODE, "full")])).is_ok());
        for mode in UNSAFE_MODES {
            assert!(options(&settings(&[(MODE, mode)])).unwrap_err().contains(UNSAFE));
            assert!(options(&settings(&[(MODE, mode), (UNSAFE, "yes")])).is_err());
            assert!(options(&settings(&[(MODE, mode), (UNSAFE, "1")])).is_ok());
        }
    }
}
