//! What the tests share: a folder of their own, the programs in it, and calls of them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The executable under test.
pub const PTXASW: &str = env!("CARGO_BIN_EXE_ptxasw");

/// A folder with a fake ptxas in `fake/`, an empty `tmp/` for temporary files, and `work/`, where
/// calls run.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// A fresh one.
    pub fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        for name in ["fake", "tmp", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let bench = Bench { folder };
        bench.link(Path::new(FAKE), "fake/ptxas");
        bench
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes a link to `target`, and the folders that lead to it.
    pub fn link(&self, target: &Path, name: &str) -> PathBuf {
        let link = self.path(name);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        link
    }

    /// Writes an input to `work/`: one kernel, with these lines in the middle of its body, which
    /// begin at line 6.
    pub fn input(&self, name: &str, lines: &[&str]) {
        std::fs::write(self.path("work").join(name), ptx(lines)).unwrap();
    }

    /// A call of `program` in `work/`, in an environment that holds only the necessary variables.
    pub fn call(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = command(program);
        command
            .args(arguments)
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TMPDIR", self.path("tmp"))
            .stdin(Stdio::null());
        command
    }

    /// A call of the stand-in around the fake ptxas, which is called for one text only.
    pub fn stand_in(&self, arguments: &[&str]) -> Command {
        let mut command = self.checked(arguments);
        command.env("PTXASW_CHECK", "off");
        command
    }

    /// A call of the stand-in around the fake ptxas, which is called for the original besides.
    pub fn checked(&self, arguments: &[&str]) -> Command {
        self.stand_in_around(&self.path("fake/ptxas"), arguments)
    }

    /// A call of the stand-in around some ptxas.
    pub fn stand_in_around(&self, ptxas: &Path, arguments: &[&str]) -> Command {
        let mut command = self.call(&std::env::current_exe().unwrap(), &["stand-in"]);
        command.args(arguments).env("PTXASW_PTXAS", ptxas);
        command
    }

    /// What the fake ptxas noted under that name, if it did.
    pub fn noted(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path("fake").join(name)).ok()
    }

    /// The words of the fake ptxas's call of that number.
    pub fn words(&self, call: u32) -> Vec<String> {
        let words = self.noted(&format!("call.{call}")).unwrap_or_default();
        words.lines().map(str::to_owned).collect()
    }

    /// How often the fake ptxas was called.
    pub fn calls(&self) -> u32 {
        (1..).find(|number| self.noted(&format!("call.{number}")).is_none()).unwrap() - 1
    }

    /// The names in a folder, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        names(&self.path(folder))
    }
}

/// The text of an input with these lines in the body, from line 6.
pub fn ptx(lines: &[&str]) -> String {
    let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n{body}\
         .reg .b64 %rd<4>;\n.reg .f32 %f<4>;\nld.param.u64 %rd1, [p];\n\
         cvta.to.global.u64 %rd2, %rd1;\nld.global.f32 %f1, [%rd2];\n\
         st.global.f32 [%rd2+4], %f1;\nret;\n}}\n"
    )
}

/// A process to be started.
#[expect(clippy::disallowed_methods, reason = "these tests are about processes")]
pub fn command(program: &Path) -> Command {
    Command::new(program)
}

/// The names in a folder, sorted.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs a call to its end.
pub fn run(mut command: Command) -> Output {
    command.output().unwrap()
}

/// Runs a call to its end with this standard input.
pub fn run_with(mut command: Command, stdin: &str) -> Output {
    use std::io::{ErrorKind, Write};
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The pipe closes at the end of this statement; most calls end without reading it.
    let written = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    if let Err(error) = written {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
    child.wait_with_output().unwrap()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The fake ptxas.
pub const FAKE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrapper/fake-ptxas");

/// The real ptxas: that of `PTXASW_PTXAS`, of `.toolchain/`, or of `PATH`. Tests that need it say so
/// and do nothing where there is none, unless `PTXASW_REQUIRE_PTXAS` is set, as `scripts/test` does.
#[expect(clippy::disallowed_methods, reason = "tests are told by the environment where ptxas is")]
pub fn real_ptxas() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain/cuda/bin/ptxas");
    let found = std::env::var_os("PTXASW_PTXAS")
        .map(PathBuf::from)
        .or_else(|| installed.exists().then_some(installed))
        .or_else(|| which::which(OsStr::new("ptxas")).ok());
    assert!(
        found.is_some() || std::env::var_os("PTXASW_REQUIRE_PTXAS").is_none(),
        "there is no real ptxas; run scripts/setup"
    );
    if found.is_none() {
        eprintln!("skipped: there is no real ptxas; run scripts/setup");
    }
    found
}

/// Whether a real ptxas is of CUDA `major` or newer. A test about something that older ones do not have says
/// so and leaves it out.
#[expect(clippy::disallowed_methods, reason = "the assembler is asked for its release")]
pub fn is_of_release(ptxas: &Path, major: u32) -> bool {
    let mut question = Command::new(ptxas);
    question.arg("--version");
    let answer = run(question);
    let text = stdout(&answer);
    let release = text.split("release ").nth(1).and_then(|rest| rest.split('.').next());
    let own: u32 = release.and_then(|number| number.parse().ok()).expect("a release");
    if own < major {
        eprintln!("left out: the real ptxas is of CUDA {own}, this is about {major} and newer");
    }
    own >= major
}
