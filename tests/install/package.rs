//! `scripts/package`: the archive can be unpacked anywhere and does not need libz3.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::{Folder, stdout};
use crate::library::made;

/// The package, unpacked.
fn unpacked(folder: &Folder) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut script = Command::new(root.join("scripts/package"));
    script.args(["--program", env!("CARGO_BIN_EXE_ptxasw"), "--library"]).arg(made());
    script.arg("--output").arg(folder.path("made"));
    let output = script.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = stdout(&output).trim().to_owned();
    let name = format!("ptxasw-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    assert_eq!(Path::new(&file), folder.path("made").join(format!("{name}.tar.gz")));
    let output = folder.call("tar").args(["-xzf", &file]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    folder.path(&name)
}

/// The libz3 that a program loads, as the loader says.
fn loaded(program: &mut Command) -> String {
    let output = program.arg("--version").env("LD_DEBUG", "files").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let line = said.lines().find(|line| line.contains("calling init: ") && line.contains("libz3"));
    let line = line.unwrap_or_else(|| panic!("libz3 is not loaded: {said}"));
    line.rsplit("calling init: ").next().unwrap().to_owned()
}

#[test]
fn a_package_is_complete() {
    let folder = Folder::new();
    let package = unpacked(&folder);
    let program = package.join("bin/ptxasw");

    // The library that it runs with is the one that came along, whatever else there is.
    let other = folder.path("other");
    fs::create_dir(&other).unwrap();
    let brought: Vec<_> = fs::read_dir(package.join("lib/ptxasw")).unwrap().flatten().collect();
    let [library] = brought.as_slice() else { panic!("{brought:?}") };
    fs::copy(library.path(), other.join(library.file_name())).unwrap();
    for path in ["", other.to_str().unwrap()] {
        let mut call = folder.call(&program);
        let used = loaded(call.env("LD_LIBRARY_PATH", path));
        assert_eq!(fs::canonicalize(&used).unwrap(), library.path(), "{used}");
    }
    let output = folder.call(&program).arg("--version").output().unwrap();
    assert!(stdout(&output).contains("\nz3 "), "{output:?}");

    for page in ["ptxasw.1.gz", "ptxasw-install.1.gz", "ptxasw-rewrite.1.gz"] {
        assert!(package.join("share/man/man1").join(page).exists(), "{page}");
    }
    for file in [
        "share/bash-completion/completions/ptxasw",
        "share/zsh/site-functions/_ptxasw",
        "share/fish/vendor_completions.d/ptxasw.fish",
        "include/ptxasw.h",
        "README.md",
        "LICENSE",
    ] {
        assert!(fs::read_to_string(package.join(file)).unwrap().contains("ptxasw"), "{file}");
    }

    assert!(package.join("lib/libptxasw.so").exists());

    // Installed from there, it is a link: a copy would not have the library beside it.
    let output = folder.call(&program).args(["install", "."]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_link(folder.path("bin/ptxas")).unwrap(), program);
    let output = folder.call(folder.path("bin/ptxas")).arg("--version").output().unwrap();
    assert!(stdout(&output).contains("release 99.1"), "{output:?}");

    // Everything that is in it is named.
    let notices = fs::read_to_string(package.join("NOTICES")).unwrap();
    assert!(notices.contains("z3 (libz3") && notices.contains("Microsoft"), "{notices}");
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap();
    let dependencies =
        lock.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names = dependencies.lines().filter_map(|line| line.split_once(" = "));
    let mut count = 0;
    let is_theirs = |name: &str| {
        !name.starts_with(['#', ' ']) && !name.starts_with("ptxasw-") && name != "linkme"
    };
    for (name, _) in names.filter(|(name, _)| is_theirs(name)) {
        assert!(notices.contains(&format!("\n{name} ")), "{name}");
        count += 1;
    }
    assert!(count > 15, "{dependencies}");
    assert!(notices.matches("Permission is hereby granted, free of charge").count() > 20);
}

/// Runs a program to its end, without variables that are about ptxasw.
fn ran(program: &Path, arguments: &[&str]) -> std::process::Output {
    let mut call = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PTXASW") {
            call.env_remove(name);
        }
    }
    call.args(arguments).output().unwrap()
}

