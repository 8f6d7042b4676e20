//! Whatever documents and comments name is there: files, items, scripts, test targets, links, environment
//! variables. And the release of Rust is the same wherever it stands.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ptxasw::planted::{Bug, Set};
use ptxasw::select::StrategyName;
use regex::Regex;
use strum::IntoEnumIterator;

use crate::common::rules;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All files below a folder of one of these kinds.
fn below(folder: &Path, kinds: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            below(&path, kinds, found);
        } else if path.extension().is_some_and(|kind| kinds.iter().any(|k| kind == *k)) {
            found.push(path);
        }
    }
}

/// The pages for people, in the root, in `docs/` and beside their subjects.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root()).expect("the root can be read") {
        let path = entry.expect("the entry can be read").path();
        if path.extension().is_some_and(|kind| kind == "md") {
            found.push(path);
        }
    }
    for folder in ["docs", "tests", "ptx-samples", "openacc-bench"] {
        below(&root().join(folder), &["md"], &mut found);
    }
    // Tables with dates are what was measured once.
    found.retain(|path| !path.starts_with(root().join("openacc-bench/results")));
    assert!(found.len() > 10, "{found:?}");
    found
}

/// Texts and where each stands: the pages, and the comments of the sources.
fn texts() -> Vec<(PathBuf, String)> {
    let mut found: Vec<_> = pages().into_iter().map(|path| (path.clone(), read(&path))).collect();
    let mut sources = Vec::new();
    below(&root().join("src"), &["rs"], &mut sources);
    below(&root().join("tests"), &["rs"], &mut sources);
    for path in sources {
        let text = read(&path);
        let comments = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
        });
        found.push((path.clone(), comments.collect::<Vec<_>>().join("\n")));
    }
    found
}

