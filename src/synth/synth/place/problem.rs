//! The checked problem of a placement's sketch.

use super::ast::{Access as AccessText, Item, Shared};
use crate::cost::banks::LANES;
use crate::source::{Diagnostic, SourceFile, Span};
use crate::synth::ast::{Index, Spanned, Statement};
use crate::synth::declared::{Declared, at_end, measures};
use crate::synth::emit::domain::replaced;
use crate::synth::expr::Expr;
use crate::synth::lower::{Defines, is_lane};

/// The most elements of an array.
const MOST_CELLS: usize = 1 << 16;

/// The most accesses of warps.
const MOST_ACCESSES: usize = 1 << 12;

/// Objectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// Wavefronts of all accesses.
    Wavefronts,
    /// Bytes from the first element to the last.
    Bytes,
    /// Operators of the index.
    Instructions,
}

impl Measure {
    const ALL: [(&'static str, Measure); 3] = [
        ("wavefronts", Measure::Wavefronts),
        ("bytes", Measure::Bytes),
        ("instructions", Measure::Instructions),
    ];
}

/// A family of placements to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Paddings and swizzles.
    Both,
    /// Paddings alone.
    Padding,
    /// Swizzles alone.
    Swizzle,
}

/// Accesses of warps, one after the other.
#[derive(Clone, Debug)]
pub struct Access {
    /// For each round the element of each lane that takes part, by its number.
    pub rounds: Vec<Vec<usize>>,
    /// For each round the lanes that take part, as bits.
    pub masks: Vec<u32>,
    /// The indices of that element over the axes of rounds and that of lanes.
    pub indices: Vec<Expr>,
    /// The axes of rounds with their extents, the slowest first.
    pub axes: Vec<(String, usize)>,
    /// The axis of lanes.
    pub lane: String,
    /// The bytes that a lane accesses.
    pub bytes: u64,
    /// The line.
    pub span: Span,
}

/// The sketch.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The array's name.
    pub name: String,
    /// The names of its coordinates.
    pub axes: Vec<String>,
    /// Their extents.
    pub extents: Vec<usize>,
    /// The bytes of an element.
    pub element: u64,
    /// The family to try, or the placement itself.
    pub at: Result<Family, Expr>,
    /// Where that stands.
    pub span: Span,
    /// The accesses.
    pub accesses: Vec<Access>,
    /// The measures of a placement's cost, the most important first.
    pub order: Vec<Measure>,
}

impl Placement {
    /// How many elements there are.
    pub fn cells(&self) -> usize {
        self.extents.iter().product()
    }

    /// The value of an expression over the coordinates for an element.
    pub fn value(&self, expr: &Expr, cell: usize) -> Option<i64> {
        let last = self.extents.last().copied().unwrap_or(1);
        expr.value(&|name| match self.axes.iter().position(|axis| axis == name)? {
            0 if self.axes.len() == 2 => Some((cell / last) as i64),
            _ => Some((cell % last) as i64),
        })
    }
}

struct Reader<'s> {
    declared: Declared<'s>,
    shared: Option<Placement>,
    order: Vec<Measure>,
}

/// Reads the sketch of a placement.
///
/// # Errors A contradiction in the sketch, with its place.
pub fn problem(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
) -> Result<Placement, Diagnostic> {
    let declared = Declared::new(source, defines);
    let mut reader = Reader { declared, shared: None, order: Vec::new() };
    for statement in tree {
        reader.statement(statement)?;
    }
    let order = reader.order;
    let Some(mut placement) = reader.shared.filter(|shared| !shared.accesses.is_empty()) else {
        return Err(at_end(source, "nothing is accessed in this sketch"));
    };
    placement.order = order;
    if placement.order.is_empty() {
        placement.order = Measure::ALL.map(|(_, measure)| measure).to_vec();
    }
    Ok(placement)
}

