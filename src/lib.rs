//! `ptxasw` stands in for NVIDIA's PTX assembler `ptxas`: it makes the memory accesses of kernels cheaper (vectors and
//! batches of loads and stores, sums in registers, layouts without bank conflicts, shuffles for trees in shared memory,
//! reuse of loaded values) and runs the real ptxas on the result.
//!
//! # Bird's-eye view
//!
//! ```text
//! SourceFile --ptx::parse--> Module --cfg::build--> Flow --emulate::run--> KernelTrace
//!   --reuse, patterns, select::decide--> Groups --patterns::plan--> KernelPlan --rewrite::drafts--> Edits --> text
//! ```
//!
//! [`pipeline::rewrite`] is this line as one function; every subcommand is the same line stopped
//! earlier or joined later.
//!
//! # Examples
//!
//! Parse a file:
//!
//! ```
//! use ptxasw::{ptx, source::SourceFile};
//!
//! let text = std::fs::read_to_string("ptx-samples/vecadd/vecadd.sm_80.ptx")?;
//! let source = SourceFile::new("vecadd.ptx", text);
//! let module = ptx::parse(&source, ptx::Depth::All)?;
//! let names: Vec<&str> = module.functions().map(|function| function.name.text).collect();
//! assert_eq!((module.version, &names[..]), (Some((9, 5)), &["vecadd"][..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Trace the addresses of a kernel as terms:
//!
//! ```
//! use ptxasw::{cfg, emulate, ptx, source::SourceFile};
//!
//! # let text = std::fs::read_to_string("ptx-samples/vecadd/vecadd.sm_80.ptx")?;
//! # let source = SourceFile::new("vecadd.ptx", text);
//! let module = ptx::parse(&source, ptx::Depth::All)?;
//! let kernel = module.functions().next().ok_or("no function")?;
//! let flow = cfg::build(&source, kernel)?;
//! let trace = emulate::run(kernel, &flow, &emulate::Limits::default()).map_err(|large| large.0)?;
//! let printer = emulate::Printer::new(&trace.arena, &trace.symbols, &flow.registers);
//! let stores = trace.accesses.iter().filter(|access| access.effect == emulate::Effect::Store);
//! let addresses: Vec<String> =
//!     stores.filter_map(|access| access.address).map(|address| printer.print(address)).collect();
//! assert_eq!(addresses, ["vecadd_param_2 + 4*s32(i)"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Run a kernel on the CPU:
//!
//! ```
//! use ptxasw::{interp, launch::Launch, ptx, source::SourceFile};
//!
//! # let text = std::fs::read_to_string("ptx-samples/vecadd/vecadd.sm_80.ptx")?;
//! # let source = SourceFile::new("vecadd.ptx", text);
//! let module = ptx::parse(&source, ptx::Depth::All)?;
//! let launch = Launch::from_json(
//!     r#"{"grid": [1], "block": [32], "args": [{"buffer": "a"}, {"buffer": "b"}, {"buffer": "c"}, {"type": "u32", "value": 2}],
//!         "buffers": {"a": {"type": "f32", "data": [1, 2]}, "b": {"type": "f32", "data": [10, 20]},
//!                     "c": {"type": "f32", "len": 2, "fill": 0}}}"#,
//! )?;
//! let outcome = interp::run(&module, &launch)?;
//! let sums: Vec<f32> = outcome.buffers["c"].elements().map(|bits| f32::from_bits(bits as u32)).collect();
//! assert_eq!(sums, [11.0, 22.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rewrite a file, and verify that the result is equivalent to the original:
//!
//! ```
//! use ptxasw::{pipeline, source::SourceFile, verify};
//!
//! let text = std::fs::read_to_string("ptx-samples/jacobi/jacobi.sm_80.ptx")?;
//! let source = SourceFile::new("jacobi.ptx", text);
//! let rewritten = pipeline::rewrite(&source, &pipeline::Options::paper())?;
//! assert_eq!(rewritten.report.summary(), "1 function, 9 global loads, 6 replaced");
//! let result = SourceFile::new("jacobi.rewritten.ptx", rewritten.text);
//! let verification = verify::verify(&source, &result, &verify::Options::default())?;
//! assert_eq!(verification.verdict, verify::Verdict::Equal);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Code map
//!
//! Each item is a crate in `src/`, in its manifest the crates that it uses, in the head of its `lib.rs` what comes in and
//! what goes out. This crate is the command line (`cli`), and names those modules of the others that make sense to users
//! of the library; with the Cargo feature `internals`, which only the tests turn on, it names all of them.
//!
//! ```text
//!   ptx <- graph, terms, interp, machine          ptx, graph, terms, interp <- verify
//!   ptx, graph, terms <- analysis                 analysis, machine, verify <- rewrite <- synth, tools <- cli
//!   ptx, machine <- assembler <- tools, cli
//! ```
//!
//! - `ptx`: [`source`], the input's text, spans, messages that point into it; [`isa`], the spelling of instructions and
//!   special registers, and limits of the hardware; [`mod@ptx`], lexical scan, grammar (in `grammar/`), syntax tree, and
//!   instructions as text; [`kernels`] and [`strategies`] by name; [`timings`] of stages; and what all crates share: ids
//!   of things of one kind, ranges of bytes, work by several threads, mistakes that the tests plant.
//! - `graph`, here [`mod@cfg`]: scopes and names resolved, basic blocks, dominators, loops.
//! - `terms`: [`expr`], hash-consed bit-vector terms in normal form; `solver`, z3 behind three-valued answers.
//! - `interp`: [`launch`] files, [`interp`], a concrete interpreter that shares no semantics with [`emulate`], and floating
//!   point that the host does not have.
//! - [`verify`]: translation validation, which shares syntax, graph, terms and solver with the analysis, and neither its
//!   emulation nor its decisions; witnesses of differences run in [`interp`].
//! - `analysis`: [`emulate`], symbolic execution into a memory trace, which records and never decides; `reuse`, every legal
//!   replacement with proof and guards, or the reason why there is none; `collective`, joint computations of lanes by
//!   shuffles; `traffic`, sectors and wavefronts of every access.
//! - `machine`: `cost`, cycles that a choice takes on an architecture, from data files; `sass`, resources of kernels and
//!   their static schedule, read from cubins.
//! - `rewrite`: `patterns`, the ways to replace accesses, each with its search, its costs and its code; `select`, the
//!   choice; `rewrite`, edits of the original text, which know no pattern; [`report`], the decisions as data; [`profile`],
//!   the strategy that was measured to be the fastest; [`pipeline`], the line above as functions.
//! - `synth`: [`mod@synth`], sketches of data movement whose index expressions are searched for, serial loops, a library of
//!   headers; `holes`, calls in kernels, filled such that the kernel is equivalent to its specification.
//! - `assembler`: `ptxas`, the real assembler: its options, where it is, how it is run; `install`, ptxasw in front of it.
//! - `tools`: `lint`, the costs of accesses by source line, with advice; `draft`, launch files to start from; `page`, the
//!   HTML page; `ab`, variants of a kernel on a GPU.
//!
//! # Architecture invariants
//!
//! - The program is never printed anew: where there is no edit, no byte changes.
//! - Input files are never written to. Output depends on the input's bytes and the options alone: no hash order, no
//!   thread order, no clock. (The work of ptxas on a rewritten text is measured, and if it is out of proportion, the
//!   original's result is the output: `ptxas::leash`.)
//! - Any failure of ours falls back to the original PTX with one warning line.
//! - Only `ptxas` starts processes, only `ab` touches a device; these two and the allocator in `main.rs` hold all
//!   `unsafe` code, `ptxas` in `ptxas::child` alone; only `cli` prints or reads the environment (`clippy.toml`,
//!   the lints and manifests of the workspace, and `tests/layering.rs` enforce all of them).
//! - An unknown is a refusal, everywhere.

