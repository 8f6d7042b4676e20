/* POINT marks a function that computes one point and is inlined into its kernel, be it CUDA's
 * (nvcc, NVRTC) or OpenACC's. The application stencils are long; so the formula stands in one file
 * that both include. */

#ifndef POINT_H
#define POINT_H

#ifdef __CUDACC__
#define POINT static __device__ __forceinline__
#else
#define POINT _Pragma("acc routine seq") static inline
#endif

#endif
