//! Which instructions an assembler takes: for each form its modifiers, types and operands, by table.
//!
//! In: an instruction with its operands' types. Out: whether a row of the table takes it. Every row was
//! tried with ptxas (`tests/verify/malformed.rs` tries mutants of accepted texts again). A form without a
//! row is unknown; the table then decides nothing about it.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use typed_index_collections::TiSlice;

use crate::cfg::{Arg, Register, RegisterId};
use crate::isa::{ScalarType, Words};
use crate::ptx::Value;

/// Rows `opcodes | modifiers | types | operands`.
///
/// - Modifiers may come in any order, but for those with `^`, which follow the opcode directly. `a/b` requires one
///   of the two, `a/b?` allows one of them.
/// - Types come in the order of the text: one set for each.
/// - Operands: `1` and `2` have the first and second type, `w` has the first type in double width, a
///   name is a type. `>` marks a destination, `+` allows wider registers, `?` allows leaving out, `p` is a
///   predicate (negated or constant, too), `|p` a second destination, `#` the number of a barrier, `8` a register
///   of 32 bits or a constant of 8, `n` an integer constant, `s` a
///   variable's address beside a register, `m` an address in brackets, `l` a label, `c` a special register
///   beside a register.
const TABLE: &str = "
add sub | sat? | s32 | >1 1 1
add sub | | u16,u32,u64,s16,s64 | >1 1 1
add sub | cc | u32,s32,u64,s64 | >1 1 1
addc subc | cc? | u32,s32,u64,s64 | >1 1 1
mul | ^lo/hi | u16,u32,u64,s16,s32,s64 | >1 1 1
mul | ^wide | u16,u32,s16,s32 | >w 1 1
mad | ^lo/hi | u16,u32,u64,s16,s32,s64 | >1 1 1 1
mad | ^hi sat | s32 | >1 1 1 1
mad | ^wide | u16,u32,s16,s32 | >w 1 1 w
mad | ^lo/hi cc | u32,s32,u64,s64 | >1 1 1 1
madc | ^lo/hi cc? | u32,s32,u64,s64 | >1 1 1 1
mul24 | ^lo/hi | u32,s32 | >1 1 1
mad24 | ^lo/hi | u32,s32 | >1 1 1 1
sad | | u16,u32,u64,s16,s32,s64 | >1 1 1 1
div rem min max | | u16,u32,u64,s16,s32,s64 | >1 1 1
abs neg | | s16,s32,s64 | >1 1
popc clz | | b32,b64 | >u32 1
bfind | shiftamt? | u32,s32,u64,s64 | >u32 1
brev cnot | | b32,b64 | >1 1
bfe | | u32,s32,u64,s64 | >1 1 8 8
bfi | | b32,b64 | >1 1 1 8 8
prmt | f4e/b4e/rc8/ecl/ecr/rc16? | b32 | >1 1 1 1
and or xor | | b16,b32,b64 | >1 1 1
and or xor | | pred | >1 p p
not | | b16,b32,b64 | >1 1
not | | pred | >1 p
lop3 | | b32 | >1 1 1 1 n
shl | | b16,b32,b64 | >1 1 u32
shr | | b16,b32,b64,u16,u32,u64,s16,s32,s64 | >1 1 u32
shf | l/r wrap/clamp | b32 | >1 1 1 u32
setp | eq/ne | b16,b32,b64 | >p|p 1 1
setp | eq/ne and/or/xor | b16,b32,b64 | >p|p 1 1 p
setp | eq/ne/lt/le/gt/ge | s16,s32,s64 | >p|p 1 1
setp | eq/ne/lt/le/gt/ge and/or/xor | s16,s32,s64 | >p|p 1 1 p
setp | eq/ne/lt/le/gt/ge/lo/ls/hi/hs | u16,u32,u64 | >p|p 1 1
setp | eq/ne/lt/le/gt/ge/lo/ls/hi/hs and/or/xor | u16,u32,u64 | >p|p 1 1 p
setp | eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan ftz? | f32 | >p|p 1 1
setp | eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan and/or/xor ftz? | f32 | >p|p 1 1 p
setp | eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan | f64 | >p|p 1 1
setp | eq/ne/lt/le/gt/ge/equ/neu/ltu/leu/gtu/geu/num/nan and/or/xor | f64 | >p|p 1 1 p
selp | | b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64 | >1 1 1 p
slct | | b32,b64,u32,u64,s32,s64,f32,f64 s32 | >1 1 1 s32
add sub | rn/rz/rm/rp? ftz? sat? | f32 | >1 1 1
mul | rn/rz/rm/rp? ftz? sat? | f32 | >1 1 1
add sub mul | rn/rz/rm/rp? | f64 | >1 1 1
mad fma | rn/rz/rm/rp ftz? sat? | f32 | >1 1 1 1
mad fma | rn/rz/rm/rp | f64 | >1 1 1 1
fma | rn ftz? | f16,f16x2 | >1 1 1 1
add sub mul | rn? ftz? | f16,f16x2 | >1 1 1
div | ^full ftz? | f32 | >1 1 1
div | rn/rz/rm/rp/approx ftz? | f32 | >1 1 1
div | rn/rz/rm/rp | f64 | >1 1 1
rcp sqrt | rn/rz/rm/rp/approx ftz? | f32 | >1 1
rcp sqrt | rn/rz/rm/rp | f64 | >1 1
rsqrt sin cos ex2 lg2 | approx ftz? | f32 | >1 1
rsqrt | approx | f64 | >1 1
abs neg | ftz? | f32 | >1 1
abs neg | | f64 | >1 1
min max | ftz? | f32 | >1 1 1
min max | | f64 | >1 1 1
copysign | | f32,f64 | >1 1 1
testp | finite/infinite/number/notanumber/normal/subnormal | f32,f64 | >pred 1
cvt | | u8,u16,u32,u64,s8,s16,s32,s64 u8,u16,u32,u64,s8,s16,s32,s64 | >1+ 2+
cvt | sat | u8,u16,u32 s8,s16,s32,s64 | >1+ 2+
cvt | sat | u8,s8 u16,u32,u64,s16,s32,s64 | >1+ 2+
cvt | sat | u16,s16 u32,u64,s32,s64 | >1+ 2+
cvt | sat | u32,s32 u64,s64 | >1+ 2+
cvt | rn/rz/rm/rp | f32,f64 u8,u16,u32,u64,s8,s16,s32,s64 | >1+ 2+
cvt | rni/rzi/rmi/rpi ftz? | u8,u16,u32,u64,s8,s16,s32,s64 f32 | >1+ 2+
cvt | rni/rzi/rmi/rpi | u8,u16,u32,u64,s8,s16,s32,s64 f64 | >1+ 2+
cvt | ftz? | f64 f32 | >1+ 2+
cvt | rn/rz/rm/rp ftz? | f32 f64 | >1+ 2+
cvt | rni/rzi/rmi/rpi? ftz? sat? | f32 f32 | >1+ 2+
cvt | ^pack sat | u16,s16 s32 | >b32 2 2
cvt | ^pack sat | u8,s8 s32 b32 | >b32 2 2 b32
cvt | ^pack sat u4/s4/u2/s2 | s32 b32 | >b32 1 1 b32
cvt | rn/rz | f16 f32 | >1 2
cvt | | f32 f16 | >1 2
cvta | global/shared/local/const | u64 | >1 1s
cvta | ^to global/shared/local/const | u64 | >1 1
isspacep | global/shared/local/const | | >pred u64
shfl | sync up/down/bfly/idx | b32 | >1|p 1 u32 u32 u32
vote | sync all/any/uni | pred | >1 p u32
vote | sync ballot | b32 | >1 p u32
activemask | | b32 | >1
nanosleep | | u32 | 1
bar | ^warp sync | | u32
bar | sync | | #
bar barrier | sync cta? aligned? | | #
bra | uni? | | l
ret | uni? | |
exit trap | | |
membar | cta/gl/sys | |
redux | sync add/min/max | u32,s32 | >1 1 u32
redux | sync and/or/xor | b32 | >1 1 u32
redux | sync min/max abs? NaN? | f32 | >1 1 u32
match | ^any sync | b32,b64 | >b32 1 u32
match | ^all sync | b32,b64 | >b32|p 1 u32
prefetch | global/local? L1/L2 | | m
mov | | b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64 | >1 1c
mov | | u64,b64,s64,u32,b32,s32 | >1 s
mov | | pred | >1 p
set | eq/ne/lt/le/gt/ge | u32,s32,f32 u32,s32 | >1 2 2
set | eq/ne/lt/le/gt/ge ftz? | u32,s32,f32 f32 | >1 2 2
dp4a | | u32,s32 u32,s32 | >s32 1 2 s32
szext | clamp/wrap | u32,s32 | >1 1 u32
bmsk | clamp/wrap | b32 | >u32 u32 u32
";

