//! Executing a network on intervals of inputs, for one number of lanes.

use rustc_hash::FxHashMap;

use super::law::{Value, product};
use super::problem::{Network, SEGMENT, Slot};
use crate::synth::expr::Expr;

/// A number of lanes, and where segments begin and end.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// The number of lanes.
    pub lanes: usize,
    /// The first and the last lane of each lane's segment; all lanes are one segment if it is empty.
    pub segments: Vec<(i32, i32)>,
}

impl Instance {
    /// All lanes in one segment.
    pub(super) fn whole(lanes: usize) -> Instance {
        Instance { lanes, segments: Vec::new() }
    }

    /// Segments that begin at lane 0 and where `begins` says so.
    pub(super) fn segmented(lanes: usize, begins: impl Fn(usize) -> bool) -> Instance {
        let mut segments = vec![(0, lanes as i32 - 1); lanes];
        for lane in 1..lanes {
            segments[lane].0 = if begins(lane) { lane as i32 } else { segments[lane - 1].0 };
        }
        for lane in (0..lanes - 1).rev() {
            segments[lane].1 = if begins(lane + 1) { lane as i32 } else { segments[lane + 1].1 };
        }
        Instance { lanes, segments }
    }

    /// The first and the last lane of a lane's segment.
    pub(super) fn segment(&self, lane: usize) -> (i32, i32) {
        self.segments.get(lane).copied().unwrap_or((0, self.lanes as i32 - 1))
    }
}

/// Marks a place of a column that has no value.
pub(super) const NONE: i64 = i64::MIN;

/// The values of an expression: one for all lanes, or one for each.
#[derive(Clone, Debug)]
pub(super) enum Column {
    /// The same everywhere.
    One(i64),
    /// For each lane.
    Many(Vec<i64>),
}

impl Column {
    /// The value in a lane.
    pub(super) fn at(&self, lane: usize) -> i64 {
        match self {
            Column::One(value) => *value,
            Column::Many(values) => values[lane],
        }
    }
}

/// The names of one instance, in one round.
pub(super) struct Names<'a> {
    lane: &'a str,
    lanes: Vec<i64>,
    borders: [Vec<i64>; 2],
    /// The values of params.
    pub params: FxHashMap<String, i64>,
    /// The counting variable, and its value.
    pub round: (&'a str, i64),
}

