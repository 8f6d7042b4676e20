//! The numbers of an access as data for programs.

use serde::{Deserialize, Serialize};

use super::access::AccessTraffic;
use crate::cfg::Flow;
use crate::emulate::{KernelTrace, Printer};
use crate::expr::TermId;
use crate::lanes::{Stride, sum_text};
use crate::ptx::{Function, StateSpace};

/// Sectors or wavefronts of a warp's request, of the lanes that may take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// The least number.
    pub min: u32,
    /// The greatest number.
    pub max: u32,
    /// The number that would hold the same bytes.
    pub ideal: u32,
}

/// The cost of a warp's request: of all its lanes, or of those for which the conditions on the lane hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The lane stride as text, if it is not constant.
    pub stride: Option<String>,
    /// Sectors of 32 bytes, for global and generic accesses.
    pub sectors: Option<Counts>,
    /// Wavefronts, for shared accesses.
    pub wavefronts: Option<Counts>,
    /// Whether the address depends on data; then there are no counts.
    pub irregular: bool,
}

impl Request {
    /// The numbers of an access.
    pub fn of(
        function: &Function<'_>,
        flow: &Flow<'_, '_>,
        trace: &KernelTrace,
        traffic: &AccessTraffic,
    ) -> Request {
        let counts =
            traffic.request.map(|span| Counts { min: span.min, max: span.max, ideal: span.ideal });
        let is_shared = traffic.space == StateSpace::Shared;
        Request {
            stride: stride(function, flow, trace, traffic),
            sectors: counts.filter(|_| !is_shared),
            wavefronts: counts.filter(|_| is_shared),
            irregular: counts.is_none(),
        }
    }

    /// The sectors or wavefronts.
    pub fn counts(&self) -> Option<Counts> {
        self.sectors.or(self.wavefronts)
    }

    /// The counts with their unit: `4 sectors`, `4 to 32 sectors, ideally 4`.
    pub fn sentence(&self) -> String {
        let (counts, unit) = match (self.sectors, self.wavefronts) {
            (Some(counts), _) => (counts, "sector"),
            (None, Some(counts)) => (counts, "wavefront"),
            (None, None) => return "irregular".to_owned(),
        };
        let Counts { min, max, ideal } = counts;
        let plural = if max == 1 { "" } else { "s" };
        let least = if min == max { String::new() } else { format!("{min} to ") };
        let ideally = if max == ideal { String::new() } else { format!(", ideally {ideal}") };
        format!("{least}{max} {unit}{plural}{ideally}")
    }

    /// Whether a request may take twice the ideal number, or no number is known.
    pub fn is_wasteful(&self) -> bool {
        self.counts().is_none_or(|counts| counts.max >= 2 * counts.ideal)
    }
}

/// A stride as text; none for a number.
fn stride(
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    traffic: &AccessTraffic,
) -> Option<String> {
    let Some(Stride::Symbolic(parts)) = &traffic.stride else { return None };
    // Numbers last.
    let (numbers, factors): (Vec<_>, Vec<_>) =
        parts.iter().partition(|(_, factor)| factor.is_empty());
    let name = |factor| term(function, flow, trace, factor);
    Some(sum_text(factors.into_iter().chain(numbers), name))
}

/// A term in infix, parameters by their short names.
pub fn term(
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    term: TermId,
) -> String {
    let text = Printer::new(&trace.arena, &trace.symbols, &flow.registers).print(trace.plain(term));
    text.replace(&format!("{}_param_", function.name.text), "param_")
}
