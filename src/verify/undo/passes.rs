//! The passes, and the driver: it parses two texts once more only while a pass changes functions of them.
//!
//! A pass proves each of its changes of the program as it stands, from facts about all paths. A change that leaves paths out
//! takes nothing from these, so changes that touch different code are made together.

use std::collections::BTreeMap;

use super::edits::{Edits, Site, count};
use super::parts::without_parts;
use super::sides::bypasses;
use super::twins::promotions;
use super::unrolled::unrolled;
use super::unswitched::unswitched;
use crate::cfg;
use crate::isa::Opcode;
use crate::parallel;
use crate::ptx::{self, Depth, Function, Module};
use crate::source::SourceFile;

/// A function of the original, and of the rewritten text.
type Pair<'f, 's> = [&'f Function<'s>; 2];

/// What a pass would change in both texts.
type Find<'p> = dyn Fn([&Site<'_, '_, '_>; 2]) -> [Edits; 2] + Sync + 'p;

/// One kind of versions of code, and how they are undone.
pub(crate) struct Pass<'p> {
    /// Its name in verdicts.
    pub name: &'static str,
    /// Whether functions may have such versions.
    may: fn(Pair<'_, '_>) -> bool,
    find: &'p Find<'p>,
    /// How often a function may be changed.
    rounds: usize,
}

/// Whether the rewritten function has more instructions of an opcode.
fn has_more(pair: Pair<'_, '_>, opcode: Opcode) -> bool {
    let [old, new] = pair.map(|function| count(function, opcode));
    new > old
}

fn has_branches(pair: Pair<'_, '_>) -> bool {
    has_more(pair, Opcode::Bra)
}

fn of_rewritten(edits: Edits) -> [Edits; 2] {
    [Edits::default(), edits]
}

/// Versions of code in the rewritten text: branches around code that does the same, loops with values in registers beside
/// the loops with these in memory, and loops with a test in front that each iteration could make.
pub(crate) const VERSIONS: &[Pass<'static>] = &[
    Pass {
        name: "bypass",
        may: |pair| has_more(pair, Opcode::Shfl),
        find: &|[_, new]| of_rewritten(bypasses(new)),
        rounds: 256,
    },
    Pass {
        name: "promotion",
        may: has_branches,
        find: &|[_, new]| of_rewritten(promotions(new)),
        rounds: 256,
    },
    Pass {
        name: "unswitching",
        may: has_branches,
        find: &|[_, new]| of_rewritten(unswitched(new)),
        rounds: 256,
    },
];

/// Loops around shuffles in both texts.
pub(crate) const LOOPS: &[Pass<'static>] = &[Pass {
    name: "unrolling",
    may: |pair| pair.iter().any(|function| count(function, Opcode::Shfl) > 0),
    find: &|sites| sites.map(unrolled),
    rounds: 1,
}];

