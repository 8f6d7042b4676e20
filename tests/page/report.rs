//! From a folder to a page.

use std::path::Path;
use std::process::{Command, Output};

use ptxasw::cli::keep;
use ptxasw::cli::report::report;
use ptxasw::pipeline::{self, Options};
use ptxasw::report::{CollectiveReport, Report};
use ptxasw::source::SourceFile;
use serde_json::{Value, json};
use tempfile::TempDir;

fn ptxasw(words: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Command::new(env!("CARGO_BIN_EXE_ptxasw")).args(words).current_dir(root).output().expect("runs")
}

fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(folder.path().join(name), text).expect("writes");
}

/// What the subcommands say of a sample.
fn sample(folder: &TempDir, name: &str, with_ptx: bool) {
    let ptx = format!("ptx-samples/{name}/{name}.sm_80.ptx");
    let launch = format!("ptx-samples/{name}/{name}.json");
    for (kind, words) in [
        ("candidates", &["candidates", "--strategy", "paper", &ptx, "--format", "json"][..]),
        ("trace", &["trace", &ptx, "--format", "json"]),
        ("profile", &["run", &ptx, "--launch", &launch, "--profile", "--format", "json"]),
    ] {
        let output = ptxasw(words);
        assert!(output.status.success(), "{words:?}");
        write(folder, &format!("{name}.{kind}.json"), output.stdout);
    }
    if with_ptx {
        let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&ptx)).expect("reads");
        write(folder, &format!("{name}.sm_80.ptx"), text);
    }
}

fn measurement(kernel: &str) -> Value {
    let variant = |name: &str, speedup: Option<f64>| {
        let median = 100.0 / speedup.unwrap_or(1.0);
        let mut variant = json!({
            "name": name, "median_us": median, "samples": 5, "registers": 20, "local_bytes": 0,
            "blocks_per_multiprocessor": 8, "times_us": vec![median; 5],
        });
        if let Some(speedup) = speedup {
            variant["speedup"] = json!(speedup);
            variant["interval"] = json!([speedup - 0.02, speedup + 0.02]);
            variant["verdict"] = json!("faster");
            variant["identical_output"] = json!(name == "full");
        }
        variant
    };
    json!({
        "device": "Test <1>", "architecture": "sm_80", "driver": "12.4", "file": "jacobi.sm_80.ptx",
        "launch": "l.json", "kernel": kernel, "grid": [4, 8, 1], "block": [128, 1, 1], "l2": "keep", "launches_per_sample": 5, "confidence": 0.99,
        "threshold": 0.01, "seed": 1,
        "throttling": {"source": "nvml", "seen": true, "detail": "heat", "rounds_left_out": 1},
        "variants": [variant("original", None), variant("no-load", Some(1.4)), variant("full", Some(1.125))],
        "notes": ["a note"], "something_new": [1, 2],
    })
}

fn page(folder: &TempDir) -> String {
    let made = report(folder.path()).expect("a page");
    assert_eq!(made.warnings, Vec::<String>::new());
    made.html
}

/// A build's decision: its steps by their times, both versions' cycles by their numbers, the judge's answer.
#[test]
fn the_decision_of_a_build_is_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = SourceFile::new(
        "k.ptx",
        std::fs::read_to_string("ptx-samples/jacobi/jacobi.sm_80.ptx").expect("it is there"),
    );
    let rewritten = pipeline::rewrite(&source, &Options::paper()).expect("it is PTX");
    let mut build = serde_json::to_value(&rewritten.report).expect("JSON");
    let kernel = &mut build["kernels"][0];
    kernel["decision"] = json!("kept-original");
    kernel["why"] = json!("measure");
    kernel["proof"] = json!({"verdict": "equal", "by": "certificate", "steps": 123_456});
    kernel["trace"] =
        json!([{"step": "considered", "seconds": 0.02}, {"step": "tried", "seconds": 0.08}]);
    kernel["measure"] =
        json!({"original": {"8": 1000.0, "64": 400.0}, "rewritten": {"8": 750.0, "64": 500.0}});
    write(&folder, "k.json", build.to_string());
    write(&folder, "k.ptx", source.text());
    let html = page(&folder);
    for shown in [
        "the original is used, since its machine code gains too little",
        "<code>equal</code>, by a certificate of 123456 steps",
        "assembled in both versions</td><td class=\"number\">0.080</td><td><span class=\"share other\" style=\"width: 10rem\">",
        "considered</td><td class=\"number\">0.020</td><td><span class=\"share other\" style=\"width: 2.5rem\">",
        "<td class=\"number\">750</td><td><span class=\"share full\" style=\"width: 7.5rem\"></span></td><td class=\"number\">0.750</td>",
        "<span class=\"share full\" style=\"width: 5rem\"></span></td><td class=\"number\">1.250</td>",
        "<td data-of=\"build uses\">original</td>",
    ] {
        assert!(html.contains(shown), "{shown}\n{html}");
    }
    // Outside of builds nothing of this is there.
    write(&folder, "k.json", serde_json::to_string(&rewritten.report).expect("JSON"));
    let html = page(&folder);
    assert!(!html.contains("Decision of the build") && !html.contains("build uses"));
}

