//! The predicates under which a lane may use a value that it has received; a predicate that several
//! loads need is computed once.

use std::collections::BTreeMap;
use std::fmt::Display;

use rustc_hash::FxHashMap;

use super::condition::WarpTest;
use super::replacement::{CheckedRegister, Replacement};
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::isa::Qualifier::{Eq, Ge, Lt};
use crate::isa::ScalarType::{self, S32, S64, U32};
use crate::ptx::write::{Code, Fresh, Reg, op};
use crate::reuse::{NoWrap, WrapKind};

/// A condition that has to hold, besides the corner case, before a received value is used.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum Check {
    /// An index does not wrap around: its register, the instruction that widened it, and where it
    /// wraps.
    NoWrap(RegisterId, InstId, WrapKind),
    /// The source load's guard predicate was true (or false, if negated) in every lane.
    AllActive(RegisterId, bool),
    /// The source load's guard predicate was true (or false, if negated) in this lane.
    OwnActive(RegisterId, bool),
    /// The lanes of the warp are consecutive in `tid.x`.
    Linear,
    /// Every lane has executed the source load, which this predicate says of each.
    AllExecuted(String),
    /// This lane has executed the source load.
    OwnExecuted(String),
    /// The lane at this distance has the value of the register that this lane's address depends on.
    SameIndex(CheckedRegister, i32),
}

/// A chain of checks, each joined to the one before: the block, whether it starts from the warp being
/// whole, and the checks.
type ChainKey = (BlockId, bool, Vec<Check>);

/// Emits and shares checks within one function.
#[derive(Debug)]
pub struct Checks<'p> {
    /// Names of the registers that checks read.
    registers: &'p FxHashMap<RegisterId, String>,
    /// The names of new registers.
    pub fresh: Fresh,
    lane: Option<Reg>,
    linear: Option<Reg>,
    /// For each block and no-wrap check the widest window that the check has to cover.
    windows: FxHashMap<(BlockId, Check), (i64, i64)>,
    masks: FxHashMap<BlockId, Reg>,
    /// The masks of the tests of rows by their places; a block may have several.
    row_masks: FxHashMap<InstId, String>,
    chains: FxHashMap<ChainKey, Option<Reg>>,
    /// For each distance in lanes, the register that holds the number of the lane so far on, and the
    /// predicate that the lane's own number is below the distance.
    lanes_on: BTreeMap<u32, (Reg, Reg)>,
    /// For each chain and distance, the predicate under which the shuffled value is used.
    usable: FxHashMap<(ChainKey, i32), Reg>,
}

impl<'p> Checks<'p> {
    /// The checks of a function that asks, in each block, whether some indices wrap around, and, if `linear` holds,
    /// whether lanes are consecutive in `tid.x`.
    pub fn new(
        registers: &'p FxHashMap<RegisterId, String>,
        fresh: Fresh,
        no_wraps: &[(BlockId, &[NoWrap])],
        linear: bool,
    ) -> Self {
        let mut checks = Checks {
            registers,
            fresh,
            lane: None,
            linear: None,
            windows: FxHashMap::default(),
            masks: FxHashMap::default(),
            row_masks: FxHashMap::default(),
            chains: FxHashMap::default(),
            lanes_on: BTreeMap::new(),
            usable: FxHashMap::default(),
        };
        for (block, no_wraps) in no_wraps {
            for check in *no_wraps {
                let place = (*block, no_wrap(check));
                let window = checks.windows.entry(place).or_insert((check.first, check.last));
                *window = (window.0.min(check.first), window.1.max(check.last));
            }
        }
        // These are needed before any code is chosen, since the whole-warp checks are joined to them.
        if linear {
            checks.linear = Some(checks.fresh.predicate());
        }
        checks
    }

    /// The `activemask` of a block; empty before any shuffle of the block.
    pub fn mask(&self, block: BlockId) -> String {
        self.masks.get(&block).map(Reg::to_string).unwrap_or_default()
    }

    /// The `activemask` of the test of a row at a place; empty before that test.
    pub fn mask_of_row(&self, place: InstId) -> String {
        self.row_masks.get(&place).cloned().unwrap_or_default()
    }

