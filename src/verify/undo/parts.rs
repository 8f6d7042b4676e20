//! Takes parts of two kernels that do the same out of both.
//!
//! Opaque instructions replace a part, the same ones in both files: volatile stores of the registers that it reads, then
//! volatile loads into those that it writes, or the instructions that compute values which never change. So the rest of both kernels is proved equal only if both reach the parts with
//! the same values, and continue alike whatever the parts have done. The
//! addresses of arrays in shared memory are stored as well: the parts access these, so no layout may change.

use std::fmt::Write;

use rustc_hash::FxHashSet;

use super::edits::{Edits, Site, fresh};
use super::sides::Subject;
use super::tails::{Part, parts};
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::ptx::{Item, ScalarType, StateSpace, Statement, Variable};

/// Puts something unknown in the place of parts of two kernels that do the same in blocks of a shape, or of all shapes.
pub(super) fn without_parts(
    sites: [&Site<'_, '_, '_>; 2],
    shape: Option<[u32; 3]>,
) -> Option<[Edits; 2]> {
    let subjects = [Subject::of(sites[0])?, Subject::of(sites[1])?];
    let cut = parts(subjects.each_ref(), shape)?;
    let stem = fresh("ptxasw_part", &sites.map(|site| site.source));
    let left = |side: usize| without_part((sites[side], &subjects[side]), &cut[side], &stem);
    Some([left(0)?, left(1)?])
}

/// The names of the arrays in shared memory that a kernel may access; `None` if a scope within its body declares some.
fn arrays<'s>(site: &Site<'_, '_, 's>) -> Option<Vec<&'s str>> {
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
    declared(site.function.statements()?, 0, &mut all);
    for item in &site.module.items {
        if let Item::Variable(variable) = item {
            all.push((0, variable));
        }
    }
    all.retain(|(_, variable)| variable.space == StateSpace::Shared);
    all.iter().all(|(depth, _)| *depth == 0).then_some(())?;
    let text = site.source.slice(site.function.span);
    let names = all.into_iter().flat_map(|(_, variable)| &variable.names);
    Some(names.map(|one| one.name.text).filter(|name| text.contains(name)).collect())
}

/// Puts something unknown in the place of a part.
fn without_part(
    (site, subject): (&Site<'_, '_, '_>, &Subject<'_, '_, '_>),
    part: &Part,
    stem: &str,
) -> Option<Edits> {
    let (flow, place) = (site.flow, site.span(part.from).end);
    let name = |register: RegisterId| flow.registers[register].to_string();
    let is_predicate = |register: RegisterId| flow.registers[register].ty == ScalarType::Pred;
    let mut code = format!(
        " {{ .reg .b16 %{stem}h; .reg .b32 %{stem}r; .reg .b64 %{stem}d, %{stem}a; mov.b64 %{stem}a, 0; "
    );
    for array in arrays(site)? {
        _ = write!(code, "mov.u32 %{stem}r, {array}; st.volatile.b32 [%{stem}a], %{stem}r; ");
    }
    for register in part.read.iter().copied() {
        let (mut value, mut bits) = (name(register), flow.registers[register].ty.bits());
        if is_predicate(register) {
            _ = write!(code, "selp.b32 %{stem}r, 1, 0, {value}; ");
            (value, bits) = (format!("%{stem}r"), 32);
        }
        _ = write!(code, "st.volatile.b{bits} [%{stem}a], {value}; ");
    }
    for (bits, registers) in &part.written {
        let to = match bits {
            16 => "h",
            64 => "d",
            1 | 32 => "r",
            _ => return None,
        };
        let memory = (*bits).max(16) * if *bits == 1 { 2 } else { 1 };
        _ = write!(code, "ld.volatile.b{memory} %{stem}{to}, [%{stem}a]; ");
        for register in registers.iter().copied() {
            let name = name(register);
            _ = match bits {
                1 => write!(code, "setp.ne.b32 {name}, %{stem}r, 0; "),
                _ => write!(code, "mov.b{bits} {name}, %{stem}{to}; "),
            };
        }
    }
    code += &site.code(part.kept.iter().copied())?;
    let mut edits = Edits::default();
    edits.remove(site, unreached(subject, part));
    match part.to {
        None => edits.insert(place, code + "} ret; "),
        Some(to) => {
            let behind = flow.insts[to].front;
            site.is_one_scope([part.from, to].into_iter()).then_some(())?;
            edits.insert(place, code + &format!("}} bra {stem}end; "));
            edits.insert(behind, format!("{stem}end: "));
        }
    }
    Some(edits)
}

/// The instructions that no path comes to without a part.
fn unreached<'f>(
    subject: &'f Subject<'_, '_, '_>,
    part: &Part,
) -> impl Iterator<Item = InstId> + use<'f> {
    let (flow, mut reached) = (subject.flow, FxHashSet::default());
    let mut work = vec![(BlockId(0), flow.block(BlockId(0)).first)];
    while let Some((block, first)) = work.pop() {
        let row = first.to(flow.block(block).end);
        if row.clone().next().is_some_and(|at| !reached.insert(at)) {
            continue;
        }
        let before = row.clone().take_while(|at| *at != part.from);
        reached.extend(before);
        if row.contains(&part.from) {
            reached.insert(part.from);
            work.extend(part.to.and_then(|to| Some((subject.definitions.block_of(to)?, to))));
        } else {
            let next = flow.block(block).successors.iter().map(|edge| edge.to);
            work.extend(next.map(|next| (next, flow.block(next).first)));
        }
    }
    flow.insts.keys().filter(move |at| !reached.contains(at))
}
