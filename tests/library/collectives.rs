//! Collectives of a warp against serial loops, and the proof that they are what shuffles compute.

use ptxasw::launch::{Meet, Type};
use ptxasw::ptx::Module;
use ptxasw::source::SourceFile;
use ptxasw::verify::{FunctionReport, Options, Verdict, verify};

use super::run::{Start, UNTOUCHED, Values, run};

/// The values of all lanes to the result that each gets.
type Computed = fn(&[u32]) -> u32;

/// What `numbers` computes, in the order of its rows.
const NUMBERS: [(&str, Computed); 9] = [
    ("warp_sum of unsigned", |x| x.iter().fold(0, |a, b| a.wrapping_add(*b))),
    ("warp_sum of int", |x| x.iter().fold(0, |a, b| a.wrapping_add(*b))),
    ("warp_min of unsigned", |x| *x.iter().min().unwrap()),
    ("warp_min of int", |x| x.iter().map(|x| *x as i32).min().unwrap() as u32),
    ("warp_max of unsigned", |x| *x.iter().max().unwrap()),
    ("warp_max of int", |x| x.iter().map(|x| *x as i32).max().unwrap() as u32),
    ("warp_and", |x| x.iter().fold(u32::MAX, |a, b| a & b)),
    ("warp_or", |x| x.iter().fold(0, |a, b| a | b)),
    ("warp_xor", |x| x.iter().fold(0, |a, b| a ^ b)),
];

/// Numbers of one lane's values, such that each operator gives another result.
fn random(seed: u64) -> Vec<u32> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (set, cleared) = (random.u32(..) & random.u32(..), random.u32(..) | random.u32(..));
    (0..32).map(|_| (random.u32(..) | set) & cleared).collect()
}

pub fn check(module: &Module) {
    for seed in 0..200 {
        let x = random(seed);
        let meet =
            [Meet::Assembler, Meet::Never, Meet::Random(1), Meet::Random(2)][seed as usize % 4];
        numbers(module, &x, meet);
        let least = match seed % 5 {
            0 => *x.iter().min().unwrap(),
            1 => x.iter().max().unwrap().wrapping_add(1),
            _ => x[seed as usize % 32],
        };
        conditions(module, &x, least, meet);
    }
}

/// Runs a kernel with `rows` rows of results; what lane `lane` has in row `row` is at `32 * row + lane`.
fn rows(module: &Module, kernel: &str, x: &[u32], rows: usize, start: &Start) -> Vec<u32> {
    let x = Values { ty: Type::U32, bits: x.iter().map(|x| u64::from(*x)).collect() };
    let nothing = Values { ty: Type::U32, bits: vec![UNTOUCHED; 32 * rows] };
    run(module, kernel, &[x, nothing], start)[1].iter().map(|bits| *bits as u32).collect()
}

fn numbers(module: &Module, x: &[u32], meet: Meet) {
    let start = Start { threads: 32, meet, numbers: vec![] };
    let y = rows(module, "numbers", x, NUMBERS.len(), &start);
    for (row, (name, expected)) in NUMBERS.iter().enumerate() {
        for lane in 0..32 {
            assert_eq!(y[32 * row + lane], expected(x), "{name} in lane {lane}");
        }
    }
}

fn conditions(module: &Module, x: &[u32], least: u32, meet: Meet) {
    let start = Start { threads: 32, meet, numbers: vec![least as i32] };
    let y = rows(module, "conditions", x, 4, &start);
    let holds: Vec<bool> = x.iter().map(|x| *x >= least).collect();
    let count = |lanes: &[bool]| lanes.iter().filter(|holds| **holds).count() as u32;
    for lane in 0..32 {
        assert_eq!(y[lane], u32::from(!holds.contains(&false)), "warp_all in lane {lane}");
        assert_eq!(y[32 + lane], u32::from(holds.contains(&true)), "warp_any in lane {lane}");
        assert_eq!(y[64 + lane], count(&holds), "warp_count in lane {lane}");
        assert_eq!(y[96 + lane], count(&holds[..lane]), "warp_count_before in lane {lane}");
    }
}

/// Two compilations of the kernels compute the same.
pub fn proved(one: &str, other: &str) {
    let (one, other) = (SourceFile::new("one.ptx", one), SourceFile::new("other.ptx", other));
    let proof = verify(&one, &other, &Options::default()).unwrap_or_else(|why| panic!("{why}"));
    // (The targets differ, which is said of the whole files.)
    let equal = |function: &&FunctionReport| function.verdict == Verdict::Equal;
    assert_eq!(proof.functions.iter().filter(equal).count(), 2, "{proof:?}");
}
