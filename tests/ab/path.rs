//! From texts to JSON, on a fake device but with the real ptxas.

use std::cell::RefCell;

use ptxasw::ab::device::{Device, Error, L2};
use ptxasw::ab::experiment::Settings;
use ptxasw::ab::throttle::Clock;
use ptxasw::cli::ab::{ab, ab_check};
use ptxasw::cli::exit::{Failure, Status};
use ptxasw::cli::gpu::{Request, World};
use ptxasw::cli::options::Format;
use ptxasw::cli::run::on_gpu;
use ptxasw::cli::tune::tune;
use ptxasw::cli::variants::Variant;
use ptxasw::pipeline::Options;
use ptxasw::ptxas::invoke::Tool;
use ptxasw::ptxas::signals::Watch;
use ptxasw::rewrite::Mode;
use ptxasw::source::SourceFile;
use serde_json::{Value, json};

use super::fake::{Call, Fake};
use crate::common::{self, assembler::Assembler};

const ACCUMULATE: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry accumulate(.param .u64 x) {
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd0, [x];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd2, %rd0, %rd1;
    ld.global.u32 %r1, [%rd2];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd2], %r2;
    ret;
}";

fn file(name: &str) -> SourceFile {
    SourceFile::new(name, common::read(name.as_ref()))
}

/// The inputs of a comparison, which a test may change before it runs.
struct Bed {
    original: SourceFile,
    launch: SourceFile,
    variants: Vec<Variant>,
    options: Options,
    against: Vec<SourceFile>,
    settings: Settings,
    fake: RefCell<Option<Fake>>,
    without_ptxas: bool,
}

impl Bed {
    fn jacobi(fake: Fake) -> Bed {
        Bed {
            original: file("ptx-samples/jacobi/jacobi.sm_80.ptx"),
            launch: file("ptx-samples/jacobi/jacobi.json"),
            variants: vec![Variant::ORIGINAL, Variant::Mode(Mode::Full)],
            options: Options::paper(),
            against: Vec::new(),
            settings: Settings { samples: 20, warm_up_us: 1000.0, ..Settings::default() },
            fake: RefCell::new(Some(fake)),
            without_ptxas: false,
        }
    }

    fn accumulate(fake: Fake) -> Bed {
        let launch = json!({
            "grid": [1], "block": [32], "args": [{"buffer": "x"}],
            "buffers": {"x": {"type": "u32", "len": 32, "fill": "index"}},
        });
        Bed {
            original: SourceFile::new("accumulate.ptx", ACCUMULATE),
            launch: SourceFile::new("accumulate.json", launch.to_string()),
            variants: vec![Variant::ORIGINAL],
            ..Bed::jacobi(fake)
        }
    }

    fn with<T>(&self, work: impl FnOnce(&Request<'_>, &World<'_>) -> T) -> T {
        let watch = Watch::start();
        let open = |_| {
            let fake = self.fake.borrow_mut().take();
            let fake = fake.ok_or_else(|| Error::Unusable("none is left".to_owned()))?;
            Ok(Box::new(fake) as Box<dyn Device>)
        };
        let tool = || {
            let ptxas = Assembler::find().filter(|_| !self.without_ptxas);
            let path = ptxas.ok_or_else(|| Failure::unusable("cannot find the real ptxas"))?.ptxas;
            Ok(Tool { path, depth: 1, huge_pages: false })
        };
        let request = Request {
            original: &self.original,
            launch: &self.launch,
            kernel: None,
            variants: &self.variants,
            against: &self.against,
            options: &self.options,
            device: 0,
        };
        work(&request, &World { open: &open, tool: &tool, watch: &watch })
    }

    fn ab(&self) -> Result<Value, Failure> {
        let mut rounds = Vec::new();
        let mut progress = |done, all| rounds.push((done, all));
        let text = self.with(|request, world| {
            ab(request, &self.settings, world, Format::Json, &mut progress)
        })?;
        let all = self.settings.samples;
        assert_eq!(rounds, (1..=all).map(|done| (done, all)).collect::<Vec<_>>());
        Ok(serde_json::from_str(&text).expect("JSON"))
    }

    fn check(&self) -> Result<(Value, Status), Failure> {
        let (text, status) = self.with(|request, world| ab_check(request, world, Format::Json))?;
        Ok((serde_json::from_str(&text).expect("JSON"), status))
    }
}

/// The exit status and the message.
fn failure<T: std::fmt::Debug>(result: Result<T, Failure>) -> (u8, String) {
    let Failure { status, message, .. } = result.expect_err("fails");
    (status.code(), message)
}

