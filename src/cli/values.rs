//! The spelling of values on the command line and in variables, for types that know nothing of either.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::ab::device::L2;
use crate::rewrite::Mode;
use crate::select::Selection;

/// Lists a type's values, each with its word and what `--help` says of it.
macro_rules! values {
    ($type:ty: $($variant:ident $word:literal $help:literal),+ $(,)?) => {
        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$variant),+]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(match self {
                    $(Self::$variant => PossibleValue::new($word).help($help)),+
                })
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

values! { Selection:
    Paper "paper" "The rule of the paper that the program is named after",
}

values! { L2:
    Keep "keep" "It does: launches follow each other directly",
    Flush "flush" "It does not: before each launch the cache is filled with something else",
}