    /// The predicate under which a lane may use a value that it has received; `None` if it always may.
    pub fn usable(&mut self, replacement: &Replacement, setup: &mut Code) -> Option<Reg> {
        let (block, delta) = (replacement.block, replacement.covered.delta);
        let guards = &replacement.covered.guards;
        let mut checks: Vec<Check> = guards.no_wrap.iter().map(no_wrap).collect();
        checks.sort_unstable();
        checks.dedup();
        if let Some((register, negated)) = guards.source_active {
            checks.push(match delta {
                _ if delta == 0 || planted!(Bug::NoVote) => Check::OwnActive(register, negated),
                _ => Check::AllActive(register, negated),
            });
        }
        if guards.linear_lanes && !guards.whole_warp {
            checks.push(Check::Linear);
        }
        if let Some(executed) = &replacement.executed
            && !planted!(Bug::NotAsked)
        {
            checks.push(match delta {
                0 => Check::OwnExecuted(executed.clone()),
                _ => Check::AllExecuted(executed.clone()),
            });
        }
        if !planted!(Bug::RowNotAsked) {
            let runtime_checked = replacement.same_index.iter();
            checks.extend(
                runtime_checked
                    .map(|runtime_checked| Check::SameIndex(runtime_checked.clone(), delta)),
            );
        }
        let key = (block, guards.whole_warp, checks);
        let in_range = match self.usable.get(&(key.clone(), delta)) {
            Some(known) => Some(known.clone()),
            None => {
                let chain = self.chain(key.clone(), setup);
                let made = if delta == 0 { chain } else { Some(self.corner(chain, delta, setup)) };
                if let Some(made) = &made {
                    self.usable.insert((key, delta), made.clone());
                }
                made
            }
        };
        let same = match &replacement.compared {
            Some(compared) if !planted!(Bug::NoComparison) => {
                Some(self.same_address(replacement, compared, in_range, setup))
            }
            _ => in_range,
        };
        if !guards.global_address {
            return same;
        }
        Some(self.global_address(&replacement.address, same, setup))
    }

    /// Computes the predicate that the load's address has the expected distance from the source's, in this lane.
    fn same_address(
        &mut self,
        replacement: &Replacement,
        (copy, bytes): &(String, i64),
        before: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let (base, _) = &replacement.address;
        let apart = setup.set(self.fresh.bits(64), op!(Sub.S64), &[base, copy]);
        setup.compare(&mut self.fresh, (Eq, S64), [&apart, bytes], before.as_deref())
    }

    /// Adds to a chain that the source lane lies within the warp.
    fn corner(&mut self, chain: Option<Reg>, delta: i32, setup: &mut Code) -> Reg {
        let lane = self.lane();
        let beyond = match delta > 0 {
            true => i32::from(planted!(Bug::CornerTooFarUp)),
            false => i32::from(planted!(Bug::CornerTooFarDown)),
        };
        let (comparison, bound) =
            if delta > 0 { (Lt, 32 - delta + beyond) } else { (Ge, -delta - beyond) };
        setup.compare(&mut self.fresh, (comparison, U32), [&lane, &bound], chain.as_deref())
    }

    /// The conjunction of the warp being whole and the checks; each prefix is computed once.
    fn chain(&mut self, key: ChainKey, setup: &mut Code) -> Option<Reg> {
        if let Some(known) = self.chains.get(&key) {
            return known.clone();
        }
        let (block, whole, ref checks) = key;
        let made = match checks.split_last() {
            None if !whole => None,
            None => Some(self.whole_warp(block, setup)),
            Some((check, before)) => {
                let before = self.chain((block, whole, before.to_vec()), setup);
                Some(self.check(block, check, before, setup))
            }
        };
        self.chains.insert(key, made.clone());
        made
    }

