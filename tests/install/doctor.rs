//! `ptxasw doctor`: finds each mistake, and none in a good installation.

use std::fs;
use std::process::Output;

use crate::folder::{Folder, PTXASW, stdout};

fn doctor(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut call = folder.call(PTXASW);
    call.arg("doctor").args(arguments).envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn a_good_installation() {
    let folder = Folder::new();
    folder.ptxasw(&["install", "."]);
    let output = doctor(&folder, &["."], &[]);
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    for line in [
        "bin/ptxas is ptxasw\n",
        "temporary files can be written",
        "z3 4.",
        "bin/ptxas.real (release 99.1, V99.1.2), found as ptxas.real beside it",
        "its load was replaced by a shuffle",
        "everything works",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("wrong"), "{text}");
    assert_eq!(fs::read_dir(folder.path("tmp")).unwrap().count(), 0, "nothing is left behind");
}

/// A change to a good installation, variables, and the finding.
type Case = (fn(&Folder), &'static [(&'static str, &'static str)], &'static str);

const WRONG: &[Case] = &[
    (|f| drop(f.ptxasw(&["uninstall", "."])), &[], "bin/ptxas is not ptxasw"),
    (|f| fs::remove_file(f.path("bin/ptxas")).unwrap(), &[], "bin/ptxas is missing"),
    (|f| fs::remove_file(f.path("bin/ptxas.real")).unwrap(), &[], "cannot find the real ptxas"),
    (|f| drop(f.program("bin/ptxas.real", PTXASW)), &[], "bin/ptxas.real: this is ptxasw as well"),
    (
        |f| drop(f.script("bin/ptxas.real", "#!/bin/sh\nexit 3\n")),
        &[],
        "found as ptxas.real beside it: `--version` fails",
    ),
    (
        |f| {
            let text = "#!/bin/sh\n[ \"$1\" = --version ] && exec /bin/echo 'Ptx optimizing assembler'\n\
                        echo cannot >&2; exit 1\n";
            drop(f.script("bin/ptxas.real", text));
        },
        &[],
        "the real ptxas refuses a small kernel: cannot",
    ),
    (
        // The program taken for the real one calls back.
        |f| {
            let text = "#!/bin/sh\n[ \"$1\" = --version ] && exec /bin/echo 'Ptx optimizing assembler'\n\
                        case $2 in *.ptx) [ \"$PTXASW_DEPTH\" ] || exit 0 ;; esac\n\
                        exec \"$(dirname \"$0\")/ptxas\" \"$@\"\n";
            drop(f.script("bin/ptxas.real", text));
        },
        &[],
        "in a circle",
    ),
    (|_| {}, &[("TMPDIR", "/no/such/folder")], "temporary files cannot be written"),
    (|_| {}, &[("PTXASW_PTXAS", "/no/such/ptxas")], "PTXASW_PTXAS does not name a real ptxas"),
    (|_| {}, &[("PTXASW_REPROT", "x")], "did you mean PTXASW_REPORT?"),
    (|_| {}, &[("PTXASW_MAX_DELTA", "99")], "PTXASW_MAX_DELTA=99"),
    (|_| {}, &[("PTXASW_PROFILE", "/no/such.json")], "PTXASW_PROFILE: /no/such.json: No such file"),
    (|_| {}, &[("PTXASW_DEPTH", "1")], "PTXASW_DEPTH is set"),
];

#[test]
fn what_is_wrong_is_found() {
    for (change, variables, expected) in WRONG {
        let folder = Folder::new();
        folder.ptxasw(&["install", "."]);
        change(&folder);
        let output = doctor(&folder, &["."], variables);
        let text = stdout(&output);
        assert_eq!(output.status.code(), Some(2), "{expected}: {text}");
        let text = format!("\n{text}");
        let mut findings = text.split("\nwrong ").skip(1);
        let finding = findings.find(|finding| finding.contains(expected));
        assert!(finding.is_some_and(|f| f.contains("\n       help: ")), "{expected}: {text}");
    }
}

#[test]
fn what_is_only_worth_knowing_is_no_fault() {
    let folder = Folder::new();
    folder.script("bin/nvcc", "#!/bin/sh\n");
    let path = format!("{}:/usr/bin:/bin", folder.path("bin").display());
    let plain = doctor(&folder, &[], &[("PATH", &path)]);
    let text = stdout(&plain);
    assert!(plain.status.success(), "{text}");
    assert!(text.contains("note   ") && text.contains("bin/nvcc runs the plain ptxas"), "{text}");
    assert!(text.contains("was replaced by a shuffle"), "{text}");

    folder.ptxasw(&["install", "."]);
    let text = stdout(&doctor(&folder, &[], &[("PATH", &path), ("PTXASW", "off")]));
    assert!(text.contains("bin/nvcc runs the ptxasw beside it"), "{text}");
    assert!(text.contains("PTXASW=off"), "{text}");
    let text = stdout(&doctor(&folder, &[], &[("PATH", &path), ("PTXASW_MODE", "original")]));
    assert!(text.contains("the options set replace nothing"), "{text}");

    // Without any ptxas, everything else is still checked.
    let none = doctor(&Folder::empty(), &[], &[("PATH", "/no")]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stdout(&none).contains("cannot find the real ptxas"), "{none:?}");
}
