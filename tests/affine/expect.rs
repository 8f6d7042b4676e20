//! Which loads of a random kernel must be covered, at which distance: the paper's rule, written
//! down a second time and from the kernel's description alone.

use super::kernel::{Access, Kernel, Load, Pitch, Rows};

/// Whether two loads see the same uniform parts, and if so by how many bytes the second's address
/// is ahead of the first's in the same thread.
fn ahead(kernel: &Kernel, first: &Load, second: &Load) -> Option<i64> {
    let rows = i64::from(second.row - first.row);
    let columns = i64::from(second.column - first.column);
    let elements = match kernel.pitch {
        _ if rows == 0 || kernel.rows == Rows::None => columns,
        Pitch::Constant(pitch) => columns + rows * i64::from(pitch),
        Pitch::Parameter => return None,
    };
    let bytes = elements * i64::from(kernel.unit) + i64::from(second.field - first.field);
    (first.array == second.array).then_some(bytes)
}

/// Whether an element of one kind, in its register, is what the other would have put there.
fn alike(a: Access, b: Access) -> bool {
    let kind = |access: Access| match access {
        Access::U8 => (1, 32, false),
        Access::S8 => (1, 32, true),
        other => (other.elements().1, other.elements().1 * 8, false),
    };
    kind(a) == kind(b)
}

/// The displacements in bytes at which every element of `second` is one of `first`.
pub fn displacements(first: &Load, second: &Load) -> Vec<i64> {
    let (have, size) = first.access.elements();
    let (want, _) = second.access.elements();
    match alike(first.access, second.access) {
        true => (0..=have - want).map(|skipped| skipped * size).collect(),
        false => Vec::new(),
    }
}

/// The nearest distance at which the first load's lanes hold what the second wants.
pub fn distance(kernel: &Kernel, first: &Load, second: &Load) -> Option<i64> {
    let ahead = ahead(kernel, first, second)?;
    let lane = i64::from(kernel.stride) * i64::from(kernel.unit);
    displacements(first, second)
        .into_iter()
        .map(|skipped| ahead - skipped)
        .filter(|bytes| bytes % lane == 0)
        .map(|bytes| bytes / lane)
        .filter(|lanes| lanes.abs() <= 31)
        .min_by_key(|lanes| lanes.abs())
}

/// For each load the distance to its source, if it is to be covered: loads in program order, a
/// covered load is never a source, the nearest source wins. Where lanes are known not to be
/// consecutive in `tid.x`, only a load's own lane can be its source.
pub fn covered(kernel: &Kernel) -> Vec<Option<i64>> {
    let mut found: Vec<Option<i64>> = Vec::new();
    let torn = kernel.required.is_some_and(|[x, y, z]| x % 32 != 0 && y * z != 1);
    for (index, load) in kernel.loads.iter().enumerate() {
        let best = (0..index)
            .filter(|&source| found[source].is_none())
            .filter_map(|source| distance(kernel, &kernel.loads[source], load))
            .filter(|&lanes| lanes == 0 || !torn)
            .min_by_key(|lanes| lanes.abs());
        found.push(best);
    }
    found
}
