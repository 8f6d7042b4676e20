//! Loops of the rewritten program beside another version of the same loop, with one test in front of both: proves that the
//! former may be left out, or that the test may be made in each iteration.
//!
//! In: the rewritten function. Out: its text without loops that keep values in registers where the one beside them keeps them in
//! memory, and with one loop in the place of two others, for the comparison with the original. For the former, a branch leads
//! either to a loop with `ld [p]` and `st [p]` or to one that has copies between registers in their place, loads `[p]` in
//! front and stores it where the loop is left. Both have the same instructions otherwise, in the same order, are entered at
//! their heads, and left behind their ends or by the same branches. Then registers are equal in each iteration, and memory is equal but for the bytes at `[p]`: their
//! value is in the register, if it was loaded in front or stored. A value is read in the loop only where one of both was the case. It is stored at an exit of the
//! loop if each way there leads past a store, or if another register says so, which is set to 1 with each store and to 0 in front. It is proved from the branch's condition that no other access of the loop touches these
//! bytes in the lane. Nothing in the loop publishes or orders accesses, so another thread that looks at them would be a
//! data race. A load in front is one that the first iteration performs, on whatever way, before it stores there.
//!
//! Two other loops ([`unswitched`]) stand side by side and have the same blocks, which differ in accesses and arithmetic and lead
//! to the same places under the same conditions. The branch's predicate, computed again at their heads, is the same in each
//! iteration. Then they are one loop with a branch in each iteration around the code that differs.
//!
//! Uses `program` and, for the results of instructions, `bypass`. Each file uses only those before it:
//! - `body`: the code of a loop
//! - `iterations`: the terms of a loop in its first iteration, in any one and in the next one, and how often it runs
//! - `apart`: proves that accesses of a loop touch different bytes
//! - `twins`: compares a loop with values in registers with one that has them in memory
//! - `unswitched`: finds two loops with a test in front that can be made in each iteration
//! - `text`: the text of the rewritten file without the former, and with one loop in the place of two

mod apart;
mod body;
mod iterations;
mod text;
mod twins;
mod unswitched;

pub(crate) use text::{switched, without_promotions};
