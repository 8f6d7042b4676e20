//! The decisions as LLVM's optimisation remarks.
//!
//! In: an input and its [`Report`]. Out: YAML documents that `opt-viewer` and `llvm-remarkutil` read
//! (LLVM, "Remarks"): `!Passed` for a load that was replaced, `!Missed` with the rule and the reason
//! for a load that was kept, `!Analysis` with the counts of each function. A place is that of the
//! source if a `.loc` names it, otherwise a line of the PTX with column 0; the PTX line is an argument
//! of its own as well. Nothing is decided here, and the text is read only for its `.loc` and `.file`
//! directives.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::ptx::{self, Depth, Directive, Item, Location, Statement};
use crate::report::{
    CollectiveReport, Cost, Decision, HoleReport, KernelReport, LoadReport, Report,
};
use crate::source::SourceFile;
use crate::strategies::StrategyName;

/// The pass that LLVM's tools show and filter by.
const PASS: &str = "ptxasw";

/// The words in front of a store's address.
const STORE: &str = "store to ";

/// The remarks of one file.
pub fn yaml(source: &SourceFile, report: &Report) -> String {
    let places = Places::of(source);
    let mut out = String::new();
    for kernel in &report.kernels {
        for load in &kernel.loads {
            about_access(&mut out, &places, kernel, ("load of ", load));
        }
        for store in &kernel.stores {
            about_access(&mut out, &places, kernel, (STORE, store));
        }
        for one in &kernel.collectives {
            about_collective(&mut out, &places, kernel, one);
        }
        about_function(&mut out, &places, kernel);
    }
    for hole in &report.holes {
        about_hole(&mut out, &places, hole);
    }
    out
}

/// The place in the sources that a line of the PTX comes from, as `file:line:column`, if a `.loc` names one.
pub fn origin(source: &SourceFile, line: u32) -> Option<String> {
    let places = Places::of(source);
    let place = places.of_line(line);
    let named = place.column != 0 || place.file != source.name();
    named.then(|| format!("{}:{}:{}", place.file, place.line, place.column))
}

fn about_hole(out: &mut String, places: &Places<'_>, hole: &HoleReport) {
    head(out, "Passed", "HoleFilled", &places.of_line(hole.line), &hole.kernel);
    argument(out, "String", "hole ");
    argument(out, "Hole", &hole.hole.to_string());
    argument(out, "String", " of family ");
    argument(out, "Family", &hole.family);
    argument(out, "String", " filled with ");
    argument(out, "Expression", &hole.expression);
    argument(out, "String", " as in ");
    argument(out, "Specification", &hole.specification);
    let which = match (hole.solutions, hole.cheapest) {
        (1, _) => ", the only solution that was seen",
        (_, true) => ", the cheapest of the solutions: ",
        (_, false) => ", the cheapest so far of the solutions: ",
    };
    argument(out, "String", which);
    if hole.solutions > 1 {
        argument(out, "Solutions", &hole.solutions.to_string());
    }
    argument(out, "String", " (PTX line ");
    argument(out, "PtxLine", &hole.line.to_string());
    argument(out, "String", ")");
    out.push_str("...\n");
}

