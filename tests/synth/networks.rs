//! Networks as code; those that were found from drawings against closed formulas of the literature for any power of two (of three).
//!
//! Depths and numbers of operations of Kogge and Stone, Sklansky, Brent and Kung, Han and Carlson: R. Zimmermann,
//! "Binary Adder Architectures for Cell-Based VLSI and their Synthesis" (ETH Zurich, 1998), the chapter on prefix
//! algorithms. Ladner and Fischer: "Parallel Prefix Computation" (JACM 27, 1980), where a network of depth k + 1 has
//! 3n - F(k + 4) operations, F being Fibonacci's numbers, up to the 16 lanes at which Harris ("A Taxonomy of Parallel
//! Prefix Networks", Asilomar 2003) draws it. Knowles: "A Family of Adders" (ARITH 1999). Conflicts of trees: Harris,
//! Sengupta, Owens, "Parallel Prefix Sum (Scan) with CUDA" (GPU Gems 3, chapter 39): lanes 2d apart.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::emitted::{compiled, nvcc};
use super::{call, folder, sketches};
use crate::turns::has_turn;
use ptxasw::interp;
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use ptxasw::synth::network::{self, Network, Operator, Solution};
use ptxasw::synth::parse;
use serde_json::Value;

/// The costs of a sketch's solution for a number of lanes.
fn costs(name: &str, options: &str) -> Vec<Value> {
    let path = folder().join(name).with_extension("sketch");
    let (status, text) = call(&path, &format!("--emit json {options}"), 2);
    assert_eq!(status, 0, "{name}: {text}");
    let report: Value = serde_json::from_str(&text).expect("the output is JSON");
    assert_eq!(report["executed"], serde_json::json!([2, 1024]), "{name}");
    report["costs"].as_array().expect("a list").clone()
}

fn number(cost: &Value, key: &str) -> u64 {
    cost[key].as_u64().unwrap_or_else(|| panic!("{key} in {cost}"))
}

/// What the literature says of `n = 2^k` lanes.
struct Closed {
    depth: u64,
    steps: u64,
    operations: u64,
    fanout: u64,
    conflicts: Option<u64>,
}

fn compare(name: &str, least: u64, of: impl Fn(u64, u64) -> Closed) {
    let costs = costs(name, "");
    assert_eq!(costs.len(), 10, "{name}");
    for cost in costs {
        let lanes = number(&cost, "lanes");
        if lanes < least {
            continue;
        }
        let closed = of(lanes, u64::from(lanes.trailing_zeros()));
        let ours = ["depth", "shuffles", "operations", "fanout"].map(|key| number(&cost, key));
        let theirs = [closed.depth, closed.steps, closed.operations, closed.fanout];
        assert_eq!(ours, theirs, "{name}, {lanes} lanes: depth, steps, operations, fan-out");
        if let Some(conflicts) = closed.conflicts {
            assert_eq!(number(&cost, "conflicts"), conflicts, "{name}, {lanes} lanes: conflicts");
        }
    }
}

fn fibonacci(number: u64) -> u64 {
    (0..number).fold((0, 1), |(a, b), _| (b, a + b)).0
}

/// Wavefronts beyond the first of each warp if `count` threads read words `2d` apart from 32 banks.
fn strided(count: u64, d: u64) -> u64 {
    let each = |threads: u64| (threads * (2 * d).min(32)).div_ceil(32).saturating_sub(1);
    count / 32 * each(32) + each(count % 32)
}

