//! The places in the sources that instructions of a PTX text were compiled from (`.file`, `.loc`).
//!
//! In: a module. Out: for an instruction the last `.loc` in front of it in its function, with the
//! calls through which it was inlined (PTX ISA, "Debugging Directives: .loc").

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::ptx::{Directive, Item, Location, Module, Statement};
use crate::source::{SourceFile, Span};

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

    /// The file and line; of a function in the compiler's own headers (`atomicAdd`) those of the call.
    pub fn in_program(&self) -> (&str, u32) {
        let name = self.file.rsplit('/').next().unwrap_or(&self.file);
        let is_of_compiler = self.file.contains("/bin/../") || name.starts_with("__clang_cuda_");
        match self.inlined.last().filter(|_| is_of_compiler) {
            Some(call) => (&call.file, call.line),
            None => (&self.file, self.line),
        }
    }

    /// The file's own name and the line: `stencil.cu:19`.
    pub fn short(&self) -> String {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        format!("{name}:{}", self.line)
    }
}

/// The `.file` and `.loc` directives of a module.
#[derive(Debug)]
pub struct Origins<'a, 's> {
    source: &'a SourceFile,
    files: BTreeMap<u32, &'s str>,
    /// For each function with a body its place and its `.loc` directives, in order.
    functions: Vec<(Span, Vec<Location>)>,
}

impl<'a, 's> Origins<'a, 's> {
    /// Collects the directives of the bodies that were parsed.
    pub fn of(source: &'a SourceFile, module: &Module<'s>) -> Origins<'a, 's> {
        let files = module.items.iter().filter_map(|item| match item {
            Item::Directive(Directive::File { index, name, .. }) => Some((*index, *name)),
            _ => None,
        });
        // (The first directive of an index counts.)
        let mut first = BTreeMap::new();
        files.for_each(|(index, name)| _ = first.entry(index).or_insert(name));
        let functions = module.functions().filter_map(|function| {
            let mut found = Vec::new();
            collect(function.statements()?, &mut found);
            let inline = inline_assembly(source, function.span);
            found.retain(|Location { span, .. }| {
                let at = inline.partition_point(|block| block.end <= span.start);
                !inline.get(at).is_some_and(|block| block.contains(&span.start))
            });
            (!found.is_empty()).then_some((function.span, found))
        });
        Origins { source, files: first, functions: functions.collect() }
    }

    /// The place that an instruction was compiled from; none where no `.loc` says so.
    pub fn at(&self, span: Span) -> Option<Origin> {
        let behind = self.functions.partition_point(|(function, _)| function.start <= span.start);
        let (function, locations) = self.functions.get(behind.checked_sub(1)?)?;
        if span.start >= function.end {
            return None;
        }
        let behind = locations.partition_point(|location| location.span.start < span.start);
        // Line 0 stands for code that the compiler has put in.
        let location = locations.get(behind.checked_sub(1)?).filter(|found| found.line != 0)?;
        let file = |number: u32| self.files.get(&number).map(|name| (*name).to_owned());
        let call = inlined_at(self.source.slice(location.span))
            .and_then(|[number, line, column]| Some(Call { file: file(number)?, line, column }));
        Some(Origin {
            file: file(location.file)?,
            line: location.line,
            column: location.column,
            inlined: call.into_iter().collect(),
        })
    }
}

/// The `.loc` directives of statements, in the order of the text.
fn collect(statements: &[Statement<'_>], found: &mut Vec<Location>) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => collect(statements, found),
            Statement::Directive(Directive::Loc(location)) => found.push(*location),
            _ => {}
        }
    }
}

/// The blocks of inline assembly in a function. LLVM counts the lines of a block as if they were lines of the source, so
/// each instruction has the place in front of its block.
fn inline_assembly(source: &SourceFile, function: Span) -> Vec<Range<u32>> {
    let text = source.slice(function);
    let place = |at: usize| function.start + at as u32;
    let (mut blocks, mut begin) = (Vec::new(), None);
    for (at, _) in text.match_indices(" inline asm") {
        if text[..at].ends_with("// begin") {
            begin = Some(at);
        } else if let (true, Some(begin)) = (text[..at].ends_with("// end"), begin.take()) {
            blocks.push(place(begin)..place(at));
        }
    }
    blocks
}

/// The three numbers behind `inlined_at` in the text of a `.loc`.
fn inlined_at(text: &str) -> Option<[u32; 3]> {
    let (_, numbers) = text.split_once("inlined_at")?;
    let mut numbers = numbers.split_whitespace().map_while(|number| number.parse().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next().unwrap_or(0)])
}
