//! The requests of a kernel's accesses, by kind, for its measure by machine code.
//!
//! In: the accesses of the text, and the costs of an architecture. Out: [`Requests`]: for each kind of accesses
//! (operation, state space, bytes, guarded or not) the mean over those that are executed ([`paths`]). Kinds are
//! necessary because machine code does not tell which access of the text an instruction belongs to, and ptxas may have
//! unrolled loops or joined accesses.
//!
//! The lanes of the warps of a block are sampled (`sampled`). A sector that one has loaded before comes from the
//! first-level cache, unless the load bypasses it. Stores go through that cache. Memory delivers the bytes that no
//! other block loads: one of the rows or planes that other blocks access as theirs, and no bytes that all blocks load.
//! Written bytes may stay in the second-level cache.

mod sampled;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use sampled::{ARRAY_BITS, Sampled, Warps};

use crate::cfg::{Flow, InstId};
use crate::cost::{Costs, Pipe, banks};
use crate::emulate::KernelTrace;
use crate::isa::{Form, Opcode, Qualifier, ScalarType};
use crate::ptx::{Function, Module, StateSpace};
use crate::sass::access::{Access, Request, Requests};
use crate::sass::opcodes::Role;
use crate::sass::paths::{self, Blocks, Counterpart, Histogram, Work};
use crate::traffic::{self, AccessKind, Identified, passes};

/// Bytes of a sector of the caches.
const SECTOR: u64 = 32;

/// Bytes at most this many block widths away from the array's first access are assumed to belong to other blocks' parts
/// of the same row; those farther away to another row.
const MAX_EDGES: i64 = 8;

/// Facts about a kernel's accesses on one path through it.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Their requests, by kind.
    pub requests: Requests,
    /// The instructions that the kernel executes, by kind.
    pub executed: Histogram,
    /// The work of a warp.
    pub work: Totals,
}

/// The work of a warp on one path through a text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Instructions of the text.
    pub instructions: f64,
    /// Loads that may wait for memory.
    pub loads: f64,
    /// Cycles of the load/store unit.
    pub lsu: f64,
    /// Bytes from the second-level cache.
    pub from_l2: f64,
    /// Bytes from memory.
    pub from_memory: f64,
}

/// Facts about a kernel that hold on every path through it.
#[derive(Clone, Debug)]
pub struct Facts {
    architecture: u32,
    blocks: Blocks,
    accesses: Vec<Looked>,
}

/// An access and the warps that were looked at.
#[derive(Clone, Debug)]
struct Looked {
    kind: AccessKind,
    space: StateSpace,
    of: Access,
    /// Its block.
    block: usize,
    has_address: bool,
    goes_past_l1: bool,
    /// In the first iteration of all loops, and in further ones of the innermost loop around it.
    first: Warps,
    next: Vec<Warps>,
    /// By how many bytes its address moves from a block to the next one along each axis.
    steps: [i64; 3],
}

impl Facts {
    /// The facts about a function.
    pub fn new(
        module: &Module<'_>,
        function: &Function<'_>,
        flow: &Flow<'_, '_>,
        trace: &KernelTrace,
        architecture: u32,
    ) -> Facts {
        let all = traffic::identified(module, function, flow, trace);
        let blocks = blocks(flow, &all);
        let known: Vec<(Identified, Role)> =
            all.into_iter().filter_map(|one| Some((one, role(&one)?))).collect();
        let indices: Vec<usize> = known.iter().map(|(one, _)| one.index).collect();
        let Sampled { first, next, steps } = sampled::sampled(function, flow, trace, &indices);
        let sampled = first.into_iter().zip(next).zip(steps);
        let accesses =
            known.into_iter().zip(sampled).map(|((one, role), ((first, next), steps))| {
                let recorded = &trace.accesses[one.index];
                Looked {
                    kind: one.kind,
                    space: one.space,
                    of: Access { role, bytes: one.bytes, guarded: recorded.guard.is_some() },
                    block: recorded.block.into(),
                    has_address: recorded.address.is_some(),
                    goes_past_l1: one.kind != AccessKind::Load || goes_past_l1(flow, one.inst),
                    first,
                    next,
                    steps,
                }
            });
        Facts { architecture, blocks, accesses: accesses.collect() }
    }

