//! Sketches with one answer: networks, places in shared memory, and serial loops.

use std::cell::OnceCell;

use super::kind::{Language, Problem, Request, Verdict, json, unsolved, wrong};
use crate::synth::scan::emit::{Code, Networks, check, cuda, ptx, sweep};
use crate::synth::scan::{self, Found, Loop, report};
use crate::synth::{network, place};

/// A network that is looked for.
pub(super) struct Network<'r> {
    pub request: &'r Request<'r>,
    pub problem: network::Network,
    pub outcome: Option<network::Outcome>,
}

impl Network<'_> {
    fn solution(&self) -> Option<&network::Solution> {
        self.outcome.as_ref()?.solution.as_ref()
    }
}

impl Problem for Network<'_> {
    fn solve(&mut self) -> bool {
        self.outcome = Some(network::search(&self.problem));
        self.solution().is_some()
    }

    fn verdict(&self) -> Verdict {
        match &self.outcome {
            Some(network::Outcome { unsat: Some(unsat), over, .. }) => {
                let why = network::empty(self.request.source, &self.problem, unsat, *over);
                Verdict::Unsat(why.into(), *over)
            }
            _ => Verdict::Solved,
        }
    }

    fn table(&self) -> Option<String> {
        Some(network::table(self.request.source, &self.problem, self.solution()?))
    }

    fn json(&self) -> serde_json::Result<Option<String>> {
        let Some(solution) = self.solution() else { return Ok(None) };
        json(&network::json(self.request.source, &self.problem, solution))
    }

    fn code(&self, language: Language) -> Result<String, String> {
        let (solution, name) = (unsolved(self.solution())?, self.request.name());
        let table = network::table(self.request.source, &self.problem, solution);
        match language {
            Language::Cuda => network::cuda(&self.problem, solution, &name, &table),
            Language::Ptx => {
                let sum = network::Operator::Sum;
                network::ptx(&self.problem, solution, &name, sum, &table)
            }
        }
    }

    fn check(&self) -> Result<Option<String>, String> {
        let solution = unsolved(self.solution())?;
        network::check(&self.problem, solution, &self.request.name()).map_err(wrong)?;
        Ok(None)
    }
}

/// An array whose elements are placed.
pub(super) struct Placement<'r> {
    pub request: &'r Request<'r>,
    pub problem: place::Placement,
    pub outcome: Option<place::Outcome>,
}

impl Problem for Placement<'_> {
    fn solve(&mut self) -> bool {
        self.outcome = place::search(&self.problem);
        self.outcome.is_some()
    }

    fn verdict(&self) -> Verdict {
        match self.outcome {
            Some(_) => Verdict::Solved,
            None => Verdict::Unsat(place::empty(self.request.source, &self.problem).into(), false),
        }
    }

    fn table(&self) -> Option<String> {
        Some(place::table(self.request.source, &self.problem, self.outcome.as_ref()?))
    }

    fn json(&self) -> serde_json::Result<Option<String>> {
        let Some(outcome) = &self.outcome else { return Ok(None) };
        json(&place::json(self.request.source, &self.problem, outcome))
    }

    fn code(&self, language: Language) -> Result<String, String> {
        if language == Language::Cuda {
            return Err("a placement is written as PTX, not as CUDA".to_owned());
        }
        let name = self.request.name();
        let comment = format!("{name} by ptxasw synth\n{}", self.table().unwrap_or_default());
        place::ptx(&name, &self.problem, unsolved(self.outcome.as_ref())?, &comment)
    }

    fn check(&self) -> Result<Option<String>, String> {
        let (outcome, code) = (unsolved(self.outcome.as_ref())?, self.code(Language::Ptx)?);
        place::check(&self.request.name(), &self.problem, outcome, &code).map_err(wrong)?;
        Ok(None)
    }
}

/// A loop for which an operator is looked for.
pub(super) struct Serial<'r> {
    pub request: &'r Request<'r>,
    pub subject: Loop,
    pub outcome: Option<scan::Outcome>,
    /// Solved with the first code.
    pub networks: OnceCell<Networks>,
}

impl Serial<'_> {
    fn found(&self) -> Option<&Found> {
        self.outcome.as_ref()?.found.as_ref()
    }

    /// The operator as code with its networks and the comment in front.
    fn parts(&self) -> Result<(Code<'_>, &Networks, String), String> {
        let (found, name) = (unsolved(self.found())?, self.request.name());
        let comment = format!("{name} by ptxasw synth\n{}", self.table().unwrap_or_default());
        if self.networks.get().is_none() {
            let _ = self.networks.set(Networks::solve()?);
        }
        let networks = unsolved(self.networks.get())?;
        let code = Code::new(found, &name, self.request.bits);
        let code = code.for_architecture(self.request.architecture.unwrap_or_default());
        Ok((code, networks, comment))
    }

    /// Executes the code on lists of each length; says how many there were.
    fn sweep(&self, code: &Code<'_>, text: &str, lists: u32) -> Result<String, String> {
        let swept = sweep::sweep(code, text, lists as usize, sweep::LONGEST)?;
        Ok(format!(
            "{}: {} lists of 1 to {} elements scanned and reduced, {} results as the loop's",
            self.request.source.name(),
            swept.lists,
            sweep::LONGEST,
            swept.results
        ))
    }
}

impl Problem for Serial<'_> {
    fn is_proved(&self) -> bool {
        true
    }

    fn solve(&mut self) -> bool {
        let outcome = scan::solve(&self.subject);
        log::info!(
            "{}: {} sets of auxiliary accumulators, {} candidates refuted, {} claims",
            self.request.source.name(),
            outcome.sets,
            outcome.refuted,
            outcome.claims
        );
        self.outcome = Some(outcome);
        self.found().is_some()
    }

    fn verdict(&self) -> Verdict {
        let source = self.request.source;
        match &self.outcome {
            Some(scan::Outcome { found: Some(found), .. }) if found.unproved.is_empty() => {
                Verdict::Solved
            }
            Some(scan::Outcome { found: None, exhausted: true, .. }) => Verdict::Unfinished(Some(
                "the search has not ended: it reached the limit of operators to try".to_owned(),
            )),
            Some(outcome @ scan::Outcome { found: None, .. }) => {
                Verdict::Unsat(report::none(source, &self.subject, outcome).into(), false)
            }
            _ => Verdict::Unfinished(None),
        }
    }

    fn table(&self) -> Option<String> {
        self.found()?;
        self.outcome.as_ref().map(report::table)
    }

    fn json(&self) -> serde_json::Result<Option<String>> {
        let Some(outcome) = &self.outcome else { return Ok(None) };
        json(&report::report(self.request.source, outcome))
    }

    fn code(&self, language: Language) -> Result<String, String> {
        let (code, networks, comment) = self.parts()?;
        match language {
            Language::Cuda => cuda(&code, networks, &comment),
            Language::Ptx => ptx(&code, networks, &comment),
        }
    }

    fn check(&self) -> Result<Option<String>, String> {
        let (code, networks, _) = self.parts()?;
        let text = ptx(&code, networks, "").map_err(wrong)?;
        check::check(&code, &text, &check::few()).map_err(wrong)?;
        let swept = self.request.lists.map(|lists| self.sweep(&code, &text, lists));
        swept.transpose().map_err(wrong)
    }
}
