//! The module as a whole: function numbers, and addresses and initial values of its variables.

use rustc_hash::FxHashMap;

use super::scope::{Family, Found, Home, Scopes, Symbol, Variable as Place};
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::{Named, StateSpaceLayout, StaticRegion};
use crate::interp::program::FunctionId;
use crate::ptx::{Declarator, Function, Initializer, Item, Module, ScalarType, StateSpace};
use crate::ptx::{Immediate, Value, Variable};

/// What decoding a function needs to know of its module.
pub(crate) struct Unit<'m, 's> {
    /// Where module variables lie; shared memory grows as functions with variables are decoded.
    pub layout: StateSpaceLayout,
    /// Functions that were named so far, by number.
    pub functions: Vec<&'m Function<'s>>,
    by_name: FxHashMap<&'s str, &'m Function<'s>>,
    ids: FxHashMap<&'s str, FunctionId>,
    variables: FxHashMap<&'s str, Place>,
    /// `.global .u32 x<4>`: the rows of variables, as a scope.
    families: Scopes<'s>,
    /// The function's own name for each name that `.alias` declares.
    aliases: FxHashMap<&'s str, &'s str>,
}

/// The largest module variable, in bytes.
const MAX_VARIABLE: u64 = 1 << 32;

/// Bytes of a declared variable; an unsized array takes its size from its initial value.
pub(super) fn size_of(variable: &Variable<'_>, declarator: &Declarator<'_>) -> u64 {
    let element = element_size(variable);
    let listed = match &declarator.initializer {
        Some(Initializer::List(items)) => items.len() as u64,
        _ => 0,
    };
    declarator
        .dimensions
        .iter()
        .fold(element, |size, dimension| size.saturating_mul(dimension.unwrap_or(listed)))
}

/// Alignment in bytes.
pub(super) fn align_of(variable: &Variable<'_>) -> u64 {
    variable.align.unwrap_or_else(|| element_size(variable)).max(1)
}

/// Bytes of an element.
pub(super) fn element_size(variable: &Variable<'_>) -> u64 {
    let scalar = variable.ty.map_or(8, |ty| u64::from(ty.bits().div_ceil(8)));
    scalar * u64::from(variable.vector.max(1))
}

/// The smallest multiple of `align` that is at least `offset`.
pub(super) fn align_up(offset: u64, align: u64) -> u64 {
    offset.div_ceil(align.max(1)).saturating_mul(align.max(1))
}

/// The low `bits` of a constant as the type wants them.
pub(super) fn constant_bits(value: Value, ty: ScalarType) -> u64 {
    match (value, ty) {
        (Value::Signed(v), _) => v as u64,
        (Value::Unsigned(v), _) => v,
        // ptxas takes the bits of a single-precision literal as they are, also where it wants 64.
        (Value::F32(bits), _) => u64::from(bits),
        (Value::F64(bits), ScalarType::F64) => bits,
        (Value::F64(bits), ty) if ty.bits() == 32 => {
            u64::from((f64::from_bits(bits) as f32).to_bits())
        }
        (Value::F64(bits), _) => bits,
    }
}

impl<'m, 's> Unit<'m, 's> {
    /// Lays out a module's variables and gives them their initial values. The kernel becomes
    /// function 0.
    ///
    /// # Errors
    /// An initial value that is not modelled.
    pub(crate) fn new(
        module: &'m Module<'s>,
        kernel: &str,
        dynamic_shared: u64,
    ) -> Result<Unit<'m, 's>, Fault> {
        let mut unit = Unit {
            layout: StateSpaceLayout::new(module.address_size.unwrap_or(32), dynamic_shared),
            functions: Vec::new(),
            by_name: FxHashMap::default(),
            ids: FxHashMap::default(),
            variables: FxHashMap::default(),
            families: Scopes::default(),
            aliases: module.aliases.iter().map(|[new, old]| (new.text, old.text)).collect(),
        };
        unit.families.push();
        for function in module.functions() {
            let defined = function.statements().is_some();
            let known = unit.by_name.contains_key(function.name.text);
            if defined || !known {
                unit.by_name.insert(function.name.text, function);
            }
        }
        let variables = || {
            module.items.iter().filter_map(|item| match item {
                Item::Variable(variable) => Some(variable),
                _ => None,
            })
        };
        for variable in variables() {
            unit.declare(variable)?;
        }
        unit.resolve(kernel);
        for variable in variables() {
            for declarator in &variable.names {
                if let Some(&place) = unit.variables.get(declarator.name.text) {
                    unit.initialize(variable, declarator, place, &|_| None)?;
                }
            }
        }
        Ok(unit)
    }