    /// The architecture that the kernel is compiled for, 80 for `sm_80`.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// The requests on the path that is followed. `counterpart`: the instructions that the other version of the kernel
    /// [executes](Known::executed).
    pub fn known(&self, counterpart: Counterpart<'_>) -> Known {
        let costs = Costs::of(self.architecture);
        let path = paths::follow(&self.blocks, counterpart);
        let executions = path.executions(self.blocks.next.len());
        let executed = paths::executed(&self.blocks, &executions);
        let mut on_way: BTreeMap<Access, Sum> = BTreeMap::new();
        let mut beside: BTreeMap<Access, Sum> = BTreeMap::new();
        let mut axes = [false; 3];
        for access in &self.accesses {
            let is_written = access.kind != AccessKind::Load && access.space != StateSpace::Shared;
            axes = [0, 1, 2].map(|axis| axes[axis] || is_written && access.steps[axis] != 0);
        }
        let mut caches = Caches::new(&costs, axes);
        let [mut loaded, mut stored] = [0.0; 2];
        // First iterations come first, so that what later ones find there is there.
        for iteration in 0..paths::LOOP_ITERATIONS as usize {
            caches.from_memory.clear();
            for access in &self.accesses {
                let warps = match iteration {
                    0 => Some(&access.first),
                    later => access.next.get(later - 1),
                };
                let Some(warps) = warps else { continue };
                let times = executions[access.block] / (1 + access.next.len()) as f64;
                let request = caches.request(access, warps, times > 0.0);
                let moved = times * f64::from(access.of.bytes);
                match access.kind {
                    AccessKind::Load => loaded += moved,
                    AccessKind::Store => stored += moved,
                    AccessKind::Atomic | AccessKind::Reduction => {}
                }
                match times > 0.0 {
                    true => on_way.entry(access.of).or_default().add(request, times),
                    false => beside.entry(access.of).or_default().add(request, 1.0),
                }
            }
        }
        let mut work = Totals::default();
        for (block, times) in self.blocks.work.iter().zip(&executions) {
            work.instructions += block.cycles * times;
        }
        for (access, sum) in &on_way {
            let is_load = matches!(access.role, Role::LoadGlobal | Role::LoadGeneric);
            work.loads += if is_load { sum.executed } else { 0.0 };
            work.lsu += sum.cycles;
            work.from_l2 += sum.from_l2;
            work.from_memory += sum.from_memory;
        }
        // The executed accesses decide; a kind without executed accesses takes the others.
        beside.extend(on_way);
        let requests = beside.into_iter().map(|(kind, sum)| (kind, sum.mean())).collect();
        let iterates = executions.iter().any(|times| *times > 1.0);
        Known { requests: Requests { by_kind: requests, loaded, stored, iterates }, executed, work }
    }
}

/// A sum of requests.
#[derive(Clone, Copy, Default)]
struct Sum {
    weight: f64,
    executed: f64,
    cycles: f64,
    lines: f64,
    from_l2: f64,
    from_memory: f64,
    misses: f64,
    memory_misses: f64,
}

impl Sum {
    fn add(&mut self, request: Request, weight: f64) {
        self.weight += weight;
        let weight = weight * request.executed;
        self.executed += weight;
        self.cycles += weight * request.cycles;
        self.lines += weight * request.lines;
        self.from_l2 += weight * request.from_l2;
        self.from_memory += weight * request.from_memory;
        self.misses += weight * request.misses;
        self.memory_misses += weight * request.memory_misses;
    }

    fn mean(self) -> Request {
        let executed = self.executed.max(f64::MIN_POSITIVE);
        Request {
            executed: self.executed / self.weight,
            cycles: self.cycles / executed,
            lines: self.lines / executed,
            from_l2: self.from_l2 / executed,
            from_memory: self.from_memory / executed,
            misses: self.misses / executed,
            memory_misses: self.memory_misses / executed,
        }
    }
}

