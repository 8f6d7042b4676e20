//! The predicates under which a lane may use a value that it has received; a predicate that several
//! loads need is computed once.

use std::collections::BTreeMap;
use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::condition::WarpTest;
use super::names::Fresh;
use super::replacement::{AskedRegister, Replacement};
use crate::cfg::{BlockId, RegisterId};
use crate::reuse::{NoWrap, WrapKind};

/// A condition that has to hold, besides the corner case, before a received value is used.
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
enum Check {
    /// An index does not wrap around: its register, the instruction that widened it, and where it
    /// wraps.
    NoWrap(RegisterId, u32, WrapKind),
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
    /// The lane so many lanes further up has the register's value that its address was made from.
    SameRow(AskedRegister, i32),
}

/// A chain of checks, each joined to the one before: the block, whether it starts from the warp being
/// whole, and the checks.
type ChainKey = (BlockId, bool, Vec<Check>);

/// Emits and shares checks within one function.
#[derive(Debug)]
pub struct Checks<'p, 'a> {
    /// Names of the registers that checks read.
    registers: &'p FxHashMap<RegisterId, String>,
    /// The names of new registers.
    pub fresh: Fresh<'a>,
    lane: Option<String>,
    linear: Option<String>,
    /// For each block and no-wrap check the widest window that the check has to cover.
    windows: FxHashMap<(BlockId, Check), (i64, i64)>,
    masks: FxHashMap<BlockId, String>,
    /// The masks of the tests of rows by their places, of which a block may have several.
    row_masks: FxHashMap<u32, String>,
    chains: FxHashMap<ChainKey, Option<String>>,
    /// For each distance in lanes, the register that holds the number of the lane so far on, and the
    /// predicate that the lane's own number is below the distance.
    lanes_on: BTreeMap<u32, (String, String)>,
    /// For each chain and distance, the predicate under which the shuffled value is used.
    usable: FxHashMap<(ChainKey, i32), String>,
}

impl<'p, 'a> Checks<'p, 'a> {
    /// The checks of a function that asks, in each block, whether some indices wrap around, and, if `linear` holds,
    /// whether lanes are consecutive in `tid.x`.
    pub fn new(
        registers: &'p FxHashMap<RegisterId, String>,
        fresh: Fresh<'a>,
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
        self.masks.get(&block).cloned().unwrap_or_default()
    }

    /// The `activemask` of the test of a row at a place; empty before that test.
    pub fn mask_of_row(&self, place: u32) -> String {
        self.row_masks.get(&place).cloned().unwrap_or_default()
    }

