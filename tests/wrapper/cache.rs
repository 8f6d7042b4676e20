//! Decisions that an earlier call has noted (`PTXASW_CACHE`).

use crate::support::{Bench, PTXASW, real_ptxas, run, stderr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("what_is_decided_is_assembled_once", what_is_decided_is_assembled_once),
    ("what_cannot_be_read_is_decided_anew", what_cannot_be_read_is_decided_anew),
];

/// A sample with kernels that are kept.
const KEPT: &str = "ptx-samples/pastl1/pastl1.sm_80.ptx";

/// A folder for calls around a ptxas that notes each of them.
struct Desk(Bench);

impl Desk {
    fn new(ptxas: &Path) -> Desk {
        let bench = Bench::new();
        bench.link(Path::new(PTXASW), "bin/ptxas");
        let script = bench.path("counting");
        let text = format!(
            "#!/bin/sh\necho >> '{}'\nexec '{}' \"$@\"\n",
            bench.path("calls").display(),
            ptxas.display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        Desk(bench)
    }

    /// Assembles a text: the output, and how often ptxas was called.
    fn assemble(&self, text: &str, settings: &[(&str, &str)]) -> (Vec<u8>, usize) {
        let Desk(bench) = self;
        std::fs::write(bench.path("work/k.ptx"), text).unwrap();
        _ = std::fs::remove_file(bench.path("calls"));
        let mut call = bench.call(&bench.path("bin/ptxas"), &["-arch=sm_80", "k.ptx", "-o", "out"]);
        call.env("PTXASW_PTXAS", bench.path("counting"));
        call.env("PTXASW_CACHE", bench.path("cache")).envs(settings.iter().copied());
        let output = run(call);
        assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
        let calls = std::fs::read_to_string(bench.path("calls")).unwrap_or_default();
        (std::fs::read(bench.path("work/out")).unwrap(), calls.lines().count())
    }
}

fn text() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(KEPT)).unwrap()
}

fn what_is_decided_is_assembled_once() {
    let Some(ptxas) = real_ptxas() else { return };
    let (desk, text) = (Desk::new(&ptxas), text());
    let (original, _) = desk.assemble(&text, &[("PTXASW", "off")]);
    let (first, calls) = desk.assemble(&text, &[]);
    assert!(calls >= 2 && first != original, "{calls} calls");
    assert_eq!(desk.0.names("cache").len(), 1);
    assert_eq!(desk.assemble(&text, &[]), (first.clone(), 1));
    // A report has what no decision holds.
    let folder = desk.0.path("report");
    let (same, calls) = desk.assemble(&text, &[("PTXASW_REPORT", folder.to_str().unwrap())]);
    assert!(same == first && calls >= 2, "{calls} calls");
    // Another text, another decision.
    let (_, calls) = desk.assemble(&format!("{text}\n// The end.\n"), &[]);
    assert!(calls >= 2, "{calls} calls");
    assert_eq!(desk.0.names("cache").len(), 2);
    // Without a proof, too.
    let (_, calls) = desk.assemble(&text, &[("PTXASW_VERIFY", "0")]);
    assert!(calls >= 2, "{calls} calls");
}

fn what_cannot_be_read_is_decided_anew() {
    let Some(ptxas) = real_ptxas() else { return };
    let (desk, text) = (Desk::new(&ptxas), text());
    let (first, _) = desk.assemble(&text, &[]);
    let entry = desk.0.path("cache").join(&desk.0.names("cache")[0]);
    for broken in ["", "[", "{\"version\": 2}"] {
        std::fs::write(&entry, broken).unwrap();
        let (same, calls) = desk.assemble(&text, &[]);
        assert!(same == first && calls >= 2, "{broken}: {calls} calls");
        assert_eq!(desk.assemble(&text, &[]), (same, 1), "{broken}");
    }
    // Nowhere to note it.
    let (same, calls) = desk.assemble(&text, &[("PTXASW_CACHE", "/dev/null/cache")]);
    assert!(same == first && calls >= 2, "{calls} calls");
}
