//! The cheapest solution is the first of the cheapest among all of them, and the search for it ends where it is known
//! that nothing can be cheaper. Work is counted in tables that were tried.

use ptxasw::source::SourceFile;
use ptxasw::synth::search::{Found, Limits, Mode, search};
use ptxasw::synth::{lower::lower, parse};

use super::folder;

/// The result of the search for a sketch of the folder.
fn found(name: &str, defines: &[(&str, i64)], mode: Mode) -> Found {
    let path = folder().join(name).with_extension("sketch");
    let text = std::fs::read_to_string(path).expect("the sketch can be read");
    let source = SourceFile::new("sketch", text.as_str());
    let tree = parse(&source).expect("a sketch");
    let defines: Vec<(String, i64)> =
        defines.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let mut sketch = lower(&source, &tree, &defines, 3).expect("a sketch");
    let limits = Limits { mode, tables: 10_000_000, solutions: 5000, stop: None, progress: None };
    search(&mut sketch.program, &limits)
}

#[test]
fn the_search_ends_at_what_costs_as_little_as_anything_can() {
    // Nothing is cheaper than nothing, and no product of 8 coefficients has fewer than 15 accumulates and 16 loads.
    for (name, defines) in [
        ("rcr", [("S", 1)]),
        ("sum", [("S", 1)]),
        ("ffmshared", [("W", 8)]),
        ("ffmshared", [("W", 4)]),
    ] {
        let [first, cheapest, all] =
            [Mode::First, Mode::Cheapest, Mode::All].map(|mode| found(name, &defines, mode));
        assert!(first.solutions[0].tables == cheapest.solutions[0].tables, "{name}");
        assert_eq!(cheapest.tried, first.tried, "{name}: tables that were tried");
        assert!(cheapest.exhaustive, "{name}: nothing is cheaper");
        assert!(name == "sum" || all.tried > cheapest.tried, "{name}: {} for all", all.tried);
    }
}

#[test]
fn the_cheapest_solution_is_the_first_of_the_cheapest_of_all() {
    for (name, defines) in [
        ("rcr", vec![("S", 2)]),
        ("rcr", vec![("S", 3)]),
        ("crc", vec![("S", 4)]),
        ("sum", vec![("S", 4)]),
        ("ffm", vec![("W", 8)]),
        ("stencil2d", vec![("K", 7)]),
        ("mult64", vec![("W", 4)]),
        ("ffmblocks", vec![("W", 4), ("R", 2)]),
    ] {
        let all = found(name, &defines, Mode::All);
        assert!(all.exhaustive && all.solutions.len() as u64 == all.count, "{name}");
        let key = |at: &usize| {
            let cost = all.solutions[*at].cost;
            [cost.accumulates, cost.shuffles, cost.loads, cost.selects]
        };
        let best = (0..all.solutions.len()).min_by_key(key).expect("a solution");
        let cheapest = found(name, &defines, Mode::Cheapest);
        assert!(cheapest.solutions[0].tables == all.solutions[best].tables, "{name}: another one");
        assert!(cheapest.tried <= all.tried, "{name}");
    }
}

/// What the searches of the published tables cost, in tables that are tried, and how many solutions there are: a richer
/// grammar must not slow old sketches unseen. `BLESS=1` writes `costs.txt`.
#[test]
fn searches_cost_what_is_written_down() {
    #[expect(clippy::disallowed_methods, reason = "`BLESS` is an environment variable")]
    let blessing = std::env::var_os("BLESS").is_some();
    let path = folder().join("costs.txt");
    let expected = std::fs::read_to_string(&path).expect("the costs");
    let measured: String = expected
        .lines()
        .map(|line| {
            let (sketch, _) = line.split_once(':').expect("a sketch, a colon and its costs");
            let mut words = sketch.split(' ');
            let name = words.next().expect("a name");
            let defines = words.map(|word| {
                let (name, value) = word.split_once('=').expect("a definition");
                (name, value.parse().expect("a number"))
            });
            let found = found(name, &defines.collect::<Vec<_>>(), Mode::All);
            assert!(found.exhaustive, "{sketch}: the search has not ended");
            format!("{sketch}: {} solutions, {} tables\n", found.count, found.tried)
        })
        .collect();
    if blessing {
        std::fs::write(&path, &measured).expect("written");
    } else {
        assert_eq!(measured, expected);
    }
}
