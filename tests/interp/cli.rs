//! `ptxasw run`: the launch file, the JSON, the exit status.

use ptxasw::cli::exit::{Failure, Status};
use ptxasw::cli::options::Format;
use ptxasw::cli::run::{By, Request, run};
use ptxasw::launch::{Launch, Meet};
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

fn request(format: Format) -> Request<'static> {
    Request {
        kernel: None,
        profile: None,
        races: None,
        uninitialized: None,
        fidelity: false,
        meet: None,
        bytes: false,
        format,
    }
}

fn execute(launch: &str) -> Result<Value, Failure> {
    let source = SourceFile::new("copy.ptx", COPY);
    let text = run(&source, "copy.json", launch, &request(Format::Json))?;
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
fn buffers_are_read_and_shown_as_bytes() {
    let launch = json!({
        "grid": [1], "block": [32],
        "buffers": {"x": {"type": "f32", "bytes": "0000803f0000c07f"}, "y": {"type": "u16", "bytes": "01020A0b"}},
        "args": [{"buffer": "x"}, {"buffer": "y"}, {"type": "u32", "value": 1}],
    })
    .to_string();
    let source = SourceFile::new("copy.ptx", COPY);
    let buffers = |bytes: bool| {
        let request = Request { bytes, ..request(Format::Json) };
        let text = run(&source, "copy.json", &launch, &request).expect("runs");
        serde_json::from_str::<Value>(&text).expect("JSON")["buffers"].take()
    };
    let elements = json!({"x": {"type": "f32", "data": [1.0, "nan"]}, "y": {"type": "u16", "data": [0, 16256]}});
    assert_eq!(buffers(false), elements);
    let bytes = json!({"x": {"type": "f32", "bytes": "0000803f0000c07f"}, "y": {"type": "u16", "bytes": "0000803f"}});
    assert_eq!(buffers(true), bytes);
}

#[test]
fn the_command_line_outweighs_the_launch_file_about_races() {
    const RACE: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry both(.param .u64 y)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x;
    st.global.u32 [%rd1], %r1;
    ret;
}";
    let source = SourceFile::new("race.ptx", RACE);
    let status = |file: bool, races: Option<bool>| {
        let launch = json!({
            "grid": [1], "block": [64], "races": file,
            "buffers": {"y": {"type": "u32", "len": 1}}, "args": [{"buffer": "y"}],
        });
        let request = Request { races, ..request(Format::Text) };
        run(&source, "race.json", &launch.to_string(), &request).err().map(|failure| failure.status)
    };
    assert_eq!([status(true, None), status(false, None)], [Some(Status::FAULTED), None]);
    assert_eq!(
        [status(true, Some(false)), status(false, Some(true))],
        [None, Some(Status::FAULTED)]
    );
}

#[test]
fn the_command_line_outweighs_the_launch_file_about_meeting_points() {
    const PARTS: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry parts(.param .u64 y)
{
    .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 8;
    @%p1 bra M; add.u32 %r2, %r1, 1;
M:  activemask.b32 %r2; mad.wide.u32 %rd2, %r1, 4, %rd1; st.global.u32 [%rd2], %r2;
    ret;
}";
    let source = SourceFile::new("parts.ptx", PARTS);
    let first = |file: Value, meet: Option<Meet>| {
        let launch = json!({
            "grid": [1], "block": [32], "meet": file,
            "buffers": {"y": {"type": "u32", "len": 32}}, "args": [{"buffer": "y"}],
        });
        let request = Request { meet, ..request(Format::Json) };
        let text = run(&source, "parts.json", &launch.to_string(), &request).expect("runs");
        serde_json::from_str::<Value>(&text).expect("JSON")["buffers"]["y"]["data"][0].clone()
    };
    assert_eq!(first(json!("assembler"), None), json!(u32::MAX));
    assert_eq!(first(json!("never"), None), json!(0xff));
    assert_eq!(first(json!("never"), Some(Meet::Assembler)), json!(u32::MAX));
    assert_eq!(first(json!(5), Some(Meet::Never)), json!(0xff));
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
    let Failure { status, message, .. } = execute(&short).expect_err("reads outside");
    assert_eq!((status, status.code()), (Status::FAULTED, 3));
    assert!(message.starts_with("copy.ptx:13:5: error: "), "{message}");
    assert!(message.contains("ld.global.u32 %r2, [%rd3];"), "{message}");
    let Failure { status, message, .. } = execute("{\"grid\": 3}").expect_err("no launch");
    assert_eq!((status, status.code()), (Status::UNUSABLE, 2));
    assert!(message.starts_with("copy.json: error: "), "{message}");
    let broken = SourceFile::new("broken.ptx", ".entry {");
    let failed = run(&broken, "copy.json", &short, &request(Format::Text)).expect_err("no PTX");
    assert_eq!(failed.status, Status::UNUSABLE);
}

