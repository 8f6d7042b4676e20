//! Where lanes meet in machine code, by its convergence barriers: `BSSY B, target` enters the lanes
//! that come by into `B`; at `BSYNC B` they wait for all others in `B` and go on at `target`;
//! `BREAK B` takes them out.

use std::collections::{BTreeMap, BTreeSet};

use super::listing::Listing;

/// States of lanes on their ways that are looked at; functions with more are left out.
const MAX_STATES: usize = 100_000;

/// The message about those.
pub const TOO_MANY: &str = "too many ways";

/// Which ways (targets of a branch) lead to each place where lanes wait for each other.
pub type Arrivals = BTreeMap<usize, BTreeSet<usize>>;

/// The places at which lanes wait next that part at a branch; no way goes on behind an instruction
/// that is `closed`.
pub fn arrivals(
    listing: &Listing,
    branch: usize,
    closed: &dyn Fn(usize) -> bool,
) -> Result<Arrivals, String> {
    let mut found = Arrivals::new();
    let instruction = &listing.instructions[branch];
    for &way in &instruction.next {
        let taken = Some(&way) == instruction.next.first();
        let broken = breaks_at(listing, branch, taken)?;
        for target in arrive(listing, State { at: way, entered: 0, broken }, closed)? {
            found.entry(target).or_default().insert(way);
        }
    }
    Ok(found)
}

/// A lane on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    at: usize,
    /// Barriers entered since the lanes parted: others than those that they were in together.
    entered: u32,
    /// Barriers left.
    broken: u32,
}

/// Where a lane waits first in a barrier that it was in before.
fn arrive(
    listing: &Listing,
    from: State,
    closed: &dyn Fn(usize) -> bool,
) -> Result<BTreeSet<usize>, String> {
    let (mut seen, mut work) = (BTreeSet::new(), vec![from]);
    let mut found = BTreeSet::new();
    while let Some(state) = work.pop() {
        if closed(state.at) || !seen.insert(state) {
            continue;
        }
        if seen.len() > MAX_STATES {
            return Err(TOO_MANY.to_owned());
        }
        let instruction = &listing.instructions[state.at];
        let State { mut entered, mut broken, .. } = state;
        let bit = || -> Result<u32, String> {
            let name = instruction.barrier();
            let number = name.and_then(|name| name[1..].parse::<u32>().ok());
            number.map(|n| 1 << n).ok_or_else(|| format!("no barrier in {instruction:?}"))
        };
        match instruction.base() {
            "BSSY" => {
                entered |= bit()?;
                broken &= !bit()?;
            }
            "BREAK" if instruction.guard.is_none() => {
                broken |= bit()?;
                entered &= !bit()?;
            }
            "BSYNC" => {
                let barrier = bit()?;
                if (entered | broken) & barrier == 0 {
                    // (The target of the `BSSY` is what follows: see `targets_follow`.)
                    found.insert(state.at + 1);
                    continue;
                }
                entered &= !barrier;
            }
            _ => {}
        }
        for &next in &instruction.next {
            let taken = instruction.next.len() > 1 && Some(&next) == instruction.next.first();
            let broken = if instruction.next.len() > 1 {
                broken | breaks_at(listing, state.at, taken)?
            } else {
                broken
            };
            work.push(State { at: next, entered, broken });
        }
    }
    Ok(found)
}

/// The barriers that `@P BREAK B` in front of `@P BRA` takes lanes out of that go the one way.
fn breaks_at(listing: &Listing, branch: usize, taken: bool) -> Result<u32, String> {
    let guard = listing.instructions[branch].guard.as_deref();
    let mut broken = 0;
    for instruction in listing.instructions[..branch].iter().rev() {
        if instruction.base() != "BREAK" {
            break;
        }
        let same = instruction.guard.as_deref() == guard;
        let opposite =
            |a: &str, b: &str| a.strip_prefix('!') == Some(b) || b.strip_prefix('!') == Some(a);
        let number = instruction.barrier().and_then(|name| name[1..].parse::<u32>().ok());
        let number = number.ok_or_else(|| format!("no barrier in {instruction:?}"))?;
        match (instruction.guard.as_deref(), guard) {
            (Some(_), Some(_)) if same => broken |= if taken { 1 << number } else { 0 },
            (Some(a), Some(b)) if opposite(a, b) => broken |= if taken { 0 } else { 1 << number },
            (None, _) => {}
            _ => return Err(format!("a guarded BREAK without its branch: {instruction:?}")),
        }
    }
    Ok(broken)
}

/// Whether what follows each `BSYNC` is the target of every `BSSY` of the barrier that reaches it.
pub fn targets_follow(listing: &Listing) -> bool {
    let all = &listing.instructions;
    all.iter().enumerate().filter(|(_, i)| i.base() == "BSSY").all(|(start, bssy)| {
        let Some(target) = listing.target(&bssy.operands) else { return false };
        let (mut seen, mut work) = (BTreeSet::new(), all[start].next.clone());
        while let Some(at) = work.pop() {
            if !seen.insert(at) {
                continue;
            }
            let same = all[at].barrier() == bssy.barrier();
            match all[at].base() {
                "BSYNC" if same && at + 1 != target => return false,
                "BSYNC" | "BSSY" if same => {}
                _ => work.extend(&all[at].next),
            }
        }
        true
    })
}
