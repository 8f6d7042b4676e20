//! The arrays that a function declares, with their accesses, or why their bytes stay where they are.

use super::array::SharedArray;
use super::growth::{self, Growth, Surroundings};
use super::{offsets, uses};
use crate::cfg::Flow;
use crate::emulate::KernelTrace;
use crate::ptx::{Declarator, Function, StateSpace, Statement, Variable};
use crate::reuse::refusal::Refusal;
use crate::reuse::restriction::{MOST_STATIC, Restriction};
use crate::reuse::sharing::Sharing;
use crate::source::{SourceFile, Span};

/// The most accesses to one array.
const MOST_ACCESSES: usize = 1024;

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
    let of_body = |arrays: &[SharedArray]| -> u64 {
        let own = arrays.iter().filter(|array| !array.is_of_module);
        own.map(|array| array.bytes + array.align.max(1) - 1).sum()
    };
    let mut of_module: Vec<SharedArray> = Vec::new();
    for variable in around.named(function.name.text) {
        match own_of_module((source, around), function, variable) {
            Ok(array) => arrays.push(array),
            Err(refusal) => of_module.extend(kept(source, variable, &refusal)),
        }
    }
    let is_named = of_module.iter().all(|array| !is_hidden(statements, &array.name));
    if arrays.is_empty() && is_named && around.is_all_dynamic(function.name.text) {
        // No other name is one of shared memory, so this is the only array.
        of_module.iter_mut().for_each(|array| array.refusal = None);
        arrays = std::mem::take(&mut of_module);
    }
    // The new code names the array where it is accessed.
    arrays.retain(|array| !is_hidden(statements, &array.name));
    if arrays.is_empty() {
        return of_module;
    }
    let callee = around.addressed_in_callee(function.name.text);
    let uses = uses::uses(source, flow, &arrays, callee);
    // The variables of the module that a kernel names are counted there.
    let Growth { left, restriction } = around.growth(function.name.text, of_body(&arrays));
    // An array that grows moves those behind it, whose addresses go somewhere.
    let told = uses.told.map(|(opcode, line)| Restriction::Address(opcode, line));
    let own = arrays.iter().filter(|array| !array.is_of_module).count();
    let others = shared_variables(statements) != own || !of_module.is_empty();
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
                .map(|&inst| {
                    offsets::access((source, around.block), function, flow, trace, array, inst)
                })
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

/// An array that the module declares for this kernel alone.
///
/// # Errors
/// Why its bytes stay where they are.
fn own_of_module(
    (source, around): (&SourceFile, &Surroundings<'_, '_>),
    function: &Function<'_>,
    variable: &Variable<'_>,
) -> Result<SharedArray, Refusal> {
    if variable.linkage.contains(&".extern") {
        return Err(Refusal::ArrayDynamic);
    }
    if let Some(sharing) = around.sharing(variable, function.name.text) {
        return Err(Refusal::ArrayOfModule(sharing));
    }
    let array = declaration(source, variable).ok_or(Refusal::ArrayOfModule(Sharing::Form))?;
    // The new code names the array; a name of the body would hide it.
    let body = declaring(function.statements().unwrap_or_default(), &array.name);
    let mut head = function.params.iter().chain(&function.returns);
    match body.or_else(|| head.find(|one| declares(one, &array.name)).map(|one| one.span)) {
        Some(span) => Err(Refusal::ArrayOfModule(Sharing::Declared(source.line(span.start)))),
        None => Ok(SharedArray { is_of_module: true, ..array }),
    }
}

/// Shared variables at module level that stay as they are.
fn kept(source: &SourceFile, variable: &Variable<'_>, refusal: &Refusal) -> Vec<SharedArray> {
    let (name, element) = variable.ty.map_or(("b8", 1), |ty| (ty.name(), u64::from(ty.bits()) / 8));
    let element = element.max(1) * u64::from(variable.vector.max(1));
    let of = |bytes: u64, dimension: &Option<u64>| bytes.saturating_mul(dimension.unwrap_or(0));
    let declared = variable.names.iter().map(|declared| {
        let bytes = declared.dimensions.iter().fold(element, of);
        SharedArray {
            is_dynamic: variable.linkage.contains(&".extern"),
            is_of_module: true,
            restriction: Restriction::Variables,
            refusal: Some(refusal.clone()),
            ..array(source, (variable, declared), (name, element), bytes)
        }
    });
    declared.collect()
}

/// An array of a function, by its declaration alone.
fn array(
    source: &SourceFile,
    (variable, declared): (&Variable<'_>, &Declarator<'_>),
    element: (&'static str, u64),
    bytes: u64,
) -> SharedArray {
    SharedArray {
        name: declared.name.text.to_owned(),
        declaration: variable.span.range(),
        line: source.line(variable.span.start),
        element,
        bytes,
        is_dynamic: false,
        is_of_module: false,
        align: variable.align.unwrap_or(element.1),
        room: 0,
        unrestricted_room: 0,
        restriction: Restriction::Static,
        accesses: Vec::new(),
        refusal: None,
    }
}

/// Whether a variable has this name.
fn declares(variable: &Variable<'_>, name: &str) -> bool {
    variable.names.iter().any(|one| one.name.text == name)
}

/// The first declaration of a name, inner scopes included.
fn declaring(statements: &[Statement<'_>], name: &str) -> Option<Span> {
    statements.iter().find_map(|statement| match statement {
        Statement::Block { statements, .. } => declaring(statements, name),
        Statement::Variable(one) => declares(one, name).then_some(one.span),
        _ => None,
    })
}

/// Whether an inner scope declares something of that name.
fn is_hidden(statements: &[Statement<'_>], name: &str) -> bool {
    let inner = statements.iter().filter_map(|statement| match statement {
        Statement::Block { statements, .. } => Some(statements),
        _ => None,
    });
    inner.into_iter().any(|statements| declaring(statements, name).is_some())
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
    plain.then(|| array(source, (variable, declared), (ty.name(), element), bytes))
}
