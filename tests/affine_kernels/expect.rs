//! Which loads of a random kernel must be covered, at which distance: the paper's rule, written
//! down a second time and from the kernel's description alone.

use super::kernel::{Kernel, Load, Pitch, Rows};

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

/// The displacements in bytes at which all bytes of `second` are among those of `first`.
pub fn displacements(first: &Load, second: &Load) -> Vec<i64> {
    (0..=first.access.bytes() - second.access.bytes()).collect()
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

/// Whether each byte of a load is one that some source's lane at a distance has read.
pub fn together<'l>(
    kernel: &Kernel,
    sources: impl Iterator<Item = &'l Load>,
    load: &Load,
    lanes: i64,
) -> bool {
    let lane = i64::from(kernel.stride) * i64::from(kernel.unit);
    let mut missing: Vec<i64> = (0..load.access.bytes()).collect();
    for source in sources {
        if let Some(ahead) = ahead(kernel, source, load) {
            let first = ahead - lanes * lane;
            missing.retain(|byte| !(0..source.access.bytes()).contains(&(first + byte)));
        }
    }
    missing.is_empty()
}

/// For each load the distance to its source or sources, if it is to be covered: loads in program
/// order, a covered load is never a source, the nearest source wins, and several only where none has
/// all bytes. Where lanes are known not to be consecutive in `tid.x`, only a load's own lane can be
/// its source.
pub fn covered(kernel: &Kernel) -> Vec<Option<i64>> {
    let mut found: Vec<Option<i64>> = Vec::new();
    let torn = kernel.required.is_some_and(|[x, y, z]| x % 32 != 0 && y * z != 1);
    for (index, load) in kernel.loads.iter().enumerate() {
        let sources =
            || (0..index).filter(|&source| found[source].is_none()).map(|at| &kernel.loads[at]);
        let one = sources()
            .filter_map(|source| distance(kernel, source, load))
            .filter(|&lanes| lanes == 0 || !torn)
            .min_by_key(|lanes| lanes.abs());
        let several = || {
            let near = (-31..=31).filter(|&lanes| lanes == 0 || !torn);
            near.filter(|&lanes| together(kernel, sources(), load, lanes))
                .min_by_key(|lanes| lanes.abs())
        };
        let best = one.or_else(several);
        found.push(best);
    }
    found
}
