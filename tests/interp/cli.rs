//! `ptxasw run`: the launch file, the JSON, the exit status.

use ptxasw::cli::run::{FAULTED, Format, UNUSABLE, run};
use ptxasw::launch::Launch;
use ptxasw::source::SourceFile;
use serde_json::{Value, json};

const COPY: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p0, %r1, %r0;
    @%p0 bra DONE;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; st.global.u32 [%rd4], %r2;
DONE: ret;
}";

fn launch(kind: &str, data: Value, count: u32) -> String {
    json!({
        "grid": [1], "block": [32, 1, 1],
        "buffers": {"x": {"type": kind, "data": data}, "y": {"type": kind, "len": 8}},
        "args": [{"buffer": "x"}, {"buffer": "y"}, {"type": "u32", "value": count}],
    })
    .to_string()
}

fn execute(launch: &str) -> Result<Value, (u8, String)> {
    let source = SourceFile::new("copy.ptx", COPY);
    let text = run(&source, "copy.json", launch, None, Format::Json)?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn buffers_and_counters_are_reported() {
    let data = json!([1.0, -0.1, "nan", "inf", "-inf", "0x3f800001", 1e30, 16777216]);
    let report = execute(&launch("f32", data, 8)).expect("runs");
    let expected = json!([1.0, -0.1, "nan", "inf", "-inf", 1.0000001, 1e30, 16777216.0]);
    assert_eq!(report["buffers"]["y"], json!({"type": "f32", "data": expected}));
    assert_eq!(report["kernel"], "copy");
    let counters = &report["counters"];
    assert_eq!(counters["global_load_requests"], 1);
    assert_eq!(counters["global_load_wavefronts"], 1);
    assert_eq!(counters["shuffles"], 0);
    // 8 instructions up to `setp`, the branch, 6 behind it, `ret`.
    assert_eq!(counters["instructions"], 5 + 1 + 5 + 1);
}

#[test]
fn integers_keep_their_width_and_sign() {
    let data = json!([-1, 2147483647, -2147483648, "0xffffffff", 0, 1, 2, 3]);
    let report = execute(&launch("s32", data, 8)).expect("runs");
    let expected = json!([-1, 2147483647, i32::MIN, -1, 0, 1, 2, 3]);
    assert_eq!(report["buffers"]["y"]["data"], expected);
}

#[test]
fn the_exit_status_tells_faults_from_unusable_input() {
    let short = launch("u32", json!([1, 2]), 8);
    let (status, message) = execute(&short).expect_err("reads outside");
    assert_eq!(status, FAULTED);
    assert!(message.starts_with("copy.ptx:13:5: error: "), "{message}");
    assert!(message.contains("ld.global.u32 %r2, [%rd3];"), "{message}");
    let (status, message) = execute("{\"grid\": 3}").expect_err("no launch");
    assert_eq!(status, UNUSABLE);
    assert!(message.starts_with("copy.json: error: "), "{message}");
    let broken = SourceFile::new("broken.ptx", ".entry {");
    let failed = run(&broken, "copy.json", &short, None, Format::Text).expect_err("no PTX");
    assert_eq!(failed.0, UNUSABLE);
}

#[test]
fn random_buffers_are_the_same_everywhere() {
    let text = r#"{"grid": [1], "block": [1], "buffers": {
        "f": {"type": "f32", "len": 3, "fill": "random", "seed": 1},
        "d": {"type": "f64", "len": 1, "fill": "random", "seed": 1},
        "i": {"type": "s16", "len": 3, "fill": "index"},
        "h": {"type": "f16", "len": 2, "fill": 1.5},
        "b": {"type": "bf16", "data": [1, "0x4000"]}}}"#;
    let launch = Launch::from_json(text).expect("a launch");
    let bits = |name: &str| launch.buffers[name].elements().collect::<Vec<_>>();
    // SplitMix64 from state 1: 0x910a2dec89025cc1, 0xbeeb8da1658eec67, 0xf893a2eefb32555e.
    let single = |upper: u32| u64::from((upper as f32 / 16_777_216.0).to_bits());
    assert_eq!(bits("f"), [single(0x910a2d), single(0xbeeb8d), single(0xf893a2)]);
    assert_eq!(bits("d"), [((0x910a2dec89025cc1_u64 >> 11) as f64 / 2_f64.powi(53)).to_bits()]);
    assert_eq!(bits("i"), [0, 1, 2]);
    assert_eq!(bits("h"), [0x3e00, 0x3e00]);
    assert_eq!(bits("b"), [0x3f80, 0x4000]);
}

#[test]
fn launch_files_that_are_wrong_say_why() {
    for (text, reason) in [
        (r#"{"block": [1]}"#, "missing field `grid`"),
        (r#"{"grid": [1], "block": [2048]}"#, "2048 threads"),
        (r#"{"grid": [0], "block": [1]}"#, "at least 1"),
        (r#"{"grid": [1], "block": [1], "buffers": {"x": {"type": "f33", "len": 1}}}"#, "f33"),
        (r#"{"grid": [1], "block": [1], "buffers": {"x": {"type": "u8", "data": [256]}}}"#, "256"),
        (r#"{"grid": [1], "block": [1], "buffers": {"x": {"type": "u8"}}}"#, "neither"),
        (r#"{"grid": [1], "block": [1], "args": [{"value": 1}]}"#, "argument 0"),
        (r#"{"grid": [1], "block": [1], "greed": 1}"#, "greed"),
    ] {
        let message = Launch::from_json(text).expect_err(reason);
        assert!(message.contains(reason), "{message}");
    }
}