/// How often a text stands in another.
fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn every_load_is_on_the_page_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    sample(&folder, "jacobi", true);
    write(&folder, "jacobi.ab.json", measurement("jacobi").to_string());
    let html = page(&folder);
    // 3 rows of 3 loads each: 6 lines of the listing are shuffled, 3 kept.
    assert_eq!(count(&html, "class=\"row shuffled\""), 6);
    assert_eq!(count(&html, "class=\"row kept\""), 3);
    assert_eq!(count(&html, "<svg"), 1 + 3, "one chart, three rows");
    assert!(html.contains("Δ -2 from line 65 [linear-lanes, whole-warp, no-wrap %r15]"));
    assert!(html.contains("the source of 2 others"));
    assert!(html.contains("3 stay as they are (<code>no-partner</code>)"));
    assert!(html.contains("78 requests of 1.92 lines"), "the profile");
    assert_eq!(count(&html, "78 requests of"), 9 + 1, "the loads and the store of the profile");
    for (column, shown) in
        [("lines per load", true), ("shuffled", true), ("bank passes", false), ("refused", false)]
    {
        assert_eq!(html.contains(&format!("data-of=\"{column}\"")), shown, "{column}");
    }
    assert!(html.contains("title=\"jacobi_param_0 + 4*s32("), "the address on hover");
    assert!(html.contains("1.125 [1.105, 1.145] faster"));
    assert!(html.contains("jacobi: 4×8 blocks of 128"));
    assert!(html.contains("1.400 [1.380, 1.420] other output"));
    assert!(html.contains("the clocks did not hold: heat") && html.contains("a note"));
    // What comes from files is text, not markup.
    assert!(html.contains("Test &lt;1&gt;") && !html.contains("<1>"));
}

/// Under the default strategy: how each load comes, what was left alone, and what both cost.
#[test]
fn what_was_weighed_is_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["rowwise", "structs", "jacobi", "pastl1"] {
        let ptx = format!("ptx-samples/{name}/{name}.sm_80.ptx");
        let output = ptxasw(&["candidates", &ptx, "--format", "json"]);
        write(&folder, &format!("{name}.json"), output.stdout);
        let text = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(&ptx)).expect("reads");
        write(&folder, &format!("{name}.sm_80.ptx"), text);
    }
    let html = page(&folder);
    assert_eq!(count(&html, "class=\"row replaced\""), 2 + 8 + 8, "with two loads for each row");
    assert_eq!(
        count(&html, "class=\"row possible\""),
        3 + 4 + 8,
        "structs of three and four words"
    );
    assert_eq!(count(&html, "class=\"row shuffled\""), 26);
    let why = "copied from line 58, 1 iteration before: 0.25 cycles against 1.25";
    assert!(html.contains(why) && html.contains(">0.5 against 2.5</td>"));
    assert!(
        html.contains("in a vector from line 132 [multiple of 16: structs8_param_0]: 9 cycles")
    );
    assert!(html.contains("does not pay on sm_80: `window` 2.33 cycles against 1.25"));
}

