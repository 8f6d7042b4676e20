//! The kernels of `tests/interp/faulty`: the name of a fault stands behind the instruction at which it must be reported
//! (`// out-of-bounds`), and a kernel without such a word must run to its end.

use super::marked;
use ptxasw::interp::FaultKind;

/// The faults that have kernels here; races and undetermined values have folders of their own.
const KINDS: [FaultKind; 5] = [
    FaultKind::OutOfBounds,
    FaultKind::Misaligned,
    FaultKind::Trap,
    FaultKind::Deadlock,
    FaultKind::Undefined,
];

#[test]
fn faults_are_reported_where_they_happen_and_nowhere_else() {
    let (mut reported, mut silent) = ([0; KINDS.len()], 0);
    let wrong = marked::each("faulty", &mut |kernel| {
        let expected = KINDS.iter().position(|kind| kernel.line(kind.name()).is_some());
        match (kernel.bed().limit(1 << 22).run(), expected) {
            (Ok(_), None) => silent += 1,
            (Ok(_), Some(at)) => return vec![format!("{}: no {}", kernel.place, KINDS[at].name())],
            (Err(fault), None) => return vec![kernel.shown(&fault)],
            (Err(fault), Some(at)) => {
                reported[at] += 1;
                if fault.kind != KINDS[at]
                    || kernel.found(&fault).1 != kernel.line(KINDS[at].name())
                {
                    return vec![kernel.shown(&fault)];
                }
            }
        }
        Vec::new()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
    assert!(reported.iter().all(|count| *count > 0) && silent > 10, "{reported:?}, {silent}");
}
