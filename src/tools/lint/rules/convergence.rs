//! `barrier-in-divergence`, `shuffle-from-inactive-lane`: instructions that lanes of a warp have to execute together.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::{Arg, InstId};
use crate::isa::Opcode;
use crate::traffic::Partial;

/// Barriers that some lanes of a warp execute and others go past.
pub(super) fn barriers(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let is_barrier = |inst: InstId| subject.inst(inst).ast.form.opcode != Opcode::Shfl;
    let partial = subject.traffic.partial.iter().filter(|one| is_barrier(one.inst));
    let found = partial.map(|one @ &Partial { inst, executing, passing, .. }| Found {
        rule: Rule::BarrierInDivergence,
        level: Level::Warning,
        inst,
        message: match one.at_most {
            Some(1) => format!(
                "at most one of {} of a warp executes this barrier and the other lanes go past it: what happens is undefined",
                lanes(executing)
            ),
            _ => format!(
                "{} of a warp execute this barrier and {} go past it: what happens is undefined",
                executing_lanes(one),
                lanes(passing)
            ),
        },
        label: Some("the condition around it differs between the lanes of a warp".to_owned()),
        help: "move the barrier out of the branch, so that all threads of the block execute it"
            .to_owned(),
        waste: 0,
    });
    found.collect()
}

/// Shuffles whose mask names lanes that go past them.
pub(super) fn shuffles(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut found = Vec::new();
    for one @ &Partial { inst, passing, .. } in &subject.traffic.partial {
        let shuffle = subject.inst(inst);
        let is_shuffle = shuffle.ast.form.opcode == Opcode::Shfl;
        let named = shuffle.args.last().filter(|_| is_shuffle).and_then(|arg| bits(subject, arg));
        let missing = named.unwrap_or(0) & passing & !elsewhere(subject, one);
        if missing == 0 {
            continue;
        }
        found.push(Found {
            rule: Rule::ShuffleFromInactiveLane,
            level: Level::Warning,
            inst,
            message: format!(
                "the mask of this shuffle names {} that do not execute it: the result is undefined",
                lanes(missing)
            ),
            label: Some(format!("executed by {}", executing_lanes(one))),
            help: "move the shuffle out of the branch, or let the mask name the lanes of this side alone and read from \
                   no other lane"
                .to_owned(),
            waste: 0,
        });
    }
    found
}

/// The lanes that execute another shuffle with the same qualifiers and the same mask instead of one: from sm_70 on a lane
/// waits for all lanes that the mask names to execute any such shuffle (PTX ISA, "shfl.sync").
fn elsewhere(subject: &Subject<'_, '_, '_>, one: &Partial) -> u32 {
    if subject.architecture.is_none_or(|architecture| architecture < 70) {
        return 0;
    }
    let mask = |inst: InstId| subject.inst(inst).args.last().and_then(|arg| bits(subject, arg));
    let stands_for = |other: &&Partial| {
        let same_form = subject.inst(other.inst).ast.form == subject.inst(one.inst).ast.form;
        let apart = other.executing & one.executing == 0;
        other.warp == one.warp && apart && same_form && mask(other.inst) == mask(one.inst)
    };
    let others = subject.traffic.partial.iter().filter(stands_for);
    others.fold(0, |lanes, other| lanes | other.executing)
}

/// The bits of an operand that is constant.
fn bits(subject: &Subject<'_, '_, '_>, arg: &Arg<'_>) -> Option<u32> {
    let constant = |arg: &Arg<'_>| match arg {
        Arg::Constant(value) => value.as_integer().map(|value| value as u32),
        _ => None,
    };
    constant(arg).or_else(|| {
        let set = subject.inst(subject.definition_of(arg)?);
        let is_move = set.ast.form.opcode == Opcode::Mov && set.guard.is_none();
        is_move.then(|| constant(set.args.get(1)?)).flatten()
    })
}

/// The lanes that execute an instruction, in words.
fn executing_lanes(one: &Partial) -> String {
    let lanes = lanes(one.executing);
    match one.at_most {
        None => lanes,
        Some(most) if most < one.executing.count_ones() => format!("at most {most} of {lanes}"),
        Some(_) => format!("at most {lanes}"),
    }
}

/// "lanes 0 to 15", "lane 3", "16 lanes".
pub(super) fn lanes(set: u32) -> String {
    let (first, count) = (set.trailing_zeros(), set.count_ones());
    let is_row = u64::from(set) >> first == (1 << count) - 1;
    match count {
        1 => format!("lane {first}"),
        _ if is_row => format!("lanes {first} to {}", first + count - 1),
        _ => format!("{count} lanes"),
    }
}