/// A device on which kernel `n` takes `times[n]` microseconds, give or take half a per cent.
fn times<const N: usize>(times: [f64; N]) -> Fake {
    Fake::new(move |kernel, asked| {
        times[kernel] * (1.0 + 0.005 * ((asked * 7 % 11) as f64 / 5.0 - 1.0))
    })
}

#[test]
fn a_faster_kernel_is_found() {
    let bed = Bed::jacobi(times([100.0, 80.0]));
    let calls = bed.fake.borrow().as_ref().expect("there").calls();
    let result = bed.ab().expect("measures");
    assert_eq!(result["device"], "Fake");
    assert_eq!(result["architecture"], "sm_80");
    assert_eq!(result["kernel"], "jacobi");
    assert_eq!(result["file"], "ptx-samples/jacobi/jacobi.sm_80.ptx");
    assert_eq!(result["grid"], json!([4, 8, 1]));
    assert_eq!(result["l2"], "keep");
    assert_eq!(result["launches_per_sample"], 10);
    let [original, full] = &result["variants"].as_array().expect("a list")[..] else {
        panic!("{result}")
    };
    assert_eq!(original["name"], "original");
    assert!(original.get("speedup").is_none(), "{original}");
    assert_eq!(full["name"], "full");
    assert_eq!(full["verdict"], "faster");
    assert_eq!(full["identical_output"], true);
    assert_eq!(full["samples"], 20);
    assert_eq!(full["registers"], 24);
    let median = full["median_us"].as_f64().expect("a number");
    let speedup = full["speedup"].as_f64().expect("a number");
    let bound = |at: usize| full["interval"][at].as_f64().expect("a number");
    assert!((79.0..81.0).contains(&median) && (1.23..1.27).contains(&speedup), "{full}");
    assert!(bound(0) < 1.25 && 1.25 < bound(1) && bound(1) - bound(0) < 0.03, "{full}");
    check_calls(&calls.borrow());
}

/// Everything is compared before anything is timed, each time from the first contents; then the
/// variants take turns.
fn check_calls(calls: &[Call]) {
    let first_time = calls.iter().position(|call| matches!(call, Call::Time(..))).expect("times");
    let (before, after) = calls.split_at(first_time);
    let sizes: Vec<usize> = before
        .iter()
        .filter_map(|call| match call {
            Call::Load { kernel, cubin } => {
                assert_eq!(kernel, "jacobi");
                Some(*cubin)
            }
            _ => None,
        })
        .collect();
    assert!(sizes.len() == 2 && sizes[0] != sizes[1], "two programs: {before:?}");
    let full = before.iter().position(|call| *call == Call::Launch(1)).expect("runs");
    assert_eq!(before[full - 1], Call::Reset);
    assert_eq!(before.last(), Some(&Call::Reset));
    let rounds: Vec<&Call> = after.iter().rev().take(40).collect();
    for pair in rounds.chunks(2) {
        let [Call::Time(a, 10, L2::Keep), Call::Time(b, 10, L2::Keep)] = pair else {
            panic!("{pair:?}")
        };
        assert_eq!(a + b, 1, "{pair:?}");
    }
}

#[test]
fn wrong_output_is_never_faster() {
    let mut bed = Bed::jacobi(times([100.0, 50.0, 80.0, 100.2]));
    bed.variants = [Mode::NoLoad, Mode::NoCorner, Mode::Full].map(Variant::Mode).to_vec();
    bed.settings.l2 = L2::Flush;
    bed.settings.scale = Some(3);
    let result = bed.ab().expect("measures");
    assert_eq!(result["l2"], "flush");
    assert_eq!(result["launches_per_sample"], 3);
    let variants = result["variants"].as_array().expect("a list");
    let names: Vec<&str> = variants.iter().filter_map(|v| v["name"].as_str()).collect();
    assert_eq!(names, ["original", "no-load", "no-corner", "full"]);
    for wrong in &variants[1..3] {
        assert_eq!(wrong["identical_output"], false, "{wrong}");
        assert_eq!(wrong["verdict"], "ambiguous", "{wrong}");
        assert!(wrong["speedup"].as_f64().is_some_and(|speedup| speedup > 1.2), "{wrong}");
        assert_eq!(wrong["differences"][0]["buffer"], "w1", "{wrong}");
    }
    assert_eq!(variants[3]["identical_output"], true);
    assert_eq!(variants[3]["verdict"], "same", "{}", variants[3]);
}

#[test]
fn one_bit_is_noticed() {
    let mut fake = times([100.0, 50.0]);
    fake.spoil = Some(1);
    let result = Bed::jacobi(fake).ab().expect("measures");
    let full = &result["variants"][1];
    assert_eq!(full["identical_output"], false);
    assert_ne!(full["verdict"], "faster");
    assert_eq!(full["differences"][0]["elements"], 1);
}

