//! Random kernels with affine addresses: whatever is claimed about them must hold in every lane of
//! every launch, and whatever is there to be found must be found.
//!
//! The oracles know nothing of the program under test: addresses are evaluated in plain machine
//! arithmetic, the selection rule is written down a second time, and the run-time checks are read
//! from the rewritten text.

use crate::affine_kernels as affine;
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use affine::emit::{Text, emit};
use affine::environments::environment;
use affine::evaluate::Environment;
use affine::expect::{covered, displacements};
use affine::guards::{linear, passes, windows};
use affine::kernel::{Access, Kernel, Load, Loop};
use affine::machine::Machine;
use fastrand::Rng;
use ptxasw::interp;
use ptxasw::launch::{Buffer, Launch};
use ptxasw::pipeline::{Options, Rewritten, rewrite};
use ptxasw::ptx::{self, Depth};
use ptxasw::report::{Decision, LoadReport};
use ptxasw::select::StrategyName;
use ptxasw::source::SourceFile;
use rayon::prelude::*;

/// Kernels, seeded from 0.
const KERNELS: u64 = 1500;
/// Launches in which each kernel's claims are tried, one warp each.
const LAUNCHES: usize = 12;

/// Blocks in which kernels are executed.
const SHAPES: [[u32; 3]; 8] =
    [[1, 1, 1], [31, 1, 1], [32, 1, 1], [33, 1, 1], [96, 1, 1], [16, 4, 1], [48, 3, 1], [8, 8, 4]];

/// Bytes of each array where kernels are executed.
const BUFFER_BYTES: usize = 1 << 17;

struct Case {
    seed: u64,
    kernel: Kernel,
    text: Text,
    rewritten: Rewritten,
}

impl Case {
    fn loads(&self) -> &[LoadReport] {
        &self.rewritten.report.kernels[0].loads
    }

    /// The index of a covered load's source.
    fn source(&self, load: &LoadReport) -> usize {
        let line = load.source_line.expect("a covered load has a source");
        self.text.lines.iter().position(|&l| l == line).expect("the source is a load")
    }

    fn complaint(&self, load: usize, what: &str) -> String {
        let Case { seed, kernel, text, .. } = self;
        let line = text.lines[load];
        let found = &self.loads()[load];
        format!("seed {seed}, line {line}: {what}\n{found:?}\n{kernel:?}\n{}", text.ptx)
    }
}

fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(|| (0..KERNELS).into_par_iter().map(case).collect())
}

fn case(seed: u64) -> Case {
    let kernel = Kernel::random(seed);
    let text = emit(&kernel);
    let source = SourceFile::new(format!("seed{seed}.ptx"), text.ptx.as_str());
    let options = Options { all_bodies: true, ..Options::paper() };
    let rewritten = rewrite(&source, &options).unwrap_or_else(|e| panic!("{e}"));
    let lines: Vec<u32> = rewritten.report.kernels[0].loads.iter().map(|load| load.line).collect();
    assert_eq!(lines, text.lines, "seed {seed}: {:?}", rewritten.report);
    Case { seed, kernel, text, rewritten }
}

/// How often a claim was put to the test.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    claims: u64,
    pairs: u64,
    checked_at_run_time: u64,
}

/// A claim in a place where it must hold.
struct Trial<'c> {
    case: &'c Case,
    machine: &'c Machine,
    windows: &'c HashMap<String, Vec<(u32, u32)>>,
    environment: Environment,
    warp: u32,
}

impl Trial<'_> {
    /// Whether all run-time checks on indices let a thread take the value that it is sent; an error
    /// if the text holds no such check.
    fn passes(&self, guards: &[String], thread: [u32; 3]) -> Result<bool, String> {
        let mut checked =
            guards.iter().filter_map(|guard| guard.strip_prefix("no-wrap ")).peekable();
        if checked.peek().is_none() {
            return Ok(true);
        }
        let state = self.machine.run(&self.environment, thread);
        let mut all = true;
        for register in checked {
            let value = self.machine.value(&state, register);
            let value = value.ok_or_else(|| format!("{register} is not a register"))?;
            let windows = self.windows.get(register);
            let windows =
                windows.ok_or_else(|| format!("the text holds no check of {register}"))?;
            all &= passes(windows, value as u32);
        }
        Ok(all)
    }
}

