//! Which lanes have to combine in which step, where the sources of all steps are known.
//!
//! Forward: everything that a lane could hold after each step, whatever lanes do. Backward from the goals: each lane
//! has to hold one value, and either held it before or gets it now; the values that other lanes have to hold for that
//! become requirements on them. The search goes through these choices, fewest combinations first.

use super::law::{Law, Value, product};

/// One step in one instance: for each lane its source, whether it may combine, and whether it has to.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The sources; beyond the lanes there is none.
    pub source: Vec<i64>,
    /// Whether a value goes behind the lane's own.
    pub behind: bool,
    /// Whether a lane combines, as far as that is known.
    pub fixed: Vec<Option<bool>>,
}

/// The plan of the lanes: for each step, whether each lane combines; none where both are allowed.
pub(super) type Plan = Vec<Vec<Option<bool>>>;

/// How many choices are tried for one instance.
const MOST_TRIED: usize = 20_000;

/// How many more are tried for a better plan, once there is one.
const MOST_BETTER: usize = 1500;

/// How many different values of one lane are followed.
const MOST_VALUES: usize = 64;

struct Resolver<'r> {
    steps: &'r [Step],
    /// The values that each lane may hold before each step, and in the end.
    sets: Vec<Vec<Vec<Value>>>,
    law: Law,
    tried: usize,
    /// How many were tried when the first plan was there.
    first: usize,
    operations: usize,
    plan: Plan,
    best: Option<(usize, Plan)>,
}

/// The plan with the fewest combinations with which every goal is met, as far as that was tried; `cut` becomes true
/// where a bound has left out some and none was found.
pub(super) fn resolve(
    steps: &[Step],
    initial: &[Value],
    goals: &[Value],
    law: Law,
    cut: &mut bool,
) -> Option<(usize, Plan)> {
    let lanes = initial.len();
    let mut sets = vec![initial.iter().map(|value| vec![*value]).collect::<Vec<_>>()];
    for step in steps {
        let old = &sets[sets.len() - 1];
        let mut new = old.clone();
        for lane in 0..lanes {
            if step.fixed[lane] == Some(false) {
                continue;
            }
            if step.fixed[lane] == Some(true) {
                new[lane].clear();
            }
            let Some(from) = usize::try_from(step.source[lane]).ok().filter(|from| *from < lanes)
            else {
                continue;
            };
            for &own in &old[lane] {
                for &other in &old[from] {
                    let (a, b) = if step.behind { (own, other) } else { (other, own) };
                    let value = product(a, b, law);
                    if value.is_some()
                        && !new[lane].contains(&value)
                        && new[lane].len() < MOST_VALUES
                    {
                        new[lane].push(value);
                    }
                }
            }
        }
        sets.push(new);
    }
    let reached =
        |lane: usize| goals[lane].is_none() || sets[steps.len()][lane].contains(&goals[lane]);
    // The lanes at the ends have the most to get.
    if !reached(lanes - 1) || !(0..lanes).all(reached) {
        return None;
    }
    let plan = vec![vec![None; lanes]; steps.len()];
    let mut resolver =
        Resolver { steps, sets, law, tried: 0, first: 0, operations: 0, plan, best: None };
    resolver.before(steps.len(), goals);
    *cut |= resolver.best.is_none() && resolver.tried > MOST_TRIED;
    resolver.best
}

impl Resolver<'_> {
    /// Tries the lanes' actions in the step before a place where they have to hold `wanted`.
    fn before(&mut self, place: usize, wanted: &[Value]) {
        if place == 0 {
            let fewer = self.best.as_ref().is_none_or(|best| self.operations < best.0);
            if self.best.is_none() {
                self.first = self.tried;
            }
            if fewer {
                self.best = Some((self.operations, self.plan.clone()));
            }
            return;
        }
        let mut below = vec![None; wanted.len()];
        self.lane(place - 1, 0, wanted, &mut below);
    }

    fn lane(&mut self, step: usize, lane: usize, wanted: &[Value], below: &mut [Value]) {
        self.tried += 1;
        let dear = self
            .best
            .as_ref()
            .is_some_and(|best| self.operations >= best.0 || self.tried > self.first + MOST_BETTER);
        if dear || self.tried > MOST_TRIED {
            return;
        }
        if lane == wanted.len() {
            let below = below.to_vec();
            self.before(step, &below);
            return;
        }
        let known = self.steps[step].fixed[lane];
        if wanted[lane].is_none() {
            self.plan[step][lane] = known;
            self.lane(step, lane + 1, wanted, below);
            return;
        }
        let want = wanted[lane];
        let open =
            |below: &[Value], at: usize, value: Value| below[at].is_none() || below[at] == value;
        if known != Some(true) && self.sets[step][lane].contains(&want) && open(below, lane, want) {
            let old = below[lane];
            below[lane] = want;
            self.plan[step][lane] = Some(false);
            self.lane(step, lane + 1, wanted, below);
            below[lane] = old;
        }
        let source = usize::try_from(self.steps[step].source[lane]).ok();
        let Some(from) = source.filter(|from| *from < wanted.len() && known != Some(false)) else {
            return;
        };
        for own in self.sets[step][lane].clone() {
            for other in self.sets[step][from].clone() {
                let (a, b) = if self.steps[step].behind { (own, other) } else { (other, own) };
                let fits = product(a, b, self.law) == want
                    && open(below, lane, own)
                    && open(below, from, other)
                    && (from != lane || own == other);
                if !fits {
                    continue;
                }
                let old = (below[lane], below[from]);
                (below[lane], below[from]) = (own, other);
                self.plan[step][lane] = Some(true);
                self.operations += 1;
                self.lane(step, lane + 1, wanted, below);
                self.operations -= 1;
                (below[from], below[lane]) = (old.1, old.0);
            }
        }
    }
}
