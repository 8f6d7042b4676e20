//! `ptxasw run --fidelity`: what a result rests on, as text and as JSON.
//!
//! In: the instructions whose results are open, and where approximate values went. Out: [`Report`], which has the lines.

use std::fmt::Write;

use serde::Serialize;

use crate::interp::{Fidelity, Open};
use crate::ptx::Module;
use crate::report::{Origin, Origins};
use crate::source::{SourceFile, Span};

/// What a result rests on.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether every executed operation has one result by the PTX ISA.
    exact: bool,
    approximate: Vec<Instruction>,
    products: Vec<Instruction>,
    contractions: Vec<Instruction>,
    order_dependent: Vec<Instruction>,
    /// Where approximate values and products decide more than values.
    reached: Vec<Reached>,
}

#[derive(Debug, Serialize)]
struct Instruction {
    line: u32,
    source: Option<Origin>,
    instruction: String,
    lanes: u64,
}

#[derive(Debug, Serialize)]
struct Reached {
    line: u32,
    source: Option<Origin>,
    what: &'static str,
}

impl Report {
    /// The lines of what was found.
    pub(super) fn new(source: &SourceFile, module: &Module<'_>, found: &Fidelity) -> Report {
        let origins = Origins::of(source, module);
        let line = |span: Span| source.line(span.start);
        let of = |kinds: &[Open]| {
            let wanted = found.open.iter().filter(|one| kinds.contains(&one.open));
            let each = wanted.map(|one| Instruction {
                line: line(one.span),
                source: origins.at(one.span),
                instruction: one.opcode.clone(),
                lanes: one.lanes,
            });
            each.collect::<Vec<_>>()
        };
        let reached = found.reached.iter().map(|one| Reached {
            line: line(one.span),
            source: origins.at(one.span),
            what: one.what,
        });
        Report {
            exact: found.open.is_empty(),
            approximate: of(&[Open::Approximate]),
            products: of(&[Open::Product]),
            contractions: of(&[Open::Contraction]),
            order_dependent: of(&[Open::Sum, Open::OldValue]),
            reached: reached.collect(),
        }
    }

    /// The same for people.
    pub(super) fn text(&self) -> String {
        if self.exact {
            return "fidelity: exact, since each executed operation has one result by the PTX ISA\n".to_owned();
        }
        let mut text = "fidelity: other bits are possible on a GPU\n".to_owned();
        for (what, instructions) in [
            ("approximate: computed in double precision and rounded once", &self.approximate),
            ("matrix products: summed in double precision and rounded once", &self.products),
            ("contractions: an assembler may join these with additions", &self.contractions),
            ("order-dependent: threads come in the order of their numbers", &self.order_dependent),
        ] {
            if !instructions.is_empty() {
                let _ = writeln!(text, "  {what}");
            }
            for Instruction { line, source, instruction, lanes } in instructions {
                let _ = writeln!(
                    text,
                    "    {}: {instruction}, {lanes} lanes",
                    place(*line, source.as_ref())
                );
            }
        }
        if self.approximate.is_empty() && self.products.is_empty() {
            return text;
        }
        text += match self.reached.is_empty() {
            true => "  no approximate value reaches a branch or an address\n",
            false => "  approximate values reach\n",
        };
        for Reached { line, source, what } in &self.reached {
            let _ = writeln!(text, "    {}: {what}", place(*line, source.as_ref()));
        }
        text
    }
}

fn place(line: u32, source: Option<&Origin>) -> String {
    match source {
        Some(origin) => format!("{}, line {line}", origin.shown()),
        None => format!("line {line}"),
    }
}
