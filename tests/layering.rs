//! Which crate may use which, as `CRATES` says and the manifests in `src/*/Cargo.toml` have it, and that there are no
//! circles: neither among the modules of a crate nor among their files. The tests read the sources; a crate that is added
//! gets a line in the list. Also, functions are short.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::UseTree;
use syn::visit::Visit;

/// The crates from the ground up, each with those that it names.
const CRATES: [(&str, &[&str]); 12] = [
    ("ptx", &[]),
    ("graph", &["ptx"]),
    ("terms", &["ptx"]),
    ("interp", &["ptx"]),
    ("verify", &["ptx", "graph", "terms", "interp"]),
    ("analysis", &["ptx", "graph", "terms"]),
    ("machine", &["ptx"]),
    ("rewrite", &["ptx", "graph", "terms", "verify", "analysis", "machine"]),
    ("synth", &["ptx", "graph", "terms", "interp", "analysis", "machine", "rewrite"]),
    ("assembler", &["ptx", "machine"]),
    ("tools", &["ptx", "graph", "terms", "interp", "analysis", "rewrite", "assembler"]),
    ("capi", &["ptx", "interp"]),
];

/// Names of other packages that only some modules may use: what no other one may name, and who may.
const FENCED: [(&str, &[&str]); 8] = [
    ("rayon", &["parallel"]),
    ("z3::", &["solver"]),
    ("clap", &["cli"]),
    ("cudarc", &["ab"]),
    ("pest", &["synth"]),
    ("println!", &["cli"]),
    ("eprintln!", &["cli"]),
    ("unsafe ", &["ab", "capi", "main", "ptxas", "solver"]),
];

/// The rooms of `verify` from the ground up, each with the other rooms that it uses: no more and no fewer. The files of
/// a room use only those before them in the list in the room's `mod.rs`.
const ROOMS: [(&str, &[&str]); 9] = [
    ("program", &[]),
    ("terms", &["program"]),
    ("undo", &["program", "terms"]),
    ("record", &["program", "terms"]),
    ("lane", &["program", "terms", "record"]),
    ("proof", &["program", "terms", "record"]),
    ("oracle", &["program", "terms", "record", "lane", "proof"]),
    ("witness", &["program", "terms", "record", "proof"]),
    ("compare", &["program", "undo", "terms", "record", "lane", "proof", "oracle", "witness"]),
];

/// The most lines of a function.
const MAX_LINES: usize = 80;

/// Longer functions, each with its file: all but the last are tables, one `match` from names to values.
const LONGER: [(&str, &str); 4] = [
    ("interp/interp/ops/mod.rs", "decode"),
    ("interp/interp/poison/uses.rs", "uses"),
    ("ptx/strategies.rs", "facts"),
    // The loop over micro-operations: its parts share the registers of a frame and leave it in ten ways.
    ("interp/interp/exec/warp.rs", "run_as"),
];

struct File {
    path: PathBuf,
    /// The member of the workspace; `cli` and its neighbours are in the root package.
    package: String,
    /// As a path in its crate; a folder's `mod.rs` is the folder's name, `lib.rs` is the empty path.
    within: ModulePath,
    /// The first module of the path; of a crate that is one room, the crate.
    module: String,
    /// With its tests.
    whole: String,
    /// Without comments and without its tests.
    code: String,
}

fn files(folder: &Path, found: &mut Vec<File>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            // A member's tests and examples are not among its modules.
            if !path.ends_with("tests") && !path.ends_with("examples") {
                files(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("the file can be read");
            let code =
                text.split("#[cfg(feature = \"internals\")]\nmod tests").next().unwrap_or_default();
            let lines = code.lines().map(|line| match line.find("//") {
                Some(at) if !line[..at].contains('"') => &line[..at],
                _ => line,
            });
            let stem = path.strip_prefix(root()).expect("a source file").with_extension("");
            let mut words = stem.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
            let of_member = |first: &String| root().join(first).join("Cargo.toml").exists();
            let package = words.next_if(of_member).unwrap_or_default();
            let within: ModulePath = words.filter(|word| word != "mod" && word != "lib").collect();
            let is_room = ["graph", "verify"].contains(&package.as_str());
            let module = within.first().filter(|_| !is_room).unwrap_or(&package).clone();
            let code = lines.collect::<Vec<_>>().join("\n");
            found.push(File { path, package, within, module, whole: text, code });
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<File> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found.retain(|file| {
        let is_root = file.package.is_empty() && file.within.is_empty();
        !is_root && file.within != ["build"]
    });
    assert!(found.len() > 200, "{} source files", found.len());
    found
}

/// Whether a name stands in code as a word of its own.
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '"' | '`'))
    })
}

