//! Which module may use which: the order of `ORDER`, from the ground up, is the order in the code map of
//! `src/lib.rs`. A module uses those before it and none behind it, so there are no circles. The test
//! reads the sources; to add a module, give it a place in the list.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// From the ground up.
const ORDER: [&str; 33] = [
    "source",
    "float",
    "isa",
    "planted",
    "strategies",
    "timings",
    "ptx",
    "cfg",
    "expr",
    "solver",
    "emulate",
    "cost",
    "reuse",
    "rewrite",
    "launch",
    "interp",
    "verify",
    "report",
    "patterns",
    "select",
    "remarks",
    "tracing",
    "profile",
    "pipeline",
    "draft",
    "ptxas",
    "ab",
    "install",
    "synth",
    "holes",
    "page",
    "cli",
    "main",
];

/// Names outside of this crate that only some modules may use: what no other one may name, and who may.
const FENCED: [(&str, &[&str]); 6] = [
    ("z3::", &["solver"]),
    ("clap", &["cli"]),
    ("cudarc", &["ab"]),
    ("pest", &["ptx", "synth"]),
    ("println!", &["cli"]),
    ("unsafe ", &["ab", "ptxas"]),
];

/// Files of a folder that use each other in a circle. To be made fewer: a split of one of them cures most.
const CIRCLES: &[&str] = &["expr/arena.rs expr/budget.rs expr/range.rs"];

struct File {
    path: PathBuf,
    module: String,
    /// Without comments and without its tests.
    code: String,
}

fn files(folder: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("the file can be read");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            let lines = code.lines().map(|line| match line.find("//") {
                Some(at) if !line[..at].contains('"') => &line[..at],
                _ => line,
            });
            let module = path.strip_prefix(root()).expect("a source file");
            let module = module.components().next().expect("a module").as_os_str();
            let module = module.to_string_lossy().trim_end_matches(".rs").to_owned();
            let code = lines.collect::<Vec<_>>().join("\n");
            found.push(File { path, module, code });
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<File> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found.retain(|file| !matches!(file.module.as_str(), "lib" | "build"));
    assert!(found.len() > 200, "{} source files", found.len());
    found
}

/// The words that follow a prefix.
fn words<'c>(code: &'c str, prefix: &'c str) -> impl Iterator<Item = &'c str> {
    let end = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    code.split(prefix).skip(1).map(move |rest| &rest[..end(rest).unwrap_or(rest.len())])
}

#[test]
fn modules_use_only_modules_below_them() {
    let place = |module: &str| ORDER.iter().position(|known| *known == module);
    let mut wrong = Vec::new();
    for file in sources() {
        let Some(own) = place(&file.module) else {
            panic!("{} stands nowhere in the order of modules", file.path.display())
        };
        assert!(
            !file.code.contains("use crate::{"),
            "{}: one line per module",
            file.path.display()
        );
        for used in words(&file.code, "crate::") {
            match place(used) {
                Some(other) if other <= own => {}
                Some(_) => wrong.push(format!("{}: {used}", file.path.display())),
                // A macro of the crate's root.
                None => {}
            }
        }
    }
    assert!(wrong.is_empty(), "modules that are used from below:\n{}", wrong.join("\n"));
}

#[test]
fn only_some_modules_name_what_is_fenced() {
    let mut wrong = Vec::new();
    for file in sources() {
        for (name, allowed) in FENCED {
            let named = file.code.match_indices(name).any(|(at, _)| {
                let before = file.code[..at].chars().next_back();
                !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '`'))
            });
            if named && !allowed.contains(&file.module.as_str()) {
                wrong.push(format!("{}: {name}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Circles of files that use each other within a folder, beyond a module and what it is made of.
#[test]
fn files_of_a_folder_stand_in_an_order() {
    let mut edges: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in sources() {
        let folder = file.path.parent().expect("a folder").to_owned();
        let of = |name: &str| {
            [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")]
                .into_iter()
                .find(|path| path.exists())
        };
        let is_root = file.path.ends_with("mod.rs");
        if !is_root {
            let used =
                words(&file.code, "super::").filter_map(of).filter(|used| *used != file.path);
            edges.insert(file.path.clone(), used.collect());
        }
    }
    let mut graph = petgraph::Graph::<&Path, ()>::new();
    let mut nodes = BTreeMap::new();
    for (from, to) in &edges {
        for to in to {
            let [from, to] = [from, to]
                .map(|path| *nodes.entry(path).or_insert_with(|| graph.add_node(path.as_path())));
            graph.add_edge(from, to, ());
        }
    }
    let mut circles: Vec<String> = petgraph::algo::tarjan_scc(&graph)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| {
            let names = circle.iter().map(|&at| graph[at].strip_prefix(root()).unwrap());
            let mut names: Vec<_> = names.map(|name| name.display().to_string()).collect();
            names.sort();
            names.join(" ")
        })
        .collect();
    circles.sort();
    assert_eq!(circles, CIRCLES, "circles now:\n{}", circles.join("\n"));
}