#[test]
fn networks_from_drawings_cost_what_the_literature_says() {
    compare("koggestone", 2, |n, k| Closed {
        depth: k,
        steps: k,
        operations: n * k - n + 1,
        fanout: 1,
        conflicts: Some(0),
    });
    compare("sklansky", 2, |n, k| Closed {
        depth: k,
        steps: k,
        operations: n / 2 * k,
        fanout: n / 2,
        // The words that a warp reads span 64 lanes, two for each bank, up to the step in which it reads one.
        conflicts: Some(n / 64 * 5),
    });
    compare("brentkung", 4, |n, k| Closed {
        depth: 2 * k - 2,
        steps: 2 * k - 1,
        operations: 2 * n - k - 2,
        fanout: 1,
        conflicts: Some(
            (0..k).map(|s| strided(n >> (s + 1), 1 << s)).sum::<u64>()
                + (0..k - 1).map(|s| strided((n >> (s + 1)) - 1, 1 << s)).sum::<u64>(),
        ),
    });
    compare("hancarlson", 8, |n, k| Closed {
        depth: k + 1,
        steps: k + 1,
        operations: n / 2 * k,
        fanout: 1,
        conflicts: None,
    });
    compare("ladnerfischer", 8, |n, k| {
        let operations = n / 4 * (k + 3) - 1;
        assert!(n > 16 || operations == 3 * n - fibonacci(k + 4), "{n} lanes");
        Closed { depth: k + 1, steps: k + 1, operations, fanout: n / 4, conflicts: None }
    });
    compare("knowles", 4, |n, k| Closed {
        depth: k,
        steps: k,
        operations: n * k - n + 1,
        fanout: 2,
        conflicts: None,
    });
}

/// With three in place of two each level has two operations for each group on the way up, and on the way down two for
/// each group but the first: `2n - 2 - 2k` for `n = 3^k`, as Brent and Kung's `2n - 2 - k` for two.
#[test]
fn the_network_of_threes_has_as_many_operations_as_its_trees() {
    for k in 2..=6u32 {
        let n = 3u64.pow(k);
        let costs = costs("brentkung3", &format!("-D N={n}"));
        let cost = costs.iter().find(|cost| number(cost, "lanes") == n).expect("its own size");
        assert_eq!(number(cost, "operations"), 2 * n - 2 - 2 * u64::from(k), "{n} lanes");
        assert_eq!(number(cost, "shuffles"), 3 * u64::from(k) - 1, "{n} lanes");
    }
}

/// Every network of the folder with its solution, for some numbers of lanes.
fn solved() -> Vec<(String, Network, Solution)> {
    let mut found = Vec::new();
    for path in sketches() {
        let text = std::fs::read_to_string(&path).expect("the sketch can be read");
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let source = SourceFile::new(stem.as_str(), text.as_str());
        let Ok(tree) = parse(&source) else { continue };
        if !network::is_network(&tree) {
            continue;
        }
        for lanes in [27, 32] {
            let problem = network::problem(&source, &tree, &[("N".to_owned(), lanes)]);
            let problem = problem.unwrap_or_else(|error| panic!("{error}"));
            if let Some(solution) = network::search(&problem).solution
                && problem.lanes as i64 == lanes
            {
                found.push((format!("{stem}_{lanes}"), problem, solution));
            }
        }
    }
    assert!(found.len() > 20, "{} networks", found.len());
    found
}

/// An operator in C++.
fn structure(operator: Operator) -> (&'static str, &'static str) {
    match operator {
        Operator::Sum => ("unsigned", "a + b"),
        Operator::Affine => ("Affine", "Affine{a.x * b.x, b.x * a.y + b.y}"),
        Operator::Band => ("Band", "Band{a.x, b.y, a.z > b.z ? a.z : b.z}"),
    }
}

