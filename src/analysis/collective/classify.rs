//! Which reduction or prefix gives the values of a table from those of another one.

use super::chain::Chains;
use super::network::Computes;
use super::value::{LANES, Operator, Table, Value, Values};

/// The operation, the number of its lanes, and the lanes that hold the result, by bits.
pub(super) type Classified = (Computes, u32, u32);

/// The operation that gives the values of a table from those of another one.
pub(super) fn classify(
    chains: &mut Chains<'_, '_, '_>,
    source: &Table,
    table: &Table,
) -> Option<Classified> {
    let values = &mut chains.values;
    let operators: Vec<Operator> = {
        let mut operators: Vec<Operator> = Vec::new();
        for value in table {
            if let Value::Fold(operator, _) = values.get(*value)
                && !operators.contains(operator)
            {
                operators.push(*operator);
            }
        }
        operators
    };
    let mut partial = None;
    for operator in operators {
        // (The last lane is in each group that is looked for, in some lane of the table.)
        let last = source[LANES - 1];
        if !table.iter().any(|value| values.may_have(operator, *value, last)) {
            continue;
        }
        let all = values.reduction(operator, source, 0..LANES);
        let exact = (0..LANES).filter(|lane| table[*lane] == all);
        let exact = exact.fold(0, |bits, lane| bits | 1u32 << lane);
        if exact == u32::MAX {
            return Some((Computes::Reduction(operator), 32, exact));
        }
        let up_to = |values: &mut Values, lane| values.reduction(operator, source, 0..lane + 1);
        if (1..LANES).all(|lane| table[lane] == up_to(values, lane))
            && (table[0] == source[0] || operator.is_float())
        {
            return Some((Computes::Prefix(operator), 32, u32::MAX));
        }
        for size in [16, 8] {
            let group = |lane: usize| lane / size * size..lane / size * size + size;
            let mut of_group = |lane: usize| values.reduction(operator, source, group(lane));
            if (0..LANES).all(|lane| table[lane] == of_group(lane)) {
                let lanes = if planted!(Bug::CollectiveStep) { 32 } else { size as u32 };
                return Some((Computes::Reduction(operator), lanes, u32::MAX));
            }
        }
        if exact != 0 {
            partial.get_or_insert((Computes::Reduction(operator), 32, exact));
        }
    }
    partial
}

/// Whether each value of a table is 0 or 1 by a predicate.
pub(super) fn are_bits(chains: &Chains<'_, '_, '_>, table: &Table) -> bool {
    table.iter().all(|value| match chains.values.get(*value) {
        Value::Choice(_, a, b) => {
            let bit = |value| chains.values.constant_of(value).filter(|value| *value < 2);
            matches!((bit(*a), bit(*b)), (Some(a), Some(b)) if a != b)
        }
        _ => false,
    })
}
