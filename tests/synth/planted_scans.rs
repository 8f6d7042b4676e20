//! Each planted mistake in operators of loops, in networks and in places is noticed: another result comes out, or the
//! code does not do what the sketch says.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::LazyLock;

use ptxasw::planted::{self, Bug, Set};
use ptxasw::source::SourceFile;
use ptxasw::synth::network::Network;
use ptxasw::synth::place::Placement;
use ptxasw::synth::scan::emit::{Code, Networks, check, ptx};
use ptxasw::synth::scan::{self, Outcome, report};
use ptxasw::synth::{network, parse, place};

use crate::common::noticed::assert_noticed;
use crate::turns::has_turn;

/// Mistakes that may lead to another result, and what the sketches for which they may have in them; all others are in
/// the code that is written for a result.
const SEARCHES: [(&str, &[Bug]); 3] = [
    (
        "loop (",
        &[
            Bug::LawForgotten,
            Bug::GuessesBelieved,
            Bug::RangesForgotten,
            Bug::NothingLearned,
            Bug::UnknownBelieved,
            Bug::DegreeIgnored,
        ],
    ),
    ("state v", &[Bug::NothingMeets, Bug::DepthOfSources, Bug::OneSize]),
    ("shared ", &[Bug::WideAtOnce, Bug::PlacesOverlap, Bug::VectorsApart]),
];

/// Sketches of `tests/synth` that lead through everything in which a mistake is planted.
const FILES: [&str; 21] = [
    "loopatoi",
    "loopaverage",
    "loopbounds",
    "loopflags",
    "loophashmodulo",
    "loopmax",
    "loopmps",
    "loopparentheses",
    "looplogistic",
    "loopsorted",
    "loopsquares",
    "loopsum",
    "loopmpsposition",
    "loopzerosones",
    "brentkung",
    "scanwarp",
    "exclusive",
    "segmentedbackward",
    "backward",
    "rows128",
    "tile",
];

/// Small ones beside them.
const TEXTS: [&str; 7] = [
    // An accumulator that takes the place of another one, of elements with a sign.
    "loop (last = 0, before = 0) over x: i8 assuming exact {\nbefore = last\nlast = x\n}\nresult before, last\n",
    "loop (sum = 0, odd = false) over x: i16 assuming exact {\nsum = sum + x\nodd = sum % 2 == 1\n}\nresult sum / 3, odd\n",
    // Networks that are wrong: the combined intervals are not adjacent, and five rounds are too few for many lanes.
    "axis lane = 4\nop (*) associative\ninput x[lane]\nstate v[lane] = x[lane]\nrepeat s in 0..2 {\n\
     step t[lane] = v[lane - 1 - 2 * s]\nstep v[lane] = t[lane] * v[lane] when lane >= 1 + 2 * s\n}\n\
     goal v[3] = scan(*) x[lane]\n",
    "param N = 32\naxis lane = N\nop (*) associative\ninput x[lane]\nstate v[lane] = x[lane]\nrepeat s in 0..5 {\n\
     step t[lane] = v[lane - 2 ** s]\nstep v[lane] = t[lane] * v[lane] when lane >= 2 ** s\n}\n\
     goal v[lane] = scan(*) x[lane]\n",
    // Places that are wrong: two elements in one, and a pair that is apart.
    "axis i = 64, lane = 32\nshared t[i] of 4 at i / 2\naccess t[lane] by 4\naccess t[lane] by 4\n",
    "axis i = 64, lane = 32\nshared t[i] of 4 at i * 2\naccess t[2 * lane] by 8\naccess t[2 * lane] by 8\n",
    // Reductions from behind.
    "axis lane = 16\nop (*) associative\ninput x[lane]\nstate v[lane] = x[lane]\nrepeat s in 0..4 {\n\
     step t[lane] = v[?xform(lane; s)]\nstep v[lane] = v[lane] * t[lane] when ?cond(lane, s)\n}\n\
     goal v[lane] = scan(*) x[lane] backward\n",
];

/// What came of a sketch.
enum Solved {
    None(String),
    Loop(Outcome),
    Network(SourceFile, Box<Network>, network::Solution),
    Placement(SourceFile, Box<Placement>, place::Outcome),
}

