//! Which module may use which: the order of `ORDER`, from the ground up, is the order in the code map of
//! `src/lib.rs`. A module uses those before it and none behind it, so there are no circles. The test
//! reads the sources; to add a module, give it a place in the list. Also no two files use each other, and functions are
//! short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::UseTree;
use syn::visit::Visit;

/// From the ground up.
const ORDER: [&str; 43] = [
    "source",
    "float",
    "isa",
    "planted",
    "bytes",
    "ids",
    "parallel",
    "unit",
    "kernels",
    "strategies",
    "timings",
    "ptx",
    "cfg",
    "expr",
    "solver",
    "emulate",
    "cost",
    "sass",
    "reuse",
    "collective",
    "traffic",
    "requests",
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
    "lint",
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
const FENCED: [(&str, &[&str]); 7] = [
    ("rayon", &["parallel"]),
    ("z3::", &["solver"]),
    ("clap", &["cli"]),
    ("cudarc", &["ab"]),
    ("pest", &["ptx", "synth"]),
    ("println!", &["cli"]),
    ("unsafe ", &["ab", "ptxas", "solver"]),
];

/// The rooms of `verify` from the ground up, each with the other rooms that it uses: no more and no fewer. The files of
/// a room use only those before them in the list in the room's `mod.rs`.
const ROOMS: [(&str, &[&str]); 11] = [
    ("program", &[]),
    ("bypass", &["program"]),
    ("unroll", &["program", "bypass"]),
    ("promotion", &["program", "bypass"]),
    ("terms", &["program"]),
    ("record", &["program", "terms"]),
    ("lane", &["program", "terms", "record"]),
    ("proof", &["program", "terms", "record"]),
    ("oracle", &["program", "terms", "record", "lane", "proof"]),
    ("witness", &["program", "terms", "record", "proof"]),
    (
        "compare",
        &[
            "program",
            "bypass",
            "unroll",
            "promotion",
            "terms",
            "record",
            "lane",
            "proof",
            "oracle",
            "witness",
        ],
    ),
];

/// The most lines of a function.
const MAX_LINES: usize = 80;

/// Longer functions, each with its file: all but the last are tables, one `match` from names to values.
const LONGER: [(&str, &str); 5] = [
    ("interp/ops/mod.rs", "decode"),
    ("interp/poison/uses.rs", "uses"),
    ("reuse/refusal.rs", "fmt"),
    ("strategies.rs", "facts"),
    // The loop over micro-operations: its parts share the registers of a frame and leave it in ten ways.
    ("interp/exec/warp.rs", "run_as"),
];

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
            let code =
                text.split("#[cfg(feature = \"internals\")]\nmod tests").next().unwrap_or_default();
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

/// A module as a path from the crate's root; a folder's `mod.rs` is the folder's name.
type ModulePath = Vec<String>;

/// What a file brings into scope and names.
#[derive(Default)]
struct Uses {
    /// By the name that it has here, the path of something that is imported; re-exports are imports.
    imports: BTreeMap<String, Vec<String>>,
    /// The imported paths that the file itself uses.
    named: Vec<Vec<String>>,
    /// Whether the file is a `mod.rs`: re-exports do not count as uses.
    is_root: bool,
}

impl Uses {
    fn of(file: &File) -> Uses {
        let text = fs::read_to_string(&file.path).expect("the file can be read");
        let parsed =
            syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.path.display()));
        let mut uses = Uses { is_root: file.path.ends_with("mod.rs"), ..Uses::default() };
        uses.visit_file(&parsed);
        uses
    }

    fn tree(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => return self.tree(&path.tree, &with(&path.ident), exported),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.tree(item, before, exported));
            }
            UseTree::Name(name) if name.ident == "self" => {
                (before.last().cloned().unwrap_or_default(), before.to_vec())
            }
            UseTree::Name(name) => (name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(rename) => (rename.rename.to_string(), with(&rename.ident)),
            UseTree::Glob(_) => (String::new(), before.to_vec()),
        };
        if !(exported && self.is_root) {
            self.named.push(path.clone());
        }
        self.imports.insert(name, path);
    }

    /// Paths in macros, which are tokens to the parser.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) if colons == 2 || path.is_empty() => {
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && colons < 2 => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
            self.named.push(std::mem::take(&mut path));
            colons = 0;
        }
        self.named.push(path);
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let is_test = module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
        if !is_test {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let exported = !matches!(item.vis, syn::Visibility::Inherited);
        self.tree(&item.tree, &[], exported);
    }

    /// The `super` of `pub(super)` does not use anything.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.named.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.tokens(called.tokens.clone());
    }
}

/// All modules with their uses.
struct House(BTreeMap<ModulePath, Uses>);

impl House {
    fn new() -> House {
        let of = |file: &File| {
            let path = file.path.strip_prefix(root()).expect("a source file").with_extension("");
            let words = path.iter().map(|word| word.to_string_lossy().into_owned());
            (words.filter(|word| word != "mod").collect(), Uses::of(file))
        };
        House(sources().iter().map(of).collect())
    }

