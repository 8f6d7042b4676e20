//! The JSON form of a launch.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::object::{Entries, Object, OneOf, in_words};
use super::{
    Argument, Buffer, DEFAULT_LIMIT, Expectation, Launch, Meet, Pointer, Tolerance, Type, fill,
};

impl Launch {
    /// Reads a launch file:
    ///
    /// ```json
    /// {"kernel": "add", "grid": [4, 1, 1], "block": [128, 1, 1], "dynamic_shared": 0,
    ///  "buffers": {"x":   {"type": "f32", "len": 512, "fill": "random", "seed": 1},
    ///              "y":   {"type": "f32", "data": [1.0, 2.5, "nan", "0x3f800000"]},
    ///              "out": {"type": "u64", "len": 1, "fill": 0}},
    ///  "args": [{"buffer": "x"}, {"buffer": "out", "offset": 8}, {"type": "s32", "value": 512}]}
    /// ```
    ///
    /// `"races": false` turns the search for races off, `"limit"` is a number of instructions,
    /// `"meet"` is `"assembler"`, `"never"` or a seed (see [`Meet`]), `"uninitialized": "ignore"`
    /// does not report values that nobody has determined, `"store_conflicts": "ignore"` lanes that write different values to
    /// one place by one instruction. `kernel`, `dynamic_shared` and
    /// trailing dimensions may be left out. A buffer `{"pointers": ["x", {"buffer": "y", "offset": 8}, null]}` holds the
    /// addresses of others. `"variables"` has contents of module variables in the form of buffers; the outcome then has those of
    /// all variables. `"bytes": "0a0b..."` in a buffer, or as an argument, has the bytes in hexadecimal. An argument can also be
    /// `{"struct": [...]}` of arguments laid out as C does. A `"comment"` may say anything.
    ///
    /// `"values": "symbolic"` in a buffer of floating-point numbers, or in an argument with a `type`, makes symbols of them
    /// in a run with symbols; buffers have that by default, and `"concrete"` takes `data` or `fill` there, too.
    ///
    /// # Errors
    /// The text is not of this form; the message names the place or the field that is wrong.
    pub fn from_json(text: &str) -> Result<Launch, String> {
        parse(text).map(|(launch, _)| launch)
    }

    /// The same with the expected final contents of buffers: `"expect": {"out": [700]}` has the elements of a buffer
    /// as `data` has them, `"tolerance": {"absolute": 1e-6, "relative": 1e-5}` says how exactly they have to be met.
    ///
    /// # Errors
    /// As [`Launch::from_json`]; a buffer that the launch does not have, or that has another number of elements.
    pub fn with_expectation(text: &str) -> Result<(Launch, Expectation), String> {
        parse(text)
    }
}

/// A launch file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// For people; nothing reads it.
    #[serde(default, rename = "comment")]
    _comment: IgnoredAny,
    kernel: Option<String>,
    grid: Vec<u32>,
    block: Vec<u32>,
    #[serde(default)]
    dynamic_shared: u64,
    #[serde(default)]
    buffers: Entries<Object<BufferSpec>>,
    #[serde(default)]
    args: Vec<Object<ArgumentSpec>>,
    variables: Option<Entries<Object<BufferSpec>>>,
    limit: Option<u64>,
    races: Option<bool>,
    #[serde(default)]
    meet: Meet,
    #[serde(default)]
    expect: Entries<Vec<Value>>,
    #[serde(default)]
    tolerance: Object<Tolerance>,
    #[serde(default)]
    uninitialized: Reported,
    #[serde(default)]
    store_conflicts: Reported,
    /// Accepted and not needed: such shuffles are reported wherever their values reach an effect.
    #[serde(default, rename = "strict_shuffles")]
    _strict_shuffles: bool,
}

/// The treatment of undetermined values, and of lanes that write different values to one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reported {
    /// They are reported.
    #[default]
    Report,
    /// They are not looked for.
    Ignore,
}

/// One entry of `buffers`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferSpec {
    #[serde(rename = "type")]
    ty: Option<Type>,
    /// The addresses of buffers, instead of numbers.
    pointers: Option<Vec<Option<OneOf<PlaceSpec>>>>,
    len: Option<usize>,
    fill: Option<Value>,
    #[serde(default)]
    seed: u64,
    /// Elements after which `index` begins again.
    period: Option<u64>,
    data: Option<Vec<Value>>,
    /// The bytes of all elements in hexadecimal, instead of `data`.
    bytes: Option<String>,
    values: Option<Values>,
}