/// A row of the table.
struct Row {
    groups: Vec<Group>,
    types: Vec<Vec<ScalarType>>,
    operands: Vec<Slot>,
}

/// A set of modifiers; an instruction may have one of them.
struct Group {
    words: Vec<&'static str>,
    /// Whether it may have none.
    optional: bool,
    /// Whether it follows the opcode directly.
    first: bool,
}

/// One operand of a row.
struct Slot {
    what: What,
    destination: bool,
    /// Whether registers may be wider than the type.
    wider: bool,
    optional: bool,
    /// A second destination that is a predicate may follow behind a bar.
    pair: bool,
    /// A variable's address or a special register is allowed as well.
    symbol: bool,
    special: bool,
}

enum What {
    /// The type with this number among the types of the instruction.
    Typed(usize),
    /// The first type in double width.
    Double,
    Fixed(ScalarType),
    Predicate,
    Barrier,
    /// A register of 32 bits, or a constant of 8.
    Count,
    Constant,
    Symbol,
    Memory,
    Label,
}

static ROWS: LazyLock<FxHashMap<&'static str, Vec<Row>>> = LazyLock::new(|| {
    let mut rows: FxHashMap<&'static str, Vec<Row>> = FxHashMap::default();
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        let mut columns = line.split('|');
        let opcodes = columns.next().unwrap_or_default();
        let (groups, types) = (columns.next().unwrap_or_default(), columns.next());
        // The remaining columns may contain bars.
        let operands = columns.collect::<Vec<_>>().join("|");
        let operands: &'static str = Box::leak(operands.into_boxed_str());
        for opcode in opcodes.split_whitespace() {
            rows.entry(opcode).or_default().push(Row {
                groups: groups.split_whitespace().map(group).collect(),
                types: types
                    .unwrap_or_default()
                    .split_whitespace()
                    .map(|set| set.split(',').filter_map(ScalarType::of).collect())
                    .collect(),
                operands: operands.split_whitespace().map(slot).collect(),
            });
        }
    }
    rows
});

