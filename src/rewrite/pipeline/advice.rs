//! A profile's advice on the kernels of one module.

use rustc_hash::FxHashMap;

use super::Options;
use crate::cost;
use crate::profile::Advice;
use crate::profile::digest::Digests;
use crate::ptx::{Function, FunctionKind, Module};
use crate::source::SourceFile;

/// Names that one warning shows.
const MOST_NAMES: usize = 4;

/// The advice about each kernel that has some.
#[derive(Debug, Default)]
pub(super) struct Advised {
    by_name: FxHashMap<String, Advice>,
    /// One line for each reason why measurements are not used.
    pub warnings: Vec<String>,
}

impl Advised {
    /// Asks the profile of the options, where there is one and costs would decide without it.
    pub(super) fn new<'s>(
        source: &'s SourceFile,
        module: &Module<'s>,
        functions: &[&Function<'_>],
        options: &Options,
    ) -> Advised {
        let mut advised = Advised::default();
        let Some(profile) = &options.profile else { return advised };
        if !options.select.strategies.are_weighed() {
            return advised;
        }
        let digests = Digests::new(source, module);
        let architecture = options.architecture.unwrap_or(cost::DEFAULT_ARCHITECTURE);
        let mut unused: Vec<(String, Vec<&str>)> = Vec::new();
        for kernel in functions.iter().filter(|function| function.kind == FunctionKind::Entry) {
            let name = kernel.name.text;
            match profile.advise(name, architecture, || digests.of(kernel)) {
                None => {}
                Some(Ok(advice)) => _ = advised.by_name.insert(name.to_owned(), advice),
                Some(Err(why)) => {
                    let why = why.to_string();
                    match unused.iter_mut().find(|(known, _)| *known == why) {
                        Some((_, names)) => names.push(name),
                        None => unused.push((why, vec![name])),
                    }
                }
            }
        }
        let warning = |(why, names): (String, Vec<&str>)| {
            let more = match names.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = names[..names.len().min(MOST_NAMES)].join(", ");
            format!("{}: not used for {shown}{more}: {why}", profile.name())
        };
        advised.warnings = unused.into_iter().map(warning).collect();
        advised
    }

    /// The advice about a function.
    pub(super) fn of(&self, function: &Function<'_>) -> Option<&Advice> {
        self.by_name.get(function.name.text)
    }
}
