//! Combinations of members of lists, the best of each first.

/// Calls `visit` with one number below each bound, those with small sums first; `visit` ends it with false.
pub(super) fn tuples(
    bounds: &[usize],
    most: usize,
    visit: &mut dyn FnMut(&[usize]) -> bool,
) -> bool {
    fn go(
        bounds: &[usize],
        at: usize,
        left: usize,
        tuple: &mut Vec<usize>,
        visit: &mut dyn FnMut(&[usize]) -> bool,
    ) -> bool {
        let Some(bound) = bounds.get(at) else { return left > 0 || visit(tuple) };
        let rest: usize = bounds[at + 1..].iter().map(|bound| bound - 1).sum();
        for number in left.saturating_sub(rest)..=left.min(bound - 1) {
            tuple.push(number);
            let go_on = go(bounds, at + 1, left - number, tuple, visit);
            tuple.pop();
            if !go_on {
                return false;
            }
        }
        true
    }
    if bounds.contains(&0) {
        return true;
    }
    let mut count = 0;
    let mut counted = |tuple: &[usize]| {
        count += 1;
        count <= most && visit(tuple)
    };
    let sum: usize = bounds.iter().map(|bound| bound - 1).sum();
    (0..=sum).all(|sum| go(bounds, 0, sum, &mut Vec::new(), &mut counted))
}
