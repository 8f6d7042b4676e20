//! Arrays in shared memory whose accesses are all known, and other places for their bytes.
//!
//! In: the control flow and memory trace of one function. Out: each array that the function declares, with
//! the addresses of its accesses in the lanes of some warps, or the [`Refusal`] that forbids to move its bytes.
//! `uses` finds the accesses and whether the array's address goes anywhere else, `lanes` the addresses, `growth` by how
//! much arrays may grow;
//! a [`Placement`] is a function of addresses, with the proof that an array may be laid out so; `address` says how
//! each access gets its new address. Nothing is chosen here.

mod address;
mod growth;
mod lanes;
mod placement;
mod uses;

use growth::Growth;

use super::refusal::Refusal;
use super::restriction::{MOST_STATIC, Restriction};
use crate::cfg::{Flow, RegisterId};
use crate::emulate::KernelTrace;
use crate::ptx::{Function, StateSpace, Statement, Variable};
use crate::source::SourceFile;

pub use address::{Made, added, made};
pub use growth::Surroundings;
pub use lanes::SAMPLES;
pub use placement::{Placement, placements};

/// The most accesses to one array.
const MOST_ACCESSES: usize = 256;

/// An access to an array, in the lanes of some warps.
#[derive(Clone, Debug)]
pub struct ArrayAccess {
    /// Index of the instruction.
    pub inst: u32,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// How many loops are around it.
    pub depth: usize,
    /// The register that the address is in, if it is in one, and the bytes added.
    pub base: (Option<RegisterId>, i64),
    /// The width of the address in bits.
    pub width: u8,
    /// The bits that may be set in the bytes from the array's start to where the register points, if those are
    /// known to be less than the array's size.
    pub bits: Option<u64>,
    /// Bytes from the array's start in each lane, for each warp that is looked at.
    pub offsets: Vec<Vec<u64>>,
    /// The same in blocks of each of the usual shapes, where the text names none.
    pub by_shape: Vec<Vec<Vec<u64>>>,
    /// The lanes that there are.
    pub lanes: u32,
}

