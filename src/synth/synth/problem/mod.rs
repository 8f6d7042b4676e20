//! A sketch as a problem: read, solved, and its solution as a table, JSON, CUDA and PTX, which is executed for a check.
//!
//! There are four kinds: `movement` of data, and those with one answer (`single`): networks of a scan, places in shared
//! memory, and serial loops. [`read`] tells them apart.

mod kind;
mod movement;
mod single;

use std::cell::OnceCell;

use super::lower::lower;
use super::search::{Found, Mode};
use super::{network, place, scan};
use crate::source::Diagnostic;

pub use kind::{Language, Problem, Request, Verdict};

/// Why an option of the request does not fit the sketch.
pub fn unfit(request: &Request<'_>) -> Option<String> {
    let tree = request.tree;
    let several = match request.mode {
        Mode::All => Some("--all"),
        Mode::Count => Some("--count"),
        Mode::First | Mode::Cheapest => None,
    };
    let of_loops = [("--lists", request.lists), ("--arch", request.architecture)];
    if let Some((option, _)) = of_loops.iter().find(|(_, value)| value.is_some())
        && !scan::is_loop(tree)
    {
        return Some(format!("{option} is for sketches with a loop"));
    }
    if network::is_network(tree) || place::is_placement(tree) {
        return several.map(|option| format!("{option} is for sketches of steps, folds and goals"));
    }
    several
        .filter(|_| scan::is_loop(tree))
        .map(|option| format!("{option} is for sketches of data movement; a loop has one operator"))
}

/// Reads a sketch.
pub fn read<'r>(request: &'r Request<'r>) -> Result<Box<dyn Problem + 'r>, Diagnostic> {
    let Request { source, tree, defines, space, .. } = *request;
    Ok(if network::is_network(tree) {
        let problem = network::problem(source, tree, defines)?;
        Box::new(single::Network { request, problem, outcome: None })
    } else if place::is_placement(tree) {
        let problem = place::problem(source, tree, defines)?;
        Box::new(single::Placement { request, problem, outcome: None })
    } else if scan::is_loop(tree) {
        let subject = scan::read(source, tree, defines)?;
        Box::new(single::Serial { request, subject, outcome: None, networks: OnceCell::new() })
    } else {
        let sketch = lower(source, tree, defines, space)?;
        Box::new(movement::Movement { request, sketch, found: Found::default() })
    })
}