/// The headline counts stores, arrays and collectives beside loads, and kernels that were taken back.
#[test]
fn the_headline_counts_more_than_loads() {
    let headline = |ptx: &str, strategy: &str, taken_back: bool| {
        let folder = tempfile::tempdir().expect("a folder");
        let output = ptxasw(&["candidates", "--strategy", strategy, ptx, "--format", "json"]);
        let mut said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        if taken_back {
            said["kernels"][0]["skipped"] = json!("taken back: k: 2 cycles per warp instead of 1");
        }
        write(&folder, "k.candidates.json", said.to_string());
        let html = page(&folder);
        html.split("</header>").next().expect("a header").to_owned()
    };
    for (ptx, strategy, words) in [
        ("tests/cases/accept/aos_stored_block.ptx", "aos", "stores performed by other lanes"),
        ("tests/cases/accept/bank.ptx", "bank", "arrays laid out anew"),
        ("tests/cases/accept/collective.ptx", "collective", "collectives replaced"),
    ] {
        let head = headline(ptx, strategy, false);
        assert!(head.contains("<p>Besides: ") && head.contains(words), "{ptx}: {head}");
        assert!(!head.contains("taken back"), "{ptx}: {head}");
    }
    let head = headline("tests/cases/accept/bank.ptx", "none", true);
    assert!(head.contains("<p>Besides: 1 kernel taken back"), "{head}");
    let head = headline("tests/cases/accept/bank.ptx", "none", false);
    assert!(!head.contains("Besides"), "{head}");
}

/// Each collective whose steps are known has a line for each value that another lane gets; the steps of a reduction
/// bring the values of all its lanes together.
#[test]
fn collectives_are_drawn() {
    let mut drawn = 0;
    for name in ["collective", "collective_loops", "collective_groups", "collective_wide", "tree"] {
        let folder = tempfile::tempdir().expect("a folder");
        let ptx = format!("tests/cases/accept/{name}.ptx");
        let output = ptxasw(&["candidates", "--strategy", "collective", &ptx, "--format", "json"]);
        write(&folder, "k.candidates.json", &output.stdout);
        let said: Report = serde_json::from_slice(&output.stdout).expect("JSON");
        let all: Vec<&CollectiveReport> =
            said.kernels.iter().flat_map(|kernel| &kernel.collectives).collect();
        let (mut lines, mut pictures) = (0, 0);
        for one in all {
            for step in &one.steps {
                let others = (0..).zip(&step.sources).filter(|(lane, source)| lane != *source);
                lines += others.count();
                assert_eq!(step.sources.len(), 32, "{name}: {one:?}");
                assert!(
                    one.lines.iter().any(|line| line.abs_diff(step.line) < 8),
                    "{name}: {one:?}"
                );
            }
            pictures += usize::from(!one.steps.is_empty());
            let is_reduction = ["sum", "min", "max", "and", "or", "xor"].contains(&&*one.computes);
            if is_reduction && one.shuffles > 0 {
                let most = gathered(one).iter().map(|lanes| lanes.count_ones()).max();
                assert!(most >= Some(one.lanes), "{name}: {one:?}");
            }
        }
        let html = page(&folder);
        assert_eq!(count(&html, " to lane "), lines, "{name}");
        assert_eq!(count(&html, "steps from top to bottom"), pictures, "{name}");
        assert!(pictures > 0, "{name}");
        drawn += pictures;
    }
    assert!(drawn >= 20, "{drawn}");
}

/// For each lane the lanes whose values have come to it, by bits.
fn gathered(one: &CollectiveReport) -> Vec<u32> {
    let own: Vec<u32> = (0..32).map(|lane| 1 << lane).collect();
    one.steps.iter().fold(own, |held, step| {
        let sources = step.sources.iter().map(|source| held[usize::from(*source)]);
        held.iter().zip(sources).map(|(own, other)| own | other).collect()
    })
}

#[test]
fn stores_of_structs_are_on_the_page() {
    let ptx = "tests/cases/accept/aos_stored_block.ptx";
    let shown = |strategy: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        let output = ptxasw(&["candidates", "--strategy", strategy, ptx, "--format", "json"]);
        assert!(output.status.success());
        write(&folder, "stores.candidates.json", &output.stdout);
        let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let kernels = said["kernels"].as_array().expect("kernels");
        let stores: usize =
            kernels.iter().filter_map(|kernel| kernel["stores"].as_array()).map(Vec::len).sum();
        let html = page(&folder);
        assert_eq!(html.contains("; 3 stores performed by other lanes"), stores > 0, "{strategy}");
        let tables = html.split("<h3>Stores</h3>").skip(1);
        let tables = tables.map(|behind| behind.split("</table>").next().expect("a table"));
        let rows: usize = tables.map(|table| count(table, "\"badge replaced\"")).sum();
        (stores, rows)
    };
    let (stores, rows) = shown("aos");
    assert!(stores > 1);
    assert_eq!(rows, stores);
    assert_eq!(shown("paper"), (0, 0));
}

