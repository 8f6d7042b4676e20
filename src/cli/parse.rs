//! `ptxasw parse`: the contents of a module.

use clap::Args;

use super::exit::Failure;
use super::io;
use super::options::{Format, Input, Shown};
use crate::kernels::spellings;
use crate::launch::bind;
use crate::pipeline::REWRITABLE;
use crate::ptx::{self, Depth, Function, FunctionKind, Item, Module, StateSpace};
use serde_json::{Value, json};

/// `parse`
#[derive(Debug, Args)]
pub(super) struct Parse {
    /// What to parse.
    #[command(flatten)]
    input: Input,
    /// Parse every body in full, not only those that may be rewritten
    #[arg(long)]
    all: bool,
    /// How to show the counts.
    #[command(flatten)]
    shown: Shown,
}

/// A kernel with its parameters, for programs that launch it.
fn kernel(function: &Function<'_>) -> Value {
    let types = function.params.iter().flat_map(|variable| {
        let ty = variable.ty.map(|ty| ty.name());
        variable.names.iter().map(move |_| ty)
    });
    let parameters = bind::parameters(function).into_iter().zip(types);
    let parameters: Vec<Value> = parameters
        .map(|((name, bytes), ty)| json!({"name": name, "type": ty, "bytes": bytes}))
        .collect();
    let name = function.name.text;
    json!({"name": name, "names": spellings(name), "parameters": parameters})
}

/// The variables of a module in global and constant memory, for programs that launch its kernels.
fn variables(module: &Module<'_>) -> Vec<Value> {
    let mut found = Vec::new();
    for item in &module.items {
        let Item::Variable(variable) = item else { continue };
        if !matches!(variable.space, StateSpace::Global | StateSpace::Const) {
            continue;
        }
        let ty = variable.ty.map(|ty| ty.name());
        for declarator in &variable.names {
            let name = declarator.name.text;
            found.push(json!({"name": name, "names": spellings(name), "type": ty}));
        }
    }
    found
}

impl Parse {
    /// Prints counts of functions, instructions and bytes.
    ///
    /// # Errors
    /// The input cannot be read or parsed.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let source = self.input.read(None)?;
        let depth = if self.all { Depth::All } else { REWRITABLE };
        let stats = ptx::stats(&source, depth)?;
        if self.shown.format == Format::Json {
            let module = ptx::parse(&source, REWRITABLE)?;
            let kernels = module.functions().filter(|one| one.kind == FunctionKind::Entry);
            return io::print(&io::json(&json!({
                "file": source.name(),
                "functions": stats.functions,
                "kernels": kernels.map(kernel).collect::<Vec<_>>(),
                "variables": variables(&module),
                "instructions": stats.instructions,
                "bytes": stats.bytes,
            }))?);
        }
        io::print(&format!(
            "{} functions, {} of them kernels\n{} bodies parsed, {} skipped\n{} instructions\n{} bytes\n",
            stats.functions,
            stats.kernels,
            stats.parsed_bodies,
            stats.skipped_bodies,
            stats.instructions,
            stats.bytes
        ))
    }
}
