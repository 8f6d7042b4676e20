//! Finding the real ptxas, and never ourselves.

use crate::support::{Bench, FAKE, PTXASW, run, stderr};
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("beside_the_link_then_beside_the_file_then_in_path", order),
    ("never_itself", never_itself),
    ("the_explicit_one", the_explicit_one),
    ("a_circle_ends", a_circle_ends),
    ("the_error_says_where_it_looked", the_error_says_where_it_looked),
];

/// The folder whose fake ptxas the call reached, from the call that it noted.
fn reached(bench: &Bench, folders: &[&str]) -> Option<String> {
    let noted = |folder: &&&str| bench.path(folder).join("call.1").exists();
    folders.iter().find(noted).map(|folder| (*folder).to_string())
}

fn order() {
    // `cuda/bin/ptxas` is a link to `app/ptxasw`, itself a copy of the executable.
    for (real, expected) in [
        (&["cuda/bin/ptxas.real", "app/ptxas.real", "path/ptxas"][..], "cuda/bin"),
        (&["app/ptxas.real", "path/ptxas"], "app"),
        (&["path/ptxas"], "path"),
    ] {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("app")).unwrap();
        std::fs::hard_link(PTXASW, bench.path("app/ptxasw"))
            .or_else(|_| std::fs::copy(PTXASW, bench.path("app/ptxasw")).map(drop))
            .unwrap();
        let link = bench.link(&bench.path("app/ptxasw"), "cuda/bin/ptxas");
        for name in real {
            bench.link(Path::new(FAKE), name);
        }
        let search = format!("{}:/usr/bin:/bin", bench.path("path").display());
        let mut call = bench.call(&link, &["x", "-v"]);
        call.env("PATH", search);
        let output = run(call);
        let got = reached(&bench, &["cuda/bin", "app", "path"]);
        assert_eq!(got.as_deref(), Some(expected), "{output:?}");
    }

    // The same, called by name alone and as a subcommand.
    let bench = Bench::new();
    bench.link(Path::new(PTXASW), "cuda/bin/ptxas");
    bench.link(Path::new(FAKE), "cuda/bin/ptxas.real");
    let search = format!("{}:/usr/bin:/bin", bench.path("cuda/bin").display());
    let mut call = bench.call(Path::new("/bin/sh"), &["-c", "ptxas x -v"]);
    call.env("PATH", search);
    assert!(run(call).status.success());
    assert_eq!(reached(&bench, &["cuda/bin"]).as_deref(), Some("cuda/bin"));

    let bench = Bench::new();
    let mut call = bench.call(Path::new(PTXASW), &["ptxas", "--", "x", "-v"]);
    call.env("PTXASW_PTXAS", bench.path("fake/ptxas"));
    assert!(run(call).status.success());
    assert_eq!(bench.words(1), ["x", "-v"]);
}

fn never_itself() {
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "one/ptxas");
    bench.link(&link, "two/ptxas");
    std::fs::create_dir(bench.path("three")).unwrap();
    std::fs::copy(PTXASW, bench.path("three/ptxas")).unwrap();
    bench.link(Path::new(PTXASW), "one/ptxas.real");
    let folders = ["one", "two", "three", "fake"].map(|name| bench.path(name));
    let search = std::env::join_paths(folders.iter().chain([&"/usr/bin".into(), &"/bin".into()]));
    let mut call = bench.call(&link, &["x", "-v"]);
    call.env("PATH", search.unwrap());
    let output = run(call);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(bench.words(1), ["x", "-v"]);
}

fn the_explicit_one() {
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    bench.link(Path::new(FAKE), "bin/ptxas.real");
    let call = |explicit: &Path| {
        let mut call = bench.call(&link, &["x"]);
        call.env("PTXASW_PTXAS", explicit);
        run(call)
    };
    assert!(call(&bench.path("fake/ptxas")).status.success());
    assert_eq!(bench.calls(), 1);
    // A setting that names ourselves does not loop: the search goes on.
    assert!(call(&link).status.success());
    assert_eq!(reached(&bench, &["bin"]).as_deref(), Some("bin"));
    // A file that does not exist is a mistake that another version must not hide.
    let missing = bench.path("missing");
    for wrong in [missing.as_path(), Path::new("no-such-ptxas"), &bench.path("work")] {
        let output = call(wrong);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(stderr(&output).contains(wrong.to_str().unwrap()), "{}", stderr(&output));
    }
}

fn a_circle_ends() {
    // A script that calls us back is another stand-in as far as we can see.
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    let script = bench.path("bin/back");
    let text = format!(
        "#!/bin/sh\necho >> count; [ $(wc -l < count) -lt 20 ] || exit 1\n\
         PTXASW_PTXAS=$0 exec {} \"$@\"\n",
        link.display()
    );
    let make = format!("cat > {0} && chmod +x {0}", script.display());
    let maker = bench.call(Path::new("/bin/sh"), &["-c", &make]);
    assert!(crate::support::run_with(maker, &text).status.success());
    let mut call = bench.call(&link, &["x"]);
    call.env("PTXASW_PTXAS", &script);
    let output = run(call);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(&output).contains("circle"), "{}", stderr(&output));
}

fn the_error_says_where_it_looked() {
    let bench = Bench::new();
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    let mut call = bench.call(&link, &["x"]);
    call.env("PATH", bench.path("bin")).env("PTXASW_PTXAS", &link);
    let output = run(call);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for place in ["bin/ptxas.real: there is no", "ptxasw itself", "set PTXASW_PTXAS"] {
        assert!(said.contains(place), "{place}: {said}");
    }
    let beside = Path::new(PTXASW).with_file_name("ptxas.real");
    assert!(said.contains(beside.to_str().unwrap()), "{said}");
}
