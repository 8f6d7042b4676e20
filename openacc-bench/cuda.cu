// The CUDA program of a benchmark: -DBENCHMARK='"NAME/NAME.h"' describes it,
// -DKERNEL='"NAME/NAME.cu"' has its kernels and nothing else, so that the samples of PTX can be
// made from them.

#include BENCHMARK
#include KERNEL
#include "cuda.h"
