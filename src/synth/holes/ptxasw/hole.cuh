// Holes for ptxasw: calls of functions that nobody defines. Where ptxasw stands in for ptxas, it finds index
// expressions with which a kernel stores what another one, its specification, stores, and puts them in the place of the
// calls. Without it the file does not assemble, and ptxas names the function.
//
//     ptxasw_xform(id, i, n, k, m)   an index below n: Swizzle Inventor's transformation of i < n by k < m
//     ptxasw_rot, _linear, _xor, _fit, _table      the same of other families of expressions
//     ptxasw_part(id, i, k, ways)    one of several ways, told apart by conditions on i and k
//     ptxasw_cond(id, i, k)          whether something takes part, by a condition on i and k
//     PTXASW_SPEC(kernel, specification)           at file level
//
// All calls with one id are one hole: one expression over i and k. Arguments must not depend on loaded data, i and k are
// below 64, and a hole must not choose among values that it has chosen itself.
#ifndef PTXASW_HOLE_CUH
#define PTXASW_HOLE_CUH

#define PTXASW_HOLE extern "C" __device__ __attribute__((const))
PTXASW_HOLE unsigned ptxasw_xform(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_rot(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_linear(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_xor(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_fit(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_table(unsigned id, unsigned i, unsigned n, unsigned k, unsigned m);
PTXASW_HOLE unsigned ptxasw_part(unsigned id, unsigned i, unsigned k, unsigned ways);
PTXASW_HOLE unsigned ptxasw_cond(unsigned id, unsigned i, unsigned k);

// A thread's register of this number: selects, no array in local memory.
template <class T, int N>
__device__ __forceinline__ T ptxasw_select(const T (&registers)[N], unsigned at) {
    T value = registers[0];
#pragma unroll
    for (int i = 1; i < N; ++i)
        value = at == i ? registers[i] : value;
    return value;
}

// Names the specification of a kernel: a record of both addresses, which ptxasw takes out again.
#define PTXASW_SPEC_NAMED(line, kernel, specification)                                                                 \
    __device__ __attribute__((used)) void *ptxasw_spec_##line[2] = {(void *)(kernel), (void *)(specification)};
#define PTXASW_SPEC_AT(line, kernel, specification) PTXASW_SPEC_NAMED(line, kernel, specification)
#define PTXASW_SPEC(kernel, specification) PTXASW_SPEC_AT(__LINE__, kernel, specification)

#endif
