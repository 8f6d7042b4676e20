//! The decision about every global load: the data behind `candidates --format json`.
//!
//! The field names are a contract with programs that read them; fields may be added, not renamed.

mod array;
mod collective;
mod origins;
mod sentence;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sass::Resources;

pub use crate::strategies::Decision;
use crate::strategies::StrategyName;
use crate::traffic::Request;
pub use array::{ArrayAccessReport, ArrayReport, Wavefronts};
pub use collective::CollectiveReport;
pub use origins::{Call, Origin, Origins};

/// The decisions for one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The input as the user named it.
    pub file: String,
    /// The strategies that were asked for, as on the command line.
    #[serde(default)]
    pub strategy: String,
    /// One entry for each kernel or device function with a body, in source order.
    pub kernels: Vec<KernelReport>,
    /// What the user should know besides, one line each: measurements that could not be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The holes that were filled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<HoleReport>,
    /// Why the file cannot be assembled: holes that cannot be filled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// A hole of a kernel, and its solution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoleReport {
    /// The kernel.
    pub kernel: String,
    /// The kernel that is its specification.
    pub specification: String,
    /// The number that its calls give it.
    pub hole: u64,
    /// The family of expressions.
    pub family: String,
    /// The PTX line of its first call.
    pub line: u32,
    /// The expression.
    pub expression: String,
    /// How many solutions were seen for the kernel.
    pub solutions: u64,
    /// Whether the chosen one is the cheapest of its space.
    pub cheapest: bool,
    /// What that costs: accumulates, shuffles, loads, selects.
    pub cost: [u32; 4],
}

impl Report {
    /// Functions, their global loads, and how many of those were replaced.
    pub fn counts(&self) -> (usize, usize, usize) {
        let sum = |count: fn(&KernelReport) -> usize| self.kernels.iter().map(count).sum();
        (self.kernels.len(), sum(|kernel| kernel.global_loads), sum(KernelReport::replaced))
    }

    /// In words, what was chosen and what was left alone: `9 global loads, 6 replaced`, with the cycles of
    /// both where these were weighed, and how many more could have been replaced.
    pub fn summary(&self) -> String {
        let (functions, loads, replaced) = self.counts();
        let many = |count: usize| if count == 1 { "" } else { "s" };
        let mut out = format!(
            "{functions} function{}, {loads} global load{}, {replaced} replaced",
            many(functions),
            many(loads)
        );
        if self.is_proved() {
            out += ", proved";
        }
        if let Some(cost) = Cost::sum(self.kernels.iter().filter_map(KernelReport::cost)) {
            out += &format!(", {cost}");
        }
        let arrays: usize = self.kernels.iter().map(KernelReport::laid_out).sum();
        if arrays > 0 {
            let many = if arrays == 1 { "" } else { "s" };
            out += &format!(", {arrays} array{many} laid out anew");
        }
        for stores in self.stores().words() {
            out += &format!(", {stores}");
        }
        let unpaid: usize = self.kernels.iter().map(KernelReport::unpaid).sum();
        if unpaid > 0 {
            out += &format!(", {unpaid} possible that do not pay");
        }
        out
    }

    /// Whether kernels are rewritten, and each of them is proved.
    pub fn is_proved(&self) -> bool {
        let mut rewritten = self.kernels.iter().filter(|kernel| kernel.is_rewritten()).peekable();
        rewritten.peek().is_some() && rewritten.all(|kernel| kernel.proved)
    }

    /// What was done with the file's loads and stores, what was left alone and why, in one sentence.
    pub fn sentence(&self) -> String {
        let cost = Cost::sum(self.kernels.iter().filter_map(KernelReport::cost));
        let loads = self.kernels.iter().flat_map(|kernel| &kernel.loads);
        let arrays = self.kernels.iter().flat_map(|kernel| &kernel.arrays);
        let collectives = self.kernels.iter().flat_map(|kernel| &kernel.collectives);
        let sentence = with_stores(sentence::sentence(loads, cost), self.stores());
        with_collectives(with_arrays(sentence, arrays), collectives)
    }

    /// The stores that are not performed as they stand.
    fn stores(&self) -> Stores {
        self.kernels.iter().map(KernelReport::replaced_stores).fold(Stores::default(), Stores::and)
    }

