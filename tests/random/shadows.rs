//! Braces around single statements of a kernel's text, in which names of the kernel mean something else.
//!
//! A statement that names none of some registers, variables and parameters computes the same in a scope that declares
//! these anew, so the kernel has the same meaning. Code that a rewrite puts at such a statement under one of those
//! names has another one.

use std::fmt::Write;

use fastrand::Rng;

use super::emit::Case;

/// Registers that a scope declares anew.
const SHADOWED: usize = 12;

/// A kernel with such scopes around many of its statements.
pub fn shadowed(case: &Case, seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed ^ 0x5bad_0e5c_09e5_0000);
    let named = registers(&case.ptx);
    let variables = variables(&case.ptx);
    // (Of its own, so that the registers of a seed do not depend on the variables.)
    let mut of_variables = Rng::with_seed(seed ^ 0x0a41_ab1e_0000_5bad);
    let share = rng.u8(1..8);
    let mut ptx = String::with_capacity(4 * case.ptx.len());
    // Braces that the kernel has itself declare names of their own.
    let mut depth = 0;
    for line in case.ptx.lines() {
        let statement = line.trim();
        depth += line.matches('{').count() as i32 - line.matches('}').count() as i32;
        let is_statement = statement.ends_with(';') && !statement.contains(':');
        if depth == 1
            && is_statement
            && statement.starts_with(|c: char| c == '@' || c.is_lowercase())
            && !statement.contains("call")
            && rng.u8(..8) < share
        {
            let declared = shadows(line, &variables, &mut of_variables);
            ptx += &scope(line, &named, &declared, &mut rng);
        } else {
            ptx += line;
            ptx.push('\n');
        }
    }
    Case { ptx, launch: case.launch.clone() }
}

/// The registers that the kernel's own scope declares, with their types: of each family all but the first.
fn registers(ptx: &str) -> Vec<(String, String)> {
    let kernel = ptx.find(".entry").map_or("", |at| &ptx[at..]);
    let mut found = Vec::new();
    for line in kernel.lines().take_while(|line| !line.starts_with("\t{")) {
        let Some((ty, family)) = line
            .strip_prefix("\t.reg ")
            .and_then(|rest| rest.trim_end_matches(';').split_once(' '))
        else {
            continue;
        };
        let Some((stem, count)) = family.trim_end_matches('>').split_once('<') else { continue };
        for index in 1..count.parse().unwrap_or(0) {
            found.push((ty.to_owned(), format!("{stem}{index}")));
        }
    }
    found
}

/// The parameters of the kernel, and the variables of the kernel's own scope and of the module.
fn variables(ptx: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in ptx.lines().take_while(|line| !line.starts_with("\t{")) {
        let words: Vec<&str> = line.trim().trim_end_matches([',', ';']).split(' ').collect();
        let declares =
            |space: &&str| matches!(*space, ".param" | ".shared" | ".local" | ".global" | ".const");
        let is_declaration = words.iter().take(2).any(declares);
        if let (true, Some(name)) = (is_declaration, words.last()) {
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            found.push(name[..end.unwrap_or(name.len())].to_owned());
        }
    }
    found
}

/// Declarations of local variables with names that a statement does not need, for about half of them.
fn shadows(line: &str, variables: &[String], rng: &mut Rng) -> String {
    let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let free = variables.iter().filter(|name| !words.contains(&name.as_str()));
    let chosen = free.filter(|_| rng.bool());
    chosen.map(|name| format!("\t.local .align 8 .b8 {name}[8];\n")).collect()
}

/// A statement in braces that declare registers anew, each with a value that nothing else has.
fn scope(line: &str, named: &[(String, String)], variables: &str, rng: &mut Rng) -> String {
    let words: Vec<&str> = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '%').collect();
    let mut free: Vec<&(String, String)> =
        named.iter().filter(|(_, name)| !words.contains(&name.as_str())).collect();
    rng.shuffle(&mut free);
    free.truncate(SHADOWED);
    let mut text = format!("\t{{\n{variables}");
    for (ty, name) in &free {
        let value = rng.u16(0x100..);
        let _ = writeln!(text, "\t.reg {ty} {name};");
        let _ = match ty.as_str() {
            ".pred" => writeln!(
                text,
                "\tsetp.{}.u32 {name}, 0, 0;",
                if value.is_multiple_of(2) { "eq" } else { "ne" }
            ),
            _ => {
                let bits = ty.trim_start_matches(|c: char| !c.is_ascii_digit());
                writeln!(text, "\tmov.b{bits} {name}, {value};")
            }
        };
    }
    let _ = write!(text, "{line}\n\t}}\n");
    text
}