/// Calls work with the pass that takes parts of two kernels out which do the same in blocks of a shape, or of all shapes.
pub(crate) fn with_parts<R>(shape: Option<[u32; 3]>, work: impl FnOnce(&[Pass<'_>]) -> R) -> R {
    let find = |sites: [&Site<'_, '_, '_>; 2]| without_parts(sites, shape).unwrap_or_default();
    work(&[Pass { name: "parts", may: |_| true, find: &find, rounds: 8 }])
}

/// Two texts after some passes.
#[derive(Default)]
pub(crate) struct Undone {
    /// The texts that were changed.
    pub texts: [Option<SourceFile>; 2],
    /// By function the passes that changed it.
    pub by: BTreeMap<String, Vec<&'static str>>,
}

impl Undone {
    /// The texts, or those that they are made of where nothing was changed.
    pub(crate) fn over<'u>(&'u self, texts: [&'u SourceFile; 2]) -> [&'u SourceFile; 2] {
        [0, 1].map(|side| self.texts[side].as_ref().unwrap_or(texts[side]))
    }
}

/// A function on its way through the passes.
#[derive(Clone)]
struct Way {
    name: String,
    /// The number of the pass, and how often that has changed the function.
    pass: usize,
    rounds: usize,
}

/// Runs passes over the functions of two texts that both define. Nothing is undone where that gives a text with an error.
pub(crate) fn undone(
    originals: [&SourceFile; 2],
    passes: &[Pass<'_>],
    is_wanted: &dyn Fn(&str) -> bool,
) -> Undone {
    let mut found = Undone::default();
    let mut ways: Option<Vec<Way>> = None;
    loop {
        let texts = found.over(originals);
        let Some((next, edits)) = round(texts, passes, ways, is_wanted) else { break };
        if next.is_empty() {
            return found;
        }
        for way in &next {
            let by = found.by.entry(way.name.clone()).or_default();
            by.extend((way.rounds == 1).then_some(passes[way.pass].name));
        }
        let texts = found.over(originals);
        let mut after = [None, None];
        for (side, edits) in edits.into_iter().enumerate().filter(|(_, edits)| !edits.is_empty()) {
            let Some(text) = edits.applied(texts[side]) else { return Undone::default() };
            after[side] = Some(text);
        }
        let [old, new] = after;
        found.texts = [old.or(found.texts[0].take()), new.or(found.texts[1].take())];
        ways = Some(next);
    }
    Undone::default()
}

/// The functions that a pass changes, and the changes of both texts; `None` if a text has an error.
fn round(
    texts: [&SourceFile; 2],
    passes: &[Pass<'_>],
    ways: Option<Vec<Way>>,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<(Vec<Way>, [Edits; 2])> {
    let names: Option<Vec<&str>> =
        ways.as_ref().map(|ways| ways.iter().map(|way| way.name.as_str()).collect());
    let depth = names.as_deref().map_or(Depth::All, Depth::Named);
    let [old, new] = texts.map(|text| ptx::parse(text, depth).ok());
    let (old, new) = (old?, new?);
    let [of_old, of_new] = [&old, &new].map(with_bodies);
    let start = || {
        let names = of_old.keys().filter(|name| of_new.contains_key(*name) && is_wanted(name));
        names.map(|name| Way { name: (*name).to_owned(), pass: 0, rounds: 0 }).collect()
    };
    let changed = parallel::map(ways.clone().unwrap_or_else(start), |way| {
        let functions = [&of_old, &of_new].map(|all| all.get(way.name.as_str()).copied());
        let [Some(one), Some(other)] = functions else { return None };
        way.changed(passes, texts, [(&old, one), (&new, other)])
    });
    let (mut next, mut edits) = (Vec::new(), [Edits::default(), Edits::default()]);
    for (way, own) in changed.into_iter().flatten() {
        next.push(way);
        edits.iter_mut().zip(own).for_each(|(all, own)| all.join(own));
    }
    Some((next, edits))
}

/// The passes that change two texts, each with both texts behind it.
#[cfg(feature = "internals")]
pub fn steps(
    original: &SourceFile,
    rewritten: &SourceFile,
) -> Vec<(&'static str, [SourceFile; 2])> {
    let (mut texts, mut found) = ([original.clone(), rewritten.clone()], Vec::new());
    for pass in VERSIONS.iter().chain(LOOPS) {
        let next = undone(texts.each_ref(), std::slice::from_ref(pass), &|_| true);
        if !next.by.is_empty() {
            texts = next.over(texts.each_ref()).map(SourceFile::clone);
            found.push((pass.name, texts.clone()));
        }
    }
    found
}

/// The functions of a file that have bodies, by name.
fn with_bodies<'f, 's>(module: &'f Module<'s>) -> BTreeMap<&'s str, &'f Function<'s>> {
    let all = module.functions().filter(|one| one.statements().is_some());
    all.map(|one| (one.name.text, one)).collect()
}

impl Way {
    /// The changes of the next pass that makes any.
    fn changed<'s>(
        mut self,
        passes: &[Pass<'_>],
        texts: [&SourceFile; 2],
        [one, other]: [(&Module<'s>, &Function<'s>); 2],
    ) -> Option<(Way, [Edits; 2])> {
        let mut flows = None;
        while let Some(pass) = passes.get(self.pass) {
            if self.rounds < pass.rounds && (pass.may)([one.1, other.1]) {
                if flows.is_none() {
                    flows = Some((
                        cfg::build(texts[0], one.1).ok()?,
                        cfg::build(texts[1], other.1).ok()?,
                    ));
                }
                let (old, new) = flows.as_ref()?;
                let site =
                    |source, (module, function), flow| Site { source, module, function, flow };
                let edits = (pass.find)([&site(texts[0], one, old), &site(texts[1], other, new)]);
                if edits.iter().any(|one| !one.is_empty()) {
                    self.rounds += 1;
                    return Some((self, edits));
                }
            }
            (self.pass, self.rounds) = (self.pass + 1, 0);
        }
        None
    }
}