/// What numbers are in a run with symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Values {
    /// They stand for all numbers.
    Symbolic,
    /// They are what the launch says.
    Concrete,
}

/// One entry of `pointers` that is not just a buffer's name: a place in a buffer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceSpec {
    buffer: String,
    #[serde(default)]
    offset: i64,
}

/// One entry of `args`: a buffer, a number, bytes, or a struct of these.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ArgumentSpec {
    buffer: Option<String>,
    #[serde(default)]
    offset: i64,
    #[serde(rename = "type")]
    ty: Option<Type>,
    value: Option<Value>,
    bytes: Option<String>,
    #[serde(rename = "struct")]
    members: Option<Vec<Object<ArgumentSpec>>>,
    values: Option<Values>,
}

/// The largest buffer that a launch file may ask for, in bytes.
const MAX_BUFFER: usize = 1 << 34;

/// Reads a launch file.
pub(super) fn parse(text: &str) -> Result<(Launch, Expectation), String> {
    let Object(file): Object<File> =
        serde_json::from_str(text).map_err(|error| in_words(&error.to_string()))?;
    let mut buffers = BTreeMap::new();
    let mut pointers = BTreeMap::new();
    let mut values = BTreeMap::new();
    for (name, Object(spec)) in file.buffers.0 {
        let buffer = buffer(&spec).map_err(|message| format!("buffer `{name}`: {message}"))?;
        if let Some(kind) = spec.values {
            let symbolic = kind == Values::Symbolic;
            if symbolic && !buffer.ty.is_float() && !matches!(buffer.ty, Type::S32 | Type::U32) {
                let ty = buffer.ty.name();
                return Err(format!("buffer `{name}`: `values`: {ty} is never symbolic"));
            }
            values.insert(name.clone(), symbolic);
        }
        if let Some(specs) = spec.pointers {
            pointers.insert(name.clone(), pointers_of(specs));
        }
        buffers.insert(name, buffer);
    }
    for (name, each) in &pointers {
        if let Some(missing) = each.iter().find(|pointer| !buffers.contains_key(&pointer.buffer)) {
            return Err(format!("buffer `{name}`: `pointers`: no buffer `{}`", missing.buffer));
        }
    }
    let mut expected = BTreeMap::new();
    for (name, data) in &file.expect.0 {
        let buffer = expectation(&buffers, name, data).map_err(|why| format!("`expect`: {why}"))?;
        expected.insert(name.clone(), buffer);
    }
    let Object(tolerance) = file.tolerance;
    let Tolerance { absolute, relative } = tolerance;
    if !(absolute >= 0.0 && relative >= 0.0) {
        return Err("`tolerance` has two numbers that are not negative".to_owned());
    }
    let expectation = Expectation { buffers: expected, tolerance };
    let mut args = Vec::new();
    let mut symbolic_args = BTreeMap::new();
    for (index, Object(spec)) in file.args.iter().enumerate() {
        if spec.values == Some(Values::Symbolic) {
            match spec.ty.filter(|ty| ty.is_float()) {
                Some(ty) => symbolic_args.insert(index, ty),
                None => {
                    return Err(format!(
                        "argument {index}: only a number of a floating-point `type` is symbolic"
                    ));
                }
            };
        }
        args.push(argument(spec).map_err(|message| format!("argument {index}: {message}"))?);
    }
    let launch = Launch {
        kernel: file.kernel,
        grid: shape("grid", &file.grid)?,
        block: shape("block", &file.block)?,
        dynamic_shared: file.dynamic_shared,
        buffers,
        pointers,
        args,
        limit: file.limit.unwrap_or(DEFAULT_LIMIT),
        races: file.races.unwrap_or(true),
        meet: file.meet,
        uninitialized: file.uninitialized == Reported::Report,
        store_conflicts: file.store_conflicts == Reported::Report,
        variables: file.variables.map(variables).transpose()?,
        values,
        symbolic_args,
    };
    launch.check()?;
    Ok((launch, expectation))
}

/// The contents of module variables.
fn variables(entries: Entries<Object<BufferSpec>>) -> Result<BTreeMap<String, Vec<u8>>, String> {
    let contents = entries.0.into_iter().map(|(name, Object(spec))| match buffer(&spec) {
        Ok(_) if spec.pointers.is_some() => {
            Err(format!("variable `{name}`: `pointers`: only in buffers"))
        }
        Ok(buffer) => Ok((name, buffer.bytes)),
        Err(message) => Err(format!("variable `{name}`: {message}")),
    });
    contents.collect()
}

