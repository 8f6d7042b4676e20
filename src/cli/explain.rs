//! `ptxasw explain`: the meaning of a reason for keeping a load, a rule of `lint`, a strategy or a check at run time, and what
//! can be done about it. The texts are the sections of `docs/refusals.md`, `docs/lint.md` and `docs/strategies.md`.

use clap::Args;

use super::exit::Failure;
use super::io;
use crate::source::listed;

/// The pages with a section for each reason to keep a load, each rule of `lint`, and each strategy and check at run time.
const PAGES: [&str; 3] = [
    include_str!("../../docs/refusals.md"),
    include_str!("../../docs/lint.md"),
    include_str!("../../docs/strategies.md"),
];

/// `explain`
#[derive(Debug, Args)]
pub(super) struct Explain {
    /// The name of a rule, a strategy or a check, as in `candidates`, `lint`, the log, the report or a remark:
    /// `may-have-changed`, `MayHaveChanged`, `reuse`, `whole-warp`; without one, all names
    rule: Option<String>,
}

impl Explain {
    /// Prints the section of a rule.
    ///
    /// # Errors
    /// There is no such rule.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Some(rule) = &self.rule else {
            return io::print(&rules().map(|(name, _)| format!("{name}\n")).collect::<String>());
        };
        let wanted = dashed(rule.trim_matches('`'));
        let found: Vec<_> = rules().filter(|(name, _)| *name == wanted).collect();
        match found.is_empty() {
            false => {
                let shown = found.iter().map(|(name, text)| format!("{name}\n\n{}\n", text.trim()));
                io::print(&shown.collect::<Vec<_>>().join("\n"))
            }
            true => {
                let close = |name: &str| strsim::jaro_winkler(name, &wanted) > 0.8;
                let names: Vec<&str> = rules().map(|(name, _)| name).collect();
                let like: Vec<&str> = names.into_iter().filter(|name| close(name)).collect();
                let advice = match like.is_empty() {
                    true => "`ptxasw explain` lists all names".to_owned(),
                    false => format!("did you mean {}", listed(like)),
                };
                let message = format!("error: nothing is called `{rule}`; {advice}");
                Err(Failure::unusable(message))
            }
        }
    }
}

/// The rules with their texts. (Sections whose heading begins with a capital are about something else.)
fn rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = PAGES.iter().flat_map(|page| page.split("\n## ").skip(1));
    let rules = sections.filter(|section| section.starts_with(|c: char| c.is_ascii_lowercase()));
    rules.map(|section| section.split_once('\n').unwrap_or((section, "")))
}

/// `no-partner` of `NoPartner`, which is how remarks spell it.
fn dashed(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