    /// The rules by which loads were kept, sorted.
    pub fn rules(&self) -> Vec<&str> {
        let loads = self.kernels.iter().flat_map(|kernel| &kernel.loads);
        let rules = loads.filter_map(|load| load.rule.as_deref());
        let arrays = self.kernels.iter().flat_map(|kernel| &kernel.arrays);
        let stores = self.kernels.iter().flat_map(|kernel| &kernel.stores);
        let rules = rules.chain(arrays.filter_map(|array| array.rule.as_deref()));
        let collectives = self.kernels.iter().flat_map(|kernel| &kernel.collectives);
        let rules = rules.chain(stores.filter_map(|store| store.rule.as_deref()));
        let rules = rules.chain(collectives.filter_map(|one| one.rule.as_deref()));
        rules.collect::<BTreeSet<&str>>().into_iter().collect()
    }
}

/// How many stores are not performed as they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stores {
    /// Those that other lanes perform.
    pub elsewhere: usize,
    /// Those that are joined to vectors.
    pub joined: usize,
    /// Those that are left out, since another one overwrites them.
    pub overwritten: usize,
}

impl Stores {
    /// The sum of both.
    pub fn and(self, other: Stores) -> Stores {
        Stores {
            elsewhere: self.elsewhere + other.elsewhere,
            joined: self.joined + other.joined,
            overwritten: self.overwritten + other.overwritten,
        }
    }

    /// A phrase for each kind that occurs.
    pub fn words(self) -> Vec<String> {
        let kinds = [
            (self.elsewhere, "performed by other lanes"),
            (self.joined, "joined to vectors"),
            (self.overwritten, "left out, as others overwrite them"),
        ];
        let some = kinds.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| {
            format!("{number} store{} {what}", if number == 1 { "" } else { "s" })
        })
        .collect()
    }
}

/// A sentence about loads that says so of the stores, too.
fn with_stores(sentence: String, stores: Stores) -> String {
    [vec![sentence], stores.words()].concat().join("; ")
}

/// A sentence that says, too, which arrays in shared memory are or could be laid out anew.
fn with_arrays<'r>(sentence: String, arrays: impl Iterator<Item = &'r ArrayReport>) -> String {
    let said = arrays.filter_map(|array| {
        let name = &array.name;
        match (&array.layout, array.wavefronts, array.cost) {
            (Some(_), Some(Wavefronts { before, after }), _) => {
                Some(format!("array `{name}` is laid out anew: {before} wavefronts become {after}"))
            }
            (None, _, Some(cost)) if cost.strategy < cost.load => {
                Some(format!("array `{name}` could be laid out anew (`bank`: {cost})"))
            }
            _ => None,
        }
    });
    said.fold(sentence, |sentence, said| format!("{sentence}; {said}"))
}

/// A sentence that says, too, how many collectives other instructions compute.
fn with_collectives<'r>(
    sentence: String,
    collectives: impl Iterator<Item = &'r CollectiveReport>,
) -> String {
    let replaced = collectives.filter(|one| one.decision != Decision::Keep);
    let (mut count, mut shuffles) = (0, 0);
    for one in replaced {
        count += 1;
        shuffles += one.shuffles;
    }
    match count {
        0 => sentence,
        1 => format!("{sentence}; 1 collective of {shuffles} shuffles is replaced (`collective`)"),
        _ => format!(
            "{sentence}; {count} collectives of {shuffles} shuffles are replaced (`collective`)"
        ),
    }
}

/// The rule of a load in a function that is left as it is as a whole.
pub const FUNCTION_LEFT: &str = "function-left-as-it-is";

/// The decisions for one kernel or device function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its name.
    pub name: String,
    /// Loads from global memory (generic ones included), each element of a vector load counted
    /// as part of its one load.
    pub global_loads: usize,
    /// Loads whose value comes by a shuffle (under the paper's strategy also by a `mov`).
    pub shuffles: usize,
    /// Mean |delta| over the covered loads; `None` if there are none.
    pub average_delta: Option<f64>,
    /// Which strategies a profile has decided for, in the place of those that were asked for; `original`
    /// for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// What was measured that decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the kernel was left as it is as a whole, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Whether the rewritten kernel was proved to do what the original does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proved: bool,
    /// Every global load in source order.
    pub loads: Vec<LoadReport>,
    /// Stores in source order: those of whole structs if strategy `aos` was allowed, those of consecutive bytes if `wide`
    /// was; `register` is the address as written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stores: Vec<LoadReport>,
    /// Every array in shared memory that the kernel declares, and those at module level that it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrays: Vec<ArrayReport>,
    /// What lanes compute together by shuffles, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveReport>,
    /// What ptxas made of the kernel, where it was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourcesReport>,
    /// What the machine code of the kernel takes, where both texts were assembled and the strategies weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<MeasureReport>,
}