/// A row of loads 128 bytes apart, one conflict-free, a divergent branch and a shuffle.
const COSTS: &str = ".version 8.0
.target sm_80
.address_size 64
.file 3 \"costs.cu\"
.visible .entry costs(.param .u64 p) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    .shared .align 4 .b8 s[4];
    ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd1, %r0, 128, %rd0;
    .loc 3 17 5
    ld.global.u32 %r1, [%rd1];
    ld.global.u32 %r2, [%rd0]; st.shared.u32 [s], %r2;
    .loc 3 18 0
    setp.lt.u32 %p0, %r0, 8;
    @%p0 bra SKIP;
    activemask.b32 %r2; shfl.sync.idx.b32 %r3, %r1, 9, 31, %r2;
    bar.warp.sync %r2;
SKIP:
    ret;
}";

#[test]
fn a_profile_counts_events_line_by_line() {
    let source = SourceFile::new("costs.ptx", COSTS);
    let launch = json!({"grid": [3], "block": [64],
        "buffers": {"p": {"type": "u32", "len": 2048}}, "args": [{"buffer": "p"}]})
    .to_string();
    let request = Request { profile: Some(By::Ptx), ..request(Format::Json) };
    let text = run(&source, "costs.json", &launch, &request).expect("runs");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let line = |number: u32| {
        let lines = report["profile"].as_array().expect("an array");
        lines.iter().find(|entry| entry["line"] == number).expect("an executed line").clone()
    };
    // Two warps in each of three blocks; two instructions stand on lines 8 and 12.
    assert_eq!(line(8)["instructions"], 12);
    assert_eq!(line(8).get("source_line"), None);
    let scattered = line(11);
    assert_eq!(scattered["global_load_requests"], 6);
    assert_eq!(scattered["global_load_wavefronts"], 6 * 32);
    assert_eq!(scattered["global_load_sectors"], 6 * 32);
    assert_eq!(scattered["full_requests"], json!({"requests": 6, "fewest": 32, "most": 32}));
    assert_eq!(scattered["source_file"], "costs.cu");
    assert_eq!(scattered["source_line"], 17);
    assert_eq!(
        (&line(12)["global_load_wavefronts"], &line(12)["shared_requests"]),
        (&json!(6), &json!(6))
    );
    assert_eq!(line(12)["shared_wavefronts"], 6);
    // The first warp of each block splits; its 24 lanes and the whole second warp shuffle.
    assert_eq!((&line(15)["branches"], &line(15)["divergent_branches"]), (&json!(6), &json!(3)));
    assert_eq!(line(15)["source_line"], 18);
    assert_eq!(
        (&line(16)["shuffles"], &line(16)["lane_instructions"]),
        (&json!(6), &json!(2 * 3 * 56))
    );
    assert_eq!(line(17)["barriers"], 6);
    assert_eq!(line(19)["instructions"], 6);
    // The sum is what a run without a profile counts.
    let plain = run(&source, "costs.json", &launch, &Request { profile: None, ..request });
    let plain: Value = serde_json::from_str(&plain.expect("runs")).expect("JSON");
    assert_eq!(plain["counters"], report["counters"]);
    assert_eq!(plain.get("profile"), None);
    let request = Request { format: Format::Text, ..request };
    let table = run(&source, "costs.json", &launch, &request).expect("runs");
    assert!(table.contains("\ncosts.cu:17\n   11        6       32        6      192 "), "{table}");
    assert!(table.contains("  @%p0 bra SKIP;\n"), "{table}");
}