/// The expected contents of a buffer.
fn expectation(
    buffers: &BTreeMap<String, Buffer>,
    name: &str,
    data: &[Value],
) -> Result<Buffer, String> {
    let buffer = buffers.get(name).ok_or_else(|| format!("the launch has no buffer `{name}`"))?;
    let (ty, count) = (buffer.ty, buffer.bytes.len() / buffer.ty.bytes());
    if data.len() != count {
        let given = data.len();
        return Err(format!("`{name}` has {count} elements, and {given} are expected"));
    }
    let elements: Result<Vec<u64>, String> = data.iter().map(|value| element(ty, value)).collect();
    Ok(Buffer { ty, bytes: fill::bytes(ty, &elements?) })
}

fn shape(name: &str, given: &[u32]) -> Result<[u32; 3], String> {
    if given.is_empty() || given.len() > 3 {
        return Err(format!("`{name}` has 1 to 3 dimensions"));
    }
    let mut shape = [1; 3];
    shape[..given.len()].copy_from_slice(given);
    Ok(shape)
}

/// The pointers of a buffer; `null` is none.
fn pointers_of(specs: Vec<Option<OneOf<PlaceSpec>>>) -> Vec<Pointer> {
    let each = specs.into_iter().enumerate().filter_map(|(index, spec)| {
        let (buffer, offset) = match spec? {
            OneOf::Name(buffer) => (buffer, 0),
            OneOf::Object(PlaceSpec { buffer, offset }) => (buffer, offset),
        };
        Some(Pointer { at: 8 * index, buffer, offset })
    });
    each.collect()
}

fn buffer(spec: &BufferSpec) -> Result<Buffer, String> {
    if let Some(pointers) = &spec.pointers {
        let ty = spec.ty.unwrap_or(Type::B64);
        let other = spec.data.is_some() || spec.bytes.is_some() || spec.fill.is_some();
        if ty.bytes() != 8 || other || spec.len.is_some_and(|len| len != pointers.len()) {
            let why =
                "`pointers` are 64 bits wide, as many as `len` says, without `data` and `fill`";
            return Err(why.to_owned());
        }
        return Ok(Buffer { ty, bytes: vec![0; 8 * pointers.len()] });
    }
    let ty = spec.ty.ok_or("`type` is missing")?;
    if let Some(digits) = &spec.bytes {
        return of_bytes(ty, digits, spec);
    }
    let elements = match (&spec.data, spec.len) {
        (Some(data), len) => {
            if len.is_some_and(|len| len != data.len()) {
                let (len, count) = (len.unwrap_or_default(), data.len());
                return Err(format!("`len` is {len}, and `data` has {count} elements"));
            }
            data.iter().map(|value| element(ty, value)).collect::<Result<Vec<u64>, String>>()?
        }
        (None, None) => return Err("neither `data` nor `len`".to_owned()),
        (None, Some(len)) => {
            if len.saturating_mul(ty.bytes()) > MAX_BUFFER {
                return Err(format!("more than {MAX_BUFFER} bytes"));
            }
            let zeros = || Ok(Buffer { ty, bytes: vec![0; len * ty.bytes()] });
            match &spec.fill {
                None => return zeros(),
                Some(Value::String(kind)) if kind == "random" => fill::random(ty, len, spec.seed),
                Some(Value::String(kind)) if kind == "index" => {
                    fill::index(ty, len, spec.period.unwrap_or(u64::MAX).max(1))
                }
                Some(value) => match element(ty, value)? {
                    0 => return zeros(),
                    element => vec![element; len],
                },
            }
        }
    };
    Ok(Buffer { ty, bytes: fill::bytes(ty, &elements) })
}

/// A buffer whose bytes are given.
fn of_bytes(ty: Type, digits: &str, spec: &BufferSpec) -> Result<Buffer, String> {
    let bytes = hex(digits)?;
    let (count, rest) = (bytes.len() / ty.bytes(), bytes.len() % ty.bytes());
    if rest != 0 || spec.len.is_some_and(|len| len != count) {
        let wanted = spec.len.map_or_else(String::new, |len| format!("{len} "));
        return Err(format!(
            "`bytes` has {} bytes, not {wanted}elements of {}",
            bytes.len(),
            ty.name()
        ));
    }
    if spec.data.is_some() || spec.fill.is_some() {
        return Err("`data` or `fill` beside `bytes`: keep one".to_owned());
    }
    Ok(Buffer { ty, bytes })
}

