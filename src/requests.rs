//! What the accesses of a kernel take of a multiprocessor, by kind, for its measure by machine code.
//!
//! In: the counts of [`traffic`](crate::traffic) for each access of the text, and the costs of an architecture. Out:
//! [`Requests`]: for each kind of accesses, by what they do, where, and with how many bytes, the mean over those that are
//! executed ([`paths`]). Machine code does not say which access of the text an
//! instruction stands for, and ptxas may have unrolled loops or joined accesses; their kind it says.
//!
//! A sector that the warp has loaded before in the same iteration comes from the first-level cache, unless the load goes
//! past it. What is stored goes through. From memory come the sectors that are loaded, but of rows of one array whose
//! length is a parameter, one: the others are those of other warps or other iterations. What is written may stay in the
//! second-level cache.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::cfg::{BlockId, Flow};
use crate::cost::{self, Costs};
use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{Node, TermId, Valuation};
use crate::isa::{Form, Opcode, Qualifier, ScalarType};
use crate::ptx::StateSpace;
use crate::sass::measure::{Request, Requests};
use crate::sass::opcodes::Role;
use crate::sass::paths::{self, Blocks, Histogram, Work};
use crate::sass::schedule::Access;
use crate::traffic::{AccessKind, AccessTraffic, Spread, Stride, Traffic};

/// Lanes of a warp.
const LANES: u32 = 32;

/// Bytes of a sector of the caches.
const SECTOR: i64 = 32;

/// Sectors of a line.
const SECTORS_IN_LINE: f64 = 4.0;

/// A distance between lanes beyond all that share sectors.
const FAR: i64 = 1 << 32;

/// What is known of the accesses of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// What they take, by kind.
    pub requests: Requests,
    /// The instructions that the kernel executes, by kind.
    executed: Histogram,
}

/// What the accesses of a function take. `original`: the same of the function before it was rewritten.
pub fn known(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    traffic: &Traffic,
    architecture: u32,
    original: Option<&Known>,
) -> Known {
    let costs = Costs::of(architecture);
    let blocks = blocks(flow, traffic);
    let executions = paths::executions(&blocks, original.map(|known| &known.executed));
    let executed = paths::executed(&blocks, &executions);
    let mut on_way: BTreeMap<Access, Sum> = BTreeMap::new();
    let mut beside: BTreeMap<Access, Sum> = BTreeMap::new();
    let mut touched = Touched { flow, trace, sectors: FxHashMap::default() };
    let mut rows = Touched { flow, trace, sectors: FxHashMap::default() };
    for access in &traffic.accesses {
        let Some(role) = role(access) else { continue };
        let block = trace.accesses[access.index].block;
        let past_l1 = access.kind != AccessKind::Load || goes_past_l1(flow, access.inst);
        let bytes = |sectors: i64| (sectors * SECTOR) as f64;
        let request = match (access.space, access.kind) {
            (StateSpace::Shared, _) => {
                Request { cycles: cycles(access, &costs), ..Request::UNKNOWN }
            }
            (_, kind) => Request {
                cycles: cycles(access, &costs),
                from_l2: bytes(touched.sectors(access, block, past_l1, false)),
                from_memory: match kind {
                    AccessKind::Load => bytes(rows.sectors(access, block, false, true)),
                    _ => 0.0,
                },
            },
        };
        let kind = Access { role, bytes: access.bytes };
        let times = executions[block.index()];
        if times > 0.0 {
            on_way.entry(kind).or_default().add(request, times);
        } else {
            beside.entry(kind).or_default().add(request, 1.0);
        }
    }
    // What is executed decides; of kinds that are not, any may be met.
    beside.extend(on_way);
    let requests = beside.into_iter().map(|(kind, sum)| (kind, sum.mean())).collect();
    Known { requests, executed }
}

/// A sum of requests.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: f64,
    cycles: f64,
    from_l2: f64,
    from_memory: f64,
}

impl Sum {
    fn add(&mut self, request: Request, weight: f64) {
        self.weight += weight;
        self.cycles += weight * request.cycles;
        self.from_l2 += weight * request.from_l2;
        self.from_memory += weight * request.from_memory;
    }

    fn mean(self) -> Request {
        Request {
            cycles: self.cycles / self.weight,
            from_l2: self.from_l2 / self.weight,
            from_memory: self.from_memory / self.weight,
        }
    }
}

/// What is needed to follow the text.
fn blocks(flow: &Flow<'_, '_>, traffic: &Traffic) -> Blocks {
    let bytes: FxHashMap<u32, u32> =
        traffic.accesses.iter().map(|access| (access.inst, access.bytes)).collect();
    let mut found = Blocks::default();
    for id in flow.block_ids() {
        let block = &flow.blocks[id.index()];
        found.next.push(block.successors.iter().map(|edge| edge.to.index()).collect());
        let mut work = Work { cycles: f64::from(block.end - block.first), ..Work::default() };
        let mut kinds = Histogram::new();
        for inst in block.first..block.end {
            let form = &flow.insts[inst as usize].ast.form;
            work.arithmetic += f64::from(u8::from(is_arithmetic(form)));
            let access = bytes.get(&inst).copied().unwrap_or(0);
            work.accesses += f64::from(u8::from(access > 0));
            *kinds.entry(access << 16 | form.opcode as u32).or_default() += 1.0;
        }
        found.work.push(work);
        found.kinds.push(kinds);
    }
    found
}

