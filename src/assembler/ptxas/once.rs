//! One text, assembled by the real ptxas outside of a build.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::LazyLock;

use regex::Regex;

use super::invoke::{Run, Stream, Tool};
use super::signals::Watch;

/// The results of ptxas for a text.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The cubin.
    pub cubin: Vec<u8>,
    /// All that ptxas printed.
    pub said: String,
}

/// Assembles a text. `watch` takes care of the temporary files when the program is interrupted.
///
/// # Errors
/// ptxas cannot be run, or refuses the text; the error then holds ptxas's own message.
pub fn assemble(
    tool: &Tool,
    watch: &Watch,
    options: &[OsString],
    text: &str,
) -> Result<Assembled, String> {
    let started = |error: std::io::Error| format!("cannot run {}: {error}", tool.path.display());
    let folder = watch.folder().map_err(started)?;
    let input = folder.write("variant.ptx", text.as_bytes()).map_err(started)?;
    let output = input.with_file_name("variant.cubin");
    let mut words = options.to_vec();
    words.extend(["-o".into(), output.clone().into_os_string(), input.into_os_string()]);
    let run = Run::new(&words, Stream::Capture, Stream::Capture);
    let finished = tool.run(run, watch).map_err(started)?;
    let said = String::from_utf8_lossy(&[finished.stdout, finished.stderr].concat()).into_owned();
    if !finished.status.success() {
        return Err(format!("ptxas refuses it:\n{}", said.trim_end()));
    }
    Ok(Assembled { cubin: std::fs::read(&output).map_err(started)?, said })
}

/// The bytes of registers that each function spills, as `ptxas -v` prints them: stores, loads.
pub fn spills(said: &str) -> BTreeMap<String, (u32, u32)> {
    static FUNCTION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"Function properties for ([^ ]+)").ok());
    static SPILLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads").ok()
    });
    let (Some(function), Some(spills)) = (FUNCTION.as_ref(), SPILLS.as_ref()) else {
        return BTreeMap::new();
    };
    let (mut name, mut found) = (None, BTreeMap::new());
    for line in said.lines() {
        if let Some(of) = function.captures(line) {
            name = Some(of[1].to_owned());
        } else if let Some(bytes) = spills.captures(line)
            && let (Some(name), Ok(stores), Ok(loads)) =
                (name.take(), bytes[1].parse(), bytes[2].parse())
        {
            found.insert(name, (stores, loads));
        }
    }
    found
}
