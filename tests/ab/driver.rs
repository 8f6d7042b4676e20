//! The module that calls NVIDIA's driver, on a library that stands in for it (`driver.c`).

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{self, assembler::Assembler};

const COPY: &str = "
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 from, .param .u64 to, .param .u32 n) {
    .reg .pred %p<2>; .reg .b32 %r<7>; .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    setp.ge.u32 %p0, %r4, %r0;
    @%p0 bra DONE;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd0, %rd2; add.s64 %rd4, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd4], %r5;
DONE: ret;
}";

/// The libraries, the kernel and a launch of it, in a folder.
pub struct Bed {
    folder: TempDir,
}

impl Bed {
    pub fn get() -> &'static Bed {
        static BED: OnceLock<Bed> = OnceLock::new();
        BED.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder");
            for library in ["libcuda.so", "libnvidia-ml.so.1"] {
                let built = Command::new("cc")
                    .args(["-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
                    .arg(folder.path().join(library))
                    .arg(common::root().join("tests/ab/driver.c"))
                    .output()
                    .expect("a C compiler");
                assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            }
            std::fs::write(folder.path().join("copy.ptx"), COPY).expect("writes");
            Bed { folder }
        })
    }

    pub fn launch(&self, name: &str, count: u32) -> PathBuf {
        let path = self.folder.path().join(name);
        let launch = json!({
            "grid": [2], "block": [32],
            "buffers": {
                "from": {"type": "f32", "len": 64, "fill": "random", "seed": 3},
                "to": {"type": "f32", "len": 70},
                "empty": {"type": "u8", "len": 0}},
            "args": [{"buffer": "from"}, {"buffer": "to", "offset": 8}, {"type": "u32", "value": count}],
        });
        std::fs::write(&path, launch.to_string()).expect("writes");
        path
    }

    fn run(&self, words: &[&str], launch: &PathBuf, environment: &[(&str, &str)]) -> Output {
        let (command, options) = words.split_first().expect("a subcommand");
        let mut process = self.process();
        process.arg(command).arg(self.folder.path().join("copy.ptx")).arg("--launch").arg(launch);
        process.args(options).envs(environment.iter().copied()).output().expect("runs")
    }

    /// A call of ptxasw where the libraries are found, without any words so far.
    pub fn process(&self) -> Command {
        let mut process = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
        process.env("LD_LIBRARY_PATH", self.folder.path()).env_remove("FAKE_CUDA");
        if let Some(ptxas) = Assembler::find() {
            process.env("PTXASW_PTXAS", ptxas.ptxas);
        }
        process
    }
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "", "no bar without a terminal");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn without_a_device_the_status_is_4() {
    let bed = Bed::get();
    let launch = bed.launch("none.json", 60);
    for words in [&["ab"][..], &["ab", "--check"], &["run", "--on", "gpu"], &["tune"]] {
        let output = bed.run(words, &launch, &[]);
        assert_eq!(output.status.code(), Some(4), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.starts_with("ptxasw: error: no usable GPU: CUDA_ERROR_NO_DEVICE"), "{said}");
        assert!(output.stdout.is_empty());
    }
    // Nor is there a second one.
    let output = bed.run(&["ab", "--device", "1"], &launch, &[("FAKE_CUDA", "100")]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn times_come_from_the_devices_events() {
    let bed = Bed::get();
    let launch = bed.launch("times.json", 60);
    let words = ["ab", "--format", "json", "--samples", "9", "--warm-up", "1"];
    for (l2, heat) in [("keep", false), ("flush", true)] {
        let words = [&words[..], &["--l2", l2]].concat();
        let environment = [("FAKE_CUDA", "100"), ("FAKE_HEAT", "1")];
        let result = json(&bed.run(&words, &launch, &environment[..1 + usize::from(heat)]));
        assert_eq!(result["device"], "Fake 0");
        assert_eq!(result["architecture"], "sm_86");
        assert_eq!(result["driver"], "12.4");
        assert_eq!(result["launches_per_sample"], 10);
        let throttling = &result["throttling"];
        assert_eq!((&throttling["source"], &throttling["seen"]), (&json!("nvml"), &json!(heat)));
        assert_eq!(throttling["clock_mhz"], 1410);
        for variant in result["variants"].as_array().expect("a list") {
            let median = variant["median_us"].as_f64().expect("a number");
            assert!((median - 100.0).abs() < 0.01, "{variant}");
            assert_eq!(variant["registers"], 32);
            assert_eq!(variant["blocks_per_multiprocessor"], 48);
        }
        assert_eq!(result["variants"][1]["verdict"], "same");
        assert_eq!(result["variants"][1]["identical_output"], true);
    }
}

#[test]
fn buffers_go_there_and_come_back() {
    let bed = Bed::get();
    let launch = bed.launch("buffers.json", 60);
    let output = bed.run(&["ab", "--check", "--format", "json"], &launch, &[("FAKE_CUDA", "1")]);
    assert_eq!(json(&output)["variants"][0], json!({"name": "original", "equal": true}));
    let output =
        bed.run(&["run", "--on", "gpu", "--format", "json"], &launch, &[("FAKE_CUDA", "1")]);
    let result = json(&output);
    let element = |buffer: &str, at: usize| &result["buffers"][buffer]["data"][at];
    assert_eq!(result["device"]["multiprocessors"], 4);
    assert_eq!(element("to", 1), &json!(0.0));
    assert_eq!(element("to", 2), element("from", 0));
    assert_eq!(element("to", 61), element("from", 59));
    assert_eq!(element("to", 62), &json!(0.0));
}

#[test]
fn a_fault_of_the_kernel_has_status_3() {
    let bed = Bed::get();
    let launch = bed.launch("fault.json", 1000);
    let output = bed.run(&["ab"], &launch, &[("FAKE_CUDA", "100")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("original: CUDA_ERROR_ILLEGAL_ADDRESS"), "{said}");
}
