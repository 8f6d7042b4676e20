//! In front of `nvptx-none-as`, GCC's assembler: its input is rewritten, comments survive, and all its options are
//! obeyed.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::folder::{Folder, real_ptxas, required, stderr, stdout};

/// Stands for `nvptx-none-as`: notes its words, writes its input out, and refuses shuffles where there
/// is a file `tmp/refuse`.
const FAKE: &str = "#!/bin/sh
case $1 in --version) echo 'nvptx-none-as (nvptx-tools) 1.0'; exit ;; esac
printf '%s\\n' \"$@\" > \"$(dirname \"$0\")/../tmp/words\"
output=/dev/stdout input=/dev/stdin
while [ $# -gt 0 ]; do
    case $1 in
        -o) output=$2; shift ;;
        -m) shift ;;
        -*) ;;
        *) input=$1 ;;
    esac
    shift
done
cat \"$input\" > \"$output\"
[ -e \"$(dirname \"$0\")/../tmp/refuse\" ] || exit 0
! grep -q shfl.sync \"$output\" || { echo 'ptxas x.o, line 40; error' >&2; exit 1; }
";

/// `b[i] = a[i] + a[i + 1]`, with GCC's comments and generic addresses.
const SUM: &str = include_str!("sum.s");

/// The comments that GCC's assembler and linker go by.
fn markers(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with("// BEGIN") || line.starts_with("// END")).collect()
}

/// A folder with an installed assembler, called directly and, as GCC does, through a link.
fn installed(link: bool) -> Folder {
    let folder = Folder::empty();
    folder.script("bin/nvptx-none-as", FAKE);
    fs::write(folder.path("x.s"), SUM).unwrap();
    std::os::unix::fs::symlink("bin/nvptx-none-as", folder.path("as")).unwrap();
    let words = ["install", "--as", "nvptx-none-as", "."];
    folder.ptxasw(if link { &["install", "--link", "--as", "nvptx-none-as", "."] } else { &words });
    folder
}

#[test]
fn the_input_is_found_among_its_arguments() {
    for (link, name) in [(false, "bin/nvptx-none-as"), (false, "as"), (true, "as")] {
        let folder = installed(link);
        for words in ["-m sm_80 -o x.o x.s", "x.s -o x.o -v --no-verify", "-msm_80 -o x.o -- x.s"] {
            let words: Vec<&str> = words.split(' ').collect();
            let output = folder.call(folder.path(name)).args(&words).output().unwrap();
            assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
            let made = fs::read_to_string(folder.path("x.o")).unwrap();
            assert!(made.contains("shfl.sync"), "{name} {words:?}: {made}");
            assert_eq!(markers(&made), markers(SUM));
            let noted = fs::read_to_string(folder.path("tmp/words")).unwrap();
            let passed: Vec<&str> = noted
                .lines()
                .map(|word| if word.ends_with(".ptx") { "x.s" } else { word })
                .collect();
            assert_eq!(passed, words);
            fs::remove_file(folder.path("x.o")).unwrap();
        }
        assert_eq!(fs::read_to_string(folder.path("x.s")).unwrap(), SUM, "never written to");
    }
}

#[test]
fn standard_input_and_output() {
    let folder = installed(false);
    let mut call = folder.call(folder.path("as"));
    let call = call.arg("--no-verify").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = call.spawn().unwrap();
    child.stdin.take().unwrap().write_all(SUM.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(stdout(&output).contains("shfl.sync"), "{output:?}");
    assert_eq!(markers(&stdout(&output)), markers(SUM));
}

#[test]
fn what_is_refused_is_passed_on_as_it_was() {
    let folder = installed(false);
    fs::write(folder.path("tmp/refuse"), "").unwrap();
    let output = folder.call(folder.path("as")).args(["-o", "x.o", "x.s"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(stderr(&output).lines().count(), 1, "{output:?}");
    assert!(stderr(&output).contains("the original is assembled"), "{output:?}");
    assert!(!fs::read_to_string(folder.path("x.o")).unwrap().contains("shfl"));
}

#[test]
fn without_the_real_one_the_message_says_so() {
    let folder = installed(false);
    fs::remove_file(folder.path("bin/nvptx-none-as.real")).unwrap();
    // ptxas cannot replace it.
    for ptxas in ["", "/bin/true"] {
        let mut call = folder.call(folder.path("as"));
        call.env("PATH", "/no").env("PTXASW_PTXAS", ptxas);
        let output = call.arg("x.s").output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("cannot find the real nvptx-none-as"), "{output:?}");
    }
}

#[test]
fn the_real_one_accepts_what_it_is_given() {
    let Some(ptxas) = real_ptxas() else { return };
    let Ok(assembler) = which::which("nvptx-none-as") else {
        assert!(!required(), "nvptx-none-as is missing; run scripts/setup");
        return;
    };
    let folder = Folder::empty();
    folder.program("bin/as", assembler);
    fs::write(folder.path("x.s"), SUM).unwrap();
    folder.ptxasw(&["install", "--as", "as", "."]);
    let search = format!("{}:/usr/bin:/bin", ptxas.parent().unwrap().display());
    let call = |program: &str, arguments: &[&str]| {
        let mut call = folder.call(folder.path(program));
        call.env("PATH", &search).args(arguments).output().unwrap()
    };
    // Its own check calls ptxas, so this is a rewrite that ptxas accepts.
    let output = call("bin/as", &["-m", "sm_80", "--verify", "-o", "x.o", "x.s"]);
    assert!(output.status.success() && stderr(&output).is_empty(), "{output:?}");
    let made = fs::read_to_string(folder.path("x.o")).unwrap();
    assert!(made.contains("shfl.sync"), "{made}");
    assert_eq!(markers(&made), markers(SUM));
    let plain = call("bin/as.real", &["-m", "sm_80", "x.s"]);
    assert!(plain.status.success(), "{plain:?}");
    assert_eq!(markers(&stdout(&plain)), markers(SUM));
    // An error is reported as if we were not there.
    fs::write(folder.path("bad.s"), SUM.replace("add.f32\t%r28", "add.f32\t%r29")).unwrap();
    let arguments = ["-m", "sm_80", "-o", "bad.o", "bad.s"];
    let (ours, theirs) = (call("bin/as", &arguments), call("bin/as.real", &arguments));
    assert_eq!(ours.status, theirs.status);
    assert_eq!(stderr(&ours), stderr(&theirs));
    assert!(!theirs.status.success());
}