#[test]
fn other_files_are_compared() {
    let mut bed = Bed::jacobi(times([100.0, 120.0]));
    bed.variants = vec![Variant::ORIGINAL];
    bed.against = vec![file("ptx-samples/jacobi/jacobi.sm_80.lineinfo.ptx")];
    let result = bed.ab().expect("measures");
    let other = &result["variants"][1];
    assert_eq!(other["name"], "ptx-samples/jacobi/jacobi.sm_80.lineinfo.ptx");
    assert_eq!((&other["verdict"], &other["identical_output"]), (&json!("slower"), &json!(true)));
    bed.against = vec![file("ptx-samples/laplacian/laplacian.sm_80.ptx")];
    let (status, message) = failure(bed.ab());
    assert!(status == 2 && message.contains("laplacian.sm_80.ptx"), "{status}: {message}");
}

/// What a device was given to load.
fn loaded(bed: &Bed) -> Vec<String> {
    let programs = bed.fake.borrow().as_ref().expect("there").programs();
    bed.ab().expect("measures");
    programs.borrow().iter().map(|program| program.text().to_owned()).collect()
}

/// The file is for an older architecture, on which shuffles pay.
#[test]
fn strategies_are_weighed_for_the_device() {
    let text = common::read("ptx-samples/jacobi/jacobi.sm_80.ptx".as_ref());
    let original = text.replace("sm_80", "sm_60");
    let bed = |variants: &[&str], architecture| {
        let mut bed = Bed::jacobi(times([100.0, 80.0, 80.0, 80.0, 80.0]));
        bed.original = SourceFile::new("jacobi.sm_60.ptx", original.as_str());
        bed.variants = variants.iter().map(|word| word.parse().expect("a variant")).collect();
        bed.options = Options { architecture, ..Options::default() };
        bed
    };
    let on_device = loaded(&bed(&["auto", "full", "none", "paper"], None));
    let [first, auto, full, none, paper] = &on_device[..] else { panic!("{}", on_device.len()) };
    assert!([first, auto, full, none].iter().all(|text| **text == original));
    assert!(paper.contains("shfl.sync"));
    let asked = loaded(&bed(&["auto", "full", "window"], Some(60)));
    let [first, auto, full, window] = &asked[..] else { panic!("{}", asked.len()) };
    assert!(*first == original && auto == full && auto.contains("shfl.sync"));
    assert!(window != paper && window.contains("shfl.sync"));
    // By their names in the result, whatever --strategy says.
    let mut named = bed(&["wide+reuse", "original", "paper", "paper"], None);
    named.options = Options::paper();
    let result = named.ab().expect("measures");
    let names: Vec<&str> = result["variants"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|variant| variant["name"].as_str())
        .collect();
    assert_eq!(names, ["original", "reuse,wide", "paper"]);
}

/// What computes something else is never chosen, however fast it is.
#[test]
fn a_wrong_strategy_is_not_chosen() {
    let strategies: Vec<_> =
        ["paper", "window"].iter().map(|word| word.parse().expect("a strategy")).collect();
    for (spoilt, chosen) in [(None, "paper"), (Some(1), "window")] {
        let mut fake = times([100.0, 50.0, 80.0]);
        fake.spoil = spoilt;
        let bed = Bed::jacobi(fake);
        let (entry, measured) = bed
            .with(|request, world| tune(request, &strategies, &bed.settings, world, &mut |_, _| {}))
            .expect("measures");
        assert_eq!(ptxasw::profile::word_for(entry.strategy), chosen, "{measured}");
        assert_eq!((entry.name.as_str(), entry.architecture.as_str()), ("jacobi", "sm_80"));
        assert_eq!(entry.variants.len(), 3);
    }
}

#[test]
fn throttling_is_reported() {
    let mut fake = times([100.0, 80.0]);
    fake.clock = Some(Clock { mhz: 900, slowed: Some("heat".to_owned()) });
    let result = Bed::jacobi(fake).ab().expect("measures");
    assert_eq!(result["throttling"]["source"], "nvml");
    assert_eq!(result["throttling"]["seen"], true);
    assert!(result["throttling"]["detail"].as_str().is_some_and(|text| text.contains("heat")));
}

