//! Messages about the kernels of other tests, and what the program says of itself.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use ptxasw::lint::{self, lint};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::ptx::{self, Depth};
use ptxasw::remarks;
use ptxasw::source::SourceFile;
use ptxasw::verify::{self, verify};
use rayon::prelude::*;

use super::hold;
use crate::common::header::options_of;
use crate::common::root;

/// The PTX files of a folder, sorted, each with its text.
fn files(folder: &str) -> Vec<SourceFile> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|kind| kind == "ptx"));
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no PTX files");
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root()).expect("below the root").display().to_string();
        SourceFile::from_bytes(name, fs::read(path).expect("it can be read"))
    };
    // Binary input is about another message.
    paths.into_iter().filter_map(|path| read(path).ok()).collect()
}

/// A message without numbers and names, so that messages of one form are shown once.
fn form(message: &str) -> String {
    let mut form = String::new();
    let mut code = false;
    for c in message.chars() {
        match c {
            '`' => code = !code,
            _ if code => {}
            '0'..='9' if form.ends_with('0') => {}
            '0'..='9' => form.push('0'),
            c => form.push(c),
        }
    }
    form
}

/// Messages by heading, one of each form, with the place of its first input.
#[derive(Default)]
struct Catalogue(BTreeMap<String, BTreeMap<String, (String, String)>>);

impl Catalogue {
    fn add(&mut self, heading: &str, place: &str, message: &str) {
        let first = message.lines().next().unwrap_or_default().to_owned();
        let entries = self.0.entry(heading.to_owned()).or_default();
        entries.entry(form(&first)).or_insert_with(|| (place.to_owned(), first));
    }

    fn text(&self, head: &str) -> String {
        let mut text = format!("{head}\n");
        for (heading, messages) in &self.0 {
            text += &format!("\n{heading}\n");
            for (place, message) in messages.values() {
                text += &format!("  {message}\n    {place}\n");
            }
        }
        text
    }
}

#[test]
fn syntax() {
    let mut text = "Errors of the parser, each under the file that provokes it.\n".to_owned();
    for source in files("tests/parser/error") {
        let error = ptx::parse(&source, Depth::All).expect_err(source.name());
        text += &format!("\n{error}\n");
    }
    hold("syntax.txt", &text);
}

#[test]
fn refusals_and_remarks() {
    let (mut refusals, mut remarks) = (Catalogue::default(), Catalogue::default());
    let sources = [files("tests/cases/accept"), files("tests/cases/refuse")].concat();
    let reports: Vec<_> = sources
        .par_iter()
        .filter_map(|source| {
            let options = Options { all_bodies: true, ..options_of(source.text()) };
            Some((source, rewrite(source, &options).ok()?.report))
        })
        .collect();
    for (source, report) in &reports {
        for kernel in &report.kernels {
            let place = |line: u32| format!("{}:{line}", source.name());
            for load in kernel.loads.iter().chain(&kernel.stores) {
                if let (Some(rule), Some(reason)) = (&load.rule, &load.reason) {
                    refusals.add(rule, &place(load.line), reason);
                }
            }
            for array in &kernel.arrays {
                refusals.add("(arrays)", &place(array.line), &array.sentence());
            }
            for one in &kernel.collectives {
                refusals.add("(collectives)", &place(one.line), &one.sentence());
            }
            refusals.add("(a kernel in one sentence)", source.name(), &kernel.sentence());
        }
        for remark in remarks::yaml(source, report).split("--- ").skip(1) {
            let name =
                remark.lines().find_map(|line| line.strip_prefix("Name:")).unwrap_or_default();
            let strings = remark.lines().filter_map(|line| line.trim_start().strip_prefix("- "));
            let words: Vec<&str> = strings
                .filter_map(|line| line.split_once(": "))
                .map(|(_, text)| text.trim_matches([' ', '\'', '"']))
                .collect();
            remarks.add(name.trim(), source.name(), &words.join(" "));
        }
    }
    let head = "Why accesses are kept, by rule, and sentences about kernels: one message of each form, with its first place.";
    hold("refusals.txt", &refusals.text(head));
    hold(
        "remarks.txt",
        &remarks.text("Remarks by name: one of each form, with the first file that has it."),
    );
}

#[test]
fn proofs() {
    let mut reasons = Catalogue::default();
    for verdict in ["different", "unknown"] {
        let all = files(&format!("tests/verify/{verdict}"));
        let rewritten = |source: &&SourceFile| source.name().ends_with(".rewritten.ptx");
        let found: Vec<_> = all
            .par_iter()
            .filter(rewritten)
            .filter_map(|after| {
                let name = after.name().replace(".rewritten.ptx", ".ptx");
                let before = all.iter().find(|source| source.name() == name)?;
                Some((before.name(), verify(before, after, &verify::Options::default()).ok()?))
            })
            .collect();
        for (name, judged) in found {
            let inner = judged.functions.iter().flat_map(|function| &function.problems);
            for problem in inner.chain(&judged.problems) {
                reasons.add(verdict, name, &problem.reason);
            }
        }
    }
    let head =
        "Why a rewrite is not proved: one reason of each form, with the first pair that has it.";
    hold("proofs.txt", &reasons.text(head));
}

#[test]
fn findings() {
    let mut found = Catalogue::default();
    for source in files("tests/lint") {
        let Ok(file) = lint(&source, &lint::Options::default()) else { continue };
        for (_, finding) in file.findings() {
            let place = format!("{}:{}", source.name(), finding.line);
            found.add(
                &finding.rule.to_string(),
                &place,
                &format!("{}; help: {}", finding.message, finding.help),
            );
        }
    }
    hold(
        "findings.txt",
        &found.text("Findings of `lint` by rule: one of each form, with its first place."),
    );
}

#[test]
fn help() {
    let ptxasw = |words: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
        let output = program.args(words).env("COLUMNS", "120").output().expect("it runs");
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).expect("a text")
    };
    let first = ptxasw(&["--help"]);
    let commands = first.split("Commands:\n").nth(1).expect("a list of subcommands");
    let commands = commands.lines().take_while(|line| line.starts_with("  "));
    let names: Vec<&str> = commands
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let mut text = format!("$ ptxasw --help\n{first}");
    for name in names.into_iter().filter(|name| *name != "help") {
        text += &format!("\n$ ptxasw help {name}\n{}", ptxasw(&["help", name]));
    }
    text += &format!("\n$ ptxasw explain\n{}", ptxasw(&["explain"]));
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    hold("help.txt", &(lines.join("\n") + "\n"));
}
