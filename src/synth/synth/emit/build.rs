//! From a sketch and a solution to the kernel, with the found expressions in the place of holes.

use rustc_hash::FxHashMap;
use typed_index_collections::TiVec;

use super::domain::{Domain, both, replaced};
use super::kernel::{Kernel, Part, Read, Registers, Step, What};
use super::rotation::{self, Rotation};
use crate::synth::Lowered;
use crate::synth::ast::{Folded, Index, Reference, Statement, When};
use crate::synth::expr::{Expr, Op};
use crate::synth::family;
use crate::synth::lower::is_lane;
use crate::synth::program::HoleId;
use crate::synth::search::Solution;
use crate::synth::term::{Fold, InputId};

/// The lanes of a warp.
const WARP: usize = 32;

/// The most registers of a kernel, all arrays together, and the most products of its folds.
const MOST_REGISTERS: usize = 1 << 14;

/// Where a name stands for values.
#[derive(Clone, Debug)]
enum Source {
    Input(InputId),
    /// The array, and for each index the lane axis that it is.
    Array(usize, Vec<Option<usize>>),
}

struct Builder<'s> {
    sketch: &'s Lowered,
    solution: &'s Solution,
    hole: HoleId,
    sources: FxHashMap<&'s str, Source>,
    kernel: Kernel,
}

/// Makes the code of a solution.
///
/// # Errors
/// What of the sketch has no code: more than 32 lanes, a fold over lanes, an operator without instruction.
pub fn kernel(
    name: &str,
    tree: &[Statement],
    sketch: &Lowered,
    solution: &Solution,
) -> Result<Kernel, String> {
    let lanes = Domain::of(sketch.lanes());
    if lanes.axes.is_empty() {
        return Err("no axis has a name that begins with `lane`".to_owned());
    }
    let count = lanes.places();
    if count > WARP {
        return Err(format!("a warp has {WARP} lanes, and the sketch {count}"));
    }
    let inputs = sketch.program.inputs.iter();
    let inputs: TiVec<InputId, _> =
        inputs.map(|(name, shape)| (name.clone(), shape.iter().product())).collect();
    let sources = sketch.program.inputs.iter_enumerated();
    let sources = sources.map(|(at, (name, _))| (name.as_str(), Source::Input(at))).collect();
    let (arrays, steps, goals) = (Vec::new(), Vec::new(), Vec::new());
    let name = name.to_owned();
    let kernel = Kernel { name, lanes, inputs, arrays, steps, goals };
    let mut builder = Builder { sketch, solution, hole: HoleId(0), sources, kernel };
    for statement in tree {
        match statement {
            Statement::Move(to, from) => builder.movement(to, from)?,
            Statement::Fold(to, folded) => builder.fold(to, folded)?,
            Statement::Goal(to, _) => builder.goal(to)?,
            _ => {}
        }
        let registers: usize = builder.kernel.arrays.iter().map(Registers::count).sum();
        if registers > MOST_REGISTERS {
            return Err(format!("the code has more than {MOST_REGISTERS} registers"));
        }
    }
    Ok(builder.kernel)
}

