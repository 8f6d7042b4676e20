//! Writes every kind of chain into a folder: `write FOLDER INSTRUCTIONS`. Compiled by `scripts/bench chains`
//! with rustc alone; no test.

#![expect(clippy::disallowed_methods, reason = "a program of its own")]

#[path = "mod.rs"]
mod chains;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_default();
    let count = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(99_900);
    for kind in chains::kinds() {
        let path = std::path::Path::new(&folder).join(format!("{}.ptx", kind.name));
        std::fs::write(path, (kind.text)(count))?;
    }
    Ok(())
}
