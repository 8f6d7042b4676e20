//! Shapes of blocks that rewritten kernels are tried in: single lanes, whole and incomplete warps,
//! rows shorter and longer than a warp, in one to three dimensions.

use ptxasw::ptx::Function;

const FIXED: [[u32; 3]; 9] = [
    [1, 1, 1],
    [31, 1, 1],
    [32, 1, 1],
    [33, 1, 1],
    [96, 1, 1],
    [512, 1, 1],
    [16, 4, 1],
    [48, 3, 1],
    [8, 8, 4],
];

/// Threads of the largest random block.
const MOST: u32 = 256;

/// Threads along z at most (CUDA C++ Programming Guide, "Compute Capabilities").
const MOST_ALONG_Z: u32 = 64;

/// A share (`PTXASW_TEST_WORK`, at least a quarter: fewer show no mistake) of the shapes that a kernel can be launched in: of
/// the fixed ones and of `random` more, which the seed chooses; what `.reqntid` and `.maxntid` demand is respected.
pub fn shapes(function: &Function<'_>, random: usize, seed: u64) -> Vec<[u32; 3]> {
    if let Some(required) = function.extents("reqntid") {
        return vec![required.map(|extent| extent as u32)];
    }
    let most =
        function.extents("maxntid").map_or(u32::MAX, |all| all.iter().product::<u64>() as u32);
    let mut source = fastrand::Rng::with_seed(seed);
    let random = std::iter::repeat_with(|| {
        let x = source.u32(1..=80);
        let y = if source.bool() { source.u32(1..=MOST / x) } else { 1 };
        let z = if source.bool() { source.u32(1..=(MOST / (x * y)).min(MOST_ALONG_Z)) } else { 1 };
        [x, y, z]
    })
    .take(random);
    let fits = |shape: &[u32; 3]| shape.iter().product::<u32>() <= most;
    let percent = super::share(100).clamp(25, 100);
    super::work::percent_of(percent, FIXED.into_iter().chain(random).filter(fits).collect(), seed)
}
