//! Which steps of a kernel run together along an axis, so that a lane holds the values of one place of the axis instead
//! of those of all places.
//!
//! In: steps in their order. Out: the same steps in groups. The elements of a fold are the same; if it has several
//! parts, those of one place of the axis come together, which for floating point may round differently.

use rustc_hash::FxHashMap;

use super::kernel::{Kernel, Part, Read, Step, What};
use crate::synth::expr::Expr;

/// Steps run together if a lane then holds fewer registers, by more than this number.
const HELD: usize = 48;

/// Steps that run together along an axis, or one step without.
#[derive(Debug)]
pub(super) struct Group<'k> {
    /// The axis and its extent.
    pub axis: Option<(String, usize)>,
    /// The steps.
    pub steps: Vec<&'k Step>,
    /// Arrays that hold one place of the axis at a time, each with the position of its index along the axis.
    pub local: FxHashMap<usize, usize>,
}

/// Puts steps into groups.
pub(super) fn groups<'k>(kernel: &Kernel, steps: &[&'k Step]) -> Vec<Group<'k>> {
    let mut groups = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let axes = &steps[at].loops.axes;
        let ways = axes.iter().map(|axis| along(kernel, axis, &steps[at..]));
        let longest =
            ways.flatten().reduce(|a, b| if b.steps.len() > a.steps.len() { b } else { a });
        let group = longest.filter(|group| {
            let behind = &steps[at + group.steps.len()..];
            worth(kernel, group) && !group.local.keys().any(|array| needed(kernel, *array, behind))
        });
        let group = group.unwrap_or_else(|| Group {
            axis: None,
            steps: vec![steps[at]],
            local: FxHashMap::default(),
        });
        at += group.steps.len();
        groups.push(group);
    }
    groups
}

/// Whether a group leaves enough registers free.
fn worth(kernel: &Kernel, group: &Group<'_>) -> bool {
    let Some((_, extent)) = &group.axis else { return false };
    let held: usize = group.local.keys().map(|&array| kernel.arrays[array].count()).sum();
    held - held / extent > HELD
}

/// Whether steps or goals need an array.
fn needed(kernel: &Kernel, array: usize, behind: &[&Step]) -> bool {
    let mut found = kernel.goals.contains(&array);
    let mut see =
        |read: &Read| found |= matches!(read, Read::Register { array: own, .. } if *own == array);
    for step in behind {
        match &step.what {
            What::Read(read) => see(read),
            What::Fold(_, parts) => parts.iter().flat_map(|part| &part.factors).for_each(&mut see),
            What::Rotation(rotation) => {
                see(&Read::Register { array: rotation.from, place: Vec::new(), lane: None });
            }
        }
    }
    found
}

/// The steps from the first on that can run along an axis together.
fn along<'k>(kernel: &Kernel, axis: &(String, usize), steps: &[&'k Step]) -> Option<Group<'k>> {
    let mut group =
        Group { axis: Some(axis.clone()), steps: Vec::new(), local: FxHashMap::default() };
    let own = Expr::name(&axis.0);
    let mut sums: Vec<usize> = Vec::new();
    for step in steps {
        let loops = |axes: &[(String, usize)]| axes.iter().any(|other| other.0 == axis.0);
        // Arrays that the group makes are read at the same place of the axis, and its folds only behind the group.
        let reads = |read: &Read| match read {
            Read::Input { .. } => true,
            Read::Register { array, place, .. } => {
                !sums.contains(array)
                    && group.local.get(array).is_none_or(|&index| place[index] == own)
            }
        };
        match &step.what {
            What::Read(read) if loops(&step.loops.axes) && reads(read) => {
                let at = step.place.iter().position(|index| *index == own);
                let once = step.place.iter().filter(|index| mentions(index, &axis.0)).count() == 1;
                let Some(at) = at.filter(|_| once && !kernel.goals.contains(&step.to)) else {
                    break;
                };
                group.local.insert(step.to, at);
            }
            What::Fold(_, parts) => {
                let fits = |part: &Part| loops(&part.loops.axes) && part.factors.iter().all(reads);
                if loops(&step.loops.axes) || !parts.iter().all(fits) {
                    break;
                }
                sums.push(step.to);
            }
            _ => break,
        }
        group.steps.push(step);
    }
    (group.steps.len() > 1).then_some(group)
}

/// Whether a name stands in an expression.
fn mentions(expr: &Expr, axis: &str) -> bool {
    let mut found = false;
    expr.names(&mut |name| found |= name == axis);
    found
}