fn group(text: &'static str) -> Group {
    let (words, optional) = match text.strip_suffix('?') {
        Some(words) => (words, true),
        None => (text, false),
    };
    let (words, first) = match words.strip_prefix('^') {
        Some(words) => (words, true),
        None => (words, false),
    };
    Group { words: words.split('/').collect(), optional, first }
}

fn slot(text: &'static str) -> Slot {
    let (text, optional) = match text.strip_suffix('?') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (text, pair) = match text.strip_suffix("|p") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (text, destination) = match text.strip_prefix('>') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (text, wider) = match text.strip_suffix('+') {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let (text, symbol) = match text.strip_suffix('s') {
        Some(rest) if rest == "1" => (rest, true),
        _ => (text, false),
    };
    let (text, special) = match text.strip_suffix('c') {
        Some(rest) if rest == "1" => (rest, true),
        _ => (text, false),
    };
    let what = match text {
        "1" => What::Typed(0),
        "2" => What::Typed(1),
        "w" => What::Double,
        "p" => What::Predicate,
        "#" => What::Barrier,
        "8" => What::Count,
        "n" => What::Constant,
        "s" => What::Symbol,
        "m" => What::Memory,
        "l" => What::Label,
        other => ScalarType::of(other).map_or(What::Label, What::Fixed),
    };
    Slot { what, destination, wider, optional, pair, symbol, special }
}

/// Whether a row of the table takes an instruction: the text of its opcode, its operands, how many labels it
/// names beside them, and the function's registers.
pub(super) fn takes(
    opcode: &str,
    args: &[Arg<'_>],
    labels: usize,
    registers: &TiSlice<RegisterId, Register<'_>>,
) -> bool {
    let mut words = Words::of(opcode);
    let Some(rows) = words.next().and_then(|word| ROWS.get(word)) else { return false };
    let mut types: SmallVec<[ScalarType; 3]> = SmallVec::new();
    let mut others: SmallVec<[&str; 6]> = SmallVec::new();
    let leading = words.clone().next();
    for word in words {
        match ScalarType::of(word) {
            Some(ty) => types.push(ty),
            None => others.push(word),
        }
    }
    rows.iter().any(|row| {
        row.types.len() == types.len()
            && row.types.iter().zip(&types).all(|(set, ty)| set.contains(ty))
            && row.modified_by(&others, leading)
            && row.operands_fit(args, labels, &types, registers)
    })
}

impl Row {
    /// Whether the modifiers are the row's; `leading` is the word behind the opcode.
    fn modified_by(&self, words: &[&str], leading: Option<&str>) -> bool {
        let mut used = vec![false; self.groups.len()];
        let each = words.iter().all(|word| {
            let fits = |group: &Group| {
                group.words.contains(word) && (!group.first || leading == Some(*word))
            };
            let found = (0..used.len()).find(|&at| !used[at] && fits(&self.groups[at]));
            found.map(|at| used[at] = true).is_some()
        });
        each && self.groups.iter().zip(used).all(|(group, used)| used || group.optional)
    }

    fn operands_fit(
        &self,
        args: &[Arg<'_>],
        labels: usize,
        types: &[ScalarType],
        registers: &TiSlice<RegisterId, Register<'_>>,
    ) -> bool {
        let mut args = args.iter();
        let mut labels = labels;
        for slot in &self.operands {
            if matches!(slot.what, What::Label) {
                if labels != 1 {
                    return false;
                }
                labels = 0;
                continue;
            }
            match args.next() {
                Some(arg) if slot.fits(arg, types, registers) => {}
                None if slot.optional => {}
                _ => return false,
            }
        }
        args.next().is_none() && labels == 0
    }
}

impl Slot {
    fn fits(
        &self,
        arg: &Arg<'_>,
        types: &[ScalarType],
        registers: &TiSlice<RegisterId, Register<'_>>,
    ) -> bool {
        if let (true, Arg::Pair(pair)) = (self.pair, arg) {
            let second = match &pair[1] {
                Arg::Sink => true,
                Arg::Register(register) => registers[*register].ty == ScalarType::Pred,
                _ => false,
            };
            // Only a comparison may leave out the first of the two.
            let first = match (&self.what, &pair[0]) {
                (What::Predicate, Arg::Sink) => true,
                (_, first) => {
                    matches!(first, Arg::Register(_)) && self.fits(first, types, registers)
                }
            };
            return first && second;
        }
        match self.what {
            What::Typed(number) => self.is_of(arg, types.get(number).copied(), registers),
            What::Double => self.is_of(arg, types.first().copied().and_then(doubled), registers),
            What::Fixed(ty) => self.is_of(arg, Some(ty), registers),
            What::Predicate => match arg {
                Arg::Register(register) => registers[*register].ty == ScalarType::Pred,
                Arg::Not(_) | Arg::Constant(Value::Signed(_) | Value::Unsigned(_)) => {
                    !self.destination
                }
                _ => false,
            },
            What::Barrier => {
                matches!(arg, Arg::Constant(Value::Unsigned(0..16) | Value::Signed(0..16)))
            }
            What::Count => match arg {
                Arg::Constant(Value::Unsigned(0..256) | Value::Signed(0..256)) => true,
                Arg::Constant(_) => false,
                _ => self.is_of(arg, Some(ScalarType::U32), registers),
            },
            What::Constant => {
                matches!(arg, Arg::Constant(Value::Unsigned(_) | Value::Signed(_)))
            }
            What::Symbol => matches!(arg, Arg::Symbol { indexed: false, .. }),
            What::Memory => matches!(arg, Arg::Memory { .. }),
            What::Label => false,
        }
    }

    fn is_of(
        &self,
        arg: &Arg<'_>,
        ty: Option<ScalarType>,
        registers: &TiSlice<RegisterId, Register<'_>>,
    ) -> bool {
        let Some(ty) = ty else { return false };
        match arg {
            Arg::Register(register) => holds(registers[*register].ty, ty, self.wider),
            Arg::Constant(value) => !self.destination && is_constant_of(*value, ty),
            Arg::Symbol { indexed: false, .. } => self.symbol,
            Arg::Special(special) => {
                let wide = super::special::belief(*special).width() == ty.bits();
                self.special && wide && !ty.is_float()
            }
            _ => false,
        }
    }
}

/// Whether an operand of an instruction's type may be a register of another type (PTX ISA, "Operand Type
/// Checking"); `wider` as loads, stores and conversions allow it.
pub(super) fn holds(register: ScalarType, ty: ScalarType, wider: bool) -> bool {
    use ScalarType::*;
    let untyped = |ty| matches!(ty, B8 | B16 | B32 | B64 | B128);
    if (register == Pred) != (ty == Pred) {
        return false;
    }
    if wider && register.bits() > ty.bits() {
        return untyped(register) || (!register.is_float() && !ty.is_float());
    }
    let halves = |ty| matches!(ty, F16 | Bf16 | F16x2 | Bf16x2);
    register.bits() == ty.bits()
        && match (register, ty) {
            _ if register == ty || untyped(register) || untyped(ty) => true,
            _ if halves(ty) => false,
            _ => !register.is_float() && !ty.is_float(),
        }
}

/// Whether an operand of a type may be a constant.
pub(super) fn is_constant_of(value: Value, ty: ScalarType) -> bool {
    use ScalarType::*;
    match value {
        Value::Signed(_) | Value::Unsigned(_) => !ty.is_float() && ty != Pred,
        Value::F32(_) => matches!(ty, F32 | F64 | B32),
        Value::F64(_) => matches!(ty, F32 | F64),
    }
}

fn doubled(ty: ScalarType) -> Option<ScalarType> {
    use ScalarType::*;
    Some(match ty {
        U16 => U32,
        S16 => S32,
        U32 => U64,
        S32 => S64,
        _ => return None,
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(every_row_is_read);

    fn every_row_is_read() {
        let lines = TABLE.lines().filter(|line| !line.is_empty());
        for line in lines {
            let types = line.split('|').nth(2).unwrap_or_default();
            for word in types.split([' ', ',']).filter(|word| !word.is_empty()) {
                assert!(ScalarType::of(word).is_some(), "{word} in {line}");
            }
            for opcode in line.split('|').next().unwrap_or_default().split_whitespace() {
                assert!(crate::isa::Opcode::of(opcode) != crate::isa::Opcode::Unknown, "{line}");
            }
        }
        assert!(ROWS.values().flatten().all(|row| row.operands.len() <= 6));
    }
}
