//! The paper's code (CC '23, section 5.3), with what it recomputes for every shuffle shared.
//!
//! Once per function: the lane id, and whether lanes are consecutive in `tid.x`. Once per basic
//! block: `activemask`, whether the warp is whole, no-wrap checks. Once per block and distance: the
//! corner-case predicate. Per covered load: the load itself under the negated predicate, the
//! shuffle, and a move under the predicate. The load comes first and writes another register than
//! the shuffle, so neither waits for the other.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::edit::Edit;
use super::names::Names;
use super::plan::{KernelPlan, Replacement, Strategy};
use crate::cfg::{BlockId, RegisterId};
use crate::shuffle::{NoWrap, WrapKind};

/// The paper's strategy.
pub(super) struct Paper;

impl Strategy for Paper {
    fn edits(&self, plan: &KernelPlan, names: &Names) -> Vec<Edit> {
        let mut emitter = Emitter::new(plan, names);
        let mut edits = copies(plan);
        for replacement in &plan.replacements {
            emitter.replace(replacement, &mut edits);
        }
        edits.push(Edit::insert(plan.body, emitter.prologue(plan)));
        edits
    }
}

/// Copies of source registers, behind their loads.
pub(super) fn copies(plan: &KernelPlan) -> Vec<Edit> {
    plan.copies
        .iter()
        .map(|(at, copy, register)| Edit::insert(*at, format!("\n\tmov.b32 {copy}, {register};")))
        .collect()
}

/// The instruction that brings the source's value: a shuffle under `mask`, or a move.
pub(super) fn exchange(replacement: &Replacement, into: &str, mask: &str) -> String {
    let (sent, delta) = (&replacement.sent, replacement.covered.delta);
    match delta {
        0 => format!("mov.b32 {into}, {sent};"),
        1.. => format!("shfl.sync.down.b32 {into}, {sent}, {delta}, 31, {mask};"),
        _ => format!("shfl.sync.up.b32 {into}, {sent}, {}, 0, {mask};", -delta),
    }
}

/// Identifies one no-wrap check: register, where its value is from, and where it wraps.
type CheckKey = (RegisterId, u32, WrapKind);

struct Emitter<'a> {
    names: &'a Names,
    registers: &'a FxHashMap<RegisterId, String>,
    predicates: u32,
    words: u32,
    lane: Option<String>,
    linear: Option<String>,
    /// The widest window that a check has to cover in a block.
    windows: FxHashMap<(BlockId, CheckKey), (i64, i64)>,
    /// `activemask` of a block.
    masks: FxHashMap<BlockId, String>,
    /// The conjunction of the warp being whole and some checks, by block.
    chains: FxHashMap<(BlockId, bool, Vec<CheckKey>), Option<String>>,
    /// Chain and distance to the predicate under which the shuffled value is used.
    usable: FxHashMap<(BlockId, i32, Vec<CheckKey>), String>,
}

impl<'a> Emitter<'a> {
    fn new(plan: &'a KernelPlan, names: &'a Names) -> Self {
        let mut emitter = Emitter {
            names,
            registers: &plan.registers,
            predicates: 0,
            words: plan.words,
            lane: None,
            linear: None,
            windows: FxHashMap::default(),
            masks: FxHashMap::default(),
            chains: FxHashMap::default(),
            usable: FxHashMap::default(),
        };
        for replacement in &plan.replacements {
            for check in &replacement.covered.guards.no_wrap {
                let window = emitter
                    .windows
                    .entry((replacement.block, key(check)))
                    .or_insert((check.first, check.last));
                *window = (window.0.min(check.first), window.1.max(check.last));
            }
            // Known before any code is chosen, since it decides what the checks are joined to.
            if replacement.covered.guards.linear_lanes && emitter.linear.is_none() {
                emitter.linear = Some(emitter.predicate());
            }
        }
        emitter
    }

    fn predicate(&mut self) -> String {
        self.predicates += 1;
        self.names.predicate(self.predicates - 1)
    }

    fn word(&mut self) -> String {
        self.words += 1;
        self.names.word(self.words - 1)
    }

    fn lane(&mut self) -> String {
        if self.lane.is_none() {
            self.lane = Some(self.word());
        }
        self.lane.clone().unwrap_or_default()
    }

    fn replace(&mut self, replacement: &Replacement, edits: &mut Vec<Edit>) {
        let mut setup = String::new();
        let (start, end) = (replacement.span.start, replacement.span.end);
        let Some(usable) = self.usable(replacement, &mut setup) else {
            let text = exchange(replacement, &replacement.destination, "");
            edits.push(Edit { range: start..end, text });
            return;
        };
        let _ = write!(setup, "@!{usable} ");
        edits.push(Edit::insert(start, setup));
        let mask = self.masks.get(&replacement.block).cloned().unwrap_or_default();
        let mut after = String::new();
        if replacement.covered.delta == 0 {
            let moved = exchange(replacement, &replacement.destination, "");
            let _ = write!(after, "\n\t@{usable} {moved}");
        } else {
            let received = self.word();
            let shuffle = exchange(replacement, &received, &mask);
            let destination = &replacement.destination;
            let _ = write!(after, "\n\t{shuffle}\n\t@{usable} mov.b32 {destination}, {received};");
        }
        edits.push(Edit::insert(end, after));
    }

