//! The judge's answers about the rewritten kernels of a text.
//!
//! In: a text and its rewriting. Out: for each of some functions its [`Proof`]. The judge ([`crate::verify`]) knows
//! nothing of how the text was rewritten. Its work is bounded by counts, so that a build gives the same result everywhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Versions;
use crate::report::{ProofReport, ProvedBy};
use crate::source::Diagnostic;
use crate::verify::{self, Certificate, CertificateOutcome, Verdict};

/// The judge's answer about a function.
#[derive(Clone, Debug)]
pub struct Proof {
    /// For the report.
    pub report: ProofReport,
    /// The reason, if the rewrite is not proved.
    pub why: Option<String>,
}

impl Proof {
    /// The judge has failed.
    pub fn none(why: String) -> Proof {
        let verdict = Verdict::Unknown.to_string();
        Proof { report: ProofReport { verdict, by: ProvedBy::Search, steps: 0 }, why: Some(why) }
    }
}

/// The answers about some functions of a text, by their names; `certificate`: the rewriter's word for its changes.
///
/// # Errors
/// A syntax error in either text.
pub fn proofs(
    Versions { original, rewritten }: &Versions,
    certificate: Option<Arc<Certificate>>,
    names: &[&str],
) -> Result<BTreeMap<String, Proof>, Diagnostic> {
    let options = verify::Options { certificate, ..verify::Options::for_builds() };
    let judged = verify::verify(original, rewritten, &options)?;
    let outside = judged.problems.first().map(|problem| problem.reason.as_str());
    let functions = judged.functions.iter();
    let wanted = functions.filter(|function| names.contains(&function.name.as_str()));
    let each = wanted.map(|function| {
        let verdict = match (function.verdict, outside) {
            (Verdict::Equal, Some(_)) => Verdict::Unknown,
            (verdict, _) => verdict,
        };
        let own = match &function.certificate {
            // The search may have reached its budget, which says less.
            Some(CertificateOutcome::Unproved(why)) => Some(why.as_str()),
            _ => function.problems.first().map(|problem| problem.reason.as_str()),
        };
        let why = own.or(outside).unwrap_or("no reason is known").to_owned();
        let report = ProofReport {
            verdict: verdict.to_string(),
            by: match function.certificate {
                Some(CertificateOutcome::Proved) => ProvedBy::Certificate,
                _ => ProvedBy::Search,
            },
            steps: function.steps,
        };
        let why = (verdict != Verdict::Equal).then_some(why);
        (function.name.clone(), Proof { report, why })
    });
    Ok(each.collect())
}
