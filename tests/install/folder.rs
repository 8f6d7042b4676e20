//! Made-up toolkits: a folder with assemblers that are scripts.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ptxasw::install::place::Place;
use tempfile::TempDir;

/// The executable under test.
pub const PTXASW: &str = env!("CARGO_BIN_EXE_ptxasw");

/// A script that answers like NVIDIA's assembler, and else writes "object" to the file behind `-o`.
pub const REAL: &str = "#!/bin/sh
# the real one
case $1 in --version)
    echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'
    echo 'Cuda compilation tools, release 99.1, V99.1.2'
    exit ;;
esac
while [ $# -gt 0 ]; do if [ \"$1\" = -o ]; then echo object > \"$2\"; fi; shift; done
";

/// A name, where it leads if it is a link, its bytes if it is a file, and its mode.
pub type Content = (String, Option<PathBuf>, Option<Vec<u8>>, u32);

/// A folder for one test.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    /// With `bin/ptxas`.
    pub fn new() -> Folder {
        let folder = Folder::empty();
        folder.script("bin/ptxas", REAL);
        folder
    }

    /// With `bin`, which is empty, and `tmp`.
    pub fn empty() -> Folder {
        let folder = Folder { folder: tempfile::tempdir().unwrap() };
        for name in ["bin", "tmp"] {
            fs::create_dir(folder.path(name)).unwrap();
        }
        // Other users run programs in it.
        let everybody = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.folder.path(), everybody).unwrap();
        folder
    }

    /// A path in it; "" is the folder itself.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Puts an executable script there.
    pub fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        // By a process of its own: a file that this one holds open for writing, and with it each
        // child that another test starts at that moment, cannot be executed.
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "rm -f \"$0\" && cat > \"$0\" && chmod 755 \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path
    }

    /// Puts an executable script there that only the program itself runs, which is patient.
    pub fn quick_script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Puts a copy of a program there, likewise.
    pub fn program(&self, name: &str, from: impl AsRef<Path>) -> PathBuf {
        let path = self.path(name);
        let status = Command::new("cp").arg("-f").arg(from.as_ref()).arg(&path).status().unwrap();
        assert!(status.success());
        path
    }

    /// The place of `bin/ptxas`.
    pub fn place(&self) -> Place {
        Place { folder: self.path("bin"), name: "ptxas".into() }
    }

    /// The names in `bin`, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.path("bin"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Each name in `bin` with its link, contents and mode.
    pub fn contents(&self) -> Vec<Content> {
        let what = |name: String| {
            let path = self.path("bin").join(&name);
            let mode = path.symlink_metadata().unwrap().permissions().mode();
            (name, fs::read_link(&path).ok(), fs::read(&path).ok(), mode)
        };
        self.names().into_iter().map(what).collect()
    }

    /// A call of a program, in an environment that holds only the necessary variables.
    pub fn call(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            // The tests look for a shuffle, whether it pays or not.
            .env("PTXASW_STRATEGY", "paper")
            .env("TMPDIR", self.path("tmp"));
        command
    }

    /// A call of ptxasw that must succeed; returns its output.
    pub fn ptxasw(&self, arguments: &[&str]) -> String {
        let output = self.call(PTXASW).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        assert!(output.stderr.is_empty(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A call of ptxasw that must be refused and change nothing in `bin`; its message.
    pub fn refused(&self, arguments: &[&str]) -> String {
        let before = self.contents();
        let output = self.call(PTXASW).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        assert!(self.contents() == before, "{arguments:?}: {:?}", self.names());
        stderr(&output)
    }
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The real ptxas: that of `PTXASW_PTXAS`, of `.toolchain/`, or of `PATH`. Tests that need it do
/// nothing where there is none, unless `PTXASW_REQUIRE_PTXAS` is set, as `scripts/test` does.
pub fn real_ptxas() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join(".toolchain/cuda/bin/ptxas");
    let found = std::env::var_os("PTXASW_PTXAS")
        .map(PathBuf::from)
        .or_else(|| installed.exists().then_some(installed))
        .or_else(|| which::which("ptxas").ok());
    assert!(found.is_some() || !required(), "there is no real ptxas; run scripts/setup");
    found
}

/// Whether tests may not leave something out.
pub fn required() -> bool {
    std::env::var_os("PTXASW_REQUIRE_PTXAS").is_some()
}
