//! How the arrays in shared memory are laid out in the rewritten program, found from the two texts alone.
//!
//! In: both programs with the addresses of their accesses. Out: for each array a [`Layout`] that all its accesses agree
//! with, as far as samples tell, and that is counted out to keep the array's bytes apart; and which access of the
//! original each of the rewritten program's corresponds to. The evaluation of an access proves that its address follows
//! the layout.
//!
//! Why that is enough: the invariant is that the rewritten program's array holds at `layout(a)` the byte that the
//! original's holds at `a`. It holds at the start, when the contents of an array are undetermined. A store or load of
//! the rewritten program at `layout(a)` then corresponds to one at `a`, as long as no access comes to the array in
//! another way (`arrays`) and each one stays within the array: that is assumed of the original, and follows for the
//! rewritten program.
//!
//! An array whose rows have gaps in the original may have none in the rewritten program. Then it is the other way round:
//! the original's array holds at `layout(a)` what the rewritten program's holds at `a`, as far as that one has bytes, and
//! that an access goes to one of these is shown for each.

use rustc_hash::FxHashMap;

use super::execution::Execution;
use crate::cfg::InstId;
use crate::expr::{TermId, Valuation};
use crate::isa::Special;
use crate::isa::limits::MAX_SHARED;
use crate::program::arrays::{Arrays, SharedAccess};
use crate::program::{Array, Both, Program};
use crate::ptx::Module;
use crate::terms::{Extent, Kind, Layout, Region, Terms};

/// How many states are sampled for each access.
const ROUNDS: u64 = 64;

/// How many of these have to be within the array for the others not to count.
const ENOUGH: usize = 8;

/// An access of the rewritten program and the original's that it replaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paired {
    pub layout: Layout,
    /// Whether the layout leads from the rewritten program's addresses to the original's.
    pub is_back: bool,
    /// The address of the original's access, as wide as its register.
    pub original: TermId,
    /// The same, as wide as the rewritten program's.
    pub before: TermId,
    /// The array's address, as wide.
    pub base: TermId,
    /// The last byte of the array at which such an access can begin, in the original and in the rewritten program.
    pub last: Both<u64>,
    /// The alignment of the array's address, a power of two.
    pub align: u64,
    /// The bytes of an array whose size each launch gives, as wide.
    pub size: TermId,
}

/// The layouts of one pair of programs.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    /// For each access of the rewritten program to an array with another layout, by instruction.
    pub paired: FxHashMap<InstId, Paired>,
    /// The layouts in words.
    pub described: Vec<String>,
}

/// Finds the layouts; `None` if every array is declared and laid out as before.
///
/// # Errors
/// Why no layout is known.
pub(crate) fn find(
    terms: &mut Terms,
    programs: Both<&Program<'_, '_>>,
    modules: Both<&Module<'_>>,
    executions: Both<&Execution>,
) -> Result<Option<Layouts>, String> {
    let before = Arrays::of(programs.original, modules.original)?;
    if before.declared.is_empty() {
        return Ok(None);
    }
    let after = Arrays::of(programs.rewritten, modules.rewritten)?;
    let names = |arrays: &Arrays| -> Vec<String> {
        arrays.declared.iter().map(|array| array.name.clone()).collect()
    };
    if names(&before) != names(&after) {
        return Err("the two have different arrays in shared memory".to_owned());
    }
    let pairs = pairs(programs, Both { original: &before, rewritten: &after })?;
    let mut layouts = Layouts::default();
    for (index, (old, new)) in before.declared.iter().zip(&after.declared).enumerate() {
        let own: Vec<(SharedAccess, SharedAccess)> =
            pairs.iter().filter(|(one, _)| one.array == Some(index)).copied().collect();
        let reached = before.reached[index].as_ref().or(after.reached[index].as_ref());
        let reached = reached.or(before.bent.as_ref());
        one_array(
            terms,
            executions,
            Both { original: old, rewritten: new },
            &own,
            reached,
            &mut layouts,
        )?;
    }
    Ok(Some(layouts).filter(|layouts| !layouts.described.is_empty()))
}

