//! What the functions of the library say of themselves.

use std::collections::BTreeSet;
use std::fs;

use super::{LIBRARY, root};

/// The tests that the sources of this target declare.
fn tests() -> BTreeSet<String> {
    let text = fs::read_to_string(root().join("tests/library.rs")).unwrap();
    let names = text.split("#[test]\nfn ").skip(1).map(|rest| rest.split('(').next().unwrap());
    names.map(str::to_owned).collect()
}

/// The comments in front of each function that a header declares, with its signature.
fn functions(text: &str) -> Vec<(String, String)> {
    let (mut found, mut comment, mut inside) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        let is_signature =
            line.starts_with("__device__") || line.starts_with("__host__ __device__");
        if is_signature && !inside {
            found.push((comment.clone(), line.to_owned()));
        }
        inside = (inside || is_signature) && line != "}";
        if line.starts_with("//") {
            comment.push_str(line.trim_start_matches('/').trim());
            comment.push('\n');
        } else if !line.starts_with("template") {
            comment.clear();
        }
    }
    found
}

#[test]
fn each_function_names_its_formula_its_proof_and_its_test() {
    let tests = tests();
    let mut named = BTreeSet::new();
    for header in &LIBRARY.headers {
        let functions = functions(&header.text);
        assert_eq!(functions.len(), header.functions, "{}", header.file);
        for (comment, signature) in functions {
            for what in ["formula:", "proof: ", "test: "] {
                let count = comment.lines().filter(|line| line.starts_with(what.trim())).count();
                assert_eq!(count, 1, "{}: {signature}: {what}", header.file);
            }
            let test = comment.lines().find_map(|line| line.strip_prefix("test: ")).unwrap();
            let (file, test) = test.split_once(", ").unwrap();
            assert!(root().join(file).is_file(), "{signature}: {file}");
            assert!(test == "all of it" || tests.contains(test), "{signature}: {test}");
            named.insert(test.to_owned());
        }
    }
    assert!(named.len() >= 5, "{named:?}");
}

/// Files that the comments name are there.
#[test]
fn what_is_named_is_there() {
    for header in &LIBRARY.headers {
        for word in header.text.split(|c: char| c.is_whitespace() || ",;`()".contains(c)) {
            let word = word.trim_end_matches(['.', ':']);
            if ["src/", "tests/", "docs/"].iter().any(|folder| word.starts_with(folder)) {
                assert!(root().join(word).exists(), "{}: {word}", header.file);
            }
        }
    }
}

/// All sizes, all radii, and all loops of the tests whose operator is proved.
#[test]
fn nothing_of_the_catalogue_is_left_out() {
    let text =
        |file: &str| &LIBRARY.headers.iter().find(|header| header.file == file).unwrap().text;
    for words in ptxasw::reuse::STRUCT_WORDS {
        for signature in [
            format!("to_structs(T (&own)[{words}], const T (&words)[{words}]"),
            format!("to_words(T (&words)[{words}], const T (&own)[{words}]"),
        ] {
            assert!(text("structs.cuh").contains(&signature), "{signature}");
        }
    }
    for radius in 1..=8 {
        for name in ["window", "convolve", "window_sum", "window_max", "window_min"] {
            assert!(
                text("windows.cuh").contains(&format!("void {name}{radius}(")),
                "{name}{radius}"
            );
        }
    }
    let statements = |text: &str| -> String {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.flat_map(|line| [line, "\n"]).collect()
    };
    let own: BTreeSet<String> =
        LIBRARY.operators.iter().map(|operator| statements(&operator.sketch)).collect();
    let mut proved = 0;
    for entry in fs::read_dir(root().join("tests/synth")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("loop") || !name.ends_with(".sketch") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let (sketch, expected) = text.split_once("#$").unwrap();
        if expected.contains("#> proved for lists of all lengths") {
            proved += 1;
            assert!(own.contains(&statements(sketch)), "{name} is not in the library");
        }
    }
    assert!(proved > 25, "{proved} loops");
}