/// Our own PTX and, where there is an nvcc, its PTX for the headers, executed with an operator that is associative and
/// has no further law but those that the network needs.
#[test]
fn networks_as_code_compute_products() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut text =
        "struct Affine { unsigned x, y; };\nstruct Band { unsigned x, y, z; };\n".to_owned();
    let (solved, mut blocks) = (solved(), Vec::new());
    for (name, network, solution) in &solved {
        network::check(network, solution, name).unwrap_or_else(|why| panic!("{name}: {why}"));
        let header = network::cuda(network, solution, name, "").expect("code");
        let block = header.contains(&format!("{name}_block("));
        std::fs::write(folder.path().join(format!("{name}.cuh")), header).expect("written");
        let (ty, product) = structure(network::operators(network)[0]);
        let borders = network::reads(network, solution).expect("code");
        let count = borders.len();
        let given: String =
            (0..count).map(|at| format!(", own ? borders[{count} * lane + {at}] : 0")).collect();
        let param = if count > 0 { ", const int *borders" } else { "" };
        let lanes = network.lanes;
        let _ = writeln!(
            text,
            "#include \"{name}.cuh\"\nextern \"C\" __global__ void {name}_kernel(const {ty} *input, {ty} \
             *output{param})\n{{\n    int lane = threadIdx.x;\n    bool own = lane < {lanes};\n    {ty} value{{}};\n    \
             if (own) value = input[lane];\n    value = {name}(value, []({ty} a, {ty} b) {{ return {product}; }}, \
             lane{given});\n    if (own) output[lane] = value;\n}}"
        );
        if block {
            let _ = writeln!(
                text,
                "extern \"C\" __global__ void {name}_block_kernel(const {ty} *input, {ty} *output)\n{{\n    \
                 __shared__ {ty} totals[32];\n    output[threadIdx.x] = {name}_block(input[threadIdx.x], \
                 []({ty} a, {ty} b) {{ return {product}; }}, totals);\n}}"
            );
            blocks.push((name, network::operators(network)[0]));
        }
    }
    assert!(blocks.len() > 5, "{blocks:?}");
    let Some(nvcc) = nvcc().filter(|_| has_turn(0, 3)) else { return };
    let code = compiled(&nvcc, folder.path(), &text);
    for (name, network, solution) in &solved {
        let operator = network::operators(network)[0];
        network::check_code(network, solution, name, operator, &code)
            .unwrap_or_else(|why| panic!("{name} of nvcc: {why}"));
    }
    let source = SourceFile::new("all.ptx", code.as_str());
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
    for (name, operator) in blocks {
        for threads in [1, 31, 33, 100, 511, 1024] {
            scanned(&module, name, operator, threads);
        }
    }
}

/// Scans a block of `threads` threads, and compares each result with products that are computed one after the other.
fn scanned(module: &ptx::Module<'_>, name: &str, operator: Operator, threads: usize) {
    let mut random = fastrand::Rng::with_seed(threads as u64);
    let registers = operator.registers();
    let input: Vec<u32> = (0..threads * registers).map(|_| random.u32(..)).collect();
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = |words: &[u32]| Buffer { ty: Type::U32, bytes: bytes(words) };
    let pointer = |name: &str| Argument::Pointer { buffer: name.to_owned(), offset: 0 };
    let launch = Launch {
        pointers: Default::default(),
        kernel: Some(format!("{name}_block_kernel")),
        grid: [1; 3],
        block: [threads as u32, 1, 1],
        dynamic_shared: 0,
        buffers: BTreeMap::from([
            ("input".to_owned(), buffer(&input)),
            ("output".to_owned(), buffer(&vec![0; input.len()])),
        ]),
        args: vec![pointer("input"), pointer("output")],
        limit: DEFAULT_LIMIT,
        races: true,
        uninitialized: true,
        meet: Meet::default(),
        values: Default::default(),
        store_conflicts: true,
        variables: None,
        symbolic_args: Default::default(),
    };
    let done = interp::run(module, &launch)
        .unwrap_or_else(|fault| panic!("{name}, {threads} threads: {fault}"));
    let output: Vec<u32> = done.buffers["output"].elements().map(|e| e as u32).collect();
    let mut product: Option<Vec<u32>> = None;
    for (thread, own) in input.chunks(registers).enumerate() {
        let next = product.map_or_else(|| own.to_vec(), |before| operator.apply(&before, own));
        let found = &output[thread * registers..][..registers];
        assert_eq!(found, next, "{name}, {threads} threads, thread {thread}");
        product = Some(next);
    }
}