impl Reader<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.declared.source.diagnostic(span, message)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Diagnostic> {
        match statement {
            Statement::Param(..) | Statement::Axis(_) => {
                self.declared.declare(statement, &constant, &|_| false)?;
            }
            Statement::Minimise(names) => {
                self.order.extend(measures(self.declared.source, names, &Measure::ALL)?);
            }
            Statement::Place(Item::Shared(shared)) => self.shared(shared)?,
            Statement::Place(Item::Access(access)) => self.access(access)?,
            _ => {
                let message = "a placement has `param`, `axis`, `shared`, `access` and `minimise`";
                return Err(at_end(self.declared.source, message));
            }
        }
        Ok(())
    }

    fn shared(&mut self, shared: &Shared) -> Result<(), Diagnostic> {
        let name = &shared.array.array;
        if self.shared.is_some() {
            return Err(self.error(name.span, "a sketch places one array"));
        }
        self.declared.free(name, &|_| false)?;
        let (mut axes, mut extents) = (Vec::new(), Vec::new());
        for index in &shared.array.indices {
            let axis = match index {
                Index::Plain(Spanned { expr: Expr::Name(name), .. }) => {
                    self.declared.axis(name).cloned()
                }
                _ => None,
            };
            let Some((axis, extent)) = axis.filter(|(axis, _)| !axes.contains(axis)) else {
                let message = "each index of a shared array must be an axis of its own";
                return Err(self.error(shared.array.span, message));
            };
            axes.push(axis);
            extents.push(extent);
        }
        let cells = extents.iter().product::<usize>();
        if axes.len() > 2 || cells > MOST_CELLS {
            let message =
                format!("a shared array has one or two indices and at most {MOST_CELLS} elements");
            return Err(self.error(shared.array.span, message));
        }
        let bytes = constant(&self.declared, &shared.bytes)?;
        let Some(element) = u64::try_from(bytes).ok().filter(|b| [1, 2, 4, 8, 16].contains(b))
        else {
            return Err(self.error(shared.bytes.span, "an element has 1, 2, 4, 8 or 16 bytes"));
        };
        let (at, span) = match &shared.at {
            Index::Plain(plain) => {
                self.known(plain, &axes)?;
                // What params stand for is put in.
                (Err(self.filled(&plain.expr)), plain.span)
            }
            Index::Hole(hole) => {
                let family = match hole.family.text.as_str() {
                    "place" => Family::Both,
                    "padding" => Family::Padding,
                    "swizzle" => Family::Swizzle,
                    other => {
                        let message = format!("`{other}` is not a family of placements");
                        let error = self.error(hole.family.span, message);
                        return Err(error.with_hint("`place`, `padding` or `swizzle`"));
                    }
                };
                let arguments = hole.first.iter().chain(&hole.second);
                let own: Vec<Expr> = arguments.map(|argument| argument.expr.clone()).collect();
                if own != axes.iter().map(|axis| Expr::name(axis)).collect::<Vec<_>>() {
                    let message = "a placement depends on the coordinates of its array";
                    let hint = format!("`?{}({})`", hole.family.text, axes.join("; "));
                    return Err(self.error(hole.span, message).with_hint(hint));
                }
                (Ok(family), hole.span)
            }
        };
        self.shared = Some(Placement {
            name: name.text.clone(),
            axes,
            extents,
            element,
            at,
            span,
            accesses: Vec::new(),
            order: Vec::new(),
        });
        Ok(())
    }

    fn access(&mut self, access: &AccessText) -> Result<(), Diagnostic> {
        let reference = &access.reference;
        let Some(shared) = self.shared.clone().filter(|s| s.name == reference.array.text) else {
            let message = format!("no shared array `{}` is there yet", reference.array.text);
            return Err(self.error(reference.array.span, message));
        };
        if reference.indices.len() != shared.axes.len() {
            let (own, given) = (shared.axes.len(), reference.indices.len());
            let message = format!("`{}` has {own} indices, not {given}", shared.name);
            return Err(self.error(reference.span, message));
        }
        let bytes = match &access.by {
            None => shared.element as i64,
            Some(by) => constant(&self.declared, by)?,
        };
        let wide = u64::try_from(bytes).ok().filter(|bytes| {
            [1, 2, 4, 8, 16].contains(bytes) && bytes.is_multiple_of(shared.element)
        });
        let Some(bytes) = wide else {
            let message = "a lane accesses whole elements, of at most 16 bytes and a power of two";
            return Err(self.error(access.span, message));
        };
        let Some(lane) = self.declared.axes.iter().find(|(axis, _)| is_lane(axis)).cloned() else {
            return Err(self.error(access.span, "an axis whose name begins with `lane` is missing"));
        };
        let lanes = lane.1.min(LANES);
        let mut rounds: Vec<(String, usize)> = Vec::new();
        for name in &access.rounds {
            let found = self.declared.axis(&name.text).filter(|axis| axis.0 != lane.0);
            let Some(axis) = found.cloned().filter(|axis| !rounds.contains(axis)) else {
                let message =
                    format!("`{}` must be an axis other than the lanes', named once", name.text);
                return Err(self.error(name.span, message));
            };
            rounds.push(axis);
        }
        let count: usize = rounds.iter().map(|(_, extent)| extent).product();
        if count > MOST_ACCESSES {
            let message = format!("a warp accesses the array at most {MOST_ACCESSES} times");
            return Err(self.error(access.span, message));
        }
        let mut names: Vec<String> = rounds.iter().map(|axis| axis.0.clone()).collect();
        names.push(lane.0.clone());
        let (mut all, mut masks) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for round in 0..count {
            let (mut cells, mut mask) = (Vec::with_capacity(lanes), 0);
            for number in 0..lanes {
                let mut rest = round;
                let mut place: Vec<i64> = vec![0; rounds.len()];
                for (at, (_, extent)) in place.iter_mut().zip(&rounds).rev() {
                    *at = (rest % extent) as i64;
                    rest /= extent;
                }
                place.push(number as i64);
                // A lane beyond the array takes no part.
                let cell = self.cell(access, &shared, &names, &place, bytes)?;
                mask |= u32::from(cell.is_some()) << number;
                cells.extend(cell);
            }
            all.push(cells);
            masks.push(mask);
        }
        let indices = reference.indices.iter().filter_map(|index| match index {
            Index::Plain(plain) => Some(self.filled(&plain.expr)),
            Index::Hole(_) => None,
        });
        let (indices, lane) = (indices.collect(), lane.0);
        let access =
            Access { rounds: all, masks, indices, axes: rounds, lane, bytes, span: access.span };
        self.shared.iter_mut().for_each(|shared| shared.accesses.push(access.clone()));
        Ok(())
    }

    /// The element that a lane accesses; none beyond the array.
    fn cell(
        &self,
        access: &AccessText,
        shared: &Placement,
        names: &[String],
        place: &[i64],
        bytes: u64,
    ) -> Result<Option<usize>, Diagnostic> {
        let mut flat = 0;
        let several = (bytes / shared.element) as usize;
        for (number, (index, &extent)) in
            access.reference.indices.iter().zip(&shared.extents).enumerate()
        {
            let Index::Plain(plain) = index else {
                return Err(self.error(access.span, "an `access` index cannot be a hole"));
            };
            self.known(plain, names)?;
            let value = plain.expr.value(&|name| {
                let axis = names.iter().position(|own| own == name);
                axis.map(|axis| place[axis]).or_else(|| self.declared.params.get(name).copied())
            });
            let Some(value) = value else {
                return Err(self.error(plain.span, "this has no value"));
            };
            let Some(at) = usize::try_from(value).ok().filter(|at| *at < extent) else {
                return Ok(None);
            };
            let last = number + 1 == shared.extents.len();
            if last && (at % several != 0 || at + several > extent) {
                let message = format!(
                    "{bytes} bytes begin at an element that is not a multiple of {several}"
                );
                return Err(self.error(plain.span, message));
            }
            flat = flat * extent + at;
        }
        Ok(Some(flat))
    }

    /// An expression with the values of params put in.
    fn filled(&self, expr: &Expr) -> Expr {
        replaced(expr, &|name| self.declared.params.get(name).map(|value| Expr::Number(*value)))
    }

    /// Refuses names that stand for nothing.
    fn known(&self, value: &Spanned, names: &[String]) -> Result<(), Diagnostic> {
        let mut unknown = None;
        value.expr.names(&mut |name| {
            if !self.declared.params.contains_key(name) && names.iter().all(|own| own != name) {
                unknown.get_or_insert(name.to_owned());
            }
        });
        match unknown {
            None => Ok(()),
            Some(name) => {
                let message = format!("`{name}` stands for nothing here");
                let error = self.error(value.span, message);
                Err(error.with_hint("an axis over which warps go stands behind `for`"))
            }
        }
    }
}

fn constant(declared: &Declared<'_>, value: &Spanned) -> Result<i64, Diagnostic> {
    let found = value.expr.value(&|name| declared.constant(name));
    found.ok_or_else(|| declared.source.diagnostic(value.span, "this has no value here"))
}