/// Cycles of a multiprocessor for each warp of a kernel, by the number of resident warps, computed from its machine code.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MeasureReport {
    /// Of the text as it was.
    pub original: BTreeMap<u32, f64>,
    /// Of the rewritten text, also where the rewrite was taken back.
    pub rewritten: BTreeMap<u32, f64>,
}

impl MeasureReport {
    /// The rewritten kernel's cycles by those of the original, the geometric mean over the numbers of resident warps;
    /// `None` if they are not known.
    pub fn ratio(&self) -> Option<f64> {
        let ratios: Vec<f64> = self.ratios().collect();
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        (!ratios.is_empty()).then(|| mean.exp())
    }

    /// The same for the number of resident warps for which it is the greatest.
    pub fn worst(&self) -> Option<f64> {
        self.ratios().max_by(f64::total_cmp)
    }

    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.original.iter().filter_map(|(warps, old)| {
            let new = self.rewritten.get(warps)?;
            (*old > 0.0 && *new > 0.0).then(|| new / old)
        })
    }
}

impl fmt::Display for MeasureReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &BTreeMap<u32, f64>| {
            of.values().map(|cycles| format!("{cycles:.0}")).collect::<Vec<_>>().join(", ")
        };
        let warps: Vec<String> = self.original.keys().map(u32::to_string).collect();
        let (new, old) = (list(&self.rewritten), list(&self.original));
        write!(f, "{new} cycles per warp instead of {old} with {} resident warps", warps.join(", "))
    }
}

/// What ptxas made of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResourcesReport {
    /// Of the text as it was; `None` if it was not assembled.
    pub original: Option<Resources>,
    /// Of the rewritten text; `None` if the kernel is not rewritten.
    pub rewritten: Option<Resources>,
}

impl KernelReport {
    /// Loads that are not performed as they stand.
    pub fn replaced(&self) -> usize {
        self.loads.iter().filter(|load| load.decision != Decision::Keep).count()
    }

    /// Arrays in shared memory that are laid out anew.
    pub fn laid_out(&self) -> usize {
        self.arrays.iter().filter(|array| array.layout.is_some()).count()
    }

    /// Collectives that other instructions compute.
    pub fn replaced_collectives(&self) -> usize {
        self.collectives.iter().filter(|one| one.decision != Decision::Keep).count()
    }

    /// Stores that are not performed as they stand.
    pub fn replaced_stores(&self) -> Stores {
        let count = |name: StrategyName| {
            self.stores.iter().filter(|store| store.decision == Decision::By(name)).count()
        };
        Stores {
            elsewhere: count(StrategyName::Aos),
            joined: count(StrategyName::Wide),
            overwritten: count(StrategyName::Promote),
        }
    }

    /// Loads and stores that are not performed as they stand, and arrays that are laid out anew.
    pub fn changes(&self) -> usize {
        let Stores { elsewhere, joined, overwritten } = self.replaced_stores();
        let others = self.laid_out() + self.replaced_collectives();
        self.replaced() + elsewhere + joined + overwritten + others
    }

    /// Whether the kernel's text was changed.
    pub fn is_rewritten(&self) -> bool {
        self.changes() > 0
    }

    /// What was done with the kernel's loads and stores, what was left alone and why, in one sentence.
    pub fn sentence(&self) -> String {
        let loads = sentence::sentence(self.loads.iter(), self.cost());
        let sentence = with_arrays(with_stores(loads, self.replaced_stores()), self.arrays.iter());
        with_collectives(sentence, self.collectives.iter())
    }

