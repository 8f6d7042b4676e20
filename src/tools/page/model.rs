//! What belongs to one kernel, out of all inputs.
//!
//! Files are joined by the last part of their names, so that inputs made in different folders meet; an
//! input that names no file is joined by the name of the kernel alone.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use super::input::{Access, Inputs, LineProfile, LintKernel, Profile};
use super::rows::{self, Row};
use crate::ab::measurement::Measurement;
use crate::pipeline::REWRITABLE;
use crate::ptx;
use crate::report::{KernelReport, LoadReport};
use crate::source::SourceFile;

/// The data of the inputs about one kernel or device function.
#[derive(Debug)]
pub struct Kernel<'i> {
    /// The PTX file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// The decisions.
    pub report: Option<&'i KernelReport>,
    /// The text, and the kernel's first and last line in it.
    pub source: Option<(&'i SourceFile, u32, u32)>,
    /// The names of grid indices in addresses, with their meaning.
    pub names: &'i [String],
    /// The loads from memory, by line.
    pub accesses: BTreeMap<u32, &'i Access>,
    /// The costs of its accesses.
    pub lint: Option<&'i LintKernel>,
    /// The events of a run, by line.
    pub profile: BTreeMap<u32, &'i LineProfile>,
    /// Times.
    pub measurements: Vec<&'i Measurement>,
    /// Rows of loads.
    pub rows: Vec<Row<'i>>,
}

impl Kernel<'_> {
    /// Whether something is known that the listing of the PTX shows.
    pub fn has_decisions(&self) -> bool {
        self.report.is_some() || !self.profile.is_empty() || !self.accesses.is_empty()
    }

    /// The loads about which was decided.
    pub fn loads(&self) -> &[LoadReport] {
        self.report.map_or(&[], |report| &report.loads)
    }
}

/// The kernels of all inputs, those that waste most first, else in the order of the files and of their contents; a kernel
/// with neither loads nor arrays nor times nor other accesses is left away.
pub fn kernels(inputs: &Inputs) -> Vec<Kernel<'_>> {
    let mut found: Vec<Kernel<'_>> = Vec::new();
    for report in &inputs.reports {
        for kernel in &report.kernels {
            let at = place(&mut found, &report.file, &kernel.name);
            found[at].report = Some(kernel);
        }
    }
    for trace in &inputs.traces {
        for kernel in &trace.kernels {
            let at = place(&mut found, &trace.file, &kernel.name);
            found[at].names = &kernel.names;
            let loads = kernel.accesses.iter().filter(|access| access.kind == "load");
            found[at].accesses = loads.map(|access| (access.line, access)).collect();
        }
    }
    for lint in &inputs.lints {
        for kernel in &lint.kernels {
            let at = place(&mut found, &lint.file, &kernel.name);
            found[at].lint = Some(kernel);
        }
    }
    for profile in &inputs.profiles {
        let Profile { file, kernel, lines } = profile;
        let at = match file {
            Some(file) => place(&mut found, file, kernel),
            None => place_by_kernel(&mut found, kernel),
        };
        found[at].profile = lines.iter().map(|line| (line.line, line)).collect();
    }
    for measurement in &inputs.measurements {
        let at = place(&mut found, &measurement.file, &measurement.kernel);
        found[at].measurements.push(measurement);
    }
    for kernel in &mut found {
        let source = inputs.sources.iter().find(|(name, _)| same_file(name, &kernel.file));
        kernel.source = source.map(|(_, source)| {
            let (first, last) = lines_of(source, &kernel.name);
            (source, first, last)
        });
        if let Some(report) = kernel.report {
            kernel.rows = rows::rows(&report.loads, &kernel.accesses);
        }
    }
    found.retain(|kernel| {
        let arrays = kernel
            .report
            .is_some_and(|report| !report.arrays.is_empty() || !report.collectives.is_empty());
        let costs = kernel.lint.is_some_and(|lint| !lint.accesses.is_empty());
        !kernel.loads().is_empty() || !kernel.measurements.is_empty() || arrays || costs
    });
    found.sort_by_key(|kernel| Reverse(kernel.lint.map_or(0, LintKernel::waste)));
    found
}

/// A file's name without its folder.
pub fn last_part(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}

fn same_file(a: &str, b: &str) -> bool {
    last_part(a) == last_part(b)
}

/// The index of a kernel; a new kernel is added at the end.
fn place<'i>(found: &mut Vec<Kernel<'i>>, file: &str, name: &str) -> usize {
    let is_it = |kernel: &Kernel<'_>| kernel.name == name && same_file(&kernel.file, file);
    found.iter().position(is_it).unwrap_or_else(|| push(found, file, name))
}

fn place_by_kernel<'i>(found: &mut Vec<Kernel<'i>>, name: &str) -> usize {
    found.iter().position(|kernel| kernel.name == name).unwrap_or_else(|| push(found, "", name))
}

fn push(found: &mut Vec<Kernel<'_>>, file: &str, name: &str) -> usize {
    found.push(Kernel {
        file: file.to_owned(),
        name: name.to_owned(),
        report: None,
        source: None,
        names: &[],
        accesses: BTreeMap::new(),
        lint: None,
        profile: BTreeMap::new(),
        measurements: Vec::new(),
        rows: Vec::new(),
    });
    found.len() - 1
}

/// The first and the last line of a function; of the whole text if they cannot be told.
fn lines_of(source: &SourceFile, name: &str) -> (u32, u32) {
    let all = (1, source.line(source.text().len() as u32));
    let Ok(module) = ptx::parse(source, REWRITABLE) else { return all };
    let function = module.functions().find(|function| function.name.text == name);
    function.map_or(all, |function| {
        let last = function.span.end.saturating_sub(1);
        (source.line(function.span.start), source.line(last))
    })
}
