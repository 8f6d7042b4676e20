//! Arithmetic on values of less than 64 bits that are held in a `u64`.

/// The `width` lowest bits set; `width` is 1 to 64.
pub fn mask(width: u8) -> u64 {
    u64::MAX >> (64 - u32::from(width))
}

/// A `width`-bit value, sign-extended to 64 bits.
pub fn sign_extend(value: u64, width: u8) -> u64 {
    to_signed(value, width) as u64
}

/// A `width`-bit value in two's complement.
pub fn to_signed(value: u64, width: u8) -> i64 {
    let shift = 64 - u32::from(width);
    ((value << shift) as i64) >> shift
}

/// `base` to the power of `exponent`, modulo 2^64.
pub fn power(base: u64, mut exponent: u64) -> u64 {
    let (mut square, mut result) = (base, 1u64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    result
}
