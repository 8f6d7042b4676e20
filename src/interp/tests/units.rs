//! The example of this crate. `cargo test` in the root runs both as well.

use ptxasw_ptx::unit;

#[path = "../examples/vecadd.rs"]
#[allow(dead_code, reason = "`main` prints")]
mod example;

#[test]
fn example_prints_what_its_head_shows() {
    assert_eq!(
        example::text().expect("it runs"),
        unit::shown(include_str!("../examples/vecadd.rs"))
    );
}
