//! How a case file wants to be rewritten.

use ptxasw::pipeline::Options;

/// How a file wants to be rewritten: `// strategy: NAME,...` in its header, otherwise as in the paper; `// block: X,Y,Z` is the
/// shape of blocks that the user names.
pub fn options_of(text: &str) -> Options {
    let mut options = Options::paper();
    let header = || text.lines().take_while(|line| line.starts_with("//"));
    for strategies in header().filter_map(|line| line.strip_prefix("// strategy: ")) {
        options.select.strategies = strategies.trim().parse().unwrap_or_else(|e| panic!("{e}"));
    }
    for shape in header().filter_map(|line| line.strip_prefix("// block: ")) {
        let extents = shape.trim().split(',').map(|extent| extent.parse().expect("a number"));
        let extents: Vec<u64> = extents.collect();
        options.select.block = Some(extents.try_into().expect("three extents"));
    }
    options
}