    fn declare(&mut self, variable: &Variable<'s>) -> Result<(), Fault> {
        for declarator in &variable.names {
            let one = size_of(variable, declarator);
            let stride = align_up(one, align_of(variable));
            let size = declarator.count.map_or(one, |count| stride.saturating_mul(count.into()));
            let name = declarator.name.text;
            let place = match variable.space {
                StateSpace::Shared => self.shared(variable, declarator, size),
                space @ (StateSpace::Global | StateSpace::Const) => {
                    if variable.linkage.contains(&".extern") && self.variables.contains_key(name) {
                        continue;
                    }
                    self.new_static(variable, name, space, size)?
                }
                _ => continue,
            };
            if let Some(count) = declarator.count {
                let family = Family::Variables(Place { size: one, ..place }, stride);
                self.families.declare_family(name, count, family);
                continue;
            }
            self.variables.insert(name, place);
        }
        Ok(())
    }

    /// Gives a variable of `size` bytes in global or constant memory a region of its own.
    ///
    /// # Errors
    /// The variable is too large.
    pub(crate) fn new_static(
        &mut self,
        variable: &Variable<'s>,
        name: &str,
        space: StateSpace,
        size: u64,
    ) -> Result<Place, Fault> {
        if size > MAX_VARIABLE {
            let message = format!("`{name}` is larger than {MAX_VARIABLE} bytes");
            return Err(Fault::new(FaultKind::Unsupported, message).at(variable.span));
        }
        let base = self.layout.region_base(self.layout.statics.len());
        let bytes = vec![0; size as usize];
        self.layout.statics.push(StaticRegion { name: name.to_owned(), space, bytes });
        let home = Home::Absolute(base);
        Ok(Place { space, home, size, element: element_size(variable) })
    }

    /// Gives a shared variable its place; one without a size is the dynamic part, which begins at 0.
    pub(crate) fn shared(
        &mut self,
        variable: &Variable<'s>,
        declarator: &Declarator<'s>,
        size: u64,
    ) -> Place {
        let (space, element) = (StateSpace::Shared, element_size(variable));
        let (name, span) = (declarator.name.text.to_owned(), declarator.name.span);
        if size == 0 {
            let size = self.layout.dynamic_shared;
            self.layout.shared_names.push(Named { name, offset: 0, size, span });
            return Place { space, home: Home::Absolute(0), size, element };
        }
        let offset = align_up(self.layout.shared_bytes, align_of(variable));
        self.layout.shared_bytes = offset.saturating_add(size);
        self.layout.shared_names.push(Named { name, offset, size, span });
        Place { space, home: Home::Absolute(offset), size, element }
    }

