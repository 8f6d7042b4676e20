//! Decisions of earlier calls: equal texts are not assembled twice, measured and proved again.
//!
//! In: a call and its rewritten texts. Out: the kernels whose original an earlier call used, and why. An entry is a file that
//! is named by the SHA-256 of everything that decides: both texts of each input, the arguments but for the names of files, the
//! gate's numbers, and size and time of this program and of ptxas. It is written under another name and renamed, so
//! calls at the same time may share a folder; one that cannot be read counts as none.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::pipeline::Rewritten;
use crate::ptxas::examine::Examined;
use crate::ptxas::rewritten::Call;
use crate::report::Why;

/// A kernel whose original is used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Left {
    pub kernel: String,
    pub why: Why,
}

/// The place of a decision.
#[derive(Debug)]
pub(super) struct Entry(PathBuf);

impl Entry {
    /// The entry for a call; `policy`: the numbers that decide. None where something that decides is not known.
    pub(super) fn of(
        folder: &Path,
        call: &Call<'_>,
        examined: &[Examined<Rewritten>],
        policy: &str,
    ) -> Option<Entry> {
        let mut hash = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        put(env!("CARGO_PKG_VERSION").as_bytes());
        put(policy.as_bytes());
        for program in [std::env::current_exe().ok()?, call.tool.path.clone()] {
            put(program.as_os_str().as_encoded_bytes());
            let about = fs::metadata(program).ok()?;
            let modified = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            put(&about.len().to_le_bytes());
            put(&modified.as_nanos().to_le_bytes());
        }
        let names = call.line.inputs.iter().map(|input| (input, OsStr::new("")));
        let words = call.line.exchange_output(call.line.with_values(names), OsStr::new(""))?;
        words.iter().for_each(|word| put(word.as_encoded_bytes()));
        for (source, rewritten) in examined.iter().filter_map(|one| one.outcome.as_ref()) {
            put(source.text().as_bytes());
            let Ok(rewritten) = rewritten else { continue };
            put(rewritten.text.as_bytes());
            let kernels = rewritten.report.kernels.iter();
            kernels.for_each(|kernel| put(format!("{:?}", kernel.strategy).as_bytes()));
        }
        let mut name = String::new();
        hash.finalize().iter().for_each(|byte| _ = write!(name, "{byte:02x}"));
        Some(Entry(folder.join(name).with_extension("json")))
    }

    /// The decision, if there is one.
    pub(super) fn read(&self) -> Option<Vec<Left>> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Notes a decision.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub(super) fn write(&self, left: &[Left]) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(left)?)?;
        file.persist(&self.0)?;
        Ok(())
    }
}
