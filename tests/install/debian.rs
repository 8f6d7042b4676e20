//! `scripts/package --deb`: the package conforms to Debian's policy, and can be installed into a bare Debian 12 and
//! removed again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::folder::{Folder, REAL, stderr, stdout};

/// The folders that a package leaves to dpkg: its data, its logs, and its caches.
const DPKG_S: [&str; 3] = ["var/lib/dpkg", "var/log", "var/cache"];

/// A Debian in a folder.
struct Debian {
    folder: PathBuf,
}

impl Debian {
    /// Debian 12 with what the package depends on and nothing else that is not required, if the packages' archive can
    /// be reached.
    fn bare(folder: PathBuf) -> Result<Debian, String> {
        let mut call = Command::new("debootstrap");
        call.args(["--variant=minbase", "--include=libz3-4", "bookworm"]).arg(&folder);
        let output = call.output().map_err(|error| format!("debootstrap: {error}"))?;
        let why = || format!("{}{}", stdout(&output), stderr(&output));
        if output.status.success() { Ok(Debian { folder }) } else { Err(why()) }
    }

    /// Runs a command in it.
    fn run(&self, command: &[&str]) -> Output {
        // A program that looks for itself asks /proc, which is there in a mount namespace of the command's own.
        let within = "mount -t proc proc \"$0/proc\" && exec chroot \"$0\" \"$@\"";
        let mut call = Command::new("unshare");
        call.args(["--mount", "sh", "-c", within]).arg(&self.folder).args(command).env_clear();
        call.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
        call.output().unwrap()
    }

    /// Runs a command in it that has to succeed; returns its output.
    fn good(&self, command: &[&str]) -> String {
        let output = self.run(command);
        assert!(output.status.success(), "{command:?}: {output:?}");
        stdout(&output)
    }

    /// Every file with its kind, mode, size and where it leads, apart from dpkg's own.
    fn files(&self) -> BTreeSet<String> {
        let mut call = Command::new("find");
        let output = call.arg(&self.folder).args(["-xdev", "-printf", "%P %y %m %s %l\n"]).output();
        let listed = stdout(&output.unwrap());
        let own = |line: &&str| !DPKG_S.iter().any(|folder| line.starts_with(folder));
        // A folder's size says what was in it once.
        let files = listed.lines().filter(own).filter(|line| !line.contains(" d "));
        files.map(str::to_owned).collect()
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| stdout(&output).trim() == "0")
}

#[test]
#[ignore = "cargo-deb has to be compiled and a Debian to be fetched; dpkg and chroot are root's"]
fn a_debian_package_comes_and_goes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Folder::empty();
    let mut script = Command::new(root.join("scripts/package"));
    script.args(["--deb", "--profile", "dev", "--output"]).arg(folder.path("made"));
    let output = script.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let package = PathBuf::from(stdout(&output).trim());
    let name = package.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(&format!("ptxasw_{}-1_", env!("CARGO_PKG_VERSION"))), "{name}");
    assert!(package.is_file() && name.ends_with(".deb"), "{package:?}");

    match Command::new("lintian").args(["--fail-on", "error"]).arg(&package).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => eprintln!("lintian did not look at it: {error}"),
    }
    if !is_root() {
        eprintln!("not installed, since only root may");
        return;
    }
    let debian = match Debian::bare(folder.path("debian")) {
        Ok(debian) => debian,
        Err(why) => {
            eprintln!("not installed, since there is no Debian to install it into: {why}");
            return;
        }
    };
    let before = debian.files();
    fs::copy(&package, debian.folder.join("var/cache").join(name)).unwrap();
    debian.good(&["dpkg", "--install", &format!("/var/cache/{name}")]);
    serves(&debian, root);

    // An update replaces the installed version.
    debian.good(&["dpkg", "--install", &format!("/var/cache/{name}")]);
    debian.good(&["dpkg", "--purge", "ptxasw"]);
    let after = debian.files();
    let left: Vec<_> = after.difference(&before).collect();
    let lost: Vec<_> = before.difference(&after).collect();
    assert!(left.is_empty() && lost.is_empty(), "left {left:?}, lost {lost:?}");
}

/// The installed program and what came with it do their work.
fn serves(debian: &Debian, root: &Path) {
    let said = debian.good(&["ptxasw", "--version"]);
    assert!(said.contains(env!("CARGO_PKG_VERSION")) && said.contains("\nz3 "), "{said}");
    for file in [
        "usr/share/man/man1/ptxasw.1.gz",
        "usr/share/man/man1/ptxasw-rewrite.1.gz",
        "usr/share/bash-completion/completions/ptxasw",
        "usr/share/zsh/vendor-completions/_ptxasw",
        "usr/share/fish/vendor_completions.d/ptxasw.fish",
        "usr/share/doc/ptxasw/copyright",
    ] {
        assert!(debian.folder.join(file).is_file(), "{file}");
    }
    let notices = fs::read_to_string(debian.folder.join("usr/share/doc/ptxasw/copyright")).unwrap();
    assert!(notices.contains("Permission is hereby granted, free of charge"), "{notices}");

    let kernel = debian.folder.join("var/cache/kernel.ptx");
    fs::copy(root.join("ptx-samples/jacobi/jacobi.sm_80.ptx"), &kernel).unwrap();
    let written = debian.good(&["ptxasw", "candidates", "/var/cache/kernel.ptx"]);
    assert!(written.contains("of 9 global loads covered"), "{written}");

    // In front of a toolkit's ptxas: the link is to what dpkg has brought.
    let toolkit = debian.folder.join("var/cache/toolkit");
    fs::create_dir_all(toolkit.join("bin")).unwrap();
    let ptxas = toolkit.join("bin/ptxas");
    fs::write(&ptxas, REAL).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&ptxas, mode).unwrap();
    debian.good(&["ptxasw", "install", "/var/cache/toolkit"]);
    let said = debian.good(&["/var/cache/toolkit/bin/ptxas", "--version"]);
    assert!(said.contains("release 99.1"), "{said}");
    debian.good(&["ptxasw", "uninstall", "/var/cache/toolkit"]);
    assert_eq!(fs::read_to_string(&ptxas).unwrap(), REAL);
}