#[test]
fn the_fidelity_of_a_result_is_told() {
    let text = COSTS.replace("SKIP:", "SKIP: .reg .f32 %f1; ex2.approx.f32 %f1, 0f3F800000;");
    let launch = json!({"grid": [3], "block": [64],
        "buffers": {"p": {"type": "u32", "len": 2048}}, "args": [{"buffer": "p"}]})
    .to_string();
    let told = |text: &str, format| {
        let source = SourceFile::new("costs.ptx", text);
        let request = Request { fidelity: true, ..request(format) };
        run(&source, "costs.json", &launch, &request).expect("runs")
    };
    let report: Value = serde_json::from_str(&told(&text, Format::Json)).expect("JSON");
    let found = &report["fidelity"];
    assert_eq!((&found["exact"], &found["reached"]), (&json!(false), &json!([])));
    assert_eq!(found["approximate"][0]["instruction"], "ex2.approx.f32");
    assert_eq!(found["approximate"][0]["source"]["file"], "costs.cu");
    let shown = told(&text, Format::Text);
    assert!(shown.contains(": ex2.approx.f32, 192 lanes\n"), "{shown}");
    assert!(shown.contains("no approximate value reaches a branch or an address"), "{shown}");
    let shown = told(COSTS, Format::Text);
    assert!(shown.contains("\nfidelity: exact"), "{shown}");
}

#[test]
fn a_profile_by_source_shows_the_worst_line_first() {
    let source = SourceFile::new("costs.ptx", COSTS);
    let launch = json!({"grid": [3], "block": [64],
        "buffers": {"p": {"type": "u32", "len": 2048}}, "args": [{"buffer": "p"}]})
    .to_string();
    let request = Request { profile: Some(By::Source), ..request(Format::Json) };
    let text = run(&source, "costs.json", &launch, &request).expect("runs");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    // Lanes are 32 bytes apart: 32 sectors in each of 6 requests, where 4 would do; then one request of a sector each.
    assert_eq!(
        report["by_source"][0],
        json!({"source_file": "costs.cu", "source_line": 17, "unit": "sectors read", "requests": 12,
               "count": 6 * 33, "ideal": 6 * 5, "waste": 6 * 28, "lines": [11, 12]})
    );
    assert!(report["profile"].is_array());
    let request = Request { format: Format::Text, ..request };
    let table = run(&source, "costs.json", &launch, &request).expect("runs");
    let worst = "  too many  requests  each  would do  of all  unit\n       168        12  16.5       2.5    100%  sectors read\n            costs.cu:17";
    assert!(table.contains(worst), "{table}");
    // Of a function in the compiler's headers the line of the call.
    let text = COSTS
        .replace(".file 3", ".file 4 \"/cuda/bin/../include/device_functions.hpp\"\n.file 3")
        .replace(
            ".loc 3 17 5",
            ".loc 3 17 5\n    .loc 4 112 3, function_name $L, inlined_at 3 17 5",
        );
    let source = SourceFile::new("costs.ptx", text);
    let table = run(&source, "costs.json", &launch, &request).expect("runs");
    assert!(table.contains("costs.cu:17") && !table.contains("hpp"), "{table}");
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

const LOCATED: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;
    .shared .align 4 .b8 s[4];
    .loc 1 7 5
    ld.param.u64 %rd1, [y];
    .loc 2 3 9, function_name $L__info_string0, inlined_at 1 8 2
    ld.shared.u32 %r1, [s];
    .loc 1 9 1
    st.global.u32 [%rd1], %r1;
    ret;
}
.file 1 \"k.cu\"
.file 2 \"inner.cuh\"
.section .debug_str
{
$L__info_string0:
.b8 102,0
}
";