/// Holds the claim about one load against the addresses in one warp.
fn contradiction(trial: &Trial<'_>, load: usize, delta: i32, tally: &mut Tally) -> Option<String> {
    let Trial { case, environment, warp, .. } = trial;
    let report = &case.loads()[load];
    let source = case.source(report);
    let guards = report.guards.as_deref().unwrap_or_default();
    let claimed = |name: &str| guards.iter().any(|guard| guard == name);
    let (kernel, loads) = (&case.kernel, &case.kernel.loads);
    let lanes: Vec<[u32; 3]> = (warp * 32..environment.threads().min(warp * 32 + 32))
        .map(|number| environment.thread(number))
        .filter(|&thread| environment.active(kernel, thread))
        .collect();
    let whole = lanes.len() == 32;
    if (claimed("linear-lanes") && !linear(environment)) || (claimed("whole-warp") && !whole) {
        return None;
    }
    if delta != 0 && !whole {
        return Some("claims a value of another lane without asking for a whole warp".to_owned());
    }
    let mut fitting = displacements(&loads[source], &loads[load]);
    // (Put together from several loads: all loads that are not copies; the report names one of them.)
    let several = fitting.is_empty();
    let originals = || {
        let kept =
            case.loads()[..load].iter().zip(loads).filter(|(report, _)| report.delta.is_none());
        kept.map(|(_, load)| load)
    };
    for (lane, &thread) in lanes.iter().enumerate() {
        let from = lane as i32 + delta;
        let Some(&other) = usize::try_from(from).ok().and_then(|from| lanes.get(from)) else {
            continue;
        };
        let pass = match trial.passes(guards, thread) {
            Ok(pass) => pass,
            Err(what) => return Some(what),
        };
        tally.checked_at_run_time += u64::from(!pass);
        if !pass {
            continue;
        }
        tally.pairs += 1;
        let sent = environment.address(kernel, &loads[source], other);
        let wanted = environment.address(kernel, &loads[load], thread);
        if several {
            let has = |byte: i64| {
                let ahead = |original: &Load| {
                    let at = environment.address(kernel, original, other);
                    wanted.wrapping_add(byte as u64).wrapping_sub(at)
                };
                originals().any(|original| ahead(original) < original.access.bytes() as u64)
            };
            if !(0..loads[load].access.bytes()).all(has) {
                return Some(format!(
                    "in {environment:x?} lane {lane} of warp {warp} wants {wanted:#x}, but \
                     lane {from} has not all of its bytes"
                ));
            }
            continue;
        }
        fitting.retain(|&skipped| sent.wrapping_add(skipped as u64) == wanted);
        if fitting.is_empty() {
            return Some(format!(
                "in {environment:x?} lane {lane} of warp {warp} wants {wanted:#x}, lane {from} \
                 has {sent:#x}"
            ));
        }
    }
    None
}

/// Tries the claims of a case, each distance moved by `error`, in a few launches.
fn try_claims(case: &Case, error: i32) -> (Vec<String>, Tally) {
    let mut rng = Rng::with_seed(case.seed ^ 0x5eed);
    let windows = windows(&case.rewritten.text);
    let machine = Machine::new(&case.text.ptx);
    let mut complaints = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..LAUNCHES {
        let environment = environment(&case.kernel, &mut rng);
        let warps = environment.threads().div_ceil(32);
        let warp = rng.u32(..warps);
        let thread = environment.thread(warp * 32);
        let executed = machine.run(&environment, thread).addresses;
        for (index, load) in case.kernel.loads.iter().enumerate() {
            let address = environment.address(&case.kernel, load, thread);
            assert_eq!(executed[index], address, "{}", case.complaint(index, "the oracle errs"));
        }
        let trial = Trial { case, machine: &machine, windows: &windows, environment, warp };
        for (index, load) in case.loads().iter().enumerate() {
            let Some(delta) = load.delta else { continue };
            tally.claims += 1;
            let found = contradiction(&trial, index, delta + error, &mut tally);
            complaints.extend(found.map(|what| case.complaint(index, &what)));
        }
    }
    (complaints, tally)
}

