//! The laws of rewriting: the conditions for replacing a load, and the requirements on the new text. Each law comes
//! with a kernel that computes something else without it, the rule that refuses
//! ([`Refusal::rule`](crate::reuse::Refusal::rule)) or the check that guards, and the files that show it. These files
//! hold no code.
//!
//! Whoever adds a way to rewrite goes through the list and says for each law how the new code keeps it.
//! If a law cannot be shown to hold, the load is refused. In the examples `a` is an address of the lane
//! (4 bytes further in the next lane), `s` the source load and `d` the destination load. Files of
//! `tests/cases/refuse/` have a neighbour of the same name in `tests/cases/accept/`, which keeps the
//! law and is rewritten; the mistakes are those of [`crate::planted::Bug`].
//!
//! # Between source and destination
//!
//! **1. The source load is executed on every way to the destination load**, by the lane that sends: it
//! dominates the destination. Every edge counts: `bra` under a negated guard, `brx.idx`, falling
//! through into a label; and a way is left out only if its condition is proved never to hold.
//!
//! ```text
//! @p bra S;  s: ld f1, [a];  S: d: ld f2, [a+4]     // where p holds, f1 keeps its old value
//! ```
//!
//! A source in a branch is allowed if the sending lane checks at run time that it has executed it: a predicate is
//! cleared at the end of the nearest block on every path to both loads and set behind the source. Each path from that
//! block executes the source at most once, so that a set predicate belongs to this iteration.
//!
//! Rule `not-on-every-path`, guard `source-executed`. `tests/cases/refuse/dominance.ptx`,
//! `tests/cases/refuse/missed_flow.ptx`, `tests/cases/refuse/pruned_branch.ptx`,
//! `tests/cases/refuse/branch_source.ptx`; mistakes `Dominance`, `NotAsked`, `NotCleared`, `BranchForgets`.
//!
//! **2. Nothing between the two may have written the bytes**, on any path, including back edges. The comparison is of
//! bytes, not of start addresses or types. A store that is not proved to access other bytes in every lane counts as
//! writing them, and so do atomics, reductions, calls, asynchronous copies, and every unknown instruction. Only loads
//! from memory that is read-only for the whole kernel (`.nc`) survive.
//!
//! ```text
//! s: ld f1, [a];  L: d: ld f2, [a];  st [a], f3;  @p bra L    // the store comes round
//! ```
//!
//! For a value of the lane itself a plain store may be checked at run time: each time it is executed, its address is
//! compared with a copy of the source's, and a value that it may have overwritten is loaded again. Law 5 covers stores
//! of other threads.
//!
//! Rule `may-have-changed`, guard `stores-apart`. `tests/cases/refuse/store_asked.ptx`,
//! `tests/cases/refuse/own_store.ptx`, `tests/cases/refuse/back_edge.ptx`,
//! `tests/cases/refuse/kill_on_one_path.ptx`, `tests/cases/refuse/entered_backwards.ptx`,
//! `tests/cases/refuse/atomic.ptx`, `tests/cases/refuse/reduction.ptx`, `tests/cases/refuse/call.ptx`,
//! `tests/cases/refuse/opaque.ptx`; mistakes `Store`, `StoreOverlap`, `StoreNotAsked`, `Atomic`, `Call`,
//! `OnePath`, `BackEdge`.
//!
//! **3. No instruction between the two makes other threads' writes visible**: no barrier of any scope, no
//! fence, no warp-level synchronisation, no wait for an asynchronous copy, no load or store that
//! synchronises.
//!
//! ```text
//! s: ld f1, [a+4];  st [a], f3;  bar.warp.sync -1;  d: ld f2, [a+4]   // the next lane's store is new
//! ```
//!
//! Rule `may-have-changed`. `tests/cases/refuse/barrier.ptx`, `tests/cases/refuse/barrier_sm_90.ptx`,
//! `tests/cases/refuse/warp_synchronous.ptx`, `tests/cases/refuse/synchronising_load.ptx`; mistake
//! `Barrier`.
//!
//! **4. Only weak loads take part.** `.volatile`, `.relaxed`, `.acquire`, `.mmio` and `.cv` loads are each
//! performed, and atomics are no loads (PTX ISA, "Memory Consistency Model").
//!
//! ```text
//! s: ld.volatile r1, [a];  d: ld.volatile r2, [a]     // polling: the second value is the point
//! ```
//!
//! Rule `strong-load`. `tests/cases/refuse/qualifiers.ptx`, `tests/cases/refuse/qualifiers_mmio.ptx`.
//!
//! **5. Weak loads rest on freedom from data races**, which CUDA C++ demands of the original; nothing
//! else may be assumed of other threads. `--strict` does without (rule `strict`): then only `.nc` loads
//! are replaced, and loads of kernels that write no global memory. The proof that the assumption is
//! enough stands in `src/verify/record/versions.rs`.
//!
//! # The same address
//!
//! **6. `A(tid.x + N) = B(tid.x)` is proved for every lane, or compared in each**, not found for most. A suggestion of
//! evaluation or base addresses is a guess; a claim that the solver does not finish is not proved. A comparison at run
//! time (`B = A + N * s` in the lane itself) stands in for the proof only where `A` is proved to be affine in the lane
//! id, with a stride of `s` bytes, and a copy of the source's address register is made when the source is executed.
//! Where `A` is not affine because of quotients, remainders or selects in it, the proof assumes that both lanes have
//! the same values of them, or values that grow with the lane id, and a shuffle compares these registers at run time.
//!
//! ```text
//! i1 = min(i + 1, n - 1);  s: ld f1, [b+4*i];  d: ld f2, [b+4*i1]     // one thread of thousands differs
//! ```
//!
//! Rules `no-partner`, `addresses-differ`, `solver-unknown`, `unknown-address`, `too-far`; guards
//! `bytes-apart`, `same-row`; mistakes `NoComparison`, `AddressOfOwnLane`, `RowNotAsked`, `RowOtherSide`.
//! `tests/cases/refuse/boundary.ptx`, `tests/cases/refuse/edges.ptx`, `tests/cases/refuse/rows.ptx`,
//! `tests/cases/refuse/hard_to_decide.ptx`, `tests/cases/refuse/solver.ptx`.
//!
//! **7. A value is uniform only if no two lanes that can be together have different ones.** Lanes may have come to a
//! join by different paths, or left a loop in different iterations, and a loop may have changed their values in another
//! way than an induction variable. Values that are not modelled differ from lane to lane.
//!
//! ```text
//! @odd bra O;  mov b, p;  bra J;  O: mov b, q;  J: s: ld f1, [b+4*i];  d: ld f2, [b+4*i+4]
//! ```
//!
//! `tests/cases/refuse/merged_base.ptx`, `tests/cases/refuse/lane_values.ptx`,
//! `tests/cases/refuse/loop_carried.ptx`, `tests/cases/refuse/loop_exit.ptx`; mistakes `JoinedValue`,
//! `LoopValue`, `LoopExit`, `LaneId`, `UnknownValue`.
//!
//! **8. Lanes that are together need not be in the same iteration.** The reconvergence points are the assembler's
//! choice, and the assumptions about iterations hold for every choice that it could make (`src/graph/convergence.rs`).
//!
//! ```text
//! L: i += 1;  @p bra L;  s: ld f1, [b+4*i+t];  d: ld f2, [b+4*i+t+4];  @q bra L   // each lane has its own i
//! ```
//!
//! `tests/cases/refuse/convergence.ptx`, `tests/cases/refuse/early_exit.ptx`,
//! `tests/cases/refuse/missed_exit.ptx`, `tests/cases/refuse/ways_within_a_loop.ptx`,
//! `tests/cases/refuse/irreducible.ptx`, `tests/cases/refuse/two_entries.ptx`,
//! `tests/cases/refuse/synchronised_lanes.ptx`, `tests/cases/refuse/unequal_waits.ptx`; the mistakes of
//! `Set::Convergence` and
//! `Set::Memory`.
//!
//! **9. Arithmetic wraps around at its width.** `ext(x + N)` is `ext(x) + N` only where `x + N` does not wrap, and
//! addresses are 64 bits wide. If the path does not prove that, it is checked at run time, as long as a register holds
//! the index.
//!
//! ```text
//! add.s32 x1, x, 1;  mul.wide.s32 o, x, 4;  mul.wide.s32 o1, x1, 4    // o1 = o + 4, but for x = 2^31 - 1
//! ```
//!
//! Rule `may-wrap`, guard `no-wrap`. `tests/cases/refuse/wrap_around.ptx`,
//! `tests/cases/refuse/wide_offset.ptx`; mistakes `WrapAround`, `SmallWindow`.
//!
//! **10. A generic address is global only if that is proved or asked.** The same number in the local
//! window is another place in every lane.
//!
//! ```text
//! s: ld f1, [g];  d: ld f2, [g+4]    // g points into local memory: no lane may read for another
//! ```
//!
//! Guard `global-address` (`isspacep.global`). `tests/cases/refuse/generic_address.ptx`,
//! `tests/cases/refuse/state_spaces.ptx`; mistake `GenericAddress`.
//!
//! # Who sends and who receives
//!
//! **11. The lane at distance N is the thread at distance N only where lanes are consecutive in `tid.x`**:
//! `lane = (x + y*Dx + z*Dx*Dy) mod 32`.
//!
//! ```text
//! block (16, 4):  a = base + 4*(1000*tid.y + tid.x)     // lane 15's next lane is in the next row
//! ```
//!
//! Rule `block-shape`, guard `linear-lanes`. `tests/cases/refuse/block_shape.ptx`; mistake `BlockShape`.
//!
//! **12. A received value is used only where all 32 lanes have met.** The value from a lane that has ended, or is
//! elsewhere, is unpredictable. The member mask is the result of an `activemask` immediately before, never a constant,
//! or the shuffle waits for lanes that do not come.
//!
//! Rules `narrow-block` and, where some lane of every warp is seen to be elsewhere, `never-runs`
//! (`tests/cases/refuse/never_whole.ptx`), guard `whole-warp`. Every file of `tests/cases/accept/` is executed in incomplete warps
//! (`tests/differential.rs`); mistakes `IncompleteWarp`, `ConstantMask`.
//!
//! **13. `activemask` and the shuffles that use it stand in one straight line**, with no instruction in between at
//! which a lane waits for a later action of another one; and no shuffle stands under a guard predicate. Facts before
//! such an instruction need not hold behind it, so it ends a block.
//!
//! ```text
//! activemask m;  @p bar.warp.sync k;  shfl.sync.down f2, f1, 1, 31, m     // a deadlock that was not there
//! ```
//!
//! `tests/cases/refuse/partial_synchronisation.ptx` and its neighbour,
//! `tests/interp/meet/mask_across_warp_sync.ptx`; mistake `MaskAcrossSync`.
//!
//! **14. A lane whose source lane lies outside the warp loads.** For N > 0 these are the last N lanes, for
//! N < 0 the first -N; the load is the original one, at the original address, under the negated check.
//!
//! ```text
//! shfl.sync.down f2, f1, 1, 31, m     // lane 31 receives its own f1
//! ```
//!
//! Mistakes `CornerTooFarUp`, `CornerTooFarDown`, `CornerInverted`, `WrongClamp`, `WrongSign`.
//!
//! **15. The lane that sends has performed the source load.** If that load stands under a guard predicate,
//! all lanes are asked at run time (for N = 0 the lane itself), and the predicate must still be the one
//! under which the load ran.
//!
//! ```text
//! mov r1, 0;  @p s: ld r1, [a];  d: ld r2, [a+4]     // the next lane's r1 is 0 where its p is false
//! ```
//!
//! Rule `guard-written-twice`, guard `source-active`. `tests/cases/refuse/predicated.ptx`,
//! `tests/cases/refuse/masked_load.ptx`; mistakes `SourceGuard`, `NoVote`.
//!
//! **16. A destination register is written only where the original writes it.** Under a guard predicate that is false
//! it keeps its preset value.
//!
//! ```text
//! mov r2, 0;  @q d: ld r2, [a+4]     // a move of the received value without @q overwrites the 0
//! ```
//!
//! `tests/cases/accept/masked_load.ptx` (`preset_survives`); mistake `OwnGuard`.
//!
//! # What the registers hold
//!
//! **17. A register gets exactly the bytes that the load would put there, extended as the load extends them.**
//! A shuffle moves 32 bits: wider registers are split, narrower ones packed, and vectors go element by
//! element. Where the source's register does not hold the same bytes, extended alike to the same width, the
//! register is put together from bytes of one register or several; a byte that is in none of them keeps the
//! load. Elements of a vector register (`%v.x`) are no operands of a shuffle.
//!
//! ```text
//! s: ld.u8 r1, [a];   d: ld.s8 r2, [a]      // 200 is not -56: the sign has to be made
//! s: ld.u32 r1, [a];  d: ld.u8 r2, [a+3]    // the uppermost byte, by a permutation of bytes
//! s: ld.u16 r1, [a];  d: ld.u32 r2, [a]     // two of the bytes are in no register
//! ```
//!
//! Rules `width`, `register-width`, `vector-register`, `element-width`, `form`.
//! `tests/cases/refuse/width.ptx`, `tests/cases/refuse/widths.ptx`, `tests/cases/accept/widths.ptx`,
//! `tests/cases/refuse/wide_values.ptx`, `tests/cases/refuse/vector_operands.ptx`,
//! `tests/cases/refuse/vector_register.ptx`; mistakes `Extension`, `WrongElement`, `SwappedHalves`, `WrongByte`,
//! `ZeroExtension`.
//!
//! **18. The sent value is the loaded one.** If the register may have been written again by then, a copy is
//! made behind the source load.
//!
//! ```text
//! s: ld f1, [a];  add f1, f1, f3;  d: ld f2, [a+4]     // f1 has another value by now
//! ```
//!
//! Mistake `StaleRegister`, with its kernel in `tests/fuzz/planted/StaleRegister.ptx`.
//!
//! The same holds of values that are loaded earlier than in the original, in a vector or an iteration before: no
//! register is filled while another instruction still reads or writes it, each element goes into its own, and every
//! iteration passes on the values that the next one needs.
//!
//! ```text
//! ld r5, [a+4];  add r7, r5, 1;  ld r5, [a]      // a vector load of both needs another register for one
//! ```
//!
//! Mistakes `VectorTooEarly`, `VectorReversed`, `NothingPassedOn`; a store or barrier anywhere in a loop may
//! change what its iterations read: mistake `CarriedOverStores`.
//!
//! **19. A name is used only where it means the register meant.** An inner scope may declare the same name
//! again. New names begin with a stem that occurs nowhere in the text (`src/rewrite/rewrite/names.rs`).
//!
//! ```text
//! { .reg .u64 a;  ... }     // another a
//! ```
//!
//! `tests/cases/refuse/inner_scope.ptx`, `tests/cases/refuse/same_name.ptx`, `tests/fuzz/names.rs`; mistake `InnerScope` and the
//! others of `Set::Names`.
//!
//! **20. No register that the original load reads is overwritten before that load.**
//!
//! ```text
//! d: ld a, [a]     // the corner case loads from the address, not from the received value
//! ```
//!
//! `tests/cases/refuse/address_register.ptx` and its neighbour.
//!
//! # What else the program does
//!
//! **21. No byte is read that the original does not read**, no access is wider, earlier or under a weaker
//! condition, and none is added: what the original may do without a fault, the rewritten program may.
//! Loads are left out only where a lane has read the same bytes already; so a fault may disappear, and
//! none may appear.
//!
//! A vector load reads the bytes of the loads that it replaces, and these all run whenever the first of them does; its
//! address is aligned in every lane, by proof or by a test of the parameters in front of the kernel, with the untouched
//! loads on the other side. A loop-carried value is loaded in front of it only where every entry into the loop performs
//! that load: nothing leaves before it, and no inner loop or call stands in the loop that might never end.
//!
//! ```text
//! ld f1, [a];  ld f2, [a+4]           // a is 4 in one launch and 8 in the next: `ld.v2` faults in one
//! L: @p bra out;  ld f1, [a];  ...     // p may hold at once: the load may not move in front of the loop
//! ```
//!
//! The validator demands it (`src/verify/compare/faults.rs`). Rule `loads-parted`. `tests/cases/refuse/wide.ptx`,
//! `tests/cases/refuse/wide_store_between.ptx`, `tests/cases/refuse/carried.ptx`; mistakes `NoAlignmentTest`, `VectorOffset`, `CarriedSometimes`,
//! `FirstOfAnother`.
//!
//! **22. Nothing that others can notice changes**: stores, atomics, calls, barriers, collectives and exits
//! happen under the same conditions, in the same order, with the same operands. A rewrite adds only
//! `activemask`, `shfl.sync` and `vote.sync` of whole straight lines, arithmetic, and moves.
//!
//! The validator demands it (`src/verify/program/beliefs.rs`, "The events of a lane"). `tests/verify/different/` holds
//! pairs that break it.
//!
//! **23. The text is edited, never printed anew.** Edits are disjoint; text that no edit touches keeps every byte,
//! comments, `.loc` and unknown directives included, and every line of the result has its line in the input
//! (`src/rewrite/rewrite/edit.rs`).
//!
//! **24. A rewrite of a rewritten text changes nothing.** A load that an earlier rewrite has left for corner cases is
//! recognised by the name of its guard predicate and stays.
//!
//! Rules `corner-case`, `array-laid-out`; every case file is rewritten twice (`tests/cases.rs`).
//!
//! **25. Giving up is a refusal.** Work is bounded by counts that are the same on every machine, and loads that are not
//! decided within them stay unchanged; so do those whose replacement would be too much for the assembler.
//!
//! Rules `budget`, `large-address`, `solver-unknown`, `crowded`. `tests/cases/refuse/powers.ptx`,
//! `tests/budgets.rs`, `tests/chains.rs`.
//!
//! **26. A rewrite that does not pay is not done**, unless it is asked for by name: the costs of a load and of its
//! replacement on the architecture are compared ([`crate::cost`]), and afterwards the assembler's results for both
//! texts: a kernel that loses resident warps stays unchanged. Reuse that the assembler finds itself is left to it.
//!
//! Rules `does-not-pay`, `assembler-does-it`. `tests/cases/refuse/assembler_folds.ptx`.
//!
//! # Rows of taps
//!
//! **27. The loads of a row read what the original reads, no byte more.** Every lane loads the bytes that its own taps
//! read. The bytes 32 lanes further on are read by as many lanes as the row is long, and each of these bytes is read by
//! the last tap of a lane of the warp; likewise the bytes 32 lanes before. So every lane must execute every tap,
//! whereas gaps between the taps are harmless. Where a lane holds several elements, one vector loads those that the
//! lane reads itself, each of them, and only where that is aligned: because the original loads such a vector, or by a
//! test of parameters. The elements that other lanes' taps read beyond the warp are loaded by themselves, so that no
//! vector reaches over the end of a buffer.
//!
//! ```text
//! d0: ld f1, [a-8];  d1: ld f2, [a+8]     // w0 = [a-8];  lane < 4: w1 = [a+120]
//! ld f1 .. f4, [a] .. [a+12];  ld f5, [a+16]     // v4 w = [a];  lane < 1: w1 = [a+512], not v4
//! ```
//!
//! `tests/cases/refuse/window_row.ptx`, `tests/cases/refuse/window_span.ptx`,
//! `tests/cases/refuse/window_predicated.ptx`, `tests/cases/refuse/window_width.ptx`,
//! `tests/cases/refuse/window_broad.ptx`; mistakes `RowEnd`, `RowBound`, `RowIndex`, `RowBefore`,
//! `RowOtherCell`.
//!
//! **28. One test for the warp stands in front, and all code behind it is duplicated.** The lanes' own conditions (no
//! index wraps around) are voted on, or some would wait in the shuffles for others; and only loads and arithmetic may
//! stand between the taps, since effects that others can observe would otherwise be duplicated. One lane loads the
//! bytes beyond the warp's part of a row for another lane, which may be the only one to read and write them; so the
//! lanes wait for each other in front of the rows and behind them (`bar.warp.sync`), unless no thread writes the loaded
//! bytes (`.nc`). Generic addresses have to be global in every lane: elsewhere each lane has bytes of its own at one
//! address.
//!
//! ```text
//! @p bra old;  shfl.sync ..., m;      // a lane of m in which p holds is waited for
//! ```
//!
//! `tests/cases/refuse/window_store.ptx`, `tests/cases/refuse/window_barrier.ptx`,
//! `tests/cases/refuse/window_wrap.ptx`, `tests/cases/refuse/window_loop.ptx`,
//! `tests/cases/accept/window_generic.ptx`; mistakes `RowWraps`, `RowNoVote`, `RowNotGlobal`,
//! `RowUnordered`.
//!
//! # Loop-carried values
//!
//! **29. A carried value is used only when it has been passed on often enough since the loop was entered.**
//! Either the first iteration's value is loaded in front of the loop, under law 21, or a predicate is carried
//! with the value, false at every entry, and as long as it is false the load is performed. All is passed on
//! exactly once in each iteration, by a source that each of them performs: no way back is also a way on.
//!
//! ```text
//! L: ld f1, [a];  ld f2, [a+8];  add a, a, 4;  @p bra L     // f1 of iteration 1 is not a value of f2
//! ```
//!
//! `tests/cases/refuse/carried_further.ptx` and its neighbour; mistakes `PassedAtOnce`, `NothingPassedOn`,
//! `CarriedSometimes`.
//!
//! **30. Addresses that are equal unless an index wraps around are compared**: once for each entry into the loop, which
//! is enough only where their difference is the same in every iteration, or at the end of each iteration. The test
//! compares results of copies of the loop's own instructions, not terms of the analysis.
//!
//! ```text
//! a1 = b + 4*ext(x);  a2 = b + 4*ext(x + n);  L: ld f1, [a1];  ld f2, [a2];  a1 += 4*n;  a2 += 4*n;  ...
//! ```
//!
//! `tests/cases/accept/carried_further.ptx` (`index_may_wrap`); mistake `NoAddressTest`.
//!
//! **31. A store in the loop must be apart from the carried value**, from the source's load on to the place of
//! the load that is left out: by proof, or by a test in front of the loop where the store's address and the
//! load's keep their difference. Where the test fails every iteration loads. Barriers, atomics, and stores
//! of inner loops or by generic addresses end the matter; other lanes' stores would be a data race.
//!
//! ```text
//! L: ld f1, [a];  ld f2, [a+4];  st [b], f3;  a += 4;  b += 4;  ...     // b - a is 4 in one launch
//! ```
//!
//! `tests/cases/accept/carried_stores.ptx`, `tests/cases/refuse/carried_stores.ptx`; mistakes `NoApartTest`,
//! `CarriedOverStores`.
//!
//! # Arrays in shared memory
//!
//! **32. All accesses to an array go through one function of its addresses, or none does.** The array is the function's
//! own, or all of its dynamic shared memory; its address goes nowhere but into addresses of loads, stores and atomics,
//! and of each of these it is known which array it is made from: not stored, not given to a call, no generic address,
//! no copy into it, no matrix instruction, no condition. Other functions that may run in the block use the same code. What
//! no name has made (behind `cvta.shared`, from memory, in a register of a called function), or arithmetic other than a
//! sum, or lies outside of its array by the text, may be in any; else an address stays in its array, as CUDA C++ demands.
//!
//! ```text
//! st.global [p], tile;  st.shared [f(tile+o)], r1     // whoever reads p finds the bytes elsewhere
//! cvta.shared g, 0;  ld r1, [g+o]                     // reads `tile`, whose name stands nowhere
//! ```
//!
//! Rules `array-escapes`, `array-unknown`, `array-beside-others` (versions of other loads would lack the function).
//! `tests/cases/refuse/bank.ptx`, `tests/cases/refuse/nameless.ptx`, `tests/cases/refuse/neighbour.ptx`; mistakes `ArrayEscapes`, `ArrayForgotten`.
//!
//! **33. The function is one to one, stays within the array, and keeps the bytes of each access together and
//! aligned**: a swizzle changes bits above those of the widest access and within rows that the array consists of,
//! begins with, and is aligned to; gaps are whole accesses. An array grows only where launches do not count on the
//! rest: not where the function, or one that it calls, uses an `.extern .shared` array or reads how much shared memory
//! there is, and not beyond 48 KiB.
//!
//! Where each launch gives the size, addresses are swizzled within blocks of 128 bytes, and only if the array begins with a
//! row and its size is a multiple of 128 and not 0 (as it is for an array of another file), which the kernel asks. A part of a block at the end would be swizzled beyond it.
//!
//! ```text
//! ld.shared.v4 {...}, [f(o)];      // f moves words: the other three are elsewhere
//! ```
//!
//! Rules `array-may-not-grow`, `array-dynamic`, `array-of-module`. `tests/cases/refuse/bank.ptx`,
//! `tests/cases/refuse/bank_dynamic.ptx`, `tests/cases/refuse/bank_extern.ptx`, `tests/cases/refuse/bank_calls.ptx`;
//! mistakes `ArrayVectors`, `ArraySize`, `ArrayBits`, `ArrayRest`.
//!
//! **34. An address is made from another's new address only where the function says so**: the bytes between the two do
//! not lead into another row, for any value that the register may have.
//!
//! ```text
//! n = f(tile + 128*x + 4*y);  ld.shared [n+32]     // y may be 30: the word is in the next row
//! ```
//!
//! `tests/cases/accept/bank.ptx` (`into_the_next_row`); mistake `ArrayFolded`. That an access stays within its array is
//! taken for granted, as it is of every program that names one.
//!
//! Nothing of this is done where no layout has fewer bank conflicts (rule `no-conflict`), or by `auto` (rule
//! `by-name-only`).
//!
//! # Structs
//!
//! **35. Where lanes load the words of each other's structs, every word of each struct is read by its lane.** The
//! structs of a warp's lanes are then one piece of memory without gaps, and a full warp reads no byte that the original
//! does not read. So structs with a word that no lane reads stay unchanged, and so do those whose words are read under
//! different conditions. The rest is law 28's: one test, and the code behind it is duplicated. And since a lane may
//! write to its own struct before and after it reads it, without asking the others, the lanes wait for each other in
//! front of the loads and behind them (`bar.warp.sync`), unless no thread writes the loaded bytes (`.nc`).
//!
//! ```text
//! ld f1, [a];  ld f3, [a+8]          // a = b + 12*tid: the word at a+4 may be behind the end of the buffer
//! ```
//!
//! Rules `struct-not-whole`, `struct-apart`. `tests/cases/refuse/struct_parts.ptx`,
//! `tests/cases/refuse/aos_fields.ptx`, `tests/cases/refuse/aos_masked.ptx`, `tests/cases/refuse/aos_stride.ptx`,
//! `tests/cases/refuse/aos_store.ptx`, `tests/cases/refuse/aos_wrap.ptx`; mistakes `StructWraps`, `StructLane`,
//! `StructTurn`, `StructBegin`, `StructField`, `StructUnordered`. Of generic addresses each lane asks whether all words
//! of its struct are global, since local memory is each lane's own: `tests/cases/accept/aos_generic.ptx`; mistake
//! `StructNotGlobal`.
//!
//! **36. Where lanes store the words of each other's structs, nothing comes between the first store and the last.** All
//! are performed behind the last: no thread may have read their bytes in between, or have been told about the first by
//! a barrier, fence, atomic or other store; so only arithmetic and loads of other bytes stand there. A word that the
//! original does not store must not be written, so structs with gaps or guarded words stay. The lanes wait for each
//! other in front of the stores, as they may have read their own structs, and behind them, as they may read them or
//! tell others of them.
//!
//! `tests/cases/refuse/aos_stored_between.ptx`, `tests/cases/refuse/aos_stored_fields.ptx`,
//! `tests/cases/refuse/aos_stored_masked.ptx`, `tests/cases/refuse/aos_stored_kinds.ptx`; mistakes `StoreOverLoads`,
//! `StoreUnordered`, `StorePartial`, `StoreLane`, `StoreTurn`, `StoreField`, `StoreWraps`, `StoreNotGlobal`.
//!
//! # Stores of consecutive bytes
//!
//! **37. A vector store writes the bytes of its elements' stores, no byte more, and each with its own value.** All
//! stand in one block under one guard predicate, none is left out, and no bytes lie between theirs. A store's value is
//! copied in the store's place if its register is written before the vector. The address is aligned in every lane, by
//! proof or by a test of the parameters at the head of the kernel, with the stores themselves on the other side.
//!
//! ```text
//! st [a], f1;  @p st [a+4], f2          // where p is false, the word at a+4 is another lane's
//! st [a], f1;  add f1, f1, f2;  st [a+4], f1     // the vector needs both values of f1
//! ```
//!
//! Rule `not-aligned`. `tests/cases/refuse/wide_stored.ptx`, `tests/cases/refuse/wide_stored_guards.ptx`,
//! `tests/cases/refuse/wide_stored_values.ptx`, `tests/cases/refuse/wide_stored_loop.ptx`,
//! `tests/cases/refuse/wide_stored_activemask.ptx`; mistakes `StoredFurther`, `StoredExchanged`, `StoredLate`,
//! `StoreForgotten`, `StoredUnguarded`, `StoredHalfAligned`.
//!
//! **38. Nothing between the first store and the vector notices.** The vector stands in the place of the last store, and
//! in between are only arithmetic and loads of other bytes, at a constant distance or from memory that nobody writes. A load that
//! a vector of loads performs earlier is asked about where it stood.
//!
//! ```text
//! st [a], f1;  membar.gl;  st [a+4], f2     // the second word is a flag: whoever sees it may read the first
//! ```
//!
//! Rule `stores-parted`. `tests/cases/refuse/wide_stored_between.ptx`, `tests/cases/refuse/wide_stored_call.ptx`;
//! mistakes `StoresOverLoads`, `StoresOverFences`.
//!
//! # Stores to the same bytes
//!
//! **39. A store may be left out only if another one of the same block overwrites all its bytes, under the same guard
//! predicate, and nothing in between has read them.** In between are only arithmetic and loads: no other store, and nothing
//! that orders or publishes. Every such load is proved to read other bytes, or its address is compared with the store's where the first store stands, as
//! a distance of 64 bits in which both widths count; where they meet, everything stands as it was. Each lane asks for itself.
//!
//! ```text
//! st [p], f1;  ld f2, [q];  add f1, f1, f2;  st [p], f1     // q is p in one launch: f2 is f1
//! st.f32 [p], f1;  st.u16 [p], h1                           // two bytes of f1 last
//! ```
//!
//! Rule `stores-parted`, guard `stores-apart`. `tests/cases/refuse/promote.ptx`, `tests/cases/refuse/promote_loop.ptx`,
//! `tests/cases/refuse/promote_call.ptx`, `tests/cases/refuse/promote_activemask.ptx`; mistakes `OverwrittenFirst`,
//! `OverwrittenRead`, `OverwrittenUntested`, `OverwrittenByteLess`, `OverwrittenInPart`.
//!
//! # Values of loops
//!
//! **48. A value that a loop loads and stores at one address may stay in a register only if nothing else in the loop touches
//! its bytes in the lane, and nothing there publishes or orders accesses.** The loop is entered at its head, so at least one
//! iteration runs, and left at its end or by branches. In it are arithmetic, branches forwards, weak loads and weak
//! stores without a generic address. The value is loaded in front only if the first iteration loads it on every path, before it
//! stores there or leaves; without that, each load of it stands behind a store of the same iteration. It is stored at each exit to which no
//! way leads but past a store. At the others a register tells whether one was executed: no byte is written that the loop
//! does not write.
//!
//! Another access is proved to be apart, or its addresses are tested in front of the loop, with the untouched loop on
//! the other side. They change by the same number of bytes in each iteration, so they lie in an interval: its length is the
//! step times the iterations but one. A step that is computed must not be negative or above 2 GB, and an index of 32 bits
//! that is widened in the loop must not wrap around. The iterations come from a counter of 32 bits and its bound. The
//! interval is computed in 64 bits, in which it cannot wrap around. A counter that reaches its bound only under a condition (`<` from below it, `!=` in whole steps) is tested, too.
//! Weak accesses of other threads to the value's bytes would be a data race.
//!
//! ```text
//! for k < n: out[0] += in[k]                   // in is out - 2: the third iteration reads a sum
//! for k < n: out[0] += in[k * s]               // s is -1, and in is out + 2: so does this one
//! for k < n: ld [p]; add; st [p]; bar.sync 0   // another thread reads p behind the barrier
//! for k < n: ld [p]; @q bra E; add; st [p]     // left in the first iteration: nothing is stored
//! for k < n: ld [p]; add; @q st [p]            // perhaps no iteration stores
//! for k < n: @q ld [p]; add; @q st [p]         // perhaps none loads: p may be no address
//! for k < n: ld [p]; add; st [p]; ld.u16 [p+2] // reads a part of it
//! ```
//!
//! Rules `loop-shape`, `loop-access`, `loop-count`, guard `stores-apart`. `tests/cases/refuse/promote_loops.ptx`, `tests/cases/refuse/promote_steps.ptx`,
//! `tests/cases/refuse/promote_indices.ptx`; mistakes
//! `PromotedUntested`, `PromotedIntervalShort`, `PromotedByteLess`, `PromotedStepUntested`, `PromotedNotStored`, `PromotedStale`, `PromotedOverFence`,
//! `PromotedExitForgotten`, `PromotedUnasked`.
//!
//! # Collectives
//!
//! They have a file of their own: [`collectives`].
//!
//! # Trees in shared memory
//!
//! **45. One warp does the steps of a tree only where no other thread takes part in them.** From a stride of 32 on those are the
//! threads below 32. They are lanes of one whole warp in blocks of one row of at least 32 threads, which is tested, like the
//! stride where a loop is left. All threads of the block come to the steps together, and none has left.
//!
//! ```text
//! if (tid.x > 77) return; ... tree            // lanes of the warp may be gone
//! if (tid.y < s) a[tid.x] += a[tid.x + s]     // other threads; (tid.x <= s): one more
//! ```
//!
//! Rules `tree-of-some-threads`, `tree-guard`, `tree-address`, `tree-strides`, guard `one-row`. `tests/cases/refuse/tree.ptx`,
//! `tests/cases/refuse/tree_target.ptx`; mistakes `TreeUntested`, `TreeParted`, `TreeWide`, `TreeUnguarded`.
//!
//! **46. The array and the registers that are read behind the steps hold the same bits as before.** Elements are combined by the
//! steps' own instructions with operands in their order, in the lanes below the stride alone, and stored once.
//!
//! Rules `tree-element`, `tree-register`, `tree-arrays`; mistakes `TreeNear`, `TreeStepLost`, `TreeUnstored`, `TreeHalfStored`, `TreeUnset`.
//!
//! **47. A barrier is left out only where it orders nothing but the tree.** Only arithmetic stands between the steps, and
//! in front of the first up to a barrier; a barrier of the whole block follows behind the last, or is added.
//!
//! Rules `tree-between`, `tree-barrier`, `tree-of-one-warp`; mistakes `TreeOpen`, `TreeBegins`.
//!
//! # Loads in front of stores
//!
//! **44. A load may be performed in front of a store only if it is executed wherever the store is, nothing in between
//! orders accesses, and the two touch no byte together in the lane.** All of it stands in one block: between the store and
//! the load are arithmetic, hints, weak loads and weak stores. That bytes do not meet is proved, or it is tested as a
//! distance of 64 bits in which both widths count, before any of the loads is performed; where they meet, everything stands
//! as it was. Registers that make the load's address, and its guard predicate, are those that hold at the load. Weak stores of other threads to
//! its bytes would be a data race.
//!
//! Where the test holds, loads of consecutive bytes are one vector in the place of the first of them, and stores of consecutive
//! bytes one vector in the place of the last. Such a store stands behind the place of the group, so each load that it is
//! performed behind is one of the group's and stands in front of it, or reads other bytes. The test asks for the alignment, too.
//!
//! ```text
//! st [p], f1;  ld f2, [q]                      // q is p in one launch
//! st [p], f1;  bar.sync 0;  ld f2, [q]         // another thread writes q in front of the barrier
//! st [p], f1;  @p1 bra L;  ld f2, [q]          // q may be no address at all
//! st [p], f1;  st.shared [s], f3;  ld f2, [q]  // a generic q may be s
//! ```
//!
//! A distance that changes by 0 bytes in each iteration of the loop around, and alignment, are tested once, in front of the loop, which
//! gets two versions as a whole: it is entered at its head alone, nothing in it waits for other threads or asks which of them are
//! together, and nothing else in it is replaced. So nothing stands between iterations that keeps an assembler from unrolling it.
//!
//! ```text
//! for i < n: st [p], f1;  ld f2, [q];  p += 4;  q += 8     // q reaches p in a later iteration
//! ```
//!
//! Where it is proved that no bytes meet, alignment alone is tested, and no load moves but to the first one of its vector
//! (strategy `wide`: `a[i] = f(a[i])`, `y[i] += x[i]` with an `x` that is read-only). Loads of read-only memory take part.
//! A load that may read what a store in front of it writes ends the code that has two versions:
//! `tests/cases/refuse/wide_in_turns.ptx`; mistakes `TurnsNotApart`, `TurnsUntested`.
//!
//! Guard `stores-apart`. `tests/cases/refuse/batch.ptx`, `tests/cases/refuse/batch_loop.ptx`,
//! `tests/cases/refuse/batch_activemask.ptx`, `tests/cases/refuse/batch_vectors.ptx`; mistakes `BatchUntested`, `BatchByteLess`,
//! `BatchOverFence`, `BatchAddressLate`, `BatchGuardLate`, `BatchVectorSwapped`, `BatchStoreSunk`, `BatchTestedOnce`,
//! `NoAlignmentTest`.

pub mod collectives;