const ONE: &str = r#"{"grid": [1], "block": [1],
    "buffers": {"y": {"type": "u32", "len": 1}}, "args": [{"buffer": "y"}]}"#;

#[test]
fn a_fault_names_the_source_first() {
    let source = SourceFile::new("k.ptx", LOCATED);
    let failure = run(&source, "l.json", ONE, &request(Format::Text)).expect_err("it faults");
    assert_eq!(failure.status, Status::FAULTED);
    assert!(failure.message.starts_with("k.cu:9:1: error: "), "{}", failure.message);
    for part in [
        "k.ptx:13:5: note: in the PTX",
        "inner.cuh:3:9 (inlined at k.cu:8:2): note: the unwritten bytes are read here",
        "k.ptx:11:5: note: in the PTX",
    ] {
        assert!(failure.message.contains(part), "`{part}` is not in\n{}", failure.message);
    }
    assert!(failure.output.is_none());
}

#[test]
fn a_fault_is_an_object_in_json() {
    let source = SourceFile::new("k.ptx", LOCATED);
    let failure = run(&source, "l.json", ONE, &request(Format::Json)).expect_err("it faults");
    assert_eq!(failure.status, Status::FAULTED);
    let report: Value = serde_json::from_str(&failure.output.expect("an object")).expect("JSON");
    let fault = &report["fault"];
    assert_eq!(fault["kind"], "uninitialized");
    assert_eq!(fault["line"], 13);
    let inlined = json!([]);
    let source = json!({"file": "k.cu", "line": 9, "column": 1, "inlined": inlined});
    assert_eq!(fault["source"], source);
    let call = json!([{"file": "k.cu", "line": 8, "column": 2}]);
    assert_eq!(fault["earlier"]["source"]["inlined"], call);
    assert_eq!(fault["declared"], 7);
    assert!(fault["message"].as_str().is_some_and(|text| text.contains("no thread has written")));
    assert!(report.get("buffers").is_none());
}

#[test]
fn an_endless_loop_is_named_with_its_threads() {
    const SPIN: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry k(.param .u64 y)
{
    .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r2, %tid.x;
    setp.lt.u32 %p1, %r2, 32;
    @%p1 bra WAIT;
L:
    .loc 1 20 3
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p0, %r1, 0;
    @%p0 bra L;
WAIT:
    bar.sync 0;
    ret;
}
.file 1 \"k.cu\"
";
    let source = SourceFile::new("k.ptx", SPIN);
    let launch = ONE
        .replace("[1],\n", "[1],\n \"limit\": 100000,")
        .replace("\"block\": [1]", "\"block\": [64]");
    let failure = run(&source, "l.json", &launch, &request(Format::Text)).expect_err("it spins");
    assert_eq!(failure.status, Status::FAULTED);
    for part in [
        "k.cu:20:3: error: the launch has executed more than 100000 instructions, its limit",
        "32 threads from (32, 0, 0) on spin in a loop",
        "32 threads from (0, 0, 0) on wait at a barrier",
        "k.ptx:15:5: note: in the PTX",
        "note: the loop begins here",
        "ld.volatile.global.u32",
    ] {
        assert!(failure.message.contains(part), "`{part}` is not in\n{}", failure.message);
    }
}