#[test]
fn what_adds_up_gets_its_first_contents_again() {
    let bed = Bed::accumulate(times([100.0]));
    let calls = bed.fake.borrow().as_ref().expect("there").calls();
    let result = bed.ab().expect("measures");
    assert!(result["notes"][0].as_str().is_some_and(|note| note.contains("second launch")));
    let calls = calls.borrow();
    let rounds: Vec<&Call> = calls.iter().rev().take(2 * bed.settings.samples).collect();
    for pair in rounds.chunks(2) {
        assert!(matches!(pair, [Call::Time(..), Call::Reset]), "{pair:?}");
    }
}

#[test]
fn launches_too_short_to_time_are_pointed_out() {
    let result = Bed::jacobi(times([2.0, 1.9])).ab().expect("measures");
    assert!(result["notes"][0].as_str().is_some_and(|note| note.contains("launching")), "{result}");
}

/// The device has two multiprocessors.
#[test]
fn launches_that_leave_multiprocessors_idle_are_pointed_out() {
    let notes = |bed: Bed| bed.ab().expect("measures")["notes"].to_string();
    let one = notes(Bed::accumulate(times([100.0])));
    assert!(one.contains("the launch has 1 block, and the GPU 2 multiprocessors"), "{one}");
    assert!(one.contains("`ptxasw launch --for ab`"), "{one}");
    let many = notes(Bed::jacobi(times([100.0, 80.0])));
    assert!(!many.contains("multiprocessors"), "{many}");
}

#[test]
fn the_interpreter_is_compared_with_the_device() {
    let (result, status) = Bed::jacobi(times([1.0, 1.0])).check().expect("runs");
    assert_eq!(status.code(), 0, "{result}");
    assert_eq!(result["variants"][0], json!({"name": "original", "equal": true}));
    assert_eq!(result["variants"][1], json!({"name": "full", "equal": true}));
    let mut fake = times([1.0, 1.0]);
    fake.spoil = Some(0);
    let (result, status) = Bed::jacobi(fake).check().expect("runs");
    assert_eq!(status.code(), 1, "{result}");
    assert_eq!(result["variants"][0]["equal"], false);
    assert_eq!(result["variants"][0]["differences"][0]["elements"], 1);
}

#[test]
fn a_device_shows_its_buffers() {
    let bed = Bed::accumulate(times([1.0]));
    let text = bed.with(|request, world| on_gpu(request, world, Format::Json)).expect("runs");
    let result: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(result["device"]["name"], "Fake");
    assert_eq!(result["buffers"]["x"]["data"], json!((1..=32).collect::<Vec<u32>>()));
    assert!(result.get("counters").is_none());
}

#[test]
fn what_fails_has_its_status() {
    let status = |bed: &Bed| failure(bed.ab());
    // A fault of the kernel.
    let mut fake = times([1.0, 1.0]);
    fake.fault = Some(1);
    let (code, message) = status(&Bed::jacobi(fake));
    assert!(code == 3 && message.contains("full: CUDA_ERROR_ILLEGAL_ADDRESS"), "{message}");
    // No GPU; ptxas is not asked for.
    let mut bed = Bed::jacobi(times([1.0, 1.0]));
    bed.fake.take();
    bed.without_ptxas = true;
    let (code, message) = status(&bed);
    assert!(code == 4 && message.contains("no usable GPU"), "{message}");
    // No ptxas.
    bed.fake.replace(Some(times([1.0, 1.0])));
    assert_eq!(status(&bed).0, 2);
    // A bad launch file is noticed before a GPU is asked for.
    let fits = |text: &str| {
        let mut bed = Bed::accumulate(times([1.0]));
        bed.fake.take();
        bed.launch = SourceFile::new("l.json", text);
        let (code, message) = status(&bed);
        assert_eq!(code, 2, "{text}: {message}");
        message
    };
    assert!(fits("{").starts_with("l.json: error: "));
    assert!(fits(r#"{"grid": [1], "block": [32]}"#).contains("1 parameters, not 0"));
    let short = r#"{"grid": [1], "block": [32], "args": [{"type": "u32", "value": 1}]}"#;
    assert!(fits(short).contains("parameter `x` has 8 bytes, its argument 4"));
    let absent = r#"{"grid": [1], "block": [32], "args": [{"buffer": "y"}]}"#;
    assert!(fits(absent).contains("no buffer `y`"));
    let unknown = r#"{"kernel": "k", "grid": [1], "block": [32], "args": []}"#;
    assert!(fits(unknown).contains("no kernel `k`"));
    // What ptxas refuses, in its words: the device is older than the module's target.
    let mut bed = Bed::accumulate(times([1.0]));
    bed.original = SourceFile::new("new.ptx", ACCUMULATE.replace("sm_80", "sm_90"));
    let (code, message) = status(&bed);
    assert!(code == 2 && message.contains("ptxas refuses it:\nptxas fatal"), "{message}");
}
