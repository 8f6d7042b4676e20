//! The places in the sources that instructions of a PTX text were compiled from (`.file`, `.loc`).
//!
//! In: a module that was parsed in full. Out: for an instruction the last `.loc` in front of it in its function, with the
//! calls through which it was inlined (PTX ISA, "Debugging Directives: .loc").

use serde::Serialize;

use crate::ptx::{Directive, Item, Location, Module, Statement};
use crate::source::{SourceFile, Span};

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The file.
    pub file: String,
    /// The 1-based line.
    pub line: u32,
    /// The 1-based column; 0 where the compiler names none.
    pub column: u32,
    /// The calls through which the code was inlined, the innermost first.
    pub inlined: Vec<Call>,
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// The file.
    pub file: String,
    /// The 1-based line.
    pub line: u32,
    /// The 1-based column; 0 where the compiler names none.
    pub column: u32,
}

impl Origin {
    /// The place as messages show it: `file:line:column`, and where it was inlined.
    pub fn shown(&self) -> String {
        let place = |file: &str, line: u32, column: u32| match column {
            0 => format!("{file}:{line}"),
            _ => format!("{file}:{line}:{column}"),
        };
        let mut text = place(&self.file, self.line, self.column);
        for call in &self.inlined {
            text += &format!(" (inlined at {})", place(&call.file, call.line, call.column));
        }
        text
    }
}

/// The place that an instruction was compiled from; none where no `.loc` says so.
pub fn origin(source: &SourceFile, module: &Module<'_>, span: Span) -> Option<Origin> {
    let file = |number: u32| {
        module.items.iter().find_map(|item| match item {
            Item::Directive(Directive::File { index, name, .. }) if *index == number => {
                Some((*name).to_owned())
            }
            _ => None,
        })
    };
    let function = module
        .functions()
        .find(|function| function.span.start <= span.start && span.start < function.span.end)?;
    let mut last = None;
    find(function.statements()?, span.start, &mut last);
    // Line 0 stands for code that the compiler has put in.
    let location: Location = last.filter(|location: &Location| location.line != 0)?;
    let call = inlined_at(source.slice(location.span))
        .and_then(|[number, line, column]| Some(Call { file: file(number)?, line, column }));
    Some(Origin {
        file: file(location.file)?,
        line: location.line,
        column: location.column,
        inlined: call.into_iter().collect(),
    })
}

/// The last `.loc` in front of a place.
fn find(statements: &[Statement<'_>], before: u32, last: &mut Option<Location>) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => find(statements, before, last),
            Statement::Directive(Directive::Loc(location)) if location.span.start < before => {
                *last = Some(*location);
            }
            _ => {}
        }
    }
}

/// The three numbers behind `inlined_at` in the text of a `.loc`.
fn inlined_at(text: &str) -> Option<[u32; 3]> {
    let (_, numbers) = text.split_once("inlined_at")?;
    let mut numbers = numbers.split_whitespace().map_while(|number| number.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)])
}
