//! The judge's answers about the rewritten kernels of a text.
//!
//! In: a text and its rewriting. Out: for each of some functions its [`Proof`]. The judge ([`crate::verify`]) knows
//! nothing of how the text was rewritten. Its work is bounded by counts, so that a build gives the same result everywhere.

use std::collections::BTreeMap;

use super::{Options, Rewritten, Versions, rewrite};
use crate::kernels::demangled;
use crate::report::{ProofReport, ProvedBy};
use crate::source::{Diagnostic, SourceFile};
use crate::verify::{self, Verdict};

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

/// The answers about some functions of a text, by their names.
///
/// # Errors
/// A syntax error in either text.
pub fn proofs(
    Versions { original, rewritten }: &Versions,
    names: &[&str],
) -> Result<BTreeMap<String, Proof>, Diagnostic> {
    let judged = verify::verify(original, rewritten, &verify::Options::for_builds())?;
    let outside = judged.problems.first().map(|problem| problem.reason.as_str());
    let functions = judged.functions.iter();
    let wanted = functions.filter(|function| names.contains(&function.name.as_str()));
    let each = wanted.map(|function| {
        let verdict = match (function.verdict, outside) {
            (Verdict::Equal, Some(_)) => Verdict::Unknown,
            (verdict, _) => verdict,
        };
        let own = function.problems.first().map(|problem| problem.reason.as_str());
        let why = own.or(outside).unwrap_or("no reason is known").to_owned();
        let report = ProofReport {
            verdict: verdict.to_string(),
            by: ProvedBy::Search,
            steps: function.steps,
        };
        let why = (verdict != Verdict::Equal).then_some(why);
        (function.name.clone(), Proof { report, why })
    });
    Ok(each.collect())
}

/// Rewrites one module and proves the result; functions without a proof are left as they are, and the report says so.
///
/// # Errors
/// A syntax error.
pub fn rewrite_proved(source: &SourceFile, options: &Options) -> Result<Rewritten, Diagnostic> {
    let rewritten = rewrite(source, options)?;
    if rewritten.text == source.text() {
        return Ok(rewritten);
    }
    let names: Vec<&str> = rewritten.edits.iter().map(|(name, _)| name.as_str()).collect();
    let proofs = proofs(&Versions::whole(source, &rewritten), &names)?;
    Ok(rewritten.proved(source, &proofs))
}

impl Rewritten {
    /// This without the functions that one of some proofs does not prove, and with the proofs in the report.
    #[must_use]
    pub fn proved(self, source: &SourceFile, proofs: &BTreeMap<String, Proof>) -> Rewritten {
        let unproved: Vec<(String, String)> = proofs
            .iter()
            .filter_map(|(name, proof)| {
                let why = proof.why.as_ref()?;
                log::info!("{}: {}: not proved: {why}", source.name(), demangled(name));
                Some((name.clone(), format!("the rewrite was not proved: {why}")))
            })
            .collect();
        let mut rewritten = self.without(source, &unproved);
        for kernel in &mut rewritten.report.kernels {
            let Some(proof) = proofs.get(&kernel.name) else { continue };
            kernel.proved = kernel.is_rewritten() && proof.why.is_none();
            kernel.proof = Some(proof.report.clone());
        }
        rewritten
    }
}