/// The bits of one element.
fn element(ty: Type, value: &Value) -> Result<u64, String> {
    let bits = 8 * ty.bytes() as u32;
    let mask = u64::MAX >> (64 - bits);
    if let Value::String(text) = value {
        if let Some(digits) = text.strip_prefix("0x") {
            let pattern = u64::from_str_radix(digits, 16).ok().filter(|&p| p & !mask == 0);
            return pattern.ok_or_else(|| format!("`{text}` is not a pattern of {bits} bits"));
        }
        let special = match text.as_str() {
            "nan" => f64::NAN,
            "inf" => f64::INFINITY,
            "-inf" => f64::NEG_INFINITY,
            _ => return Err(format!("`{text}` is not a number")),
        };
        if !ty.is_float() {
            return Err(format!("`{text}` is no {}", ty.name()));
        }
        return Ok(ty.round(special));
    }
    if ty.is_float() {
        let double = value.as_f64().ok_or_else(|| format!("`{value}` is not a number"))?;
        return Ok(ty.round(double));
    }
    let wide = match (value.as_i64(), value.as_u64()) {
        (_, Some(unsigned)) => i128::from(unsigned),
        (Some(signed), None) => i128::from(signed),
        _ => return Err(format!("`{value}` is not an integer")),
    };
    let (low, high) = match (ty.is_signed(), ty.name().starts_with('b')) {
        (true, _) => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        (_, true) => (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1),
        _ => (0, (1_i128 << bits) - 1),
    };
    if (low..=high).contains(&wide) {
        Ok(wide as u64 & mask)
    } else {
        Err(format!("{value} does not fit into {}", ty.name()))
    }
}

fn argument(spec: &ArgumentSpec) -> Result<Argument, String> {
    match (&spec.buffer, spec.ty, &spec.value, &spec.bytes, &spec.members) {
        (Some(buffer), None, None, None, None) => {
            Ok(Argument::Pointer { buffer: buffer.clone(), offset: spec.offset })
        }
        (None, Some(ty), Some(value), None, None) => {
            Ok(Argument::Value(fill::bytes(ty, &[element(ty, value)?])))
        }
        (None, Some(ty), None, None, None) if spec.values == Some(Values::Symbolic) => {
            Ok(Argument::Value(vec![0; ty.bytes()]))
        }
        (None, None, None, Some(digits), None) => hex(digits).map(Argument::Value),
        (None, None, None, None, Some(members)) => members_of(members),
        _ => Err("one of `buffer`, `type` with `value`, `bytes` or `struct` is needed".to_owned()),
    }
}

fn hex(digits: &str) -> Result<Vec<u8>, String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    };
    let pairs = digits.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(byte).collect();
    bytes.ok_or_else(|| {
        let start: String = digits.chars().take(16).collect();
        let more = if start.len() < digits.len() { "..." } else { "" };
        format!("`{start}{more}` is not a list of bytes in hexadecimal")
    })
}

/// Members one after the other, each at a multiple of its size, and the whole padded to a multiple of
/// the largest.
fn members_of(members: &[Object<ArgumentSpec>]) -> Result<Argument, String> {
    let (mut bytes, mut pointers): (Vec<u8>, Vec<Pointer>) = (Vec::new(), Vec::new());
    let mut widest = 1;
    for Object(member) in members {
        let (value, align) = match argument(member)? {
            Argument::Value(value) => (value, member.ty.map_or(1, Type::bytes)),
            Argument::Pointer { buffer, offset } => {
                let at = bytes.len().next_multiple_of(8);
                pointers.push(Pointer { at, buffer, offset });
                (vec![0; 8], 8)
            }
            Argument::Struct { .. } => {
                return Err(
                    "a `buffer` inside a `struct` inside a `struct` is not possible".to_owned()
                );
            }
        };
        widest = widest.max(align);
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        bytes.extend(value);
    }
    bytes.resize(bytes.len().next_multiple_of(widest), 0);
    Ok(if pointers.is_empty() {
        Argument::Value(bytes)
    } else {
        Argument::Struct { bytes, pointers }
    })
}