/// The accesses of both programs, each with the one that it corresponds to: the first of the one with the first of the
/// other, and so on.
fn pairs(
    Both { original, rewritten }: Both<&Program<'_, '_>>,
    arrays: Both<&Arrays>,
) -> Result<Vec<(SharedAccess, SharedAccess)>, String> {
    let Both { original: before, rewritten: after } = arrays;
    let opcode = |program: &Program<'_, '_>, access: &SharedAccess| {
        let text = program.flow.insts[access.inst].ast.opcode.text;
        text.split_whitespace().collect::<String>()
    };
    let alike = before.accesses.len() == after.accesses.len()
        && before.accesses.iter().zip(&after.accesses).all(|(one, other)| {
            one.array == other.array && opcode(original, one) == opcode(rewritten, other)
        });
    match alike {
        true => Ok(before.accesses.iter().copied().zip(after.accesses.iter().copied()).collect()),
        false => Err("the two have different accesses to shared memory".to_owned()),
    }
}

/// An access to an array, by the addresses of both programs.
#[derive(Clone, Copy)]
struct Claim {
    /// The rewritten program's access.
    access: SharedAccess,
    /// The original's address.
    original: TermId,
    /// The same, as wide as the rewritten program's.
    before: TermId,
    /// The rewritten program's address.
    after: TermId,
    /// The array's address, as wide.
    base: TermId,
}

/// Pairs the addresses of the accesses to one array.
fn claims(
    terms: &mut Terms,
    Both { original: before, rewritten: after }: Both<&Execution>,
    array: &Array,
    accesses: &[(SharedAccess, SharedAccess)],
) -> Result<Vec<Claim>, String> {
    let name = array.plain_name();
    let start = terms.symbol(Kind::Address(array.name.clone()), 64, None);
    let mut claims = Vec::new();
    for (one, other) in accesses {
        // An access without an address is unreachable.
        let (x, y) = (before.shared.get(&one.inst), after.shared.get(&other.inst));
        let (Some(&original), Some(&after)) = (x, y) else {
            if x.is_none() && y.is_none() {
                continue;
            }
            return Err(format!("only one of the two accesses `{name}`"));
        };
        let width = terms.arena.width(after);
        // Addresses in shared memory have 32 bits (PTX ISA, "Addresses as Operands").
        if terms.arena.width(original) < width {
            return Err(format!("the addresses in `{name}` have different widths"));
        }
        let before = terms.arena.extract(original, 0, width);
        let base = terms.arena.extract(start, 0, width);
        claims.push(Claim { access: *other, original, before, after, base });
    }
    Ok(claims)
}

/// The first layout with which the addresses agree in all samples and that keeps the array's bytes apart; and whether
/// it leads from the rewritten program's addresses to the original's.
fn fitting(
    terms: &Terms,
    Both { original: old, rewritten: new }: Both<&Array>,
    claims: &[Claim],
    bytes: &[u32],
    dynamic_size: TermId,
) -> Option<(Layout, bool)> {
    let samples: Vec<(Sample, u8)> = claims
        .iter()
        .flat_map(|claim| {
            let width = terms.arena.width(claim.before);
            let roots = [claim.before, claim.after, claim.base, dynamic_size];
            sampled(terms, roots, new.align).into_iter().map(move |sample| (sample, width))
        })
        .collect();
    // Samples beyond the array matter only if there are too few others.
    let within = |([x, _, base, _], _): &(Sample, u8)| (*base..*base + old.bytes).contains(x);
    let enough = samples.iter().filter(|one| within(one)).count() >= ENOUGH * claims.len();
    let agrees = |layout: &Layout, is_back: bool| {
        let mut all = samples.iter().filter(|sample| !enough || within(sample));
        all.all(|&([x, y, base, size], width)| {
            let (from, to) = if is_back { (y, x) } else { (x, y) };
            layout.apply(from, Region { base, size }, width) == to
        })
    };
    let extent = Extent {
        before: old.bytes,
        after: new.bytes,
        align: new.align,
        is_dynamic: old.is_dynamic,
    };
    let back = Extent { before: new.bytes, after: old.bytes, align: old.align, ..extent };
    let fits = |layout: &Layout| agrees(layout, false) && layout.keeps(extent, bytes);
    if old.is_dynamic {
        return Layout::guarded().find(fits).map(|layout| (layout, false));
    }
    let fits_back = |layout: &Layout| agrees(layout, true) && layout.keeps(back, bytes);
    let found = Layout::all().find(fits).map(|layout| (layout, false));
    found.or_else(|| Layout::all().find(fits_back).map(|layout| (layout, true)))
}