// These macros panic where the stream cannot be written; `cli::io` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// Without the feature, modules of the command line are public for nobody.
#![cfg_attr(not(feature = "internals"), allow(unreachable_pub, reason = "for the tests"))]
cfg_if::cfg_if! {
    if #[cfg(feature = "internals")] {
        pub use ptxasw_ptx::{bytes, ids, parallel, planted};
        pub use ptxasw_terms::solver;
        pub use ptxasw_interp::float;
        pub use ptxasw_analysis::{collective, reuse, traffic};
        pub use ptxasw_machine::{cost, sass};
        pub use ptxasw_rewrite::{patterns, remarks, requests, rewrite, select, tracing};
        pub use ptxasw_synth::holes;
        pub use ptxasw_assembler::{install, ptxas};
        pub use ptxasw_tools::{ab, draft, lint, page};
        pub use ptxasw_ptx::unit;
        use ptxasw_ptx::unit_tests;
        pub mod cli;
    } else {
        use ptxasw_ptx::parallel;
        use ptxasw_terms::solver;
        use ptxasw_analysis::{reuse, traffic};
        use ptxasw_machine::{cost, sass};
        use ptxasw_rewrite::{remarks, requests, rewrite, select, tracing};
        use ptxasw_synth::holes;
        use ptxasw_assembler::{install, ptxas};
        use ptxasw_tools::{ab, draft, lint, page};
        mod cli;
    }
}

pub use ptxasw_analysis::emulate;
pub use ptxasw_graph as cfg;
pub use ptxasw_interp::{interp, launch};
pub use ptxasw_ptx::{isa, kernels, ptx, source, strategies, timings};
pub use ptxasw_rewrite::{pipeline, profile, report};
pub use ptxasw_synth::synth;
pub use ptxasw_terms::expr;
pub use ptxasw_verify as verify;

pub use cli::main;
