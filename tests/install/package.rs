//! `scripts/package`: what it makes can be unpacked anywhere and needs no libz3.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::{Folder, stdout};

/// The package, unpacked.
fn unpacked(folder: &Folder) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // The program is there already: this one is only found again, and packed.
    let mut script = Command::new(root.join("scripts/package"));
    script.args(["--profile", "dev", "--output"]).arg(folder.path("made"));
    let output = script.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let file = stdout(&output).trim().to_owned();
    let name = format!("ptxasw-{}-{}-linux", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    assert_eq!(Path::new(&file), folder.path("made").join(format!("{name}.tar.gz")));
    let output = folder.call("tar").args(["-xzf", &file]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    folder.path(&name)
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
        let mut call = folder.call("ldd");
        let found = stdout(&call.env("LD_LIBRARY_PATH", path).arg(&program).output().unwrap());
        let line = found.lines().find(|line| line.contains("libz3")).expect("libz3");
        let used = line.split("=> ").nth(1).and_then(|rest| rest.split(" (").next()).expect(line);
        assert_eq!(fs::canonicalize(used).unwrap(), library.path(), "{line}");
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
        "README.md",
        "LICENSE",
    ] {
        assert!(fs::read_to_string(package.join(file)).unwrap().contains("ptxasw"), "{file}");
    }

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
    let dependencies = lock.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let names = dependencies.lines().filter_map(|line| line.split_once(" = "));
    let mut count = 0;
    for (name, _) in names.filter(|(name, _)| !name.starts_with('#')) {
        assert!(notices.contains(&format!("\n{name} ")), "{name}");
        count += 1;
    }
    assert!(count > 15, "{dependencies}");
    assert!(notices.matches("Permission is hereby granted, free of charge").count() > 20);
}
