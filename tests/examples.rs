//! The examples of the crates print what their heads show.

use ptxasw::unit::shown;

/// The examples, each with its crate as the name of its module, and the test that runs it.
macro_rules! examples {
    ($($package:ident $file:literal,)+) => {$(
        #[path = $file]
        mod $package;
    )+

        #[test]
        fn examples_print_what_their_heads_show() {
            $($package::main().expect("it runs");
            assert_eq!($package::text().expect("it runs"), shown(include_str!($file)), $file);)+
        }
    };
}

examples! {
    ptx "../src/ptx/examples/functions.rs",
    graph "../src/graph/examples/blocks.rs",
    terms "../src/terms/examples/identity.rs",
    interp "../src/interp/examples/vecadd.rs",
    verify "../src/verify/examples/pair.rs",
    analysis "../src/analysis/examples/trace.rs",
    machine "../src/machine/examples/conflicts.rs",
    rewrite "../src/rewrite/examples/stencil.rs",
    synth "../src/synth/examples/structs.rs",
    assembler "../src/assembler/examples/call.rs",
    tools "../src/tools/examples/lint.rs",
    capi "../src/capi/examples/scale.rs",
}
