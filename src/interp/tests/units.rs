//! The tests in the sources of this crate, and its example. `cargo test` in the root runs both as well.

use ptxasw_ptx::unit;

#[path = "../examples/vecadd.rs"]
mod example;

#[test]
fn tests_in_the_sources() {
    unit::run("ptxasw_interp::");
}

#[test]
fn example_prints_what_its_head_shows() {
    example::main().expect("it runs");
    assert_eq!(
        example::text().expect("it runs"),
        unit::shown(include_str!("../examples/vecadd.rs"))
    );
}
