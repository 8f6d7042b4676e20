//! A simulator's results: speed-ups of versions (the paper's figure 2) and the uses of the schedulers' issue slots (its
//! figure 3), one pair of drawings for each machine.

use maud::{Markup, PreEscaped, html};
use svg::Document;
use svg::node::element::{Group, Line, Rectangle, Title};

use super::bars::{class, label};
use super::drawing::round;
use super::input::{Simulated, SimulatedVersion, Simulation};

/// Units of a drawing; one is a pixel where the page is wide enough.
const WIDTH: f64 = 1000.0;
const LABEL: f64 = 210.0;
const NOTE: f64 = 150.0;
const BAR: f64 = 6.0;
const GAP: f64 = 8.0;
const AXIS: f64 = 26.0;

/// Characters of the longest name that is shown in full, and the width of one.
const LONGEST_LABEL: usize = 44;
const CHARACTER: f64 = 7.0;

/// A group of bars is at least as high as a line of text.
const LEAST: f64 = 13.0;

/// The marks of the logarithmic axis of speed-ups that are drawn where the numbers reach them.
const MARKS: [f64; 11] = [0.125, 0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0, 8.0];

/// The parts of a scheduler's turns: class, name.
const SLOTS: [(&str, &str); 4] = [
    ("issued", "an instruction is issued"),
    ("unit", "the unit takes none"),
    ("operand", "an operand is waited for"),
    ("idle", "no warp has an instruction"),
];

