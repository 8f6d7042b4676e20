//! The texts of two files without parts of a kernel that do the same.
//!
//! Opaque instructions replace a part, the same ones in both files: volatile stores of the registers that it reads, then
//! volatile loads into those that it writes, or the instructions that compute values which never change. So the rest of both kernels is proved equal only if both reach the parts with
//! the same values, and continue alike whatever the parts have done. The
//! addresses of arrays in shared memory are stored as well: the parts access these, so no layout may change.

use std::fmt::Write;

use typed_index_collections::{TiVec, ti_vec};

use super::sides::Subject;
use super::tails::{Part, parts};
use super::text::Blanked;
use crate::cfg::{self, Flow, InstId, RegisterId};
use crate::ptx::{
    self, Depth, Function, Item, Module, ScalarType, StateSpace, Statement, Variable,
};
use crate::source::SourceFile;

/// The most parts of a kernel that are left out.
const MAX_PARTS: usize = 8;

/// The beginning of all names that are added.
const PREFIX: &str = "ptxasw_part";

/// Two files without the parts of a kernel that do the same in blocks of a shape, or of all shapes; `None` if there are none.
pub(crate) fn without_parts(
    texts: [&SourceFile; 2],
    kernel: &str,
    shape: Option<[u32; 3]>,
) -> Option<[SourceFile; 2]> {
    if texts.iter().any(|source| source.text().contains(PREFIX)) {
        return None;
    }
    let mut found: Option<[SourceFile; 2]> = None;
    for number in 0..MAX_PARTS {
        let [old, new] = match &found {
            None => texts,
            Some([old, new]) => [old, new],
        };
        let Some(next) = without_one([old, new], kernel, shape, number) else { break };
        found = Some(next);
    }
    found
}

fn without_one(
    [old, new]: [&SourceFile; 2],
    kernel: &str,
    shape: Option<[u32; 3]>,
    number: usize,
) -> Option<[SourceFile; 2]> {
    let parse = |source| ptx::parse(source, Depth::All).ok();
    let (before, after) = (parse(old)?, parse(new)?);
    let one = before.functions().find(|function| function.name.text == kernel)?;
    let other = after.functions().find(|function| function.name.text == kernel)?;
    let flows = (cfg::build(old, one).ok()?, cfg::build(new, other).ok()?);
    let subjects = [Subject::of(&before, one, &flows.0)?, Subject::of(&after, other, &flows.1)?];
    let cut = parts([&subjects[0], &subjects[1]], shape)?;
    let arrays = [arrays(&before, (old, one))?, arrays(&after, (new, other))?];
    let left = |side: usize, source: &SourceFile, flow: &Flow<'_, '_>| {
        without_part(source, flow, &cut[side], &arrays[side], number)
    };
    let texts = [left(0, old, &flows.0)?, left(1, new, &flows.1)?];
    Some([without_unreached(&texts[0], kernel)?, without_unreached(&texts[1], kernel)?])
}

/// The names of the arrays in shared memory that a kernel may access; `None` if a scope within its body declares some.
fn arrays<'s>(
    module: &Module<'s>,
    (source, function): (&SourceFile, &Function<'s>),
) -> Option<Vec<&'s str>> {
    fn declared<'v, 's>(
        statements: &'v [Statement<'s>],
        depth: u32,
        found: &mut Vec<(u32, &'v Variable<'s>)>,
    ) {
        for statement in statements {
            match statement {
                Statement::Variable(variable) => found.push((depth, variable)),
                Statement::Block { statements, .. } => declared(statements, depth + 1, found),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    declared(function.statements()?, 0, &mut all);
    for item in &module.items {
        if let Item::Variable(variable) = item {
            all.push((0, variable));
        }
    }
    all.retain(|(_, variable)| variable.space == StateSpace::Shared);
    all.iter().all(|(depth, _)| *depth == 0).then_some(())?;
    let text = source.slice(function.span);
    let names = all.into_iter().flat_map(|(_, variable)| &variable.names);
    Some(names.map(|one| one.name.text).filter(|name| text.contains(name)).collect())
}

/// The text with something unknown in the place of a part.
fn without_part(
    source: &SourceFile,
    flow: &Flow<'_, '_>,
    part: &Part,
    arrays: &[&str],
    number: usize,
) -> Option<SourceFile> {
    let at = |inst: InstId| flow.insts[inst].ast.span;
    let place = at(part.from).end as usize;
    let name = |register: RegisterId| flow.registers[register].to_string();
    let is_predicate = |register: RegisterId| flow.registers[register].ty == ScalarType::Pred;
    let mut code = format!(
        " {{ .reg .b16 %{PREFIX}_h; .reg .b32 %{PREFIX}_r; .reg .b64 %{PREFIX}_d, %{PREFIX}_a; mov.b64 %{PREFIX}_a, 0; "
    );
    for array in arrays {
        _ = write!(
            code,
            "mov.u32 %{PREFIX}_r, {array}; st.volatile.b32 [%{PREFIX}_a], %{PREFIX}_r; "
        );
    }
    for register in part.read.iter().copied() {
        let (mut value, mut bits) = (name(register), flow.registers[register].ty.bits());
        if is_predicate(register) {
            _ = write!(code, "selp.b32 %{PREFIX}_r, 1, 0, {value}; ");
            (value, bits) = (format!("%{PREFIX}_r"), 32);
        }
        _ = write!(code, "st.volatile.b{bits} [%{PREFIX}_a], {value}; ");
    }
    for (bits, registers) in &part.written {
        let to = match bits {
            16 => "h",
            64 => "d",
            1 | 32 => "r",
            _ => return None,
        };
        let memory = (*bits).max(16) * if *bits == 1 { 2 } else { 1 };
        _ = write!(code, "ld.volatile.b{memory} %{PREFIX}_{to}, [%{PREFIX}_a]; ");
        for register in registers.iter().copied() {
            let name = name(register);
            _ = match bits {
                1 => write!(code, "setp.ne.b32 {name}, %{PREFIX}_r, 0; "),
                _ => write!(code, "mov.b{bits} {name}, %{PREFIX}_{to}; "),
            };
        }
    }
    for at in part.kept.iter().copied() {
        code += source.slice(flow.insts[at].ast.span);
        code += " ";
    }
    let mut text = source.text().to_owned();
    match part.to {
        None => code += "} ret; ",
        Some(to) => {
            let behind = flow.insts[to].front;
            let scope = |byte| flow.scopes.scope_at(byte);
            (scope(place) == scope(behind)).then_some(())?;
            _ = write!(code, "}} bra {PREFIX}_end{number}; ");
            text.insert_str(behind, &format!("{PREFIX}_end{number}: "));
        }
    }
    text.insert_str(place, &code);
    Some(SourceFile::new(source.name(), text))
}

/// The text without the instructions of a kernel that no path comes to.
fn without_unreached(source: &SourceFile, kernel: &str) -> Option<SourceFile> {
    let module = ptx::parse(source, Depth::All).ok()?;
    let function = module.functions().find(|function| function.name.text == kernel)?;
    let flow = cfg::build(source, function).ok()?;
    let mut text = Blanked::new(source);
    let mut unreached: TiVec<InstId, bool> = ti_vec![true; flow.insts.len()];
    for at in flow.block_ids().flat_map(|block| flow.block(block).instructions()) {
        unreached[at] = false;
    }
    for at in unreached.iter_enumerated().filter(|(_, is)| **is).map(|(at, _)| at) {
        let span = flow.insts[at].ast.span;
        text.blank(span.start, span.end);
    }
    Some(SourceFile::new(source.name(), text.finish()))
}