    /// The predicate under which a lane may use what it received; `None` if it always may.
    fn usable(&mut self, replacement: &Replacement, setup: &mut String) -> Option<String> {
        let (block, delta) = (replacement.block, replacement.covered.delta);
        let guards = &replacement.covered.guards;
        let mut checks: Vec<CheckKey> = guards.no_wrap.iter().map(key).collect();
        checks.sort_unstable();
        checks.dedup();
        let id = (block, delta, checks.clone());
        if let Some(known) = self.usable.get(&id) {
            return Some(known.clone());
        }
        let chain = self.chain(block, guards.whole_warp, &checks, setup);
        if delta == 0 {
            return chain;
        }
        let predicate = self.predicate();
        let lane = self.lane();
        let (comparison, bound) = if delta > 0 { ("lt", 32 - delta) } else { ("ge", -delta) };
        let whole = chain.unwrap_or_default();
        let _ =
            write!(setup, "setp.{comparison}.and.u32 {predicate}, {lane}, {bound}, {whole};\n\t");
        self.usable.insert(id, predicate.clone());
        Some(predicate)
    }

    /// The conjunction of `whole` and the checks; each prefix is computed once in a block.
    fn chain(
        &mut self,
        block: BlockId,
        whole: bool,
        checks: &[CheckKey],
        setup: &mut String,
    ) -> Option<String> {
        let id = (block, whole, checks.to_vec());
        if let Some(known) = self.chains.get(&id) {
            return known.clone();
        }
        let made = match checks.split_last() {
            None if !whole => None,
            None => Some(self.whole_warp(block, setup)),
            Some((&check, before)) => {
                let before = self.chain(block, whole, before, setup);
                Some(self.no_wrap(block, check, before, setup))
            }
        };
        self.chains.insert(id, made.clone());
        made
    }

    fn whole_warp(&mut self, block: BlockId, setup: &mut String) -> String {
        let (mask, whole) = (self.word(), self.predicate());
        let _ = write!(setup, "activemask.b32 {mask};\n\t");
        let _ = match &self.linear {
            Some(linear) => {
                write!(setup, "setp.eq.and.s32 {whole}, {mask}, -1, {linear};\n\t")
            }
            None => write!(setup, "setp.eq.s32 {whole}, {mask}, -1;\n\t"),
        };
        self.masks.insert(block, mask);
        whole
    }

    /// The register is none of the values from which the index would wrap around.
    fn no_wrap(
        &mut self,
        block: BlockId,
        check: CheckKey,
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let (first, last) = self.windows.get(&(block, check)).copied().unwrap_or_default();
        let (register, _, kind) = check;
        let wraps_at: i64 = match kind {
            WrapKind::Signed => 1 << 31,
            WrapKind::Unsigned => 0,
        };
        let back = (wraps_at + first).wrapping_neg() as i32;
        let count = last - first + 1;
        let (moved, predicate) = (self.word(), self.predicate());
        let register = self.registers.get(&register).cloned().unwrap_or_default();
        let _ = write!(setup, "add.s32 {moved}, {register}, {back};\n\t");
        let _ = match before {
            Some(before) => {
                write!(setup, "setp.ge.and.u32 {predicate}, {moved}, {count}, {before};\n\t")
            }
            None => write!(setup, "setp.ge.u32 {predicate}, {moved}, {count};\n\t"),
        };
        predicate
    }

    /// Declarations and what is computed once; called when everything else is known.
    fn prologue(self, plan: &KernelPlan) -> String {
        let mut words = self.words;
        let mut code = String::new();
        if let Some(lane) = &self.lane {
            let _ = write!(code, "\n\tmov.u32 {lane}, %laneid;");
        }
        if let Some(linear) = &self.linear {
            let (x, y, z) =
                (self.names.word(words), self.names.word(words + 1), self.names.word(words + 2));
            words += 3;
            let _ = write!(
                code,
                "\n\tmov.u32 {x}, %ntid.x;\n\tmov.u32 {y}, %ntid.y;\n\tmov.u32 {z}, %ntid.z;\
                 \n\tand.b32 {x}, {x}, 31;\n\tmul.lo.u32 {y}, {y}, {z};\
                 \n\tsetp.eq.u32 {linear}, {x}, 0;\
                 \n\tsetp.eq.or.u32 {linear}, {y}, 1, {linear};"
            );
        }
        debug_assert!(words >= plan.words);
        self.names.declare(self.predicates, words) + &code
    }
}

fn key(check: &NoWrap) -> CheckKey {
    (check.register, check.widened, check.extension)
}
