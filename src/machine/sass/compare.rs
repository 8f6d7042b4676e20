//! The resources of the kernels of two builds: which of them lost something.

use std::collections::BTreeSet;

use serde::Serialize;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

use super::pairing::{self, Built};
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
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Taken {
    /// Its place and its resources.
    pub built: Built,
    /// Its measure; `None` if it is not known.
    pub measured: Option<Measured>,
    /// The same of the original, if the build has replaced it and measured both.
    pub original: Option<(Resources, Measured)>,
}

impl Taken {
    /// The measure of the version with these resources.
    fn measure_of(&self, resources: &Resources) -> Option<Measured> {
        let own =
            self.measured.filter(|_| self.built.resources.is_same_code(resources) == Some(true));
        let original = self.original.filter(|(of, _)| of.is_same_code(resources) == Some(true));
        own.or(original.map(|(_, measured)| measured))
    }
}

/// Whether a kernel's machine code is another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Code {
    /// It is the same.
    Same,
    /// It is the same under another name.
    Renamed,
    /// It differs, although the resources may not.
    Changed,
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
    /// Its name in the new build.
    pub name: String,
    /// Its name in the old build, if it has another one there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_name: Option<String>,
    /// Whether its machine code has changed; `None` if that is not known.
    pub state: Option<Code>,
    /// Its resources before.
    pub old: Resources,
    /// Its resources now.
    pub new: Resources,
    /// Its cycles, if both are known.
    pub cycles: Option<Cycles>,
    /// Whether cycles are known of both and cannot be compared: memory traffic is not known of one.
    #[serde(skip)]
    pub lacks_traffic: bool,
    /// Its losses, the worst first.
    pub losses: Vec<Loss>,
    /// What may have been lost or not: it is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Loss>,
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
    /// Kernels of both builds that are not compared: it is not known which belongs to which.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unclear: Vec<String>,
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

    /// By how much a kernel is worse, relative to the old resources; not positive if it is not worse. More registers are
    /// worse only if fewer warps are resident, as far as that is known.
    fn worse(self, old: &Resources, new: &Resources) -> f64 {
        match (self.taken(old), self.taken(new)) {
            _ if self == Loss::Registers && old.warps.is_some() && new.warps >= old.warps => 0.0,
            (Some(old), Some(new)) => (new - old) / old.abs().max(1.0),
            _ => 0.0,
        }
    }

    /// Whether it cannot be told if a kernel is worse. One that takes nothing is not.
    fn is_open(self, old: &Resources, new: &Resources) -> bool {
        match (self.taken(old), self.taken(new)) {
            (Some(_), Some(_)) => false,
            (None, Some(new)) => new > 0.0 || self == Loss::Warps,
            (_, None) => old.is_same_code(new) != Some(true),
        }
    }
}

impl Compared {
    fn new(name: String, old: &Taken, new: &Taken) -> Compared {
        // A build that has replaced the kernel has measured the original as well.
        let before = old.measured.or_else(|| new.measure_of(&old.built.resources));
        let now = new.measured.or_else(|| old.measure_of(&new.built.resources));
        let both = before.zip(now);
        let known = both.filter(|(old, new)| old.has_traffic && new.has_traffic);
        let cycles = known.map(|(old, new)| Cycles { old: old.cycles, new: new.cycles });
        let (old, new) = (old.built.resources, new.built.resources);
        let losses = Loss::iter().filter(|loss| loss.worse(&old, &new) > 0.0).collect();
        let unknown = Loss::iter().filter(|loss| loss.is_open(&old, &new)).collect();
        let state = old.is_same_code(&new);
        let state = state.map(|same| if same { Code::Same } else { Code::Changed });
        let lacks_traffic = both.is_some() && known.is_none();
        Compared { name, old_name: None, state, old, new, cycles, lacks_traffic, losses, unknown }
    }

    /// Whether both builds take the same, by the same instructions as far as that is known.
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
    /// Compares the kernels of two builds.
    pub fn new(old: &[Taken], new: &[Taken]) -> Comparison {
        let built =
            |of: &[Taken]| -> Vec<Built> { of.iter().map(|one| one.built.clone()).collect() };
        let builds = [built(old), built(new)];
        let pairing = pairing::pair(&builds[0], &builds[1]);
        let [old_names, new_names] = pairing.names;
        let compared = |(before, after): (usize, usize)| {
            let (was, is) = (&old_names[before], &new_names[after]);
            let old_name = (was != is).then(|| was.clone());
            Compared { old_name, ..Compared::new(is.clone(), &old[before], &new[after]) }
        };
        let mut kernels: Vec<Compared> = pairing.pairs.iter().copied().map(compared).collect();
        let (mut only_old, mut only_new) = (pairing.only_old, pairing.only_new);
        only_old.retain(|&before| {
            let resources = &builds[0][before].resources;
            let is_it = |&&after: &&usize| {
                resources.is_same_code(&builds[1][after].resources) == Some(true)
            };
            let mut candidates = only_new.iter().filter(is_it);
            let (Some(&after), None) = (candidates.next(), candidates.next()) else {
                return true;
            };
            only_new.retain(|&other| other != after);
            let state = Some(Code::Renamed);
            kernels.push(Compared { state, ..compared((before, after)) });
            false
        });
        kernels.sort_by(|a, b| {
            let by_kind = a.rank().into_iter().zip(b.rank()).map(|(a, b)| b.total_cmp(&a));
            by_kind.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        let named = |names: &[String], of: &[usize]| -> Vec<String> {
            of.iter().map(|&at| names[at].clone()).collect()
        };
        let unclear = pairing.unclear.iter();
        let unclear = unclear
            .flat_map(|[old, new]| [named(&old_names, old), named(&new_names, new)].concat());
        let unclear: BTreeSet<String> = unclear.collect();
        let (only_old, only_new) = (named(&old_names, &only_old), named(&new_names, &only_new));
        Comparison { kernels, only_old, only_new, unclear: unclear.into_iter().collect() }
    }

    /// The kernels that may have lost one of these, with the unknown resource.
    pub fn open(&self, losses: &[Loss]) -> Vec<(&str, Loss)> {
        let open = |kernel: &Compared| kernel.unknown.clone();
        let each = self
            .kernels
            .iter()
            .flat_map(|kernel| open(kernel).into_iter().map(|loss| (kernel.name.as_str(), loss)));
        each.filter(|(_, loss)| losses.contains(loss)).collect()
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
            kernels.map(|(name, resources)| Taken {
                built: Built { name: name.to_owned(), resources, ..Built::default() },
                ..Taken::default()
            })
        });
        let comparison = Comparison::new(&old, &new);
        let found: Vec<_> =
            comparison.kernels.iter().map(|k| (&k.name[..], &k.losses[..])).collect();
        assert_eq!(found, [("b", &[Loss::Warps, Loss::Registers][..]), ("a", &[][..])]);
        assert_eq!(
            (&comparison.only_old[..], &comparison.only_new[..]),
            (&["c".to_owned()][..], &["d".to_owned()][..])
        );
        assert!(comparison.has_lost(&[Loss::Warps]) && !comparison.has_lost(&[Loss::Stack]));
    }

    fn what_is_not_known_is_not_lost() {
        let one = |resources, measured| {
            [Taken { built: Built { resources, ..Built::default() }, measured, original: None }]
        };
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
