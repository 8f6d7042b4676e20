//! `cargo bench --bench interp`: how many lane-instructions the interpreter executes in a second on
//! one core, on three kernels that spend their time with different instructions. Prints numbers; never
//! passes or fails.

#![expect(clippy::disallowed_methods, reason = "a benchmark takes times")]

use std::path::Path;
use std::time::{Duration, Instant};

use ptxasw::interp;
use ptxasw::launch::Launch;
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;

/// Runs of each kernel; the median counts.
const RUNS: usize = 5;

/// Name, file, launch.
const KERNELS: [(&str, &str, &str); 3] = [
    (
        "jacobi (stencil, divergent edges)",
        "ptx-samples/jacobi/jacobi.sm_80.ptx",
        r#"{"grid": [32, 128], "block": [32, 8],
            "buffers": {"w0": {"type": "f32", "len": 1048576, "fill": "random"},
                        "w1": {"type": "f32", "len": 1048576}},
            "args": [{"buffer": "w0"}, {"buffer": "w1"},
                     {"type": "s32", "value": 1024}, {"type": "s32", "value": 1024},
                     {"type": "f32", "value": 0.5}, {"type": "f32", "value": 0.1},
                     {"type": "f32", "value": 0.025}]}"#,
    ),
    (
        "reduce (barriers, shared memory, shuffles)",
        "tests/interp/kernels/classic.ptx",
        r#"{"kernel": "reduce", "grid": [64], "block": [256],
            "buffers": {"in": {"type": "s32", "len": 1048576, "fill": "random"},
                        "out": {"type": "s32", "len": 64}},
            "args": [{"buffer": "in"}, {"buffer": "out"}, {"type": "s32", "value": 1048576}]}"#,
    ),
    (
        "matmul (tiles in shared memory)",
        "tests/interp/kernels/classic.ptx",
        r#"{"kernel": "matmul", "grid": [16, 16], "block": [16, 16],
            "buffers": {"a": {"type": "f32", "len": 65536, "fill": "random"},
                        "b": {"type": "f32", "len": 65536, "fill": "random", "seed": 1},
                        "c": {"type": "f32", "len": 65536}},
            "args": [{"buffer": "a"}, {"buffer": "b"}, {"buffer": "c"},
                     {"type": "s32", "value": 256}]}"#,
    ),
];

fn main() {
    // `cargo test` builds benchmarks, and runs them without this argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    println!(
        "{:44} {:>14} {:>9} {:>14}",
        "kernel, one core", "instructions", "ms", "M lane-instr/s"
    );
    for (name, file, launch) in KERNELS {
        for (what, races) in [("", true), (", races ignored", false)] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            let source = SourceFile::new(file, std::fs::read_to_string(path).expect(file));
            let module = ptx::parse(&source, Depth::All).unwrap_or_else(|error| panic!("{error}"));
            let launch = Launch { races, ..Launch::from_json(launch).expect(name) };
            let mut times: Vec<(Duration, u64)> = (0..RUNS)
                .map(|_| {
                    let start = Instant::now();
                    let outcome = one.install(|| interp::run(&module, &launch));
                    let counters = outcome.unwrap_or_else(|fault| panic!("{fault}")).counters;
                    (start.elapsed(), counters.lane_instructions)
                })
                .collect();
            times.sort_unstable();
            let (time, count) = times[RUNS / 2];
            let rate = count as f64 / time.as_secs_f64() / 1e6;
            println!(
                "{:44} {count:14} {:9.1} {rate:14.1}",
                format!("{name}{what}"),
                time.as_secs_f64() * 1e3
            );
        }
    }
}