    /// Writes the initial value of a variable in global or constant memory; `inner` are the scopes
    /// whose names hide those of the module.
    ///
    /// # Errors
    /// A value that is not modelled.
    pub(crate) fn initialize(
        &mut self,
        variable: &Variable<'s>,
        declarator: &Declarator<'s>,
        place: Place,
        inner: &dyn Fn(&str) -> Option<Symbol>,
    ) -> Result<(), Fault> {
        let (Some(initializer), Home::Absolute(base)) = (&declarator.initializer, place.home)
        else {
            return Ok(());
        };
        let index = match place.space {
            StateSpace::Shared => None,
            _ => self.layout.region_index(base),
        };
        let Some(index) = index else { return Ok(()) };
        let mut bytes = vec![0; place.size as usize];
        let scalar = variable.ty.map_or(8, |ty| ty.bits().div_ceil(8) as usize);
        let target = (&mut bytes[..], scalar);
        self.fill(initializer, variable, target, &declarator.dimensions, inner)?;
        self.layout.statics[index].bytes = bytes;
        Ok(())
    }

    /// Writes an initial value, made of scalars of `scalar` bytes, over `bytes`; bytes that a list
    /// leaves out stay zero.
    fn fill(
        &mut self,
        initializer: &Initializer<'s>,
        variable: &Variable<'s>,
        (bytes, scalar): (&mut [u8], usize),
        dimensions: &[Option<u64>],
        inner: &dyn Fn(&str) -> Option<Symbol>,
    ) -> Result<(), Fault> {
        let ty = variable.ty.unwrap_or(ScalarType::B64);
        let bits = match initializer {
            Initializer::List(items) => {
                let below = dimensions.get(1..).unwrap_or(&[]);
                let nested = items.iter().any(|item| matches!(item, Initializer::List(_)));
                let row = below.iter().fold(element_size(variable) as usize, |size, d| {
                    size.saturating_mul(d.unwrap_or(1) as usize)
                });
                let step = if nested { row } else { scalar };
                for (item, part) in items.iter().zip(bytes.chunks_mut(step.max(1))) {
                    self.fill(item, variable, (part, scalar), below, inner)?;
                }
                return Ok(());
            }
            // Textures, samplers and surfaces: nothing here reads them.
            Initializer::Property { .. } => return Ok(()),
            Initializer::Value(Immediate { value, .. }) => constant_bits(*value, ty),
            Initializer::Symbol { name, offset, generic, mask } => {
                let unknown = || {
                    let message = format!("`{}` is not a variable or function", name.text);
                    Fault::new(FaultKind::Unsupported, message).at(name.span)
                };
                let symbol = inner(name.text).or_else(|| self.resolve(name.text));
                let address = match symbol.ok_or_else(unknown)? {
                    Symbol::Variable(Place { space, home: Home::Absolute(base), .. }) => {
                        let window = if *generic { self.layout.window_base(space) } else { 0 };
                        window + base
                    }
                    Symbol::Function(id) => self.layout.function_handle(id),
                    _ => return Err(unknown()),
                };
                let address = address.wrapping_add(*offset as u64);
                match mask {
                    Some(mask) => (address & mask) >> mask.trailing_zeros().min(63),
                    None => address,
                }
            }
        };
        let width = bytes.len().min(scalar).min(8);
        bytes[..width].copy_from_slice(&bits.to_le_bytes()[..width]);
        Ok(())
    }

    /// The meaning of a name at module level. A function that is named gets a number and will be
    /// decoded.
    pub(crate) fn resolve(&mut self, name: &str) -> Option<Symbol> {
        if let Some(&place) = self.variables.get(name) {
            return Some(Symbol::Variable(place));
        }
        // The assembler accepts neither an alias of an alias nor an alias of a function without a
        // body.
        let defined =
            |own: &&&str| self.by_name.get(**own).is_some_and(|f| f.statements().is_some());
        let name = self.aliases.get(name).filter(defined).copied().unwrap_or(name);
        if let Some(&id) = self.ids.get(name) {
            return Some(Symbol::Function(id));
        }
        let Some(&function) = self.by_name.get(name) else {
            return match self.families.find(name)? {
                Found::Symbol(symbol) => Some(symbol),
                Found::Member(..) => None,
            };
        };
        let id = FunctionId::from(self.functions.len());
        self.functions.push(function);
        self.ids.insert(function.name.text, id);
        Some(Symbol::Function(id))
    }
}
