//! `--version`, manual pages and completions.

use std::fs;
use std::process::Command;

use crate::build::revision;
use crate::folder::{Folder, PTXASW, stdout};

#[test]
fn the_version_names_what_it_works_with() {
    let folder = Folder::new();
    let version = |variables: &[(&str, &str)]| {
        let mut call = folder.call(PTXASW);
        let output = call.arg("--version").envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let ptxas = folder.path("bin/ptxas");
    let text = version(&[("PTXASW_PTXAS", ptxas.to_str().unwrap())]);
    let lines: Vec<&str> = text.lines().collect();
    let [first, z3, real] = lines.as_slice() else { panic!("{text}") };
    assert!(first.starts_with(concat!("ptxasw ", env!("CARGO_PKG_VERSION"), " (")), "{text}");
    assert!(z3.strip_prefix("z3 ").is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit())));
    assert_eq!(*real, format!("ptxas: {} (release 99.1, V99.1.2)", ptxas.display()));
    assert!(version(&[("PATH", "/no")]).contains("ptxas: none found"));
}

#[test]
fn the_revision_is_gits() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(folder.path()).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
        let output = command.args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        stdout(&output).trim().to_owned()
    };
    assert_eq!(revision(folder.path()), None, "a tar file");
    git(&["init", "--quiet"]);
    fs::write(folder.path().join("a"), "1").unwrap();
    git(&["add", "a"]);
    git(&["commit", "--quiet", "--message=a"]);
    let head = git(&["rev-parse", "HEAD"]);
    assert_eq!(revision(folder.path()).as_deref(), Some(&head[..12]));
    fs::write(folder.path().join("a"), "2").unwrap();
    assert_eq!(revision(folder.path()), Some(format!("{}-modified", &head[..12])));
    fs::create_dir(folder.path().join("unpacked")).unwrap();
    assert_eq!(revision(&folder.path().join("unpacked")), None, "inside somebody else's");
}

#[test]
fn pages_and_completions_cover_every_subcommand() {
    let folder = Folder::empty();
    let help = folder.ptxasw(&["help"]);
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|w| !w.is_empty()))
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"install") && commands.len() > 10, "{commands:?}");
    folder.ptxasw(&["man", "man1"]);
    for name in &commands {
        let page = fs::read_to_string(folder.path(&format!("man1/ptxasw-{name}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(folder.path("man1/ptxasw.1").exists());
    for shell in ["bash", "zsh", "fish"] {
        let text = folder.ptxasw(&["completions", shell]);
        for name in &commands {
            assert!(text.contains(name), "{shell}: {name}");
        }
    }
}
