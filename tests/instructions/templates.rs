//! The instruction forms of `tests/interp/forms.txt`, expanded, and those that the real ptxas takes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

use super::assembler::Assembler;

const TEMPLATES: &str = include_str!("../interp/forms.txt");
/// The target for which ptxas is asked.
pub const TARGET: &str = "sm_100a";
/// How many forms one call of ptxas checks.
const CHUNK: usize = 1000;

/// What stands in front of forms: registers `%p`, `%h`, `%r`, `%x`, `%q` of 1, 16, 32, 64, 128 bits, and variables
/// `c`, `a`, `l`, `s` in constant, parameter, local, and shared memory. More parameters and registers may follow.
pub fn head(parameters: &str, registers: &str) -> String {
    format!(
        ".version 8.8\n.target {TARGET}\n.address_size 64\n.const .align 64 .b8 c[128];\n\
         .visible .entry k(.param .u64 p, .param .align 64 .b8 a[128]{parameters})\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %x<9>; .reg .b128 %q<9>;\n\
         {registers}.local .align 64 .b8 l[128]; .shared .align 64 .b8 s[4096];\n"
    )
}

/// The letter of the registers that hold a type.
fn register_class(ty: &str) -> char {
    if ty == "pred" {
        return 'p';
    }
    if ["e4m3", "e5m2", "ue8m0"].iter().any(|narrow| ty.starts_with(narrow)) {
        return 'h';
    }
    let digits: String =
        ty.split('x').next().unwrap_or(ty).chars().filter(char::is_ascii_digit).collect();
    let width: u32 = digits.parse().expect("a type ends in its width");
    match if ty.ends_with("x2") { 2 * width } else { width } {
        8 | 16 => 'h',
        64 => 'x',
        128 => 'q',
        _ => 'r',
    }
}

/// All forms of a template.
fn expand(template: &str, names: &BTreeMap<&str, Vec<&str>>, found: &mut Vec<String>) {
    static TYPE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(pred|(u|s|b|f|bf|tf)[0-9]+(x2)?|u?e[0-9]+m[0-9](x2)?)$").unwrap()
    });
    let template = template.replace("{{", "\0").replace("}}", "\x01");
    let mut texts = vec![String::new()];
    for (at, part) in template.split(['{', '}']).enumerate() {
        let choices: Vec<&str> = match at % 2 {
            0 => vec![part],
            _ => names.get(part).cloned().unwrap_or_else(|| part.split(',').collect()),
        };
        let joined = |text: &String| {
            let choices = choices.iter().map(|choice| if *choice == "-" { "" } else { choice });
            choices.map(|choice| format!("{text}{choice}")).collect::<Vec<_>>()
        };
        texts = texts.iter().flat_map(joined).collect();
    }
    for mut text in texts {
        let opcode = text.split(' ').next().unwrap_or_default().to_owned();
        let types: Vec<&str> = opcode.split('.').skip(1).filter(|m| TYPE.is_match(m)).collect();
        for (letter, ty) in [("%T", types.last()), ("%U", types.iter().nth_back(1))] {
            if let Some(ty) = ty {
                text = text.replace(letter, &format!("%{}", register_class(ty)));
            }
        }
        if !text.contains("%T") && !text.contains("%U") {
            found.push(text.replace('\0', "{").replace('\x01', "}"));
        }
    }
}

/// Every form of the templates, whether or not it exists.
pub fn candidates() -> Vec<String> {
    let mut names = BTreeMap::new();
    let mut found = Vec::new();
    for line in TEMPLATES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.split_once(" = ") {
            Some((name, values)) => {
                names.insert(name, values.split_whitespace().collect());
            }
            None => expand(line, &names, &mut found),
        }
    }
    let mut seen = HashSet::new();
    found.retain(|form| seen.insert(form.clone()));
    found
}

/// Those of some forms that the real ptxas takes.
pub fn existing(assembler: &Assembler, forms: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    forms.chunks(CHUNK).flat_map(|chunk| taken(assembler, folder.path(), chunk.to_vec())).collect()
}

#[expect(clippy::disallowed_methods, reason = "starts the real ptxas")]
fn taken(assembler: &Assembler, folder: &Path, mut forms: Vec<String>) -> Vec<String> {
    let head = head("", "");
    let first = head.lines().count() + 1;
    while !forms.is_empty() {
        let (input, output) = (folder.join("forms.ptx"), folder.join("forms.cubin"));
        std::fs::write(&input, format!("{head}{}\nret;\n}}\n", forms.join("\n"))).expect("written");
        let mut call = Command::new(&assembler.ptxas);
        call.arg(format!("-arch={TARGET}")).arg(&input).arg("-o").arg(output);
        let output = call.output().expect("ptxas starts");
        if output.status.success() {
            return forms;
        }
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let wrong: BTreeSet<usize> = said
            .lines()
            .filter(|line| line.contains("; error"))
            .filter_map(|line| line.split("line ").nth(1)?.split(';').next()?.parse().ok())
            .filter_map(|line: usize| line.checked_sub(first))
            .collect();
        let all = forms.len();
        forms = forms
            .into_iter()
            .enumerate()
            .filter_map(|(at, form)| (!wrong.contains(&at)).then_some(form))
            .collect();
        // ptxas gave up without naming a line.
        if forms.len() == all {
            if all == 1 {
                return Vec::new();
            }
            let rest = forms.split_off(all / 2);
            return [taken(assembler, folder, forms), taken(assembler, folder, rest)].concat();
        }
    }
    forms
}