impl<'a> Names<'a> {
    /// The names of an instance.
    pub(super) fn new(network: &'a Network, instance: &Instance) -> Names<'a> {
        let border = |which: fn((i32, i32)) -> i32| {
            (0..instance.lanes).map(|lane| i64::from(which(instance.segment(lane)))).collect()
        };
        let borders = match network.goal.segmented {
            true => [border(|segment| segment.0), border(|segment| segment.1)],
            false => [Vec::new(), Vec::new()],
        };
        Names {
            lane: &network.lane,
            lanes: (0..instance.lanes as i64).collect(),
            borders,
            params: network.params(instance.lanes),
            round: ("", 0),
        }
    }

    /// The values of an expression.
    pub(super) fn column(&self, expr: &Expr) -> Column {
        let both = |a: &Expr, b: &Expr, of: &dyn Fn(i64, i64) -> i64| {
            let of = |a: i64, b: i64| if a == NONE || b == NONE { NONE } else { of(a, b) };
            match (self.column(a), self.column(b)) {
                (Column::One(a), Column::One(b)) => Column::One(of(a, b)),
                (Column::Many(mut a), b) => {
                    a.iter_mut().enumerate().for_each(|(lane, a)| *a = of(*a, b.at(lane)));
                    Column::Many(a)
                }
                (a, Column::Many(mut b)) => {
                    b.iter_mut().enumerate().for_each(|(lane, b)| *b = of(a.at(lane), *b));
                    Column::Many(b)
                }
            }
        };
        match expr {
            Expr::Number(number) => Column::One(*number),
            Expr::Name(name) if **name == *self.lane => Column::Many(self.lanes.clone()),
            Expr::Name(name) if **name == *self.round.0 => Column::One(self.round.1),
            Expr::Name(name) => match SEGMENT.iter().position(|own| *own == &**name) {
                Some(which) if !self.borders[which].is_empty() => {
                    Column::Many(self.borders[which].clone())
                }
                _ => Column::One(self.params.get(&**name).copied().unwrap_or(NONE)),
            },
            Expr::Binary(op, a, b) => both(a, b, &|a, b| op.apply(a, b).unwrap_or(NONE)),
            Expr::Compare(cmp, a, b) => both(a, b, &|a, b| i64::from(cmp.holds(a, b))),
            // The grammar has no choices.
            Expr::Choose(..) => Column::One(NONE),
        }
    }
}

/// The required final value of each lane; none where any value is allowed.
pub(super) fn goals(network: &Network, names: &Names<'_>, instance: &Instance) -> Vec<Value> {
    let last = names.column(&network.goal.input);
    let only = network.goal.only.as_ref().map(|only| names.column(only).at(0));
    let goal = |lane: usize| {
        if only.is_some_and(|only| only != lane as i64) {
            return None;
        }
        let (head, tail) = instance.segment(lane);
        let at = i32::try_from(last.at(lane)).ok()?;
        let interval = if network.goal.backward { (at, tail) } else { (head, at) };
        (head <= interval.0 && interval.0 <= interval.1 && interval.1 <= tail).then_some(interval)
    };
    (0..instance.lanes).map(goal).collect()
}

/// The initial values of the lanes.
pub(super) fn initial(names: &Names<'_>, index: &Expr, lanes: usize) -> Vec<Value> {
    let index = names.column(index);
    let value = |lane: usize| {
        let at = i32::try_from(index.at(lane)).ok()?;
        (0..lanes as i32).contains(&at).then_some((at, at))
    };
    (0..lanes).map(value).collect()
}

/// The expressions of a solution: for each hole one, or the conditions that all have to hold.
pub(super) type Choice = [Vec<Expr>];

/// The pairs of source and target of each step.
pub(super) type Trace = Vec<Vec<(u32, u32)>>;

/// The expression in a slot.
pub(super) fn filled<'e>(slot: &'e Slot, choice: &'e Choice) -> &'e Expr {
    match slot {
        Slot::Fixed(expr) => expr,
        Slot::Hole(hole) => &choice[*hole][0],
    }
}

/// Executes a network: how many lanes hold something else than they have to; `None` where a bound of a repeat has no
/// value.
pub(super) fn run(
    network: &Network,
    choice: &Choice,
    behind: bool,
    instance: &Instance,
    mut trace: Option<&mut Trace>,
) -> Option<usize> {
    let mut names = Names::new(network, instance);
    let rounds = network.rounds(&names.params)?;
    let lanes = instance.lanes;
    let mut values = initial(&names, filled(&network.initial, choice), lanes);
    for (number, value) in rounds {
        let repeat = &network.repeats[number];
        names.round = (&repeat.variable, value);
        for stage in &repeat.stages {
            let source = names.column(filled(&stage.source, choice));
            let found = stage.guard.map_or(&[][..], |hole| &choice[hole]);
            let guards: Vec<Column> =
                stage.guards.iter().chain(found).map(|guard| names.column(guard)).collect();
            let old = values.clone();
            let mut pairs = Vec::new();
            for (lane, value) in values.iter_mut().enumerate() {
                if guards.iter().any(|guard| guard.at(lane) != 1) {
                    continue;
                }
                let from = usize::try_from(source.at(lane)).ok().filter(|from| *from < lanes);
                let other = from.and_then(|from| old[from]);
                let (a, b) = if stage.behind != behind { (*value, other) } else { (other, *value) };
                *value = product(a, b, network.law());
                pairs.extend(from.map(|from| (from as u32, lane as u32)));
            }
            if let Some(trace) = trace.as_deref_mut() {
                trace.push(pairs);
            }
        }
    }
    let goals = goals(network, &names, instance);
    let wrong = |lane: &usize| goals[*lane].is_some() && goals[*lane] != values[*lane];
    Some((0..lanes).filter(wrong).count())
}
