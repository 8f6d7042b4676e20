//! The decisions for one file.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::sentence::{self, with_arrays, with_collectives, with_stores};
use super::{Cost, KernelReport, Stores};

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
    /// Warnings for the user, one line each: measurements that could not be used.
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
    /// Its cost: accumulates, shuffles, loads, selects.
    pub cost: [u32; 4],
}

impl Report {
    /// Functions, their global loads, and how many of those were replaced.
    pub fn counts(&self) -> (usize, usize, usize) {
        let sum = |count: fn(&KernelReport) -> usize| self.kernels.iter().map(count).sum();
        (self.kernels.len(), sum(|kernel| kernel.global_loads), sum(KernelReport::replaced))
    }

    /// The numbers of replaced loads and of others, in words: `9 global loads, 6 replaced`, with the cycles of
    /// both where these were weighed, and how many more could have been replaced.
    pub fn summary(&self) -> String {
        let (functions, loads, replaced) = self.counts();
        let many = |count: usize| if count == 1 { "" } else { "s" };
        let rewritten = self.kernels.iter().filter(|kernel| kernel.is_rewritten()).count();
        let mut out = format!("{functions} function{}", many(functions));
        // (Stores, arrays and collectives alone may be changed.)
        if rewritten > 0 && replaced == 0 {
            out += &format!(", {rewritten} rewritten, {loads} global load{}", many(loads));
        } else {
            out += &format!(", {loads} global load{}, {replaced} replaced", many(loads));
        }
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
        let collectives: usize = self.kernels.iter().map(KernelReport::replaced_collectives).sum();
        if collectives > 0 {
            out += &format!(", {collectives} collective{} replaced", many(collectives));
        }
        let unprofitable: usize = self.kernels.iter().map(KernelReport::unprofitable).sum();
        if unprofitable > 0 {
            out += &format!(", {unprofitable} possible that do not pay");
        }
        out
    }

    /// Whether kernels are rewritten, and each of them is proved.
    pub fn is_proved(&self) -> bool {
        let mut rewritten = self.kernels.iter().filter(|kernel| kernel.is_rewritten()).peekable();
        rewritten.peek().is_some() && rewritten.all(|kernel| kernel.proved)
    }

    /// The decisions about the file's loads and stores with their reasons, in one sentence.
    pub fn sentence(&self) -> String {
        let cost = Cost::sum(self.kernels.iter().filter_map(KernelReport::cost));
        let loads = self.kernels.iter().flat_map(|kernel| &kernel.loads);
        let arrays = self.kernels.iter().flat_map(|kernel| &kernel.arrays);
        let collectives = self.kernels.iter().flat_map(|kernel| &kernel.collectives);
        let all = self.kernels.iter().map(|kernel| kernel.global_loads).sum();
        let sentence = with_stores(sentence::sentence(loads, all, cost), self.stores());
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
