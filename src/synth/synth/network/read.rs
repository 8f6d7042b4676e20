//! From the tree of a network's sketch to the checked problem.

mod holes;

use super::ast::{Item, Repeat as RepeatText, Scan, Step};
use super::order::Measure;
use super::problem::{
    Drawn, Goal, Kind, MOST_LANES, MOST_STEPS, Network, Repeat, SEGMENT, Slot, Stage,
};
use crate::source::{Diagnostic, SourceFile, Span};
use crate::synth::ast::{Index, Name, Reference, Spanned, Statement};
use crate::synth::declared::{at_end, is_there, measures};
use crate::synth::expr::Expr;
use crate::synth::lower::Defines;

struct Reader<'s> {
    source: &'s SourceFile,
    network: Network,
    input: Option<Name>,
    state: Option<(Name, Slot)>,
    goal: Option<Goal>,
    known: Vec<String>,
}

/// Reads the sketch of a network.
///
/// # Errors A contradiction in the sketch, with its place.
pub fn problem(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
) -> Result<Network, Diagnostic> {
    let segmented = tree.iter().any(
        |statement| matches!(statement, Statement::Network(Item::Goal(goal)) if goal.segmented),
    );
    let goal = Goal {
        only: None,
        input: Expr::Number(0),
        backward: false,
        segmented,
        span: Span::new(0, 0),
    };
    let network = Network {
        texts: Vec::new(),
        given: defines.to_vec(),
        lane: String::new(),
        lanes: 0,
        size: None,
        idempotent: false,
        initial: Slot::Fixed(Expr::Number(0)),
        repeats: Vec::new(),
        goal,
        holes: Vec::new(),
        drawn: None,
        relaxed: tree
            .iter()
            .any(|statement| matches!(statement, Statement::Network(Item::Repeat(r)) if r.relax)),
        order: Vec::new(),
    };
    let mut reader =
        Reader { source, network, input: None, state: None, goal: None, known: Vec::new() };
    if segmented {
        reader.known.extend(SEGMENT.map(str::to_owned));
    }
    for statement in tree {
        reader.statement(statement)?;
    }
    reader.finish()
}

