//! Every message of the program beside the input that provokes it, so that somebody can read them in one place.
//!
//! - `tests/messages/*.txt` with calls (`$ ptxasw ...`): the calls are made in a fresh folder, and everything that they print stands below.
//!   `calls` has the form of these files.
//! - `syntax.txt`, `refusals.txt`, `proofs.txt`, `findings.txt`, `remarks.txt`, `help.txt`: collected from the kernels of other tests
//!   and from the program (`collected`).
//! - `unprovoked.txt`: messages in the sources that none of these files shows (`inventory`), nor the sketches of
//!   `tests/synth`, the findings of `tests/lint` and the headers of `openacc-bench/synth`.
//! - `unshowable`: the messages that no test can show, and why.
//!
//! `BLESS=1 cargo test --test main messages::` writes all of them.

mod calls;
mod collected;
mod inventory;

use std::path::PathBuf;

use crate::common::root;

/// The folder of the files.
fn folder() -> PathBuf {
    root().join("tests/messages")
}

/// Compares a file of the folder with what was found, or writes it.
#[expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]
fn hold(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).expect("the file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected == found {
        return;
    }
    let differs = expected.lines().zip(found.lines()).position(|(a, b)| a != b);
    let at = differs.unwrap_or_else(|| expected.lines().count().min(found.lines().count()));
    let (old, new) = (expected.lines().nth(at), found.lines().nth(at));
    panic!(
        "tests/messages/{name}:{}: expected\n{}\nfound\n{}\nIf that is right, `BLESS=1` writes it.",
        at + 1,
        old.unwrap_or("the end"),
        new.unwrap_or("the end")
    );
}