/// The context for following the text.
fn blocks(flow: &Flow<'_, '_>, accesses: &[Identified]) -> Blocks {
    let bytes: FxHashMap<InstId, u32> =
        accesses.iter().map(|access| (access.inst, access.bytes)).collect();
    let mut found = Blocks::default();
    for id in flow.block_ids() {
        let block = &flow.blocks[id];
        found.next.push(block.successors.iter().map(|edge| edge.to.into()).collect());
        let mut work = Work { cycles: block.instructions().len() as f64, ..Work::default() };
        let mut kinds = Histogram::new();
        for inst in block.instructions() {
            let form = &flow.insts[inst].ast.form;
            work.arithmetic += f64::from(u8::from(is_arithmetic(form)));
            // (A region that waits, or that a rewriting has left as it was.)
            work.calls += f64::from(u8::from(form.opcode == Opcode::NanoSleep));
            let access = bytes.get(&inst).copied().unwrap_or(0);
            work.accesses += f64::from(u8::from(access > 0));
            *kinds.entry(access << 16 | form.opcode as u32).or_default() += 1.0;
            if form.opcode == Opcode::Shfl {
                *kinds.entry(paths::SHUFFLES).or_default() += 1.0;
            }
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
fn role(access: &Identified) -> Option<Role> {
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

fn goes_past_l1(flow: &Flow<'_, '_>, inst: InstId) -> bool {
    let form = &flow.insts[inst].ast.form;
    form.has(Qualifier::Cg) || form.has(Qualifier::Cv)
}

/// The sectors that the warps have loaded.
struct Caches<'t> {
    costs: &'t Costs,
    /// Those in the first-level cache, which the warps of a block share.
    l1: FxHashSet<u64>,
    /// Those that came from memory, by their places from the first address of their array on, as far as other blocks have
    /// no such sectors.
    from_memory: FxHashSet<(u64, i64)>,
    /// For each array, the first address that is accessed.
    starts: FxHashMap<u64, u64>,
    /// The axes along which blocks have a share of the bytes that the kernel writes.
    axes: [bool; 3],
}

impl<'t> Caches<'t> {
    fn new(costs: &'t Costs, axes: [bool; 3]) -> Caches<'t> {
        Caches {
            costs,
            l1: FxHashSet::default(),
            from_memory: FxHashSet::default(),
            starts: FxHashMap::default(),
            axes,
        }
    }

    /// The request of an access, averaged over the warps. `is_executed`: it stands on the path that is followed.
    fn request(&mut self, access: &Looked, warps: &Warps, is_executed: bool) -> Request {
        let mut all = Sum::default();
        for lanes in warps {
            let addresses: Vec<u64> = lanes.executing().collect();
            let none = Request { executed: 0.0, ..Request::UNKNOWN };
            let request = match addresses.is_empty() {
                true => none,
                false => self.of_warp(access, lanes.mask, &addresses, is_executed),
            };
            all.add(request, 1.0);
        }
        all.mean()
    }

    fn of_warp(
        &mut self,
        access: &Looked,
        mask: u32,
        addresses: &[u64],
        is_executed: bool,
    ) -> Request {
        let bytes = access.of.bytes;
        let nothing = Request { misses: 0.0, memory_misses: 0.0, ..Request::UNKNOWN };
        if access.space == StateSpace::Shared {
            let cycles = match access.kind.is_atomic() {
                true => {
                    f64::from(passes(&addresses.iter().map(|at| *at as i64).collect::<Vec<i64>>()))
                }
                false => f64::from(banks::wavefronts(addresses, mask, bytes.into())),
            };
            return Request { cycles, ..nothing };
        }
        if !access.has_address {
            // Each lane may access a sector of its own.
            let all = (addresses.len() as u64 * SECTOR) as f64;
            return Request { from_l2: all, from_memory: all, ..Request::UNKNOWN };
        }
        let Pipe { cycles, lines } = self.costs.pipe(addresses, bytes);
        let mut sectors: Vec<u64> = Vec::new();
        for &address in addresses {
            let end = address.wrapping_add(u64::from(bytes) - 1);
            sectors.extend(address / SECTOR..=end / SECTOR);
        }
        sectors.sort_unstable();
        sectors.dedup();
        let is_load = access.kind == AccessKind::Load;
        let first: Vec<u64> =
            sectors.iter().copied().filter(|sector| !self.l1.contains(sector)).collect();
        let new = if access.goes_past_l1 { sectors.len() } else { first.len() };
        let from_memory = match is_load {
            true => self.sectors_of_memory(access.steps, &first, is_executed),
            false => 0,
        };
        if is_load && is_executed {
            self.l1.extend(&sectors);
        }
        let in_bytes = |sectors: usize| sectors as f64 * SECTOR as f64;
        Request {
            cycles,
            lines,
            from_l2: in_bytes(new),
            from_memory: in_bytes(from_memory),
            misses: f64::from(u8::from(new > 0)),
            memory_misses: f64::from(u8::from(from_memory > 0)),
            ..nothing
        }
    }

    /// How many sectors of a load come from memory, of those that no load of the block has got before: without those that
    /// an access of another block gets.
    fn sectors_of_memory(&mut self, steps: [i64; 3], new: &[u64], is_executed: bool) -> usize {
        if (0..3).any(|axis| self.axes[axis] && steps[axis] == 0) {
            return 0;
        }
        let [along_x, along_y, along_z] = steps.map(i64::abs);
        let mut count = 0;
        for sector in new {
            let array = (sector * SECTOR) >> ARRAY_BITS;
            let start = *self.starts.entry(array).or_insert(sector * SECTOR);
            let mut offset = (sector * SECTOR).wrapping_sub(start) as i64;
            for step in [along_z, along_y].into_iter().filter(|step| *step != 0) {
                offset -= (offset + step / 2).div_euclid(step) * step;
            }
            // The edges of the block's part of a row are others' parts.
            if along_x != 0 && offset.abs() <= MAX_EDGES * along_x {
                offset = offset.rem_euclid(along_x);
            }
            let place = (array, offset.div_euclid(SECTOR as i64));
            let is_known = self.from_memory.contains(&place);
            count += usize::from(!is_known);
            if is_executed {
                self.from_memory.insert(place);
            }
        }
        count
    }
}