    /// The module that has what a path names in another one. What that imports itself is followed to where it is from.
    fn resolved(&self, own: &[String], path: &[String], depth: u32) -> Option<ModulePath> {
        let (mut module, mut rest) = (own.to_vec(), path);
        match path.first()?.as_str() {
            "crate" => (module, rest) = (Vec::new(), &path[1..]),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    module.pop();
                    rest = &rest[1..];
                }
            }
            child if self.0.contains_key(&[own, &[child.to_owned()]].concat()) => {}
            _ => return None,
        }
        while let Some(next) = rest.first() {
            let child = [&module[..], std::slice::from_ref(next)].concat();
            if !self.0.contains_key(&child) {
                break;
            }
            (module, rest) = (child, &rest[1..]);
        }
        let imports = self.0.get(&module).map(|uses| &uses.imports);
        let from = imports.zip(rest.first()).and_then(|(imports, name)| imports.get(name));
        match from.filter(|_| module != own && depth > 0) {
            Some(path) => self.resolved(&module, path, depth - 1).or(Some(module)),
            None => Some(module),
        }
    }
}

/// No modules use each other in a circle, a folder's `mod.rs` being one of them: what a folder's files share is in a file
/// of its own, and so is what uses them.
#[test]
fn no_modules_use_each_other_in_a_circle() {
    let house = House::new();
    let mut graph = petgraph::Graph::<&ModulePath, ()>::new();
    let nodes: BTreeMap<_, _> = house.0.keys().map(|path| (path, graph.add_node(path))).collect();
    for (own, uses) in &house.0 {
        for path in uses.named.iter().filter(|path| !path.is_empty()) {
            let used = house.resolved(own, path, 6);
            if let Some(to) = used.as_ref().filter(|used| *used != own).and_then(|u| nodes.get(u)) {
                graph.add_edge(nodes[own], *to, ());
            }
        }
    }
    let mut circles: Vec<String> = petgraph::algo::tarjan_scc(&graph)
        .into_iter()
        .filter(|circle| circle.len() > 1)
        .map(|circle| {
            let mut names: Vec<String> = circle.iter().map(|&at| graph[at].join("/")).collect();
            names.sort();
            names.join(" ")
        })
        .collect();
    circles.sort();
    assert!(circles.is_empty(), "modules that use each other:\n{}", circles.join("\n"));
}

/// The names of the functions of a file that have more lines than they may.
#[derive(Default)]
struct Longer(Vec<String>);

impl Longer {
    fn look(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let last = body.brace_token.span.close().end().line;
        if last + 1 - signature.fn_token.span.start().line > MAX_LINES {
            self.0.push(signature.ident.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Longer {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.look(&function.sig, &function.block);
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.look(&function.sig, &function.block);
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(body) = &function.default {
            self.look(&function.sig, body);
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}

#[test]
fn functions_are_short() {
    let mut found = BTreeSet::new();
    for file in sources() {
        let text = fs::read_to_string(&file.path).expect("the file can be read");
        let mut longer = Longer::default();
        longer.visit_file(&syn::parse_file(&text).expect("Rust"));
        let path = file.path.strip_prefix(root()).expect("a source file");
        found.extend(longer.0.into_iter().map(|name| (path.display().to_string(), name)));
    }
    let known = LONGER.map(|(file, name)| (file.to_owned(), name.to_owned()));
    assert_eq!(found, BTreeSet::from(known), "functions of more than {MAX_LINES} lines");
}

/// The files of a room of `verify`, in the order of its head.
fn listed(room: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("verify").join(room).join("mod.rs")).expect("a room");
    let items = text.lines().filter_map(|line| line.strip_prefix("//! - `"));
    items.filter_map(|item| Some(item.split_once('`')?.0.to_owned())).collect()
}

#[test]
fn rooms_of_the_validator_stand_in_an_order() {
    let house = House::new();
    let place = |room: &str| ROOMS.iter().position(|(known, _)| *known == room);
    let files: Vec<Vec<String>> = ROOMS.iter().map(|(room, _)| listed(room)).collect();
    let mut used: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); ROOMS.len()];
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (own, uses) in &house.0 {
        let [module, room, rest @ ..] = &own[..] else { continue };
        if module != "verify" {
            continue;
        }
        let at = place(room).unwrap_or_else(|| panic!("{room} is not a room of the validator"));
        let Some(file) = rest.first() else { continue };
        let own_line = files[at].iter().position(|known| known == file);
        let Some(own_line) = own_line else { panic!("{room}/mod.rs does not list {file}") };
        found += 1;
        for path in uses.named.iter().filter(|path| !path.is_empty()) {
            let resolved = house.resolved(own, path, 6).unwrap_or_default();
            let [module, other, rest @ ..] = &resolved[..] else { continue };
            if module != "verify" {
                continue;
            }
            let other = place(other).expect("a room");
            if other != at {
                used[at].insert(ROOMS[other].0);
                continue;
            }
            let line = rest.first().and_then(|file| files[at].iter().position(|one| one == file));
            if line.is_some_and(|line| line > own_line) {
                wrong.push(format!("{room}/{file} uses {}, which stands behind it", rest[0]));
            }
        }
    }
    assert_eq!(found, files.iter().map(Vec::len).sum::<usize>(), "files that a room lists");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (at, (room, allowed)) in ROOMS.iter().enumerate() {
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        assert_eq!(used[at], allowed, "the rooms that {room} uses");
        let before: BTreeSet<&str> = ROOMS[..at].iter().map(|(room, _)| *room).collect();
        assert!(allowed.is_subset(&before), "{room} uses a room above it");
    }
}