/// The wheel, in an environment of its own with NVIDIA's wheel of ptxas: in front of that, behind an upgrade
/// of it, and gone again.
#[test]
#[ignore = "maturin builds the program anew in the place of the one that the other tests run"]
fn a_wheel_stands_in_for_the_ptxas_of_a_wheel() {
    let folder = Folder::empty();
    let environment = folder.path("environment");
    let made = ran(Path::new("python3"), &["-m", "venv", environment.to_str().unwrap()]);
    assert!(made.status.success(), "{made:?}");
    let pip = environment.join("bin/pip");
    let nvcc = ["install", "--quiet", "--no-deps", "--retries", "1", "nvidia-cuda-nvcc"];
    let got = ran(&pip, &nvcc);
    if !got.status.success() {
        let why = String::from_utf8_lossy(&got.stderr).into_owned();
        eprintln!("skipped, since no package index gives out nvidia-cuda-nvcc: {why}");
        return;
    }
    let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/package"));
    script.args(["--wheel", "--profile", "dev", "--output"]).arg(folder.path("made"));
    let output = script.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let wheel = stdout(&output).trim().to_owned();
    let name = format!("ptxasw-{}-py3-none-manylinux_2_", env!("CARGO_PKG_VERSION"));
    assert!(wheel.contains(&name) && wheel.ends_with(".whl"), "{wheel}");
    let installed = ran(&pip, &["install", "--quiet", "--no-deps", &wheel]);
    assert!(installed.status.success(), "{installed:?}");

    // The library that it runs with is the environment's.
    let program = environment.join("bin/ptxasw");
    let used = loaded(&mut Command::new(&program));
    assert!(used.contains("environment/bin/../lib/ptxasw/"), "{used}");
    assert!(stdout(&ran(&program, &["--version"])).contains("\nz3 "));
    assert!(environment.join("share/man/man1/ptxasw.1.gz").exists());

    module_in(&environment, &program);

    let nvidia = fs::read_dir(environment.join("lib")).unwrap().flatten();
    let nvidia = nvidia.map(|entry| entry.path().join("site-packages/nvidia"));
    let nvidia = nvidia.filter_map(|path| fs::read_dir(path).ok()).flatten().flatten();
    let mut folders = nvidia.map(|entry| entry.path()).filter(|p| p.join("bin/ptxas").exists());
    let toolkit = folders.next().expect("the folder of ptxas");
    let (ptxas, toolkit) = (toolkit.join("bin/ptxas"), toolkit.to_str().unwrap());
    let (real, version) = (fs::read(&ptxas).unwrap(), stdout(&ran(&ptxas, &["--version"])));

    let output = ran(&program, &["install", toolkit]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_link(&ptxas).unwrap(), program);
    assert_eq!(stdout(&ran(&ptxas, &["--version"])), version);
    let output = ran(&program, &["doctor", toolkit]);
    assert!(stdout(&output).contains("its load was replaced by a shuffle"), "{output:?}");
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    // An upgrade puts another ptxas there.
    let again = ["install", "--quiet", "--no-deps", "--force-reinstall", "nvidia-cuda-nvcc"];
    let output = ran(&pip, &again);
    assert!(output.status.success(), "{output:?}");
    let output = ran(&program, &["doctor", toolkit]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stdout(&output).contains("is not ptxasw"), "{output:?}");
    fs::remove_file(ptxas.with_file_name("ptxas.real")).unwrap();
    assert!(ran(&program, &["install", toolkit]).status.success());

    let output = ran(&program, &["uninstall", toolkit]);
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read(&ptxas).unwrap() == real);
    assert!(!ptxas.with_file_name("ptxas.real").exists());

    let got = ran(&pip, &["install", "--quiet", "--no-deps", "--retries", "1", "triton"]);
    if !got.status.success() {
        let why = String::from_utf8_lossy(&got.stderr).into_owned();
        eprintln!("Triton is left out, since no package index gives it out: {why}");
        return;
    }
    behind_triton(&folder, &environment);
}