fn about_access(
    out: &mut String,
    places: &Places<'_>,
    kernel: &KernelReport,
    (what, load): (&str, &LoadReport),
) {
    let place = places.of_line(load.line);
    match load.decision {
        Decision::By(paper @ StrategyName::Paper) => {
            let delta = load.delta.unwrap_or(0);
            let by = if delta == 0 { StrategyName::Reuse } else { paper };
            let name = by.facts().remark;
            head(out, "Passed", name, &place, &kernel.name);
            argument(out, "String", what);
            argument(out, "Register", &load.register);
            argument(out, "String", " replaced by the value that the lane at distance ");
            argument(out, "Delta", &delta.to_string());
            argument(out, "String", " loaded in PTX line ");
            if let Some(line) = load.source_line {
                argument(out, "SourceLine", &line.to_string());
                let _ = writeln!(out, "    DebugLoc:        {}", places.of_line(line));
            }
            if let Some(guards) = load.guards.as_ref().filter(|guards| !guards.is_empty()) {
                argument(out, "String", ", checked at run time: ");
                argument(out, "Guards", &guards.join(", "));
            }
        }
        Decision::By(name) => {
            let facts = name.facts();
            let remark = facts.store_remark.filter(|_| what == STORE).unwrap_or(facts.remark);
            head(out, "Passed", remark, &place, &kernel.name);
            argument(out, "String", what);
            argument(out, "Register", &load.register);
            argument(out, "String", " served by strategy ");
            argument(out, "Strategy", load.decision.word());
            if let Some(line) = load.source_line {
                argument(out, "String", " from PTX line ");
                argument(out, "SourceLine", &line.to_string());
                let _ = writeln!(out, "    DebugLoc:        {}", places.of_line(line));
            }
            if let Some(guards) = load.guards.as_ref().filter(|guards| !guards.is_empty()) {
                argument(out, "String", ", checked at run time: ");
                argument(out, "Guards", &guards.join(", "));
            }
        }
        Decision::Keep => {
            let rule = load.rule.as_deref().unwrap_or("kept");
            head(out, "Missed", &camel_case(rule), &place, &kernel.name);
            argument(out, "String", what);
            argument(out, "Register", &load.register);
            argument(out, "String", " kept: ");
            argument(out, "Reason", load.reason.as_deref().unwrap_or_default());
        }
    }
    if let Some(cost) = load.cost.filter(|_| load.decision != Decision::Keep) {
        argument(out, "String", "; cycles: ");
        costs(out, cost);
    }
    argument(out, "String", " (PTX line ");
    argument(out, "PtxLine", &load.line.to_string());
    argument(out, "String", ")");
    out.push_str("...\n");
}

fn about_collective(
    out: &mut String,
    places: &Places<'_>,
    kernel: &KernelReport,
    one: &CollectiveReport,
) {
    let place = places.of_line(one.line);
    match one.decision {
        Decision::By(name) => head(out, "Passed", name.facts().remark, &place, &kernel.name),
        Decision::Keep => {
            let rule = one.rule.as_deref().unwrap_or("kept");
            head(out, "Missed", &camel_case(rule), &place, &kernel.name);
        }
    }
    argument(out, "Computes", &one.computes);
    argument(out, "String", " of ");
    argument(out, "Register", &one.of);
    argument(out, "String", ", lanes combined: ");
    argument(out, "Lanes", &one.lanes.to_string());
    match one.barriers {
        Some(barriers) => {
            argument(out, "String", ", barriers: ");
            argument(out, "Barriers", &barriers.to_string());
        }
        None => {
            argument(out, "String", ", shuffles: ");
            argument(out, "Shuffles", &one.shuffles.to_string());
        }
    }
    match (&one.becomes, &one.reason) {
        (Some(becomes), None) => {
            argument(out, "String", ", replaced by ");
            argument(out, "Opcode", becomes);
        }
        (_, Some(reason)) => {
            argument(out, "String", ", kept: ");
            argument(out, "Reason", reason);
        }
        _ => {}
    }
    argument(out, "String", " (PTX line ");
    argument(out, "PtxLine", &one.line.to_string());
    argument(out, "String", ")");
    out.push_str("...\n");
}

fn about_function(out: &mut String, places: &Places<'_>, kernel: &KernelReport) {
    let place = places.of_function(&kernel.name);
    head(out, "Analysis", "GlobalLoads", &place, &kernel.name);
    argument(out, "Replaced", &kernel.replaced().to_string());
    argument(out, "String", " of ");
    argument(out, "GlobalLoads", &kernel.global_loads.to_string());
    argument(out, "String", " global loads replaced, by shuffles: ");
    argument(out, "Shuffles", &kernel.shuffles.to_string());
    if let Some(cost) = kernel.cost() {
        argument(out, "String", "; cycles: ");
        costs(out, cost);
    }
    if kernel.unprofitable() > 0 {
        argument(out, "String", "; possible, but do not pay: ");
        argument(out, "Unpaid", &kernel.unprofitable().to_string());
    }
    if let (Some(strategy), Some(reason), None) =
        (&kernel.strategy, &kernel.reason, &kernel.skipped)
    {
        argument(out, "String", "; strategy ");
        argument(out, "Strategy", strategy);
        argument(out, "String", " by ");
        argument(out, "Reason", reason);
    }
    if let Some(reason) = &kernel.skipped {
        argument(out, "String", "; left as it is: ");
        argument(out, "Reason", reason);
    }
    out.push_str("...\n");
}

