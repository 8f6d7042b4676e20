//! Cycles that a warp takes beside others: a closed queueing network, solved by mean value analysis.
//!
//! In: for each unit of a multiprocessor, the cycles that one execution of the kernel by a warp keeps it busy, and the
//! cycles that a warp takes alone. Out: cycles of the multiprocessor for each warp, where a number of warps is always
//! resident. Warps are the customers; what a warp takes alone beyond its use of the units is spent outside of them.
//!
//! Source: M. Reiser and S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", Journal of the ACM
//! 27(2), 1980.

/// Cycles of the multiprocessor for each of `warps` resident warps. `busy`: cycles that a warp keeps each unit busy.
/// `alone`: cycles of a warp that has the multiprocessor to itself.
pub fn cycles_per_warp(busy: &[f64], alone: f64, warps: u32) -> f64 {
    let outside = (alone - busy.iter().sum::<f64>()).max(0.0);
    let mut queued = vec![0.0; busy.len()];
    let mut cycles = 0.0;
    for customers in 1..=warps {
        let response: Vec<f64> =
            busy.iter().zip(&queued).map(|(busy, queued)| busy * (1.0 + queued)).collect();
        cycles = (outside + response.iter().sum::<f64>()) / f64::from(customers);
        if cycles <= 0.0 {
            break;
        }
        queued = response.into_iter().map(|response| response / cycles).collect();
    }
    cycles
}

#[cfg(feature = "unit-tests")]
mod tests {
    use super::*;

    crate::unit_tests!(bounds_hold_and_are_reached);

    fn bounds_hold_and_are_reached() {
        let busy = [4.0, 10.0, 1.0];
        assert_eq!(cycles_per_warp(&busy, 100.0, 1), 100.0);
        for warps in 1..=64 {
            let cycles = cycles_per_warp(&busy, 100.0, warps);
            let least = f64::max(10.0, 100.0 / f64::from(warps));
            assert!(cycles >= least - 1e-9, "{warps}: {cycles}");
            assert!(cycles <= cycles_per_warp(&busy, 100.0, warps.max(2) - 1) + 1e-9);
        }
        assert!(cycles_per_warp(&busy, 100.0, 64) < 10.1);
        // One unit, one warp outside of it: two warps meet in it with the known probability.
        assert!((cycles_per_warp(&[1.0], 2.0, 2) - 1.25).abs() < 1e-9);
    }
}
