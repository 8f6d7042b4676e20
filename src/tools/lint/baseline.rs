//! Findings that are known and silent: an earlier output of `lint --format json`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::report::LintFile;
use super::rule::Rule;

/// How many findings are known of a function, a rule and a message. Lines are left out: they change with every edit.
#[derive(Debug, Default)]
pub struct Baseline {
    known: BTreeMap<(String, Rule, String), u32>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Known {
    Several(Vec<KnownFile>),
    One(KnownFile),
}

#[derive(Deserialize)]
struct KnownFile {
    kernels: Vec<KnownKernel>,
}

#[derive(Deserialize)]
struct KnownKernel {
    name: String,
    findings: Vec<KnownFinding>,
}

#[derive(Deserialize)]
struct KnownFinding {
    rule: Rule,
    message: String,
}

impl Baseline {
    /// Takes the findings from the JSON of one file or of several.
    ///
    /// # Errors
    /// The text is not such JSON.
    pub fn read(text: &str) -> Result<Baseline, String> {
        let known: Known = serde_json::from_str(text).map_err(|error| {
            format!("this is not the output of `ptxasw lint --format json`: {error}")
        })?;
        let files = match known {
            Known::Several(files) => files,
            Known::One(file) => vec![file],
        };
        let mut baseline = Baseline::default();
        for kernel in files.into_iter().flat_map(|file| file.kernels) {
            for finding in kernel.findings {
                let key = (kernel.name.clone(), finding.rule, finding.message);
                *baseline.known.entry(key).or_default() += 1;
            }
        }
        Ok(baseline)
    }

    /// Removes known findings, each as often as it is known.
    pub fn silence(&mut self, file: &mut LintFile) {
        file.retain(|kernel, finding| {
            let key = (kernel.to_owned(), finding.rule, finding.message.clone());
            match self.known.get_mut(&key) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    false
                }
                _ => true,
            }
        });
    }
}
