//! `ptxasw lint`: what every memory access costs, by source line, and what to do about those that waste.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use strum::IntoEnumIterator;

use super::exit::{Failure, Status};
use super::{io, objects, values};
use crate::lint::{self, Baseline, Level, LintFile, Options, Rule, Sources};
use crate::source::{SourceFile, listed};
use crate::traffic::Assumed;

/// `lint`
#[derive(Debug, Args)]
pub(super) struct Lint {
    /// PTX files, `-` for standard input; also objects, libraries, executables and cubins with PTX inside, which
    /// cuobjdump reads
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Look at this function alone; its name in the PTX or in the source
    #[arg(long)]
    kernel: Option<String>,
    /// The shape of blocks where the text has no .reqntid [default: whole warps along x]
    #[arg(long, value_name = "16x16", value_parser = values::block)]
    block: Option<[u64; 3]>,
    /// Take pointer parameters to be multiples of this number of bytes, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 256, value_parser = power_of_two)]
    pointer_align: u64,
    /// How to show the findings
    #[arg(long, value_enum, default_value_t)]
    format: LintFormat,
    /// The lowest level of findings that are shown
    #[arg(long, value_enum, default_value_t)]
    level: LintLevel,
    /// End with exit status 1 if there is a finding of this rule; may be given more than once
    #[arg(long, value_name = "RULE|all", value_parser = denied)]
    deny: Vec<Denied>,
    /// An earlier output of `--format json`: its findings are known and not shown
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

/// Output formats of `lint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LintFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code-scanning services.
    Sarif,
    /// Workflow commands of GitHub Actions.
    Github,
}

/// The lowest level of findings that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum LintLevel {
    /// Everything.
    #[default]
    Note,
    /// Findings to show.
    Warning,
}

/// Rules that are not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    All,
    One(Rule),
}

fn power_of_two(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number: &u64| number.is_power_of_two());
    number.ok_or_else(|| "a power of two is expected".to_owned())
}

fn denied(text: &str) -> Result<Denied, String> {
    match (text, text.parse()) {
        ("all", _) => Ok(Denied::All),
        (_, Ok(rule)) => Ok(Denied::One(rule)),
        _ => Err(format!("`all` or one of {} is expected", listed(Rule::iter().map(Rule::name)))),
    }
}

impl Lint {
    /// Prints the findings.
    ///
    /// # Errors
    /// A file cannot be read or parsed, no file has the function that is asked for.
    pub(super) fn run(&self) -> Result<Status, Failure> {
        let mut baseline = match &self.baseline {
            None => Baseline::default(),
            Some(path) => {
                let text = io::read(path)?;
                Baseline::read(text.text()).map_err(|why| Failure::about(text.name(), why))?
            }
        };
        let level = match self.level {
            LintLevel::Note => Level::Note,
            LintLevel::Warning => Level::Warning,
        };
        let assumed = Assumed { block: self.block, pointer_bytes: self.pointer_align };
        let options = Options { kernel: self.kernel.clone(), assumed, level };
        let mut files = Vec::new();
        for path in &self.files {
            for source in objects::texts(path)? {
                let mut file = lint::lint(&source, &options)?;
                baseline.silence(&mut file);
                files.push((source, file));
            }
        }
        if let Some(name) = &self.kernel
            && files.iter().all(|(_, file)| file.kernels.is_empty())
        {
            let first = files.first().map_or("", |(source, _)| source.name());
            return Err(Failure::about(
                first,
                format!("there is no function `{name}` with a body"),
            ));
        }
        io::print(&self.shown(&files)?)?;
        let is_denied = |rule: Rule| {
            self.deny
                .iter()
                .any(|denied| matches!(denied, Denied::All) || *denied == Denied::One(rule))
        };
        let left =
            files.iter().any(|(_, file)| file.findings().any(|(_, one)| is_denied(one.rule)));
        Ok(if left { Status::DENIED } else { Status::SUCCESS })
    }

    fn shown(&self, files: &[(SourceFile, LintFile)]) -> Result<String, Failure> {
        let reports = || files.iter().map(|(_, file)| file);
        Ok(match self.format {
            LintFormat::Json => match files {
                [(_, file)] => io::json(file)?,
                _ => io::json(&reports().collect::<Vec<_>>())?,
            },
            LintFormat::Sarif => {
                io::json(&lint::sarif(&reports().collect::<Vec<_>>(), env!("CARGO_PKG_VERSION")))?
            }
            LintFormat::Github => reports().map(lint::github).collect(),
            LintFormat::Text => {
                let colours = std::io::stdout().is_terminal();
                let each = files.iter().map(|(source, file)| {
                    lint::text(file, source, &mut Sources::beside(source.name()), colours)
                });
                each.collect()
            }
        })
    }
}
