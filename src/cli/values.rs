//! The spelling of values on the command line and in variables, for types that know nothing of either.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::ab::device::L2;
use crate::isa::limits::MAX_BLOCK;
use crate::rewrite::Mode;
use crate::sass::compare::Loss;

/// A type whose values have words on the command line.
pub(super) trait Words: Copy + Send + Sync + 'static {
    /// The values, each with its word and what `--help` says of it.
    fn all() -> Vec<(Self, &'static str, &'static str)>;

    /// The value of a word.
    fn read(word: &str) -> Option<Self> {
        Self::all().into_iter().find(|(_, own, _)| *own == word).map(|(value, ..)| value)
    }

    /// All words.
    fn words() -> Vec<&'static str> {
        Self::all().into_iter().map(|(_, word, _)| word).collect()
    }

    /// The parser of an option.
    fn parser() -> impl TypedValueParser<Value = Self> {
        let possible = Self::all().into_iter().map(|(_, word, help)| match help {
            "" => PossibleValue::new(word),
            _ => PossibleValue::new(word).help(help),
        });
        PossibleValuesParser::new(possible).try_map(|word| Self::read(&word).ok_or(word))
    }
}

impl Words for Loss {
    fn all() -> Vec<(Loss, &'static str, &'static str)> {
        let losses =
            [Loss::Registers, Loss::Spills, Loss::Stack, Loss::Shared, Loss::Code, Loss::Warps];
        losses.map(|loss| (loss, <&str>::from(loss), "")).to_vec()
    }
}

/// Lists a type's values, each with its word and what `--help` says of it.
macro_rules! values {
    ($type:ty: $($variant:ident $word:literal $help:literal),+ $(,)?) => {
        impl Words for $type {
            fn all() -> Vec<(Self, &'static str, &'static str)> {
                vec![$((Self::$variant, $word, $help)),+]
            }
        }
    };
}

values! { Mode:
    Full "full" "Shuffles with the original load for corner cases",
    Original "original" "No change",
    NoLoad "no-load"
        "Covered loads are removed. For measuring only: computes wrong results",
    NoCorner "no-corner"
        "Shuffles without the load for corner cases. For measuring only: computes wrong results",
}

values! { L2:
    Keep "keep" "It does: launches follow each other directly",
    Flush "flush" "It does not: before each launch the cache is filled with something else",
}

/// A block's threads along x, y and z: `256`, `16x16`, `8x8x4`.
///
/// # Errors
/// Another text, more than 1024 threads, or more than 64 along z (the largest block: CUDA C++ Programming Guide, "Compute
/// Capabilities").
pub(super) fn block(text: &str) -> Result<[u64; 3], String> {
    let mut sizes = [1; 3];
    let parts: Vec<&str> = text.split(['x', ',']).collect();
    let read = |part: &&str| part.trim().parse().ok().filter(|size| (1..=1024).contains(size));
    let numbers: Option<Vec<u64>> = parts.iter().map(read).collect();
    match numbers {
        Some(numbers) if numbers.get(2).is_some_and(|&along_z| along_z > MAX_BLOCK[2]) => {
            Err(format!("a block has at most {} threads along z", MAX_BLOCK[2]))
        }
        Some(numbers) if numbers.len() <= 3 && numbers.iter().product::<u64>() <= 1024 => {
            sizes[..numbers.len()].copy_from_slice(&numbers);
            Ok(sizes)
        }
        _ => {
            Err("a shape such as 256, 16x16 or 8x8x4 of at most 1024 threads is expected"
                .to_owned())
        }
    }
}

/// A relative tolerance: a number that is not negative.
///
/// # Errors
/// Another text.
pub(super) fn tolerance(text: &str) -> Result<f64, String> {
    let number: Option<f64> =
        text.trim().parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "a number that is not negative, such as 1e-6, is expected".to_owned())
}
