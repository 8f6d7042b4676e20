//! `irregular`, `local-memory`, `generic-access`.

use std::collections::BTreeMap;

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::{BlockId, InstId};
use crate::emulate::{Access, Effect, SymbolKind};
use crate::expr::{Node, TermId};
use crate::ptx::{FunctionKind, StateSpace, Statement};
use crate::traffic::{AccessKind, Spread};

/// The most terms that are looked at to find the load of an index.
const MAX_TERMS: usize = 2_000;

/// Accesses of global memory at addresses that depend on loaded data.
pub(super) fn irregular(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for traffic in &subject.traffic.accesses {
        let global = matches!(traffic.space, StateSpace::Global | StateSpace::Generic);
        let full = traffic.is_full() && traffic.warp_lanes > 1;
        let kernel = subject.function.kind == FunctionKind::Entry;
        if !(global && full && kernel && traffic.spread == Spread::Irregular) {
            continue;
        }
        let index = subject.access(traffic).address.and_then(|address| index(subject, address));
        // An address that nobody knows anything of says nothing.
        let Some(index) = index else { continue };
        let verb = if traffic.kind == AccessKind::Load { "reads" } else { "accesses" };
        found.push(Found {
            rule: Rule::Irregular,
            level: Level::Note,
            inst: traffic.inst,
            message: format!(
                "a warp's request {verb} as many sectors as its indices decide, up to {}",
                traffic.warp_lanes
            ),
            label: Some(format!("the index is loaded at {}", subject.place(index))),
            help: "sort or group the indices, so that neighbouring threads access neighbouring elements".to_owned(),
            waste: 0,
        });
    }
    found
}

/// Whether the lanes of a load have addresses of their own, so that they may get different values; `None` if the address
/// depends on data.
fn differs(subject: &Subject<'_, '_, '_>, inst: InstId) -> Option<bool> {
    let traffic = subject.traffic.accesses.iter().find(|traffic| traffic.inst == inst);
    let Some(traffic) = traffic else { return Some(false) };
    match traffic.spread {
        Spread::Irregular => None,
        _ => Some(!traffic.is_shared),
    }
}

/// The load of different values in different lanes that an address is made from: of a chain of loads the last.
fn index(subject: &Subject<'_, '_, '_>, address: TermId) -> Option<InstId> {
    let arena = &subject.trace.arena;
    // Each term with the last load of the chain from it to the address.
    let mut open = vec![(address, None)];
    let mut seen = std::collections::BTreeSet::new();
    while let Some((term, mut chain)) = open.pop() {
        if !seen.insert(term) || seen.len() > MAX_TERMS {
            continue;
        }
        match arena.node(term) {
            Node::Apply(function, arguments) if subject.trace.symbols.is_load(*function) => {
                let from = arguments.get(1).copied();
                let is_meant = |access: &&Access| {
                    access.effect == Effect::Load
                        && access.address.is_some()
                        && access.address == from
                };
                if let Some(load) = subject.trace.accesses.iter().find(is_meant) {
                    match differs(subject, load.inst) {
                        Some(true) => return Some(chain.unwrap_or(load.inst)),
                        None => chain = chain.or(Some(load.inst)),
                        Some(false) => {}
                    }
                }
            }
            _ => {}
        }
        open.extend(arena.operands(term).into_iter().map(|operand| (operand, chain)));
    }
    None
}

