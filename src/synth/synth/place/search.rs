//! Every placement of a family against all accesses, and a lower bound for all placements.

use super::family::{Member, expression, members};
use super::problem::{Access, Family, Measure, Placement};
use crate::cost::banks::{least, wavefronts};
use crate::synth::expr::Expr;

/// The cost of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cost {
    /// The wavefronts of each access statement.
    pub wavefronts: Vec<u32>,
    /// Bytes from the first element to the last.
    pub bytes: u64,
    /// Operators of the index.
    pub instructions: usize,
}

impl Cost {
    /// Wavefronts of all accesses.
    pub fn all(&self) -> u32 {
        self.wavefronts.iter().sum()
    }

    fn key(&self, order: &[Measure]) -> Vec<u64> {
        let of = |measure: &Measure| match measure {
            Measure::Wavefronts => u64::from(self.all()),
            Measure::Bytes => self.bytes,
            Measure::Instructions => self.instructions as u64,
        };
        order.iter().map(of).collect()
    }
}

/// The result.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cheapest placement.
    pub expr: Expr,
    /// Where it puts each element.
    pub table: Vec<i64>,
    /// Its cost.
    pub cost: Cost,
    /// The cost of consecutive elements, without padding or swizzle.
    pub plain: Cost,
    /// The wavefronts that each access statement has at least, wherever elements are.
    pub least: Vec<u32>,
    /// How many placements were tried: all of the family.
    pub tried: usize,
}

/// Whether elements do not overlap, and those that a lane accesses together are together.
fn fits(placement: &Placement, table: &[i64]) -> bool {
    let mut sorted = table.to_vec();
    sorted.sort_unstable();
    let apart = sorted.windows(2).all(|pair| pair[0] < pair[1]) && sorted.first() >= Some(&0);
    let together = |access: &Access| {
        let several = (access.bytes / placement.element) as usize;
        let whole = |cell: &usize| {
            let first = table[*cell];
            first.rem_euclid(several as i64) == 0
                && (0..several).all(|next| table[cell + next] == first + next as i64)
        };
        let careless = planted!(Bug::VectorsApart);
        several == 1 || careless || access.rounds.iter().flatten().all(whole)
    };
    let apart = apart || planted!(Bug::PlacesOverlap);
    let apart = apart && table.iter().all(|at| *at >= 0);
    apart && placement.accesses.iter().all(together)
}

/// The cost of a table, without the operators of its index.
fn cost(placement: &Placement, table: &[i64]) -> Cost {
    let each = |access: &Access| {
        let round = |(cells, &mask): (&Vec<usize>, &u32)| {
            let at = cells.iter().map(|&cell| table[cell] as u64 * placement.element);
            let careless = planted!(Bug::WideAtOnce);
            let bytes = if careless { access.bytes.min(4) } else { access.bytes };
            wavefronts(&at.collect::<Vec<_>>(), mask, bytes)
        };
        access.rounds.iter().zip(&access.masks).map(round).sum()
    };
    let last = table.iter().copied().max().unwrap_or(0) as u64;
    Cost {
        wavefronts: placement.accesses.iter().map(each).collect(),
        bytes: (last + 1) * placement.element,
        instructions: 0,
    }
}

/// Tries every placement; nothing if each splits a vector access.
pub fn search(placement: &Placement) -> Option<Outcome> {
    let cells = placement.cells();
    let plain: Vec<i64> = (0..cells as i64).collect();
    let least = |access: &Access| {
        let each = access.rounds.iter().zip(&access.masks);
        each.map(|(cells, &mask)| least(cells, mask, access.bytes)).sum()
    };
    let least: Vec<u32> = placement.accesses.iter().map(least).collect();
    let mut plain_cost = cost(placement, &plain);
    plain_cost.instructions = expression(placement, Member::Plain).size();
    let mut best: Option<(Expr, Vec<i64>, Cost)> = None;
    let mut tried = 0;
    let mut offer = |expr: &dyn Fn() -> Expr, table: Vec<i64>| {
        tried += 1;
        if !fits(placement, &table) {
            return;
        }
        let mut cost = cost(placement, &table);
        let key = |cost: &Cost| cost.key(&placement.order);
        // Without its operators it is cheaper than it is.
        if best.as_ref().is_some_and(|best| key(&cost) > key(&best.2)) {
            return;
        }
        let expr = expr();
        cost.instructions = expr.size();
        if best.as_ref().is_none_or(|best| key(&cost) < key(&best.2)) {
            best = Some((expr, table, cost));
        }
    };
    match &placement.at {
        Err(expr) => {
            let table = (0..cells).map(|cell| placement.value(expr, cell));
            let table: Option<Vec<i64>> = table.collect();
            offer(&|| expr.clone(), table?);
        }
        Ok(family) => {
            for member in members(*family, cells) {
                let table = (0..cells as i64).map(|f| member.at(f)).collect();
                offer(&|| expression(placement, member), table);
            }
        }
    }
    let (expr, table, cost) = best?;
    Some(Outcome { expr, table, cost, plain: plain_cost, least, tried })
}

/// The family's name in a sentence.
pub(super) fn name(family: Family) -> &'static str {
    match family {
        Family::Both => "paddings and swizzles",
        Family::Padding => "paddings",
        Family::Swizzle => "swizzles",
    }
}