/// The Python module of the wheel: it calls the wheel's program, its types are declared, and what `lint` writes as SARIF
/// is valid.
fn module_in(environment: &Path, program: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = environment.join("bin/python");
    let needed = ["install", "--quiet", "--retries", "1", "numpy", "jsonschema", "mypy", "pytest"];
    let got = ran(&environment.join("bin/pip"), &needed);
    let found = "import ptxasw; print(ptxasw.program())";
    let found = stdout(&ran(&python, &["-c", found]));
    assert_eq!(fs::canonicalize(found.trim()).unwrap(), fs::canonicalize(program).unwrap());
    let script = |name: &str| root.join("tests/install").join(name).display().to_string();
    let repository = root.display().to_string();
    let output = ran(&python, &[&script("module.py"), &repository]);
    assert!(output.status.success(), "{output:?}");
    if !got.status.success() {
        eprintln!(
            "numpy, jsonschema, mypy and pytest are left out, since no package index gives them out"
        );
        return;
    }
    assert!(stdout(&output).contains("with numpy"), "{output:?}");
    let output = ran(&python, &[&script("sarif.py"), &repository]);
    assert!(output.status.success(), "{output:?}");
    let output = ran(&python, &["-m", "mypy", "--strict", "-p", "ptxasw"]);
    assert!(output.status.success(), "{output:?}");
}

/// In front of all that the environment's packages have brought; Triton compiles through it.
fn behind_triton(folder: &Folder, environment: &Path) {
    let call = |program: &Path, arguments: &[&str]| {
        let mut call = Command::new(program);
        call.current_dir(folder.path("")).env("VIRTUAL_ENV", environment);
        call.env("TRITON_CACHE_DIR", folder.path("cache")).env("HOME", folder.path(""));
        call.env("PTXASW_STRATEGY", "paper").env("PTXASW_REPORT", folder.path("reports"));
        call.env_remove("PTXASW_PTXAS").args(arguments).output().unwrap()
    };
    fs::create_dir(folder.path("reports")).unwrap();
    let program = environment.join("bin/ptxasw");
    let output = call(&program, &["install", "--python", "--yes"]);
    assert!(output.status.success(), "{output:?}");
    let said = stdout(&output);
    assert!(said.contains("/triton/backends/nvidia/bin/ptxas is ptxasw now"), "{said}");
    assert!(said.contains("/nvidia/cu"), "{said}");

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("tests/install/kernel.py");
    let output = call(&environment.join("bin/python"), &[script.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stdout(&output).lines().count(), 2, "{output:?}");
    let reports = fs::read_dir(folder.path("reports")).unwrap().flatten();
    let reports: Vec<String> =
        reports.map(|entry| fs::read_to_string(entry.path()).unwrap()).collect();
    assert_eq!(reports.len(), 2, "{reports:?}");
    for report in &reports {
        assert!(report.contains("\"shuffle\"") && report.contains("\"stencil\""), "{report}");
    }
    // The examples of the page compile through it, too.
    let page = root.join("docs/python.md");
    let output = call(&environment.join("bin/python"), &["-m", "doctest", page.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let (script, repository) = (root.join("tests/install/pages.py"), root.display().to_string());
    let output = call(&environment.join("bin/python"), &[script.to_str().unwrap(), &repository]);
    assert!(output.status.success(), "{output:?}");
    let output = call(&program, &["uninstall", "--python"]);
    assert!(output.status.success(), "{output:?}");
}
