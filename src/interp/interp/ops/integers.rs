//! Functions of the integer types.

/// One scalar function for the integer types of 16, 32 and 64 bits; `None` for other types. In brackets: what its result
/// depends on, as [`warp!`] takes it.
macro_rules! integers {
    ($ty:expr, |$($arg:ident),+| $body:block) => {
        integers!($ty, [], |$($arg),+| $body)
    };
    ($ty:expr, [$($kind:tt)*], |$($arg:ident),+| $body:block) => {
        integers!(@ $ty, [$($kind)*], [$($arg)+], $body)
    };
    (@ $ty:expr, $kind:tt, $args:tt, $body:block) => {
        match $ty {
            ScalarType::U16 => Some(integers!(% u16, $kind, $args, $body)),
            ScalarType::S16 => Some(integers!(% i16, $kind, $args, $body)),
            ScalarType::U32 => Some(integers!(% u32, $kind, $args, $body)),
            ScalarType::S32 => Some(integers!(% i32, $kind, $args, $body)),
            ScalarType::U64 => Some(integers!(% u64, $kind, $args, $body)),
            ScalarType::S64 => Some(integers!(% i64, $kind, $args, $body)),
            _ => None,
        }
    };
    (% $t:ty, [$($kind:tt)*], [$($arg:ident)+], $body:block) => {
        warp!($($kind)* |$($arg: $t),+| -> $t $body)
    };
}
pub(super) use integers;
