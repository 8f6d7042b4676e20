//! `ptxasw trace`: the symbolic memory trace of each kernel.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::{Format, Input, OnlyKernel, Shown};
use crate::cfg::{self, BlockId};
use crate::emulate::TooLarge;
use crate::expr::within;
use crate::pipeline::{self, Options};
use crate::ptx::{self, Depth};
use crate::report::Origins;
use crate::tracing::{self, TraceFile, TraceReport, View};
use crate::traffic::{Assumed, Traffic};

/// `trace`
#[derive(Debug, Args)]
pub(super) struct Trace {
    /// What to trace.
    #[command(flatten)]
    input: Input,
    /// Which kernels.
    #[command(flatten)]
    kernel: OnlyKernel,
    /// How to show the trace.
    #[command(flatten)]
    shown: Shown,
    /// Print the control-flow graph with the trace in its blocks, in Graphviz's language
    #[arg(long, conflicts_with = "format")]
    dot: bool,
}

impl Trace {
    /// Prints the trace.
    ///
    /// # Errors
    /// The input cannot be read or parsed, or does not have the kernel that was asked for.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read(self.kernel.kernel.as_deref())?;
        let kernel = &self.kernel.find(&source)?;
        let options = Options { kernel: kernel.clone(), ..Options::default() };
        let module = ptx::parse(&source, Depth::All)?;
        let origins = Origins::of(&source, &module);
        let whole = self.shown.format == Format::Json;
        let mut kernels = Vec::new();
        let mut dots = String::new();
        pipeline::for_each_trace(&source, &options, &mut |function, traced| match traced {
            Ok((flow, trace)) => {
                let described = within(|| {
                    let assumed = Assumed::default();
                    let traffic = Traffic::of(&module, function, flow, trace, &assumed);
                    let view = View { origins: Some(&origins), whole, traffic: Some(&traffic) };
                    tracing::describe(&view, &source, function, flow, trace)
                });
                let Ok(report) = described else {
                    let reason = TooLarge::steps(&options.limits).0;
                    kernels.push(TraceReport::skipped(function, reason));
                    return;
                };
                if self.dot {
                    let lines = tracing::lines_by_block(&report, flow, trace);
                    let lines = |block: BlockId| lines[block].clone();
                    dots += &cfg::dot(&source, function.name.text, flow, &lines);
                }
                kernels.push(report);
            }
            Err(reason) => kernels.push(TraceReport::skipped(function, reason)),
        })?;
        io::print(&match self.shown.format {
            _ if self.dot => dots,
            Format::Json => io::json(&TraceFile {
                version: tracing::FORMAT_VERSION,
                file: source.name().to_owned(),
                kernels,
            })?,
            Format::Text => kernels.iter().map(ToString::to_string).collect(),
        })
    }
}