/// Solves a sketch.
fn solved(text: &str) -> Solved {
    let source = SourceFile::new("planted", text);
    let tree = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    if network::is_network(&tree) {
        let problem = network::problem(&source, &tree, &[]);
        let problem = problem.unwrap_or_else(|error| panic!("{error}"));
        return match network::search(&problem).solution {
            Some(solution) => Solved::Network(source, Box::new(problem), solution),
            None => Solved::None("no network".to_owned()),
        };
    }
    if place::is_placement(&tree) {
        let problem = place::problem(&source, &tree, &[]);
        let problem = problem.unwrap_or_else(|error| panic!("{error}"));
        return match place::search(&problem) {
            Some(outcome) => Solved::Placement(source, Box::new(problem), outcome),
            None => Solved::None("no place".to_owned()),
        };
    }
    let mut subject = scan::read(&source, &tree, &[]).unwrap_or_else(|error| panic!("{error}"));
    // Mistakes lead to searches without a result.
    subject.most = subject.most.min(1);
    let outcome = scan::solve(&subject);
    match &outcome.found {
        None => Solved::None(report::none(&source, &subject, &outcome).to_string()),
        Some(_) => Solved::Loop(outcome),
    }
}

/// The text for it; a mistake in the text itself is an error.
fn judged(solved: &Solved, networks: &Networks) -> Result<String, String> {
    match solved {
        Solved::None(why) => Ok(why.clone()),
        Solved::Loop(outcome) => {
            let found = outcome.found.as_ref().expect("an operator");
            let code = Code::new(found, "planted", None);
            let text = ptx(&code, networks, "")?;
            check::check(&code, &text, &check::few())?;
            let newer = code.for_architecture(80);
            let by_redux = ptx(&newer, networks, "")?;
            if by_redux != text {
                check::check(&newer, &by_redux, &check::few())?;
            }
            Ok(report::table(outcome))
        }
        Solved::Network(source, problem, solution) => {
            network::check(problem, solution, "planted")?;
            Ok(network::table(source, problem, solution))
        }
        Solved::Placement(source, problem, outcome) => {
            let code = place::ptx("planted", problem, outcome, "")?;
            place::check("planted", problem, outcome, &code)?;
            Ok(place::table(source, problem, outcome))
        }
    }
}

/// (A short run tries a third of them, the next third tomorrow.)
#[test]
fn each_planted_mistake_is_noticed() {
    let networks = &Networks::solve().expect("the networks of a warp");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/synth");
    let read = |name: &&str| {
        let path = folder.join(name).with_extension("sketch");
        std::fs::read_to_string(path).expect("the sketch can be read")
    };
    let named = |name: &&str| ((*name).to_owned(), read(name));
    let small = TEXTS.iter().enumerate();
    let small = small.map(|(number, text)| (format!("text {number}"), (*text).to_owned()));
    let (places, texts): (Vec<String>, Vec<String>) = FILES.iter().map(named).chain(small).unzip();
    let right = texts.iter().map(|text| {
        LazyLock::new(move || {
            let solved = solved(text);
            let right = judged(&solved, networks);
            (solved, right.unwrap_or_else(|why| panic!("{text}\n{why}")))
        })
    });
    let right: Vec<LazyLock<(Solved, String), _>> = right.collect();
    let mut bugs = Bug::of(Set::Scans);
    bugs.retain(|bug| has_turn(*bug as usize, 3));
    assert_noticed("scans", &bugs, &places, |bug, place| {
        let (text, (first, right)) = (&texts[place], &*right[place]);
        let of_search = SEARCHES.iter().find(|(_, bugs)| bugs.contains(&bug));
        let run = || match of_search {
            Some((word, _)) if text.contains(word) => judged(&solved(text), networks),
            Some(_) => Ok(right.clone()),
            None => judged(first, networks),
        };
        // A panic is an assertion of the program's own that has noticed it.
        let run = catch_unwind(AssertUnwindSafe(|| planted::with(bug, run)));
        !run.is_ok_and(|planted| planted.as_ref() == Ok(right))
    });
}
