
// The results for the elements up to each one, of a list of n < 2^30: all threads of a one-dimensional block of any
// size call it together, and each goes through its share. `totals` are 32 states of shared memory.
__device__ inline void NAME_scan(ARRAYS, OUTPUTS, int n,
    const NAME_operator &op, NAME_state *totals)
{
    const int each = (n + blockDim.x - 1) / blockDim.x;
    const int first = synth::least<int>(threadIdx.x * each, n);
    const int last = synth::least(first + each, n);
    NAME_state s = NAME_operator::unit();
    for (int i = first; i < last; ++i)
        s = op.step(s, READ);
    s = synth::block_prefix(s, op, totals, NAME_operator::unit());
    for (int i = first; i < last; ++i) {
        s = op.step(s, READ);
WRITE
    }
}

// The state after a list of n < 2^30 elements, in thread 0; called in the same way.
__device__ inline NAME_state NAME_reduce(ARRAYS, int n,
    const NAME_operator &op, NAME_state *totals)
{
    const int each = (n + blockDim.x - 1) / blockDim.x;
    const int first = synth::least<int>(threadIdx.x * each, n);
    const int last = synth::least(first + each, n);
    NAME_state s = NAME_operator::unit();
    for (int i = first; i < last; ++i)
        s = op.step(s, READ);
    return synth::block_reduce(s, op, totals);
}