/// The manifests are what the compiler goes by; a dependency that a crate does not name is not in its manifest.
#[test]
fn crates_use_what_their_manifests_say() {
    let sources = sources();
    let mut members = BTreeSet::new();
    for entry in fs::read_dir(root()).expect("the folder can be read") {
        let folder = entry.expect("an entry").path();
        if folder.join("Cargo.toml").exists() {
            members.insert(folder.file_name().expect("a name").to_string_lossy().into_owned());
        }
    }
    assert_eq!(members, CRATES.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (at, (name, uses)) in CRATES.iter().enumerate() {
        let manifest =
            fs::read_to_string(root().join(name).join("Cargo.toml")).expect("a manifest");
        let section = manifest.split("[dependencies]\n").nth(1).expect("dependencies");
        let section = section.split("\n[").next().unwrap_or_default();
        let used: Vec<&str> = section
            .lines()
            .filter_map(|line| line.strip_prefix("ptxasw-")?.split('.').next())
            .collect();
        assert_eq!(used, *uses, "src/{name}/Cargo.toml");
        for other in *uses {
            let place = CRATES.iter().position(|(known, _)| known == other);
            assert!(
                place.is_some_and(|place| place < at),
                "{name} uses {other}, which is above it"
            );
        }
        for line in section.lines() {
            let Some((package, _)) = line.split_once(['.', ' ']) else { continue };
            // Macros name these.
            if package.starts_with('#') || ["linkme", "serde"].contains(&package) {
                continue;
            }
            let own = package.replace('-', "_");
            let named = sources
                .iter()
                .filter(|file| file.package == *name)
                .any(|file| names(&file.whole, &own));
            assert!(named, "src/{name}/Cargo.toml: nothing names {package}");
        }
    }
}

/// The page has a row for each crate, and draws each one above those that it uses.
#[test]
fn the_picture_of_the_crates_is_that_of_the_manifests() {
    let page = fs::read_to_string(root().join("../docs/dev/crates.md")).expect("the page");
    let mut levels: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, uses) in CRATES {
        let level = uses.iter().map(|other| levels[other] + 1).max().unwrap_or(0);
        levels.insert(name, level);
        let uses: Vec<String> = uses.iter().map(|other| format!("`{other}`")).collect();
        let row = format!("| `{name}` | {} |", uses.join(", ")).replace("|  |", "| |");
        assert!(page.contains(&row), "docs/dev/crates.md: {row}");
        let mut drawn = page.lines().filter(|line| line.starts_with(&format!("    {level}  ")));
        assert!(
            drawn.any(|line| line.split_whitespace().any(|word| word == name)),
            "docs/dev/crates.md: {name} on level {level}"
        );
    }
}

#[test]
fn only_some_modules_name_what_is_fenced() {
    let mut wrong = Vec::new();
    for file in sources() {
        for (name, allowed) in FENCED {
            if names(&file.code, name) && !allowed.contains(&file.module.as_str()) {
                wrong.push(format!("{}: {name}", file.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A module as a path from its crate's root.
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
        let mut uses = Uses {
            is_root: file.path.ends_with("mod.rs") || file.path.ends_with("lib.rs"),
            ..Uses::default()
        };
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

/// All modules of a crate with their uses.
struct House(BTreeMap<ModulePath, Uses>);

impl House {
    fn new(package: &str) -> House {
        let files = sources().into_iter().filter(|file| file.package == package);
        House(files.map(|file| (file.within.clone(), Uses::of(&file))).collect())
    }

    /// The circles of a graph over the modules, cut to their first words if only those are asked for.
    fn circles(&self, words: usize) -> Vec<String> {
        let mut graph = petgraph::Graph::<&[String], ()>::new();
        let cut = |path: &'_ ModulePath| path.len().min(words);
        let mut nodes: BTreeMap<&[String], _> = BTreeMap::new();
        for path in self.0.keys() {
            let path = &path[..cut(path)];
            nodes.entry(path).or_insert_with(|| graph.add_node(path));
        }
        for (own, uses) in &self.0 {
            for path in uses.named.iter().filter(|path| !path.is_empty()) {
                let Some(used) = self.resolved(own, path, 6) else { continue };
                let (from, to) = (&own[..cut(own)], &used[..cut(&used)]);
                if let Some(&to) = nodes.get(to).filter(|_| from != to) {
                    graph.add_edge(nodes[from], to, ());
                }
            }
        }
        let circles = petgraph::algo::tarjan_scc(&graph);
        let circles = circles.into_iter().filter(|circle| circle.len() > 1);
        let mut circles: Vec<String> = circles
            .map(|circle| {
                let mut names: Vec<String> = circle.iter().map(|&at| graph[at].join("/")).collect();
                names.sort();
                names.join(" ")
            })
            .collect();
        circles.sort();
        circles
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
            Some(path) if path.first().is_some_and(|word| word.starts_with("ptxasw_")) => None,
            Some(path) => self.resolved(&module, path, depth - 1).or(Some(module)),
            None => Some(module),
        }
    }
}

/// No modules of a crate use each other in a circle, a folder's `mod.rs` being one of them: what a folder's files share is
/// in a file of its own, and so is what uses them. Nor do folders.
#[test]
fn no_modules_use_each_other_in_a_circle() {
    for package in CRATES.iter().map(|(name, _)| *name).chain([""]) {
        let house = House::new(package);
        assert!(house.0.len() > 1, "{package}: {} modules", house.0.len());
        let circles = house.circles(usize::MAX);
        assert!(
            circles.is_empty(),
            "{package}: modules that use each other:\n{}",
            circles.join("\n")
        );
        // The rooms of the validator have an order of their own, below.
        if !["graph", "verify"].contains(&package) {
            let circles = house.circles(1);
            assert!(
                circles.is_empty(),
                "{package}: folders that use each other:\n{}",
                circles.join("\n")
            );
        }
    }
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
    let house = House::new("verify");
    let place = |room: &str| ROOMS.iter().position(|(known, _)| *known == room);
    let files: Vec<Vec<String>> = ROOMS.iter().map(|(room, _)| listed(room)).collect();
    let mut used: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); ROOMS.len()];
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (own, uses) in &house.0 {
        let [room, rest @ ..] = &own[..] else { continue };
        let at = place(room).unwrap_or_else(|| panic!("{room} is not a room of the validator"));
        let Some(file) = rest.first() else { continue };
        let own_line = files[at].iter().position(|known| known == file);
        let Some(own_line) = own_line else { panic!("{room}/mod.rs does not list {file}") };
        found += 1;
        for path in uses.named.iter().filter(|path| !path.is_empty()) {
            let resolved = house.resolved(own, path, 6).unwrap_or_default();
            let [other, rest @ ..] = &resolved[..] else { continue };
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