/// Finds the layout of one array; `reached` says why accesses may reach it by other addresses.
fn one_array(
    terms: &mut Terms,
    executions: Both<&Execution>,
    arrays: Both<&Array>,
    accesses: &[(SharedAccess, SharedAccess)],
    reached: Option<&String>,
    layouts: &mut Layouts,
) -> Result<(), String> {
    let Both { original: old, rewritten: new } = arrays;
    let name = old.plain_name();
    let claims = claims(terms, executions, old, accesses)?;
    if claims.iter().all(|claim| claim.before == claim.after) {
        if new.bytes < old.bytes || new.align < old.align {
            return Err(format!("`{name}` has become smaller or less aligned"));
        }
        if new != old {
            layouts.described.push(format!("{name}: {}", Layout::Same.describe()));
        }
        return Ok(());
    }
    if let Some(reason) = reached {
        return Err(reason.clone());
    }
    let bytes: Vec<u32> = accesses.iter().map(|(one, _)| one.bytes).collect();
    let dynamic_size = terms.symbol(Kind::Uniform(Special::DynamicSmemSize), 32, None);
    let (layout, is_back) = fitting(terms, arrays, &claims, &bytes, dynamic_size)
        .ok_or_else(|| format!("no layout of `{name}` fits all its accesses"))?;
    let is_wide = |bytes: &u32| u64::from(*bytes) > old.align && !old.is_dynamic;
    if bytes.iter().any(is_wide) || new.align < old.align {
        return Err(format!("accesses to `{name}` are wider than it is aligned"));
    }
    let from = if is_back { "the original's: " } else { "" };
    layouts.described.push(format!("{name}: {from}{}", layout.describe()));
    for Claim { access, original, before, base, .. } in claims {
        let last = |array: &Array| {
            let most = if old.is_dynamic { MAX_SHARED } else { array.bytes };
            most.saturating_sub(u64::from(access.bytes))
        };
        let last = Both { original: last(old), rewritten: last(new) };
        let size = terms.arena.zero_extend(dynamic_size, terms.arena.width(base));
        let paired =
            Paired { layout, is_back, original, before, base, last, align: new.align, size };
        layouts.paired.insert(access.inst, paired);
    }
    Ok(())
}

/// The values of both addresses, of the array's and of the size that the launch gives, in one state.
type Sample = [u64; 4];

/// Samples of some states. Addresses that are 32 bits wide are compared as such.
fn sampled(terms: &Terms, roots: [TermId; 4], align: u64) -> Vec<Sample> {
    let mut valuation = Valuation::new(&terms.arena, roots.into_iter());
    let symbols: Vec<(TermId, &Kind)> =
        valuation.symbols().map(|(term, id)| (term, &terms.symbols.info(id).kind)).collect();
    let values = (0..ROUNDS).map(|round| {
        // A layout may ask for multiples of a power of two: in turn the start and the size are multiples of a small one.
        let (start, size) = if round & 16 == 0 { (round % 16, 16) } else { (16, round % 16) };
        for (number, &(term, kind)) in symbols.iter().enumerate() {
            let range = terms.arena.range(term);
            let mixed = (round * 61 + number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xd1b5_4a32_d192_ed03);
            let mixed = mixed ^ mixed >> 29;
            let value = match kind {
                // Within the window, so that no address wraps around.
                Kind::Address(_) => (mixed & 0x3_ffff) & !((1 << start).max(align.max(1)) - 1),
                Kind::Uniform(Special::DynamicSmemSize) => (mixed & 0x3_ffff) & !((1 << size) - 1),
                _ => match (range.umax - range.umin).checked_add(1) {
                    Some(count) => range.umin + mixed % count,
                    None => mixed,
                },
            };
            valuation.set(term, value);
        }
        valuation.evaluate();
        roots.map(|term| valuation.value(term))
    });
    values.collect()
}