#[test]
fn the_page_needs_nothing_else_and_is_the_same_each_time() {
    let folder = tempfile::tempdir().expect("a folder");
    sample(&folder, "jacobi", true);
    let html = page(&folder);
    assert_eq!(html, page(&folder));
    assert!(html.starts_with("<!DOCTYPE html>"));
    for outside in ["src=", "@import", "url(", "<script", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let links = html.match_indices("href=\"").filter(|(at, _)| !html[at + 6..].starts_with('#'));
    assert_eq!(links.count(), 0);
}

/// The output of `lint`: kernels by waste, the lines of the source that was found, bars and findings.
#[test]
fn what_accesses_cost_is_on_the_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint");
    let lint = |name: &str, edit: &dyn Fn(String) -> String| {
        let text = std::fs::read_to_string(kernels.join(name)).expect("reads");
        write(&folder, name, edit(text));
        let path = folder.path().join(name).display().to_string();
        let output = ptxasw(&["lint", &path, "--format", "json"]);
        write(&folder, &format!("{name}.json"), output.stdout);
    };
    lint("uncoalesced-load.good.ptx", &|text| text.replace("entry k(", "entry least("));
    lint("bank-conflict.bad.ptx", &|text| text.replace("entry k(", "entry middle("));
    lint("uncoalesced-load.bad.ptx", &|text| {
        text.replace(".address_size 64\n", ".address_size 64\n.file 1 \"stats.cu\"\n")
            .replace("LOOP:\n", "LOOP:\n.loc 1 3 8\n")
            .replace("entry k(", "entry _Z6rowsumPKfPfii(")
    });
    let source = "\nfor (;;)\n  t += a[i*m + k] < b;\n\n\n\n\n\nunrelated\n";
    write(&folder, "stats.cu", source);
    let html = page(&folder);
    assert!(html.contains("<h1>What memory accesses cost</h1>"), "{html}");
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part}\n{html}"));
    assert!(place(">rowsum(float const*, float*, int, int)<") < place(">middle<"));
    assert!(place(">middle<") < place(">least<"));
    assert!(html.contains("<code>  t += a[i*m + k] &lt; b;</code>") && !html.contains("unrelated"));
    // The load and the store, which is behind it in the text, need 4 sectors each; 28 are too many if m is large.
    let bar = "<span class=\"used\" style=\"width:22.2%\"></span><span class=\"wasted\" style=\"width:0.0%\"></span>\
               <span class=\"maybe\" style=\"width:77.8%\"></span></span><span class=\"count\">36 for 8</span>";
    assert!(html.contains(bar), "{html}");
    assert!(html.contains("32 for 1") && html.contains("32-way bank conflict"), "{html}");
    assert_eq!(count(&html, ">uncoalesced-load</span>"), 1);
}

#[test]
fn hundreds_of_loads_stay_readable() {
    let folder = tempfile::tempdir().expect("a folder");
    sample(&folder, "rhs4", true);
    let html = page(&folder);
    assert_eq!(count(&html, "badge shuffled\">shuffled</span><span>"), 86);
    assert_eq!(count(&html, "badge refused\">refused</span><span>"), 0, "compared instead");
    assert_eq!(count(&html, "<details class=\"figure\" open>"), 6, "the rest is folded");
    assert!(count(&html, "<details class=\"figure\">") > 10);
    assert!(html.contains("lines without a memory access"), "a run has counted all accesses");
    assert!(html.len() < 1 << 20, "{} bytes", html.len());
}