#[test]
fn every_claimed_distance_holds_in_every_lane() {
    let results: Vec<_> = cases().par_iter().map(|case| try_claims(case, 0)).collect();
    let complaints: Vec<String> = results.iter().flat_map(|(found, _)| found.clone()).collect();
    assert!(complaints.is_empty(), "{} of them\n{}", complaints.len(), complaints[0]);
    let sum = results.iter().fold(Tally::default(), |sum, (_, tally)| Tally {
        claims: sum.claims + tally.claims,
        pairs: sum.pairs + tally.pairs,
        checked_at_run_time: sum.checked_at_run_time + tally.checked_at_run_time,
    });
    println!("{sum:?}");
    assert!(sum.pairs > 400_000, "hardly a claim was tried: {sum:?}");
    assert!(sum.checked_at_run_time > 2_000, "hardly an index wrapped around: {sum:?}");
}

#[test]
fn a_wrong_distance_is_noticed() {
    let with_claims: Vec<&Case> =
        cases().iter().filter(|case| case.loads().iter().any(|l| l.delta.is_some())).collect();
    let unnoticed: Vec<u64> = with_claims
        .par_iter()
        .filter(|case| try_claims(case, 1).0.is_empty())
        .map(|case| case.seed)
        .collect();
    // Where no tried launch has a whole warp inside of the guard, nothing can be noticed.
    assert!(unnoticed.len() * 10 < with_claims.len(), "{unnoticed:?} of {}", with_claims.len());
}

#[test]
fn every_load_with_a_partner_is_covered_at_the_smallest_distance() {
    let complaints: Vec<String> = cases()
        .par_iter()
        .filter(|case| !case.kernel.nearly_bounded())
        .flat_map_iter(|case| {
            let expected = covered(&case.kernel);
            let found = case.loads().iter().map(|load| load.delta.map(i64::from));
            let differ = found
                .zip(expected)
                .enumerate()
                .find(|(_, (found, expected))| found.map(i64::abs) != expected.map(i64::abs));
            differ.map(|(index, (_, expected))| {
                case.complaint(index, &format!("expected the distance {expected:?}"))
            })
        })
        .collect();
    assert!(complaints.is_empty(), "{} kernels\n{}", complaints.len(), complaints[0]);
}

/// A launch of one block, small enough for the buffers of [`outcome`].
fn small(block: [u32; 3], iteration: u32) -> Environment {
    let threads: u32 = block.iter().product();
    Environment {
        arrays: [0; 2],
        n: threads + 40,
        w: 37,
        s: 700,
        block,
        ctaid: [0; 3],
        grid_x: 1,
        iteration,
    }
}

/// Times a loop runs at the most where kernels are executed.
const ITERATIONS: u32 = 3;

/// Whether all threads stay within the arrays.
fn fits(case: &Case, block: [u32; 3]) -> bool {
    let reach = (BUFFER_BYTES / 2) as i64 - 16;
    (0..ITERATIONS).all(|iteration| {
        let environment = small(block, iteration);
        (0..environment.threads()).map(|number| environment.thread(number)).all(|thread| {
            !environment.active(&case.kernel, thread)
                || case.kernel.loads.iter().all(|load| {
                    let address = environment.address(&case.kernel, load, thread) as i64;
                    (-reach..reach).contains(&address)
                })
        })
    })
}

/// What the buffers hold after the launch.
fn outcome(case: &Case, ptx: &str, block: [u32; 3]) -> BTreeMap<String, Buffer> {
    let environment = small(block, 0);
    let (half, loads) = (BUFFER_BYTES / 2, case.kernel.loads.len());
    let array = |seed: u32| {
        let words = BUFFER_BYTES / 4;
        format!(r#"{{"type": "b32", "len": {words}, "fill": "random", "seed": {seed}}}"#)
    };
    let value = |value: u32| format!(r#"{{"type": "u32", "value": {value}}}"#);
    let json = format!(
        r#"{{"grid": [1, 1, 1], "block": {block:?},
             "buffers": {{"a0": {}, "a1": {}, "out": {{"type": "b32", "len": {}, "fill": 0}}}},
             "args": [{{"buffer": "a0", "offset": {half}}}, {{"buffer": "a1", "offset": {half}}},
                      {{"buffer": "out"}}, {}, {}, {}, {}]}}"#,
        array(1),
        array(2),
        environment.threads() as usize * loads * 4,
        value(environment.n),
        value(environment.w),
        value(environment.s),
        value(ITERATIONS),
    );
    let launch = Launch::from_json(&json).unwrap_or_else(|e| panic!("{e}\n{json}"));
    let launch = Launch { limit: 1 << 20, ..launch };
    let source = SourceFile::new(format!("seed{}.ptx", case.seed), ptx);
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
    let outcome = interp::run(&module, &launch);
    outcome.unwrap_or_else(|e| panic!("seed {}, {block:?}: {e:?}\n{ptx}", case.seed)).buffers
}

