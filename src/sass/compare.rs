//! The resources of the kernels of two builds: which of them lost something.

use std::collections::BTreeMap;

use serde::Serialize;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use super::resources::Resources;

/// A loss of a kernel.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, EnumIter, IntoStaticStr, Serialize,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Loss {
    /// Fewer warps are resident on a multiprocessor.
    Warps,
    /// More bytes of registers are spilled.
    Spills,
    /// A thread takes more stack.
    Stack,
    /// A thread takes more registers.
    Registers,
    /// A block takes more shared memory.
    Shared,
    /// The code is larger.
    Code,
}

/// A kernel of both builds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// Its resources before.
    pub old: Resources,
    /// Its resources now.
    pub new: Resources,
    /// Its losses, the worst first.
    pub losses: Vec<Loss>,
}

/// Two builds.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Comparison {
    /// The kernels of both; those that lost most come first.
    pub kernels: Vec<Compared>,
    /// Kernels of the old build alone.
    pub only_old: Vec<String>,
    /// Kernels of the new build alone.
    pub only_new: Vec<String>,
}

impl Loss {
    /// The amount of this that a kernel takes; more is worse. `None` if it is not known.
    fn taken(self, of: &Resources) -> Option<f64> {
        Some(match self {
            Loss::Warps => -f64::from(of.warps?),
            Loss::Spills => f64::from(of.spill_stores?) + f64::from(of.spill_loads?),
            Loss::Stack => f64::from(of.stack),
            Loss::Registers => f64::from(of.registers),
            Loss::Shared => f64::from(of.shared),
            Loss::Code => f64::from(of.code_bytes),
        })
    }

    /// By how much a kernel is worse, relative to the old resources; not positive if it is not worse.
    fn worse(self, old: &Resources, new: &Resources) -> f64 {
        match (self.taken(old), self.taken(new)) {
            (Some(old), Some(new)) => (new - old) / old.abs().max(1.0),
            _ => 0.0,
        }
    }
}

impl Compared {
    fn new(name: &str, old: Resources, new: Resources) -> Compared {
        let losses = Loss::iter().filter(|loss| loss.worse(&old, &new) > 0.0).collect();
        Compared { name: name.to_owned(), old, new, losses }
    }

    /// How much was lost, by kind, the worst kind first.
    fn rank(&self) -> [f64; 6] {
        let mut rank = [0.0; 6];
        for (at, loss) in Loss::iter().enumerate() {
            rank[at] = loss.worse(&self.old, &self.new).max(0.0);
        }
        rank
    }
}

impl Comparison {
    /// Compares the kernels of two builds by name.
    pub fn new(old: &BTreeMap<String, Resources>, new: &BTreeMap<String, Resources>) -> Comparison {
        let missing = |from: &BTreeMap<String, Resources>, of: &BTreeMap<String, Resources>| {
            of.keys().filter(|name| !from.contains_key(*name)).cloned().collect()
        };
        let both = old.iter().filter_map(|(name, old)| Some((name, old, new.get(name)?)));
        let mut kernels: Vec<Compared> =
            both.map(|(name, old, new)| Compared::new(name, *old, *new)).collect();
        kernels.sort_by(|a, b| {
            let by_kind = a.rank().into_iter().zip(b.rank()).map(|(a, b)| b.total_cmp(&a));
            by_kind.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        Comparison { kernels, only_old: missing(new, old), only_new: missing(old, new) }
    }

    /// Whether some kernel lost one of these.
    pub fn has_lost(&self, losses: &[Loss]) -> bool {
        self.kernels.iter().any(|kernel| kernel.losses.iter().any(|loss| losses.contains(loss)))
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(losses_are_named_and_sorted, what_is_not_known_is_not_lost);

    fn with(registers: u32, warps: Option<u32>) -> Resources {
        Resources { registers, warps, ..Resources::default() }
    }

    fn losses_are_named_and_sorted() {
        let old = [("a", with(32, Some(64))), ("b", with(32, Some(64))), ("c", with(32, Some(64)))];
        let new = [("a", with(33, Some(64))), ("b", with(64, Some(32))), ("d", with(1, None))];
        let [old, new] = [old, new].map(|kernels| {
            kernels.into_iter().map(|(name, taken)| (name.to_owned(), taken)).collect()
        });
        let comparison = Comparison::new(&old, &new);
        let found: Vec<_> =
            comparison.kernels.iter().map(|k| (&k.name[..], &k.losses[..])).collect();
        assert_eq!(
            found,
            [("b", &[Loss::Warps, Loss::Registers][..]), ("a", &[Loss::Registers][..])]
        );
        assert_eq!(
            (&comparison.only_old[..], &comparison.only_new[..]),
            (&["c".to_owned()][..], &["d".to_owned()][..])
        );
        assert!(comparison.has_lost(&[Loss::Warps]) && !comparison.has_lost(&[Loss::Stack]));
    }

    fn what_is_not_known_is_not_lost() {
        let one = |resources| BTreeMap::from([("k".to_owned(), resources)]);
        let comparison = Comparison::new(&one(with(8, Some(64))), &one(with(8, None)));
        assert_eq!(comparison.kernels[0].losses, []);
    }
}
