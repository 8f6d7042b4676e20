//! `ptxasw doctor`: checks an installation; the findings as lines, and an exit status.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use super::env::{self, Settings};
use super::exit::{Failure, Status};
use super::{io, python, wrapper};
use crate::install::doctor::{self, Examination, Finding, Level};
use crate::install::python::{Assembler, Standing};
use crate::report::Report;
use crate::solver;

/// `doctor`
#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// A toolkit's folder; without it, the assembler that `PATH` leads to is checked
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

impl Doctor {
    /// Prints the findings; the status tells whether everything works.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub(super) fn run(&self, called_as: &OsStr) -> Result<Status, Failure> {
        let settings = Settings::of_process();
        let search = wrapper::search(called_as, &settings);
        // (Without Python there are no packages.)
        let all = match self.directory {
            Some(_) => Vec::new(),
            None => python::all().unwrap_or_default(),
        };
        // Where no compiler finds a ptxas in `PATH`, those of packages are used.
        let of_package = || {
            let ours = |one: &&Assembler| one.standing() == Standing::Ours;
            let ours = all.iter().filter(ours).map(|one| &one.place);
            ours.clone().find(|place| place.name == "ptxas").map(|place| place.folder.clone())
        };
        let in_path = which::which_in("ptxas", search.path.as_ref(), &search.directory).is_ok();
        let directory = match &self.directory {
            None if !in_path => of_package(),
            named => named.clone(),
        };
        let directory = directory.as_deref();
        let mut findings = doctor::examine(&Examination {
            directory,
            search,
            off: settings.off,
            solver: z3,
            replaced,
        });
        findings.extend(packages(&all));
        findings.extend(env::problems(&env::names_of_process(), &settings).into_iter().map(
            |problem| Finding::wrong(problem, "docs/environment.md has a table of all variables"),
        ));
        let wrong = findings.iter().filter(|finding| finding.level == Level::Wrong).count();
        let mut text = String::new();
        for finding in &findings {
            let level = match finding.level {
                Level::Good => "ok",
                Level::Note => "note",
                Level::Wrong => "wrong",
            };
            let _ = writeln!(text, "{level:<6} {}", finding.what.replace('\n', "\n       "));
            if let Some(help) = finding.help.as_ref().filter(|help| !help.is_empty()) {
                let _ = writeln!(text, "       help: {help}");
            }
        }
        let _ = match wrong {
            0 => writeln!(text, "\neverything works"),
            1 => writeln!(text, "\n1 thing is wrong"),
            many => writeln!(text, "\n{many} things are wrong"),
        };
        io::print(&text)?;
        Ok(if wrong == 0 { Status::SUCCESS } else { Status::UNUSABLE })
    }
}

/// Findings about the assemblers of the current Python environment in which ptxasw is involved.
fn packages(all: &[Assembler]) -> Vec<Finding> {
    let found = all.iter().filter_map(|one| {
        let (front, package) = (one.place.front(), &one.package);
        let of = format!("{}, of {package} {}", front.display(), one.version);
        let again = format!("`ptxasw install --python {package}` does it again");
        match one.standing() {
            Standing::Plain => None,
            Standing::Ours => Some(Finding::good(format!("{of}, is ptxasw"))),
            Standing::Upgraded => {
                let what = format!("{of}, is not ptxasw any more: the package was upgraded since");
                Some(Finding::wrong(what, again))
            }
            Standing::Broken => {
                let help = format!("`pip install --force-reinstall {package}` puts it back");
                Some(Finding::wrong(format!("{of}, is not an assembler that can be run"), help))
            }
        }
    });
    found.collect()
}

/// Whether the solver works.
fn z3() -> Finding {
    if solver::works() {
        Finding::good(format!("{} works", solver::version()))
    } else if !solver::is_there() {
        Finding::wrong(
            format!("{} cannot be loaded; nothing is proved that needs it", solver::LIBRARY),
            "install libz3 (Debian and Ubuntu: `apt-get install libz3-4`)",
        )
    } else {
        Finding::wrong(
            format!("{} gives wrong answers", solver::version()),
            "install libz3 again; the library that was found does not fit",
        )
    }
}

/// The number of replaced loads, as the only report in a folder says.
fn replaced(reports: &Path) -> Option<usize> {
    let entry = std::fs::read_dir(reports).ok()?.next()?.ok()?;
    let report: Report = serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok()?;
    Some(report.kernels.iter().map(|kernel| kernel.shuffles).sum())
}
