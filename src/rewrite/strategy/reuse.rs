//! A move from the register of a load of the same address.

use crate::rewrite::plan::Transfer;

/// The move; the register is written under the prefix `when` only.
pub(super) fn moved(transfer: &Transfer, when: &str) -> String {
    let Transfer { sent, destination, bits } = transfer;
    format!("{when}mov.b{bits} {destination}, {sent};")
}
