//! From the tree to the straight line over cells.

mod folds;
mod scope;
mod statements;

use rustc_hash::FxHashMap;

use super::ast::{Name, Reference, Spanned, Statement};
use super::declared::{Declared, at_end, measures};
use super::expr::Expr;
use super::program::{CellId, HoleId, Measure, Program};
use super::term::UNDEFINED;
use crate::source::{Diagnostic, SourceFile, Span};
use typed_index_collections::ti_vec;

pub use super::declared::Defines;

/// The most cells of a sketch.
const MOST_CELLS: usize = 1 << 20;

/// An array: its shape, and the cell at each place, in row-major order.
#[derive(Clone, Debug)]
pub struct Array {
    /// The extents.
    pub shape: Vec<usize>,
    /// The axis that each index goes along; inputs have none.
    pub axes: Vec<String>,
    /// The cells.
    pub cells: Vec<CellId>,
    /// Whether it is an input: beyond it everything is undefined.
    pub input: bool,
}

impl Array {
    /// The flat index of a place; the number of the first index that is out of its axis otherwise.
    fn flat(&self, place: &[i64]) -> Result<usize, usize> {
        let mut flat = 0;
        for (number, (&at, &extent)) in place.iter().zip(&self.shape).enumerate() {
            match usize::try_from(at) {
                Ok(at) if at < extent => flat = flat * extent + at,
                _ => return Err(number),
            }
        }
        Ok(flat)
    }
}

/// How many places a shape has; the largest number there is where that is not enough.
fn volume(shape: &[usize]) -> usize {
    shape.iter().fold(1, |volume, &extent| volume.saturating_mul(extent))
}

/// Lowers a sketch. `space` restricts the families: 1, 2, 3 for all of them, or 4 for all of them with multiples in
/// conditions. Entries of `defines` for names that are
/// not params are ignored.
///
/// # Errors A contradiction in the sketch, with its place.
pub fn lower(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
    space: u8,
) -> Result<Lowered, Diagnostic> {
    let mut lowering = Lowering {
        declared: Declared::new(source, defines),
        arrays: FxHashMap::default(),
        families: FxHashMap::default(),
        program: Program { initial: ti_vec![UNDEFINED], cells: 1, ..Program::default() },
        pending: Vec::new(),
        space,
    };
    for statement in tree {
        lowering.statement(statement)?;
    }
    if lowering.program.goals.is_empty() {
        return Err(at_end(source, "the sketch has no goal"));
    }
    if lowering.program.order.is_empty() {
        lowering.program.order = Measure::ALL.map(|(_, measure)| measure)[..4].to_vec();
    }
    let Lowering { declared: Declared { params, axes, .. }, arrays, program, .. } = lowering;
    Ok(Lowered { program, params, axes, arrays })
}

/// A sketch and the names in it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The straight line.
    pub program: Program,
    /// The values of parameters.
    pub params: FxHashMap<String, i64>,
    /// The axes and their extents.
    pub axes: Vec<(String, usize)>,
    /// The arrays.
    pub arrays: FxHashMap<String, Array>,
}

impl Lowered {
    /// The axes that are lanes.
    pub fn lanes(&self) -> impl Iterator<Item = &(String, usize)> {
        self.axes.iter().filter(|axis| is_lane(&axis.0))
    }

    /// The lane and the register of a place of an array.
    pub fn place(&self, array: &Array, flat: usize) -> (usize, usize) {
        let lanes: Vec<&(String, usize)> = self.lanes().collect();
        let (mut rest, mut coordinates) = (flat, vec![0; lanes.len()]);
        let (mut register, mut below) = (0, 1);
        for (extent, axis) in array.shape.iter().zip(&array.axes).rev() {
            match lanes.iter().position(|own| own.0 == *axis) {
                Some(own) => coordinates[own] = rest % extent,
                None => {
                    register += rest % extent * below;
                    below *= extent;
                }
            }
            rest /= extent;
        }
        let axes = lanes.iter().zip(coordinates);
        (axes.fold(0, |flat, ((_, extent), at)| flat * extent + at), register)
    }
}

/// Whether an axis is one of lanes.
pub fn is_lane(axis: &str) -> bool {
    axis.starts_with("lane")
}

/// A family that the sketch lists: its coordinates and its members.
type Listed = (Vec<Name>, Vec<Spanned>);