/// The cycles of the chosen replacements, and of the loads that they replace.
fn costs(out: &mut String, cost: Cost) {
    argument(out, "Cycles", &cost.strategy.to_string());
    argument(out, "String", " against ");
    argument(out, "LoadCycles", &cost.load.to_string());
}

fn head(out: &mut String, kind: &str, name: &str, place: &Place<'_>, function: &str) {
    let _ = writeln!(
        out,
        "--- !{kind}\nPass:            {PASS}\nName:            {name}\nDebugLoc:        {place}\n\
         Function:        {}\nArgs:",
        scalar(function)
    );
}

fn argument(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "  - {:<16} {}", format!("{key}:"), scalar(value));
}

/// A scalar between single quotes, the only ones that LLVM's reader takes off.
fn scalar(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("'{}'", text.replace('\'', "''"))
}

/// `NoPartner` of `no-partner`.
fn camel_case(rule: &str) -> String {
    rule.split('-')
        .map(|word| {
            let mut rest = word.chars();
            rest.next().map_or_else(String::new, |c| c.to_ascii_uppercase().to_string())
                + rest.as_str()
        })
        .collect()
}

/// A place as LLVM writes it.
struct Place<'p> {
    file: &'p str,
    line: u32,
    column: u32,
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let file = scalar(self.file);
        write!(f, "{{ File: {file}, Line: {}, Column: {} }}", self.line, self.column)
    }
}

/// The places in the sources that lines of the PTX come from.
struct Places<'s> {
    ptx: &'s str,
    /// The `.file` directives.
    files: BTreeMap<u32, String>,
    /// The last `.loc`, by the line from which it holds; `None` at the line where a function begins.
    locations: BTreeMap<u32, Option<Location>>,
    /// The lines of functions' names.
    functions: BTreeMap<String, u32>,
}

impl<'s> Places<'s> {
    fn of(source: &'s SourceFile) -> Places<'s> {
        let mut places = Places {
            ptx: source.name(),
            files: BTreeMap::new(),
            locations: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        // A text that does not parse in full has no places but its own lines.
        let Ok(module) = ptx::parse(source, Depth::All) else { return places };
        for item in &module.items {
            match item {
                Item::Directive(Directive::File { index, name, .. }) => {
                    places.files.insert(*index, (*name).to_owned());
                }
                Item::Function(function) => {
                    let line = source.line(function.name.span.start);
                    places.functions.insert(function.name.text.to_owned(), line);
                    places.locations.insert(line, None);
                    places.collect(source, function.statements().unwrap_or_default());
                }
                _ => {}
            }
        }
        places
    }

    fn collect(&mut self, source: &SourceFile, statements: &[Statement<'_>]) {
        for statement in statements {
            match statement {
                Statement::Block { statements, .. } => self.collect(source, statements),
                Statement::Directive(Directive::Loc(location)) => {
                    self.locations.insert(source.line(location.span.start), Some(*location));
                }
                _ => {}
            }
        }
    }

    /// The place that a line of the PTX comes from.
    fn of_line(&self, line: u32) -> Place<'_> {
        let location = self.locations.range(..=line).next_back().and_then(|(_, found)| *found);
        match location.and_then(|found| Some((self.files.get(&found.file)?, found))) {
            // Line 0 stands for code that the compiler has put in.
            Some((file, found)) if found.line != 0 => {
                Place { file, line: found.line, column: found.column }
            }
            _ => Place { file: self.ptx, line, column: 0 },
        }
    }

    /// Where a function begins: at its first `.loc`, or without one where its name stands.
    fn of_function(&self, name: &str) -> Place<'_> {
        let line = self.functions.get(name).copied().unwrap_or(1);
        let mut after = self.locations.range(line + 1..);
        match after.next() {
            Some((&first, Some(_))) => self.of_line(first),
            _ => Place { file: self.ptx, line, column: 0 },
        }
    }
}