#[test]
fn expectations_are_checked() {
    let with = |more: &str, ty: &str| {
        format!(
            r#"{{"grid": [1], "block": [4], {more},
             "buffers": {{"x": {{"type": "{ty}", "data": [1, 2, 4, 8]}}, "y": {{"type": "{ty}", "len": 4}}}},
             "args": [{{"buffer": "x"}}, {{"buffer": "y"}}, {{"type": "u32", "value": 4}}]}}"#
        )
    };
    let source = SourceFile::new("copy.ptx", COPY);
    let run =
        |more: &str, ty: &str, format| run(&source, "l.json", &with(more, ty), &request(format));
    run(r#""expect": {"y": [1, 2, 4, 8]}"#, "f32", Format::Text).expect("it holds");
    let failure =
        run(r#""expect": {"y": [1, 2, 4.001, 9]}"#, "f32", Format::Text).expect_err("differs");
    assert_eq!(failure.status, Status::UNEXPECTED);
    assert!(failure.message.starts_with("l.json: error: 2 of 4 elements"), "{}", failure.message);
    assert!(failure.message.contains("y[2] = 4.0, expected 4.001"), "{}", failure.message);
    assert!(failure.output.is_some_and(|text| text.contains("y: f32[4]")));
    for (tolerance, good) in [
        (r#"{"absolute": 0.01}"#, true),
        (r#"{"relative": 0.001}"#, true),
        (r#"{"relative": 0.0001}"#, false),
        (r#"{"absolute": 0.0005, "relative": 0.0002}"#, true),
    ] {
        let more = format!(r#""expect": {{"y": [1, 2, 4.001, 8]}}, "tolerance": {tolerance}"#);
        assert_eq!(run(&more, "f32", Format::Text).is_ok(), good, "{tolerance}");
    }
    let failure =
        run(r#""expect": {"y": [1, 2, 5, 8]}"#, "u32", Format::Json).expect_err("differs");
    let report: Value = serde_json::from_str(&failure.output.expect("JSON")).expect("JSON");
    assert_eq!(report["differences"], 1);
    let first = json!([{"buffer": "y", "index": 2, "found": 4, "expected": 5}]);
    assert_eq!(report["first_differences"], first);
    for more in
        [r#""expect": {"z": [1]}"#, r#""expect": {"y": [1]}"#, r#""tolerance": {"absolute": -1}"#]
    {
        let failure = run(more, "u32", Format::Text).expect_err("refused");
        assert_eq!(failure.status, Status::UNUSABLE, "{more}");
    }
}

#[test]
fn conflicts_of_atomics_are_counted() {
    let kernel = |address: &str, space: &str| {
        format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 y) {{
             .reg .b32 %r<4>; .reg .b64 %rd<5>; .shared .align 16 .b8 s[4096];
             ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x;
             mul.wide.u32 %rd3, %r1, 4; mov.u64 %rd4, s; add.u64 %rd4, %rd4, %rd3;
             st.shared.u32 [%rd4], 0; bar.sync 0;
             {address} mul.wide.u32 %rd3, %r2, 4;
             add.u64 %rd1, %rd1, %rd3; mov.u64 %rd4, s; add.u64 %rd4, %rd4, %rd3;
             red.{space}.add.u32 [%rd{}], 1; ret; }}",
            if space == "shared" { 4 } else { 1 }
        )
    };
    let launch = r#"{"grid": [1], "block": [32], "uninitialized": "ignore",
        "buffers": {"y": {"type": "u32", "len": 1024}}, "args": [{"buffer": "y"}]}"#;
    for (address, shared, global) in [
        ("mov.u32 %r2, %r1;", 1, 1),
        ("mov.u32 %r2, 0;", 32, 32),
        ("and.b32 %r2, %r1, 7;", 4, 4),
        ("shl.b32 %r2, %r1, 5;", 32, 1),
        ("shl.b32 %r2, %r1, 1;", 2, 1),
    ] {
        for (space, passes) in [("shared", shared), ("global", global)] {
            let source = SourceFile::new("k.ptx", kernel(address, space));
            let text = run(&source, "l.json", launch, &request(Format::Json)).expect("it runs");
            let report: Value = serde_json::from_str(&text).expect("JSON");
            let counters = &report["counters"];
            assert_eq!(counters["atomic_requests"], 1, "{address} {space}");
            assert_eq!(counters["atomic_passes"], passes, "{address} {space}");
        }
    }
}