/// The drawings of one file.
pub(super) fn section(simulation: &Simulation) -> Markup {
    html! {
        section {
            h2 { (simulation.title) ", simulated" }
            p.legend { (simulation.date) "; " (simulation.simulator) "." }
            @for (index, configuration) in simulation.configurations.iter().enumerate() {
                @let runs = runs(simulation, &configuration.name);
                @let names = names(&runs);
                @if !runs.is_empty() {
                    details.figure open[index == 0] {
                        summary { (configuration.name) ": " (configuration.machine) }
                        figure {
                            div.wide { (PreEscaped(speedups(&runs))) }
                            figcaption {
                                @for name in &names { span.key.(class(name)) {} " " (name) " " }
                                br;
                                "Speed-up over the original, on a logarithmic axis."
                            }
                        }
                        @if runs.iter().any(|(_, run)| run.versions.iter().any(|v| v.slots.is_some())) {
                            figure {
                                div.wide { (PreEscaped(stalls(&runs))) }
                                figcaption {
                                    @for (class, name) in SLOTS { span.key.slot.(class) {} " " (name) " " }
                                    br;
                                    "Turns of the schedulers, as many as the original has: " (all_names(&runs)) "."
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The kernels' runs on one machine.
fn runs<'s>(simulation: &'s Simulation, configuration: &str) -> Vec<(&'s str, &'s Simulated)> {
    let on_it = |run: &&Simulated| run.configuration == configuration;
    let kernels = simulation.kernels.iter();
    kernels.filter_map(|k| Some((k.kernel.as_str(), k.runs.iter().find(on_it)?))).collect()
}

/// The versions with a speed-up that is not 1 by definition.
fn versions(run: &Simulated) -> impl Iterator<Item = &SimulatedVersion> {
    run.versions.iter().filter(|version| version.name != "original")
}

/// The names of those, each once.
fn names<'s>(runs: &[(&str, &'s Simulated)]) -> Vec<&'s str> {
    let mut found: Vec<&str> = Vec::new();
    for version in runs.iter().flat_map(|(_, run)| versions(run)) {
        if !found.contains(&version.name.as_str()) {
            found.push(&version.name);
        }
    }
    found
}

fn all_names(runs: &[(&str, &Simulated)]) -> String {
    let most = runs.iter().max_by_key(|(_, run)| run.versions.len());
    let names = most.map(|(_, run)| run.versions.iter().map(|v| v.name.as_str()).collect());
    names.map_or_else(String::new, |names: Vec<&str>| names.join(", "))
}

/// The height of a group of bars with the gap behind it.
fn height(bars: usize) -> f64 {
    (bars as f64 * BAR).max(LEAST) + GAP
}

fn drawing(height: f64) -> Document {
    Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, height))
        .set("width", WIDTH)
        .set("role", "img")
        .set("class", "bars")
}

/// The width of the column of names: no two kernels may look alike because their names end beyond it.
fn column(runs: &[(&str, &Simulated)]) -> f64 {
    let longest = runs.iter().map(|(kernel, _)| kernel.chars().count()).max().unwrap_or(0);
    (longest.min(LONGEST_LABEL) as f64 * CHARACTER + 8.0).max(LABEL)
}

/// Bars from 1 to the speed-up, to the left where a version is slower.
fn speedups(runs: &[(&str, &Simulated)]) -> String {
    let names = column(runs);
    let all = || runs.iter().flat_map(|(_, run)| versions(run)).map(|version| version.speedup);
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    let (low, high) = (
        all().filter(usable).fold(0.7, f64::min) / 1.05,
        all().filter(usable).fold(1.2, f64::max) * 1.05,
    );
    let scale = (WIDTH - names - NOTE) / (high / low).ln();
    let place = |value: f64| round(names + (value / low).ln() * scale);
    let total = AXIS + runs.iter().map(|(_, run)| height(versions(run).count())).sum::<f64>();
    let mut axis = Group::new();
    for mark in MARKS.into_iter().filter(|mark| (low..=high).contains(mark)) {
        let kind = if mark == 1.0 { "one" } else { "grid" };
        axis = axis.add(vertical(place(mark), total).set("class", kind)).add(label(
            place(mark),
            12.0,
            &mark.to_string(),
            "axis middle",
            8,
        ));
    }
    let mut drawing = drawing(total).add(axis);
    let mut y = AXIS;
    for (kernel, run) in runs {
        drawing = drawing.add(label(0.0, y + 10.0, kernel, "name", LONGEST_LABEL));
        let mut note = Vec::new();
        for (index, version) in versions(run).enumerate() {
            let value = version.speedup;
            note.push(format!("{value:.2}"));
            if !usable(&value) {
                continue;
            }
            let (from, to) = (place(value.min(1.0)), place(value.max(1.0)));
            let bar = Rectangle::new()
                .set("x", from)
                .set("y", round(y + index as f64 * BAR))
                .set("width", round((to - from).max(1.0)))
                .set("height", BAR - 1.0)
                .set("class", class(&version.name));
            drawing = drawing.add(bar.add(Title::new(format!("{}: {value:.3}", version.name))));
        }
        let x = WIDTH - NOTE + 12.0;
        drawing = drawing.add(label(x, y + 10.0, &note.join(" "), "note", 24));
        y += height(versions(run).count());
    }
    drawing.to_string()
}

/// Bars as long as the cycles, the original's being 1, each divided by the uses of the issue slots.
fn stalls(runs: &[(&str, &Simulated)]) -> String {
    let names = column(runs);
    let with_slots = |run: &Simulated| run.versions.iter().filter(|v| v.slots.is_some()).count();
    let all = runs.iter().flat_map(|(_, run)| &run.versions).map(|version| 1.0 / version.speedup);
    let most = all.filter(|value| value.is_finite()).fold(1.0, f64::max);
    let scale = (WIDTH - names - NOTE) / most;
    let total = AXIS + runs.iter().map(|(_, run)| height(with_slots(run))).sum::<f64>();
    let mut axis = Group::new();
    for mark in (0..=(4.0 * most) as u32).map(|quarters| f64::from(quarters) / 4.0) {
        let x = round(names + mark * scale);
        let kind = if mark == 1.0 { "one" } else { "grid" };
        axis = axis.add(vertical(x, total).set("class", kind));
        if mark.fract() == 0.0 || most < 3.0 {
            axis = axis.add(label(x, 12.0, &mark.to_string(), "axis middle", 8));
        }
    }
    let mut drawing = drawing(total).add(axis);
    let mut y = AXIS;
    for (kernel, run) in runs {
        drawing = drawing.add(label(0.0, y + 10.0, kernel, "name", LONGEST_LABEL));
        let shown = run.versions.iter().filter_map(|version| Some((version, version.slots?)));
        for (index, (version, slots)) in shown.enumerate() {
            let shares = [slots.issued, slots.unit, slots.operand, slots.idle];
            let mut x = names;
            let mut bar = Group::new();
            for ((kind, _), share) in SLOTS.into_iter().zip(shares) {
                let width = share / version.speedup * scale;
                if !width.is_finite() || width < 0.0 {
                    continue;
                }
                let part = Rectangle::new()
                    .set("x", round(x))
                    .set("y", round(y + index as f64 * BAR))
                    .set("width", round(width))
                    .set("height", BAR - 1.0);
                bar = bar.add(part.set("class", format!("slot {kind}")));
                x += width;
            }
            let percent: Vec<String> = SLOTS
                .iter()
                .zip(shares)
                .map(|((_, name), share)| format!("{name} {:.0} %", 100.0 * share))
                .collect();
            let title = format!("{}: {}", version.name, percent.join(", "));
            drawing = drawing.add(bar.add(Title::new(title)));
        }
        y += height(with_slots(run));
    }
    drawing.to_string()
}

fn vertical(x: f64, height: f64) -> Line {
    Line::new().set("x1", x).set("x2", x).set("y1", AXIS - 6.0).set("y2", height)
}