/// What stands between backticks, and the words of indented and fenced code.
fn code(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced || line.starts_with("    ") {
            found.extend(line.split('#').next());
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    found
}

/// Whether a word is the path of something in the repository. Capitals stand for a name to be filled
/// in, and some folders are only there once something has been put into them.
fn is_path(word: &str) -> bool {
    const FOLDERS: [&str; 8] = [
        "src/",
        "tests/",
        "scripts/",
        "grammar/",
        "docs/",
        "openacc-bench/",
        "ptx-samples/",
        ".ci/",
    ];
    const MADE: [&str; 3] = ["tests/fuzz/found", "openacc-bench/build", "openacc-bench/jacobi/"];
    let placeholder = |part: &str| part.len() > 1 && !part.chars().any(|c| c.is_lowercase());
    let filled = word.split(['/', '.', '_']).all(|part| part.is_empty() || !placeholder(part));
    FOLDERS.iter().any(|folder| word.starts_with(folder))
        && !MADE.iter().any(|made| word.starts_with(made))
        && (filled || word.ends_with("README.md"))
        && !word.contains(['*', '{', '[', '<', '$'])
}

/// Scripts that start one of `scripts/parts/`.
const PARTED: [&str; 6] = ["tables", "bench", "fuzz", "gpu", "make", "check"];

#[test]
fn files_that_are_named_exist() {
    let mut missing = Vec::new();
    for (path, text) in texts() {
        for word in code(&text).into_iter().flat_map(str::split_whitespace) {
            let word = word.trim_end_matches([',', ';', ':', ')', '.']);
            if is_path(word) && !root().join(word).exists() {
                missing.push(format!("{}: {word}", path.display()));
            }
        }
        // The parts of scripts.
        for words in code(&text).iter().map(|words| words.split_whitespace().collect::<Vec<_>>()) {
            for pair in words.windows(2) {
                if let Some(kind) =
                    pair[0].strip_prefix("scripts/").filter(|kind| PARTED.contains(kind))
                    && !root().join(format!("scripts/parts/{kind}-{}", pair[1])).exists()
                {
                    missing.push(format!("{}: {}", path.display(), pair.join(" ")));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn test_targets_that_are_named_exist() {
    let mut missing = Vec::new();
    let manifest = read(&root().join("Cargo.toml"));
    for (path, text) in texts() {
        for command in code(&text) {
            let words: Vec<&str> = command.split_whitespace().collect();
            for pair in words.windows(2) {
                let kind = match pair[0] {
                    "--test" => "test",
                    "--bench" => "bench",
                    _ => continue,
                };
                if !manifest.contains(&format!("[[{kind}]]\nname = \"{}\"", pair[1])) {
                    missing.push(format!("{}: {}", path.display(), pair.join(" ")));
                }
            }
            // The modules by whose names tests are chosen.
            for word in words.iter().filter(|_| words.contains(&"--test")) {
                if let Some((module, _)) = word.split_once("::")
                    && !root().join(format!("tests/{module}.rs")).exists()
                {
                    missing.push(format!("{}: {word}", path.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

/// Files and folders below `src` by the name of their module; the name of a crate is that of its folder, and `cfg` is
/// `graph` by the name that the other crates give it.
fn modules() -> BTreeMap<String, Vec<PathBuf>> {
    let mut pending = vec![root().join("src")];
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                pending.push(path.clone());
            }
            if path.is_dir() || path.extension().is_some_and(|kind| kind == "rs") {
                found.entry(stem).or_default().push(path);
            }
        }
    }
    found.insert("cfg".to_owned(), vec![root().join("src/graph")]);
    // In pages, the namespace of C++.
    found.remove("cuda");
    found
}

/// Whether a file, or one below a folder, defines an item or a variant of this name.
fn defines(path: &Path, name: &str) -> bool {
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files.clear();
        below(path, &["rs"], &mut files);
    }
    let keyword = r"(fn|struct|enum|trait|type|const|static|mod|macro_rules!|table_ids!\()\s*";
    let variant = format!(r"(?m:^\s+{name}\b\s*[,({{=])");
    let item = Regex::new(&format!(r"(?-u)\b{keyword}{name}\b|{variant}")).expect("a pattern");
    files.iter().any(|file| item.is_match(&read(file)))
}

/// Whether a path such as `reuse::Guards` names an item; `None` if its first name is not a module of this program.
fn is_item(modules: &BTreeMap<String, Vec<PathBuf>>, path: &str) -> Option<bool> {
    let path = path.strip_prefix("ptxasw::").unwrap_or(path);
    let mut names = path.split("::");
    let mut places = modules.get(names.next()?)?.clone();
    for name in names {
        let within = |place: &PathBuf| {
            let [file, folder] = [place.join(format!("{name}.rs")), place.join(name)];
            let inner = [file, folder].into_iter().find(|inner| inner.exists());
            inner.or_else(|| defines(place, name).then(|| place.clone()))
        };
        places = places.iter().filter_map(within).collect();
    }
    Some(!places.is_empty())
}

#[test]
fn items_that_are_named_exist() {
    let modules = modules();
    let path = Regex::new(r"^[a-z_0-9]+(::[A-Za-z_0-9]+)+$").expect("a pattern");
    let (mut missing, mut found) = (Vec::new(), 0);
    for page in pages() {
        let text = read(&page);
        let words = text.split('`').filter(|word| path.is_match(word));
        for word in words {
            match is_item(&modules, word) {
                Some(true) => found += 1,
                Some(false) => missing.push(format!("{}: {word}", page.display())),
                None => {}
            }
        }
    }
    assert!(missing.is_empty(), "no such item:\n{}", missing.join("\n"));
    assert!(found > 10, "{found} items");
    for (path, expected) in [
        ("reuse::Guards", Some(true)),
        ("ptxasw::planted::Set::Convergence", Some(true)),
        ("reuse::Guardian", Some(false)),
        ("verify::record::nowhere", Some(false)),
        ("std::max", None),
    ] {
        assert_eq!(is_item(&modules, path), expected, "{path}");
    }
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept =
        heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// A page without its code: indented blocks, and spans between backquotes.
fn prose(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with("    "));
    lines.map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for page in pages() {
        for target in
            prose(&read(&page)).split("](").skip(1).filter_map(|rest| rest.split(')').next())
        {
            if target.contains("://") {
                continue;
            }
            count += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file.is_empty() {
                true => page.clone(),
                false => page.with_file_name(file),
            };
            let there = file.exists()
                && (heading.is_empty()
                    || read(&file)
                        .lines()
                        .filter(|line| line.starts_with('#'))
                        .any(|line| anchor(line.trim_start_matches('#')) == heading));
            if !there {
                broken.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    assert!(count > 0, "no links at all");
}

#[test]
fn every_variable_of_the_environment_is_explained() {
    let names = |text: &str| -> Vec<String> {
        let ends = |c: char| !(c.is_ascii_uppercase() || c == '_');
        text.match_indices("PTXASW_")
            .map(|(at, _)| text[at..].split(ends).next().unwrap_or_default().to_owned())
            .filter(|name| name.len() > "PTXASW_".len())
            .collect()
    };
    let explained: Vec<String> = pages()
        .iter()
        .filter(|page| page.parent() == Some(root()) || page.starts_with(root().join("docs")))
        .flat_map(|page| names(&read(page)))
        .collect();
    let environment = read(&root().join("src/cli/env.rs"));
    let read_there = names(environment.split("#[cfg(feature").next().unwrap_or_default());
    assert!(read_there.len() > 8, "{read_there:?}");
    for name in read_there {
        assert!(explained.contains(&name), "{name} stands in no page");
    }
}

/// Pages and scripts that list the strategies name each of them.
#[test]
fn every_strategy_is_listed() {
    let lists = [
        ("docs/environment.md", "`"),
        ("docs/evaluation.md", "`"),
        ("scripts/parts/gpu-pairs", "\""),
        ("CHANGELOG.md", "`"),
    ];
    for (file, quote) in lists {
        let text = read(&root().join(file));
        for word in StrategyName::iter().map(StrategyName::word) {
            assert!(
                text.contains(&format!("{quote}{word}{quote}")),
                "{file} does not list `{word}`"
            );
        }
    }
}

#[test]
fn one_release_of_rust() {
    let value = |file: &str, key: &str| {
        let text = read(&root().join(file));
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        line.unwrap_or_else(|| panic!("{file} has no {key}")).trim_matches('"').to_owned()
    };
    let (least, used) =
        (value("Cargo.toml", "rust-version"), value("rust-toolchain.toml", "channel"));
    assert_eq!(used, format!("{least}.0"), "rust-toolchain.toml and Cargo.toml");
}

/// Each rule by which a load is kept, and each mistake that is planted, belongs to a law.
#[test]
fn laws_name_every_rule_and_every_mistake() {
    let mut files = vec![root().join("src/rewrite/rewrite/laws.rs")];
    below(&root().join("src/rewrite/rewrite/laws"), &["rs"], &mut files);
    let laws: String = files.iter().map(|file| read(file)).collect();
    let files = rules::REASONS.iter().map(|file| read(&root().join(file)));
    let rules: Vec<String> = files.flat_map(|text| rules::of(&text)).collect();
    // Rules that are not decisions of the analysis.
    let others = ["unreachable", "not-selected", "collective"];
    let mistakes: Vec<String> =
        Bug::of(Set::All).into_iter().map(|bug| format!("{bug:?}")).collect();
    assert!(rules.len() > 15 && mistakes.len() > 20, "{rules:?} {mistakes:?}");
    let rules = rules.iter().map(String::as_str).filter(|rule| !others.contains(rule));
    for name in rules.chain(mistakes.iter().map(String::as_str)) {
        assert!(laws.contains(&format!("`{name}`")), "no law speaks of `{name}`");
    }
}