    /// The predicate under which a lane may use a value that it has received; `None` if it always may.
    pub fn usable(&mut self, replacement: &Replacement, setup: &mut String) -> Option<String> {
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
            let asked = replacement.same_row.iter();
            checks.extend(asked.map(|asked| Check::SameRow(asked.clone(), delta)));
        }
        let key = (block, guards.whole_warp, checks);
        let in_range = match self.usable.get(&(key.clone(), delta)) {
            Some(known) => Some(known.clone()),
            None => {
                let chain = self.chain(key.clone(), setup);
                let made = if delta == 0 { chain } else { self.corner(chain, delta, setup) };
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

    /// Computes the predicate that the load's address is what the source's lets expect, in this lane.
    fn same_address(
        &mut self,
        replacement: &Replacement,
        (copy, bytes): &(String, i64),
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let (base, _) = &replacement.address;
        let (apart, made) = (self.fresh.bits(64), self.fresh.predicate());
        let _ = write!(setup, "sub.s64 {apart}, {base}, {copy};\n\t");
        let _ = match before {
            Some(before) => {
                write!(setup, "setp.eq.and.s64 {made}, {apart}, {bytes}, {before};\n\t")
            }
            None => write!(setup, "setp.eq.s64 {made}, {apart}, {bytes};\n\t"),
        };
        made
    }

    /// Adds to a chain that the source lane lies within the warp.
    fn corner(&mut self, chain: Option<String>, delta: i32, setup: &mut String) -> Option<String> {
        let predicate = self.fresh.predicate();
        if self.lane.is_none() {
            self.lane = Some(self.fresh.word());
        }
        let lane = self.lane.as_deref().unwrap_or_default();
        let beyond = match delta > 0 {
            true => i32::from(planted!(Bug::CornerTooFarUp)),
            false => i32::from(planted!(Bug::CornerTooFarDown)),
        };
        let (comparison, bound) =
            if delta > 0 { ("lt", 32 - delta + beyond) } else { ("ge", -delta - beyond) };
        let _ = match chain {
            Some(chain) => write!(
                setup,
                "setp.{comparison}.and.u32 {predicate}, {lane}, {bound}, {chain};\n\t"
            ),
            None => write!(setup, "setp.{comparison}.u32 {predicate}, {lane}, {bound};\n\t"),
        };
        Some(predicate)
    }

    /// The conjunction of the warp being whole and the checks; each prefix is computed once.
    fn chain(&mut self, key: ChainKey, setup: &mut String) -> Option<String> {
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
    pub fn of_warp(
        &mut self,
        test: &WarpTest,
        aligned: Option<&str>,
        setup: &mut String,
    ) -> String {
        let block = test.block;
        let mut predicate = self.whole_warp(block, setup);
        self.row_masks.insert(test.place, self.mask(block));
        if let Some(aligned) = aligned {
            let made = self.fresh.predicate();
            let _ = write!(setup, "and.pred {made}, {predicate}, {aligned};\n\t");
            predicate = made;
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
        let (all, mask) = (self.fresh.predicate(), self.mask(block));
        let _ = write!(setup, "vote.sync.all.pred {all}, {predicate}, {mask};\n\t");
        all
    }

    /// The register that holds the lane's number.
    pub fn lane(&mut self) -> String {
        self.lane.get_or_insert_with(|| self.fresh.word()).clone()
    }

    /// The register that holds the number of the lane `distance` further on, and the predicate that
    /// the lane's own number is below `distance`.
    pub fn lanes_on(&mut self, distance: u32) -> (String, String) {
        if let Some(known) = self.lanes_on.get(&distance) {
            return known.clone();
        }
        self.lane.get_or_insert_with(|| self.fresh.word());
        let made = (self.fresh.word(), self.fresh.predicate());
        self.lanes_on.insert(distance, made.clone());
        made
    }

    fn whole_warp(&mut self, block: BlockId, setup: &mut String) -> String {
        let (mask, whole) = (self.fresh.word(), self.fresh.predicate());
        let _ = match planted!(Bug::ConstantMask) {
            true => write!(setup, "mov.b32 {mask}, -1;\n\t"),
            false => write!(setup, "activemask.b32 {mask};\n\t"),
        };
        let all = match planted!(Bug::IncompleteWarp) {
            true => mask.as_str(),
            false => "-1",
        };
        let _ = match &self.linear {
            Some(linear) => {
                write!(setup, "setp.eq.and.s32 {whole}, {mask}, {all}, {linear};\n\t")
            }
            None => write!(setup, "setp.eq.s32 {whole}, {mask}, {all};\n\t"),
        };
        self.masks.insert(block, mask);
        whole
    }

    fn check(
        &mut self,
        block: BlockId,
        check: &Check,
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let named = |register| self.registers.get(register).cloned().unwrap_or_default();
        let (name, negated) = match check {
            Check::NoWrap(register, _, kind) => {
                return self.emit_no_wrap(block, check, *register, *kind, before, setup);
            }
            Check::AllActive(register, negated) | Check::OwnActive(register, negated) => {
                (named(register), *negated)
            }
            Check::SameRow(asked, delta) => {
                return self.same_row(block, asked, *delta, before, setup);
            }
            Check::Linear => (self.linear.clone().unwrap_or_default(), false),
            Check::AllExecuted(name) | Check::OwnExecuted(name) => (name.clone(), false),
        };
        let sign = if negated { "!" } else { "" };
        let made = self.fresh.predicate();
        let _ = match check {
            Check::AllActive(..) | Check::AllExecuted(..) => {
                let mask = self.mask(block);
                write!(setup, "vote.sync.all.pred {made}, {sign}{name}, {mask};\n\t")
            }
            _ if negated => write!(setup, "not.pred {made}, {name};\n\t"),
            _ => write!(setup, "mov.pred {made}, {name};\n\t"),
        };
        if let Some(before) = before {
            let _ = write!(setup, "and.pred {made}, {made}, {before};\n\t");
        }
        made
    }

    /// Computes the predicate that the lane `delta` lanes further up has the same value of a register, or
    /// the one that is larger by the distance.
    fn same_row(
        &mut self,
        block: BlockId,
        asked: &AskedRegister,
        delta: i32,
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let AskedRegister { name, bits, low, grows } = asked;
        let mask = self.mask(block);
        let asked_lane = if planted!(Bug::RowOtherSide) { -delta } else { delta };
        let way = match asked_lane > 0 {
            true => format!("{asked_lane}, 31, {mask}"),
            false => format!("{}, 0, {mask}", -asked_lane),
        };
        let direction = if asked_lane > 0 { "down" } else { "up" };
        let shuffle = |word: &str, fresh: &mut Fresh<'_>, setup: &mut String| {
            let received = fresh.word();
            let _ = write!(setup, "shfl.sync.{direction}.b32 {received}, {word}, {way};\n\t");
            received
        };
        let (own, mut received, bits) = match (*bits, *low) {
            (64, true) => {
                let own = self.fresh.word();
                let _ = write!(setup, "cvt.u32.u64 {own}, {name};\n\t");
                let received = shuffle(&own, &mut self.fresh, setup);
                (own, received, 32)
            }
            (64, false) => {
                let (low, high) = (self.fresh.word(), self.fresh.word());
                let _ = write!(setup, "mov.b64 {{{low}, {high}}}, {name};\n\t");
                let low = shuffle(&low, &mut self.fresh, setup);
                let high = shuffle(&high, &mut self.fresh, setup);
                let received = self.fresh.bits(64);
                let _ = write!(setup, "mov.b64 {received}, {{{low}, {high}}};\n\t");
                (name.clone(), received, 64)
            }
            _ => (name.clone(), shuffle(name, &mut self.fresh, setup), 32),
        };
        if *grows {
            let expected = self.fresh.bits(bits);
            let _ = write!(setup, "add.s{bits} {expected}, {received}, {};\n\t", -asked_lane);
            received = expected;
        }
        let made = self.fresh.predicate();
        let _ = match before {
            Some(before) => {
                write!(setup, "setp.eq.and.s{bits} {made}, {received}, {own}, {before};\n\t")
            }
            None => write!(setup, "setp.eq.s{bits} {made}, {received}, {own};\n\t"),
        };
        made
    }

    /// Computes the predicate that the register has none of the values from which the index would wrap
    /// around.
    fn emit_no_wrap(
        &mut self,
        block: BlockId,
        check: &Check,
        register: RegisterId,
        kind: WrapKind,
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let (first, last) = self.windows.get(&(block, check.clone())).copied().unwrap_or_default();
        let wraps_at: i64 = match kind {
            WrapKind::Signed => 1 << 31,
            WrapKind::Unsigned => 0,
        };
        let back = (wraps_at + first).wrapping_neg() as i32;
        let count = last - first + 1 - i64::from(planted!(Bug::SmallWindow));
        let (moved, predicate) = (self.fresh.word(), self.fresh.predicate());
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

    /// Computes the predicate that an address of the lane lies in the global window (PTX ISA, "isspacep").
    fn global_address(
        &mut self,
        (base, offset): &(String, i64),
        before: Option<String>,
        setup: &mut String,
    ) -> String {
        let made = self.fresh.predicate();
        let address = match offset {
            0 => base.clone(),
            _ => {
                let sum = self.fresh.bits(64);
                let _ = write!(setup, "add.s64 {sum}, {base}, {offset};\n\t");
                sum
            }
        };
        let _ = write!(setup, "isspacep.global {made}, {address};\n\t");
        if let Some(before) = before {
            let _ = write!(setup, "and.pred {made}, {made}, {before};\n\t");
        }
        made
    }

    /// For a load that has a guard predicate of its own: the predicate under which it takes the
    /// received value, and the one under which it loads.
    pub fn under_guard(
        &mut self,
        guard: &str,
        usable: &str,
        setup: &mut String,
    ) -> (String, String) {
        let (take, load) = (self.fresh.predicate(), self.fresh.predicate());
        let guard = match guard.strip_prefix('!') {
            None => guard.to_owned(),
            Some(register) => {
                let negated = self.fresh.predicate();
                let _ = write!(setup, "not.pred {negated}, {register};\n\t");
                negated
            }
        };
        let _ = write!(
            setup,
            "and.pred {take}, {guard}, {usable};\n\tnot.pred {load}, {usable};\n\t\
             and.pred {load}, {load}, {guard};\n\t"
        );
        (take, load)
    }

    /// The declarations and the code that is computed once; called when the rest of the code is known.
    pub fn prologue(mut self) -> String {
        let mut code = String::new();
        if let Some(lane) = &self.lane {
            let _ = write!(code, "\n\tmov.u32 {lane}, %laneid;");
            let further = i64::from(planted!(Bug::RowIndex));
            let above = u32::from(planted!(Bug::RowBound));
            for (distance, (on, below)) in &self.lanes_on {
                let _ = write!(
                    code,
                    "\n\tadd.s32 {on}, {lane}, {};\n\tsetp.lt.u32 {below}, {lane}, {};",
                    i64::from(*distance) + further,
                    distance + above
                );
            }
        }
        if let Some(linear) = self.linear.take() {
            let (x, y, z) = (self.fresh.word(), self.fresh.word(), self.fresh.word());
            let _ = write!(
                code,
                "\n\tmov.u32 {x}, %ntid.x;\n\tmov.u32 {y}, %ntid.y;\n\tmov.u32 {z}, %ntid.z;\
                 \n\tand.b32 {x}, {x}, 31;\n\tmul.lo.u32 {y}, {y}, {z};\
                 \n\tsetp.eq.u32 {linear}, {x}, 0;\
                 \n\tsetp.eq.or.u32 {linear}, {y}, 1, {linear};"
            );
        }
        self.fresh.declarations() + &code
    }
}

fn no_wrap(check: &NoWrap) -> Check {
    Check::NoWrap(check.register, check.widened, check.extension)
}