#[test]
fn executed_they_leave_the_same_bytes() {
    let rewritten = cases().iter().filter(|case| case.rewritten.text != case.text.ptx);
    let launches: Vec<(&Case, [u32; 3])> = rewritten
        .take(400)
        .enumerate()
        .map(|(index, case)| (case, SHAPES[index % SHAPES.len()]))
        .map(|(case, shape)| (case, case.kernel.required.unwrap_or(shape)))
        .filter(|&(case, block)| fits(case, block))
        .collect();
    assert!(launches.len() >= 150, "only {} launches stay within their buffers", launches.len());
    let different: Vec<String> = launches
        .par_iter()
        .filter(|&&(case, block)| {
            outcome(case, &case.text.ptx, block) != outcome(case, &case.rewritten.text, block)
        })
        .map(|(case, block)| {
            format!("seed {}, {block:?}\n{}\n{}", case.seed, case.text.ptx, case.rewritten.text)
        })
        .collect();
    assert!(different.is_empty(), "{} kernels\n{}", different.len(), different[0]);
}

/// The kernels are as different as they are meant to be.
#[test]
fn the_kernels_cover_what_they_are_meant_to() {
    let count = |what: &dyn Fn(&Case, &LoadReport) -> bool| -> usize {
        let covered = |case: &Case| {
            case.loads()
                .iter()
                .filter(|l| l.decision == Decision::By(StrategyName::Paper) && what(case, l))
                .count()
        };
        cases().iter().map(covered).sum()
    };
    let guarded = |name: &'static str| {
        move |_: &Case, load: &LoadReport| {
            load.guards.iter().flatten().any(|guard| guard.starts_with(name))
        }
    };
    let access = |case: &Case, load: &LoadReport| {
        let index = case.text.lines.iter().position(|&line| line == load.line);
        case.kernel.loads[index.expect("a load")].access
    };
    let counts = [
        ("all", count(&|_, _| true)),
        ("up", count(&|_, l| l.delta.is_some_and(|d| d > 0))),
        ("down", count(&|_, l| l.delta.is_some_and(|d| d < 0))),
        ("none", count(&|_, l| l.delta == Some(0))),
        ("no-wrap", count(&guarded("no-wrap"))),
        ("global-address", count(&guarded("global-address"))),
        ("without no-wrap", count(&|c, l| !guarded("no-wrap")(c, l))),
        ("64 bits", count(&|c, l| access(c, l).elements().1 == 8)),
        ("8 bits", count(&|c, l| access(c, l).elements().1 == 1)),
        ("vectors", count(&|c, l| access(c, l).elements().0 > 1)),
        (
            "element of a vector",
            count(&|c, l| {
                let source = c.kernel.loads[c.source(l)].access;
                access(c, l) == Access::F32 && source != Access::F32
            }),
        ),
        (
            "from several loads",
            count(&|c, l| {
                let loads = &c.kernel.loads;
                let index = c.text.lines.iter().position(|&line| line == l.line);
                displacements(&loads[c.source(l)], &loads[index.expect("a load")]).is_empty()
            }),
        ),
        ("in loops", count(&|c, _| c.kernel.around != Loop::None)),
        ("negative stride", count(&|c, _| c.kernel.stride < 0)),
    ];
    println!("{counts:#?}");
    for (what, number) in counts {
        assert!(number >= 100, "{what}: only {number} covered loads");
    }
}
