//! The holes of a kernel: the undefined functions, their arguments, and the points at which they are called.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::node::Point;
use crate::cfg::InstId;
use crate::source::Span;
use crate::synth::program::PointId;

/// The prefix of all names of holes.
pub(super) const PREFIX: &str = "ptxasw_";

/// The range of a function's result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `(id, i, n, k, m)`: an index below `n`, by a family of index expressions.
    Index,
    /// `(id, i, k, ways)`: one of several ways, by conditions.
    Part,
    /// `(id, i, k)`: whether something takes part.
    Condition,
}

/// The functions: their names behind the prefix, their kinds, and the family of expressions.
const FUNCTIONS: [(&str, Kind); 8] = [
    ("xform", Kind::Index),
    ("rot", Kind::Index),
    ("linear", Kind::Index),
    ("xor", Kind::Index),
    ("table", Kind::Index),
    ("fit", Kind::Index),
    ("part", Kind::Part),
    ("cond", Kind::Condition),
];

impl Kind {
    /// How many arguments the function takes.
    pub(super) fn arguments(self) -> usize {
        match self {
            Kind::Index => 5,
            Kind::Part => 4,
            Kind::Condition => 3,
        }
    }
}

/// The family and the kind of the hole that a function is.
pub(super) fn function(name: &str) -> Option<(&'static str, Kind)> {
    let rest = name.strip_prefix(PREFIX)?;
    FUNCTIONS.into_iter().find(|(own, _)| *own == rest)
}

/// The most places of a coordinate, and the most values of a hole.
pub(super) const MOST_PLACES: u64 = 64;

/// How the values of a hole are used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Use {
    /// They are part of an address.
    Address,
    /// They are the source lane of a shuffle.
    Shuffle,
}

/// One hole.
#[derive(Clone, Debug)]
pub(super) struct Hole {
    /// The number that the calls give it.
    pub id: u64,
    /// The family.
    pub family: &'static str,
    /// See [`Kind`].
    pub kind: Kind,
    /// Values are below this number.
    pub values: usize,
    /// The extents of its coordinates.
    pub extents: [usize; 2],
    /// Where it is called first.
    pub span: Span,
    /// Whether each coordinate differs between the lanes of a call.
    pub lanes: [bool; 2],
    /// How its values are used, where they do not only pick registers.
    pub used: Option<Use>,
}

impl Hole {
    /// The names of its coordinates; what differs between the lanes is called `lane`.
    pub(super) fn coordinates(&self) -> Vec<String> {
        let [first, second] = self.lanes;
        let second = if !first && second { "lane" } else { "k" };
        vec![if first { "lane" } else { "i" }.to_owned(), second.to_owned()]
    }
}

/// A call of a hole.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The number of the hole.
    pub hole: usize,
    /// The instruction.
    pub inst: InstId,
}

/// The arguments of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Called {
    /// The hole's own number.
    pub id: u64,
    /// Its coordinates.
    pub at: [u64; 2],
    /// The extents that the call names; 0 for one that it does not name.
    pub extents: [u64; 2],
    /// How many values there are.
    pub values: u64,
}

/// All holes of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes {
    /// In the order of their first calls.
    pub holes: Vec<Hole>,
    /// By instruction.
    pub sites: BTreeMap<InstId, Site>,
    /// The points that were asked for: hole and coordinates.
    pub points: Vec<(usize, [u64; 2])>,
    known: FxHashMap<(usize, [u64; 2]), Point>,
}

impl Holes {
    /// Notes a call of one lane; returns the point.
    ///
    /// # Errors
    /// The call contradicts another one, or itself.
    pub(super) fn call(
        &mut self,
        inst: InstId,
        span: Span,
        (family, kind): (&'static str, Kind),
        called: Called,
    ) -> Result<Point, String> {
        let Called { id, at, extents, values } = called;
        if values == 0 || values.max(extents[0]).max(extents[1]) > MOST_PLACES {
            return Err(format!(
                "a hole has 1 to {MOST_PLACES} values, and 1 to {MOST_PLACES} places"
            ));
        }
        for (at, extent) in at.into_iter().zip(extents) {
            let extent = if extent == 0 { MOST_PLACES } else { extent };
            if at >= extent {
                return Err(format!("the coordinate {at} of this hole is not below {extent}"));
            }
        }
        let number = match self.holes.iter().position(|hole| hole.id == id) {
            Some(number) => {
                let hole = &self.holes[number];
                let own = hole.extents.map(|extent| extent as u64);
                let extents_differ = kind == Kind::Index && own != extents;
                if hole.family != family || hole.values as u64 != values || extents_differ {
                    return Err(format!(
                        "the hole {id} is called with other extents, or by another function, before"
                    ));
                }
                number
            }
            None => {
                let extents = extents.map(|extent| (extent as usize).max(1));
                let values = values as usize;
                let (lanes, used) = ([false; 2], None);
                self.holes.push(Hole { id, family, kind, values, extents, span, lanes, used });
                self.holes.len() - 1
            }
        };
        if kind != Kind::Index {
            let hole = &mut self.holes[number];
            hole.extents[0] = hole.extents[0].max(at[0] as usize + 1);
            hole.extents[1] = hole.extents[1].max(at[1] as usize + 1);
        }
        let site = self.sites.entry(inst).or_insert(Site { hole: number, inst });
        if site.hole != number {
            return Err("one call is of several holes: its first argument varies".to_owned());
        }
        let next = self.points.len() as Point;
        let point = *self.known.entry((number, at)).or_insert(next);
        if point == next {
            self.points.push((number, at));
        }
        Ok(point)
    }

    /// The hole of a point, and the point's number in the hole's table.
    pub(super) fn place(&self, point: Point) -> (usize, PointId) {
        let (hole, [i, k]) = self.points[point as usize];
        (hole, PointId((k * self.holes[hole].extents[0] as u64 + i) as u32))
    }

    /// Notes how the values at a point are used.
    pub(super) fn used(&mut self, point: Point, how: Use) {
        let hole = &mut self.holes[self.points[point as usize].0];
        hole.used = hole.used.max(Some(how));
    }
}
