//! Findings as workflow commands of GitHub Actions, which show them beside the changed lines.

use super::report::LintFile;
use super::rule::Level;

/// One line for each finding.
pub fn github(file: &LintFile) -> String {
    let mut out = String::new();
    for (kernel, finding) in file.findings() {
        let command = match finding.level {
            Level::Warning => "warning",
            Level::Note => "notice",
        };
        let (name, line, column) = match &finding.source {
            Some(origin) => (&origin.file, origin.line, origin.column),
            None => (&file.file, finding.line, 0),
        };
        let column = if column > 0 { format!(",col={column}") } else { String::new() };
        out += &format!(
            "::{command} file={},line={line}{column},title={}::{}\n",
            property(name),
            property(&format!("{} in {}", finding.rule, kernel.demangled)),
            message(&format!("{}; help: {}", finding.message, finding.help)),
        );
    }
    out
}

fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