    /// The predicate that all lanes of the warp are there, no index wraps around in any of them, and their
    /// addresses are global where that is asked: it is the same in all lanes. `aligned`, the same
    /// in all lanes too, is made a part of it.
    pub fn of_warp(&mut self, test: &WarpTest, aligned: Option<&Reg>, setup: &mut Code) -> Reg {
        let block = test.block;
        let mut predicate = self.whole_warp(block, setup);
        self.row_masks.insert(test.place, self.mask(block));
        if let Some(aligned) = aligned {
            predicate = setup.set(self.fresh.predicate(), op!(And.Pred), &[&predicate, aligned]);
        }
        let mut checks: Vec<Check> = test.no_wrap.iter().map(no_wrap).collect();
        checks.sort_unstable();
        checks.dedup();
        for check in &checks {
            predicate = self.check(block, check, Some(predicate), setup);
        }
        let mut global = test.global.clone();
        global.sort_unstable();
        global.dedup();
        for address in &global {
            predicate = self.global_address(address, Some(predicate), setup);
        }
        if checks.is_empty() && global.is_empty() || planted!(Bug::RowNoVote) {
            return predicate;
        }
        let mask = self.mask(block);
        setup.set(self.fresh.predicate(), op!(Vote.Sync.All.Pred), &[&predicate, &mask])
    }

    /// The register that holds the lane's number.
    pub fn lane(&mut self) -> Reg {
        self.lane.get_or_insert_with(|| self.fresh.word()).clone()
    }

    /// The register that holds the number of the lane `distance` further on, and the predicate that
    /// the lane's own number is below `distance`.
    pub fn lanes_on(&mut self, distance: u32) -> (Reg, Reg) {
        self.lane();
        let fresh = &mut self.fresh;
        let made = || (fresh.word(), fresh.predicate());
        self.lanes_on.entry(distance).or_insert_with(made).clone()
    }

    fn whole_warp(&mut self, block: BlockId, setup: &mut Code) -> Reg {
        let mask = match planted!(Bug::ConstantMask) {
            true => setup.set(self.fresh.word(), op!(Mov.B32), &[&-1]),
            false => setup.set(self.fresh.word(), op!(ActiveMask.B32), &[]),
        };
        let all = match planted!(Bug::IncompleteWarp) {
            true => &*mask,
            false => "-1",
        };
        let linear = self.linear.as_deref();
        let whole = setup.compare(&mut self.fresh, (Eq, S32), [&mask, &all], linear);
        self.masks.insert(block, mask);
        whole
    }

    fn check(
        &mut self,
        block: BlockId,
        check: &Check,
        before: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let named = |register| self.registers.get(register).cloned().unwrap_or_default();
        let (name, negated) = match check {
            Check::NoWrap(register, _, kind) => {
                return self.emit_no_wrap(block, check, *register, *kind, before, setup);
            }
            Check::AllActive(register, negated) | Check::OwnActive(register, negated) => {
                (named(register), *negated)
            }
            Check::SameIndex(runtime_checked, delta) => {
                return self.same_index(block, runtime_checked, *delta, before, setup);
            }
            Check::Linear => (self.linear.clone().map(String::from).unwrap_or_default(), false),
            Check::AllExecuted(name) | Check::OwnExecuted(name) => (name.clone(), false),
        };
        let made = self.fresh.predicate();
        let made = match check {
            Check::AllActive(..) | Check::AllExecuted(..) => {
                let (sign, mask) = (if negated { "!" } else { "" }, self.mask(block));
                setup.set(made, op!(Vote.Sync.All.Pred), &[&format!("{sign}{name}"), &mask])
            }
            _ if negated => setup.set(made, op!(Not.Pred), &[&name]),
            _ => setup.set(made, op!(Mov.Pred), &[&name]),
        };
        with(made, before, setup)
    }

    /// Computes the predicate that the lane `delta` lanes further up has the same value of a register, or
    /// the one that is larger by the distance.
    fn same_index(
        &mut self,
        block: BlockId,
        runtime_checked: &CheckedRegister,
        delta: i32,
        before: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let CheckedRegister { name, bits, low, stride_one } = runtime_checked;
        let mask = self.mask(block);
        let asked_lane = if planted!(Bug::RowOtherSide) { -delta } else { delta };
        let (shuffle, way) = match asked_lane > 0 {
            true => (op!(Shfl.Sync.Down.B32), format!("{asked_lane}, 31, {mask}")),
            false => (op!(Shfl.Sync.Up.B32), format!("{}, 0, {mask}", -asked_lane)),
        };
        let (own, bits) = match (*bits, *low) {
            (64, true) => (setup.set(self.fresh.word(), op!(Cvt.U32.U64), &[name]).to_string(), 32),
            (bits, _) => (name.clone(), bits.into()),
        };
        let (ty, signed) = (ScalarType::b(bits), ScalarType::s(bits));
        let mut received = setup.shuffle(&mut self.fresh, (&own, bits), (shuffle, &way));
        if *stride_one {
            let operands: [&dyn Display; 2] = [&received, &-asked_lane];
            received = setup.set(self.fresh.of(ty), op!(Add.(signed)), &operands);
        }
        setup.compare(&mut self.fresh, (Eq, signed), [&received, &own], before.as_deref())
    }

