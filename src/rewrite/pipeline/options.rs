//! The options of a rewrite, and those that a module's target decides.

use std::sync::Arc;

use crate::cost::{self, Costs};
use crate::emulate::Limits;
use crate::kernels::Rules;
use crate::patterns::Redux;
use crate::profile::Consulted;
use crate::ptx::{Function, Module};
use crate::reuse;
use crate::rewrite::Mode;
use crate::select::{self, Strategies};
use crate::timings::Timings;

/// The options of a rewrite.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which version of the code is wanted.
    pub mode: Mode,
    /// The architecture whose costs decide what pays, 80 for `sm_80`; the file's target if none is given.
    pub architecture: Option<u32>,
    /// Costs to take instead of that architecture's.
    pub costs: Option<Costs>,
    /// How legal replacements are looked for.
    pub reuse: reuse::Options,
    /// Which of them are chosen.
    pub select: select::Options,
    /// Bounds on the work.
    pub limits: Limits,
    /// Look into every body, also those with too few loads for an exchange, to report their loads.
    pub all_bodies: bool,
    /// Count the sectors of each load, for the report.
    pub count_sectors: bool,
    /// The only kernel to look at, if one is named.
    pub kernel: Option<String>,
    /// Which kernels are switched off: they are left as they are.
    pub kernels: Rules,
    /// Adds up how long each stage takes, if given.
    pub timings: Option<Arc<Timings>>,
    /// Number of the first accepted candidate to replace, from 1 in source order.
    pub first_shuffle: Option<usize>,
    /// Number of the last accepted candidate to replace.
    pub last_shuffle: Option<usize>,
    /// Measured strategies per kernel. Replaces the cost model, and only when the strategy is `auto`.
    pub profile: Option<Arc<Consulted>>,
}

impl Options {
    /// The default with the paper's strategy wherever it is proved, whether it pays or not.
    pub fn paper() -> Options {
        let select = select::Options { strategies: Strategies::PAPER, ..Default::default() };
        Options { select, ..Options::default() }
    }

    /// These with the costs of the architecture that a module will be assembled for, and the vectors that
    /// its target has.
    pub(super) fn for_module(&self, module: &Module<'_>) -> Options {
        let mut options = self.clone();
        let new = module.version.is_some_and(|version| version >= (8, 8));
        if new && target(module).is_some_and(|target| target >= 100) {
            options.reuse.widest_vector = reuse::MAX_VECTOR_SM_100;
        }
        let architecture =
            self.architecture.or_else(|| target(module)).unwrap_or(cost::DEFAULT_ARCHITECTURE);
        options.architecture = Some(architecture);
        options.select.redux = redux(module);
        let is_volta = target(module).is_some_and(|target| target >= 70);
        options.select.has_shuffles_of_parted = module.version >= Some((6, 0)) && is_volta;
        options.select.has_nanosleep = module.version >= Some((6, 3)) && is_volta;
        options.select.costs = self.costs.clone().unwrap_or_else(|| Costs::of(architecture));
        options
    }

    /// Why a function is left as it is without a look at it, if it is.
    pub(super) fn reason_to_leave_out(&self, function: &Function<'_>) -> Option<String> {
        self.kernels.off(function.name.text)
    }
}

/// The support of a module's target for `redux.sync`.
fn redux(module: &Module<'_>) -> Redux {
    const WITH_NUMBERS: [&str; 4] = ["sm_100a", "sm_100f", "sm_103a", "sm_103f"];
    let (version, target) = (module.version.unwrap_or_default(), target(module).unwrap_or(0));
    if version >= (8, 6) && module.target.iter().any(|word| WITH_NUMBERS.contains(&&**word)) {
        Redux::Numbers
    } else if version >= (7, 0) && target >= 80 {
        Redux::Integers
    } else {
        Redux::Absent
    }
}

/// The compute capability that a module is for, 80 for `sm_80`.
pub(super) fn target(module: &Module<'_>) -> Option<u32> {
    module.target.iter().find_map(|word| architecture_of(word))
}

/// The number in the name of an architecture: 90 for `sm_90a`, 80 for `compute_80`.
pub fn architecture_of(name: &str) -> Option<u32> {
    let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}