impl Reader<'_> {
    fn error(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        self.source.diagnostic(span, message)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Diagnostic> {
        match statement {
            Statement::Param(name, value) => {
                self.fresh(name)?;
                self.names(value, None)?;
                self.network.texts.push((name.text.clone(), value.expr.clone()));
                self.known.push(name.text.clone());
                if !self.network.params(0).contains_key(&name.text) {
                    return Err(self.error(value.span, "this has no value"));
                }
            }
            Statement::Axis(axes) => {
                let (name, extent) = &axes[0];
                if axes.len() > 1 || !self.network.lane.is_empty() {
                    let message = "a network has one axis, that of its lanes";
                    return Err(self.error(axes[axes.len() - 1].0.span, message));
                }
                self.fresh(name)?;
                self.names(extent, None)?;
                let params = self.network.params(0);
                let lanes = extent.expr.value(&|name| params.get(name).copied());
                let lanes = lanes.and_then(|lanes| usize::try_from(lanes).ok());
                let Some(lanes) = lanes.filter(|lanes| (2..=MOST_LANES).contains(lanes)) else {
                    let message = format!("a network has 2 to {MOST_LANES} lanes");
                    return Err(self.error(extent.span, message));
                };
                if let Expr::Name(param) = &extent.expr {
                    self.network.size = Some(param.to_string());
                }
                self.network.lane = name.text.clone();
                self.network.lanes = lanes;
            }
            Statement::Input(inputs) => {
                let input = &inputs[inputs.len() - 1];
                if inputs.len() > 1 || self.input.is_some() {
                    return Err(self.error(input.span, "a network has one input"));
                }
                let plain = self.index(input)?;
                if !matches!(plain, Index::Plain(extent) if self.is_lane(&extent.expr)) {
                    let message = "the input of a network has one element for each lane";
                    return Err(self.error(input.span, message));
                }
                self.input = Some(input.array.clone());
            }
            Statement::Minimise(names) => {
                let all = Measure::ALL.map(|measure| (measure.name(), measure));
                self.network.order.extend(measures(self.source, names, &all)?);
            }
            Statement::Network(item) => self.item(item)?,
            Statement::Place(_) | Statement::Loop(_) => {
                let message = "a network has neither arrays in shared memory nor serial loops";
                return Err(at_end(self.source, message));
            }
            Statement::Family(name, ..) => {
                return Err(self.error(name.span, "a network has no families of its own"));
            }
            Statement::Move(target, _)
            | Statement::Fold(target, _)
            | Statement::Goal(target, _) => {
                let message = "steps of a network stand in a `repeat`, and its goal is a `scan`";
                return Err(self.error(target.span, message));
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> Result<(), Diagnostic> {
        match item {
            Item::Laws(laws) => {
                for law in laws {
                    match law.text.as_str() {
                        "associative" => {}
                        "idempotent" => self.network.idempotent = true,
                        other => {
                            let message = format!("`{other}` is not a law of a network's operator");
                            let error = self.error(law.span, message);
                            return Err(error.with_hint("`associative` or `idempotent`"));
                        }
                    }
                }
                if laws.iter().all(|law| law.text != "associative") {
                    return Err(self.error(laws[0].span, "the operator has to be associative"));
                }
            }
            Item::State(state, from) => {
                self.lane_of(state)?;
                let right = self.input.as_ref().is_some_and(|input| input.text == from.array.text);
                if !right || self.state.is_some() {
                    let message = "the state is set once, from the input";
                    return Err(self.error(from.span, message));
                }
                let index = self.index(from)?.clone();
                let slot = self.slot(&index, Kind::Initial, None, self.network.relaxed)?;
                self.state = Some((state.array.clone(), slot));
            }
            Item::Repeat(repeat) => self.repeat(repeat)?,
            Item::Example(example) => {
                self.names(&example.lanes, None)?;
                let params = self.network.params(self.network.lanes);
                let lanes = example.lanes.expr.value(&|name| params.get(name).copied());
                let lanes = lanes.and_then(|lanes| usize::try_from(lanes).ok());
                let Some(lanes) = lanes.filter(|lanes| (2..=64).contains(lanes)) else {
                    return Err(self.error(example.lanes.span, "a drawn network has 2 to 64 lanes"));
                };
                if self.network.size.is_none() && lanes != self.network.lanes {
                    let message =
                        format!("the sketch has {} lanes and no other number", self.network.lanes);
                    let error = self.error(example.lanes.span, message);
                    return Err(error.with_hint("let a `param` be the extent of the axis"));
                }
                for step in &example.steps {
                    let mut targets = Vec::new();
                    for &(source, target, span) in step {
                        if source.max(target) as usize >= lanes {
                            return Err(self.error(span, format!("there are {lanes} lanes")));
                        }
                        if source == target || targets.contains(&target) {
                            let message = "a lane takes one value of another lane in a step";
                            return Err(self.error(span, message));
                        }
                        targets.push(target);
                    }
                }
                let drawn = Drawn { lanes, steps: example.steps.clone(), span: example.span };
                self.network.drawn = Some(drawn);
            }
            Item::Goal(goal) => self.goal(goal)?,
        }
        Ok(())
    }

    fn goal(&mut self, goal: &Scan) -> Result<(), Diagnostic> {
        let only = match self.index(&goal.of)? {
            Index::Plain(plain) if self.is_lane(&plain.expr) => None,
            Index::Plain(plain) => {
                self.names(plain, None)?;
                Some(plain.expr.clone())
            }
            Index::Hole(_) => return Err(self.error(goal.of.span, "a goal has no holes")),
        };
        if self.state.as_ref().is_none_or(|(state, _)| state.text != goal.of.array.text) {
            return Err(self.error(goal.of.span, "a goal is about the state"));
        }
        if self.input.as_ref().is_none_or(|input| input.text != goal.input.array.text) {
            return Err(self.error(goal.input.span, "a scan is one of the input"));
        }
        if self.goal.is_some() {
            return Err(self.error(goal.span, "a network has one goal"));
        }
        let Index::Plain(input) = self.index(&goal.input)? else {
            return Err(self.error(goal.input.span, "a goal has no holes"));
        };
        self.names(input, Some(""))?;
        self.goal = Some(Goal {
            only,
            input: input.expr.clone(),
            backward: goal.backward,
            segmented: goal.segmented,
            span: goal.span,
        });
        Ok(())
    }

    fn repeat(&mut self, repeat: &RepeatText) -> Result<(), Diagnostic> {
        let Some((state, _)) = self.state.clone() else {
            return Err(self.error(repeat.span, "a `state` stands before what changes it"));
        };
        self.fresh(&repeat.variable)?;
        self.names(&repeat.from, None)?;
        self.names(&repeat.to, None)?;
        let number = self.network.repeats.len();
        let (variable, own) = (repeat.variable.text.as_str(), state.text.as_str());
        let mut stages = Vec::new();
        let mut steps = repeat.steps.iter();
        while let Some(step) = steps.next() {
            let gathers = step.with.is_none()
                && step.from.array.text == state.text
                && step.target.array.text != state.text;
            if !gathers {
                let name = &state.text;
                let message = format!("here a value of `{name}` has to be taken");
                let error = self.error(step.span, message);
                return Err(error.with_hint(format!("`step t[lane] = {name}[?fit(lane, 2 ** s)]`")));
            }
            self.lane_of(&step.target)?;
            let taken = step.target.array.text.as_str();
            let combined = |step: &&Step| {
                let with = step.with.as_ref().map(|with| with.array.text.as_str());
                let pair = [Some(step.from.array.text.as_str()), with];
                step.target.array.text == state.text
                    && (pair == [Some(taken), Some(own)] || pair == [Some(own), Some(taken)])
            };
            let Some(combine) = steps.next().filter(combined) else {
                let message = format!("`{taken}` has to be combined with `{}` next", state.text);
                let error = self.error(step.span, message);
                let hint = format!("`step {0}[lane] = {taken}[lane] * {0}[lane]`", state.text);
                return Err(error.with_hint(hint));
            };
            for reference in [Some(&combine.target), Some(&combine.from), combine.with.as_ref()] {
                reference.map_or(Ok(()), |reference| self.lane_of(reference))?;
            }
            let index = self.index(&step.from)?.clone();
            let source = self.slot(&index, Kind::Source, Some((variable, number)), repeat.relax)?;
            let (guards, guard) = self.guards(combine, (variable, number), repeat.relax)?;
            let behind = combine.from.array.text == state.text;
            stages.push(Stage { source, guards, guard, behind, span: combine.span });
        }
        self.network.repeats.push(Repeat {
            variable: variable.to_owned(),
            from: repeat.from.expr.clone(),
            to: repeat.to.expr.clone(),
            stages,
        });
        if self.network.rounds(&self.network.params(self.network.lanes)).is_none() {
            let message = format!("a repeat has at most {MOST_STEPS} rounds");
            return Err(self.error(repeat.from.span, message));
        }
        Ok(())
    }

    fn is_lane(&self, expr: &Expr) -> bool {
        !self.network.lane.is_empty()
            && matches!(expr, Expr::Name(name) if **name == *self.network.lane)
    }

    /// The only index of a reference.
    fn index<'r>(&self, reference: &'r Reference) -> Result<&'r Index, Diagnostic> {
        match reference.indices.as_slice() {
            [index] => Ok(index),
            _ => Err(self.error(reference.span, "arrays of a network have one index")),
        }
    }

    /// Refuses references that are not of the lane itself.
    fn lane_of(&self, reference: &Reference) -> Result<(), Diagnostic> {
        match self.index(reference)? {
            Index::Plain(plain) if self.is_lane(&plain.expr) => Ok(()),
            _ => {
                let message = "here the index is the axis of lanes itself";
                Err(self.error(reference.span, message))
            }
        }
    }

    fn fresh(&self, name: &Name) -> Result<(), Diagnostic> {
        if self.known.contains(&name.text) || name.text == self.network.lane {
            return Err(is_there(self.source, name));
        }
        Ok(())
    }

    /// Refuses undefined names; `scope` is the counting variable, where lanes are known.
    fn names(&self, value: &Spanned, scope: Option<&str>) -> Result<(), Diagnostic> {
        let mut unknown = None;
        value.expr.names(&mut |name| {
            let segment = SEGMENT.contains(&name);
            let lanes = scope.is_some() && (name == self.network.lane || segment);
            let known = self.known.iter().any(|known| known == name);
            if !(known && (!segment || lanes) || lanes && !segment || scope == Some(name)) {
                unknown.get_or_insert(name.to_owned());
            }
        });
        match unknown {
            None => Ok(()),
            Some(name) => Err(self.error(value.span, format!("`{name}` stands for nothing here"))),
        }
    }

    fn finish(self) -> Result<Network, Diagnostic> {
        let end = self.source.text().trim_end().len();
        let lacks = |what: &str| {
            let message = format!("the sketch of a network has no {what}");
            Err(self.source.diagnostic(Span::new(end, end), message))
        };
        let Some((_, initial)) = self.state else { return lacks("`state`") };
        let Some(goal) = self.goal else { return lacks("goal") };
        let mut network = self.network;
        if network.repeats.is_empty() {
            return lacks("`repeat`");
        }
        (network.initial, network.goal) = (initial, goal);
        if network.order.is_empty() {
            network.order = vec![Measure::Depth, Measure::Shuffles, Measure::Instructions];
        }
        if let Some(drawn) = &network.drawn {
            let rounds = network.rounds(&network.params(drawn.lanes)).unwrap_or_default();
            let steps: usize =
                rounds.iter().map(|(repeat, _)| network.repeats[*repeat].stages.len()).sum();
            if steps != drawn.steps.len() {
                let message = format!(
                    "for {} lanes the repeats have {steps} steps, but {} are drawn",
                    drawn.lanes,
                    drawn.steps.len()
                );
                return Err(self.source.diagnostic(drawn.span, message));
            }
        }
        Ok(network)
    }
}
