//! What holes range over. A family yields its members within given masks, the cheapest first, one after
//! the other, and never those that the masks exclude.
//!
//! A member is a table: a small number for each point of the hole's coordinates. The point of `(i, k)` is
//! `k * extents[0] + i`. A mask is a set of values as bits, one for each point.

mod condition;
mod fit;
mod formula;
mod linear;
mod request;
mod xform;

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::expr::Expr;
use condition::Conditions;
pub use condition::WITH_MULTIPLES;
use fit::Fitted;
use linear::Linear;
use xform::XForm;

pub use request::{MemberId, Recipe, Request, Visit, Wanted};

#[derive(Clone, Debug)]
enum Kind {
    XForm(XForm),
    Linear(Linear),
    Condition(Conditions),
    Part(Conditions),
    Listed(Fitted),
    Table,
}

/// A family for one hole.
#[derive(Clone, Debug)]
pub struct Family {
    kind: Arc<Kind>,
    extents: [usize; 2],
    values: usize,
    names: Vec<String>,
}

impl Family {
    /// The families that are there without being listed.
    pub const NAMES: [&'static str; 10] =
        ["xform", "rot", "linear", "unit", "xor", "table", "cond", "part", "fit", "fit1"];

    /// The family of this name; `constants` are those of conditions.
    pub fn named(name: &str, request: &Request<'_>, constants: &[i64]) -> Option<Family> {
        let kind = match name {
            "xform" => Kind::XForm(XForm::new(request)),
            "rot" | "linear" | "unit" | "xor" => Kind::Linear(Linear::new(name, request)),
            "cond" => Kind::Condition(Conditions::new(request, constants)),
            "part" => Kind::Part(Conditions::new(request, constants)),
            "fit" => Kind::Listed(Fitted::bottom_up(request, fit::OPERATORS)),
            "fit1" => Kind::Listed(Fitted::bottom_up(request, 1)),
            "table" => Kind::Table,
            _ => return None,
        };
        Some(Family::of(kind, request))
    }

    /// A family whose members the sketch lists, as expressions over the names `own`.
    pub fn listed(
        request: &Request<'_>,
        own: &[&str],
        members: &[Expr],
        params: &FxHashMap<String, i64>,
    ) -> Family {
        Family::of(Kind::Listed(Fitted::listed(request, own, members, params)), request)
    }

    fn of(kind: Kind, request: &Request<'_>) -> Family {
        let Request { extents, values, names, .. } = *request;
        Family { kind: Arc::new(kind), extents, values, names: names.to_vec() }
    }

    /// A bit for each value that some member may have at each point.
    pub fn support(&self) -> Vec<u64> {
        let points = self.extents[0] * self.extents[1];
        let all = if self.values == 64 { u64::MAX } else { (1 << self.values) - 1 };
        match &*self.kind {
            Kind::XForm(_) | Kind::Linear(_) | Kind::Table | Kind::Part(_) => vec![all; points],
            Kind::Condition(conditions) => conditions.support(points),
            Kind::Listed(fitted) => fitted.support(points),
        }
    }

    /// Calls `visit` for each member within the masks, each table once.
    pub fn each(&self, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        let extents = self.extents;
        let mut checked =
            |table: &[u8], recipe: Recipe| violated(table, extents, wanted) || visit(table, recipe);
        match &*self.kind {
            Kind::XForm(xform) => xform.each(wanted, visit),
            Kind::Linear(linear) => linear.each(wanted, &mut checked),
            Kind::Condition(conditions) => conditions.each(wanted, visit),
            Kind::Part(conditions) => conditions.each_part(self.values, wanted, &mut checked),
            Kind::Listed(fitted) => fitted.each(wanted, &mut checked),
            Kind::Table => each_table(extents, wanted, visit),
        }
    }

    /// The formula of a member over the names of the coordinates, simplified as far as its table allows.
    pub fn expression(&self, table: &[u8], recipe: &Recipe) -> Expr {
        let names = formula::Names::new(&self.names);
        let expr = match (&*self.kind, recipe) {
            (Kind::XForm(xform), Recipe::XForm(parameters)) => xform.formula(parameters, &names),
            (Kind::Linear(linear), Recipe::Formula(kind, parameters)) => {
                linear.formula(*kind, parameters, &names)
            }
            (Kind::Condition(conditions), Recipe::Member(number)) => {
                conditions.formula(*number, &names)
            }
            (Kind::Part(conditions), Recipe::Part(numbers)) => {
                conditions.part_formula(numbers, &names)
            }
            (Kind::Listed(fitted), Recipe::Member(number)) => fitted.formula(*number),
            _ => return fitted(self.extents, self.values, &self.names, table),
        };
        let same = |expr: &Expr| names.gives(expr, self.extents, table);
        debug_assert!(same(&expr), "{expr} gives {table:?}");
        expr.simplified(&same)
    }
}

/// The cheapest expression for a table; where none is found, one that chooses point by point.
pub fn fitted(extents: [usize; 2], values: usize, names: &[String], table: &[u8]) -> Expr {
    let request = Request { extents, values, space: 3, names };
    let fitted = Fitted::bottom_up(&request, fit::OPERATORS);
    let masks: Vec<u64> = table.iter().map(|&value| 1 << value).collect();
    let wanted = Wanted { masks: &masks, first_differ: false, second_differ: false };
    let own = formula::Names::new(names);
    let mut found = None;
    fitted.each(&wanted, &mut |_, recipe| {
        if let Recipe::Member(number) = recipe {
            found = Some(fitted.formula(number));
        }
        false
    });
    found.unwrap_or_else(|| own.chosen(extents, table))
}

/// Whether a table violates that its values differ.
fn violated(table: &[u8], [first, second]: [usize; 2], wanted: &Wanted<'_>) -> bool {
    let twice = |mut row: Box<dyn Iterator<Item = u8> + '_>| {
        let mut seen = 0u64;
        row.any(|value| {
            let known = seen >> value & 1 == 1;
            seen |= 1 << value;
            known
        })
    };
    wanted.first_differ
        && (0..second).any(|k| twice(Box::new(table[k * first..][..first].iter().copied())))
        || wanted.second_differ
            && (0..first).any(|i| twice(Box::new((0..second).map(move |k| table[k * first + i]))))
}

/// Every table within the masks, in lexicographic order.
fn each_table(extents: [usize; 2], wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
    let [first, second] = extents;
    let points = first * second;
    let mut table = vec![0u8; points];
    // The values left to try at each point before the current one.
    let mut left: Vec<u64> = vec![0; points + 1];
    let mut at = 0;
    let open = |table: &[u8], at: usize| {
        let mut mask = wanted.masks.get(at).copied().unwrap_or(0);
        if wanted.first_differ && at < points {
            table[at - at % first..at].iter().for_each(|&value| mask &= !(1 << value));
        }
        if wanted.second_differ && at < points {
            (0..at / first).for_each(|k| mask &= !(1 << table[k * first + at % first]));
        }
        mask
    };
    left[0] = open(&table, 0);
    loop {
        if at == points {
            if !visit(&table, Recipe::Table) {
                return;
            }
        } else if left[at] != 0 {
            table[at] = left[at].trailing_zeros() as u8;
            left[at] &= left[at] - 1;
            at += 1;
            left[at] = open(&table, at);
            continue;
        }
        if at == 0 {
            return;
        }
        at -= 1;
    }
}