    /// Computes the predicate that the register has none of the values from which the index would wrap
    /// around.
    fn emit_no_wrap(
        &mut self,
        block: BlockId,
        check: &Check,
        register: RegisterId,
        kind: WrapKind,
        before: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let (first, last) = self.windows.get(&(block, check.clone())).copied().unwrap_or_default();
        let wraps_at: i64 = match kind {
            WrapKind::Signed => 1 << 31,
            WrapKind::Unsigned => 0,
        };
        let back = (wraps_at + first).wrapping_neg() as i32;
        let count = last - first + 1 - i64::from(planted!(Bug::SmallWindow));
        let register = self.registers.get(&register).cloned().unwrap_or_default();
        let moved = setup.set(self.fresh.word(), op!(Add.S32), &[&register, &back]);
        setup.compare(&mut self.fresh, (Ge, U32), [&moved, &count], before.as_deref())
    }

    /// Computes the predicate that an address of the lane lies in the global window (PTX ISA, "isspacep").
    fn global_address(
        &mut self,
        (base, offset): &(String, i64),
        before: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let made = self.fresh.predicate();
        let address = match offset {
            0 => base.clone(),
            _ => setup.set(self.fresh.bits(64), op!(Add.S64), &[base, offset]).to_string(),
        };
        with(setup.set(made, op!(Isspacep.Global), &[&address]), before, setup)
    }

    /// For a load that has a guard predicate of its own: the predicate under which it takes the
    /// received value, and the one under which it loads.
    pub fn under_guard(&mut self, guard: &str, usable: &Reg, setup: &mut Code) -> (Reg, Reg) {
        let (take, load) = (self.fresh.predicate(), self.fresh.predicate());
        let guard = match guard.strip_prefix('!') {
            None => guard.to_owned(),
            Some(register) => {
                setup.set(self.fresh.predicate(), op!(Not.Pred), &[&register]).to_string()
            }
        };
        let take = setup.set(take, op!(And.Pred), &[&guard, usable]);
        let load = setup.set(load, op!(Not.Pred), &[usable]);
        setup.put(op!(And.Pred), &[&load, &load, &guard]);
        (take, load)
    }

    /// The declarations and the code that is computed once; called when the rest of the code is known.
    pub fn prologue(mut self) -> String {
        let mut code = Code::behind();
        if let Some(lane) = &self.lane {
            code.put(op!(Mov.U32), &[lane, &"%laneid"]);
            let further = i64::from(planted!(Bug::RowIndex));
            let above = u32::from(planted!(Bug::RowBound));
            for (distance, (on, below)) in &self.lanes_on {
                code.put(op!(Add.S32), &[on, lane, &(i64::from(*distance) + further)]);
                code.put(op!(Setp.Lt.U32), &[below, lane, &(distance + above)]);
            }
        }
        if let Some(linear) = self.linear.take() {
            let extents = ["%ntid.x", "%ntid.y", "%ntid.z"];
            let [x, y, z] = extents.map(|own| code.set(self.fresh.word(), op!(Mov.U32), &[&own]));
            code.put(op!(And.B32), &[&x, &x, &31]);
            code.put(op!(Mul.Lo.U32), &[&y, &y, &z]);
            code.put(op!(Setp.Eq.U32), &[&linear, &x, &0]);
            code.put(op!(Setp.Eq.Or.U32), &[&linear, &y, &1, &linear]);
        }
        let mut declarations = Code::behind();
        self.fresh.declarations().iter().for_each(|line| declarations.line(line));
        declarations.text + &code.text
    }
}

/// Joins a predicate that has just been computed to the one before.
fn with(made: Reg, before: Option<Reg>, setup: &mut Code) -> Reg {
    if let Some(before) = before {
        setup.put(op!(And.Pred), &[&made, &made, &before]);
    }
    made
}

fn no_wrap(check: &NoWrap) -> Check {
    Check::NoWrap(check.register, check.widened, check.extension)
}
