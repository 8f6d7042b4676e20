//! Proves an identity of 32 bits, and refutes a similar one, as `cargo run -p ptxasw-terms --example identity`:
//!
//!     4 * (x + 3) and 12 + 4 * x are one term: true
//!     (x ^ y) + 2 * (x & y) = x + y: Proved
//!     (x | y) + 2 * (x & y) = x + y: Refuted

use ptxasw_terms::expr::{Arena, BinaryOp, FunctionId, SymbolId};
use ptxasw_terms::solver::{Names, Solver};

struct Letters;

impl Names for Letters {
    fn symbol(&self, symbol: SymbolId) -> String {
        ["x", "y"][symbol.0 as usize].to_owned()
    }

    fn function(&self, _: FunctionId) -> &str {
        "f"
    }
}

/// The lines of the head.
pub(crate) fn text() -> Result<String, std::fmt::Error> {
    let mut arena = Arena::new();
    let [x, y] = [0, 1].map(|symbol| arena.symbol(SymbolId(symbol), 32));
    let moved = arena.add_constant(x, 3);
    let scaled = (arena.scale(moved, 4), arena.scale(x, 4));
    let equal = scaled.0 == arena.add_constant(scaled.1, 12);
    let mut out = format!("4 * (x + 3) and 12 + 4 * x are one term: {equal}\n");
    let mut solver = Solver::new(1_000_000, None);
    let (sum, both) = (arena.add(x, y), arena.and(x, y));
    let carry = arena.scale(both, 2);
    for (sign, op) in [("^", BinaryOp::Xor), ("|", BinaryOp::Or)] {
        let bits = arena.binary(op, x, y);
        let claim = (arena.add(bits, carry), sum);
        let answer = solver.prove_equal(&arena, &Letters, claim, &[]);
        out += &format!("(x {sign} y) + 2 * (x & y) = x + y: {answer:?}\n");
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), std::fmt::Error> {
    print!("{}", text()?);
    Ok(())
}