/// Arrays that lie in local memory because an index into them is not constant.
pub(super) fn local(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let arena = &subject.trace.arena;
    // By the array, the first access with such an index, and how many there are.
    let mut arrays: BTreeMap<String, (InstId, u32)> = BTreeMap::new();
    for access in &subject.trace.accesses {
        let local = matches!(access.space, StateSpace::Local | StateSpace::Generic);
        let moves = matches!(access.effect, Effect::Load | Effect::Store);
        let (true, true, Some(address)) = (local, moves, access.address) else { continue };
        let (_, addends) = arena.linear_parts(address);
        let mut name = None;
        let mut others = 0;
        for (term, times) in addends {
            let kind = subject.symbol(term).map(|symbol| &subject.trace.symbols.info(symbol).kind);
            match kind {
                Some(SymbolKind::Address(found)) if times == 1 && name.is_none() => {
                    name = variable(found);
                }
                _ => others += 1,
            }
        }
        let Some(name) = name.filter(|_| others > 0) else { continue };
        let Some(bytes) = local_bytes(subject, &name) else { continue };
        if is_reduction(subject, access.block, bytes) {
            continue;
        }
        arrays.entry(name).or_insert((access.inst, 0)).1 += 1;
    }
    let finding = |(inst, count): (InstId, u32)| {
        Found {
        rule: Rule::LocalMemory,
        level: Level::Warning,
        inst,
        message: format!(
            "an array of this thread lies in local memory, which is global memory: {count} {} an index that is not constant",
            if count == 1 { "access has" } else { "accesses have" }
        ),
        label: Some("this index is not constant".to_owned()),
        help: "let the loops around it be unrolled completely (constant bounds, `#pragma unroll`), or keep the array in \
               shared memory"
            .to_owned(),
        waste: 0,
    }
    };
    arrays.into_values().map(finding).collect()
}

/// The name of a variable in that of its symbol.
fn variable(symbol: &str) -> Option<String> {
    let (name, _) = symbol.rsplit_once(':')?;
    Some(name.split_once('.').map_or(name, |(_, name)| name).to_owned())
}

/// Whether a block reduces a large argument of `sin`, `cos` or `tan` by the array that it uses: no array of the user's, and
/// hardly ever used. CUDA's library tests for such arguments; that for doubles is a function with a table, and the bytes of
/// its array are known.
fn is_reduction(subject: &Subject<'_, '_, '_>, block: BlockId, bytes: u64) -> bool {
    let arena = &subject.trace.arena;
    let is_limit = |&term: &TermId| {
        arena.width(term) == 32 && arena.constant_value(term) == Some(REDUCTION_LIMIT)
    };
    let facts = subject.trace.facts(subject.flow, block);
    let has_test = facts.literals(arena).any(|(test, _)| match arena.node(test) {
        Node::Apply(_, arguments) => arguments.iter().any(is_limit),
        _ => false,
    });
    let text = || subject.source.slice(subject.function.span);
    has_test || bytes == REDUCTION_BYTES && text().contains(REDUCTION_TABLE)
}

/// The bits of 105615, from which on floats are reduced by means of an array.
const REDUCTION_LIMIT: u64 = 0x47CE_4780;
const REDUCTION_TABLE: &str = "__cudart_i2opi_";
const REDUCTION_BYTES: u64 = 40;

/// The bytes of a variable in local memory.
fn local_bytes(subject: &Subject<'_, '_, '_>, name: &str) -> Option<u64> {
    let mut open: Vec<&Statement<'_>> =
        subject.function.statements().unwrap_or_default().iter().collect();
    while let Some(statement) = open.pop() {
        match statement {
            Statement::Variable(variable) if variable.space == StateSpace::Local => {
                let found = variable.names.iter().find(|found| found.name.text == name);
                if let Some(found) = found {
                    let element = variable.ty.map_or(1, |ty| u64::from(ty.bits() / 8));
                    let sizes = found.dimensions.iter().map(|size| size.unwrap_or(0));
                    return Some(sizes.fold(element, u64::saturating_mul));
                }
            }
            Statement::Block { statements, .. } => open.extend(statements),
            _ => {}
        }
    }
    None
}

/// Accesses of a kernel whose state space the compiler does not know: one finding for all.
pub(super) fn generic(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    if subject.function.kind != FunctionKind::Entry {
        return Vec::new();
    }
    let all: Vec<InstId> = subject
        .traffic
        .accesses
        .iter()
        .filter(|traffic| traffic.space == StateSpace::Generic)
        .map(|traffic| traffic.inst)
        .collect();
    let Some(&first) = all.first() else { return Vec::new() };
    let named = subject.traffic.accesses.len() - all.len();
    vec![Found {
        rule: Rule::GenericAccess,
        level: Level::Note,
        inst: first,
        message: format!(
            "the compiler does not know the state space of {} of {} accesses: each looks at its address first",
            all.len(),
            all.len() + named
        ),
        label: None,
        help: "pass pointers as parameters of the kernel rather than in memory, or tell the space \
               (`__builtin_assume(__isGlobal(p))`)"
            .to_owned(),
        waste: 0,
    }]
}
