//! The laws of rewriting, of collectives: what a network of shuffles needs for fewer instructions to stand for it. This file
//! holds no code.
//!
//! **40. One instruction may stand for a network of shuffles only where each lane that uses the result gets the same bits.**
//! The network's result is followed in all 32 lanes as a term over the lanes' values, modulo associativity,
//! commutativity, and for lattice operators idempotence. Sums of floating-point numbers have no such law.
//!
//! ```text
//! v += bfly(v, 16); v += bfly(v, 8); v += bfly(v, 4); v += bfly(v, 1)       // a step is missing
//! v = popc(ballot(p) & lanemask_lt)       // for a prefix sum that has the lane itself in it
//! v = redux.min.u32(x)                    // for the least signed number
//! ```
//!
//! Rules `no-instruction`, `needs-newer-target`. `tests/cases/refuse/collective_compared.ptx`, `tests/cases/refuse/collective_branches.ptx`;
//! `tests/cases/refuse/collective.ptx`, `tests/cases/refuse/collective_votes.ptx`; mistakes `CollectiveStep`,
//! `CollectiveExclusive`, `CollectiveAny`, `CollectiveNegated`, `CollectiveUnsigned`, `CollectiveHalf`. In groups each lane
//! names as members the lanes of its own group, and none is missing: `tests/cases/refuse/collective_groups.ptx`,
//! `tests/cases/refuse/collective_groups_costs.ptx`; mistakes `CollectiveGroupHalf`, `CollectiveOneGroup`. Bits of 64 are
//! combined by halves, which an order of 64 bits is not: `tests/cases/refuse/collective_wide.ptx`; mistake
//! `CollectiveHalves`. Minima and
//! maxima of single precision are computed on integers in the order of the numbers, with NaNs beyond all of them:
//! `tests/cases/refuse/collective_extrema.ptx`; mistakes `CollectiveNan`, `CollectiveUnflushed`.
//!
//! **41. All lanes of the warp execute the network together.** The member mask of each shuffle is the constant of all
//! lanes, none stands under a predicate, and no lane of the warp may be at another warp instruction meanwhile: that
//! would exchange values with this one. (The others wait for a lane that never comes, and the value it would send is
//! undefined.)
//!
//! ```text
//! if (x > 0) { v += bfly(v, 16); ... } else { w = max(w, bfly(w, 16)); ... }      // each side waits for the other
//! ```
//!
//! Rules `member-mask`, `predicated-shuffle`, `divergent-shuffle`, `device-function`. `tests/cases/refuse/collective_members.ptx`; mistakes
//! `CollectiveOfSome`, `CollectiveElsewhere`.
//!
//! **42. A lane that holds a part of the result does not get the whole.** Where only some lanes hold it, all readers of
//! the result, and of values computed from it, stand under predicates that are false in the other lanes. If that rests
//! on `%tid.x`, lanes are consecutive in it by `.reqntid`, or a test in front of the network says so.
//!
//! ```text
//! v += down(v, 16); ... v += down(v, 1);  if (lane == 1) out = v       // lane 1 holds the sum of 1 to 31 and its own twice
//! v += down(v, 16); ...;  if (tid.x % 32 == 0) out = v                // rows of 48: also lane 16
//! ```
//!
//! Rules `partial-result`, `not-in-one-piece`, `beside-others`, guard `linear-lanes`. `tests/cases/refuse/collective_lanes.ptx`; mistakes
//! `CollectiveForAll`, `CollectiveUntested`.
//!
//! **43. The combined, counted or moved value is still in its register at the place of the result**, or in a copy made
//! in front of the network. A shuffle whose predicate is read stays. A shuffle from an absent lane delivers any value, so
//! a register may stand for a shuffle only if it is defined wherever the shuffle's result was: sums are undefined with each
//! of their operands, the greatest of two values perhaps only with both.
//!
//! ```text
//! v = down(x, 1);  v = 7;  w = down(x, 1)        // w is not v
//! v = bfly(bfly(x, 1), 2);  w = bfly(x, 3)       // lane 1 may be absent, and lane 3 not
//! x = lane ? -1 : 1; v = max(x, bfly(x, 16)); w = bfly(v, 1)     // all are -1, but lane 0's with lane 16 alone
//! ```
//!
//! Rule `source-overwritten`. `tests/cases/refuse/collective_moves.ptx`; mistakes `CollectiveStale`,
//! `CollectiveAbsent`. Rule
//! `not-asked-for` lists the networks that `auto` does not replace, and rule `collective` reports one of these rules
//! for a load.
//!
//! **48. A loop of shuffles goes as a whole or stays.** Its number of iterations is a constant for all lanes, it does
//! nothing but exchange and combine values, and every register that is read behind it gets the value of the last iteration:
//! a collective of the values at its entry, or a constant.
//!
//! ```text
//! for (o = 16; o >= 0; o >>= 1) v += bfly(v, o)       // one more iteration: v + v
//! for (o = 16; o; o >>= 1) { w = bfly(v, o); v += w } out = v + w       // w is a half of the sum
//! for (o = 16; o; o >>= 1) v += bfly(v, o);  out = v + o                // o is 0
//! ```
//!
//! Rule `counted-loop`. `tests/cases/refuse/collective_loops.ptx`; mistakes `CollectiveIteration`, `CollectiveCounter`,
//! `CollectiveTemporary`.