    /// What the rewrite changed in the machine code, in one sentence; `None` if the kernel is not rewritten or nothing is known.
    pub fn machine_code(&self) -> Option<String> {
        if !self.is_rewritten() {
            return None;
        }
        let mut parts = Vec::new();
        if let Some(ResourcesReport { original: Some(old), rewritten: Some(new) }) = &self.resources
        {
            let counts = [
                ("instructions", old.instructions, new.instructions),
                ("registers", old.registers, new.registers),
                ("resident warps", old.warps.unwrap_or(0), new.warps.unwrap_or(0)),
                ("bytes of stack", old.stack, new.stack),
            ];
            for (what, old, new) in counts.into_iter().filter(|(_, old, new)| old.max(new) > &0) {
                parts.push(match old == new {
                    true => format!("{new} {what} as before"),
                    false => format!("{new} {what} instead of {old}"),
                });
            }
        }
        parts.extend(
            self.measure.as_ref().filter(|one| one.ratio().is_some()).map(ToString::to_string),
        );
        (!parts.is_empty()).then(|| format!("machine code: {}", parts.join(", ")))
    }

    /// Loads for which a legal replacement was left alone, since it does not pay.
    pub fn unpaid(&self) -> usize {
        self.loads.iter().filter(|load| load.possible.is_some()).count()
    }

    /// The cycles of all that was chosen because it pays, and of the loads in whose place it stands; `None`
    /// if nothing was weighed.
    pub fn cost(&self) -> Option<Cost> {
        let chosen = self.loads.iter().filter(|load| load.decision != Decision::Keep);
        // The cost of a vector load stands at each load that it serves.
        let each =
            chosen.filter(|load| !load.decision.is_whole_cost() || load.source_line.is_none());
        Cost::sum(each.filter_map(|load| load.cost))
    }
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// 1-based line of the input.
    pub line: u32,
    /// The place in the sources that the access was compiled from, if a `.loc` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// The destination operand as written.
    pub register: String,
    /// Bytes read by each lane.
    pub bytes: u32,
    /// The lane stride in bytes, where it was counted and is constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_stride: Option<i64>,
    /// What a full warp's request costs, where it was counted.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The decision.
    pub decision: Decision,
    /// Line of the source load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_line: Option<u32>,
    /// `A(tid.x + delta) = B(tid.x)`, A the source's address, B this load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<i32>,
    /// The checks at run time before the shuffled value is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<String>>,
    /// How many iterations of the innermost loop ago the source load read the value; `None` for the same
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// The legal replacements that were left alone, by the names of their strategies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible: Option<Vec<String>>,
    /// The cycles of what was chosen because it pays, or of the cheapest of what was left alone, and of the
    /// load; for a vector load, of all loads that it
    /// stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The number of loads that both costs of a replacement that was left alone are of, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<u32>,
    /// The compute capability for which a replacement was left alone since it does not pay: 80 for `sm_80`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<u32>,
    /// The name of the rule that refused the load's replacement, words joined by dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why that rule refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LoadReport {
    /// An access on a line, with an operand as written, of which nothing is decided yet.
    pub fn new(line: u32, register: String) -> LoadReport {
        LoadReport {
            line,
            source: None,
            register,
            bytes: 0,
            lane_stride: None,
            request: None,
            decision: Decision::Keep,
            source_line: None,
            delta: None,
            guards: None,
            iterations: None,
            possible: None,
            cost: None,
            loads: None,
            architecture: None,
            rule: None,
            reason: None,
        }
    }
}

/// The cycles of two ways to get a value, per warp on the architecture asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The cycles of the strategy.
    pub strategy: f64,
    /// The cycles of the load, or of the loads that are weighed together.
    pub load: f64,
}

impl Cost {
    /// The share of one of some loads.
    fn each(self, loads: u32) -> Cost {
        let loads = f64::from(loads.max(1));
        Cost { strategy: self.strategy / loads, load: self.load / loads }
    }

    /// The sum in hundredths of a cycle; `None` of nothing.
    fn sum(costs: impl Iterator<Item = Cost>) -> Option<Cost> {
        let sum = costs
            .reduce(|a, b| Cost { strategy: a.strategy + b.strategy, load: a.load + b.load })?;
        let rounded = |cycles: f64| (100.0 * cycles).round() / 100.0;
        Some(Cost { strategy: rounded(sum.strategy), load: rounded(sum.load) })
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = if self.strategy == 1.0 { "" } else { "s" };
        write!(f, "{} cycle{many} against {}", self.strategy, self.load)
    }
}
