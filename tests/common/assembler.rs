//! The real ptxas, as the last judge of whether a text is PTX.

#![allow(
    clippy::disallowed_methods,
    reason = "processes and the environment are the business of few modules of the program; a test \
              harness is outside of it"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest target that every toolkit in use can assemble for; files for older ones are
/// assembled for this.
const OLDEST_TARGET: u32 = 75;

/// NVIDIA's assembler.
pub struct Assembler {
    /// The executable.
    pub ptxas: PathBuf,
}

impl Assembler {
    /// `$PTXASW_PTXAS`, else a ptxas in `PATH`, else one below `.toolchain/`. `None` only where the
    /// user asked for tests without one.
    ///
    /// # Panics
    /// If there is none: a check that silently does not happen is worth nothing.
    pub fn find() -> Option<Assembler> {
        if std::env::var("PTXASW_TEST_NO_PTXAS").is_ok_and(|v| v == "1") {
            eprintln!("PTXASW_TEST_NO_PTXAS=1: nothing is assembled");
            return None;
        }
        let named = std::env::var_os("PTXASW_PTXAS").map(PathBuf::from);
        let found = named
            .or_else(|| which::which("ptxas").ok())
            .or_else(|| below(&super::root().join(".toolchain"), "bin/ptxas"));
        let Some(ptxas) = found else {
            panic!(
                "no ptxas found. Install NVIDIA's compiler (`pip install nvidia-cuda-nvcc` is \
                 enough) and put it into PATH or .toolchain/, or name it in PTXASW_PTXAS. \
                 PTXASW_TEST_NO_PTXAS=1 runs the tests without."
            );
        };
        Some(Assembler { ptxas })
    }

    /// Assembles a text for the target that it names, into `cubin`.
    ///
    /// # Errors
    /// What ptxas printed, if it failed or had anything to say.
    pub fn assemble(&self, text: &str, cubin: &Path) -> Result<(), String> {
        let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
        let input = folder.path().join("input.ptx");
        std::fs::write(&input, text).map_err(|e| e.to_string())?;
        let output = Command::new(&self.ptxas)
            .arg(format!("-arch={}", architecture(text)?))
            .arg("-o")
            .arg(cubin)
            .arg(&input)
            .output()
            .map_err(|e| format!("{}: {e}", self.ptxas.display()))?;
        let said = [output.stdout, output.stderr].concat();
        if output.status.success() && said.is_empty() {
            return Ok(());
        }
        Err(String::from_utf8_lossy(&said).trim().to_owned())
    }
}

/// `sm_80` of a module that begins `.target sm_80`.
fn architecture(text: &str) -> Result<String, String> {
    let name = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(".target"))
        .and_then(|rest| rest.trim().strip_prefix("sm_"))
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .ok_or("the text has no line `.target sm_NN`")?;
    // Behind the number: `a` or `f`, for what not all later targets have.
    let digits = name.trim_end_matches(|c: char| !c.is_ascii_digit());
    match digits.parse::<u32>().map_err(|error| format!("sm_{name}: {error}"))? {
        number if number < OLDEST_TARGET => Ok(format!("sm_{OLDEST_TARGET}")),
        _ => Ok(format!("sm_{name}")),
    }
}

/// The first path below `folder`, in sorted order, that ends in `tail`.
fn below(folder: &Path, tail: &str) -> Option<PathBuf> {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).ok()?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    entries.sort();
    entries.into_iter().find_map(|path| {
        if path.is_dir() && !path.is_symlink() {
            return below(&path, tail);
        }
        path.ends_with(tail).then_some(path)
    })
}