/// An array in shared memory.
#[derive(Clone, Debug)]
pub struct SharedArray {
    /// Its name.
    pub name: String,
    /// The bytes of its declaration in the text.
    pub declaration: std::ops::Range<usize>,
    /// 1-based line of the declaration.
    pub line: u32,
    /// The element's type as written, and its bytes.
    pub element: (&'static str, u64),
    /// Its bytes.
    pub bytes: u64,
    /// What its address is a multiple of.
    pub align: u64,
    /// The bytes by which it may grow.
    pub room: u64,
    /// The bytes by which it might grow without `restriction`.
    pub unrestricted_room: u64,
    /// Why it may not grow, or by no more than `room`.
    pub restriction: Restriction,
    /// Its accesses in the order of the text.
    pub accesses: Vec<ArrayAccess>,
    /// Why its bytes stay where they are, if that is certain.
    pub refusal: Option<Refusal>,
}

/// The arrays that a function declares, in order, and those at module level that it names.
pub fn arrays(
    (source, around): (&SourceFile, &Surroundings<'_, '_>),
    function: &Function<'_>,
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
) -> Vec<SharedArray> {
    let statements = function.statements().unwrap_or_default();
    let declared = statements.iter().filter_map(growth::own_array);
    let mut arrays: Vec<SharedArray> =
        declared.filter_map(|variable| declaration(source, variable)).collect();
    // The new code names the array where it is accessed.
    arrays.retain(|array| !is_hidden(statements, &array.name));
    let of_module =
        around.named(function.name.text).into_iter().flat_map(|one| of_module(source, one));
    if arrays.is_empty() {
        return of_module.collect();
    }
    let uses = uses::uses(source, flow, &arrays);
    let whole = |array: &SharedArray| array.bytes + array.align.max(1) - 1;
    let Growth { left, restriction } =
        around.growth(function.name.text, arrays.iter().map(whole).sum());
    // An array that grows moves those behind it, whose addresses go somewhere.
    let told = uses.told.map(|(opcode, line)| Restriction::Address(opcode, line));
    let others = shared_variables(statements) != arrays.len();
    let restriction = restriction.or(told).or(others.then_some(Restriction::Variables));
    let room = if restriction.is_some() { 0 } else { left };
    let restriction = restriction.unwrap_or(Restriction::Static);
    let unrestricted_room = if restriction == Restriction::Static { MOST_STATIC } else { left };
    for (array, uses) in arrays.iter_mut().zip(uses.found) {
        array.room = room;
        array.unrestricted_room = unrestricted_room;
        array.restriction = restriction.clone();
        let found = uses.and_then(|uses| match uses.len() > MOST_ACCESSES {
            true => Err(Refusal::Budget),
            false => uses
                .iter()
                .map(|&inst| lanes::access(source, function, flow, trace, array, inst))
                .collect(),
        });
        match found {
            Ok(accesses) => array.accesses = accesses,
            Err(refusal) => array.refusal = Some(refusal),
        }
    }
    arrays.extend(of_module);
    arrays
}

/// Shared variables at module level: each stays as it is, since code outside of the function may access it.
fn of_module(source: &SourceFile, variable: &Variable<'_>) -> Vec<SharedArray> {
    let external = variable.linkage.contains(&".extern");
    let refusal = if external { Refusal::ArrayDynamic } else { Refusal::ArrayOfModule };
    let (name, element) = variable.ty.map_or(("b8", 1), |ty| (ty.name(), u64::from(ty.bits()) / 8));
    let element = element.max(1) * u64::from(variable.vector.max(1));
    let of = |bytes: u64, dimension: &Option<u64>| bytes.saturating_mul(dimension.unwrap_or(0));
    let declared = variable.names.iter().map(|declared| SharedArray {
        name: declared.name.text.to_owned(),
        declaration: variable.span.range(),
        line: source.line(variable.span.start),
        element: (name, element),
        bytes: declared.dimensions.iter().fold(element, of),
        align: variable.align.unwrap_or(element),
        room: 0,
        unrestricted_room: 0,
        restriction: Restriction::Variables,
        accesses: Vec::new(),
        refusal: Some(refusal.clone()),
    });
    declared.collect()
}

/// Whether an inner scope declares something of that name.
fn is_hidden(statements: &[Statement<'_>], name: &str) -> bool {
    let declares = |variable: &Variable<'_>| variable.names.iter().any(|one| one.name.text == name);
    let inner = statements.iter().filter_map(|statement| match statement {
        Statement::Block { statements, .. } => Some(statements),
        _ => None,
    });
    inner.into_iter().any(|statements| {
        let own = |one: &Statement<'_>| matches!(one, Statement::Variable(one) if declares(one));
        statements.iter().any(own) || is_hidden(statements, name)
    })
}

/// How many shared variables are declared, those of inner scopes included.
fn shared_variables(statements: &[Statement<'_>]) -> usize {
    let count = |one: &Statement<'_>| match one {
        Statement::Block { statements, .. } => shared_variables(statements),
        Statement::Variable(variable) if variable.space == StateSpace::Shared => {
            variable.names.len()
        }
        _ => 0,
    };
    statements.iter().map(count).sum()
}

/// The one array that a declaration declares.
fn declaration(source: &SourceFile, variable: &Variable<'_>) -> Option<SharedArray> {
    let [declared] = &variable.names[..] else { return None };
    let ty = variable.ty?;
    let element = u64::from(ty.bits()) / 8;
    let plain = variable.vector == 1
        && variable.linkage.is_empty()
        && declared.count.is_none()
        && !declared.dimensions.is_empty()
        && element > 0;
    let of = |bytes: u64, dimension: &Option<u64>| bytes.checked_mul((*dimension)?);
    let bytes = declared.dimensions.iter().try_fold(element, of)?;
    plain.then(|| SharedArray {
        name: declared.name.text.to_owned(),
        declaration: variable.span.range(),
        line: source.line(variable.span.start),
        element: (ty.name(), element),
        bytes,
        align: variable.align.unwrap_or(element),
        room: 0,
        unrestricted_room: 0,
        restriction: Restriction::Static,
        accesses: Vec::new(),
        refusal: None,
    })
}
