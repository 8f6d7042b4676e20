/* libptxasw: executes PTX kernels on the CPU, on the memory of this process. */
#ifndef PTXASW_H
#define PTXASW_H

#ifdef __cplusplus
extern "C" {
#endif

/* What ptx_run returns. */
enum {
    PTXASW_OK = 0,
    PTXASW_UNUSABLE = 2, /* the text cannot be parsed, the launch does not fit the kernel, an instruction is not modelled */
    PTXASW_FAULTED = 3,  /* the kernel faulted: an access out of bounds, a race, an unwritten value, a deadlock, a trap */
    PTXASW_INTERNAL = 4  /* a mistake of this library */
};

/* Executes the only kernel of a PTX text and returns when it has ended.
 *
 * source: the text, ended by a zero byte.
 * args:   one value for each of the n_args parameters of the kernel, which may have 8 bytes at most: an address,
 *         or an integer or the bits of a floating-point number in the low bytes of the pointer. Null if there are none.
 * lx, ly, lz: threads of a block; gx, gy, gz: blocks of the grid; smem: bytes of dynamic shared memory.
 *
 * Kernels read and write the memory of this process at its addresses, in place. How long a buffer is, is not known: an access
 * is out of bounds if no memory is mapped there (or none that can be written), and one behind the end of a buffer may change
 * other memory of the process. Module variables have their initial values in each call.
 *
 * Messages go to standard error, what the kernel prints to standard output. What a faulting kernel has written stays. The
 * environment variable PTXASW_RUN_CHECKS names the checks besides bounds: "race,init" (the default), one of them, or
 * nothing. Several threads may call it at a time, on memory that they do not share. */
int ptx_run(const char *source, int n_args, void *args[], int lx, int ly, int lz, int gx, int gy, int gz, int smem);

#ifdef __cplusplus
}
#endif

#endif