impl<'s> Builder<'s> {
    /// The axes that stand in references and are no lanes.
    fn loops<'r>(&self, references: impl IntoIterator<Item = &'r Reference>) -> Domain {
        let mut loops = Domain::default();
        let mut see = |name: &str| {
            let axis = self.sketch.axes.iter().find(|axis| axis.0 == name && !is_lane(name));
            if let Some(axis) = axis.filter(|_| loops.axes.iter().all(|known| known.0 != name)) {
                loops.axes.push(axis.clone());
            }
        };
        for index in references.into_iter().flat_map(|reference| &reference.indices) {
            match index {
                Index::Plain(plain) => plain.expr.names(&mut see),
                Index::Hole(hole) => hole.first.iter().for_each(|e| e.expr.names(&mut see)),
            }
        }
        loops
    }

    /// Loops and lanes together.
    fn domain(&self, loops: &Domain) -> Domain {
        Domain::of(loops.axes.iter().chain(&self.kernel.lanes.axes))
    }

    /// The number of the next hole, with its expression.
    fn found(&mut self) -> (HoleId, Expr) {
        let at = self.hole;
        self.hole.0 += 1;
        let family = &self.sketch.program.holes[at].family;
        (at, family.expression(&self.solution.tables[at].raw, &self.solution.recipes[at]))
    }

    fn plain(&self, expr: &Expr) -> Expr {
        replaced(expr, &|name| self.sketch.params.get(name).map(|value| Expr::Number(*value)))
    }

    /// The indices of a reference; a hole is replaced by its expression.
    fn indices(&mut self, reference: &Reference) -> Vec<Expr> {
        let index = |index: &Index| match index {
            Index::Plain(plain) => self.plain(&plain.expr),
            Index::Hole(_) => self.found().1,
        };
        reference.indices.iter().map(index).collect()
    }

    /// The number of a lane, from the coordinates of its axes.
    fn lane(&self, coordinates: &[Expr]) -> Expr {
        let axes = self.kernel.lanes.axes.iter().zip(coordinates);
        axes.fold(Expr::Number(0), |lane, ((_, extent), coordinate)| {
            let times = Expr::binary(Op::Mul, lane, Expr::Number(*extent as i64));
            Expr::binary(Op::Add, times, coordinate.clone())
        })
    }

    fn read(&self, array: &str, indices: Vec<Expr>, domain: &Domain) -> Result<Read, String> {
        match self.sources.get(array) {
            Some(Source::Input(input)) => {
                let shape = &self.sketch.program.inputs[*input].1;
                let mut guard = None;
                let mut flat = Expr::Number(0);
                for (index, extent) in indices.into_iter().zip(shape) {
                    guard = domain.guard(&index, *extent, guard);
                    let times = Expr::binary(Op::Mul, flat, Expr::Number(*extent as i64));
                    flat = Expr::binary(Op::Add, times, index);
                }
                Ok(Read::Input { input: *input, index: domain.simplified(flat), guard })
            }
            Some(Source::Array(array, axes)) => {
                let own: Vec<Expr> =
                    self.kernel.lanes.axes.iter().map(|(name, _)| Expr::name(name)).collect();
                let mut coordinates = own.clone();
                let mut place = Vec::new();
                for (axis, index) in axes.iter().zip(indices) {
                    match axis {
                        Some(axis) => coordinates[*axis] = index,
                        None => place.push(domain.simplified(index)),
                    }
                }
                let (lane, own) = (self.lane(&coordinates), self.lane(&own));
                let other = domain.values(&lane) != domain.values(&own);
                let lane = other.then(|| domain.simplified(lane));
                Ok(Read::Register { array: *array, place, lane })
            }
            None => Err(format!("no array `{array}`")),
        }
    }

    /// Makes the array on the left-hand side; returns its number and, for each index, the lane axis that it is.
    fn make(&mut self, to: &'s Reference) -> (usize, Vec<Option<usize>>) {
        let name = to.array.text.as_str();
        let array = &self.sketch.arrays[name];
        let lanes = &self.kernel.lanes.axes;
        let axes = array.axes.iter().map(|axis| lanes.iter().position(|lane| lane.0 == *axis));
        let axes: Vec<Option<usize>> = axes.collect();
        let extents = array.shape.iter().zip(&axes).filter(|(_, axis)| axis.is_none());
        let extents = extents.map(|(extent, _)| *extent).collect();
        let number = self.kernel.arrays.len();
        self.kernel.arrays.push(Registers { name: name.to_owned(), extents });
        (number, axes)
    }

    /// The indices of a left-hand side that are no lanes.
    fn place(
        &self,
        to: &Reference,
        indices: &[Expr],
        axes: &[Option<usize>],
        domain: &Domain,
    ) -> Result<Vec<Expr>, String> {
        let mut place = Vec::new();
        for (index, axis) in indices.iter().zip(axes) {
            match axis {
                None => place.push(domain.simplified(index.clone())),
                Some(axis) => {
                    let own = Expr::name(&self.kernel.lanes.axes[*axis].0);
                    if domain.values(index) != domain.values(&own) {
                        let name = &to.array.text;
                        return Err(format!(
                            "`{name}[{index}]`: a lane writes its own values only"
                        ));
                    }
                }
            }
        }
        Ok(place)
    }

    fn movement(&mut self, to: &'s Reference, from: &Reference) -> Result<(), String> {
        let loops = self.loops([to, from]);
        let domain = self.domain(&loops);
        let scattered = to.indices.iter().enumerate().find_map(|(at, index)| match index {
            Index::Hole(_) => Some(at),
            Index::Plain(_) => None,
        });
        let before = self.hole;
        let mut lhs = self.indices(to);
        let mut rhs = self.indices(from);
        let mut rotation = None;
        if let Some(at) = scattered {
            let coordinate = self.sketch.arrays[&to.array.text].axes[at].clone();
            let index = std::mem::replace(&mut lhs[at], Expr::name(&coordinate));
            rotation = self.scattered(to, at, &index, &lhs, from, &rhs, &loops);
            if rotation.is_none() {
                let inverse = self.inverse(before, &coordinate);
                let put = |name: &str| (name == coordinate).then(|| inverse.clone());
                rhs = rhs.iter().map(|index| replaced(index, &put)).collect();
            }
        }
        let (array, axes) = self.make(to);
        let place = self.place(to, &lhs, &axes, &domain)?;
        let what = match rotation {
            Some(rotation) => What::Rotation(rotation),
            None => {
                let read = self.read(&from.array.text, rhs, &domain)?;
                let rotation = match &read {
                    Read::Register { array, place, lane: None } => {
                        let extents = &self.kernel.arrays[*array].extents;
                        let lanes = &self.kernel.lanes;
                        rotation::gather(*array, place, extents, &loops, lanes)
                    }
                    _ => None,
                };
                rotation.map_or(What::Read(read), What::Rotation)
            }
        };
        let loops = match &what {
            What::Rotation(rotation) => {
                Domain::of(rotation.outer.axes.iter().chain(&rotation.inner.axes))
            }
            _ => loops,
        };
        self.sources.insert(&to.array.text, Source::Array(array, axes));
        let found = self.hole > before;
        self.kernel.steps.push(Step { to: array, loops, place, what, found });
        Ok(())
    }

    /// A scatter as a rotation of registers, if it is one. `index` is the found expression for the index number `at`,
    /// and `to` has the coordinate of the row in that place.
    #[expect(clippy::too_many_arguments, reason = "both sides of a statement")]
    fn scattered(
        &self,
        target: &Reference,
        at: usize,
        index: &Expr,
        to: &[Expr],
        source: &Reference,
        from: &[Expr],
        loops: &Domain,
    ) -> Option<Rotation> {
        let array = &self.sketch.arrays[&target.array.text];
        let lane = |axis: &String| is_lane(axis);
        let domain = self.domain(loops);
        let Read::Register { array: from, place, lane: None } =
            self.read(&source.array.text, from.to_vec(), &domain).ok()?
        else {
            return None;
        };
        if lane(&array.axes[at]) {
            return None;
        }
        let registers = to.iter().zip(&array.axes).filter(|(_, axis)| !lane(axis));
        let registers: Vec<Expr> = registers.map(|(index, _)| index.clone()).collect();
        let along = array.axes[..at].iter().filter(|axis| !lane(axis)).count();
        let row = (along, array.shape[at], index, &to[at]);
        let lanes = &self.kernel.lanes;
        rotation::scatter(from, &place, &registers, row, loops, lanes)
    }

    /// The inverse of the found expression of a scatter, along one of its coordinates: the axis that the scatter is
    /// along, which has as many places as the expression has values.
    fn inverse(&self, number: HoleId, coordinate: &str) -> Expr {
        let hole = &self.sketch.program.holes[number];
        let table = &self.solution.tables[number].raw;
        let [first, _] = hole.extents;
        let along = usize::from(hole.coordinates[0] != *coordinate);
        let mut inverse = vec![0u8; table.len()];
        for (point, &value) in table.iter().enumerate() {
            let (i, k) = (point % first, point / first);
            let (own, target) = match along {
                0 => (i, k * first + usize::from(value)),
                _ => (k, usize::from(value) * first + i),
            };
            match planted!(Bug::InverseForgotten) {
                true => inverse[point] = value,
                false => inverse[target] = own as u8,
            }
        }
        family::fitted(hole.extents, hole.values, &hole.coordinates, &inverse)
    }

    fn fold(&mut self, to: &'s Reference, folded: &Folded) -> Result<(), String> {
        let op = folded.operator.as_ref().and_then(|name| Fold::of(&name.text));
        let op = op.unwrap_or(Fold::Sum);
        if op == Fold::List {
            return Err("a list has no instruction".to_owned());
        }
        let loops = self.loops([to]);
        let axis = |name: &str| self.sketch.axes.iter().find(|axis| axis.0 == name).cloned();
        let inner = folded.axes.iter().filter_map(|name| axis(&name.text)).collect();
        let inner = Domain { axes: inner };
        if let Some((axis, _)) = inner.axes.iter().find(|axis| is_lane(&axis.0)) {
            return Err(format!(
                "a fold over `{axis}` reads other lanes: write a step in front of it"
            ));
        }
        let domain =
            Domain::of(loops.axes.iter().chain(&inner.axes).chain(&self.kernel.lanes.axes));
        if domain.places() / self.kernel.lanes.places() > MOST_REGISTERS {
            return Err(format!("a fold has more than {MOST_REGISTERS} products"));
        }
        let lhs = self.indices(to);
        let mut parts = Vec::new();
        for part in &folded.parts {
            let mut when = None;
            for own in &part.when {
                let own = match own {
                    When::Compare(cmp, a, b) => {
                        let [a, b] = [a, b].map(|e| self.plain(&e.expr).into());
                        Expr::Compare(*cmp, a, b)
                    }
                    When::Hole(_) => self.found().1,
                };
                if domain.constant(&own) != Some(1) {
                    when = both(when, own);
                }
            }
            let mut factors = Vec::new();
            for factor in &part.factors {
                let indices = self.indices(factor);
                factors.push(self.read(&factor.array.text, indices, &domain)?);
            }
            parts.push(Part { loops: inner.clone(), factors, when });
        }
        let (array, axes) = self.make(to);
        let place = self.place(to, &lhs, &axes, &domain)?;
        self.sources.insert(&to.array.text, Source::Array(array, axes));
        self.kernel.steps.push(Step {
            to: array,
            loops,
            place,
            what: What::Fold(op, parts),
            found: true,
        });
        Ok(())
    }

    fn goal(&mut self, to: &Reference) -> Result<(), String> {
        match self.sources.get(to.array.text.as_str()) {
            Some(Source::Array(array, _)) if !self.kernel.goals.contains(array) => {
                self.kernel.goals.push(*array);
            }
            Some(Source::Array(..)) => {}
            _ => return Err(format!("`{}` is an input, which nothing writes", to.array.text)),
        }
        Ok(())
    }
}
