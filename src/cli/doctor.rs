//! `ptxasw doctor`: the findings as lines, and an exit status.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use super::env::{self, Settings};
use super::wrapper;
use crate::install::doctor::{self, Examination, Finding, Level};

/// The exit status where something does not work.
const WRONG: u8 = 2;

/// Checks an installation; gives the text and the exit status, 0 or 2.
pub fn doctor(directory: Option<&Path>, called_as: &OsStr) -> (String, u8) {
    let settings = Settings::of_process();
    let search = wrapper::search(called_as, &settings);
    let mut findings = doctor::examine(&Examination { directory, search, off: settings.off });
    findings.extend(
        env::problems(&env::names_of_process(), &settings)
            .into_iter()
            .map(|problem| Finding::wrong(problem, "the README has a table of all variables")),
    );
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
    (text, if wrong == 0 { 0 } else { WRONG })
}
