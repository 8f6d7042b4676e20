//! Each planted mistake in the families, the search and the code is noticed: some sketch has other solutions, a
//! formula has other values than its table, or the code does not do what the goals say.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ptxasw::isa::ScalarType;
use ptxasw::planted::{self, Bug, Set};
use ptxasw::source::SourceFile;
use ptxasw::synth::emit::build::kernel;
use ptxasw::synth::emit::{self, check::check};
use ptxasw::synth::lower::lower;
use ptxasw::synth::parse;
use ptxasw::synth::search::{Limits, Mode, search};
use rayon::prelude::*;

use crate::common::noticed::assert_noticed;

/// The solutions whose code is executed.
const EXECUTED: usize = 4;

/// Small sketches that lead through everything in which a mistake is planted.
pub const SKETCHES: [&str; 22] = [
    // Structs, by selects around shuffles: groups, fans and quotients are needed.
    "axis lane = 8, reg = 2\ninput x[lane * reg]\nload a[lane, reg] = x[8 * reg + lane]
     step b[lane, reg] = a[lane, ?xform(reg; lane)]\nstep c[lane, reg] = b[?xform(lane; reg), reg]
     step d[lane, reg] = c[lane, ?xform(reg; lane)]\ngoal d[lane, reg] = x[2 * lane + reg]\n",
    "axis lane = 8, reg = 4\ninput x[lane * reg]\nload a[lane, reg] = x[8 * reg + lane]
     step b[lane, reg] = a[lane, ?xform(reg; lane)]\nstep c[lane, reg] = b[?xform(lane; reg), reg]
     step d[lane, reg] = c[lane, ?xform(reg; lane)]\ngoal d[lane, reg] = x[4 * lane + reg]\n",
    "axis lane = 8, reg = 3\ninput x[lane * reg]\nload a[lane, reg] = x[8 * reg + lane]
     step b[lane, reg] = a[?xform(lane; reg), reg]\nstep c[lane, reg] = b[lane, ?xform(reg; lane)]
     step d[lane, reg] = c[?xform(lane; reg), reg]\ngoal d[lane, reg] = x[3 * lane + reg]\n",
    // One hole, whatever it is.
    "axis lane = 12\ninput x[lane]\nload a[lane] = x[lane]\nstep b[lane] = a[?xform(lane)]
     goal b[lane] = x[lane / 4 * 4 + (lane + 1) % 4]\n",
    "axis lane = 8, reg = 4\ninput x[lane]\nload a[lane] = x[lane]\nstep b[lane, reg] = a[?xform(lane; reg)]
     goal b[lane, reg] = x[(lane + reg / 2) % 8]\n",
    "axis lane = 8\ninput x[lane]\nload a[lane] = x[lane]\nstep b[lane] = a[?xform(lane)]
     goal b[lane] = x[(lane * 2 + (lane / 4 + 1) % 2) % 8]\n",
    // Scatters.
    "axis lane = 8, reg = 6\ninput x[lane * reg]\nload a[lane, reg] = x[8 * reg + lane]
     step b[lane, ?linear(reg; lane)] = a[lane, reg]\nstep c[lane, reg] = b[?linear(lane; reg), reg]
     step d[lane, reg] = c[lane, ?linear(reg; lane)]\ngoal d[lane, reg] = x[6 * lane + reg]\n",
    "axis lane = 8, reg = 3\ninput x[lane, reg]\nload a[lane, reg] = x[lane, reg]
     step b[?rot(lane; reg), reg] = a[lane, reg]\ngoal b[lane, reg] = x[(lane - 2 * reg) % 8, reg]\n",
    // Windows: conditions, parts, loads beyond the input.
    "axis lane = 8, reg = 2, k = 5\ninput x[lane + k - 1], w[k]\nload a[lane, reg] = x[8 * reg + lane]
     step s[lane, k] = a[lane, ?part(lane, k)]\nstep r[lane, k] = s[?xform(lane; k), k]
     fold y[lane] = sum(k) w[k] * r[lane, k] when ?cond(lane, k)\ngoal y[lane] = sum(k) w[k] * x[lane + k]\n",
    "axis lane_y = 4, lane_x = 2, p = 2, row = 2\ninput x[lane_y + p, lane_x]
     load a[lane_y, lane_x, row] = x[4 * row + lane_y, lane_x]\nstep b[lane_y, lane_x, p] = a[lane_y, lane_x, ?part(lane_y, p)]
     step c[lane_y, lane_x, p] = b[?xform(lane_y; p), lane_x, p]\nfold y[lane_y, lane_x] = sum(p) c[lane_y, lane_x, p]
     goal y[lane_y, lane_x] = sum(p) x[lane_y + p, lane_x]\n",
    // Products.
    "axis lane = 8, k = 8\ninput x[lane], y[lane]\nload a[lane] = x[lane]\nload b[lane] = y[lane]
     step s[lane, k] = a[?xform(lane; k)]\nstep t[lane, k] = b[?xform(lane; k)]
     fold low[lane] = sum(k) s[lane, k] * t[lane, k] when ?cond(lane, k)
     fold high[lane] = sum(k) s[lane, k] * t[lane, k] when ?cond(lane, k)
     goal low[lane] = sum(k) x[k] * y[(lane - k) % 8] when k <= lane
     goal high[lane] = sum(k) x[k] * y[(lane - k) % 8] when k > lane\n",
    // A value that takes part often, and one that need not come through the second step.
    "axis lane = 4, k = 3\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?xform(lane; k)]
     fold y[lane] = sum(k) s[lane, k]\ngoal y[lane] = sum(k) x[0]\n",
    "axis lane = 4, k = 1\ninput x[lane], z[lane]\nload a[lane] = x[lane]\nload e[lane] = z[lane]\nstep b[lane] = a[?rot(lane)]
     step c[lane] = e[?rot(lane)]\nfold y[lane] = sum(k) b[lane], c[lane]\ngoal y[lane] = sum(k) x[(lane + 1) % 4], z[lane]\n",
    // Folds of nothing, and of what a condition lets in.
    "axis lane = 8, k = 4\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?rot(lane; k)]
     fold y[lane] = and(k) s[lane, k] when ?cond(lane, k)\ngoal y[lane] = and(k) x[(lane + k) % 8] when k <= lane - 1\n",
    "axis lane = 8, k = 4\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?rot(lane; k)]
     fold y[lane] = sum(k) s[lane, k] when ?cond(lane, k)\ngoal y[lane] = sum(k) x[(lane + k) % 8] when k + 1 < lane\n",
    "axis lane = 8, k = 4\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?rot(lane; k)]
     fold y[lane] = sum(k) s[lane, k] when ?cond(lane, k)\ngoal y[lane] = sum(k) x[(lane + k) % 8] when k <= 1 - lane\n",
    // The same value several times: how often, and in which of the places.
    "axis lane = 4, k = 3\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?rot(lane; k)]
     fold y[lane] = sum(k) s[lane, k]\ngoal y[lane] = sum(k) x[(lane + k / 2) % 4]\n",
    "axis lane = 4, k = 2\ninput x[lane]\nload a[lane] = x[lane]\nstep s[lane, k] = a[?rot(lane)]
     fold y[lane] = sum(k) s[lane, k] when ?cond(lane, k)\ngoal y[lane] = sum(k) x[(lane + 1) % 4] when k = 0\n",
    "axis lane = 4, k = 3\ninput x[lane], y[lane]\nload a[lane] = x[lane]\nload b[lane] = y[lane]
     step s[lane, k] = a[?rot(lane; k)]\nstep t[lane, k] = b[?rot(lane; k)]\nfold z[lane] = sum(k) s[lane, k] * t[lane, k]
     goal z[lane] = sum(k) x[lane] * y[(lane + k) % 4]\n",
    // Fitted and listed expressions; the cheapest of several solutions.
    "axis lane = 6, reg = 2\ninput x[lane]\nfamily own(i) = (i + 2) % 6, i, (i + 1) % 6\nload a[lane] = x[lane]
     step b[lane] = a[?own(lane)]\nstep c[lane, reg] = b[?fit(lane; reg)]\nstep d[lane, reg] = c[?rot(lane), reg]
     goal d[lane, reg] = x[(lane + 3 * reg) % 6]\n",
    "axis lane = 4, reg = 3\ninput x[lane, reg]\nload a[lane, reg] = x[lane, reg]\nstep b[lane, reg] = a[lane, ?table(reg)]
     step c[lane, reg] = b[lane, ?table(reg)]\ngoal c[lane, 0] = x[lane, 2]\ngoal c[lane, 1] = x[lane, 1]\n",
    // Enough registers that steps run along an axis together.
    "axis lane = 32, k = 32\ninput x[lane], y[lane]\nfamily one(i; k) = (i + k) % 32, k\nload a[lane] = x[lane]
     load b[lane] = y[lane]\nstep s[lane, k] = a[?one(lane; k)]\nstep t[lane, k] = b[?one(lane; k)]
     fold z[lane] = sum(k) s[lane, k] * t[lane, k]\ngoal z[lane] = sum(k) x[k] * y[(lane + k) % 32]\n",
];