fn is_arithmetic(form: &Form) -> bool {
    use Opcode::{Add, Div, Ex2, Fma, Mad, Mul, Rcp, Rsqrt, Sqrt, Sub};
    let computes =
        matches!(form.opcode, Add | Sub | Mul | Mad | Fma | Div | Rcp | Sqrt | Rsqrt | Ex2);
    computes && form.types().into_iter().any(ScalarType::is_float)
}

/// What machine code calls an access.
fn role(access: &AccessTraffic) -> Option<Role> {
    Some(match (access.kind, access.space) {
        (AccessKind::Load, StateSpace::Global) => Role::LoadGlobal,
        (AccessKind::Load, StateSpace::Generic) => Role::LoadGeneric,
        (AccessKind::Load, StateSpace::Shared) => Role::LoadShared,
        (AccessKind::Store, StateSpace::Global) => Role::StoreGlobal,
        (AccessKind::Store, StateSpace::Generic) => Role::StoreGeneric,
        (AccessKind::Store, StateSpace::Shared) => Role::StoreShared,
        (AccessKind::Atomic | AccessKind::Reduction, _) => Role::Atomic,
        _ => return None,
    })
}

/// Cycles of the load/store unit, in the middle of what is possible.
fn cycles(access: &AccessTraffic, costs: &Costs) -> f64 {
    let span = access.spread.span();
    if access.space == StateSpace::Shared {
        return span.map_or(1.0, |span| f64::from(span.min + span.max) / 2.0);
    }
    if let Some(Stride::Constant(stride)) = access.stride {
        return costs.load(&cost::Request {
            stride: Some(stride),
            bytes: access.bytes,
            lanes: access.lanes,
            past_l1: false,
        });
    }
    // Sectors beyond those that the bytes need lie in lines of their own.
    let lines = span.map_or(f64::from(LANES), |span| {
        let (sectors, ideal) = (f64::from(span.min + span.max) / 2.0, f64::from(span.ideal));
        sectors.min(ideal) / SECTORS_IN_LINE + (sectors - ideal).max(0.0)
    });
    let passes = f64::from(access.bytes.div_ceil(4));
    passes.max(lines / costs.lines_in_cycle)
}

fn goes_past_l1(flow: &Flow<'_, '_>, inst: u32) -> bool {
    let form = &flow.insts[inst as usize].ast.form;
    form.has(Qualifier::Cg) || form.has(Qualifier::Cv)
}

/// What addresses have in common whose sectors may be the same.
#[derive(PartialEq, Eq, Hash)]
enum Base {
    /// All but their constants.
    Addends(SmallVec<[(TermId, u64); 4]>),
    /// The symbols that they depend on.
    Symbols(SmallVec<[TermId; 6]>),
}

/// The sectors that the warp has accessed, each with the blocks in which it has.
struct Touched<'t, 'm, 's> {
    flow: &'t Flow<'m, 's>,
    trace: &'t KernelTrace,
    sectors: FxHashMap<Base, FxHashMap<i64, SmallVec<[BlockId; 2]>>>,
}

impl Touched<'_, '_, '_> {
    /// How many sectors of an access are new in its block, or how many it has if it `counts_all`. `by_row`: rows of an array whose
    /// length is a parameter are one.
    fn sectors(
        &mut self,
        access: &AccessTraffic,
        block: BlockId,
        counts_all: bool,
        by_row: bool,
    ) -> i64 {
        let address = self.trace.accesses[access.index].address;
        let (Some(address), Some(span)) = (address, access.spread.span()) else {
            return i64::from(LANES);
        };
        let stride = match access.stride {
            Some(Stride::Constant(stride)) => stride,
            // The lanes of those that are counted otherwise lie where they may.
            _ if matches!(access.spread, Spread::Counted(span) if span.min == span.max) => {
                i64::from(span.max) * SECTOR / i64::from(LANES)
            }
            _ => FAR,
        };
        let (constant, addends) = self.trace.arena.linear_parts(address);
        let rows = by_row.then(|| self.symbols_of_rows(address)).flatten();
        let base = rows.unwrap_or_else(|| Base::Addends(addends.into_iter().collect()));
        let found = self.sectors.entry(base).or_default();
        let dominators = &self.flow.dominators;
        let mut count = 0;
        let mut seen = i64::MIN;
        for lane in 0..i64::from(access.lanes.min(LANES)) {
            let first = (constant as i64).wrapping_add(lane * stride);
            let end = first.wrapping_add(i64::from(access.bytes) - 1);
            for sector in first.div_euclid(SECTOR)..=end.div_euclid(SECTOR) {
                if sector == seen {
                    continue;
                }
                seen = sector;
                let known = found.entry(sector).or_default();
                let is_known = known.iter().any(|&before| dominators.dominates(before, block));
                count += i64::from(counts_all || !is_known);
                if !is_known {
                    known.push(block);
                }
            }
        }
        count
    }

    /// The symbols of an address with a row's length in it.
    fn symbols_of_rows(&self, address: TermId) -> Option<Base> {
        let arena = &self.trace.arena;
        let below = Valuation::new(arena, std::iter::once(address));
        let is_parameter = |mut term: TermId| {
            while let Node::ZeroExtend(of) | Node::SignExtend(of) = arena.node(term) {
                term = *of;
            }
            matches!(arena.node(term), Node::Symbol(symbol)
                if matches!(self.trace.symbols.info(*symbol).kind, SymbolKind::Parameter { .. }))
        };
        let is_row = |term: &TermId| match arena.node(*term) {
            Node::Product(factors) => factors.iter().any(|&(factor, _)| is_parameter(factor)),
            _ => false,
        };
        let has_rows = below.terms().iter().any(is_row);
        has_rows.then(|| Base::Symbols(below.symbols().map(|(term, _)| term).collect()))
    }
}
