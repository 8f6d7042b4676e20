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

/// The cost of a kernel of one build.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Taken {
    /// Its resources.
    pub resources: Resources,
    /// Its measure; `None` if it is not known.
    pub measured: Option<Measured>,
}

/// The measure of a kernel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// Cycles of a multiprocessor for each warp, with all warps resident that fit.
    pub cycles: f64,
    /// Whether bank conflicts and memory traffic are counted, which follow from PTX alone. Cycles with them are not
    /// compared with cycles without them.
    pub has_traffic: bool,
}

/// The cycles of a kernel of both builds, as of [`Measured`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Cycles {
    /// Before.
    pub old: f64,
    /// Now.
    pub new: f64,
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
    /// Its cycles, if both are known.
    pub cycles: Option<Cycles>,
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
    fn new(name: &str, old: &Taken, new: &Taken) -> Compared {
        let both = old.measured.zip(new.measured);
        let alike = both.filter(|(old, new)| old.has_traffic == new.has_traffic);
        let cycles = alike.map(|(old, new)| Cycles { old: old.cycles, new: new.cycles });
        let (old, new) = (old.resources, new.resources);
        let losses = Loss::iter().filter(|loss| loss.worse(&old, &new) > 0.0).collect();
        Compared { name: name.to_owned(), old, new, cycles, losses }
    }

    /// Whether both builds take the same.
    pub fn is_same(&self) -> bool {
        self.old == self.new && self.cycles.is_none_or(|cycles| cycles.old == cycles.new)
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
    pub fn new(old: &BTreeMap<String, Taken>, new: &BTreeMap<String, Taken>) -> Comparison {
        let missing = |from: &BTreeMap<String, Taken>, of: &BTreeMap<String, Taken>| {
            of.keys().filter(|name| !from.contains_key(*name)).cloned().collect()
        };
        let both = old.iter().filter_map(|(name, old)| Some((name, old, new.get(name)?)));
        let mut kernels: Vec<Compared> =
            both.map(|(name, old, new)| Compared::new(name, old, new)).collect();
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
            let taken = |resources| Taken { resources, measured: None };
            kernels.into_iter().map(|(name, of)| (name.to_owned(), taken(of))).collect()
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
        let one =
            |resources, measured| BTreeMap::from([("k".to_owned(), Taken { resources, measured })]);
        let cycles = |cycles, has_traffic| Some(Measured { cycles, has_traffic });
        let old = one(with(8, Some(64)), cycles(12.0, true));
        let comparison = Comparison::new(&old, &one(with(8, None), None));
        assert_eq!(comparison.kernels[0].losses, []);
        assert_eq!(comparison.kernels[0].cycles, None);
        let comparison = Comparison::new(&old, &one(with(8, Some(64)), cycles(11.0, false)));
        assert_eq!(comparison.kernels[0].cycles, None);
        let comparison = Comparison::new(&old, &one(with(8, Some(64)), cycles(11.0, true)));
        assert_eq!(comparison.kernels[0].cycles, Some(Cycles { old: 12.0, new: 11.0 }));
        assert!(!comparison.kernels[0].is_same());
    }
}
