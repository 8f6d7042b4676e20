//! z3's library: it is loaded when it is needed, and may be missing.

use std::fs;
use std::path::Path;

use crate::folder::{Folder, PTXASW, stdout};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx-samples/jacobi/jacobi.sm_80.ptx");

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn the_loader_is_not_asked_for_z3() {
    let folder = Folder::new();
    let mut call = folder.call(PTXASW);
    let libraries = stdout(&call.env("LD_TRACE_LOADED_OBJECTS", "1").output().unwrap());
    assert!(libraries.contains("libc.so"), "{libraries}");
    // A function of z3 that `solver::library` does not name makes the linker ask for it.
    assert!(!libraries.contains("libz3") && !libraries.contains("libstdc++"), "{libraries}");
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn without_z3_claims_are_unknown_and_nothing_breaks() {
    let folder = Folder::new();
    let other = folder.path("other");
    fs::create_dir(&other).unwrap();
    for name in ["libz3.so.4", "libz3.so"] {
        fs::write(other.join(name), "not a library").unwrap();
    }
    let run = |arguments: &[&str], path: &Path| {
        let output = folder.call(PTXASW).args(arguments).env("LD_LIBRARY_PATH", path).output();
        let output = output.unwrap();
        (
            output.status.code(),
            stdout(&output),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (status, version, _) = run(&["--version"], &other);
    assert!(
        status == Some(0) && version.contains("\nz3: libz3.so.4 cannot be loaded\n"),
        "{version}"
    );
    folder.ptxasw(&["install", "."]);
    let (status, text, _) = run(&["doctor", "."], &other);
    assert!(status != Some(0) && text.contains("nothing is proved that needs it"), "{text}");

    // What the rules decide alone is decided as before; what needs z3 is left as it is.
    let rewritten = folder.path("rewritten.ptx");
    let out = rewritten.to_str().unwrap();
    let arguments = ["rewrite", "--strategy", "paper", SAMPLE, "-o", out];
    let (status, _, said) = run(&arguments, &other);
    assert_eq!(status, Some(0), "{said}");
    let (status, verdict, said) = run(&["verify", SAMPLE, out], &other);
    assert!(matches!(status, Some(0 | 1 | 3)), "{status:?} {verdict} {said}");
    let (status, verdict, _) = run(&["verify", SAMPLE, out], Path::new(""));
    assert_eq!(status, Some(0), "{verdict}");
}