/// The outcome of one sketch; a mistake in the sketch itself is an error.
fn outcome(text: &str) -> Result<String, String> {
    let source = SourceFile::new("sketch", text);
    let tree = parse(&source).map_err(|error| error.to_string())?;
    let mut sketch = lower(&source, &tree, &[], 3).map_err(|error| error.to_string())?;
    let mut limits =
        Limits { mode: Mode::All, tables: 200_000, solutions: 200, stop: None, progress: None };
    let found = search(&mut sketch.program, &limits);
    let mut outcome = format!("{} {}", found.count, found.exhaustive);
    for solution in &found.solutions {
        outcome.push_str(&format!(" {:?}", solution.tables));
    }
    for solution in found.solutions.iter().take(EXECUTED) {
        for (hole, (table, recipe)) in
            sketch.program.holes.iter().zip(solution.tables.iter().zip(&solution.recipes))
        {
            let expression = hole.family.expression(&table.raw, recipe);
            for (point, value) in table.iter().enumerate() {
                let at = [point % hole.extents[0], point / hole.extents[0]];
                let of = |name: &str| {
                    let at = hole.coordinates.iter().position(|own| own == name).map(|c| at[c]);
                    at.map(|at| at as i64)
                };
                if expression.value(&of) != Some(i64::from(*value)) {
                    return Err(format!("{expression} is not {table:?}"));
                }
            }
        }
        let kernel = kernel("planted", &tree, &sketch, solution)?;
        let code = emit::ptx(&kernel, "", ScalarType::B64)?;
        check(&kernel, &sketch, &code, "planted_kernel", ScalarType::B64)?;
    }
    limits.mode = Mode::Cheapest;
    let found = search(&mut sketch.program, &limits);
    let cheapest = found.solutions.first();
    Ok(format!("{outcome} {:?}", cheapest.map(|cheapest| (&cheapest.tables, cheapest.cost))))
}

#[test]
fn each_planted_mistake_is_noticed() {
    let right: Vec<String> = SKETCHES
        .par_iter()
        .map(|text| outcome(text).unwrap_or_else(|why| panic!("{text}\n{why}")))
        .collect();
    assert!(right.iter().all(|right| !right.starts_with("0 ")), "{right:#?}");
    let places: Vec<String> =
        (0..SKETCHES.len()).map(|number| format!("sketch {number}")).collect();
    assert_noticed("sketches", &Bug::of(Set::Synthesis), &places, |bug, place| {
        let run = AssertUnwindSafe(|| planted::with(bug, || outcome(SKETCHES[place])));
        // A panic is an assertion of the program's own that has noticed it.
        !catch_unwind(run).is_ok_and(|planted| planted.as_ref() == Ok(&right[place]))
    });
}
