//! The beliefs of the two judges: which of them they share, and the independent check of each shared one. This file
//! holds no code.
//!
//! A rewrite is judged twice: by the analysis that proposes it (`emulate`, `reuse`) and by this
//! validator, which is given two texts and nothing else. A mistake that only one of them makes shows
//! as a refusal. A mistake in something that they share shows nowhere, unless it is checked by means
//! that use neither.
//!
//! | belief | shared? | independent check |
//! |---|---|---|
//! | **Syntax**: the words and operands of an instruction (`ptx`) | analysis, validator, interpreter | the real
//! `ptxas`, which assembles every sample, case and rewrite in the tests; trees written down by hand (`tests/parser`) |
//! | **Graph**: blocks, edges, dominators, loops (`cfg`) | analysis, validator; the interpreter follows labels of its own | execution: original and rewritten kernels of random graphs run to the same memory |
//! | **Convergence**: where lanes meet again, and in which iterations (`cfg::convergence`) | analysis, validator | the interpreter under many choices of meeting points, none and random ones among them; `BSSY`/`BSYNC` in the machine code of the real assembler |
//! | **Terms**: simplification, normal forms, ranges (`expr`) | analysis, validator | evaluation on random and on all small values, and z3's arithmetic on the same terms (`tests/terms.rs`) |
//! | **Search and order**: claims decided by all values, by intervals and by order (`expr::Searcher`, `expr::follows`) | analysis, validator | random predicates of small widths against all values (tests of `expr`); execution of proved rewrites |
//! | **Solver**: z3 and the translation to it (`solver`) | analysis, validator | proofs: values of terms by the evaluator against z3's; counterexamples: executed (`concrete`, `execute`); a second solver on the dumped queries (`--dump-queries`) |
//! | **What instructions compute** | no: `emulate` and `semantics` are written apart, the interpreter's `ops` a third time | results of each form worked out by hand (`tests/verify/semantics.rs`, `tests/instructions`); execution of proved rewrites |
//! | **What instructions do to memory and to other lanes** | no: `emulate::effects` and `instructions` | pairs of files by hand (`tests/verify`), planted bugs (`tests/mutation`) |
//! | **Special registers** | no: `emulate::special`, `special` here | a register that no table lists is volatile here; the interpreter |
//! | **The layout of warps in blocks** | no: `hardware` here | all small block shapes, thread by thread |
//! | **Addresses of variables in shared memory** are below 2^30 (`operands`) | no | compilers that keep them in registers of 32 bits; the sizes that the real `ptxas` takes |
//! | **An address made from an array's name stays in that array**; one that no name has made, or arithmetic other than a sum, or that is outside for certain may be in any (`arrays`) | analysis, validator | CUDA C++'s rule for pointers; compilers that assume it; the interpreter, where a launch is given |
//! | **Versions of PTX**: from 7.0 on a later version gives no instruction another meaning (`outside`) | no | the PTX ISA's release notes |
//! | **Freedom from data races in the original** | taken for granted by both, said with each verdict | the interpreter's race detector, where a launch is given |
//!
//! # The events of a lane
//!
//! A lane does things that others can notice: stores, atomics, calls, barriers, exits, and
//! *collectives*: the joint operations of a warp's lanes (`shfl`, `vote`, `match`, `redux`, `elect`,
//! `mma`, `ldmatrix`, `bar.warp.sync`, and every other `.sync` or `.aligned` instruction). A
//! collective is an event whether or not the lane wants the result, since others read its operands or
//! wait for it. If each lane of a warp goes through the same sequence of events in both programs,
//! with the same operands (member masks among them) under the same conditions, then by induction over
//! that sequence each collective has the same members and delivers the same. So results of matched
//! collectives are one symbol.
//!
//! `activemask` (and `shfl` and `vote` without `.sync`) tell which lanes are converged. That depends on the assembler's
//! choice and is not an event of a lane. Their results are considered equal only if both programs have the same graph
//! and branch alike.
//!
//! The rewritten program may have `activemask`, `shfl.sync`, `vote.sync.all` and `bar.warp.sync` of its own: without a
//! guard predicate, with a mask fresh from an `activemask` of the same block and no instruction in between at which one
//! lane may wait for a later action of another one. Then exactly the lanes of the mask execute it. The mask may also
//! come from an earlier block, if all its lanes or none take each branch in between.
//!
//! A `shfl.sync`, `vote.sync` or `redux.sync` with the constant mask of all lanes is an exchange of the whole warp, if
//! no lane can be at another warp instruction meanwhile (`proof::meeting`): all lanes execute it together, or its
//! result is undefined. Such an exchange may be left out if its result is shown to come from others. The rewritten
//! program may have `redux.sync` and `vote.sync` of all lanes of its own on a path that all lanes of an exchange of the
//! original take, or none of them; a `redux.sync` there may also name groups of lanes, each lane its own one (PTX ISA,
//! "redux.sync": the executing thread is in its mask, and all threads of the mask execute the same with the same mask). The results of exchanges are compared lane by lane (`proof::exchange`), which shares
//! no code with the analysis that finds them (`collective`). Loops around exchanges whose number of iterations is a constant
//! are unrolled first, in both programs (`unroll`).
//!
//! A store to an array in shared memory that the rewritten program does not read may be left out (`compare::unread`): the
//! array's bytes live as long as the block.
//!
//! A branch around code with shuffles may be left out where its two sides do the same for a whole thread block (`undo`): all threads
//! are evaluated on unknown registers and memory, barriers and shuffles as meeting points. That warps are the threads 0 to 31, 32 to
//! 63 and so on of a block of one row is the belief there (`verify::terms::hardware` has the general one).
//!
//! The original's freedom from data races does not cover a load by which a lane reads bytes that another lane reads in
//! the original: the other lane may write them before and after its load without synchronisation. Such a load has to
//! read memory that no thread writes, or to stand between two `bar.warp.sync` of the whole warp without stores around
//! it.
//!
//! # What "different" means
//!
//! There is a state in which both sides of a claim were worked out on numbers and differ, with loads
//! and parameters as bytes of one memory and without any value of an uninterpreted function; and if
//! the interpreter can run the launch that the state describes, the two kernels leave different memory
//! behind. Every other claim that is not proved is "unknown".