#[test]
fn what_is_missing_is_left_away() {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        &folder,
        "only.json",
        json!({"measurements": [measurement("k"), measurement("l")]}).to_string(),
    );
    let html = page(&folder);
    assert_eq!(count(&html, "<svg"), 1);
    assert_eq!(count(&html, "Rows of loads"), 0);
    // Loads without the text: a table.
    let load =
        json!({"line": 7, "register": "%f1", "bytes": 4, "decision": "keep", "reason": "a <b>"});
    let kernels = json!([{"name": "k", "global_loads": 1, "shuffles": 0, "average_delta": null, "loads": [load]}]);
    write(&folder, "loads.json", json!({"file": "gone.ptx", "kernels": kernels}).to_string());
    let made = report(folder.path()).expect("a page");
    assert_eq!(
        made.warnings,
        [
            "gone.ptx is not found: its text is not shown; set PTXASW_KEEP to the folder of PTXASW_REPORT, and build again"
        ]
    );
    assert!(made.html.contains("a &lt;b&gt;") && made.html.contains("<code>%f1</code>"));
}

/// `PTXASW_KEEP` and `PTXASW_REPORT` of one folder: the page shows the text, though the file that was assembled is gone.
#[test]
fn texts_that_were_kept_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string("ptx-samples/jacobi/jacobi.sm_80.ptx").expect("it is there");
    let source = SourceFile::new("/tmp/gone/jacobi.ptx", text);
    let rewritten = pipeline::rewrite(&source, &Options::paper()).expect("it is PTX");
    keep::store_report(folder.path(), &source, &rewritten.report).expect("a report");
    let without = report(folder.path()).expect("a page");
    assert_eq!(without.warnings.len(), 1, "{:?}", without.warnings);
    keep::store_texts(folder.path(), &source, Some(&rewritten)).expect("texts");
    let with = report(folder.path()).expect("a page");
    assert_eq!(with.warnings, [""; 0]);
    assert!(with.html.contains(".visible .entry") && !without.html.contains(".visible .entry"));
    // One line, however many texts are missing.
    let others = [("a.json", "/tmp/gone/a.ptx"), ("b.json", "/tmp/gone/b.ptx")];
    for (name, file) in others {
        write(&folder, name, json!({"file": file, "kernels": []}).to_string());
    }
    let several = report(folder.path()).expect("a page");
    assert_eq!(several.warnings.len(), 1, "{:?}", several.warnings);
    assert!(
        several.warnings[0].starts_with("2 files are not found")
            && several.warnings[0].contains("PTXASW_KEEP")
    );
}

/// Every kernel whose times are published is on the page.
#[test]
fn the_published_results_make_a_page() {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("openacc-bench/results");
    let made = report(&results).expect("a page");
    let mut drawn = 0;
    for entry in std::fs::read_dir(&results).expect("results").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("reads");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        for one in value["measurements"].as_array().into_iter().flatten() {
            let name = one["kernel"].as_str().expect("a name");
            assert!(made.html.contains(name), "{path:?}: {name}");
            drawn += 1;
        }
    }
    assert!(drawn > 0, "no measurement is published");
}

#[test]
fn what_cannot_be_used_has_status_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let fails = |part: &str| {
        let output = ptxasw(&["report", &place]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{said}");
    };
    fails("no JSON file of candidates, lint, trace, run --profile or ab");
    write(&folder, "launch.json", r#"{"grid": [1], "block": [1]}"#);
    fails("no JSON file of candidates, lint, trace, run --profile or ab");
    write(&folder, "broken.json", "{");
    fails("broken.json: error: EOF");
    write(
        &folder,
        "broken.json",
        r#"{"file": "x.ptx", "kernels": [{"loads": [{"line": "one"}]}]}"#,
    );
    fails("broken.json: error: ");
    let output = ptxasw(&["report", &format!("{place}/none")]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_page_goes_where_it_is_asked_to() {
    let folder = tempfile::tempdir().expect("a folder");
    sample(&folder, "jacobi", false);
    write(&folder, "launch.json", r#"{"grid": [1], "block": [1]}"#);
    let place = folder.path().display().to_string();
    let printed = ptxasw(&["report", &place]);
    assert!(printed.status.success());
    // Found by the path that the JSON gives; a file that is not a report is named and left out.
    let said = String::from_utf8_lossy(&printed.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("launch.json is not JSON of candidates"), "{said}");
    assert!(printed.stdout.starts_with(b"<!DOCTYPE html>"));
    let file = format!("{place}/page.html");
    let written = ptxasw(&["report", &place, "-o", &file]);
    assert!(written.status.success() && written.stdout.is_empty());
    assert_eq!(std::fs::read(&file).expect("written"), printed.stdout);
}
