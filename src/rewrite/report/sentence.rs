//! The decisions about some loads with their reasons, in one sentence.

use strum::IntoEnumIterator;

use super::{ArrayReport, CollectiveReport, Cost, Decision, LoadReport, Stores, Wavefronts};
use crate::strategies::StrategyName;

/// Counts of things by their names, in the order in which the names came first.
#[derive(Default)]
struct Counts<N>(Vec<(N, usize)>);

impl<N: PartialEq> Counts<N> {
    fn add(&mut self, name: N) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.0.push((name, 1)),
        }
    }

    fn all(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }
}

impl<N: AsRef<str>> Counts<N> {
    /// `2 of a, 1 of b`, or the name alone where there is one.
    fn named(&self) -> String {
        match &self.0[..] {
            [(only, _)] => format!("`{}`", only.as_ref()),
            all => {
                let each = all.iter().map(|(name, count)| format!("{count} `{}`", name.as_ref()));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// Where values could come from, and the architecture on which that does not pay.
type Unprofitable = (&'static str, Option<u32>);

/// Where a strategy would take a value from.
fn origin(strategy: &str) -> &'static str {
    let known = StrategyName::iter().find(|name| name.word() == strategy);
    known.unwrap_or(StrategyName::Paper).facts().origin
}

/// The sentence about loads, `all` in number, if those of functions that were not analysed are counted; `cost` is that of
/// the chosen replacements. Names between backquotes are strategies and
/// rules: those that `ptxasw explain` knows.
pub(super) fn sentence<'r>(
    loads: impl Iterator<Item = &'r LoadReport>,
    all: usize,
    cost: Option<Cost>,
) -> String {
    let (mut replaced, mut kept) = (Counts::default(), Counts::default());
    let mut unprofitable: Vec<(Unprofitable, Vec<Cost>)> = Vec::new();
    let mut total = 0;
    for load in loads {
        total += 1;
        match (load.decision, &load.possible) {
            (Decision::Keep, Some(possible)) => {
                let how = possible.first().map_or("", |name| origin(name));
                let key = (how, load.architecture);
                let at =
                    unprofitable.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                        unprofitable.push((key, Vec::new()));
                        unprofitable.len() - 1
                    });
                let cost = load.cost.unwrap_or(Cost { strategy: 0.0, load: 0.0 });
                unprofitable[at].1.push(cost.each(load.loads.unwrap_or(1)));
            }
            (Decision::Keep, None) => kept.add(load.rule.as_deref().unwrap_or("kept")),
            (decision, _) => replaced.add(decision.word()),
        }
    }
    let mut parts = Vec::new();
    if replaced.all() > 0 {
        let cost = cost.map(|cost| format!(": {cost}")).unwrap_or_default();
        let verb = if replaced.all() == 1 { "is" } else { "are" };
        parts.push(format!("{} {verb} replaced ({}{cost})", replaced.all(), replaced.named()));
    }
    for ((how, architecture), costs) in unprofitable {
        let on = architecture.map(|number| format!("on sm_{number} ")).unwrap_or_default();
        let (count, cost) = (costs.len(), Cost::sum(costs.into_iter()));
        // Fewer cycles than the loads take, and fewer than that has to be.
        let saves = cost.is_some_and(|cost| cost.strategy < cost.load);
        let cost = cost.map(|cost| format!(": {cost}")).unwrap_or_default();
        let why = if saves { "that saves too little" } else { "that does not pay" };
        parts.push(format!("{count} {how}, but {on}{why} (`does-not-pay`{cost})"));
    }
    if kept.all() > 0 {
        let verb = if kept.all() == 1 { "stays as it is" } else { "stay as they are" };
        parts.push(format!("{} {verb} ({})", kept.all(), kept.named()));
    }
    let many = |count| if count == 1 { "" } else { "s" };
    match (parts.is_empty(), all) {
        (false, _) => format!("{total} global load{}: {}", many(total), parts.join("; ")),
        (true, 0) => "no global load".to_owned(),
        (true, _) => format!("{all} global load{}: nothing to exchange", many(all)),
    }
}

/// A sentence about loads that says so of the stores, too.
pub(super) fn with_stores(sentence: String, stores: Stores) -> String {
    [vec![sentence], stores.words()].concat().join("; ")
}

/// A sentence that says, too, which arrays in shared memory are or could be laid out anew.
pub(super) fn with_arrays<'r>(
    sentence: String,
    arrays: impl Iterator<Item = &'r ArrayReport>,
) -> String {
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
pub(super) fn with_collectives<'r>(
    sentence: String,
    collectives: impl Iterator<Item = &'r CollectiveReport>,
) -> String {
    let replaced = collectives.filter(|one| one.decision != Decision::Keep);
    let (mut count, mut shuffles, mut trees) = (0, 0, 0);
    for one in replaced {
        match one.barriers {
            Some(_) => trees += 1,
            None => (count, shuffles) = (count + 1, shuffles + one.shuffles),
        }
    }
    let sentence = match trees {
        0 => sentence,
        1 => format!("{sentence}; 1 tree in shared memory is done by shuffles (`collective`)"),
        _ => format!(
            "{sentence}; {trees} trees in shared memory are done by shuffles (`collective`)"
        ),
    };
    match count {
        0 => sentence,
        1 => format!("{sentence}; 1 collective of {shuffles} shuffles is replaced (`collective`)"),
        _ => format!(
            "{sentence}; {count} collectives of {shuffles} shuffles are replaced (`collective`)"
        ),
    }
}