struct Lowering<'s> {
    declared: Declared<'s>,
    arrays: FxHashMap<String, Array>,
    families: FxHashMap<String, Listed>,
    program: Program,
    /// Holes of the fold that is being lowered.
    pending: Vec<HoleId>,
    space: u8,
}

impl Lowering<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.declared.source.diagnostic(span, message)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Diagnostic> {
        match statement {
            Statement::Param(..) | Statement::Axis(_) => {
                let (arrays, declared) = (&self.arrays, &mut self.declared);
                declared.declare(statement, &constant, &|name| arrays.contains_key(name))?;
            }
            Statement::Input(inputs) => {
                for input in inputs {
                    self.input(input)?;
                }
            }
            Statement::Family(name, coordinates, members) => {
                self.families.insert(name.text.clone(), (coordinates.clone(), members.clone()));
            }
            // `scan` reads sketches with loops.
            Statement::Loop(_) => {}
            Statement::Move(target, from) => self.movement(target, from)?,
            Statement::Fold(target, folded) => self.fold(target, folded)?,
            Statement::Goal(target, folded) => self.goal(target, folded)?,
            // Sketches with one of them are read elsewhere.
            Statement::Network(_) | Statement::Place(_) => {}
            Statement::Minimise(names) => {
                let found = measures(self.declared.source, names, &Measure::ALL)?;
                for (name, measure) in names.iter().zip(found) {
                    if self.program.order.contains(&measure) {
                        let message = format!("`{}` stands here twice", name.text);
                        return Err(self.error(name.span, message));
                    }
                    self.program.order.push(measure);
                }
            }
        }
        Ok(())
    }

    /// A name that nothing has yet.
    fn fresh(&self, name: &Name) -> Result<(), Diagnostic> {
        self.declared.free(name, &|name| self.arrays.contains_key(name))
    }

    fn input(&mut self, input: &Reference) -> Result<(), Diagnostic> {
        self.fresh(&input.array)?;
        let mut shape = Vec::new();
        for index in &input.indices {
            let super::ast::Index::Plain(extent) = index else {
                return Err(self.error(input.span, "an input's shape must be constant"));
            };
            let value = constant(&self.declared, extent)?;
            match usize::try_from(value) {
                Ok(extent) if (1..=MOST_CELLS).contains(&extent) => shape.push(extent),
                _ => return Err(self.error(extent.span, "an input has at least one element")),
            }
        }
        let count = volume(&shape);
        self.room(count, input.span)?;
        let number = self.program.inputs.next_key();
        if self.program.cells != self.program.initial.len() {
            return Err(self.error(input.span, "inputs stand before what reads them"));
        }
        for index in 0..count as u32 {
            let term = self.program.terms.atom(number, index);
            self.program.initial.push(term);
        }
        self.program.inputs.push((input.array.text.clone(), shape.clone()));
        let cells = self.made(count).cells().collect();
        self.arrays.insert(
            input.array.text.clone(),
            Array { shape, axes: Vec::new(), cells, input: true },
        );
        Ok(())
    }

    /// Refuses sketches that are too large.
    fn room(&self, more: usize, span: Span) -> Result<(), Diagnostic> {
        if self.program.cells.saturating_add(more) > MOST_CELLS {
            return Err(self.error(span, format!("the sketch has more than {MOST_CELLS} cells")));
        }
        Ok(())
    }

    fn plain(expr: &Expr) -> Option<&str> {
        match expr {
            Expr::Name(name) => Some(name),
            _ => None,
        }
    }
}

/// The value of an expression of parameters, numbers, and the extents of axes.
fn constant(declared: &Declared<'_>, value: &Spanned) -> Result<i64, Diagnostic> {
    let of = |name: &str| declared.constant(name);
    known(declared, value, &of)?;
    let found = value.expr.value(&of);
    found.ok_or_else(|| declared.source.diagnostic(value.span, "this has no value"))
}

/// Refuses names that stand for nothing.
fn known(
    declared: &Declared<'_>,
    value: &Spanned,
    of: &dyn Fn(&str) -> Option<i64>,
) -> Result<(), Diagnostic> {
    let mut unknown = None;
    value.expr.names(&mut |name| {
        if of(name).is_none() {
            unknown.get_or_insert(name.to_owned());
        }
    });
    let Some(name) = unknown else { return Ok(()) };
    let message = match declared.axis(&name) {
        Some(_) => format!("the axis `{name}` has no value here"),
        None => format!("unknown axis `{name}`"),
    };
    Err(declared.source.diagnostic(value.span, message))
}
